/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.c - repeats on newer lists the updates that these do not include yet.
 *
 * Only the last change of an item counts, and the delta has it: the item as it was added, or its removal. So applying
 * these changes in the order of their updates gives the same result as applying all updates. Names and words are passed
 * as text, since each file has its own numbers.
 */
#include <string.h>

#include "base/error.h"
#include "hits/hits.h"
#include "hits/update.h"

typedef struct replay {
    thr_hits_changes changes;
    thr_hit_stamps stamps;
    uint64_t *ids, *offsets, *added_sequences, *removed_ids, *removed_sequences;
    uint32_t *features;
    const char **names, **words, **removed_names;
    float *multipliers, *item_offsets;
} replay;

static thr_status reserve(thr_context *context, const thr_hit_delta *d, replay *r, thr_error *err) {
    const size_t n = d->n_items, n_features = (size_t)d->offsets[n], n_removals = (size_t)d->n_removals;
    const char *what = "updates to make again";
    THR_TRY(thr_alloc(context, n, sizeof *r->ids, &r->ids, what, err));
    THR_TRY(thr_alloc_zero(context, n + 1, sizeof *r->offsets, &r->offsets, what, err));
    THR_TRY(thr_alloc(context, n, sizeof *r->added_sequences, &r->added_sequences, what, err));
    THR_TRY(thr_alloc(context, n_removals, sizeof *r->removed_ids, &r->removed_ids, what, err));
    THR_TRY(thr_alloc(context, n_removals, sizeof *r->removed_sequences, &r->removed_sequences, what, err));
    THR_TRY(thr_alloc(context, n_features, sizeof *r->features, &r->features, what, err));
    THR_TRY(thr_alloc(context, n, sizeof *r->names, &r->names, what, err));
    THR_TRY(thr_alloc(context, n_features, sizeof *r->words, &r->words, what, err));
    THR_TRY(thr_alloc(context, n_removals, sizeof *r->removed_names, &r->removed_names, what, err));
    THR_TRY(thr_alloc(context, n, sizeof *r->multipliers, &r->multipliers, what, err));
    return thr_alloc(context, n, sizeof *r->item_offsets, &r->item_offsets, what, err);
}

static void release(thr_context *context, replay *r) {
    THR_RELEASE(context, r->ids, r->offsets, r->added_sequences, r->removed_ids, r->removed_sequences, r->features,
                r->names, r->words, r->removed_names, r->multipliers, r->item_offsets);
}

/* Append item i of the delta to the added items. */
static void add(const thr_hits *from, const thr_hit_values *values, uint32_t i, replay *r) {
    const thr_hit_delta *d = from->delta;
    const uint64_t at = r->changes.n_added++;
    uint64_t n = r->offsets[at];
    r->ids[at] = d->ids[i];
    r->names[at] = from->info.has_names ? thr_dictionary_text(&d->names, i) : NULL;
    r->added_sequences[at] = d->sequences[i];
    r->multipliers[at] = values == NULL || values->multipliers == NULL ? 1 : values->multipliers[i];
    r->item_offsets[at] = values == NULL || values->offsets == NULL ? 0 : values->offsets[i];
    for (uint64_t e = d->offsets[i]; e < d->offsets[i + 1]; e++, n++) {
        r->features[n] = d->features[e];
        r->words[n] = from->info.has_words ? thr_hits_text(from, d->features[e]) : NULL;
    }
    r->offsets[at + 1] = n;
}

static void collect(const thr_hits *from, const thr_hit_values *values, uint64_t since, replay *r) {
    const thr_hit_delta *d = from->delta;
    for (uint32_t i = 0; i < d->n_items; i++)
        if (d->sequences[i] > since)
            add(from, values, i, r);
    for (uint64_t i = 0; i < d->n_removals; i++) {
        if (d->removals[i].sequence <= since)
            continue;
        const uint64_t at = r->changes.n_removed++;
        r->removed_ids[at] = d->removals[i].id;
        r->removed_names[at] = from->info.has_names ? thr_dictionary_text(&d->removed_names, (uint32_t)i) : NULL;
        r->removed_sequences[at] = d->removals[i].sequence;
    }
}

/* Return the values, or NULL if all of them are the default. */
static const float *wanted(const float *values, uint64_t n, float fallback) {
    for (uint64_t i = 0; i < n; i++)
        if (values[i] < fallback || values[i] > fallback)
            return values;
    return NULL;
}

static void point(const thr_hits *from, uint64_t since, replay *r) {
    const bool named = from->info.has_names, worded = from->info.has_words;
    thr_hits_changes *c = &r->changes;
    c->ids = named ? NULL : r->ids;
    c->names = named ? r->names : NULL;
    c->offsets = r->offsets;
    c->features = worded ? NULL : r->features;
    c->words = worded ? r->words : NULL;
    c->multipliers = wanted(r->multipliers, c->n_added, 1);
    c->item_offsets = wanted(r->item_offsets, c->n_added, 0);
    c->removed_ids = named ? NULL : r->removed_ids;
    c->removed_names = named ? r->removed_names : NULL;
    r->stamps = (thr_hit_stamps){.added = r->added_sequences, .removed = r->removed_sequences, .forget = since};
}

static thr_status check_kinds(const thr_hits *from, const thr_hits *next, thr_error *err) {
    const bool names = from->info.has_names != next->info.has_names;
    if (!names && from->info.has_words == next->info.has_words)
        return THR_OK;
    return thr_fail(err, THR_EMISMATCH,
                    "%s: %s have %s, those of %s have %s: what was updated meanwhile cannot be made on these lists; "
                    "build them of the same kind",
                    next->path, names ? "items" : "features",
                    names                  ? (next->info.has_names ? "names" : "ids")
                    : next->info.has_words ? "words"
                                           : "numbers",
                    from->path,
                    names                  ? (from->info.has_names ? "names" : "ids")
                    : from->info.has_words ? "words"
                                           : "numbers");
}

thr_status thr_hits_replay(thr_hits *from, uint64_t since, thr_hits *next, thr_hits **replayed, thr_error *err) {
    thr_status status = THR_OK;
    replay r = {.ids = NULL};
    *replayed = NULL;
    if (from->delta == NULL)
        return THR_OK;
    THR_TRY(thr_hits_check_unchanged(from, err));
    r.changes = (thr_hits_changes){0};
    const thr_hit_set set = thr_hits_take_values(from);
    THR_TRY_OUT(reserve(from->context, from->delta, &r, err));
    collect(from, set.of_added, since, &r);
    THR_TRY_OUT(thr_hits_check_after(from, THR_OK, err));
    if (r.changes.n_added == 0 && r.changes.n_removed == 0)
        goto out;
    THR_TRY_OUT(check_kinds(from, next, err));
    point(from, since, &r);
    THR_TRY_OUT(thr_hits_make_update(next, &r.changes, &r.stamps, replayed, err));
out:
    thr_hits_put_values(from, &set);
    release(from->context, &r);
    return status;
}
