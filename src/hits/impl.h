/* SPDX-License-Identifier: Apache-2.0 */
/* impl.h - what an open file of posting lists is made of. */
#ifndef THR_HITS_IMPL_H
#define THR_HITS_IMPL_H

#include <pthread.h>

#include "base/file.h"
#include "base/idle.h"
#include "device/policy.h"
#include "hits/delta.h"
#include "hits/lookup.h"
#include "lists/search_lists.h"
#include "hits/device/copy.h"
#include "hits/file.h"

/*
 * Multipliers and offsets by place, or of added items, padded to a multiple of 64, as searches read them. Whoever takes
 * them last frees them.
 */
typedef struct thr_hit_values {
    float *multipliers, *offsets; /* or NULL */
    uint64_t n_users;             /* searches, and the hits they were set for; under the mutex */
    uint64_t number;              /* of all that were set, from 1 */
} thr_hit_values;

/* Those of the file and those of added items, each or NULL; set and taken together. */
typedef struct thr_hit_set {
    thr_hit_values *of_file, *of_added;
} thr_hit_set;

/* A search's scratch memory. */
typedef struct thr_hit_room {
    thr_context *context;
    thr_lists_search *search;
    uint64_t *filter;     /* bits by place; has room for all once a search has needed one */
    thr_candidate *items; /* the file's best, while those of added items are searched */
    size_t filter_capacity, items_capacity;
} thr_hit_room;

/*
 * An open file; or one with changes beside it, which shares all that is the file's: `file` is what thr_hits_open gave,
 * itself or that of which these were made, and lives until the last that has it is freed. Path, map and view are its.
 */
struct thr_hits {
    thr_context *context;
    char *path;
    thr_map map;
    thr_hits_view view;
    thr_hits_info info;

    thr_hits *file;
    thr_hit_delta *delta;  /* NULL: nothing was changed */
    thr_hit_values *added; /* of delta's items, NULL: none were set; under the file's mutex */

    /* Of a file alone. */
    pthread_mutex_t mutex;       /* of what follows */
    thr_hit_values *values;      /* NULL: none were set */
    uint64_t n_values;           /* that were set so far */
    uint64_t n_handles;          /* that have the file, itself too */
    thr_idle rooms;              /* thr_hit_room */
    pthread_mutex_t index_mutex; /* of the index, which is made once */
    thr_hit_index *index;
    thr_device_policy on_device; /* its copy is a thr_hit_store */
};

/* Bits by place, then those of added items from word thr_hits_file_words on; and the hits they are of. */
struct thr_hits_target {
    thr_context *context;
    thr_hits *hits;
    uint64_t *words;
    uint64_t n_items; /* that it lets through */
    size_t n_unknown; /* words that no item has, */
    char *unknown;    /* one after the other, each with a zero byte */
};

static inline uint32_t thr_hits_n_added(const thr_hits *hits) {
    return hits->delta == NULL ? 0 : hits->delta->n_items;
}

/* The rows of the file that may be found, by place; NULL: all. */
static inline const uint64_t *thr_hits_left(const thr_hits *hits) {
    return hits->delta == NULL ? NULL : hits->delta->left;
}

/* Words of bits by place, in whole windows; and with those of added items. */
static inline size_t thr_hits_file_words(const thr_hits *hits) {
    return thr_lists_n_words(&hits->view.contents.lists);
}
static inline size_t thr_hits_n_words(const thr_hits *hits) {
    return thr_hits_file_words(hits) + (hits->delta == NULL ? 0 : thr_lists_n_words(&hits->delta->built.lists));
}

/* Whether an item has the feature. */
bool thr_hits_knows(const thr_hits *hits, uint32_t feature);

/* The number of a feature's word, whether an item has it still or not. */
bool thr_hits_number(const thr_hits *hits, const char *word, uint32_t *feature);

/* As thr_hits_word and thr_hits_row, for those who looked at the file before: without an fstat each. */
const char *thr_hits_text(const thr_hits *hits, uint32_t feature);
bool thr_hits_find_row(const thr_hits *hits, uint64_t id, uint64_t *row);

/* The row with this name; false where no item has it any more. Of hits with names and an index. */
bool thr_hits_find_name(const thr_hits *hits, const char *name, uint64_t *row, uint64_t *id);

/* THR_EMISMATCH for queries of another model than that of the lists; 0: not told. */
thr_status thr_hits_check_model(const thr_hits *hits, uint64_t model, thr_error *err);

/* THR_ECHANGED when the file is not what it was. */
static inline thr_status thr_hits_check_unchanged(const thr_hits *hits, thr_error *err) {
    return thr_map_check(&hits->map, hits->path, err);
}

void thr_hit_room_free(void *room);

/* The values that are set now, to be put back. */
thr_hit_set thr_hits_take_values(thr_hits *hits);
void thr_hits_put_values(thr_hits *hits, const thr_hit_set *set);

/* Room for what an update's items are worth, set for the hits to come; NULL arrays where they are not wanted. */
thr_status thr_hit_values_make(thr_context *context, size_t n, bool multipliers, bool offsets, thr_hit_values **values,
                               thr_error *err);
void thr_hit_values_free(thr_context *context, thr_hit_values *values);

/* The file's index, which the first one that asks makes. */
thr_status thr_hits_get_index(thr_hits *hits, const thr_hit_index **index, thr_error *err);

/* An error of query q names it. Returns status. */
thr_status thr_hits_name_query(thr_status status, uint64_t q, thr_error *err);

/*
 * What all queries of a search find, on a GPU: *done is false where the CPU is to be used instead, as for hits with
 * changes beside their file. Errors as thr_hit_store_search has them, with the query's number.
 */
thr_status thr_hits_search_device(thr_hits *hits, const thr_lists_catalogue *catalogue, const thr_hits_queries *queries,
                                  size_t k, const thr_hit_caller *caller, bool *done, thr_error *err);

/* The lists on the first GPU for a search of others, to be returned; NULL: the CPU has them. */
thr_status thr_hits_borrow_store(thr_hits *hits, thr_hit_store **store, thr_error *err);
void thr_hits_return_store(thr_hits *hits);

/* What the CPU is expected to take for queries. */
double thr_hits_cpu_seconds(const thr_hits *hits, const thr_hits_queries *queries);

#endif
