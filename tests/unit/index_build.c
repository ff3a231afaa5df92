/* SPDX-License-Identifier: Apache-2.0 */
/* What a build refuses, and that it then leaves everything as it was. */
#include "index_support.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>

static const char DIR_A[] = "index-build";
enum { N = 300, DIMS = 6 };

/* The index there is the one made of rows with this seed. */
static void expect_index(thr_context *context, uint64_t seed) {
    float *rows = random_rows(N, DIMS, seed), vector[DIMS];
    OWNED(thr_index, index) = test_index_open(context, DIR_A);
    expect_ok(thr_index_verify(index, &err));
    expect_ok(thr_index_vector(index, 123, vector, &err));
    assert_memory_equal(vector, rows + 123 * DIMS, sizeof vector);
}

static void make_index(thr_context *context, uint64_t seed) {
    float *rows = random_rows(N, DIMS, seed);
    test_remove_directory(DIR_A);
    expect_ok(build_rows(context, DIR_A, rows, N, DIMS, NULL, &err));
}

TEST(wrong_options_are_refused) {
    float *rows = random_rows(N, DIMS, 1);
    thr_index_build_options good = build_options(THR_METRIC_IP, THR_DTYPE_F32, 3), bad;
    test_remove_directory(DIR_A);
    bad = good;
    bad.metric = (thr_metric)3;
    expect_error(build_rows(*state, DIR_A, rows, N, DIMS, &bad, &err), THR_EINVAL, NULL);
    bad = good;
    bad.item_bits = 9;
    expect_error(build_rows(*state, DIR_A, rows, N, DIMS, &bad, &err), THR_EINVAL, NULL);
    bad = good;
    bad.keep = THR_DTYPE_U8;
    expect_error(build_rows(*state, DIR_A, rows, N, DIMS, &bad, &err), THR_EINVAL, NULL);
    for (size_t i = 0; i < 5; i++) {
        bad = good;
        bad.scale = (float[]){NAN, INFINITY, -2, 0.9f, 2e6f}[i];
        expect_error(build_rows(*state, DIR_A, rows, N, DIMS, &bad, &err), THR_EINVAL, NULL);
    }
    expect_error(build_rows(*state, "", rows, N, DIMS, &good, &err), THR_EINVAL, NULL);
    expect_error(build_rows(*state, "no/such/dir", rows, N, DIMS, &good, &err), THR_ENOTFOUND, NULL);
    expect_error(thr_index_build(*state, DIR_A, NULL, &good, &err), THR_EINVAL, NULL);
    assert_int_equal(access(DIR_A, F_OK), -1);
}

TEST(no_rows_and_texts_are_refused) {
    float rows[DIMS] = {0};
    thr_reader *reader = NULL;
    test_remove_directory(DIR_A);
    assert_int_not_equal(build_rows(*state, DIR_A, rows, 0, DIMS, NULL, &err), THR_OK);
    test_write_text("index-build.txt", "one\ntwo\n");
    expect_ok(thr_reader_open(*state, "index-build.txt", &reader, &err));
    expect_error(thr_index_build(*state, DIR_A, reader, NULL, &err), THR_EINVAL, NULL);
    thr_reader_free(reader);
    (void)unlink("index-build.txt");
    assert_int_equal(access(DIR_A, F_OK), -1);
}

TEST(an_index_is_replaced_only_on_request) {
    float *rows = random_rows(N, DIMS, 2);
    thr_index_build_options options = build_options(THR_METRIC_IP, THR_DTYPE_F32, 3);
    make_index(*state, 1);
    expect_error(build_rows(*state, DIR_A, rows, N, DIMS, &options, &err), THR_EEXIST, NULL);
    assert_string_equal(err.text, "index-build: holds an index of 300 items: replace it, or choose another directory");
    expect_index(*state, 1);
    options.replace = true;
    expect_ok(build_rows(*state, DIR_A, rows, N, DIMS, &options, &err));
    expect_index(*state, 2);
    assert_int_equal(count_files(DIR_A, "", NULL), 2); /* the old segment is gone */
}

TEST(an_open_index_survives_its_replacement) {
    float *rows = random_rows(N, DIMS, 2), *old = random_rows(N, DIMS, 1), vector[DIMS];
    thr_index_build_options options = build_options(THR_METRIC_IP, THR_DTYPE_F32, 3);
    thr_matrix query = thr_matrix_f32(old, 1, DIMS);
    uint64_t ids[5], again[5];
    make_index(*state, 1);
    OWNED(thr_index, index) = test_index_open(*state, DIR_A);
    expect_ok(thr_index_search(index, &query, 5, NULL, ids, NULL, &err));
    options.replace = true;
    expect_ok(build_rows(*state, DIR_A, rows, N, DIMS, &options, &err));
    expect_ok(thr_index_search(index, &query, 5, NULL, again, NULL, &err));
    assert_memory_equal(ids, again, sizeof ids);
    expect_ok(thr_index_vector(index, 9, vector, &err));
    assert_memory_equal(vector, old + 9 * DIMS, sizeof vector);
    expect_error(thr_index_verify(index, &err), THR_ECHANGED, NULL);
}

TEST(a_damaged_index_and_one_of_another_version_can_be_replaced) {
    float *rows = random_rows(N, DIMS, 2);
    thr_index_build_options options = build_options(THR_METRIC_IP, THR_DTYPE_F32, 3);
    make_index(*state, 1);
    test_write_text("index-build/MANIFEST", "thresher-index 1\n");
    expect_error(build_rows(*state, DIR_A, rows, N, DIMS, &options, &err), THR_EEXIST, NULL);
    test_write_text("index-build/MANIFEST", "thresher-index 1000\n");
    expect_error(build_rows(*state, DIR_A, rows, N, DIMS, &options, &err), THR_EEXIST, "another format version");
    options.replace = true;
    expect_ok(build_rows(*state, DIR_A, rows, N, DIMS, &options, &err));
    test_write_text("index-build/MANIFEST", "somebody else's\n");
    expect_error(build_rows(*state, DIR_A, rows, N, DIMS, &options, &err), THR_EEXIST, NULL);
    test_write_text("index-build/MANIFEST", "thresher-index 1\n");
    expect_ok(build_rows(*state, DIR_A, rows, N, DIMS, &options, &err));
    expect_index(*state, 2);
}

TEST(other_things_in_the_directory_are_respected) {
    float *rows = random_rows(N, DIMS, 1);
    test_remove_directory(DIR_A);
    assert_int_equal(mkdir(DIR_A, 0777), 0);
    test_write_text("index-build/diary.txt", "dear");
    expect_error(build_rows(*state, DIR_A, rows, N, DIMS, NULL, &err), THR_EEXIST, "diary.txt");
    assert_int_equal(count_files(DIR_A, "", NULL), 1);
    test_remove_directory(DIR_A);
    assert_int_equal(mkdir(DIR_A, 0777), 0);
    test_write_text("index-build/.diary.0123456789abcdef.tmp", "dear");
    expect_error(build_rows(*state, DIR_A, rows, N, DIMS, NULL, &err), THR_EEXIST, ".diary");
    test_write_text("index-build.file", "");
    expect_error(build_rows(*state, "index-build.file", rows, N, DIMS, NULL, &err), THR_EEXIST, NULL);
    (void)unlink("index-build.file");
}

TEST(leftovers_of_a_killed_build_are_swept_away) {
    float *rows = random_rows(N, DIMS, 1);
    test_remove_directory(DIR_A);
    assert_int_equal(mkdir(DIR_A, 0777), 0);
    test_write_text("index-build/000000-0000abcd.seg", "old");
    test_write_text("index-build/.000001-0000abcd.seg.0123456789abcdef.tmp", "old");
    test_write_text("index-build/.MANIFEST.0123456789abcdef.tmp", "old");
    rows[DIMS * 200] = NAN; /* a build that fails sweeps nothing but its own */
    expect_error(build_rows(*state, DIR_A, rows, N, DIMS, NULL, &err), THR_ERANGE, NULL);
    assert_int_equal(count_files(DIR_A, "", NULL), 3);
    rows[DIMS * 200] = 0;
    expect_ok(build_rows(*state, DIR_A, rows, N, DIMS, NULL, &err));
    assert_int_equal(count_files(DIR_A, "", NULL), 2);
}

TEST(a_second_build_in_the_same_directory_waits_its_turn) {
    float *rows = random_rows(N, DIMS, 2);
    thr_index_build_options options = build_options(THR_METRIC_IP, THR_DTYPE_F32, 3);
    options.replace = true;
    make_index(*state, 1);
    int fd = open(DIR_A, O_RDONLY);
    assert_true(fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0);
    expect_error(build_rows(*state, DIR_A, rows, N, DIMS, &options, &err), THR_EBUSY, "another writer");
    (void)close(fd);
    expect_index(*state, 1);
    expect_ok(build_rows(*state, DIR_A, rows, N, DIMS, &options, &err));
}

/* sample_rows of 64 leaves most rows unseen by the sample, so the bad ones are met in the middle of the writing. */
TEST(bad_rows_are_named_and_the_old_index_stays) {
    static const struct {
        float value;
        thr_metric metric;
        thr_dtype keep;
    } kinds[] = {{NAN, THR_METRIC_IP, THR_DTYPE_F32},      {INFINITY, THR_METRIC_L2, THR_DTYPE_NONE},
                 {-INFINITY, THR_METRIC_IP, THR_DTYPE_I8}, {1e37f, THR_METRIC_IP, THR_DTYPE_F32},
                 {1e37f, THR_METRIC_IP, THR_DTYPE_F16},    {1e20f, THR_METRIC_L2, THR_DTYPE_F32},
                 {NAN, THR_METRIC_COSINE, THR_DTYPE_F16}};
    for (size_t k = 0; k < COUNT_OF(kinds); k++)
        for (uint64_t bad = 0; bad < N; bad += 59) {
            float *rows = random_rows(N, DIMS, 2);
            char text[32];
            thr_index_build_options options = build_options(kinds[k].metric, kinds[k].keep, 3);
            options.replace = true;
            options.sample_rows = 64;
            options.segment_rows = 128;
            rows[bad * DIMS + 4] = kinds[k].value;
            (void)snprintf(text, sizeof text, "row %d", (int)bad);
            make_index(*state, 1);
            expect_error(build_rows(*state, DIR_A, rows, N, DIMS, &options, &err), THR_ERANGE, NULL);
            if (strstr(err.text, text) == NULL)
                fail_msg("'%s' does not name %s", err.text, text);
            assert_int_equal(count_files(DIR_A, "", NULL), 2);
            expect_index(*state, 1);
            test_remove_directory(DIR_A);
            expect_error(build_rows(*state, DIR_A, rows, N, DIMS, &options, &err), THR_ERANGE, NULL);
            assert_int_equal(access(DIR_A, F_OK), -1);
        }
}

/* Rows that float16 by itself could not hold: each has a scale, and by cosine a length of its own. */
TEST(float16_and_int8_keep_rows_of_any_length) {
    static const float lengths[] = {1e-9f, 1e-7f, 1e5f, 1e9f};
    for (size_t k = 0; k < 6; k++) {
        const thr_dtype keep = k % 2 == 0 ? THR_DTYPE_F16 : THR_DTYPE_I8;
        float *rows = random_rows(N, DIMS, 2), kept[DIMS];
        const thr_index_build_options options = build_options((thr_metric)(k / 2), keep, 3);
        for (size_t i = 0; i < 4; i++)
            for (uint32_t d = 0; d < DIMS; d++)
                rows[(7 + i) * DIMS + d] *= lengths[i];
        test_remove_directory(DIR_A);
        expect_ok(build_rows(*state, DIR_A, rows, N, DIMS, &options, &err));
        thr_index *index;
        expect_ok(thr_index_open(*state, DIR_A, &index, &err));
        expect_ok(thr_index_verify(index, &err));
        for (uint64_t i = 2; i < 4; i++) {
            const double step = (double)lengths[i] * (keep == THR_DTYPE_F16 ? 4.0 / 2048 : 4.0 / 127);
            expect_ok(thr_index_vector(index, 7 + i, kept, &err));
            for (uint32_t d = 0; d < DIMS; d++)
                assert_true(fabs((double)kept[d] - (double)rows[(7 + i) * DIMS + d]) <= step);
        }
        for (uint64_t i = 0; i < 2 && options.metric == THR_METRIC_COSINE; i++) {
            expect_ok(thr_index_vector(index, 7 + i, kept, &err));
            for (uint32_t d = 0; d < DIMS; d++)
                assert_true(fabs((double)kept[d] - (double)rows[(7 + i) * DIMS + d]) <= (double)lengths[i] * 4 / 127);
        }
        thr_index_free(index);
    }
}

static bool stop_after(void *user, const char *what, uint64_t done, uint64_t total) {
    int *left = user;
    assert_true(what != NULL && (total == 0 || done <= total));
    return (*left)-- > 0;
}

TEST(a_build_and_a_check_can_be_canceled) {
    float *rows = random_rows(N, DIMS, 2);
    int left = 0, canceled = 0;
    thr_context_options options = {0};
    OWNED(thr_context, context) = NULL;
    thr_index_build_options build = build_options(THR_METRIC_IP, THR_DTYPE_F32, 3);
    build.replace = true;
    build.segment_rows = 64;
    options.progress = stop_after;
    options.progress_user = &left;
    expect_ok(thr_context_create(&options, &context, &err));
    for (int n = 0; n < 3; n++) {
        make_index(*state, 1);
        left = n;
        thr_status status = build_rows(context, DIR_A, rows, N, DIMS, &build, &err);
        if (status == THR_OK)
            break;
        assert_int_equal(status, THR_ECANCELED);
        assert_int_equal(count_files(DIR_A, "", NULL), 2);
        expect_index(*state, 1);
        canceled++;
    }
    assert_true(canceled > 0);
    OWNED(thr_index, index) = test_index_open(context, DIR_A);
    left = 0;
    expect_error(thr_index_verify(index, &err), THR_ECANCELED, NULL);
}

typedef struct short_stream {
    uint64_t ends_after;
} short_stream;

static uint64_t end_early(void *user, uint64_t first, uint64_t max_rows, float *out) {
    const short_stream *s = user;
    if (first >= s->ends_after)
        return 0;
    uint64_t n = s->ends_after - first < max_rows ? s->ends_after - first : max_rows;
    for (uint64_t i = 0; i < n * DIMS; i++)
        out[i] = (float)i + 1;
    return n;
}

TEST(rows_that_are_all_equal_can_be_indexed) {
    static const thr_metric metrics[] = {THR_METRIC_COSINE, THR_METRIC_IP, THR_METRIC_L2};
    static const float values[] = {1.0f, -3.5f, 0.0f};
    float rows[N * DIMS];
    for (size_t m = 0; m < 3; m++)
        for (size_t v = 0; v < 3; v++)
            for (uint32_t bits = 1; bits <= THR_MAX_BITS; bits++) {
                thr_index_build_options options = build_options(metrics[m], THR_DTYPE_F32, bits);
                uint64_t ids[4];
                for (size_t i = 0; i < N * DIMS; i++)
                    rows[i] = values[v];
                test_remove_directory(DIR_A);
                expect_ok(build_rows(*state, DIR_A, rows, N, DIMS, &options, &err));
                OWNED(thr_index, index) = test_index_open(*state, DIR_A);
                const thr_matrix query = thr_matrix_f32(rows, 1, DIMS);
                expect_ok(thr_index_search(index, &query, 4, NULL, ids, NULL, &err));
                for (uint64_t i = 0; i < 4; i++)
                    assert_true(ids[i] == i);
            }
}

TEST(a_stream_that_ends_early_is_an_error) {
    static const uint64_t ends[] = {0, 1, 64, 100, N - 1};
    thr_index_build_options options = build_options(THR_METRIC_IP, THR_DTYPE_F32, 3);
    test_remove_directory(DIR_A);
    for (size_t i = 0; i < COUNT_OF(ends); i++)
        for (uint32_t sample = 64; sample <= 640; sample *= 10) {
            short_stream s = {ends[i]};
            OWNED(thr_reader, reader) = NULL;
            options.sample_rows = sample;
            expect_ok(thr_reader_from_function(*state, N, DIMS, end_early, &s, &reader, &err));
            assert_int_not_equal(thr_index_build(*state, DIR_A, reader, &options, &err), THR_OK);
            assert_int_equal(access(DIR_A, F_OK), -1);
        }
}

/* A pipe cannot be read twice: its first rows are the sample, and are indexed with the rest. */
TEST(a_pipe_can_be_indexed) {
    enum { LONG = 1000 };
    static const uint32_t samples[] = {64, 100, 960, 1000, 5000};
    float *rows = random_rows(LONG, DIMS, 8), *back = test_new(LONG * DIMS, sizeof *back);
    uint32_t head[2] = {LONG, DIMS};
    for (size_t i = 0; i < COUNT_OF(samples); i++) {
        thr_index_build_options options = build_options(THR_METRIC_COSINE, THR_DTYPE_F32, 3);
        thr_reader *reader = NULL;
        int ends[2], how;
        options.sample_rows = samples[i];
        options.segment_rows = 192;
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            _exit(write(ends[1], head, sizeof head) > 0 && write(ends[1], rows, LONG * DIMS * sizeof *rows) > 0 ? 0
                                                                                                                : 1);
        assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
        (void)close(ends[0]);
        (void)close(ends[1]);
        test_remove_directory(DIR_A);
        expect_ok(thr_reader_open(*state, "-.fbin", &reader, &err));
        expect_ok(thr_index_build(*state, DIR_A, reader, &options, &err));
        thr_reader_free(reader);
        assert_int_equal(waitpid(child, &how, 0), child);
        assert_int_equal(how, 0);
        OWNED(thr_index, index) = test_index_open(*state, DIR_A);
        expect_ok(thr_index_verify(index, &err));
        assert_int_equal(thr_index_get_info(index).n_items, LONG);
        for (uint64_t r = 0; r < LONG; r++)
            expect_ok(thr_index_vector(index, r, back + r * DIMS, &err));
        assert_memory_equal(back, rows, LONG * DIMS * sizeof *rows);
    }
}

TEST_IN_CONTEXT(1, DIR_A)
