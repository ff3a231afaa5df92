/* SPDX-License-Identifier: Apache-2.0 */
/*
 * support.h - what unit tests share: cmocka with the headers it needs before it, seeds, contexts whose memory is
 * counted, random rows, and segments built in memory as an index would have them on disk.
 *
 * Every group of tests is run by test_run_group, which prints the seed first: THR_TEST_SEED=N repeats a failure.
 */
#pragma once

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "scan/scan.h"
#include "sites.h"
#include "store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* ---------------------------------------------------------------------------------------- seeds and random numbers */

/* THR_TEST_SEED, or 1. */
uint64_t test_seed(void);

/* A group setup that prints the seed, for cmocka_run_group_tests. */
int test_say_seed(void **state);
#define test_run_group(tests) cmocka_run_group_tests(tests, test_say_seed, NULL)

/* The same with a context of two threads and the best kernels as the state of all tests. */
int test_make_context(void **state);
int test_drop_context(void **state);
#define test_run_with_context(tests) cmocka_run_group_tests(tests, test_make_context, test_drop_context)

/* The same with a context of n_threads, and with a directory that is deleted after the tests; NULL: none. */
#define test_run_in_directory(tests, n_threads, directory)                                                             \
    (test_group_needs((n_threads), (directory)), test_run_with_context(tests))
void test_group_needs(uint32_t n_threads, const char *directory);

/* About normal(0, 1): the sum of 12 uniform numbers. */
float test_normal(uint64_t *rng);
void test_gaussian(uint64_t *rng, float *out, size_t n);

/* ---------------------------------------------------------------------------------------- asserting */

/* status is THR_OK, or the test fails with err's text. */
#define assert_ok(status, err) test_assert_ok((status), (err), __FILE__, __LINE__)
void test_assert_ok(thr_status status, const thr_error *err, const char *file, int line);

/* status is the wanted error, err has it too, and its text is one line that contains part (NULL: anything). */
#define assert_error(status, wanted, err, part) test_assert_error((status), (wanted), (err), (part), __FILE__, __LINE__)
void test_assert_error(thr_status status, thr_status wanted, const thr_error *err, const char *part, const char *file,
                       int line);

/* Fails with a sentence of the numbers that make the case. */
#define assert_case(truth, ...)                                                                                        \
    do {                                                                                                               \
        if (!(truth))                                                                                                  \
            fail_msg(__VA_ARGS__);                                                                                     \
    } while (0)

/* ---------------------------------------------------------------------------------------- threads */

/* Run work in n threads at once, each with one of n arguments of `size` bytes, and wait for all of them. */
void test_at_once(size_t n, void *(*work)(void *), void *arguments, size_t size);

/* Call test with a context of two threads for each level that the CPU has. */
void test_at_every_level(void (*test)(thr_context *context, const char *level));

/* ---------------------------------------------------------------------------------------- memory */

/* An allocator that counts, and fails on request. Zero it first. */
typedef struct test_memory {
    atomic_size_t live;  /* blocks not released */
    atomic_size_t total; /* blocks ever given */
    atomic_size_t calls; /* all requests, failed ones too */
    size_t fail_at;      /* the request (from 1) that fails; 0: none */
    bool fail_on;        /* all later ones fail too */
    test_sites *sites;   /* the requests that fail, besides; NULL: none */
} test_memory;

thr_allocator test_memory_allocator(test_memory *memory);

/*
 * Work whose allocations fail in turn: the first in round 1, the second in round 2, until one round needs no more.
 * ThreadSanitizer passes over most of the later ones.
 *
 *     test_oom oom = test_oom_start(&memory);
 *     while (test_oom_next(&oom)) {
 *         test_oom_arm(&oom);
 *         const thr_status status = work(context, &err);
 *         test_oom_check(&oom, status, &err, "no memory");
 *         free what the work made
 *     }
 *     assert_true(oom.n_failed > 10);
 *
 * The test fails when a round ends with more or fewer live blocks than there were at the start, when it ends without
 * test_oom_check, and when an allocation failed and the work did not return THR_ENOMEM.
 */
typedef struct test_oom {
    test_memory *memory;
    test_sites *sites;
    size_t live;         /* blocks before the first round */
    size_t round;        /* of the present round: which allocation after test_oom_arm fails, from 1 */
    size_t n_failed;     /* rounds so far whose work returned THR_ENOMEM */
    bool armed, reached; /* the present round: allocations are counted; one failed */
    bool follow;         /* set by the caller: all later allocations of a round fail, too */
    bool keeps;          /* set by the caller: rounds may end with more live blocks than they began with */
    bool tolerant;       /* set by the caller: the work may succeed although an allocation failed */
} test_oom;

test_oom test_oom_start(test_memory *memory);

/* Begins a round; false: the last one succeeded without a failed allocation. Checks that blocks were released. */
bool test_oom_next(test_oom *oom);

/* Counts allocations from here on. */
void test_oom_arm(test_oom *oom);

/*
 * Ends the failing. status must be THR_ENOMEM where an allocation failed, with part in err's text (NULL: anything), and
 * THR_OK where none did. Returns whether the work succeeded.
 */
#define test_oom_check(oom, status, err, part) test_oom_check_at((oom), (status), (err), (part), __FILE__, __LINE__)
bool test_oom_check_at(test_oom *oom, thr_status status, const thr_error *err, const char *part, const char *file,
                       int line);

/* A context of n_threads at a level; memory may be NULL. Never NULL itself. */
thr_context *test_context(uint32_t n_threads, thr_isa isa, test_memory *memory);

/* How many temporary files of outputs there are in a directory: of those whose names begin so. */
size_t test_leftovers(const char *dir, const char *beginning);

/* Zeroed memory, or the end of the test instead of returning NULL. */
void *test_array(size_t n, size_t size);

/* ---------------------------------------------------------------------------------------- codes */

/* Bit of a dimension in a plane of an item's code, found as codes.h describes the layout. */
unsigned test_code_bit(const uint8_t *codes, uint32_t n_dims, uint32_t bits, uint64_t item, uint32_t dim,
                       uint32_t plane);

/* The odd integer 2u + 1 - 2^bits that an item's code has for a dimension. */
int test_code_value(const uint8_t *codes, uint32_t n_dims, uint32_t bits, uint64_t item, uint32_t dim);

/* ---------------------------------------------------------------------------------------- segments */

typedef struct test_shape {
    uint32_t n_items, n_dims, bits;
    thr_metric metric;
    thr_dtype keep;
    uint32_t segment_items; /* a multiple of 64; 0: one segment */
    bool centre;            /* calibrate a centre, where the rows are worth one */
    uint32_t lead;          /* planes in the blocks, below bits for nested codes; 0: all */
    bool rotate;
} test_shape;

/* Everything thr_scan_search needs, and what the naive model needs. */
typedef struct test_corpus {
    test_shape shape;
    thr_context *context;
    thr_quantiser quantiser;
    uint8_t *codes;
    int16_t *values; /* n_items x n_dims: the codes' odd integers, decoded bit by bit */
    uint32_t *code_squares, *block_norms;
    float *products, *lead_products;
    uint8_t *lead_codes, *records; /* nested codes */
    uint16_t *leads;
    float *norms, *residuals, *factors, *offsets, *scales, *inverse_norms, *halves;
    float kept_error; /* the largest distance of a kept vector from the one it is of */
    void *vectors;
    thr_segment *segments;
    thr_scan_corpus scan;
} test_corpus;

/* Encode rows (n_items x n_dims) and compute all sections; the quantiser is trained on the first rows. */
void test_target_make(test_corpus *corpus, const test_shape *shape, const float *rows);
void test_target_free(test_corpus *corpus);

/* Whether estimates use factors (all but cosine without a centre, segment.h). */
bool test_has_factors(const test_corpus *corpus);

/* Whether the codes are nested (nested.h). */
bool test_is_nested(const test_shape *shape);

/* Value of a dimension in the copy kept for refine. */
float test_kept_value(const test_corpus *corpus, uint64_t item, uint32_t dim);
