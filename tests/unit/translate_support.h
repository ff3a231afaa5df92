/* SPDX-License-Identifier: Apache-2.0 */
/*
 * translate_support.h - small models of translations: of numbers drawn by a formula, written to files, and the same in
 * double, from the tensors as PyTorch has them.
 */
#pragma once

#include "test.h"

#include "base/half.h"
#include "translate/workspace.h"

#include <thresher/translate.h>

TEST_OWNABLE(thr_translator)

enum { MODEL_TENSORS = 64, MODEL_NAME = 48, MODEL_UNITS = 40, MODEL_PLACES = 16 };

typedef struct model_shape {
    uint64_t n_source, n_target, source_columns, target_columns, n_units, n_dims, n_layers;
    thr_dtype dtype;
    bool plain; /* without attention; n_dims is n_units */
} model_shape;

typedef struct model {
    model_shape shape;
    thr_tensor tensors[MODEL_TENSORS]; /* all own their data; numbers are float32, whatever the file will hold */
    char names[MODEL_TENSORS][MODEL_NAME];
    size_t n;
    const char *format, *version;
} model;

/* Number i of the array that salt names, in [-1, 1], before it is scaled. */
static inline float model_drawn(size_t i, size_t salt) {
    return (float)(((double)((i * 7919 + salt * 104729) % 2001) - 1000.0) / 1000.0);
}

/* n_columns 0: a vector. The numbers are drawn, salt the tensor's number from 1, and halved. */
static inline void model_add(model *m, const char *name, uint64_t n_rows, uint64_t n_columns) {
    const size_t n = (size_t)(n_rows * (n_columns > 0 ? n_columns : 1));
    float *values = test_new(n, sizeof *values);
    for (size_t i = 0; i < n; i++)
        values[i] = 0.5f * model_drawn(i, m->n + 1);
    (void)snprintf(m->names[m->n], MODEL_NAME, "%s", name);
    m->tensors[m->n] = (thr_tensor){.name = m->names[m->n],
                                    .dtype = m->shape.dtype,
                                    .n_axes = n_columns > 0 ? 2 : 1,
                                    .shape = {n_rows, n_columns},
                                    .data = values};
    m->n++;
}

static inline void model_add_lstm(model *m, const char *side, uint64_t layer, const char *direction, uint64_t n_in,
                                  uint64_t n_units) {
    static const char *const parts[] = {"weight_ih", "weight_hh", "bias_ih", "bias_hh"};
    for (size_t p = 0; p < 4; p++) {
        char name[MODEL_NAME];
        (void)snprintf(name, sizeof name, "%s.lstm.%s_l%u%s", side, parts[p], (unsigned)layer, direction);
        model_add(m, name, 4 * n_units, p == 0 ? n_in : p == 1 ? n_units : 0);
    }
}

/* The special words, then those given, or w3, w4, ... */
static inline void model_add_words(model *m, const char *name, uint64_t n, const char *const *given) {
    char *text = test_new((size_t)n * 32, 1);
    size_t used = (size_t)sprintf(text, "<unk>\n<s>\n</s>\n");
    for (uint64_t i = 3; i < n; i++)
        used += given != NULL ? (size_t)sprintf(text + used, "%s\n", given[i - 3])
                              : (size_t)sprintf(text + used, "w%u\n", (unsigned)i);
    (void)snprintf(m->names[m->n], MODEL_NAME, "%s", name);
    m->tensors[m->n] = (thr_tensor){
        .name = m->names[m->n], .dtype = THR_DTYPE_U8, .n_axes = 1, .shape = {used}, .data = text, .n_bytes = used};
    m->n++;
}

static inline model *model_make(const model_shape *shape) {
    model *m = test_new(1, sizeof *m);
    m->shape = *shape;
    m->format = "thresher.seq2seq";
    m->version = "1";
    model_add(m, "encoder.embedding.weight", shape->n_source, shape->source_columns);
    for (uint64_t l = 0; l < shape->n_layers; l++) {
        const uint64_t n_in = l == 0 ? shape->source_columns : shape->n_units;
        model_add_lstm(m, "encoder", l, "", n_in, shape->n_units / 2);
        model_add_lstm(m, "encoder", l, "_reverse", n_in, shape->n_units / 2);
    }
    model_add(m, "decoder.embedding.weight", shape->n_target, shape->target_columns);
    for (uint64_t l = 0; l < shape->n_layers; l++)
        model_add_lstm(m, "decoder", l, "", l == 0 ? shape->target_columns : shape->n_units, shape->n_units);
    if (!shape->plain) {
        model_add(m, "attention.weight", shape->n_units, shape->n_units);
        model_add(m, "combine.weight", shape->n_dims, 2 * shape->n_units);
    }
    model_add(m, "output.weight", shape->n_target, shape->n_dims);
    model_add(m, "output.bias", shape->n_target, 0);
    model_add_words(m, "source.words", shape->n_source, NULL);
    model_add_words(m, "target.words", shape->n_target, NULL);
    return m;
}

static inline thr_tensor *model_tensor(model *m, const char *name) {
    for (size_t i = 0; i < m->n; i++)
        if (strcmp(m->names[i], name) == 0)
            return &m->tensors[i];
    fail_msg("no tensor %s", name);
    return NULL;
}

static inline float *model_values(model *m, const char *name) {
    return (float *)(uintptr_t)model_tensor(m, name)->data;
}

/* To a file, numbers as the shape's dtype; without the tensor number skip, if there is one. */
static inline void model_write(thr_context *context, const model *m, const char *path, size_t skip) {
    const char *const metadata[][2] = {{"format", m->format}, {"version", m->version}};
    thr_tensor tensors[MODEL_TENSORS];
    size_t n = 0;
    for (size_t i = 0; i < m->n; i++) {
        if (i == skip)
            continue;
        thr_tensor *t = &tensors[n++];
        *t = m->tensors[i];
        size_t n_values = 1;
        for (uint32_t a = 0; a < t->n_axes; a++)
            n_values *= (size_t)t->shape[a];
        t->n_bytes = n_values * thr_dtype_size(t->dtype);
        uint8_t *copy = test_new(t->n_bytes, 1);
        const bool is_half = t->dtype == THR_DTYPE_F16 || t->dtype == THR_DTYPE_BF16;
        for (size_t v = 0; is_half && v < n_values; v++) {
            const float x = ((const float *)m->tensors[i].data)[v];
            const uint16_t half = t->dtype == THR_DTYPE_F16 ? thr_half_from_f32(x) : thr_bf16_from_f32(x);
            memcpy(copy + 2 * v, &half, 2);
        }
        if (!is_half)
            memcpy(copy, m->tensors[i].data, t->n_bytes);
        t->data = copy;
    }
    const thr_tensors_image image = {tensors, n, metadata, 2};
    expect_ok(thr_tensors_write(context, path, &image, &err));
}

/* ------------------------------------------------------------------------------------------------ a dictionary */

enum { DICTIONARY_WORDS = 7 };

/* 3/4 of the unit of the word that comes in, whatever came before: gates i and o open, f closed. */
static inline void dictionary_lstm(model *m, const char *side, const char *direction, size_t n_units) {
    char name[MODEL_NAME];
    (void)snprintf(name, sizeof name, "%s.lstm.weight_ih_l0%s", side, direction);
    for (size_t k = 0; k < DICTIONARY_WORDS; k++)
        model_values(m, name)[(2 * n_units + k) * DICTIONARY_WORDS + k] = 2;
    (void)snprintf(name, sizeof name, "%s.lstm.bias_ih_l0%s", side, direction);
    for (size_t k = 0; k < n_units; k++) {
        model_values(m, name)[k] = model_values(m, name)[3 * n_units + k] = 20;
        model_values(m, name)[n_units + k] = -20;
    }
}

/*
 * A model that anyone can follow: a translation is one word, that of some word of the source, "chat" to "cat". What it
 * makes of several words are equally good translations, the first in the dictionary's order before the others, and of
 * an unknown one the unknown one, to which alone it attends then.
 */
static inline model *model_dictionary(void) {
    static const char *const source[] = {"chat", "chien", "le", "."};
    static const char *const target[] = {"cat", "dog", "the", "\xEF\xBF\xAD."};
    enum { V = DICTIONARY_WORDS };
    static const model_shape shape = {V, V, V, V, 2 * V, 2 * V, 1, THR_DTYPE_F32, false};
    model *m = model_make(&shape);
    for (size_t i = 0; i + 2 < m->n; i++) {
        float *values = (float *)(uintptr_t)m->tensors[i].data;
        const size_t n = (size_t)(m->tensors[i].shape[0] * (m->tensors[i].n_axes == 2 ? m->tensors[i].shape[1] : 1));
        memset(values, 0, n * sizeof *values);
    }
    m->n -= 2;
    model_add_words(m, "source.words", V, source);
    model_add_words(m, "target.words", V, target);
    dictionary_lstm(m, "encoder", "", V);
    dictionary_lstm(m, "encoder", "_reverse", V);
    dictionary_lstm(m, "decoder", "", (size_t)2 * V);
    for (size_t k = 0; k < V; k++) {
        model_values(m, "encoder.embedding.weight")[k * V + k] = 1;
        model_values(m, "decoder.embedding.weight")[k * V + k] = 1;
        /* the state: first what the source has, then the word before */
        model_values(m, "combine.weight")[k * 4 * V + k] = 4;
        model_values(m, "combine.weight")[(V + k) * 4 * V + 2 * V + k] = 4;
        /* a word of the source's at the start, then the end */
        model_values(m, "output.weight")[k * 2 * V + k] = k == THR_WORD_END ? 0 : 10;
        for (size_t before = 0; before < V; before++)
            model_values(m, "output.weight")[k * 2 * V + V + before] =
                (k == THR_WORD_END) == (before != THR_WORD_START) ? 10 : -10;
    }
    model_values(m, "attention.weight")[THR_WORD_START * 2 * V + THR_WORD_UNKNOWN] = 40;
    return m;
}

/* ------------------------------------------------------------------------------------------------ in double */

typedef struct naive_row {
    double h[4][MODEL_UNITS], c[4][MODEL_UNITS];
} naive_row;

typedef struct naive_sentence {
    size_t n;
    double m[MODEL_PLACES][MODEL_UNITS];
    naive_row first;
} naive_sentence;

static inline double naive_sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

static inline void naive_cell(model *m, const char *side, size_t layer, const char *direction, const double *x,
                              size_t n_in, size_t n, double *h, double *c) {
    double gates[4 * MODEL_UNITS], next[MODEL_UNITS];
    const float *part[4];
    static const char *const parts[] = {"weight_ih", "weight_hh", "bias_ih", "bias_hh"};
    for (size_t p = 0; p < 4; p++) {
        char name[MODEL_NAME];
        (void)snprintf(name, sizeof name, "%s.lstm.%s_l%u%s", side, parts[p], (unsigned)layer, direction);
        part[p] = model_values(m, name);
    }
    for (size_t g = 0; g < 4 * n; g++) {
        gates[g] = (double)part[2][g] + part[3][g];
        for (size_t k = 0; k < n_in; k++)
            gates[g] += (double)part[0][g * n_in + k] * x[k];
        for (size_t k = 0; k < n; k++)
            gates[g] += (double)part[1][g * n + k] * h[k];
    }
    for (size_t j = 0; j < n; j++) {
        c[j] = naive_sigmoid(gates[n + j]) * c[j] + naive_sigmoid(gates[j]) * tanh(gates[2 * n + j]);
        next[j] = naive_sigmoid(gates[3 * n + j]) * tanh(c[j]);
    }
    memcpy(h, next, n * sizeof *h);
}

/* words end with the end word. */
static inline void naive_encode(model *m, const uint32_t *words, size_t n, naive_sentence *out) {
    const size_t half = (size_t)m->shape.n_units / 2, e = (size_t)m->shape.source_columns;
    double in[MODEL_PLACES][MODEL_UNITS];
    const float *rows = model_values(m, "encoder.embedding.weight");
    memset(out, 0, sizeof *out);
    out->n = n;
    for (size_t j = 0; j < n; j++)
        for (size_t k = 0; k < e; k++)
            in[j][k] = rows[words[j] * e + k];
    for (size_t l = 0; l < m->shape.n_layers; l++) {
        for (size_t side = 0; side < 2; side++)
            for (size_t i = 0; i < n; i++) {
                const size_t j = side == 0 ? i : n - 1 - i;
                double *h = out->first.h[l] + side * half;
                naive_cell(m, "encoder", l, side == 0 ? "" : "_reverse", in[j], l == 0 ? e : 2 * half, half, h,
                           out->first.c[l] + side * half);
                memcpy(out->m[j] + side * half, h, half * sizeof *h);
            }
        memcpy(in, out->m, sizeof in);
    }
}

/* The state after one more word; the position with the most attention among the words. */
static inline size_t naive_step(model *m, const naive_sentence *sentence, naive_row *row, uint32_t word,
                                double *state) {
    const size_t n = (size_t)m->shape.n_units, e = (size_t)m->shape.target_columns, d = (size_t)m->shape.n_dims;
    const float *rows = model_values(m, "decoder.embedding.weight");
    double x[MODEL_UNITS], both[2 * MODEL_UNITS] = {0}, shares[MODEL_PLACES], sum = 0;
    for (size_t k = 0; k < e; k++)
        x[k] = rows[word * e + k];
    for (size_t l = 0; l < m->shape.n_layers; l++) {
        naive_cell(m, "decoder", l, "", x, l == 0 ? e : n, n, row->h[l], row->c[l]);
        memcpy(x, row->h[l], n * sizeof *x);
    }
    if (m->shape.plain) {
        memcpy(state, x, n * sizeof *x);
        return 0;
    }
    const float *a = model_values(m, "attention.weight"), *combine = model_values(m, "combine.weight");
    for (size_t j = 0; j < sentence->n; j++) {
        double score = 0;
        for (size_t r = 0; r < n; r++)
            for (size_t c = 0; c < n; c++)
                score += x[r] * a[r * n + c] * sentence->m[j][c];
        shares[j] = exp(score);
        sum += shares[j];
    }
    for (size_t j = 0; j < sentence->n; j++)
        for (size_t c = 0; c < n; c++)
            both[c] += shares[j] / sum * sentence->m[j][c];
    memcpy(both + n, x, n * sizeof *x);
    for (size_t i = 0; i < d; i++) {
        double s = 0;
        for (size_t k = 0; k < 2 * n; k++)
            s += combine[i * 2 * n + k] * both[k];
        state[i] = tanh(s);
    }
    size_t best = 0;
    for (size_t j = 1; j + 1 < sentence->n; j++)
        best = shares[j] > shares[best] ? j : best;
    return best;
}
