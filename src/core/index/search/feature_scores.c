/* SPDX-License-Identifier: Apache-2.0 */
/* feature_scores.c - the callbacks through which a scan gets the sums of posting lists, on threads and on a device. */
#include "index/search/feature_scores.h"

#include <inttypes.h>
#include <string.h>

#include "base/blocks.h"
#include "base/error.h"
#include "lists/add_up.h"

/*
 * The largest unit that is allowed: that of weights whose absolute values sum to just below 2^100. With larger sums a
 * value times its multiplier could become NaN.
 */
static const double LARGEST_UNIT = 0x1p70;

/* The query of one lane, and its pass; over the lists, and over those of added rows. */
typedef struct hits_lane {
    thr_lists_query query, added_query;
    thr_lists_pass pass, added_pass;
} hits_lane;

struct thr_index_hits_workspace {
    thr_context *context;
    hits_lane **lanes;
    size_t n_lanes, lanes_capacity;
    uint64_t *filter;
    size_t filter_capacity;
    /* The posting lists of the current search. */
    thr_hits *hits;
    const thr_hits_queries *queries;
    uint32_t *n_unknown;
    thr_hit_set values;
    const uint64_t *allowed; /* bits of rows that may be found; NULL: all */
    bool sigmoid;
    thr_hit_store *store; /* the lists' copy on a device, if it is used; else NULL */
};

thr_status thr_index_feature_scores_make(thr_context *context, thr_index_hits_workspace **workspace, thr_error *err) {
    THR_TRY(thr_alloc_zero(context, 1, sizeof **workspace, workspace, "a search", err));
    (*workspace)->context = context;
    return THR_OK;
}

void thr_index_feature_scores_free(thr_index_hits_workspace *workspace) {
    if (workspace == NULL)
        return;
    thr_context *context = workspace->context;
    for (size_t i = 0; i < workspace->n_lanes; i++) {
        thr_lists_query_free(context, &workspace->lanes[i]->query);
        thr_lists_query_free(context, &workspace->lanes[i]->added_query);
        thr_lists_pass_free(context, &workspace->lanes[i]->pass);
        thr_lists_pass_free(context, &workspace->lanes[i]->added_pass);
        thr_release(context, workspace->lanes[i]);
    }
    THR_RELEASE(context, workspace->lanes, workspace->filter, workspace);
}

/* ------------------------------------------------------------------------------------------------ checks */

static thr_status check_query(const thr_hits_queries *queries, uint64_t q, thr_error *err) {
    const uint64_t begin = queries->offsets[q], end = queries->offsets[q + 1];
    thr_error why = {.status = THR_OK};
    double unit;
    if (end < begin)
        return thr_fail(err, THR_EINVAL, "the features of query %" PRIu64 " end before they begin", q);
    const float *weights = queries->weights == NULL ? NULL : queries->weights + begin;
    const thr_status status =
        thr_lists_query_unit(queries->features + begin, weights, (size_t)(end - begin), &unit, &why);
    if (status != THR_OK)
        return thr_fail(err, status, "query %" PRIu64 ": %s", q, why.text);
    if (unit > LARGEST_UNIT)
        return thr_fail(err, THR_ERANGE, "query %" PRIu64 ": its weights add up to 2^100 or more: lower them", q);
    return THR_OK;
}

thr_status thr_index_feature_scores_check(const thr_hits *hits, const char *path, const thr_search_options *o,
                                          uint64_t n_queries, thr_error *err) {
    if (o->features == NULL && o->target == NULL)
        return THR_OK;
    if (hits == NULL)
        return thr_fail(err, THR_EUNSUPPORTED, "%s: was built without features, so it cannot be asked for any", path);
    if (o->target != NULL && o->target->hits != hits)
        return thr_fail(err, THR_EINVAL, "%s: the target was made for other posting lists", path);
    if (o->features == NULL)
        return THR_OK;
    if (o->value != THR_HITS_VALUE_SUM && o->value != THR_HITS_VALUE_SIGMOID)
        return thr_fail(err, THR_EINVAL, "the value %d of items is unknown", (int)o->value);
    THR_TRY(thr_hits_check_model(hits, o->features_model, err));
    if (o->features->n_queries != n_queries)
        return thr_fail(err, THR_EDIM, "features of %" PRIu64 " queries for %" PRIu64 " vectors: give one for each",
                        o->features->n_queries, n_queries);
    if (n_queries > 0 && o->features->offsets[0] != 0)
        return thr_fail(err, THR_EINVAL, "the features of query 0 begin at %" PRIu64 ": the first offset must be 0",
                        o->features->offsets[0]);
    for (uint64_t q = 0; q < n_queries; q++)
        THR_TRY(check_query(o->features, q, err));
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ a search */

/* The lists also have the features of removed items. */
static uint32_t count_unknown(const thr_index_hits_workspace *workspace, uint64_t query, uint32_t n_of_lists) {
    return thr_hits_live_rows(workspace->hits) == NULL /* lists with added rows have a bitmap of live ones */
               ? n_of_lists
               : thr_hits_count_unknown(workspace->hits, workspace->queries, query);
}

/* The callbacks of scan/added_scores.h. */
static thr_status begin_query(void *arg, uint64_t query, size_t lane, float *unit, thr_error *err) {
    thr_index_hits_workspace *workspace = arg;
    hits_lane *l = workspace->lanes[lane];
    THR_TRY(thr_lists_query_of(workspace->context, &workspace->hits->view.contents.lists, workspace->queries, query,
                               &l->query, err));
    if (workspace->n_unknown != NULL)
        workspace->n_unknown[query] = count_unknown(workspace, query, l->query.n_unknown);
    *unit = (float)l->query.unit;
    THR_TRY(thr_lists_pass_start(workspace->context, &l->pass, &l->query, err));
    if (workspace->hits->delta == NULL)
        return THR_OK;
    THR_TRY(thr_lists_query_of(workspace->context, &workspace->hits->delta->built.lists, workspace->queries, query,
                               &l->added_query, err));
    return thr_lists_pass_start(workspace->context, &l->added_pass, &l->added_query, err);
}

static const int32_t *window_sums(void *arg, size_t lane, uint32_t window) {
    const thr_index_hits_workspace *workspace = arg;
    const thr_kernels *kernels = workspace->context->kernels;
    const thr_hit_delta *delta = workspace->hits->delta;
    hits_lane *l = workspace->lanes[lane];
    if (window < thr_lists_n_windows(&workspace->hits->view.contents.lists))
        (void)thr_lists_pass_window(kernels, &l->pass, window);
    else
        memset(l->pass.sums, 0, sizeof l->pass.sums);
    if (delta != NULL && window >= delta->first_row / THR_LISTS_WINDOW)
        thr_lists_pass_add(kernels, &l->added_pass, window - delta->first_row / THR_LISTS_WINDOW, l->pass.sums);
    return l->pass.sums;
}

/* A batch on a device: the scan's callbacks, the workspace, and the number of the first query. */
typedef struct device_batch {
    thr_index_hits_workspace *workspace;
    const thr_dense_screen *screen;
    uint64_t first;
} device_batch;

static void describe_codes(void *arg, uint64_t q, thr_device_scan *scan, float *gain, float *bias) {
    const device_batch *b = arg;
    b->screen->describe(b->screen->arg, b->first + q, scan, gain, bias);
}

static void hand_over(void *arg, uint64_t q, const thr_lists_found *found) {
    const device_batch *b = arg;
    if (b->workspace->n_unknown != NULL)
        b->workspace->n_unknown[b->first + q] = count_unknown(b->workspace, b->first + q, found->n_unknown);
    b->screen->found(b->screen->arg, b->first + q, found->items, found->sums, found->n, (float)found->unit);
}

/*
 * The callback of scan/added_scores.h. Its errors do not name the query: the CPU then repeats the search, and names it.
 */
static thr_status collect_on_device(void *arg, const thr_dense_screen *screen, uint64_t first, size_t n, size_t wanted,
                                    thr_error *err) {
    thr_index_hits_workspace *workspace = arg;
    const thr_hit_values *values = workspace->values.of_file;
    const thr_lists_corpus corpus = {.lists = &workspace->hits->view.contents.lists,
                                     .value = workspace->sigmoid ? THR_HITS_VALUE_SIGMOID : THR_HITS_VALUE_SUM,
                                     .multipliers = values == NULL ? NULL : values->multipliers,
                                     .offsets = values == NULL ? NULL : values->offsets,
                                     .values_id = values == NULL ? 0 : values->number,
                                     .filter = workspace->allowed};
    device_batch batch = {workspace, screen, first};
    const thr_hit_caller caller = {
        .arg = &batch, .hits = workspace->hits, .answer = hand_over, .describe = describe_codes};
    thr_hits_queries queries = *workspace->queries;
    uint64_t failed;
    queries.offsets += first;
    queries.n_queries = n;
    return thr_hits_store_search(workspace->store, &corpus, &queries, wanted, &caller, &failed, err);
}

void thr_index_feature_scores_use(thr_scan_hits *scan_hits, thr_hit_store *store) {
    thr_index_hits_workspace *workspace = scan_hits->arg;
    workspace->store = store;
    scan_hits->collect = store == NULL ? NULL : collect_on_device;
}

/* Allocate every lane for the largest query, so that a second search of the same shape allocates nothing. */
static thr_status make_lanes(thr_index_hits_workspace *workspace, size_t n_lanes, thr_error *err) {
    size_t most = 0;
    for (uint64_t q = 0; q < workspace->queries->n_queries; q++) {
        const size_t n = (size_t)(workspace->queries->offsets[q + 1] - workspace->queries->offsets[q]);
        most = n > most ? n : most;
    }
    THR_TRY(thr_grow(workspace->context, &workspace->lanes, &workspace->lanes_capacity, n_lanes,
                     sizeof *workspace->lanes, "a search", err));
    for (; workspace->n_lanes < n_lanes; workspace->n_lanes++)
        THR_TRY(thr_alloc_zero(workspace->context, 1, sizeof **workspace->lanes, &workspace->lanes[workspace->n_lanes],
                               "a search", err));
    for (size_t i = 0; i < n_lanes; i++) {
        THR_TRY(thr_lists_query_reserve(workspace->context, &workspace->lanes[i]->query, most, err));
        THR_TRY(thr_lists_pass_reserve(workspace->context, &workspace->lanes[i]->pass, THR_LISTS_N_FORMS * most, err));
        if (workspace->hits->delta == NULL)
            continue;
        THR_TRY(thr_lists_query_reserve(workspace->context, &workspace->lanes[i]->added_query, most, err));
        THR_TRY(thr_lists_pass_reserve(workspace->context, &workspace->lanes[i]->added_pass, THR_LISTS_N_FORMS * most,
                                       err));
    }
    return THR_OK;
}

/* The bits of a target by row: those of the lists, and from their first row on those of the added rows' lists. */
static uint64_t target_word(const thr_hits *hits, const thr_hits_target *target, size_t w) {
    const size_t n_file = thr_hits_file_words(hits),
                 first = hits->delta == NULL ? SIZE_MAX : hits->delta->first_row / 64;
    return (w < n_file ? target->words[w] : 0) | (w >= first ? target->words[n_file + w - first] : 0);
}

static thr_status join_filters(thr_index_hits_workspace *workspace, const thr_hits *hits, thr_search_options *options,
                               thr_error *err) {
    const size_t n_words = thr_blocks_of(hits->info.n_rows); /* the length of an index's filters */
    if (options->target == NULL)
        return THR_OK;
    THR_TRY(thr_grow(workspace->context, &workspace->filter, &workspace->filter_capacity, n_words,
                     sizeof *workspace->filter, "a filter", err));
    for (size_t w = 0; w < n_words; w++)
        workspace->filter[w] =
            target_word(hits, options->target, w) & (options->filter == NULL ? UINT64_MAX : options->filter[w]);
    options->filter = workspace->filter;
    options->filter_bits = hits->info.n_rows;
    return THR_OK;
}

thr_status thr_index_feature_scores_begin(thr_index_hits_workspace *workspace, thr_hits *hits, size_t n_lanes,
                                          thr_search_options *options, thr_scan_hits *scan_hits, thr_error *err) {
    workspace->hits = hits;
    workspace->queries = options->features;
    workspace->n_unknown = options->n_unknown;
    THR_TRY(join_filters(workspace, hits, options, err));
    if (options->features == NULL)
        return THR_OK;
    THR_TRY(make_lanes(workspace, n_lanes, err));
    workspace->values = thr_hits_take_values(hits);
    workspace->allowed = options->filter;
    workspace->sigmoid = options->value == THR_HITS_VALUE_SIGMOID;
    const thr_hit_values *values = workspace->values.of_file;
    *scan_hits = (thr_scan_hits){.arg = workspace,
                                 .begin = begin_query,
                                 .window = window_sums,
                                 .multipliers = values == NULL ? NULL : values->multipliers,
                                 .offsets = values == NULL ? NULL : values->offsets,
                                 .sigmoid = workspace->sigmoid};
    return THR_OK;
}

void thr_index_feature_scores_end(thr_index_hits_workspace *workspace) {
    thr_hits_put_values(workspace->hits, &workspace->values);
    workspace->values = (thr_hit_set){NULL, NULL};
}
