/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.cc - a launch from its checks to its last block.
 */
#include "launch.h"

#include "report_state.h"
#include "scheduler.h"
#include "simt_control.h"
#include "state.h"

#include <atomic>
#include <mutex>

namespace simt {
namespace {

std::mutex machine_lock;
std::atomic<uint64_t> n_launches;

uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

uint64_t common_divisor(uint64_t a, uint64_t b) {
    while (b) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

bool is_configuration(dim3 grid, dim3 dim) {
    const uint64_t n_threads = static_cast<uint64_t>(dim.x) * dim.y * dim.z;
    if (dim.x > most_threads || dim.y > most_threads || dim.z > 64 || n_threads == 0 || n_threads > most_threads)
        return false;
    return grid.x > 0 && grid.x <= 0x7fffffffu && grid.y > 0 && grid.y <= 65535 && grid.z > 0 && grid.z <= 65535;
}

/* All blocks, by steps of a number that has no divisor in common with theirs, so that each has its turn. */
bool run_blocks(const Launch &what, uint64_t seed) {
    const uint64_t n = static_cast<uint64_t>(what.grid.x) * what.grid.y * what.grid.z;
    uint64_t step = n > 1 ? mix(seed) % n : 1;
    while (common_divisor(step, n) != 1)
        step = (step + 1) % n;
    uint64_t b = mix(seed + 1) % n;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t plane = static_cast<uint64_t>(what.grid.x) * what.grid.y;
        const uint3 index = {static_cast<unsigned>(b % what.grid.x), static_cast<unsigned>(b % plane / what.grid.x),
                             static_cast<unsigned>(b / plane)};
        if (!run_block(what, index, mix(seed + 2 + b)))
            return false;
        b = b + step >= n ? b + step - n : b + step;
    }
    return true;
}

} // namespace

void launch(const Launch &what) {
    n_launches++;
    cudaError_t error = usable();
    if (error == cudaSuccess)
        error = check_stream(what.stream);
    if (error == cudaSuccess && !is_configuration(what.grid, what.dim))
        error = cudaErrorInvalidConfiguration;
    if (error != cudaSuccess) {
        (void)remember(error);
        return;
    }
    if (fails_launch()) /* only what comes after it shows */
        return;
    const std::lock_guard<std::mutex> guard(machine_lock);
    running.kernel = what.kernel;
    running.place = what.place;
    running.seed = launch_seed(&running.number);
    open_memory();
    const bool ran = run_blocks(what, mix(mix(running.seed) + running.number));
    close_memory();
    const bool whole = check_margins(running.text().c_str());
    if (!ran || !whole) {
        set_pending(cudaErrorLaunchFailure);
        (void)remember(block.shared > most_shared ? cudaErrorInvalidConfiguration : cudaErrorLaunchFailure);
    }
}

} // namespace simt

uint64_t simt_launches(void) {
    return simt::n_launches;
}
