/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime.h - as much of the CUDA runtime's API as the host code of src/cuda uses, with NVIDIA's names and numbers.
 *
 * Streams are synchronous, so everything is done when a call returns; the statuses are those of CUDA 13.
 */
#pragma once

#include "dialect.h"

#define CUDART_VERSION 13000

/* X(number, name, text) */
#define SIMT_ERRORS(X)                                                                                                 \
    X(0, cudaSuccess, "no error")                                                                                      \
    X(1, cudaErrorInvalidValue, "invalid argument")                                                                    \
    X(2, cudaErrorMemoryAllocation, "out of memory")                                                                   \
    X(9, cudaErrorInvalidConfiguration, "invalid configuration argument")                                              \
    X(21, cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy")                                        \
    X(35, cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version")                 \
    X(100, cudaErrorNoDevice, "no CUDA-capable device is detected")                                                    \
    X(101, cudaErrorInvalidDevice, "invalid device ordinal")                                                           \
    X(400, cudaErrorInvalidResourceHandle, "invalid resource handle")                                                  \
    X(700, cudaErrorIllegalAddress, "an illegal memory access was encountered")                                        \
    X(719, cudaErrorLaunchFailure, "unspecified launch failure")

enum cudaError {
#define SIMT_ERROR(number, name, text) name = number,
    SIMT_ERRORS(SIMT_ERROR)
#undef SIMT_ERROR
};
typedef enum cudaError cudaError_t;

typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;

enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3 };

#define cudaStreamNonBlocking  0x01
#define cudaEventDisableTiming 0x02

/* Those of CUDA 13's fields that the backend reads. */
struct cudaDeviceProp {
    char name[256];
    int major, minor, multiProcessorCount;
};

extern "C" {

const char *cudaGetErrorName(cudaError_t error);
const char *cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError(void);

cudaError_t cudaDriverGetVersion(int *driverVersion);
cudaError_t cudaRuntimeGetVersion(int *runtimeVersion);
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device);
cudaError_t cudaSetDevice(int device);

cudaError_t cudaMemGetInfo(size_t *free, size_t *total);
cudaError_t cudaMalloc(void **devPtr, size_t size);
cudaError_t cudaFree(void *devPtr);
cudaError_t cudaMallocHost(void **ptr, size_t size);
cudaError_t cudaFreeHost(void *ptr);
cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
                            cudaStream_t stream = nullptr);
cudaError_t cudaMemsetAsync(void *devPtr, int value, size_t count, cudaStream_t stream = nullptr);

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *pStream, unsigned int flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags = 0);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
cudaError_t cudaEventDestroy(cudaEvent_t event);

} // extern "C"

/* The overloads for typed pointers that NVIDIA's header has for C++. */
template <typename T> cudaError_t cudaMalloc(T **p, size_t size) {
    return cudaMalloc(reinterpret_cast<void **>(p), size);
}
template <typename T> cudaError_t cudaMallocHost(T **p, size_t size) {
    return cudaMallocHost(reinterpret_cast<void **>(p), size);
}
