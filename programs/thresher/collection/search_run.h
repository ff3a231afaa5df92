/* SPDX-License-Identifier: Apache-2.0 */
/* search_run.h - `index search` in a collection: every batch of queries goes to all shards, one after the other. */
#pragma once

#include "search/options.h"
#include "collection/manifest.h"

typedef struct prog_shards_search {
    prog_search search;
    const prog_search_values *values;
    prog_shards shards;
    thr_search_options options;
    prog_filter filter; /* over the rows of the collection, */
    uint64_t *bits;     /* and its bits of one shard; NULL: no filter */
    uint64_t *like;     /* ids of --like */
    float *vectors;     /* of --like and --text */
    float least_score;  /* by radius */
    uint64_t *ids[2];   /* of one shard, and merged; batch x k */
    float *scores[2];   /* the same */
    uint8_t *certified; /* of one shard */
    float *least;       /* the k-th best scores of the shards before it; batch */
    uint64_t *offsets;  /* by radius: of the merged answer, whose ids and scores are ids[1] and scores[1] */
    thr_radius_result merged;
    thr_index *named; /* the shard of the last name that was looked up, */
    uint64_t named_i; /* and its number */
    prog_items items; /* of all shards, while they are open, */
    prog_items_part *parts;
    prog_hits_part *lists; /* and their posting lists; NULL: shards are opened one at a time */
} prog_shards_search;

/* All return PROG_DONE, or an exit code after printing an error. Search all queries: of a file, or of the words. */
int prog_shards_search_prepare(prog_shards_search *s);
int prog_shards_search_file(prog_shards_search *s);
int prog_shards_search_words(prog_shards_search *s);

/* Free everything; s may be partly prepared. */
void prog_shards_search_free(prog_shards_search *s);
