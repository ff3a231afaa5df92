/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writers and their journals: random sequences of changes against a map of ids to vectors, snapshots, names, filters,
 * and empty indexes.
 */
#include "index_writer_support.h"

#include "index/journal/tail.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

static const char DIR_A[] = "index-writer";
enum { MOST = 8000, QUERIES = 4, K = 12 };

/* ------------------------------------------------------------------------------------------------ the model */

/* What the index should hold: a vector for each id that is there. */
typedef struct model {
    thr_metric metric;
    double rounding; /* of scores by the kept type */
    uint64_t n;
    bool there[MOST];
    float vectors[MOST][DIMS];
} model;

static void model_put(model *m, uint64_t id, const float *vector) {
    assert_true(id < MOST);
    m->n += !m->there[id];
    m->there[id] = true;
    memcpy(m->vectors[id], vector, sizeof m->vectors[id]);
}

static bool model_take(model *m, uint64_t id) {
    const bool had = m->there[id];
    m->n -= had;
    m->there[id] = false;
    return had;
}

/* The number of items of the model that score more than `score`, by more than rounding. */
static uint64_t model_better(const model *m, const float *query, double score) {
    uint64_t n = 0;
    for (uint64_t id = 0; id < MOST; id++)
        n += m->there[id] && naive_score(m->metric, query, m->vectors[id], DIMS) > score + m->rounding;
    return n;
}

static void expect_answers(const model *m, thr_index *index, bool exact, uint64_t seed) {
    float *rows = random_rows(QUERIES, DIMS, seed), scores[QUERIES * K];
    uint64_t ids[QUERIES * K], missed = 0;
    uint8_t certified[QUERIES];
    const thr_matrix queries = thr_matrix_f32(rows, QUERIES, DIMS);
    thr_search_options options = {.exact = exact, .certified = certified};
    expect_ok(thr_index_search(index, &queries, K, &options, ids, scores, &err));
    for (size_t q = 0; q < QUERIES; q++)
        for (size_t i = 0; i < K; i++) {
            const uint64_t id = ids[q * K + i];
            if (i >= m->n) {
                assert_true(id == THR_NO_ID);
                continue;
            }
            assert_true(id < MOST && m->there[id]);
            const double score = naive_score(m->metric, rows + q * DIMS, m->vectors[id], DIMS);
            assert_true(fabs(score - (double)scores[q * K + i]) < m->rounding);
            for (size_t j = 0; j < i; j++)
                assert_true(ids[q * K + j] != id);
            assert_true(i == 0 || scores[q * K + i] <= scores[q * K + i - 1]);
            const bool wrong = model_better(m, rows + q * DIMS, score) > i;
            assert_false(wrong && certified[q]);
            missed += wrong;
        }
    assert_true(missed <= (exact ? 0 : QUERIES * K / 8));
}

static void expect_radius(const model *m, thr_index *index, uint64_t seed) {
    float *rows = random_rows(1, DIMS, seed);
    const float least = m->metric == THR_METRIC_L2 ? -8.0F : 0.3F;
    const thr_matrix queries = thr_matrix_f32(rows, 1, DIMS);
    thr_search_options options = {0};
    OWNED(thr_radius_result, result) = NULL;
    options.recall = 1;
    expect_ok(thr_index_search_radius(index, &queries, least, &options, &result, &err));
    uint64_t sure = 0, n = result->offsets[1];
    for (uint64_t id = 0; id < MOST; id++)
        sure += m->there[id] && naive_score(m->metric, rows, m->vectors[id], DIMS) > (double)least + m->rounding;
    assert_true(n >= sure);
    for (uint64_t i = 0; i < n; i++) {
        assert_true(result->ids[i] < MOST && m->there[result->ids[i]]);
        assert_true(i == 0 || result->scores[i] <= result->scores[i - 1]);
        assert_true(naive_score(m->metric, rows, m->vectors[result->ids[i]], DIMS) > (double)least - m->rounding);
    }
}

/* The index holds the model's items and no others. */
static void expect_model(const model *m, thr_index *index, uint64_t seed) {
    float vector[DIMS];
    uint64_t row;
    const thr_status verified = thr_index_verify(index, &err);
    if (verified != THR_ECHANGED) /* the writer's merger published a commit meanwhile */
        expect_ok(verified);
    assert_int_equal(thr_index_get_info(index).n_items, m->n);
    for (uint64_t id = 0; id < MOST; id++) {
        assert_int_equal(thr_index_row(index, id, &row), m->there[id]);
        if (!m->there[id])
            continue;
        assert_true(row < thr_index_n_rows(index));
        expect_ok(thr_index_vector(index, id, vector, &err));
        for (int d = 0; d < DIMS; d++)
            assert_true(fabsf(vector[d] - m->vectors[id][d]) < 0.02F);
    }
    expect_answers(m, index, true, seed);
    expect_answers(m, index, false, seed + 1);
    expect_radius(m, index, seed + 2);
}

static void expect_directory(thr_context *context, const model *m, uint64_t seed) {
    OWNED(thr_index, index) = test_index_open(context, DIR_A);
    expect_model(m, index, seed);
}

/* ------------------------------------------------------------------------------------------------ random changes */

static void change_items(thr_index_writer *writer, model *m, uint64_t *rng) {
    enum { BIG = 300 };
    const uint64_t n = thr_rng_below(rng, 12) == 0 ? 1 + thr_rng_below(rng, BIG) : 1 + thr_rng_below(rng, 6);
    const uint64_t what = thr_rng_below(rng, 4), range = MOST / 4;
    uint64_t ids[BIG];
    thr_index_change change;
    float *rows = random_rows(n, DIMS, thr_rng_next(rng));
    const thr_matrix matrix = thr_matrix_f32(rows, n, DIMS);
    const uint64_t first = thr_rng_below(rng, range - n), step = 1 + thr_rng_below(rng, 2);
    uint64_t held = 0;
    for (uint64_t i = 0; i < n; i++) {
        ids[i] = (first + i * step) % range;
        held += m->there[ids[i]];
    }
    for (uint64_t i = 0; i < n; i++)
        for (uint64_t j = 0; j < i; j++)
            if (ids[i] == ids[j]) {
                return;
            }
    if (what == 0) {
        expect_ok(thr_index_writer_remove(writer, ids, n, &change, &err));
        assert_int_equal(change.n_removed, held);
        for (uint64_t i = 0; i < n; i++)
            (void)model_take(m, ids[i]);
    } else if (what == 1) {
        const thr_status status = thr_index_writer_add(writer, &matrix, ids, NULL, &change, &err);
        assert_string_equal(thr_status_name(status), thr_status_name(held > 0 ? THR_EDUPLICATE : THR_OK));
        for (uint64_t i = 0; i < n && held == 0; i++)
            model_put(m, ids[i], rows + i * DIMS);
    } else {
        expect_ok(thr_index_writer_upsert(writer, &matrix, ids, NULL, &change, &err));
        assert_int_equal(change.n_removed, held);
        for (uint64_t i = 0; i < n; i++)
            model_put(m, ids[i], rows + i * DIMS);
    }
    assert_true(what == 1 || change.n_items == m->n);
}

/* Refresh; sometimes replace the reader's index, so that snapshots of snapshots are made. */
static void expect_refreshed(const model *m, thr_index **index, uint64_t seed) {
    thr_index *newer = NULL;
    expect_ok(thr_index_refresh(*index, &newer, &err));
    if (newer != NULL) {
        thr_index_free(*index);
        *index = newer;
    }
    expect_model(m, *index, seed);
}

/* 500 items, unless empty, which the model holds, too. */
static void begin_sequence(thr_context *context, model *m, thr_dtype keep, bool empty, uint64_t seed) {
    if (empty) {
        create_empty(context, DIR_A, m->metric, keep, false);
        return;
    }
    const thr_index_build_options options = build_options(m->metric, keep, 3);
    float *rows = random_rows(500, DIMS, seed);
    test_remove_directory(DIR_A);
    expect_ok(build_rows(context, DIR_A, rows, 500, DIMS, &options, &err));
    for (uint64_t i = 0; i < 500; i++)
        model_put(m, i, rows + i * DIMS);
}

static void run_sequence(thr_context *context, thr_metric metric, thr_dtype keep, bool empty, uint64_t seed) {
    enum { STEPS = 150 };
    model *m = test_new(1, sizeof *m);
    OWNED(thr_index, reader) = NULL;
    uint64_t rng = seed;
    m->metric = metric;
    m->rounding = keep == THR_DTYPE_F32 ? 1e-4 : keep == THR_DTYPE_F16 ? 0.02 : 0.2;
    print_message("metric %d, keep %d, %s: seed %llu\n", (int)metric, (int)keep, empty ? "empty" : "built",
                  (unsigned long long)seed);
    begin_sequence(context, m, keep, empty, seed);
    expect_ok(thr_index_open(context, DIR_A, &reader, &err));
    thr_index_writer *writer = open_writer(context, DIR_A, JOURNAL);
    for (int step = 0; step < STEPS; step++) {
        const uint64_t what = thr_rng_below(&rng, 40);
        if (what == 0)
            expect_ok(thr_index_writer_flush(writer, &err));
        else if (what == 1)
            expect_ok(thr_index_writer_compact(writer, NULL, &err));
        else if (what == 2) {
            thr_index_writer_free(writer);
            expect_directory(context, m, rng);
            writer = open_writer(context, DIR_A, JOURNAL);
        } else if (what < 6)
            expect_refreshed(m, &reader, rng);
        else
            change_items(writer, m, &rng);
    }
    expect_refreshed(m, &reader, rng);
    thr_index_writer_free(writer);
    expect_ok(thr_index_compact(context, DIR_A, NULL, &err));
    expect_directory(context, m, rng);
}

static uint64_t seed_of_run(void) {
    const char *given = getenv("THR_TEST_SEED");
    return given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
}

TEST(random_changes_of_a_built_index) {
    const uint64_t seed = seed_of_run();
    run_sequence(*state, THR_METRIC_COSINE, THR_DTYPE_F32, false, seed);
    run_sequence(*state, THR_METRIC_L2, THR_DTYPE_F16, false, seed + 1);
    run_sequence(*state, THR_METRIC_IP, THR_DTYPE_I8, false, seed + 2);
}

TEST(random_changes_of_an_empty_index) {
    const uint64_t seed = seed_of_run();
    run_sequence(*state, THR_METRIC_L2, THR_DTYPE_F32, true, seed + 3);
    run_sequence(*state, THR_METRIC_COSINE, THR_DTYPE_F16, true, seed + 4);
}

/* ------------------------------------------------------------------------------------------------ no seam */

/* An item has the same score in the tail and in a segment, to the bit. */
TEST(scores_do_not_change_when_the_journal_ends) {
    static const thr_dtype KEEPS[] = {THR_DTYPE_F32, THR_DTYPE_F16, THR_DTYPE_I8};
    enum { N = 100 };
    for (int metric = 0; metric < 3; metric++)
        for (size_t k = 0; k < 3; k++) {
            const thr_index_build_options options = build_options((thr_metric)metric, KEEPS[k], 4);
            float *rows = random_rows(3 * N, DIMS, 5), scores[2][2 * N];
            uint64_t ids[2][2 * N];
            test_remove_directory(DIR_A);
            expect_ok(build_rows(*state, DIR_A, rows, N, DIMS, &options, &err));
            OWNED(thr_index_writer, writer) = open_writer(*state, DIR_A, 0);
            const thr_matrix added = thr_matrix_f32(rows + (size_t)N * DIMS, N, DIMS);
            const thr_matrix query = thr_matrix_f32(rows + (size_t)2 * N * DIMS, 1, DIMS);
            expect_ok(thr_index_writer_add(writer, &added, NULL, NULL, NULL, &err));
            for (int i = 0; i < 2; i++) {
                thr_search_options search = {.exact = true};
                thr_index *index = test_index_open(*state, DIR_A);
                assert_int_equal(thr_index_get_info(index).n_segments, 1 + i);
                expect_ok(thr_index_search(index, &query, (uint64_t)2 * N, &search, ids[i], scores[i], &err));
                thr_index_free(index);
                expect_ok(thr_index_writer_flush(writer, &err));
            }
            assert_memory_equal(ids[0], ids[1], sizeof ids[0]);
            assert_memory_equal(scores[0], scores[1], sizeof scores[0]);
        }
}

TEST(names_and_filters_see_the_tail) {
    const char *names[] = {"one", "two", "three"}, *wrong[] = {"four", "a\nb", "four"}, *shown[256];
    float *rows = random_rows(6, DIMS, 1);
    uint64_t id, row, words[8] = {0}, answer[4];
    thr_search_options search = {0};
    thr_index_change change;
    create_empty(*state, DIR_A, THR_METRIC_COSINE, THR_DTYPE_F32, true);
    OWNED(thr_index_writer, writer) = open_writer(*state, DIR_A, 0);
    const thr_matrix three = thr_matrix_f32(rows, 3, DIMS), other = thr_matrix_f32(rows + (size_t)3 * DIMS, 1, DIMS);
    expect_error(thr_index_writer_add(writer, &three, NULL, NULL, NULL, &err), THR_EINVAL, NULL);
    expect_error(thr_index_writer_add(writer, &three, NULL, wrong, NULL, &err), THR_EINVAL, NULL);
    assert_string_equal(err.text, "names: row 1: the name has a line break: leave it out");
    wrong[1] = "a\rb";
    expect_error(thr_index_writer_add(writer, &three, NULL, wrong, NULL, &err), THR_EINVAL, NULL);
    assert_string_equal(err.text, "names: row 1: the name has a line break: leave it out");
    wrong[1] = "five";
    expect_error(thr_index_writer_add(writer, &three, NULL, wrong, NULL, &err), THR_EDUPLICATE, NULL);
    assert_non_null(strstr(err.text, "names: the name 'four' is repeated, in rows 0 and 2"));
    expect_ok(thr_index_writer_add(writer, &three, NULL, names, &change, &err));
    assert_int_equal(change.first_id, 0);
    expect_error(thr_index_writer_add(writer, &other, NULL, names + 1, NULL, &err), THR_EDUPLICATE, NULL);
    expect_ok(thr_index_writer_upsert(writer, &other, NULL, names + 1, &change, &err));
    assert_true(change.n_removed == 1 && change.first_id == 3 && change.n_items == 3);
    OWNED(thr_index, index) = test_index_open(*state, DIR_A);
    expect_ok(thr_index_find(index, "two", &id, &err));
    assert_int_equal(id, 3);
    assert_string_equal(thr_index_name(index, 2), "three");
    assert_null(thr_index_name(index, 1));
    expect_ok(thr_index_row_names(index, 0, 5, shown, &err));
    assert_true(shown[1] == NULL && shown[4] == NULL);
    assert_string_equal(shown[3], "two");
    search.filter = words;
    search.filter_bits = thr_index_n_rows(index);
    const uint64_t wanted[] = {2, 3};
    expect_ok(thr_bitmap_from_ids(index, wanted, 2, words, &err));
    expect_ok(thr_index_search(index, &other, 4, &search, answer, NULL, &err));
    assert_true(answer[0] == 3 && answer[1] == 2 && answer[2] == THR_NO_ID);
    assert_true(thr_index_row(index, 3, &row) && row == 3);
}

TEST(an_empty_index_has_no_answers) {
    model *m = test_new(1, sizeof *m);
    float *rows = random_rows(300, DIMS, 1), nan[DIMS] = {NAN};
    uint64_t answer[2];
    const thr_matrix bad = thr_matrix_f32(nan, 1, DIMS);
    m->rounding = 1e-4;
    create_empty(*state, DIR_A, THR_METRIC_COSINE, THR_DTYPE_F32, false);
    expect_directory(*state, m, 1);
    thr_index *index = test_index_open(*state, DIR_A);
    expect_error(thr_index_search(index, &bad, 2, NULL, answer, NULL, &err), THR_ERANGE, NULL);
    expect_error(thr_index_tune(index, NULL, &err), THR_EUNSUPPORTED, NULL);
    thr_index_free(index);
    expect_ok(thr_index_compact(*state, DIR_A, NULL, &err));
    expect_ok(thr_index_remove(*state, DIR_A, answer, 1, NULL, &err));
    /* By directory: few items stay in a journal, 256 become a segment. */
    for (uint64_t i = 0, n; i < 300; i += n) {
        n = i < 200 ? 50 : 100;
        const thr_matrix some = thr_matrix_f32(rows + i * DIMS, n, DIMS);
        expect_ok(add_matrix(*state, DIR_A, &some, NULL, NULL, &err));
        for (uint64_t j = i; j < i + n; j++)
            model_put(m, j, rows + j * DIMS);
        assert_int_equal(count_files(DIR_A, ".seg", NULL) > 0, i == 200);
        expect_directory(*state, m, i);
        if (i == 50) {
            const uint64_t gone = 7;
            expect_ok(thr_index_remove(*state, DIR_A, &gone, 1, NULL, &err));
            (void)model_take(m, gone);
            expect_directory(*state, m, i);
        }
    }
}

/* -------------------------------------------------------------------------------------------------- refusals */

TEST(wrong_writes_are_refused) {
    thr_index_writer *writer = NULL, *second = NULL;
    float wide[2 * DIMS] = {1}, nan[DIMS] = {NAN};
    const uint64_t twice[] = {5, 5}, none[] = {THR_NO_ID};
    const char *names[] = {"a", "b"};
    create_empty(*state, DIR_A, THR_METRIC_COSINE, THR_DTYPE_F32, false);
    expect_ok(thr_index_writer_open(*state, DIR_A, NULL, &writer, &err));
    expect_error(thr_index_writer_open(*state, DIR_A, NULL, &second, &err), THR_EBUSY, NULL);
    expect_error(thr_index_writer_open(*state, "no-such", NULL, &second, &err), THR_ENOTFOUND, NULL);
    const thr_matrix two = thr_matrix_f32(wide, 2, DIMS), broad = thr_matrix_f32(wide, 1, 2 * DIMS);
    const thr_matrix bad = thr_matrix_f32(nan, 1, DIMS), no = thr_matrix_f32(wide, 0, DIMS);
    expect_error(thr_index_writer_add(writer, &broad, NULL, NULL, NULL, &err), THR_EDIM, NULL);
    expect_ok(thr_index_writer_add(writer, &no, NULL, NULL, NULL, &err)); /* nothing to do */
    expect_error(thr_index_writer_add(writer, &bad, NULL, NULL, NULL, &err), THR_ERANGE, NULL);
    expect_error(thr_index_writer_add(writer, &two, twice, NULL, NULL, &err), THR_EDUPLICATE, NULL);
    expect_error(thr_index_writer_add(writer, &bad, none, NULL, NULL, &err), THR_ERANGE, NULL);
    expect_error(thr_index_writer_add(writer, &two, NULL, names, NULL, &err), THR_EINVAL, NULL);
    expect_error(thr_index_writer_add(writer, &two, twice, names, NULL, &err), THR_EINVAL, NULL);
    expect_error(thr_index_writer_remove(writer, NULL, 1, NULL, &err), THR_EINVAL, NULL);
    expect_error(thr_index_writer_add(NULL, &two, NULL, NULL, NULL, &err), THR_EINVAL, NULL);
    expect_ok(thr_index_writer_remove(writer, twice, 2, NULL, &err));
    expect_ok(thr_index_writer_add(writer, &two, NULL, NULL, NULL, &err));
    const uint64_t repeated[] = {1, 1, 1};
    thr_index_change change;
    expect_ok(thr_index_writer_remove(writer, repeated, 3, &change, &err));
    assert_int_equal(change.n_removed, 1);
    OWNED(thr_index, index) = test_index_open(*state, DIR_A);
    expect_ok(thr_index_verify(index, &err));
    assert_int_equal(thr_index_get_info(index).n_items, 1);
    thr_index_writer_free(writer);
}

/* ------------------------------------------------------------------------------------------------ processes */

TEST(a_writer_releases_its_lock_though_a_child_lives) {
    float vector[DIMS] = {1};
    const thr_matrix one = thr_matrix_f32(vector, 1, DIMS);
    OWNED(thr_index_writer, next) = NULL;
    int ended = -1;
    create_empty(*state, DIR_A, THR_METRIC_COSINE, THR_DTYPE_F32, false);
    thr_index_writer *writer = open_writer(*state, DIR_A, JOURNAL);
    expect_ok(thr_index_writer_add(writer, &one, NULL, NULL, NULL, &err));
    const pid_t child = fork();
    if (child == 0) {
        (void)pause(); /* with the lock's descriptor */
        _exit(0);
    }
    assert_true(child > 0);
    expect_ok(thr_index_writer_add(writer, &one, NULL, NULL, NULL, &err));
    thr_index_writer_free(writer);
    const thr_status status = thr_index_writer_open(*state, DIR_A, NULL, &next, &err);
    (void)kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_int_equal(status, THR_OK); /* though the child was alive */
}

/* They would overwrite what its parent writes. */
TEST(a_childs_writes_are_refused) {
    float vector[DIMS] = {1};
    const thr_matrix one = thr_matrix_f32(vector, 1, DIMS);
    int ended = -1;
    create_empty(*state, DIR_A, THR_METRIC_COSINE, THR_DTYPE_F32, false);
    OWNED(thr_index_writer, writer) = open_writer(*state, DIR_A, JOURNAL);
    const pid_t child = fork();
    if (child == 0)
        _exit(thr_index_writer_add(writer, &one, NULL, NULL, NULL, NULL) == THR_EINVAL ? 0 : 1);
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_int_equal(ended, 0);
}

TEST(items_are_removed_by_name) {
    float vectors[3 * DIMS] = {1};
    const char *const names[] = {"a", "b", "c"}, *const gone[] = {"c", "nobody", "a", "c"}, *const empty[] = {""};
    const thr_matrix all = thr_matrix_f32(vectors, 3, DIMS), one = thr_matrix_f32(vectors, 1, DIMS),
                     none = thr_matrix_f32(vectors, 0, DIMS);
    thr_index_change change;
    create_empty(*state, DIR_A, THR_METRIC_L2, THR_DTYPE_F32, true);
    thr_index_writer *writer = open_writer(*state, DIR_A, JOURNAL);
    expect_ok(thr_index_writer_add(writer, &all, NULL, names, NULL, &err));
    expect_ok(thr_index_writer_remove_names(writer, gone, 4, &change, &err));
    assert_int_equal(change.n_removed, 2);
    assert_int_equal(change.n_items, 1);
    expect_ok(thr_index_writer_remove_names(writer, NULL, 0, &change, &err));
    assert_int_equal(change.n_removed, 0);
    expect_error(thr_index_writer_add(writer, &one, NULL, empty, NULL, &err), THR_EINVAL, NULL);
    const uint64_t n_commits = change.n_commits;
    expect_ok(thr_index_writer_add(writer, &none, NULL, names, &change, &err)); /* no rows: no commit */
    assert_int_equal(change.n_commits, n_commits);
    assert_int_equal(change.n_items, 1);
    thr_index_writer_free(writer);
    create_empty(*state, DIR_A, THR_METRIC_L2, THR_DTYPE_F32, false);
    writer = open_writer(*state, DIR_A, JOURNAL);
    expect_error(thr_index_writer_remove_names(writer, gone, 4, &change, &err), THR_EINVAL, NULL);
    thr_index_writer_free(writer);
}

/* ------------------------------------------------------------------------------------------------ threads */

typedef struct adder {
    pthread_t thread;
    thr_index_writer *writer;
    uint64_t first;
} adder;

enum { THREADS = 4, EACH = 60 };

static void *add_many(void *arg) {
    adder *a = arg;
    float *rows = random_rows(EACH, DIMS, a->first);
    for (uint64_t i = 0; i < EACH; i++) {
        const uint64_t id = a->first + i, gone = a->first + i / 2;
        const thr_matrix one = thr_matrix_f32(rows + i * DIMS, 1, DIMS);
        expect_ok(thr_index_writer_upsert(a->writer, &one, &id, NULL, NULL, &err));
        if (i % 8 == 7)
            expect_ok(thr_index_writer_remove(a->writer, &gone, 1, NULL, &err));
    }
    return NULL;
}

TEST(many_threads_write_while_one_reads) {
    adder adders[THREADS];
    thr_index *index = NULL;
    float *rows = random_rows(1, DIMS, 1);
    const thr_matrix query = thr_matrix_f32(rows, 1, DIMS);
    create_empty(*state, DIR_A, THR_METRIC_L2, THR_DTYPE_F32, false);
    OWNED(thr_index_writer, writer) = open_writer(*state, DIR_A, 0);
    expect_ok(thr_index_open(*state, DIR_A, &index, &err));
    for (uint64_t i = 0; i < THREADS; i++) {
        adders[i] = (adder){.writer = writer, .first = i * EACH};
        assert_int_equal(pthread_create(&adders[i].thread, NULL, add_many, &adders[i]), 0);
    }
    for (int i = 0; i < 40; i++) {
        thr_index *newer = NULL;
        uint64_t answer[K];
        expect_ok(thr_index_refresh(index, &newer, &err));
        if (newer != NULL) {
            assert_true(thr_index_n_commits(newer) > thr_index_n_commits(index));
            thr_index_free(index);
            index = newer;
        }
        expect_ok(thr_index_search(index, &query, K, NULL, answer, NULL, &err));
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(adders[i].thread, NULL), 0);
    thr_index_free(index);
    expect_ok(thr_index_open(*state, DIR_A, &index, &err));
    expect_ok(thr_index_verify(index, &err));
    for (uint64_t i = 0; i < THREADS; i++) {
        uint64_t row;
        for (uint64_t j = 0; j < EACH; j++) {
            const uint64_t id = i * EACH + j;
            bool gone = false;
            for (uint64_t k = 7; k < EACH; k += 8)
                gone = gone || j == k / 2;
            assert_int_equal(thr_index_row(index, id, &row), !gone);
        }
    }
    thr_index_free(index);
}

TEST_IN_CONTEXT(2, NULL)
