/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vector_screen.h - the kernels that score 64 items and mark those that reach a bound, and those over sums of
 * postings, with the compiler's vector types, compiled by the _screen.c file of each level. Instructions of
 * the level are needed only to compare, to gather the results into a mask, for square roots and to widen.
 */
#pragma once

#include "kernel/kernel.h"
#include "kernel/lanes.h"
#include "kernel/unroll.h"

enum { ITEMS = 64, VECTORS = ITEMS / THR_LANES };

/* ------------------------------------------------------------------------------------------- of the level */

#if defined __AVX512F__ && THR_LANES == 16
#include <immintrin.h>

typedef __mmask16 thr_lane_mask;

THR_ALWAYS thr_lane_mask thr_kernel_above(thr_lanes_int a, thr_lanes_int b) {
    return _mm512_cmpgt_epi32_mask((__m512i)a, (__m512i)b);
}

THR_ALWAYS thr_lane_mask thr_kernel_reaches(thr_lanes a, float least) {
    return _mm512_cmp_ps_mask(a, _mm512_set1_ps(least), _CMP_GE_OQ);
}

THR_ALWAYS uint64_t thr_kernel_mask(const thr_lane_mask hits[VECTORS]) {
    return hits[0] | (uint64_t)hits[1] << 16 | (uint64_t)hits[2] << 32 | (uint64_t)hits[3] << 48;
}

THR_ALWAYS thr_lanes thr_kernel_roots(thr_lanes x) {
    return _mm512_sqrt_ps(x);
}

THR_ALWAYS thr_lanes_word thr_kernel_widen_halves(const uint16_t *from) {
    return (thr_lanes_word)_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)from));
}
#else
typedef thr_lanes_int thr_lane_mask; /* all ones or zeros */

THR_ALWAYS thr_lane_mask thr_kernel_above(thr_lanes_int a, thr_lanes_int b) {
    return a > b;
}

THR_ALWAYS thr_lane_mask thr_kernel_reaches(thr_lanes a, float least) {
    return a >= least;
}

THR_ALWAYS thr_lanes_word thr_kernel_widen_halves(const uint16_t *from) {
    thr_lanes_half x;
    memcpy(&x, from, sizeof x);
    return __builtin_convertvector(x, thr_lanes_word);
}
#if defined __AVX2__ && THR_LANES == 8
#include <immintrin.h>

THR_ALWAYS uint64_t thr_kernel_mask(const thr_lane_mask hits[VECTORS]) {
    uint64_t mask = 0;
    THR_UNROLL
    for (int v = 0; v < VECTORS; v++)
        mask |= (uint64_t)(uint32_t)_mm256_movemask_ps((__m256)hits[v]) << 8 * v;
    return mask;
}

THR_ALWAYS thr_lanes thr_kernel_roots(thr_lanes x) {
    return _mm256_sqrt_ps(x);
}
#elif defined __aarch64__
#include <arm_neon.h>

/*
 * NEON has no instruction that gathers sign bits. Instead, lanes are narrowed to bytes, sixteen a register, each is
 * masked to the bit of its position modulo 8, and three rounds of pairwise addition leave the mask's eight bytes in
 * order.
 */
THR_ALWAYS uint64_t thr_kernel_mask(const thr_lane_mask hits[VECTORS]) {
    const uint8x16_t places = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201));
    uint8x16_t bytes[4];
    THR_UNROLL
    for (int i = 0; i < 4; i++) {
        const uint32x4_t *lanes = (const uint32x4_t *)(const void *)(hits + 4 * i);
        const uint16x8_t low = vmovn_high_u32(vmovn_u32(lanes[0]), lanes[1]);
        const uint16x8_t high = vmovn_high_u32(vmovn_u32(lanes[2]), lanes[3]);
        bytes[i] = vandq_u8(vmovn_high_u16(vmovn_u16(low), high), places);
    }
    const uint8x16_t both = vpaddq_u8(vpaddq_u8(bytes[0], bytes[1]), vpaddq_u8(bytes[2], bytes[3]));
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(both, both)), 0);
}

THR_ALWAYS thr_lanes thr_kernel_roots(thr_lanes x) {
    return (thr_lanes)vsqrtq_f32((float32x4_t)x);
}
#else /* so that the header compiles by itself */
uint64_t thr_kernel_mask(const thr_lane_mask hits[VECTORS]);
thr_lanes thr_kernel_roots(thr_lanes x);
#endif
#endif

/* -------------------------------------------------------------------------------------------------- codes */

/* A single load, where gcc may turn a memcpy into one for each use. */
typedef int32_t thr_lanes_anywhere __attribute__((vector_size(4 * THR_LANES), aligned(1), may_alias));

THR_ALWAYS thr_lanes_int thr_kernel_load_ints(const void *from) {
    return *(const thr_lanes_anywhere *)from;
}

THR_ALWAYS thr_lanes thr_kernel_floats(thr_lanes_int x) {
    return __builtin_convertvector(x, thr_lanes);
}

/* Products of codes with a query: total - 2 D. */
THR_ALWAYS thr_lanes thr_kernel_products(const uint32_t *distances, int32_t total) {
    const thr_lanes_int d = thr_kernel_load_ints(distances);
    return thr_kernel_floats(total - (d + d));
}

static inline void thr_screen_distances(uint64_t *masks, const uint32_t *distances, size_t n_blocks,
                                        const int32_t *bounds) {
    for (size_t b = 0; b < n_blocks; b++, distances += ITEMS) {
        const thr_lanes_int bound = bounds[b] - (thr_lanes_int){0};
        thr_lane_mask above[VECTORS];
        THR_UNROLL
        for (size_t v = 0; v < VECTORS; v++)
            above[v] = thr_kernel_above(thr_kernel_load_ints(distances + v * LANES), bound);
        masks[b] = ~thr_kernel_mask(above);
    }
}

static inline uint64_t thr_screen_cosine(float *scores, const uint32_t *distances, const uint32_t *squares,
                                         int32_t total, float threshold) {
    thr_lane_mask hits[VECTORS];
    THR_UNROLL
    for (size_t v = 0, i = 0; v < VECTORS; v++, i += LANES) {
        const thr_lanes length = thr_kernel_roots(thr_kernel_floats(thr_kernel_load_ints(squares + i)));
        const thr_lanes score = thr_kernel_products(distances + i, total) / length;
        thr_kernel_store(scores + i, score);
        hits[v] = thr_kernel_reaches(score, threshold);
    }
    return thr_kernel_mask(hits);
}

static inline uint64_t thr_screen_factors(float *scores, const uint32_t *distances, const float *factors,
                                          const float *offsets, const thr_score_line *line) {
    const thr_score_line l = *line; /* a copy, which stores to scores cannot alias */
    thr_lane_mask hits[VECTORS];
    THR_UNROLL
    for (size_t v = 0, i = 0; v < VECTORS; v++, i += LANES) {
        thr_lanes score = thr_kernel_products(distances + i, l.total) * thr_kernel_load(factors + i) * l.gain;
        if (offsets != NULL)
            score -= thr_kernel_load(offsets + i) * l.weight;
        thr_kernel_store(scores + i, score);
        hits[v] = thr_kernel_reaches(score, l.threshold);
    }
    return thr_kernel_mask(hits);
}

/* Scores of nested codes: numbers holds factors, or pairs with a factor in the low half and an offset in the high. */
THR_ALWAYS thr_lanes thr_kernel_lead_scores(const uint32_t *distances, const uint16_t *numbers, bool offsets,
                                            thr_score_line line) {
    const thr_lanes product = thr_kernel_products(distances, line.total);
    if (!offsets)
        return product * (thr_lanes)(thr_kernel_widen_halves(numbers) << 16) * line.gain;
    const thr_lanes_word pairs = (thr_lanes_word)thr_kernel_load_ints(numbers);
    return product * (thr_lanes)(pairs << 16) * line.gain - (thr_lanes)(pairs & 0xffff0000) * line.weight;
}

/* offsets is a constant at every call. */
THR_ALWAYS uint64_t thr_kernel_screen_leads(float *scores, const uint32_t *distances, const uint16_t *numbers,
                                            bool offsets, thr_score_line line) {
    const size_t step = offsets ? 2 : 1;
    thr_lane_mask hits[VECTORS];
    THR_UNROLL
    for (size_t v = 0, i = 0; v < VECTORS; v++, i += LANES) {
        const thr_lanes score = thr_kernel_lead_scores(distances + i, numbers + step * i, offsets, line);
        thr_kernel_store(scores + i, score);
        hits[v] = thr_kernel_reaches(score, line.threshold);
    }
    return thr_kernel_mask(hits);
}

static inline uint64_t thr_screen_leads(float *scores, const uint32_t *distances, const uint16_t *numbers, bool offsets,
                                        const thr_score_line *line) {
    return offsets ? thr_kernel_screen_leads(scores, distances, numbers, true, *line)
                   : thr_kernel_screen_leads(scores, distances, numbers, false, *line);
}

static inline uint64_t thr_screen_scores(const float *scores, float threshold) {
    thr_lane_mask hits[VECTORS];
    THR_UNROLL
    for (size_t v = 0; v < VECTORS; v++)
        hits[v] = thr_kernel_reaches(thr_kernel_load(scores + v * LANES), threshold);
    return thr_kernel_mask(hits);
}

/* halves is NULL or not at every call, as a constant. */
THR_ALWAYS uint64_t thr_kernel_cosines(float *scores, const float *scales, const float *halves, thr_cosine_line line) {
    const thr_lanes least = -1.0f - (thr_lanes){0};
    thr_lane_mask hits[VECTORS];
    THR_UNROLL
    for (size_t v = 0, i = 0; v < VECTORS; v++, i += LANES) {
        thr_lanes cosine = thr_kernel_load(scores + i) * thr_kernel_load(scales + i);
        if (halves != NULL) {
            const thr_lanes half = thr_kernel_load(halves + i);
            cosine = (cosine - half) * line.weight + line.bias;
            cosine = (thr_lanes)((thr_lanes_int)cosine & ~(half < 0));
        }
        const thr_lanes_int below = cosine < least;
        cosine = (thr_lanes)((below & (thr_lanes_int)least) | (~below & (thr_lanes_int)cosine));
        thr_kernel_store(scores + i, cosine);
        hits[v] = thr_kernel_reaches(cosine, line.near);
    }
    return thr_kernel_mask(hits);
}

static inline uint64_t thr_cosines(float *scores, const float *scales, const float *halves,
                                   const thr_cosine_line *line) {
    return halves != NULL ? thr_kernel_cosines(scores, scales, halves, *line)
                          : thr_kernel_cosines(scores, scales, NULL, *line);
}

/* ----------------------------------------------------------------------------------------------- postings */

static inline void thr_add_run(int32_t *sums, size_t n, int32_t weight) {
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        const thr_lanes_word sum = (thr_lanes_word)thr_kernel_load_ints(sums + i) + (uint32_t)weight;
        memcpy(sums + i, &sum, sizeof sum);
    }
    for (; i < n; i++)
        sums[i] = thr_add_wrapping(sums[i], weight);
}

static inline uint64_t thr_screen_sums(const int32_t *sums, int32_t least) {
    const thr_lanes_int bound = least - (thr_lanes_int){0};
    thr_lane_mask below[VECTORS];
    THR_UNROLL
    for (size_t v = 0; v < VECTORS; v++)
        below[v] = thr_kernel_above(bound, thr_kernel_load_ints(sums + v * LANES));
    return ~thr_kernel_mask(below);
}

static inline uint64_t thr_screen_values(float *scores, const int32_t *sums, const thr_value_line *line,
                                         const float *multipliers, const float *offsets, float threshold) {
    const thr_value_line l = *line;
    thr_lane_mask hits[VECTORS];
    THR_UNROLL
    for (size_t v = 0, i = 0; v < VECTORS; v++, i += LANES) {
        thr_lanes value = thr_kernel_load(scores + i) * l.gain + l.bias;
        value += thr_kernel_floats(thr_kernel_load_ints(sums + i)) * l.unit;
        if (multipliers != NULL)
            value *= thr_kernel_load(multipliers + i);
        if (offsets != NULL)
            value += thr_kernel_load(offsets + i);
        thr_kernel_store(scores + i, value);
        hits[v] = thr_kernel_reaches(value, threshold);
    }
    return thr_kernel_mask(hits);
}

static inline void thr_kernels_fill_screen(thr_kernels *kernels) {
    kernels->screen_distances = thr_screen_distances;
    kernels->screen_cosine = thr_screen_cosine;
    kernels->screen_factors = thr_screen_factors;
    kernels->screen_leads = thr_screen_leads;
    kernels->screen_scores = thr_screen_scores;
    kernels->cosines = thr_cosines;
    kernels->add_run = thr_add_run;
    kernels->screen_sums = thr_screen_sums;
    kernels->screen_values = thr_screen_values;
}
