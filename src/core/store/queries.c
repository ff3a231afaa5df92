/* SPDX-License-Identifier: Apache-2.0 */
/* queries.c - packs query codes into words or digits, and uploads these and filters. */
#include "store/queries.h"

#include "base/error.h"
#include "base/minmax.h"
#include "store/chunks.h"
#include "store/search_memory.h"

#include <thresher/way.h>

#include <string.h>

enum {
    WORD_DIMS = 32,
    COLUMN = 8,     /* queries (ops.h) */
    BATCH_LEAST = 5 /* fewest queries for which tensor cores are used */
};

uint32_t thr_store_query_words(const thr_query_code *code) {
    return THR_CEIL_DIV(code->n_dims, WORD_DIMS) * code->query_bits;
}

/* 32 dimensions of a plane per word, the most significant plane first. */
void thr_store_put_words(const thr_query_code *code, uint32_t *words) {
    memset(words, 0, thr_store_query_words(code) * sizeof *words);
    for (uint32_t d = 0; d < code->n_dims; d++)
        for (uint32_t j = 0; j < code->query_bits; j++)
            words[d / WORD_DIMS * code->query_bits + j] |= (uint32_t)(code->levels[d] >> (code->query_bits - 1 - j) & 1)
                                                           << d % WORD_DIMS;
}

enum { TILE_WORDS = THR_DEVICE_TILE / 64 }; /* words of a filter per tile */

/* Copy the filter's words of the sampled tiles, which are all full, after those of the slice. */
static thr_status send_sampled_filter(const thr_collecting *c, thr_store_slice *slice, uint64_t *to, thr_error *err) {
    const uint64_t *words = c->job->options->filter + slice->first_block;
    const size_t tile = TILE_WORDS * sizeof *words, size = slice->n_samples * tile;
    uint64_t *host;
    THR_TRY(thr_store_grow(c->store, slice, THR_STORE_BUFFER_HOST_FILTER, size, &host, err));
    for (uint32_t i = 0; i < slice->n_samples; i++)
        memcpy(host + (size_t)i * TILE_WORDS, words + (size_t)thr_store_sampled_tile(slice, i) * TILE_WORDS, tile);
    return c->store->backend->upload(slice->stream, to, host, size, err);
}

/* The filter's words of a run's items. */
static const uint64_t *filter_of(const thr_collecting *c, const thr_store_slice *slice, const thr_device_codes *codes) {
    const uint64_t *words = slice->buffers[THR_STORE_BUFFER_FILTER].memory;
    return c->job->options->filter == NULL ? NULL : words + (size_t)codes->first_tile * TILE_WORDS;
}

thr_status thr_store_send_filter(const thr_collecting *c, thr_store_slice *slice, thr_error *err) {
    uint64_t *memory;
    const uint32_t n_sampled = slice->chunks.n > 0 ? slice->n_samples : 0;
    const size_t n_words = (size_t)slice->n_tiles * TILE_WORDS, n_all = n_words + (size_t)n_sampled * TILE_WORDS;
    const size_t size = n_words * sizeof *memory, used = slice->n_blocks * sizeof *memory;
    if (c->job->options->filter == NULL)
        return THR_OK;
    THR_TRY(thr_store_grow(c->store, slice, THR_STORE_BUFFER_FILTER, n_all * sizeof *memory, &memory, err));
    THR_TRY(c->store->backend->upload(slice->stream, memory, c->job->options->filter + slice->first_block, used, err));
    if (size > used)
        THR_TRY(c->store->backend->clear(slice->stream, memory + slice->n_blocks, size - used, err));
    return n_sampled == 0 ? THR_OK : send_sampled_filter(c, slice, memory + n_words, err);
}

/* Whether query codes are in device memory, because they are too long for an operation. */
static bool queries_in_memory(const thr_collecting *c) {
    const uint32_t most = THR_MIN(c->n, THR_SCREEN_QUERIES);
    return (size_t)most * thr_store_query_words(&c->queries[0]->code) > THR_SCREEN_WORDS;
}

/* Upload the code words of a batch's queries, if they are too long for the operations. */
static thr_status send_words(const thr_collecting *c, thr_store_slice *slice, thr_error *err) {
    const size_t n_words = thr_store_query_words(&c->queries[0]->code), size = c->n * n_words * sizeof(uint32_t);
    uint32_t *host;
    void *memory;
    if (!queries_in_memory(c))
        return THR_OK;
    THR_TRY(thr_store_grow(c->store, slice, THR_STORE_BUFFER_WORDS, size, &memory, err));
    THR_TRY(thr_store_grow(c->store, slice, THR_STORE_BUFFER_HOST_WORDS, size, &host, err));
    for (uint32_t q = 0; q < c->n; q++)
        thr_store_put_words(&c->queries[q]->code, host + q * n_words);
    return c->store->backend->upload(slice->stream, memory, host, size, err);
}

thr_device_query thr_store_query(const thr_scan_query *query) {
    const thr_query_code *code = &query->code;
    /* sum includes what a margin added to the code's total (scan/margins/margin.h). */
    int32_t sum =
        code->total - (int32_t)(code->n_dims * ((1u << code->item_bits) - 1) * ((1u << code->query_bits) - 1));
    for (uint32_t d = 0; d < code->n_dims; d++)
        sum += 2 * code->levels[d] + 1 - (1 << code->query_bits);
    return (thr_device_query){code->total, sum, query->gain, query->offset_weight};
}

void thr_store_make_scan(const thr_collecting *c, const thr_store_slice *slice, const thr_device_codes *codes,
                         uint32_t first, uint32_t n, thr_device_scan *scan) {
    const size_t n_words = thr_store_query_words(&c->queries[first]->code);
    scan->codes = *codes;
    scan->filter = filter_of(c, slice, codes);
    scan->n_queries = n;
    scan->query_bits = c->job->query_bits;
    scan->far_words =
        queries_in_memory(c) ? (const uint32_t *)slice->buffers[THR_STORE_BUFFER_WORDS].memory + first * n_words : NULL;
    for (uint32_t i = 0; i < n; i++) {
        const thr_scan_query *query = c->queries[first + i];
        scan->queries[i] = thr_store_query(query);
        if (scan->far_words == NULL)
            thr_store_put_words(&query->code, scan->words + i * n_words);
    }
}

uint32_t thr_store_batch_size(const thr_collecting *c, const thr_store_slice *slice) {
    const int forced = c->job->context->forced_way;
    if (forced == THR_WAY_XOR || (c->n < BATCH_LEAST && forced != THR_WAY_TILE))
        return 0;
    const uint32_t limit =
        c->store->backend->batch_limit(slice->device, slice->codes.n_dims, slice->codes.n_planes, c->job->query_bits);
    return THR_MIN(c->n, limit);
}

/* The number of words of a batch of at most `size` queries, in the layout of ops.h. */
static size_t digits_size(const thr_store_slice *slice, uint32_t size) {
    return (size_t)THR_CEIL_DIV(slice->codes.n_dims, WORD_DIMS) * thr_batch_columns(size) * WORD_DIMS * 2;
}

/* Write the digits of query q into a batch of n_columns columns. */
static void fill_digits(const thr_query_code *code, uint32_t q, uint32_t n_columns, int8_t *digits) {
    for (uint32_t d = 0; d < code->n_dims; d++) {
        const uint32_t step = d / 32, i = d % 32 / 8, h = d % 8 / 4, t = d % 4;
        const size_t lane = (step * n_columns + q / COLUMN) * (size_t)32 + q % COLUMN * 4 + t;
        digits[(2 * lane + h) * 4 + i] = (int8_t)(2 * code->levels[d] + 1 - (1 << code->query_bits));
    }
}

static thr_status send_digits(const thr_collecting *c, thr_store_slice *slice, uint32_t size, thr_error *err) {
    const thr_backend *backend = c->store->backend;
    const size_t group = digits_size(slice, size) * sizeof(uint32_t), n_groups = THR_CEIL_DIV(c->n, size);
    void *memory;
    int8_t *digits;
    thr_device_query *queries;
    THR_TRY(thr_store_grow(c->store, slice, THR_STORE_BUFFER_HOST_DIGITS, n_groups * group, &digits, err));
    THR_TRY(thr_store_grow(c->store, slice, THR_STORE_BUFFER_HOST_QUERIES, c->n * sizeof *queries, &queries, err));
    memset(digits, 0, n_groups * group);
    for (uint32_t q = 0; q < c->n; q++) {
        fill_digits(&c->queries[q]->code, q % size, thr_batch_columns(size), digits + q / size * group);
        queries[q] = thr_store_query(c->queries[q]);
    }
    THR_TRY(thr_store_grow(c->store, slice, THR_STORE_BUFFER_DIGITS, n_groups * group, &memory, err));
    THR_TRY(backend->upload(slice->stream, memory, digits, n_groups * group, err));
    THR_TRY(thr_store_grow(c->store, slice, THR_STORE_BUFFER_QUERIES, c->n * sizeof *queries, &memory, err));
    return backend->upload(slice->stream, memory, queries, c->n * sizeof *queries, err);
}

thr_status thr_store_send_queries(const thr_collecting *c, thr_store_slice *slice, thr_error *err) {
    const uint32_t size = thr_store_batch_size(c, slice);
    THR_TRY(send_words(c, slice, err));
    return size == 0 ? THR_OK : send_digits(c, slice, size, err);
}

void thr_store_make_batch(const thr_collecting *c, const thr_store_slice *slice, const thr_device_codes *codes,
                          uint32_t first, uint32_t size, thr_batch_op *op) {
    op->codes = *codes;
    op->filter = filter_of(c, slice, codes);
    op->n_queries = THR_MIN(c->n - first, size);
    op->n_columns = thr_batch_columns(size);
    op->digits =
        (const uint32_t *)slice->buffers[THR_STORE_BUFFER_DIGITS].memory + first / size * digits_size(slice, size);
    op->queries = (const thr_device_query *)slice->buffers[THR_STORE_BUFFER_QUERIES].memory + first;
}
