/* SPDX-License-Identifier: Apache-2.0 */
/* dual_encode.c - encode users or items, one per line, to vectors, and users' histories to hits. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tower/dual.h"
#include "hits/query.h"
#include "input/input.h"
#include "cli/output.h"
#include "output/rows.h"
#include "cli/messages.h"

enum { LINES_AT_ONCE = 1024, HITS_AT_FIRST = 256, PATH_SIZE = 4096 };

typedef struct encoding {
    const thr_dual *dual;
    thr_side side;
    prog_rows_out out;
    prog_out hits; /* closed: not written */
    char *lines[LINES_AT_ONCE];
    size_t lengths[LINES_AT_ONCE];
    size_t n; /* lines not yet encoded */
    float *vectors;
    thr_dual_hit *room;
    size_t n_room;
} encoding;

/* The default column of a table: 1 for users (REQUESTS), 2 for items (ITEMS). */
static const char *name_column(const char *texts, thr_side side, char name[PATH_SIZE]) {
    static const char *const endings[] = {".tsv", ".tsv.gz", ".tsv.xz", ".csv", ".csv.gz", ".csv.xz"};
    const size_t length = strlen(texts);

    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        const size_t n = strlen(endings[i]);
        const int written = snprintf(name, PATH_SIZE, "%s:%d", texts, side == THR_SIDE_QUERY ? 1 : 2);

        if (length > n && strcmp(texts + length - n, endings[i]) == 0 && written < PATH_SIZE)
            return name;
    }
    return texts;
}

/* "#model=0123456789abcdef category=12:0.53 brand=7:-0.1", weights to nine digits: as they are. */
static int write_hits(encoding *e, const char *line, size_t length) {
    thr_error err = {.status = THR_OK};
    size_t n = 0;

    if (thr_dual_hits(e->dual, line, length, e->room, e->n_room, &n, &err) != THR_OK)
        return prog_failed(&err);
    if (n > e->n_room) {
        free(e->room);
        e->n_room = 2 * n;
        e->room = malloc(e->n_room * sizeof *e->room);
        if (e->room == NULL)
            return prog_no_memory();
        return write_hits(e, line, length);
    }
    (void)fprintf(e->hits.file, PROG_HITS_MODEL_WORD "%016" PRIx64, thr_dual_get_info(e->dual).fingerprint);
    for (size_t i = 0; i < n; i++)
        (void)fprintf(e->hits.file, " %.*s:%.9g", (int)e->room[i].length, e->room[i].word, (double)e->room[i].weight);
    (void)fputc('\n', e->hits.file);
    return ferror(e->hits.file) == 0 ? PROG_DONE : prog_out_failed(&e->hits);
}

/* Encode the waiting lines. */
static int write_lines(encoding *e) {
    thr_error err = {.status = THR_OK};
    int rc = PROG_DONE;

    if (thr_dual_encode(e->dual, e->side, (const char *const *)e->lines, e->lengths, e->n, e->vectors, &err) != THR_OK)
        rc = prog_failed(&err);
    else
        rc = prog_rows_out_write(&e->out, e->vectors, e->n);
    for (size_t i = 0; i < e->n; i++) {
        if (rc == PROG_DONE && e->hits.file != NULL)
            rc = write_hits(e, e->lines[i], e->lengths[i]);
        free(e->lines[i]);
    }
    e->n = 0;
    return rc == PROG_DONE && prog_stop_signal() != 0 ? prog_stopped() : rc;
}

static int read_lines(encoding *e, thr_reader *texts) {
    const char *line = NULL;
    size_t length = 0;
    int rc = PROG_DONE;

    while (prog_input_next_line(texts, &line, &length, &rc)) {
        e->lines[e->n] = malloc(length + 1);
        if (e->lines[e->n] == NULL) {
            rc = prog_no_memory();
            break;
        }
        memcpy(e->lines[e->n], line, length + 1);
        e->lengths[e->n++] = length;
        if (e->n == LINES_AT_ONCE)
            rc = write_lines(e);
    }
    if (rc == PROG_DONE)
        return write_lines(e);
    for (size_t i = 0; i < e->n; i++)
        free(e->lines[i]);
    return rc;
}

static int encode(encoding *e, thr_context *context, thr_reader *texts, const char *output, const char *hits) {
    const uint32_t n_vector = thr_dual_get_info(e->dual).n_vector;
    int rc = prog_rows_out_open(&e->out, context, output, THR_DTYPE_F32, n_vector);

    if (rc == PROG_DONE && hits != NULL)
        rc = prog_out_open(&e->hits, context, hits);
    e->vectors = malloc((size_t)LINES_AT_ONCE * n_vector * sizeof *e->vectors);
    e->n_room = HITS_AT_FIRST;
    e->room = malloc(e->n_room * sizeof *e->room);
    if (rc == PROG_DONE && (e->vectors == NULL || e->room == NULL))
        rc = prog_no_memory();
    if (rc == PROG_DONE)
        rc = read_lines(e, texts);
    rc = prog_out_close(&e->hits, rc);
    rc = prog_rows_out_close(&e->out, rc);
    free(e->vectors);
    free(e->room);
    return rc;
}

/* The encoding is zeroed before. */
static int encode_with(encoding *e, program *run, const char *model, const char *texts_path, const char *output,
                       const char *hits) {
    thr_error err = {.status = THR_OK};
    char name[PATH_SIZE];
    thr_dual *dual = NULL;
    thr_reader *texts = NULL;
    int rc = PROG_DONE;

    if (thr_dual_open(run->context, model, &dual, &err) != THR_OK ||
        thr_reader_open(run->context, name_column(texts_path, e->side, name), &texts, &err) != THR_OK) {
        rc = prog_failed(&err);
    } else {
        e->dual = dual;
        rc = encode(e, run->context, texts, output, hits);
    }
    thr_reader_free(texts);
    thr_dual_free(dual);
    return rc;
}

int prog_encode_dual(program *run, const char *model, thr_side side, const char *texts, const char *output,
                     const char *hits) {
    const double start = prog_seconds();
    encoding *e = calloc(1, sizeof *e);
    int rc;

    if (e == NULL)
        return prog_no_memory();
    e->side = side;
    rc = encode_with(e, run, model, texts, output, hits);
    if (rc == PROG_DONE) {
        const double seconds = prog_seconds() - start;

        prog_note("encoded %s %s in %s (%s/s)", prog_exact(e->out.n_rows).text,
                  side == THR_SIDE_QUERY ? "users" : "items", prog_time(seconds).text,
                  prog_short((double)e->out.n_rows / seconds).text);
    }
    free(e);
    return rc;
}
