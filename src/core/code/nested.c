/* SPDX-License-Identifier: Apache-2.0 */
#include "code/nested.h"

#include "code/query.h"

#include <math.h>

void thr_code_record_write_head(thr_record_shape shape, uint8_t *record, float factor, float offset) {
    const float numbers[2] = {factor, offset};
    const uint16_t shorts[2] = {thr_bf16_from_f32(factor), thr_bf16_from_f32(offset)};
    memcpy(record, shape.wide ? (const void *)numbers : (const void *)shorts, thr_record_head(shape));
}

void thr_code_split_planes(const uint8_t *blocks, size_t n_blocks, uint32_t lead, thr_record_shape shape,
                           uint8_t *lead_blocks, uint8_t *records) {
    const size_t size = thr_record_size(shape), head = thr_record_head(shape);
    for (size_t b = 0; b < n_blocks; b++, records += THR_BLOCK_ITEMS * size)
        for (uint32_t r = 0; r < shape.n_rows; r++) {
            memcpy(lead_blocks, blocks, (size_t)lead * THR_BLOCK_ITEMS);
            lead_blocks += (size_t)lead * THR_BLOCK_ITEMS;
            blocks += (size_t)lead * THR_BLOCK_ITEMS;
            for (uint32_t j = 0; j < shape.n_planes; j++, blocks += THR_BLOCK_ITEMS)
                for (size_t i = 0; i < THR_BLOCK_ITEMS; i++)
                    records[i * size + head + j * shape.n_rows + r] = blocks[i];
        }
}

void thr_code_rest_query_make(thr_rest_query *rest, const thr_quantiser *quantiser, const float *vector, double norm,
                              void *memory) {
    const float half = (float)(1 << (THR_REST_BITS - 1));
    const float scale = (float)((double)half / (norm * (double)quantiser->ranges[THR_REST_BITS - 1]));
    int8_t *digits = memory;
    int64_t square = 0;
    memset(digits, 0, thr_rest_query_size(quantiser->n_dims));
    rest->digit_sum = 0;
    for (uint32_t d = 0; d < quantiser->n_dims; d++) {
        digits[d] = (int8_t)(2 * thr_code_cell(vector[d] * scale, half) + 1);
        rest->digit_sum += digits[d];
        square += digits[d] * digits[d];
    }
    rest->digits = digits;
    rest->gain = (float)(1 / sqrt((double)square));
}
