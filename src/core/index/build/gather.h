/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gather.h - the sections of the segment under construction, in memory: all but the vectors.
 *
 * The length of a stream is unknown in advance, so memory is allocated slab by slab and never copied. The next segment
 * reuses the slabs. Every slab but the last is full.
 */
#pragma once

#include "code/encode.h"
#include "index/build/segment_write.h"
#include "scan/scan.h"

/* One slab: arrays for slab_items items, NULL where the index has no such section. */
typedef struct thr_slab {
    uint8_t *codes;
    uint32_t *block_norms;
    float *factors, *offsets, *scales, *inverse_norms, *halves;
    uint16_t *leads; /* nested codes: layout as in segment.h */
    uint8_t *records;
    uint64_t n_items;
} thr_slab;

typedef struct thr_gather {
    thr_context *context;
    thr_segment_shape shape; /* n_items is unused */
    uint64_t slab_items;     /* a multiple of 64 */
    thr_slab *slabs;
    size_t n_slabs, capacity; /* allocated slabs, and capacity of the array */
    size_t n_full;            /* slabs[n_full] is being filled */
    thr_measures measures;    /* scratch for chunk_items rows */
    uint8_t *blocks;          /* nested codes: scratch for all planes of chunk_items rows */
    uint32_t *lead_squares;   /* and for the squared lengths of their leading planes' codes */
    thr_code_errors errors;   /* of all rows so far; nested codes only */
    uint64_t chunk_items;
} thr_gather;

/*
 * A later call adds at most chunk_items rows (a multiple of 64), and the calls for one segment at most most_items;
 * THR_ROWS_UNKNOWN: no limit. THR_ENOMEM.
 */
thr_status thr_index_gather_open(thr_context *context, const thr_segment_shape *shape, uint64_t chunk_items,
                                 uint64_t most_items, thr_gather *gather, thr_error *err);
void thr_index_gather_close(thr_gather *gather);

/* Raise the errors of codes to at least those of others. */
void thr_index_code_errors_join(thr_code_errors *errors, const thr_code_errors *others);

/* Begin a new segment. */
void thr_index_gather_restart(thr_gather *gather);

/* The slab to add to, and the number of rows it has room for: at least 64, at most chunk_items. THR_ENOMEM. */
thr_status thr_index_gather_room(thr_gather *gather, thr_slab **slab, uint64_t *rows, thr_error *err);

/* The memory for the codes of the next rows, in whole blocks of all planes. */
uint8_t *thr_index_gather_codes(const thr_gather *gather, const thr_slab *slab);

/* Add n rows. The caller has written their codes to thr_index_gather_codes, and their measures to gather->measures. */
void thr_index_gather_add(thr_gather *gather, thr_slab *slab, uint64_t n);

/* Write the sections from kind first to last, as far as they are gathered here and the shape has them. */
thr_status thr_index_gather_write(thr_gather *gather, thr_section_kind first, thr_section_kind last,
                                  thr_section_writer *writer, thr_error *err);
