/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hits_model.h - a catalogue that is updated, as plain items in the order of their rows, and what searches of posting
 * lists must answer of it: naively, item by item, and as lists that are built anew from it.
 */
#pragma once

#include "hits_support.h"

#include "lists/query_terms.h"
#include "kernel/elementwise.h"
#include "select/candidates.h"

/* Of the kinds of features a file has the first ones; others come with updates. */
enum { N = 700, KINDS = 22, FILE_KINDS = 18, MOST = 3000, K = 60, BATCH = 40, STEP = 3 };

/* Ids that were given; rows as ids; names, and words for features. */
typedef enum naming { GIVEN_IDS, ROW_IDS, NAMES, N_NAMINGS } naming;

static const char ANEW[] = "unit-hits-model-anew.hits";

typedef struct item {
    uint32_t key; /* its identity, whatever its id */
    uint32_t has; /* bit f: feature of kind f */
    float multiplier, offset;
} item;

/* Items in the order of their rows: a catalogue without lists. */
typedef struct model {
    naming naming;
    item items[MOST];
    uint32_t n, next_key;
} model;

static uint64_t id_of(const model *m, uint32_t key) {
    return m->naming == GIVEN_IDS ? 7 * (uint64_t)key + 3 : key;
}

static uint32_t draw_features(uint32_t kinds, uint64_t *rng) {
    uint32_t has = 0;
    for (uint32_t f = 0; f < kinds; f++)
        has |= (uint32_t)(thr_rng_below(rng, 1 + f) < 2) << f;
    return has;
}

static inline void remove_key(model *m, uint32_t key) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n; i++)
        if (m->items[i].key != key)
            m->items[n++] = m->items[i];
    m->n = n;
}

/* ------------------------------------------------------------------------------------------------ files */

static inline void write_table(const char *path, const item *items, uint64_t n) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (uint64_t i = 0; i < n; i++) {
        (void)fprintf(file, "item%u\t", items[i].key);
        for (uint32_t f = 0; f < KINDS; f++)
            if ((items[i].has >> f & 1) != 0)
                (void)fprintf(file, "f%02u ", f);
        (void)fputc('\n', file);
    }
    (void)fclose(file);
}

typedef struct csr {
    uint64_t ids[MOST], offsets[MOST + 1];
    uint32_t features[MOST * KINDS];
    const char *words[MOST * KINDS], *names[MOST];
    char name_bytes[MOST][16];
} csr;

static const char WORDS[KINDS][4] = {"f00", "f01", "f02", "f03", "f04", "f05", "f06", "f07", "f08", "f09", "f10",
                                     "f11", "f12", "f13", "f14", "f15", "f16", "f17", "f18", "f19", "f20", "f21"};

static inline void fill(const model *m, const item *items, uint32_t n, csr *c) {
    uint64_t at = 0;
    c->offsets[0] = 0;
    for (uint32_t i = 0; i < n; i++) {
        c->ids[i] = id_of(m, items[i].key);
        (void)snprintf(c->name_bytes[i], sizeof c->name_bytes[i], "item%u", items[i].key);
        c->names[i] = c->name_bytes[i];
        for (uint32_t f = 0; f < KINDS; f++)
            if ((items[i].has >> f & 1) != 0) {
                c->words[at] = WORDS[f];
                c->features[at++] = f * STEP;
            }
        c->offsets[i + 1] = at;
    }
}

static inline void set_values(thr_hits *hits, const model *m) {
    const thr_hits_info info = thr_hits_get_info(hits);
    float *multipliers = test_new(info.n_rows, sizeof(float)), *offsets = test_new(info.n_rows, sizeof(float));
    for (uint32_t i = 0; i < m->n; i++) {
        char name[16];
        uint64_t id = id_of(m, m->items[i].key), row;
        (void)snprintf(name, sizeof name, "item%u", m->items[i].key);
        assert_true(m->naming != NAMES || thr_hits_find(hits, name, &id));
        assert_true(thr_hits_row(hits, id, &row) && row < info.n_rows);
        multipliers[row] = m->items[i].multiplier;
        offsets[row] = m->items[i].offset;
    }
    expect_ok(thr_hits_set_values(hits, multipliers, offsets, info.n_rows, &err));
}

/* Lists of just the model's items. */
static inline thr_hits *build(thr_context *context, const model *m, const char *path, bool values) {
    static csr c;
    thr_hits_build_options options = {0};
    thr_hits *hits = NULL;
    options.replace = true;
    options.order = m->n % 2 == 0 ? THR_HITS_ORDER_FEATURES : THR_HITS_ORDER_ROWS;
    if (m->naming == NAMES) {
        write_table("unit-hits-model.tsv", m->items, m->n);
        expect_ok(thr_hits_build_table(context, path, "unit-hits-model.tsv", &options, &err));
    } else {
        fill(m, m->items, m->n, &c);
        const thr_item_features items = {c.offsets, c.features, m->n};
        options.ids = m->naming == GIVEN_IDS || path == ANEW ? c.ids : NULL;
        options.n_ids = m->n;
        expect_ok(thr_hits_build(context, path, &items, &options, &err));
    }
    expect_ok(thr_hits_open(context, path, &hits, &err));
    if (values)
        set_values(hits, m);
    return hits;
}

static inline model *draw_model(naming known_by, uint64_t *rng) {
    model *m = test_new(1, sizeof *m);
    m->naming = known_by;
    for (; m->n < N; m->n++)
        m->items[m->n] = (item){m->n, draw_features(FILE_KINDS, rng), 1, 0};
    m->next_key = N;
    return m;
}

/* ------------------------------------------------------------------------------------------------ one update */

typedef struct batch {
    item added[BATCH];
    uint32_t removed[BATCH]; /* keys */
    uint32_t n_added, n_removed, n_missing;
    bool values; /* added items have them */
} batch;

static inline bool contains(const model *m, uint32_t key) {
    for (uint32_t i = 0; i < m->n; i++)
        if (m->items[i].key == key)
            return true;
    return false;
}

/* New items and old ones, each once; removed ones may be missing, repeated, or added again. */
static inline batch draw_batch(model *m, bool values, uint64_t *rng) {
    batch b = {.values = values && thr_rng_below(rng, 2) == 0};
    for (uint64_t n = thr_rng_below(rng, BATCH); n > 0; n--) {
        const uint32_t key = thr_rng_below(rng, 3) == 0 ? (uint32_t)thr_rng_below(rng, m->next_key) : m->next_key++;
        bool there = false;
        for (uint32_t i = 0; i < b.n_added; i++)
            there = there || b.added[i].key == key;
        if (!there)
            b.added[b.n_added++] = (item){key, draw_features(KINDS, rng), b.values ? (float)thr_rng_below(rng, 4) : 1,
                                          b.values ? (float)thr_rng_below(rng, 3) : 0};
    }
    for (uint64_t n = thr_rng_below(rng, BATCH); n > 0; n--) {
        b.removed[b.n_removed] = (uint32_t)thr_rng_below(rng, m->next_key + 3);
        b.n_missing += !contains(m, b.removed[b.n_removed++]);
    }
    return b;
}

static inline void apply(model *m, const batch *b) {
    for (uint32_t i = 0; i < b->n_removed; i++)
        remove_key(m, b->removed[i]);
    for (uint32_t i = 0; i < b->n_added; i++)
        remove_key(m, b->added[i].key);
    for (uint32_t i = 0; i < b->n_added; i++)
        m->items[m->n++] = b->added[i];
    assert_true(m->n < MOST - BATCH);
}

/* The changes that a batch is; pointers are good until the next call. */
static inline thr_hits_changes changes_of(const model *m, const batch *b, uint64_t *n_missing) {
    static csr c;
    static uint64_t removed_ids[BATCH];
    static char bytes[BATCH][16];
    static const char *removed_names[BATCH];
    static float multipliers[BATCH], offsets[BATCH];
    thr_hits_changes changes = {0};
    fill(m, b->added, b->n_added, &c);
    for (uint32_t i = 0; i < b->n_removed; i++) {
        removed_ids[i] = id_of(m, b->removed[i]);
        (void)snprintf(bytes[i], sizeof bytes[i], "item%u", b->removed[i]);
        removed_names[i] = bytes[i];
    }
    for (uint32_t i = 0; i < b->n_added; i++) {
        multipliers[i] = b->added[i].multiplier;
        offsets[i] = b->added[i].offset;
    }
    const bool named = m->naming == NAMES;
    changes.n_added = b->n_added;
    changes.ids = named ? NULL : c.ids;
    changes.names = named ? c.names : NULL;
    changes.offsets = c.offsets;
    changes.features = named ? NULL : c.features;
    changes.words = named ? c.words : NULL;
    changes.multipliers = b->values ? multipliers : NULL;
    changes.item_offsets = b->values ? offsets : NULL;
    changes.n_removed = b->n_removed;
    changes.removed_ids = named ? NULL : removed_ids;
    changes.removed_names = named ? removed_names : NULL;
    changes.n_missing = n_missing;
    return changes;
}

/* ------------------------------------------------------------------------------------------------ checks */

typedef struct how {
    bool filter, target, sigmoid;
    float weights[KINDS + 1];
    uint32_t features[KINDS + 1]; /* all, and one that no item ever had */
    uint64_t *allowed;            /* by row of the searched lists */
} how;

static uint64_t find_id(const thr_hits *hits, const model *m, uint32_t key) {
    char name[16];
    uint64_t id = THR_NO_ID;
    (void)snprintf(name, sizeof name, "item%u", key);
    if (m->naming != NAMES)
        return id_of(m, key);
    return thr_hits_find(hits, name, &id) ? id : THR_NO_ID;
}

/* The items that match the target, features 1 AND NOT 3, and pass the filter by key. */
static inline bool is_wanted(const how *h, const item *i) {
    return (!h->target || ((i->has >> 1 & 1) != 0 && (i->has >> 3 & 1) == 0)) && (!h->filter || i->key % 3 != 0);
}

static inline size_t naive(const model *m, const how *h, thr_candidate *all) {
    double unit;
    size_t n = 0;
    assert_int_equal(thr_lists_query_unit(h->features, h->weights, KINDS + 1, &unit, NULL), THR_OK);
    for (uint32_t i = 0; i < m->n; i++) {
        int64_t sum = 0;
        if (!is_wanted(h, &m->items[i]))
            continue;
        for (uint32_t f = 0; f < KINDS; f++)
            sum += (m->items[i].has >> f & 1) != 0 ? thr_lists_query_weight(h->weights, f, unit) : 0;
        float value = (float)((double)sum * unit);
        value = h->sigmoid ? 1 / (1 + thr_kernel_exp_one(-value)) : value;
        all[n++] = (thr_candidate){.row = i, .score = value * m->items[i].multiplier + m->items[i].offset};
    }
    thr_select_candidates_sort(all, n);
    return n;
}

/* The rows are those of the items in their order. */
static inline void filter_rows(const thr_hits *hits, const model *m, how *h) {
    uint64_t last = 0;
    h->allowed = test_new(thr_hits_get_info(hits).n_rows / 64 + 1, sizeof *h->allowed);
    for (uint32_t i = 0; i < m->n; i++) {
        uint64_t row;
        assert_true(thr_hits_row(hits, find_id(hits, m, m->items[i].key), &row));
        assert_true(i == 0 || row > last);
        last = row;
        h->allowed[row / 64] |= (uint64_t)(m->items[i].key % 3 != 0) << row % 64;
    }
}

static inline void search(thr_hits *hits, const model *m, how *h, uint64_t *ids, float *values, uint32_t *n_unknown) {
    static const uint64_t ends[] = {0, KINDS + 1};
    uint32_t features[KINDS + 1];
    thr_hits_search_options options = {0};
    thr_hits_target *target = NULL;
    for (uint32_t f = 0; f <= KINDS; f++)
        if (m->naming != NAMES)
            features[f] = h->features[f];
        else if (f == KINDS || !thr_hits_feature(hits, WORDS[f], &features[f]))
            features[f] = UINT32_MAX;
    const thr_hits_queries queries = {1, ends, features, h->weights};
    options.value = h->sigmoid ? THR_HITS_VALUE_SIGMOID : THR_HITS_VALUE_SUM;
    options.n_unknown = n_unknown;
    if (h->filter) {
        filter_rows(hits, m, h);
        options.filter = h->allowed;
        options.filter_bits = thr_hits_get_info(hits).n_rows;
    }
    if (h->target)
        expect_ok(thr_hits_target_create(hits, m->naming == NAMES ? "f01 AND NOT f03" : "3 AND NOT 9", &target, &err));
    options.target = target;
    expect_ok(thr_hits_search(hits, &queries, K, &options, ids, values, &err));
    if (target != NULL) {
        uint64_t n = 0;
        for (uint32_t i = 0; i < m->n; i++)
            n += (m->items[i].has >> 1 & 1) != 0 && (m->items[i].has >> 3 & 1) == 0;
        assert_int_equal(thr_hits_target_count(target), n);
    }
    thr_hits_target_free(target);
    h->allowed = NULL;
}

static inline void check_search(thr_hits *hits, const model *m, how *h) {
    static thr_candidate all[MOST];
    uint64_t ids[K];
    float values[K];
    uint32_t n_unknown = 0, unknown = 1;
    const size_t n = naive(m, h, all);
    search(hits, m, h, ids, values, &n_unknown);
    for (size_t i = 0; i < K; i++) {
        const uint64_t id = i < n ? find_id(hits, m, m->items[all[i].row].key) : THR_NO_ID;
        const float value = i < n ? all[i].score : -INFINITY;
        assert_case(ids[i] == id && values[i] == value,
                    "seed %llu, kind %d, place %zu: id %llu with %.9g, should be %llu with %.9g",
                    (unsigned long long)test_seed(), (int)m->naming, i, (unsigned long long)ids[i], (double)values[i],
                    (unsigned long long)id, (double)value);
    }
    for (uint32_t f = 0; f < KINDS; f++) {
        bool has = false;
        for (uint32_t i = 0; i < m->n; i++)
            has = has || (m->items[i].has >> f & 1) != 0;
        unknown += !has;
    }
    assert_int_equal(n_unknown, unknown);
}

static inline void check_explanation(thr_hits *hits, const model *m, const how *h, const item *i) {
    static const uint64_t offsets[] = {0, KINDS + 1};
    uint32_t features[KINDS + 1];
    const thr_hits_queries asked = {1, offsets, features, h->weights};
    float shares[KINDS + 1];
    uint8_t matched[KINDS + 1];
    double unit;
    for (uint32_t f = 0; f <= KINDS; f++)
        if (m->naming != NAMES)
            features[f] = h->features[f];
        else if (f == KINDS || !thr_hits_feature(hits, WORDS[f], &features[f]))
            features[f] = UINT32_MAX;
    assert_int_equal(thr_lists_query_unit(h->features, h->weights, KINDS + 1, &unit, NULL), THR_OK);
    expect_ok(thr_hits_explain(hits, find_id(hits, m, i->key), &asked, 0, shares, matched, &err));
    for (uint32_t f = 0; f <= KINDS; f++) {
        assert_int_equal(matched[f], f < KINDS && (i->has >> f & 1) != 0);
        assert_true(shares[f] ==
                    (matched[f] != 0 ? (float)(thr_lists_query_weight(h->weights, f, unit) * unit) : 0.0f));
    }
}

static inline void check_look_ups(thr_hits *hits, const model *m) {
    const thr_hits_info info = thr_hits_get_info(hits);
    assert_int_equal(info.n_items, m->n);
    assert_int_equal(info.n_rows - info.n_added - info.n_removed, m->n - info.n_added);
    for (uint32_t f = 0; f < KINDS; f++) {
        uint64_t n = 0;
        uint32_t feature = f * STEP;
        for (uint32_t i = 0; i < m->n; i++)
            n += m->items[i].has >> f & 1;
        assert_int_equal(m->naming == NAMES && !thr_hits_feature(hits, WORDS[f], &feature)
                             ? 0
                             : thr_hits_feature_items(hits, feature),
                         n);
        if (m->naming == NAMES && n > 0)
            assert_string_equal(thr_hits_word(hits, feature), WORDS[f]);
    }
    for (uint32_t key = 0; key < m->next_key + 3; key++) {
        char name[16];
        uint64_t id, row;
        (void)snprintf(name, sizeof name, m->naming == NAMES ? "item%llu" : "%llu", (unsigned long long)id_of(m, key));
        const bool there = thr_hits_find(hits, name, &id);
        assert_int_equal(there, contains(m, key));
        assert_true(!there || thr_hits_row(hits, id, &row));
        if (there && m->naming == NAMES)
            assert_string_equal(thr_hits_name(hits, id), name);
    }
}

static inline how draw_how(uint32_t number, uint64_t *rng) {
    how h = {.filter = (number & 1) != 0, .target = (number & 2) != 0, .sigmoid = (number & 4) != 0};
    for (uint32_t f = 0; f <= KINDS; f++) {
        h.features[f] = f * STEP;
        h.weights[f] = (float)thr_rng_below(rng, 5) - 1; /* equal sums are frequent */
    }
    return h;
}

/* Against the model, and against lists built anew. */
static inline void check(thr_context *context, thr_hits *hits, const model *m, uint32_t round, bool values,
                         uint64_t *rng) {
    how h = draw_how(round, rng);
    check_search(hits, m, &h);
    if (m->n == 0)
        return;
    check_explanation(hits, m, &h, &m->items[thr_rng_below(rng, m->n)]);
    check_explanation(hits, m, &h, &m->items[m->n - 1]);
    check_look_ups(hits, m);
    if (round % 4 == 0) {
        uint64_t ids[K], anew_ids[K];
        float found[K], anew_found[K];
        uint32_t n_unknown, anew_n_unknown;
        OWNED(thr_hits, anew) = build(context, m, ANEW, values);
        search(hits, m, &h, ids, found, &n_unknown);
        search(anew, m, &h, anew_ids, anew_found, &anew_n_unknown);
        assert_memory_equal(found, anew_found, sizeof found);
        assert_int_equal(n_unknown, anew_n_unknown);
        for (uint32_t i = 0; i < K && m->naming == NAMES && ids[i] != THR_NO_ID; i++)
            assert_string_equal(thr_hits_name(hits, ids[i]), thr_hits_name(anew, anew_ids[i]));
        if (m->naming != NAMES)
            assert_memory_equal(ids, anew_ids, sizeof ids);
    }
}
