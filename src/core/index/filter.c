/* SPDX-License-Identifier: Apache-2.0 */
/* filter.c - makes bitmaps of rows from ids, as arrays or as Roaring bitmaps. */
#include "index/impl.h"

#include "base/error.h"
#include "select/bitmap.h"
#include "select/roaring.h"

#include <inttypes.h>
#include <string.h>

static thr_status not_held(const thr_index *index, uint64_t id, thr_error *err) {
    return thr_fail(err, THR_ENOTFOUND, "%s: holds no item with the id %" PRIu64, index->dir, id);
}

static thr_status allow(const thr_index *index, uint64_t id, uint64_t *words, thr_error *err) {
    uint64_t row;
    if (!thr_index_row(index, id, &row))
        return not_held(index, id, err);
    thr_bitmap_set(words, row);
    return THR_OK;
}

static thr_status allow_all(const thr_index *index, const uint64_t *ids, size_t n_ids, uint64_t *words,
                            thr_error *err) {
    for (size_t i = 0; i < n_ids; i++)
        THR_TRY(allow(index, ids[i], words, err));
    return THR_OK;
}

/* Ids that are row numbers: copy the container's bits. */
static thr_status allow_rows(const thr_index *index, const thr_roaring_container *container, uint64_t *words,
                             thr_error *err) {
    const uint64_t largest = container->first + container->last;
    if (largest >= index->manifest.n_rows)
        return not_held(index, largest, err);
    thr_select_roaring_fill(container, words + container->first / THR_WORD_BITS);
    return THR_OK;
}

/* Other ids: look up each one. */
static thr_status allow_ids(const thr_index *index, const thr_roaring_container *container, uint64_t *words,
                            thr_error *err) {
    uint64_t bits[THR_ROARING_WORDS] = {0}, ids[THR_WORD_BITS], from = 0;
    thr_select_roaring_fill(container, bits);
    for (size_t n; (n = thr_select_bitmap_next_rows(bits, &from, THR_ROARING_BITS, ids, THR_WORD_BITS)) > 0;)
        for (size_t i = 0; i < n; i++)
            THR_TRY(allow(index, container->first + ids[i], words, err));
    return THR_OK;
}

/* Stop at the first unknown id, so that a few bytes that encode 2^32 ids cost no more than the index has items. */
static thr_status allow_roaring(const thr_index *index, const void *bytes, size_t size, uint64_t *words,
                                thr_error *err) {
    thr_roaring roaring;
    thr_roaring_container container;
    THR_TRY(thr_select_roaring_open(&roaring, bytes, size, err));
    for (;;) {
        THR_TRY(thr_select_roaring_next(&roaring, &container, err));
        if (container.n_bits == 0)
            return THR_OK;
        THR_TRY((index->manifest.has_ids ? allow_ids : allow_rows)(index, &container, words, err));
    }
}

/* Clear the bitmap after an error. */
static thr_status done(const thr_index *index, thr_status status, uint64_t *words, thr_error *err) {
    status = thr_index_check_after(index, status, err);
    if (status != THR_OK)
        memset(words, 0, thr_bitmap_words(index->manifest.n_rows) * sizeof *words);
    return status;
}

thr_status thr_bitmap_from_ids(const thr_index *index, const uint64_t *ids, size_t n_ids, uint64_t *words,
                               thr_error *err) {
    if (index == NULL || (ids == NULL && n_ids > 0) || words == NULL)
        return thr_fail(err, THR_EINVAL, "a bitmap of ids needs an index, ids and memory for its words");
    memset(words, 0, thr_bitmap_words(index->manifest.n_rows) * sizeof *words);
    THR_TRY(thr_index_check_unchanged(index, err));
    return done(index, allow_all(index, ids, n_ids, words, err), words, err);
}

thr_status thr_bitmap_from_roaring_ids(const thr_index *index, const void *bytes, size_t size, uint64_t *words,
                                       thr_error *err) {
    if (index == NULL || (bytes == NULL && size > 0) || words == NULL)
        return thr_fail(err, THR_EINVAL, "a bitmap of ids needs an index, bytes and memory for its words");
    memset(words, 0, thr_bitmap_words(index->manifest.n_rows) * sizeof *words);
    THR_TRY(thr_index_check_unchanged(index, err));
    return done(index, allow_roaring(index, bytes, size, words, err), words, err);
}
