/* SPDX-License-Identifier: Apache-2.0 */
#include "head.h"

#include <string.h>

enum { WORDS_A_TOPIC = 100 };

static const double TOPIC = 0.6, OWN = 0.8; /* squares add up to 1 */
static const double LENGTH = 3, LENGTH_FALLS = 0.06, BIAS_FALLS = 0.5;
static const double STATE = 5, NOISE = 0.8;          /* a state's length, and the noise added to the word in it */
static const double DEVIATION = 0.57735026918962576; /* of bench_normal_rows' components */

/* To the nearest number of 11 bits; numbers below the normal range become 0. Numbers are far below 65504. */
static uint16_t to_half(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint32_t sign = bits >> 16 & 0x8000, magnitude = (bits & 0x7fffffff) + 0x1000;
    return (uint16_t)(magnitude < 0x38800000 ? sign : sign | (magnitude - 0x38000000) >> 13);
}

/* Word w's direction to own, of length about 1; topic is room for as many numbers. */
static void direction(const bench_head *head, uint64_t seed, uint32_t w, float *topic, float *own) {
    const uint32_t n_dims = head->n_dims, n_topics = head->n_words / WORDS_A_TOPIC + 1;
    const double unit = 1 / (DEVIATION * sqrt((double)n_dims));
    bench_normal_row(seed + 1, w % n_topics, n_dims, topic);
    bench_normal_row(seed + 2, w, n_dims, own);
    for (uint32_t i = 0; i < n_dims; i++)
        own[i] = (float)(unit * (TOPIC * (double)topic[i] + OWN * (double)own[i]));
}

void bench_head_draw(uint32_t n_words, uint32_t n_dims, uint32_t n_states, bench_head *head) {
    const uint64_t seed = bench.program->globals.seed;
    *head = (bench_head){.n_words = n_words, .n_dims = n_dims, .n_states = n_states};
    head->states = bench_alloc((size_t)n_states * n_dims * sizeof *head->states);
    const size_t mark = bench_mark();
    float *topic = bench_alloc(n_dims * sizeof *topic), *own = bench_alloc(n_dims * sizeof *own);
    uint16_t *weights = bench_alloc((size_t)n_words * n_dims * sizeof *weights);
    float *bias = bench_alloc(n_words * sizeof *bias);
    for (uint32_t w = 0; w < n_words; w++) {
        const float length = (float)(LENGTH * pow((double)w + 10, -LENGTH_FALLS));
        direction(head, seed, w, topic, own);
        for (uint32_t i = 0; i < n_dims; i++)
            weights[(size_t)w * n_dims + i] = to_half(length * own[i]);
        bias[w] = (float)(-BIAS_FALLS * log((double)w + 10));
    }
    for (uint32_t s = 0; s < n_states; s++) { /* Zipf's law: places of equal logarithms are equally likely */
        float *state = head->states + (size_t)s * n_dims;
        const double place = bench_uniform(bench_mix(seed + s + 1)), unit = NOISE / (DEVIATION * sqrt((double)n_dims));
        direction(head, seed, (uint32_t)exp(place * log((double)n_words)) - 1, topic, own);
        bench_normal_row(seed + 3, s, n_dims, state);
        for (uint32_t i = 0; i < n_dims; i++)
            state[i] = (float)(STATE * ((double)own[i] + unit * (double)state[i]));
    }
    const thr_matrix rows = {weights, n_words, n_dims, THR_DTYPE_F16, n_dims * sizeof *weights};
    BENCH_OPTIONS(thr_head_build, options);
    options.bias = bias;
    options.n_bias = n_words;
    options.seed = seed;
    bench_check(thr_head_create(bench.context, &rows, &options, &head->head, &bench.err));
    bench_release(mark);
}
