/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter.h - bitmaps of rows: which items a search may return (thr_search_options.filter).
 *
 * A bitmap of n_bits rows is an array of ceil(n_bits / 64) words, owned by the caller; row r is bit r % 64 of word
 * r / 64. The functions below overwrite all words: rows that are not listed become 0, and after an error all do.
 *
 * If thr_index_info.has_ids is false, an item's id is its row. It is true for an index that was built with ids or with
 * cells, and may become true by changes.
 *
 * Threads: all functions may be called from several threads at once.
 */
#ifndef THRESHER_FILTER_H
#define THRESHER_FILTER_H

#include <thresher/index.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Count the set bits among the first n_bits. */
THR_API uint64_t thr_bitmap_count(const uint64_t *words, uint64_t n_bits);

/*
 * Fill words from row numbers in any order; repetitions are allowed.
 *
 * Returns THR_OK; THR_EINVAL if a row is not below n_bits (err names the largest).
 */
THR_API thr_status thr_bitmap_from_rows(const uint64_t *rows, size_t n_rows, uint64_t n_bits, uint64_t *words,
                                        thr_error *err);

/*
 * Fill words from a Roaring bitmap of row numbers in the portable format (RoaringFormatSpec), which is detected:
 *
 *   32 bits   roaring_bitmap_portable_serialize (CRoaring), RoaringBitmap.serialize (Java)
 *   64 bits   roaring64_bitmap_portable_serialize, Roaring64NavigableMap.serializePortable
 *
 * The bytes may come from an untrusted source: all are checked, and none outside [bytes, bytes + size) is read.
 *
 * Returns THR_OK; THR_EINVAL if a row is not below n_bits (err names the largest); THR_EFORMAT if the bytes are not a
 * Roaring bitmap; THR_ECORRUPT if it is cut short, damaged, or followed by more bytes.
 */
THR_API thr_status thr_bitmap_from_roaring(const void *bytes, size_t size, uint64_t n_bits, uint64_t *words,
                                           thr_error *err);

/*
 * Fill words, a bitmap of thr_index_n_rows rows, from ids of the index: an array, or a Roaring bitmap.
 *
 * Returns THR_OK; THR_ENOTFOUND for an unknown id (err names it); THR_ECHANGED if a segment file was changed or cut
 * after it was opened; for a Roaring bitmap THR_EFORMAT and THR_ECORRUPT as above.
 */
THR_API thr_status thr_bitmap_from_ids(const thr_index *index, const uint64_t *ids, size_t n_ids, uint64_t *words,
                                       thr_error *err);
THR_API thr_status thr_bitmap_from_roaring_ids(const thr_index *index, const void *bytes, size_t size, uint64_t *words,
                                               thr_error *err);

#ifdef __cplusplus
}
#endif

#endif
