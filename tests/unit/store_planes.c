/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_planes.c - distances on GPUs by XOR and popcount: every number of planes against queries of every number of
 * bits, of all numbers of words that are scored together, whole ones and not, against the search by the book.
 */
#include "test.h"

#include "gpus.h"
#include "naive.h"

enum {
    ITEMS = 70,
    MOST_QUERIES = 3,
#ifdef THR_SANITIZED
    WIDTHS = 1 /* of codes, for each number of planes and bits */
#else
    WIDTHS = 3
#endif
};

static int set_up(void **state) {
    static const char *const ways[] = {"xor", NULL};
    *state = test_gpus_make(ways);
    return 0;
}

/* All items in the order of their distances, so that none may be wrong. */
static void check(const test_gpus *f, uint64_t *rng, uint32_t planes, uint32_t query_bits, uint32_t n_dims) {
    const test_shape shape = {
        .n_items = ITEMS, .n_dims = n_dims, .bits = planes, .metric = THR_METRIC_IP, .keep = THR_DTYPE_NONE};
    float *rows = test_tied_rows(rng, ITEMS, n_dims, false), *queries = test_queries(rng, MOST_QUERIES, n_dims);
    thr_search_options options = test_counts(ITEMS, ITEMS);
    char what[64];
    test_corpus corpus;
    (void)snprintf(what, sizeof what, "%u dimensions, %u x %u bits", n_dims, planes, query_bits);
    options.query_bits = query_bits;
    test_target_put(f, f->one, &corpus, &shape, rows);
    test_search_equals_naive(f->contexts[0], &corpus, queries, 1, ITEMS, &options, what);
    test_search_equals_naive(f->contexts[0], &corpus, queries, MOST_QUERIES, ITEMS, &options, what);
    test_target_take(&corpus);
}

TEST(all_planes_by_all_bits_equal_the_naive_answer) {
    static const uint32_t rests[] = {0, 1, 9, 31}; /* dimensions after whole words */
    uint64_t rng = test_seed();
    for (uint32_t planes = 1; planes <= 8; planes++)
        for (uint32_t bits = 1; bits <= 8; bits++)
            for (uint32_t i = 0; i < WIDTHS; i++)
                check(*state, &rng, planes, bits,
                      32 * (1 + (planes + bits + 3 * i) % 8) + rests[thr_rng_below(&rng, 4)]);
}

/* Queries whose words do not travel with the operation. */
TEST(long_codes_of_all_planes_equal_the_naive_answer) {
    uint64_t rng = test_seed();
    for (uint32_t planes = 1; planes <= 8; planes++)
        check(*state, &rng, planes, 8, 3073 + (uint32_t)thr_rng_below(&rng, 128));
}

TEST_NEEDS(test_emulator_path() != NULL)
TEST_GROUP(set_up, test_gpus_free)
