/* SPDX-License-Identifier: Apache-2.0 */
/*
 * select_sampled_threshold.c - a sampled threshold is reached by the wanted number nearly always, and not by many more.
 */
#include "test.h"

#include "select/sampled_threshold.h"

enum { N_ALL = 100000, N_SAMPLE = 8192, TRIALS = 200 };

static size_t count_reaching(const float *scores, size_t n, float threshold) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += scores[i] >= threshold;
    return count;
}

TEST(the_wanted_number_reaches_it_in_nearly_all_trials) {
    const uint64_t wanteds[] = {1, 10, 100, 1000, 10000, 40000};
    uint64_t rng = test_seed();
    float *scores = test_new(N_ALL, sizeof *scores), *sample = test_new(N_SAMPLE, sizeof *sample);
    test_gaussian(&rng, scores, N_ALL);
    for (size_t w = 0; w < COUNT_OF(wanteds); w++) {
        size_t failures = 0, survivors = 0;
        for (int trial = 0; trial < TRIALS; trial++) {
            for (size_t i = 0; i < N_SAMPLE; i++)
                sample[i] = scores[thr_rng_below(&rng, N_ALL)];
            const float threshold = thr_select_sampled_threshold(sample, N_SAMPLE, N_ALL, wanteds[w]);
            const size_t n = count_reaching(scores, N_ALL, threshold);
            failures += n < wanteds[w];
            survivors += n;
        }
        /* Four standard deviations: 1 in 30,000 by the normal law. */
        assert_case(failures <= 1, "seed %llu: %llu wanted: too few in %zu of %d trials",
                    (unsigned long long)test_seed(), (unsigned long long)wanteds[w], failures, TRIALS);
        /*
         * The rank of the sample is e + 4 sqrt(e) + 4; each represents N_ALL / N_SAMPLE scores. Twice that is too many.
         */
        const double expected = (double)wanteds[w] * N_SAMPLE / N_ALL;
        const double most = 2 * (expected + 4 * sqrt(expected) + 5) * N_ALL / N_SAMPLE;
        assert_case((double)survivors / TRIALS <= most, "seed %llu: %llu wanted: %.0f survive on average, over %.0f",
                    (unsigned long long)test_seed(), (unsigned long long)wanteds[w], (double)survivors / TRIALS, most);
    }
}

/* Whatever the scores are, at least the raised rank of the sample itself reaches the threshold. */
TEST(the_rank_of_the_sample_reaches_it_for_any_distribution) {
    uint64_t rng = test_seed();
    float sample[500];
    for (int shape = 0; shape < 8; shape++)
        for (int trial = 0; trial < 50; trial++) {
            for (size_t i = 0; i < 500; i++) {
                const float x = test_normal(&rng);
                const float shapes[] = {x,
                                        floorf(2 * x),
                                        expf(5 * x),
                                        -expf(8 * x),
                                        i == 7 ? 1e30f : x,
                                        i == 7 ? -1e30f : x,
                                        1e6f + x * 1e-3f,
                                        x * 1e-40f};
                sample[i] = shapes[shape];
            }
            const uint64_t wanted = 1 + thr_rng_below(&rng, 4000);
            const float threshold = thr_select_sampled_threshold(sample, 500, 10000, wanted);
            const double expected = (double)wanted / 20;
            const double rank = fmin(500, ceil(expected + 4 * sqrt(expected) + 4));
            assert_case((double)count_reaching(sample, 500, threshold) >= rank,
                        "seed %llu: shape %d, %llu wanted: %zu reach %g, not %g", (unsigned long long)test_seed(),
                        shape, (unsigned long long)wanted, count_reaching(sample, 500, threshold), (double)threshold,
                        rank);
        }
}

TEST(places_are_in_the_middle_of_their_parts) {
    const uint64_t ns[] = {1, 2, 31, 625, UINT64_C(1) << 40};
    for (size_t j = 0; j < COUNT_OF(ns); j++)
        for (uint64_t n_sampled = 1; n_sampled <= 256 && n_sampled <= ns[j]; n_sampled++)
            for (uint64_t i = 0; i < n_sampled; i++) {
                const uint64_t place = thr_select_sample_place(i, n_sampled, ns[j]);
                assert_true(place >= i * ns[j] / n_sampled && place < ((i + 1) * ns[j] + n_sampled - 1) / n_sampled);
                assert_true(i == 0 || place > thr_select_sample_place(i - 1, n_sampled, ns[j]));
                assert_true(place < ns[j]);
            }
    assert_int_equal(thr_select_sample_place(0, 19, 625), 16);
    assert_int_equal(thr_select_sample_place(18, 19, 625), 608);
}

/* Words in order of frequency: the first block has scores that no other has. */
TEST(the_wanted_number_reaches_it_where_the_first_are_the_best) {
    enum { BLOCK = 64, N_BLOCKS = 625, N_SAMPLED = 19, WANTED = 292 };
    uint64_t rng = test_seed();
    float *scores = test_new((size_t)N_BLOCKS * BLOCK, sizeof *scores), sample[N_SAMPLED * BLOCK];
    size_t failures = 0;
    for (int trial = 0; trial < TRIALS; trial++) {
        test_gaussian(&rng, scores, (size_t)N_BLOCKS * BLOCK);
        for (size_t i = 0; i < BLOCK; i++)
            scores[i] += 5;
        for (size_t i = 0; i < N_SAMPLED * BLOCK; i++)
            sample[i] = scores[thr_select_sample_place(i / BLOCK, N_SAMPLED, N_BLOCKS) * BLOCK + i % BLOCK];
        const float threshold = thr_select_sampled_threshold(sample, N_SAMPLED * BLOCK, N_BLOCKS * BLOCK, WANTED);
        failures += count_reaching(scores, (size_t)N_BLOCKS * BLOCK, threshold) < WANTED;
    }
    assert_case(failures <= 1, "seed %llu: too few in %zu of %d trials", (unsigned long long)test_seed(), failures,
                TRIALS);
}

TEST(a_sample_too_small_to_tell_gives_minus_infinity) {
    float sample[100];
    for (size_t i = 0; i < 100; i++)
        sample[i] = (float)i;
    assert_true(thr_select_sampled_threshold(NULL, 0, 1000, 10) == -INFINITY);
    assert_true(thr_select_sampled_threshold(sample, 100, 1000, 1000) == -INFINITY);
    assert_true(thr_select_sampled_threshold(sample, 100, 1000, 2000) == -INFINITY);
    assert_true(thr_select_sampled_threshold(sample, 5, 1000, 1) == -INFINITY);     /* rank 5 of 5 */
    assert_true(thr_select_sampled_threshold(sample, 100, 1000, 990) == -INFINITY); /* rank past the sample */
    assert_true(thr_select_sampled_threshold(sample, 100, 1000, 100) > 0);
}

TEST(equal_and_infinite_scores_are_no_trouble) {
    float sample[1000];
    for (size_t i = 0; i < 1000; i++)
        sample[i] = -3.5f;
    assert_true(thr_select_sampled_threshold(sample, 1000, 100000, 100) == -3.5f);
    sample[17] = INFINITY;
    assert_true(thr_select_sampled_threshold(sample, 1000, 100000, 100) == -3.5f);
    sample[18] = -INFINITY;
    assert_true(thr_select_sampled_threshold(sample, 1000, 100000, 100) == -INFINITY);
    for (size_t i = 0; i < 1000; i++)
        sample[i] = i % 2 == 0 ? 3e38f : -3e38f; /* the difference overflows */
    assert_true(thr_select_sampled_threshold(sample, 1000, 100000, 100) <= -3e38f);
}
