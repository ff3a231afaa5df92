/* SPDX-License-Identifier: Apache-2.0 */
/* lower_bound.h - binary search in ascending numbers. */
#pragma once

#include <stdint.h>

#include "base/host_device.h"

/* The first place from begin on whose value is at least wanted; end if there is none. */
THR_ANYWHERE uint32_t thr_lower_bound(const uint32_t *values, uint32_t begin, uint32_t end, uint32_t wanted) {
    while (begin < end) {
        const uint32_t middle = begin + (end - begin) / 2;
        if (values[middle] < wanted)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}
