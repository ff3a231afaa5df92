/* SPDX-License-Identifier: Apache-2.0 */
/* rank_parts.c - training by parts has the bits of training the whole; wrong requests and parts are refused. */
#include "test.h"

#include "pairs.h"

#include <thresher/rank.h>

enum { MOST_PARTS = 7 };

/* Rows from first to end - 1 as thr_ranking_from_matrix or _csr has them. */
static thr_ranking *open_rows(thr_context *context, const test_ranking *made, uint64_t first, uint64_t end) {
    const thr_ranking_view *view = &made->view;
    const uint64_t n = end - first;
    uint64_t *queries = test_new(n, sizeof *queries), *starts = test_new(n + 1, sizeof *starts);
    thr_ranking *ranking = NULL;
    for (uint64_t q = 0; q < view->n_queries; q++)
        for (uint64_t r = view->offsets[q]; r < view->offsets[q + 1]; r++)
            if (r >= first && r < end)
                queries[r - first] = q;
    if (view->dense != NULL) {
        const thr_matrix rows = thr_matrix_f32(view->dense + first * view->n_features, n, view->n_features);
        expect_ok(thr_ranking_from_matrix(context, &rows, view->labels + first, queries, &ranking, &err));
    } else {
        const uint64_t before = view->sparse.starts[first];
        for (uint64_t r = 0; r <= n; r++)
            starts[r] = view->sparse.starts[first + r] - before;
        const thr_csr rows = {.starts = starts,
                              .columns = view->sparse.columns + before,
                              .values = view->sparse.values + before,
                              .n_rows = n,
                              .n_columns = view->n_features};
        expect_ok(thr_ranking_from_csr(context, &rows, view->labels + first, queries, &ranking, &err));
    }
    return ranking;
}

typedef struct scene {
    const test_ranking *made;
    uint64_t starts[THR_RANK_MAX_CHUNKS + 1];
    size_t first_chunks[MOST_PARTS + 1];
    thr_ranking *rankings[MOST_PARTS];
    thr_rank_part *parts[MOST_PARTS];
    thr_rank_parts whole;
    uint64_t *values, *n_pairs;
    double *pair_weights;
    unsigned n_requests, stop_at; /* the request that fails; 0: none does */
} scene;

static thr_status run(void *user, const thr_rank_request *request, double *out, thr_error *error) {
    scene *s = user;
    const bool chained = request->task == THR_RANK_SCALES || request->task == THR_RANK_MATRIX;
    if (++s->n_requests == s->stop_at) {
        *error = (thr_error){.status = THR_EIO};
        return THR_EIO;
    }
    for (size_t i = 0; i < s->whole.n_parts; i++) {
        thr_rank_request own = *request;
        if (own.costs != NULL)
            own.costs += s->starts[s->first_chunks[i]];
        const thr_status status = thr_rank_part_run(s->parts[i], &own, out, error);
        if (status != THR_OK)
            return status;
        out += chained ? 0 : thr_rank_part_output_size(s->parts[i], request);
    }
    return THR_OK;
}

/* Chunks of a scene, in at most n_parts parts of some chunks each, every one with a query. */
static void divide(scene *s, uint64_t *rng, size_t n_parts) {
    const thr_ranking_view *view = &s->made->view;
    for (uint64_t q = 0; q <= view->n_queries && view->dense == NULL; q++)
        s->values[q] = view->sparse.starts[view->offsets[q]];
    const size_t n_chunks = thr_rank_chunks(view->offsets, view->dense == NULL ? s->values : NULL, view->n_queries,
                                            view->n_features, s->starts);
    size_t n = 0;
    for (size_t i = 1; i < n_parts; i++) {
        const size_t cut = s->first_chunks[n] + 1 + (size_t)thr_rng_below(rng, 2 * n_chunks / n_parts);
        if (cut < n_chunks && s->starts[cut] > s->starts[s->first_chunks[n]] && s->starts[cut] < view->n_queries)
            s->first_chunks[++n] = cut;
    }
    s->first_chunks[++n] = n_chunks;
    s->whole.n_parts = n;
}

static scene *make_scene(const test_ranking *made) {
    scene *s = test_new(1, sizeof *s);
    const uint64_t n = made->view.n_queries;
    memset(s, 0, sizeof *s);
    s->made = made;
    s->values = test_new(n + 1, sizeof *s->values);
    s->n_pairs = test_new(n, sizeof *s->n_pairs);
    s->pair_weights = test_new(n, sizeof *s->pair_weights);
    s->whole = (thr_rank_parts){.n_queries = n,
                                .n_features = made->view.n_features,
                                .offsets = made->view.offsets,
                                .n_pairs = s->n_pairs,
                                .pair_weights = s->pair_weights,
                                .first_chunks = s->first_chunks,
                                .run = run,
                                .user = s};
    return s;
}

/* contexts: of the parts, in turns */
static thr_status make_parts(scene *s, thr_context *const *contexts, const double *row_weights, thr_error *error) {
    const uint64_t *offsets = s->made->view.offsets;
    const size_t n_chunks = s->first_chunks[s->whole.n_parts];
    for (size_t i = 0; i < s->whole.n_parts; i++) {
        const thr_rank_span span = {s->first_chunks[i], s->first_chunks[i + 1], n_chunks, s->starts};
        const uint64_t first = s->starts[span.first], end = s->starts[span.end];
        if (s->rankings[i] == NULL)
            s->rankings[i] = open_rows(contexts[i % 2], s->made, offsets[first], offsets[end]);
        const thr_status status =
            thr_rank_part_create(contexts[i % 2], s->rankings[i], &span,
                                 row_weights != NULL ? row_weights + offsets[first] : NULL, &s->parts[i], error);
        if (status != THR_OK)
            return status;
        thr_rank_part_queries(s->parts[i], s->n_pairs + first, s->pair_weights + first);
    }
    return THR_OK;
}

static void free_parts(scene *s) {
    for (size_t i = 0; i < MOST_PARTS; i++) {
        thr_rank_part_free(s->parts[i]);
        s->parts[i] = NULL;
    }
}

static void free_scene(scene *s) {
    free_parts(s);
    for (size_t i = 0; i < MOST_PARTS; i++)
        thr_ranking_free(s->rankings[i]);
}

/* Train the whole and the parts; every bit of model and report is the same, seconds apart. */
static void compare(scene *s, thr_context *context, const thr_rank_options *options, const double *row_weights) {
    const thr_ranking_view *view = &s->made->view;
    OWNED(thr_ranking, ranking) = open_rows(context, s->made, 0, view->n_rows);
    thr_rank_options own = *options, of_parts = *options;
    thr_rank_model *model = NULL, *by_parts = NULL;
    thr_rank_report report, reported;
    own.row_weights = row_weights;
    expect_ok(thr_rank_train(context, ranking, &own, &model, &report, &err));
    expect_ok(thr_rank_train_parts(context, &s->whole, &of_parts, &by_parts, &reported, &err));
    assert_memory_equal(thr_rank_model_weights(model), thr_rank_model_weights(by_parts),
                        view->n_features * sizeof(double));
    reported.seconds = report.seconds;
    reported.product_seconds = report.product_seconds;
    assert_true(report.objective == reported.objective && report.gradient_norm == reported.gradient_norm);
    assert_true(report.pairwise_accuracy == reported.pairwise_accuracy && report.n_pairs == reported.n_pairs);
    assert_true(report.n_steps == reported.n_steps && report.n_products == reported.n_products);
    thr_rank_model_free(model);
    thr_rank_model_free(by_parts);
}

/* Dense and sparse rows, all methods and scales, weights, and so many queries that a part of them is solved first. */
RANDOM_TEST(parts_have_the_bits_of_the_whole) {
    thr_context *contexts[] = {test_context(1, THR_ISA_BEST, NULL), test_context(3, THR_ISA_SCALAR, NULL)};
    size_t most = 0;
    for (unsigned round = 0; round < 24; round++) {
        const uint32_t n_features = round % 5 == 4 ? 60 : 2 + (uint32_t)thr_rng_below(&rng, 9);
        test_ranking *made = test_ranking_make(&rng, round % 4 == 3 ? 400 : 1 + thr_rng_below(&rng, 60), 30, n_features,
                                               TEST_LABELS_MIXED, round % 2 != 0);
        double *weights = test_new(made->view.n_rows, sizeof *weights);
        for (uint64_t r = 0; r < made->view.n_rows; r++)
            weights[r] = 0.25 * (double)thr_rng_below(&rng, 6);
        scene *s = make_scene(made);
        thr_rank_options options = {0};
        options.method = (thr_rank_method)(round % 3);
        options.scale = (thr_rank_scale)(round / 3 % 3);
        for (size_t n_parts = 1; n_parts <= MOST_PARTS && test_pairs_count(made) > 0; n_parts += 3) {
            divide(s, &rng, n_parts);
            most = most > s->whole.n_parts ? most : s->whole.n_parts;
            expect_ok(make_parts(s, contexts, round % 3 == 1 ? weights : NULL, &err));
            compare(s, contexts[round % 2], &options, round % 3 == 1 ? weights : NULL);
            free_scene(s);
            s = make_scene(made);
        }
        free_scene(s);
    }
    assert_true(most > 3);
    thr_context_free(contexts[0]);
    thr_context_free(contexts[1]);
}

static scene *some_scene(thr_context *const *contexts, uint64_t *rng, test_ranking **made) {
    *made = test_ranking_make(rng, 40, 12, 3, TEST_LABELS_FEW, false);
    scene *s = make_scene(*made);
    divide(s, rng, 3);
    expect_ok(make_parts(s, contexts, NULL, &err));
    return s;
}

RANDOM_TEST(a_failure_of_a_part_ends_the_training) {
    thr_context *contexts[] = {test_context(1, THR_ISA_BEST, NULL), test_context(1, THR_ISA_BEST, NULL)};
    test_ranking *made;
    scene *s = some_scene(contexts, &rng, &made);
    thr_status status = THR_EIO;
    for (unsigned at = 1; status == THR_EIO; at++) {
        thr_rank_model *model = NULL;
        s->n_requests = 0;
        s->stop_at = at;
        status = thr_rank_train_parts(contexts[0], &s->whole, NULL, &model, NULL, &err);
        assert_true((model != NULL) == (status == THR_OK));
        assert_true(at < 1000);
        thr_rank_model_free(model);
    }
    assert_int_equal(status, THR_OK);
    free_scene(s);
    thr_context_free(contexts[0]);
    thr_context_free(contexts[1]);
}

RANDOM_TEST(what_makes_no_sense_is_refused) {
    thr_context *contexts[] = {test_context(1, THR_ISA_BEST, NULL), test_context(1, THR_ISA_BEST, NULL)};
    test_ranking *made;
    scene *s = some_scene(contexts, &rng, &made);
    thr_rank_part *part = NULL;
    thr_rank_model *model = NULL;
    const size_t n = s->first_chunks[s->whole.n_parts];
    const thr_rank_span empty = {2, 2, n, s->starts}, beyond = {0, n + 1, n, s->starts}, other = {0, n, n, s->starts};
    double out[64], v[3] = {0};
    expect_error(thr_rank_part_create(contexts[0], s->rankings[0], &empty, NULL, &part, &err), THR_EINVAL,
                 "expected first < end");
    expect_error(thr_rank_part_create(contexts[0], s->rankings[0], &beyond, NULL, &part, &err), THR_EINVAL,
                 "expected first < end");
    expect_error(thr_rank_part_create(contexts[0], s->rankings[0], &other, NULL, &part, &err), THR_EDIM,
                 "but its chunks have 40");
    assert_null(part);
    const thr_rank_request product = {.task = THR_RANK_PRODUCT, .vector = v}, unknown = {.task = (thr_rank_task)9};
    expect_error(thr_rank_part_run(s->parts[0], &product, out, &err), THR_EINVAL, "the first request");
    expect_error(thr_rank_part_run(s->parts[0], &unknown, out, &err), THR_EINVAL, "the first request");
    thr_rank_options options = {0};
    options.row_weights = v;
    expect_error(thr_rank_train_parts(contexts[0], &s->whole, &options, &model, NULL, &err), THR_EINVAL,
                 "give row weights to thr_rank_part_create");
    s->first_chunks[1] = 0;
    expect_error(thr_rank_train_parts(contexts[0], &s->whole, NULL, &model, NULL, &err), THR_EINVAL,
                 "part 0 has no chunks");
    s->whole.n_parts = 0;
    expect_error(thr_rank_train_parts(contexts[0], &s->whole, NULL, &model, NULL, &err), THR_EINVAL,
                 "expected at least one of each");
    assert_null(model);
    free_scene(s);
    thr_context_free(contexts[0]);
    thr_context_free(contexts[1]);
}

RANDOM_TEST(every_allocation_may_fail) {
    test_memory memory = {0};
    thr_context *context = test_context(1, THR_ISA_BEST, &memory), *both[] = {context, context};
    test_ranking *made;
    scene *s = some_scene(both, &rng, &made);
    free_parts(s);
    test_oom oom = test_oom_start(&memory);
    while (test_oom_next(&oom)) {
        thr_rank_model *model = NULL;
        test_oom_arm(&oom);
        thr_status status = make_parts(s, both, NULL, &err);
        if (status == THR_OK)
            status = thr_rank_train_parts(context, &s->whole, NULL, &model, NULL, &err);
        const bool succeeded = test_oom_check(&oom, status, &err, NULL);
        assert_int_equal(model != NULL, succeeded);
        thr_rank_model_free(model);
        free_parts(s);
    }
    free_scene(s);
    thr_context_free(context);
}
