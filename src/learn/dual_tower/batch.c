/* SPDX-License-Identifier: Apache-2.0 */
/* batch.c - assembling a batch of requests: words of users and ads as bags, distinct ads, histories. */
#include "dual_tower/batch.h"

#include "base/error.h"

/* The words of an example; x has the numbers of a user's words, else it is NULL. */
typedef struct example {
    const uint32_t *words;
    const float *x;
    size_t n;
} example;

static thr_status add_example(thr_context *context, const thr_dual_data *data, thr_side side, example e,
                              thr_dual_batch *batch, thr_error *err) {
    THR_TRY(
        thr_grow(context, &batch->row_scratch, &batch->row_capacity, e.n, sizeof *batch->row_scratch, "a batch", err));
    for (size_t i = 0; i < e.n; i++)
        batch->row_scratch[i] = data->map->rows[side][e.words[i]];
    return thr_dual_bags_add(context, &data->model->words[side], batch->row_scratch, e.x, e.n, &batch->examples[side],
                             err);
}

/* A word of a history counts if its field was learned, whether or not the word itself was. */
static thr_status add_history(thr_context *context, const thr_dual_data *data, example user, size_t *n,
                              thr_dual_batch *batch, thr_error *err) {
    THR_TRY(thr_grow(context, &batch->history, &batch->history_capacity, *n + user.n, sizeof *batch->history, "a batch",
                     err));
    for (size_t i = 0; data->model->config.hits && i < user.n; i++) {
        const uint32_t word = user.words[i];
        const thr_dual_history one = {data->lexicon->hits[word], data->map->rows[THR_SIDE_QUERY][word],
                                      data->map->fields[word], user.x[i]};
        if (one.feature != THR_DUAL_NONE && one.field != THR_DUAL_NONE)
            batch->history[(*n)++] = one;
    }
    return THR_OK;
}

/* The number of an item within the batch; a new item is added. */
static thr_status number_item(thr_context *context, const thr_dual_data *data, uint32_t item, thr_dual_batch *batch,
                              uint32_t *number, thr_error *err) {
    const thr_dual_items *items = data->items;
    if (batch->local[item] == 0) {
        THR_TRY(thr_grow(context, &batch->items, &batch->items_capacity, batch->n_items + 1, sizeof *batch->items,
                         "a batch", err));
        const example words = {items->words + items->offsets[item], NULL,
                               items->offsets[item + 1] - items->offsets[item]};
        THR_TRY(add_example(context, data, THR_SIDE_ITEM, words, batch, err));
        batch->items[batch->n_items] = item;
        batch->local[item] = (uint32_t)++batch->n_items;
    }
    *number = batch->local[item] - 1;
    return THR_OK;
}

/* Remove the previous batch's items. */
static thr_status start(thr_context *context, const thr_dual_data *data, size_t n, thr_dual_batch *batch,
                        thr_error *err) {
    if (batch->local == NULL)
        THR_TRY(thr_alloc_zero(context, data->items->n, sizeof *batch->local, &batch->local, "a batch", err));
    for (size_t i = 0; i < batch->n_items; i++)
        batch->local[batch->items[i]] = 0;
    batch->n = batch->n_items = 0;
    batch->examples[THR_SIDE_QUERY].n = batch->examples[THR_SIDE_ITEM].n = 0;
    THR_TRY(thr_grow(context, &batch->ad_offsets, &batch->ad_offsets_capacity, n + 1, sizeof *batch->ad_offsets,
                     "a batch", err));
    THR_TRY(thr_grow(context, &batch->history_offsets, &batch->history_offsets_capacity, n + 1,
                     sizeof *batch->history_offsets, "a batch", err));
    batch->ad_offsets[0] = batch->history_offsets[0] = 0;
    return THR_OK;
}

thr_status thr_dual_batch_fill(thr_context *context, const thr_dual_data *data, const thr_dual_some *some,
                               thr_dual_batch *batch, thr_error *err) {
    const thr_dual_requests *requests = some->requests;
    const size_t n = some->n;
    size_t n_ads = 0, n_history = 0;
    THR_TRY(start(context, data, n, batch, err));
    for (size_t i = 0; i < n; i++) {
        const size_t r = thr_dual_request(some, i), word = requests->word_offsets[r];
        const example user = {requests->words + word, requests->x + word, requests->word_offsets[r + 1] - word};
        const size_t ad = (size_t)requests->ad_offsets[r], more = (size_t)requests->ad_offsets[r + 1] - ad;
        THR_TRY(add_example(context, data, THR_SIDE_QUERY, user, batch, err));
        THR_TRY(add_history(context, data, user, &n_history, batch, err));
        THR_TRY(thr_grow(context, &batch->ads, &batch->ads_capacity, n_ads + more, sizeof *batch->ads, "a batch", err));
        for (size_t a = 0; a < more; a++)
            THR_TRY(number_item(context, data, requests->ads[ad + a], batch, &batch->ads[n_ads++], err));
        batch->ad_offsets[i + 1] = n_ads;
        batch->history_offsets[i + 1] = n_history;
    }
    batch->n = n;
    return THR_OK;
}

void thr_dual_batch_free(thr_context *context, thr_dual_batch *batch) {
    for (size_t side = 0; side < THR_N_SIDES; side++)
        thr_dual_bags_free(context, &batch->examples[side]);
    THR_RELEASE(context, batch->local, batch->items, batch->ad_offsets, batch->ads, batch->history_offsets,
                batch->history, batch->row_scratch);
    *batch = (thr_dual_batch){0};
}
