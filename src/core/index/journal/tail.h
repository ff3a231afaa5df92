/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tail.h - the items of an index's journal in memory, scored exactly until they become a segment.
 *
 * Rows of the tail follow those of the segments, from the next multiple of 64 on, in the order of the journal. They are
 * only appended: a snapshot of n rows stays valid while others are added. Removing an item clears its bit in the live
 * rows; every snapshot has its own copy.
 */
#pragma once

#include "index/build/keep_vectors.h"
#include "index/journal/journal.h"
#include "index/journal/row_table.h"
#include "index/manifest.h"

#include <pthread.h>

/*
 * The most rows of a journal: 4,096, which a search scores in less time than it screens 10^6 items; fewer if their
 * vectors exceed 16 MiB, never below 256, from which a quantiser can be learned.
 */
enum { THR_TAIL_MOST_ROWS = 4096, THR_TAIL_LEAST_ROWS = 256, THR_TAIL_BYTES = 16 << 20 };

static inline uint32_t thr_tail_capacity(uint32_t n_dims) {
    const uint32_t rows = (uint32_t)(THR_TAIL_BYTES / (n_dims * sizeof(float)));
    return rows > THR_TAIL_MOST_ROWS ? THR_TAIL_MOST_ROWS : rows < THR_TAIL_LEAST_ROWS ? THR_TAIL_LEAST_ROWS : rows;
}

struct thr_tail_names; /* the names of one change */

/* The newest state that was read. */
typedef struct thr_tail {
    thr_context *context;
    pthread_mutex_t mutex; /* for all below, but for the first n rows, which never change */
    thr_journal journal;
    bool needs_reopen; /* a change was read in part: open the index again */
    uint64_t first_row;
    uint32_t capacity, n_rows;
    uint64_t *ids;
    void *vectors; /* of thr_index_kept_type, as in a segment, like those below */
    float *scales, *inverse_norms, *halves;
    const char **names; /* NULL in an index without names */
    struct thr_tail_names *blocks;
    thr_row_table by_id, by_name; /* by_name: by thr_index_name_key, in an index with names */
    thr_keeper keeper;
    uint64_t *live;     /* bits of the index's rows, with room for all of the tail's */
    uint64_t n_items;   /* that are live */
    uint64_t n_zero;    /* as the manifest's */
    uint64_t next_id;   /* one more than the largest id */
    uint64_t n_changes; /* of the journal */
    bool own_ids;       /* a row's id is not its number */
} thr_tail;

struct thr_index;

/* Whether n added vectors, as they are read from a journal, may be stored: finite, and not too long. THR_ERANGE. */
thr_status thr_index_tail_check_vectors(thr_context *context, const thr_manifest *manifest, const float *vectors,
                                        uint32_t n, const char *name, thr_error *err);

/*
 * Make the tail of an open index whose segments, but no journal, are loaded, with room for thr_tail_capacity rows. live
 * is NULL if all rows of segments are live. The caller opens tail->journal. THR_ENOMEM.
 */
thr_status thr_index_tail_create(thr_context *context, const thr_manifest *manifest, const uint64_t *live,
                                 thr_tail **tail, thr_error *err);
void thr_index_tail_free(thr_tail *tail);

/*
 * Apply a change to the newest state. THR_ECORRUPT if an item that it removes is not there, or if it adds too many;
 * THR_ERANGE; THR_ENOMEM.
 */
thr_status thr_index_tail_apply(thr_tail *tail, const struct thr_index *index, const thr_journal_change *change,
                                thr_error *err);

/* In tail_find.c: the live row of the tail with this id or name, among its first n_rows; false if there is none. */
bool thr_index_tail_find(const thr_tail *tail, const uint64_t *live, uint32_t n_rows, uint64_t id, uint64_t *row);
bool thr_index_tail_find_name(const thr_tail *tail, const uint64_t *live, uint32_t n_rows, const char *name,
                              uint64_t key, uint64_t *row);
