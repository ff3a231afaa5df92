/* SPDX-License-Identifier: Apache-2.0 */
/* impl.h - what a store is made of, for the files that fill it and search it. */
#ifndef THR_STORE_IMPL_H
#define THR_STORE_IMPL_H

#include "store/store.h"

#include <pthread.h>

enum { THR_BLOCKS_A_TILE = THR_DEVICE_TILE / THR_BLOCK_ITEMS };

/* Memory that grows with what searches ask for, and stays. */
typedef struct thr_room {
    void *memory;
    size_t size;
} thr_room;

/* What a part's searches need beside the codes. Of the device, but for the last ones, pinned memory of the host. */
typedef enum thr_room_name {
    THR_ROOM_SAMPLES,
    THR_ROOM_THRESHOLDS,
    THR_ROOM_ITEMS,
    THR_ROOM_COUNTS, /* of items and chosen ones */
    THR_ROOM_CHOSEN,
    THR_ROOM_FILTER,
    THR_ROOM_WORDS,
    THR_ROOM_BINS,
    THR_ROOM_DIGITS,
    THR_ROOM_QUERIES,
    THR_ROOM_ROWS,
    THR_ROOM_ROW_QUERIES,
    THR_ROOM_ROW_VECTORS,
    THR_ROOM_SCORES,
    THR_ROOM_WINNERS, /* of buckets */
    THR_ROOM_REJECTED,
    THR_ROOM_SLICES,
    THR_ROOM_SLICE_COUNTS,
    THR_ROOM_HOST_WORDS,
    THR_ROOM_HOST_DIGITS,
    THR_ROOM_HOST_QUERIES,
    THR_ROOM_HOST_ROWS,
    THR_ROOM_HOST_ROW_QUERIES,
    THR_ROOM_HOST_ROW_VECTORS,
    THR_ROOM_HOST_SCORES,
    THR_ROOM_HOST_FILTER,
    THR_ROOM_HOST_COUNTS,
    THR_ROOM_HOST_CHOSEN,
    THR_ROOM_HOST_SLICES,
    THR_N_ROOMS
} thr_room_name;

/* What is kept of rows beside their codes, as in the segments, where it fits; NULL: the host has it alone. */
typedef struct thr_store_rows {
    uint8_t *records;
    void *vectors;
    float *scales, *inverse_norms;
} thr_store_rows;

/* What codes have beside them: leads of nested codes, norms of blocks, or factors. */
typedef enum thr_number_kind { THR_NUMBERS_LEADS, THR_NUMBERS_NORMS, THR_NUMBERS_FACTORS } thr_number_kind;

/* Bytes that a tile takes: codes, numbers, offsets, and all these. */
typedef struct thr_tile_size {
    size_t codes, numbers, offsets, all;
} thr_tile_size;

/* What is not resident of a part (chunks.h). */
typedef struct thr_store_chunks {
    uint32_t n, n_tiles; /* chunks, and tiles of each but the last */
    uint8_t *host;       /* pinned: one behind the other */
    void *buffers[2];    /* chunk i is in buffer i % 2 when it is scored */
    void *sampled;       /* the sampled tiles */
    thr_stream *copies;  /* chunks on their way */
} thr_store_chunks;

/* A run of blocks on one device. */
typedef struct thr_store_part {
    thr_device *device;
    thr_stream *stream;
    uint64_t first_block;
    uint32_t n_blocks, n_tiles;
    thr_device_codes codes; /* what they are; where they are, chunks.h tells */
    thr_number_kind number_kind;
    thr_tile_size tile;
    uint32_t n_resident, n_samples; /* tiles; no samples where there are too few tiles */
    void *resident;
    thr_store_chunks chunks;
    thr_store_rows rows;
    size_t spare_bytes; /* that were left free for searches */
    size_t lacks;       /* bytes that a search has asked for in vain; 0: nothing (workspace.h) */
    thr_room rooms[THR_N_ROOMS];
} thr_store_part;

struct thr_store {
    thr_context *context;
    const thr_backend *backend;
    pthread_mutex_t mutex; /* held while devices work for a search */
    uint64_t code_bytes, streamed_bytes, row_bytes;
    uint32_t n_parts;
    thr_store_part parts[];
};

/*
 * Copy what a target keeps of a part's rows, records first and then vectors, as long as an eighth of the device's
 * memory stays free for searches; what does not fit is left out.
 */
thr_status thr_store_copy_rows(thr_store *store, const thr_scan_target *target, thr_store_part *part, thr_error *err);
void thr_store_free_rows(const thr_backend *backend, thr_store_part *part);

/* Copy a part's codes to where they have been placed (chunks.h). */
thr_status thr_store_copy_codes(thr_store *store, const thr_scan_target *target, thr_store_part *part, thr_error *err);

#endif
