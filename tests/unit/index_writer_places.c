/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_writer_places.c - writers whose files other programs move, delete or replace: a change is acknowledged only
 * where readers find it. And writers that are called from callbacks of their own calls.
 */
#include "index_writer_support.h"

#include "index/build/directory.h"

#include <fcntl.h>
#include <sys/stat.h>

static const char DIR_A[] = "index-writer-places", MOVED[] = "index-writer-places-moved",
                  OTHER[] = "index-writer-places-other";
static const float ROWS[JOURNAL * DIMS] = {1};

static thr_status add(thr_index_writer *writer, uint64_t n) {
    const thr_matrix rows = thr_matrix_f32(ROWS, n, DIMS);
    return thr_index_writer_add(writer, &rows, NULL, NULL, NULL, &err);
}

/* An empty index, and a writer that has added an item. */
static thr_index_writer *begin(thr_context *context) {
    test_remove_directory(MOVED);
    test_remove_directory(OTHER);
    create_empty(context, DIR_A, THR_METRIC_COSINE, THR_DTYPE_F32, false);
    thr_index_writer *writer = open_writer(context, DIR_A, JOURNAL);
    expect_ok(add(writer, 1));
    return writer;
}

static void expect_items(thr_context *context, const char *dir, uint64_t n) {
    OWNED(thr_index, index) = test_index_open(context, dir);
    assert_int_equal(thr_index_get_info(index).n_items, n);
    expect_ok(thr_index_verify(index, &err));
}

static void copy_file(const char *from, const char *to) {
    size_t size;
    uint8_t *bytes = test_bytes_of(from, &size);
    test_write_file(to, bytes, size);
}

/* ------------------------------------------------------------------------------------------------ directories */

TEST(a_writer_whose_directory_was_moved_leaves_another_one_alone) {
    thr_index_writer *writer = begin(*state);
    assert_int_equal(rename(DIR_A, MOVED), 0);
    expect_error(add(writer, 1), THR_ECHANGED, NULL);
    expect_error(add(writer, JOURNAL), THR_ECHANGED, NULL);
    create_empty(*state, DIR_A, THR_METRIC_COSINE, THR_DTYPE_F32, false);
    expect_error(add(writer, 1), THR_ECHANGED, NULL);
    expect_error(add(writer, JOURNAL), THR_ECHANGED, NULL);
    expect_error(thr_index_writer_compact(writer, NULL, &err), THR_ECHANGED, NULL);
    thr_index_writer_free(writer);
    expect_items(*state, DIR_A, 0);
    expect_items(*state, MOVED, 1);
}

TEST(a_writer_goes_on_when_its_directory_is_back) {
    thr_index_writer *writer = begin(*state);
    assert_int_equal(rename(DIR_A, MOVED), 0);
    expect_error(add(writer, 1), THR_ECHANGED, NULL);
    assert_int_equal(rename(MOVED, DIR_A), 0);
    expect_ok(add(writer, 1));
    thr_index_writer_free(writer);
    expect_items(*state, DIR_A, 2);
}

/* Whether or not another index is made in its place. */
TEST(nothing_is_acknowledged_in_a_deleted_directory) {
    for (int again = 0; again < 2; again++)
        for (uint64_t n = 1; n <= JOURNAL; n += JOURNAL - 1) {
            thr_index_writer *writer = begin(*state);
            test_remove_directory(DIR_A);
            if (again != 0)
                create_empty(*state, DIR_A, THR_METRIC_COSINE, THR_DTYPE_F32, false);
            expect_error(add(writer, n), THR_ECHANGED, NULL);
            expect_error(thr_index_writer_flush(writer, &err), THR_ECHANGED, NULL);
            thr_index_writer_free(writer);
            if (again != 0)
                expect_items(*state, DIR_A, 0);
        }
}

/* ------------------------------------------------------------------------------------------------ files */

TEST(nothing_is_acknowledged_in_a_deleted_journal) {
    char path[PATH_ROOM];
    for (int cut = 0; cut < 2; cut++) {
        OWNED(thr_index_writer, writer) = begin(*state);
        assert_int_equal(count_files(DIR_A, ".log", path), 1);
        assert_int_equal(cut != 0 ? truncate(path, 64) : unlink(path), 0);
        expect_error(add(writer, 1), THR_ECHANGED, NULL);
        assert_non_null(strstr(err.text, cut != 0 ? "has cut" : "has deleted"));
    }
}

TEST(nothing_is_acknowledged_beside_another_manifest) {
    char ours[PATH_ROOM], theirs[PATH_ROOM];
    OWNED(thr_index_writer, writer) = begin(*state);
    create_empty(*state, OTHER, THR_METRIC_L2, THR_DTYPE_F32, false);
    join_path(ours, DIR_A, "MANIFEST");
    join_path(theirs, OTHER, "MANIFEST");
    copy_file(theirs, ours);
    expect_error(add(writer, 1), THR_ECHANGED, NULL);
    assert_non_null(strstr(err.text, "replaced the MANIFEST"));
}

/* After a flush, which closes the index, and after a refusal, which closes it, too. */
TEST(a_writer_never_goes_on_from_an_older_state) {
    char manifest[PATH_ROOM], older[PATH_ROOM];
    join_path(manifest, DIR_A, "MANIFEST");
    join_path(older, OTHER, "MANIFEST");
    for (int flushed = 0; flushed < 2; flushed++)
        for (uint64_t n = 1; n <= JOURNAL; n += JOURNAL - 1) {
            OWNED(thr_index_writer, writer) = begin(*state);
            create_empty(*state, OTHER, THR_METRIC_COSINE, THR_DTYPE_F32, false);
            copy_file(manifest, older);
            expect_ok(add(writer, JOURNAL));
            if (flushed != 0)
                expect_ok(thr_index_writer_flush(writer, &err));
            copy_file(older, manifest);
            for (int i = 0; i < 2; i++)
                assert_true(add(writer, n) != THR_OK); /* the older state may name a file that is gone */
        }
}

TEST(a_touched_manifest_is_the_same) {
    char path[PATH_ROOM];
    thr_index_writer *writer = begin(*state);
    join_path(path, DIR_A, "MANIFEST");
    const struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    expect_ok(add(writer, 1));
    copy_file(path, "index-writer-places.copy");
    assert_int_equal(rename("index-writer-places.copy", path), 0);
    expect_ok(add(writer, 1));
    expect_ok(add(writer, 1));
    thr_index_writer_free(writer);
    expect_items(*state, DIR_A, 4);
}

/* Rows whose reader deletes the files of the directory, as another program might. */
typedef struct deleting {
    const char *ending;
    bool done;
} deleting;

static uint64_t delete_meanwhile(void *user, uint64_t first, uint64_t max_rows, float *out) {
    deleting *d = user;
    char path[PATH_ROOM];
    const uint64_t n = first >= 100 ? 0 : 100 - first < max_rows ? 100 - first : max_rows;
    for (uint64_t i = 0; i < n * DIMS; i++)
        out[i] = (float)(i % 7);
    while (!d->done && count_files(DIR_A, d->ending, path) > 0)
        assert_int_equal(unlink(path), 0);
    d->done = true;
    return n;
}

TEST(a_commit_names_no_file_that_was_deleted) {
    const thr_matrix rows = thr_matrix_f32(ROWS, JOURNAL, DIMS);
    thr_index_build_options options = build_options(THR_METRIC_COSINE, THR_DTYPE_F32, 3);
    deleting d = {.ending = ".seg"};
    OWNED(thr_reader, reader) = NULL;
    test_remove_directory(DIR_A);
    expect_ok(build_matrix(*state, DIR_A, &rows, &options, &err));
    expect_ok(thr_reader_from_function(*state, 100, DIMS, delete_meanwhile, &d, &reader, &err));
    expect_error(thr_index_add(*state, DIR_A, reader, NULL, NULL, &err), THR_ECHANGED, NULL);
}

/* ------------------------------------------------------------------------------------------------ callbacks */

typedef struct reentry {
    thr_index_writer *writer;
    uint64_t n_calls, n_busy;
} reentry;

static bool write_again(void *user, const char *what, uint64_t done, uint64_t total) {
    reentry *r = user;
    (void)what;
    (void)done;
    (void)total;
    if (r->writer == NULL)
        return true;
    r->n_calls++;
    r->n_busy += add(r->writer, 1) == THR_EBUSY;
    r->n_busy += thr_index_writer_flush(r->writer, &err) == THR_EBUSY;
    return true;
}

TEST(a_callback_of_a_write_cannot_write) {
    reentry r = {.n_calls = 0};
    thr_context_options options = {0};
    thr_context *context = NULL;
    options.progress = write_again;
    options.progress_user = &r;
    expect_ok(thr_context_create(&options, &context, &err));
    thr_index_writer *writer = begin(context);
    r.writer = writer;
    for (int i = 0; i < 6; i++) {
        expect_ok(add(writer, JOURNAL / 4));
        expect_ok(add(writer, JOURNAL)); /* a segment */
    }
    expect_ok(thr_index_writer_recode(writer, NULL, &err));
    r.writer = NULL;
    thr_index_writer_free(writer);
    thr_context_free(context);
    assert_true(r.n_calls > 0);
    assert_int_equal(r.n_busy, 2 * r.n_calls);
}

TEST_IN_CONTEXT(2, NULL)
