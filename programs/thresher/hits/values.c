/* SPDX-License-Identifier: Apache-2.0 */
/* values.c - bids and offsets of items, from a table or a file of numbers. */
#include "hits/values.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input/endings.h"
#include "input/input.h"
#include "cli/messages.h"

/* ------------------------------------------------------------------------------------------------ tables */

/* Names are sorted before the lookup, so a table costs the sum of both sizes, not their product. */
typedef struct named {
    const char *name;
    uint64_t row;
} named;

static int by_name(const void *a, const void *b) {
    return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

typedef struct lookup {
    const prog_hits_parts *parts; /* NULL: the names of a table */
    named *names;                 /* NULL: the lists look them up */
    uint64_t n;                   /* rows */
    char *text;                   /* of a table's names */
    size_t text_size, text_capacity;
} lookup;

/* Updated lists have a fast lookup of names. Where an index has ids that are not rows, names cannot be read by row. */
static bool look_up_themselves(const prog_hits_parts *parts) {
    const thr_hits_info info = thr_hits_get_info(parts->parts[0].hits); /* shards are not updated */
    bool has_ids = false;
    for (size_t i = 0; i < parts->n; i++)
        has_ids = has_ids || (parts->parts[i].index != NULL && thr_index_get_info(parts->parts[i].index).has_ids);
    return !info.has_names || info.n_added + info.n_removed > 0 || has_ids;
}

static const char *name_of_row(const prog_hits_parts *parts, size_t *part, uint64_t row) {
    while (*part + 1 < parts->n && parts->parts[*part + 1].first_row <= row)
        ++*part;
    return thr_hits_name(parts->parts[*part].hits, row - parts->parts[*part].first_row);
}

static int sort_names(lookup *l) {
    if (l->parts != NULL && look_up_themselves(l->parts))
        return PROG_DONE;
    l->names = malloc((size_t)l->n * sizeof *l->names + 1);
    if (l->names == NULL)
        return prog_no_memory();
    const char *next = l->text;
    size_t part = 0;
    for (uint64_t row = 0; row < l->n; row++) {
        const char *name = l->parts != NULL ? name_of_row(l->parts, &part, row) : next;
        l->names[row] = (named){name != NULL ? name : "", row};
        if (l->parts == NULL)
            next += strlen(next) + 1;
    }
    qsort(l->names, (size_t)l->n, sizeof *l->names, by_name);
    return PROG_DONE;
}

static int add_name(lookup *l, const char *name, size_t length) {
    if (length + 1 > l->text_capacity - l->text_size) {
        const size_t capacity = 2 * (l->text_capacity + length + 1);
        char *text = realloc(l->text, capacity);
        if (text == NULL)
            return prog_no_memory();
        l->text = text;
        l->text_capacity = capacity;
    }
    memcpy(l->text + l->text_size, name, length);
    l->text[l->text_size + length] = '\0';
    l->text_size += length + 1;
    l->n++;
    return PROG_DONE;
}

/* A reader of columns of a table. */
static int open_columns(program *run, const char *path, const char *columns, thr_reader **reader) {
    const size_t size = strlen(path) + strlen(columns) + 2;
    char *name = malloc(size);
    if (name == NULL)
        return prog_no_memory();
    (void)snprintf(name, size, "%s:%s", path, columns);
    const int rc = prog_input_open(run->context, name, reader);
    free(name);
    return rc;
}

static int read_names(program *run, const char *table, lookup *l) {
    thr_reader *reader = NULL;
    const char *name;
    size_t length;
    int rc = open_columns(run, table, "1", &reader);
    while (prog_input_next_line(reader, &name, &length, &rc))
        rc = add_name(l, name, length);
    thr_reader_free(reader);
    return rc;
}

static bool find_row(const lookup *l, const char *name, uint64_t *row) {
    if (l->names == NULL)
        return prog_hits_parts_find(l->parts, name, row);
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
        prog_error("%s: line %" PRIu64 ": expected an item, a tab and a number", path, line);
        return PROG_FAILED;
    }
    *tab = '\0';
    if (!find_row(l, text, &row)) {
        prog_error("%s: line %" PRIu64 ": there is no item %.200s", path, line, text);
        return PROG_FAILED;
    }
    if (seen[row] != 0) {
        prog_error("%s: line %" PRIu64 ": item %.200s occurs twice", path, line, text);
        return PROG_FAILED;
    }
    seen[row] = 1;
    values[row] = (float)value;
    return PROG_DONE;
}

static int read_lines(const lookup *l, thr_reader *reader, const char *path, uint8_t *seen, float *values) {
    for (uint64_t line = 1;; line++) {
        char *copy;
        int rc = prog_input_line_copy(reader, &copy);
        if (rc != PROG_DONE || copy == NULL)
            return rc;
        rc = take_line(l, path, line, copy, seen, values);
        free(copy);
        if (rc != PROG_DONE)
            return rc;
    }
}

static int read_table(program *run, lookup *l, const char *path, float *values) {
    uint8_t *seen = calloc((size_t)l->n + 1, 1);
    thr_reader *reader = NULL;
    if (seen == NULL)
        return prog_no_memory();
    int rc = sort_names(l);
    if (rc == PROG_DONE)
        rc = open_columns(run, path, "1,2", &reader);
    if (rc == PROG_DONE)
        rc = read_lines(l, reader, path, seen, values);
    thr_reader_free(reader);
    free(seen);
    return rc;
}

/* ------------------------------------------------------------------------------------------------ numbers */

static int read_numbers(program *run, uint64_t n, const char *path, float *values) {
    thr_reader *reader = NULL;
    uint64_t read = 0;
    int rc = prog_input_open(run->context, path, &reader);
    if (rc != PROG_DONE)
        return rc;
    const thr_reader_shape shape = thr_reader_get_shape(reader);
    if (shape.dtype == THR_DTYPE_NONE || shape.n_dims != 1) {
        prog_error("%s: expected one number per item: a column of numbers (.npy, .fvecs), or .tsv of items and numbers",
                   path);
        rc = PROG_FAILED;
    }
    for (thr_matrix rows; read <= n && prog_input_next_rows(reader, 65536, &rows, &rc);) {
        if (rows.n_rows <= n - read)
            (void)thr_matrix_to_f32(&rows, 0, rows.n_rows, values + read); /* rows are there */
        read += rows.n_rows;
    }
    if (rc == PROG_DONE && read != n) {
        prog_error("%s: %s numbers for %" PRIu64 " items", path, read > n ? "too many" : prog_exact(read).text, n);
        rc = PROG_FAILED;
    }
    thr_reader_free(reader);
    return rc;
}

/* Why rows are not in the order of items; NULL: they are. */
static const char *reason_for_no_order(const prog_hits_parts *parts) {
    return prog_hits_parts_n_items(parts) != prog_hits_parts_n_rows(parts) ? "items were removed, added or moved"
                                                                           : parts->disorder;
}

static int read_values(program *run, lookup *l, const char *path, float fallback, float **values) {
    *values = malloc((size_t)l->n * sizeof **values + 1);
    if (*values == NULL)
        return prog_no_memory();
    for (size_t i = 0; i < l->n; i++)
        (*values)[i] = fallback;
    const char *reason = l->parts == NULL ? NULL : reason_for_no_order(l->parts);
    if (reason != NULL && !prog_ends_unpacked(path, ".tsv")) {
        prog_error("%s: %s, so numbers cannot be matched to them by row: give .tsv of items and numbers", path, reason);
        return PROG_FAILED;
    }
    const int rc =
        prog_ends_unpacked(path, ".tsv") ? read_table(run, l, path, *values) : read_numbers(run, l->n, path, *values);
    free(l->names);
    return rc;
}

static int read_for_items(program *run, const prog_hits_parts *parts, const char *path, float fallback,
                          float **values) {
    lookup l = {.parts = parts, .n = prog_hits_parts_n_rows(parts)};
    return read_values(run, &l, path, fallback, values);
}

int prog_hits_values_set(program *run, const prog_hits_parts *parts, const char *multipliers_path,
                         const char *offsets_path) {
    thr_error err = {.status = THR_OK};
    float *multipliers = NULL, *offsets = NULL;
    int rc = PROG_DONE;
    if (multipliers_path != NULL)
        rc = read_for_items(run, parts, multipliers_path, 1, &multipliers);
    if (rc == PROG_DONE && offsets_path != NULL)
        rc = read_for_items(run, parts, offsets_path, 0, &offsets);
    for (size_t i = 0; i < parts->n && rc == PROG_DONE && (multipliers != NULL || offsets != NULL); i++) {
        const prog_hits_part *part = &parts->parts[i];
        if (thr_hits_set_values(part->hits, multipliers != NULL ? multipliers + part->first_row : NULL,
                                offsets != NULL ? offsets + part->first_row : NULL,
                                thr_hits_get_info(part->hits).n_rows, &err) != THR_OK)
            rc = prog_failed(&err);
    }
    free(multipliers);
    free(offsets);
    return rc;
}

int prog_table_values_read(program *run, const char *table, const char *path, float fallback, float **values,
                           uint64_t *n) {
    lookup l = {.parts = NULL};
    int rc = read_names(run, table, &l);
    if (rc == PROG_DONE)
        rc = read_values(run, &l, path, fallback, values);
    *n = l.n;
    free(l.text);
    return rc;
}
