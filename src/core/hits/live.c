/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live.c - swaps posting lists under running searches: holds the current lists, and older ones until no reader uses
 * them.
 *
 * An update also swaps: to lists of the same file with another delta. Writers exclude each other, by one mutex, while
 * they make the next lists. Readers never wait for that: they lock the other mutex, which is held for a few
 * instructions only.
 */
#include <pthread.h>

#include <thresher/hits.h>

#include "base/error.h"
#include "base/memory.h"
#include "hits/update.h"

/* Lists and the number of their users; `live` itself is a user of the current ones. */
typedef struct generation {
    thr_hits *hits;
    uint64_t n_users;
    struct generation *older;
} generation;

struct thr_hits_live {
    thr_context *context;
    pthread_mutex_t writers; /* held while lists are made */
    pthread_mutex_t mutex;   /* guards what follows; taken after writers */
    generation *current;     /* and through `older` the earlier ones that still have users */
    uint64_t n_updates;      /* updates so far, which is the number of the last one */
    uint64_t since;          /* number of the last update that the current file includes; only writers change it */
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

/*
 * Remove one user, under the mutex. A generation without users is unlinked and returned; the caller frees it without
 * the mutex.
 */
static generation *remove_user(generation **at) {
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
        return thr_fail(err, THR_EINVAL,
                        "live posting lists need a context, the first lists, and a pointer for the result");
    THR_TRY(thr_alloc_zero(context, 1, sizeof *live, &live, "posting lists", err));
    const thr_status status = make(context, first, &live->current, err);
    if (status != THR_OK) {
        thr_release(context, live);
        return status;
    }
    live->context = thr_context_retain(context);
    (void)pthread_mutex_init(&live->writers, NULL);
    (void)pthread_mutex_init(&live->mutex, NULL);
    *out = live;
    return THR_OK;
}

void thr_hits_live_free(thr_hits_live *live) {
    if (live == NULL)
        return;
    thr_context *context = live->context;
    drop(context, remove_user(&live->current));
    (void)pthread_mutex_destroy(&live->writers);
    (void)pthread_mutex_destroy(&live->mutex);
    thr_release(context, live);
    thr_context_free(context);
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
    generation *unused = remove_user(find(live, hits));
    (void)pthread_mutex_unlock(&live->mutex);
    drop(live->context, unused);
}

/* ------------------------------------------------------------------------------------------------ writers */

/* Make `made` current; it includes the updates up to n_updates. Cannot fail: memory is allocated already. */
static void publish(thr_hits_live *live, generation *made, uint64_t n_updates) {
    (void)pthread_mutex_lock(&live->mutex);
    made->older = live->current;
    live->current = made;
    live->n_updates = n_updates;
    generation *unused = remove_user(&made->older);
    (void)pthread_mutex_unlock(&live->mutex);
    drop(live->context, unused);
}

static thr_status update(thr_hits_live *live, const thr_hits_changes *changes, thr_error *err) {
    const uint64_t number = live->n_updates + 1;
    const thr_hit_stamps stamps = {.all = number, .forget = live->since};
    generation *made = NULL;
    thr_hits *next = NULL;
    THR_TRY(make(live->context, NULL, &made, err));
    const thr_status status = thr_hits_make_update(live->current->hits, changes, &stamps, &next, err);
    if (status != THR_OK) {
        thr_release(live->context, made);
        return status;
    }
    made->hits = next;
    publish(live, made, number);
    return THR_OK;
}

thr_status thr_hits_live_update(thr_hits_live *live, const thr_hits_changes *changes, thr_error *err) {
    if (live == NULL || changes == NULL)
        return thr_fail(err, THR_EINVAL, "an update needs live posting lists and changes");
    (void)pthread_mutex_lock(&live->writers);
    const thr_status status = update(live, changes, err);
    (void)pthread_mutex_unlock(&live->writers);
    return status;
}

uint64_t thr_hits_live_mark(thr_hits_live *live) {
    (void)pthread_mutex_lock(&live->mutex);
    const uint64_t mark = live->n_updates;
    (void)pthread_mutex_unlock(&live->mutex);
    return mark;
}

static bool has(thr_hits_live *live, const thr_hits *hits) {
    (void)pthread_mutex_lock(&live->mutex);
    const bool there = *find(live, hits) != NULL;
    (void)pthread_mutex_unlock(&live->mutex);
    return there;
}

static thr_status swap(thr_hits_live *live, thr_hits *next, uint64_t mark, thr_error *err) {
    generation *made = NULL;
    thr_hits *replayed = NULL;
    if (has(live, next))
        return thr_fail(err, THR_EINVAL, "these posting lists are live already");
    if (mark > live->n_updates || mark < live->since)
        return thr_fail(err, THR_EINVAL,
                        "a mark of %llu updates: there were %llu, and the first %llu cannot be replayed; take a new "
                        "mark and rebuild the lists",
                        (unsigned long long)mark, (unsigned long long)live->n_updates, (unsigned long long)live->since);
    THR_TRY(make(live->context, next, &made, err));
    const thr_status status = thr_hits_replay(live->current->hits, mark, next, &replayed, err);
    if (status != THR_OK) {
        thr_release(live->context, made);
        return status;
    }
    if (replayed != NULL) {
        made->hits = replayed;
        thr_hits_free(next); /* the replayed handle keeps its file open */
    }
    live->since = mark;
    publish(live, made, live->n_updates);
    return THR_OK;
}

/* mark NULL: the mark of the current lists. */
static thr_status swap_since(thr_hits_live *live, thr_hits *next, const uint64_t *mark, thr_error *err) {
    if (live == NULL || next == NULL)
        return thr_fail(err, THR_EINVAL, "a swap needs live posting lists and the next ones");
    (void)pthread_mutex_lock(&live->writers);
    const thr_status status = swap(live, next, mark == NULL ? live->since : *mark, err);
    (void)pthread_mutex_unlock(&live->writers);
    return status;
}

thr_status thr_hits_live_swap_since(thr_hits_live *live, thr_hits *next, uint64_t mark, thr_error *err) {
    return swap_since(live, next, &mark, err);
}

thr_status thr_hits_live_swap(thr_hits_live *live, thr_hits *next, thr_error *err) {
    return swap_since(live, next, NULL, err);
}
