/* SPDX-License-Identifier: Apache-2.0 */
/* dual.h - ad retrieval learned from logs (Lei, Luo and others 2025): what pairs of ads weigh in the loss. */
#ifndef THRESHER_DUAL_H
#define THRESHER_DUAL_H

#include <thresher/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What pairs of ads weigh in the loss (HitMatch (2), (6)). */
typedef enum thr_dual_loss {
    THR_DUAL_LOSS_NDCG = 0,    /* what NDCG changes by when the two are swapped */
    THR_DUAL_LOSS_PRODUCT = 1, /* times what the value changes by; ads of equal value are not told apart */
    THR_DUAL_LOSS_SUM = 2      /* plus what the value changes by */
} thr_dual_loss;

/* What a value changes by when two ads are swapped; v is a value's share of the request's largest. */
typedef enum thr_dual_value {
    THR_DUAL_VALUE_DIFFERENCE = 0, /* |v_i - v_j| */
    THR_DUAL_VALUE_SWAP = 1        /* |v_i - v_j| times the difference of their places' discounts */
} thr_dual_value;

#ifdef __cplusplus
}
#endif

#endif
