/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.h - a head's file (docs/format.md): written from memory, and read as it is mapped.
 *
 * Invariant: header and hashes section determine every offset, and thr_head_parse compares the table with them. After
 * it succeeds, queries stay in bounds whatever bytes the file holds.
 */
#pragma once

#include "base/files/section_file.h"
#include "head/planes.h"
#include "lsh/lsh.h"
#include "lsh/wta.h"

#include <thresher/matrix.h>

typedef enum thr_head_section {
    THR_HEAD_HASHES = 1,    /* thr_head_hashes */
    THR_HEAD_BIAS = 2,      /* f32 a word, finite, or -infinity: never answered */
    THR_HEAD_ORDER = 3,     /* u32, every word once, the most frequent first */
    THR_HEAD_SLOTS = 4,     /* thr_cuckoo_slot, the stash last */
    THR_HEAD_LISTS = 5,     /* u32; n_words for each band */
    THR_HEAD_QUANTISER = 6, /* thr_head_quantiser */
    THR_HEAD_CODES = 7,     /* blocks of 64 words (code/encode.h) */
    THR_HEAD_FACTORS = 8,   /* f32 a word, padded to whole blocks */
    THR_HEAD_WEIGHTS = 9,   /* f32, f16, bf16 or i8, one row per word */
    THR_HEAD_SCALES = 10,   /* f32 a word, of i8 */
    THR_HEAD_LAST = THR_HEAD_SCALES
} thr_head_section;

/* The hash shape, and the size of its table. */
typedef struct thr_head_hashes {
    uint32_t n_places, n_bands, n_hashes, n_slots, n_stash, reserved;
    uint64_t seed, table_seed, n_codes;
} thr_head_hashes;

_Static_assert(sizeof(thr_head_hashes) == 48, "no padding");

typedef struct thr_head_header {
    uint8_t magic[8];
    uint32_t version, n_words, n_dims, dtype, has, n_planes, n_sections, zero;
    uint64_t table_offset, zero_too, checksum;
} thr_head_header;

_Static_assert(sizeof(thr_head_header) == THR_SECTIONS_HEADER, "no padding");

/* Bits of `has`. */
enum { THR_HEAD_HAS_BIAS = 1, THR_HEAD_HAS_ORDER = 2, THR_HEAD_HAS_HASHES = 4, THR_HEAD_HAS_ALL = 7 };

extern const thr_file_kind thr_head_kind;

#define THR_HEAD_REMEDY "the file is damaged; restore it or build it again"

/* The contents of a head, in memory or mapped. */
typedef struct thr_head_contents {
    uint32_t n_words, n_dims;
    thr_dtype dtype;       /* F32, F16, BF16 or I8 */
    const void *weights;   /* n_words rows, dense */
    const float *scales;   /* of I8: factor of each word's integers; else NULL */
    const float *bias;     /* or NULL */
    const uint32_t *order; /* words by descending frequency; NULL: by number */
    thr_wta_shape shape;   /* n_bands is 0 without hashes */
    thr_lsh lsh;
    uint64_t n_codes;
    thr_head_planes planes;
} thr_head_contents;

/* Bytes of a word's weights. */
static inline size_t thr_head_row_size(const thr_head_contents *c) {
    return c->n_dims * thr_dtype_size(c->dtype);
}

/* Dimensions of the coded rows: a bias adds one. */
static inline uint32_t thr_head_coded_dims(const thr_head_contents *c) {
    return c->n_dims + (c->bias != NULL);
}

/* Write a file (thr_section_file_write). */
thr_status thr_head_write(thr_context *context, const char *path, const thr_head_contents *c, thr_error *err);

/* A mapped file and its sections. */
typedef struct thr_head_view {
    thr_section_file file;
    thr_head_contents contents;
} thr_head_view;

/*
 * Find the sections of a file of arbitrary bytes, and check what queries rely on; weights are not checked. data is
 * 64-byte aligned. THR_OK; THR_EFORMAT; THR_EVERSION; THR_ECORRUPT; THR_ENOMEM.
 */
thr_status thr_head_parse(thr_context *context, const char *path, const void *data, uint64_t size, thr_head_view *view,
                          thr_error *err);
