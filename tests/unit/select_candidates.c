/* SPDX-License-Identifier: Apache-2.0 */
/* select_candidates.c - sorting, splitting and collecting against qsort, ties by the smaller row above all. */
#include "owned.h"

#include "naive.h"

static unsigned long long seed(void) {
    return (unsigned long long)test_seed();
}

/* ---------------------------------------------------------------------------------------- sort and split */

static void shuffle(thr_candidate *items, size_t n, uint64_t *rng) {
    for (size_t i = n; i > 1; i--) {
        const size_t j = (size_t)thr_rng_below(rng, i);
        const thr_candidate t = items[i - 1];
        items[i - 1] = items[j];
        items[j] = t;
    }
}

static void fill(thr_candidate *items, size_t n, float (*score)(size_t i, size_t n, uint64_t *rng), uint64_t *rng) {
    for (size_t i = 0; i < n; i++)
        items[i] = (thr_candidate){.row = i, .score = score(i, n, rng)};
}

static float random_score(size_t i, size_t n, uint64_t *rng) {
    (void)i, (void)n;
    return test_normal(rng);
}
static float few_score(size_t i, size_t n, uint64_t *rng) {
    (void)i, (void)n;
    return (float)thr_rng_below(rng, 3);
}
static float equal_score(size_t i, size_t n, uint64_t *rng) {
    (void)i, (void)n, (void)rng;
    return 5;
}
static float falling_score(size_t i, size_t n, uint64_t *rng) {
    (void)rng;
    return (float)(n - i);
}
static float rising_score(size_t i, size_t n, uint64_t *rng) {
    (void)n, (void)rng;
    return (float)i;
}
/* The middle is the extreme: the median of first, middle and last is the worst pivot, again and again. */
static float pipe_score(size_t i, size_t n, uint64_t *rng) {
    (void)rng;
    return (float)(i < n / 2 ? i : n - i);
}
static float saw_score(size_t i, size_t n, uint64_t *rng) {
    (void)n, (void)rng;
    return (float)(i % 17);
}
static float infinite_score(size_t i, size_t n, uint64_t *rng) {
    (void)i, (void)n;
    const float values[] = {-INFINITY, INFINITY, 0, -0.0f};
    return values[thr_rng_below(rng, 4)];
}

static float (*const scores[])(size_t, size_t, uint64_t *) = {random_score, few_score,  equal_score, falling_score,
                                                              rising_score, pipe_score, saw_score,   infinite_score};
enum { N_SCORES = COUNT_OF(scores) };

static void check_sort_and_split(size_t pattern, bool shuffled, size_t n, uint64_t *rng) {
    const size_t bytes = n * sizeof(thr_candidate);
    thr_candidate *items = test_new(n, sizeof *items), *wanted = test_new(n, sizeof *items);
    thr_candidate *work = test_new(n, sizeof *items);
    fill(items, n, scores[pattern], rng);
    if (shuffled)
        shuffle(items, n, rng);
    memcpy(wanted, items, bytes);
    qsort(wanted, n, sizeof *wanted, test_candidate_order);
    memcpy(work, items, bytes);
    thr_select_candidates_sort(work, n);
    for (size_t i = 0; i < n; i++)
        assert_case(work[i].row == wanted[i].row, "seed %llu: sort of pattern %zu, %zu items: place %zu", seed(),
                    pattern, n, i);
    for (int round = 0; round < 6; round++) {
        const size_t first = round == 0 ? 0 : round == 1 ? n : (size_t)thr_rng_below(rng, n + 1);
        memcpy(work, items, bytes);
        thr_select_candidates_split(work, n, first);
        qsort(work, first, sizeof *work, test_candidate_order);
        qsort(work + first, n - first, sizeof *work, test_candidate_order);
        for (size_t i = 0; i < n; i++)
            assert_case(work[i].row == wanted[i].row, "seed %llu: split of pattern %zu, %zu items at %zu: place %zu",
                        seed(), pattern, n, first, i);
    }
}

TEST(sort_and_split_agree_with_qsort_for_all_patterns) {
    uint64_t rng = test_seed();
    for (size_t pattern = 0; pattern < N_SCORES; pattern++)
        for (int shuffled = 0; shuffled < 2; shuffled++) {
            for (size_t n = 0; n < 70; n++)
                check_sort_and_split(pattern, shuffled != 0, n, &rng);
            check_sort_and_split(pattern, shuffled != 0, 1000, &rng);
            check_sort_and_split(pattern, shuffled != 0, 20011, &rng);
        }
}

/* Quadratic behaviour would take minutes here. */
TEST(large_hostile_inputs_stay_fast) {
    uint64_t rng = test_seed();
    enum { N = 300000 };
    thr_candidate *items = test_new(N, sizeof *items);
    for (size_t pattern = 0; pattern < N_SCORES; pattern++) {
        fill(items, N, scores[pattern], &rng);
        thr_select_candidates_split(items, N, N / 3);
        fill(items, N, scores[pattern], &rng);
        thr_select_candidates_sort(items, N);
        for (size_t i = 1; i < N; i++)
            assert_true(thr_candidate_before(items[i - 1], items[i]));
    }
}

/* ---------------------------------------------------------------------------------------- collector */

/* What a collector must hold at the end: of all rows that reach the first threshold, the wanted best. */
static size_t model(thr_candidate *items, size_t n, size_t wanted, float threshold) {
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (items[i].score >= threshold)
            items[kept++] = items[i];
    qsort(items, kept, sizeof *items, test_candidate_order);
    return kept < wanted ? kept : wanted;
}

typedef struct stream {
    size_t n_blocks;
    float *scores;   /* 64 a block */
    uint64_t *masks; /* rows that exist */
    size_t *order;   /* in which blocks come */
} stream;

static stream make_stream(uint64_t *rng, size_t n_blocks, size_t pattern) {
    stream s = {n_blocks, test_new(n_blocks * 64, sizeof(float)), test_new(n_blocks, sizeof(uint64_t)),
                test_new(n_blocks, sizeof(size_t))};
    for (size_t i = 0; i < n_blocks * 64; i++)
        s.scores[i] = scores[pattern](i, n_blocks * 64, rng);
    for (size_t b = 0; b < n_blocks; b++) {
        s.masks[b] = thr_rng_below(rng, 4) == 0 ? thr_rng_next(rng) : ~UINT64_C(0);
        s.order[b] = b;
    }
    for (size_t i = n_blocks; i > 1; i--) {
        const size_t j = (size_t)thr_rng_below(rng, i), t = s.order[i - 1];
        s.order[i - 1] = s.order[j];
        s.order[j] = t;
    }
    return s;
}

static size_t stream_rows(const stream *s, thr_candidate *items) {
    size_t n = 0;
    for (size_t i = 0; i < s->n_blocks * 64; i++)
        if ((s->masks[i / 64] >> i % 64 & 1) != 0)
            items[n++] = (thr_candidate){.row = i, .score = s->scores[i]};
    return n;
}

/* Blocks are dealt to several collectors, which are merged: one of them is an ordinary stream. */
static void check_collector(thr_context *context, thr_collector collectors[], size_t n_collectors, const stream *s,
                            size_t wanted, float threshold, uint64_t *rng) {
    thr_candidate *items = test_new(s->n_blocks * 64, sizeof *items);
    const size_t n = model(items, stream_rows(s, items), wanted, threshold);
    for (size_t c = 0; c < n_collectors; c++)
        expect_ok(thr_select_collector_start(&collectors[c], context, wanted, threshold, &err));
    for (size_t i = 0; i < s->n_blocks; i++) {
        const size_t block = s->order[i];
        thr_collector *collector = &collectors[thr_rng_below(rng, n_collectors)];
        thr_select_collector_push_block(collector, 64 * block, s->masks[block], s->scores + 64 * block, NULL);
    }
    for (size_t c = 1; c < n_collectors; c++)
        thr_select_collector_merge(&collectors[0], &collectors[c]);
    thr_select_collector_finish(&collectors[0]);
    assert_case(collectors[0].n == n, "seed %llu: %zu blocks, wanted %zu, threshold %g: %zu, not %zu", seed(),
                s->n_blocks, wanted, (double)threshold, collectors[0].n, n);
    qsort(collectors[0].items, n, sizeof *items, test_candidate_order);
    for (size_t i = 0; i < n; i++)
        assert_case(collectors[0].items[i].row == items[i].row && collectors[0].items[i].score == items[i].score,
                    "seed %llu: %zu blocks, wanted %zu, threshold %g: place %zu is row %llu, not %llu", seed(),
                    s->n_blocks, wanted, (double)threshold, i, (unsigned long long)collectors[0].items[i].row,
                    (unsigned long long)items[i].row);
}

TEST(a_collector_keeps_what_the_model_keeps) {
    uint64_t rng = test_seed();
    test_memory memory = {0};
    OWNED(thr_context, context) = test_context(1, THR_ISA_SCALAR, &memory);
    const size_t live = memory.live;
    const size_t sizes[] = {1, 2, 5, 40};
    thr_collector collectors[3] = {{0}};
    for (size_t pattern = 0; pattern < N_SCORES; pattern++)
        for (size_t i = 0; i < COUNT_OF(sizes); i++) {
            const size_t n = sizes[i] * 64;
            const size_t wanteds[] = {1, 2, 10, 63, 64, 65, 100, n / 2, n - 1, n, n + 1, 10 * n};
            for (size_t w = 0; w < COUNT_OF(wanteds); w++) {
                stream s = make_stream(&rng, sizes[i], pattern);
                for (size_t n_collectors = 1; n_collectors <= 3; n_collectors += 2) {
                    check_collector(context, collectors, n_collectors, &s, wanteds[w], -INFINITY, &rng);
                    check_collector(context, collectors, n_collectors, &s, wanteds[w], 1, &rng);
                }
            }
        }
    for (size_t c = 0; c < 3; c++)
        thr_select_collector_free(&collectors[c]);
    assert_int_equal(memory.live, live);
}

/* Every number of wanted rows among many ties, in any order of arrival: the smaller rows win. */
TEST(ties_go_to_the_smaller_rows_in_any_order_of_arrival) {
    uint64_t rng = test_seed();
    OWNED(thr_context, context) = test_context(1, THR_ISA_SCALAR, NULL);
    thr_collector collector = {0};
    for (size_t wanted = 1; wanted <= 640; wanted++) {
        stream s = make_stream(&rng, 10, wanted % 2 == 0 ? 1 : 2);
        check_collector(context, &collector, 1, &s, wanted, -INFINITY, &rng);
    }
    thr_select_collector_free(&collector);
}

TEST(a_threshold_rises_but_never_loses_an_equal_score) {
    OWNED(thr_context, context) = test_context(1, THR_ISA_SCALAR, NULL);
    thr_collector collector = {0};
    float block[64];
    expect_ok(thr_select_collector_start(&collector, context, 3, -INFINITY, &err));
    for (uint64_t b = 100; b-- > 0;) {
        for (size_t i = 0; i < 64; i++)
            block[i] = 7;
        const float before = collector.threshold;
        thr_select_collector_push_block(&collector, 64 * b, ~UINT64_C(0), block, NULL);
        assert_true(collector.threshold >= before && collector.threshold <= 7);
    }
    thr_select_collector_finish(&collector);
    thr_select_candidates_sort(collector.items, collector.n);
    assert_int_equal(collector.n, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(collector.items[i].row, i);
    thr_select_collector_free(&collector);
}

TEST(of_equal_rows_that_ascend_only_the_first_are_collected) {
    enum { WANTED = 100, BLOCKS = 20000 };
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    thr_collector collector = {.context = NULL};
    float block_scores[64];
    size_t n_pushed = 0;
    for (size_t i = 0; i < 64; i++)
        block_scores[i] = 0.5f;
    expect_ok(thr_select_collector_start(&collector, context, WANTED, -INFINITY, &err));
    collector.ascending = true;
    for (uint64_t block = 0; block < BLOCKS; block++) {
        const size_t n = collector.n;
        thr_select_collector_push_block(&collector, block * 64, ~UINT64_C(0), block_scores, NULL);
        n_pushed += collector.n > n ? collector.n - n : 0;
    }
    assert_true(n_pushed <= collector.capacity);
    assert_true(collector.threshold > 0.5f && collector.threshold < 0.51f);
    thr_select_collector_finish(&collector);
    thr_select_candidates_sort(collector.items, collector.n);
    assert_int_equal(collector.n, WANTED);
    for (size_t i = 0; i < WANTED; i++)
        assert_int_equal(collector.items[i].row, i);
    thr_select_collector_free(&collector);
}

TEST(a_second_stream_of_the_same_size_allocates_nothing) {
    uint64_t rng = test_seed();
    test_memory memory = {0};
    thr_context *context = test_context(1, THR_ISA_SCALAR, &memory);
    thr_collector collector = {0};
    stream s = make_stream(&rng, 50, 0);
    check_collector(context, &collector, 1, &s, 100, -INFINITY, &rng);
    const size_t calls = memory.calls;
    check_collector(context, &collector, 1, &s, 100, -INFINITY, &rng);
    check_collector(context, &collector, 1, &s, 7, -INFINITY, &rng);
    assert_int_equal(memory.calls, calls);
    thr_select_collector_free(&collector);
    thr_select_collector_free(&collector);
    thr_context_free(context);
    assert_int_equal(memory.live, 0);
}

TEST(without_memory_a_stream_does_not_begin) {
    test_memory memory = {0};
    thr_context *context = test_context(1, THR_ISA_SCALAR, &memory);
    thr_collector collector = {0};
    memory.fail_at = memory.calls + 1;
    expect_error(thr_select_collector_start(&collector, context, 10, -INFINITY, &err), THR_ENOMEM, "candidates");
    expect_error(thr_select_collector_start(&collector, context, SIZE_MAX, -INFINITY, &err), THR_ENOMEM, "candidates");
    thr_select_collector_free(&collector);
    thr_context_free(context);
    assert_int_equal(memory.live, 0);
}
