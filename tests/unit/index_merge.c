/* SPDX-License-Identifier: Apache-2.0 */
/* index_merge.c - merging segments while other commits add and remove items loses none of their changes. */
#include "index_support.h"

#include "index/build/row_source.h"
#include "index/change/commit_add.h"
#include "index/change/merge.h"

#include <pthread.h>

static const char DIR_A[] = "index-merge";
enum { DIMS = 8, N = 300, BATCHES = 9, BATCH = 50, ALL = N + (BATCHES + 1) * BATCH };

static float value_of(uint64_t id, int d) {
    return (float)((id * 31 + (uint64_t)d * 17) % 101) / 50 - 1;
}

static void fill(float *rows, uint64_t first, uint64_t n) {
    for (uint64_t i = 0; i < n * DIMS; i++)
        rows[i] = value_of(first + i / DIMS, (int)(i % DIMS));
}

/* A commit under a lock that is held; it merges nothing. The index chooses the ids, which are consecutive. */
static void add_batch(thr_context *context, const thr_build_dir *lock, uint64_t first) {
    float rows[BATCH * DIMS];
    const thr_matrix matrix = thr_matrix_f32(rows, BATCH, DIMS);
    OWNED(thr_reader, reader) = NULL;
    thr_row_source source = {.context = context};
    thr_ids ids = {.context = context, .name = "ids"};
    const thr_addition addition = {.source = &source, .ids = &ids};
    thr_index_change change;
    fill(rows, first, BATCH);
    expect_ok(thr_reader_from_matrix(context, &matrix, &reader, &err));
    expect_ok(thr_index_row_source_open(context, reader, &source, &err));
    expect_ok(thr_index_commit_add(context, DIR_A, lock, &addition, &change, &err));
    assert_int_equal(change.first_id, first);
    thr_index_row_source_close(&source);
}

/* An index with a segment of N items and nine small ones, and its lock. */
static void make(thr_context *context, thr_build_dir *lock) {
    float rows[N * DIMS];
    thr_index_build_options options = build_options(THR_METRIC_L2, THR_DTYPE_F32, 3);
    fill(rows, 0, N);
    test_remove_directory(DIR_A);
    expect_ok(build_rows(context, DIR_A, rows, N, DIMS, &options, &err));
    expect_ok(thr_index_build_dir_change(context, DIR_A, lock, &err));
    lock->committed = true; /* closing it deletes nothing */
    for (uint64_t i = 0; i < BATCHES; i++)
        add_batch(context, lock, N + i * BATCH);
}

/* The index has the items below n, but every `step`th from `from` on. */
static void expect_items(thr_context *context, uint64_t n, uint64_t from, uint64_t step, uint32_t n_segments) {
    uint64_t row, n_items = 0;
    float vector[DIMS];
    OWNED(thr_index, index) = test_index_open(context, DIR_A);
    expect_ok(thr_index_verify(index, &err));
    for (uint64_t id = 0; id < n; id++) {
        const bool there = id < from || (id - from) % step != 0;
        assert_true(thr_index_row(index, id, &row) == there);
        n_items += there;
        if (!there)
            continue;
        expect_ok(thr_index_vector(index, id, vector, &err));
        for (int d = 0; d < DIMS; d++)
            assert_true(vector[d] == value_of(id, d));
    }
    assert_int_equal(thr_index_get_info(index).n_items, n_items);
    if (n_segments > 0)
        assert_int_equal(thr_index_get_info(index).n_segments, n_segments);
}

static void remove_some(thr_context *context, const thr_build_dir *lock, uint64_t from, uint64_t step, uint64_t n) {
    uint64_t ids[ALL], n_ids = 0;
    thr_index_change change;
    for (uint64_t id = from; id < n; id += step)
        ids[n_ids++] = id;
    const thr_index_removal removal = {.ids = ids, .n_ids = n_ids};
    expect_ok(thr_index_remove_held(context, DIR_A, lock, &removal, &(thr_name_list){.n = 0}, &change, &err));
    assert_int_equal(change.n_removed, n_ids);
}

TEST(commits_during_a_merge_are_kept) {
    thr_build_dir lock;
    thr_merge merge;
    make(*state, &lock);
    expect_items(*state, N + BATCHES * BATCH, UINT64_MAX, 1, 1 + BATCHES);
    expect_ok(thr_index_merge_begin(*state, DIR_A, &lock, &merge, &err));
    assert_true(merge.active && merge.end == 1 + BATCHES);
    lock.has_running_merge = true;
    lock.merge_build = merge.commit.dir.build;
    remove_some(*state, &lock, N, 7,
                N + BATCHES * BATCH); /* before it is written, from the segments that it has read */
    expect_ok(thr_index_merge_write(&merge, &err));
    add_batch(*state, &lock, N + BATCHES * BATCH); /* after */
    expect_ok(thr_index_merge_install(&merge, &err));
    thr_index_merge_end(&merge);
    assert_false(merge.active);
    lock.has_running_merge = false;
    remove_some(*state, &lock, N + (BATCHES * BATCH + 6) / 7 * 7, 7, ALL);
    expect_items(*state, ALL, N, 7, merge.first + 2);
    thr_index_build_dir_close(&lock);
}

TEST(a_merge_whose_segments_are_gone_is_dropped) {
    thr_build_dir lock;
    thr_merge merge;
    thr_index_change change;
    make(*state, &lock);
    expect_ok(thr_index_merge_begin(*state, DIR_A, &lock, &merge, &err));
    lock.has_running_merge = true;
    lock.merge_build = merge.commit.dir.build;
    expect_ok(thr_index_merge_write(&merge, &err));
    expect_ok(thr_index_compact_held(*state, DIR_A, &lock, THR_COMPACT, &change, &err));
    expect_ok(thr_index_merge_install(&merge, &err));
    thr_index_merge_end(&merge);
    expect_items(*state, N + BATCHES * BATCH, UINT64_MAX, 1, 1);
    assert_int_equal(count_files(DIR_A, ".seg", NULL), 1);
    thr_index_build_dir_close(&lock);
}

/* ------------------------------------------------------------------------------------------------ by a writer */

enum { THREADS = 3, ROUNDS = 240, OWN = 12 };

typedef struct hand {
    pthread_t thread;
    thr_index_writer *writer;
    uint64_t number;
} hand;

/* Items of its own are replaced again and again, the last ones removed. */
static void *change(void *arg) {
    const hand *h = arg;
    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint64_t ids[OWN];
        float rows[OWN * DIMS];
        const thr_matrix matrix = thr_matrix_f32(rows, OWN, DIMS);
        for (uint64_t j = 0; j < OWN; j++)
            ids[j] = N + (h->number * ROUNDS + i / 2 + j) * 2;
        for (uint64_t j = 0; j < OWN * DIMS; j++)
            rows[j] = value_of(ids[j / DIMS], (int)(j % DIMS));
        const thr_status status = i % 5 == 4 ? thr_index_writer_remove(h->writer, ids, OWN / 2, NULL, &err)
                                             : thr_index_writer_upsert(h->writer, &matrix, ids, NULL, NULL, &err);
        if (status != THR_OK)
            return arg;
    }
    return NULL;
}

TEST(a_writer_merges_while_others_change) {
    hand hands[THREADS];
    uint64_t n[2] = {0, 0};
    for (int in_calls = 0; in_calls < 2; in_calls++) {
        thr_build_dir lock;
        thr_index_writer *writer = NULL;
        thr_index_writer_options options = {0};
        void *failed = NULL;
        make(*state, &lock);
        thr_index_build_dir_close(&lock);
        options.journal_rows = 48;
        options.merge_in_calls = in_calls != 0;
        expect_ok(thr_index_writer_open(*state, DIR_A, &options, &writer, &err));
        for (uint64_t i = 0; i < THREADS; i++) {
            hands[i] = (hand){.writer = writer, .number = i};
            assert_int_equal(pthread_create(&hands[i].thread, NULL, change, &hands[i]), 0);
        }
        for (uint64_t i = 0; i < THREADS; i++) {
            assert_int_equal(pthread_join(hands[i].thread, &failed), 0);
            assert_null(failed);
        }
        thr_index_writer_free(writer);
        OWNED(thr_index, index) = test_index_open(*state, DIR_A);
        expect_ok(thr_index_verify(index, &err));
        n[in_calls] = thr_index_get_info(index).n_items;
        assert_true(thr_index_get_info(index).n_segments < 2 * 8);
    }
    assert_int_equal(n[0], n[1]);
}

TEST_IN_CONTEXT(2, DIR_A)
