/* SPDX-License-Identifier: Apache-2.0 */
/* hits.h - the members of thr_hits: an open file of posting lists, its values and changes; and of thr_hits_target. */
#pragma once

#include <pthread.h>

#include "base/files/file.h"
#include "base/idle.h"
#include "device/policy.h"
#include "hits/delta.h"
#include "hits/lookup.h"
#include "lists/search_lists.h"
#include "hits/device/copy.h"
#include "hits/file.h"

/*
 * Multipliers and offsets of a file's places or of added items, padded to a multiple of 64, in the layout of searches.
 * The last user frees them.
 */
typedef struct thr_hit_values {
    float *multipliers, *offsets; /* each or NULL */
    uint64_t n_users;             /* searches, and the hits that they were set for; guarded by the mutex */
    uint64_t number;              /* counts all values set, from 1 */
} thr_hit_values;

/* The values of the file and those of the added items; either may be NULL. They are set and taken together. */
typedef struct thr_hit_set {
    thr_hit_values *of_file, *of_added;
} thr_hit_set;

/*
 * An index whose rows are those of the lists. Ids, names and live rows are then the index's. name and find are NULL if
 * the file has the names.
 */
typedef struct thr_hit_owner {
    const void *index; /* NULL: there is none */
    bool (*row)(const void *index, uint64_t id, uint64_t *row);
    uint64_t (*id)(const void *index, uint64_t row);
    const char *(*name)(const void *index, uint64_t id);
    bool (*find)(const void *index, const char *name, uint64_t *id);
} thr_hit_owner;

/* The workspace of a search. */
typedef struct thr_hit_workspace {
    thr_context *context;
    thr_lists_search *search;
    uint64_t *filter;     /* bits by place; allocated for all places when a search first needs it */
    thr_candidate *items; /* best items of the file, while the added items are searched */
    size_t filter_capacity, items_capacity;
} thr_hit_workspace;

/*
 * An open file, or lists that add changes to an open file and share all its data. `file` is the object that
 * thr_hits_open returned; it lives until the last object that shares it is freed. path, map and view belong to it.
 */
struct thr_hits {
    thr_context *context;
    char *path;
    thr_map map;
    thr_hits_view view;
    thr_hits_info info;

    thr_hits *file;
    thr_hit_delta *delta;  /* NULL: no changes */
    thr_hit_values *added; /* of the delta's items, NULL: none are set; guarded by the file's mutex */

    thr_hit_owner owner; /* lists with one have no delta but that of thr_hits_join */
    uint64_t *owner_live;
    uint32_t n_without; /* rows that are not live */

    /* Of `file` handles only: */
    pthread_mutex_t mutex;       /* guards the next four */
    thr_hit_values *values;      /* NULL: none are set */
    uint64_t n_values;           /* values set so far */
    bool values_are_set;         /* since the lists got their owner: the values are not those of the files */
    uint64_t n_handles;          /* handles that share the file, itself included */
    thr_idle workspaces;         /* of thr_hit_workspace */
    pthread_mutex_t index_mutex; /* guards the index, which is made once */
    thr_hit_index *index;
    thr_device_policy on_device; /* its copy is a thr_hit_store */
};

/* A target expression, evaluated on hits: bits by place; from word thr_hits_file_words on the bits of added items. */
struct thr_hits_target {
    thr_context *context;
    thr_hits *hits;
    uint64_t *words;
    uint64_t n_items; /* items that it selects */
    size_t n_unknown; /* number of words that no item has */
    char *unknown;    /* these words, one after the other, each with a zero byte */
};

static inline uint32_t thr_hits_n_added(const thr_hits *hits) {
    return hits->delta == NULL ? 0 : hits->delta->n_items;
}

/* The live rows of the file, as bits by place; NULL: all are live. */
static inline const uint64_t *thr_hits_live_rows(const thr_hits *hits) {
    return hits->delta == NULL ? hits->owner_live : hits->delta->live;
}

/* Words of a bitmap by place, in whole windows; thr_hits_n_words adds those of added items. */
static inline size_t thr_hits_file_words(const thr_hits *hits) {
    return thr_lists_n_words(&hits->view.contents.lists);
}
static inline size_t thr_hits_n_words(const thr_hits *hits) {
    return thr_hits_file_words(hits) + (hits->delta == NULL ? 0 : thr_lists_n_words(&hits->delta->built.lists));
}

/* Whether a row is one of the delta's. */
static inline bool thr_hits_is_added(const thr_hits *hits, uint64_t row) {
    return hits->delta != NULL && row >= hits->view.contents.lists.n_items;
}

/* A number of the change that gave a row its values in the files (thr_hits_given_at). */
static inline uint32_t thr_hits_row_given(const thr_hits *hits, uint64_t row) {
    return thr_hits_is_added(hits, row) && hits->delta->from != NULL
               ? thr_hits_given_at(&hits->delta->from->view, row - hits->delta->first_row)
               : thr_hits_given_at(&hits->view, row);
}

/* Values are by place of the file, and by item of the delta; in an index by row, of all rows. */
static inline uint64_t thr_hits_n_values(const thr_hits *hits) {
    return hits->delta != NULL && hits->delta->from != NULL ? hits->info.n_rows : hits->view.contents.lists.n_items;
}

/* The row of place 0 of a second file (join.c). */
static inline uint64_t thr_hits_second_row(uint64_t n_rows_of_first) {
    return n_rows_of_first / THR_LISTS_WINDOW * THR_LISTS_WINDOW;
}

/*
 * Join `added` to `hits`, which was just opened and takes it, whatever this returns: `hits` has the rows up to its end,
 * `added` those after them. An index keeps the features of added rows in such a second file, so that an addition does
 * not rewrite the first; it becomes the delta of the first, as updates have one. Both use places as rows.
 * Multipliers and offsets of both files are set. THR_ECORRUPT if they do not fit together; THR_ENOMEM.
 */
thr_status thr_hits_join(thr_hits *hits, thr_hits *added, thr_error *err);

/*
 * Give lists that were just opened an owner, which outlives them; live are its live rows, NULL: all. Lists that are
 * joined with others are joined first. THR_ENOMEM.
 */
thr_status thr_hits_set_owner(thr_hits *hits, const thr_hit_owner *owner, const uint64_t *live, thr_error *err);

/* How many of the features of query number q no live item has. */
uint32_t thr_hits_count_unknown(const thr_hits *hits, const thr_hits_queries *queries, uint64_t q);

/* Whether any live item has the feature. */
bool thr_hits_has_feature(const thr_hits *hits, uint32_t feature);

/* Find the number of a feature's word, even if no live item has it. */
bool thr_hits_number(const thr_hits *hits, const char *word, uint32_t *feature);

/* thr_hits_word and thr_hits_row without an fstat; the caller has checked the file. */
const char *thr_hits_text(const thr_hits *hits, uint32_t feature);
bool thr_hits_find_row(const thr_hits *hits, uint64_t id, uint64_t *row);

/* Find the row and id of the live item with this name. Needs names and an index. */
bool thr_hits_find_name(const thr_hits *hits, const char *name, uint64_t *row, uint64_t *id);

/* THR_EMISMATCH if queries are of another model than the lists. model 0: unknown, always accepted. */
thr_status thr_hits_check_model(const thr_hits *hits, uint64_t model, thr_error *err);

/* THR_ECHANGED if a file was changed on disk. */
thr_status thr_hits_check_unchanged(const thr_hits *hits, thr_error *err);

/* The status of a call that read the files: THR_ECHANGED instead if one was cut meanwhile, so that zeros were read. */
thr_status thr_hits_check_after(const thr_hits *hits, thr_status status, thr_error *err);

void thr_hits_workspace_free(void *workspace);

/* Take the values that are set; return them with thr_hits_put_values. */
thr_hit_set thr_hits_take_values(thr_hits *hits);
bool thr_hits_values_are_set(thr_hits *hits);
void thr_hits_put_values(thr_hits *hits, const thr_hit_set *set);

/*
 * Allocate values for n items, for hits that will have one user; an array is NULL where its flag is false. THR_ENOMEM.
 */
thr_status thr_hits_values_make(thr_context *context, size_t n, bool multipliers, bool offsets, thr_hit_values **values,
                                thr_error *err);
void thr_hits_values_free(thr_context *context, thr_hit_values *values);

/* Get the file's index; the first call makes it. THR_ENOMEM. */
thr_status thr_hits_get_index(thr_hits *hits, const thr_hit_index **index, thr_error *err);

/* Prefix an error with the query's number, and return status. */
thr_status thr_hits_name_query(thr_status status, uint64_t q, thr_error *err);

/*
 * Search for all queries on a GPU. *done is false if the CPU must search instead, as for hits with changes. Errors as
 * of thr_hits_store_search, with the query's number.
 */
thr_status thr_hits_search_device(thr_hits *hits, const thr_lists_corpus *corpus, const thr_hits_queries *queries,
                                  size_t k, const thr_hit_caller *caller, bool *done, thr_error *err);

/*
 * Borrow the copy of the lists on the first GPU, for a search that adds scores; NULL: use the CPU. Return it with
 * thr_hits_return_store.
 */
thr_status thr_hits_borrow_store(thr_hits *hits, thr_hit_store **store, thr_error *err);
void thr_hits_return_store(thr_hits *hits);

/* Estimated time of the CPU for the queries, in seconds. */
double thr_hits_cpu_seconds(const thr_hits *hits, const thr_hits_queries *queries);
