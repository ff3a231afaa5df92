/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search.c - thr_hits_search: checks options and queries, borrows a workspace, makes a pass per query over the file's
 * lists and one over those of the added items, merges the results, and turns rows into ids.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/blocks.h"
#include "base/error.h"
#include "hits/hits.h"
#include "lists/transpose.h"
#include "select/answers.h"

/* ------------------------------------------------------------------------------------------------ rooms */

void thr_hits_workspace_free(void *piece) {
    thr_hit_workspace *workspace = piece;
    thr_context *context = workspace->context;
    thr_lists_search_free(workspace->search);
    THR_RELEASE(context, workspace->filter, workspace->items, workspace);
}

static thr_status make_workspace(thr_context *context, void **piece, thr_error *err) {
    thr_hit_workspace *workspace = NULL;
    THR_TRY(thr_alloc_zero(context, 1, sizeof *workspace, &workspace, "a search", err));
    workspace->context = context;
    const thr_status status = thr_lists_search_create(context, &workspace->search, err);
    THR_RETURN_MADE(status, workspace, piece, thr_hits_workspace_free);
}

/* ------------------------------------------------------------------------------------------------ checks */

thr_status thr_hits_check_model(const thr_hits *hits, uint64_t model, thr_error *err) {
    if (model == 0 || hits->info.model == 0 || model == hits->info.model)
        return THR_OK;
    return thr_fail(err, THR_EMISMATCH,
                    "%s: built for queries of the model %016" PRIx64 ", and these are of the model %016" PRIx64
                    ": make the queries with that one, or build the lists again for this one",
                    hits->path, hits->info.model, model);
}

static thr_status check_options(const thr_hits *hits, const thr_hits_search_options *o, uint64_t k, thr_error *err) {
    if (k == 0)
        return thr_fail(err, THR_EINVAL, "k is 0: ask for at least 1 item");
    if (o->value != THR_HITS_VALUE_SUM && o->value != THR_HITS_VALUE_SIGMOID)
        return thr_fail(err, THR_EINVAL, "the value %d of items is unknown", (int)o->value);
    if (o->filter != NULL && o->filter_bits != hits->info.n_rows)
        return thr_fail(err, THR_EINVAL, "%s: a filter of %" PRIu64 " bits for %" PRIu64 " rows of items", hits->path,
                        o->filter_bits, hits->info.n_rows);
    THR_TRY(thr_hits_check_model(hits, o->model, err));
    if (o->target != NULL && o->target->hits != hits)
        return thr_fail(err, THR_EINVAL, "%s: the target was made for other posting lists", hits->path);
    return THR_OK;
}

static thr_status check_queries(const thr_hits_queries *queries, uint64_t k, thr_error *err) {
    size_t places;
    if (k > SIZE_MAX / sizeof(uint64_t) ||
        !thr_mul_size((size_t)k * sizeof(uint64_t), (size_t)queries->n_queries, &places))
        return thr_fail(err, THR_EINVAL, "%" PRIu64 " queries with %" PRIu64 " results each are too many",
                        queries->n_queries, k);
    return thr_lists_check_offsets(queries->offsets, queries->n_queries, "query", err);
}

/* ------------------------------------------------------------------------------------------------ filters */

static void filter_places(const thr_hits_contents *c, const uint64_t *filter, uint64_t *places) {
    const uint32_t n = c->lists.n_items;
    if (c->rows == NULL) {
        memcpy(places, filter, thr_blocks_of(n) * sizeof *places);
        return;
    }
    for (uint32_t first = 0; first < n; first += 64) {
        uint64_t word = 0;
        for (uint32_t i = 0; i < 64 && first + i < n; i++) {
            const uint32_t row = c->rows[first + i];
            word |= (filter[row / 64] >> row % 64 & 1) << i;
        }
        places[first / 64] = word;
    }
}

/* Set the bits of added items from a filter by row. */
static void filter_added(const thr_hits *hits, const uint64_t *filter, uint64_t *places) {
    memset(places, 0, thr_lists_n_words(&hits->delta->built.lists) * sizeof *places);
    for (uint32_t i = 0; i < hits->delta->n_items; i++) {
        const uint32_t row = hits->delta->rows[i];
        places[i / 64] |= (filter[row / 64] >> row % 64 & 1) << i % 64;
    }
    const uint64_t *live = hits->delta->added_live;
    for (size_t w = 0; live != NULL && w < thr_lists_n_words(&hits->delta->built.lists); w++)
        places[w] &= live[w];
}

/* Combine filter, target and live rows into bits by place, and bits of added items; NULL: all pass. */
static thr_status join_filters(thr_hits *hits, thr_hit_workspace *workspace, const thr_hits_search_options *o,
                               const uint64_t **joined, const uint64_t **joined_added, thr_error *err) {
    const size_t n_file = thr_hits_file_words(hits), n_words = thr_hits_n_words(hits);
    const uint64_t *live = thr_hits_live_rows(hits);
    *joined = o->target == NULL ? live : o->target->words; /* a target lets no removed item through */
    *joined_added = o->target != NULL     ? o->target->words + n_file
                    : hits->delta != NULL ? hits->delta->added_live
                                          : NULL;
    if (o->filter == NULL)
        return THR_OK;
    THR_TRY(thr_grow(hits->context, &workspace->filter, &workspace->filter_capacity, n_words, sizeof *workspace->filter,
                     "a filter", err));
    filter_places(&hits->view.contents, o->filter, workspace->filter);
    if (hits->delta != NULL)
        filter_added(hits, o->filter, workspace->filter + n_file);
    for (size_t w = 0; live != NULL && w < n_file; w++)
        workspace->filter[w] &= live[w];
    for (size_t w = 0; o->target != NULL && w < n_words; w++)
        workspace->filter[w] &= o->target->words[w];
    *joined = workspace->filter;
    *joined_added = workspace->filter + n_file;
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ search */

/* The state of a search: the file's lists, and those of added items, which are NULL if there are none. */
typedef struct search_state {
    thr_hits *hits;
    thr_hit_workspace *workspace;
    thr_lists_corpus file, added;
    size_t most_file, most_added; /* items that the search may return */
    const thr_answers *answers;
} search_state;

static uint64_t id_of(const thr_hits *hits, uint64_t row) {
    const uint64_t *ids = hits->view.contents.ids;
    return hits->owner.index != NULL ? hits->owner.id(hits->owner.index, row) : ids == NULL ? row : ids[row];
}

/* Merge the results of both, which are sorted. Ties go to the file's items, whose rows are smaller. */
static void put_answer(const search_state *b, uint64_t q, const thr_lists_found *file, const thr_lists_found *added) {
    const thr_answers *a = b->answers;
    const thr_hit_delta *delta = b->hits->delta;
    uint64_t *ids = a->ids + q * a->k;
    for (size_t i = 0, f = 0, n = 0; i < a->k; i++) {
        const bool is_added = n < added->n && (f == file->n || added->items[n].score > file->items[f].score);
        const thr_candidate *item = is_added ? &added->items[n++] : f < file->n ? &file->items[f++] : NULL;
        if (a->scores != NULL)
            a->scores[q * a->k + i] = item == NULL ? -INFINITY : item->score;
        if (is_added && b->hits->owner.index == NULL)
            ids[i] = delta->ids[item->row - delta->first_row];
        else
            ids[i] = item == NULL ? THR_NO_ID : id_of(b->hits, item->row);
    }
    if (a->n_unknown != NULL)
        a->n_unknown[q] = file->n_unknown;
}

static thr_status search_one(const search_state *b, const thr_hits_queries *queries, uint64_t q, thr_error *err) {
    thr_hit_workspace *workspace = b->workspace;
    thr_lists_found file, added = {.n = 0};
    THR_TRY(thr_lists_search_run(workspace->search, &b->file, queries, q, b->most_file, &file, err));
    if (thr_hits_live_rows(b->hits) != NULL || b->hits->delta != NULL)
        file.n_unknown = thr_hits_count_unknown(b->hits, queries, q);
    if (b->added.lists != NULL) {
        /* The second search overwrites the answer of the first one. */
        if (file.n > 0)
            memcpy(workspace->items, file.items, file.n * sizeof *workspace->items);
        file.items = workspace->items;
        THR_TRY(thr_lists_search_run(workspace->search, &b->added, queries, q, b->most_added, &added, err));
    }
    put_answer(b, q, &file, &added);
    return THR_OK;
}

static void put_found(void *arg, uint64_t q, const thr_lists_found *found) {
    put_answer(arg, q, found, &(thr_lists_found){.n = 0});
}

static thr_status search_device(search_state *b, const thr_hits_queries *queries, bool *done, thr_error *err) {
    const thr_hit_caller caller = {.arg = b, .hits = b->hits, .answer = put_found};
    return thr_hits_search_device(b->hits, &b->file, queries, b->most_file, &caller, done, err);
}

static void point_at_values(const thr_hit_values *values, thr_lists_corpus *corpus) {
    if (values == NULL)
        return;
    corpus->multipliers = values->multipliers;
    corpus->offsets = values->offsets;
    corpus->values_id = values->number;
}

static thr_status search_all(thr_hits *hits, thr_hit_workspace *workspace, const thr_hit_set *set,
                             const thr_hits_queries *queries, const thr_hits_search_options *o,
                             const thr_answers *answers, thr_error *err) {
    const thr_hits_contents *c = &hits->view.contents;
    const uint32_t n_added = thr_hits_n_added(hits);
    search_state b = {.hits = hits,
                      .workspace = workspace,
                      .file = {.lists = &c->lists, .rows = c->rows, .value = o->value},
                      .most_file = answers->k < c->lists.n_items ? (size_t)answers->k : c->lists.n_items,
                      .most_added = answers->k < n_added ? (size_t)answers->k : n_added,
                      .answers = answers};
    if (n_added > 0) {
        b.added = (thr_lists_corpus){.lists = &hits->delta->built.lists, .rows = hits->delta->rows, .value = o->value};
        THR_TRY(thr_grow(hits->context, &workspace->items, &workspace->items_capacity, b.most_file,
                         sizeof *workspace->items, "a search", err));
    }
    point_at_values(set->of_file, &b.file);
    point_at_values(set->of_added, &b.added);
    THR_TRY(join_filters(hits, workspace, o, &b.file.filter, &b.added.filter, err));
    if (hits->context->gpus != NULL && thr_hits_live_rows(hits) == NULL && hits->delta == NULL) {
        bool done = false;
        THR_TRY(search_device(&b, queries, &done, err));
        if (done)
            return THR_OK;
    }
    for (uint64_t q = 0; q < queries->n_queries; q++)
        THR_TRY(thr_hits_name_query(search_one(&b, queries, q, err), q, err));
    return THR_OK;
}

thr_status thr_hits_search(thr_hits *hits, const thr_hits_queries *queries, uint64_t k,
                           const thr_hits_search_options *options, uint64_t *ids, float *values, thr_error *err) {
    const thr_hits_search_options complete = options != NULL ? *options : (thr_hits_search_options){0};
    void *workspace;
    if (hits == NULL || queries == NULL || ids == NULL)
        return thr_fail(err, THR_EINVAL, "a search needs posting lists, queries and memory for ids");
    THR_TRY(check_options(hits, &complete, k, err));
    THR_TRY(check_queries(queries, k, err));
    THR_TRY(thr_hits_check_unchanged(hits, err));
    THR_TRY(thr_idle_take(&hits->file->workspaces, make_workspace, &workspace, err));
    const thr_hit_set set = thr_hits_take_values(hits);
    const thr_answers answers = {.k = k, .ids = ids, .scores = values, .n_unknown = complete.n_unknown};
    const thr_status status = search_all(hits, workspace, &set, queries, &complete, &answers, err);
    thr_hits_put_values(hits, &set);
    thr_idle_put(&hits->file->workspaces, workspace);
    return thr_hits_check_after(hits, status, err);
}
