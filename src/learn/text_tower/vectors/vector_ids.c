/* SPDX-License-Identifier: Apache-2.0 */
/* vector_ids.c - reads ids of vectors, and finds the vectors of pairs by binary search over checksums of ids. */
#include "text_tower/vectors/vector_ids.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/files/checksum.h"
#include "base/progress.h"
#include "base/radix.h"
#include "base/text/decimal.h"
#include "io/table.h"

/* The ids of a side's vectors in memory; without a file ids are row numbers. */
typedef struct side_ids {
    const char *path, *vectors;
    size_t n;
    char *text; /* ids, each with its NUL */
    size_t *offsets;
    thr_keyed *sorted; /* by the checksum of the id */
    size_t text_capacity, offsets_capacity;
} side_ids;

static void free_ids(thr_context *context, side_ids *ids) {
    THR_RELEASE(context, ids->text, ids->offsets, ids->sorted);
}

static thr_status read_lines(thr_context *context, side_ids *ids, thr_reader *reader, size_t *n, thr_error *err) {
    for (size_t used = 0;; ++*n) {
        const char *line;
        size_t length;
        THR_TRY(thr_reader_next_line(reader, &line, &length, err));
        if (line == NULL)
            return THR_OK;
        THR_TRY(thr_grow(context, &ids->offsets, &ids->offsets_capacity, *n + 1, sizeof *ids->offsets, "ids", err));
        THR_TRY(thr_grow(context, &ids->text, &ids->text_capacity, used + length + 1, 1, "ids", err));
        memcpy(ids->text + used, line, length);
        ids->text[used + length] = '\0';
        ids->offsets[*n] = used;
        used += length + 1;
    }
}

/* Sort the ids by their checksums and refuse equal ones. */
static thr_status sort_ids(thr_context *context, side_ids *ids, thr_error *err) {
    THR_TRY(thr_alloc(context, ids->n, sizeof *ids->sorted, &ids->sorted, "ids", err));
    for (size_t i = 0; i < ids->n; i++) {
        const char *id = ids->text + ids->offsets[i];
        ids->sorted[i] = (thr_keyed){.key = thr_checksum_of(id, strlen(id)), .value = i};
    }
    THR_TRY(thr_radix_sort(context, ids->sorted, ids->n, err));
    for (size_t i = 1; i < ids->n; i++)
        for (size_t j = i; j-- > 0 && ids->sorted[j].key == ids->sorted[i].key;) {
            const size_t a = (size_t)ids->sorted[j].value, b = (size_t)ids->sorted[i].value;
            if (strcmp(ids->text + ids->offsets[a], ids->text + ids->offsets[b]) == 0)
                return thr_fail(err, THR_EDUPLICATE,
                                "%s: the id '%.200s' is repeated, in lines %zu and %zu: give every vector its own",
                                ids->path, ids->text + ids->offsets[a], a + 1, b + 1);
        }
    return THR_OK;
}

static thr_status read_ids(thr_context *context, side_ids *ids, thr_error *err) {
    thr_reader *reader = NULL;
    size_t n = 0;
    if (ids->path == NULL)
        return THR_OK;
    THR_TRY(thr_reader_open(context, ids->path, &reader, err));
    thr_status status = THR_OK;
    if (thr_reader_get_shape(reader).dtype != THR_DTYPE_NONE)
        status = thr_fail(err, THR_EINVAL, "%s: holds numbers: give a text with one id per line (.txt, .tsv:COLUMN)",
                          ids->path);
    else
        status = read_lines(context, ids, reader, &n, err);
    thr_reader_free(reader);
    THR_TRY(status);
    if (n != ids->n)
        return thr_fail(err, THR_EDIM, "%s has %zu ids, %s %zu vectors: give each vector its id", ids->path, n,
                        ids->vectors, ids->n);
    return sort_ids(context, ids, err);
}

static bool find(const side_ids *ids, const thr_field *id, size_t *row) {
    uint64_t number;
    if (ids->path == NULL) {
        if (!thr_decimal_parse(id->text, id->length, &number) || number >= ids->n)
            return false;
        *row = (size_t)number;
        return true;
    }
    const uint64_t key = thr_checksum_of(id->text, id->length);
    for (size_t i = thr_radix_first(ids->sorted, ids->n, key); i < ids->n && ids->sorted[i].key == key; i++) {
        *row = (size_t)ids->sorted[i].value;
        if (strcmp(ids->text + ids->offsets[*row], id->text) == 0)
            return true;
    }
    return false;
}

static thr_status read_pairs(thr_context *context, const side_ids *sides, thr_table *table, uint32_t **rows, size_t *n,
                             thr_error *err) {
    static const char *const what[THR_N_SIDES] = {"query", "item"};
    thr_progress progress = thr_progress_start(context, "reading pairs", 0);
    size_t capacities[THR_N_SIDES] = {0};
    for (;; ++*n) {
        const thr_field *fields;
        size_t n_fields, row = 0;
        THR_TRY(thr_io_table_next_whole(table, &progress, &fields, &n_fields, err));
        if (n_fields == 0)
            return THR_OK;
        if (n_fields < THR_N_SIDES)
            return thr_fail(err, THR_EFORMAT,
                            "%s: row %" PRIu64 " has one column: give the id of a query and of an item",
                            thr_io_table_name(table), thr_io_table_row(table));
        for (size_t side = 0; side < THR_N_SIDES; side++) {
            THR_TRY(thr_grow(context, &rows[side], &capacities[side], *n + 1, sizeof *rows[side], "pairs", err));
            if (!find(&sides[side], &fields[side], &row))
                return thr_fail(err, THR_ENOTFOUND, "%s: row %" PRIu64 ": the %s '%.200s' has no vector in %s",
                                thr_io_table_name(table), thr_io_table_row(table), what[side], fields[side].text,
                                sides[side].vectors);
            rows[side][*n] = (uint32_t)row;
        }
    }
}

thr_status thr_text_vector_ids_read(thr_context *context, const thr_vector_ids *ids, uint32_t *rows[THR_N_SIDES],
                                    size_t *n, thr_error *err) {
    side_ids sides[THR_N_SIDES] = {{0}};
    thr_table *table = NULL;
    thr_status status = THR_OK;
    *n = 0;
    for (size_t side = 0; side < THR_N_SIDES; side++) {
        sides[side] =
            (side_ids){.path = ids->ids_paths[side], .vectors = ids->vector_names[side], .n = ids->n_vectors[side]};
        THR_TRY_OUT(read_ids(context, &sides[side], err));
    }
    THR_TRY_OUT(thr_io_table_open(context, ids->pairs_path, &table, err));
    status = read_pairs(context, sides, table, rows, n, err);
    if (status == THR_OK && *n == 0)
        status = thr_fail(err, THR_EDIM, "%s: holds no pairs: write or fetch it again", ids->pairs_path);
out:
    thr_io_table_free(table);
    for (size_t side = 0; side < THR_N_SIDES; side++)
        free_ids(context, &sides[side]);
    return status;
}
