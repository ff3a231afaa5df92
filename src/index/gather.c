/* SPDX-License-Identifier: Apache-2.0 */
#include "index/gather.h"

#include "base/error.h"
#include "code/encode.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { SLAB_CODE_BYTES = 8 << 20 };

static bool has(const thr_gather *gather, thr_section_kind kind) {
    uint64_t size;
    return thr_section_size(&gather->shape, (uint32_t)kind, &size);
}

thr_status thr_gather_open(thr_context *context, const thr_segment_shape *shape, uint64_t chunk_items,
                           uint64_t most_items, thr_gather *gather, thr_error *err) {
    uint64_t blocks = SLAB_CODE_BYTES / thr_block_size(shape->n_dims, shape->bits);
    if (blocks > most_items / THR_BLOCK_ITEMS + 1)
        blocks = most_items / THR_BLOCK_ITEMS + 1;
    *gather = (thr_gather){.context = context, .shape = *shape, .chunk_items = chunk_items};
    gather->slab_items = blocks * THR_BLOCK_ITEMS > chunk_items ? blocks * THR_BLOCK_ITEMS : chunk_items;
    THR_TRY(thr_alloc(context, (size_t)chunk_items, sizeof(float), &gather->measures.norms, "lengths", err));
    THR_TRY(thr_alloc(context, (size_t)chunk_items, sizeof(float), &gather->measures.residuals, "lengths", err));
    THR_TRY(thr_alloc(context, (size_t)chunk_items, sizeof(float), &gather->measures.alongs, "lengths", err));
    return thr_alloc(context, (size_t)chunk_items, sizeof(uint32_t), &gather->measures.code_squares, "code lengths",
                     err);
}

static void slab_free(thr_context *context, thr_slab *slab) {
    thr_release(context, slab->codes);
    thr_release(context, slab->block_norms);
    thr_release(context, slab->factors);
    thr_release(context, slab->offsets);
    thr_release(context, slab->scales);
    thr_release(context, slab->inverse_norms);
    *slab = (thr_slab){0};
}

void thr_gather_close(thr_gather *gather) {
    for (size_t i = 0; i < gather->n_slabs; i++)
        slab_free(gather->context, &gather->slabs[i]);
    thr_release(gather->context, gather->slabs);
    thr_release(gather->context, gather->measures.norms);
    thr_release(gather->context, gather->measures.residuals);
    thr_release(gather->context, gather->measures.alongs);
    thr_release(gather->context, gather->measures.code_squares);
    *gather = (thr_gather){.context = gather->context};
}

void thr_gather_restart(thr_gather *gather) {
    gather->n_full = 0;
    for (size_t i = 0; i < gather->n_slabs; i++)
        gather->slabs[i].n_items = 0;
}

static thr_status slab_alloc(thr_gather *gather, thr_slab *slab, thr_error *err) {
    thr_context *context = gather->context;
    size_t items = (size_t)gather->slab_items, blocks = items / THR_BLOCK_ITEMS;
    THR_TRY(thr_alloc(context, blocks, thr_block_size(gather->shape.n_dims, gather->shape.bits), &slab->codes, "codes",
                      err));
    if (has(gather, THR_SECTION_BLOCK_NORMS))
        THR_TRY(thr_alloc(context, blocks, sizeof(uint32_t), &slab->block_norms, "block norms", err));
    struct {
        thr_section_kind kind;
        float **values;
    } arrays[] = {{THR_SECTION_FACTORS, &slab->factors},
                  {THR_SECTION_OFFSETS, &slab->offsets},
                  {THR_SECTION_SCALES, &slab->scales},
                  {THR_SECTION_INVERSE_NORMS, &slab->inverse_norms}};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        if (has(gather, arrays[i].kind))
            THR_TRY(thr_alloc(context, items, sizeof(float), arrays[i].values, thr_section_name(arrays[i].kind), err));
    return THR_OK;
}

thr_status thr_gather_room(thr_gather *gather, thr_slab **slab, uint64_t *rows, thr_error *err) {
    if (gather->n_full < gather->n_slabs && gather->slabs[gather->n_full].n_items == gather->slab_items)
        gather->n_full++;
    if (gather->n_full == gather->n_slabs) {
        thr_slab added = {0};
        THR_TRY(thr_grow(gather->context, &gather->slabs, &gather->capacity, gather->n_slabs, gather->n_slabs + 1,
                         sizeof *gather->slabs, "codes", err));
        thr_status status = slab_alloc(gather, &added, err);
        if (status != THR_OK) {
            slab_free(gather->context, &added);
            return status;
        }
        gather->slabs[gather->n_slabs++] = added;
    }
    *slab = &gather->slabs[gather->n_full];
    uint64_t room = gather->slab_items - (*slab)->n_items;
    *rows = room < gather->chunk_items ? room : gather->chunk_items;
    return THR_OK;
}

/* The smallest squared code length of each block, over the rows that are there. */
static void add_block_norms(thr_gather *gather, thr_slab *slab, uint64_t n) {
    uint32_t *out = slab->block_norms + slab->n_items / THR_BLOCK_ITEMS;
    for (uint64_t first = 0; first < n; first += THR_BLOCK_ITEMS) {
        uint64_t end = n - first < THR_BLOCK_ITEMS ? n : first + THR_BLOCK_ITEMS;
        uint32_t least = gather->measures.code_squares[first];
        for (uint64_t i = first + 1; i < end; i++)
            least = gather->measures.code_squares[i] < least ? gather->measures.code_squares[i] : least;
        *out++ = least;
    }
}

/* |r| / |b| in double, rounded once; a code's length is never 0, for its integers are odd. */
static void add_factors(thr_gather *gather, thr_slab *slab, uint64_t n) {
    for (uint64_t i = 0; i < n; i++)
        slab->factors[slab->n_items + i] =
            (float)((double)gather->measures.residuals[i] / sqrt((double)gather->measures.code_squares[i]));
}

/* L2: |r|^2. Else, with a centre, minus the residual's part along it. */
static void add_offsets(thr_gather *gather, thr_slab *slab, uint64_t n) {
    const bool l2 = gather->shape.metric == THR_METRIC_L2;
    for (uint64_t i = 0; i < n; i++)
        slab->offsets[slab->n_items + i] =
            l2 ? gather->measures.residuals[i] * gather->measures.residuals[i] : -gather->measures.alongs[i];
}

void thr_gather_add(thr_gather *gather, thr_slab *slab, uint64_t n) {
    if (slab->block_norms != NULL)
        add_block_norms(gather, slab, n);
    if (slab->factors != NULL)
        add_factors(gather, slab, n);
    if (slab->offsets != NULL)
        add_offsets(gather, slab, n);
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
    default:
        return NULL;
    }
}

/* Zeros from the last item to the end of its block, in the arrays of a value an item. */
static void pad(thr_slab *slab) {
    uint64_t padded = thr_padded_items((uint32_t)slab->n_items);
    float *arrays[] = {slab->factors, slab->offsets, slab->scales, slab->inverse_norms};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        if (arrays[i] != NULL)
            memset(arrays[i] + slab->n_items, 0, (size_t)(padded - slab->n_items) * sizeof(float));
}

thr_status thr_gather_write(thr_gather *gather, thr_segment_writer *writer, thr_error *err) {
    thr_segment_shape shape = gather->shape;
    for (uint32_t kind = THR_SECTION_CODES; kind <= THR_SECTION_INVERSE_NORMS; kind++) {
        if (!has(gather, (thr_section_kind)kind))
            continue;
        THR_TRY(thr_segment_write_begin(writer, (thr_section_kind)kind, err));
        for (size_t i = 0; i < gather->n_slabs && gather->slabs[i].n_items > 0; i++) {
            uint64_t size;
            pad(&gather->slabs[i]);
            shape.n_items = (uint32_t)gather->slabs[i].n_items;
            (void)thr_section_size(&shape, kind, &size);
            THR_TRY(thr_segment_write(writer, slab_data(&gather->slabs[i], (thr_section_kind)kind), (size_t)size, err));
        }
        thr_segment_write_end(writer);
    }
    return THR_OK;
}
