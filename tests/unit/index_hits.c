/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_hits.c - vectors and features in one pass give what both searches by themselves do, added up item by item, to
 * the bit; and features that do not fit their index are refused.
 */
#include "index_hits_support.h"

#include "kernel/kernel.h"
#include "hits/hits.h"
#include "index/impl.h"

static const char DIR_A[] = "index-hits";

enum { K = 9 };

/* ------------------------------------------------------------------------------------------------ the naive model */

typedef struct naive {
    uint64_t n;
    float *scores, *sums; /* [query * n + row] */
    thr_candidate *ranked;
} naive;

/* Scores of an item by its vector and by its features, from a search of each. */
static naive ask_apart(thr_index *index, const thr_matrix *queries, const thr_hits_queries *features) {
    naive m = {.n = thr_index_get_info(index).n_items};
    const size_t room = (size_t)m.n * N_QUERIES;
    uint64_t *ids = test_new(room, sizeof *ids);
    float *found = test_new(room, sizeof *found);
    m.scores = test_new(room, sizeof *m.scores);
    m.sums = test_new(room, sizeof *m.sums);
    m.ranked = test_new(m.n, sizeof *m.ranked);
    assert_true(ids != NULL && found != NULL && m.scores != NULL && m.sums != NULL && m.ranked != NULL);
    thr_search_options options = {0};
    options.n_survivors = options.n_candidates = m.n;
    /* Without features, estimates are clamped to what the metric can have; sums are added to them as they are. */
    const uint64_t ends[N_QUERIES + 1] = {0};
    const thr_hits_queries nothing = {N_QUERIES, ends, features->features, features->weights};
    options.features = thr_index_get_info(index).keep == THR_DTYPE_NONE ? &nothing : NULL;
    expect_ok(thr_index_search(index, queries, m.n, &options, ids, found, &err));
    for (size_t i = 0; i < room; i++)
        m.scores[i / m.n * m.n + ids[i]] = found[i];
    expect_ok(thr_hits_search(thr_index_hits(index), features, m.n, NULL, ids, found, &err));
    for (size_t i = 0; i < room; i++)
        m.sums[i / m.n * m.n + ids[i]] = found[i];
    return m;
}

typedef struct form {
    thr_hits_value value;
    const float *multipliers, *offsets; /* or NULL */
    const uint64_t *filter;             /* or NULL */
} form;

/* Row q of the answer; returns how many items may be found. */
static size_t rank(const thr_context *context, naive *m, uint64_t q, const form *f) {
    size_t n = 0;
    for (uint64_t row = 0; row < m->n; row++) {
        float value = m->scores[q * m->n + row] + m->sums[q * m->n + row];
        if (f->value == THR_HITS_VALUE_SIGMOID) {
            value = -value;
            context->kernels->exp_f32(&value, &value, 1);
            value = 1 / (1 + value);
        }
        value *= f->multipliers == NULL ? 1 : f->multipliers[row];
        value += f->offsets == NULL ? 0 : f->offsets[row];
        if (f->filter == NULL || (f->filter[row / 64] >> row % 64 & 1) != 0)
            m->ranked[n++] = (thr_candidate){row, value, 0};
    }
    thr_select_candidates_sort(m->ranked, n);
    return n;
}

static void check_answer(const thr_context *context, naive *m, const form *f, const uint64_t *ids,
                         const float *values) {
    for (uint64_t q = 0; q < N_QUERIES; q++) {
        const size_t n = rank(context, m, q, f);
        for (size_t i = 0; i < K; i++) {
            assert_true(ids[q * K + i] == (i < n ? m->ranked[i].row : THR_NO_ID));
            assert_true(values[q * K + i] == (i < n ? m->ranked[i].score : -INFINITY));
        }
    }
}

/* ------------------------------------------------------------------------------------------------ answers */

static thr_index *build(thr_context *context, const float *rows, uint32_t n_dims, const catalogue *c,
                        thr_index_build_options options) {
    options.features = &c->items;
    options.calibration_queries = THR_NO_CALIBRATION;
    test_remove_directory(DIR_A);
    expect_ok(build_rows(context, DIR_A, rows, c->items.n_items, n_dims, &options, &err));
    thr_index *index = test_index_open(context, DIR_A);
    expect_ok(thr_index_verify(index, &err));
    return index;
}

/* The number of each query's features that no item has. */
static void check_unknown(thr_index *index, const asked *a, const uint32_t *n_unknown) {
    for (uint64_t q = 0; q < N_QUERIES; q++) {
        uint32_t unknown = 0;
        for (uint64_t i = a->offsets[q]; i < a->offsets[q + 1]; i++)
            unknown += thr_hits_feature_items(thr_index_hits(index), a->features[i]) == 0;
        assert_int_equal(n_unknown[q], unknown);
    }
}

/* Queries one by one, each on all threads, find what they find together. */
static void check_alone(thr_index *index, const float *queries, uint32_t n_dims, const asked *a,
                        thr_search_options options, const uint64_t *ids) {
    for (uint64_t q = 0; q < N_QUERIES; q++) {
        const thr_matrix one = thr_matrix_f32(queries + q * n_dims, 1, n_dims);
        const uint64_t begin = a->offsets[q], ends[] = {0, a->offsets[q + 1] - begin};
        const thr_hits_queries alone = {1, ends, a->features + begin, a->weights + begin};
        uint64_t own[K];
        options.features = &alone;
        options.certified = NULL;
        expect_ok(thr_index_search(index, &one, K, &options, own, NULL, &err));
        assert_memory_equal(own, ids + q * K, sizeof own);
    }
}

/* Search with these values and this filter, exactly or by codes with all items as candidates; check the answers. */
static void check_search(thr_context *context, thr_index *index, const thr_matrix *queries, asked *a, naive *m,
                         const form *f, bool exact) {
    const uint64_t n = thr_index_get_info(index).n_items;
    uint64_t ids[N_QUERIES * K];
    float values[N_QUERIES * K];
    uint32_t n_unknown[N_QUERIES];
    uint8_t certified[N_QUERIES];
    thr_search_options options = {0};
    options.n_survivors = options.n_candidates = n;
    options.exact = exact;
    options.features = &a->queries;
    options.value = f->value;
    options.n_unknown = n_unknown;
    options.certified = certified;
    options.filter = f->filter;
    options.filter_bits = n;
    expect_ok(thr_hits_set_values(thr_index_hits(index), f->multipliers, f->offsets, n, &err));
    expect_ok(thr_index_search(index, queries, K, &options, ids, values, &err));
    check_answer(context, m, f, ids, values);
    check_unknown(index, a, n_unknown);
    check_alone(index, queries->data, (uint32_t)queries->n_dims, a, options, ids);
}

/* All forms of values, with all candidates and exactly, one query on all threads and many. */
static void check_index(thr_context *context, thr_index *index, uint32_t n_dims, uint64_t seed) {
    const uint64_t n = thr_index_get_info(index).n_items;
    const bool kept = thr_index_get_info(index).keep != THR_DTYPE_NONE;
    float *queries = random_rows(N_QUERIES, n_dims, seed), *multipliers = random_rows(1, (uint32_t)n, seed + 1),
          *offsets = random_rows(1, (uint32_t)n, seed + 2);
    uint64_t *half = draw_filter(n, 2, seed), *few = draw_filter(n, 40, seed);
    memset(queries, 0, n_dims * sizeof *queries); /* of the first nothing is known, neither vector nor features */
    memset(queries + n_dims, 0, n_dims * sizeof *queries);
    const thr_matrix matrix = thr_matrix_f32(queries, N_QUERIES, n_dims);
    asked a;
    ask(&a, seed);
    naive m = ask_apart(index, &matrix, &a.queries);
    const form forms[] = {{THR_HITS_VALUE_SUM, NULL, NULL, NULL},
                          {THR_HITS_VALUE_SUM, multipliers, NULL, half},
                          {THR_HITS_VALUE_SUM, NULL, offsets, few},
                          {THR_HITS_VALUE_SIGMOID, multipliers, offsets, NULL}};
    for (size_t f = 0; f < COUNT_OF(forms); f++)
        for (int exact = 0; exact <= kept; exact++)
            check_search(context, index, &matrix, &a, &m, &forms[f], exact != 0);
    expect_ok(thr_hits_set_values(thr_index_hits(index), NULL, NULL, n, &err));
}

TEST(vectors_and_features_together_give_what_both_give_apart) {
    static const thr_metric metrics[] = {THR_METRIC_COSINE, THR_METRIC_IP, THR_METRIC_L2};
    static const thr_dtype keeps[] = {THR_DTYPE_F32, THR_DTYPE_I8, THR_DTYPE_NONE};
    static const uint64_t sizes[] = {1, 64, 700, 67000};
    for (size_t s = 0; s < 4; s++)
        for (size_t i = 0; i < 9; i++) {
            const uint32_t n_dims = s == 3 ? 3 : 9, bits = i % 2 == 0 ? 3 : 2;
            if (s == 3 && i % 3 == 1 && i > 1)
                continue; /* enough of the large ones */
            OWNED(thr_context, context) = test_context(s % 2 == 0 ? 3 : 1, THR_ISA_BEST, NULL);
            catalogue c = draw_items(sizes[s], s);
            float *rows = random_rows(sizes[s], n_dims, s + i);
            thr_index_build_options options = build_options(metrics[i % 3], keeps[i / 3], bits);
            options.lead_bits = s % 2 == 0 ? 1 : bits; /* nested and flat */
            options.segment_rows = s == 2 ? 128 : 0;
            OWNED(thr_index, index) = build(context, rows, n_dims, &c, options);
            check_index(context, index, n_dims, 100 * s + i);
        }
    test_remove_directory(DIR_A);
}

/* ------------------------------------------------------------------------------------------------ an index to query */

enum { N = 900, DIMS = 8 };

typedef struct fixture {
    test_memory memory;
    thr_context *context;
    catalogue items;
    float *rows;
    thr_index *index;
    asked a;
    thr_search_options options;
} fixture;

static void set_up(fixture *f) {
    *f = (fixture){.items = draw_items(N, 5), .rows = random_rows(N, DIMS, 6)};
    f->context = test_context(2, THR_ISA_BEST, &f->memory);
    f->index = build(f->context, f->rows, DIMS, &f->items, build_options(THR_METRIC_IP, THR_DTYPE_F32, 3));
    ask(&f->a, 7);
    f->options = (thr_search_options){0};
    f->options.features = &f->a.queries;
}

static void tear_down(fixture *f) {
    thr_index_free(f->index);
    thr_context_free(f->context);
    assert_int_equal(atomic_load(&f->memory.live), 0);
    test_remove_directory(DIR_A);
}

static thr_status search(fixture *f, uint64_t *ids) {
    const thr_matrix queries = thr_matrix_f32(f->rows, N_QUERIES, DIMS);
    uint64_t own[N_QUERIES * K];
    return thr_index_search(f->index, &queries, K, &f->options, ids == NULL ? own : ids, NULL, &err);
}

TEST(a_target_lets_through_what_has_its_features) {
    fixture f;
    set_up(&f);
    for (int with = 0; with < 2; with++) {
        uint64_t ids[N_QUERIES * K];
        thr_hits_target *target = NULL;
        float shares[2];
        uint8_t matched[2];
        static const uint64_t ends[] = {0, 2};
        static const uint32_t asked_for[] = {2, 4};
        const thr_hits_queries both = {1, ends, asked_for, NULL};
        expect_ok(thr_hits_target_create(thr_index_hits(f.index), "2 AND NOT 4", &target, &err));
        f.options.target = target;
        if (with == 0)
            f.options.features = NULL;
        expect_ok(search(&f, ids));
        for (size_t i = 0; i < N_QUERIES * K; i++) {
            expect_ok(thr_hits_explain(thr_index_hits(f.index), ids[i], &both, 0, shares, matched, &err));
            assert_true(matched[0] == 1 && matched[1] == 0);
        }
        thr_hits_target_free(target);
        f.options.features = &f.a.queries;
    }
    tear_down(&f);
}

TEST(wrong_options_and_weights_are_refused) {
    fixture f;
    set_up(&f);
    thr_hits_queries few = f.a.queries;
    few.n_queries--;
    f.options.features = &few;
    expect_error(search(&f, NULL), THR_EDIM, NULL);
    f.options.features = &f.a.queries;
    f.options.value = (thr_hits_value)7;
    expect_error(search(&f, NULL), THR_EINVAL, NULL);
    f.options.value = THR_HITS_VALUE_SUM;
    static const float wrong[] = {NAN, INFINITY, 1e31f};
    const float kept = f.a.weights[3];
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        f.a.weights[3] = wrong[i];
        expect_error(search(&f, NULL), THR_ERANGE, "query ");
    }
    f.a.weights[3] = kept;
    thr_radius_result *result = NULL;
    const thr_matrix queries = thr_matrix_f32(f.rows, N_QUERIES, DIMS);
    expect_error(thr_index_search_radius(f.index, &queries, 1, &f.options, &result, &err), THR_EINVAL, NULL);
    expect_ok(search(&f, NULL));
    tear_down(&f);
}

TEST(values_that_overflow_are_refused_until_they_are_replaced) {
    fixture f;
    set_up(&f);
    float *huge = test_new(N, sizeof *huge);
    for (uint64_t i = 0; i < N; i++)
        huge[i] = 3e38f;
    expect_ok(thr_hits_set_values(thr_index_hits(f.index), huge, NULL, N, &err));
    expect_error(search(&f, NULL), THR_ERANGE, NULL);
    expect_ok(thr_hits_set_values(thr_index_hits(f.index), NULL, NULL, N, &err));
    expect_ok(search(&f, NULL));
    tear_down(&f);
}

TEST(an_index_without_posting_lists_has_no_features) {
    fixture f;
    thr_index *plain = NULL;
    uint64_t ids[N_QUERIES * K];
    set_up(&f);
    const thr_matrix queries = thr_matrix_f32(f.rows, N_QUERIES, DIMS);
    test_remove_directory("index-plain");
    expect_ok(build_rows(f.context, "index-plain", f.rows, N, DIMS, NULL, &err));
    expect_ok(thr_index_open(f.context, "index-plain", &plain, &err));
    assert_null(thr_index_hits(plain));
    expect_error(thr_index_search(plain, &queries, K, &f.options, ids, NULL, &err), THR_EUNSUPPORTED, NULL);
    thr_index_free(plain);
    test_remove_directory("index-plain");
    tear_down(&f);
}

TEST(a_second_search_allocates_nothing) {
    fixture f;
    set_up(&f);
    expect_ok(search(&f, NULL));
    const size_t before = atomic_load(&f.memory.calls);
    for (int i = 0; i < 20; i++)
        expect_ok(search(&f, NULL));
    assert_int_equal(atomic_load(&f.memory.calls), before);
    tear_down(&f);
}

TEST(every_failing_allocation_of_a_search_is_an_error) {
    fixture f = {.memory = {0}};
    test_oom oom = test_oom_start(&f.memory);
    while (test_oom_next(&oom)) {
        set_up(&f);
        test_oom_arm(&oom);
        const thr_status status = search(&f, NULL);
        if (!test_oom_check(&oom, status, &err, NULL))
            expect_ok(search(&f, NULL));
        tear_down(&f);
    }
}

/* ------------------------------------------------------------------------------------------------ building */

static thr_status build_table(thr_context *context, const float *rows, uint64_t n, thr_index_build_options *options) {
    options->features_path = "items.tsv";
    test_remove_directory(DIR_A);
    return build_rows(context, DIR_A, rows, n, DIMS, options, &err);
}

TEST(a_table_gives_names_and_values_go_with_it) {
    thr_context *context = test_context(2, THR_ISA_BEST, NULL);
    float *rows = random_rows(3, DIMS, 1), multipliers[] = {1, 2, 3}, offsets[] = {0, 0, 9};
    thr_index_build_options options = build_options(THR_METRIC_IP, THR_DTYPE_F32, 3);
    uint64_t id, ids[3];
    float values[3];
    test_write_text("items.tsv", "one\tred big\ntwo\t\nthree\tred\n");
    options.multipliers = multipliers;
    options.offsets = offsets;
    options.n_values = 3;
    expect_ok(build_table(context, rows, 3, &options));
    thr_index *index = test_index_open(context, DIR_A);
    assert_true(thr_index_get_info(index).has_features);
    expect_ok(thr_index_find(index, "two", &id, &err));
    assert_int_equal(id, 1);
    const uint64_t ends[] = {0, 1};
    uint32_t red;
    assert_true(thr_hits_feature(thr_index_hits(index), "red", &red));
    const float ten = 10, zeros[DIMS] = {0};
    const thr_hits_queries queries = {1, ends, &red, &ten};
    const thr_matrix matrix = thr_matrix_f32(zeros, 1, DIMS);
    thr_search_options how = {.features = &queries};
    expect_ok(thr_index_search(index, &matrix, 3, &how, ids, values, &err));
    assert_true(ids[0] == 2 && values[0] == 39 && ids[1] == 0 && values[1] == 10 && ids[2] == 1 && values[2] == 0);
    assert_int_equal(truncate(thr_index_hits(index)->path, 0), 0);
    assert_false(thr_hits_feature(thr_index_hits(index), "red", &red));
    expect_error(thr_index_search(index, &matrix, 3, &how, ids, values, &err), THR_ECHANGED, NULL);
    thr_index_free(index);
    thr_context_free(context);
    test_remove_directory(DIR_A);
}

TEST(features_that_do_not_fit_are_refused_and_leave_nothing) {
    OWNED(thr_context, context) = test_context(2, THR_ISA_BEST, NULL);
    float *rows = random_rows(4, DIMS, 1), bad[] = {1, NAN, 1};
    test_write_text("items.tsv", "one\tred big\ntwo\t\nthree\tred\n");
    test_write_text("names.txt", "one\nzwei\nthree\n");
    for (int wrong = 0; wrong < 6; wrong++) {
        static const thr_status statuses[] = {THR_EDIM, THR_EMISMATCH, THR_ERANGE, THR_EDIM, THR_EINVAL, THR_EINVAL};
        thr_index_build_options options = build_options(THR_METRIC_IP, THR_DTYPE_F32, 3);
        const thr_item_features view = {NULL, NULL, 0};
        if (wrong == 1)
            options.ids_path = "names.txt";
        if (wrong == 2 || wrong == 3)
            options.multipliers = bad;
        options.n_values = wrong == 3 ? 2 : 3;
        if (wrong == 4)
            options.features = &view;
        if (wrong == 5) {
            options.offsets = bad;
            test_remove_directory(DIR_A);
            expect_error(build_rows(context, DIR_A, rows, 3, DIMS, &options, &err), statuses[wrong], NULL);
        } else {
            expect_error(build_table(context, rows, wrong == 0 ? 4 : 3, &options), statuses[wrong], NULL);
        }
        assert_int_equal(count_files(DIR_A, "", NULL), 0);
    }
}

TEST(posting_lists_of_another_index_or_damaged_ones_are_refused) {
    thr_context *context = test_context(1, THR_ISA_BEST, NULL);
    catalogue c = draw_items(200, 1), other = draw_items(200, 2);
    float *rows = random_rows(200, DIMS, 1);
    const thr_index_build_options options = build_options(THR_METRIC_IP, THR_DTYPE_F32, 3);
    char path[PATH_ROOM];
    size_t size, other_size;
    thr_index_free(build(context, rows, DIMS, &other, options));
    assert_int_equal(count_files(DIR_A, ".hits", path), 1);
    uint8_t *others = test_bytes_of(path, &other_size);
    thr_index_free(build(context, rows, DIMS, &c, options));
    assert_int_equal(count_files(DIR_A, ".hits", path), 1);
    uint8_t *bytes = test_bytes_of(path, &size);
    thr_index *index = NULL;
    test_write_file(path, others, other_size);
    expect_error(thr_index_open(context, DIR_A, &index, &err), THR_ECORRUPT, NULL);
    test_write_file(path, bytes, size / 2);
    expect_error(thr_index_open(context, DIR_A, &index, &err), THR_ECORRUPT, NULL);
    bytes[100] ^= 1;
    test_write_file(path, bytes, size);
    if (thr_index_open(context, DIR_A, &index, &err) == THR_OK)
        expect_error(thr_index_verify(index, &err), THR_ECORRUPT, NULL);
    thr_index_free(index);
    assert_int_equal(unlink(path), 0);
    expect_error(thr_index_open(context, DIR_A, &index, &err), THR_ECORRUPT, NULL);
    thr_context_free(context);
    test_remove_directory(DIR_A);
}
