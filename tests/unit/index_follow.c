/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Followers: every take shows all that was acknowledged before, while a writer adds, removes and compacts; snapshots
 * that were taken stay as they are; a refresh without changes opens nothing.
 */
#include "index_support.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>

static const char DIR_A[] = "index-follow", DIR_B[] = "index-follow-b", DIR_C[] = "index-follow-c";
enum { DIMS = 8, ITEMS = 150, SEARCHERS = 3, KEPT = 40, JOURNAL = 32 };

static void vector_of(uint64_t id, float *vector) {
    float *row = random_rows(1, DIMS, id + 1);
    memcpy(vector, row, DIMS * sizeof *vector);
}

/* Of ids [removed, added) all are there, of those below none. */
typedef struct shared {
    thr_index_follower *follower;
    atomic_uint_fast64_t added, removing, removed, failures;
    atomic_bool done;
} shared;

static uint64_t failures_of(shared *s, uint64_t seed) {
    const uint64_t added = s->added, removed = s->removed;
    float query[DIMS];
    uint64_t id, failures = 0, n;
    thr_search_options options = {0};
    thr_index *index = NULL;
    options.exact = true;
    if (added == removed)
        return 0;
    if (thr_index_follower_take(s->follower, &index, NULL) != THR_OK)
        return 1;
    n = thr_index_get_info(index).n_items;
    const uint64_t wanted = removed + seed % (added - removed);
    vector_of(wanted, query);
    const thr_matrix queries = thr_matrix_f32(query, 1, DIMS);
    failures += thr_index_search(index, &queries, 1, &options, &id, NULL, NULL) != THR_OK;
    failures += id != wanted && s->removing <= wanted; /* it is there, unless its removal has begun since */
    failures += removed > 0 && thr_index_row(index, removed - 1, &id);
    failures += n != thr_index_get_info(index).n_items;
    thr_index_follower_put(index);
    return failures;
}

static void *search(void *arg) {
    shared *s = arg;
    for (uint64_t seed = 0; !s->done; seed++)
        s->failures += failures_of(s, seed * 7919);
    return NULL;
}

static void add_one(thr_index_writer *writer, uint64_t id) {
    float vector[DIMS];
    vector_of(id, vector);
    const thr_matrix row = thr_matrix_f32(vector, 1, DIMS);
    expect_ok(thr_index_writer_add(writer, &row, &id, NULL, NULL, &err));
}

static void create(thr_context *context) {
    thr_index_create_options options = {.n_dims = DIMS};
    test_remove_directory(DIR_A);
    expect_ok(thr_index_create(context, DIR_A, &options, &err));
}

static thr_index_writer *open_writer(thr_context *context) {
    thr_index_writer_options options = {0};
    thr_index_writer *writer = NULL;
    options.journal_rows = JOURNAL;
    expect_ok(thr_index_writer_open(context, DIR_A, &options, &writer, &err));
    return writer;
}

TEST(test_searches_see_what_was_acknowledged) {
    shared s = {.done = false};
    pthread_t threads[SEARCHERS];
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    create(context);
    expect_ok(thr_index_follower_open(context, DIR_A, &s.follower, &err));
    thr_index_writer *writer = open_writer(context);
    for (int t = 0; t < SEARCHERS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, search, &s), 0);
    for (uint64_t id = 0; id < ITEMS; id++) {
        add_one(writer, id);
        s.added = id + 1;
        if (id >= KEPT) {
            const uint64_t gone = id - KEPT;
            s.removing = id - KEPT + 1;
            expect_ok(thr_index_writer_remove(writer, &gone, 1, NULL, &err));
            s.removed = id - KEPT + 1;
        }
        if (id == ITEMS / 2)
            expect_ok(thr_index_writer_compact(writer, NULL, &err));
    }
    s.done = true;
    for (int t = 0; t < SEARCHERS; t++)
        assert_int_equal(pthread_join(threads[t], NULL), 0);
    assert_int_equal(s.failures, 0);
    thr_index_writer_free(writer);
    thr_index_follower_free(s.follower);
}

TEST(test_snapshots_stay) {
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    thr_index_follower *follower = NULL;
    thr_index *first = NULL, *same = NULL, *second = NULL, *third = NULL;
    create(context);
    expect_ok(thr_index_follower_open(context, DIR_A, &follower, &err));
    expect_ok(thr_index_follower_take(follower, &first, &err));
    expect_ok(thr_index_follower_take(follower, &same, &err));
    assert_ptr_equal(first, same);
    thr_index_follower_put(same);
    thr_index_writer *writer = open_writer(context);
    for (uint64_t id = 0; id < 8; id++)
        add_one(writer, id);
    expect_ok(thr_index_follower_take(follower, &second, &err));
    for (uint64_t id = 8; id < ITEMS; id++)
        add_one(writer, id);
    expect_ok(thr_index_follower_take(follower, &third, &err));
    assert_int_equal(thr_index_get_info(first).n_items, 0);
    assert_int_equal(thr_index_get_info(second).n_items, 8);
    assert_int_equal(thr_index_get_info(third).n_items, ITEMS);
    thr_index_follower_put(first);
    thr_index_follower_put(third);
    thr_index_follower_put(second);
    thr_index_follower_put(NULL);
    thr_index_writer_free(writer);
    thr_index_follower_free(follower);
    thr_index_follower_free(NULL);
}

/* The same bytes as another file: the index is read again, and found the same. */
TEST(test_a_manifest_of_the_same_bytes_is_no_commit) {
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    thr_index *index = NULL, *newer = NULL;
    char path[PATH_ROOM], other[PATH_ROOM];
    size_t size;
    create(context);
    expect_ok(thr_index_open(context, DIR_A, &index, &err));
    join_path(path, DIR_A, "MANIFEST");
    join_path(other, DIR_A, "other");
    uint8_t *bytes = test_bytes_of(path, &size);
    test_write_file(other, bytes, size);
    assert_int_equal(rename(other, path), 0);
    expect_ok(thr_index_refresh(index, &newer, &err));
    assert_null(newer);
    assert_int_equal(unlink(path), 0);
    expect_error(thr_index_refresh(index, &newer, &err), THR_EFORMAT, NULL);
    thr_index_free(index);
}

TEST(test_wrong_calls) {
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    thr_index_follower *follower = NULL;
    thr_index *index = NULL;
    create(context);
    expect_error(thr_index_follower_open(NULL, DIR_A, &follower, &err), THR_EINVAL, NULL);
    expect_error(thr_index_follower_open(context, DIR_A, NULL, &err), THR_EINVAL, NULL);
    expect_error(thr_index_follower_open(context, "no-index", &follower, &err), THR_ENOTFOUND, NULL);
    expect_error(thr_index_follower_take(NULL, &index, &err), THR_EINVAL, NULL);
    expect_ok(thr_index_follower_open(context, DIR_A, &follower, &err));
    expect_error(thr_index_follower_take(follower, NULL, &err), THR_EINVAL, NULL);
    test_remove_directory(DIR_A);
    expect_error(thr_index_follower_take(follower, &index, &err), THR_ENOTFOUND, NULL);
    assert_null(index);
    create(context);
    expect_ok(thr_index_follower_take(follower, &index, &err));
    thr_index_follower_put(index);
    thr_index_follower_free(follower);
}

/* ------------------------------------------------------------------------------------------------ other programs */

static void copy_files(const char *from, const char *to) {
    DIR *stream = opendir(from);
    assert_non_null(stream);
    (void)mkdir(to, 0777);
    for (struct dirent *entry; (entry = readdir(stream)) != NULL;) {
        char source[PATH_ROOM], target[PATH_ROOM];
        size_t size;
        if (entry->d_name[0] == '.')
            continue;
        join_path(source, from, entry->d_name);
        join_path(target, to, entry->d_name);
        uint8_t *bytes = test_bytes_of(source, &size);
        test_write_file(target, bytes, size);
    }
    (void)closedir(stream);
}

static void touch_files(const char *dir) {
    const struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    char path[PATH_ROOM];
    DIR *stream = opendir(dir);
    assert_non_null(stream);
    for (struct dirent *entry; (entry = readdir(stream)) != NULL;) {
        join_path(path, dir, entry->d_name);
        if (entry->d_name[0] != '.')
            assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    }
    (void)closedir(stream);
}

/* A take, and a search that finds the item. */
static void expect_found(thr_index_follower *follower, uint64_t wanted, uint64_t n_items) {
    float query[DIMS];
    uint64_t id = 0;
    thr_index *index = NULL;
    vector_of(wanted, query);
    const thr_matrix queries = thr_matrix_f32(query, 1, DIMS);
    expect_ok(thr_index_follower_take(follower, &index, &err));
    expect_ok(thr_index_search(index, &queries, 1, NULL, &id, NULL, &err));
    assert_int_equal(id, wanted);
    assert_int_equal(thr_index_get_info(index).n_items, n_items);
    thr_index_follower_put(index);
}

/* Segments, a journal, and removed items. */
static thr_index_writer *fill(thr_context *context) {
    create(context);
    thr_index_writer *writer = open_writer(context);
    const uint64_t gone = 7;
    for (uint64_t id = 0; id < 300; id++)
        add_one(writer, id);
    expect_ok(thr_index_writer_flush(writer, &err));
    expect_ok(thr_index_writer_remove(writer, &gone, 1, NULL, &err));
    add_one(writer, 300);
    return writer;
}

TEST(test_touched_and_copied_files_are_opened_again) {
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    thr_index_follower *follower = NULL;
    thr_index_writer_free(fill(context));
    test_remove_directory(DIR_B);
    expect_ok(thr_index_follower_open(context, DIR_A, &follower, &err));
    copy_files(DIR_A, DIR_B);
    for (int i = 0; i < 2; i++) {
        touch_files(DIR_A);
        expect_found(follower, 300, 300);
        copy_files(DIR_B, DIR_A); /* over the files that are open */
        expect_found(follower, 11, 300);
        thr_index_writer *writer = open_writer(context);
        add_one(writer, 900);
        expect_found(follower, 900, 301);
        const uint64_t gone = 900;
        expect_ok(thr_index_writer_remove(writer, &gone, 1, NULL, &err));
        thr_index_writer_free(writer);
        test_remove_directory(DIR_B);
        copy_files(DIR_A, DIR_B);
    }
    thr_index_follower_free(follower);
}

/* A copy with the same bytes; later changes are its own. */
TEST(test_a_swapped_directory_is_followed) {
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    thr_index_follower *follower = NULL;
    thr_index_writer_free(fill(context));
    test_remove_directory(DIR_B);
    test_remove_directory(DIR_C);
    copy_files(DIR_A, DIR_B);
    expect_ok(thr_index_follower_open(context, DIR_A, &follower, &err));
    assert_int_equal(rename(DIR_A, DIR_C), 0);
    thr_index *none = NULL;
    expect_error(thr_index_follower_take(follower, &none, &err), THR_ENOTFOUND, NULL);
    assert_int_equal(rename(DIR_B, DIR_A), 0);
    thr_index_writer *writer = open_writer(context);
    add_one(writer, 901);
    expect_found(follower, 901, 301);
    add_one(writer, 902);
    expect_found(follower, 902, 302);
    thr_index_writer_free(writer);
    test_remove_directory(DIR_C);
    thr_index_follower_free(follower);
}
