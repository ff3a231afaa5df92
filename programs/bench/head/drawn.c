/* SPDX-License-Identifier: Apache-2.0 */
#include "head.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_A_TOPIC = 100 };

static const double TOPIC = 0.6, OWN = 0.8; /* squares add up to 1 */
static const double LENGTH = 3, LENGTH_FALLS = 0.06, BIAS_FALLS = 0.5;
static const double STATE = 5, NOISE = 0.8;          /* a state's length, and the noise added to the word in it */
static const double DEVIATION = 0.57735026918962576; /* of bench_normal_rows' components */

typedef struct drawing {
    const bench_head_shape *shape;
    bench_normal topics, words, noise;
    float *topic, *own; /* a row each */
    uint16_t *weights;
    float *bias;
} drawing;

/* To the nearest number of 11 bits; what is below the normal range becomes 0. Numbers are far below 65504. */
static uint16_t to_half(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint32_t sign = bits >> 16 & 0x8000, magnitude = (bits & 0x7fffffff) + 0x1000;
    return (uint16_t)(magnitude < 0x38800000 ? sign : sign | (magnitude - 0x38000000) >> 13);
}

/* From 0 to below 1, number i of a sequence. */
static double uniform(uint64_t seed, uint64_t i) {
    return bench_share(bench_mix(seed + i + 1));
}

/* Word w's direction to d->own: of length about 1. */
static void direction(const drawing *d, uint32_t w) {
    const uint32_t n_dims = d->shape->n_dims, n_topics = d->shape->n_words / WORDS_A_TOPIC + 1;
    const double unit = 1 / (DEVIATION * sqrt((double)n_dims));
    bench_normal topics = d->topics, words = d->words;
    (void)bench_normal_rows(&topics, w % n_topics, 1, d->topic);
    (void)bench_normal_rows(&words, w, 1, d->own);
    for (uint32_t i = 0; i < n_dims; i++)
        d->own[i] = (float)(unit * (TOPIC * (double)d->topic[i] + OWN * (double)d->own[i]));
}

static void draw_words(const drawing *d) {
    const uint32_t n_dims = d->shape->n_dims;
    for (uint32_t w = 0; w < d->shape->n_words; w++) {
        const float length = (float)(LENGTH * pow((double)w + 10, -LENGTH_FALLS));
        direction(d, w);
        for (uint32_t i = 0; i < n_dims; i++)
            d->weights[(size_t)w * n_dims + i] = to_half(length * d->own[i]);
        d->bias[w] = (float)(-BIAS_FALLS * log((double)w + 10));
    }
}

/* Zipf's law: places of equal logarithms are equally likely. */
static void draw_states(const drawing *d, float *states) {
    const uint32_t n_dims = d->shape->n_dims;
    const double unit = NOISE / (DEVIATION * sqrt((double)n_dims));
    bench_normal noise = d->noise;
    for (uint32_t s = 0; s < d->shape->n_states; s++) {
        float *state = states + (size_t)s * n_dims;
        direction(d, (uint32_t)exp(uniform(d->shape->seed, s) * log((double)d->shape->n_words)) - 1);
        (void)bench_normal_rows(&noise, s, 1, state);
        for (uint32_t i = 0; i < n_dims; i++)
            state[i] = (float)(STATE * ((double)d->own[i] + unit * (double)state[i]));
    }
}

static void make(bench_scan_run *run, const drawing *d, bench_head *head) {
    thr_head_build_options options;
    const thr_matrix weights = {d->weights, d->shape->n_words, d->shape->n_dims, THR_DTYPE_F16,
                                d->shape->n_dims * sizeof *d->weights};
    thr_head_build_options_init(&options);
    options.bias = d->bias;
    options.n_bias = d->shape->n_words;
    options.seed = d->shape->seed;
    bench_must(run, thr_head_create(run->context, &weights, &options, &head->head, &run->err));
}

void bench_head_draw(bench_scan_run *run, const bench_head_shape *shape, bench_head *head) {
    const size_t n_dims = shape->n_dims;
    drawing d = {.shape = shape,
                 .topics = {shape->seed + 1, shape->n_dims},
                 .words = {shape->seed + 2, shape->n_dims},
                 .noise = {shape->seed + 3, shape->n_dims},
                 .topic = bench_room(run, n_dims * sizeof *d.topic),
                 .own = bench_room(run, n_dims * sizeof *d.own),
                 .weights = bench_room(run, shape->n_words * n_dims * sizeof *d.weights),
                 .bias = bench_room(run, shape->n_words * sizeof *d.bias)};
    *head = (bench_head){NULL, bench_room(run, shape->n_states * n_dims * sizeof(float)), shape->n_words, shape->n_dims,
                         shape->n_states};
    draw_words(&d);
    draw_states(&d, head->states);
    make(run, &d, head);
    free(d.topic);
    free(d.own);
    free(d.weights);
    free(d.bias);
}

void bench_head_free(bench_head *head) {
    thr_head_free(head->head);
    free(head->states);
    *head = (bench_head){.head = NULL};
}
