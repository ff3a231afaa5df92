/* SPDX-License-Identifier: Apache-2.0 */
#include "tower/dual_scores.h"

#include "base/error.h"
#include "parallel/pool.h"

enum { PIECE_REQUESTS = 8 };

typedef struct job {
    const thr_kernels *kernels;
    const thr_dual_data *data;
    const thr_dual_requests *requests;
    const uint32_t *numbers;
    const thr_rank_loss *loss;
    bool learn;
    size_t n, n_vector, n_item_words, n_scratch;
    thr_dual_scores *all;
} job;

static thr_status make_room(thr_context *context, const job *j, thr_error *err) {
    thr_dual_scores *s = j->all;
    const size_t n_ads = s->batch.ad_offsets[j->n], n_history = s->batch.history_offsets[j->n];
    THR_TRY(thr_grow(context, &s->scores, &s->scores_capacity, 0, n_ads, sizeof(float), "scores", err));
    THR_TRY(thr_grow(context, &s->losses, &s->losses_capacity, 0, j->n, sizeof(double), "scores", err));
    if (s->marks == NULL)
        THR_TRY(thr_alloc_zero(context, (size_t)context->n_threads * j->n_item_words, sizeof(float), &s->marks,
                               "scores", err));
    if (j->loss != NULL)
        THR_TRY(thr_grow(context, &s->rank_scratch, &s->rank_capacity, 0, context->n_threads * j->n_scratch,
                         sizeof(double), "scores", err));
    if (!j->learn)
        return THR_OK;
    THR_TRY(thr_grow(context, &s->d_scores, &s->d_scores_capacity, 0, n_ads, sizeof(float), "scores", err));
    THR_TRY(thr_grow(context, &s->d_history, &s->d_history_capacity, 0, n_history, sizeof(float), "scores", err));
    if (s->sums == NULL)
        THR_TRY(thr_alloc_zero(context, (size_t)context->n_threads * j->n_item_words, sizeof(float), &s->sums, "scores",
                               err));
    return THR_OK;
}

/* (w of the word + w of its sequence's field) x. */
static float weigh(const thr_dual_model *model, const thr_dual_history *word) {
    const float own = word->row != THR_DUAL_NONE ? model->hit_words[word->row] : 0.0f;
    return (model->hit_fields[word->field] + own) * word->x;
}

/* The words of the batch's item `local`: [*words, *words + the number that is returned). */
static size_t get_words(const job *j, uint32_t local, const uint32_t **words) {
    const thr_dual_items *items = j->data->items;
    const uint32_t item = j->all->batch.items[local];
    *words = items->words + items->offsets[item];
    return items->offsets[item + 1] - items->offsets[item];
}

static void score_request(const job *j, size_t r, float *marks) {
    const thr_dual_batch *batch = &j->all->batch;
    const float *user = j->all->passes[THR_SIDE_QUERY].vectors + r * j->n_vector;
    const float *items = j->all->passes[THR_SIDE_ITEM].vectors;
    for (size_t h = batch->history_offsets[r]; h < batch->history_offsets[r + 1]; h++)
        marks[batch->history[h].feature] += weigh(j->data->model, &batch->history[h]);
    for (size_t a = batch->ad_offsets[r]; a < batch->ad_offsets[r + 1]; a++) {
        const uint32_t *words = NULL;
        const size_t n_words = get_words(j, batch->ads[a], &words);
        float score = 0;
        j->kernels->dot_f32(&score, user, items + batch->ads[a] * j->n_vector, j->n_vector * sizeof(float), 1,
                            j->n_vector);
        for (size_t w = 0; w < n_words; w++)
            score += marks[words[w]];
        j->all->scores[a] = score;
    }
    for (size_t h = batch->history_offsets[r]; h < batch->history_offsets[r + 1]; h++)
        marks[batch->history[h].feature] = 0;
}

/* The gradient by the weight of a history's word: x times the gradients of the ads that have its feature. */
static void spread_to_history(const job *j, size_t r, float *sums) {
    const thr_dual_batch *batch = &j->all->batch;
    for (int back = 0; back < 2; back++) {
        for (size_t h = batch->history_offsets[r]; back == 1 && h < batch->history_offsets[r + 1]; h++)
            j->all->d_history[h] = batch->history[h].x * sums[batch->history[h].feature];
        for (size_t a = batch->ad_offsets[r]; a < batch->ad_offsets[r + 1]; a++) {
            const uint32_t *words = NULL;
            const size_t n_words = get_words(j, batch->ads[a], &words);
            for (size_t w = 0; w < n_words; w++)
                sums[words[w]] = back == 0 ? sums[words[w]] + j->all->d_scores[a] : 0.0f;
        }
    }
}

static void run_request(const job *j, size_t r, uint32_t worker) {
    thr_dual_scores *s = j->all;
    const size_t first = s->batch.ad_offsets[r], n_ads = s->batch.ad_offsets[r + 1] - first;
    const size_t place = (size_t)j->requests->ad_offsets[j->numbers[r]];
    score_request(j, r, s->marks + worker * j->n_item_words);
    if (j->loss == NULL)
        return;
    const thr_rank_list list = {n_ads, j->requests->levels + place, j->requests->values + place};
    s->losses[r] = thr_rank_loss_run(j->loss, &list, s->scores + first, j->learn ? s->d_scores + first : NULL,
                                     s->rank_scratch + worker * j->n_scratch);
    if (!j->learn)
        return;
    for (size_t a = first; a < first + n_ads; a++)
        s->d_scores[a] /= (float)j->n;
    spread_to_history(j, r, s->sums + worker * j->n_item_words);
}

static void run_piece(void *arg, size_t piece, uint32_t worker) {
    const job *j = arg;
    const size_t first = piece * PIECE_REQUESTS, left = j->n - first;
    for (size_t r = first; r < first + (left < PIECE_REQUESTS ? left : PIECE_REQUESTS); r++)
        run_request(j, r, worker);
}

thr_status thr_dual_scores_run(thr_context *context, const thr_dual_data *data, const thr_dual_requests *requests,
                               const uint32_t *numbers, size_t n, const thr_rank_loss *loss, bool learn,
                               thr_dual_scores *scores, thr_error *err) {
    job j = {.kernels = context->kernels,
             .data = data,
             .requests = requests,
             .numbers = numbers,
             .loss = loss,
             .learn = learn,
             .n = n,
             .n_vector = thr_dual_n_vector(&data->model->config),
             .n_item_words = data->lexicon->words[THR_SIDE_ITEM].n_words,
             .n_scratch = thr_rank_loss_scratch(requests->most_ads),
             .all = scores};
    THR_TRY(thr_dual_batch_fill(context, data, requests, numbers, n, &scores->batch, err));
    THR_TRY(make_room(context, &j, err));
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++)
        THR_TRY(
            thr_dual_forward(context, data->model, side, &scores->batch.examples[side], &scores->passes[side], err));
    thr_parallel_for(context, (n + PIECE_REQUESTS - 1) / PIECE_REQUESTS, run_piece, &j);
    return THR_OK;
}

void thr_dual_scores_free(thr_context *context, thr_dual_scores *scores) {
    thr_dual_batch_free(context, &scores->batch);
    for (size_t side = 0; side < THR_N_SIDES; side++)
        thr_dual_pass_free(context, &scores->passes[side]);
    thr_release(context, scores->scores);
    thr_release(context, scores->losses);
    thr_release(context, scores->d_scores);
    thr_release(context, scores->d_history);
    thr_release(context, scores->marks);
    thr_release(context, scores->sums);
    thr_release(context, scores->rank_scratch);
    *scores = (thr_dual_scores){0};
}
