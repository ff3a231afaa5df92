/* SPDX-License-Identifier: Apache-2.0 */
/* A search of as many codes of 16 bytes as memory and disk have room for, a thousand million at most; random codes. */
#define _GNU_SOURCE /* sysconf's pages */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cli/program.h"
#include "cli/messages.h"
#include "tower.h"

enum {
    K = 1000,
    DIMS = 64,
    ROUNDS = 4,
    QUICK_CODES = 4000000,
    CODE_BYTES = 17 /* with headers and padding, at most */
};
#define MOST_CODES    UINT64_C(1000000000)
#define SEGMENT_CODES (UINT64_C(1) << 27) /* 2 GiB: a build keeps one segment's codes in memory */

static const double TARGET_SHARE = 0.85, MEMORY_SHARE = 0.8;

/* Two words of chance a row, its planes. */
static uint64_t random_rows(void *user, uint64_t first, uint64_t max_rows, float *out) {
    enum { AT_ONCE = 16384 };
    static const float values[4] = {-1.5f, 0.5f, -0.5f, 1.5f};
    const uint64_t n = max_rows < AT_ONCE ? max_rows : AT_ONCE, seed = *(const uint64_t *)user;
    for (uint64_t r = 0; r < n; r++) {
        uint64_t base = bench_mix(2 * (first + r) + seed);
        uint64_t rest = bench_mix(2 * (first + r) + 1 + seed);
        for (uint32_t d = 0; d < DIMS; d++, base >>= 1, rest >>= 1)
            out[r * DIMS + d] = values[(base & 1) + 2 * (rest & 1)];
    }
    return n;
}

/* As many as are asked for, or as there is room for: in memory, so that a scan reads no disk, and on the disk. */
static uint64_t how_many(const bench_scan_run *run, const bench_tower_values *values) {
    if (values->codes != 0)
        return values->codes;
    if (values->quick)
        return QUICK_CODES;
    struct statvfs disk;
    const double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) * MEMORY_SHARE;
    const double room = statvfs(run->scratch, &disk) == 0 ? (double)disk.f_bavail * (double)disk.f_frsize : 0;
    const double most = fmin((double)MOST_CODES, fmin(memory, room * MEMORY_SHARE) / CODE_BYTES);
    return most < (double)QUICK_CODES ? QUICK_CODES : (uint64_t)most;
}

/* In turns, because other processes share the memory bandwidth. */
static void measure(bench_scan_run *run, const char *dir, thr_index *index) {
    static uint64_t ids[K];
    static float scores[K];
    static const char *const texts[ROUNDS] = {"wireless doorbell", "convert a video", "list files", "kitchen faucet"};
    float code[DIMS];
    double read = 0, took = INFINITY;
    size_t size = 0;
    const void *file = bench_map_segment(dir, &size);
    for (int round = -1; round < ROUNDS; round++) { /* the first one brings all codes into memory */
        bench_must(run, thr_tower_encode(thr_index_tower(index), THR_SIDE_QUERY, &texts[round < 0 ? 0 : round], NULL, 1,
                                         code, &run->err));
        const thr_matrix query = thr_matrix_f32(code, 1, DIMS);
        const double start = bench_clock();
        bench_must(run, thr_index_search(index, &query, K, NULL, ids, scores, &run->err));
        if (round < 0)
            continue;
        took = fmin(took, bench_clock() - start);
        read = fmax(read, bench_read_bandwidth(file, size / 256 * 256));
    }
    bench_unmap(file, size);
    const thr_index_info info = thr_index_get_info(index);
    const double bytes = (double)info.code_bytes / (double)info.n_items, rate = (double)info.n_items / took;
    bench_say(
        run,
        "A search of %s random codes of %.2f bytes, k = %d, one thread: %.1f ms, %.0f M items/s, %.1f GB/s; plain "
        "read of one of its %u mapped files %.1f GB/s.\n\n",
        prog_exact(info.n_items).text, bytes, K, took * 1e3, rate * 1e-6, rate * bytes * 1e-9, info.n_segments,
        read * 1e-9);
    bench_figure(run, "scan_share_of_read_bandwidth", rate * bytes / read, TARGET_SHARE, true,
                 "search of %s codes of 16 bytes, k = 1,000, over plain read", prog_exact(info.n_items).text);
}

void bench_tower_scan(bench_scan_run *run, const bench_tower_values *values, const char *model_path) {
    const uint64_t n = how_many(run, values);
    uint64_t seed = run->program->globals.seed;
    thr_context *context = run->program->context; /* of all CPUs: a build is not what is measured */
    thr_index_build_options options;
    char dir[1100];
    (void)snprintf(dir, sizeof dir, "%s/scan", run->scratch);
    prog_note("building an index of %s random codes", prog_exact(n).text);
    thr_index_build_options_init(&options);
    options.model = model_path;
    options.segment_rows = SEGMENT_CODES;
    thr_reader *reader = bench_reader(run, context, n, DIMS, random_rows, &seed);
    thr_index *index = bench_make_index(run, context, reader, dir, &options);
    measure(run, dir, index);
    thr_index_free(index);
    bench_scratch_remove(dir);
}
