/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gcheck - tests searches on GPUs, and the operations of training, against the same on the CPU, and times them.
 *
 *   gcheck --test  [--quick|--small] [--seed N] [--rounds N] [--seconds S] [--json]
 *   gcheck --bench [--quick|--small] [--json] [--only scale|recall|learn|hits|cells|heads|rank|whole]
 *
 * Devices are found as the library finds them, so the environment variable THR_CUDA_LIBRARY may name the backend that
 * was compiled for the emulator; sizes are then small and times mean nothing.
 *
 * Exit 0: all answers equal; 1: a difference, or a failure; 2: wrong words; 77: no GPU can be used.
 */
#define _GNU_SOURCE /* madvise */
#include "gcheck.h"

#include "base/clock.h"
#include "store/store.h"

#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---------------------------------------------------------------------------------------------- talking */

static void begin_figure(const gcheck *g, const char *name, va_list args) {
    char text[128];
    (void)vsnprintf(text, sizeof text, name, args);
    (void)printf(g->json ? "{\"figure\": \"%s\", " : "%-40s ", text);
}

void gcheck_figure(const gcheck *g, double value, const char *name, ...) {
    va_list args;
    va_start(args, name);
    begin_figure(g, name, args);
    va_end(args);
    (void)printf(g->json ? "\"value\": %.9g}\n" : "%.6g\n", value);
    (void)fflush(stdout);
}

void gcheck_words(const gcheck *g, const char *words, const char *name, ...) {
    va_list args;
    va_start(args, name);
    begin_figure(g, name, args);
    va_end(args);
    (void)printf(g->json ? "\"text\": \"%s\"}\n" : "%s\n", words); /* names of devices hold no quotes */
    (void)fflush(stdout);
}

void gcheck_say(const char *sentence, ...) {
    va_list args;
    va_start(args, sentence);
    (void)fprintf(stderr, "%8.1f s  ", thr_clock());
    (void)vfprintf(stderr, sentence, args);
    (void)fputc('\n', stderr);
    va_end(args);
}

void gcheck_must(thr_status status, const thr_error *error, const char *what) {
    if (status == THR_OK)
        return;
    (void)fprintf(stderr, "gcheck: %s: %s: %s\n", what, thr_status_name(status), error->text);
    exit(1);
}

/* ----------------------------------------------------------------------------------------------- memory */

void *gcheck_map(size_t size) {
    size = size == 0 ? 1 : size;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        perror("gcheck: memory");
        exit(1);
    }
    (void)madvise(memory, size, MADV_HUGEPAGE);
    return memory;
}

void gcheck_unmap(void *memory, size_t size) {
    if (memory != NULL)
        (void)munmap(memory, size == 0 ? 1 : size);
}

/* The first number in a file of the system, after the word if one is given; UINT64_MAX where there is none. */
static uint64_t read_number(const char *path, const char *word) {
    char line[256];
    uint64_t number = UINT64_MAX;
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const size_t length = word == NULL ? 0 : strlen(word);
        char *end;
        if (length > 0 && strncmp(line, word, length) != 0)
            continue;
        const uint64_t found = strtoull(line + length, &end, 10);
        if (end != line + length)
            number = found;
        break;
    }
    if (file != NULL)
        (void)fclose(file);
    return number;
}

uint64_t gcheck_host_free(void) {
    static const char *const limits[][2] = {
        {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
        {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"}};
    const uint64_t available = read_number("/proc/meminfo", "MemAvailable:");
    uint64_t least = available == UINT64_MAX ? UINT64_C(8) << 30 : available * 1024;
    for (int i = 0; i < 2; i++) {
        const uint64_t most = read_number(limits[i][0], NULL), used = read_number(limits[i][1], NULL);
        if (most != UINT64_MAX && used != UINT64_MAX && most > used && most - used < least)
            least = most - used;
    }
    return least;
}

/* --------------------------------------------------------------------------------------------- devices */

uint64_t gcheck_device_free(const gcheck *g) {
    thr_device_info info;
    gcheck_must(g->opened_one->backend->describe(g->info.number, &info, &err), &err, "free memory of the device");
    return info.free_bytes;
}

void gcheck_put(gcheck *g, const thr_devices *devices, thr_scan_corpus *corpus) {
    gcheck_must(thr_store_create(g->context, devices, corpus, &corpus->store, &err), &err, "copying codes");
}

void gcheck_take(thr_scan_corpus *corpus) {
    thr_store_free(corpus->store);
    corpus->store = NULL;
}

static thr_status open_named(gcheck *g, const char *words, thr_devices **devices, thr_error *error) {
    thr_device_choice choice;
    THR_TRY(thr_device_choice_read(words, &choice, error));
    return thr_devices_open(g->context, &choice, devices, error);
}

/* THR_EDEVICE where there is none. */
static thr_status open_devices(gcheck *g, thr_error *error) {
    thr_context_options options = {0};
    options.device = "cuda"; /* for scratch of as many queries as a device takes at once */
    THR_TRY(thr_context_create(&options, &g->context, error));
    THR_TRY(open_named(g, "cuda", &g->opened_all, error));
    THR_TRY(open_named(g, "cuda:0", &g->opened_one, error));
    THR_TRY(g->opened_one->backend->describe(0, &g->info, error));
    g->all = *g->opened_all;
    g->one = gcheck_timed_devices(g->opened_one);
    return THR_OK;
}

static void say_devices(const gcheck *g) {
    char words[THR_DEVICE_NAME_SIZE + 64];
    gcheck_words(g, g->all.text, "device.all");
    gcheck_words(g, g->info.name, "device.name");
    (void)snprintf(words, sizeof words, "%u.%u", g->info.major, g->info.minor);
    gcheck_words(g, words, "device.capability");
    (void)snprintf(words, sizeof words, "%u.%u", g->info.driver / 1000, g->info.driver % 1000 / 10);
    gcheck_words(g, words, "device.driver_cuda");
    gcheck_figure(g, g->info.n_multiprocessors, "device.multiprocessors");
    gcheck_figure(g, (double)g->info.memory_bytes, "device.memory_bytes");
    gcheck_figure(g, thr_context_threads(g->context), "host.threads");
    gcheck_words(g, thr_isa_name(thr_context_isa(g->context)), "host.level");
}

/* ------------------------------------------------------------------------------------------------- main */

typedef struct words {
    bool test, bench;
    const char *only; /* NULL: all */
} words;

static int usage(void) {
    (void)fprintf(
        stderr,
        "usage: gcheck --test  [--quick|--small] [--seed N] [--rounds N] [--seconds S] [--json]\n"
        "       gcheck --bench [--quick|--small] [--json] [--only scale|recall|learn|hits|cells|heads|rank|whole]\n");
    return 2;
}

static bool wants(const words *w, const char *part) {
    return w->only == NULL || strcmp(w->only, part) == 0;
}

static bool read_words(int argc, char **argv, gcheck *g, words *w) {
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(word, "--test") == 0)
            w->test = true;
        else if (strcmp(word, "--bench") == 0)
            w->bench = true;
        else if (strcmp(word, "--quick") == 0)
            g->effort = GCHECK_QUICK;
        else if (strcmp(word, "--small") == 0)
            g->effort = GCHECK_SMALL;
        else if (strcmp(word, "--json") == 0)
            g->json = true;
        else if (value != NULL && strcmp(word, "--seed") == 0)
            g->seed = strtoull(argv[++i], NULL, 10);
        else if (value != NULL && strcmp(word, "--rounds") == 0)
            g->rounds = strtoull(argv[++i], NULL, 10);
        else if (value != NULL && strcmp(word, "--seconds") == 0)
            g->seconds = strtod(argv[++i], NULL);
        else if (value != NULL && strcmp(word, "--only") == 0)
            w->only = argv[++i];
        else
            return false;
    }
    return w->test != w->bench && (wants(w, "scale") || wants(w, "recall") || wants(w, "learn") || wants(w, "hits") ||
                                   wants(w, "cells") || wants(w, "heads") || wants(w, "rank") || wants(w, "whole"));
}

int main(int argc, char **argv) {
    gcheck g = {.effort = GCHECK_FULL, .seed = 1};
    words w = {.only = NULL};
    if (!read_words(argc, argv, &g, &w))
        return usage();
    if (open_devices(&g, &err) != THR_OK) {
        (void)fprintf(stderr, "skipped: %s\n", err.text);
        return 77;
    }
    gcheck_must(thr_scan_create(g.context, &g.scan, &err), &err, "starting");
    if (strstr(g.info.name, "emulator") != NULL)
        g.effort = GCHECK_SMALL;
    say_devices(&g);
    if (w.test)
        gcheck_learn(&g, false);
    if (w.test)
        gcheck_features(&g, false);
    if (w.test)
        gcheck_fused(&g, false);
    if (w.test)
        gcheck_cells(&g, false);
    if (w.test)
        gcheck_heads(&g, false);
    if (w.test)
        gcheck_rank(&g, false);
    if (w.test)
        gcheck_whole(&g, false);
    if (w.test)
        gcheck_test(&g);
    if (w.bench && wants(&w, "scale"))
        gcheck_bench_scale(&g);
    if (w.bench && wants(&w, "recall"))
        gcheck_bench_recall(&g);
    if (w.bench && wants(&w, "learn"))
        gcheck_learn(&g, true);
    if (w.bench && wants(&w, "hits"))
        gcheck_features(&g, true);
    if (w.bench && wants(&w, "hits"))
        gcheck_fused(&g, true);
    if (w.bench && wants(&w, "cells"))
        gcheck_cells(&g, true);
    if (w.bench && wants(&w, "heads"))
        gcheck_heads(&g, true);
    if (w.bench && wants(&w, "rank"))
        gcheck_rank(&g, true);
    if (w.bench && wants(&w, "whole"))
        gcheck_whole(&g, true);
    thr_scan_free(g.scan);
    thr_devices_close(g.context, g.opened_all);
    thr_devices_close(g.context, g.opened_one);
    thr_context_free(g.context);
    return g.n_failed > 0;
}
