/* SPDX-License-Identifier: Apache-2.0 */
/*
 * penalty.c - the length penalty, by which log-probabilities are divided, for every length.
 *
 * Powers use only products and sums, because the C library's pow may differ in the last bit between machines.
 */
#include <math.h>

#include "base/error.h"
#include "base/minmax.h"
#include "beam/beam.h"
#include "nn/logarithm.h"

/* e^x for 0 <= x <= 200: 2^n e^r with |r| <= ln 2 / 2; the first omitted term is below 2^-70. */
static double exponential(double x) {
    const double ln2_high = 0x1.62e42feep-1, ln2_low = 0x1.a39ef35793c76p-33; /* n x ln2_high is exact */
    const double n = rint(x / (ln2_high + ln2_low));
    const double r = x - n * ln2_high - n * ln2_low;
    double sum = 1;
    for (int k = 17; k >= 1; k--)
        sum = 1 + sum * r / k;
    return ldexp(sum, (int)n);
}

/* x^alpha for x >= 1 and 0 <= alpha <= 10. */
static double power(double x, double alpha) {
    if (alpha == 1)
        return x;
    return exponential(alpha * thr_logarithm(x));
}

static double penalty_of(const thr_beam_options *o, uint32_t length) {
    switch (o->penalty) {
    case THR_BEAM_PENALTY_WU:
        return power((5 + (double)length) / 6, o->alpha);
    case THR_BEAM_PENALTY_LENGTH:
        return power((double)length, o->alpha);
    default:
        return 1;
    }
}

thr_status thr_beam_set_penalties(thr_beam *beam, uint32_t max_length, thr_error *err) {
    const size_t n = (size_t)max_length + 1;
    if (n <= beam->capacities.penalties)
        return THR_OK;
    THR_TRY(thr_grow(beam->context, &beam->penalties, &beam->capacities.penalties, n, sizeof *beam->penalties,
                     "penalties", err));
    beam->penalties[0] = 1; /* no sequence is empty */
    for (size_t length = 1; length < beam->capacities.penalties; length++) {
        const double least = beam->penalties[length - 1], exact = penalty_of(&beam->options, (uint32_t)length);
        beam->penalties[length] = THR_MAX(exact, least); /* rounding may lower a power's last bit */
    }
    return THR_OK;
}
