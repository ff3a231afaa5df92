/* SPDX-License-Identifier: Apache-2.0 */
/* hits_impl.h - what an open file of posting lists is made of. */
#ifndef THR_HITS_HITS_IMPL_H
#define THR_HITS_HITS_IMPL_H

#include <pthread.h>

#include "base/file.h"
#include "base/idle.h"
#include "hits/hit_store.h"
#include "hits/hits_file.h"

/* Multipliers and offsets by place, as searches read them. Whoever takes them last frees them. */
typedef struct thr_hit_values {
    float *multipliers, *offsets; /* or NULL */
    uint64_t n_users;             /* searches, and the hits they were set for; under the mutex */
    uint64_t number;              /* of all that were set, from 1 */
} thr_hit_values;

/* A search's scratch memory. */
typedef struct thr_hit_room {
    thr_context *context;
    thr_hit_search *search;
    uint64_t *filter; /* bits by place; has room for all once a search has needed one */
    uint64_t *rows;
    float *values;
    size_t filter_capacity, rows_capacity, values_capacity;
} thr_hit_room;

struct thr_hits {
    thr_context *context;
    char *path;
    thr_map map;
    thr_hits_view view;
    thr_hits_info info;

    pthread_mutex_t mutex;  /* of what follows */
    thr_hit_values *values; /* NULL: none were set */
    uint64_t n_values;      /* that were set so far */

    pthread_mutex_t store_mutex; /* of what follows */
    thr_hit_store *store;        /* the lists on a GPU, from the first search on that wants them there */
    double cpu_seconds;          /* that searches have taken on the CPU, by an estimate, while a GPU was there to ask */

    thr_idle rooms; /* thr_hit_room */
};

/* Bits by place: bit p % 64 of word p / 64, and the hits they are of. */
struct thr_hits_target {
    thr_hits *hits;
    uint64_t *words;
    uint64_t n_items; /* that it lets through */
};

static inline size_t thr_hits_n_words(const thr_hits *hits) {
    return ((size_t)hits->view.contents.lists.n_items + 63) / 64;
}

/* THR_ECHANGED when the file is not what it was. */
thr_status thr_hits_check_unchanged(const thr_hits *hits, thr_error *err);

void thr_hit_room_free(void *room);

/*
 * What all queries of a search find, on a GPU: *done is false where the CPU is to be used instead. values are those of
 * the target. Errors and *failed as thr_hit_store_search has them.
 */
thr_status thr_hits_search_device(thr_hits *hits, const thr_hit_target *target, const thr_hit_values *values,
                                  const thr_hits_queries *queries, size_t k, thr_hit_answer *answer, void *arg,
                                  uint64_t *failed, bool *done, thr_error *err);

/* The values that are set now, to be put back; NULL when there are none. */
thr_hit_values *thr_hits_take_values(thr_hits *hits);
void thr_hits_put_values(thr_hits *hits, thr_hit_values *values);

#endif
