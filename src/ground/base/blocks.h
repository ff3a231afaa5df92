/* SPDX-License-Identifier: Apache-2.0 */
/* blocks.h - blocks of 64 items, and words of 64 bits. */
#pragma once

#include <stdint.h>

#include "base/minmax.h"

enum { THR_BLOCK_ITEMS = 64 };

/* The number of blocks that hold n items, which is also the number of 64-bit words that hold a bit for each. */
static inline uint64_t thr_blocks_of(uint64_t n) {
    return THR_CEIL_DIV(n, THR_BLOCK_ITEMS);
}
