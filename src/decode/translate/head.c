/* SPDX-License-Identifier: Apache-2.0 */
/*
 * head.c - the head of a model: made of its output layer, or opened from a file that was made of it before.
 *
 * A file with the right numbers of words and dimensions may still belong to another model, and translations would be
 * nonsense without an error. So the file's head is queried with some rows of the model's output layer. For rows x and
 * y, weights stored in a byte err by about a per cent of |x| |y|; another model's rows, by as much as the product of a
 * row with itself.
 */
#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "base/minmax.h"
#include "translate/translator.h"

enum { QUERIED = 16 };

#define TOLERANCE 0.1 /* relative to the rows' lengths, or to the bias */

static thr_status make_head(thr_translator *t, const thr_translator_options *o, const thr_matrix *weights,
                            const float *bias, thr_error *err) {
    thr_head_build_options build;
    thr_head_build_options_init(&build);
    if (o->build != NULL) {
        build = *o->build;
    } else {
        const thr_head_screen screen = o->query != NULL ? o->query->screen : THR_HEAD_SCREEN_FULL;
        build.n_bands = screen == THR_HEAD_SCREEN_WTA ? build.n_bands : 0;
        build.n_planes = screen == THR_HEAD_SCREEN_PLANES ? build.n_planes : 0;
        build.n_places = THR_MIN(build.n_places, weights->n_dims);
    }
    build.bias = bias;
    build.n_bias = weights->n_rows;
    return thr_head_create(&t->context, weights, &build, &t->head, err);
}

static double product(const float *x, const float *y, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)y[i];
    return sum;
}

/* The first row whose logits differ, or UINT32_MAX. words and logits: the head's answers, n for each row queried. */
static uint32_t differing(const float *rows, size_t n_dims, const float *bias, const uint32_t *queried, uint32_t n,
                          const uint32_t *words, const float *logits) {
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++) {
            const float *x = rows + i * n_dims;
            uint32_t at = 0;
            while (at + 1 < n && queried[at] != words[i * n + j])
                at++;
            const float *y = rows + at * n_dims;
            const double added = bias != NULL ? (double)bias[queried[at]] : 0;
            const double most = sqrt(product(x, x, n_dims) * product(y, y, n_dims)) + fabs(added);
            if (!(fabs((double)logits[i * n + j] - product(x, y, n_dims) - added) <= TOLERANCE * most))
                return queried[at];
        }
    return UINT32_MAX;
}

static thr_status check_rows(thr_translator *t, const char *path, const char *model, const thr_matrix *weights,
                             const float *bias, float *rows, thr_error *err) {
    uint32_t queried[QUERIED], words[QUERIED * QUERIED];
    float logits[QUERIED * QUERIED];
    thr_head_query_options query;
    const uint32_t n = weights->n_rows < QUERIED ? (uint32_t)weights->n_rows : QUERIED;
    for (uint32_t i = 0; i < n; i++) {
        queried[i] = (uint32_t)(i * weights->n_rows / n);
        THR_TRY(thr_matrix_to_f32(weights, queried[i], 1, rows + (size_t)i * weights->n_dims));
    }
    const thr_matrix states = thr_matrix_f32(rows, n, weights->n_dims);
    thr_head_query_options_init(&query);
    query.screen = THR_HEAD_SCREEN_FREQUENT;
    query.n_frequent = 0;
    query.always = queried;
    query.n_always = n;
    THR_TRY(thr_head_query(t->head, &states, n, &query, &(thr_head_answers){words, logits, NULL}, err));
    const uint32_t word = differing(rows, weights->n_dims, bias, queried, n, words, logits);
    if (word != UINT32_MAX)
        return thr_fail(err, THR_EMISMATCH,
                        "%s: word %" PRIu32 " has other weights than in %s: build it of this model's output.weight",
                        path, word, model);
    return THR_OK;
}

static thr_status open_head(thr_translator *t, const char *path, const char *model, const thr_matrix *weights,
                            const float *bias, thr_error *err) {
    THR_TRY(thr_head_open(&t->context, path, &t->head, err));
    const thr_head_info head = thr_head_get_info(t->head);
    if (head.n_words != t->model.target.words.n || head.n_dims != t->model.n_dims)
        return thr_fail(err, THR_EMISMATCH,
                        "%s: a head of %" PRIu32 " words of %" PRIu32 " dimensions, but %s has %" PRIu32
                        " of %zu: build it of the model's output.weight",
                        path, head.n_words, head.n_dims, model, t->model.target.words.n, t->model.n_dims);
    float *rows = NULL;
    THR_TRY(thr_alloc(&t->context, QUERIED, weights->n_dims * sizeof *rows, &rows, "rows of weights", err));
    const thr_status status = check_rows(t, path, model, weights, bias, rows, err);
    thr_release(&t->context, rows);
    return status;
}

thr_status thr_translate_open_head(thr_translator *t, const char *model, const thr_translator_options *o,
                                   const thr_matrix *weights, const float *bias, thr_error *err) {
    return o->head != NULL ? open_head(t, o->head, model, weights, bias, err) : make_head(t, o, weights, bias, err);
}
