/* SPDX-License-Identifier: Apache-2.0 */
#include "input/input.h"

#include <stdlib.h>
#include <string.h>

#include "cli/messages.h"
#include "cli/program.h"

int prog_input_open(thr_context *context, const char *path, thr_reader **reader) {
    thr_error err = {.status = THR_OK};

    return thr_reader_open(context, path, reader, &err) == THR_OK ? PROG_DONE : prog_failed(&err);
}

int prog_input_line(thr_reader *reader, const char **line, size_t *length) {
    thr_error err = {.status = THR_OK};

    if (thr_reader_next_line(reader, line, length, &err) != THR_OK)
        return prog_failed(&err);
    return prog_stop_signal() != 0 ? prog_stopped() : PROG_DONE;
}

bool prog_input_next_line(thr_reader *reader, const char **line, size_t *length, int *rc) {
    if (*rc == PROG_DONE)
        *rc = prog_input_line(reader, line, length);
    return *rc == PROG_DONE && *line != NULL;
}

int prog_input_line_copy(thr_reader *reader, char **copy) {
    const char *line;
    size_t length;
    const int rc = prog_input_line(reader, &line, &length);

    *copy = NULL;
    if (rc != PROG_DONE || line == NULL)
        return rc;
    *copy = malloc(length + 1);
    if (*copy == NULL)
        return prog_no_memory();
    memcpy(*copy, line, length + 1);
    return PROG_DONE;
}

int prog_input_rows(thr_reader *reader, uint64_t most, thr_matrix *rows) {
    thr_error err = {.status = THR_OK};

    if (thr_reader_next(reader, most, rows, &err) != THR_OK)
        return prog_failed(&err);
    return prog_stop_signal() != 0 ? prog_stopped() : PROG_DONE;
}

bool prog_input_next_rows(thr_reader *reader, uint64_t most, thr_matrix *rows, int *rc) {
    if (*rc == PROG_DONE)
        *rc = prog_input_rows(reader, most, rows);
    return *rc == PROG_DONE && rows->n_rows > 0;
}
