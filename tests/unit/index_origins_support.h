/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_origins_support.h - indexes with cells of all kinds, whose codes are relative to the cells' centroids, and the
 * check of all their searches against scores of the kept vectors in double.
 */
#pragma once

#include "index_support.h"

#include "index/search/memory.h"

enum { K = 10, CHECKED = 12, MOST_DIMS = 64 };

typedef struct kind {
    thr_metric metric;
    thr_dtype keep;
    uint32_t n_dims, bits, lead, cells;
    uint64_t n, segment_rows; /* segment_rows 0: one segment */
    bool rotated, shifted;    /* shifted: far from 0, so that the build chooses a centre */
    bool plain;               /* no clusters */
} kind;

/* clang-format off */
static const kind KINDS[] = {
    {THR_METRIC_COSINE, THR_DTYPE_F32, 24, 3, 1, 40, 3000, 0, true, false, false},
    {THR_METRIC_COSINE, THR_DTYPE_I8, 40, 2, 2, 60, 2000, 640, false, false, false},
    {THR_METRIC_COSINE, THR_DTYPE_F16, 33, 8, 3, 300, 3000, 1024, true, true, false},
    {THR_METRIC_COSINE, THR_DTYPE_F32, 24, 1, 1, 9, 500, 0, true, false, true},
    {THR_METRIC_IP, THR_DTYPE_F16, 24, 4, 2, 40, 3000, 0, false, false, false},
    {THR_METRIC_IP, THR_DTYPE_F32, 50, 3, 1, 100, 3000, 1024, true, true, false},
    {THR_METRIC_IP, THR_DTYPE_I8, 17, 1, 1, 20, 2000, 0, false, true, true},
    {THR_METRIC_IP, THR_DTYPE_F32, 64, 5, 1, 2, 300, 0, true, false, true},
    {THR_METRIC_L2, THR_DTYPE_I8, 24, 3, 1, 40, 3000, 1024, true, false, false},
    {THR_METRIC_L2, THR_DTYPE_F32, 24, 6, 6, 250, 3000, 0, false, true, false},
    {THR_METRIC_L2, THR_DTYPE_F32, 48, 2, 1, 30, 2000, 0, true, true, false},
    {THR_METRIC_L2, THR_DTYPE_F16, 30, 4, 1, 25, 2000, 0, false, false, true}};
/* clang-format on */
#ifdef THR_SANITIZED
enum { N_KINDS = COUNT_OF(KINDS), EACH = 5 };
#else
enum { N_KINDS = COUNT_OF(KINDS), EACH = 1 }; /* tests of a few kinds take every EACH-th */
#endif

/* ------------------------------------------------------------------------------------------------ data */

/* Rows about 50 points or, if plain, about none; of different lengths. One in 20 is far from all points. */
static inline float *make_rows(const kind *k, uint64_t n, uint64_t seed) {
    float *points = random_rows(50, k->n_dims, 77), *rows = random_rows(n, k->n_dims, seed);
    for (uint64_t i = 0; i < n * k->n_dims; i++) {
        const uint64_t row = i / k->n_dims, d = i % k->n_dims;
        const float point = k->plain || row % 20 == 0 ? 0 : points[row % 50 * k->n_dims + d];
        rows[i] = point + (k->plain ? 1 : 0.2f) * rows[i] + (k->shifted ? 2 + 0.02f * (float)d : 0);
    }
    return rows;
}

typedef enum query_kind { HELD_OUT, MEANS, NEGATED, DIRECTIONS, QUERY_KINDS } query_kind;
static const char *const QUERY_NAMES[] = {"held-out", "means", "negated", "directions"};

/* Rows like the items, means of 20 items of a cluster, negated rows, and directions unlike any item. */
static inline float *make_queries(const kind *k, query_kind wanted, uint64_t n) {
    uint64_t rng = 5;
    float *queries = make_rows(k, n, 2);
    if (wanted == MEANS) {
        float *rows = make_rows(k, 20 * 50, 1);
        for (uint64_t i = 0; i < n * k->n_dims; i++) {
            float sum = 0;
            for (uint64_t j = 0; j < 20; j++)
                sum += rows[(50 * j + i / k->n_dims % 50) * k->n_dims + i % k->n_dims];
            queries[i] = sum / 20;
        }
    }
    for (uint64_t i = 0; i < n * k->n_dims; i++)
        queries[i] = wanted == NEGATED ? -queries[i] : wanted == DIRECTIONS ? test_normal(&rng) : queries[i];
    return queries;
}

/* All kinds of queries in turn, the sixth of length 0. */
static inline float *mixed_queries(const kind *k, uint64_t n) {
    float *queries = test_new((size_t)n * k->n_dims, sizeof *queries);
    for (query_kind wanted = HELD_OUT; wanted < QUERY_KINDS; wanted++) {
        float *some = make_queries(k, wanted, n);
        for (uint64_t i = wanted; i < n; i += QUERY_KINDS)
            if (i != 5)
                memcpy(queries + i * k->n_dims, some + i * k->n_dims, k->n_dims * sizeof *some);
    }
    return queries;
}

static inline thr_index_build_options options_of(const kind *k) {
    thr_index_build_options options = build_options(k->metric, k->keep, k->bits);
    options.lead_bits = k->lead;
    options.segment_rows = k->segment_rows;
    options.rotate = k->rotated ? THR_ROTATE_ON : THR_ROTATE_OFF;
    options.cells = k->cells;
    return options;
}

static inline thr_index *open_verified(thr_context *context, const char *dir) {
    thr_index *index = test_index_open(context, dir);
    expect_ok(thr_index_verify(index, &err));
    return index;
}

static inline thr_index *build_kind(thr_context *context, const char *dir, const kind *k, const float *rows) {
    thr_index_build_options options = options_of(k);
    test_remove_directory(dir);
    expect_ok(build_rows(context, dir, rows, k->n, k->n_dims, &options, &err));
    thr_index *index = open_verified(context, dir);
    assert_true(index->corpus.origins != NULL && thr_index_get_cells(index).n_cells > 1);
    return index;
}

/* ------------------------------------------------------------------------------------------------ truth */

/* The items that an index should have, as it keeps them. */
typedef struct truth {
    const kind *kind;
    uint64_t n;
    uint64_t *ids;
    float *vectors;
    double *scores; /* of one query, by place */
} truth;

/* there[id] says whether an item with this id should be in the index. */
static inline truth read_truth(const thr_index *index, const kind *k, const bool *there, uint64_t n_ids) {
    truth t = {k, 0, test_new(n_ids + 1, sizeof(uint64_t)), test_new((n_ids + 1) * k->n_dims, sizeof(float)),
               test_new(n_ids + 1, sizeof(double))};
    for (uint64_t id = 0; id < n_ids; id++) {
        uint64_t row;
        assert_int_equal(thr_index_row(index, id, &row), there == NULL || there[id]);
        if (there != NULL && !there[id])
            continue;
        expect_ok(thr_index_vector(index, id, t.vectors + t.n * k->n_dims, &err));
        t.ids[t.n++] = id;
    }
    assert_int_equal(thr_index_get_info(index).n_items, t.n);
    return t;
}

/* Bound of the error of a score in float32, for lengths of at most 16 per component. */
static inline double error_of(const kind *k) {
    if (k->metric != THR_METRIC_COSINE)
        return 2e-6 * 60 * k->n_dims;
    return k->keep == THR_DTYPE_F32 ? 2e-6 : k->keep == THR_DTYPE_F16 ? 1e-3 : 1e-2; /* kept lengths are not quite 1 */
}

static inline double score_of_place(const truth *t, const float *query, uint64_t place) {
    return naive_score(t->kind->metric, query, t->vectors + place * t->kind->n_dims, t->kind->n_dims);
}

static inline void score_all(truth *t, const float *query) {
    for (uint64_t i = 0; i < t->n; i++)
        t->scores[i] = score_of_place(t, query, i);
}

/* The k best scores of a query's items, best first; fewer if there are fewer items. */
static inline void best_scores(truth *t, const float *query, uint64_t k, double *best) {
    score_all(t, query);
    for (uint64_t i = 0, n = 0; i < t->n; i++) {
        uint64_t at = n;
        for (; at > 0 && best[at - 1] < t->scores[i]; at--)
            if (at < k)
                best[at] = best[at - 1];
        if (at < k)
            best[at] = t->scores[i];
        n += n < k;
    }
}

static inline uint64_t place_of_id(const truth *t, uint64_t id) {
    uint64_t low = 0, high = t->n;
    while (high - low > 1) {
        const uint64_t mid = low + (high - low) / 2;
        if (t->ids[mid] <= id)
            low = mid;
        else
            high = mid;
    }
    assert_true(low < t->n && t->ids[low] == id);
    return low;
}

typedef struct answer {
    uint64_t n_queries, k;
    uint64_t *ids;
    float *scores;
    uint8_t *certified;
} answer;

static inline answer answer_make(uint64_t n_queries, uint64_t k) {
    return (answer){n_queries, k, test_new(n_queries * k, sizeof(uint64_t)), test_new(n_queries * k, sizeof(float)),
                    test_new(n_queries, 1)};
}

static inline void search(thr_index *index, const kind *k, const float *queries, thr_search_options options,
                          const answer *out) {
    const thr_matrix matrix = thr_matrix_f32(queries, out->n_queries, k->n_dims);
    options.certified = out->certified;
    memset(out->certified, 7, out->n_queries);
    expect_ok(thr_index_search(index, &matrix, out->k, &options, out->ids, out->scores, &err));
}

static inline bool same_answer(const answer *a, const answer *b) {
    return memcmp(a->ids, b->ids, a->n_queries * a->k * sizeof *a->ids) == 0 &&
           memcmp(a->scores, b->scores, a->n_queries * a->k * sizeof *a->scores) == 0;
}

static inline bool same_query(const answer *a, const answer *b, uint64_t q) {
    return memcmp(a->ids + q * a->k, b->ids + q * a->k, a->k * sizeof *a->ids) == 0 &&
           memcmp(a->scores + q * a->k, b->scores + q * a->k, a->k * sizeof *a->scores) == 0;
}

/* Scores are those of the items, best first, no item twice. exact: they are the best of all allowed items. */
static inline void expect_scores(truth *t, const float *queries, const answer *found, bool exact, const char *what) {
    double *best = test_new(found->k + 1, sizeof *best);
    for (uint64_t q = 0; q < found->n_queries; q++) {
        const float *query = queries + q * t->kind->n_dims;
        if (exact)
            best_scores(t, query, found->k, best);
        for (uint64_t i = 0; i < found->k; i++) {
            const uint64_t at = q * found->k + i, id = found->ids[at];
            if (i >= t->n) {
                assert_true(id == THR_NO_ID && found->scores[at] == -INFINITY);
                continue;
            }
            const double score = (double)found->scores[at];
            assert_true(i == 0 || found->scores[at] <= found->scores[at - 1]);
            assert_case(fabs(score - score_of_place(t, query, place_of_id(t, id))) <= error_of(t->kind),
                        "%s, query %d: score %.9g of item %d", what, (int)q, score, (int)id);
            assert_case(!exact || fabs(score - best[i]) <= error_of(t->kind), "%s, query %d: score %.9g, not %.9g",
                        what, (int)q, score, best[i]);
            for (uint64_t j = 0; j < i; j++)
                assert_true(found->ids[at - i + j] != id);
        }
    }
}

/* The share of an answer's scores that reach the exact answer's last score. */
static inline double recall_of(const answer *exact, const answer *found) {
    uint64_t n = 0, wanted = 0;
    for (uint64_t q = 0; q < exact->n_queries; q++) {
        uint64_t k = exact->k;
        while (k > 0 && exact->ids[q * exact->k + k - 1] == THR_NO_ID)
            k--;
        for (uint64_t i = 0; i < k; i++)
            n += found->scores[q * exact->k + i] >= exact->scores[q * exact->k + k - 1];
        wanted += k;
    }
    return wanted == 0 ? 1 : (double)n / (double)wanted;
}

/* ------------------------------------------------------------------------------------------------ checks */

static inline thr_search_options default_options(void) {
    thr_search_options options = {.recall = 0.99f};
    return options;
}

/* What is certified is exact. Returns the number of certified answers. */
static inline size_t expect_certified_exact(const answer *exact, const answer *found, const char *what) {
    size_t n = 0;
    for (uint64_t q = 0; q < exact->n_queries; q++) {
        assert_in_range(found->certified[q], 0, 1);
        n += found->certified[q];
        assert_case(found->certified[q] == 0 || same_query(exact, found, q), "%s: query %d is certified, but not exact",
                    what, (int)q);
    }
    return n;
}

/*
 * All items whose score reaches a bound, for queries one by one with their own bounds. Returns the share that was found
 * of all there are.
 */
static inline double check_radius(thr_index *index, truth *t, const float *queries, const answer *exact, float recall) {
    uint64_t n_found = 0, n_there = 0;
    thr_search_options options = default_options();
    options.recall = recall;
    for (uint64_t q = 0; q < exact->n_queries && t->n > K; q++) {
        const thr_matrix one = thr_matrix_f32(queries + q * t->kind->n_dims, 1, t->kind->n_dims);
        OWNED(thr_radius_result, result) = NULL;
        uint64_t n_sure = 0, sure_found = 0;
        const float least = exact->scores[q * K + K - 1];
        expect_ok(thr_index_search_radius(index, &one, least, &options, &result, &err));
        score_all(t, queries + q * t->kind->n_dims);
        for (uint64_t i = 0; i < t->n; i++)
            n_sure += t->scores[i] > (double)least + error_of(t->kind);
        for (uint64_t i = 0; i < result->offsets[1]; i++) {
            const double score = t->scores[place_of_id(t, result->ids[i])];
            if (recall < 1 || t->kind->keep == THR_DTYPE_F32) /* else those whose given vectors may be within it, too */
                assert_true((double)result->scores[i] >= (double)least - error_of(t->kind));
            assert_true(fabs((double)result->scores[i] - score) <= error_of(t->kind));
            assert_true(i == 0 || result->scores[i] <= result->scores[i - 1]);
            sure_found += score > (double)least + error_of(t->kind);
        }
        assert_true(recall < 1 || sure_found == n_sure);
        n_found += sure_found;
        n_there += n_sure;
    }
    return n_there == 0 ? 1 : (double)n_found / (double)n_there;
}

/* Every way that must answer exactly does; every certified answer is exact; recalls are those promised, or nearly. */
static inline size_t check_searches(thr_index *index, truth *t, const float *queries) {
    answer exact = answer_make(CHECKED, K), found = answer_make(CHECKED, K);
    thr_search_options options = default_options();
    size_t n_certified = 0;
    options.exact = true;
    search(index, t->kind, queries, options, &exact);
    expect_scores(t, queries, &exact, true, "exact");
    options = default_options();
    options.recall = 1;
    search(index, t->kind, queries, options, &found);
    assert_true(same_answer(&exact, &found));
    options = default_options();
    options.n_survivors = options.n_candidates = t->n + 1;
    search(index, t->kind, queries, options, &found);
    assert_true(same_answer(&exact, &found));
    for (int way = 0; way < 6; way++) {
        static const char *const names[] = {"defaults", "recall .9", "recall .999", "few", "some", "8 bits"};
        options = default_options();
        options.recall = way == 1 ? 0.9f : way == 2 ? 0.999f : 0.99f;
        options.n_candidates = way == 3 ? 2 * K : way == 4 ? 8 * K : 0;
        options.n_survivors = way == 3 ? 5 * K : way == 4 ? 20 * K : 0;
        options.query_bits = way == 5 ? 8 : 0;
        search(index, t->kind, queries, options, &found);
        expect_scores(t, queries, &found, false, names[way]);
        n_certified += expect_certified_exact(&exact, &found, names[way]);
        const double recall = recall_of(&exact, &found);
        const bool promised = way < 3 || way == 5;
        assert_case(!promised || recall >= (way == 1 ? 0.8 : 0.95), "%s, %u of %u bits, %s: recall %g",
                    thr_metric_name(t->kind->metric), t->kind->lead, t->kind->bits, names[way], recall);
    }
    assert_true(check_radius(index, t, queries, &exact, 1) == 1);
    const double recall = check_radius(index, t, queries, &exact, 0.95f);
    assert_case(recall >= 0.9, "recall %g of a radius", recall);
    return n_certified;
}
