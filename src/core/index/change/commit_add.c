/* SPDX-License-Identifier: Apache-2.0 */
/* commit_add.c - new rows become segments; the items that they replace are removed in the same commit. */
#include "base/error.h"
#include "code/encode.h"
#include "index/change/commit_add.h"
#include "index/change/commit_features.h"
#include "index/change/merge.h"
#include "index/names.h"
#include "index/features.h"
#include "kernel/kernel.h"

#include <inttypes.h>

typedef struct adder {
    thr_commit commit;
    thr_ids *ids;
    thr_row_source *source;
    const thr_hits_changes *features;
    thr_hits_added added_features;
    uint64_t n_replaced;
    bool replace;
} adder;

static thr_status check_addition(const adder *a, thr_error *err) {
    const thr_index *index = a->commit.index;
    if (index->manifest.has_names)
        thr_index_ids_take_names(a->ids);
    const bool names = a->ids->offsets != NULL;
    THR_TRY(thr_index_commit_check_features(&a->commit, a->features, err));
    if (a->source->shape.n_dims != index->info.n_dims)
        return thr_fail(err, THR_EDIM, "%s: rows of %" PRIu32 " dimensions for an index of %" PRIu32 ": %s",
                        a->source->name, a->source->shape.n_dims, index->info.n_dims, index->dir);
    if (index->manifest.has_names && !names && a->source->shape.n_rows > 0)
        return thr_fail(err, THR_EINVAL, "%s: its items have names: give a name for each new one", index->dir);
    if (!index->manifest.has_names && names)
        return thr_fail(err, THR_EINVAL, "%s: its items have no names: give ids, or nothing", index->dir);
    return a->source->shape.n_rows == THR_ROWS_UNKNOWN
               ? THR_OK
               : thr_index_ids_check_count(a->ids, a->source->shape.n_rows, a->source->name, err);
}

/* ------------------------------------------------------------------------------------------------ replaced items */

/* Row `row` of the index has the id or name of new item `item`: remove it, or fail unless replacing. */
static thr_status remove_replaced(void *arg, uint64_t item, uint64_t row, thr_error *err) {
    adder *a = arg;
    if (!a->replace)
        return thr_index_ids_fail_present(a->ids, item, a->commit.index->dir, err);
    a->commit.live[row / 64] &= ~(UINT64_C(1) << row % 64);
    a->n_replaced++;
    return THR_OK;
}

static thr_status find_replaced(adder *a, thr_error *err) {
    uint64_t row;
    const thr_name_list names = {.offsets = a->ids->offsets, .bytes = a->ids->names, .n = (size_t)a->ids->n};
    if (names.offsets != NULL)
        return thr_index_find_names(a->commit.index, &names, remove_replaced, a, err);
    for (uint64_t i = 0; i < a->ids->n; i++)
        if (thr_index_row(a->commit.index, a->ids->ids[i], &row))
            THR_TRY(remove_replaced(a, i, row, err));
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ commit */

/* Items too few to learn a quantiser from are carried over to a new journal, with those of the old one. */
static thr_status add_few(adder *a, thr_appended *added, thr_error *err) {
    thr_commit *c = &a->commit;
    const uint32_t n_dims = c->index->manifest.quantiser.n_dims;
    uint64_t ids[THR_TAIL_LEAST_ROWS], *next = &c->manifest.next_id;
    float *vectors = NULL;
    thr_matrix rows;
    thr_status status = THR_OK;
    THR_TRY(thr_index_row_source_next(a->source, THR_TAIL_LEAST_ROWS, &rows, err));
    THR_TRY(thr_alloc(c->context, (size_t)rows.n_rows, n_dims * sizeof *vectors, &vectors, "rows", err));
    THR_TRY_OUT(thr_matrix_to_f32(&rows, 0, rows.n_rows, vectors));
    for (uint64_t r = 0; r < rows.n_rows; r++)
        THR_TRY_OUT(thr_code_check_short(&rows, r, "row", r, err));
    THR_TRY_OUT(
        thr_index_tail_check_vectors(c->context, &c->manifest, vectors, (uint32_t)rows.n_rows, a->source->name, err));
    *added = (thr_appended){rows.n_rows, *next, 0};
    for (uint64_t r = 0; r < rows.n_rows && c->manifest.metric != THR_METRIC_L2; r++)
        added->n_zero += c->context->kernels->sum_squares(vectors + r * n_dims, n_dims) == 0;
    if (a->ids->ids == NULL && rows.n_rows > THR_NO_ID - *next) {
        status = thr_fail(err, THR_ERANGE, "%s: no ids are left: give ids", c->index->dir);
        goto out;
    }
    for (uint64_t i = 0; i < rows.n_rows; i++)
        ids[i] = a->ids->ids != NULL ? a->ids->ids[i] : (*next)++;
    const bool names = a->ids->offsets != NULL;
    const thr_journal_change change = {.n_added = (uint32_t)rows.n_rows,
                                       .ids = ids,
                                       .vectors = vectors,
                                       .names = names ? a->ids->names : NULL,
                                       .names_size = names ? a->ids->offsets[rows.n_rows] : 0};
    status = thr_index_commit_carry(c, &change, err);
out:
    thr_release(c->context, vectors);
    return status;
}

/* The number of rows to add; of a short stream, too, if the quantiser is not learned yet. Else THR_ROWS_UNKNOWN. */
static thr_status count_rows(const adder *a, uint64_t *n, thr_error *err) {
    const thr_index_build_options defaults = thr_index_complete_build(NULL);
    thr_matrix sample;
    *n = a->source->shape.n_rows;
    if (*n != THR_ROWS_UNKNOWN || a->commit.manifest.n_segments > 0)
        return THR_OK;
    const thr_status status = thr_index_row_source_sample(a->source, defaults.sample_rows, &sample, err);
    if (!a->source->ended)
        return status;
    if (status != THR_OK && a->source->sample_rows > 0)
        return status;
    *n = a->source->sample_rows;
    return thr_index_ids_check_count(a->ids, *n, a->source->name, err);
}

/* There is nothing to commit. */
static thr_status report_nothing(adder *a, thr_index_change *change) {
    a->commit.manifest.n_commits--;
    thr_index_commit_report(&a->commit, change);
    return THR_OK;
}

static thr_status add(adder *a, thr_index_change *change, thr_error *err) {
    thr_appended added;
    uint64_t n;
    if (a->source->shape.n_rows == 0) {
        THR_TRY(thr_index_ids_check_count(a->ids, 0, a->source->name, err));
        return report_nothing(a, change);
    }
    THR_TRY(check_addition(a, err));
    THR_TRY(thr_index_commit_read_features(&a->commit, a->features, a->source, a->ids, &a->added_features, err));
    THR_TRY(find_replaced(a, err));
    THR_TRY(count_rows(a, &n, err));
    if (n == 0)
        return report_nothing(a, change);
    const uint64_t tail = thr_index_commit_tail_items(&a->commit);
    if (a->commit.manifest.n_segments == 0 && n != THR_ROWS_UNKNOWN && tail + n < THR_TAIL_LEAST_ROWS) {
        THR_TRY(add_few(a, &added, err));
    } else {
        if (a->commit.manifest.n_segments == 0 && n >= tail)
            THR_TRY(thr_index_commit_learn(&a->commit, a->source, err));
        THR_TRY(thr_index_commit_fold(&a->commit, true, err));
        THR_TRY(thr_index_commit_append_rows(&a->commit, a->source, a->ids, &added, err));
    }
    if (added.n == 0)
        return report_nothing(a, change);
    if (a->commit.index->hits != NULL)
        THR_TRY(thr_index_hits_check_count(a->added_features.items.n_items, added.n, a->source->name, err));
    THR_TRY(thr_index_commit_write_features(&a->commit, a->commit.live, a->commit.index->manifest.n_rows, NULL,
                                            &a->added_features, err));
    thr_index_ids_raise_next(a->ids, &a->commit.manifest.next_id);
    THR_TRY(thr_index_commit_publish(&a->commit, err));
    *change = (thr_index_change){.n_added = added.n,
                                 .n_removed = a->n_replaced,
                                 .first_id = a->ids->ids == NULL ? added.first_id : THR_NO_ID,
                                 .n_zero = added.n_zero};
    thr_index_commit_report(&a->commit, change);
    return THR_OK;
}

thr_status thr_index_commit_add(thr_context *context, const char *dir, const thr_build_dir *held,
                                const thr_addition *addition, thr_index_change *change, thr_error *err) {
    static const thr_hits_changes none = {0};
    adder a = {.ids = addition->ids,
               .source = addition->source,
               .features = addition->features == NULL ? &none : addition->features,
               .replace = addition->replace};
    *change = (thr_index_change){.first_id = THR_NO_ID};
    thr_status status = thr_index_commit_begin(context, dir, held, &a.commit, err);
    if (status == THR_OK)
        status = add(&a, change, err);
    const bool merge = status == THR_OK && held == NULL && thr_index_merge_is_due(&a.commit);
    thr_hits_added_free(&a.added_features);
    thr_index_commit_end(&a.commit);
    if (merge)
        change->unmerged = thr_index_merge_all_due(context, dir, NULL);
    return status;
}
