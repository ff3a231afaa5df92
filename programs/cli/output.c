/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/program.h"
#include "cli/messages.h"

int prog_out_failed(const prog_out *out) {
    prog_error("%s could not be written: %s", out->name, errno != 0 ? prog_reason(errno) : "a write failed");
    return PROG_FAILED;
}

/* Open a stream over a descriptor; closes the descriptor on failure. */
static int open_stream(prog_out *out, int descriptor) {
    out->file = descriptor >= 0 ? fdopen(descriptor, "wb") : NULL;
    if (out->file != NULL)
        return PROG_DONE;
    const int rc = prog_out_failed(out);

    if (descriptor >= 0)
        (void)close(descriptor);
    return rc;
}

bool prog_out_is_stream(const char *path) {
    return strcmp(path, "-") == 0 || thr_output_is_stream(path);
}

int prog_out_open(prog_out *out, thr_context *context, const char *path) {
    thr_error err = {.status = THR_OK};

    *out = (prog_out){.file = stdout, .name = "standard output"};
    if (path == NULL || strcmp(path, "-") == 0)
        return PROG_DONE;
    *out = (prog_out){.name = path};
    if (prog_out_is_stream(path)) {
        int descriptor;

        return thr_output_open_stream(path, &descriptor, &err) == THR_OK ? open_stream(out, descriptor)
                                                                         : prog_failed(&err);
    }
    if (thr_output_create(context, path, &out->output, &err) != THR_OK)
        return prog_failed(&err);
    return open_stream(out, fcntl(thr_output_descriptor(out->output), F_DUPFD_CLOEXEC, 0));
}

void prog_note_replaced(const char *path, const char *what) {
    struct stat status;

    if (stat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0)
        prog_note("%s exists: the %s of this training replaces it", path, what);
}

int prog_out_flush(prog_out *out) {
    errno = 0;
    return fflush(out->file) == 0 && ferror(out->file) == 0 ? PROG_DONE : prog_out_failed(out);
}

int prog_out_close(prog_out *out, int rc) {
    thr_error err = {.status = THR_OK};

    if (out->file != NULL && rc == PROG_DONE)
        rc = prog_out_flush(out);
    errno = 0;
    if (out->file != NULL && out->file != stdout && fclose(out->file) != 0 && rc == PROG_DONE)
        rc = prog_out_failed(out);
    if (out->output != NULL && rc == PROG_DONE && thr_output_publish(out->output, &err) != THR_OK)
        rc = prog_failed(&err);
    thr_output_free(out->output);
    *out = (prog_out){.file = NULL};
    return rc;
}
