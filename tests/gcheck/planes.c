/* SPDX-License-Identifier: Apache-2.0 */
/* Corpora of random plane codes: their bits are drawn, block by block, on all threads. */
#define _GNU_SOURCE
#include "gcheck.h"

#include "base/half.h"
#include "code/nested.h"
#include "kernel/kernel.h"
#include "parallel/pool.h"

enum { CODES, LEADS, RECORDS, FACTORS, OFFSETS, NORMS, TRAIN_ROWS = 256, PIECE_BLOCKS = 2048 };

/* What the pieces of the work share. */
typedef struct making {
    gcheck_planes *planes;
    const thr_kernels *kernels;
    uint64_t seed;
    uint32_t n_planes; /* of blocks */
    uint32_t n_rows;   /* bytes of a plane of an item */
    bool nested, offsets, cosine;
    thr_record_shape record;
    uint64_t n_blocks;
} making;

/* A state of its own for every block and for every pattern. */
static uint64_t state_of(uint64_t seed, uint64_t kind, uint64_t number) {
    uint64_t state = seed + kind * 0x5851f42d4c957f2du;
    state = thr_rng_next(&state) ^ number;
    return thr_rng_next(&state);
}

/* Of an item's numbers some are 0, some equal. */
static float draw_factor(uint64_t *rng) {
    const uint64_t r = thr_rng_next(rng);
    return (r & 127) == 0 ? 0 : (float)(0.25 + (double)(r >> 44) * 0x1p-20);
}

static float draw_offset(uint64_t *rng) {
    return (float)((double)(thr_rng_next(rng) >> 44) * 0x1p-15 - 8);
}

static void draw_bytes(uint64_t *rng, uint8_t *out, size_t n) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const uint64_t word = thr_rng_next(rng);
        memcpy(out + i, &word, sizeof word);
    }
    for (; i < n; i++)
        out[i] = (uint8_t)thr_rng_next(rng);
}

/* The bits of a plane's last byte that are dimensions. */
static uint8_t last_mask(uint32_t n_dims) {
    return (uint8_t)(0xff >> (8 - n_dims % 8) % 8);
}

static void write_numbers(const making *m, uint64_t item, uint64_t *rng) {
    gcheck_planes *p = m->planes;
    const float factor = draw_factor(rng), offset = draw_offset(rng);
    if (m->nested) {
        const size_t size = thr_record_size(m->record), head = thr_record_head(m->record);
        uint8_t *record = (uint8_t *)p->arrays[RECORDS].memory + item * size;
        uint16_t *leads = p->arrays[LEADS].memory;
        thr_code_record_write_head(m->record, record, factor, offset);
        draw_bytes(rng, record + head, size - head);
        for (uint32_t plane = 0; plane < m->record.n_planes; plane++)
            record[head + (plane + 1) * m->n_rows - 1] &= last_mask(p->shape.n_dims);
        leads[m->offsets ? 2 * item : item] = thr_bf16_from_f32(factor);
        if (m->offsets)
            leads[2 * item + 1] = thr_bf16_from_f32(offset);
    } else if (!m->cosine) {
        ((float *)p->arrays[FACTORS].memory)[item] = factor;
        if (m->offsets)
            ((float *)p->arrays[OFFSETS].memory)[item] = offset;
    }
}

static void draw_codes(const making *m, uint64_t block, uint8_t *codes, uint64_t *rng) {
    const uint32_t n_bytes = m->n_rows * m->n_planes, n_patterns = m->planes->shape.n_patterns;
    if (n_patterns == 0) {
        draw_bytes(rng, codes, (size_t)n_bytes * THR_BLOCK_ITEMS);
        return;
    }
    for (uint32_t i = 0; i < THR_BLOCK_ITEMS; i++) {
        uint64_t pattern = state_of(m->seed, 2, block * THR_BLOCK_ITEMS + i) % n_patterns;
        pattern = state_of(m->seed, 3, pattern);
        for (uint32_t at = 0; at < n_bytes; at++)
            codes[at * THR_BLOCK_ITEMS + i] = (uint8_t)(thr_rng_next(&pattern) >> 32);
    }
}

static void make_block(const making *m, uint64_t block) {
    gcheck_planes *p = m->planes;
    const uint32_t row = m->n_planes * THR_BLOCK_ITEMS;
    const uint64_t first = block * THR_BLOCK_ITEMS, left = p->shape.n_items - first;
    uint8_t *codes = (uint8_t *)p->arrays[CODES].memory + block * m->n_rows * row;
    uint64_t rng = state_of(m->seed, 1, block);
    draw_codes(m, block, codes, &rng);
    for (uint32_t i = 0; last_mask(p->shape.n_dims) != 0xff && i < row; i++)
        codes[(m->n_rows - 1) * row + i] &= last_mask(p->shape.n_dims);
    for (uint32_t i = 0; left < THR_BLOCK_ITEMS && i < m->n_rows * row; i++)
        codes[i] = i % THR_BLOCK_ITEMS < left ? codes[i] : 0;
    for (uint32_t i = 0; i < THR_BLOCK_ITEMS && i < left; i++) {
        uint64_t own = p->shape.n_patterns == 0
                           ? rng + i
                           : state_of(m->seed, 4, state_of(m->seed, 2, first + i) % p->shape.n_patterns);
        if (m->nested || !m->cosine)
            write_numbers(m, first + i, &own);
    }
}

/* The smallest |b|^2 of each block's items. */
static void make_norms(const making *m, uint64_t first, uint64_t n) {
    gcheck_planes *p = m->planes;
    uint32_t squares[64 * THR_BLOCK_ITEMS], *norms = p->arrays[NORMS].memory;
    const size_t size = thr_block_size(p->shape.n_dims, m->n_planes);
    for (uint64_t done = 0; done < n; done += 64) {
        const uint64_t some = n - done < 64 ? n - done : 64;
        m->kernels->code_squares(squares, (const uint8_t *)p->arrays[CODES].memory + (first + done) * size, some,
                                 p->shape.n_dims, m->n_planes);
        for (uint64_t b = 0; b < some; b++) {
            const uint64_t left = p->shape.n_items - (first + done + b) * THR_BLOCK_ITEMS;
            uint32_t least = squares[b * THR_BLOCK_ITEMS];
            for (uint32_t i = 1; i < THR_BLOCK_ITEMS && i < left; i++)
                least = squares[b * THR_BLOCK_ITEMS + i] < least ? squares[b * THR_BLOCK_ITEMS + i] : least;
            norms[first + done + b] = least;
        }
    }
}

static void make_piece(void *arg, size_t piece, uint32_t worker) {
    const making *m = arg;
    const uint64_t first = (uint64_t)piece * PIECE_BLOCKS, left = m->n_blocks - first;
    const uint64_t n = left < PIECE_BLOCKS ? left : PIECE_BLOCKS;
    (void)worker;
    for (uint64_t block = first; block < first + n; block++)
        make_block(m, block);
    if (m->cosine && !m->nested)
        make_norms(m, first, n);
}

/* A quantiser of some normal rows, with a centre where one is wanted. */
static void train(gcheck *g, const gcheck_shape *shape, uint64_t seed, thr_quantiser *quantiser) {
    const uint32_t n_dims = shape->n_dims;
    float *rows = test_array((size_t)TRAIN_ROWS * n_dims, sizeof *rows);
    uint64_t rng = seed;
    test_gaussian(&rng, rows, (size_t)TRAIN_ROWS * n_dims);
    for (size_t i = 0; shape->centre && i < (size_t)TRAIN_ROWS * n_dims; i++)
        rows[i] += 1.5f;
    const thr_matrix sample = thr_matrix_f32(rows, TRAIN_ROWS, n_dims);
    const uint32_t flags =
        (shape->metric == THR_METRIC_COSINE ? THR_QUANTISER_UNIT : 0u) | (shape->centre ? THR_QUANTISER_CENTRE : 0u);
    gcheck_must(thr_code_quantiser_train(g->context, &sample, shape->bits, flags, quantiser, &err), &err, "ranges");
    free(rows);
}

static void *array(gcheck_planes *p, int which, size_t size) {
    p->arrays[which].memory = gcheck_map(size);
    p->arrays[which].size = size;
    return p->arrays[which].memory;
}

static void alloc_arrays(const making *m, gcheck_planes *p) {
    const size_t padded = m->n_blocks * THR_BLOCK_ITEMS;
    (void)array(p, CODES, m->n_blocks * thr_block_size(p->shape.n_dims, m->n_planes));
    if (m->nested) {
        (void)array(p, LEADS, padded * sizeof(uint16_t) * (m->offsets ? 2 : 1));
        (void)array(p, RECORDS, padded * thr_record_size(m->record) + 64);
    } else if (m->cosine) {
        (void)array(p, NORMS, m->n_blocks * sizeof(uint32_t));
    } else {
        (void)array(p, FACTORS, padded * sizeof(float));
        if (m->offsets)
            (void)array(p, OFFSETS, padded * sizeof(float));
    }
}

static const void *part(const gcheck_planes *p, int which, size_t at) {
    return p->arrays[which].memory == NULL ? NULL : (const char *)p->arrays[which].memory + at;
}

static void make_segments(const making *m, gcheck_planes *p) {
    const uint64_t each = p->shape.segment_items == 0 ? UINT64_C(1) << 28 : p->shape.segment_items;
    const size_t n = (size_t)((p->shape.n_items + each - 1) / each);
    p->segments = test_array(n, sizeof *p->segments);
    for (size_t s = 0; s < n; s++) {
        const uint64_t first = s * each, left = p->shape.n_items - first;
        p->segments[s] = (thr_segment){
            .n_items = (uint32_t)(left < each ? left : each),
            .first_row = first,
            .codes = part(p, CODES, first / THR_BLOCK_ITEMS * thr_block_size(p->shape.n_dims, m->n_planes)),
            .block_norms = part(p, NORMS, first / THR_BLOCK_ITEMS * sizeof(uint32_t)),
            .factors = part(p, FACTORS, first * sizeof(float)),
            .offsets = part(p, OFFSETS, first * sizeof(float)),
            .leads = part(p, LEADS, first * sizeof(uint16_t) * (m->offsets ? 2 : 1)),
            .lead_offsets = m->nested && m->offsets,
            .records = part(p, RECORDS, first * thr_record_size(m->record))};
    }
    p->scan = (thr_scan_corpus){.segments = p->segments,
                                .n_segments = n,
                                .n_rows = p->shape.n_items,
                                .quantiser = &p->quantiser,
                                .metric = p->shape.metric,
                                .keep = THR_DTYPE_NONE,
                                .lead = m->n_planes};
}

void gcheck_planes_make(gcheck *g, const gcheck_shape *shape, uint64_t seed, gcheck_planes *planes) {
    *planes = (gcheck_planes){.shape = *shape};
    train(g, shape, seed, &planes->quantiser);
    making m = {.planes = planes,
                .kernels = g->context->kernels,
                .seed = seed,
                .n_planes = shape->lead == 0 ? shape->bits : shape->lead,
                .n_rows = thr_code_rows(shape->n_dims),
                .nested = shape->lead != 0 && shape->lead < shape->bits,
                .n_blocks = (shape->n_items + THR_BLOCK_ITEMS - 1) / THR_BLOCK_ITEMS};
    m.offsets = shape->metric == THR_METRIC_L2 || planes->quantiser.centre != NULL;
    m.cosine = shape->metric == THR_METRIC_COSINE && planes->quantiser.centre == NULL;
    m.record = thr_record_shape_of(shape->n_dims, shape->bits, m.n_planes, m.offsets);
    alloc_arrays(&m, planes);
    thr_parallel_for(g->context, (size_t)((m.n_blocks + PIECE_BLOCKS - 1) / PIECE_BLOCKS), make_piece, &m);
    make_segments(&m, planes);
}

void gcheck_planes_cut(gcheck_planes *planes, uint64_t n_items) {
    size_t s = 0;
    for (; planes->segments[s].first_row + planes->segments[s].n_items < n_items; s++)
        ;
    planes->segments[s].n_items = (uint32_t)(n_items - planes->segments[s].first_row);
    planes->scan.n_segments = s + 1;
    planes->scan.n_rows = planes->shape.n_items = n_items;
}

void gcheck_planes_free(gcheck *g, gcheck_planes *planes) {
    for (size_t i = 0; i < sizeof planes->arrays / sizeof *planes->arrays; i++)
        gcheck_unmap(planes->arrays[i].memory, planes->arrays[i].size);
    thr_code_quantiser_free(g->context, &planes->quantiser);
    free(planes->segments);
    *planes = (gcheck_planes){.segments = NULL};
}
