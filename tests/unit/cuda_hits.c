/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_hits.c - the scores of codes and the sums of posting lists, added up in one pass on an emulated GPU, are those
 * of a naive model, to the bit. (hits_device_search.c tests the operations of lists alone.)
 */
#include "hits_naive.h"

#include "cuda_support.h"

#include "device/keys.h"

enum { N = 9000, DIMS = 40, N_ROWS = DIMS / 8, K = 60, FEATURES = 16 };
static const float GAIN = 0.75f, BIAS = -0.5f;
enum { CODE_TILES = (N + THR_DEVICE_TILE - 1) / THR_DEVICE_TILE, PADDED = CODE_TILES * THR_DEVICE_TILE };

/* Random codes with factors and offsets, as ops.h lays them out, and a query of them. */
typedef struct codes {
    uint32_t n_planes, tile_size;
    uint8_t *tiles;
    float factors[PADDED], offsets[PADDED];
    thr_device_scan scan;
} codes;

static codes *draw_codes(uint32_t n_planes, uint32_t query_bits, uint64_t *rng) {
    codes *c = test_new(1, sizeof *c);
    c->n_planes = n_planes;
    c->tile_size = N_ROWS * n_planes * THR_DEVICE_TILE;
    c->tiles = test_new(CODE_TILES, c->tile_size);
    for (size_t i = 0; i < (size_t)CODE_TILES * c->tile_size; i++)
        c->tiles[i] = (uint8_t)thr_rng_below(rng, 256);
    for (size_t i = 0; i < PADDED; i++) {
        c->factors[i] = test_normal(rng);
        c->offsets[i] = test_normal(rng);
    }
    c->scan = (thr_device_scan){
        .codes = {.n_items = N, .n_dims = DIMS, .n_planes = n_planes}, .n_queries = 1, .query_bits = query_bits};
    c->scan.queries[0] = (thr_device_query){.total = 1000, .gain = 0.01f, .weight = 0.5f};
    for (uint32_t i = 0; i < 2 * query_bits; i++) /* dimensions 40 to 63 are nobody's */
        c->scan.words[i] = (uint32_t)thr_rng_next(rng) & (i < query_bits ? UINT32_MAX : 0xff);
    return c;
}

/* Bit of a dimension in a plane. */
static uint32_t bit_of(const codes *c, uint32_t item, uint32_t p, uint32_t d) {
    const uint8_t *tile = c->tiles + (size_t)(item / THR_DEVICE_TILE) * c->tile_size;
    const uint32_t i = item % THR_DEVICE_TILE;
    if (d < 32)
        return (uint32_t)tile[4 * ((size_t)p * THR_DEVICE_TILE + i) + d / 8] >> d % 8 & 1;
    return (uint32_t)tile[512 * (size_t)c->n_planes + (size_t)p * THR_DEVICE_TILE + i] >> d % 8 & 1;
}

static int32_t distance_of(const codes *c, uint32_t item) {
    const uint32_t bits = c->scan.query_bits;
    int32_t distance = 0;
    for (uint32_t d = 0; d < DIMS; d++)
        for (uint32_t p = 0; p < c->n_planes; p++)
            for (uint32_t j = 0; j < bits; j++)
                if (bit_of(c, item, p, d) != (c->scan.words[d / 32 * bits + j] >> d % 32 & 1))
                    distance += 1 << (c->n_planes - 1 - p + bits - 1 - j);
    return distance;
}

static float score_of(const codes *c, uint32_t item) {
    const thr_device_query *query = &c->scan.queries[0];
    const float score = (float)(query->total - 2 * distance_of(c, item)) * c->factors[item] * query->gain;
    return (score - c->offsets[item] * query->weight) * GAIN + BIAS;
}

/* ------------------------------------------------------------------------------------------------ lists */

static thr_device_hits put_lists(const thr_lists *lists) {
    uint32_t *begins = test_new(lists->n_stretches, sizeof *begins);
    for (uint32_t e = 0; e < lists->n_entries; e++) {
        uint32_t at = lists->entry_begins[e];
        for (uint32_t p = thr_lists_first_stretch(lists, e); p < thr_lists_first_stretch(lists, e + 1); p++) {
            begins[p] = at;
            at += lists->stretch_sizes[p] + 1u;
        }
    }
    const size_t n_bitmaps = lists->n_elements[THR_LISTS_BITMAPS];
    const thr_device_hits hits = {
        .n_items = lists->n_items,
        .stretch_windows = gpu_put(lists->stretch_windows, lists->n_stretches),
        .stretch_sizes = gpu_put(lists->stretch_sizes, lists->n_stretches * sizeof *lists->stretch_sizes),
        .stretch_begins = gpu_put(begins, lists->n_stretches * sizeof *begins),
        .places = gpu_put(lists->places, lists->n_elements[THR_LISTS_PLACES] * sizeof *lists->places),
        .runs = gpu_put(lists->runs, 2 * lists->n_elements[THR_LISTS_RUNS] * sizeof *lists->runs),
        .bitmap_containers = gpu_put(lists->bitmap_containers, n_bitmaps),
        .bitmaps = gpu_put(lists->bitmaps, n_bitmaps * THR_LISTS_BITMAP_BYTES)};
    return hits;
}

/* A query's entries, those with runs first. */
static thr_hit_device_query put_entries(const thr_lists_query *query, const thr_lists *lists,
                                        const thr_hit_entry **memory) {
    static const uint32_t forms[] = {THR_LISTS_RUNS, THR_LISTS_PLACES, THR_LISTS_BITMAPS};
    const size_t n = thr_lists_query_n_terms(query);
    thr_hit_entry *entries = test_new(n, sizeof *entries);
    uint32_t at = 0;
    for (int f = 0; f < 3; f++)
        for (size_t i = 0; i < query->n[forms[f]]; i++) {
            const thr_lists_term *s = &query->terms[forms[f]][i];
            entries[at++] = (thr_hit_entry){.form = forms[f],
                                            .first_stretch = (uint32_t)(s->windows - lists->stretch_windows),
                                            .n_stretches = s->n_stretches,
                                            .weight = s->weight};
        }
    *memory = gpu_put(entries, n * sizeof *entries);
    return (thr_hit_device_query){.unit = query->unit, .n_runs = (uint32_t)query->n[THR_LISTS_RUNS], .n = (uint32_t)n};
}

/* ------------------------------------------------------------------------------------------------ one pass */

static int64_t sum_of(const hits_problem *p, double unit, uint32_t item) {
    int64_t sum = 0;
    for (size_t f = 0; f < p->n; f++)
        if (p->features[f] % HITS_STEP == 0 && p->catalogue.has[item * FEATURES + p->features[f] / HITS_STEP] != 0)
            sum += lrint((double)p->weights[f] / unit);
    return sum;
}

/* The naive model's values: score and sum as floats, added. */
static void naive_values(const codes *c, const hits_problem *p, double unit, bool sigmoid, thr_candidate *all) {
    for (uint32_t i = 0; i < N; i++) {
        const float score = score_of(c, i) + (float)((double)sum_of(p, unit, i) * unit);
        all[i] = (thr_candidate){.row = i, .score = sigmoid ? 1 / (1 + thr_kernel_exp_one(-score)) : score};
    }
    thr_select_candidates_sort(all, N);
}

static thr_candidate candidate_of(const thr_device_item *item) {
    thr_candidate c = {.row = thr_device_key_item(item->key)};
    memcpy(&c.score, &item->score, sizeof c.score);
    return c;
}

static void check(thr_hit_dense_op *op, const thr_candidate *all) {
    enum { TILES = 2, PLACES = TILES * K };
    const uint32_t zeros[3] = {0}; /* a count, a bad row */
    const uint64_t threshold = 0;
    op->tiles.thresholds = gpu_put(&threshold, sizeof threshold);
    op->tiles.counts = gpu_put(zeros, sizeof zeros);
    op->tiles.bad_rows = op->tiles.counts + 1;
    op->tiles.items = gpu_put(NULL, PLACES * sizeof(thr_device_item));
    op->tiles.capacity = PLACES;
    op->tiles.wanted = K;
    gpu_do(hit_dense, op);
    uint32_t *counts = gpu_get(op->tiles.counts, sizeof zeros);
    thr_device_item *items = gpu_get(op->tiles.items, PLACES * sizeof *items);
    thr_candidate found[PLACES];
    assert_true(counts[0] >= K && counts[0] <= PLACES && counts[1] == 0);
    for (uint32_t i = 0; i < counts[0]; i++)
        found[i] = candidate_of(&items[i]);
    thr_select_candidates_sort(found, counts[0]);
    for (uint32_t i = 0; i < K; i++)
        assert_case(found[i].row == all[i].row && hits_same_bits(found[i].score, all[i].score),
                    "%u planes, number %u: row %llu with %.9g, should be %llu with %.9g", op->scan.codes.n_planes, i,
                    (unsigned long long)found[i].row, (double)found[i].score, (unsigned long long)all[i].row,
                    (double)all[i].score);
}

/* Of items all over the codes: what their values are made of. */
static void check_terms(const thr_hit_dense_op *dense, const codes *c, const hits_problem *p, double unit) {
    enum { CHOSEN = 700, WANTED = 750, APART = N / CHOSEN };
    const uint32_t n = CHOSEN;
    thr_device_item *items = test_new(WANTED, sizeof *items);
    for (uint32_t i = 0; i < CHOSEN; i++)
        items[i] = (thr_device_item){.key = thr_device_key_make(7 * i, i * APART), .score = i};
    thr_hit_terms_op op = {.hits = dense->tiles.hits,
                           .entries = dense->tiles.entries,
                           .query = dense->tiles.queries,
                           .scan = dense->scan,
                           .chosen = gpu_put(items, WANTED * sizeof *items),
                           .n_chosen = gpu_put(&n, sizeof n),
                           .wanted = WANTED,
                           .sums = gpu_put(NULL, WANTED * sizeof(int32_t))};
    gpu_do(hit_terms, &op);
    int32_t *sums = gpu_get(op.sums, WANTED * sizeof *sums);
    thr_device_item *found = gpu_get(op.chosen, WANTED * sizeof *found);
    for (uint32_t i = 0; i < CHOSEN; i++) {
        assert_case(sums[i] == sum_of(p, unit, i * APART), "item %u: sum %d", i * APART, sums[i]);
        assert_case((int32_t)found[i].distance == distance_of(c, i * APART), "item %u: distance %u", i * APART,
                    found[i].distance);
        assert_true(found[i].key == items[i].key && found[i].score == i);
    }
    assert_memory_equal(found + CHOSEN, items + CHOSEN, (WANTED - CHOSEN) * sizeof *items);
}

RANDOM_TEST(codes_and_lists_are_scored_in_one_pass) {
    for (uint32_t n_planes = 1; n_planes <= 8; n_planes++) {
        hits_problem p = hits_make_problem(gpu.context, N, FEATURES, &rng);
        codes *c = draw_codes(n_planes, 1 + n_planes % 4, &rng);
        thr_candidate *all = test_new(N, sizeof *all);
        thr_lists_query query = {0};
        thr_hit_dense_op op = {.scan = c->scan, .gain = GAIN, .bias = BIAS};
        expect_ok(thr_lists_query_make(gpu.context, &p.built.lists, p.features, p.weights, p.n, &query, &err));
        const thr_hit_device_query sent = put_entries(&query, &p.built.lists, &op.tiles.entries);
        op.tiles.hits = put_lists(&p.built.lists);
        op.tiles.queries = gpu_put(&sent, sizeof sent);
        op.tiles.n_queries = 1;
        op.tiles.sigmoid = n_planes % 3 == 0;
        op.scan.codes.tiles = gpu_put(c->tiles, (size_t)CODE_TILES * c->tile_size);
        op.scan.codes.factors = gpu_floats(c->factors, PADDED);
        op.scan.codes.offsets = gpu_floats(c->offsets, PADDED);
        if (n_planes % 2 == 0) /* words in memory, as of codes that do not fit the parameters */
            op.scan.far_words = gpu_put(c->scan.words, 2 * c->scan.query_bits * sizeof *c->scan.words);
        naive_values(c, &p, query.unit, op.tiles.sigmoid, all);
        check(&op, all);
        check_terms(&op, c, &p, query.unit);
        gpu_forget();
        thr_lists_query_free(gpu.context, &query);
        hits_free_problem(gpu.context, &p);
    }
}
