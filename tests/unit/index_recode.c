/* SPDX-License-Identifier: Apache-2.0 */
/* Codes that are made anew: the same items, ids and exact scores, smaller errors, and the promised recall. */
#include "index_support.h"

#include "index/impl.h"

static const char DIR_A[] = "index-recode", NAMES_A[] = "index-recode.txt";
enum { DIMS = 24, OLD = 300, NEW = 2400, N = OLD + NEW, QUERIES = 40, K = 10 };

/* Items around the origin, then others that are shifted away from it. */
static float *shifted_rows(void) {
    float *rows = random_rows(N, DIMS, 5), *shift = random_rows(1, DIMS, 6);
    for (uint64_t i = OLD * DIMS; i < N * DIMS; i++)
        rows[i] += 3 * shift[i % DIMS];
    return rows;
}

typedef struct answers {
    uint64_t ids[QUERIES * K];
    float scores[QUERIES * K];
} answers;

static void search(thr_index *index, const float *rows, bool exact, answers *out) {
    const thr_matrix queries = thr_matrix_f32(rows + (N - QUERIES) * DIMS, QUERIES, DIMS);
    thr_search_options options = {.exact = exact};
    expect_ok(thr_index_search(index, &queries, K, &options, out->ids, out->scores, &err));
}

/* The share of the exact answers' scores that other answers reach. */
static double recall_of(const answers *exact, const answers *found) {
    size_t n = 0;
    for (size_t q = 0; q < QUERIES; q++)
        for (size_t i = 0; i < K; i++)
            n += found->scores[q * K + i] >= exact->scores[q * K + K - 1];
    return (double)n / (QUERIES * K);
}

static void write_names(uint64_t first, uint64_t end) {
    FILE *file = fopen(NAMES_A, "w");
    assert_non_null(file);
    for (uint64_t i = first; i < end; i++)
        assert_true(fprintf(file, "item %d\n", (int)(i * 7)) > 0);
    assert_int_equal(fclose(file), 0);
}

/* Build with the old items, add the new ones, and remove a few of both. */
static void make(thr_context *context, const float *rows, thr_index_build_options *options, bool names) {
    thr_index_add_options add = {0};
    uint64_t gone[30];
    const thr_matrix more = thr_matrix_f32(rows + OLD * DIMS, NEW, DIMS);
    test_remove_directory(DIR_A);
    write_names(0, OLD);
    options->ids_path = names ? NAMES_A : NULL;
    expect_ok(build_rows(context, DIR_A, rows, OLD, DIMS, options, &err));
    write_names(OLD, N);
    add.ids_path = options->ids_path;
    expect_ok(add_matrix(context, DIR_A, &more, &add, NULL, &err));
    for (uint64_t i = 0; i < 30; i++)
        gone[i] = 80 * i;
    expect_ok(thr_index_remove(context, DIR_A, gone, 30, NULL, &err));
}

static void expect_recoded(thr_context *context, const float *rows, bool names) {
    thr_index *before = NULL, *after = NULL;
    thr_index_change change;
    answers exact[2], found;
    float now[2], learned[2], vectors[2][DIMS];
    uint64_t id;
    expect_ok(thr_index_open(context, DIR_A, &before, &err));
    expect_ok(thr_index_code_error(before, &now[0], &learned[0], &err));
    search(before, rows, true, &exact[0]);
    expect_ok(thr_index_recode(context, DIR_A, &change, &err));
    assert_int_equal(change.n_items, N - 30);
    search(before, rows, true, &exact[1]); /* a snapshot whose files are gone */
    assert_memory_equal(&exact[0], &exact[1], sizeof exact[0]);
    expect_ok(thr_index_refresh(before, &after, &err));
    assert_non_null(after);
    expect_ok(thr_index_verify(after, &err));
    search(after, rows, true, &exact[1]);
    assert_memory_equal(exact[0].scores, exact[1].scores, sizeof exact[0].scores);
    search(after, rows, false, &found);
    assert_true(recall_of(&exact[1], &found) >= .985);
    expect_ok(thr_index_code_error(after, &now[1], &learned[1], &err));
    assert_true(now[0] > learned[0] && now[1] < now[0]);
    assert_true(fabsf(now[1] / learned[1] - 1) < .05f);
    assert_true(thr_index_get_info(after).tuned_queries > 0);
    for (id = 1; id < N; id += 80) {
        expect_ok(thr_index_vector(before, id, vectors[0], &err));
        expect_ok(thr_index_vector(after, id, vectors[1], &err));
        assert_memory_equal(vectors[0], vectors[1], sizeof vectors[0]);
        if (names)
            assert_string_equal(thr_index_name(before, id), thr_index_name(after, id));
    }
    if (names)
        expect_ok(thr_index_find(after, "item 700", &id, &err));
    assert_true(!names || id == 100);
    thr_index_free(before);
    thr_index_free(after);
}

TEST(items_and_scores_stay_the_same) {
    static const thr_dtype KEEPS[] = {THR_DTYPE_F32, THR_DTYPE_F16, THR_DTYPE_I8};
    float *rows = shifted_rows();
    for (int metric = THR_METRIC_COSINE; metric <= THR_METRIC_L2; metric++)
        for (uint32_t bits = 1; bits <= 4; bits += 3)
            for (uint32_t i = 0; i < 3; i++) {
                thr_index_build_options options = build_options((thr_metric)metric, KEEPS[i], bits);
                options.cells = i == 1 ? 12 : 0;
                make(*state, rows, &options, i == 2);
                expect_recoded(*state, rows, i == 2);
            }
}

/* Build with some items, add others, and compact. Whether that has learned the codes anew. */
static bool compact_recodes(thr_context *context, const float *rows, uint64_t n_old, uint64_t n) {
    thr_index_build_options options = build_options(THR_METRIC_L2, THR_DTYPE_F32, 3);
    const thr_matrix more = thr_matrix_f32(rows + n_old * DIMS, n - n_old, DIMS);
    thr_index *index = NULL;
    float now, learned[2];
    test_remove_directory(DIR_A);
    expect_ok(build_rows(context, DIR_A, rows, n_old, DIMS, &options, &err));
    expect_ok(add_matrix(context, DIR_A, &more, NULL, NULL, &err));
    for (int i = 0; i < 2; i++) {
        expect_ok(thr_index_open(context, DIR_A, &index, &err));
        expect_ok(thr_index_code_error(index, &now, &learned[i], &err));
        thr_index_free(index);
        expect_ok(thr_index_compact(context, DIR_A, NULL, &err));
    }
    return learned[0] != learned[1];
}

TEST(compacting_learns_codes_anew_where_items_have_moved) {
    enum { FEW = 3000, MANY = 6000 };
    float *same = random_rows(MANY, DIMS, 5), *moved = random_rows(MANY, DIMS, 5);
    for (uint64_t i = FEW / 2 * DIMS; i < MANY * DIMS; i++)
        moved[i] += 3 * moved[i % DIMS];
    assert_false(compact_recodes(*state, same, FEW / 2, MANY));
    assert_true(compact_recodes(*state, moved, FEW / 2, MANY));
    assert_false(compact_recodes(*state, moved, FEW / 2, FEW)); /* with few items the error is not reliable */
}

/* A given scale stays, and searched ranges are searched again. */
TEST(a_given_scale_is_kept) {
    float *rows = shifted_rows();
    for (int given = 0; given < 2; given++) {
        thr_index_build_options options = build_options(THR_METRIC_COSINE, THR_DTYPE_F32, 3);
        thr_index *before = NULL, *after = NULL;
        options.scale = given ? 2.95f : 0;
        make(*state, rows, &options, false);
        expect_ok(thr_index_open(*state, DIR_A, &before, &err));
        expect_ok(thr_index_recode(*state, DIR_A, NULL, &err));
        expect_ok(thr_index_refresh(before, &after, &err));
        const float *ranges[] = {before->manifest.quantiser.ranges, after->manifest.quantiser.ranges};
        for (int i = 0; i < THR_MAX_BITS; i++)
            assert_true(!given || (ranges[0][i] == 1 / 2.95f && ranges[1][i] == 1 / 2.95f));
        assert_true(given || memcmp(ranges[0], ranges[1], sizeof before->manifest.quantiser.ranges) != 0);
        expect_ok(thr_index_verify(after, &err));
        thr_index_free(before);
        thr_index_free(after);
    }
}

/* Long first dimensions, which a learned choice would rotate, and rows that it would not. */
TEST(the_choice_of_a_rotation_is_kept) {
    static const thr_rotate GIVEN[] = {THR_ROTATE_ON, THR_ROTATE_OFF};
    float *rows = shifted_rows();
    for (int uneven = 0; uneven < 2; uneven++) {
        for (uint64_t i = 0; uneven && i < N; i++)
            rows[i * DIMS] *= 20;
        for (int i = 0; i < 2; i++) {
            thr_index_build_options options = build_options(THR_METRIC_L2, THR_DTYPE_F32, 3);
            options.rotate = GIVEN[i];
            make(*state, rows, &options, false);
            expect_ok(thr_index_recode(*state, DIR_A, NULL, &err));
            OWNED(thr_index, index) = test_index_open(*state, DIR_A);
            assert_int_equal(thr_index_get_info(index).rotated, GIVEN[i] == THR_ROTATE_ON);
        }
    }
}

TEST(codes_need_vectors) {
    float *rows = shifted_rows(), now, learned;
    thr_index_build_options options = build_options(THR_METRIC_L2, THR_DTYPE_NONE, 3);
    make(*state, rows, &options, false);
    expect_error(thr_index_recode(*state, DIR_A, NULL, &err), THR_EUNSUPPORTED, NULL);
    OWNED(thr_index, index) = test_index_open(*state, DIR_A);
    expect_ok(thr_index_code_error(index, &now, &learned, &err));
    assert_true(now == 0 && learned == 0);
}

/* An index that began empty: scored exactly, then by codes, of which a calibration chooses the counts. */
TEST(an_index_that_began_empty_keeps_its_promise) {
    float *rows = random_rows(N, DIMS, 9), now, learned;
    thr_index_create_options options = {0};
    thr_index_writer *writer = NULL;
    thr_index *index = NULL;
    answers exact, found;
    options.n_dims = DIMS;
    options.replace = true;
    test_remove_directory(DIR_A);
    expect_ok(thr_index_create(*state, DIR_A, &options, &err));
    expect_ok(thr_index_recode(*state, DIR_A, NULL, &err)); /* nothing to code */
    expect_ok(thr_index_writer_open(*state, DIR_A, NULL, &writer, &err));
    for (uint64_t first = 0; first < N; first += 300) {
        const thr_matrix some = thr_matrix_f32(rows + first * DIMS, 300, DIMS);
        expect_ok(thr_index_writer_add(writer, &some, NULL, NULL, NULL, &err));
        if (first == 900)
            expect_ok(thr_index_writer_flush(writer, &err));
        expect_ok(thr_index_open(*state, DIR_A, &index, &err));
        assert_int_equal(thr_index_get_info(index).n_segments, first < 900 ? 0 : 1);
        assert_true(first < 900 || thr_index_get_info(index).tuned_queries > 0);
        expect_ok(thr_index_code_error(index, &now, &learned, &err));
        assert_true((learned > 0) == (first >= 900));
        if (first + 300 == N) {
            search(index, rows, true, &exact);
            search(index, rows, false, &found);
            assert_true(recall_of(&exact, &found) >= .985);
        }
        thr_index_free(index);
    }
    expect_ok(thr_index_writer_recode(writer, NULL, &err));
    thr_index_writer_free(writer);
    expect_ok(thr_index_open(*state, DIR_A, &index, &err));
    expect_ok(thr_index_verify(index, &err));
    assert_int_equal(thr_index_get_info(index).n_items, N);
    search(index, rows, false, &found);
    assert_true(recall_of(&exact, &found) >= .985);
    thr_index_free(index);
}

TEST_IN_CONTEXT(2, NULL)
