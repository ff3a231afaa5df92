/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_runtime.cc - the runtime's functions: what they do, what they refuse, the failures that tests request.
 */
#include "harness.h"

#include <cstring>
#include <thread>

__global__ void fill(unsigned *p, unsigned n, unsigned value) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] = value;
}

static void test_devices() {
    int n = -1, version = 0;
    CHECK(cudaGetDeviceCount(&n) == cudaSuccess && n == 1);
    CHECK(cudaSetDevice(1) == cudaErrorInvalidDevice && cudaGetLastError() == cudaErrorInvalidDevice);
    CHECK(cudaGetLastError() == cudaSuccess);
    cudaDeviceProp p;
    CHECK(cudaGetDeviceProperties(&p, 0) == cudaSuccess);
    CHECK(!std::strcmp(p.name, "SIMT emulator") && p.major == 9 && p.minor == 0 && p.multiProcessorCount > 0);
    CHECK(cudaDriverGetVersion(&version) == cudaSuccess && version >= 13000);
    CHECK(cudaRuntimeGetVersion(&version) == cudaSuccess && version == CUDART_VERSION);
    CHECK(!std::strcmp(cudaGetErrorName(cudaErrorIllegalAddress), "cudaErrorIllegalAddress"));
    CHECK(!std::strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory"));
}

static size_t used() {
    size_t free_bytes, total;
    CHECK(cudaMemGetInfo(&free_bytes, &total) == cudaSuccess);
    return total - free_bytes;
}

static void test_several_devices() {
    CHECK(setenv("THR_SIMT_DEVICES", "3", 1) == 0);
    int n = 0;
    CHECK(cudaGetDeviceCount(&n) == cudaSuccess && n == 3);
    cudaStream_t stream;
    CHECK(cudaSetDevice(2) == cudaSuccess);
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    {
        OnDevice<unsigned> p(1000);
        CHECK(used() == 4000 && cudaSetDevice(0) == cudaSuccess && used() == 0);
        THR_LAUNCH(fill, 1, 32, stream, p, 32u, 1u); /* a stream of another device */
        CHECK(cudaGetLastError() == cudaErrorInvalidResourceHandle);
        CHECK(cudaMemsetAsync(p, 0, 4, stream) == cudaErrorInvalidResourceHandle);
        /* Another thread begins with device 0, and this one keeps its own. */
        CHECK(cudaSetDevice(2) == cudaSuccess);
        std::thread other([] { CHECK(used() == 0); });
        other.join();
        CHECK(used() == 4000 && cudaSetDevice(1) == cudaSuccess);
        /* A lost device is lost alone. */
        simt_fail("launch 1");
        THR_LAUNCH(fill, 1, 32, nullptr, p, 32u, 1u);
        CHECK(cudaStreamSynchronize(nullptr) == cudaErrorIllegalAddress);
        CHECK(cudaSetDevice(2) == cudaSuccess && cudaStreamSynchronize(nullptr) == cudaSuccess);
        simt_fail("none");
    }
    CHECK(cudaStreamDestroy(stream) == cudaSuccess);
    CHECK(cudaSetDevice(0) == cudaSuccess);
    CHECK(unsetenv("THR_SIMT_DEVICES") == 0);
    (void)cudaGetLastError();
}

static void test_allocations() {
    unsigned *p = nullptr, *q = nullptr;
    size_t free_bytes, total;
    CHECK(cudaMalloc(&p, 1000 * sizeof(*p)) == cudaSuccess && simt_allocated() == 4000);
    CHECK(reinterpret_cast<uintptr_t>(p) % 256 == 0);
    CHECK(cudaMalloc(&q, size_t{1} << 30) == cudaErrorMemoryAllocation && !q);
    CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
    CHECK(setenv("THR_SIMT_MEMORY", "5000", 1) == 0);
    CHECK(cudaMemGetInfo(&free_bytes, &total) == cudaSuccess && free_bytes == 1000 && total == 5000);
    CHECK(cudaMalloc(&q, 1001) == cudaErrorMemoryAllocation);
    CHECK(cudaMalloc(&q, 1000) == cudaSuccess && cudaFree(q) == cudaSuccess);
    CHECK(unsetenv("THR_SIMT_MEMORY") == 0 && cudaFree(p) == cudaSuccess);
    (void)cudaGetLastError();
}

static void test_copies() {
    unsigned *p = nullptr, *pinned = nullptr;
    CHECK(cudaMalloc(&p, 1000 * sizeof(*p)) == cudaSuccess);
    CHECK(cudaMallocHost(&pinned, 4000) == cudaSuccess && simt_pinned() == 4000 && simt_allocated() == 4000);
    CHECK(cudaMemcpyAsync(pinned, p, 4000, cudaMemcpyDeviceToHost) == cudaSuccess);
    for (unsigned i = 0; i < 1000; i++)
        CHECK(pinned[i] != 0); /* new memory is not clean */
    THR_LAUNCH(fill, 4, 256, nullptr, p, 1000u, 5u);
    CHECK(all_well() && cudaMemcpyAsync(pinned, p, 4000, cudaMemcpyDeviceToHost) == cudaSuccess);
    CHECK(pinned[0] == 5 && pinned[999] == 5);
    CHECK(cudaMemsetAsync(p + 1, 0, 4) == cudaSuccess);
    CHECK(cudaMemcpyAsync(p + 2, p + 1, 4, cudaMemcpyDeviceToDevice) == cudaSuccess);
    CHECK(cudaMemcpyAsync(pinned, p, 16, cudaMemcpyDeviceToHost) == cudaSuccess);
    CHECK(pinned[0] == 5 && pinned[1] == 0 && pinned[2] == 0 && pinned[3] == 5);
    CHECK(cudaFree(p) == cudaSuccess && cudaFreeHost(pinned) == cudaSuccess);
}

static void test_wrong_addresses() {
    Caught caught;
    unsigned host[4] = {0}, *p = nullptr, *pinned = nullptr;
    CHECK(cudaMalloc(&p, 1000 * sizeof(*p)) == cudaSuccess && cudaMallocHost(&pinned, 4000) == cudaSuccess);
    CHECK(cudaMemcpyAsync(p + 999, host, 8, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    CHECK(caught.says("copy: cudaMemcpyAsync's destination, 8 bytes at ") && caught.says("of 4000 bytes"));
    CHECK(cudaMemcpyAsync(p, host, 16, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue && caught.n == 2);
    CHECK(cudaMemcpyAsync(host, p + 998, 12, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue && caught.n == 3);
    CHECK(cudaMemsetAsync(host, 0, 4) == cudaErrorInvalidValue && caught.says("is no device memory"));
    CHECK(cudaFree(host) == cudaErrorInvalidValue && caught.says("is no device allocation"));
    CHECK(cudaFree(p + 1) == cudaErrorInvalidValue && caught.says("a place inside of one"));
    CHECK(cudaFree(pinned) == cudaErrorInvalidValue && caught.says("of the other kind"));
    CHECK(caught.n == 7 && cudaFree(nullptr) == cudaSuccess && cudaFreeHost(nullptr) == cudaSuccess);
    CHECK(cudaFree(p) == cudaSuccess && cudaFreeHost(pinned) == cudaSuccess && caught.n == 7);
    CHECK(cudaFree(p) == cudaErrorInvalidValue && caught.n == 8);
    CHECK(simt_allocated() == 0 && simt_pinned() == 0);
    (void)cudaGetLastError();
}

static void test_streams() {
    cudaStream_t stream;
    cudaEvent_t event;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming) == cudaSuccess && simt_handles() == 2);
    CHECK(cudaEventRecord(event, stream) == cudaSuccess && cudaEventRecord(event, nullptr) == cudaSuccess);
    CHECK(cudaStreamWaitEvent(stream, event, 0) == cudaSuccess && cudaStreamSynchronize(stream) == cudaSuccess);
    CHECK(cudaEventDestroy(event) == cudaSuccess && cudaStreamDestroy(stream) == cudaSuccess);
    CHECK(cudaEventRecord(event, nullptr) == cudaErrorInvalidResourceHandle);
    CHECK(cudaStreamSynchronize(stream) == cudaErrorInvalidResourceHandle && simt_handles() == 0);
    (void)cudaGetLastError();
}

static void test_failures() {
    void *p = nullptr, *q = nullptr;
    int n = 7, version = 7;
    unsigned host[2] = {1, 2};
    simt_fail("alloc 2");
    CHECK(cudaMalloc(&p, 8) == cudaSuccess && cudaMallocHost(&q, 8) == cudaErrorMemoryAllocation && !q);
    CHECK(cudaMallocHost(&q, 8) == cudaSuccess && cudaFreeHost(q) == cudaSuccess);
    CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);

    unsigned *words = static_cast<unsigned *>(p);
    const uint64_t launches = simt_launches();
    simt_fail("launch 2");
    THR_LAUNCH(fill, 1, 32, nullptr, words, 2u, 3u);
    CHECK(all_well());
    THR_LAUNCH(fill, 1, 32, nullptr, words, 2u, 4u);
    CHECK(cudaGetLastError() == cudaSuccess); /* not known yet */
    CHECK(cudaStreamSynchronize(nullptr) == cudaErrorIllegalAddress && cudaGetLastError() == cudaErrorIllegalAddress);
    CHECK(cudaGetLastError() == cudaErrorIllegalAddress); /* it stays */
    CHECK(cudaMalloc(&q, 8) == cudaErrorIllegalAddress);
    CHECK(cudaMemcpyAsync(host, p, 8, cudaMemcpyDeviceToHost) == cudaErrorIllegalAddress);
    THR_LAUNCH(fill, 1, 32, nullptr, words, 2u, 4u);
    CHECK(cudaGetLastError() == cudaErrorIllegalAddress && simt_launches() == launches + 3);
    simt_fail("none");
    CHECK(all_well() && cudaMemcpyAsync(host, p, 8, cudaMemcpyDeviceToHost) == cudaSuccess && host[1] == 3);

    simt_fail("copy 1");
    CHECK(cudaMemcpyAsync(p, host, 8, cudaMemcpyHostToDevice, nullptr) == cudaSuccess);
    CHECK(cudaStreamSynchronize(nullptr) == cudaErrorIllegalAddress);
    CHECK(cudaFree(p) == cudaErrorIllegalAddress && simt_allocated() == 0); /* given back all the same */

    simt_fail("driver missing");
    CHECK(cudaGetDeviceCount(&n) == cudaErrorInsufficientDriver && n == 0);
    CHECK(cudaMalloc(&p, 8) == cudaErrorInsufficientDriver && cudaSetDevice(0) == cudaErrorInsufficientDriver);
    CHECK(cudaDriverGetVersion(&version) == cudaSuccess && version == 0);
    simt_fail("no device");
    CHECK(cudaGetDeviceCount(&n) == cudaErrorNoDevice && n == 0 && cudaMalloc(&p, 8) == cudaErrorNoDevice);
    CHECK(cudaDriverGetVersion(&version) == cudaSuccess && version > 0);
    simt_fail("none");
    CHECK(all_well() && cudaGetDeviceCount(&n) == cudaSuccess && n == 1);
}

int main() {
    test_devices();
    test_several_devices();
    test_allocations();
    test_copies();
    test_wrong_addresses();
    test_streams();
    test_failures();
    CHECK(simt_allocated() == 0 && simt_pinned() == 0 && simt_handles() == 0);
    return 0;
}
