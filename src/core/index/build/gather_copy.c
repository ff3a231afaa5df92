/* SPDX-License-Identifier: Apache-2.0 */
/* gather_copy.c - copies codes, factors and records of single items from one segment to another. */
#include "index/build/gather_copy.h"

#include "base/error.h"
#include "base/minmax.h"
#include "code/encode.h"
#include "kernel/kernel.h"

#include <string.h>

/* A block has 64 bytes, one per item, for every eight dimensions of every plane. */
static void copy_code(const thr_segment_shape *shape, uint8_t *to, uint64_t at, const uint8_t *from, uint32_t item) {
    const size_t size = thr_block_size(shape->n_dims, shape->lead);
    uint8_t *out = to + at / THR_BLOCK_ITEMS * size;
    const uint8_t *in = from + item / THR_BLOCK_ITEMS * size;
    if (at % THR_BLOCK_ITEMS == 0)
        memset(out, 0, size);
    for (size_t i = 0; i < size; i += THR_BLOCK_ITEMS)
        out[i + at % THR_BLOCK_ITEMS] = in[i + item % THR_BLOCK_ITEMS];
}

static void copy(void *to, uint64_t at, const void *from, uint32_t item, size_t size) {
    if (to != NULL)
        memcpy((char *)to + at * size, (const char *)from + (size_t)item * size, size);
}

thr_status thr_index_gather_copy(thr_gather *gather, const thr_segment *from, uint32_t item, thr_error *err) {
    const thr_segment_shape *shape = &gather->shape;
    thr_slab *slab = gather->n_full < gather->n_slabs ? &gather->slabs[gather->n_full] : NULL;
    uint64_t room;
    if (slab == NULL || slab->n_items == gather->slab_items)
        THR_TRY(thr_index_gather_room(gather, &slab, &room, err));
    const uint64_t at = slab->n_items++;
    copy_code(shape, slab->codes, at, from->codes, item);
    copy(slab->factors, at, from->factors, item, sizeof(float));
    copy(slab->offsets, at, from->offsets, item, sizeof(float));
    copy(slab->scales, at, from->scales, item, sizeof(float));
    copy(slab->inverse_norms, at, from->inverse_norms, item, sizeof(float));
    copy(slab->halves, at, from->halves, item, sizeof(float));
    copy(slab->leads, at, from->leads, item, thr_lead_size(shape));
    copy(slab->records, at, from->records, item, thr_record_size(thr_shape_records(shape)));
    return THR_OK;
}

void thr_index_gather_copy_end(thr_gather *gather) {
    const thr_segment_shape *shape = &gather->shape;
    const size_t size = thr_block_size(shape->n_dims, shape->lead);
    for (size_t s = 0; s < gather->n_slabs; s++) {
        const thr_slab *slab = &gather->slabs[s];
        for (uint64_t first = 0; slab->block_norms != NULL && first < slab->n_items; first += THR_BLOCK_ITEMS) {
            const uint64_t n = THR_MIN(slab->n_items - first, THR_BLOCK_ITEMS);
            const uint64_t block = first / THR_BLOCK_ITEMS;
            uint32_t squares[THR_BLOCK_ITEMS];
            gather->context->kernels->code_squares(squares, slab->codes + block * size, 1, shape->n_dims, shape->lead);
            slab->block_norms[block] = squares[0];
            for (uint64_t i = 1; i < n; i++)
                if (squares[i] < slab->block_norms[block])
                    slab->block_norms[block] = squares[i];
        }
    }
}
