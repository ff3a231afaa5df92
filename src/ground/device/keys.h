/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keys.h - a score and an item number as one integer; larger keys come first in answers (ops.h). The upper 32 bits
 * are ordered like the scores as numbers, the lower 32 are the inverted item number. Scores are given as the bits of
 * a float, never NaN.
 */
#pragma once

#include "base/host_device.h"

#include <stdint.h>

/* Map a score's bits to an integer of the same order: equal for 0 and -0, never 0 for a number. */
THR_ANYWHERE uint32_t thr_device_score_order(uint32_t bits) {
    const uint32_t one_zero = bits << 1 == 0 ? 0 : bits;
    return (one_zero & 0x80000000u) != 0 ? ~one_zero : one_zero | 0x80000000u;
}

/* Return the score's bits from such an integer. */
THR_ANYWHERE uint32_t thr_device_order_score(uint32_t order) {
    return (order & 0x80000000u) != 0 ? order & 0x7fffffffu : ~order;
}

/* Make a key. The smallest key of an order is that of item UINT32_MAX. */
THR_ANYWHERE uint64_t thr_device_key_make(uint32_t order, uint32_t item) {
    return (uint64_t)order << 32 | (uint32_t)~item;
}

/* Return the score's order in a key; no item has order 0. */
THR_ANYWHERE uint32_t thr_device_key_order(uint64_t key) {
    return (uint32_t)(key >> 32);
}

THR_ANYWHERE uint32_t thr_device_key_item(uint64_t key) {
    return (uint32_t)~key;
}
