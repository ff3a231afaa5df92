/* SPDX-License-Identifier: Apache-2.0 */
/* Removing items by ids and names: looked up in the newest commit, counted, strict; and what a failed merge reports. */
#include "index_support.h"

static const char DIR_A[] = "index-remove", NAMES_A[] = "index-remove.txt";
enum { DIMS = 8, N = 600 };

/* An index of N items named n0, n1, ..., or in cells, with ids that are rows. */
static void build(thr_context *context, bool named) {
    float *rows = random_rows(N, DIMS, 1);
    thr_index_build_options options = {0};
    char text[N * 8] = "";
    for (int i = 0; i < N; i++)
        (void)snprintf(text + strlen(text), 8, "n%d\n", i);
    test_write_text(NAMES_A, text);
    options.replace = true;
    options.ids_path = named ? NAMES_A : NULL;
    options.cells = named ? 1 : 4;
    expect_ok(build_rows(context, DIR_A, rows, N, DIMS, &options, &err));
}

/* Add or replace n items, whose names are the lines of a text. */
static thr_status put(thr_context *context, const char *lines, uint64_t n, thr_index_change *change) {
    float *rows = random_rows(n, DIMS, 2);
    const thr_matrix matrix = thr_matrix_f32(rows, n, DIMS);
    thr_index_add_options options = {.replace = true};
    if (lines != NULL) {
        test_write_text(NAMES_A, lines);
        options.ids_path = NAMES_A;
    }
    return add_matrix(context, DIR_A, &matrix, &options, change, &err);
}

static thr_status remove_these(thr_context *context, const char *const *names, uint64_t n_names, const uint64_t *ids,
                               uint64_t n_ids, uint64_t *first_missing, thr_index_change *change) {
    thr_index_removal removal = {.names = names,
                                 .n_names = n_names,
                                 .ids = ids,
                                 .n_ids = n_ids,
                                 .strict = first_missing != NULL,
                                 .first_missing = first_missing};
    return thr_index_remove_items(context, DIR_A, &removal, change, &err);
}

static bool has(thr_context *context, const char *name) {
    uint64_t id;
    OWNED(thr_index, index) = test_index_open(context, DIR_A);
    const bool found = thr_index_find(index, name, &id, &err) == THR_OK;
    return found;
}

/* An open index shows x as another call replaced it meanwhile: the removal takes the item that has the name now. */
TEST(a_replaced_name_is_removed) {
    const char *const names[] = {"n7", "fresh"};
    thr_index_change change;
    build(*state, true);
    expect_ok(put(*state, "n7\nfresh\n", 2, &change));
    assert_int_equal(change.n_removed, 1);
    expect_ok(remove_these(*state, names, 2, NULL, 0, NULL, &change));
    assert_int_equal(change.n_removed, 2);
    assert_int_equal(change.n_missing, 0);
    assert_int_equal(change.n_items, N - 1);
    assert_false(has(*state, "n7"));
    assert_false(has(*state, "fresh"));
}

TEST(repeated_items_count_once_and_missing_ones_each_time) {
    const char *const names[] = {"n3", "gone", "n3", "n4"};
    const uint64_t ids[] = {3, 9, 1000, 9};
    thr_index_change change;
    build(*state, true);
    expect_ok(remove_these(*state, names, 4, ids, 4, NULL, &change));
    assert_int_equal(change.n_removed, 3); /* n3, n4, 9 */
    assert_int_equal(change.n_missing, 2); /* "gone", 1000 */
    assert_int_equal(change.n_items, N - 3);
}

TEST(a_strict_removal_names_the_first_missing_and_removes_nothing) {
    const char *const names[] = {"n3", "gone"};
    const uint64_t there[] = {5}, missing[] = {5, 777};
    uint64_t first = 0;
    thr_index_change change;
    build(*state, true);
    expect_error(remove_these(*state, names, 2, there, 1, &first, &change), THR_ENOTFOUND, NULL);
    assert_string_equal(err.text, "index-remove: holds no item with the name 'gone'; nothing was removed");
    assert_int_equal(first, 2);
    expect_error(remove_these(*state, names, 2, missing, 2, &first, &change), THR_ENOTFOUND, NULL);
    assert_string_equal(err.text, "index-remove: holds no item with the id 777; nothing was removed");
    assert_int_equal(first, 1);
    assert_true(has(*state, "n3"));
    expect_ok(remove_these(*state, names, 1, there, 1, &first, &change));
    assert_int_equal(first, 2); /* none */
    assert_int_equal(change.n_commits, 1);
    assert_int_equal(change.n_removed, 2);
}

TEST(wrong_removals_are_refused) {
    const char *const names[] = {"n3", NULL};
    thr_index_change change;
    build(*state, false);
    expect_error(remove_these(*state, names, 1, NULL, 0, NULL, &change), THR_EINVAL, NULL);
    assert_string_equal(err.text, "index-remove: its items have no names: give ids");
    expect_error(remove_these(*state, names, 2, NULL, 0, NULL, &change), THR_EINVAL, NULL);
    expect_error(remove_these(*state, NULL, 1, NULL, 0, NULL, &change), THR_EINVAL, NULL);
    expect_error(thr_index_remove_items(*state, DIR_A, NULL, NULL, &err), THR_EINVAL, NULL);
}

/* Only merges make codes again. */
static bool stop_merges(void *user, const char *what, uint64_t done, uint64_t total) {
    (void)user;
    (void)done;
    (void)total;
    return strcmp(what, "add") == 0;
}

TEST(a_change_is_made_although_its_merge_was_stopped) {
    uint64_t gone[N / 2];
    thr_context_options options = {0};
    thr_context *stopping = NULL;
    thr_index_change change;
    build(*state, false);
    for (uint64_t i = 0; i < N / 2; i++)
        gone[i] = 2 * i;
    options.progress = stop_merges;
    expect_ok(thr_context_create(&options, &stopping, &err));
    expect_ok(thr_index_remove(stopping, DIR_A, gone, N / 2, &change, &err));
    assert_int_equal(change.n_items, N / 2);
    assert_string_equal(thr_status_name(change.unmerged), "ECANCELED");
    expect_ok(put(stopping, NULL, 3, &change));
    assert_int_equal(change.n_items, N / 2 + 3);
    assert_string_equal(thr_status_name(change.unmerged), "ECANCELED");
    expect_ok(put(*state, NULL, 1, &change)); /* merges */
    assert_string_equal(thr_status_name(change.unmerged), "OK");
    assert_int_equal(change.n_items, N / 2 + 4);
    thr_context_free(stopping);
    OWNED(thr_index, index) = test_index_open(*state, DIR_A);
    assert_int_equal(thr_index_n_removed(index), 0);
}

TEST_IN_CONTEXT(2, DIR_A)
