/* SPDX-License-Identifier: Apache-2.0 */
/* queries.c - chooses the queries of a calibration: some of the items after a build, or queries that the user gives. */
#include "index/calibration/calibrate.h"

#include "base/error.h"
#include "base/rng.h"
#include "index/build/directory.h"

#include <inttypes.h>

/* Most multiplications that a build spends on true neighbours: some seconds. */
static const double MOST_PRODUCTS = 4e10;
enum { FEWEST_QUERIES = 100, EACH_QUERY_ITEMS = 8 };

static uint64_t affordable(const thr_index *index, uint64_t wanted) {
    const double each = (double)index->corpus.n_rows * index->vectors.quantiser->n_dims;
    uint64_t n = (uint64_t)(MOST_PRODUCTS / each);
    n = n < FEWEST_QUERIES ? FEWEST_QUERIES : n;
    n = n < wanted ? n : wanted;
    return n < index->corpus.n_rows / EACH_QUERY_ITEMS ? n : index->corpus.n_rows / EACH_QUERY_ITEMS;
}

/* A random row from the i-th of n equal ranges of all rows. */
static uint64_t pick(uint64_t n_items, uint64_t n, uint64_t i, uint64_t *rng) {
    const uint64_t first = (uint64_t)((unsigned __int128)n_items * i / n);
    const uint64_t end = (uint64_t)((unsigned __int128)n_items * (i + 1) / n);
    return first + thr_rng_below(rng, end - first);
}

thr_status thr_index_tune_by_items(thr_index *index, const thr_matrix *sample, const uint64_t *sample_rows,
                                   uint64_t wanted, thr_tuning *tuning, thr_error *err) {
    const uint32_t n_dims = index->vectors.quantiser->n_dims;
    const bool kept = index->manifest.keep != THR_DTYPE_NONE;
    uint64_t n = affordable(index, wanted), rng = n_dims, *rows = NULL;
    float *vectors = NULL;
    thr_status status = THR_OK;
    if (!kept && n > sample->n_rows)
        n = sample->n_rows;
    if (index->corpus.n_rows < THR_TUNE_LEAST_ITEMS || n < THR_TUNE_LEAST_QUERIES)
        return THR_OK;
    THR_TRY_OUT(thr_alloc(index->context, (size_t)n, sizeof *rows, &rows, "calibration", err));
    THR_TRY_OUT(thr_alloc(index->context, (size_t)n, n_dims * sizeof *vectors, &vectors, "calibration", err));
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t at = pick(kept ? index->corpus.n_rows : sample->n_rows, n, i, &rng);
        rows[i] = kept ? at : sample_rows[at];
        if (kept)
            thr_index_row_vector(index, at, vectors + i * n_dims);
        else
            THR_TRY_OUT(thr_matrix_to_f32(sample, at, 1, vectors + i * n_dims));
    }
    const thr_tune_queries queries = {thr_matrix_f32(vectors, n, n_dims), rows};
    THR_TRY_OUT(thr_index_tune_by_queries(index, &queries, tuning, err));
out:
    THR_RELEASE(index->context, rows, vectors);
    return status;
}

/* Write the manifest again, unless another build has replaced it. */
static thr_status publish(thr_index *index, const thr_tuning *tuning, thr_error *err) {
    thr_build_dir dir;
    thr_manifest now = {0}, changed = index->manifest;
    uint64_t checksum = 0;
    thr_status status = THR_OK;
    THR_TRY(thr_index_build_dir_open(index->context, index->dir, true, &dir, err));
    THR_TRY_OUT(thr_index_manifest_read(index->context, index->manifest_path, &now, &checksum, NULL, err));
    if (checksum != index->manifest_checksum) {
        status =
            thr_fail(err, THR_ECHANGED, "%s: the index was replaced since it was opened: open it again and tune that",
                     index->manifest_path);
        goto out;
    }
    changed.tuning = *tuning;
    THR_TRY_OUT(thr_index_build_dir_publish(&dir, &changed, err));
    index->manifest.tuning = *tuning;
    index->info.tuned_queries = tuning->n_queries;
    thr_index_manifest_free(index->context, &now);
    THR_TRY_OUT(
        thr_index_manifest_read(index->context, index->manifest_path, &now, &index->manifest_checksum, NULL, err));
out:
    thr_index_manifest_free(index->context, &now);
    thr_index_build_dir_close(&dir);
    return status;
}

thr_status thr_index_tune(thr_index *index, const thr_matrix *queries, thr_error *err) {
    if (index == NULL)
        return thr_fail(err, THR_EINVAL, "index is NULL: nothing to calibrate");
    if (queries != NULL)
        THR_TRY(thr_index_check_queries(index, queries, 1, err));
    if (queries != NULL && queries->n_rows < THR_TUNE_LEAST_QUERIES)
        return thr_fail(err, THR_EINVAL,
                        "%" PRIu64 " queries are too few to calibrate with: give at least %d, better a thousand",
                        queries->n_rows, (int)THR_TUNE_LEAST_QUERIES);
    if (index->manifest.model.codes && index->vectors.keep == THR_DTYPE_NONE)
        return thr_fail(err, THR_EUNSUPPORTED,
                        "%s: holds a model's codes, all of which a search reads: there is nothing to calibrate",
                        index->manifest_path);
    if (index->corpus.n_rows < THR_TUNE_LEAST_ITEMS)
        return thr_fail(err, THR_EUNSUPPORTED,
                        "%s: an index of %" PRIu64 " items is searched exactly, there is nothing to calibrate",
                        index->manifest_path, index->corpus.n_rows);
    if (index->live.words != NULL)
        return thr_fail(err, THR_EUNSUPPORTED,
                        "%s: changes left rows without items, which a calibration cannot skip: %s",
                        index->manifest_path,
                        index->manifest.model.codes ? "build it again" : "compact it first, or learn its codes anew");
    if (queries == NULL && index->manifest.keep == THR_DTYPE_NONE)
        return thr_fail(err, THR_EUNSUPPORTED,
                        "%s: holds codes only, no vectors to calibrate with: give queries, or build it again",
                        index->manifest_path);
    THR_TRY(thr_index_check_unchanged(index, err));
    thr_tuning tuning = {0};
    if (queries != NULL) {
        const thr_tune_queries all = {*queries, NULL};
        THR_TRY(thr_index_tune_by_queries(index, &all, &tuning, err));
    } else {
        const thr_index_build_options defaults = thr_index_complete_build(NULL);
        THR_TRY(thr_index_tune_by_items(index, NULL, NULL, defaults.calibration_queries, &tuning, err));
    }
    return publish(index, &tuning, err);
}
