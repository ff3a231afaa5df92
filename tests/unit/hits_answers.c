/* SPDX-License-Identifier: Apache-2.0 */
/* What the public functions of posting lists answer, against items looked at one by one. */
#include "hits_support.h"

#include "lists/query_terms.h"
#include "select/candidates.h"

static const char PATH[] = "unit-hits-answers.hits";
enum { N = 5000, KINDS = 24, K = 40 };

typedef struct world {
    hits_catalogue c;
    thr_hits *hits;
    uint64_t *ids; /* NULL: rows */
    float multipliers[N], offsets[N];
    uint64_t filter[(N + 63) / 64];
} world;

static world *make_world(thr_context *context, thr_hits_order order, bool ids, uint64_t *rng) {
    world *w = test_new(1, sizeof *w);
    thr_hits_build_options options = {0};
    uint64_t n_repeated = 0;
    w->c = hits_draw(N, KINDS, rng);
    options.order = order;
    options.replace = true;
    options.n_repeated = &n_repeated;
    if (ids) {
        w->ids = test_new(N, sizeof *w->ids);
        for (uint64_t i = 0; i < N; i++)
            w->ids[i] = i * 2654435761 % 1000003 + 5;
        options.ids = w->ids;
        options.n_ids = N;
    }
    for (uint64_t i = 0; i < N; i++) {
        w->multipliers[i] = (float)thr_rng_below(rng, 4); /* equal values are frequent */
        w->offsets[i] = (float)thr_rng_below(rng, 2);
        w->filter[i / 64] |= (uint64_t)(thr_rng_below(rng, 3) == 0) << i % 64;
    }
    expect_ok(thr_hits_build(context, PATH, &w->c.items, &options, &err));
    assert_int_equal(n_repeated, w->c.n_repeated);
    expect_ok(thr_hits_open(context, PATH, &w->hits, &err));
    return w;
}

static void free_world(world *w) {
    thr_hits_free(w->hits);
}

static bool has(const world *w, uint64_t row, uint32_t feature) {
    return feature % HITS_STEP == 0 && feature / HITS_STEP < KINDS && w->c.has[row * KINDS + feature / HITS_STEP] != 0;
}

/* All rows that may be found, best first. */
static size_t naive(const world *w, const uint32_t *features, const float *weights, size_t n, bool values, bool filter,
                    bool target, thr_candidate *all) {
    double unit;
    size_t found = 0;
    assert_int_equal(thr_lists_query_unit(features, weights, n, &unit, NULL), THR_OK);
    for (uint64_t row = 0; row < N; row++) {
        int64_t sum = 0;
        if ((filter && (w->filter[row / 64] >> row % 64 & 1) == 0) ||
            (target && !(has(w, row, 0) && !(has(w, row, 3) || has(w, row, 15)))))
            continue;
        for (size_t f = 0; f < n; f++)
            sum += has(w, row, features[f]) ? thr_lists_query_weight(weights, f, unit) : 0;
        float value = (float)((double)sum * unit);
        if (values)
            value = value * w->multipliers[row] + w->offsets[row];
        all[found++] = (thr_candidate){.row = row, .score = value};
    }
    thr_select_candidates_sort(all, found);
    return found;
}

static void check_answers(const world *w, const thr_hits_queries *queries, bool values, bool filter,
                          const thr_hits_target *target) {
    static thr_candidate all[N];
    thr_hits_search_options options = {0};
    uint32_t n_unknown[3] = {0};
    uint64_t ids[3 * K];
    float found[3 * K];
    options.filter = filter ? w->filter : NULL;
    options.filter_bits = N;
    options.target = target;
    options.n_unknown = n_unknown;
    expect_ok(thr_hits_search(w->hits, queries, K, &options, ids, found, &err));
    for (uint64_t q = 0; q < queries->n_queries; q++) {
        const uint64_t at = queries->offsets[q];
        const size_t n = naive(w, queries->features + at, queries->weights == NULL ? NULL : queries->weights + at,
                               (size_t)(queries->offsets[q + 1] - at), values, filter, target != NULL, all);
        assert_int_equal(n_unknown[q], q == 1 ? 1 : 0);
        for (size_t i = 0; i < K; i++) {
            const uint64_t id = i >= n ? THR_NO_ID : w->ids == NULL ? all[i].row : w->ids[all[i].row];
            const float value = i >= n ? -INFINITY : all[i].score;
            assert_case(ids[q * K + i] == id && found[q * K + i] == value,
                        "query %llu, place %zu: id %llu with %.9g, should be %llu with %.9g", (unsigned long long)q, i,
                        (unsigned long long)ids[q * K + i], (double)found[q * K + i], (unsigned long long)id,
                        (double)value);
        }
    }
}

TEST(searches_find_what_one_by_one_finds) {
    static const uint64_t offsets[] = {0, 6, 9, 9}; /* the last query has no features: rows in order */
    static const uint32_t features[] = {0, 3, 6, 12, 24, 3, 9, 7, 33};
    static const float weights[] = {1, 2.5f, -0.25f, 3, 0.125f, 1, 4, 100, -2};
    uint64_t rng = test_seed() + 4;
    for (int kind = 0; kind < 4; kind++) {
        world *w = make_world(*state, (kind & 1) != 0 ? THR_HITS_ORDER_ROWS : THR_HITS_ORDER_FEATURES, kind > 1, &rng);
        thr_hits_target *target = NULL;
        expect_ok(thr_hits_target_create(w->hits, "0 AND NOT (3 OR \"15\" OR 100)", &target, &err));
        for (int how = 0; how < 16; how++) {
            const thr_hits_queries queries = {3, offsets, features, (how & 1) != 0 ? weights : NULL};
            if ((how & 2) != 0)
                expect_ok(thr_hits_set_values(w->hits, w->multipliers, w->offsets, N, &err));
            else
                expect_ok(thr_hits_set_values(w->hits, NULL, NULL, N, &err));
            check_answers(w, &queries, (how & 2) != 0, (how & 4) != 0, (how & 8) != 0 ? target : NULL);
        }
        thr_hits_target_free(target);
        free_world(w);
    }
}

TEST(an_explanation_adds_up_to_the_sum) {
    static const uint64_t offsets[] = {0, 2, 8};
    static const uint32_t features[] = {12, 0, /* */ 0, 3, 6, 12, 7, 9};
    static const float weights[] = {5, -4, /* */ 1, 2.7f, -0.3f, 3.1f, 9, 0};
    const thr_hits_queries queries = {2, offsets, features, weights};
    uint64_t rng = test_seed() + 5, found[2 * K], *ids = found + K; /* the second one's */
    float all_values[2 * K], *values = all_values + K, shares[6];
    uint8_t matched[6];
    world *w = make_world(*state, THR_HITS_ORDER_FEATURES, true, &rng);
    expect_ok(thr_hits_search(w->hits, &queries, K, NULL, found, all_values, &err));
    for (size_t i = 0; i < K; i++) {
        uint64_t row;
        double sum = 0;
        assert_true(thr_hits_row(w->hits, ids[i], &row));
        expect_ok(thr_hits_explain(w->hits, ids[i], &queries, 1, shares, matched, &err));
        for (size_t f = 0; f < 6; f++) {
            assert_int_equal(matched[f], has(w, row, features[offsets[1] + f]));
            assert_true(matched[f] != 0 || shares[f] == 0);
            sum += (double)shares[f];
        }
        assert_true((float)sum == values[i]);
    }
    expect_error(thr_hits_explain(w->hits, 1, &queries, 1, shares, matched, &err), THR_ENOTFOUND,
                 "no item with the id 1");
    expect_error(thr_hits_explain(w->hits, ids[0], &queries, 2, shares, matched, &err), THR_EINVAL,
                 "query 2 does not exist: there are 2, numbered from 0");
    const thr_hits_queries falling = {1, (const uint64_t[]){3, 1}, features, weights};
    expect_error(thr_hits_explain(w->hits, ids[0], &falling, 0, shares, matched, &err), THR_EINVAL,
                 "the features of query 0 end before they begin");
    expect_error(thr_hits_explain(w->hits, ids[0], &queries, 0, NULL, NULL, &err), THR_EINVAL,
                 "features and memory for shares");
    free_world(w);
}

TEST(wrong_inputs_are_refused) {
    static const uint64_t offsets[] = {0, 1, 2};
    static const uint32_t features[] = {0, 3};
    float weights[] = {1, NAN};
    thr_hits_queries queries = {2, offsets, features, weights};
    uint64_t rng = test_seed() + 6, ids[2 * K];
    thr_hits_search_options options = {0};
    thr_hits_target *target = NULL;
    world *w = make_world(*state, THR_HITS_ORDER_FEATURES, false, &rng);
    thr_hits *hits = w->hits;
    expect_error(thr_hits_search(hits, &queries, K, NULL, ids, NULL, &err), THR_ERANGE,
                 "query 1: feature 3 of a query weighs nan");
    weights[1] = -INFINITY;
    expect_error(thr_hits_search(hits, &queries, K, NULL, ids, NULL, &err), THR_ERANGE, "weighs -inf");
    queries.weights = NULL;
    expect_error(thr_hits_search(hits, &queries, 0, NULL, ids, NULL, &err), THR_EINVAL, "k is 0");
    options.filter = w->filter;
    options.filter_bits = N - 1;
    expect_error(thr_hits_search(hits, &queries, K, &options, ids, NULL, &err), THR_EINVAL, "4999 bits");
    expect_error(thr_hits_set_values(hits, w->multipliers, NULL, N + 1, &err), THR_EDIM, "offsets of 5001 items");
    w->offsets[7] = NAN;
    expect_error(thr_hits_set_values(hits, NULL, w->offsets, N, &err), THR_ERANGE, "offset of row 7");
    static const char *const wrong[] = {"",    "0 AND",    "0 3",      "(0 OR 3", "0)",           "AND 0",
                                        "NOT", "\"0 OR 3", "category", "()",      "0 OR (3 AND )"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        expect_error(thr_hits_target_create(hits, wrong[i], &target, &err), THR_EINVAL, "character");
        assert_null(target);
    }
    char deep[400] = "";
    for (int i = 0; i < 90; i++)
        (void)strcat(deep, "NOT ");
    (void)strcat(deep, "0");
    expect_error(thr_hits_target_create(hits, deep, &target, &err), THR_EINVAL, "more than 64");
    free_world(w);
}

TEST(queries_of_another_model_are_refused) {
    static const uint64_t offsets[] = {0, 1};
    static const uint32_t features[] = {3};
    static const uint64_t models[] = {0, 0x00c0ffee00000001, 0xfeed000000000002}; /* 0: none given */
    const thr_hits_queries queries = {1, offsets, features, NULL};
    uint64_t rng = test_seed() + 11, ids[1];
    hits_catalogue c = hits_draw(100, 3, &rng);
    thr_hits_build_options build = {0};
    thr_hits_search_options options = {0};
    build.replace = true;
    for (int of_lists = 0; of_lists < 3; of_lists++) {
        build.model = models[of_lists];
        expect_ok(thr_hits_build(*state, PATH, &c.items, &build, &err));
        OWNED(thr_hits, hits) = test_hits_open(*state, PATH);
        expect_ok(thr_hits_verify(hits, &err));
        assert_true(thr_hits_get_info(hits).model == models[of_lists]);
        for (int of_query = 0; of_query < 3; of_query++) {
            options.model = models[of_query];
            const thr_status status = thr_hits_search(hits, &queries, 1, &options, ids, NULL, &err);
            if (of_lists == 0 || of_query == 0 || of_lists == of_query)
                expect_ok(status);
            else
                expect_error(status, THR_EMISMATCH,
                             of_lists == 1
                                 ? "model 00c0ffee00000001, and these are of the model feed000000000002: make"
                                 : "model feed000000000002, and these are of the model 00c0ffee00000001: make");
        }
    }
}

/* List all pairs of an item and a feature in random order. */
static void draw_pairs(const world *w, uint64_t *rng, uint32_t *rows, uint32_t *features) {
    uint64_t n = 0;
    for (uint32_t i = 0; i < N; i++)
        for (uint64_t e = w->c.offsets[i]; e < w->c.offsets[i + 1]; e++, n++) {
            rows[n] = i;
            features[n] = w->c.features[e];
        }
    for (uint64_t e = n; e > 1; e--) {
        const uint64_t j = thr_rng_below(rng, e);
        const uint32_t row = rows[e - 1], feature = features[e - 1];
        rows[e - 1] = rows[j];
        features[e - 1] = features[j];
        rows[j] = row;
        features[j] = feature;
    }
}

TEST(pairs_build_the_same_file) {
    uint64_t rng = test_seed() + 7;
    thr_hits_build_options options = {0};
    world *w = make_world(*state, THR_HITS_ORDER_FEATURES, false, &rng);
    const uint64_t n = w->c.offsets[N];
    uint32_t *rows = test_new(n, sizeof *rows), *features = test_new(n, sizeof *features);
    draw_pairs(w, &rng, rows, features);
    options.replace = true;
    expect_ok(
        thr_hits_build_pairs(*state, "unit-hits-pairs.hits", &(thr_hits_pairs){rows, features, n, N}, &options, &err));
    thr_hits *again = test_hits_open(*state, "unit-hits-pairs.hits");
    const thr_hits_info a = thr_hits_get_info(w->hits), b = thr_hits_get_info(again);
    assert_int_equal(a.n_postings, w->c.n_postings);
    assert_memory_equal(&a, &b, sizeof a);
    for (uint32_t f = 0; f < KINDS; f++)
        assert_int_equal(thr_hits_feature_items(w->hits, f * HITS_STEP), thr_hits_feature_items(again, f * HITS_STEP));
    rows[3] = N;
    expect_error(
        thr_hits_build_pairs(*state, "unit-hits-pairs.hits", &(thr_hits_pairs){rows, features, n, N}, &options, &err),
        THR_EINVAL, "pair 3 is of row 5000");
    thr_hits_free(again);
    free_world(w);
}

TEST(ids_are_distinct) {
    uint64_t rng = test_seed() + 8, ids[] = {4, 9, 4};
    hits_catalogue c = hits_draw(3, 2, &rng);
    thr_hits_build_options options = {.replace = true, .ids = ids, .n_ids = 2};
    expect_error(thr_hits_build(*state, PATH, &c.items, &options, &err), THR_EDIM, "2 ids for 3 items");
    options.n_ids = 3;
    expect_error(thr_hits_build(*state, PATH, &c.items, &options, &err), THR_EDUPLICATE,
                 "id 4 is repeated: rows 0 and 2");
    ids[2] = THR_NO_ID;
    expect_error(thr_hits_build(*state, PATH, &c.items, &options, &err), THR_ERANGE, "row 2");
}

TEST(nothing_is_allocated_after_the_first_search) {
    static const uint64_t offsets[] = {0, 3};
    static const uint32_t features[] = {0, 3, 6};
    const thr_hits_queries queries = {1, offsets, features, NULL};
    uint64_t rng = test_seed() + 9, ids[K];
    test_memory memory = {0};
    thr_context *context = test_context(2, THR_ISA_BEST, &memory);
    thr_hits_search_options options = {0};
    world *w = make_world(context, THR_HITS_ORDER_FEATURES, true, &rng);
    options.filter = w->filter;
    options.filter_bits = N;
    size_t calls = 0;
    for (int times = 0; times < 4; times++) {
        calls = atomic_load(&memory.calls);
        expect_ok(thr_hits_search(w->hits, &queries, K, &options, ids, NULL, &err));
        assert_true(times == 0 || atomic_load(&memory.calls) == calls);
    }
    free_world(w);
    thr_context_free(context);
    assert_int_equal(atomic_load(&memory.live), 0);
}

TEST(every_failing_allocation_is_enomem) {
    static const uint64_t offsets[] = {0, 3};
    static const uint32_t features[] = {0, 3, 6};
    const thr_hits_queries queries = {1, offsets, features, NULL};
    uint64_t rng = test_seed() + 10, ids[K];
    test_memory memory = {0};
    thr_context *context = test_context(1, THR_ISA_BEST, &memory);
    hits_catalogue c = hits_draw(600, 9, &rng);
    thr_hits_build_options options = {.replace = true};
    test_oom oom = test_oom_start(&memory);
    while (test_oom_next(&oom)) {
        OWNED(thr_hits, hits) = NULL;
        OWNED(thr_hits_target, target) = NULL;
        test_oom_arm(&oom);
        thr_status status = thr_hits_build(context, PATH, &c.items, &options, &err);
        if (status == THR_OK)
            status = thr_hits_open(context, PATH, &hits, &err);
        if (status == THR_OK)
            status = thr_hits_target_create(hits, "0 OR NOT 3 AND 6", &target, &err);
        if (status == THR_OK)
            status = thr_hits_search(hits, &queries, K, NULL, ids, NULL, &err);
        if (status == THR_OK)
            status = thr_hits_verify(hits, &err);
        (void)test_oom_check(&oom, status, &err, "no memory for");
    }
    assert_true(oom.n_failed > 18);
    thr_context_free(context);
    assert_int_equal(atomic_load(&memory.live), 0);
}

TEST_IN_CONTEXT(3, NULL)
