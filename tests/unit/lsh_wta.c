/* SPDX-License-Identifier: Apache-2.0 */
/* lsh_wta.c - winner-take-all hashes are those of the definition, worked by hand and by a naive model. */
#include "test.h"

#include "lsh/wta.h"

/* Table 5's vector and permutations, dimensions counted from 0. The copy at hand has no codes: these are by hand. */
static const float VECTOR[] = {0.32F, 0.48F, -0.57F, 0.63F};
static const uint32_t PERMUTATIONS[4][4] = {{0, 1, 3, 2}, {0, 2, 1, 3}, {2, 1, 3, 0}, {3, 0, 1, 2}};

TEST(table_5_has_its_codes) {
    /* Of the first two components .32 .48, .32 -.57, -.57 .48, .63 .32 the largest are numbers 1, 0, 1, 0. */
    static const uint32_t pairs[] = {1, 0, 1, 0}, packed[] = {2, 2}, all_bits[] = {10};
    /* Of the first three .32 .48 .63, .32 -.57 .48, -.57 .48 .63, .63 .32 .48: 2, 2, 2, 0; of all four 2, 3, 2, 0. */
    static const uint32_t triples[] = {2 << 2 | 2, 2 << 2 | 0}, fours[] = {2 << 6 | 3 << 4 | 2 << 2 | 0};
    static const struct {
        uint32_t k, u, n_bands;
        const uint32_t *codes;
    } CASES[] = {{2, 1, 4, pairs}, {2, 2, 2, packed}, {2, 4, 1, all_bits}, {3, 2, 2, triples}, {4, 4, 1, fours}};
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        uint32_t permutations[16], codes[4];
        thr_wta wta;
        for (uint32_t p = 0; p < 4; p++)
            for (uint32_t j = 0; j < CASES[i].k; j++)
                permutations[p * CASES[i].k + j] = PERMUTATIONS[p][j];
        const thr_wta_shape shape = {
            .n_dims = 4, .n_places = CASES[i].k, .n_bands = CASES[i].n_bands, .n_hashes = CASES[i].u};
        expect_ok(thr_lsh_wta_make(*state, &shape, permutations, &wta, &err));
        thr_lsh_wta_hash(&wta, VECTOR, codes);
        assert_memory_equal(codes, CASES[i].codes, CASES[i].n_bands * sizeof *codes);
        thr_lsh_wta_free(*state, &wta);
    }
}

/* By the definition, hash by hash. */
static uint32_t naive_code(const thr_wta *wta, const float *x, uint32_t band) {
    const uint32_t k = wta->shape.n_places, u = wta->shape.n_hashes;
    uint32_t code = 0;
    for (uint32_t h = 0; h < u; h++) {
        const uint32_t p = band * u + h;
        uint32_t winner = 0;
        float best = -INFINITY;
        for (uint32_t j = 0; j < k; j++) {
            const float now = x[wta->places[((size_t)(p / 16) * k + j) * 16 + p % 16]];
            if (now > best) {
                best = now;
                winner = j;
            }
        }
        code = code * (1u << wta->bits) + winner;
    }
    return code;
}

RANDOM_TEST(hashes_are_the_naive_ones) {
    static const thr_wta_shape SHAPES[] = {{2, 2, 1, 1, 1},   {5, 5, 7, 3, 2},      {64, 16, 40, 2, 3},
                                           {33, 8, 17, 0, 4}, {500, 16, 100, 0, 5}, {100, 100, 3, 4, 6}};
    for (size_t s = 0; s < COUNT_OF(SHAPES); s++) {
        float x[500];
        uint32_t codes[100], scaled[100];
        thr_wta wta;
        expect_ok(thr_lsh_wta_make(*state, &SHAPES[s], NULL, &wta, &err));
        for (int round = 0; round < 20; round++) {
            test_gaussian(&rng, x, SHAPES[s].n_dims);
            if (round % 2 == 1) /* many equal ones */
                for (uint32_t d = 0; d < SHAPES[s].n_dims; d++)
                    x[d] = (float)(int)(x[d] * 2);
            thr_lsh_wta_hash(&wta, x, codes);
            for (uint32_t band = 0; band < SHAPES[s].n_bands; band++)
                assert_case(codes[band] == naive_code(&wta, x, band), "seed %llu, shape %zu, band %u: %u",
                            (unsigned long long)test_seed(), s, band, codes[band]);
            for (uint32_t d = 0; d < SHAPES[s].n_dims; d++)
                x[d] *= 4;
            thr_lsh_wta_hash(&wta, x, scaled);
            assert_memory_equal(codes, scaled, SHAPES[s].n_bands * sizeof *codes);
        }
        thr_lsh_wta_free(*state, &wta);
    }
}

TEST(permutations_are_the_seeds_and_have_each_dimension_once) {
    thr_wta_shape shape = {.n_dims = 24, .n_places = 16, .n_bands = 30, .n_hashes = 3, .seed = test_seed()};
    thr_wta a, b, c;
    uint32_t seen[24] = {0};
    expect_ok(thr_lsh_wta_make(*state, &shape, NULL, &a, &err));
    expect_ok(thr_lsh_wta_make(*state, &shape, NULL, &b, &err));
    shape.seed++;
    expect_ok(thr_lsh_wta_make(*state, &shape, NULL, &c, &err));
    bool differ = false;
    for (uint32_t p = 0; p < 90; p++) {
        uint32_t dims = 0;
        for (uint32_t j = 0; j < 16; j++) {
            const size_t at = ((size_t)(p / 16) * 16 + j) * 16 + p % 16;
            assert_int_equal(a.places[at], b.places[at]);
            differ = differ || a.places[at] != c.places[at];
            assert_true(a.places[at] < 24 && (dims >> a.places[at] & 1) == 0);
            dims |= 1u << a.places[at];
            seen[a.places[at]]++;
        }
    }
    assert_true(differ);
    for (uint32_t d = 0; d < 24; d++) /* 60 expected, 4.5 the deviation */
        assert_true(seen[d] > 25 && seen[d] < 90);
    thr_lsh_wta_free(*state, &a);
    thr_lsh_wta_free(*state, &b);
    thr_lsh_wta_free(*state, &c);
}

TEST(wrong_shapes_are_refused) {
    static const struct {
        thr_wta_shape shape;
        const char *text;
    } CASES[] = {{{8, 1, 4, 1, 0}, "hashes of 1 components: choose 2 to 8"},
                 {{8, 9, 4, 1, 0}, "hashes of 9 components: choose 2 to 8"},
                 {{8, 8, 0, 1, 0}, "0 bands of hashes"},
                 {{8, 8, 65537, 1, 0}, "65537 bands"},
                 {{8, 8, 4, 11, 0}, "11 hashes of 3 bits in a band: its 32 bits hold 10"},
                 {{8, 2, 65536, 32, 0}, "65536 bands of 32 hashes are too many permutations"},
                 {{1000, 1000, 6000, 3, 0}, "6000 bands of 3 hashes of 1000 components are 18000000 components"}};
    static const uint32_t permutation[] = {0, 8};
    thr_wta wta;
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        expect_error(thr_lsh_wta_make(*state, &CASES[i].shape, NULL, &wta, &err), THR_EINVAL, CASES[i].text);
        thr_lsh_wta_free(*state, &wta);
    }
    const thr_wta_shape shape = {8, 2, 1, 1, 0};
    expect_error(thr_lsh_wta_make(*state, &shape, permutation, &wta, &err), THR_EINVAL,
                 "permutation 0 has dimension 8 of 8");
    thr_lsh_wta_free(*state, &wta);
    assert_int_equal(thr_lsh_wta_bits(2), 1);
    assert_int_equal(thr_lsh_wta_bits(3), 2);
    assert_int_equal(thr_lsh_wta_bits(16), 4);
    assert_int_equal(thr_lsh_wta_bits(17), 5);
    assert_int_equal(thr_lsh_wta_bits(65536), 16);
}

TEST_IN_CONTEXT(1, NULL)
