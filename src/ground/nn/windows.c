/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/windows.h"

#include "base/memory.h"
#include "base/minmax.h"
#include "nn/products.h"
#include "parallel/pool.h"

#include <string.h>

/* Texts in a forward work item; a backward work item has a multiple of COLUMN_UNIT columns. */
enum { TEXTS = 32, COLUMN_UNIT = 16 };

typedef struct windows {
    const thr_kernels *kernels;
    const thr_texts *texts;
    const float *in, *bias; /* in: vectors, or d_pooled */
    size_t n_columns, piece_columns;
    float *out; /* pooled, or d_vectors */
    float *d_bias;
    uint16_t *where;
    const uint16_t *from;
} windows;

static void pool_texts(void *arg, size_t piece, uint32_t worker) {
    (void)worker;
    const windows *w = arg;
    const thr_texts *texts = w->texts;
    const size_t n = w->n_columns, first = piece * TEXTS;
    const size_t end = texts->n_texts - first < TEXTS ? texts->n_texts : first + TEXTS;
    for (size_t i = first; i < end; i++) {
        const size_t n_words = texts->offsets[i + 1] - texts->offsets[i];
        if (n_words == 0) {
            memcpy(w->out + i * n, w->bias, n * sizeof(float));
            memset(w->where + i * n, 0, n * sizeof(uint16_t));
        } else {
            w->kernels->window_max(w->out + i * n, w->where + i * n, w->in, texts->words + texts->offsets[i], n_words,
                                   w->bias, n);
        }
    }
}

void thr_nn_windows_forward(thr_context *context, const thr_texts *texts, const float *vectors, const float *bias,
                            size_t n_columns, float *pooled, uint16_t *where) {
    windows w = {.kernels = context->kernels,
                 .texts = texts,
                 .in = vectors,
                 .bias = bias,
                 .n_columns = n_columns,
                 .out = pooled,
                 .where = where};
    thr_parallel_for(context, THR_CEIL_DIV(texts->n_texts, TEXTS), pool_texts, &w);
}

/* Backpropagate columns first to first + n of one text: each goes to the three words of the window that won. */
static void spread_text(const windows *w, size_t text, size_t first, size_t n) {
    const uint32_t *words = w->texts->words + w->texts->offsets[text];
    const size_t n_words = w->texts->offsets[text + 1] - w->texts->offsets[text];
    const float *d = w->in + text * w->n_columns + first;
    const uint16_t *from = w->from + text * w->n_columns + first;
    const thr_add_where_kernel add = w->kernels->add_where;
    for (size_t t = 0; t < n_words; t++)
        for (size_t part = 0; part < THR_WINDOW_WORDS; part++)
            if (t + part >= 1 && t + part - 1 < n_words) /* left, middle and right: the words t - 1, t and t + 1 */
                add(w->out + (words[t + part - 1] * (size_t)THR_WINDOW_WORDS + part) * w->n_columns + first, d, from,
                    (uint16_t)t, n);
}

/*
 * The same, column by column. A column adds to each of its three targets once, so both functions give the same sums.
 * spread_text takes time proportional to the number of words but uses whole vector registers; for long texts most
 * lanes would add nothing.
 */
static void spread_long_text(const windows *w, size_t text, size_t first, size_t n) {
    const uint32_t *words = w->texts->words + w->texts->offsets[text];
    const size_t n_words = w->texts->offsets[text + 1] - w->texts->offsets[text], n_columns = w->n_columns;
    const float *d = w->in + text * n_columns;
    const uint16_t *from = w->from + text * n_columns;
    for (size_t c = first; c < first + n; c++) {
        const size_t t = from[c];
        w->out[words[t] * 3 * n_columns + n_columns + c] += d[c];
        if (t > 0)
            w->out[words[t - 1] * 3 * n_columns + c] += d[c];
        if (t + 1 < n_words)
            w->out[words[t + 1] * 3 * n_columns + 2 * n_columns + c] += d[c];
    }
}

static void spread_columns(void *arg, size_t piece, uint32_t worker) {
    (void)worker;
    enum { SHORT_TEXT = 12 };
    const windows *w = arg;
    const size_t first = piece * w->piece_columns, left = w->n_columns - first;
    const size_t n = THR_MIN(left, w->piece_columns);
    for (size_t i = 0; i < w->texts->n_texts; i++) {
        if (w->texts->offsets[i + 1] - w->texts->offsets[i] <= SHORT_TEXT)
            spread_text(w, i, first, n);
        else
            spread_long_text(w, i, first, n);
        const float *d = w->in + i * w->n_columns;
        for (size_t c = first; c < first + n; c++)
            w->d_bias[c] += d[c];
    }
}

void thr_nn_windows_backward(thr_context *context, const thr_texts *texts, const uint16_t *where, const float *d_pooled,
                             size_t n_columns, float *d_vectors, float *d_bias) {
    windows w = {.kernels = context->kernels,
                 .texts = texts,
                 .in = d_pooled,
                 .n_columns = n_columns,
                 .piece_columns = thr_nn_piece_size(context, n_columns, COLUMN_UNIT, n_columns),
                 .out = d_vectors,
                 .d_bias = d_bias,
                 .from = where};
    if (n_columns > 0)
        thr_parallel_for(context, THR_CEIL_DIV(n_columns, w.piece_columns), spread_columns, &w);
}
