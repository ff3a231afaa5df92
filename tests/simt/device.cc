/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.cc - devices and what they are like, names of errors.
 */
#include "state.h"

#include "machine.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace simt {
namespace {

thread_local int device_in_use;

constexpr int n_multiprocessors = 4, threads_of_multiprocessor = 2048, n_registers = 65536, l2_bytes = 4 << 20;
constexpr size_t shared_of_multiprocessor = 228 * 1024, shared_opt_in = 227 * 1024;

cudaError_t check_device(int device) {
    const cudaError_t error = usable();
    if (error == cudaErrorInsufficientDriver || error == cudaErrorNoDevice)
        return error;
    return device < 0 || device >= n_devices() ? cudaErrorInvalidDevice : cudaSuccess;
}

int attribute(cudaDeviceAttr what, int device) {
    switch (what) {
    case cudaDevAttrMaxThreadsPerBlock:
    case cudaDevAttrMaxBlockDimX:
        return most_threads;
    case cudaDevAttrMaxGridDimX:
        return 0x7fffffff;
    case cudaDevAttrMaxSharedMemoryPerBlock:
        return most_shared;
    case cudaDevAttrTotalConstantMemory:
        return 64 * 1024;
    case cudaDevAttrWarpSize:
        return warpSize;
    case cudaDevAttrMaxRegistersPerBlock:
    case cudaDevAttrMaxRegistersPerMultiprocessor:
        return n_registers;
    case cudaDevAttrClockRate:
    case cudaDevAttrMemoryClockRate:
        return 1000000; /* kHz */
    case cudaDevAttrMultiProcessorCount:
        return n_multiprocessors;
    case cudaDevAttrGlobalMemoryBusWidth:
        return 128;
    case cudaDevAttrL2CacheSize:
        return l2_bytes;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
        return threads_of_multiprocessor;
    case cudaDevAttrComputeCapabilityMajor:
        return 9;
    case cudaDevAttrComputeCapabilityMinor:
        return 0;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
        return shared_of_multiprocessor;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
        return shared_opt_in;
    case cudaDevAttrMaxBlocksPerMultiprocessor:
        return 32;
    case cudaDevAttrPciBusId:
        return device + 1;
    case cudaDevAttrIntegrated:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrCooperativeLaunch:
        return 0;
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrAsyncEngineCount:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrHostRegisterSupported:
    case cudaDevAttrMemoryPoolsSupported:
        return 1;
    }
    return -1;
}

} // namespace

int n_devices() {
    const char *text = std::getenv("THR_SIMT_DEVICES");
    const int n = text ? std::atoi(text) : 1;
    return n < 0 ? 0 : n > most_devices ? most_devices : n;
}

size_t device_memory() {
    const char *text = std::getenv("THR_SIMT_MEMORY");
    return text ? std::strtoull(text, nullptr, 0) : size_t{1} << 30;
}

int current_device() {
    return device_in_use;
}

} // namespace simt

const char *cudaGetErrorName(cudaError_t error) {
    switch (error) {
#define SIMT_ERROR(number, name, text)                                                                                 \
    case name:                                                                                                         \
        return #name;
        SIMT_ERRORS(SIMT_ERROR)
#undef SIMT_ERROR
    }
    return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error) {
    switch (error) {
#define SIMT_ERROR(number, name, text)                                                                                 \
    case name:                                                                                                         \
        return text;
        SIMT_ERRORS(SIMT_ERROR)
#undef SIMT_ERROR
    }
    return "unrecognized error code";
}

/* Without a driver its version is 0, and that is no error. */
cudaError_t cudaDriverGetVersion(int *driverVersion) {
    if (!driverVersion)
        return simt::remember(cudaErrorInvalidValue);
    *driverVersion = simt::usable() == cudaErrorInsufficientDriver ? 0 : CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *runtimeVersion) {
    if (!runtimeVersion)
        return simt::remember(cudaErrorInvalidValue);
    *runtimeVersion = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count) {
    const cudaError_t error = simt::check_device(0);
    *count = error == cudaSuccess ? simt::n_devices() : 0;
    return simt::remember(error);
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device) {
    if (const cudaError_t error = simt::check_device(device))
        return simt::remember(error);
    cudaDeviceProp p = {};
    const auto is = [device](cudaDeviceAttr what) { return simt::attribute(what, device); };
    (void)std::snprintf(p.name, sizeof(p.name), "SIMT emulator");
    p.totalGlobalMem = simt::device_memory();
    p.sharedMemPerBlock = simt::most_shared;
    p.totalConstMem = 64 * 1024;
    p.sharedMemPerMultiprocessor = simt::shared_of_multiprocessor;
    p.sharedMemPerBlockOptin = simt::shared_opt_in;
    p.reservedSharedMemPerBlock = 1024;
    p.memPitch = 0x7fffffff;
    p.textureAlignment = 512;
    p.regsPerBlock = p.regsPerMultiprocessor = simt::n_registers;
    p.warpSize = warpSize;
    p.maxThreadsPerBlock = simt::most_threads;
    p.maxThreadsDim[0] = p.maxThreadsDim[1] = simt::most_threads;
    p.maxThreadsDim[2] = 64;
    p.maxGridSize[0] = 0x7fffffff;
    p.maxGridSize[1] = p.maxGridSize[2] = 65535;
    p.major = is(cudaDevAttrComputeCapabilityMajor);
    p.minor = is(cudaDevAttrComputeCapabilityMinor);
    p.multiProcessorCount = simt::n_multiprocessors;
    p.maxThreadsPerMultiProcessor = simt::threads_of_multiprocessor;
    p.maxBlocksPerMultiProcessor = is(cudaDevAttrMaxBlocksPerMultiprocessor);
    p.canMapHostMemory = p.concurrentKernels = p.asyncEngineCount = p.unifiedAddressing = 1;
    p.hostRegisterSupported = p.memoryPoolsSupported = 1;
    p.pciBusID = is(cudaDevAttrPciBusId);
    p.memoryBusWidth = is(cudaDevAttrGlobalMemoryBusWidth);
    p.l2CacheSize = simt::l2_bytes;
    *prop = p;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device) {
    if (const cudaError_t error = simt::check_device(device))
        return simt::remember(error);
    const int found = simt::attribute(attr, device);
    if (!value || found < 0)
        return simt::remember(cudaErrorInvalidValue);
    *value = found;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
    if (const cudaError_t error = simt::check_device(device))
        return simt::remember(error);
    simt::device_in_use = device;
    return simt::remember(simt::usable());
}

cudaError_t cudaGetDevice(int *device) {
    if (const cudaError_t error = simt::check_device(0))
        return simt::remember(error);
    *device = simt::device_in_use;
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void) {
    const cudaError_t error = simt::usable();
    return simt::remember(error ? error : simt::take_pending());
}

cudaError_t cudaDeviceReset(void) {
    return simt::remember(simt::usable());
}

cudaError_t cudaFuncSetAttribute(const void *func, enum cudaFuncAttribute attr, int value) {
    if (const cudaError_t error = simt::usable())
        return simt::remember(error);
    if (!func)
        return simt::remember(cudaErrorInvalidDeviceFunction);
    const bool shared = attr == cudaFuncAttributeMaxDynamicSharedMemorySize;
    if (value > (shared ? static_cast<int>(simt::shared_opt_in) : 100) || value < (shared ? 0 : -1))
        return simt::remember(cudaErrorInvalidValue);
    return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, const void *func, int blockSize,
                                                          size_t dynamicSMemSize) {
    if (const cudaError_t error = simt::usable())
        return simt::remember(error);
    if (!numBlocks || !func || blockSize <= 0 || blockSize > static_cast<int>(simt::most_threads) ||
        dynamicSMemSize > simt::shared_opt_in)
        return simt::remember(cudaErrorInvalidValue);
    const int by_threads = simt::threads_of_multiprocessor / ((blockSize + 31) / 32 * 32);
    *numBlocks = by_threads < 32 ? by_threads : 32;
    return cudaSuccess;
}
