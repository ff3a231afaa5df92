/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.cc - devices and what they are like, names of errors.
 */
#include "state.h"

#include <cstdlib>

namespace simt {
namespace {

thread_local int device_in_use;

cudaError_t check_device(int device) {
    const cudaError_t error = usable();
    if (error == cudaErrorInsufficientDriver || error == cudaErrorNoDevice)
        return error;
    return device < 0 || device >= n_devices() ? cudaErrorInvalidDevice : cudaSuccess;
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
    *prop = cudaDeviceProp{"SIMT emulator", 9, 0, 4};
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
    if (const cudaError_t error = simt::check_device(device))
        return simt::remember(error);
    simt::device_in_use = device;
    return simt::remember(simt::usable());
}
