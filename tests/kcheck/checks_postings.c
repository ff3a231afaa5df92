/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the kernels of postings.h. */
#include "kcheck.h"

#include <string.h>

enum { BLOCK = 256, BITMAP = 32, MOST = 24 };

typedef struct bitmaps_input {
    const int32_t *start, *weights;
    const uint8_t *bitmaps[MOST];
    size_t n;
} bitmaps_input;

static void run_add_bitmaps(const thr_kernels *kernels, void *out, void *arg) {
    const bitmaps_input *in = arg;
    memcpy(out, in->start, BLOCK * sizeof *in->start);
    kernels->add_bitmaps(out, in->bitmaps, in->weights, in->n);
}

/* Sums that cannot overflow: weights of 26 bits and a sign. */
void check_add_bitmaps(kcheck *check) {
    bitmaps_input in = {.n = kcheck_timed(check) ? MOST : kcheck_below(check, MOST + 1)};
    int32_t *start = kcheck_buffer(check, BLOCK * sizeof *start);
    int32_t *weights = kcheck_buffer(check, (in.n + 1) * sizeof *weights);
    for (size_t i = 0; i < BLOCK; i++)
        start[i] = (int32_t)kcheck_below(check, 1u << 27) - (1 << 26);
    for (size_t b = 0; b <= in.n; b++)
        weights[b] = (int32_t)kcheck_below(check, 1u << 27) - (1 << 26);
    for (size_t b = 0; b < in.n; b++) {
        uint8_t *bitmap = kcheck_buffer(check, BITMAP);
        kcheck_fill(check, bitmap, BITMAP);
        in.bitmaps[b] = bitmap;
    }
    in.start = start;
    in.weights = weights;
    kcheck_call(check, run_add_bitmaps, &in, BLOCK * sizeof *start, in.n * BLOCK, in.n * BITMAP, "%zu bitmaps", in.n);
}

typedef struct run_input {
    const int32_t *start;
    size_t n;
    int32_t weight;
} run_input;

static void run_add_run(const thr_kernels *kernels, void *out, void *arg) {
    const run_input *in = arg;
    memcpy(out, in->start, in->n * sizeof *in->start);
    kernels->add_run(out, in->n, in->weight);
}

void check_add_run(kcheck *check) {
    run_input in = {.n = kcheck_timed(check) ? 512 : kcheck_below(check, 100) + 1};
    int32_t *start = kcheck_buffer(check, in.n * sizeof *start);
    for (size_t i = 0; i < in.n; i++)
        start[i] = (int32_t)kcheck_below(check, 1u << 30) - (1 << 29);
    in.start = start;
    in.weight = (int32_t)kcheck_below(check, 1u << 30) - (1 << 29);
    kcheck_call(check, run_add_run, &in, in.n * sizeof *start, in.n, in.n * sizeof *start, "%zu sums", in.n);
}

typedef struct sums_input {
    const int32_t *sums;
    int32_t least;
} sums_input;

static void run_screen_sums(const thr_kernels *kernels, void *out, void *arg) {
    const sums_input *in = arg;
    const uint64_t mask = kernels->screen_sums(in->sums, in->least);
    memcpy(out, &mask, sizeof mask);
}

/* Sums that are less, equal and more than the least one, and the ends of the range. */
void check_screen_sums(kcheck *check) {
    enum { SUMS = 64 };
    static const int32_t bounds[] = {0, 1, -1, INT32_MAX, INT32_MIN, 1000000};
    int32_t *sums = kcheck_buffer(check, SUMS * sizeof *sums);
    sums_input in = {.sums = sums, .least = bounds[kcheck_below(check, 6)]};
    for (size_t i = 0; i < SUMS; i++) {
        const uint32_t kind = (uint32_t)kcheck_below(check, 6);
        const int32_t near = kind == 0 && in.least > INT32_MIN ? in.least - 1 : in.least;
        sums[i] = kind < 3    ? near
                  : kind == 3 ? INT32_MAX
                  : kind == 4 ? INT32_MIN
                              : (int32_t)kcheck_below(check, 1u << 31);
    }
    kcheck_call(check, run_screen_sums, &in, sizeof(uint64_t), SUMS, SUMS * sizeof *sums, "64 sums");
}

typedef struct values_input {
    const float *scores, *multipliers, *offsets;
    const int32_t *sums;
    thr_value_line line;
    float threshold;
} values_input;

enum { VALUES = 64 };

/* The mask, then the values. */
static void run_screen_values(const thr_kernels *kernels, void *out, void *arg) {
    const values_input *in = arg;
    float *values = (float *)out + 2;
    memcpy(values, in->scores, VALUES * sizeof *values);
    const uint64_t mask =
        kernels->screen_values(values, in->sums, &in->line, in->multipliers, in->offsets, in->threshold);
    memcpy(out, &mask, sizeof mask);
}

static const float *some_floats(kcheck *check) {
    float *floats = kcheck_buffer(check, VALUES * sizeof *floats);
    for (size_t i = 0; i < VALUES; i++)
        floats[i] = kcheck_float(check);
    return floats;
}

/* With and without multipliers and offsets; the threshold is 0, or what an item's value may be. */
void check_screen_values(kcheck *check) {
    int32_t *sums = kcheck_buffer(check, VALUES * sizeof *sums);
    for (size_t i = 0; i < VALUES; i++)
        sums[i] = kcheck_below(check, 4) == 0 ? 0 : (int32_t)kcheck_below(check, 1u << 31) - (1 << 30);
    values_input in = {.scores = some_floats(check),
                       .multipliers = kcheck_below(check, 2) == 0 ? NULL : some_floats(check),
                       .offsets = kcheck_below(check, 2) == 0 ? NULL : some_floats(check),
                       .sums = sums,
                       .line = {kcheck_float(check), kcheck_float(check), 0x1p-28f}};
    in.threshold = kcheck_below(check, 2) == 0 ? 0 : in.scores[0] * in.line.gain + in.line.bias;
    kcheck_call(check, run_screen_values, &in, sizeof(uint64_t) + VALUES * sizeof(float), VALUES,
                VALUES * (sizeof *in.scores + sizeof *sums), "64 values");
}
