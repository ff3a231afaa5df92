/* SPDX-License-Identifier: Apache-2.0 */
/* Adding, replacing and removing items, and compacting: after every change an index answers as its items require. */
#include "index_support.h"

#include "index/change/merge_policy.h"

#include <fcntl.h>
#include <sys/file.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

static const char DIR_A[] = "index-change", NAMES_A[] = "index-change.txt";
enum { DIMS = 12, MOST = 6000, QUERIES = 8, K = 10 };

/* ------------------------------------------------------------------------------------------------ the model */

/* What the index should hold: vectors by id. */
typedef struct model {
    thr_metric metric;
    uint64_t ids[MOST];
    float vectors[MOST][DIMS];
    size_t n;
    uint64_t next;
} model;

static void model_add(model *m, uint64_t id, const float *vector) {
    size_t i = 0;
    while (i < m->n && m->ids[i] != id)
        i++;
    assert_true(i < MOST);
    m->n += i == m->n;
    m->ids[i] = id;
    memcpy(m->vectors[i], vector, sizeof m->vectors[i]);
    m->next = id >= m->next ? id + 1 : m->next;
}

static bool model_remove(model *m, uint64_t id) {
    for (size_t i = 0; i < m->n; i++)
        if (m->ids[i] == id) {
            m->n--;
            m->ids[i] = m->ids[m->n];
            memcpy(m->vectors[i], m->vectors[m->n], sizeof m->vectors[i]);
            return true;
        }
    return false;
}

static double score_of(thr_metric metric, const float *a, const float *b) {
    double product = 0, aa = 0, bb = 0, distance = 0;
    for (int d = 0; d < DIMS; d++) {
        product += (double)a[d] * (double)b[d];
        aa += (double)a[d] * (double)a[d];
        bb += (double)b[d] * (double)b[d];
        distance += ((double)a[d] - (double)b[d]) * ((double)a[d] - (double)b[d]);
    }
    return metric == THR_METRIC_L2 ? -distance : metric == THR_METRIC_IP ? product : product / sqrt(aa * bb);
}

/* The number of items that score more than the one with this id, by far more than rounding. */
static size_t model_rank(const model *m, const float *query, uint64_t id) {
    double own = NAN;
    size_t better = 0;
    for (size_t i = 0; i < m->n; i++)
        if (m->ids[i] == id)
            own = score_of(m->metric, query, m->vectors[i]);
    assert_true(own == own); /* an id that was removed, or never was */
    for (size_t i = 0; i < m->n; i++)
        better += score_of(m->metric, query, m->vectors[i]) > own + 1e-4;
    return better;
}

static void expect_answers(const model *m, thr_index *index, bool exact) {
    float *rows = random_rows(QUERIES, DIMS, 99), scores[QUERIES * K];
    uint64_t ids[QUERIES * K];
    const thr_matrix queries = thr_matrix_f32(rows, QUERIES, DIMS);
    thr_search_options options = {0};
    size_t missed = 0;
    options.exact = exact;
    expect_ok(thr_index_search(index, &queries, K, &options, ids, scores, &err));
    for (size_t q = 0; q < QUERIES; q++)
        for (size_t i = 0; i < K; i++) {
            if (i >= m->n) {
                assert_true(ids[q * K + i] == THR_NO_ID);
                continue;
            }
            for (size_t j = 0; j < i; j++)
                assert_true(ids[q * K + j] != ids[q * K + i]);
            missed += model_rank(m, rows + q * DIMS, ids[q * K + i]) >= K;
        }
    assert_true(missed <= (exact ? 0 : QUERIES * K / 20));
}

/* The open index holds the model's items and no others. */
static void expect_model(const model *m, thr_index *index) {
    float vector[DIMS];
    uint64_t row;
    expect_ok(thr_index_verify(index, &err));
    assert_int_equal(thr_index_get_info(index).n_items, m->n);
    assert_true(thr_index_n_rows(index) >= m->n);
    for (size_t i = 0; i < m->n; i++) {
        expect_ok(thr_index_vector(index, m->ids[i], vector, &err));
        assert_memory_equal(vector, m->vectors[i], sizeof vector);
        assert_true(thr_index_row(index, m->ids[i], &row) && row < thr_index_n_rows(index));
    }
    expect_answers(m, index, true);
    expect_answers(m, index, false);
}

static void expect_directory(thr_context *context, const model *m) {
    OWNED(thr_index, index) = test_index_open(context, DIR_A);
    expect_model(m, index);
}

static void make(thr_context *context, model *m, const thr_index_build_options *options, uint64_t n) {
    float *rows = random_rows(n, DIMS, 1);
    *m = (model){.metric = options->metric};
    test_remove_directory(DIR_A);
    expect_ok(build_rows(context, DIR_A, rows, n, DIMS, options, &err));
    for (uint64_t i = 0; i < n; i++)
        model_add(m, options->ids != NULL ? options->ids[i] : i, rows + i * DIMS);
}

static thr_status add_rows(thr_context *context, const float *rows, uint64_t n, const thr_index_add_options *options,
                           thr_index_change *change) {
    const thr_matrix matrix = thr_matrix_f32(rows, n, DIMS);
    return add_matrix(context, DIR_A, &matrix, options, change, &err);
}

/* Add n random rows: with ids from first_id on, or, if that is THR_NO_ID, with those that the index chooses. */
static thr_status add(thr_context *context, model *m, uint64_t n, uint64_t first_id, bool replace, uint64_t seed) {
    float *rows = random_rows(n, DIMS, seed);
    uint64_t *ids = test_new(n, sizeof *ids);
    thr_index_add_options options = {0};
    thr_index_change change;
    const size_t before = m->n;
    for (uint64_t i = 0; i < n; i++)
        ids[i] = first_id + i;
    options.replace = replace;
    if (first_id != THR_NO_ID) {
        options.ids = ids;
        options.n_ids = n;
    }
    const thr_status status = add_rows(context, rows, n, &options, &change);
    if (status == THR_OK) {
        if (first_id == THR_NO_ID)
            assert_true(change.first_id >= m->next);
        for (uint64_t i = 0; i < n; i++)
            model_add(m, (first_id == THR_NO_ID ? change.first_id : first_id) + i, rows + i * DIMS);
        assert_int_equal(change.n_added, n);
        assert_int_equal(change.n_removed, n - (m->n - before));
        assert_int_equal(change.n_items, m->n);
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------ what works */

/* Add, remove, replace and compact items of an index of at least 450, and of the model. */
static void change_items(thr_context *context, model *m) {
    uint64_t gone[150];
    thr_index_change change;
    expect_ok(add(context, m, 100, THR_NO_ID, false, 2));
    expect_directory(context, m);
    expect_ok(add(context, m, 70, 50000, false, 3));
    expect_ok(add(context, m, 1, THR_NO_ID, false, 4));
    expect_directory(context, m);
    for (size_t i = 0; i < 150; i++)
        gone[i] = m->ids[3 * i % m->n];
    expect_ok(thr_index_remove(context, DIR_A, gone, 150, &change, &err));
    size_t removed = 0;
    for (size_t i = 0; i < 150; i++)
        removed += model_remove(m, gone[i]);
    assert_int_equal(change.n_removed, removed);
    assert_int_equal(change.n_items, m->n);
    expect_directory(context, m);
    expect_ok(add(context, m, 90, 50020, true, 5)); /* 50 replaced or added again, 40 new */
    expect_directory(context, m);
    expect_ok(thr_index_compact(context, DIR_A, &change, &err));
    expect_directory(context, m);
    assert_int_equal(count_files(DIR_A, ".seg", NULL), 1);
    assert_int_equal(count_files(DIR_A, ".bits", NULL), 0);
    const uint64_t commits = change.n_commits;
    expect_ok(thr_index_compact(context, DIR_A, &change, &err)); /* nothing to gain */
    assert_int_equal(change.n_commits, commits);
    expect_ok(add(context, m, 5, THR_NO_ID, false, 6));
    expect_directory(context, m);
}

TEST(items_come_and_go) {
    static const struct {
        thr_metric metric;
        thr_dtype keep;
        uint32_t bits, lead;
        bool ids;
        uint32_t cells;
    } shapes[] = {
        {THR_METRIC_COSINE, THR_DTYPE_F32, 3, 2, false, 0}, {THR_METRIC_COSINE, THR_DTYPE_F32, 3, 2, false, 9},
        {THR_METRIC_L2, THR_DTYPE_F32, 3, 1, true, 40},     {THR_METRIC_L2, THR_DTYPE_F32, 2, 2, false, 0},
        {THR_METRIC_IP, THR_DTYPE_F32, 4, 1, true, 0},      {THR_METRIC_COSINE, THR_DTYPE_F32, 2, 2, true, 0}};
    model *m = test_new(1, sizeof *m);
    for (size_t s = 0; s < COUNT_OF(shapes); s++) {
        uint64_t ids[700];
        thr_index_build_options options = build_options(shapes[s].metric, shapes[s].keep, shapes[s].bits);
        options.lead_bits = shapes[s].lead;
        options.cells = shapes[s].cells;
        options.segment_rows = 256;
        for (uint64_t i = 0; i < 700; i++)
            ids[i] = 10 * i + 7;
        options.ids = shapes[s].ids ? ids : NULL;
        options.n_ids = shapes[s].ids ? 700 : 0;
        make(*state, m, &options, 700);
        change_items(*state, m);
    }
}

/* Two hundred calls of one item keep few files, and every segment's removed items are few. */
TEST(many_small_changes_keep_few_files) {
    model *m = test_new(1, sizeof *m);
    const thr_index_build_options options = build_options(THR_METRIC_COSINE, THR_DTYPE_F32, 3);
    make(*state, m, &options, 300);
    for (uint64_t i = 0; i < 200; i++) {
        const uint64_t id = m->ids[(i * 37) % m->n];
        expect_ok(add(*state, m, 1, i % 3 == 0 ? id : THR_NO_ID, true, 100 + i));
        assert_true(count_files(DIR_A, ".seg", NULL) < 16);
    }
    expect_directory(*state, m);
    for (uint64_t i = 0; i < 250; i++) {
        const uint64_t id = m->ids[(i * 31) % m->n];
        expect_ok(thr_index_remove(*state, DIR_A, &id, 1, NULL, &err));
        assert_true(model_remove(m, id));
    }
    OWNED(thr_index, index) = test_index_open(*state, DIR_A);
    expect_model(m, index);
    assert_true(thr_index_n_rows(index) <= m->n * 6 / 5 + 64 * 16);
}

TEST(all_items_can_be_removed) {
    model *m = test_new(1, sizeof *m);
    const thr_index_build_options options = build_options(THR_METRIC_L2, THR_DTYPE_F32, 3);
    thr_index_change change;
    make(*state, m, &options, 100);
    expect_ok(thr_index_remove(*state, DIR_A, m->ids, m->n, &change, &err));
    assert_int_equal(change.n_removed, 100);
    assert_int_equal(change.n_items, 0);
    m->n = 0;
    expect_directory(*state, m);
    expect_ok(thr_index_compact(*state, DIR_A, NULL, &err));
    expect_directory(*state, m);
    expect_ok(add(*state, m, 3, THR_NO_ID, false, 2));
    assert_int_equal(m->ids[0], 100); /* never used again */
    expect_directory(*state, m);
}

/* Codes and factors are copied, so scores keep their bits. */
TEST(compacting_keeps_estimates) {
    static const thr_dtype KEEPS[] = {THR_DTYPE_NONE, THR_DTYPE_F16, THR_DTYPE_I8};
    for (int metric = THR_METRIC_COSINE; metric <= THR_METRIC_L2; metric++)
        for (size_t keep = 0; keep < 3; keep++) {
            model *m = test_new(1, sizeof *m);
            thr_index_build_options options = build_options((thr_metric)metric, KEEPS[keep], 3);
            uint64_t gone[100], ids[2][QUERIES * K];
            float scores[2][QUERIES * K], *rows = random_rows(QUERIES, DIMS, 7);
            const thr_matrix queries = thr_matrix_f32(rows, QUERIES, DIMS);
            make(*state, m, &options, 500);
            expect_ok(add(*state, m, 200, THR_NO_ID, false, 2));
            for (uint64_t i = 0; i < 100; i++)
                gone[i] = 6 * i;
            expect_ok(thr_index_remove(*state, DIR_A, gone, 100, NULL, &err));
            for (int after = 0; after < 2; after++) {
                if (after)
                    expect_ok(thr_index_compact(*state, DIR_A, NULL, &err));
                OWNED(thr_index, index) = test_index_open(*state, DIR_A);
                expect_ok(thr_index_verify(index, &err));
                expect_ok(thr_index_search(index, &queries, K, NULL, ids[after], scores[after], &err));
            }
            assert_memory_equal(ids[0], ids[1], sizeof ids[0]);
            assert_memory_equal(scores[0], scores[1], sizeof scores[0]);
        }
}

typedef struct estimates {
    uint64_t ids[QUERIES * K];
    float scores[QUERIES * K], now, learned;
    uint64_t n_removed;
} estimates;

static estimates estimate(thr_context *context) {
    estimates e;
    float *rows = random_rows(QUERIES, DIMS, 7);
    const thr_matrix queries = thr_matrix_f32(rows, QUERIES, DIMS);
    OWNED(thr_index, index) = test_index_open(context, DIR_A);
    expect_ok(thr_index_verify(index, &err));
    expect_ok(thr_index_search(index, &queries, K, NULL, e.ids, e.scores, &err));
    expect_ok(thr_index_code_error(index, &e.now, &e.learned, &err));
    e.n_removed = thr_index_n_removed(index);
    return e;
}

/* Where a compaction would do nothing, and where it would learn the codes anew. */
TEST(rewriting_keeps_codes_and_leaves_no_removed_row) {
    enum { MOVED = 3000 };
    model *m = test_new(1, sizeof *m);
    const thr_index_build_options options = build_options(THR_METRIC_L2, THR_DTYPE_F32, 3);
    const uint64_t one = 5;
    float *rows = random_rows(MOVED, DIMS, 8);
    thr_index_change change;
    make(*state, m, &options, 2000);
    expect_ok(thr_index_remove(*state, DIR_A, &one, 1, NULL, &err));
    for (int moved = 0; moved < 2; moved++) {
        if (moved == 1) {
            for (size_t i = 0; i < MOVED * DIMS; i++)
                rows[i] = 3 + 4 * rows[i];
            expect_ok(add_rows(*state, rows, MOVED, NULL, NULL));
            expect_ok(thr_index_remove(*state, DIR_A, (const uint64_t[]){6, 2100}, 2, NULL, &err));
        } else {
            expect_ok(thr_index_compact(*state, DIR_A, NULL, &err));
        }
        const estimates before = estimate(*state);
        assert_int_equal(before.n_removed, moved == 1 ? 2 : 1);
        assert_true((before.now > (float)THR_RECODE_PAYS * before.learned) == (moved == 1));
        expect_ok(thr_index_rewrite(*state, DIR_A, &change, &err));
        const estimates after = estimate(*state);
        assert_int_equal(after.n_removed, 0);
        assert_int_equal(change.n_items, moved == 1 ? 1999 + MOVED - 2 : 1999);
        assert_true(after.learned == before.learned);
        assert_memory_equal(after.ids, before.ids, sizeof after.ids);
        assert_memory_equal(after.scores, before.scores, sizeof after.scores);
    }
    expect_error(thr_index_rewrite(NULL, DIR_A, NULL, &err), THR_EINVAL, NULL);
}

/* Ids that are row numbers take no bytes until some are removed: a few removed items are not worth theirs. */
TEST(compacting_does_not_grow_files) {
    model *m = test_new(1, sizeof *m);
    const thr_index_build_options options = build_options(THR_METRIC_L2, THR_DTYPE_F32, 3);
    uint64_t bytes[2], id = 0;
    make(*state, m, &options, 2000);
    for (; id < 500; id += 5) {
        expect_ok(thr_index_remove(*state, DIR_A, &id, 1, NULL, &err));
        for (int after = 0; after < 2; after++) {
            if (after)
                expect_ok(thr_index_compact(*state, DIR_A, NULL, &err));
            OWNED(thr_index, index) = test_index_open(*state, DIR_A);
            bytes[after] = thr_index_get_info(index).file_bytes;
        }
        assert_true(bytes[1] <= bytes[0]);
    }
}

/* An index of items named n0, n1, ... */
enum { N_NAMED = 80 };
static void build_named(thr_context *context, const float *rows) {
    thr_index_build_options options = build_options(THR_METRIC_COSINE, THR_DTYPE_F32, 3);
    char text[N_NAMED * 8] = "";
    test_remove_directory(DIR_A);
    for (int i = 0; i < N_NAMED; i++)
        (void)snprintf(text + strlen(text), 8, "n%d\n", i);
    test_write_text(NAMES_A, text);
    options.ids_path = NAMES_A;
    expect_ok(build_rows(context, DIR_A, rows, N_NAMED, DIMS, &options, &err));
}

TEST(names_come_and_go) {
    enum { N = N_NAMED };
    float *rows = random_rows(N, DIMS, 1);
    thr_index_add_options how = {0};
    thr_index_change change;
    thr_index *index = NULL;
    const char *names[256];
    uint64_t ids[3];
    build_named(*state, rows);
    expect_error(add_rows(*state, rows, 1, &how, &change), THR_EINVAL, NULL);
    assert_string_equal(err.text, "index-change: its items have names: give a name for each new one");
    test_write_text(NAMES_A, "a\nn7\n");
    how.ids_path = NAMES_A;
    expect_error(add_rows(*state, rows, 2, &how, &change), THR_EDUPLICATE, NULL);
    assert_string_equal(err.text, "index-change.txt: row 1: index-change holds an item with the name 'n7' already: "
                                  "replace it, or leave the row out");
    how.replace = true;
    expect_ok(add_rows(*state, rows, 2, &how, &change));
    assert_int_equal(change.n_removed, 1);
    assert_int_equal(change.n_items, N + 1);
    expect_ok(thr_index_open(*state, DIR_A, &index, &err));
    expect_ok(thr_index_find(index, "a", &ids[0], &err));
    expect_ok(thr_index_find(index, "n7", &ids[1], &err));
    expect_ok(thr_index_find(index, "n8", &ids[2], &err));
    assert_int_equal(ids[0], N);
    assert_int_equal(ids[1], N + 1);
    assert_int_equal(ids[2], 8);
    expect_ok(thr_index_row_names(index, 0, 130, names, &err));
    assert_null(names[7]);
    assert_null(names[N]); /* between two segments */
    assert_string_equal(names[128], "a");
    thr_index_free(index);
    (void)unlink(NAMES_A);
}

TEST(names_outlive_a_compaction) {
    float *rows = random_rows(N_NAMED, DIMS, 1);
    const uint64_t ids[] = {3, 7, 8};
    uint64_t found;
    thr_index_change change;
    build_named(*state, rows);
    expect_ok(thr_index_remove(*state, DIR_A, ids, 1, &change, &err));
    expect_ok(thr_index_compact(*state, DIR_A, &change, &err));
    thr_index *index = test_index_open(*state, DIR_A);
    expect_ok(thr_index_verify(index, &err));
    assert_string_equal(thr_index_name(index, ids[1]), "n7");
    assert_string_equal(thr_index_name(index, ids[2]), "n8");
    assert_null(thr_index_name(index, ids[0]));
    expect_error(thr_index_find(index, "n3", &found, &err), THR_ENOTFOUND, NULL);
    thr_index_free(index);
    (void)unlink(NAMES_A);
}

/* An open index shows its own commit, also when its files are gone; a refresh opens the newest. */
TEST(an_open_index_is_a_snapshot) {
    model *m = test_new(2, sizeof *m), *before = m + 1;
    const thr_index_build_options options = build_options(THR_METRIC_IP, THR_DTYPE_F32, 3);
    thr_index *index = NULL, *newer = NULL;
    make(*state, m, &options, 200);
    *before = *m;
    expect_ok(thr_index_open(*state, DIR_A, &index, &err));
    expect_ok(thr_index_refresh(index, &newer, &err));
    assert_null(newer);
    expect_ok(add(*state, m, 20, 3, true, 2));
    expect_ok(thr_index_compact(*state, DIR_A, NULL, &err));
    expect_answers(before, index, true);
    expect_ok(thr_index_refresh(index, &newer, &err));
    assert_non_null(newer);
    expect_model(m, newer);
    expect_answers(before, index, false);
    assert_int_equal(thr_index_n_commits(index), 0);
    assert_int_equal(thr_index_n_commits(newer), 2);
    thr_index_free(index);
    thr_index_free(newer);
}

TEST(filters_have_a_bit_a_row) {
    model *m = test_new(1, sizeof *m);
    const thr_index_build_options options = build_options(THR_METRIC_COSINE, THR_DTYPE_F32, 3);
    thr_search_options search = {0};
    OWNED(thr_radius_result, within) = NULL;
    uint64_t words[16], answer[K], allowed[] = {205, 17, 3}, gone[] = {17};
    make(*state, m, &options, 200);
    expect_ok(add(*state, m, 20, THR_NO_ID, false, 2));
    expect_ok(thr_index_remove(*state, DIR_A, gone, 1, NULL, &err));
    OWNED(thr_index, index) = test_index_open(*state, DIR_A);
    expect_error(thr_bitmap_from_ids(index, allowed, 3, words, &err), THR_ENOTFOUND, NULL);
    allowed[1] = 4;
    expect_ok(thr_bitmap_from_ids(index, allowed, 3, words, &err));
    const thr_matrix query = thr_matrix_f32(m->vectors[0], 1, DIMS);
    search.filter = words;
    search.filter_bits = 219;
    expect_error(thr_index_search(index, &query, K, &search, answer, NULL, &err), THR_EINVAL, NULL);
    search.filter_bits = thr_index_n_rows(index);
    memset(words, 0xff, sizeof words); /* removed items and rows between segments stay out */
    search.exact = true;
    uint64_t *all = test_new(256, sizeof *all);
    expect_ok(thr_index_search(index, &query, 256, &search, all, NULL, &err));
    for (size_t i = 0; i < 256; i++)
        assert_true((all[i] != THR_NO_ID) == (i < 219) && all[i] != 17);
    search.exact = false;
    expect_ok(thr_bitmap_from_ids(index, allowed, 3, words, &err));
    expect_ok(thr_index_search(index, &query, K, &search, answer, NULL, &err));
    assert_true(answer[2] != THR_NO_ID && answer[3] == THR_NO_ID);
    expect_ok(thr_index_search_radius(index, &query, -1, &search, &within, &err));
    assert_int_equal(within->offsets[1], 3);
}

TEST(the_policy_bounds_files_and_space) {
    enum { FULL = 1000000 };
    uint32_t first, end;
    thr_segment_size sizes[20] = {{100000, 100000}};
    assert_false(thr_index_merge_choose(sizes, 1, FULL, &first, &end));
    for (uint32_t i = 1; i < 8; i++)
        sizes[i] = (thr_segment_size){i * 10, i * 10};
    assert_false(thr_index_merge_choose(sizes, 8, FULL, &first, &end));
    sizes[8] = (thr_segment_size){1, 1};
    assert_true(thr_index_merge_choose(sizes, 9, FULL, &first, &end));
    assert_true(first == 1 && end == 9);
    sizes[0].n_live = 80000;
    assert_true(thr_index_merge_choose(sizes, 3, FULL, &first, &end));
    assert_true(first == 0 && end == 1);
    sizes[0].n_live = 84000;
    assert_false(thr_index_merge_choose(sizes, 3, FULL, &first, &end));
    sizes[0] = (thr_segment_size){1000, 0};
    assert_false(thr_index_merge_choose(sizes, 1, FULL, &first, &end)); /* an index keeps a segment */
    for (uint32_t i = 0; i < 20; i++)
        sizes[i] = i < 12 ? (thr_segment_size){32000, 32000} : (thr_segment_size){4000, 4000};
    assert_true(thr_index_merge_choose(sizes, 15, FULL, &first, &end)); /* not the last ones, which are few */
    assert_true(first == 0 && end == 12);
    assert_true(thr_index_merge_choose(sizes, 20, FULL, &first, &end));
    assert_true(first == 12 && end == 20);
    assert_false(thr_index_merge_choose(sizes, 15, 40000, &first, &end)); /* full segments stay */
}

/* -------------------------------------------------------------------------------------------------- refusals */

TEST(wrong_changes_are_refused) {
    model *m = test_new(1, sizeof *m);
    const thr_index_build_options options = build_options(THR_METRIC_COSINE, THR_DTYPE_F32, 3);
    float wide[2 * DIMS] = {1}, nan[DIMS] = {NAN};
    thr_reader *reader = NULL;
    thr_index_add_options how = {0};
    uint64_t twice[] = {900, 900}, none[] = {THR_NO_ID};
    make(*state, m, &options, 100);
    const thr_matrix two = thr_matrix_f32(wide, 1, 2 * DIMS);
    expect_ok(thr_reader_from_matrix(*state, &two, &reader, &err));
    expect_error(thr_index_add(*state, DIR_A, reader, NULL, NULL, &err), THR_EDIM, NULL);
    expect_error(thr_index_add(NULL, DIR_A, reader, NULL, NULL, &err), THR_EINVAL, NULL);
    expect_error(thr_index_add(*state, "", reader, NULL, NULL, &err), THR_EINVAL, NULL);
    expect_error(thr_index_add(*state, "no-such", reader, NULL, NULL, &err), THR_ENOTFOUND, NULL);
    thr_reader_free(reader);
    expect_error(thr_index_add(*state, DIR_A, NULL, NULL, NULL, &err), THR_EINVAL, NULL);
    expect_error(add_rows(*state, nan, 1, NULL, NULL), THR_ERANGE, NULL);
    expect_error(add(*state, m, 5, 98, false, 3), THR_EDUPLICATE, NULL);
    assert_string_equal(err.text, "ids: row 0: index-change holds an item with the id 98 already: replace it, or "
                                  "leave the row out");
    how.ids = twice;
    how.n_ids = 2;
    expect_error(add_rows(*state, wide, 2, &how, NULL), THR_EDUPLICATE, NULL);
    how.n_ids = 1;
    expect_error(add_rows(*state, wide, 2, &how, NULL), THR_EDIM, NULL);
    how.ids = none;
    expect_error(add_rows(*state, wide, 1, &how, NULL), THR_ERANGE, NULL);
    test_write_text(NAMES_A, "a\n");
    how = (thr_index_add_options){.ids_path = NAMES_A};
    expect_error(add_rows(*state, wide, 1, &how, NULL), THR_EINVAL, NULL);
    (void)unlink(NAMES_A);
    expect_error(thr_index_remove(*state, DIR_A, NULL, 1, NULL, &err), THR_EINVAL, NULL);
    expect_ok(thr_index_remove(*state, DIR_A, twice, 2, NULL, &err)); /* nobody has that id */
    expect_directory(*state, m);
    assert_int_equal(count_files(DIR_A, ".seg", NULL), 1);
}

TEST(two_writers_do_not_meet) {
    model *m = test_new(1, sizeof *m);
    const thr_index_build_options options = build_options(THR_METRIC_COSINE, THR_DTYPE_F32, 3);
    make(*state, m, &options, 100);
    const int fd = open(DIR_A, O_RDONLY | O_DIRECTORY);
    assert_true(fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0);
    expect_error(add(*state, m, 1, THR_NO_ID, false, 3), THR_EBUSY, NULL);
    expect_error(thr_index_compact(*state, DIR_A, NULL, &err), THR_EBUSY, NULL);
    assert_int_equal(close(fd), 0);
    expect_directory(*state, m);
}

/* A child is killed at a random time of a loop of changes; what it acknowledged through a pipe must be there. */
enum { STEP = 8 }; /* items that a commit of run_killed adds */

/* Add STEP items and remove one, again and again, in a process that is killed after a while. Returns its commits. */
static uint64_t run_killed(thr_context *context, model *m, uint64_t *rng) {
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    const pid_t child = fork();
    if (child == 0) {
        for (uint64_t i = 0;; i++) {
            const uint64_t first = 1000 + i * STEP, gone = i;
            if (add(context, m, STEP, first, false, i + 7) != THR_OK ||
                thr_index_remove(context, DIR_A, &gone, 1, NULL, &err) != THR_OK || !model_remove(m, gone) ||
                write(fds[1], "x", 1) != 1)
                _exit(1);
        }
    }
    (void)close(fds[1]);
    const struct timespec pause = {0, (long)thr_rng_below(rng, 60) * 1000000};
    (void)nanosleep(&pause, NULL);
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
    char acknowledged[4096];
    ssize_t n = 0, got;
    while ((got = read(fds[0], acknowledged, sizeof acknowledged)) > 0)
        n += got;
    (void)close(fds[0]);
    return (uint64_t)n;
}

TEST(a_killed_writer_loses_nothing) {
    enum { RUNS = 12 };
    model *m = test_new(1, sizeof *m);
    const thr_index_build_options options = build_options(THR_METRIC_COSINE, THR_DTYPE_F32, 3);
    uint64_t rng = 5;
    for (int run = 0; run < RUNS; run++) {
        make(*state, m, &options, 300);
        const uint64_t n = run_killed(*state, m, &rng);
        uint64_t row;
        thr_index *index = test_index_open(*state, DIR_A);
        expect_ok(thr_index_verify(index, &err));
        for (uint64_t i = 0; i < n; i++) {
            assert_false(thr_index_row(index, i, &row));
            for (uint64_t j = 0; j < STEP; j++)
                assert_true(thr_index_row(index, 1000 + i * STEP + j, &row));
        }
        /* The one in progress is there whole, or not at all. */
        size_t half = 0;
        for (uint64_t j = 0; j < STEP; j++)
            half += thr_index_row(index, 1000 + n * STEP + j, &row);
        assert_true(half == 0 || half == STEP);
        thr_index_free(index);
        expect_ok(add_rows(*state, m->vectors[0], 1, NULL, NULL)); /* the next writer cleans up */
        assert_int_equal(count_files(DIR_A, ".tmp", NULL), 0);
    }
}

TEST_IN_CONTEXT(2, DIR_A)
