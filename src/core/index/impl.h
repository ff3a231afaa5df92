/* SPDX-License-Identifier: Apache-2.0 */
/* impl.h - the structures of an open index. */
#pragma once

#include "base/files/file.h"
#include "base/idle.h"
#include "cells/cell_search.h"
#include "device/policy.h"
#include "index/live.h"
#include "index/model/model.h"
#include "index/open_origins.h"
#include "index/search/feature_scores.h"
#include "index/journal/tail.h"
#include "index/segment_file.h"
#include "scan/scan.h"
#include "store/store.h"

#include <stdatomic.h>

/* A mapped segment. */
typedef struct thr_mapped {
    char *path;
    thr_map map;
    thr_segment_view view;
} thr_mapped;

struct thr_index {
    thr_context *context;
    char *dir, *manifest_path;
    thr_manifest manifest;
    thr_map manifest_map;       /* of a root */
    uint64_t manifest_checksum; /* of the manifest's bytes */
    thr_index_info info;
    uint32_t n_segments; /* mapped segments */
    thr_mapped *mapped;
    thr_segment *segments;  /* the same, as views for the scan */
    thr_scan_corpus corpus; /* without a store */
    /*
     * For scores of kept vectors: corpus itself, unless the codes are of a model and the vectors its inputs. Then
     * corpus has the codes, scores their cosines and keeps nothing; this one has the vectors, and plain is the
     * quantiser of their dimensions.
     */
    thr_scan_corpus vectors;
    thr_quantiser plain;
    thr_cell_table *cells;     /* of each segment */
    thr_index_origins origins; /* of a root whose manifest has_origins */
    thr_live live;
    thr_hits *hits;        /* NULL unless the manifest names posting lists */
    thr_index_model model; /* zero unless the manifest names a model */

    thr_device_policy codes; /* its copy is a thr_store */
    thr_device_policy fused; /* codes and posting lists together (device/policy.c) */

    /* Of a root: the noise of its codes, measured before the first search. All its snapshots borrow it. */
    thr_code_noise noise;
    atomic_bool noise_measured;
    pthread_mutex_t noise_mutex; /* held while the noise, or the rounding of a snapshot, is measured */

    /* How float32 scores of this snapshot round (search/kept_certificates.c), measured for the first certificates. */
    atomic_bool rounding_measured;
    bool scores_are_near; /* the items have so much in common that rounding may exchange neighbours */
    double longest;       /* by inner product, if they are near: the largest length of a vector */

    thr_idle searches; /* of a root: thr_search_memory (search/memory.h) */

    /*
     * A refresh that finds the same segments makes a snapshot, which borrows all from its root but own_live. The last
     * user of the root frees it. The root of any other index is itself.
     */
    struct thr_index *root;
    atomic_uint n_users;     /* of a root: itself, until it is freed, and its snapshots */
    uint64_t n_segment_rows; /* of a root: without the tail's */
    uint64_t n_base_commits; /* of a root: without the journal's */
    uint64_t base_bytes;     /* of a root: of files but the journal */
    thr_tail *tail;          /* NULL unless the manifest names a journal */
    uint32_t n_tail;         /* rows of the tail in this snapshot */
    uint64_t *own_live;      /* live.words, if the journal has changed them */
    bool segments_whole;     /* all rows of the segments are live; with own_live only */
    atomic_uint n_takers;    /* of a follower's snapshot: its users (change/follow.c) */
    thr_segment tail_segment;
};

/* The index of the segment that holds a row below n_rows. */
uint32_t thr_index_segment_of(const thr_index *index, uint64_t row);

/* THR_ECHANGED if a segment file was changed on disk. */
thr_status thr_index_check_unchanged(const thr_index *index, thr_error *err);

/* The status of a call that read the files: THR_ECHANGED instead if one was cut meanwhile, so that zeros were read. */
thr_status thr_index_check_after(const thr_index *index, thr_status status, thr_error *err);

/*
 * In change/follow.c: whether the MANIFEST in the directory of a root is the one that it was opened from, or a copy of
 * that. Costs one stat if it is. THR_ENOTFOUND; THR_EIO; and as thr_index_manifest_parse.
 */
thr_status thr_index_is_newest_manifest(const thr_index *root, bool *same, thr_error *err);

/*
 * Turn options' recall into survivors and candidates for k, or into the exact scan. Counts that the options give are
 * kept. Returns why the scan is exact, for people; NULL if it is not.
 */
const char *thr_index_resolve_recall(const thr_index *index, uint64_t k, thr_search_options *options);

/*
 * given (NULL: all defaults) with the defaults of thr_index_build_options in place of zeros. In the result keep is NONE
 * for codes only, and calibration_queries is 0 for no calibration.
 */
thr_index_build_options thr_index_complete_build(const thr_index_build_options *given);

/* given (NULL: all defaults) with the default recall in place of 0. */
thr_search_options thr_index_complete_search(const thr_search_options *given);

/* Check the options that all searches share. THR_EINVAL and others, as thr_index_search documents. */
thr_status thr_index_check_options(const thr_index *index, const thr_search_options *options, uint64_t k,
                                   thr_error *err);

/* The same for a search within a radius, in search/radius.c. */
thr_status thr_index_check_radius_options(const thr_index *index, const thr_search_options *options, thr_error *err);

struct thr_search_plan;

/*
 * The scan of plan->job. The screen runs on the GPUs of the index's context if its source is codes without origins and
 * the index's policies allow it; with hits, on the first GPU only. answers->k is plan->n_found.
 */
thr_status thr_index_scan(thr_index *index, const struct thr_search_plan *plan, const thr_matrix *queries,
                          const thr_answers *answers, thr_error *err);

/* thr_cells_search, with the screens on GPUs likewise, where these hold all codes. */
thr_status thr_index_scan_cells(thr_index *index, const struct thr_search_plan *plan, const thr_matrix *queries,
                                const thr_answers *answers, thr_error *err);

/* The id of a row that has an item. */
uint64_t thr_index_id_of(const thr_index *index, uint64_t row);

/* Replace n rows by the ids of their items; THR_NO_ID is kept. */
void thr_index_rows_to_ids(const thr_index *index, uint64_t *ids, size_t n);

/* Check queries as thr_index_search documents. */
thr_status thr_index_check_queries(const thr_index *index, const thr_matrix *queries, uint64_t k, thr_error *err);

/*
 * In search/radius.c: the items of two answers to the same queries, those of the first before those of the second where
 * scores are equal. The caller frees *merged by thr_radius_result_free. THR_ENOMEM.
 */
thr_status thr_index_radius_merge(const thr_radius_result *one, const thr_radius_result *two,
                                  thr_radius_result **merged, thr_error *err);

/* Find the row of a segment with the item with this id; live are the rows to look at, NULL for all. */
bool thr_index_segment_row(const thr_index *index, const uint64_t *live, uint64_t id, uint64_t *row);

/* Whether a row below n_rows is one of the tail's. */
static inline bool thr_index_in_tail(const thr_index *index, uint64_t row) {
    return index->n_tail > 0 && row >= index->tail->first_row;
}

/* Read the kept vector of a row. keep must not be NONE, except with a model's codes, which are the vectors. */
void thr_index_row_vector(const thr_index *index, uint64_t row, float *out);

/*
 * Open the files that a build has written, before it publishes the manifest. Copies *manifest, except the parts that
 * the files hold.
 */
thr_status thr_index_open_unpublished(thr_context *context, const char *dir, const thr_manifest *manifest,
                                      thr_index **index, thr_error *err);
