/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime.h - as much of the CUDA runtime's API as host code of this dialect uses, with NVIDIA's names and numbers.
 *
 * Streams are synchronous, so everything is done when a call returns; the statuses are those of CUDA 13.
 */
#pragma once

#include "dialect.h"

#define CUDART_VERSION 13000
#define CUDART_CB
#define CUDARTAPI

/* X(number, name, text) */
#define SIMT_ERRORS(X)                                                                                                 \
    X(0, cudaSuccess, "no error")                                                                                      \
    X(1, cudaErrorInvalidValue, "invalid argument")                                                                    \
    X(2, cudaErrorMemoryAllocation, "out of memory")                                                                   \
    X(3, cudaErrorInitializationError, "initialization error")                                                         \
    X(4, cudaErrorCudartUnloading, "driver shutting down")                                                             \
    X(9, cudaErrorInvalidConfiguration, "invalid configuration argument")                                              \
    X(12, cudaErrorInvalidPitchValue, "invalid pitch argument")                                                        \
    X(13, cudaErrorInvalidSymbol, "invalid device symbol")                                                             \
    X(16, cudaErrorInvalidHostPointer, "invalid host pointer")                                                         \
    X(17, cudaErrorInvalidDevicePointer, "invalid device pointer")                                                     \
    X(21, cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy")                                        \
    X(34, cudaErrorStubLibrary, "CUDA driver is a stub library")                                                       \
    X(35, cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version")                 \
    X(36, cudaErrorCallRequiresNewerDriver, "API call is not supported in the installed CUDA driver")                  \
    X(46, cudaErrorDevicesUnavailable, "CUDA-capable device(s) is/are busy or unavailable")                            \
    X(52, cudaErrorMissingConfiguration, "__global__ function call is not configured")                                 \
    X(98, cudaErrorInvalidDeviceFunction, "invalid device function")                                                   \
    X(100, cudaErrorNoDevice, "no CUDA-capable device is detected")                                                    \
    X(101, cudaErrorInvalidDevice, "invalid device ordinal")                                                           \
    X(127, cudaErrorStartupFailure, "startup failure in cuda runtime")                                                 \
    X(200, cudaErrorInvalidKernelImage, "device kernel image is invalid")                                              \
    X(201, cudaErrorDeviceUninitialized, "invalid device context")                                                     \
    X(209, cudaErrorNoKernelImageForDevice, "no kernel image is available for execution on the device")                \
    X(214, cudaErrorECCUncorrectable, "uncorrectable ECC error encountered")                                           \
    X(218, cudaErrorInvalidPtx, "a PTX JIT compilation failed")                                                        \
    X(222, cudaErrorUnsupportedPtxVersion, "the provided PTX was compiled with an unsupported toolchain.")             \
    X(304, cudaErrorOperatingSystem, "OS call failed or operation not supported on this OS")                           \
    X(400, cudaErrorInvalidResourceHandle, "invalid resource handle")                                                  \
    X(401, cudaErrorIllegalState, "the operation cannot be performed in the present state")                            \
    X(500, cudaErrorSymbolNotFound, "named symbol not found")                                                          \
    X(600, cudaErrorNotReady, "device not ready")                                                                      \
    X(700, cudaErrorIllegalAddress, "an illegal memory access was encountered")                                        \
    X(701, cudaErrorLaunchOutOfResources, "too many resources requested for launch")                                   \
    X(702, cudaErrorLaunchTimeout, "the launch timed out and was terminated")                                          \
    X(709, cudaErrorContextIsDestroyed, "context is destroyed")                                                        \
    X(710, cudaErrorAssert, "device-side assert triggered")                                                            \
    X(712, cudaErrorHostMemoryAlreadyRegistered, "part or all of the requested memory range is already mapped")        \
    X(713, cudaErrorHostMemoryNotRegistered, "pointer does not correspond to a registered memory region")              \
    X(714, cudaErrorHardwareStackError, "hardware stack error")                                                        \
    X(715, cudaErrorIllegalInstruction, "an illegal instruction was encountered")                                      \
    X(716, cudaErrorMisalignedAddress, "misaligned address")                                                           \
    X(717, cudaErrorInvalidAddressSpace, "operation not supported on global/shared address space")                     \
    X(718, cudaErrorInvalidPc, "invalid program counter")                                                              \
    X(719, cudaErrorLaunchFailure, "unspecified launch failure")                                                       \
    X(800, cudaErrorNotPermitted, "operation not permitted")                                                           \
    X(801, cudaErrorNotSupported, "operation not supported")                                                           \
    X(802, cudaErrorSystemNotReady, "system not yet initialized")                                                      \
    X(803, cudaErrorSystemDriverMismatch, "system has unsupported display driver / cuda driver combination")           \
    X(804, cudaErrorCompatNotSupportedOnDevice, "forward compatibility was attempted on non supported HW")             \
    X(909, cudaErrorTimeout, "wait operation timed out")                                                               \
    X(999, cudaErrorUnknown, "unknown error")

enum cudaError {
#define SIMT_ERROR(number, name, text) name = number,
    SIMT_ERRORS(SIMT_ERROR)
#undef SIMT_ERROR
};
typedef enum cudaError cudaError_t;

typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;

enum cudaMemcpyKind {
    cudaMemcpyHostToHost = 0,
    cudaMemcpyHostToDevice = 1,
    cudaMemcpyDeviceToHost = 2,
    cudaMemcpyDeviceToDevice = 3,
    cudaMemcpyDefault = 4
};

enum cudaDeviceAttr {
    cudaDevAttrMaxThreadsPerBlock = 1,
    cudaDevAttrMaxBlockDimX = 2,
    cudaDevAttrMaxGridDimX = 5,
    cudaDevAttrMaxSharedMemoryPerBlock = 8,
    cudaDevAttrTotalConstantMemory = 9,
    cudaDevAttrWarpSize = 10,
    cudaDevAttrMaxRegistersPerBlock = 12,
    cudaDevAttrClockRate = 13,
    cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrIntegrated = 18,
    cudaDevAttrCanMapHostMemory = 19,
    cudaDevAttrConcurrentKernels = 31,
    cudaDevAttrPciBusId = 33,
    cudaDevAttrMemoryClockRate = 36,
    cudaDevAttrGlobalMemoryBusWidth = 37,
    cudaDevAttrL2CacheSize = 38,
    cudaDevAttrMaxThreadsPerMultiProcessor = 39,
    cudaDevAttrAsyncEngineCount = 40,
    cudaDevAttrUnifiedAddressing = 41,
    cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrComputeCapabilityMinor = 76,
    cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
    cudaDevAttrMaxRegistersPerMultiprocessor = 82,
    cudaDevAttrManagedMemory = 83,
    cudaDevAttrCooperativeLaunch = 95,
    cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
    cudaDevAttrHostRegisterSupported = 99,
    cudaDevAttrMaxBlocksPerMultiprocessor = 106,
    cudaDevAttrMemoryPoolsSupported = 115
};

enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
    cudaFuncAttributePreferredSharedMemoryCarveout = 9
};

#define cudaHostAllocDefault       0x00
#define cudaHostAllocPortable      0x01
#define cudaHostAllocMapped        0x02
#define cudaHostAllocWriteCombined 0x04
#define cudaHostRegisterDefault    0x00
#define cudaHostRegisterPortable   0x01
#define cudaHostRegisterMapped     0x02
#define cudaHostRegisterReadOnly   0x08
#define cudaStreamDefault          0x00
#define cudaStreamNonBlocking      0x01
#define cudaStreamLegacy           ((cudaStream_t)0x1)
#define cudaStreamPerThread        ((cudaStream_t)0x2)
#define cudaEventDefault           0x00
#define cudaEventBlockingSync      0x01
#define cudaEventDisableTiming     0x02
#define cudaEventWaitDefault       0x00

/* Those of CUDA 13's fields that apply here; its clock rates are attributes now. */
struct cudaDeviceProp {
    char name[256];
    size_t totalGlobalMem, sharedMemPerBlock, totalConstMem, sharedMemPerMultiprocessor, sharedMemPerBlockOptin;
    size_t reservedSharedMemPerBlock, memPitch, textureAlignment;
    int regsPerBlock, regsPerMultiprocessor, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
    int major, minor, multiProcessorCount, maxThreadsPerMultiProcessor, maxBlocksPerMultiProcessor;
    int integrated, canMapHostMemory, concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID;
    int asyncEngineCount, unifiedAddressing, memoryBusWidth, l2CacheSize, managedMemory, cooperativeLaunch;
    int hostRegisterSupported, memoryPoolsSupported;
};

extern "C" {

const char *cudaGetErrorName(cudaError_t error);
const char *cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);

cudaError_t cudaDriverGetVersion(int *driverVersion);
cudaError_t cudaRuntimeGetVersion(int *runtimeVersion);
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device);
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaDeviceReset(void);
cudaError_t cudaFuncSetAttribute(const void *func, enum cudaFuncAttribute attr, int value);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, const void *func, int blockSize,
                                                          size_t dynamicSMemSize);

cudaError_t cudaMemGetInfo(size_t *free, size_t *total);
cudaError_t cudaMalloc(void **devPtr, size_t size);
cudaError_t cudaFree(void *devPtr);
cudaError_t cudaMallocAsync(void **devPtr, size_t size, cudaStream_t hStream);
cudaError_t cudaFreeAsync(void *devPtr, cudaStream_t hStream);
cudaError_t cudaMallocHost(void **ptr, size_t size);
cudaError_t cudaHostAlloc(void **pHost, size_t size, unsigned int flags);
cudaError_t cudaFreeHost(void *ptr);
cudaError_t cudaHostRegister(void *ptr, size_t size, unsigned int flags);
cudaError_t cudaHostUnregister(void *ptr);
cudaError_t cudaHostGetDevicePointer(void **pDevice, void *pHost, unsigned int flags);
cudaError_t cudaMemcpy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
                            cudaStream_t stream = nullptr);
cudaError_t cudaMemset(void *devPtr, int value, size_t count);
cudaError_t cudaMemsetAsync(void *devPtr, int value, size_t count, cudaStream_t stream = nullptr);
cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *src, size_t count, size_t offset = 0,
                               enum cudaMemcpyKind kind = cudaMemcpyHostToDevice);

cudaError_t cudaStreamCreate(cudaStream_t *pStream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *pStream, unsigned int flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags = 0);
cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end);
cudaError_t cudaEventDestroy(cudaEvent_t event);

} // extern "C"

/* The overloads for typed pointers and kernels that NVIDIA's header has for C++. */
template <typename T> cudaError_t cudaMalloc(T **p, size_t size) {
    return cudaMalloc(reinterpret_cast<void **>(p), size);
}
template <typename T> cudaError_t cudaMallocAsync(T **p, size_t size, cudaStream_t stream) {
    return cudaMallocAsync(reinterpret_cast<void **>(p), size, stream);
}
template <typename T> cudaError_t cudaMallocHost(T **p, size_t size, unsigned flags = 0) {
    return cudaHostAlloc(reinterpret_cast<void **>(p), size, flags);
}
template <typename T> cudaError_t cudaHostAlloc(T **p, size_t size, unsigned flags) {
    return cudaHostAlloc(reinterpret_cast<void **>(p), size, flags);
}
template <typename T> cudaError_t cudaHostGetDevicePointer(T **p, void *host, unsigned flags) {
    return cudaHostGetDevicePointer(reinterpret_cast<void **>(p), host, flags);
}
template <typename T> cudaError_t cudaFuncSetAttribute(T *f, cudaFuncAttribute attribute, int value) {
    return cudaFuncSetAttribute(reinterpret_cast<const void *>(f), attribute, value);
}
template <typename T>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *n_blocks, T f, int n_threads, size_t dynamic_shared) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(n_blocks, reinterpret_cast<const void *>(f), n_threads,
                                                         dynamic_shared);
}
template <typename T>
cudaError_t cudaMemcpyToSymbol(const T &symbol, const void *source, size_t size, size_t offset = 0,
                               cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
    return cudaMemcpyToSymbol(reinterpret_cast<const void *>(&symbol), source, size, offset, kind);
}
