/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search_run.c - searches shards in the order of their rows and merges their answers. A shard's answer orders ties
 * by row, so a merge that prefers the earlier shard where scores are equal orders ties by the row in the collection.
 *
 * One shard is open at a time: memory does not grow with the number of shards, but for one bit per item of --filter.
 * All are open, their headers read, while items are looked up that --filter and --like name; and until the end if the
 * first has features, since opening posting lists reads them, or if results are sorted by features of items.
 */
#include "collection/search_run.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "index/rows.h"
#include "input/input.h"
#include "cli/messages.h"
#include "search/texts.h"

/* ------------------------------------------------------------------------------------------------ the best k */

static void to_global(const prog_shards *shards, const prog_shard *shard, uint64_t *ids, uint64_t n) {
    for (uint64_t i = 0; i < n && !shards->has_ids; i++)
        if (ids[i] != THR_NO_ID)
            ids[i] += shard->first_row;
}

/* Merge two answers of k places into out; THR_NO_ID, with a score of -infinity, fills the rest of an answer. */
static void merge_best(const uint64_t *ids[2], const float *scores[2], uint64_t k, uint64_t *out_ids,
                       float *out_scores) {
    for (uint64_t i = 0, at[2] = {0, 0}; i < k; i++) {
        const int from = scores[0][at[0]] >= scores[1][at[1]] ? 0 : 1;
        out_scores[i] = scores[from][at[from]];
        out_ids[i] = ids[from][at[from]++];
    }
}

/* Add a shard's answer, in s->ids[0] and s->scores[0], to that of the shards before it, in search->ids. */
static void add_best(prog_shards_search *s, uint64_t n_queries) {
    prog_search *search = &s->search;
    const uint64_t k = search->k;

    for (uint64_t q = 0; q < n_queries; q++) {
        const uint64_t *ids[2] = {search->ids + q * k, s->ids[0] + q * k};
        const float *scores[2] = {search->scores + q * k, s->scores[0] + q * k};
        merge_best(ids, scores, k, s->ids[1], s->scores[1]);
        memcpy(search->ids + q * k, s->ids[1], (size_t)k * sizeof *s->ids[1]);
        memcpy(search->scores + q * k, s->scores[1], (size_t)k * sizeof *s->scores[1]);
    }
}

static thr_status search_best(prog_shards_search *s, thr_index *index, uint64_t i, const thr_matrix *queries,
                              thr_error *err) {
    prog_search *search = &s->search;
    const uint64_t n = queries->n_rows * search->k;
    uint64_t *ids = i == 0 ? search->ids : s->ids[0];
    float *scores = i == 0 ? search->scores : s->scores[0];
    const thr_status status = thr_index_search(index, queries, search->k, &s->options, ids, scores, err);

    if (status != THR_OK)
        return status;
    to_global(&s->shards, &s->shards.shards[i], ids, n);
    if (i > 0)
        add_best(s, queries->n_rows);
    for (uint64_t q = 0; q < queries->n_rows; q++)
        s->least[q] = search->scores[q * search->k + search->k - 1];
    s->options.least_scores = s->least;
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ by radius */

static thr_status no_memory(thr_error *err) {
    err->status = THR_ENOMEM;
    (void)snprintf(err->text, sizeof err->text, "no memory for the answers of all shards");
    return THR_ENOMEM;
}

/* Merge the merged answers and a shard's into fresh memory, which becomes the merged one. */
static thr_status add_found(prog_shards_search *s, const thr_radius_result *found, thr_error *err) {
    const thr_radius_result *old = &s->merged;
    const uint64_t n_queries = found->n_queries;
    if (old->offsets != NULL && found->offsets[n_queries] == 0)
        return THR_OK;
    const uint64_t total = found->offsets[n_queries] + (old->offsets != NULL ? old->offsets[n_queries] : 0);
    uint64_t *offsets = malloc((size_t)(n_queries + 1) * sizeof *offsets), at = 0;
    uint64_t *ids = malloc((size_t)(total + 1) * sizeof *ids);
    float *scores = malloc((size_t)(total + 1) * sizeof *scores);

    for (uint64_t q = 0; q < n_queries && offsets != NULL && ids != NULL && scores != NULL; q++) {
        uint64_t a = old->offsets != NULL ? old->offsets[q] : 0, b = found->offsets[q];
        const uint64_t a_end = old->offsets != NULL ? old->offsets[q + 1] : 0, b_end = found->offsets[q + 1];
        offsets[q] = at;
        while (a < a_end || b < b_end) {
            const bool first = b == b_end || (a < a_end && old->scores[a] >= found->scores[b]);
            scores[at] = first ? old->scores[a] : found->scores[b];
            ids[at++] = first ? old->ids[a++] : found->ids[b++];
        }
    }
    free(s->least);
    free(s->offsets);
    free(s->ids[1]);
    free(s->scores[1]);
    s->offsets = offsets;
    s->ids[1] = ids;
    s->scores[1] = scores;
    if (offsets == NULL || ids == NULL || scores == NULL)
        return no_memory(err);
    offsets[n_queries] = at;
    s->merged = (thr_radius_result){n_queries, offsets, ids, scores};
    return THR_OK;
}

static thr_status search_radius(prog_shards_search *s, thr_index *index, uint64_t i, const thr_matrix *queries,
                                thr_error *err) {
    thr_radius_result *found = NULL;
    thr_status status = thr_index_search_radius(index, queries, s->least_score, &s->options, &found, err);

    if (status == THR_OK) {
        if (i == 0)
            s->merged = (thr_radius_result){.n_queries = 0};
        uint64_t *ids = (uint64_t *)(uintptr_t)found->ids; /* ours until it is freed */
        to_global(&s->shards, &s->shards.shards[i], ids, found->offsets[found->n_queries]);
        status = add_found(s, found, err);
    }
    thr_radius_result_free(found);
    return status;
}

/* ------------------------------------------------------------------------------------------------ batches */

/* The bits of the filter that are a shard's. */
static void cut_filter(prog_shards_search *s, const prog_shard *shard) {
    const uint64_t *words = s->filter.words + shard->first_row / 64, shift = shard->first_row % 64;
    const uint64_t n_words = (shard->n_items + 63) / 64;

    if (s->bits == NULL)
        return;
    for (uint64_t i = 0; i < n_words; i++) {
        const bool has_more = shift > 0 && shard->first_row / 64 + i + 1 <= s->filter.n_bits / 64;
        s->bits[i] = words[i] >> shift | (has_more ? words[i + 1] << (64 - shift) : 0);
    }
    s->options.filter = s->bits;
    s->options.filter_bits = shard->n_items;
}

static thr_index *index_of(const prog_items_part *part) {
    return (thr_index *)(uintptr_t)part->index; /* ours */
}

static bool is_rounded(const thr_index *index) {
    const thr_dtype keep = thr_index_get_info(index).keep;
    return keep == THR_DTYPE_F16 || keep == THR_DTYPE_I8;
}

static thr_status search_batch(prog_search *search, const thr_matrix *queries, thr_error *err) {
    prog_shards_search *s = (prog_shards_search *)(void *)search;
    thr_status status = THR_OK;

    for (uint64_t i = 0; i < s->shards.n_shards && status == THR_OK; i++) {
        const thr_hits_queries features = prog_features_view(&search->features, i);
        thr_index *opened = NULL, *index = NULL;
        s->options.features = search->features.name != NULL ? &features : NULL;
        s->options.features_model = search->features.model;
        s->options.target = prog_features_target(&search->features, i);
        if (i == 0)
            s->options.least_scores = NULL;
        s->options.certified = search->certified == NULL ? NULL : i == 0 ? search->certified : s->certified;
        cut_filter(s, &s->shards.shards[i]);
        if (s->parts == NULL)
            status = prog_shards_open(&s->shards, search->run->context, i, &opened, err);
        index = s->parts == NULL ? opened : index_of(&s->parts[i]);
        if (status == THR_OK)
            status =
                search->by_radius ? search_radius(s, index, i, queries, err) : search_best(s, index, i, queries, err);
        for (uint64_t q = 0; q < queries->n_rows && i > 0 && search->certified != NULL && status == THR_OK; q++)
            search->certified[q] = (uint8_t)(search->certified[q] & s->certified[q]);
        /* Rounded scores of several shards do not order the items as the given vectors do. */
        if (status == THR_OK && search->certified != NULL && !search->by_radius && is_rounded(index))
            memset(search->certified, 0, queries->n_rows);
        thr_index_free(opened);
    }
    if (search->by_radius)
        search->found = status == THR_OK ? &s->merged : NULL;
    return status;
}

/* The shard that has a row. */
static uint64_t shard_of(const prog_shards *shards, uint64_t row) {
    uint64_t low = 0, high = shards->n_shards;

    while (high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;
        if (shards->shards[middle].first_row <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The name of an item: of the shard that has the row, which stays open until another's is wanted. */
static const char *name_of(const void *named, uint64_t id) {
    prog_shards_search *s = (prog_shards_search *)(uintptr_t)named;
    const uint64_t i = shard_of(&s->shards, id);
    thr_error err;

    if (s->parts != NULL)
        return thr_index_name(s->parts[i].index, id - s->shards.shards[i].first_row);
    if (s->named == NULL || s->named_i != i) {
        thr_index_free(s->named);
        s->named = NULL;
        if (prog_shards_open(&s->shards, s->search.run->context, i, &s->named, &err) != THR_OK)
            return NULL;
        s->named_i = i;
    }
    return thr_index_name(s->named, id - s->shards.shards[i].first_row);
}

/* ------------------------------------------------------------------------------------------------ prepare */

static int allocate(prog_shards_search *s) {
    const prog_search *search = &s->search;
    const size_t n = (size_t)(search->batch * search->k);

    if (!search->by_radius) {
        s->ids[0] = malloc(n * sizeof *s->ids[0]);
        s->scores[0] = malloc(n * sizeof *s->scores[0]);
        s->ids[1] = malloc((size_t)search->k * sizeof *s->ids[1]);
        s->scores[1] = malloc((size_t)search->k * sizeof *s->scores[1]);
        s->least = malloc((size_t)search->batch * sizeof *s->least);
        if (s->ids[0] == NULL || s->scores[0] == NULL || s->ids[1] == NULL || s->scores[1] == NULL || s->least == NULL)
            return prog_no_memory();
    }
    if (search->certified == NULL)
        return PROG_DONE;
    s->certified = malloc((size_t)search->batch);
    return s->certified != NULL ? PROG_DONE : prog_no_memory();
}

/* ------------------------------------------------------------------------------------------------ items named */

static void close_all(prog_shards_search *s) {
    for (uint64_t i = 0; i < s->shards.n_shards && s->parts != NULL; i++)
        thr_index_free(index_of(&s->parts[i]));
    free(s->parts);
    free(s->lists);
    s->parts = NULL;
    s->lists = NULL;
}

/* Open shard i as a part; it is for close_all(), also after an error. */
static int open_part(prog_shards_search *s, uint64_t i) {
    const prog_shard *shard = &s->shards.shards[i];
    const uint64_t first_id = s->shards.has_ids ? 0 : shard->first_row;
    thr_error err = {.status = THR_OK};
    thr_index *index = NULL;

    if (prog_shards_open(&s->shards, s->search.run->context, i, &index, &err) != THR_OK)
        return prog_failed(&err);
    s->parts[i] = (prog_items_part){.index = index,
                                    .first_row = shard->first_row,
                                    .n_rows = shard->n_items,
                                    .first_id = first_id,
                                    .least_id = shard->least_id,
                                    .greatest_id = shard->greatest_id};
    s->lists[i] = (prog_hits_part){thr_index_hits(index), shard->first_row, first_id, index};
    return PROG_DONE;
}

/* Whether items are looked up in all shards. */
static bool looks_up_items(const prog_search_values *values) {
    return values->filter != NULL || values->like.n > 0 || values->text.n > 0 || values->rerank.columns != NULL;
}

/* Open all shards, if items are looked up in them, or if the first has features, as then all have. */
static int open_all(prog_shards_search *s) {
    int rc = PROG_DONE;

    s->items = (prog_items){.what = "collection",
                            .dir = s->values->dir,
                            .n_rows = s->shards.n_items,
                            .has_names = s->shards.has_names,
                            .has_ids = s->shards.has_ids,
                            .is_moved = s->shards.has_removed};
    s->parts = calloc((size_t)s->shards.n_shards, sizeof *s->parts);
    s->lists = calloc((size_t)s->shards.n_shards, sizeof *s->lists);
    if (s->parts == NULL || s->lists == NULL)
        return prog_no_memory();
    for (uint64_t i = 0; i < s->shards.n_shards && rc == PROG_DONE; i++) {
        rc = open_part(s, i);
        if (rc == PROG_DONE && i == 0 && s->lists[0].hits == NULL && !looks_up_items(s->values)) {
            close_all(s);
            return PROG_DONE;
        }
    }
    s->items.n_parts = (size_t)s->shards.n_shards;
    s->items.parts = s->parts;
    return rc;
}

/* Whether all shards have features. */
static bool have_features(const prog_shards_search *s) {
    for (uint64_t i = 0; i < s->shards.n_shards; i++)
        if (s->lists[i].hits == NULL)
            return false;
    return true;
}

static int allocate_bits(prog_shards_search *s) {
    uint64_t most = 0;

    for (uint64_t i = 0; i < s->shards.n_shards; i++)
        most = s->shards.shards[i].n_items > most ? s->shards.shards[i].n_items : most;
    s->bits = malloc((size_t)(most / 64 + 1) * sizeof *s->bits);
    return s->bits != NULL ? PROG_DONE : prog_no_memory();
}

/* Look up the items of --filter and --like, and encode --text. */
static int find_items(prog_shards_search *s) {
    const prog_search_values *values = s->values;
    int rc = prog_search_values_filter(values, s->search.run, &s->items, &s->filter, &s->options);

    if (rc == PROG_DONE && values->filter != NULL)
        rc = allocate_bits(s);
    if (rc == PROG_DONE)
        rc = prog_search_values_words(values, &s->items, &s->search, &s->like, &s->vectors);
    return rc;
}

/* Open the features of queries. Without any, shards need not stay open. users: queries are words, not vectors. */
static int open_features(prog_shards_search *s, bool users) {
    const prog_search_values *values = s->values;
    const prog_hits_parts parts = {s->lists, s->lists != NULL && have_features(s) ? (size_t)s->shards.n_shards : 0,
                                   prog_items_disorder(&s->items)};
    const thr_dual *dual = users && s->parts != NULL ? thr_dual_of_index(s->parts[0].index) : NULL;
    int rc = prog_search_values_features(values, &s->search, &parts, "features= of thresher.shards.build");

    if (rc == PROG_DONE && s->like == NULL)
        rc = prog_search_values_users(values, &s->search, dual, values->queries, &values->text);
    if (parts.n == 0 && values->rerank.columns == NULL)
        close_all(s);
    return rc;
}

/* ------------------------------------------------------------------------------------------------ all queries */

int prog_shards_search_prepare(prog_shards_search *s) {
    const prog_search_values *values = s->values;
    prog_search *search = &s->search;
    int rc = prog_shards_read(&s->shards, values->dir);

    if (rc != PROG_DONE)
        return rc;
    search->n_items = s->shards.n_items;
    search->queries = values->queries;
    search->has_cells = search->may_skip_cells = s->shards.n_cells > 0;
    search->search_batch = search_batch;
    s->options = (thr_search_options){0};
    prog_search_values_set(values, s->shards.n_items, &s->options);
    rc = open_all(s);
    if (rc == PROG_DONE)
        rc = find_items(s);
    if (rc == PROG_DONE)
        rc = prog_results_open(&search->results, search->run, values->output, s->shards.has_names ? name_of : NULL, s,
                               values->rerank.columns != NULL);
    if (rc == PROG_DONE)
        rc = prog_search_values_prepare(values, s->shards.metric,
                                        values->filter != NULL ? s->filter.n_allowed : UINT64_MAX, search,
                                        &s->least_score);
    if (rc == PROG_DONE)
        rc = prog_rerank_open(&search->rerank, search->run, &values->rerank, &s->items, search->depth);
    return rc == PROG_DONE ? allocate(s) : rc;
}

/* Texts are encoded by the first shard's copy of the model. */
int prog_shards_search_file(prog_shards_search *s) {
    thr_error err = {.status = THR_OK};
    thr_reader *file = NULL, *texts = NULL;
    thr_index *first = NULL;
    int rc = prog_input_open(s->search.run->context, s->values->queries, &file);

    if (rc == PROG_DONE && prog_shards_open(&s->shards, s->search.run->context, 0, &first, &err) != THR_OK)
        rc = prog_failed(&err);
    if (rc == PROG_DONE &&
        (thr_reader_get_shape(file).dtype == THR_DTYPE_NONE || prog_encodes_vectors(thr_tower_of_index(first))))
        rc = prog_texts_reader(first, s->values->dir, s->values->queries, file, &texts);
    if (rc == PROG_DONE && texts == NULL) {
        thr_index_free(first);
        first = NULL;
    }
    if (rc == PROG_DONE)
        rc = open_features(s, texts != NULL);
    if (rc == PROG_DONE)
        rc = prog_search_rows(&s->search, texts != NULL ? texts : file, s->values->dir, (uint32_t)s->shards.n_dims);
    thr_reader_free(texts);
    thr_reader_free(file);
    thr_index_free(first);
    return rc;
}

int prog_shards_search_words(prog_shards_search *s) {
    const int rc = open_features(s, s->like == NULL);
    return rc == PROG_DONE ? prog_search_words(&s->search, s->vectors, (uint32_t)s->shards.n_dims) : rc;
}

void prog_shards_search_free(prog_shards_search *s) {
    s->search.found = NULL; /* s->merged */
    prog_search_free(&s->search);
    prog_filter_free(&s->filter);
    free(s->bits);
    free(s->like);
    free(s->vectors);
    for (int i = 0; i < 2; i++) {
        free(s->ids[i]);
        free(s->scores[i]);
    }
    free(s->certified);
    free(s->least);
    free(s->offsets);
    close_all(s);
    thr_index_free(s->named);
    prog_shards_free(&s->shards);
}
