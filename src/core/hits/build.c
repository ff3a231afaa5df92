/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build.c - builds a file of posting lists from the features of items: orders the items, builds lists and ids, and
 * writes the file.
 */
#include <inttypes.h>
#include <math.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/files/out.h"
#include "base/progress.h"
#include "base/radix.h"
#include "hits/build.h"
#include "lists/renumber.h"

thr_status thr_hits_take_build(thr_context *context, const char *path, const thr_hits_build_options *options,
                               thr_hits_build_options *complete, thr_error *err) {
    *complete = options != NULL ? *options : (thr_hits_build_options){0};
    THR_TRY(thr_check_path(path, "the posting lists to build", err));
    if (complete->order != THR_HITS_ORDER_FEATURES && complete->order != THR_HITS_ORDER_ROWS)
        return thr_fail(err, THR_EINVAL, "the order %d of items is unknown", (int)complete->order);
    THR_TRY(thr_out_check_place(context, path, err));
    if (!complete->replace && access(path, F_OK) == 0)
        return thr_fail(err, THR_EEXIST, "%s: exists already: replace it, or choose another name", path);
    return thr_out_check_kind(path, thr_hits_kind.magic, sizeof thr_hits_kind.magic, "a file of posting lists", err);
}

/* The rows by ascending id. THR_EDUPLICATE if an id is repeated. */
static thr_status order_ids(thr_context *context, const uint64_t *ids, uint32_t n, uint32_t **order, thr_error *err) {
    THR_TRY(thr_alloc(context, n, sizeof **order, order, "the order of ids", err));
    THR_TRY(thr_radix_order(context, ids, n, *order, err));
    for (uint32_t i = 1; i < n; i++)
        if (ids[(*order)[i]] == ids[(*order)[i - 1]])
            return thr_fail(err, THR_EDUPLICATE, "id %" PRIu64 " is repeated: rows %" PRIu32 " and %" PRIu32,
                            ids[(*order)[i]], (*order)[i - 1], (*order)[i]);
    if (ids[(*order)[n - 1]] == THR_NO_ID)
        return thr_fail(err, THR_ERANGE, "row %" PRIu32 ": the id %" PRIu64 " means 'none': choose another",
                        (*order)[n - 1], THR_NO_ID);
    return THR_OK;
}

static thr_status check_values(const float *values, uint64_t n, const char *what, const char *of, thr_error *err) {
    for (uint64_t i = 0; values != NULL && i < n; i++)
        if (!isfinite(values[i]))
            return thr_fail(err, THR_ERANGE, "the %s of %s %" PRIu64 " is %g", what, of, i, (double)values[i]);
    return THR_OK;
}

thr_status thr_hits_check_values(const float *multipliers, const float *offsets, uint64_t n, const char *of,
                                 thr_error *err) {
    THR_TRY(check_values(multipliers, n, "multiplier", of, err));
    return check_values(offsets, n, "offset", of, err);
}

thr_status thr_hits_build_all(thr_context *context, const char *path, const thr_item_features *items,
                              const thr_hits_build_options *options, const thr_hits_extras *extras, thr_error *err) {
    thr_status status = THR_OK;
    thr_built_lists built = {.memory = NULL};
    uint32_t *rows = NULL, *id_order = NULL;
    thr_hits_contents contents = {.order = (uint32_t)options->order,
                                  .ids = options->ids,
                                  .model = options->model,
                                  .multipliers = options->multipliers,
                                  .offsets = options->offsets};
    if (items->n_items == 0 || items->n_items > THR_HITS_MAX_ITEMS)
        return thr_fail(err, THR_EDIM, "%" PRIu64 " items: posting lists hold 1 to %" PRIu64, items->n_items,
                        THR_HITS_MAX_ITEMS);
    if ((options->multipliers != NULL || options->offsets != NULL) && options->n_values != items->n_items)
        return thr_fail(err, THR_EDIM, "multipliers or offsets of %" PRIu64 " items, but there are %" PRIu64,
                        options->n_values, items->n_items);
    THR_TRY(thr_hits_check_values(options->multipliers, options->offsets, items->n_items, "row", err));
    thr_progress progress = thr_progress_start(context, "build", items->n_items);
    if (options->ids != NULL)
        THR_TRY_OUT(order_ids(context, options->ids, (uint32_t)items->n_items, &id_order, err));
    if (options->order == THR_HITS_ORDER_FEATURES) {
        THR_TRY_OUT(thr_alloc(context, (size_t)items->n_items, sizeof *rows, &rows, "the order of items", err));
        THR_TRY_OUT(thr_lists_renumber(context, items, rows, err));
        THR_TRY_OUT(thr_progress_step(&progress, items->n_items / 2, err));
    }
    THR_TRY_OUT(thr_lists_build(context, items, rows, &built, err));
    THR_TRY_OUT(thr_progress_end(&progress, items->n_items, err)); /* a complete file is not cancelled any more */
    contents.lists = built.lists;
    contents.rows = rows;
    contents.id_order = id_order;
    contents.given = extras->given;
    if (extras->names != NULL)
        contents.names = *extras->names;
    if (extras->words != NULL)
        contents.words = *extras->words;
    THR_TRY_OUT(thr_hits_write(context, path, &contents, err));
    if (options->n_repeated != NULL)
        *options->n_repeated = built.n_repeated;
out:
    thr_lists_built_free(context, &built);
    THR_RELEASE(context, rows, id_order);
    return status;
}

thr_status thr_hits_build(thr_context *context, const char *path, const thr_item_features *items,
                          const thr_hits_build_options *options, thr_error *err) {
    thr_hits_build_options complete;
    THR_TRY(thr_check_path(path, "the posting lists to build", err));
    if (context == NULL || items == NULL || items->offsets == NULL)
        return thr_fail(err, THR_EINVAL, "a build needs a context and the features of items");
    THR_TRY(thr_hits_take_build(context, path, options, &complete, err));
    if (complete.ids != NULL && complete.n_ids != items->n_items)
        return thr_fail(err, THR_EDIM, "%" PRIu64 " ids for %" PRIu64 " items", complete.n_ids, items->n_items);
    return thr_hits_build_all(context, path, items, &complete, &(thr_hits_extras){.names = NULL}, err);
}

/* ------------------------------------------------------------------------------------------------ pairs */

/* Gather the features of pairs by row; within a row they keep their order. */
static void gather_rows(const thr_hits_pairs *pairs, uint64_t *offsets, uint32_t *gathered) {
    uint64_t *next = offsets + 1, sum = 0; /* next[i]: first where row i's next feature goes, in the end its end */
    for (uint64_t p = 0; p < pairs->n_pairs; p++)
        next[pairs->rows[p]]++;
    for (uint64_t i = 0; i < pairs->n_items; i++) {
        const uint64_t size = next[i];
        next[i] = sum;
        sum += size;
    }
    for (uint64_t p = 0; p < pairs->n_pairs; p++)
        gathered[next[pairs->rows[p]]++] = pairs->features[p];
}

thr_status thr_hits_build_pairs(thr_context *context, const char *path, const thr_hits_pairs *pairs,
                                const thr_hits_build_options *options, thr_error *err) {
    thr_status status = THR_OK;
    uint64_t *offsets = NULL;
    uint32_t *gathered = NULL;
    if (context == NULL || pairs == NULL || (pairs->n_pairs > 0 && (pairs->rows == NULL || pairs->features == NULL)))
        return thr_fail(err, THR_EINVAL, "a build needs a context, rows and features");
    for (uint64_t p = 0; p < pairs->n_pairs; p++)
        if (pairs->rows[p] >= pairs->n_items)
            return thr_fail(err, THR_EINVAL, "pair %" PRIu64 " is of row %" PRIu32 ", but there are %" PRIu64 " items",
                            p, pairs->rows[p], pairs->n_items);
    THR_TRY_OUT(thr_alloc_zero(context, (size_t)pairs->n_items + 1, sizeof *offsets, &offsets, "pairs", err));
    THR_TRY_OUT(thr_alloc(context, (size_t)pairs->n_pairs, sizeof *gathered, &gathered, "pairs", err));
    gather_rows(pairs, offsets, gathered);
    const thr_item_features items = {offsets, gathered, pairs->n_items};
    THR_TRY_OUT(thr_hits_build(context, path, &items, options, err));
out:
    THR_RELEASE(context, offsets, gathered);
    return status;
}
