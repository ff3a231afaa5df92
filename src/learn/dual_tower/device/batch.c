/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch.c - uploading a batch of requests: words, ads and histories as bags, and these bags transposed, so that every
 * gradient is gathered by its own row.
 */
#include <string.h>

#include "base/error.h"
#include "device/layout.h"
#include "dual_tower/device/learner.h"

enum { MOST_ADS = 1 << 24 }; /* ads are numbered by floats while bags are transposed */
enum { ARRAYS = 48 };        /* more than there are: each may be rounded up */

static void put_transposed(thr_dual_learner *l, const thr_bags_transposed *from, thr_dual_device_bags *to) {
    const size_t n = from->offsets[from->n_rows];
    to->n = (uint32_t)from->n_rows;
    thr_device_upload_put(&l->upload, from->rows, from->n_rows * sizeof *from->rows, &to->rows);
    thr_device_upload_put_sizes(&l->upload, from->offsets, from->n_rows + 1, &to->offsets);
    thr_device_upload_put(&l->upload, from->bags, n * sizeof *from->bags, &to->bags);
    to->weights = NULL;
    if (from->has_weights)
        thr_device_upload_put(&l->upload, from->weights, n * sizeof *from->weights, &to->weights);
}

static thr_status put_words(thr_dual_learner *l, thr_dual_trainer *t, thr_side side, thr_error *err) {
    const thr_dual_vocabulary *words = &t->model.words[side];
    const thr_bags bags = thr_dual_bags_view(&t->scores.batch.examples[side], thr_dual_n_fields(words));
    const size_t n = bags.offsets[bags.n_bags];
    thr_dual_device_side *to = &l->sides[side];
    THR_TRY(thr_nn_bags_transpose(l->base.context, &bags, thr_dual_n_words(words), &t->back.words, err));
    to->n = (uint32_t)t->scores.batch.examples[side].n;
    to->words.n = (uint32_t)bags.n_bags;
    thr_device_upload_put_sizes(&l->upload, bags.offsets, bags.n_bags + 1, &to->words.offsets);
    thr_device_upload_put(&l->upload, bags.rows, n * sizeof *bags.rows, &to->words.rows);
    thr_device_upload_put(&l->upload, bags.weights, n * sizeof *bags.weights, &to->words.weights);
    put_transposed(l, &t->back.words, &to->touched);
    return THR_OK;
}

/* The requests' ads, their levels and terms of the loss; and the requests that show each item. */
static thr_status put_ads(thr_dual_learner *l, thr_dual_trainer *t, const uint32_t *numbers, thr_error *err) {
    const thr_dual_batch *batch = &t->scores.batch;
    const size_t n = batch->ad_offsets[batch->n];
    const thr_rank_loss loss = thr_dual_trainer_loss(t);
    thr_requests_op *op = &l->requests;
    l->n_ads = (uint32_t)n;
    THR_TRY(thr_grow(l->base.context, &t->scores.scores, &t->scores.scores_capacity, n, sizeof(float), "scores", err));
    for (size_t a = 0; a < n; a++)
        t->scores.scores[a] = (float)a;
    const thr_bags bags = {
        .n_bags = batch->n, .offsets = batch->ad_offsets, .rows = batch->ads, .weights = t->scores.scores};
    THR_TRY(thr_nn_bags_transpose(l->base.context, &bags, batch->n_items, &t->back.ads, err));
    thr_device_upload_put_sizes(&l->upload, batch->ad_offsets, batch->n + 1, &op->ad_offsets);
    thr_device_upload_put(&l->upload, batch->ads, n * sizeof *batch->ads, &op->ads);
    uint32_t *const levels = thr_device_upload_take(&l->upload, n * sizeof *levels, &op->levels);
    double *const gains = thr_device_upload_take(&l->upload, n * sizeof *gains, &op->gains);
    double *const values = thr_device_upload_take(&l->upload, n * sizeof *values, &op->values);
    for (size_t r = 0; r < batch->n; r++) {
        const size_t first = batch->ad_offsets[r], from = (size_t)t->requests.ad_offsets[numbers[r]];
        const thr_rank_list list = {batch->ad_offsets[r + 1] - first, t->requests.levels + from,
                                    t->requests.values + from};
        thr_nn_rank_loss_terms(&loss, &list, gains + first, values + first);
        memcpy(levels + first, list.levels, list.n * sizeof *levels);
    }
    uint32_t *const shown = thr_device_upload_take(&l->upload, n * sizeof *shown, &l->shown_ads);
    for (size_t e = 0; e < n; e++)
        shown[e] = (uint32_t)t->back.ads.weights[e];
    put_transposed(l, &t->back.ads, &l->shown);
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ hits */

/* Counting sort: places of every key, ascending. While filling, offsets[k + 1] is where key k's next place goes. */
static void put_places(thr_dual_learner *l, const uint32_t *keys, const uint32_t *values, size_t n, size_t n_keys,
                       const uint32_t **offsets_out, const uint32_t **places_out) {
    uint32_t *const offsets = thr_device_upload_take(&l->upload, (n_keys + 2) * sizeof *offsets, offsets_out);
    uint32_t *const places = thr_device_upload_take(&l->upload, n * sizeof *places, places_out);
    memset(offsets, 0, (n_keys + 2) * sizeof *offsets);
    for (size_t i = 0; i < n; i++)
        offsets[keys[i] + 2]++;
    for (size_t k = 2; k <= n_keys; k++)
        offsets[k] += offsets[k - 1];
    for (size_t i = 0; i < n; i++)
        places[offsets[keys[i] + 1]++] = values != NULL ? values[i] : (uint32_t)i;
}

/* Number the features that a request's history hits, and list them for its ads. */
static thr_status list_request(thr_dual_learner *l, const thr_dual_trainer *t, size_t r, uint32_t *n_slots,
                               size_t *n_hits, thr_error *err) {
    const thr_dual_batch *batch = &t->scores.batch;
    for (size_t h = batch->history_offsets[r]; h < batch->history_offsets[r + 1]; h++) {
        uint32_t *slot = &l->slot_of[batch->history[h].feature];
        if (*slot == 0)
            *slot = ++*n_slots;
        l->history_slots[h] = *slot - 1;
    }
    thr_status status = THR_OK;
    for (size_t a = batch->ad_offsets[r]; status == THR_OK && a < batch->ad_offsets[r + 1]; a++) {
        const uint32_t item = batch->items[batch->ads[a]];
        const size_t first = t->items.offsets[item], n = t->items.offsets[item + 1] - first;
        status = thr_grow(l->base.context, &l->ad_slots, &l->ad_slots_capacity, *n_hits + n, sizeof *l->ad_slots,
                          "hits", err);
        if (status == THR_OK)
            status = thr_grow(l->base.context, &l->slot_ads, &l->slot_ads_capacity, *n_hits + n, sizeof *l->slot_ads,
                              "hits", err);
        for (size_t w = first; status == THR_OK && w < first + n; w++)
            if (l->slot_of[t->items.words[w]] != 0) {
                l->ad_slots[*n_hits] = l->slot_of[t->items.words[w]] - 1;
                l->slot_ads[(*n_hits)++] = (uint32_t)a;
            }
        l->ad_slot_offsets[a + 1] = (uint32_t)*n_hits;
    }
    for (size_t h = batch->history_offsets[r]; h < batch->history_offsets[r + 1]; h++)
        l->slot_of[batch->history[h].feature] = 0;
    return status;
}

static thr_status list_hits(thr_dual_learner *l, const thr_dual_trainer *t, uint32_t *n_slots, size_t *n_hits,
                            thr_error *err) {
    const thr_dual_batch *batch = &t->scores.batch;
    *n_slots = 0;
    *n_hits = 0;
    THR_TRY(thr_grow(l->base.context, &l->ad_slot_offsets, &l->ad_slot_offsets_capacity,
                     batch->ad_offsets[batch->n] + 1, sizeof *l->ad_slot_offsets, "hits", err));
    THR_TRY(thr_grow(l->base.context, &l->history_slots, &l->history_slots_capacity,
                     batch->history_offsets[batch->n] + 1, sizeof *l->history_slots, "hits", err));
    l->ad_slot_offsets[0] = 0;
    for (size_t r = 0; r < batch->n; r++)
        THR_TRY(list_request(l, t, r, n_slots, n_hits, err));
    return THR_OK;
}

/* A word of a history updates its field's weight and, if it has one, its own: bags of one or two rows. */
static thr_status put_touched_hits(thr_dual_learner *l, thr_dual_trainer *t, thr_error *err) {
    const thr_dual_batch *batch = &t->scores.batch;
    const size_t n = batch->history_offsets[batch->n], n_words = thr_dual_n_words(&t->model.words[THR_SIDE_QUERY]);
    thr_dual_back *b = &t->back;
    size_t used = 0;
    THR_TRY(thr_grow(l->base.context, &b->hit_offsets, &b->hit_offsets_capacity, n + 1, sizeof *b->hit_offsets, "hits",
                     err));
    THR_TRY(thr_grow(l->base.context, &b->hit_rows, &b->hit_rows_capacity, 2 * n, sizeof *b->hit_rows, "hits", err));
    for (size_t h = 0; h < n; h++) {
        b->hit_offsets[h] = used;
        b->hit_rows[used++] = (uint32_t)(n_words + batch->history[h].field);
        if (batch->history[h].row != THR_DUAL_NONE)
            b->hit_rows[used++] = batch->history[h].row;
    }
    b->hit_offsets[n] = used;
    const thr_bags bags = {.n_bags = n, .offsets = b->hit_offsets, .rows = b->hit_rows};
    THR_TRY(thr_nn_bags_transpose(l->base.context, &bags, t->base.hits.n, &b->words, err));
    put_transposed(l, &b->words, &l->touched_hits);
    return THR_OK;
}

static thr_status put_hits(thr_dual_learner *l, thr_dual_trainer *t, size_t n_hits, thr_error *err) {
    const thr_dual_batch *batch = &t->scores.batch;
    const size_t n = batch->history_offsets[batch->n], n_ads = batch->ad_offsets[batch->n];
    const uint32_t n_words = thr_dual_n_words(&t->model.words[THR_SIDE_QUERY]);
    thr_requests_op *op = &l->requests;
    float *const x = thr_device_upload_take(&l->upload, n * sizeof *x, &op->history_x);
    uint32_t *const rows = thr_device_upload_take(&l->upload, n * sizeof *rows, &op->history_rows);
    uint32_t *const fields = thr_device_upload_take(&l->upload, n * sizeof *fields, &op->history_fields);
    for (size_t h = 0; h < n; h++) {
        x[h] = batch->history[h].x;
        rows[h] = batch->history[h].row != THR_DUAL_NONE ? batch->history[h].row : THR_NO_HIT_ROW;
        fields[h] = n_words + batch->history[h].field;
    }
    thr_device_upload_put(&l->upload, l->history_slots, n * sizeof *l->history_slots, &op->history_slots);
    thr_device_upload_put(&l->upload, l->ad_slot_offsets, (n_ads + 1) * sizeof *l->ad_slot_offsets,
                          &op->ad_slot_offsets);
    thr_device_upload_put(&l->upload, l->ad_slots, n_hits * sizeof *l->ad_slots, &op->ad_slots);
    put_places(l, l->history_slots, NULL, n, op->n_slots, &op->slot_offsets, &op->slot_history);
    put_places(l, l->ad_slots, l->slot_ads, n_hits, op->n_slots, &op->slot_ad_offsets, &op->slot_ads);
    op->n_history = (uint32_t)n;
    return n == 0 ? THR_OK : put_touched_hits(l, t, err);
}

/* ------------------------------------------------------------------------------------------------ memory */

/* An upper bound in bytes: how many rows are touched is not known yet. */
static size_t count_bytes(const thr_dual_trainer *t, uint32_t n_slots, size_t n_hits) {
    const thr_dual_batch *batch = &t->scores.batch;
    const size_t n_ads = batch->ad_offsets[batch->n], n_history = batch->history_offsets[batch->n];
    size_t n = (batch->n + 1) + 2 * n_ads + 4 * n_ads + (n_ads + 4 * n_ads + 1);
    n += 12 * n_history + 2 + (n_ads + 1) + 2 * n_hits + 2 * ((size_t)n_slots + 2);
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++) {
        const size_t n_bags = batch->examples[side].n * thr_dual_n_fields(&t->model.words[side]);
        n += n_bags + 2 + 6 * batch->examples[side].offsets[n_bags];
    }
    return n * sizeof(uint32_t) + ARRAYS * THR_UPLOAD_ALIGN;
}

static void lay_out_side(const thr_dual_trainer *t, thr_side side, thr_dual_device_side *to, thr_device_layout *at) {
    const size_t n = to->n, n_inputs = thr_dual_n_inputs(&t->model, side) * sizeof(float);
    const size_t n_hidden = t->model.config.n_hidden * sizeof(float);
    const size_t n_vector = thr_dual_n_vector(&t->model.config) * sizeof(float);
    to->inputs = thr_device_place(at, n, n_inputs);
    to->hidden = thr_device_place(at, n, n_hidden);
    to->vectors = thr_device_place(at, n, n_vector);
    to->d_inputs = thr_device_place(at, n, n_inputs);
    to->d_hidden = thr_device_place(at, n, n_hidden);
    to->d_vectors = thr_device_place(at, n, n_vector);
}

static void lay_out(thr_dual_learner *l, const thr_dual_trainer *t, thr_device_layout *at) {
    const size_t n_ads = t->scores.batch.ad_offsets[t->scores.batch.n];
    thr_requests_op *op = &l->requests;
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++)
        lay_out_side(t, side, &l->sides[side], at);
    op->losses = thr_device_place(at, t->scores.batch.n, sizeof *op->losses);
    op->ad_losses = thr_device_place(at, n_ads, sizeof *op->ad_losses);
    op->ad_discounts = thr_device_place(at, n_ads, sizeof *op->ad_discounts);
    op->scores = thr_device_place(at, n_ads, sizeof *op->scores);
    op->d_scores = thr_device_place(at, n_ads, sizeof *op->d_scores);
    l->turned = thr_device_place(at, n_ads, sizeof *l->turned);
    op->slots = thr_device_place(at, op->n_slots, sizeof *op->slots);
    op->d_history = thr_device_place(at, op->n_history, sizeof *op->d_history);
}

static thr_status make_workspace(thr_dual_learner *l, const thr_dual_trainer *t, thr_error *err) {
    thr_device_layout at = {0};
    void *memory = NULL;
    lay_out(l, t, &at);
    if (at.too_large)
        return thr_fail(err, THR_ENOMEM, "a batch of %zu requests: more bytes than there can be", t->scores.batch.n);
    const size_t size = at.used <= l->workspace.size ? at.used : at.used + at.used / 4;
    THR_TRY(thr_device_buffer_grow(l->base.backend, l->base.device, &l->workspace, size, "a batch", &memory, err));
    THR_TRY(thr_device_buffer_grow(l->base.backend, l->base.device, &l->on_host, t->options.run.batch * sizeof(double),
                                   "losses", &memory, err));
    at = (thr_device_layout){.memory = l->workspace.memory};
    lay_out(l, t, &at);
    return THR_OK;
}

thr_status thr_dual_device_batch_put(thr_dual_learner *l, thr_dual_trainer *t, const uint32_t *numbers,
                                     thr_error *err) {
    const thr_dual_data data = thr_dual_trainer_data(t);
    const thr_dual_some some = {&t->requests, numbers, t->options.run.batch};
    const thr_rank_loss loss = thr_dual_trainer_loss(t);
    thr_dual_batch *batch = &t->scores.batch;
    size_t n_hits = 0;
    uint32_t n_slots = 0;
    THR_TRY(thr_dual_batch_fill(l->base.context, &data, &some, batch, err));
    if (batch->ad_offsets[batch->n] >= MOST_ADS)
        return thr_fail(err, THR_EUNSUPPORTED,
                        "%zu requests have %zu ads, and a GPU takes fewer than 2^24: choose "
                        "smaller batches",
                        batch->n, batch->ad_offsets[batch->n]);
    THR_TRY(list_hits(l, t, &n_slots, &n_hits, err));
    l->requests = (thr_requests_op){.n_requests = (uint32_t)batch->n,
                                    .n_vector = thr_dual_n_vector(&t->model.config),
                                    .discounts = l->discounts,
                                    .with_values = loss.loss != THR_DUAL_LOSS_NDCG,
                                    .product = loss.loss == THR_DUAL_LOSS_PRODUCT,
                                    .swap = loss.value == THR_DUAL_VALUE_SWAP,
                                    .n_slots = n_slots,
                                    .hits = l->base.hits.values};
    THR_TRY(thr_device_upload_start(l->base.backend, l->base.device, &l->upload, count_bytes(t, n_slots, n_hits),
                                    "a batch", err));
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++)
        THR_TRY(put_words(l, t, side, err));
    THR_TRY(put_ads(l, t, numbers, err));
    THR_TRY(put_hits(l, t, n_hits, err));
    THR_TRY(make_workspace(l, t, err));
    return thr_device_upload_send(l->base.backend, l->base.stream, &l->upload, err);
}
