/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_origins_change.c - indexes whose codes are relative to their cells' centroids stay right through all changes:
 * items are added in segments without cells and by a journal, removed, merged, compacted, and coded anew.
 */
#include "index_origins_support.h"

static const char DIR_A[] = "index-origins-change";

enum { STEP = 400, MOST = 8000 };

/* What the index should have; items have the ids that the index chooses, in order. */
typedef struct bench {
    thr_context *context;
    const kind *kind;
    float *rows, *queries;
    bool there[MOST];
    uint64_t n_ids;
    size_t n_certified;
} bench;

static void open_bench(bench *b, thr_context *context, const kind *k) {
    *b = (bench){.context = context, .kind = k, .rows = make_rows(k, MOST, 1), .queries = mixed_queries(k, CHECKED)};
    thr_index_free(build_kind(context, DIR_A, k, b->rows));
    for (uint64_t i = 0; i < k->n; i++)
        b->there[b->n_ids++] = true;
}

/* Verify and search the files. An index that was opened before the change gives the same answers after a refresh. */
static void check(bench *b, thr_index *before) {
    thr_index *index = open_verified(b->context, DIR_A), *newer = NULL;
    truth t = read_truth(index, b->kind, b->there, b->n_ids);
    assert_true(index->corpus.origins != NULL);
    b->n_certified += check_searches(index, &t, b->queries);
    if (before != NULL) {
        const thr_search_options options = default_options();
        answer fresh = answer_make(CHECKED, K), refreshed = answer_make(CHECKED, K);
        expect_ok(thr_index_refresh(before, &newer, &err));
        assert_non_null(newer);
        search(index, b->kind, b->queries, options, &fresh);
        search(newer, b->kind, b->queries, options, &refreshed);
        assert_true(same_answer(&fresh, &refreshed));
        thr_index_free(newer);
    }
    thr_index_free(index);
}

static thr_index *open_now(bench *b) {
    return test_index_open(b->context, DIR_A);
}

static thr_matrix next_rows(bench *b, uint64_t n) {
    assert_true(b->n_ids + n <= MOST);
    return thr_matrix_f32(b->rows + b->n_ids * b->kind->n_dims, n, b->kind->n_dims);
}

static void note_added(bench *b, uint64_t n, thr_index_change change) {
    assert_true(change.n_added == n && change.first_id == b->n_ids);
    for (uint64_t i = 0; i < n; i++)
        b->there[b->n_ids++] = true;
}

static void add(bench *b, uint64_t n) {
    const thr_matrix rows = next_rows(b, n);
    thr_index_change change;
    expect_ok(add_matrix(b->context, DIR_A, &rows, NULL, &change, &err));
    note_added(b, n, change);
}

/* One id in every `one_in` from `from` on. */
static uint64_t *ids_to_remove(bench *b, uint64_t from, uint64_t one_in, uint64_t *n) {
    uint64_t *ids = test_new(MOST, sizeof *ids);
    *n = 0;
    for (uint64_t id = from; id < b->n_ids; id += one_in)
        if (b->there[id]) {
            ids[(*n)++] = id;
            b->there[id] = false;
        }
    return ids;
}

static void remove_some(bench *b, uint64_t from, uint64_t one_in) {
    uint64_t n, *ids = ids_to_remove(b, from, one_in, &n);
    thr_index_change change;
    expect_ok(thr_index_remove(b->context, DIR_A, ids, n, &change, &err));
    assert_int_equal(change.n_removed, n);
}

static uint32_t n_segments(bench *b) {
    OWNED(thr_index, index) = open_now(b);
    const uint32_t n = index->n_segments;
    return n;
}

/* Every change of index_change.h in turn. */
TEST(indexes_stay_right_through_changes) {
    for (size_t i = 0; i < N_KINDS; i += EACH) {
        bench b;
        thr_index_change change;
        open_bench(&b, *state, &KINDS[i]);
        add(&b, STEP);
        check(&b, NULL);
        thr_index *before = open_now(&b);
        remove_some(&b, 3, 7);
        check(&b, before);
        thr_index_free(before);
        add(&b, STEP / 2);
        before = open_now(&b);
        expect_ok(thr_index_compact(b.context, DIR_A, &change, &err));
        check(&b, before);
        thr_index_free(before);
        assert_true(n_segments(&b) <= 1 + b.n_ids / (b.kind->segment_rows > 0 ? b.kind->segment_rows : MOST) * 2);
        add(&b, STEP);
        remove_some(&b, 1, 5);
        expect_ok(thr_index_rewrite(b.context, DIR_A, &change, &err));
        check(&b, NULL);
        add(&b, STEP);
        remove_some(&b, 2, 11);
        expect_ok(thr_index_recode(b.context, DIR_A, &change, &err));
        check(&b, NULL);
        add(&b, 1);
        check(&b, NULL);
    }
}

/* So many small additions that segments with cells and without are merged. */
TEST(indexes_stay_right_through_merges) {
    for (size_t i = 0; i < N_KINDS; i += 2 * EACH) {
        bench b;
        open_bench(&b, *state, &KINDS[i]);
        uint32_t most = 0, n_merges = 0;
        for (uint32_t step = 0, last = n_segments(&b); step < 16; step++) {
            add(&b, 90 + 10 * step);
            const uint32_t now = n_segments(&b);
            n_merges += now <= last;
            last = now;
            most = now > most ? now : most;
            if (now <= last || step % 5 == 4)
                check(&b, NULL);
        }
        assert_true(n_merges > 0 && most > 2);
        remove_some(&b, 0, 2); /* a half of every segment, which is merged therefore */
        remove_some(&b, 1, 4);
        check(&b, NULL);
    }
}

static thr_index_writer *open_writer(bench *b, uint32_t journal_rows) {
    thr_index_writer_options options = {0};
    thr_index_writer *writer = NULL;
    options.journal_rows = journal_rows;
    expect_ok(thr_index_writer_open(b->context, DIR_A, &options, &writer, &err));
    return writer;
}

static void write_some(bench *b, thr_index_writer *writer, uint64_t n) {
    const thr_matrix rows = next_rows(b, n);
    thr_index_change change;
    expect_ok(thr_index_writer_add(writer, &rows, NULL, NULL, &change, &err));
    note_added(b, n, change);
}

/* Items in a journal are scored exactly; when it is folded they get codes, relative to the centre. */
TEST(indexes_stay_right_through_journals) {
    for (size_t i = 1; i < N_KINDS; i += 2 * EACH) {
        bench b;
        thr_index_change change;
        open_bench(&b, *state, &KINDS[i]);
        OWNED(thr_index, before) = open_now(&b);
        OWNED(thr_index_writer, writer) = open_writer(&b, 256);
        for (uint64_t step = 0; step < 12; step++) {
            write_some(&b, writer, 37);
            uint64_t n, *ids = ids_to_remove(&b, step, 97, &n);
            expect_ok(thr_index_writer_remove(writer, ids, n, &change, &err));
            if (step % 4 == 1)
                check(&b, before);
        }
        expect_ok(thr_index_writer_flush(writer, &err));
        check(&b, before);
        write_some(&b, writer, 50);
        expect_ok(thr_index_writer_compact(writer, &change, &err));
        check(&b, before);
        write_some(&b, writer, 50);
        expect_ok(thr_index_writer_recode(writer, &change, &err));
        write_some(&b, writer, 50);
        check(&b, before);
    }
}

/* Without any item left there is no segment, and later ones have codes again. */
TEST(emptied_indexes_can_be_filled_again) {
    for (size_t i = 0; i < N_KINDS; i += 3 * EACH) {
        bench b;
        thr_index_change change;
        open_bench(&b, *state, &KINDS[i]);
        remove_some(&b, 0, 1);
        check(&b, NULL);
        expect_ok(thr_index_compact(b.context, DIR_A, &change, &err));
        check(&b, NULL);
        add(&b, STEP);
        check(&b, NULL);
        expect_ok(thr_index_recode(b.context, DIR_A, &change, &err));
        check(&b, NULL);
    }
}

TEST_IN_CONTEXT(2, DIR_A)
