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
