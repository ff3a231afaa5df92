/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gprobe - measures what a GPU can do at most, and what cuBLAS and cuSPARSE do of the work that searches
 * save.
 *
 *   gprobe [--items N] [--only device|memory|arithmetic|tensor|wgmma|sparse|baseline]
 *
 * Figures go to standard output, one per line. Exit 0; 1: a call failed; 2: wrong words; 77: no GPU can be used.
 */
#include "probe.cuh"

#include <cstring>

static void probe_device() {
    cudaDeviceProp properties;
    int driver = 0, runtime = 0, clock = 0, memory_clock = 0;
    char words[64];
    PROBE_CHECK(cudaGetDeviceProperties(&properties, 0));
    PROBE_CHECK(cudaDriverGetVersion(&driver));
    PROBE_CHECK(cudaRuntimeGetVersion(&runtime));
    PROBE_CHECK(cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, 0));
    PROBE_CHECK(cudaDeviceGetAttribute(&memory_clock, cudaDevAttrMemoryClockRate, 0));
    probe_words("probe.device", properties.name);
    std::snprintf(words, sizeof words, "%d.%d", properties.major, properties.minor);
    probe_words("probe.capability", words);
    std::snprintf(words, sizeof words, "%d.%d", driver / 1000, driver % 1000 / 10);
    probe_words("probe.driver_cuda", words);
    std::snprintf(words, sizeof words, "%d.%d", runtime / 1000, runtime % 1000 / 10);
    probe_words("probe.runtime", words);
    std::snprintf(words, sizeof words, "nvcc %d.%d.%d", __CUDACC_VER_MAJOR__, __CUDACC_VER_MINOR__,
                  __CUDACC_VER_BUILD__);
    probe_words("probe.compiler", words);
    probe_figure("probe.multiprocessors", properties.multiProcessorCount);
    probe_figure("probe.clock_hz", clock * 1e3);
    probe_figure("probe.memory_clock_hz", memory_clock * 1e3);
    probe_figure("probe.memory_bytes", static_cast<double>(properties.totalGlobalMem));
    probe_figure("probe.l2_bytes", properties.l2CacheSize);
}

static int usage() {
    std::fprintf(stderr, "usage: gprobe [--items N] [--only device|memory|arithmetic|tensor|wgmma|sparse|baseline]\n");
    return 2;
}

int main(int argc, char **argv) {
    static const char *const names[] = {"device", "memory", "arithmetic", "tensor", "wgmma", "sparse", "baseline"};
    static void (*const probes[])() = {probe_device, probe_memory, probe_arithmetic,
                                       probe_tensor, probe_wgmma,  probe_sparse};
    const char *only = nullptr;
    uint64_t n_items = 8800000;
    int n_devices = 0;
    bool known = false;
    for (int i = 1; i < argc; i++) {
        if (i + 1 < argc && std::strcmp(argv[i], "--only") == 0)
            only = argv[++i];
        else if (i + 1 < argc && std::strcmp(argv[i], "--items") == 0)
            n_items = std::strtoull(argv[++i], nullptr, 10);
        else
            return usage();
    }
    for (const char *name : names)
        known |= only == nullptr || std::strcmp(only, name) == 0;
    if (!known || n_items < 100000)
        return usage();
    if (cudaGetDeviceCount(&n_devices) != cudaSuccess || n_devices == 0) {
        std::fprintf(stderr, "skipped: no GPU can be used\n");
        return 77;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (only != nullptr && std::strcmp(only, names[i]) != 0)
            continue;
        std::fprintf(stderr, "gprobe: %s\n", names[i]);
        if (i < sizeof probes / sizeof *probes)
            probes[i]();
        else
            probe_baseline(n_items);
    }
    return 0;
}
