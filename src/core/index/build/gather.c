/* SPDX-License-Identifier: Apache-2.0 */
/* gather.c - gathers codes, factors and records of a segment in slabs, and writes them as sections. */
#include "index/build/gather.h"

#include "base/blocks.h"
#include "base/error.h"
#include "base/half.h"
#include "base/minmax.h"
#include "code/encode.h"
#include "kernel/kernel.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { SLAB_CODE_BYTES = 8 << 20 };

static bool has(const thr_gather *gather, thr_section_kind kind) {
    uint64_t size;
    return thr_index_section_size(&gather->shape, (uint32_t)kind, &size);
}

thr_status thr_index_gather_open(thr_context *context, const thr_segment_shape *shape, uint64_t chunk_items,
                                 uint64_t most_items, thr_gather *gather, thr_error *err) {
    uint64_t blocks = SLAB_CODE_BYTES / thr_block_size(shape->n_dims, shape->bits);
    if (blocks > most_items / THR_BLOCK_ITEMS + 1)
        blocks = most_items / THR_BLOCK_ITEMS + 1;
    *gather = (thr_gather){.context = context, .shape = *shape, .chunk_items = chunk_items};
    gather->slab_items = THR_MAX(blocks * THR_BLOCK_ITEMS, chunk_items);
    THR_TRY(thr_alloc(context, (size_t)chunk_items, sizeof(float), &gather->measures.norms, "lengths", err));
    THR_TRY(thr_alloc(context, (size_t)chunk_items, sizeof(float), &gather->measures.residuals, "lengths", err));
    THR_TRY(thr_alloc(context, (size_t)chunk_items, sizeof(float), &gather->measures.alongs, "lengths", err));
    THR_TRY(thr_alloc(context, (size_t)chunk_items, sizeof(float), &gather->measures.products, "lengths", err));
    THR_TRY(
        thr_alloc(context, (size_t)chunk_items, sizeof(uint32_t), &gather->measures.code_squares, "code lengths", err));
    if (shape->has_origins)
        THR_TRY(
            thr_alloc(context, (size_t)chunk_items, sizeof(float), &gather->measures.origin_products, "lengths", err));
    if (!has(gather, THR_SECTION_RECORDS))
        return THR_OK;
    if (shape->has_origins)
        THR_TRY(thr_alloc(context, (size_t)chunk_items, sizeof(float), &gather->measures.lead_origin_products,
                          "lengths", err));
    gather->measures.lead = shape->lead;
    gather->errors = (thr_code_errors){FLT_MIN, FLT_MIN, FLT_MIN, FLT_MIN}; /* a manifest accepts normal numbers only */
    THR_TRY(thr_alloc(context, (size_t)chunk_items, sizeof(float), &gather->measures.lead_products, "lengths", err));
    THR_TRY(thr_alloc(context, (size_t)chunk_items, sizeof(uint32_t), &gather->lead_squares, "code lengths", err));
    return thr_alloc(context, (size_t)chunk_items / THR_BLOCK_ITEMS, thr_block_size(shape->n_dims, shape->bits),
                     &gather->blocks, "codes", err);
}

static void slab_free(thr_context *context, thr_slab *slab) {
    THR_RELEASE(context, slab->codes, slab->block_norms, slab->factors, slab->offsets, slab->scales,
                slab->inverse_norms, slab->halves, slab->leads, slab->records);
    *slab = (thr_slab){0};
}

void thr_index_gather_close(thr_gather *gather) {
    for (size_t i = 0; i < gather->n_slabs; i++)
        slab_free(gather->context, &gather->slabs[i]);
    THR_RELEASE(gather->context, gather->slabs, gather->measures.norms, gather->measures.residuals,
                gather->measures.alongs, gather->measures.code_squares, gather->measures.products,
                gather->measures.lead_products, gather->measures.origin_products, gather->measures.lead_origin_products,
                gather->lead_squares, gather->blocks);
    *gather = (thr_gather){.context = gather->context};
}

void thr_index_code_errors_join(thr_code_errors *errors, const thr_code_errors *others) {
    errors->lead_error = fmaxf(errors->lead_error, others->lead_error);
    errors->lead_length = fmaxf(errors->lead_length, others->lead_length);
    errors->full_error = fmaxf(errors->full_error, others->full_error);
    errors->full_length = fmaxf(errors->full_length, others->full_length);
}

void thr_index_gather_restart(thr_gather *gather) {
    gather->n_full = 0;
    for (size_t i = 0; i < gather->n_slabs; i++)
        gather->slabs[i].n_items = 0;
}

static thr_status slab_alloc(thr_gather *gather, thr_slab *slab, thr_error *err) {
    thr_context *context = gather->context;
    size_t items = (size_t)gather->slab_items, blocks = items / THR_BLOCK_ITEMS;
    THR_TRY(thr_alloc(context, blocks, thr_block_size(gather->shape.n_dims, gather->shape.lead), &slab->codes, "codes",
                      err));
    if (has(gather, THR_SECTION_BLOCK_NORMS))
        THR_TRY(thr_alloc(context, blocks, sizeof(uint32_t), &slab->block_norms, "block norms", err));
    if (has(gather, THR_SECTION_RECORDS)) {
        THR_TRY(thr_alloc(context, items, thr_lead_size(&gather->shape), &slab->leads, "leads", err));
        THR_TRY(thr_alloc_zero(context, items, thr_record_size(thr_shape_records(&gather->shape)), &slab->records,
                               "records", err));
    }
    struct {
        thr_section_kind kind;
        float **values;
    } arrays[] = {{THR_SECTION_FACTORS, &slab->factors},
                  {THR_SECTION_OFFSETS, &slab->offsets},
                  {THR_SECTION_SCALES, &slab->scales},
                  {THR_SECTION_INVERSE_NORMS, &slab->inverse_norms},
                  {THR_SECTION_HALVES, &slab->halves}};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        if (has(gather, arrays[i].kind))
            THR_TRY(thr_alloc(context, items, sizeof(float), arrays[i].values, thr_index_section_name(arrays[i].kind),
                              err));
    return THR_OK;
}

thr_status thr_index_gather_room(thr_gather *gather, thr_slab **slab, uint64_t *rows, thr_error *err) {
    if (gather->n_full < gather->n_slabs && gather->slabs[gather->n_full].n_items == gather->slab_items)
        gather->n_full++;
    if (gather->n_full == gather->n_slabs) {
        thr_slab added = {0};
        THR_TRY(thr_grow(gather->context, &gather->slabs, &gather->capacity, gather->n_slabs + 1, sizeof *gather->slabs,
                         "codes", err));
        thr_status status = slab_alloc(gather, &added, err);
        if (status != THR_OK) {
            slab_free(gather->context, &added);
            return status;
        }
        gather->slabs[gather->n_slabs++] = added;
    }
    *slab = &gather->slabs[gather->n_full];
    uint64_t room = gather->slab_items - (*slab)->n_items;
    *rows = THR_MIN(room, gather->chunk_items);
    return THR_OK;
}

/* The smallest squared code length of each block, over its items without padding. */
static void add_block_norms(thr_gather *gather, thr_slab *slab, uint64_t n) {
    uint32_t *out = slab->block_norms + slab->n_items / THR_BLOCK_ITEMS;
    for (uint64_t first = 0; first < n; first += THR_BLOCK_ITEMS) {
        uint64_t end = n - first < THR_BLOCK_ITEMS ? n : first + THR_BLOCK_ITEMS;
        uint32_t least = gather->measures.code_squares[first];
        for (uint64_t i = first + 1; i < end; i++)
            least = THR_MIN(gather->measures.code_squares[i], least);
        *out++ = least;
    }
}

/* The factor that scales a code's integers to the residual: |r| / <r / |r|, b>, 0 for a residual of 0. */
static float factor_of(float residual, float product) {
    return product > 0 ? (float)((double)residual / (double)product) : 0;
}

static void add_factors(thr_gather *gather, thr_slab *slab, uint64_t n) {
    for (uint64_t i = 0; i < n; i++)
        slab->factors[slab->n_items + i] = factor_of(gather->measures.residuals[i], gather->measures.products[i]);
}

/*
 * L2: |r|^2. Otherwise, with a centre, minus the residual's component along it. With origins: the formula in
 * scan/segment.h, with factor as it is stored and origin_products <b, o - c>, both of all planes or both of the leading
 * ones.
 */
static float offset_of(const thr_gather *gather, uint64_t i, float factor, const float *origin_products) {
    const thr_measures *m = &gather->measures;
    if (gather->shape.has_origins) {
        const double residual = (double)m->residuals[i], product = (double)factor * (double)origin_products[i];
        return gather->shape.metric == THR_METRIC_L2 ? (float)(residual * residual + 2 * product)
                                                     : (float)(product - (double)m->alongs[i]);
    }
    return gather->shape.metric == THR_METRIC_L2 ? m->residuals[i] * m->residuals[i] : -m->alongs[i];
}

static void add_offsets(thr_gather *gather, thr_slab *slab, uint64_t n) {
    const thr_measures *m = &gather->measures;
    for (uint64_t i = 0; i < n; i++)
        slab->offsets[slab->n_items + i] =
            offset_of(gather, i, factor_of(m->residuals[i], m->products[i]), m->origin_products);
}

/* The smallest float not below x. */
static float round_up(double x) {
    const float nearest = (float)x;
    return (double)nearest < x ? nextafterf(nearest, INFINITY) : nearest;
}

/* An item's code x = factor b, with the factor as stored. */
typedef struct stored_code {
    double residual, product, factor; /* |r|, <r / |r|, b> */
    uint32_t square;                  /* |b|^2 */
} stored_code;

/*
 * Update the largest |r - x| and |x|. The product is a float sum of n_dims terms of one sign, so its error is at most
 * n_dims / 16 + 8 roundings.
 */
static void note_errors(float *error, float *length, stored_code code, uint32_t n_dims) {
    const double x = code.factor * sqrt((double)code.square), r = code.residual;
    const double rounding = ((double)n_dims / 16 + 8) * 0x1p-23 * r * r;
    const double square = x * x + r * (r - 2 * code.factor * code.product) + rounding;
    *length = fmaxf(*length, round_up(x));
    *error = fmaxf(*error, round_up(sqrt(fmax(square, 0))));
}

static void add_nested(thr_gather *gather, thr_slab *slab, uint64_t n) {
    const thr_measures *m = &gather->measures;
    const thr_record_shape shape = thr_shape_records(&gather->shape);
    const size_t size = thr_record_size(shape), n_blocks = (size_t)thr_blocks_of(n);
    const uint32_t n_dims = gather->shape.n_dims, lead = gather->shape.lead;
    const bool pairs = thr_shape_has_offsets(&gather->shape);
    thr_code_errors *errors = &gather->errors;
    uint8_t *codes = slab->codes + slab->n_items / THR_BLOCK_ITEMS * thr_block_size(n_dims, lead);
    uint8_t *records = slab->records + slab->n_items * size;
    uint16_t *leads = slab->leads + slab->n_items * (pairs ? 2 : 1);
    thr_code_split_planes(gather->blocks, n_blocks, lead, shape, codes, records);
    gather->context->kernels->code_squares(gather->lead_squares, codes, n_blocks, n_dims, lead);
    for (uint64_t i = 0; i < n; i++) {
        const double residual = (double)m->residuals[i];
        uint16_t *numbers = leads + (pairs ? 2 * i : i);
        float factor, unused;
        thr_code_record_write_head(shape, records + i * size, factor_of(m->residuals[i], m->products[i]), 0);
        thr_code_record_read_head(shape, records + i * size, &factor, &unused);
        numbers[0] = thr_bf16_from_f32(factor_of(m->residuals[i], m->lead_products[i]));
        const float lead_factor = thr_bf16_to_f32(numbers[0]);
        if (pairs) {
            numbers[1] = thr_bf16_from_f32(offset_of(gather, i, lead_factor, m->lead_origin_products));
            thr_code_record_write_head(shape, records + i * size, factor,
                                       offset_of(gather, i, factor, m->origin_products));
        }
        note_errors(&errors->full_error, &errors->full_length,
                    (stored_code){residual, (double)m->products[i], (double)factor, m->code_squares[i]}, n_dims);
        note_errors(&errors->lead_error, &errors->lead_length,
                    (stored_code){residual, (double)m->lead_products[i], (double)lead_factor, gather->lead_squares[i]},
                    n_dims);
    }
}

uint8_t *thr_index_gather_codes(const thr_gather *gather, const thr_slab *slab) {
    const size_t block = thr_block_size(gather->shape.n_dims, gather->shape.bits);
    return gather->blocks != NULL ? gather->blocks : slab->codes + slab->n_items / THR_BLOCK_ITEMS * block;
}

void thr_index_gather_add(thr_gather *gather, thr_slab *slab, uint64_t n) {
    if (slab->block_norms != NULL)
        add_block_norms(gather, slab, n);
    if (slab->factors != NULL)
        add_factors(gather, slab, n);
    if (slab->offsets != NULL)
        add_offsets(gather, slab, n);
    if (slab->records != NULL)
        add_nested(gather, slab, n);
    slab->n_items += n;
}

static const void *slab_data(const thr_slab *slab, thr_section_kind kind) {
    switch (kind) {
    case THR_SECTION_CODES:
        return slab->codes;
    case THR_SECTION_BLOCK_NORMS:
        return slab->block_norms;
    case THR_SECTION_FACTORS:
        return slab->factors;
    case THR_SECTION_OFFSETS:
        return slab->offsets;
    case THR_SECTION_SCALES:
        return slab->scales;
    case THR_SECTION_INVERSE_NORMS:
        return slab->inverse_norms;
    case THR_SECTION_HALVES:
        return slab->halves;
    case THR_SECTION_LEADS:
        return slab->leads;
    case THR_SECTION_RECORDS:
        return slab->records;
    default:
        return NULL;
    }
}

/* Fill the per-item arrays with zeros from the last item to the end of its block. */
static void pad(const thr_gather *gather, thr_slab *slab) {
    const size_t padding = (size_t)(thr_padded_items((uint32_t)slab->n_items) - slab->n_items);
    const size_t record = thr_record_size(thr_shape_records(&gather->shape));
    const size_t lead = thr_lead_size(&gather->shape);
    const struct {
        void *values;
        size_t size;
    } arrays[] = {{slab->factors, sizeof(float)}, {slab->offsets, sizeof(float)},
                  {slab->scales, sizeof(float)},  {slab->inverse_norms, sizeof(float)},
                  {slab->halves, sizeof(float)},  {slab->leads, lead},
                  {slab->records, record}};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        if (arrays[i].values != NULL)
            memset((char *)arrays[i].values + slab->n_items * arrays[i].size, 0, padding * arrays[i].size);
}

thr_status thr_index_gather_write(thr_gather *gather, thr_section_kind first, thr_section_kind last,
                                  thr_section_writer *writer, thr_error *err) {
    thr_segment_shape shape = gather->shape;
    for (uint32_t kind = first; kind <= (uint32_t)last; kind++) {
        if (!has(gather, (thr_section_kind)kind))
            continue;
        THR_TRY(thr_sections_begin(writer, (thr_section_kind)kind, err));
        for (size_t i = 0; i < gather->n_slabs && gather->slabs[i].n_items > 0; i++) {
            uint64_t size;
            pad(gather, &gather->slabs[i]);
            shape.n_items = (uint32_t)gather->slabs[i].n_items;
            (void)thr_index_section_size(&shape, kind, &size);
            THR_TRY(
                thr_sections_write(writer, slab_data(&gather->slabs[i], (thr_section_kind)kind), (size_t)size, err));
        }
        thr_sections_end(writer);
    }
    return THR_OK;
}
