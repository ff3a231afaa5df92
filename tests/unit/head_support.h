/* SPDX-License-Identifier: Apache-2.0 */
/* head_support.h - heads drawn at random, and the query by the book: every logit, sorted, and a sum in double. */
#pragma once

#include "test.h"

#include "base/half.h"
#include "head/head.h"
#include "head/weight_formats.h"
#include "select/candidates.h"

TEST_OWNABLE(thr_head)

typedef struct head_case {
    uint32_t n_words, n_dims;
    thr_dtype dtype;
    bool bias, order;
    uint32_t n_bands, n_hashes, n_places, n_planes;
} head_case;

typedef struct head_drawn {
    head_case shape;
    float *weights, *bias;
    uint32_t *order;
    uint32_t *codes; /* of words, once they are wanted */
    thr_head_build_options options;
} head_drawn;

/* Small whole numbers of eight, so that there are ties; every ninth row is a copy of another. */
static inline void head_draw_rows(uint64_t *rng, float *rows, size_t n_rows, uint32_t n_dims, bool ties) {
    test_gaussian(rng, rows, n_rows * n_dims);
    for (size_t i = 0; ties && i < n_rows; i++)
        for (uint32_t d = 0; d < n_dims; d++)
            rows[i * n_dims + d] =
                i % 9 == 8 ? rows[(i / 2) * n_dims + d] : (float)(int)(rows[i * n_dims + d] * 4) / 8.0F;
}

static inline head_drawn head_draw(const head_case *shape, uint64_t *rng, bool ties) {
    const size_t n = shape->n_words;
    head_drawn h = {.shape = *shape, .weights = test_new(n * shape->n_dims, sizeof(float))};
    head_draw_rows(rng, h.weights, n, shape->n_dims, ties);
    h.bias = test_new(n, sizeof(float));
    test_gaussian(rng, h.bias, n);
    h.order = test_new(n, sizeof(uint32_t));
    for (uint32_t w = 0; w < n; w++)
        h.order[w] = w;
    for (uint32_t w = 0; w < n; w++) {
        const uint32_t other = w + (uint32_t)thr_rng_below(rng, n - w), word = h.order[other];
        h.order[other] = h.order[w];
        h.order[w] = word;
    }
    thr_head_build_options_init(&h.options);
    h.options.dtype = shape->dtype;
    h.options.n_bands = shape->n_bands;
    h.options.n_hashes = shape->n_hashes;
    h.options.n_places = shape->n_places;
    h.options.n_planes = shape->n_planes;
    h.options.bias = shape->bias ? h.bias : NULL;
    h.options.n_bias = n;
    h.options.frequent = shape->order ? h.order : NULL;
    h.options.n_frequent = n / 2 + 1;
    if (shape->order) { /* the rest is as it is numbered */
        uint8_t *seen = test_new(n, 1);
        uint32_t at = (uint32_t)(n / 2 + 1);
        for (uint32_t i = 0; i < at; i++)
            seen[h.order[i]] = 1;
        for (uint32_t w = 0; w < n; w++)
            if (seen[w] == 0)
                h.order[at++] = w;
    }
    return h;
}

/* Of the weights as they are kept; that hashes are right is for lsh_wta.c. */
static inline void head_find_codes(const thr_head *head, head_drawn *h) {
    const thr_head_contents *c = thr_head_of(head);
    float *row = test_new(c->n_dims, sizeof *row);
    h->codes = test_new((size_t)c->n_words * h->shape.n_bands + 1, sizeof *h->codes);
    for (uint32_t w = 0; w < c->n_words && h->shape.n_bands > 0; w++) {
        thr_head_row(c, head->context->kernels, w, row);
        thr_lsh_wta_hash(&head->wta, row, h->codes + (size_t)w * h->shape.n_bands);
    }
}

static inline thr_head *head_make(thr_context *context, const head_drawn *h) {
    thr_head *head = NULL;
    expect_ok(thr_head_create(context, ROWS(h->weights, h->shape.n_words, h->shape.n_dims), &h->options, &head, &err));
    return head;
}

static inline float head_kept(thr_dtype dtype, float x) {
    return dtype == THR_DTYPE_F16    ? thr_half_to_f32(thr_half_from_f32(x))
           : dtype == THR_DTYPE_BF16 ? thr_bf16_to_f32(thr_bf16_from_f32(x))
                                     : x;
}

/* The logit as the scalar kernel states it, of the weights as they are kept. */
static inline float head_logit(const head_drawn *h, const float *state, uint32_t word) {
    const thr_kernels *kernels = thr_kernels_get(THR_ISA_SCALAR);
    const uint32_t n_dims = h->shape.n_dims;
    const float *row = h->weights + (size_t)word * n_dims;
    float logit = 0;
    float kept[n_dims], largest = 0;
    for (uint32_t d = 0; d < n_dims; d++)
        largest = fmaxf(largest, fabsf(row[d]));
    for (uint32_t d = 0; d < n_dims; d++)
        kept[d] = h->shape.dtype != THR_DTYPE_I8 ? head_kept(h->shape.dtype, row[d])
                  : largest > 0                  ? (float)nearbyint((double)row[d] * (127 / (double)largest))
                                                 : 0;
    kernels->dot_f32(&logit, state, kept, 0, 1, n_dims);
    if (h->shape.dtype == THR_DTYPE_I8)
        logit *= (float)((double)largest / 127);
    return h->shape.bias ? logit + h->bias[word] : logit;
}

static inline bool head_is_never(const thr_head_query_options *o, uint32_t word) {
    for (uint64_t i = 0; i < o->n_never; i++)
        if (o->never[i] == word)
            return true;
    return false;
}

/* What the scan finds of the codes, state by state; scan_search.c checks that it finds the best. */
static inline void head_find_shortlists(const thr_head *head, const head_drawn *h, const thr_head_query_options *o,
                                        const float *states, size_t n_states, bool *wanted) {
    const uint32_t n_dims = h->shape.n_dims, n_coded = n_dims + h->shape.bias;
    float *coded = test_new(n_coded, sizeof *coded);
    uint64_t *rows = test_new(o->n_shortlist, sizeof *rows);
    thr_scan *scan = NULL;
    thr_search_options options = {.recall = 0.99f};
    options.n_survivors = options.n_candidates = o->n_shortlist;
    uint64_t *shown = test_new(h->shape.n_words / 64 + 1, sizeof *shown);
    for (uint32_t w = 0; w < h->shape.n_words; w++)
        shown[w / 64] |= (uint64_t)!head_is_never(o, w) << w % 64;
    if (o->n_never > 0 && o->n_shortlist < h->shape.n_words) {
        options.filter = shown;
        options.filter_bits = h->shape.n_words;
    }
    expect_ok(thr_scan_create(head->context, &scan, &err));
    for (size_t i = 0; i < n_states; i++) {
        memcpy(coded, states + i * n_dims, n_dims * sizeof *coded);
        if (h->shape.bias)
            coded[n_dims] = 1;
        expect_ok(thr_scan_search(scan, &head->corpus, ROWS(coded, 1, n_coded), &options,
                                  &(thr_answers){.k = o->n_shortlist, .ids = rows}, &err));
        for (uint32_t j = 0; j < o->n_shortlist; j++)
            if (rows[j] != THR_NO_ID)
                wanted[rows[j]] = true;
    }
    thr_scan_free(scan);
}

/* Words whose factors fewer than n_longest others come before: larger, or equal and of a smaller word. */
static inline void head_want_longest(const thr_head *head, uint32_t n_longest, bool *wanted) {
    const float *factors = thr_head_of(head)->planes.factors;
    const uint32_t n = thr_head_of(head)->n_words;
    for (uint32_t w = 0; w < n; w++) {
        uint32_t before = 0;
        for (uint32_t v = 0; v < n; v++)
            before += factors[v] > factors[w] || (factors[v] >= factors[w] && v < w);
        wanted[w] = wanted[w] || before < n_longest;
    }
}

/* Want the words whose hashes equal those of the states in as many bands as the threshold. */
static inline void head_want_hashed(const thr_head *head, const head_drawn *h, const thr_head_query_options *o,
                                    const float *states, size_t n_states, bool *wanted) {
    const uint32_t n = h->shape.n_words, n_bands = h->shape.n_bands;
    uint32_t *of_state = test_new(n_bands, sizeof *of_state);
    uint32_t *largest = test_new(n, sizeof *largest), *sums = test_new(n, sizeof *sums);
    for (size_t i = 0; i < n_states; i++) {
        thr_lsh_wta_hash(&head->wta, states + i * h->shape.n_dims, of_state);
        for (uint32_t w = 0; w < n; w++) {
            uint32_t hits = 0;
            for (uint32_t band = 0; band < n_bands; band++)
                hits += h->codes[(size_t)w * n_bands + band] == of_state[band];
            largest[w] = hits > largest[w] ? hits : largest[w];
            sums[w] += hits;
        }
    }
    for (uint32_t w = 0; w < n; w++)
        wanted[w] = wanted[w] || (o->combine == THR_HEAD_COMBINE_SUM ? sums : largest)[w] >= o->threshold;
}

/* Which words a group of states is given: wanted[w]. */
static inline void head_naive_candidates(const thr_head *head, const head_drawn *h, const thr_head_query_options *o,
                                         const float *states, size_t n_states, uint32_t k, bool *wanted) {
    const uint32_t n = h->shape.n_words;
    uint32_t n_wanted = 0;
    for (uint32_t i = 0; i < n; i++)
        wanted[i] = o->screen == THR_HEAD_SCREEN_FULL;
    for (uint64_t i = 0; i < o->n_always; i++)
        wanted[o->always[i]] = true;
    for (uint32_t i = 0; i < o->n_frequent; i++)
        wanted[h->shape.order ? h->order[i] : i] = true;
    if (o->screen == THR_HEAD_SCREEN_WTA)
        head_want_hashed(head, h, o, states, n_states, wanted);
    if (o->screen == THR_HEAD_SCREEN_ALIGN) /* the first list is the group's */
        for (uint64_t i = o->lists->starts[0]; i < o->lists->starts[1]; i++)
            wanted[o->lists->words[i]] = true;
    if (o->screen == THR_HEAD_SCREEN_PLANES) {
        head_find_shortlists(head, h, o, states, n_states, wanted);
        head_want_longest(head, n / 64 < 64 ? n / 64 : 64, wanted);
    }
    for (uint32_t w = 0; w < n; w++)
        n_wanted += wanted[w] && !head_is_never(o, w);
    for (uint32_t i = 0; n_wanted < k; i++) {
        const uint32_t w = h->shape.order ? h->order[i] : i;
        if (wanted[w] || head_is_never(o, w))
            continue;
        n_wanted++;
        wanted[w] = true;
    }
}

static inline int head_order(const void *a, const void *b) {
    const thr_candidate *x = a, *y = b;
    return thr_candidate_before(*x, *y) ? -1 : thr_candidate_before(*y, *x);
}

/* Words among the wanted, best first, to all (n_words places); returns how many. *normaliser: ln of their sum. */
static inline size_t head_naive_answer(const head_drawn *h, const float *state, const bool *wanted, thr_candidate *all,
                                       double *normaliser) {
    size_t n = 0;
    double sum = 0;
    for (uint32_t w = 0; w < h->shape.n_words; w++)
        if (wanted[w])
            all[n++] = (thr_candidate){w, head_logit(h, state, w), 0};
    qsort(all, n, sizeof *all, head_order);
    for (size_t i = 0; i < n; i++)
        sum += exp((double)all[i].score - (double)all[0].score);
    *normaliser = (double)all[0].score + log(sum);
    return n;
}
