/* SPDX-License-Identifier: Apache-2.0 */
/* impl.h - what an open index is made of. */
#ifndef THR_INDEX_IMPL_H
#define THR_INDEX_IMPL_H

#include "base/file.h"
#include "base/idle.h"
#include "device/policy.h"
#include "index/model.h"
#include "index/feature_scores.h"
#include "index/segment_file.h"
#include "scan/scan.h"
#include "store/store.h"

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
    uint64_t manifest_checksum; /* of all its bytes */
    thr_index_info info;
    uint32_t n_segments; /* mapped ones */
    thr_mapped *mapped;
    thr_segment *segments;  /* the same, as the scan reads them */
    thr_scan_target target; /* without a store */
    thr_hits *hits;         /* where the manifest names posting lists; else NULL */
    thr_index_model model;  /* where the manifest names one; else all zero */

    thr_device_policy codes; /* its copy is a thr_store */
    thr_device_policy fused; /* codes and posting lists together (policy.c) */

    thr_idle scans;      /* thr_scan */
    thr_idle hits_rooms; /* thr_hits_room */
};

/* The segment that holds a row below n_items. */
uint32_t thr_index_segment_of(const thr_index *index, uint64_t row);

/* THR_ECHANGED when a segment file is not what it was. */
thr_status thr_index_check_unchanged(const thr_index *index, thr_error *err);

/* From options' recall to survivors and candidates for k, or to the exact scan; counts that are given stay. */
void thr_index_resolve_recall(const thr_index *index, uint64_t k, thr_search_options *options);

/* What every search checks of its options. */
thr_status thr_index_check_options(const thr_index *index, const thr_search_options *options, uint64_t k,
                                   thr_error *err);

/* Borrow scratch memory for a search; thr_idle_put gives it back. */
thr_status thr_index_take_scan(thr_index *index, thr_scan **scan, thr_error *err);

/*
 * thr_scan_search, with hits or without (NULL), its screen on the GPUs of the index's context where the policies of the
 * index have it so; with hits, on the first of them.
 */
thr_status thr_index_scan(thr_index *index, thr_scan *scan, const thr_matrix *queries,
                          const thr_search_options *options, thr_scan_hits *hits, const thr_answers *answers,
                          thr_error *err);

/* n rows become the ids of their items; THR_NO_ID stays. */
void thr_index_rows_to_ids(const thr_index *index, uint64_t *ids, size_t n);

/* What thr_index_search checks of queries, too. */
thr_status thr_index_check_queries(const thr_index *index, const thr_matrix *queries, uint64_t k, thr_error *err);

/* The vector of a row as it is kept; keep must not be NONE, but for a model's codes, which are their own vectors. */
void thr_index_row_vector(const thr_index *index, uint64_t row, float *out);

/* Open what a build has written before its manifest stands: manifest is copied, but for what the files hold. */
thr_status thr_index_open_unpublished(thr_context *context, const char *dir, const thr_manifest *manifest,
                                      thr_index **index, thr_error *err);

#endif
