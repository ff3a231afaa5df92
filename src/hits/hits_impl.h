/* SPDX-License-Identifier: Apache-2.0 */
/* hits_impl.h - what an open file of posting lists is made of. */
#ifndef THR_HITS_HITS_IMPL_H
#define THR_HITS_HITS_IMPL_H

#include <pthread.h>

#include "base/file.h"
#include "base/idle.h"
#include "hits/hit_search.h"
#include "hits/hits_file.h"

/*
 * Multipliers and offsets by place, padded to a multiple of 64, as searches read them. Whoever takes them last frees
 * them.
 */
typedef struct thr_hit_values {
    float *multipliers, *offsets; /* or NULL */
    uint64_t n_users;             /* searches, and the hits they were set for; under the mutex */
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

/* The values that are set now, to be put back; NULL when there are none. */
thr_hit_values *thr_hits_take_values(thr_hits *hits);
void thr_hits_put_values(thr_hits *hits, thr_hit_values *values);

#endif
