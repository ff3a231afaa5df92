/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunks.h - where the codes of a slice are, and how searches reach all of them.
 *
 * The first tiles of a slice are resident, as many as the device's memory holds. The others are in pinned memory of the
 * host, in the device's layout, cut into chunks of tiles. A search copies the chunks in turn into two buffers: one is
 * copied while the other is scored. The link to the host is so much slower than the device's memory that a pass takes
 * as long as its copies, provided that these never wait. So each step scores, for all queries of a batch, the chunk
 * that has arrived and a run of the resident tiles.
 *
 * The sample from which thresholds are computed is spread over all tiles. If some tiles are not resident, the device
 * also holds a copy of the sampled ones, 1024 at most.
 *
 * An array of tiles holds all their codes first, then all their numbers, then all their offsets, so that a chunk is one
 * copy.
 */
#pragma once

#include "store/slices.h"
#include "select/sampled_threshold.h"

/*
 * Return a view of tiles at to at + n - 1 of an array for n_places tiles. first_tile: the slice's number of the first.
 * memory: the device's or the host's; it is not dereferenced.
 */
thr_device_codes thr_store_tiles_view(const thr_store_slice *slice, const void *memory, uint32_t n_places, uint32_t at,
                                      uint32_t n, uint32_t first_tile);

/*
 * Decide how many tiles are resident, and allocate memory for them and for chunks; copies nothing. The slice's codes
 * and tile sizes must be set. Leaves slice->spare_bytes free where the device has as many, and sets it to the bytes
 * left free.
 *
 * Returns THR_OK; THR_ENOMEM if two buffers, or pinned memory for the tiles that are not resident, cannot be allocated;
 * THR_EDEVICE. After an error, too, thr_store_free_codes frees what was allocated.
 */
thr_status thr_store_place_codes(thr_store *store, thr_store_slice *slice, thr_error *err);
void thr_store_free_codes(thr_store *store, thr_store_slice *slice);

/* The sampled tiles. They are numbered after the slice's own tiles, and so are their words of a filter. */
thr_device_codes thr_store_sampled(const thr_store_slice *slice);

/* The number of the i-th sampled tile. */
static inline uint32_t thr_store_sampled_tile(const thr_store_slice *slice, uint32_t i) {
    return (uint32_t)thr_select_sample_place(i, slice->n_samples, slice->n_tiles);
}

/*
 * The memory of chunk i on the host, and its size in bytes.
 */
void *thr_store_chunk_host(const thr_store_slice *slice, uint32_t i, size_t *size);

/* The tiles of chunk i in the device buffer that receives them. */
thr_device_codes thr_store_chunk(const thr_store_slice *slice, uint32_t i);

/* Enqueues work on a run of codes, on the slice's stream. */
typedef thr_status (*thr_store_visit)(void *arg, thr_store_slice *slice, const thr_device_codes *codes, thr_error *err);

/*
 * A pass over all codes of a slice has thr_store_n_steps steps, which the caller enqueues in order from 0. Each visits
 * a run of the resident tiles and a chunk. Nothing waits for the device: visit only enqueues work on the slice's
 * stream.
 */
uint32_t thr_store_n_steps(const thr_store_slice *slice);
thr_status thr_store_step(thr_store *store, thr_store_slice *slice, uint32_t step, thr_store_visit visit, void *arg,
                          thr_error *err);
