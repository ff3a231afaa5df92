/* SPDX-License-Identifier: Apache-2.0 */
/*
 * score.c - exact logits of words, the best words, and the sums of exponentials.
 *
 * Words are processed in tiles of 64 rows of weights, which all states of a round use while they are in cache. A logit
 * is a product of row_products.h plus the bias, so its bits depend only on the state and the word. No array has a place
 * for each pair of word and state.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/minmax.h"
#include "head/workspace.h"
#include "nn/logarithm.h"
#include "parallel/pool.h"

typedef struct scoring {
    const thr_head *head;
    thr_head_workspace *workspace;
    const uint32_t *words; /* NULL: all */
    size_t n_words, n_tiles;
    thr_head_states states; /* at most THR_HEAD_ROUND */
    bool sums;              /* compute sums of exponentials */
    uint32_t k;             /* 0: collect no best words */
    float *kept;            /* all logits, n_words a state of the round; or NULL */
} scoring;

/* ------------------------------------------------------------------------------------------------ score a sample */

enum { PIECE = 64 };

#define MOST_ABOVE 80.0F /* a sampled logit is clamped to this above the candidates' sum, so that exp(x) stays finite */

/* The weighted sum of exponentials of n sampled logits from `first` on, less the normaliser; candidates are skipped. */
static double add_piece(const thr_head_workspace *workspace, const float *logits, double normaliser, uint32_t first,
                        uint32_t n) {
    const thr_head_sample *s = &workspace->sample;
    float shifted[PIECE] = {0}, weights[PIECE];
    uint32_t n_left = 0;
    double sum = 0;
    for (uint32_t i = first; i < first + n; i++) {
        const uint32_t word = s->words[i];
        if ((workspace->marks[word / 64] >> word % 64 & 1) != 0)
            continue;
        const float above = (float)((double)logits[i] - normaliser);
        shifted[n_left] = THR_MIN(above, MOST_ABOVE);
        weights[n_left++] = s->weights[i];
    }
    workspace->context->kernels->exp_f32(shifted, shifted, n_left);
    for (uint32_t i = 0; i < n_left; i++)
        sum += (double)weights[i] * (double)shifted[i];
    return sum;
}

double thr_head_add_sampled(const thr_head_workspace *workspace, size_t state, double normaliser) {
    const uint32_t n = workspace->sample.n;
    double sum = 1;
    for (uint32_t first = 0; first < n; first += PIECE)
        sum += add_piece(workspace, workspace->sampled + state * n, normaliser, first, THR_MIN(n - first, PIECE));
    return normaliser + thr_logarithm(sum);
}

/* ------------------------------------------------------------------------------------------------ score a tile */

/* The largest logit that is not NaN; in lanes, so that comparisons do not wait for one another. */
static float largest_of(const float *x, size_t n) {
    enum { LANES = 8 };
    float most[LANES];
    for (size_t j = 0; j < LANES; j++)
        most[j] = -INFINITY;
    for (size_t i = 0; i + LANES <= n; i += LANES)
        for (size_t j = 0; j < LANES; j++)
            most[j] = THR_MAX(x[i + j], most[j]);
    for (size_t i = n / LANES * LANES; i < n; i++)
        most[0] = THR_MAX(x[i], most[0]);
    for (size_t j = 1; j < LANES; j++)
        most[0] = THR_MAX(most[j], most[0]);
    return most[0];
}

static thr_head_sum sum_up(const thr_kernels *kernels, const float *logits, size_t n, float largest) {
    float shifted[THR_HEAD_TILE];
    thr_head_sum all = {0, largest};
    if (largest == -INFINITY) /* words that are never answered */
        return all;
    for (size_t i = 0; i < n; i++)
        shifted[i] = logits[i] - all.largest;
    kernels->exp_f32(shifted, shifted, n);
    for (size_t i = 0; i < n; i++)
        all.sum += (double)shifted[i];
    return all;
}

/* Collect the words that may be answered; never may be NULL. */
static void collect(thr_collector *best, const uint64_t *never, thr_head_words words, const float *logits,
                    float largest) {
    if (largest < best->threshold)
        return; /* the usual case once the collector is full */
    thr_select_collector_reserve(best);
    for (size_t i = 0; i < words.n; i++) {
        const size_t word = words.words != NULL ? words.words[i] : words.first + i;
        if (logits[i] >= best->threshold && (never == NULL || (never[word / 64] >> word % 64 & 1) == 0))
            thr_collector_push(best, word, logits[i], 0);
    }
}

static void add_bias(const float *bias, const uint32_t *words, size_t first, size_t n, float *logits) {
    if (words != NULL)
        for (size_t i = 0; i < n; i++)
            logits[i] += bias[words[i]];
    else
        for (size_t i = 0; i < n; i++)
            logits[i] += bias[first + i];
}

static void score_tile(void *arg, size_t tile, uint32_t worker) {
    const scoring *s = arg;
    const thr_head_contents *c = thr_head_of(s->head);
    const thr_kernels *kernels = s->workspace->context->kernels;
    const size_t first = tile * THR_HEAD_TILE, left = s->n_words - first;
    const size_t n = THR_MIN(left, THR_HEAD_TILE);
    const uint32_t *words = s->words != NULL ? s->words + first : NULL;
    float products[THR_HEAD_ROUND * THR_HEAD_TILE];
    thr_head_products(c, kernels, (thr_head_words){words, first, n}, &s->states,
                      s->workspace->tiles + worker * thr_head_products_floats(c), products, THR_HEAD_TILE);
    for (size_t i = 0; i < s->states.n; i++) {
        float *logits = products + i * THR_HEAD_TILE;
        if (c->bias != NULL)
            add_bias(c->bias, words, first, n, logits);
        const float largest = largest_of(logits, n);
        if (s->sums)
            s->workspace->sums[tile * THR_HEAD_ROUND + i] = sum_up(kernels, logits, n, largest);
        if (s->kept != NULL)
            memcpy(s->kept + i * s->n_words + first, logits, n * sizeof *logits);
        if (s->k > 0)
            collect(&s->workspace->collectors[worker * THR_HEAD_ROUND + i],
                    s->workspace->has_never ? s->workspace->never : NULL, (thr_head_words){words, first, n}, logits,
                    largest);
    }
}

/* ------------------------------------------------------------------------------------------------ score a round */

/* ln of the sum over all tiles, added in their order. */
static double normaliser_of(const scoring *s, size_t state) {
    const thr_head_sum *sums = s->workspace->sums + state;
    float largest = sums[0].largest;
    double sum = 0;
    for (size_t t = 1; t < s->n_tiles; t++)
        largest = THR_MAX(sums[t * THR_HEAD_ROUND].largest, largest);
    for (size_t t = 0; t < s->n_tiles; t++) {
        float share = sums[t * THR_HEAD_ROUND].largest - largest;
        s->workspace->context->kernels->exp_f32(&share, &share, 1);
        sum += sums[t * THR_HEAD_ROUND].sum * (double)share;
    }
    return (double)largest + thr_logarithm(THR_MAX(sum, 1)); /* the sum is below 1 only by rounding */
}

static thr_status start_collectors(const scoring *s, thr_error *err) {
    const size_t n_threads = s->workspace->context->n_threads;
    for (size_t i = 0; i < n_threads * THR_HEAD_ROUND; i++)
        THR_TRY(thr_select_collector_start(&s->workspace->collectors[i], s->workspace->context, s->k, -INFINITY, err));
    return THR_OK;
}

static thr_status put_answer(const scoring *s, size_t i, size_t state, const thr_head_plan *plan, thr_error *err) {
    const thr_head_answers *a = &plan->answers;
    const uint32_t k = plan->k;
    thr_collector *best = &s->workspace->collectors[i];
    for (uint32_t t = 1; t < s->workspace->context->n_threads; t++)
        thr_select_collector_merge(best, &s->workspace->collectors[t * THR_HEAD_ROUND + i]);
    thr_select_collector_finish(best);
    if (best->n < k)
        return thr_fail(err, THR_ERANGE, "state %zu has logits that are NaN: verify the head's file", state);
    thr_select_candidates_sort(best->items, best->n);
    double normaliser = a->log_probs == NULL        ? 0
                        : plan->normalisers != NULL ? plan->normalisers[state]
                                                    : normaliser_of(s, i);
    if (a->log_probs != NULL && plan->sampled)
        normaliser = thr_head_add_sampled(s->workspace, state, normaliser);
    for (uint32_t j = 0; j < k; j++) {
        a->words[state * k + j] = (uint32_t)best->items[j].row;
        if (a->logits != NULL)
            a->logits[state * k + j] = best->items[j].score;
        if (a->log_probs != NULL)
            a->log_probs[state * k + j] = (float)((double)best->items[j].score - normaliser);
    }
    return THR_OK;
}

static void begin_round(scoring *s, size_t first, size_t n) {
    const thr_head_contents *c = thr_head_of(s->head);
    s->states =
        thr_head_pack(c, s->workspace->states + first * c->n_dims, THR_MIN(n, THR_HEAD_ROUND), s->workspace->columns);
}

/* ------------------------------------------------------------------------------------------------ score all rounds */

thr_status thr_head_score_reserve(const thr_head *head, thr_head_workspace *workspace, size_t n_words, uint32_t k,
                                  thr_error *err) {
    const size_t n_tiles = THR_CEIL_DIV(n_words, THR_HEAD_TILE), n_threads = workspace->context->n_threads;
    size_t n_floats;
    if (!thr_mul_size(thr_head_products_floats(thr_head_of(head)), n_threads, &n_floats))
        return thr_fail(err, THR_ENOMEM, "no memory for tiles of weights");
    THR_TRY(thr_grow(workspace->context, &workspace->sums, &workspace->sums_capacity, n_tiles * THR_HEAD_ROUND,
                     sizeof *workspace->sums, "sums", err));
    THR_TRY(thr_grow(workspace->context, &workspace->tiles, &workspace->tiles_capacity, n_floats,
                     sizeof *workspace->tiles, "tiles of weights", err));
    THR_TRY(thr_grow(workspace->context, &workspace->columns, &workspace->columns_capacity,
                     thr_head_packed_floats(thr_head_of(head), THR_HEAD_ROUND), sizeof *workspace->columns, "states",
                     err));
    if (workspace->n_collectors == 0) {
        THR_TRY(thr_alloc_zero(workspace->context, n_threads * THR_HEAD_ROUND, sizeof *workspace->collectors,
                               &workspace->collectors, "the best words", err));
        workspace->n_collectors = n_threads * THR_HEAD_ROUND;
    }
    const scoring s = {.workspace = workspace, .k = k};
    return k > 0 ? start_collectors(&s, err) : THR_OK;
}

thr_status thr_head_score(const thr_head *head, thr_head_workspace *workspace, const thr_head_plan *plan,
                          thr_head_words words, size_t first, size_t n, thr_error *err) {
    scoring s = {.head = head,
                 .workspace = workspace,
                 .words = words.words,
                 .n_words = words.n,
                 .n_tiles = THR_CEIL_DIV(words.n, THR_HEAD_TILE),
                 .sums = plan->answers.log_probs != NULL && plan->normalisers == NULL,
                 .k = plan->k};
    for (size_t end = first + n; first < end; first += s.states.n) {
        begin_round(&s, first, end - first);
        THR_TRY(start_collectors(&s, err));
        thr_parallel_for(workspace->context, s.n_tiles, score_tile, &s);
        for (size_t i = 0; i < s.states.n; i++)
            THR_TRY(put_answer(&s, i, first + i, plan, err));
    }
    return THR_OK;
}

void thr_head_normalise(const thr_head *head, thr_head_workspace *workspace, size_t n, double *normalisers) {
    const uint32_t n_words = thr_head_of(head)->n_words;
    scoring s = {.head = head,
                 .workspace = workspace,
                 .n_words = n_words,
                 .n_tiles = THR_CEIL_DIV((size_t)n_words, THR_HEAD_TILE),
                 .sums = true};
    for (size_t first = 0; first < n; first += s.states.n) {
        begin_round(&s, first, n - first);
        thr_parallel_for(workspace->context, s.n_tiles, score_tile, &s);
        for (size_t i = 0; i < s.states.n; i++)
            normalisers[first + i] = normaliser_of(&s, i);
    }
}

void thr_head_logits(const thr_head *head, thr_head_workspace *workspace, const uint32_t *words, size_t n_words,
                     size_t n, float *logits) {
    scoring s = {.head = head,
                 .workspace = workspace,
                 .words = words,
                 .n_words = n_words,
                 .n_tiles = THR_CEIL_DIV(n_words, THR_HEAD_TILE)};
    for (size_t first = 0; first < n; first += s.states.n) {
        begin_round(&s, first, n - first);
        s.kept = logits + first * n_words;
        thr_parallel_for(workspace->context, s.n_tiles, score_tile, &s);
    }
}
