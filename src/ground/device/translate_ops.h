/* SPDX-License-Identifier: Apache-2.0 */
/*
 * translate_ops.h - GPU backend operations for LSTM layers and attention (nn/lstm.h, translate/model.h), beside gathers
 * and layers of learn_ops.h. Plain structs; pointers are to device memory; strides are in floats. Results have the
 * CPU's bits.
 */
#pragma once

#include <stdint.h>

/*
 * Cells of n_rows rows: gates, 4 n_units floats per row, are complete sums; h and c are replaced. The c of rows from
 * n_old on counts as 0.
 */
typedef struct thr_lstm_op {
    const float *gates;
    float *h, *c;
    uint32_t n_rows, n_old, n_units, h_row, c_row;
} thr_lstm_op;

/*
 * Row i attends to places places[s] to places[s + 1] - 1 of its sentence s = sentences[i], at least one: their softmax
 * by the products of the row's output with keys, n_units floats per place, and the sum of memory by these shares.
 * combined gets this sum and the output, 2 n_units floats per row; attended, the place with the largest share, the last
 * one excluded, ties to the first. shares: n_rows x most_places floats of scratch memory.
 */
typedef struct thr_attend_op {
    const float *outputs, *keys, *memory;
    const uint32_t *sentences, *places;
    uint32_t n_rows, n_units, output_row, most_places;
    float *shares, *combined;
    uint32_t *attended;
} thr_attend_op;
