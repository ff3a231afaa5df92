/* SPDX-License-Identifier: Apache-2.0 */
/* little.h - emulated GPUs with little memory, and stores that have no room for all their codes. */
#pragma once

#include "gpus.h"

enum { TEST_PLENTY = 1 << 30 }; /* of memory */

/* What each device has from now on. */
void test_give_memory(size_t bytes);

typedef enum test_room { TEST_ROOM_FOR_ALL, TEST_ROOM_FOR_SOME, TEST_ROOM_FOR_CHUNKS } test_room;

/* So much memory that the sample fits, and two chunks of a tile, or two chunks and some more tiles. */
size_t test_memory_for(const thr_store *store, test_room much);

/* Of a store with little room: some codes are resident, or none, and the others come in several chunks. */
void test_check_places(const thr_store *store, test_room much);

/*
 * A corpus with its codes on devices that have so much room; test_target_take takes it. Searches have plenty of memory.
 */
void test_target_put_in(const test_gpus *gpus, const thr_devices *devices, test_corpus *corpus, const test_shape *shape,
                        const float *rows, test_room much);
