/* SPDX-License-Identifier: Apache-2.0 */
/* Lists with items added, replaced and removed answer as items looked at one by one, and as lists built anew do. */
#include "hits_model.h"

static const char PATH[] = "unit-hits-update.hits";

TEST(lists_of_updates_answer_as_lists_built_anew) {
    for (int run = 0; run < 2 * N_NAMINGS; run++) {
        uint64_t rng = test_seed() + 20 + (uint64_t)run;
        const bool values = run >= N_NAMINGS;
        model *m = draw_model((naming)(run % N_NAMINGS), &rng);
        thr_hits *hits = build(*state, m, PATH, values);
        for (uint32_t round = 0; round < 24; round++) {
            const batch b = draw_batch(m, values, &rng);
            uint64_t n_missing = 99;
            const thr_hits_changes changes = changes_of(m, &b, &n_missing);
            thr_hits *next = NULL;
            expect_ok(thr_hits_update(hits, &changes, &next, &err));
            assert_int_equal(n_missing, b.n_missing);
            if (round % 5 == 0)
                check(*state, hits, m, round, values, &rng); /* what it was made of stays as it was */
            thr_hits_free(hits);
            hits = next;
            apply(m, &b);
            if (values && round % 7 == 3) {
                for (uint32_t i = 0; i < m->n; i++)
                    m->items[i].multiplier = (float)thr_rng_below(&rng, 5);
                set_values(hits, m);
            }
            check(*state, hits, m, round, values, &rng);
        }
        thr_hits_free(hits);
    }
}

TEST(all_items_may_go_and_come_again) {
    uint64_t rng = test_seed() + 40;
    model *m = draw_model(ROW_IDS, &rng);
    thr_hits *hits = build(*state, m, PATH, false), *none = NULL, *again = NULL;
    uint64_t ids[N];
    thr_hits_changes changes = {0};
    for (uint32_t i = 0; i < N; i++)
        ids[i] = i;
    changes.removed_ids = ids;
    changes.n_removed = N;
    expect_ok(thr_hits_update(hits, &changes, &none, &err));
    m->n = 0;
    check(*state, none, m, 1, false, &rng);
    assert_int_equal(thr_hits_get_info(none).n_items, 0);
    const batch b = {.added = {{5, 3, 1, 0}, {2, 7, 1, 0}}, .n_added = 2};
    changes = changes_of(m, &b, NULL);
    expect_ok(thr_hits_update(none, &changes, &again, &err));
    apply(m, &b);
    check(*state, again, m, 0, false, &rng);
    thr_hits_free(again);
    thr_hits_free(hits);
    thr_hits_free(none);
}

TEST(a_feature_only_of_added_items_may_have_any_number) {
    static const uint64_t offsets[] = {0, 2}, ids[] = {N + 5}, ends[] = {0, 1};
    static const uint32_t features[] = {THR_HITS_MAX_FEATURE, THR_HITS_MAX_FEATURE}; /* repeated, counts once */
    const thr_hits_queries queries = {1, ends, features, NULL};
    uint64_t rng = test_seed() + 41, found;
    model *m = draw_model(ROW_IDS, &rng);
    thr_hits *hits = build(*state, m, PATH, false), *next = NULL;
    thr_hits_changes changes = {0};
    float value;
    changes.n_added = 1;
    changes.ids = ids;
    changes.offsets = offsets;
    changes.features = features;
    expect_ok(thr_hits_update(hits, &changes, &next, &err));
    expect_ok(thr_hits_search(next, &queries, 1, NULL, &found, &value, &err));
    assert_true(found == N + 5 && value == 1);
    thr_hits_free(next);
    thr_hits_free(hits);
}

TEST(tables_are_read) {
    uint64_t rng = test_seed() + 42, n_missing = 0, id;
    model *m = draw_model(NAMES, &rng);
    thr_hits *hits = build(*state, m, PATH, false), *next = NULL;
    thr_hits_changes changes = {0};
    const item added[] = {{3, 1u << 20 | 5, 1, 0}, {900, 1u << 21, 1, 0}};
    write_table("unit-hits-update-added.tsv", added, 2);
    test_write_text("unit-hits-update-removed.txt", "item7\nnobody\nitem9\n");
    changes.added_path = "unit-hits-update-added.tsv";
    changes.removed_path = "unit-hits-update-removed.txt";
    changes.n_missing = &n_missing;
    expect_ok(thr_hits_update(hits, &changes, &next, &err));
    assert_int_equal(n_missing, 1);
    assert_int_equal(thr_hits_get_info(next).n_items, N - 1);
    assert_true(thr_hits_find(next, "item900", &id) && id == N);
    assert_true(thr_hits_find(next, "item3", &id) && id == 3); /* a replaced item keeps its id */
    assert_false(thr_hits_find(next, "item9", &id));
    assert_true(thr_hits_find(hits, "item9", &id));
    const batch b = {.added = {added[0], added[1]}, .n_added = 2, .removed = {7, 9}, .n_removed = 2};
    apply(m, &b);
    m->next_key = 901;
    check(*state, next, m, 0, false, &rng);
    thr_hits_free(next);
    thr_hits_free(hits);
}

typedef struct update_case {
    model *m;
    thr_hits *hits;
    thr_hits_changes right; /* adds two items */
} update_case;

static update_case make_case(thr_context *context) {
    static const uint64_t offsets[] = {0, 1, 2}, ids[] = {8, 9};
    static const uint32_t features[] = {3, 6};
    uint64_t rng = test_seed() + 43;
    update_case c = {.m = draw_model(ROW_IDS, &rng)};
    c.hits = build(context, c.m, PATH, false);
    c.right = (thr_hits_changes){0};
    c.right.n_added = 2;
    c.right.ids = ids;
    c.right.offsets = offsets;
    c.right.features = features;
    return c;
}

static void free_case(update_case *c) {
    thr_hits_free(c->hits);
}

/* The right changes with one change to o, their copy: the update is refused, and the error has this part. */
#define refuse_update(change, status, part)                                                                            \
    do {                                                                                                               \
        thr_hits_changes o = c.right;                                                                                  \
        thr_hits *next_ = NULL;                                                                                        \
        thr_error err_;                                                                                                \
        (change);                                                                                                      \
        assert_error(thr_hits_update(c.hits, &o, &next_, &err_), (status), &err_, (part));                             \
        assert_null(next_);                                                                                            \
    } while (0)

TEST(added_items_that_make_no_sense_are_refused) {
    static const uint64_t falling[] = {0, 2, 1}, twice[] = {4, 4}, no_id[] = {1, THR_NO_ID};
    static const uint32_t too_large[] = {3, THR_HITS_MAX_FEATURE + 1};
    static const float values[] = {1, NAN};
    update_case c = make_case(*state);
    thr_hits *next = NULL;
    expect_error(thr_hits_update(c.hits, NULL, &next, &err), THR_EINVAL, "needs");
    refuse_update((o.ids = no_id, o.features = too_large), THR_ERANGE, "added item 1 has feature 268435456");
    refuse_update(o.ids = no_id, THR_ERANGE, "added item 1: the id");
    refuse_update(o.ids = twice, THR_EDUPLICATE, "id 4 is added twice: as number 0 and 1");
    refuse_update(o.offsets = falling, THR_EINVAL, "added item 1 end before they begin");
    refuse_update(o.offsets = NULL, THR_EINVAL, "offsets");
    refuse_update(o.multipliers = values, THR_ERANGE, "multiplier of added item 1 is nan");
    refuse_update(o.n_added = THR_HITS_MAX_ADDED + 1, THR_EDIM, "rebuild the lists");
    expect_ok(thr_hits_update(c.hits, &c.right, &next, &err));
    thr_hits_free(next);
    free_case(&c);
}

TEST(changes_in_another_form_than_the_lists_are_refused) {
    static const char *const names[] = {"a", "b"};
    update_case c = make_case(*state);
    refuse_update(o.names = names, THR_EINVAL, "its items have ids");
    refuse_update(o.words = names, THR_EINVAL, "its features are numbers");
    refuse_update(o.n_removed = 1, THR_EINVAL, "remove items by these");
    refuse_update(o.added_path = "unit-hits-update-wrong.tsv", THR_EINVAL, "not from both");
    write_table("unit-hits-update-wrong.tsv", c.m->items, 2);
    refuse_update((o.added_path = "unit-hits-update-wrong.tsv", o.n_added = 0), THR_EFORMAT, "item item0: ");
    free_case(&c);
}

/* Features by arithmetic: item i has i % 7, and some of 100 to 300. */
static uint64_t draw_large(uint64_t first, uint64_t n, uint64_t *offsets, uint32_t *features) {
    uint64_t at = offsets[0];
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t number = first + i;
        features[at++] = (uint32_t)(number % 7);
        for (uint64_t f = 0; f < number % 3; f++)
            features[at++] = (uint32_t)(100 + number * (f + 3) / 5 % 200);
        offsets[i + 1] = at;
    }
    return at;
}

enum { FILE_ITEMS = 150000, ADDED = 70000, ALL = FILE_ITEMS + ADDED, BEST = 200 };

/* The items of the file and those that are added; without those that are removed, the items that are left. */
typedef struct large {
    uint64_t *offsets, *gone, n_gone;
    uint32_t *features;
    float *bids;
    uint64_t *left_ids, *left_offsets, n_left;
    uint32_t *left;
    float *left_bids;
} large;

static large draw_all(void) {
    large l = {.offsets = test_new(ALL + 1, sizeof *l.offsets),
               .gone = test_new(FILE_ITEMS, sizeof *l.gone),
               .features = test_new(3 * ALL, sizeof *l.features),
               .bids = test_new(ALL, sizeof *l.bids),
               .left_ids = test_new(ALL, sizeof *l.left_ids),
               .left_offsets = test_new(ALL + 1, sizeof *l.left_offsets),
               .left = test_new(3 * ALL, sizeof *l.left),
               .left_bids = test_new(ALL, sizeof *l.left_bids)};
    (void)draw_large(0, ALL, l.offsets, l.features);
    for (uint64_t i = 0; i < ALL; i++) {
        const uint64_t n = l.offsets[i + 1] - l.offsets[i];
        l.bids[i] = (float)(i * 31 % 11);
        if (i < FILE_ITEMS && (i % 977 == 0 || i % 7 == 3)) { /* most of the best items */
            l.gone[l.n_gone++] = i;
            continue;
        }
        l.left_ids[l.n_left] = i;
        l.left_bids[l.n_left] = l.bids[i];
        memcpy(l.left + l.left_offsets[l.n_left], l.features + l.offsets[i], n * sizeof *l.left);
        l.left_offsets[l.n_left + 1] = l.left_offsets[l.n_left] + n;
        l.n_left++;
    }
    return l;
}

/* Lists of items with bids at path; ids of their own, or their rows (NULL). */
static thr_hits *build_large(thr_context *context, const char *path, const thr_item_features *items,
                             const uint64_t *ids, const float *bids) {
    thr_hits_build_options options = {.replace = true, .ids = ids, .n_ids = ids != NULL ? items->n_items : 0};
    expect_ok(thr_hits_build(context, path, items, &options, &err));
    thr_hits *hits = test_hits_open(context, path);
    expect_ok(thr_hits_set_values(hits, bids, NULL, items->n_items, &err));
    return hits;
}

/* The lists of the file with all changes. */
static thr_hits *update_large(thr_hits *hits, const large *l) {
    uint64_t *offsets = test_new(ADDED + 1, sizeof *offsets);
    thr_hits *next = NULL;
    thr_hits_changes changes = {0};
    for (uint64_t i = 0; i <= ADDED; i++)
        offsets[i] = l->offsets[FILE_ITEMS + i] - l->offsets[FILE_ITEMS];
    changes.n_added = ADDED;
    changes.ids = l->left_ids + l->n_left - ADDED;
    changes.offsets = offsets;
    changes.features = l->features + l->offsets[FILE_ITEMS];
    changes.multipliers = l->bids + FILE_ITEMS;
    changes.n_removed = l->n_gone;
    changes.removed_ids = l->gone;
    expect_ok(thr_hits_update(hits, &changes, &next, &err));
    return next;
}

TEST(lists_of_many_windows_answer_as_lists_built_anew) {
    static const uint64_t ends[] = {0, 5};
    static const uint32_t words[] = {3, 110, 170, 250, 251};
    static const float weights[] = {1, 2, -1, 2, 4};
    const thr_hits_queries queries = {1, ends, words, weights};
    large l = draw_all();
    const thr_item_features of_file = {l.offsets, l.features, FILE_ITEMS}, of_left = {l.left_offsets, l.left, l.n_left};
    OWNED(thr_hits, hits) = build_large(*state, PATH, &of_file, NULL, l.bids);
    OWNED(thr_hits, anew) = build_large(*state, ANEW, &of_left, l.left_ids, l.left_bids);
    OWNED(thr_hits, next) = update_large(hits, &l);
    uint64_t found[2][BEST];
    float values[2][BEST];
    expect_ok(thr_hits_search(next, &queries, BEST, NULL, found[0], values[0], &err));
    expect_ok(thr_hits_search(anew, &queries, BEST, NULL, found[1], values[1], &err));
    assert_memory_equal(found[0], found[1], sizeof found[0]);
    assert_memory_equal(values[0], values[1], sizeof values[0]);
    uint32_t n_of_added = 0;
    for (uint32_t i = 0; i < BEST; i++)
        n_of_added += found[0][i] >= FILE_ITEMS;
    assert_true(n_of_added > 0 && n_of_added < BEST);
    for (uint32_t f = 0; f < 300; f++)
        assert_int_equal(thr_hits_feature_items(next, f), thr_hits_feature_items(anew, f));
}

/* The number of items in a delta is bounded, whatever their ids were before. */
TEST(too_many_items_are_refused) {
    const uint64_t most = THR_HITS_MAX_ADDED;
    uint64_t rng = test_seed() + 44, *ids = test_new(most, sizeof *ids);
    uint64_t *offsets = test_new(most + 1, sizeof *offsets);
    model *m = draw_model(ROW_IDS, &rng);
    thr_hits *hits = build(*state, m, PATH, false), *full = NULL, *next = NULL;
    thr_hits_changes changes = {0};
    for (uint64_t i = 0; i < most; i++)
        ids[i] = i + N;
    changes.n_added = most;
    changes.ids = ids;
    changes.offsets = offsets;
    expect_ok(thr_hits_update(hits, &changes, &full, &err));
    assert_int_equal(thr_hits_get_info(full).n_items, N + most);
    ids[0] = 1;
    changes.n_added = 1;
    expect_error(thr_hits_update(full, &changes, &next, &err), THR_EDIM,
                 "262145 added items after this update, the limit is 262144: rebuild the lists");
    ids[0] = N + 1; /* a replaced one is none more */
    expect_ok(thr_hits_update(full, &changes, &next, &err));
    thr_hits_free(next);
    thr_hits_free(full);
    thr_hits_free(hits);
}

TEST(too_many_features_and_words_are_refused) {
    static const uint64_t many[] = {0, THR_HITS_MAX_ADDED_FEATURES + 1}, one[] = {0, 1}, ids[] = {N + 1};
    static const uint32_t features[] = {3};
    uint64_t rng = test_seed() + 47;
    model *rows = draw_model(ROW_IDS, &rng), *named = draw_model(NAMES, &rng);
    thr_hits *hits = build(*state, rows, PATH, false), *next = NULL;
    thr_hits_changes changes = {.n_added = 1, .ids = ids};
    changes.offsets = many; /* refused before any is read */
    changes.features = features;
    expect_error(thr_hits_update(hits, &changes, &next, &err), THR_EDIM, "16777217 features of added items");
    thr_hits_free(hits);
    hits = build(*state, named, PATH, false);
    char *word = test_new(THR_HITS_MAX_ADDED_TEXT + 1, 1);
    memset(word, 'w', THR_HITS_MAX_ADDED_TEXT);
    const char *const name = "new", *const words[] = {word};
    changes = (thr_hits_changes){0};
    changes.n_added = 1;
    changes.names = &name;
    changes.offsets = one;
    changes.words = words;
    expect_error(thr_hits_update(hits, &changes, &next, &err), THR_EDIM, "bytes of names and words after");
    word[THR_HITS_MAX_ADDED_TEXT - 10] = '\0';
    expect_ok(thr_hits_update(hits, &changes, &next, &err));
    thr_hits_free(next);
    thr_hits_free(hits);
}

TEST(every_failing_allocation_leaves_what_was) {
    for (naming k = GIVEN_IDS; k < N_NAMINGS; k++) {
        uint64_t rng = test_seed() + 45;
        test_memory memory = {0};
        thr_context *context = test_context(1, THR_ISA_BEST, &memory);
        model *m = draw_model(k, &rng);
        thr_hits *hits = build(context, m, PATH, true), *next = NULL;
        how h = draw_how(3, &rng);
        batch b = draw_batch(m, true, &rng);
        b.values = true;
        test_oom oom = test_oom_start(&memory);
        oom.keeps = true; /* the update that succeeds, and what a search keeps for the next one */
        while (test_oom_next(&oom)) {
            const thr_hits_changes changes = changes_of(m, &b, NULL);
            test_oom_arm(&oom);
            const thr_status status = thr_hits_update(hits, &changes, &next, &err);
            if (!test_oom_check(&oom, status, &err, "no memory for")) {
                assert_null(next);
                check_search(hits, m, &h);
            }
        }
        assert_true(oom.n_failed > 19);
        check_search(hits, m, &h);
        apply(m, &b);
        check_search(next, m, &h);
        thr_hits_free(hits);
        thr_hits_free(next);
        thr_context_free(context);
        assert_int_equal(atomic_load(&memory.live), 0);
    }
}

TEST(nothing_is_allocated_after_the_first_search) {
    static const uint64_t ends[] = {0, 4};
    static const uint32_t features[] = {0, 3, 6, 60};
    static uint64_t filter[(N + BATCH) / 64 + 1];
    const thr_hits_queries queries = {1, ends, features, NULL};
    uint64_t rng = test_seed() + 46, ids[K];
    uint32_t n_unknown;
    test_memory memory = {0};
    thr_context *context = test_context(2, THR_ISA_BEST, &memory);
    model *m = draw_model(GIVEN_IDS, &rng);
    thr_hits *hits = build(context, m, PATH, true), *next = NULL;
    batch b = draw_batch(m, false, &rng);
    const thr_hits_changes changes = changes_of(m, &b, NULL);
    thr_hits_search_options options = {0};
    memset(filter, 0xff, sizeof filter);
    expect_ok(thr_hits_update(hits, &changes, &next, &err));
    options.filter = filter;
    options.filter_bits = thr_hits_get_info(next).n_rows;
    options.n_unknown = &n_unknown;
    for (int times = 0; times < 4; times++) {
        const size_t calls = atomic_load(&memory.calls);
        expect_ok(thr_hits_search(next, &queries, K, &options, ids, NULL, &err));
        assert_true(times == 0 || atomic_load(&memory.calls) == calls);
    }
    thr_hits_free(hits);
    thr_hits_free(next);
    thr_context_free(context);
    assert_int_equal(atomic_load(&memory.live), 0);
}

TEST_IN_CONTEXT(3, NULL)
