/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe.cuh - what the probes of a GPU's limits share: checked calls, times, and figures as tables.awk reads them.
 *
 * A call that fails ends the program with a sentence: after a kernel's failure nothing on the device can be trusted.
 */
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <vector>

inline void probe_check(cudaError_t error, const char *call, const char *file, int line) {
    if (error == cudaSuccess)
        return;
    std::fprintf(stderr, "gprobe: %s:%d: %s: %s\n", file, line, call, cudaGetErrorString(error));
    std::exit(1);
}
#define PROBE_CHECK(call) probe_check((call), #call, __FILE__, __LINE__)

/* Right after every launch. */
#define PROBE_LAUNCHED() probe_check(cudaGetLastError(), "launch", __FILE__, __LINE__)

inline void probe_figure(const char *name, double value) {
    std::printf("{\"figure\": \"%s\", \"value\": %.9g}\n", name, value);
    std::fflush(stdout);
}

inline void probe_words(const char *name, const char *words) {
    std::printf("{\"figure\": \"%s\", \"text\": \"%s\"}\n", name, words);
    std::fflush(stdout);
}

/* Device memory of n values; freed at the end of the program only. */
template <typename T> T *probe_alloc(size_t n) {
    void *memory = nullptr;
    PROBE_CHECK(cudaMalloc(&memory, n * sizeof(T)));
    return static_cast<T *>(memory);
}

inline int probe_multiprocessors() {
    int n = 0;
    PROBE_CHECK(cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, 0));
    return n;
}

/* A few random bits of their own for every number. */
__host__ __device__ inline uint32_t probe_hash(uint32_t x) {
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

/* The least time of a launch, in seconds: of seven runs of about 20 ms each, by the device's own clock. */
template <typename F> double probe_seconds(F launch) {
    cudaEvent_t start, end;
    float ms = 0, best = 1e30f;
    PROBE_CHECK(cudaEventCreate(&start));
    PROBE_CHECK(cudaEventCreate(&end));
    launch();
    PROBE_CHECK(cudaDeviceSynchronize());
    for (int n = 1, run = 0; run < 7;) {
        PROBE_CHECK(cudaEventRecord(start));
        for (int i = 0; i < n; i++)
            launch();
        PROBE_CHECK(cudaEventRecord(end));
        PROBE_CHECK(cudaEventSynchronize(end));
        PROBE_CHECK(cudaEventElapsedTime(&ms, start, end));
        if (ms < 20 && n < 1 << 14) {
            n *= 2;
            continue;
        }
        best = std::min(best, ms / static_cast<float>(n));
        run++;
    }
    PROBE_CHECK(cudaEventDestroy(start));
    PROBE_CHECK(cudaEventDestroy(end));
    return best * 1e-3;
}

/* The probes; each prints its figures. */
void probe_memory();
void probe_arithmetic();
void probe_tensor();
void probe_wgmma();
void probe_sparse();
void probe_baseline(uint64_t n_items);
