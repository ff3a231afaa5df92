/* SPDX-License-Identifier: Apache-2.0 */
/* ids.c - reads ids or names, checks that they are unique, and writes them as sections. */
#include "index/build/ids.h"

#include "base/text/decimal.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/radix.h"

#include <inttypes.h>
#include <string.h>

enum { READ_ROWS = 1 << 16, WRITE_ITEMS = 1 << 16 };

/* ------------------------------------------------------------------------------------------------ read */

static thr_status negative(const thr_ids *ids, int64_t id, uint64_t row, thr_error *err) {
    return thr_fail(err, THR_ERANGE, "%s: row %" PRIu64 ": the id %" PRId64 " is negative: ids are 0 or more",
                    ids->name, row, id);
}

#define WIDEN(type)                                                                                                    \
    do {                                                                                                               \
        type value;                                                                                                    \
        memcpy(&value, in, sizeof value);                                                                              \
        *id = (uint64_t)value;                                                                                         \
        return (int64_t)value;                                                                                         \
    } while (0)

/* Widen an integer of any type to an id; return it as a signed number, whose sign the caller checks except for u64. */
static int64_t widen(const uint8_t *in, thr_dtype dtype, uint64_t *id) {
    switch (dtype) {
    case THR_DTYPE_I8:
        WIDEN(int8_t);
    case THR_DTYPE_U8:
        WIDEN(uint8_t);
    case THR_DTYPE_I32:
        WIDEN(int32_t);
    case THR_DTYPE_U32:
        WIDEN(uint32_t);
    case THR_DTYPE_I64:
        WIDEN(int64_t);
    default:
        WIDEN(uint64_t);
    }
}

static thr_status read_numbers(thr_ids *ids, thr_reader *reader, thr_reader_shape shape, thr_error *err) {
    bool integers = shape.dtype == THR_DTYPE_I8 || shape.dtype == THR_DTYPE_U8 || shape.dtype == THR_DTYPE_I32 ||
                    shape.dtype == THR_DTYPE_U32 || shape.dtype == THR_DTYPE_I64 || shape.dtype == THR_DTYPE_U64;
    if (shape.n_rows == 0)
        return THR_OK;
    if (!integers || shape.n_dims != 1)
        return thr_fail(err, THR_EINVAL,
                        "%s: holds %" PRIu32
                        " columns of %s: ids are one column of integers, or a text (.txt .tsv .csv) with one per line",
                        ids->name, shape.n_dims, thr_dtype_name(shape.dtype));
    for (;;) {
        thr_matrix rows;
        THR_TRY(thr_reader_next(reader, READ_ROWS, &rows, err));
        if (rows.n_rows == 0)
            return THR_OK;
        THR_TRY(thr_grow(ids->context, &ids->owned, &ids->owned_capacity, (size_t)(ids->n + rows.n_rows),
                         sizeof *ids->owned, "ids", err));
        for (uint64_t r = 0; r < rows.n_rows; r++) {
            int64_t value = widen((const uint8_t *)rows.data + r * rows.stride, rows.dtype, &ids->owned[ids->n]);
            if (value < 0 && rows.dtype != THR_DTYPE_U64)
                return negative(ids, value, ids->n, err);
            ids->n++;
        }
    }
}

/* Keep all lines as names, and beside them the ids, as long as every line so far is a number. */
static thr_status read_lines(thr_ids *ids, thr_reader *reader, bool keep_names, thr_error *err) {
    uint64_t used = 0;
    bool numbers = true;
    for (;;) {
        const char *line;
        size_t length;
        uint64_t id;
        size_t n = (size_t)ids->n;
        THR_TRY(thr_reader_next_line(reader, &line, &length, err));
        THR_TRY(
            thr_grow(ids->context, &ids->offsets, &ids->offsets_capacity, n + 1, sizeof *ids->offsets, "names", err));
        ids->offsets[n] = used;
        if (line == NULL)
            break;
        THR_TRY(thr_grow(ids->context, &ids->names, &ids->names_capacity, (size_t)used + length + 1, 1, "names", err));
        memcpy(ids->names + used, line, length);
        ids->names[used + length] = '\0';
        used += length + 1;
        numbers = numbers && thr_decimal_parse(line, length, &id) && id != THR_NO_ID;
        if (numbers) {
            THR_TRY(thr_grow(ids->context, &ids->owned, &ids->owned_capacity, n + 1, sizeof *ids->owned, "ids", err));
            ids->owned[n] = id;
        }
        ids->n++;
    }
    if (numbers && keep_names) {
        ids->kept_offsets = ids->offsets;
        ids->offsets = NULL;
    } else if (numbers) {
        THR_RELEASE(ids->context, ids->offsets, ids->names);
        ids->offsets = NULL;
        ids->names = NULL;
    } else {
        thr_release(ids->context, ids->owned);
        ids->owned = NULL;
    }
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ check */

static thr_status twice(const thr_ids *ids, uint64_t a, uint64_t b, thr_error *err) {
    uint64_t first = THR_MIN(a, b), second = THR_MAX(b, a);
    if (ids->offsets != NULL)
        return thr_fail(err, THR_EDUPLICATE,
                        "%s: the name '%.200s' is repeated, in rows %" PRIu64 " and %" PRIu64
                        ": give every item its own",
                        ids->name, ids->names + ids->offsets[first], first, second);
    return thr_fail(err, THR_EDUPLICATE,
                    "%s: the id %" PRIu64 " is repeated, in rows %" PRIu64 " and %" PRIu64 ": give every item its own",
                    ids->name, ids->ids[first], first, second);
}

thr_status thr_index_ids_fail_present(const thr_ids *ids, uint64_t item, const char *dir, thr_error *err) {
    static const char remedy[] = "already: replace it, or leave the row out";
    if (ids->offsets != NULL)
        return thr_fail(err, THR_EDUPLICATE, "%s: row %" PRIu64 ": %s holds an item with the name '%.200s' %s",
                        ids->name, item, dir, ids->names + ids->offsets[item], remedy);
    return thr_fail(err, THR_EDUPLICATE, "%s: row %" PRIu64 ": %s holds an item with the id %" PRIu64 " %s", ids->name,
                    item, dir, ids->ids[item], remedy);
}

static bool same_name(const thr_ids *ids, uint64_t a, uint64_t b) {
    uint64_t length = ids->offsets[a + 1] - ids->offsets[a];
    return length == ids->offsets[b + 1] - ids->offsets[b] &&
           memcmp(ids->names + ids->offsets[a], ids->names + ids->offsets[b], (size_t)length) == 0;
}

/*
 * Sort by id, or by the checksum of the name, so that duplicates become neighbours; names of equal checksum are
 * compared in full.
 */
static thr_status check_unique(const thr_ids *ids, thr_error *err) {
    thr_keyed *pairs = NULL;
    thr_status status = THR_OK;
    THR_TRY(thr_alloc(ids->context, (size_t)ids->n, sizeof *pairs, &pairs, "checking ids", err));
    for (uint64_t i = 0; i < ids->n; i++) {
        uint64_t key = ids->offsets == NULL ? ids->ids[i]
                                            : thr_checksum_of(ids->names + ids->offsets[i],
                                                              (size_t)(ids->offsets[i + 1] - ids->offsets[i]));
        pairs[i] = (thr_keyed){.key = key, .value = i};
    }
    THR_TRY_OUT(thr_radix_sort(ids->context, pairs, (size_t)ids->n, err));
    for (uint64_t i = 1; i < ids->n; i++)
        for (uint64_t j = i; j-- > 0 && pairs[j].key == pairs[i].key;)
            if (ids->offsets == NULL || same_name(ids, pairs[j].value, pairs[i].value)) {
                status = twice(ids, pairs[j].value, pairs[i].value, err);
                goto out;
            }
out:
    thr_release(ids->context, pairs);
    return status;
}

thr_status thr_index_ids_check_unique(const thr_ids *ids, thr_error *err) {
    for (uint64_t i = 0; ids->offsets == NULL && i < ids->n; i++)
        if (ids->ids[i] == THR_NO_ID)
            return thr_fail(err, THR_ERANGE, "%s: row %" PRIu64 ": the id %" PRIu64 " means 'none': choose another",
                            ids->name, i, THR_NO_ID);
    for (uint64_t i = 0; ids->offsets != NULL && i < ids->n; i++) {
        const char *name = ids->names + ids->offsets[i];
        if (*name == '\0')
            return thr_fail(err, THR_EINVAL, "%s: row %" PRIu64 ": the name is empty: give every item its own",
                            ids->name, i);
        if (strpbrk(name, "\n\r") != NULL)
            return thr_fail(err, THR_EINVAL, "%s: row %" PRIu64 ": the name has a line break: leave it out", ids->name,
                            i);
    }
    return ids->n < 2 ? THR_OK : check_unique(ids, err);
}

static thr_status read_path(thr_ids *ids, const char *path, bool keep_names, thr_error *err) {
    thr_reader *reader = NULL;
    thr_status status;
    ids->name = path;
    THR_TRY(thr_reader_open(ids->context, path, &reader, err));
    thr_reader_shape shape = thr_reader_get_shape(reader);
    if (shape.dtype == THR_DTYPE_NONE)
        status = read_lines(ids, reader, keep_names, err);
    else
        status = read_numbers(ids, reader, shape, err);
    thr_reader_free(reader);
    ids->ids = ids->owned;
    return status;
}

void thr_index_ids_take_names(thr_ids *ids) {
    if (ids->kept_offsets == NULL)
        return;
    ids->offsets = ids->kept_offsets;
    ids->kept_offsets = NULL;
    ids->ids = NULL;
}

thr_status thr_index_ids_open(thr_context *context, const thr_index_build_options *options, bool keep_names,
                              thr_ids *ids, thr_error *err) {
    *ids = (thr_ids){.context = context, .name = "ids"};
    if (options->ids != NULL && options->ids_path != NULL)
        return thr_fail(err, THR_EINVAL, "both an array of ids and the file %s are given: give one", options->ids_path);
    if (options->ids == NULL && options->n_ids != 0)
        return thr_fail(err, THR_EINVAL, "n_ids is %" PRIu64 " but there is no array of ids", options->n_ids);
    if (options->ids == NULL && options->ids_path == NULL)
        return THR_OK;
    if (options->ids_path != NULL) {
        THR_TRY(read_path(ids, options->ids_path, keep_names, err));
    } else {
        ids->ids = options->ids;
        ids->n = options->n_ids;
    }
    ids->given = true;
    return thr_index_ids_check_unique(ids, err);
}

void thr_index_ids_close(thr_ids *ids) {
    THR_RELEASE(ids->context, ids->owned, ids->offsets, ids->names, ids->kept_offsets);
    *ids = (thr_ids){.context = ids->context};
}

void thr_index_ids_raise_next(const thr_ids *ids, uint64_t *next) {
    for (uint64_t i = 0; ids->offsets == NULL && i < ids->n; i++)
        *next = ids->ids[i] >= *next ? ids->ids[i] + 1 : *next;
}

thr_status thr_index_ids_check_count(const thr_ids *ids, uint64_t n_rows, const char *rows_name, thr_error *err) {
    if ((ids->n == 0 && !ids->given) || ids->n == n_rows)
        return THR_OK;
    return thr_fail(err, THR_EDIM, "%s: %" PRIu64 " %s for the %" PRIu64 " rows of %s: give one for every row",
                    ids->name, ids->n, ids->offsets != NULL ? "names" : "ids", n_rows, rows_name);
}

/* ------------------------------------------------------------------------------------------------ write */

static thr_status write_zeros(thr_section_writer *writer, uint64_t size, thr_error *err) {
    static const uint8_t zeros[THR_BLOCK_ITEMS * sizeof(uint64_t)] = {0};
    return thr_sections_write(writer, zeros, (size_t)size, err);
}

static thr_status write_ids(const thr_ids *ids, uint64_t first, uint32_t n, thr_section_writer *writer,
                            thr_error *err) {
    uint32_t *order = NULL;
    uint64_t padding = thr_padded_items(n) - n;
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_sections_begin(writer, THR_SECTION_IDS, err));
    THR_TRY_OUT(thr_sections_write(writer, ids->ids + first, n * sizeof(uint64_t), err));
    THR_TRY_OUT(write_zeros(writer, padding * sizeof(uint64_t), err));
    thr_sections_end(writer);

    THR_TRY_OUT(thr_alloc(ids->context, n, sizeof *order, &order, "the order of ids", err));
    THR_TRY_OUT(thr_radix_order(ids->context, ids->ids + first, n, order, err));
    THR_TRY_OUT(thr_sections_begin(writer, THR_SECTION_ID_ORDER, err));
    THR_TRY_OUT(thr_sections_write(writer, order, n * sizeof *order, err));
    THR_TRY_OUT(write_zeros(writer, padding * sizeof *order, err));
    thr_sections_end(writer);
out:
    thr_release(ids->context, order);
    return status;
}

static thr_status write_names(const thr_ids *ids, uint64_t first, uint32_t n, thr_section_writer *writer,
                              thr_error *err) {
    uint64_t *offsets = NULL;
    uint64_t start = ids->offsets[first];
    uint64_t total = (uint64_t)n + 1;
    size_t piece = total < WRITE_ITEMS ? (size_t)total : WRITE_ITEMS;
    thr_status status = THR_OK;
    THR_TRY(thr_alloc(ids->context, piece, sizeof *offsets, &offsets, "names", err));
    THR_TRY_OUT(thr_sections_begin(writer, THR_SECTION_NAMES, err));
    for (uint64_t i = 0; i < total; i += piece) {
        size_t m = total - i < piece ? (size_t)(total - i) : piece;
        for (size_t j = 0; j < m; j++)
            offsets[j] = ids->offsets[first + i + j] - start;
        THR_TRY_OUT(thr_sections_write(writer, offsets, m * sizeof *offsets, err));
    }
    THR_TRY_OUT(thr_sections_write(writer, ids->names + start, (size_t)(ids->offsets[first + n] - start), err));
    thr_sections_end(writer);
out:
    thr_release(ids->context, offsets);
    return status;
}

thr_status thr_index_ids_write(const thr_ids *ids, uint64_t first, uint32_t n, thr_section_writer *writer,
                               thr_error *err) {
    if (ids->ids != NULL)
        THR_TRY(write_ids(ids, first, n, writer, err));
    return ids->offsets != NULL ? write_names(ids, first, n, writer, err) : THR_OK;
}

thr_status thr_index_ids_write_name_slots(const thr_ids *ids, uint64_t first, uint32_t n, thr_section_writer *writer,
                                          thr_error *err) {
    const thr_strings names = {ids->offsets + first, ids->names, n, ids->offsets[first + n]};
    const size_t n_slots = (size_t)thr_name_slots_count(n);
    thr_name_slot *slots = NULL;
    THR_TRY(thr_alloc_zero(ids->context, n_slots, sizeof *slots, &slots, "names", err));
    thr_index_name_slots_fill(&names, slots);
    const thr_status status = thr_sections_put(writer, THR_SECTION_NAME_SLOTS, slots, n_slots * sizeof *slots, err);
    thr_release(ids->context, slots);
    return status;
}
