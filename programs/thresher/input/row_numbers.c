/* SPDX-License-Identifier: Apache-2.0 */
#include "input/row_numbers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "input/input.h"
#include "cli/messages.h"

/* Read numbers in file order. */
typedef struct numbers_read {
    const prog_numbers *wanted;
    double *numbers;
    uint64_t n;
} numbers_read;

static int add_line(numbers_read *r, const char *line) {
    char *end = NULL;
    const double number = strtod(line, &end);

    if (end == line || end[strspn(end, " \t")] != '\0') {
        prog_error("%s: line %" PRIu64 " is not a %s: \"%.60s\"", r->wanted->path, r->n + 1, r->wanted->what, line);
        return PROG_FAILED;
    }
    if (r->n < r->wanted->n)
        r->numbers[r->n] = number;
    r->n++;
    return PROG_DONE;
}

static int read_lines(numbers_read *r, thr_reader *reader) {
    const char *line;
    size_t length;
    int rc = PROG_DONE;

    while (prog_input_next_line(reader, &line, &length, &rc))
        rc = add_line(r, line);
    return rc;
}

static int read_rows(numbers_read *r, thr_reader *reader) {
    enum { PIECE = 4096 };
    float piece[PIECE];
    thr_matrix rows;
    int rc = PROG_DONE;

    if (thr_reader_get_shape(reader).n_dims != 1 && thr_reader_get_shape(reader).n_rows != 0) {
        prog_error("%s: a row has %" PRIu32 " numbers, a %s is one", r->wanted->path,
                   thr_reader_get_shape(reader).n_dims, r->wanted->what);
        return PROG_FAILED;
    }
    while (prog_input_next_rows(reader, PIECE, &rows, &rc)) {
        (void)thr_matrix_to_f32(&rows, 0, rows.n_rows, piece);
        for (uint64_t i = 0; i < rows.n_rows; i++, r->n++)
            if (r->n < r->wanted->n)
                r->numbers[r->n] = (double)piece[i];
    }
    return rc;
}

static int read_all(numbers_read *r, program *run) {
    const prog_numbers *wanted = r->wanted;
    const char *plural = strcmp(wanted->of, "query") == 0 ? "queries" : "rows";
    thr_reader *reader = NULL;
    int rc = prog_input_open(run->context, wanted->path, &reader);

    if (rc != PROG_DONE)
        return rc;
    rc = thr_reader_get_shape(reader).dtype == THR_DTYPE_NONE ? read_lines(r, reader) : read_rows(r, reader);
    if (rc == PROG_DONE && r->n != wanted->n) {
        prog_error("%s has %s %ss, %s has %s %s: every %s needs a %s", wanted->path, prog_exact(r->n).text,
                   wanted->what, wanted->file, prog_exact(wanted->n).text, plural, wanted->of, wanted->what);
        rc = PROG_FAILED;
    }
    thr_reader_free(reader);
    return rc;
}

int prog_read_numbers(program *run, const prog_numbers *wanted, double **numbers) {
    numbers_read reading = {.wanted = wanted, .numbers = malloc((size_t)wanted->n * sizeof **numbers)};
    int rc;

    *numbers = NULL;
    if (reading.numbers == NULL)
        return prog_no_memory();
    rc = read_all(&reading, run);
    if (rc == PROG_DONE)
        *numbers = reading.numbers;
    else
        free(reading.numbers);
    return rc;
}

int prog_order_numbers(const thr_ranking_view *view, double **numbers) {
    double *ordered;

    if (view->rows == NULL || view->n_rows == 0)
        return PROG_DONE;
    ordered = malloc((size_t)view->n_rows * sizeof *ordered);
    if (ordered == NULL)
        return prog_no_memory();
    for (uint64_t i = 0; i < view->n_rows; i++)
        ordered[i] = (*numbers)[view->rows[i]];
    free(*numbers);
    *numbers = ordered;
    return PROG_DONE;
}
