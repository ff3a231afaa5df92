/* SPDX-License-Identifier: Apache-2.0 */
#include "text_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "program.h"
#include "talk.h"

/* ------------------------------------------------------------------------------------------------ in */

static bool ends_with(const char *text, const char *end) {
    const size_t length = strlen(text), end_length = strlen(end);

    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

static int cannot_read(const prog_lines_in *in) {
    prog_error("%s could not be read: %s", in->name, strerror(errno));
    return PROG_FAILED;
}

int prog_lines_open(prog_lines_in *in, thr_context *context, const char *path) {
    thr_error err = {.status = THR_OK};

    *in = (prog_lines_in){.name = path};
    if (path == NULL || strcmp(path, "-") == 0) {
        in->name = "standard input";
        in->file = stdin;
        return PROG_DONE;
    }
    if (thr_reader_open(context, path, &in->reader, &err) == THR_OK) {
        if (thr_reader_get_shape(in->reader).dtype == THR_DTYPE_NONE)
            return PROG_DONE;
        prog_error("%s holds numbers; a text a line is wanted", path);
        return PROG_FAILED;
    }
    if (err.status != THR_EINVAL || ends_with(path, ".gz") || ends_with(path, ".xz"))
        return prog_failed(&err);
    in->file = fopen(path, "rb");
    return in->file != NULL ? PROG_DONE : cannot_read(in);
}

int prog_lines_next(prog_lines_in *in, const char **line, size_t *length) {
    thr_error err = {.status = THR_OK};

    *line = NULL;
    if (in->reader != NULL)
        return thr_reader_next_line(in->reader, line, length, &err) == THR_OK ? PROG_DONE : prog_failed(&err);
    errno = 0;
    const ssize_t n = getline(&in->room, &in->room_size, in->file);

    if (prog_stop_signal() != 0)
        return prog_stopped();
    if (n < 0)
        return feof(in->file) ? PROG_DONE : cannot_read(in);
    *length = (size_t)n;
    if (*length > 0 && in->room[*length - 1] == '\n')
        --*length;
    if (*length > 0 && in->room[*length - 1] == '\r')
        --*length;
    *line = in->room;
    return PROG_DONE;
}

void prog_lines_close(prog_lines_in *in) {
    thr_reader_free(in->reader);
    if (in->file != NULL && in->file != stdin)
        (void)fclose(in->file);
    free(in->room);
    *in = (prog_lines_in){.name = NULL};
}

/* ------------------------------------------------------------------------------------------------ out */

static int cannot_write(const prog_lines_out *out) {
    prog_error("%s could not be written: %s", out->path != NULL ? out->path : "standard output",
               errno != 0 ? strerror(errno) : "a write failed");
    return PROG_FAILED;
}

int prog_lines_create(prog_lines_out *out, const char *path) {
    *out = (prog_lines_out){.file = stdout};
    if (path == NULL || strcmp(path, "-") == 0)
        return PROG_DONE;
    const size_t size = strlen(path) + sizeof ".tmp";
    struct stat status;

    out->file = NULL;
    out->path = path;
    errno = 0;
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) { /* a pipe or a device is written to as it is */
        out->file = fopen(path, "wb");
        return out->file != NULL ? PROG_DONE : cannot_write(out);
    }
    out->written = malloc(size);
    if (out->written == NULL)
        return prog_no_memory();
    (void)snprintf(out->written, size, "%s.tmp", path);
    errno = 0;
    out->file = fopen(out->written, "wb");
    return out->file != NULL ? PROG_DONE : cannot_write(out);
}

int prog_lines_flush(prog_lines_out *out) {
    errno = 0;
    return fflush(out->file) == 0 && ferror(out->file) == 0 ? PROG_DONE : cannot_write(out);
}

int prog_lines_finish(prog_lines_out *out, int rc) {
    if (out->file != NULL && rc == PROG_DONE)
        rc = prog_lines_flush(out);
    if (out->file != NULL && out->path != NULL) {
        errno = 0;
        if (rc == PROG_DONE && out->written != NULL && fsync(fileno(out->file)) != 0)
            rc = cannot_write(out);
        if (fclose(out->file) != 0 && rc == PROG_DONE)
            rc = cannot_write(out);
        if (rc == PROG_DONE && out->written != NULL && rename(out->written, out->path) != 0)
            rc = cannot_write(out);
        if (rc != PROG_DONE && out->written != NULL)
            (void)unlink(out->written);
    }
    free(out->written);
    *out = (prog_lines_out){.file = NULL};
    return rc;
}
