/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_origins.c - searches of indexes whose codes are relative to their cells' centroids, of all kinds and in every
 * way, against scores of the kept vectors in double.
 */
#include "index_hits_support.h"
#include "index_origins_support.h"

static const char DIR_A[] = "index-origins", DIR_B[] = "index-no-origins";

TEST(searches_of_all_kinds_are_right) {
    size_t n_certified = 0, n_centred = 0;
    for (size_t i = 0; i < N_KINDS; i++) {
        const kind *k = &KINDS[i];
        float *rows = make_rows(k, k->n, 1), *queries = mixed_queries(k, CHECKED);
        memset(rows + (size_t)7 * k->n_dims, 0, k->n_dims * sizeof *rows);
        memcpy(rows + (size_t)9 * k->n_dims, rows + (size_t)8 * k->n_dims, k->n_dims * sizeof *rows);
        OWNED(thr_index, index) = build_kind(*state, DIR_A, k, rows);
        truth t = read_truth(index, k, NULL, k->n);
        for (uint64_t r = 0; r < k->n * k->n_dims && k->keep == THR_DTYPE_F32; r++)
            assert_true(t.vectors[r] == rows[r]);
        n_certified += check_searches(index, &t, queries);
        n_centred += thr_index_get_info(index).centred;
    }
    print_message("%zu answers certified, %zu of %d kinds centred\n", n_certified, n_centred, N_KINDS);
    assert_true(n_certified > 100 && n_centred > 2 && n_centred < N_KINDS);
}

/* ------------------------------------------------------------------------------------------------ recall */

enum { QUERIES = 240, LARGE = 20000, LARGE_KINDS = 6 };

static const kind LARGES[LARGE_KINDS] = {
    {THR_METRIC_COSINE, THR_DTYPE_F32, 32, 3, 1, 140, LARGE, 0, true, false, false},
    {THR_METRIC_COSINE, THR_DTYPE_I8, 24, 2, 1, 100, LARGE, 8192, false, false, true},
    {THR_METRIC_IP, THR_DTYPE_F16, 32, 3, 1, 140, LARGE, 0, true, true, false},
    {THR_METRIC_IP, THR_DTYPE_F32, 24, 4, 4, 60, LARGE, 0, false, false, true},
    {THR_METRIC_L2, THR_DTYPE_F32, 32, 3, 1, 140, LARGE, 8192, true, true, false},
    {THR_METRIC_L2, THR_DTYPE_F16, 24, 2, 2, 200, LARGE, 0, false, false, false}};

/* A filter of one row in a hundred, or of runs of 500 rows. */
static uint64_t *make_filter(uint64_t n_rows, bool runs) {
    uint64_t *filter = test_new((size_t)n_rows / 64 + 1, sizeof *filter), rng = 3;
    for (uint64_t row = 0; row < n_rows; row++)
        filter[row / 64] |= (uint64_t)(runs ? row / 500 % 4 == 1 : thr_rng_below(&rng, 100) == 0) << row % 64;
    return filter;
}

static void expect_allowed(const thr_index *index, const answer *found, const uint64_t *filter) {
    for (uint64_t i = 0; i < found->n_queries * found->k; i++) {
        uint64_t row = 0;
        assert_true(found->ids[i] != THR_NO_ID && thr_index_row(index, found->ids[i], &row));
        assert_true((filter[row / 64] >> row % 64 & 1) != 0);
    }
}

/* Search all cells, as searches do that cannot skip any. */
static void scan_all(thr_index *index, const kind *k, const float *queries, thr_search_options options,
                     const answer *out) {
    const thr_matrix matrix = thr_matrix_f32(queries, out->n_queries, k->n_dims);
    const thr_answers answers = {.k = out->k, .ids = out->ids, .scores = out->scores, .certified = out->certified};
    thr_search_memory *memory = NULL;
    options.certified = out->certified;
    thr_index_resolve_recall(index, out->k, &options);
    expect_ok(thr_index_memory_take(index, &memory, &err));
    expect_ok(thr_scan_search(memory->scan, &index->corpus, &matrix, &options, &answers, &err));
    thr_index_memory_return(index, memory);
    thr_index_rows_to_ids(index, out->ids, (size_t)(out->n_queries * out->k));
}

/* The mean recall of 240 queries has a standard error of about .007; three of them may be missing. */
static void check_recall(thr_index *index, const kind *k, query_kind of, const float *queries, uint64_t *filter,
                         answer *exact, answer *found) {
    thr_search_options options = default_options();
    options.filter = filter;
    options.filter_bits = filter == NULL ? 0 : thr_index_n_rows(index);
    options.exact = true;
    search(index, k, queries, options, exact);
    options.exact = false;
    for (int high = 0; high < 2; high++) {
        options.recall = high ? 0.99f : 0.9f;
        for (int all = 0; all < 2; all++) {
            if (all)
                scan_all(index, k, queries, options, found);
            else
                search(index, k, queries, options, found);
            (void)expect_certified_exact(exact, found, QUERY_NAMES[of]);
            const double recall = recall_of(exact, found);
            assert_case(recall >= (high ? 0.98 : 0.88), "%s, %u of %u bits, %s%s%s: recall %g",
                        thr_metric_name(k->metric), k->lead, k->bits, QUERY_NAMES[of], all ? ", all cells" : "",
                        filter == NULL ? "" : ", filtered", recall);
        }
        if (filter != NULL)
            expect_allowed(index, found, filter);
    }
}

TEST(every_kind_of_query_gets_its_recall) {
    answer exact = answer_make(QUERIES, K), found = answer_make(QUERIES, K);
    for (size_t i = 0; i < LARGE_KINDS; i += EACH) {
        const kind *k = &LARGES[i];
        float *rows = make_rows(k, k->n, 1);
        OWNED(thr_index, index) = build_kind(*state, DIR_A, k, rows);
        uint64_t *sparse = make_filter(thr_index_n_rows(index), false),
                 *runs = make_filter(thr_index_n_rows(index), true);
        for (query_kind of = HELD_OUT; of < QUERY_KINDS; of++) {
            float *queries = make_queries(k, of, QUERIES);
            check_recall(index, k, of, queries, NULL, &exact, &found);
            check_recall(index, k, of, queries, sparse, &exact, &found);
            check_recall(index, k, of, queries, runs, &exact, &found);
        }
    }
}

/* The allowed items of an index. Frees with free_truth. */
static truth allowed_of(const thr_index *index, const truth *all, const uint64_t *filter) {
    const uint32_t n_dims = all->kind->n_dims;
    truth t = {all->kind, 0, test_new(all->n, sizeof *t.ids), test_new(all->n * n_dims, sizeof *t.vectors),
               test_new(all->n, sizeof *t.scores)};
    for (uint64_t id = 0; id < all->n; id++) {
        uint64_t row = 0;
        assert_true(thr_index_row(index, id, &row));
        if ((filter[row / 64] >> row % 64 & 1) == 0)
            continue;
        memcpy(t.vectors + t.n * n_dims, all->vectors + id * n_dims, n_dims * sizeof *t.vectors);
        t.ids[t.n++] = id;
    }
    return t;
}

static void check_filtered(thr_index *index, truth *t, const float *queries, const uint64_t *filter) {
    thr_search_options options = default_options();
    answer exact = answer_make(CHECKED, K), found = answer_make(CHECKED, K);
    options.filter = filter;
    options.filter_bits = thr_index_n_rows(index);
    options.exact = true;
    search(index, t->kind, queries, options, &exact);
    expect_scores(t, queries, &exact, true, "filtered");
    options.exact = false;
    options.n_survivors = options.n_candidates = t->kind->n;
    search(index, t->kind, queries, options, &found);
    assert_true(same_answer(&exact, &found));
    options.n_survivors = options.n_candidates = 0;
    search(index, t->kind, queries, options, &found);
    expect_scores(t, queries, &found, false, "filtered");
    (void)expect_certified_exact(&exact, &found, "filtered");
    assert_true(recall_of(&exact, &found) >= 0.95);
}

/* Filtered answers are the best of the allowed rows, by every way that is exact. */
TEST(filtered_searches_are_right) {
    for (size_t i = 0; i < N_KINDS; i += EACH) {
        const kind *k = &KINDS[i];
        float *rows = make_rows(k, k->n, 1), *queries = mixed_queries(k, CHECKED);
        OWNED(thr_index, index) = build_kind(*state, DIR_A, k, rows);
        truth all = read_truth(index, k, NULL, k->n);
        for (int runs = 0; runs < 2; runs++) {
            uint64_t *filter = make_filter(thr_index_n_rows(index), runs == 1);
            truth t = allowed_of(index, &all, filter);
            check_filtered(index, &t, queries, filter);
        }
    }
}

/* ------------------------------------------------------------------------------------------------ the same bits */

enum { BATCH = 64 };

static void search_in_batches(thr_index *index, const kind *k, const float *queries, thr_search_options options,
                              uint64_t batch, const answer *out) {
    for (uint64_t q = 0; q < out->n_queries; q += batch) {
        const answer some = {batch, out->k, out->ids + q * out->k, out->scores + q * out->k, out->certified + q};
        search(index, k, queries + q * k->n_dims, options, &some);
    }
}

static void expect_same_radius(thr_index *a, thr_index *b, const kind *k, const float *queries, float least) {
    thr_radius_result *x = NULL, *y = NULL;
    const thr_matrix matrix = thr_matrix_f32(queries, BATCH, k->n_dims);
    expect_ok(thr_index_search_radius(a, &matrix, least, NULL, &x, &err));
    expect_ok(thr_index_search_radius(b, &matrix, least, NULL, &y, &err));
    assert_memory_equal(x->offsets, y->offsets, (BATCH + 1) * sizeof *x->offsets);
    assert_memory_equal(x->ids, y->ids, (size_t)x->offsets[BATCH] * sizeof *x->ids);
    assert_memory_equal(x->scores, y->scores, (size_t)x->offsets[BATCH] * sizeof *x->scores);
    thr_radius_result_free(x);
    thr_radius_result_free(y);
}

/* Single queries, batches, threads and levels of CPUs: the same answers, and the same certificates. */
TEST(answers_have_the_same_bits_everywhere) {
    thr_context *contexts[] = {test_context(1, THR_ISA_BEST, NULL), test_context(1, THR_ISA_SCALAR, NULL),
                               test_context(3, THR_ISA_BEST, NULL)};
    for (size_t i = 0; i < N_KINDS; i += EACH) {
        const kind *k = &KINDS[i];
        float *rows = make_rows(k, k->n, 1), *queries = mixed_queries(k, BATCH);
        OWNED(thr_index, index) = build_kind(*state, DIR_A, k, rows);
        answer first = answer_make(BATCH, K), other = answer_make(BATCH, K);
        for (int way = 0; way < 3; way++) {
            thr_search_options options = default_options();
            options.recall = way == 1 ? 0.9f : options.recall;
            options.n_candidates = way == 2 ? 30 : 0;
            options.n_survivors = way == 2 ? 100 : 0;
            search(index, k, queries, options, &first);
            for (uint64_t batch = 1; batch <= 8; batch *= 8) {
                search_in_batches(index, k, queries, options, batch, &other);
                assert_true(same_answer(&first, &other));
                assert_memory_equal(first.certified, other.certified, BATCH);
            }
            for (size_t c = 0; c < 3; c++) {
                OWNED(thr_index, again) = test_index_open(contexts[c], DIR_A);
                search(again, k, queries, options, &other);
                assert_true(same_answer(&first, &other));
                assert_memory_equal(first.certified, other.certified, BATCH);
                expect_same_radius(index, again, k, queries, first.scores[K - 1]);
            }
        }
    }
    for (size_t c = 0; c < 3; c++)
        thr_context_free(contexts[c]);
}

/* ------------------------------------------------------------------------------------------------ features */

/* Build an index with cells and one without, with the same features. */
static void build_both(thr_context *context, const kind *k, const catalogue *items, thr_index *indexes[2]) {
    float *rows = make_rows(k, k->n, 1);
    thr_index_build_options build = options_of(k);
    build.features = &items->items;
    for (int without = 0; without < 2; without++) {
        const char *dir = without ? DIR_B : DIR_A;
        test_remove_directory(dir);
        build.cells = without ? 0 : k->cells;
        expect_ok(build_rows(context, dir, rows, k->n, k->n_dims, &build, &err));
        indexes[without] = open_verified(context, dir);
        assert_int_equal(indexes[without]->corpus.origins == NULL, without);
    }
}

/*
 * With features all cells are read: exact values are those of an index without cells, and so are those of searches that
 * leave nothing out; the others find nearly all.
 */
TEST(features_are_added_to_scores_with_origins) {
    for (size_t i = 0; i < N_KINDS; i += EACH) {
        const kind *k = &KINDS[i];
        catalogue items = draw_items(k->n, 4);
        asked a;
        thr_index *indexes[2];
        float *queries = mixed_queries(k, N_QUERIES);
        thr_search_options options = default_options();
        answer exact = answer_make(N_QUERIES, K), found = answer_make(N_QUERIES, K);
        ask(&a, 6);
        build_both(*state, k, &items, indexes);
        options.features = &a.queries;
        options.exact = true;
        search(indexes[0], k, queries, options, &exact);
        search(indexes[1], k, queries, options, &found);
        assert_memory_equal(exact.scores, found.scores, N_QUERIES * K * sizeof *exact.scores);
        options.exact = false;
        options.n_survivors = options.n_candidates = k->n;
        search(indexes[0], k, queries, options, &found);
        assert_true(same_answer(&exact, &found));
        options.n_candidates = k->n / 20;
        options.n_survivors = k->n / 5; /* so the rescoring chooses */
        search(indexes[0], k, queries, options, &found);
        const double recall = recall_of(&exact, &found);
        assert_case(recall >= 0.9, "%s, %u of %u bits, %u dims: recall %g with features", thr_metric_name(k->metric),
                    k->lead, k->bits, k->n_dims, recall);
        thr_index_free(indexes[0]);
        thr_index_free(indexes[1]);
    }
    test_remove_directory(DIR_B);
}

TEST_IN_CONTEXT(2, DIR_A)
