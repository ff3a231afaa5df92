/* SPDX-License-Identifier: Apache-2.0 */
/* head_on_device.c - whether a query of a head runs on a GPU, and what happens when that fails. */
#include "base/error.h"
#include "context/gpus.h"
#include "head/head_device.h"

/* "auto": bytes a second that are copied to a GPU, and products a second that the CPU makes, a thread. */
static const double COPY_RATE = 5e9, PRODUCT_RATE = 4e9;

enum { SCREENED_PART = 16 }; /* of all words that screens are expected to leave, with what they cost themselves */

/* What the CPU is expected to take for a query. */
static double cpu_seconds(const thr_head *head, const thr_head_plan *plan, bool exact) {
    const thr_head_contents *c = thr_head_of(head);
    const double all = (double)c->n_words, frequent = (double)plan->n_frequent;
    const double left = plan->options->screen == THR_HEAD_SCREEN_FREQUENT ? 0 : all / SCREENED_PART;
    const double words = (plan->all ? all : frequent + left) + (exact && !plan->all ? all : 0);
    return words * (double)c->n_dims * (double)plan->n_states / PRODUCT_RATE / (double)head->context->n_threads;
}

/*
 * "auto" waits until queries have taken so long here that copying the weights before the first one would have been
 * worth it: a decoder asks for some states at a time, and nobody knows how often.
 */
static bool is_worth_it(thr_head *head, double more) {
    const thr_head_contents *c = thr_head_of(head);
    head->cpu_seconds += more;
    return head->cpu_seconds >
           thr_gpus_wake_up(head->context) + (double)c->n_words * (double)thr_head_row_size(c) / COPY_RATE;
}

/* Whether the CPU takes over where GPUs have failed so. */
static bool falls_back(const thr_head *head, thr_status status) {
    return !thr_gpus_required(head->context) && (status == THR_EDEVICE || status == THR_ENOMEM);
}

/* The head on a GPU, copied there by the first query that wants it; NULL: the CPU is to be used. */
static thr_status get_device(thr_head *head, double more, thr_head_device **out, thr_error *err) {
    thr_error why = {.status = THR_OK};
    const thr_devices *devices = NULL;
    thr_status status = THR_OK;
    (void)pthread_mutex_lock(&head->device_mutex);
    if (head->device != NULL || thr_gpus_required(head->context) || is_worth_it(head, more))
        devices = thr_gpus_get(head->context);
    if (devices != NULL && head->device == NULL)
        status = thr_head_device_create(head, devices, &head->device, &why);
    if (falls_back(head, status))
        thr_gpus_give_up(head->context, &why);
    *out = devices == NULL ? NULL : head->device;
    (void)pthread_mutex_unlock(&head->device_mutex);
    if (status == THR_OK || falls_back(head, status))
        return THR_OK;
    if (err != NULL)
        *err = why;
    return status;
}

thr_status thr_head_query_device(thr_head *head, thr_head_room *room, const thr_head_plan *plan,
                                 const thr_head_answers *answers, bool *done, thr_error *err) {
    const bool exact = answers->log_probs != NULL && plan->options->normaliser == THR_HEAD_NORMALISER_EXACT;
    thr_error why = {.status = THR_OK};
    thr_head_device *device = NULL;
    *done = false;
    if (head->context->gpus == NULL)
        return THR_OK;
    if (answers->log_probs != NULL && plan->options->normaliser == THR_HEAD_NORMALISER_SAMPLED && !plan->all)
        return !thr_gpus_required(head->context)
                   ? THR_OK
                   : thr_fail(err, THR_EUNSUPPORTED,
                              "no GPU samples a normaliser: take candidates or exact, or the CPU");
    THR_TRY(get_device(head, cpu_seconds(head, plan, exact), &device, err));
    if (device == NULL)
        return THR_OK;
    const thr_status status = thr_head_device_query(device, room, plan, answers, &why);
    if (falls_back(head, status)) {
        thr_gpus_give_up(head->context, &why);
        return THR_OK;
    }
    *done = status == THR_OK;
    if (err != NULL && status != THR_OK)
        *err = why;
    return status;
}
