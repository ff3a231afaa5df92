/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* madvise's huge pages, wait4 */
#include "bench.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { REPEATS = 4, MEMORY_BYTES = 512 << 20, READ_AT_ONCE = 256 };

double bench_clock(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bench_timer bench_timed(double *best, int rounds, double worst) {
    *best = worst;
    return (bench_timer){.best = best, .start = -1, .left = rounds};
}

bool bench_next(bench_timer *timer) {
    if (timer->start >= 0)
        *timer->best = fmin(*timer->best, bench_clock() - timer->start);
    timer->start = bench_clock();
    return timer->left-- > 0;
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void bench_sort(double *values, size_t n) {
    qsort(values, n, sizeof *values, ascending);
}

/* Four streams of whole words, so that the adders do not wait for each other; the compiler widens them to its best. */
/* Sanitizers are not ready yet when the variants are chosen. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) &&               \
    !defined(__SANITIZE_THREAD__)
__attribute__((target_clones("avx512f", "avx2", "default"), optimize("O3")))
#endif
static uint64_t
sum_words(const uint64_t *words, size_t n) {
    uint64_t lanes[32] = {0};
    for (size_t i = 0; i + 32 <= n; i += 32)
        for (size_t l = 0; l < 32; l++)
            lanes[l] += words[i + l];
    for (size_t l = 1; l < 32; l++)
        lanes[0] += lanes[l];
    return lanes[0];
}

double bench_read_bandwidth(const void *data, size_t size) {
    double best;
    volatile uint64_t sink = 0;
    for (BENCH_BEST(best, REPEATS))
        sink = sink + sum_words(data, size / READ_AT_ONCE * (READ_AT_ONCE / sizeof(uint64_t)));
    return (double)size / best;
}

double bench_memory_bandwidth(void) {
    static double rate;
    if (rate > 0)
        return rate;
    void *memory = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 0;
    (void)madvise(memory, MEMORY_BYTES, MADV_HUGEPAGE);
    memset(memory, 1, MEMORY_BYTES);
    rate = bench_read_bandwidth(memory, MEMORY_BYTES);
    (void)munmap(memory, MEMORY_BYTES);
    return rate;
}

int bench_in_child(int (*work)(void *arg), void *arg, uint64_t *peak_bytes) {
    (void)fflush(NULL);
    const pid_t child = fork();
    if (child < 0)
        return -1;
    if (child == 0)
        _exit(work(arg));
    int status = 0;
    struct rusage usage;
    if (wait4(child, &status, 0, &usage) != child)
        return -1;
    *peak_bytes = (uint64_t)usage.ru_maxrss * 1024;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
