/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunks.h - where the codes of a part are, and how searches get to all of them.
 *
 * The first tiles of a part are resident, as many as its device has room for. The others are in pinned memory of the
 * host, packed as the device wants them, cut into chunks of tiles; a search copies these in turn to two buffers, one on
 * its way while the other is scored. The link to the host is so much slower than a device's memory that a pass takes as
 * long as its copies, if these never wait: so all queries of a batch are scored on a chunk that is there, and a slice
 * of the resident tiles beside each chunk. How far copies and scores do overlap is not yet measured.
 *
 * The sample that gives thresholds is spread over all tiles, as if all were resident: where they are not, the sampled
 * ones, 1024 at most, are resident once more.
 *
 * Memory that is laid out for some tiles has all their codes first, then all their numbers, then all their offsets. So
 * a chunk is one copy.
 */
#ifndef THR_STORE_CHUNKS_H
#define THR_STORE_CHUNKS_H

#include "store/impl.h"
#include "select/sampled_threshold.h"

/*
 * The n tiles from place `at` on in memory laid out for n_places, numbered in the part from first_tile on. No pointer
 * is followed: memory may be the host's.
 */
thr_device_codes thr_store_run(const thr_store_part *part, const void *memory, uint32_t n_places, uint32_t at,
                               uint32_t n, uint32_t first_tile);

/*
 * Decide what is resident, and ask for memory for it and for chunks; the part's codes and tile sizes are known. At
 * least spare_bytes stay free, as long as there are as many; then it says how many there are. Nothing is copied yet.
 * THR_ENOMEM where not even two buffers can be had, or no pinned memory for what is not resident; what was had
 * already is left to thr_store_free_codes.
 */
thr_status thr_store_place_codes(thr_store *store, thr_store_part *part, thr_error *err);
void thr_store_free_codes(thr_store *store, thr_store_part *part);

/* The sampled tiles; as they are numbered behind those of the part, so are their bits of a filter. */
thr_device_codes thr_store_sampled(const thr_store_part *part);

/* The tile that is the i-th sampled one. */
static inline uint32_t thr_store_sampled_tile(const thr_store_part *part, uint32_t i) {
    return (uint32_t)thr_select_sample_place(i, part->n_samples, part->n_tiles);
}

/* Chunk i on the host, and its size; the tiles in it, as they lie in one of the buffers. */
void *thr_store_chunk_host(const thr_store_part *part, uint32_t i, size_t *size);
thr_device_codes thr_store_chunk(const thr_store_part *part, uint32_t i);

/* What is done with a run of codes, on the part's stream. */
typedef thr_status (*thr_store_visit)(void *arg, thr_store_part *part, const thr_device_codes *codes, thr_error *err);

/*
 * A pass over all codes of a part is so many steps, told one after the other from 0 on, each a slice of the resident
 * tiles and a chunk. Nothing is waited for: a visit only tells the part's stream what to do.
 */
uint32_t thr_store_n_steps(const thr_store_part *part);
thr_status thr_store_step(thr_store *store, thr_store_part *part, uint32_t step, thr_store_visit visit, void *arg,
                          thr_error *err);

#endif
