/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keys.h - scores and item numbers as one integer whose order is the order of answers (ops.h): 32 bits that order
 * the scores as numbers, then the item's number inverted. Scores come as the bits of a float, never a NaN's.
 */
#ifndef THR_DEVICE_KEYS_H
#define THR_DEVICE_KEYS_H

#include "base/host_device.h"

#include <stdint.h>

/* Larger for larger scores; the same for 0 and -0; never 0 for a number. */
THR_ANYWHERE uint32_t thr_device_score_order(uint32_t bits) {
    const uint32_t one_zero = bits << 1 == 0 ? 0 : bits;
    return (one_zero & 0x80000000u) != 0 ? ~one_zero : one_zero | 0x80000000u;
}

/* The bits of the score of an order. */
THR_ANYWHERE uint32_t thr_device_order_score(uint32_t order) {
    return (order & 0x80000000u) != 0 ? order & 0x7fffffffu : ~order;
}

/* The least key of an order is that of item UINT32_MAX. */
THR_ANYWHERE uint64_t thr_device_key_make(uint32_t order, uint32_t item) {
    return (uint64_t)order << 32 | (uint32_t)~item;
}

/* Of a key; an order of 0 is no item's. */
THR_ANYWHERE uint32_t thr_device_key_order(uint64_t key) {
    return (uint32_t)(key >> 32);
}

THR_ANYWHERE uint32_t thr_device_key_item(uint64_t key) {
    return (uint32_t)~key;
}

#endif
