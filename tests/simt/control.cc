/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control.cc - failures that tests request, errors that are remembered, seeds.
 */
#include "simt_control.h"

#include "state.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace simt {
namespace {

enum class Failure { none, alloc, launch, copy, driver_missing, no_device };

std::mutex lock;
Failure failure;
unsigned long countdown; /* 1: the next one fails */
bool lost[most_devices];
cudaError_t pending[most_devices];
unsigned generation = 1; /* errors remembered in an earlier one are forgotten */

uint64_t seed;
uint64_t n_seeded; /* launches with this seed */
bool has_seed;

thread_local cudaError_t last_error;
thread_local unsigned last_generation;

bool fails(Failure kind) {
    const std::lock_guard<std::mutex> guard(lock);
    if (failure != kind || countdown == 0 || --countdown > 0)
        return false;
    if (kind != Failure::alloc)
        lost[current_device()] = true;
    return true;
}

} // namespace

cudaError_t usable() {
    const std::lock_guard<std::mutex> guard(lock);
    if (failure == Failure::driver_missing)
        return cudaErrorInsufficientDriver;
    if (failure == Failure::no_device || n_devices() == 0)
        return cudaErrorNoDevice;
    return lost[current_device()] ? cudaErrorIllegalAddress : cudaSuccess;
}

cudaError_t remember(cudaError_t error) {
    if (error != cudaSuccess) {
        const std::lock_guard<std::mutex> guard(lock);
        last_error = error;
        last_generation = generation;
    }
    return error;
}

void set_pending(cudaError_t error) {
    const std::lock_guard<std::mutex> guard(lock);
    pending[current_device()] = error;
}

cudaError_t take_pending() {
    const std::lock_guard<std::mutex> guard(lock);
    cudaError_t &error = pending[current_device()], taken = error;
    error = cudaSuccess;
    return taken;
}

bool fails_alloc() {
    return fails(Failure::alloc);
}
bool fails_launch() {
    return fails(Failure::launch);
}
bool fails_copy() {
    return fails(Failure::copy);
}

uint64_t launch_seed(uint64_t *number) {
    const std::lock_guard<std::mutex> guard(lock);
    if (!has_seed) {
        const char *text = std::getenv("THR_SIMT_SEED");
        seed = text ? std::strtoull(text, nullptr, 0) : 1;
        has_seed = true;
    }
    *number = n_seeded++;
    return seed;
}

} // namespace simt

/* An error that the device does not recover from stays. */
cudaError_t cudaGetLastError(void) {
    cudaError_t error = cudaSuccess;
    {
        const std::lock_guard<std::mutex> guard(simt::lock);
        if (simt::last_generation == simt::generation)
            error = simt::last_error;
    }
    (void)simt::take_pending();
    if (simt::usable() != error)
        simt::last_error = cudaSuccess;
    return error;
}

void simt_seed(uint64_t seed) {
    const std::lock_guard<std::mutex> guard(simt::lock);
    simt::seed = seed;
    simt::n_seeded = 0;
    simt::has_seed = true;
}

void simt_fail(const char *what) {
    using simt::Failure;
    const std::lock_guard<std::mutex> guard(simt::lock);
    simt::failure = Failure::none;
    simt::countdown = 0;
    simt::generation++;
    std::memset(simt::lost, 0, sizeof(simt::lost));
    std::memset(simt::pending, 0, sizeof(simt::pending));
    if (!std::strcmp(what, "none"))
        return;
    if (!std::strcmp(what, "driver missing")) {
        simt::failure = Failure::driver_missing;
    } else if (!std::strcmp(what, "no device")) {
        simt::failure = Failure::no_device;
    } else {
        const char *number = std::strchr(what, ' ');
        char *end = nullptr;
        simt::countdown = number ? std::strtoul(number, &end, 10) : 0;
        if (!std::strncmp(what, "alloc ", 6))
            simt::failure = Failure::alloc;
        else if (!std::strncmp(what, "launch ", 7))
            simt::failure = Failure::launch;
        else if (!std::strncmp(what, "copy ", 5))
            simt::failure = Failure::copy;
        if (simt::failure == Failure::none || simt::countdown == 0 || *end) {
            (void)std::fprintf(stderr, "simt_fail: \"%s\" is not a failure\n", what);
            std::abort();
        }
    }
}
