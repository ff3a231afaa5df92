/* SPDX-License-Identifier: Apache-2.0 */
/* hits_values.c - bids and offsets of items, from a table or a file of numbers. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hits_query.h"
#include "talk.h"

static bool is_table(const char *path) {
    static const char *const endings[] = {".tsv", ".tsv.gz", ".tsv.xz"};
    const size_t length = strlen(path);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        const size_t end = strlen(endings[i]);
        if (length >= end && strcmp(path + length - end, endings[i]) == 0)
            return true;
    }
    return false;
}

/* ------------------------------------------------------------------------------------------------ tables */

/* Names are looked up in order, so that a table costs the sum of both sizes and not their product. */
typedef struct named {
    const char *name;
    uint64_t row;
} named;

static int by_name(const void *a, const void *b) {
    return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

typedef struct lookup {
    const thr_hits *hits;
    named *names; /* NULL: the lists look them up */
    uint64_t n;
} lookup;

static int sort_names(lookup *l) {
    const thr_hits_info info = thr_hits_get_info(l->hits);
    if (!info.has_names || info.n_added + info.n_removed > 0) /* lists that were updated look names up fast */
        return PROG_DONE;
    l->n = info.n_items;
    l->names = malloc((size_t)l->n * sizeof *l->names);
    if (l->names == NULL)
        return prog_no_memory();
    for (uint64_t row = 0; row < l->n; row++) {
        const char *name = thr_hits_name(l->hits, row);
        l->names[row] = (named){name != NULL ? name : "", row};
    }
    qsort(l->names, (size_t)l->n, sizeof *l->names, by_name);
    return PROG_DONE;
}

static bool find_row(const lookup *l, const char *name, uint64_t *row) {
    uint64_t id;
    if (l->names == NULL)
        return thr_hits_find(l->hits, name, &id) && thr_hits_row(l->hits, id, row);
    const named wanted = {name, 0};
    const named *found = bsearch(&wanted, l->names, (size_t)l->n, sizeof wanted, by_name);
    if (found != NULL)
        *row = found->row;
    return found != NULL;
}

/* "item<TAB>number". */
static int take_line(const lookup *l, const char *path, uint64_t line, char *text, uint8_t *seen, float *values) {
    char *tab = strchr(text, '\t');
    double value;
    uint64_t row;
    if (tab == NULL || !prog_read_real(tab + 1, &value)) {
        prog_error("%s: line %" PRIu64 ": an item, a tab and a number are expected", path, line);
        return PROG_FAILED;
    }
    *tab = '\0';
    if (!find_row(l, text, &row)) {
        prog_error("%s: line %" PRIu64 ": there is no item %.200s", path, line, text);
        return PROG_FAILED;
    }
    if (seen[row] != 0) {
        prog_error("%s: line %" PRIu64 ": item %.200s stands twice", path, line, text);
        return PROG_FAILED;
    }
    seen[row] = 1;
    values[row] = (float)value;
    return PROG_DONE;
}

static int read_lines(const lookup *l, thr_reader *reader, const char *path, uint8_t *seen, float *values) {
    thr_error err = {.status = THR_OK};
    for (uint64_t line = 1;; line++) {
        const char *text;
        size_t length;
        if (thr_reader_next_line(reader, &text, &length, &err) != THR_OK)
            return prog_failed(&err);
        if (text == NULL)
            return PROG_DONE;
        char *copy = malloc(length + 1);
        if (copy == NULL)
            return prog_no_memory();
        memcpy(copy, text, length);
        copy[length] = '\0';
        const int rc = take_line(l, path, line, copy, seen, values);
        free(copy);
        if (rc != PROG_DONE)
            return rc;
    }
}

static int read_table(program *run, const thr_hits *hits, const char *path, float *values) {
    const size_t size = strlen(path) + sizeof ":1,2", n = (size_t)thr_hits_get_info(hits).n_rows;
    char *columns = malloc(size);
    uint8_t *seen = calloc(n, 1);
    lookup l = {.hits = hits};
    thr_error err = {.status = THR_OK};
    thr_reader *reader = NULL;
    int rc = PROG_FAILED;
    if (columns == NULL || seen == NULL) {
        (void)prog_no_memory();
        goto out;
    }
    rc = sort_names(&l);
    if (rc != PROG_DONE)
        goto out;
    (void)snprintf(columns, size, "%s:1,2", path);
    if (thr_reader_open(run->context, columns, &reader, &err) != THR_OK)
        rc = prog_failed(&err);
    else
        rc = read_lines(&l, reader, path, seen, values);
out:
    thr_reader_free(reader);
    free(l.names);
    free(columns);
    free(seen);
    return rc;
}

/* ------------------------------------------------------------------------------------------------ numbers */

static int read_numbers(program *run, const thr_hits *hits, const char *path, float *values) {
    const uint64_t n = thr_hits_get_info(hits).n_rows;
    thr_error err = {.status = THR_OK};
    thr_reader *reader = NULL;
    uint64_t read = 0;
    int rc = PROG_DONE;
    if (thr_reader_open(run->context, path, &reader, &err) != THR_OK)
        return prog_failed(&err);
    const thr_reader_shape shape = thr_reader_get_shape(reader);
    if (shape.dtype == THR_DTYPE_NONE || shape.n_dims != 1) {
        prog_error("%s: one number an item is expected: a column of numbers, or .tsv of items and numbers", path);
        rc = PROG_FAILED;
    }
    while (rc == PROG_DONE) {
        thr_matrix rows;
        if (thr_reader_next(reader, 65536, &rows, &err) != THR_OK) {
            rc = prog_failed(&err);
        } else if (rows.n_rows == 0) {
            break;
        } else {
            if (rows.n_rows <= n - read)
                (void)thr_matrix_to_f32(&rows, 0, rows.n_rows, values + read); /* rows are there */
            read += rows.n_rows;
            if (read > n)
                break;
        }
    }
    if (rc == PROG_DONE && read != n) {
        prog_error("%s: %s numbers for %" PRIu64 " items", path, read > n ? "too many" : prog_exact(read).text, n);
        rc = PROG_FAILED;
    }
    thr_reader_free(reader);
    return rc;
}

int prog_hits_values_read(program *run, const thr_hits *hits, const char *path, float fallback, float **values) {
    const size_t n = (size_t)thr_hits_get_info(hits).n_rows;
    *values = malloc(n * sizeof **values);
    if (*values == NULL)
        return prog_no_memory();
    for (size_t i = 0; i < n; i++)
        (*values)[i] = fallback;
    return is_table(path) ? read_table(run, hits, path, *values) : read_numbers(run, hits, path, *values);
}
