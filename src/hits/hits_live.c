/* SPDX-License-Identifier: Apache-2.0 */
/* hits_live.c - which posting lists are current, and who still reads those that were. */
#include <pthread.h>

#include <thresher/hits.h>

#include "base/error.h"
#include "base/memory.h"

/* Lists, and how many have taken them; the current ones have one more, live itself. */
typedef struct generation {
    thr_hits *hits;
    uint64_t n_users;
    struct generation *older;
} generation;

struct thr_hits_live {
    thr_context *context;
    pthread_mutex_t mutex; /* of what follows */
    generation *current;   /* with the older ones that somebody has behind it */
};

static thr_status make(thr_context *context, thr_hits *hits, generation **made, thr_error *err) {
    THR_TRY(thr_alloc(context, 1, sizeof **made, made, "posting lists", err));
    **made = (generation){.hits = hits, .n_users = 1};
    return THR_OK;
}

static generation **find(thr_hits_live *live, const thr_hits *hits) {
    generation **at = &live->current;
    while (*at != NULL && (*at)->hits != hits)
        at = &(*at)->older;
    return at;
}

/* Under the mutex: one user less. What nobody uses any more is taken out, for the caller to free without the mutex. */
static generation *let_go(generation **at) {
    generation *g = *at;
    if (g == NULL || --g->n_users > 0)
        return NULL;
    *at = g->older;
    return g;
}

static void drop(thr_context *context, generation *g) {
    if (g == NULL)
        return;
    thr_hits_free(g->hits);
    thr_release(context, g);
}

thr_status thr_hits_live_create(thr_context *context, thr_hits *first, thr_hits_live **out, thr_error *err) {
    thr_hits_live *live = NULL;
    if (out != NULL)
        *out = NULL;
    if (context == NULL || first == NULL || out == NULL)
        return thr_fail(err, THR_EINVAL, "live posting lists need a context, the first ones, and a place for them");
    THR_TRY(thr_alloc_zero(context, 1, sizeof *live, &live, "posting lists", err));
    const thr_status status = make(context, first, &live->current, err);
    if (status != THR_OK) {
        thr_release(context, live);
        return status;
    }
    live->context = context;
    (void)pthread_mutex_init(&live->mutex, NULL);
    *out = live;
    return THR_OK;
}

void thr_hits_live_free(thr_hits_live *live) {
    if (live == NULL)
        return;
    thr_context *context = live->context;
    drop(context, let_go(&live->current));
    (void)pthread_mutex_destroy(&live->mutex);
    thr_release(context, live);
}

thr_hits *thr_hits_live_take(thr_hits_live *live) {
    (void)pthread_mutex_lock(&live->mutex);
    live->current->n_users++;
    thr_hits *hits = live->current->hits;
    (void)pthread_mutex_unlock(&live->mutex);
    return hits;
}

void thr_hits_live_put(thr_hits_live *live, thr_hits *hits) {
    (void)pthread_mutex_lock(&live->mutex);
    generation *unused = let_go(find(live, hits));
    (void)pthread_mutex_unlock(&live->mutex);
    drop(live->context, unused);
}

thr_status thr_hits_live_swap(thr_hits_live *live, thr_hits *next, thr_error *err) {
    generation *made = NULL, *unused = NULL;
    if (live == NULL || next == NULL)
        return thr_fail(err, THR_EINVAL, "what is to be current is missing");
    THR_TRY(make(live->context, next, &made, err));
    (void)pthread_mutex_lock(&live->mutex);
    const bool there = *find(live, next) != NULL;
    if (!there) {
        made->older = live->current;
        live->current = made;
        unused = let_go(&made->older);
    }
    (void)pthread_mutex_unlock(&live->mutex);
    if (there)
        thr_release(live->context, made);
    drop(live->context, unused);
    return there ? thr_fail(err, THR_EINVAL, "these posting lists are live already") : THR_OK;
}
