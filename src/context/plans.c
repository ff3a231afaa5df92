/* SPDX-License-Identifier: Apache-2.0 */
#include "context/plans.h"

#include "base/error.h"

#include <pthread.h>
#include <string.h>

enum { KEPT_SHAPES = 64 };

struct thr_plans {
    pthread_mutex_t lock;
    thr_plan kept[KEPT_SHAPES]; /* n_dims 0: empty */
    size_t n;                   /* plans ever added; the oldest is replaced first */
};

thr_status thr_context_plans_create(thr_context *context, thr_plans **plans, thr_error *err) {
    THR_TRY(thr_alloc_zero(context, 1, sizeof **plans, plans, "plans of searches", err));
    (void)pthread_mutex_init(&(*plans)->lock, NULL);
    return THR_OK;
}

void thr_context_plans_free(thr_context *context, thr_plans *plans) {
    if (plans == NULL)
        return;
    (void)pthread_mutex_destroy(&plans->lock);
    thr_release(context, plans);
}

/* The caller holds the lock. */
static bool find(const thr_plans *plans, thr_plan *plan) {
    for (size_t i = 0; i < KEPT_SHAPES; i++) {
        const thr_plan *kept = &plans->kept[i];
        if (kept->n_dims == plan->n_dims && kept->item_bits == plan->item_bits &&
            kept->query_bits == plan->query_bits && kept->n_queries == plan->n_queries) {
            memcpy(plan->rates, kept->rates, sizeof plan->rates);
            return true;
        }
    }
    return false;
}

bool thr_context_plans_find(thr_plans *plans, thr_plan *plan) {
    (void)pthread_mutex_lock(&plans->lock);
    const bool found = find(plans, plan);
    (void)pthread_mutex_unlock(&plans->lock);
    return found;
}

void thr_context_plans_keep(thr_plans *plans, thr_plan *plan) {
    (void)pthread_mutex_lock(&plans->lock);
    if (!find(plans, plan))
        plans->kept[plans->n++ % KEPT_SHAPES] = *plan;
    (void)pthread_mutex_unlock(&plans->lock);
}
