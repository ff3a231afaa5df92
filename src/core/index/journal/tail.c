/* SPDX-License-Identifier: Apache-2.0 */
/* tail.c - keeps the items of a journal in memory, in the form of a segment's. */
#include "index/journal/tail.h"

#include "base/shortest.h"
#include "base/error.h"
#include "base/minmax.h"
#include "code/encode.h"
#include "index/impl.h"
#include "kernel/kernel.h"
#include "select/bitmap.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { CHUNK_ROWS = 64 };

struct thr_tail_names {
    struct thr_tail_names *next;
    char text[];
};

/* ------------------------------------------------------------------------------------------------ create */

static thr_status allocate(thr_tail *t, const thr_manifest *m, thr_error *err) {
    static const char what[] = "the items of the journal";
    const thr_keep_form form = {thr_index_kept_type(m), m->metric, m->quantiser.n_dims, m->kept_centre};
    const bool scaled = thr_keep_is_scaled(form.keep), cosine = m->metric == THR_METRIC_COSINE;
    const size_t n = t->capacity, size = form.n_dims * thr_dtype_size(form.keep);
    const size_t n_words = thr_bitmap_words(t->first_row + n);
    THR_TRY(thr_alloc(t->context, n, size, &t->vectors, what, err));
    THR_TRY(thr_alloc(t->context, n, sizeof *t->ids, &t->ids, what, err));
    THR_TRY(thr_alloc_zero(t->context, n_words, sizeof *t->live, &t->live, what, err));
    if (scaled)
        THR_TRY(thr_alloc(t->context, n, sizeof *t->scales, &t->scales, what, err));
    if (scaled && cosine)
        THR_TRY(thr_alloc(t->context, n, sizeof *t->halves, &t->halves, what, err));
    if (cosine)
        THR_TRY(thr_alloc(t->context, n, sizeof *t->inverse_norms, &t->inverse_norms, what, err));
    if (m->has_names)
        THR_TRY(thr_alloc(t->context, n, sizeof *t->names, (void *)&t->names, what, err));
    if (m->has_names)
        THR_TRY(thr_row_table_create(t->context, t->capacity, &t->by_name, err));
    THR_TRY(thr_row_table_create(t->context, t->capacity, &t->by_id, err));
    return thr_index_keeper_open(t->context, &form, CHUNK_ROWS, &t->keeper, err);
}

thr_status thr_index_tail_create(thr_context *context, const thr_manifest *manifest, const uint64_t *live,
                                 thr_tail **tail, thr_error *err) {
    thr_tail *t = NULL;
    *tail = NULL;
    THR_TRY(thr_alloc_zero(context, 1, sizeof *t, &t, "the journal", err));
    t->context = t->keeper.context = t->journal.context = context;
    t->journal.fd = -1;
    if (pthread_mutex_init(&t->mutex, NULL) != 0) {
        thr_release(context, t);
        return thr_fail(err, THR_ENOMEM, "no memory for a lock");
    }
    t->first_row = thr_padded_rows(manifest->n_rows);
    t->capacity = thr_tail_capacity(manifest->quantiser.n_dims);
    t->n_items = manifest->n_items;
    t->next_id = manifest->next_id;
    t->n_zero = manifest->n_zero;
    t->own_ids = manifest->has_ids;
    const thr_status status = allocate(t, manifest, err);
    if (status != THR_OK) {
        thr_index_tail_free(t);
        return status;
    }
    if (live != NULL)
        memcpy(t->live, live, thr_bitmap_words(manifest->n_rows) * sizeof *live);
    else
        thr_index_live_fill(manifest, t->live);
    *tail = t;
    return THR_OK;
}

void thr_index_tail_free(thr_tail *tail) {
    if (tail == NULL)
        return;
    thr_context *context = tail->context;
    thr_index_journal_close(&tail->journal);
    thr_index_keeper_close(&tail->keeper);
    for (struct thr_tail_names *block = tail->blocks, *next; block != NULL; block = next) {
        next = block->next;
        thr_release(context, block);
    }
    THR_RELEASE(context, (void *)tail->names, (void *)tail->by_id.slots, (void *)tail->by_name.slots, tail->ids,
                tail->vectors, tail->scales, tail->inverse_norms, tail->halves, tail->live);
    (void)pthread_mutex_destroy(&tail->mutex);
    thr_release(context, tail);
}

/* ------------------------------------------------------------------------------------------------ apply */

/* The lengths of vectors as the encoder of segments measures them. */
static thr_status measure(thr_context *context, const thr_manifest *m, const float *vectors, uint32_t n, float *norms,
                          uint32_t *bad) {
    const double longest = thr_longest_row(m->metric == THR_METRIC_COSINE);
    for (*bad = 0; *bad < n; (*bad)++) {
        const double norm =
            sqrt(context->kernels->sum_squares(vectors + (size_t)*bad * m->quantiser.n_dims, m->quantiser.n_dims));
        if (!(norm <= longest) || !((float)norm <= (float)longest))
            return THR_ERANGE;
        norms[*bad] = norm < THR_SHORTEST ? 0.0f : (float)norm;
    }
    return THR_OK;
}

thr_status thr_index_tail_check_vectors(thr_context *context, const thr_manifest *manifest, const float *vectors,
                                        uint32_t n, const char *name, thr_error *err) {
    const uint32_t n_dims = manifest->quantiser.n_dims;
    float norms[CHUNK_ROWS];
    for (uint32_t first = 0; first < n; first += CHUNK_ROWS) {
        uint32_t bad;
        const uint32_t some = THR_MIN(n - first, CHUNK_ROWS);
        if (measure(context, manifest, vectors + (size_t)first * n_dims, some, norms, &bad) != THR_OK)
            return thr_fail(err, THR_ERANGE,
                            "%s: row %" PRIu32
                            " holds NaN or infinity, or is longer than 2^%d: mend it or leave it out",
                            name, first + bad, manifest->metric == THR_METRIC_COSINE ? 120 : 60);
    }
    return THR_OK;
}

static thr_status add_vectors(thr_tail *t, const thr_manifest *m, const float *vectors, uint32_t n, thr_error *err) {
    const uint32_t n_dims = m->quantiser.n_dims;
    const size_t size = n_dims * thr_dtype_size(t->keeper.form.keep);
    float norms[CHUNK_ROWS];
    for (uint32_t first = 0, some; first < n; first += some) {
        some = THR_MIN(n - first, CHUNK_ROWS);
        const size_t at = t->n_rows + first;
        const thr_matrix rows = thr_matrix_f32(vectors + (size_t)first * n_dims, some, n_dims);
        thr_kept_rows kept = {.scales = t->scales == NULL ? NULL : t->scales + at,
                              .inverse_norms = t->inverse_norms == NULL ? NULL : t->inverse_norms + at,
                              .halves = t->halves == NULL ? NULL : t->halves + at};
        uint32_t bad;
        if (measure(t->context, m, rows.data, some, norms, &bad) != THR_OK)
            return thr_fail(err, THR_ECORRUPT, "%s: holds a vector that is not finite", t->journal.path);
        THR_TRY(thr_index_keep_rows(&t->keeper, &rows, norms, &kept));
        for (uint32_t i = 0; i < some && m->metric != THR_METRIC_L2; i++)
            t->n_zero += norms[i] == 0;
        memcpy((char *)t->vectors + at * size, kept.bytes, some * size);
    }
    return THR_OK;
}

static thr_status add_names(thr_tail *t, const thr_journal_change *change, thr_error *err) {
    struct thr_tail_names *block = NULL;
    if (t->names == NULL || change->n_added == 0)
        return THR_OK;
    THR_TRY(thr_alloc(t->context, sizeof *block + (size_t)change->names_size, 1, &block, "names", err));
    memcpy(block->text, change->names, (size_t)change->names_size);
    block->next = t->blocks;
    t->blocks = block;
    const char *name = block->text;
    for (uint32_t i = 0; i < change->n_added; i++, name += strlen(name) + 1)
        t->names[t->n_rows + i] = name;
    return THR_OK;
}

static thr_status remove_items(thr_tail *t, const thr_index *index, const thr_journal_change *change, thr_error *err) {
    for (uint32_t i = 0; i < change->n_removed; i++) {
        uint64_t row;
        if (!thr_index_tail_find(t, t->live, t->n_rows, change->removed[i], &row) &&
            !thr_index_segment_row(index, t->live, change->removed[i], &row))
            return thr_fail(err, THR_ECORRUPT, "%s: removes an item with the id %" PRIu64 ", which there is not",
                            t->journal.path, change->removed[i]);
        t->live[row / 64] &= ~(UINT64_C(1) << row % 64);
        t->n_items--;
    }
    return THR_OK;
}

/* Its vector and name are there already. */
static void add_row(thr_tail *t, uint64_t id) {
    const uint32_t row = t->n_rows++;
    t->ids[row] = id;
    thr_row_table_add(&t->by_id, id, row);
    if (t->names != NULL)
        thr_row_table_add(&t->by_name, thr_index_name_key(t->names[row], strlen(t->names[row]) + 1), row);
}

thr_status thr_index_tail_apply(thr_tail *tail, const thr_index *index, const thr_journal_change *change,
                                thr_error *err) {
    if (change->n_added > tail->capacity - tail->n_rows)
        return thr_fail(err, THR_ECORRUPT, "%s: holds more than %" PRIu32 " items", tail->journal.path, tail->capacity);
    THR_TRY(add_vectors(tail, &index->root->manifest, change->vectors, change->n_added, err));
    THR_TRY(add_names(tail, change, err));
    THR_TRY(remove_items(tail, index, change, err));
    for (uint32_t i = 0; i < change->n_added; i++) {
        const uint64_t row = tail->first_row + tail->n_rows, id = change->ids[i];
        if (id == THR_NO_ID)
            return thr_fail(err, THR_ECORRUPT, "%s: holds an item without an id", tail->journal.path);
        add_row(tail, id);
        thr_bitmap_set(tail->live, row);
        tail->own_ids = tail->own_ids || id != row;
        tail->next_id = id >= tail->next_id ? id + 1 : tail->next_id;
    }
    tail->n_items += change->n_added;
    tail->n_changes++;
    return THR_OK;
}
