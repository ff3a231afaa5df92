/* SPDX-License-Identifier: Apache-2.0 */
/* lists.c - compressed posting lists hold their postings, in the shortest form, whichever function builds them. */
#include "hits_support.h"

#include "lists/validate.h"
#include "kernel/kernel.h"

static unsigned long long seed(void) {
    return (unsigned long long)test_seed();
}

/* What one window of a feature has in each form: places[form][place]. */
typedef struct window {
    bool places[THR_LISTS_N_FORMS][THR_LISTS_WINDOW];
} window;

/* One element, written as documented in lists.h. */
static void read_element(const thr_lists *lists, uint32_t form, uint32_t at, bool *places) {
    if (form == THR_LISTS_PLACES) {
        places[lists->places[at]] = true;
    } else if (form == THR_LISTS_RUNS) {
        for (uint32_t i = 0; i <= lists->runs[2 * at + 1]; i++)
            places[lists->runs[2 * at] + i] = true;
    } else {
        for (uint32_t i = 0; i < THR_LISTS_CONTAINER_PLACES; i++)
            if ((lists->bitmaps[at * THR_LISTS_BITMAP_BYTES + i / 8] >> i % 8 & 1) != 0)
                places[lists->bitmap_containers[at] * THR_LISTS_CONTAINER_PLACES + i] = true;
    }
}

static void count_container(const bool *places, uint32_t *n, uint32_t *n_runs) {
    *n = *n_runs = 0;
    for (uint32_t i = 0; i < THR_LISTS_CONTAINER_PLACES; i++) {
        *n += places[i];
        *n_runs += places[i] && (i == 0 || !places[i - 1]);
    }
}

/* A container has one form, the one documented in lists.h. */
static void assert_forms(const window *w) {
    for (uint32_t container = 0; container < THR_LISTS_WINDOW_CONTAINERS; container++) {
        uint32_t n, n_runs, n_forms = 0;
        for (uint32_t form = 0; form < THR_LISTS_N_FORMS; form++) {
            count_container(w->places[form] + (size_t)container * THR_LISTS_CONTAINER_PLACES, &n, &n_runs);
            if (n == 0)
                continue;
            const bool runs = n_runs <= 4 && n >= 4 * n_runs;
            const uint32_t right = runs ? THR_LISTS_RUNS : n >= 24 ? THR_LISTS_BITMAPS : THR_LISTS_PLACES;
            assert_case(form == right, "seed %llu: %u items in %u runs have form %u", seed(), n, n_runs, form);
            n_forms++;
        }
        assert_true(n_forms <= 1);
    }
}

/* A feature's stretches of one window, whatever form they have; returns how many items. */
static uint64_t read_window(const thr_lists *lists, uint32_t f, uint32_t number, window *w) {
    uint64_t n_items = 0;
    uint32_t only;
    memset(w, 0, sizeof *w);
    if (thr_lists_is_single(lists, f, &only)) {
        w->places[THR_LISTS_PLACES][only % THR_LISTS_WINDOW] = only / THR_LISTS_WINDOW == number;
        return only / THR_LISTS_WINDOW == number;
    }
    const uint32_t list = lists->refs[f];
    for (uint32_t e = lists->first_entries[list]; e < lists->first_entries[list + 1]; e++) {
        uint32_t at = lists->entry_begins[e];
        for (uint32_t p = thr_lists_first_stretch(lists, e); p < thr_lists_first_stretch(lists, e + 1); p++) {
            assert_true(p == thr_lists_first_stretch(lists, e) ||
                        lists->stretch_windows[p] > lists->stretch_windows[p - 1]);
            const uint32_t end = at + lists->stretch_sizes[p] + 1u;
            for (; at < end; at++)
                if (lists->stretch_windows[p] == number)
                    read_element(lists, lists->entry_forms[e], at, w->places[lists->entry_forms[e]]);
        }
    }
    for (uint32_t form = 0; form < THR_LISTS_N_FORMS; form++)
        for (uint32_t i = 0; i < THR_LISTS_WINDOW; i++)
            n_items += w->places[form][i];
    return n_items;
}

/* seen[i * n_features + f]: whether an entry has feature f of item i. */
static uint8_t *read_all(const thr_lists *lists, const hits_catalogue *c) {
    uint8_t *seen = test_new(c->items.n_items * c->n_features + 1, 1);
    window *w = test_new(1, sizeof *w);
    for (uint32_t f = 0; f < lists->n_features; f++) {
        const uint32_t kind = thr_lists_feature(lists, f) / HITS_STEP;
        uint32_t only;
        uint64_t n = 0;
        assert_true(f == 0 || thr_lists_feature(lists, f) > thr_lists_feature(lists, f - 1));
        for (uint32_t number = 0; number < thr_lists_n_windows(lists); number++) {
            n += read_window(lists, f, number, w);
            assert_forms(w);
            for (uint32_t i = 0; i < THR_LISTS_WINDOW; i++)
                for (uint32_t form = 0; form < THR_LISTS_N_FORMS; form++)
                    if (w->places[form][i]) {
                        const uint64_t item = (uint64_t)number * THR_LISTS_WINDOW + i;
                        assert_true(item < c->items.n_items);
                        seen[item * c->n_features + kind]++;
                    }
        }
        assert_int_equal(thr_lists_size(lists, f), n);
        assert_int_equal(thr_lists_is_single(lists, f, &only), n == 1);
    }
    assert_null(thr_lists_check_bounds(lists));
    assert_null(thr_lists_check_contents(lists));
    return seen;
}

static const struct {
    uint64_t n_items;
    uint32_t n_features;
} SHAPES[] = {{1, 1}, {255, 9}, {256, 16}, {257, 8}, {3000, 40}, {140000, 18}};
enum { N_SHAPES = COUNT_OF(SHAPES) };

TEST(lists_hold_what_items_have_in_the_right_form) {
    uint64_t rng = test_seed();
    for (size_t s = 0; s < N_SHAPES; s++) {
        hits_catalogue c = hits_draw(SHAPES[s].n_items, SHAPES[s].n_features, &rng);
        thr_built_lists built = {0};
        expect_ok(thr_lists_build(*state, &c.items, NULL, &built, &err));
        assert_int_equal(built.lists.n_items, c.items.n_items);
        assert_int_equal(built.lists.n_postings, c.n_postings);
        assert_int_equal(built.n_repeated, c.n_repeated);
        uint8_t *seen = read_all(&built.lists, &c);
        assert_memory_equal(seen, c.has, c.items.n_items * c.n_features);
        thr_lists_built_free(*state, &built);
    }
}

TEST(the_same_bytes_with_any_number_of_threads) {
    uint64_t rng = test_seed() + 1;
    hits_catalogue c = hits_draw(90000, 24, &rng);
    thr_built_lists first = {0};
    expect_ok(thr_lists_build(*state, &c.items, NULL, &first, &err));
    for (uint32_t threads = 1; threads <= 7; threads += 2) {
        OWNED(thr_context, context) = test_context(threads, THR_ISA_BEST, NULL);
        thr_built_lists again = {0};
        expect_ok(thr_lists_build(context, &c.items, NULL, &again, &err));
        assert_int_equal(thr_lists_bytes(&again.lists), thr_lists_bytes(&first.lists));
        assert_memory_equal(again.memory, first.memory, thr_lists_bytes(&first.lists));
        thr_lists_built_free(context, &again);
    }
    thr_lists_built_free(*state, &first);
}

TEST(features_are_found_by_number) {
    uint64_t rng = test_seed() + 2;
    hits_catalogue c = hits_draw(2000, 8, &rng);
    thr_built_lists built = {0};
    expect_ok(thr_lists_build(*state, &c.items, NULL, &built, &err));
    const thr_lists *lists = &built.lists;
    for (uint32_t feature = 0; feature < 8 * HITS_STEP + 5; feature++) {
        const uint32_t f = thr_lists_find(lists, feature);
        if (feature % HITS_STEP == 0 && feature / HITS_STEP < 7) /* the eighth begins after the last item */
            assert_int_equal(thr_lists_feature(lists, f), feature);
        else
            assert_int_equal(f, lists->n_features);
    }
    assert_int_equal(thr_lists_find(lists, UINT32_MAX), lists->n_features);
    thr_lists_built_free(*state, &built);
}

/* Numbers that leave nothing out need not be there; one item alone, however often it was given, is no list. */
TEST(redundant_arrays_are_left_out) {
    static const uint64_t offsets[] = {0, 3, 4, 8};
    static const uint32_t features[] = {1, 0, 2, 1, 3, 0, 3, 3};
    const thr_item_features items = {offsets, features, 3};
    thr_built_lists built = {0};
    uint32_t item;
    expect_ok(thr_lists_build(*state, &items, NULL, &built, &err));
    const thr_lists *lists = &built.lists;
    assert_null(lists->features);
    assert_true(lists->n_features == 4 && lists->n_lists == 2 && lists->n_postings == 6 && built.n_repeated == 2);
    assert_true(!thr_lists_is_single(lists, 0, &item) && !thr_lists_is_single(lists, 1, &item));
    assert_true(thr_lists_is_single(lists, 2, &item) && item == 0);
    assert_true(thr_lists_is_single(lists, 3, &item) && item == 2);
    assert_true(thr_lists_has(lists, 3, 2) && !thr_lists_has(lists, 3, 1) && thr_lists_has(lists, 0, 2));
    assert_int_equal(thr_lists_find(lists, 3), 3);
    assert_int_equal(thr_lists_find(lists, 4), 4);
    assert_null(thr_lists_check_bounds(lists));
    assert_null(thr_lists_check_contents(lists));
    thr_lists_built_free(*state, &built);
}

TEST(items_of_a_filter_are_counted) {
    enum { ITEMS = 150000, KINDS = 9 };
    uint64_t rng = test_seed() + 4;
    hits_catalogue c = hits_draw(ITEMS, KINDS, &rng);
    thr_built_lists built = {0};
    expect_ok(thr_lists_build(*state, &c.items, NULL, &built, &err));
    const thr_lists *lists = &built.lists;
    assert_int_equal(thr_lists_n_words(lists), 3 * 1024);
    uint64_t *filter = test_new(thr_lists_n_words(lists), sizeof *filter);
    for (uint64_t i = 0; i < ITEMS; i++)
        filter[i / 64] |= (uint64_t)(i > 20000 && thr_rng_below(&rng, 5) == 0) << i % 64;
    for (uint32_t f = 0; f < lists->n_features; f++) {
        const uint32_t kind = thr_lists_feature(lists, f) / HITS_STEP;
        uint64_t n = 0;
        for (uint64_t i = 0; i < ITEMS; i++)
            n += c.has[i * KINDS + kind] != 0 && (filter[i / 64] >> i % 64 & 1) != 0;
        assert_int_equal(thr_lists_count(lists, f, filter, UINT64_MAX), n);
        const uint64_t some = thr_lists_count(lists, f, filter, 1);
        assert_true(some <= n && (some > 0) == (n > 0));
    }
    thr_lists_built_free(*state, &built);
}

TEST(items_without_features_are_items) {
    static const uint64_t offsets[1001] = {0};
    const thr_item_features items = {offsets, NULL, 1000};
    thr_built_lists built = {0};
    expect_ok(thr_lists_build(*state, &items, NULL, &built, &err));
    assert_int_equal(built.lists.n_items, 1000);
    assert_int_equal(built.lists.n_features, 0);
    assert_int_equal(thr_lists_find(&built.lists, 0), 0);
    thr_lists_built_free(*state, &built);
}

TEST(what_cannot_be_built_is_refused) {
    uint64_t offsets[] = {0, 2, 1};
    uint32_t features[] = {1, THR_HITS_MAX_FEATURE};
    thr_item_features items = {offsets, features, 0};
    thr_built_lists built = {0};
    expect_error(thr_lists_build(*state, &items, NULL, &built, &err), THR_EDIM, "0 items");
    items.n_items = THR_HITS_MAX_ITEMS + 1ull;
    expect_error(thr_lists_build(*state, &items, NULL, &built, &err), THR_EDIM, "16777217 items");
    items.n_items = 2;
    expect_error(thr_lists_build(*state, &items, NULL, &built, &err), THR_EINVAL, "item 1 end before");
    offsets[2] = 2;
    features[1]++;
    expect_error(thr_lists_build(*state, &items, NULL, &built, &err), THR_ERANGE, "row 0 has feature 268435456");
    offsets[0] = 1;
    expect_error(thr_lists_build(*state, &items, NULL, &built, &err), THR_EINVAL, "item 0 begin at 1");
    assert_null(built.memory);
}

TEST(every_failing_allocation_is_enomem) {
    uint64_t rng = test_seed() + 3;
    hits_catalogue c = hits_draw(600, 16, &rng);
    test_memory memory = {0};
    OWNED(thr_context, context) = test_context(2, THR_ISA_BEST, &memory);
    test_oom oom = test_oom_start(&memory);
    while (test_oom_next(&oom)) {
        thr_built_lists built = {0};
        test_oom_arm(&oom);
        const thr_status status = thr_lists_build(context, &c.items, NULL, &built, &err);
        (void)test_oom_check(&oom, status, &err, "no memory for");
        thr_lists_built_free(context, &built);
    }
    assert_true(oom.n_failed > 2);
}

TEST_IN_CONTEXT(3, NULL)
