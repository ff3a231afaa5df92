/* SPDX-License-Identifier: Apache-2.0 */
/*
 * windows.h - CDSSM's convolution over windows of three words and its max-pooling, as sums of word vectors.
 *
 * The convolution is linear in the three words of a window, so each distinct word of a batch is multiplied once, into
 * three parts of n_columns: its contributions as the left, the middle and the right word. The window at word t is
 *   ((left of word t - 1 + middle of word t) + right of word t + 1) + bias
 * where missing words contribute nothing. tanh is monotonic, so the maximum is taken before it.
 */
#pragma once

#include "kernel/kernel.h"

/* A view of texts: text i is words[offsets[i]] to words[offsets[i + 1] - 1], indices of word vectors. */
typedef struct thr_texts {
    size_t n_texts;
    const size_t *offsets; /* n_texts + 1; the first need not be 0 */
    const uint32_t *words;
} thr_texts;

enum { THR_WINDOW_WORDS = 3, THR_TEXT_WORDS_MAX = 65535 };

/*
 * pooled[i * n_columns + c] = the largest of text i's windows in column c; where[...] = the centre of that window
 * (the first on ties). A text without words has one empty window: the bias. vectors: 3 * n_columns floats per word.
 */
void thr_nn_windows_forward(thr_context *context, const thr_texts *texts, const float *vectors, const float *bias,
                            size_t n_columns, float *pooled, uint16_t *where);

/*
 * d_vectors (3 * n_columns a word, initialised by the caller, usually to zeros) += the gradient of each word, in the
 * order of texts; d_bias += the sum of d_pooled over texts. Threads split columns, so the bits do not depend on their
 * number.
 */
void thr_nn_windows_backward(thr_context *context, const thr_texts *texts, const uint16_t *where, const float *d_pooled,
                             size_t n_columns, float *d_vectors, float *d_bias);
