/* SPDX-License-Identifier: Apache-2.0 */
#include "context/way_rates.h"

#include "base/error.h"

#include <pthread.h>
#include <string.h>

enum { KEPT_SHAPES = 64 };

struct thr_way_rates {
    pthread_mutex_t lock;
    thr_way_choice kept[KEPT_SHAPES]; /* n_dims 0: empty */
    size_t n;                         /* shapes ever added; the oldest is replaced first */
};

thr_status thr_context_way_rates_create(thr_context *context, thr_way_rates **rates, thr_error *err) {
    THR_TRY(thr_alloc_zero(context, 1, sizeof **rates, rates, "rates of kernels", err));
    (void)pthread_mutex_init(&(*rates)->lock, NULL);
    return THR_OK;
}

void thr_context_way_rates_free(thr_context *context, thr_way_rates *rates) {
    if (rates == NULL)
        return;
    (void)pthread_mutex_destroy(&rates->lock);
    thr_release(context, rates);
}

/* The caller holds the lock. */
static bool find(const thr_way_rates *rates, thr_way_choice *choice) {
    for (size_t i = 0; i < KEPT_SHAPES; i++) {
        const thr_way_choice *kept = &rates->kept[i];
        if (kept->n_dims == choice->n_dims && kept->item_bits == choice->item_bits &&
            kept->query_bits == choice->query_bits && kept->n_queries == choice->n_queries) {
            memcpy(choice->rates, kept->rates, sizeof choice->rates);
            return true;
        }
    }
    return false;
}

bool thr_context_way_rates_find(thr_way_rates *rates, thr_way_choice *choice) {
    (void)pthread_mutex_lock(&rates->lock);
    const bool found = find(rates, choice);
    (void)pthread_mutex_unlock(&rates->lock);
    return found;
}

void thr_context_way_rates_keep(thr_way_rates *rates, thr_way_choice *choice) {
    (void)pthread_mutex_lock(&rates->lock);
    if (!find(rates, choice))
        rates->kept[rates->n++ % KEPT_SHAPES] = *choice;
    (void)pthread_mutex_unlock(&rates->lock);
}
