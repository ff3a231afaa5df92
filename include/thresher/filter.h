/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter.h - bitmaps of rows: which items a search may return (thr_search_options.filter).
 *
 * A bitmap of n_bits rows is ceil(n_bits / 64) words; row r is bit r % 64 of word r / 64. The caller owns it. The
 * functions below that fill one write all its words: a row that is not named is 0, and after an error all are 0.
 *
 * In an index that was built with ids of its own (thr_index_info.has_ids), rows and ids are two things; in all others
 * an item's id is its row.
 *
 * Threads: all functions may be called from several threads at once.
 */
#ifndef THRESHER_FILTER_H
#define THRESHER_FILTER_H

#include <thresher/index.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How many of the first n_bits rows are in the bitmap. */
THR_API uint64_t thr_bitmap_count(const uint64_t *words, uint64_t n_bits);

/*
 * From a list of row numbers, in any order; one that stands twice counts once.
 *
 * Returns THR_OK; THR_EINVAL for a row that is not below n_bits (err names the largest).
 */
THR_API thr_status thr_bitmap_from_rows(const uint64_t *rows, size_t n_rows, uint64_t n_bits, uint64_t *words,
                                        thr_error *err);

/*
 * From a Roaring bitmap of row numbers in the portable format that all its implementations write (RoaringFormatSpec):
 * of 32 bits, as roaring_bitmap_portable_serialize of CRoaring or RoaringBitmap.serialize of Java write it, and of 64,
 * as roaring64_bitmap_portable_serialize and Roaring64NavigableMap.serializePortable do. Which one it is is told from
 * the bytes. They may come from anywhere: all are checked, and none outside of [bytes, bytes + size) is read.
 *
 * Returns THR_OK; THR_EINVAL for a row that is not below n_bits (err names the largest); THR_EFORMAT for bytes that are
 * no Roaring bitmap; THR_ECORRUPT for one that is cut short, damaged, or followed by more bytes.
 */
THR_API thr_status thr_bitmap_from_roaring(const void *bytes, size_t size, uint64_t n_bits, uint64_t *words,
                                           thr_error *err);

/*
 * The same from ids: the items of index with these ids, in a bitmap of thr_index_info.n_items rows.
 *
 * Returns THR_OK; THR_ENOTFOUND for an id the index does not hold (err names it); THR_ECHANGED when a segment file was
 * changed or cut since it was opened; and what the functions above return, but for rows that are too large.
 */
THR_API thr_status thr_bitmap_from_ids(const thr_index *index, const uint64_t *ids, size_t n_ids, uint64_t *words,
                                       thr_error *err);
THR_API thr_status thr_bitmap_from_roaring_ids(const thr_index *index, const void *bytes, size_t size, uint64_t *words,
                                               thr_error *err);

#ifdef __cplusplus
}
#endif

#endif
