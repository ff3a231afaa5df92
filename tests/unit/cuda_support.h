/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_support.h - what the tests of room cuda share: an emulated GPU, numbers on it and back, a context beside it. */
#pragma once

#include "emulator.h"
#include "nn_support.h"

#include "device/device.h"

enum { GPU_MOST_ARRAYS = 32 };

static struct {
    test_emulator emulator;
    const thr_backend *backend;
    thr_device *device;
    thr_stream *stream;
    thr_context *context;          /* the CPU's */
    void *arrays[GPU_MOST_ARRAYS]; /* on the device, until gpu_forget */
    size_t n_arrays;
} gpu;

/* Does an operation, or fails with its error's text. */
#define gpu_do(name, ...)                                                                                              \
    do {                                                                                                               \
        thr_error gpu_error;                                                                                           \
        assert_ok(gpu.backend->name(gpu.stream, __VA_ARGS__, &gpu_error), &gpu_error);                                 \
    } while (0)

/* Memory of the device that holds a copy of values; NULL: what nobody wrote. */
static inline void *gpu_put(const void *values, size_t size) {
    void *memory = NULL;
    assert_true(gpu.n_arrays < GPU_MOST_ARRAYS);
    expect_ok(gpu.backend->alloc(gpu.device, size, &memory, "a test", &err));
    gpu.arrays[gpu.n_arrays++] = memory;
    if (values != NULL && size > 0)
        gpu_do(upload, memory, values, size);
    return memory;
}

static inline float *gpu_floats(const float *values, size_t n) {
    return gpu_put(values, n * sizeof *values);
}

/* Numbers of 64 bits on the CPU, of 32 on a device. */
static inline uint32_t *gpu_offsets(const size_t *offsets, size_t n) {
    uint32_t *narrow = test_new(n, sizeof *narrow);
    for (size_t i = 0; i < n; i++)
        narrow[i] = (uint32_t)offsets[i];
    uint32_t *memory = gpu_put(narrow, n * sizeof *narrow);
    return memory;
}

/* What the device has there; to be freed. */
static inline void *gpu_get(const void *memory, size_t size) {
    void *values = test_new(size + 1, 1);
    if (size > 0)
        gpu_do(download, values, memory, size);
    expect_ok(gpu.backend->wait(gpu.stream, &err));
    return values;
}

/* n floats of the device are those that are right, bit by bit. */
static inline void gpu_assert_same(const float *memory, const float *right, size_t n, const char *what) {
    float *got = gpu_get(memory, n * sizeof *got);
    assert_same_floats(got, right, n, "%s", what);
}

static inline void gpu_forget(void) {
    while (gpu.n_arrays > 0)
        gpu.backend->release(gpu.device, gpu.arrays[--gpu.n_arrays]);
}

static inline int gpu_open(void **state) {
    (void)state;
    gpu.context = test_context(1, THR_ISA_BEST, NULL);
    expect_ok(thr_device_backend_load(&gpu.backend, &err));
    expect_ok(gpu.backend->open(0, &gpu.device, &err));
    expect_ok(gpu.backend->open_stream(gpu.device, &gpu.stream, &err));
    return 0;
}

/* Fails where memory of the device is still in use. */
static inline int gpu_close(void **state) {
    (void)state;
    gpu.backend->close_stream(gpu.stream);
    gpu.backend->close(gpu.device);
    thr_context_free(gpu.context);
    return gpu.emulator.allocated() != 0;
}

TEST_NEEDS(test_emulator_take(&gpu.emulator, 1))
TEST_GROUP(gpu_open, gpu_close)
