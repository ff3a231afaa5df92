/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kcheck - tests every kernel of every level against the scalar specification, and times it.
 *
 *   kcheck [--csv FILE] [--isa LEVEL] [--seed N] [--rounds N] [--bench] [--only NAME]
 *   kcheck [--csv FILE] --layouts
 *   kcheck [--csv FILE] --blas
 *
 * Exit 0: all equal; 1: a difference (slot, level, shape and seed are printed); 77: this CPU has not that level.
 */
#define _GNU_SOURCE
#include "kcheck.h"

#include "base/clock.h"
#include "base/rng.h"
#include "blas.h"
#include "layouts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAX_BUFFERS = 64 };

struct kcheck {
    const char *name;
    const thr_kernels *reference, *kernels;
    thr_isa isa;
    uint64_t rng, round_seed;
    bool timed, at_end;
    int n_buffers, failures, calls;
    struct {
        void *map;
        size_t size;
    } buffers[MAX_BUFFERS];
};

void *kcheck_buffer(kcheck *check, size_t size) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (size + page) / page * page;
    char *map = mmap(NULL, room + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED || mprotect(map + page, room, PROT_READ | PROT_WRITE) != 0 ||
        check->n_buffers == MAX_BUFFERS) {
        perror("kcheck: buffer");
        exit(2);
    }
    check->buffers[check->n_buffers].map = map;
    check->buffers[check->n_buffers++].size = room + 2 * page;
    return check->at_end ? map + page + room - size : map + page;
}

uint64_t kcheck_random(kcheck *check) {
    return thr_rng_next(&check->rng);
}

uint32_t kcheck_below(kcheck *check, uint32_t n) {
    return (uint32_t)thr_rng_below(&check->rng, n);
}

float kcheck_float(kcheck *check) {
    uint64_t r = kcheck_random(check);
    float sum = 0;
    for (int i = 0; i < 4; i++)
        sum += (float)(r >> 16 * i & 0xffff) / 65536.0f - 0.5f;
    switch (kcheck_below(check, 16)) {
    case 0:
        return 0.0f;
    case 1:
        return sum < 0 ? -0.0f : 1.0f;
    case 2:
        return sum * 1000.0f;
    case 3:
        return sum * 1e-30f;
    default:
        return sum;
    }
}

void kcheck_fill(kcheck *check, void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        ((unsigned char *)bytes)[i] = (unsigned char)kcheck_random(check);
}

bool kcheck_timed(const kcheck *check) {
    return check->timed;
}

static double seconds_a_call(const thr_kernels *kernels, kcheck_run run, void *out, void *arg) {
    double best = 1e9;
    size_t calls = 1;
    for (int repeat = 0; repeat < 7;) {
        double start = thr_clock();
        for (size_t i = 0; i < calls; i++)
            run(kernels, out, arg);
        double took = thr_clock() - start;
        if (took < 2e-3) {
            calls *= 2;
            continue;
        }
        if (took / (double)calls < best)
            best = took / (double)calls;
        repeat++;
    }
    return best;
}

static const char *csv;

void kcheck_figure(const char *name, const char *system, const char *setting, const char *unit, double value) {
    FILE *file = csv == NULL ? NULL : fopen(csv, "a");
    if (file != NULL)
        (void)fprintf(file, "%s,,,kernels,\"%s\",\"%s\",\"%s\",%s,%.4g,,\n", thr_isa_name(thr_kernel_isa_best()), name,
                      system, setting, unit, value);
    if (csv != NULL && (file == NULL || fclose(file) != 0)) {
        fprintf(stderr, "kcheck: %s could not be written\n", csv);
        exit(2);
    }
}

void kcheck_call(kcheck *check, kcheck_run run, void *arg, size_t out_size, size_t items, size_t bytes,
                 const char *shape, ...) {
    char text[96];
    va_list args;
    va_start(args, shape);
    (void)vsnprintf(text, sizeof text, shape, args);
    va_end(args);
    unsigned char *want = kcheck_buffer(check, out_size), *got = kcheck_buffer(check, out_size);
    memset(want, 0xa5, out_size);
    memset(got, 0xa5, out_size);
    run(check->reference, want, arg);
    run(check->kernels, got, arg);
    check->calls++;
    for (size_t i = 0; i < out_size; i++)
        if (want[i] != got[i]) {
            printf("FAIL %s %s %s: byte %zu of %zu is %02x, should be %02x (--seed %llu)\n", check->name,
                   thr_isa_name(check->isa), text, i, out_size, got[i], want[i], (unsigned long long)check->round_seed);
            check->failures++;
            return;
        }
    if (check->timed) {
        double slow = seconds_a_call(check->reference, run, want, arg);
        double fast = seconds_a_call(check->kernels, run, got, arg);
        printf("%-16s %-7s %-26s %9.3f ns/item %8.2f GB/s %7.1fx scalar\n", check->name, thr_isa_name(check->isa), text,
               fast / (double)items * 1e9, (double)bytes / fast * 1e-9, slow / fast);
        kcheck_figure(check->name, thr_isa_name(check->isa), text, "ns/item", fast / (double)items * 1e9);
    }
}

static const struct {
    const char *name;
    void (*check)(kcheck *check);
} CHECKS[] = {
#define ENTRY(name, type) {#name, check_##name},
    THR_KERNEL_LIST(ENTRY)
#undef ENTRY
};

static void run_slot(kcheck *check, size_t slot, uint64_t seed) {
    check->name = CHECKS[slot].name;
    check->round_seed = seed;
    check->rng = seed;
    check->at_end = (seed & 1) == 0;
    CHECKS[slot].check(check);
    while (check->n_buffers > 0) {
        check->n_buffers--;
        (void)munmap(check->buffers[check->n_buffers].map, check->buffers[check->n_buffers].size);
    }
}

static int run_level(thr_isa isa, uint64_t seed, int rounds, bool timed, const char *only) {
    kcheck check = {
        .reference = thr_kernels_get(THR_ISA_SCALAR), .kernels = thr_kernels_get(isa), .isa = isa, .timed = timed};
    for (size_t slot = 0; slot < sizeof CHECKS / sizeof *CHECKS; slot++) {
        if (only != NULL && strcmp(only, CHECKS[slot].name) != 0)
            continue;
        for (int round = 0; round < (timed ? 1 : rounds) && check.failures < 10; round++)
            run_slot(&check, slot, seed + (uint64_t)round);
    }
    if (!timed)
        printf("%s: %d calls compared, %d differ\n", thr_isa_name(isa), check.calls, check.failures);
    return check.failures > 0;
}

int main(int argc, char **argv) {
    uint64_t seed = 1;
    int rounds = 200, level = -1;
    bool timed = false;
    const char *only = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--layouts") == 0) {
            return kcheck_layouts();
        } else if (strcmp(argv[i], "--blas") == 0) {
            return kcheck_blas();
        } else if (strcmp(argv[i], "--bench") == 0) {
            timed = true;
        } else if (i + 1 < argc && strcmp(argv[i], "--csv") == 0) {
            csv = argv[++i];
        } else if (i + 1 < argc && strcmp(argv[i], "--seed") == 0) {
            seed = strtoull(argv[++i], NULL, 10);
        } else if (i + 1 < argc && strcmp(argv[i], "--rounds") == 0) {
            rounds = (int)strtol(argv[++i], NULL, 10);
        } else if (i + 1 < argc && strcmp(argv[i], "--only") == 0) {
            only = argv[++i];
        } else if (i + 1 < argc && strcmp(argv[i], "--isa") == 0) {
            i++;
            for (int isa = THR_ISA_SCALAR; isa <= THR_ISA_LAST; isa++)
                if (strcmp(argv[i], thr_isa_name((thr_isa)isa)) == 0)
                    level = isa;
        } else {
            fprintf(stderr,
                    "usage: kcheck [--csv FILE] [--isa LEVEL] [--seed N] [--rounds N] [--bench] [--only NAME]\n");
            return 2;
        }
    }
    if (level >= 0 && !thr_kernel_isa_has((thr_isa)level)) {
        printf("this CPU has only %s\n", thr_isa_name(thr_kernel_isa_best()));
        return 77;
    }
    int failed = 0;
    for (int isa = THR_ISA_SCALAR; isa <= THR_ISA_LAST; isa++)
        if (level < 0 ? thr_kernel_isa_has((thr_isa)isa) : isa == level)
            failed |= run_level((thr_isa)isa, seed, rounds, timed, only);
    return failed;
}
