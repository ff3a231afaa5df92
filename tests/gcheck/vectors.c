/* SPDX-License-Identifier: Apache-2.0 */
/* Clustered vectors, and their codes as a build makes them: gathered in pieces, then one segment in memory. */
#include "gcheck.h"

#include "index/build/gather.h"
#include "parallel/pool.h"

enum { CENTRES = 1000, PIECE_ROWS = 4096, CHUNK_ROWS = 65536, SAMPLE_ROWS = 20000 };
enum { CODES, LEADS, RECORDS, FACTORS, OFFSETS, NORMS, INVERSE_NORMS };

/* ------------------------------------------------------------------------------------------------ vectors */

/* About normal(0, 1), from one number: the sum of four uniform ones of 16 bits. */
static float normal_of(uint64_t r) {
    const uint32_t sum = (uint32_t)((r & 0xffff) + (r >> 16 & 0xffff) + (r >> 32 & 0xffff) + (r >> 48));
    return ((float)sum * (1.0f / 65536.0f) - 2.0f) * 1.7320508f;
}

typedef struct drawing {
    const float *centres;
    float *rows;
    uint64_t n_rows, seed;
    uint32_t n_dims;
} drawing;

static void draw_piece(void *arg, size_t piece, uint32_t worker) {
    const drawing *d = arg;
    const uint64_t first = (uint64_t)piece * PIECE_ROWS, left = d->n_rows - first;
    const uint64_t n = left < PIECE_ROWS ? left : PIECE_ROWS;
    uint64_t rng = d->seed ^ (uint64_t)(piece + 1) << 32;
    (void)worker;
    for (uint64_t i = 0; i < n; i++) {
        const float *centre = d->centres + thr_rng_below(&rng, CENTRES) * d->n_dims;
        float *row = d->rows + (first + i) * d->n_dims;
        for (uint32_t j = 0; j < d->n_dims; j++)
            row[j] = centre[j] + normal_of(thr_rng_next(&rng));
    }
}

static float *draw(gcheck *g, const float *centres, uint64_t n_rows, uint32_t n_dims, uint64_t seed) {
    float *rows = gcheck_map(n_rows * n_dims * sizeof *rows);
    drawing d = {centres, rows, n_rows, seed, n_dims};
    thr_parallel_for(g->context, (size_t)((n_rows + PIECE_ROWS - 1) / PIECE_ROWS), draw_piece, &d);
    return rows;
}

void gcheck_vectors_make(gcheck *g, uint64_t n_items, uint64_t n_queries, uint32_t n_dims, gcheck_vectors *vectors) {
    float *centres = gcheck_map(CENTRES * n_dims * sizeof *centres);
    uint64_t rng = g->seed;
    for (size_t i = 0; i < (size_t)CENTRES * n_dims; i++)
        centres[i] = normal_of(thr_rng_next(&rng));
    *vectors = (gcheck_vectors){.n_items = n_items, .n_queries = n_queries, .n_dims = n_dims};
    vectors->items = draw(g, centres, n_items, n_dims, thr_rng_next(&rng));
    vectors->queries = draw(g, centres, n_queries, n_dims, thr_rng_next(&rng));
    gcheck_unmap(centres, CENTRES * n_dims * sizeof *centres);
}

void gcheck_vectors_free(gcheck_vectors *vectors) {
    gcheck_unmap(vectors->items, vectors->n_items * vectors->n_dims * sizeof *vectors->items);
    gcheck_unmap(vectors->queries, vectors->n_queries * vectors->n_dims * sizeof *vectors->queries);
    *vectors = (gcheck_vectors){.items = NULL};
}

/* -------------------------------------------------------------------------------------------------- codes */

/* As a build does: rows from all over make the ranges, with centre and rotation where they help. */
static void train(gcheck *g, const gcheck_vectors *vectors, uint32_t bits, thr_quantiser *quantiser) {
    const uint64_t step = vectors->n_items / SAMPLE_ROWS + 1;
    thr_matrix sample = thr_matrix_f32(vectors->items, (vectors->n_items + step - 1) / step, vectors->n_dims);
    sample.stride *= step;
    gcheck_must(thr_code_quantiser_train(g->context, &sample, bits,
                                         THR_QUANTISER_UNIT | THR_QUANTISER_CENTRE | THR_QUANTISER_ROTATE, quantiser,
                                         &err),
                &err, "ranges");
}

/* Bytes of an item in each array; 0 where there is none. Block norms are four bytes per block. */
static void item_sizes(const thr_segment_shape *shape, size_t sizes[7]) {
    const bool nested = shape->lead < shape->bits, factors = !nested && shape->centred;
    sizes[CODES] = (size_t)shape->lead * thr_code_rows(shape->n_dims);
    sizes[LEADS] = nested ? thr_lead_size(shape) : 0;
    sizes[RECORDS] = nested ? thr_record_size(thr_shape_records(shape)) : 0;
    sizes[FACTORS] = sizes[OFFSETS] = factors ? sizeof(float) : 0;
    sizes[NORMS] = 0;
    sizes[INVERSE_NORMS] = sizeof(float);
}

static void copy_slab(gcheck_coded *coded, const thr_slab *slab, const size_t sizes[7], uint64_t first) {
    const void *from[7] = {slab->codes,   slab->leads,       slab->records,      slab->factors,
                           slab->offsets, slab->block_norms, slab->inverse_norms};
    for (int i = 0; i < 7; i++)
        if (i == NORMS && from[i] != NULL)
            memcpy((uint32_t *)coded->arrays[i].memory + first / THR_BLOCK_ITEMS, from[i],
                   (slab->n_items + THR_BLOCK_ITEMS - 1) / THR_BLOCK_ITEMS * sizeof(uint32_t));
        else if (sizes[i] > 0)
            memcpy((char *)coded->arrays[i].memory + first * sizes[i], from[i], slab->n_items * sizes[i]);
}

static void encode_chunk(gcheck *g, const gcheck_vectors *vectors, const thr_quantiser *quantiser, thr_gather *gather,
                         uint64_t first, uint64_t n, thr_slab **slab) {
    const thr_matrix rows = thr_matrix_f32(vectors->items + first * vectors->n_dims, n, vectors->n_dims);
    uint64_t room;
    thr_index_gather_restart(gather);
    gcheck_must(thr_index_gather_room(gather, slab, &room, &err), &err, "gathering codes");
    gcheck_must(thr_code_encode_blocks(g->context, quantiser, &rows, first, thr_index_gather_codes(gather, *slab),
                                       &gather->measures, &err),
                &err, "encoding");
    for (uint64_t i = 0; i < n; i++)
        (*slab)->inverse_norms[i] = gather->measures.norms[i] > 0 ? 1 / gather->measures.norms[i] : 0;
    thr_index_gather_add(gather, *slab, n);
}

static void make_target(gcheck_coded *coded, const thr_segment_shape *shape, const thr_code_errors *errors,
                        const float *items) {
    coded->segment = (thr_segment){.n_items = shape->n_items,
                                   .codes = coded->arrays[CODES].memory,
                                   .block_norms = coded->arrays[NORMS].memory,
                                   .factors = coded->arrays[FACTORS].memory,
                                   .offsets = coded->arrays[OFFSETS].memory,
                                   .leads = coded->arrays[LEADS].memory,
                                   .lead_offsets = shape->lead < shape->bits && shape->centred,
                                   .records = coded->arrays[RECORDS].memory,
                                   .vectors = items,
                                   .inverse_norms = coded->arrays[INVERSE_NORMS].memory};
    coded->scan = (thr_scan_corpus){.segments = &coded->segment,
                                    .n_segments = 1,
                                    .n_rows = shape->n_items,
                                    .quantiser = &coded->quantiser,
                                    .metric = shape->metric,
                                    .keep = shape->keep,
                                    .lead = shape->lead,
                                    .errors = *errors};
}

void gcheck_vectors_encode(gcheck *g, const gcheck_vectors *vectors, uint32_t bits, uint32_t lead,
                           gcheck_coded *coded) {
    const uint64_t n_blocks = (vectors->n_items + THR_BLOCK_ITEMS - 1) / THR_BLOCK_ITEMS;
    size_t sizes[7];
    thr_gather gather;
    *coded = (gcheck_coded){.code_bytes = 0};
    train(g, vectors, bits, &coded->quantiser);
    const thr_segment_shape shape = {.n_items = (uint32_t)vectors->n_items,
                                     .n_dims = vectors->n_dims,
                                     .bits = bits,
                                     .lead = lead == 0 ? bits : lead,
                                     .metric = THR_METRIC_COSINE,
                                     .keep = THR_DTYPE_F32,
                                     .centred = coded->quantiser.centre != NULL};
    item_sizes(&shape, sizes);
    for (int i = 0; i < 7; i++) {
        size_t size = n_blocks * THR_BLOCK_ITEMS * sizes[i];
        if (i == NORMS && shape.lead == bits && !shape.centred)
            size = n_blocks * sizeof(uint32_t);
        if (size == 0)
            continue;
        coded->arrays[i].size = size + 64; /* records are read a little beyond their end */
        coded->arrays[i].memory = gcheck_map(coded->arrays[i].size);
        coded->code_bytes += i == RECORDS || i == INVERSE_NORMS ? 0 : size;
    }
    gcheck_must(thr_index_gather_open(g->context, &shape, CHUNK_ROWS, CHUNK_ROWS, &gather, &err), &err,
                "gathering codes");
    for (uint64_t first = 0; first < vectors->n_items; first += CHUNK_ROWS) {
        const uint64_t left = vectors->n_items - first;
        thr_slab *slab;
        encode_chunk(g, vectors, &coded->quantiser, &gather, first, left < CHUNK_ROWS ? left : CHUNK_ROWS, &slab);
        copy_slab(coded, slab, sizes, first);
    }
    make_target(coded, &shape, &gather.errors, vectors->items);
    thr_index_gather_close(&gather);
}

void gcheck_coded_free(gcheck *g, gcheck_coded *coded) {
    for (size_t i = 0; i < sizeof coded->arrays / sizeof *coded->arrays; i++)
        gcheck_unmap(coded->arrays[i].memory, coded->arrays[i].size);
    thr_code_quantiser_free(g->context, &coded->quantiser);
    *coded = (gcheck_coded){.code_bytes = 0};
}
