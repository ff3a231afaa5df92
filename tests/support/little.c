/* SPDX-License-Identifier: Apache-2.0 */
#include "little.h"

#include "store/slices.h"

#include <stdio.h>
#include <stdlib.h>

void test_give_memory(size_t bytes) {
    char text[32];
    (void)snprintf(text, sizeof text, "%zu", bytes);
    (void)setenv("THR_SIMT_MEMORY", text, 1);
}

size_t test_memory_for(const thr_store *store, test_room much) {
    const thr_store_slice *slice = &store->slices[store->n_slices - 1]; /* none has more tiles */
    const size_t tile = slice->tile.all, filter = slice->n_tiles * (size_t)(THR_DEVICE_TILE / 8);
    const size_t half = slice->n_tiles / 2 > 3 ? slice->n_tiles / 2 : 3;
    const size_t n = (much == TEST_ROOM_FOR_SOME ? half : 2) + slice->n_samples;
    const size_t bytes = n * tile + tile * 9 / 10 + filter;
    return bytes + bytes / 3 + 1; /* a quarter of it stays free */
}

void test_check_places(const thr_store *store, test_room much) {
    uint64_t resident = 0, streamed = 0;
    for (uint32_t i = 0; i < store->n_slices; i++) {
        const thr_store_slice *slice = &store->slices[i];
        assert_true(much == TEST_ROOM_FOR_ALL ? slice->n_resident == slice->n_tiles : slice->chunks.n > 1);
        assert_true((slice->n_resident > 0) == (much != TEST_ROOM_FOR_CHUNKS));
        resident += slice->n_resident * slice->tile.all;
        streamed += (slice->n_tiles - slice->n_resident) * slice->tile.all;
    }
    assert_int_equal(store->host_code_bytes, streamed);
    assert_true(store->code_bytes >= resident);
}

void test_target_put_in(const test_gpus *gpus, const thr_devices *devices, test_corpus *corpus, const test_shape *shape,
                        const float *rows, test_room much) {
    thr_error err;
    test_target_put(gpus, devices, corpus, shape, rows);
    if (much != TEST_ROOM_FOR_ALL) {
        test_give_memory(test_memory_for(corpus->scan.store, much));
        thr_store_free(corpus->scan.store);
        assert_ok(thr_store_create(gpus->contexts[0], devices, &corpus->scan, &corpus->scan.store, &err), &err);
        test_give_memory(TEST_PLENTY);
    }
    test_check_places(corpus->scan.store, much);
}
