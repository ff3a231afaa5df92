/* SPDX-License-Identifier: Apache-2.0 */
/* policy.c - queries of a head on a GPU if the head's policy selects one (device/policy.h), else on the CPU. */
#include "base/error.h"
#include "head/device/copy.h"

static const double PRODUCT_RATE = 4e9; /* estimate: products per second and thread on the CPU */

enum { SCREENED_PART = 16 }; /* estimate: a screened query costs 1 / this of scoring all words */

static const thr_device_copier HEAD = {.copy = thr_head_device_create, .free = thr_head_device_free, .wake_ups = 1};

/* The CPU's estimated time for a query. */
static double cpu_seconds(const thr_head *head, const thr_head_plan *plan, bool exact) {
    const thr_head_contents *c = thr_head_of(head);
    const double all = (double)c->n_words, frequent = (double)plan->n_frequent;
    const double left = plan->options->screen == THR_HEAD_SCREEN_FREQUENT ? 0 : all / SCREENED_PART;
    const double words = (plan->all ? all : frequent + left) + (exact && !plan->all ? all : 0);
    return words * (double)c->n_dims * (double)plan->n_states / PRODUCT_RATE / (double)head->context->n_threads;
}

thr_status thr_head_query_device(thr_head *head, thr_head_workspace *workspace, const thr_head_plan *plan, bool *done,
                                 thr_error *err) {
    const bool exact = plan->answers.log_probs != NULL && plan->options->normaliser == THR_HEAD_NORMALISER_EXACT;
    const thr_head_contents *c = thr_head_of(head);
    const thr_device_use use = {.copier = &HEAD,
                                .object = head,
                                .name = head->path != NULL ? head->path : "a head",
                                .bytes = (double)c->n_words * (double)thr_head_row_size(c),
                                .seconds = cpu_seconds(head, plan, exact)};
    thr_error why = {.status = THR_OK};
    thr_head_device *device = NULL;
    *done = false;
    if (plan->answers.log_probs != NULL && plan->options->normaliser == THR_HEAD_NORMALISER_SAMPLED && !plan->all)
        return thr_device_refuse(head->context, "GPUs do not sample a normaliser: use candidates, exact or the CPU",
                                 err);
    if (plan->options->screen == THR_HEAD_SCREEN_ALIGN)
        return thr_device_refuse(head->context, "GPUs do not take lists of words: use another screen or the CPU", err);
    THR_TRY(thr_device_enter(&head->on_device, &use, &device, err));
    if (device == NULL)
        return THR_OK;
    const thr_status status = thr_head_device_query(device, workspace, plan, &why);
    return thr_device_leave(&head->on_device, status, &why, done, err);
}
