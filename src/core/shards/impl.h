/* SPDX-License-Identifier: Apache-2.0 */
/* impl.h - an open collection, and its list as text. */
#pragma once

#include <pthread.h>

#include "code/quantiser.h"
#include <thresher/shards.h>

#include "base/memory.h"

struct thr_shards {
    thr_context *context;
    char *dir, *path; /* of the list */
    thr_shards_info info;
    thr_shard *list; /* info.n_shards */
    size_t capacity;
    pthread_mutex_t mutex; /* of indexes */
    thr_index **indexes;   /* info.n_shards; NULL: not opened yet */
};

/* The end of messages about a collection that does not fit together. */
#define THR_SHARDS_REMEDY "restore it or build the collection again"

/* In list.c: fill info and list from the text of a list. As thr_shards_open. */
thr_status thr_shards_list_parse(thr_shards *shards, const char *text, size_t size, thr_error *err);

/* The text of the list. The caller releases *text. THR_ENOMEM. */
thr_status thr_shards_list_print(const thr_shards *shards, char **text, size_t *size, thr_error *err);

/* What is added to the ids that the index of a shard returns. */
static inline uint64_t thr_first_id(const thr_shards *shards, uint64_t i) {
    return shards->info.has_ids ? 0 : shards->list[i].first_row;
}
