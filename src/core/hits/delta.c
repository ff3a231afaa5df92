/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delta.c - makes a delta. Items are copied from the previous delta and from the change. Their lists are built by the
 * same code as a file's. Time and memory grow with the number of added items; one bit per row of the file is added to
 * both.
 */
#include "hits/delta.h"

#include <inttypes.h>
#include <string.h>

#include "base/blocks.h"
#include "base/error.h"
#include "hits/hits.h"

typedef struct maker {
    thr_hits *hits; /* the lists to change */
    const thr_hit_index *index;
    const thr_hit_delta *before; /* or NULL */
    const thr_hit_change *change;
    const thr_hit_stamps *stamps;
    thr_hit_delta *delta;
} maker;

/* ------------------------------------------------------------------------------------------------ items */

static thr_status too_much(const maker *m, const char *what, uint64_t n, uint64_t most, thr_error *err) {
    return thr_fail(err, THR_EDIM, "%s: %" PRIu64 " %s after this update, the limit is %" PRIu64 ": rebuild the lists",
                    m->hits->path, n, what, most);
}

static thr_status reserve_items(const maker *m, uint64_t *n_features, thr_error *err) {
    thr_context *context = m->hits->context;
    const uint64_t n_added = m->change->given->n_added;
    const uint64_t n = m->change->n_remaining + n_added;
    thr_hit_delta *d = m->delta;
    *n_features = n_added > 0 ? m->change->given->offsets[n_added] : 0;
    for (uint32_t i = 0; i < m->change->n_remaining; i++) {
        const uint32_t item = m->change->remaining[i];
        *n_features += m->before->offsets[item + 1] - m->before->offsets[item];
    }
    if (n > THR_HITS_MAX_ADDED)
        return too_much(m, "added items", n, THR_HITS_MAX_ADDED, err);
    if (*n_features > THR_HITS_MAX_ADDED_FEATURES)
        return too_much(m, "features of added items", *n_features, THR_HITS_MAX_ADDED_FEATURES, err);
    d->n_items = (uint32_t)n;
    d->first_row = m->hits->view.contents.lists.n_items;
    d->next_id = m->change->next_id;
    THR_TRY(thr_alloc(context, n + 1, sizeof *d->offsets, &d->offsets, "added items", err));
    THR_TRY(thr_alloc(context, n, sizeof *d->ids, &d->ids, "added items", err));
    THR_TRY(thr_alloc(context, n, sizeof *d->sequences, &d->sequences, "added items", err));
    THR_TRY(thr_alloc(context, n, sizeof *d->rows, &d->rows, "added items", err));
    THR_TRY(thr_alloc(context, n, sizeof *d->id_order, &d->id_order, "added items", err));
    return thr_alloc(context, *n_features, sizeof *d->features, &d->features, "added items", err);
}

/* An added item. features NULL: it has none; name NULL: items have no names. */
typedef struct added_item {
    uint64_t id, sequence;
    const char *name;
    const uint32_t *features;
    uint64_t n_features;
} added_item;

static thr_status put_item(const maker *m, uint32_t at, const added_item *x, thr_error *err) {
    thr_hit_delta *d = m->delta;
    d->ids[at] = x->id;
    d->sequences[at] = x->sequence;
    d->rows[at] = d->first_row + at;
    if (x->n_features > 0)
        memcpy(d->features + d->offsets[at], x->features, x->n_features * sizeof *x->features);
    d->offsets[at + 1] = d->offsets[at] + x->n_features;
    return x->name == NULL ? THR_OK
                           : thr_dictionary_add(m->hits->context, &d->names, x->name, strlen(x->name), NULL, NULL, err);
}

static thr_status put_items(const maker *m, thr_error *err) {
    const thr_hit_delta *b = m->before;
    const thr_hits_changes *g = m->change->given;
    uint32_t at = 0;
    m->delta->offsets[0] = 0;
    for (; at < m->change->n_remaining; at++) {
        const uint32_t i = m->change->remaining[at];
        const added_item old = {.id = b->ids[i],
                                .sequence = b->sequences[i],
                                .name = b->names.n == 0 ? NULL : thr_dictionary_text(&b->names, i),
                                .features = b->features + b->offsets[i],
                                .n_features = b->offsets[i + 1] - b->offsets[i]};
        THR_TRY(put_item(m, at, &old, err));
    }
    for (uint64_t i = 0; i < g->n_added; i++, at++) {
        const uint64_t begin = g->offsets[i], n = g->offsets[i + 1] - begin;
        const added_item added = {.id = m->change->ids[i],
                                  .sequence = m->stamps->added == NULL ? m->stamps->all : m->stamps->added[i],
                                  .name = g->names == NULL ? NULL : g->names[i],
                                  .features = n == 0 ? NULL : m->change->features + begin,
                                  .n_features = n};
        THR_TRY(put_item(m, at, &added, err));
    }
    return thr_radix_order(m->hits->context, m->delta->ids, m->delta->n_items, m->delta->id_order, err);
}

/* Copy the words of the change, which include those of the delta before. */
static thr_status put_words(const maker *m, thr_error *err) {
    thr_hit_delta *d = m->delta;
    THR_TRY(thr_dictionary_add_all(m->hits->context, &d->words, &m->change->words, err));
    const uint64_t bytes = (d->words.n == 0 ? 0 : d->words.starts[d->words.n]) +
                           (d->names.n == 0 ? 0 : d->names.starts[d->names.n]) +
                           (d->removed_names.n == 0 ? 0 : d->removed_names.starts[d->removed_names.n]);
    return bytes <= THR_HITS_MAX_ADDED_TEXT
               ? THR_OK
               : too_much(m, "bytes of names and words", bytes, THR_HITS_MAX_ADDED_TEXT, err);
}

/* ------------------------------------------------------------------------------------------------ lists */

/*
 * Build the lists of the added items. The build needs memory by the largest feature number, so features get the numbers
 * 0, 1, 2, ... first, and their own numbers back afterwards.
 */
static thr_status build_lists(const maker *m, uint64_t n_features, thr_error *err) {
    thr_context *context = m->hits->context;
    thr_hit_delta *d = m->delta;
    thr_status status = THR_OK;
    thr_keyed *sorted = NULL;
    uint32_t *dense = NULL, n = 0;
    if (d->n_items == 0)
        return THR_OK;
    THR_TRY_OUT(thr_alloc(context, n_features, sizeof *sorted, &sorted, "added items", err));
    THR_TRY_OUT(thr_alloc(context, n_features, sizeof *dense, &dense, "added items", err));
    for (uint64_t e = 0; e < n_features; e++)
        sorted[e] = (thr_keyed){d->features[e], e};
    THR_TRY_OUT(thr_radix_sort(context, sorted, n_features, err));
    for (uint64_t e = 0; e < n_features; e++)
        n += e == 0 || sorted[e].key != sorted[e - 1].key;
    THR_TRY_OUT(thr_alloc(context, n, sizeof *d->numbers, &d->numbers, "added items", err));
    n = 0;
    for (uint64_t e = 0; e < n_features; e++) {
        if (e == 0 || sorted[e].key != sorted[e - 1].key)
            d->numbers[n++] = (uint32_t)sorted[e].key;
        dense[sorted[e].value] = n - 1;
    }
    const thr_item_features items = {d->offsets, dense, d->n_items};
    THR_TRY_OUT(thr_lists_build(context, &items, NULL, &d->built, err));
    d->built.lists.features = d->numbers;
out:
    THR_RELEASE(context, sorted, dense);
    return status;
}

/* ------------------------------------------------------------------------------------------------ rows */

/* Find the row of the file with this id, live or not. */
static bool find_row(const thr_hits_contents *file, uint64_t id, uint32_t *row) {
    *row = (uint32_t)id;
    return file->ids == NULL ? id < file->lists.n_items
                             : thr_radix_find(file->ids, file->id_order, file->lists.n_items, id, row);
}

/* Clear the live bits of the file's rows that the change adds again or removes. */
static thr_status clear_live_rows(const maker *m, thr_error *err) {
    const thr_hits_contents *file = &m->hits->view.contents;
    const size_t n_words = thr_hits_file_words(m->hits);
    const uint64_t n = file->lists.n_items;
    thr_hit_delta *d = m->delta;
    THR_TRY(thr_alloc_zero(m->hits->context, n_words, sizeof *d->live, &d->live, "removed items", err));
    if (m->before != NULL && m->before->live != NULL) {
        memcpy(d->live, m->before->live, n_words * sizeof *d->live);
        d->n_gone = m->before->n_gone;
    } else {
        for (uint64_t w = 0; w < thr_blocks_of(n); w++)
            d->live[w] = n - 64 * w >= 64 ? UINT64_MAX : (UINT64_C(1) << n % 64) - 1;
    }
    for (size_t i = 0; i < m->change->n_touched; i++) {
        uint32_t row;
        if (!find_row(file, m->change->touched[i].key, &row))
            continue;
        const uint32_t place = thr_hit_index_place(m->index, row);
        const uint64_t bit = UINT64_C(1) << place % 64;
        d->n_gone += (d->live[place / 64] & bit) != 0;
        d->live[place / 64] &= ~bit;
    }
    if (d->n_gone == 0) {
        thr_release(m->hits->context, d->live);
        d->live = NULL;
    }
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ removals */

static uint64_t removed_stamp(const maker *m, uint64_t i) {
    return m->stamps->removed == NULL ? m->stamps->all : m->stamps->removed[i];
}

static void put_removal(const maker *m, uint64_t id, uint64_t sequence) {
    m->delta->removals[m->delta->n_removals++] = (thr_hit_removal){id, sequence};
}

/* Record a removal by name, unless an item of this name was added since. A name is recorded once. */
static thr_status remember_name(const maker *m, const char *name, uint64_t sequence, thr_error *err) {
    thr_hit_delta *d = m->delta;
    uint32_t unused;
    bool is_new;
    if (sequence <= m->stamps->forget || thr_dictionary_find(&d->names, name, strlen(name), &unused))
        return THR_OK;
    THR_TRY(thr_dictionary_add(m->hits->context, &d->removed_names, name, strlen(name), NULL, &is_new, err));
    if (is_new)
        put_removal(m, THR_NO_ID, sequence);
    return THR_OK;
}

static thr_status remember_names(const maker *m, thr_error *err) {
    const thr_hits_changes *g = m->change->given;
    const uint64_t n_before = m->before == NULL ? 0 : m->before->n_removals;
    for (uint64_t i = 0; i < g->n_removed; i++)
        THR_TRY(remember_name(m, g->removed_names[i], removed_stamp(m, i), err));
    for (uint32_t i = 0; i < n_before; i++)
        THR_TRY(
            remember_name(m, thr_dictionary_text(&m->before->removed_names, i), m->before->removals[i].sequence, err));
    return THR_OK;
}

/*
 * The same by id: record the touched ids that were not added, and the earlier removals that are not touched. Both lists
 * ascend by id.
 */
static void remember_ids(const maker *m) {
    const thr_hit_change *c = m->change;
    const uint64_t n_added = c->given->n_added, n_before = m->before == NULL ? 0 : m->before->n_removals;
    uint64_t b = 0;
    for (size_t i = 0; i <= c->n_touched; i++) {
        const bool end = i == c->n_touched;
        for (; b < n_before && (end || m->before->removals[b].id <= c->touched[i].key); b++) {
            const thr_hit_removal *r = &m->before->removals[b];
            if ((end || r->id != c->touched[i].key) && r->sequence > m->stamps->forget)
                put_removal(m, r->id, r->sequence);
        }
        if (end || (i > 0 && c->touched[i].key == c->touched[i - 1].key) || c->touched[i].value < n_added)
            continue;
        const uint64_t sequence = removed_stamp(m, c->touched[i].value - n_added);
        if (sequence > m->stamps->forget)
            put_removal(m, c->touched[i].key, sequence);
    }
}

static thr_status remember(const maker *m, thr_error *err) {
    thr_hit_delta *d = m->delta;
    const uint64_t most = (m->before == NULL ? 0 : m->before->n_removals) + m->change->given->n_removed;
    THR_TRY(thr_alloc(m->hits->context, most, sizeof *d->removals, &d->removals, "removed items", err));
    if (m->hits->info.has_names)
        THR_TRY(remember_names(m, err));
    else
        remember_ids(m);
    return d->n_removals <= THR_HITS_MAX_REMOVED ? THR_OK
                                                 : too_much(m, "removals", d->n_removals, THR_HITS_MAX_REMOVED, err);
}

/* ------------------------------------------------------------------------------------------------ together */

static thr_status make(const maker *m, thr_error *err) {
    uint64_t n_features = 0;
    THR_TRY(reserve_items(m, &n_features, err));
    THR_TRY(put_items(m, err));
    THR_TRY(remember(m, err));
    THR_TRY(put_words(m, err));
    THR_TRY(build_lists(m, n_features, err));
    return clear_live_rows(m, err);
}

thr_status thr_hits_delta_make(thr_hits *hits, const thr_hit_index *index, const thr_hit_change *change,
                               const thr_hit_stamps *stamps, thr_hit_delta **out, thr_error *err) {
    thr_hit_delta *delta = NULL;
    THR_TRY(thr_alloc_zero(hits->context, 1, sizeof *delta, &delta, "changes", err));
    const maker m = {hits, index, hits->delta, change, stamps, delta};
    const thr_status status = make(&m, err);
    if (status != THR_OK)
        thr_hits_delta_free(hits->context, delta);
    else
        *out = delta;
    return status;
}

void thr_hits_delta_free(thr_context *context, thr_hit_delta *delta) {
    if (delta == NULL)
        return;
    thr_lists_built_free(context, &delta->built);
    thr_dictionary_free(context, &delta->names);
    thr_dictionary_free(context, &delta->words);
    thr_dictionary_free(context, &delta->removed_names);
    THR_RELEASE(context, delta->refs, delta->added_live, delta->offsets, delta->ids, delta->sequences, delta->features,
                delta->rows, delta->id_order, delta->numbers, delta->live, delta->removals, delta);
}

bool thr_hits_delta_find(const thr_hit_delta *delta, uint64_t id, uint32_t *item) {
    return thr_radix_find(delta->ids, delta->id_order, delta->n_items, id, item);
}
