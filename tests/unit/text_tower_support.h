/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_tower_support.h - what the tests of room tower share: pairs of a small language, trainings of a blink, whole
 * files.
 *
 * Files are named by NAME(...), which begins with TOWER_TEST, so that tests that run at once have their own.
 */
#pragma once

#include "test.h"

#include <thresher/tower.h>

#include "kernel/kernel.h"

#include <time.h>

#include <glob.h>

TEST_OWNABLE(thr_tower)

#define NAME(rest) "tower-" TOWER_TEST "-" rest
enum { TOWER_TEXT_ROOM = 80, TOWER_PAIRS = 120 };

/* Some words, the same for the same number; alike ones for numbers of the same topic. */
static inline void tower_text(uint64_t number, char text[TOWER_TEXT_ROOM]) {
    static const char *const topics[] = {"edit pdf",   "play chess", "send mail",
                                         "fetch news", "draw maps",  "scan ports"};
    static const char *const syllables[] = {"ba", "den", "fi", "gor", "hul", "ka", "lem", "mi"};
    uint64_t rng = number + 1;
    const uint64_t a = thr_rng_below(&rng, 8), b = thr_rng_below(&rng, 8), c = thr_rng_below(&rng, 8);
    (void)snprintf(text, TOWER_TEXT_ROOM, "%s %s%s %s%s", topics[number % 6], syllables[a], syllables[b], syllables[b],
                   syllables[c]);
}

/* Pairs first to first + n - 1: a query is an item's first two words and its last. */
static inline void tower_write_pairs(const char *path, uint64_t first, uint64_t n) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (uint64_t i = first; i < first + n; i++) {
        char text[TOWER_TEXT_ROOM];
        tower_text(i, text);
        const char *last = strrchr(text, ' ');
        const int topic = (int)(strchr(strchr(text, ' ') + 1, ' ') - text);
        (void)fprintf(file, "%.*s%s\t%s\n", topic, text, last, text);
    }
    assert_int_equal(fclose(file), 0);
}

/* Five steps per epoch or so of a model that is as small as can be. */
static inline void tower_small(thr_tower_train_options *options) {
    thr_tower_train_options_init(options);
    options->config.n_dims = 9;
    options->config.n_pooled = 7;
    options->config.max_grams = 90;
    options->run.valid_share = 0.15f;
    options->run.n_epochs = 3;
    options->run.patience = 0;
    options->run.batch = 20;
    options->n_negatives = 4;
    options->run.rate = 0.02f;
}

/* The bytes of a file, followed by a NUL; NULL when there is none. The caller frees them. */
static inline char *tower_read(const char *path, size_t *size) {
    return test_exists(path) ? (char *)test_bytes_of(path, size) : NULL;
}

static inline bool tower_same_files(const char *a, const char *b) {
    size_t a_size = 0, b_size = 0;
    char *a_bytes = tower_read(a, &a_size), *b_bytes = tower_read(b, &b_size);
    const bool same = a_bytes != NULL && b_bytes != NULL && a_size == b_size && memcmp(a_bytes, b_bytes, a_size) == 0;
    return same;
}

/* Learn with these options, or fail the test. */
static inline thr_tower_report tower_train(thr_context *context, const char *pairs, const char *path,
                                           const thr_tower_train_options *options) {
    thr_tower_report report;
    expect_ok(thr_tower_train(context, pairs, path, options, &report, &err));
    assert_int_equal(access(path, F_OK), 0);
    return report;
}

/* A progress function that stops at a call; where it is slow, every step of a training is reported. */
typedef struct tower_stopper {
    unsigned calls, stop_at; /* 0: never */
    bool slow;
} tower_stopper;

static inline bool tower_stop(void *user, const char *what, uint64_t done, uint64_t total) {
    tower_stopper *s = user;
    (void)what;
    (void)done;
    (void)total;
    if (s->slow)
        (void)nanosleep(&(struct timespec){.tv_nsec = 205 * 1000 * 1000}, NULL);
    return ++s->calls != s->stop_at;
}

/* A small model at path, of so many bits. */
static inline void tower_make(const char *path, uint32_t query_bits, uint32_t item_bits) {
    thr_tower_train_options options;
    thr_context *context = test_new_context(1);
    tower_small(&options);
    options.config.query_bits = query_bits;
    options.config.item_bits = item_bits;
    options.run.n_epochs = 1;
    tower_write_pairs(NAME("pairs.tsv"), 0, TOWER_PAIRS);
    (void)tower_train(context, NAME("pairs.tsv"), path, &options);
}

static inline thr_tower *tower_open(thr_context *context, const char *path) {
    thr_tower *tower = NULL;
    expect_ok(thr_tower_open(context, path, &tower, &err));
    return tower;
}

/* Of a group of tests: *state is a context of three threads; files of NAME(...) go. */
static inline int tower_setup(void **state) {
    *state = test_context(3, THR_ISA_BEST, NULL);
    return 0;
}
static inline int tower_teardown(void **state) {
    glob_t found = {0};
    thr_context_free(*state);
    if (glob(NAME("*"), 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            (void)remove(found.gl_pathv[i]);
    globfree(&found);
    return 0;
}
TEST_GROUP(tower_setup, tower_teardown)

/* Calls check with contexts of 1, 2, 3 and 7 threads at the best level, and of one at every other level. */
static inline void tower_each_context(void (*check)(thr_context *context, void *arg), void *arg) {
    static const uint32_t threads[] = {1, 2, 3, 7};
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        thr_context *context = test_context(threads[i], THR_ISA_BEST, NULL);
        check(context, arg);
        thr_context_free(context);
    }
    for (int isa = THR_ISA_SCALAR; isa <= THR_ISA_LAST; isa++) {
        if (!thr_kernel_isa_has((thr_isa)isa))
            continue;
        thr_context *context = test_context(2, (thr_isa)isa, NULL);
        check(context, arg);
        thr_context_free(context);
    }
}

/* Runs work with each of its allocations failing in turn, alone and with all that follow, until it succeeds. */
static inline void tower_fail_allocations(test_memory *memory, thr_status (*work)(void *arg, thr_error *error),
                                          void *arg) {
    for (int all = 0; all < 2; all++) {
        test_oom oom = test_oom_start(memory);
        oom.follow = all == 1;
        oom.tolerant = true; /* a finished training goes on when it cannot delete its checkpoint */
        while (test_oom_next(&oom)) {
            thr_error error = {.status = THR_OK};
            test_oom_arm(&oom);
            const thr_status status = work(arg, &error);
            (void)test_oom_check(&oom, status, &error, NULL);
        }
        assert_true(oom.n_failed > 2);
    }
}

/* A context of n_threads whose progress is s. */
static inline thr_context *tower_stoppable(tower_stopper *s, uint32_t n_threads) {
    const thr_context_options options = {.n_threads = n_threads, .progress = tower_stop, .progress_user = s};
    thr_context *context = NULL;
    expect_ok(thr_context_create(&options, &context, &err));
    return context;
}

/* A bit of a checkpoint is changed, and of every eighth copy all after it is gone: resume finds it. */
static inline void tower_refuse_damage(const char *checkpoint, unsigned n_copies, uint64_t *rng,
                                       thr_status (*resume)(void *arg, thr_error *error), void *arg) {
    size_t size;
    uint8_t *bytes = test_bytes_of(checkpoint, &size);
    for (unsigned i = 0; i < n_copies; i++) {
        const size_t at = (size_t)thr_rng_below(rng, size);
        const uint8_t kept = bytes[at];
        bytes[at] = (uint8_t)(bytes[at] ^ (1 << thr_rng_below(rng, 8)));
        const bool is_blank = kept == ' ' && strchr("\t\r\n", bytes[at]) != NULL;
        test_write_file(checkpoint, bytes, i % 8 == 0 ? at : size);
        const thr_status status = is_blank ? THR_EFORMAT : resume(arg, &err);
        assert_case(status == THR_EFORMAT || status == THR_ECORRUPT || status == THR_EVERSION ||
                        status == THR_EMISMATCH,
                    "seed %llu: byte %zu of %zu %s: status %s", (unsigned long long)test_seed(), at, size,
                    i % 8 == 0 ? "and all after it gone" : "changed", thr_status_name(status));
        bytes[at] = kept;
    }
}
