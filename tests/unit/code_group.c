/* SPDX-License-Identifier: Apache-2.0 */
/* code_group.c - a group's distances are those of the codes' odd integers, in every way and at every level. */
#include "test.h"

#include "code/group.h"

#include "code/encode.h"

enum { BLOCKS = 2, ITEMS = BLOCKS * 64, GAP = 5, MOST = 19, UNTOUCHED = 0xeeeeeeee };

typedef struct batch {
    uint32_t n_dims, item_bits, query_bits, n_queries;
    uint8_t *blocks;
    thr_query_code codes[MOST];
    const thr_query_code *pointers[MOST];
    void *memory[MOST];
} batch;

static void make_batch(batch *b, uint64_t *rng) {
    thr_quantiser quantiser = {.n_dims = b->n_dims, .item_bits = b->item_bits};
    for (int bits = 0; bits < THR_MAX_BITS; bits++)
        quantiser.ranges[bits] = 0.2f + (float)thr_rng_below(rng, 100) / 200;
    const size_t size = BLOCKS * thr_block_size(b->n_dims, b->item_bits);
    b->blocks = test_new(size, 1);
    for (size_t i = 0; i < size; i++) {
        b->blocks[i] = (uint8_t)thr_rng_next(rng);
        if (i / 64 / b->item_bits % thr_code_rows(b->n_dims) == b->n_dims / 8)
            b->blocks[i] &= (uint8_t)((1u << b->n_dims % 8) - 1);
    }
    float *query = test_new(b->n_dims, sizeof *query);
    for (uint32_t q = 0; q < b->n_queries; q++) {
        test_gaussian(rng, query, b->n_dims);
        double square = 0;
        for (uint32_t d = 0; d < b->n_dims; d++)
            square += (double)query[d] * (double)query[d];
        b->memory[q] = test_new_aligned(thr_code_query_size(b->n_dims));
        thr_code_query_make(&b->codes[q], &quantiser, b->item_bits, query, sqrt(square), b->query_bits, b->memory[q]);
        b->pointers[q] = &b->codes[q];
    }
}

static int32_t product(const batch *b, uint32_t q, uint64_t item) {
    int32_t sum = 0;
    for (uint32_t d = 0; d < b->n_dims; d++) {
        const int value = 2 * b->codes[q].levels[d] + 1 - (1 << b->query_bits);
        sum += value * test_code_value(b->blocks, b->n_dims, b->item_bits, item, d);
    }
    return sum;
}

static void check_ways(const batch *b) {
    const size_t stride = ITEMS + GAP;
    const size_t n = b->n_queries * stride;
    uint32_t *distances = test_new(n, sizeof *distances), *scratch = test_new(ITEMS, sizeof *scratch);
    void *memory = test_new_aligned(thr_code_query_group_size(b->n_dims, b->n_queries));
    int32_t *products = test_new((size_t)b->n_queries * ITEMS, sizeof *products);
    for (uint32_t q = 0; q < b->n_queries; q++)
        for (uint64_t i = 0; i < ITEMS; i++)
            products[q * ITEMS + i] = product(b, q, i);
    for (int isa = THR_ISA_SCALAR; isa <= THR_ISA_LAST; isa++)
        for (int way = 0; way < THR_N_WAYS && thr_kernel_isa_has((thr_isa)isa); way++) {
            thr_query_group group;
            thr_code_query_group_make(&group, (thr_way)way, b->pointers, b->n_queries, memory);
            memset(distances, 0xee, n * sizeof *distances);
            thr_code_query_group_distances(&group, thr_kernels_get((thr_isa)isa), b->blocks, BLOCKS, distances, stride,
                                           scratch);
            for (uint32_t q = 0; q < b->n_queries; q++)
                for (size_t i = 0; i < stride; i++) {
                    const uint32_t got = distances[q * stride + i];
                    const bool right = i < ITEMS ? b->codes[q].total - 2 * (int32_t)got == products[q * ITEMS + i]
                                                 : got == UNTOUCHED || q + 1 == b->n_queries;
                    assert_case(right, "seed %llu: %u dims, %u x %u bits, %s, %s: query %u of %u, item %zu: %u",
                                (unsigned long long)test_seed(), b->n_dims, b->item_bits, b->query_bits,
                                thr_isa_name((thr_isa)isa), thr_way_name((thr_way)way), q, b->n_queries, i, got);
                }
        }
}

TEST(all_ways_give_the_integer_product_of_every_query_and_item) {
    uint64_t rng = test_seed();
    const uint32_t dims[] = {1, 7, 8, 9, 24, 31, 100, 257, 300};
    for (uint32_t item_bits = 1; item_bits <= THR_MAX_BITS; item_bits++)
        for (uint32_t query_bits = 1; query_bits <= THR_MAX_BITS; query_bits++)
            for (size_t i = 0; i < 3; i++) {
                batch b = {.n_dims = dims[thr_rng_below(&rng, COUNT_OF(dims))],
                           .item_bits = item_bits,
                           .query_bits = query_bits,
                           .n_queries = 1 + (uint32_t)thr_rng_below(&rng, MOST)};
                make_batch(&b, &rng);
                check_ways(&b);
            }
}

/* 32,768 dimensions of 8 x 8 bits: the largest distance and the largest product there are, by codes all 0 and all 1. */
TEST(the_largest_codes_do_not_overflow) {
    uint8_t *levels = test_new(thr_code_query_levels_size(THR_MAX_DIMS), 1);
    memset(levels, 0xff, THR_MAX_DIMS);
    const thr_query_code code = {.n_dims = THR_MAX_DIMS, .item_bits = 8, .query_bits = 8, .levels = levels};
    const thr_query_code *pointers[4] = {&code, &code, &code, &code};
    const size_t size = thr_block_size(THR_MAX_DIMS, 8);
    uint8_t *blocks = test_new(2 * size, 1);
    memset(blocks + size, 0xff, size);
    void *memory = test_new_aligned(thr_code_query_group_size(THR_MAX_DIMS, 4));
    for (int isa = THR_ISA_SCALAR; isa <= THR_ISA_LAST; isa++) {
        if (!thr_kernel_isa_has((thr_isa)isa))
            continue;
        thr_query_group group;
        uint32_t distances[4 * ITEMS];
        thr_code_query_group_make(&group, THR_WAY_TILE, pointers, 4, memory);
        thr_code_query_group_distances(&group, thr_kernels_get((thr_isa)isa), blocks, BLOCKS, distances, ITEMS, NULL);
        for (size_t i = 0; i < COUNT_OF(distances); i++)
            assert_int_equal(distances[i], i % ITEMS < 64 ? THR_MAX_DIMS * 255 * 255 : 0);
    }
}

/* A tile has the same content with and without the tables of the other ways. */
TEST(levels_alone_make_the_same_code) {
    enum { DIMS = 45 };
    uint64_t rng = test_seed();
    const thr_quantiser quantiser = {
        .n_dims = DIMS, .item_bits = 3, .ranges = {.5f, .5f, .5f, .5f, .5f, .5f, .5f, .5f}};
    float query[DIMS];
    test_gaussian(&rng, query, DIMS);
    for (uint32_t bits = 1; bits <= THR_MAX_BITS; bits++) {
        thr_query_code whole, part;
        uint8_t *levels = test_new_aligned(thr_code_query_levels_size(DIMS));
        void *memory = test_new_aligned(thr_code_query_size(DIMS));
        thr_code_query_make(&whole, &quantiser, 3, query, 6, bits, memory);
        thr_code_query_make_levels(&part, &quantiser, 3, query, 6, bits, levels);
        assert_memory_equal(whole.levels, part.levels, thr_code_query_levels_size(DIMS));
        assert_int_equal(whole.total, part.total);
        assert_true(whole.gain == part.gain);
    }
}
