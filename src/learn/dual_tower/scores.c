/* SPDX-License-Identifier: Apache-2.0 */
/* scores.c - scores of a batch's ads, request by request on all threads, and the loss's gradients. */
#include "dual_tower/scores.h"

#include "base/error.h"
#include "base/minmax.h"
#include "parallel/pool.h"

enum { PIECE_REQUESTS = 8 };

typedef struct job {
    const thr_kernels *kernels;
    const thr_dual_data *data;
    const thr_dual_some *some;
    const thr_rank_loss *loss;
    bool learn;
    size_t n, n_vector, n_item_words, n_slots, n_scratch;
    thr_dual_scores *all;
} job;

/* A request needs a slot for each word of its history at most, and slot 0. */
static size_t most_slots(const thr_dual_batch *batch) {
    size_t most = 0;
    for (size_t r = 0; r < batch->n; r++) {
        const size_t n = batch->history_offsets[r + 1] - batch->history_offsets[r];
        most = THR_MAX(n, most);
    }
    return most + 1;
}

static thr_status make_room(thr_context *context, const job *j, thr_error *err) {
    thr_dual_scores *s = j->all;
    const size_t n_ads = s->batch.ad_offsets[j->n], n_history = s->batch.history_offsets[j->n];
    const size_t n_slots = context->n_threads * j->n_slots;
    THR_TRY(thr_grow(context, &s->scores, &s->scores_capacity, n_ads, sizeof(float), "scores", err));
    THR_TRY(thr_grow(context, &s->losses, &s->losses_capacity, j->n, sizeof(double), "scores", err));
    if (s->slots == NULL)
        THR_TRY(thr_alloc_zero(context, (size_t)context->n_threads * j->n_item_words, sizeof *s->slots, &s->slots,
                               "scores", err));
    THR_TRY(thr_grow(context, &s->weights, &s->weights_capacity, n_slots, sizeof(float), "scores", err));
    if (j->loss != NULL)
        THR_TRY(thr_grow(context, &s->rank_scratch, &s->rank_capacity, context->n_threads * j->n_scratch,
                         sizeof(double), "scores", err));
    if (!j->learn)
        return THR_OK;
    THR_TRY(thr_grow(context, &s->d_scores, &s->d_scores_capacity, n_ads, sizeof(float), "scores", err));
    THR_TRY(thr_grow(context, &s->d_history, &s->d_history_capacity, n_history, sizeof(float), "scores", err));
    THR_TRY(thr_grow(context, &s->d_users, &s->d_users_capacity, j->n * j->n_vector, sizeof(float), "scores", err));
    return thr_grow(context, &s->sums, &s->sums_capacity, n_slots, sizeof(float), "scores", err);
}

/* (w of the word + w of its sequence's field) x. */
static float weigh(const thr_dual_model *model, const thr_dual_history *word) {
    const float own = word->row != THR_DUAL_NONE ? model->hit_words[word->row] : 0.0f;
    return (model->hit_fields[word->field] + own) * word->x;
}

/* The words of the batch's item `local`. Returns their number. */
static size_t get_words(const job *j, uint32_t local, const uint32_t **words) {
    const thr_dual_items *items = j->data->items;
    const uint32_t item = j->all->batch.items[local];
    *words = items->words + items->offsets[item];
    return items->offsets[item + 1] - items->offsets[item];
}

/*
 * Assign a slot to each feature that the history hits, and add up the weights of its words in the order of the history.
 * All other features have slot 0 with weight 0: which features are hit is unpredictable, so adding a 0 is cheaper than
 * a branch.
 */
static void open_slots(const job *j, size_t r, uint32_t *slots, float *weights) {
    const thr_dual_batch *batch = &j->all->batch;
    uint32_t n = 0;
    weights[0] = 0;
    for (size_t h = batch->history_offsets[r]; h < batch->history_offsets[r + 1]; h++) {
        uint32_t *slot = &slots[batch->history[h].feature];
        if (*slot == 0) {
            *slot = ++n;
            weights[n] = 0;
        }
        weights[*slot] += weigh(j->data->model, &batch->history[h]);
    }
}

static void close_slots(const job *j, size_t r, uint32_t *slots) {
    const thr_dual_batch *batch = &j->all->batch;
    for (size_t h = batch->history_offsets[r]; h < batch->history_offsets[r + 1]; h++)
        slots[batch->history[h].feature] = 0;
}

/* Prefetch the vector of an item some ads ahead: a request's items are scattered in memory. */
static void fetch_vector(const float *vector, size_t n) {
    enum { LINE_FLOATS = 16 };
    for (size_t i = 0; i < n; i += LINE_FLOATS)
        __builtin_prefetch(vector + i);
}

static void score_request(const job *j, size_t r, const uint32_t *slots, const float *weights) {
    enum { AHEAD = 4 };
    const thr_dual_batch *batch = &j->all->batch;
    const float *user = j->all->passes[THR_SIDE_QUERY].vectors + r * j->n_vector;
    const float *items = j->all->passes[THR_SIDE_ITEM].vectors;
    const size_t end = batch->ad_offsets[r + 1];
    for (size_t a = batch->ad_offsets[r]; a < end; a++) {
        const uint32_t *words = NULL;
        const size_t n_words = get_words(j, batch->ads[a], &words);
        float score = 0;
        if (a + AHEAD < end)
            fetch_vector(items + batch->ads[a + AHEAD] * j->n_vector, j->n_vector);
        j->kernels->dot_f32(&score, user, items + batch->ads[a] * j->n_vector, j->n_vector * sizeof(float), 1,
                            j->n_vector);
        for (size_t w = 0; w < n_words; w++)
            score += weights[slots[words[w]]];
        j->all->scores[a] = score;
    }
}

/*
 * The gradient by the weight of each word of the history: x times the sum of the gradients of the ads with its feature.
 */
static void spread_to_history(const job *j, size_t r, const uint32_t *slots, float *sums) {
    const thr_dual_batch *batch = &j->all->batch;
    sums[0] = 0;
    for (size_t h = batch->history_offsets[r]; h < batch->history_offsets[r + 1]; h++)
        sums[slots[batch->history[h].feature]] = 0;
    for (size_t a = batch->ad_offsets[r]; a < batch->ad_offsets[r + 1]; a++) {
        const uint32_t *words = NULL;
        const size_t n_words = get_words(j, batch->ads[a], &words);
        for (size_t w = 0; w < n_words; w++)
            sums[slots[words[w]]] += j->all->d_scores[a];
    }
    for (size_t h = batch->history_offsets[r]; h < batch->history_offsets[r + 1]; h++)
        j->all->d_history[h] = batch->history[h].x * sums[slots[batch->history[h].feature]];
}

/* d_v of the user is the sum over its ads of the score's gradient times the ad's vector, which is still in cache. */
static void spread_to_user(const job *j, size_t r) {
    thr_dual_scores *s = j->all;
    const size_t first = s->batch.ad_offsets[r];
    j->kernels->gather_scaled(s->d_users + r * j->n_vector, s->passes[THR_SIDE_ITEM].vectors, j->n_vector,
                              s->batch.ads + first, s->d_scores + first, s->batch.ad_offsets[r + 1] - first, 0);
}

static void run_loss(const job *j, size_t r, double *scratch) {
    thr_dual_scores *s = j->all;
    const size_t first = s->batch.ad_offsets[r], n_ads = s->batch.ad_offsets[r + 1] - first;
    const thr_dual_requests *requests = j->some->requests;
    const size_t place = (size_t)requests->ad_offsets[thr_dual_request(j->some, r)];
    const thr_rank_list list = {n_ads, requests->levels + place, requests->values + place};
    s->losses[r] = thr_nn_rank_loss_run(j->kernels, j->loss, &list, s->scores + first,
                                        j->learn ? s->d_scores + first : NULL, scratch);
    for (size_t a = first; j->learn && a < first + n_ads; a++)
        s->d_scores[a] /= (float)j->n;
}

static void run_request(const job *j, size_t r, uint32_t worker) {
    thr_dual_scores *s = j->all;
    uint32_t *slots = s->slots + worker * j->n_item_words;
    float *weights = s->weights + worker * j->n_slots;
    open_slots(j, r, slots, weights);
    score_request(j, r, slots, weights);
    if (j->loss != NULL)
        run_loss(j, r, s->rank_scratch + worker * j->n_scratch);
    if (j->learn) {
        spread_to_user(j, r);
        spread_to_history(j, r, slots, s->sums + worker * j->n_slots);
    }
    close_slots(j, r, slots);
}

static void run_piece(void *arg, size_t piece, uint32_t worker) {
    const job *j = arg;
    const size_t first = piece * PIECE_REQUESTS, left = j->n - first;
    for (size_t r = first; r < first + THR_MIN(left, PIECE_REQUESTS); r++)
        run_request(j, r, worker);
}

thr_status thr_dual_scores_run(thr_context *context, const thr_dual_data *data, const thr_dual_some *some,
                               const thr_rank_loss *loss, bool learn, thr_dual_scores *scores, thr_error *err) {
    job j = {.kernels = context->kernels,
             .data = data,
             .some = some,
             .loss = loss,
             .learn = learn,
             .n = some->n,
             .n_vector = thr_dual_n_vector(&data->model->config),
             .n_item_words = data->lexicon->words[THR_SIDE_ITEM].n_words,
             .n_scratch = thr_nn_rank_loss_scratch(some->requests->most_ads),
             .all = scores};
    THR_TRY(thr_dual_batch_fill(context, data, some, &scores->batch, err));
    j.n_slots = most_slots(&scores->batch);
    THR_TRY(make_room(context, &j, err));
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++)
        THR_TRY(
            thr_dual_forward(context, data->model, side, &scores->batch.examples[side], &scores->passes[side], err));
    thr_parallel_for(context, THR_CEIL_DIV(some->n, PIECE_REQUESTS), run_piece, &j);
    return THR_OK;
}

void thr_dual_scores_free(thr_context *context, thr_dual_scores *scores) {
    thr_dual_batch_free(context, &scores->batch);
    for (size_t side = 0; side < THR_N_SIDES; side++)
        thr_dual_pass_free(context, &scores->passes[side]);
    THR_RELEASE(context, scores->scores, scores->losses, scores->d_scores, scores->d_history, scores->d_users,
                scores->slots, scores->weights, scores->sums, scores->rank_scratch);
    *scores = (thr_dual_scores){0};
}
