/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gather.h - what a build keeps in memory of the segment it is writing: all sections but the vectors.
 *
 * The number of rows of a stream is not known beforehand, so memory is added slab by slab and never copied. Slabs are
 * used again for the next segment. Every slab but the last is full.
 */
#ifndef THR_INDEX_GATHER_H
#define THR_INDEX_GATHER_H

#include "code/encode.h"
#include "index/segment_write.h"
#include "scan/scan.h"

/* One slab: arrays are of slab_items, NULL where the index has no such section. */
typedef struct thr_slab {
    uint8_t *codes;
    uint32_t *block_norms;
    float *factors, *offsets, *scales, *inverse_norms;
    uint16_t *leads; /* nested codes: as segment.h says */
    uint8_t *records;
    uint64_t n_items;
} thr_slab;

typedef struct thr_gather {
    thr_context *context;
    thr_segment_shape shape; /* n_items is not used */
    uint64_t slab_items;     /* a multiple of 64 */
    thr_slab *slabs;
    size_t n_slabs, capacity; /* allocated ones, and room for pointers */
    size_t n_full;            /* slabs[n_full] is being filled */
    thr_measures measures;    /* scratch for chunk_items rows */
    uint8_t *blocks;          /* nested codes: scratch for all planes of chunk_items rows */
    uint32_t *lead_squares;   /* and for the lengths of their leading planes' codes */
    thr_code_errors errors;   /* of all rows so far; nested codes only */
    uint64_t chunk_items;
} thr_gather;

/* At most chunk_items rows (a multiple of 64) are added at once, and at most most_items, if that is known, in all. */
thr_status thr_index_gather_open(thr_context *context, const thr_segment_shape *shape, uint64_t chunk_items,
                                 uint64_t most_items, thr_gather *gather, thr_error *err);
void thr_index_gather_close(thr_gather *gather);

/* A new segment. */
void thr_index_gather_restart(thr_gather *gather);

/* The slab to add to and how many rows it takes now: at least 64, at most chunk_items. */
thr_status thr_index_gather_room(thr_gather *gather, thr_slab **slab, uint64_t *rows, thr_error *err);

/* Where the codes of the next rows are to be written, whole blocks of all planes. */
uint8_t *thr_index_gather_codes(const thr_gather *gather, const thr_slab *slab);

/* Add n rows whose codes were written there; what else was measured stands in the gather's scratch. */
void thr_index_gather_add(thr_gather *gather, thr_slab *slab, uint64_t n);

/* Write the sections from first to last, those that are gathered here and that the shape has. */
thr_status thr_index_gather_write(thr_gather *gather, thr_section_kind first, thr_section_kind last,
                                  thr_section_writer *writer, thr_error *err);

#endif
