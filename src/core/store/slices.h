/* SPDX-License-Identifier: Apache-2.0 */
/* slices.h - the members of a store: a slice of codes, its rows and its buffers for each device. */
#pragma once

#include "device/buffer.h"
#include "store/store.h"

#include <pthread.h>

enum { THR_BLOCKS_A_TILE = THR_DEVICE_TILE / THR_BLOCK_ITEMS };

/*
 * The buffers of a slice's searches: device memory, then pinned memory of the host from HOST_WORDS on. n: queries of a
 * batch; a HOST buffer is the source or the target of copies of the buffer of its name.
 */
typedef enum thr_store_buffer_name {
    THR_STORE_BUFFER_SAMPLES,     /* n x sampled rows: uint32_t, orders of scores */
    THR_STORE_BUFFER_THRESHOLDS,  /* n: uint64_t, keys */
    THR_STORE_BUFFER_ITEMS,       /* n x capacity: thr_device_item, rows that reach the threshold */
    THR_STORE_BUFFER_COUNTS,      /* 2 n: uint32_t, of items, then of chosen items */
    THR_STORE_BUFFER_CHOSEN,      /* n x wanted: thr_device_item, the best of the items */
    THR_STORE_BUFFER_FILTER,      /* uint64_t, one bit per row of the slice, then of the sampled tiles */
    THR_STORE_BUFFER_WORDS,       /* uint32_t, query codes bit by bit */
    THR_STORE_BUFFER_BINS,        /* THR_COUNT_BINS: uint64_t, a histogram of keys */
    THR_STORE_BUFFER_DIGITS,      /* query codes for tensor cores */
    THR_STORE_BUFFER_QUERIES,     /* n: thr_device_query */
    THR_STORE_BUFFER_ROWS,        /* thr_device_row, rows to rescore or refine */
    THR_STORE_BUFFER_ROW_QUERIES, /* n: queries of these rows, to rescore */
    THR_STORE_BUFFER_ROW_VECTORS, /* n: their digits, to rescore, or float vectors, to refine */
    THR_STORE_BUFFER_SCORES,      /* float, of ROWS */
    THR_STORE_BUFFER_RUNS,        /* thr_listed_run */
    THR_STORE_BUFFER_ORIGINS,     /* thr_listed_origin, of RUNS */
    THR_STORE_BUFFER_HOST_WORDS,
    THR_STORE_BUFFER_HOST_DIGITS,
    THR_STORE_BUFFER_HOST_QUERIES,
    THR_STORE_BUFFER_HOST_ROWS,
    THR_STORE_BUFFER_HOST_ROW_QUERIES,
    THR_STORE_BUFFER_HOST_ROW_VECTORS,
    THR_STORE_BUFFER_HOST_SCORES,
    THR_STORE_BUFFER_HOST_RUNS,
    THR_STORE_BUFFER_HOST_ORIGINS,
    THR_STORE_BUFFER_HOST_THRESHOLDS,
    THR_STORE_BUFFER_HOST_FILTER,
    THR_STORE_BUFFER_HOST_COUNTS,
    THR_STORE_BUFFER_HOST_CHOSEN,
    THR_N_BUFFERS
} thr_store_buffer_name;

/* Copies of the segments' arrays per row, as far as they fit; NULL: only the host has it. */
typedef struct thr_store_rows {
    uint8_t *records;
    void *vectors;
    float *scales, *inverse_norms, *halves;
} thr_store_rows;

/* The numbers stored with codes: leads of nested codes, norms of blocks, or factors. */
typedef enum thr_number_kind { THR_NUMBERS_LEADS, THR_NUMBERS_NORMS, THR_NUMBERS_FACTORS } thr_number_kind;

/* Bytes per tile: of codes, numbers and offsets, and their sum. */
typedef struct thr_tile_size {
    size_t codes, numbers, offsets, all;
} thr_tile_size;

/* The codes of a slice that are not resident (chunks.h). */
typedef struct thr_store_chunks {
    uint32_t n, n_tiles; /* chunks, and tiles in each but the last */
    uint8_t *host;       /* pinned: chunk after chunk */
    void *buffers[2];    /* chunk i is scored in buffer i % 2 */
    void *sampled;       /* copies of the sampled tiles */
    thr_stream *copies;  /* copies chunks to the buffers */
} thr_store_chunks;

/* A run of blocks on one device. */
typedef struct thr_store_slice {
    thr_device *device;
    thr_stream *stream;
    uint64_t first_block;
    uint32_t n_blocks, n_tiles;
    thr_device_codes codes; /* their shape; thr_store_tiles_view adds the addresses */
    thr_number_kind number_kind;
    thr_tile_size tile;
    uint32_t n_resident, n_samples; /* tiles; 0 samples where there are too few tiles */
    void *resident;
    thr_store_chunks chunks;
    thr_store_rows rows;
    size_t spare_bytes; /* left free for searches */
    size_t lacks;       /* bytes that a search failed to allocate; 0: none (workspace.h) */
    thr_device_buffer buffers[THR_N_BUFFERS];
} thr_store_slice;

struct thr_store {
    thr_context *context;
    const thr_backend *backend;
    pthread_mutex_t mutex; /* held while devices work for a search */
    uint64_t code_bytes, host_code_bytes, row_bytes;
    uint32_t n_slices;
    thr_store_slice slices[];
};

/*
 * Copy the records, then the vectors, of a slice's rows to its device, as far as an eighth of the device's memory stays
 * free for searches. Arrays that do not fit are left out, which is no error. THR_EDEVICE.
 */
thr_status thr_store_copy_rows(thr_store *store, const thr_scan_corpus *corpus, thr_store_slice *slice, thr_error *err);
void thr_store_free_rows(const thr_backend *backend, thr_store_slice *slice);

/* Copy a slice's codes into the memory that thr_store_place_codes allocated (chunks.h). */
thr_status thr_store_copy_codes(thr_store *store, const thr_scan_corpus *corpus, thr_store_slice *slice,
                                thr_error *err);
