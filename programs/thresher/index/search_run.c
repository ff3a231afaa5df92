/* SPDX-License-Identifier: Apache-2.0 */
#include "index/search_run.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "index/collection.h"
#include "index/rows.h"
#include "input/input.h"
#include "search/texts.h"
#include "cli/messages.h"

/* ------------------------------------------------------------------------------------------------ search */

static uint64_t model_of(const thr_index *index) {
    return thr_dual_of_index(index) != NULL    ? thr_dual_get_info(thr_dual_of_index(index)).fingerprint
           : thr_tower_of_index(index) != NULL ? thr_tower_get_info(thr_tower_of_index(index)).fingerprint
                                               : 0;
}

/* Move to the newest commit. *other_model: it has another model than the first one. */
static thr_status follow(prog_vector_search *s, bool *other_model, thr_error *err) {
    thr_index *newer;
    const thr_status status = thr_index_refresh(s->index, &newer, err);

    if (newer == NULL)
        return status;
    if (s->index != s->first)
        thr_index_free(s->index);
    s->index = newer;
    prog_search_values_set(s->values, thr_index_get_info(newer).n_items, &s->options);
    *other_model = model_of(newer) != model_of(s->first);
    if (!*other_model)
        return THR_OK;
    *err = (thr_error){.status = THR_ECHANGED};
    (void)snprintf(err->text, sizeof err->text, "%.200s: was built again with another model: search it again",
                   s->values->dir);
    return THR_ECHANGED;
}

/* With --verbose: print the plan of the first batch; in a collection, that of its first shard. */
static void explain(prog_vector_search *s, thr_index *index, const thr_search_options *options, uint64_t n_queries) {
    char text[THR_EXPLAIN_SIZE], *rest = NULL;
    thr_error err;

    if (s->explained || !s->search.run->globals.verbose)
        return;
    s->explained = true;
    if (thr_index_explain(index, n_queries, s->search.by_radius ? 0 : s->search.k, options, text, &err) != THR_OK)
        return; /* the search fails in the same way, and says so */
    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
        prog_detail("%s", line);
}

static thr_status search_index(prog_vector_search *s, const thr_matrix *queries, thr_error *err) {
    prog_search *search = &s->search;
    const thr_hits_queries features = prog_features_view(&search->features, 0);

    s->options.features = search->features.name != NULL ? &features : NULL;
    s->options.features_model = search->features.model;
    s->options.target = prog_features_target(&search->features, 0);
    explain(s, s->index, &s->options, queries->n_rows);
    if (!search->by_radius)
        return thr_index_search(s->index, queries, search->k, &s->options, search->ids, search->scores, err);
    thr_radius_result_free(search->found);
    return thr_index_search_radius(s->index, queries, s->least_score, &s->options, &search->found, err);
}

/* The features of a batch by the posting lists of a shard. */
typedef struct shard_features {
    prog_features *features;
    thr_hits_queries view;
} shard_features;

static void set_features(void *user, uint64_t shard, thr_search_options *options) {
    shard_features *of = user;

    of->view = prog_features_view(of->features, (size_t)shard);
    options->features = of->features->name != NULL ? &of->view : NULL;
    options->target = prog_features_target(of->features, (size_t)shard);
}

/* The plan is made without the filter, whose bits are those of the collection. */
static void explain_first_shard(prog_vector_search *s, const thr_shards_search_options *options, uint64_t n_queries) {
    thr_search_options of_shard = options->common;
    thr_index *index;

    of_shard.filter = NULL;
    set_features(options->user, 0, &of_shard);
    if (thr_shards_index(s->shards, 0, &index, NULL) == THR_OK)
        explain(s, index, &of_shard, n_queries);
}

static thr_status search_shards(prog_vector_search *s, const thr_matrix *queries, thr_error *err) {
    prog_search *search = &s->search;
    shard_features of = {.features = &search->features};
    thr_shards_search_options options = {.common = s->options, .features = set_features, .user = &of};

    options.common.features_model = search->features.model;
    if (search->run->globals.verbose)
        explain_first_shard(s, &options, queries->n_rows);
    if (!search->by_radius)
        return thr_shards_search(s->shards, queries, search->k, &options, search->ids, search->scores, err);
    thr_radius_result_free(search->found);
    return thr_shards_search_radius(s->shards, queries, s->least_score, &s->options, &search->found, err);
}

/* With --follow: wait up to 10 seconds while another program replaces the directory. */
static thr_status search_batch(prog_search *search, const thr_matrix *queries, thr_error *err) {
    enum { TRIES = 100 };
    const struct timespec wait = {.tv_nsec = 100 * 1000 * 1000};
    prog_vector_search *s = (prog_vector_search *)(void *)search;
    bool other_model = false;

    if (s->first == NULL)
        return s->shards != NULL ? search_shards(s, queries, err) : search_index(s, queries, err);
    for (int i = 0;; i++) {
        thr_status status = follow(s, &other_model, err);
        const bool newest = status == THR_OK;
        if (newest)
            status = search_index(s, queries, err);
        if ((newest && status != THR_ECHANGED) || other_model || i == TRIES)
            return status;
        (void)nanosleep(&wait, NULL);
    }
}

/* ------------------------------------------------------------------------------------------------ open */

static int allocate_parts(prog_vector_search *s, uint64_t n) {
    s->parts = calloc((size_t)n, sizeof *s->parts);
    s->lists = calloc((size_t)n, sizeof *s->lists);
    return s->parts != NULL && s->lists != NULL ? PROG_DONE : prog_no_memory();
}

static int open_index(prog_vector_search *s) {
    const prog_search_values *values = s->values;
    thr_error err = {.status = THR_OK};

    if (thr_index_open(s->search.run->context, values->dir, &s->index, &err) != THR_OK)
        return prog_failed(&err);
    s->first = values->follow ? s->index : NULL;
    if (allocate_parts(s, 1) != PROG_DONE)
        return PROG_FAILED;
    s->items = prog_items_of_index(s->index, values->dir, s->parts);
    s->lists[0] = (prog_hits_part){.hits = thr_index_hits(s->index), .index = s->index};
    s->search.n_items = values->follow ? THR_NO_ID : thr_index_get_info(s->index).n_items; /* it may grow */
    return PROG_DONE;
}

static int open_shards(prog_vector_search *s) {
    thr_error err = {.status = THR_OK};

    if (thr_shards_open(s->search.run->context, s->values->dir, &s->shards, &err) != THR_OK)
        return prog_failed(&err);
    const thr_shards_info info = thr_shards_get_info(s->shards);
    const thr_shard *list = thr_shards_list(s->shards);
    if (allocate_parts(s, info.n_shards) != PROG_DONE)
        return PROG_FAILED;
    for (uint64_t i = 0; i < info.n_shards; i++) {
        const uint64_t first_id = info.has_ids ? 0 : list[i].first_row;
        thr_index *index = NULL;
        if (thr_shards_index(s->shards, i, &index, &err) != THR_OK)
            return prog_failed(&err);
        s->parts[i] = (prog_items_part){.index = index,
                                        .first_row = list[i].first_row,
                                        .n_rows = list[i].n_items,
                                        .first_id = first_id,
                                        .least_id = list[i].least_id,
                                        .greatest_id = list[i].greatest_id};
        s->lists[i] = (prog_hits_part){thr_index_hits(index), list[i].first_row, first_id, index};
    }
    s->items = (prog_items){.what = "collection",
                            .dir = s->values->dir,
                            .n_rows = info.n_items,
                            .has_names = info.has_names,
                            .has_ids = info.has_ids,
                            .is_moved = info.has_removed,
                            .n_parts = (size_t)info.n_shards,
                            .parts = s->parts};
    s->search.n_items = info.n_items;
    return PROG_DONE;
}

/* Set what depends on cells, of which the journal of an index may be folded. */
static void find_cells(prog_vector_search *s) {
    prog_search *search = &s->search;
    bool has_journal = false;

    for (size_t i = 0; i < s->items.n_parts; i++) {
        const thr_index *index = s->parts[i].index;
        search->has_cells = search->has_cells || thr_index_get_cells(index).n_cells > 0;
        has_journal = has_journal || thr_index_get_journal(index).n_bytes > 0;
    }
    search->may_skip_cells = search->has_cells && (s->values->follow || !has_journal);
}

/* ------------------------------------------------------------------------------------------------ prepare */

/* The name of an item; in a collection with names ids are rows. */
static const char *name_of(const void *searched, uint64_t id) {
    const prog_vector_search *s = searched;
    size_t low = 0, high = s->items.n_parts;

    if (s->shards == NULL)
        return thr_index_name(s->index, id);
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (s->parts[middle].first_row <= id)
            low = middle;
        else
            high = middle;
    }
    return thr_index_name(s->parts[low].index, id - s->parts[low].first_id);
}

static int open_features(prog_vector_search *s) {
    prog_hits_parts parts = {s->lists, s->items.n_parts, prog_items_disorder(&s->items)};

    for (size_t i = 0; i < s->items.n_parts; i++)
        if (s->lists[i].hits == NULL)
            parts.n = 0;
    return prog_search_values_features(s->values, &s->search, &parts,
                                       s->shards != NULL ? "features= of thresher.shards.build"
                                                         : "thresher index build --features");
}

/* Users given as words: a file of lines, or texts. */
static int open_users(prog_vector_search *s, const char *file, const prog_list *texts) {
    const thr_dual *dual = thr_dual_of_index(s->parts[0].index);

    if (dual == NULL || s->lists[0].hits == NULL || s->first == NULL)
        return prog_search_values_users(s->values, &s->search, dual, file, texts);
    prog_error("--follow does not work with features, and %s has some", s->values->dir);
    return PROG_FAILED;
}

/* Estimates cannot reach a recall of the true best. A text model's codes are its vectors, so their scores are exact. */
static void note_recall(const prog_vector_search *s, const thr_index_info *info) {
    const thr_tower *tower = thr_tower_of_index(s->parts[0].index);
    const bool estimates = info->keep == THR_DTYPE_NONE && (tower == NULL || prog_encodes_vectors(tower));

    if (estimates && prog_is_given(s->search.run, "recall"))
        prog_note("%s: has no vectors, so scores are estimates: --recall is the share of the best by these, not of the "
                  "true best",
                  s->values->dir);
}

/* With --follow every query sees the newest commit, and is answered before the next one is read. */
static void follow_queries(prog_search *search) {
    search->batch = 1;
    search->flush = true;
    search->skips_wrong = !search->by_radius;
}

int prog_vector_search_prepare(prog_vector_search *s) {
    const prog_search_values *values = s->values;
    prog_search *search = &s->search;
    int rc = prog_is_collection(values->dir) ? open_shards(s) : open_index(s);

    if (rc != PROG_DONE)
        return rc;
    const thr_index_info info = thr_index_get_info(s->parts[0].index);
    s->n_dims = info.n_dims;
    note_recall(s, &info);
    find_cells(s);
    search->queries = values->queries;
    search->search_batch = search_batch;
    s->options = (thr_search_options){0};
    prog_search_values_set(values, values->follow ? info.n_items : search->n_items, &s->options);
    rc = prog_search_values_filter(values, search->run, &s->items, &s->filter, &s->options);
    if (rc == PROG_DONE)
        rc = prog_search_values_words(values, &s->items, search, &s->like, &s->vectors);
    if (rc == PROG_DONE)
        rc = prog_results_open(&search->results, search->run, values->output, s->items.has_names ? name_of : NULL, s,
                               values->rerank.columns != NULL);
    if (rc == PROG_DONE)
        rc = prog_search_values_prepare(values, info.metric, values->filter != NULL ? s->filter.n_allowed : UINT64_MAX,
                                        search, &s->least_score);
    s->options.certified = search->certified;
    search->reads_all_cells = search->reads_all_cells && info.relative_codes;
    if (values->follow)
        follow_queries(search);
    if (rc == PROG_DONE)
        rc = prog_rerank_open(&search->rerank, search->run, &values->rerank, &s->items, search->depth);
    return rc == PROG_DONE ? open_features(s) : rc;
}

/* ------------------------------------------------------------------------------------------------ all queries */

int prog_vector_search_file(prog_vector_search *s) {
    const thr_index *model = s->parts[0].index;
    const prog_search_values *values = s->values;
    thr_reader *file = NULL, *texts = NULL;
    int rc = prog_input_open(s->search.run->context, values->queries, &file);

    if (rc != PROG_DONE)
        return rc;
    if (thr_reader_get_shape(file).dtype == THR_DTYPE_NONE || prog_encodes_vectors(thr_tower_of_index(model)))
        rc = prog_texts_reader(model, values->dir, values->queries, file, &texts);
    if (rc == PROG_DONE)
        rc = texts != NULL ? open_users(s, values->queries, NULL)
                           : prog_search_values_users(values, &s->search, NULL, NULL, NULL);
    if (rc == PROG_DONE)
        rc = prog_search_rows(&s->search, texts != NULL ? texts : file, values->dir, s->n_dims);
    thr_reader_free(texts);
    thr_reader_free(file);
    return rc;
}

int prog_vector_search_words(prog_vector_search *s) {
    const int rc = s->like == NULL ? open_users(s, NULL, &s->values->text) : PROG_DONE;

    return rc == PROG_DONE ? prog_search_words(&s->search, s->vectors, s->n_dims) : rc;
}

void prog_vector_search_free(prog_vector_search *s) {
    prog_search_free(&s->search);
    prog_filter_free(&s->filter);
    free(s->vectors);
    free(s->like);
    free(s->parts);
    free(s->lists);
    if (s->first != s->index)
        thr_index_free(s->first);
    thr_index_free(s->index);
    thr_shards_free(s->shards);
}
