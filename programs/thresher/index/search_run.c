/* SPDX-License-Identifier: Apache-2.0 */
#include "index/search_run.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "index/rows.h"
#include "input/input.h"
#include "search/texts.h"
#include "cli/messages.h"

/* ------------------------------------------------------------------------------------------------ prepare */

static const char *name_of(const void *index, uint64_t id) {
    return thr_index_name(index, id);
}

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
    s->info = thr_index_get_info(newer);
    s->search.results.named = newer;
    prog_search_values_set(s->values, s->info.n_items, &s->options);
    *other_model = model_of(newer) != model_of(s->first);
    if (!*other_model)
        return THR_OK;
    *err = (thr_error){.status = THR_ECHANGED};
    (void)snprintf(err->text, sizeof err->text, "%.200s: was built again with another model: search it again",
                   s->values->dir);
    return THR_ECHANGED;
}

/* With --verbose: print the plan of the first batch. */
static void explain(prog_vector_search *s, uint64_t n_queries) {
    char text[THR_EXPLAIN_SIZE], *rest = NULL;
    thr_error err;

    if (s->explained || !s->search.run->globals.verbose)
        return;
    s->explained = true;
    if (thr_index_explain(s->index, n_queries, s->search.by_radius ? 0 : s->search.k, &s->options, text, &err) !=
        THR_OK)
        return; /* the search fails in the same way, and says so */
    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
        prog_detail("%s", line);
}

static thr_status search_once(prog_vector_search *s, const thr_matrix *queries, thr_error *err) {
    prog_search *search = &s->search;
    const thr_hits_queries features = prog_features_view(&search->features, 0);

    s->options.features = search->features.name != NULL ? &features : NULL;
    s->options.features_model = search->features.model;
    explain(s, queries->n_rows);
    if (!search->by_radius)
        return thr_index_search(s->index, queries, search->k, &s->options, search->ids, search->scores, err);
    thr_radius_result_free(search->found);
    return thr_index_search_radius(s->index, queries, s->least_score, &s->options, &search->found, err);
}

/* With --follow: wait up to 10 seconds while another program replaces the directory. */
static thr_status search_batch(prog_search *search, const thr_matrix *queries, thr_error *err) {
    enum { TRIES = 100 };
    const struct timespec wait = {.tv_nsec = 100 * 1000 * 1000};
    prog_vector_search *s = (prog_vector_search *)(void *)search;
    bool other_model = false;

    if (s->first == NULL)
        return search_once(s, queries, err);
    for (int i = 0;; i++) {
        thr_status status = follow(s, &other_model, err);
        const bool newest = status == THR_OK;
        if (newest)
            status = search_once(s, queries, err);
        if ((newest && status != THR_ECHANGED) || other_model || i == TRIES)
            return status;
        (void)nanosleep(&wait, NULL);
    }
}

static int open_features(prog_vector_search *s) {
    s->part = (prog_hits_part){.hits = thr_index_hits(s->index), .index = s->index};
    prog_items_part part;
    const prog_items items = prog_items_of_index(s->index, "", &part);
    const prog_hits_parts parts = {&s->part, s->part.hits != NULL ? 1 : 0, prog_items_disorder(&items)};
    const int rc = prog_search_values_features(s->values, &s->search, &parts, "thresher index build --features");

    s->options.target = prog_features_target(&s->search.features, 0);
    return rc;
}

/* Users given as words: a file of lines, or texts. */
static int open_users(prog_vector_search *s, const char *file, const prog_list *texts) {
    const thr_dual *dual = thr_dual_of_index(s->index);

    if (dual == NULL || s->part.hits == NULL || s->first == NULL)
        return prog_search_values_users(s->values, &s->search, dual, file, texts);
    prog_error("--follow does not work with features, and %s has some", s->values->dir);
    return PROG_FAILED;
}

/* Estimates cannot reach a recall of the true best. A text model's codes are its vectors, so their scores are exact. */
static void note_recall(const prog_vector_search *s) {
    const thr_tower *tower = thr_tower_of_index(s->index);
    const bool estimates = s->info.keep == THR_DTYPE_NONE && (tower == NULL || prog_encodes_vectors(tower));

    if (estimates && prog_is_given(s->search.run, "recall"))
        prog_note("%s: has no vectors, so scores are estimates: --recall is the share of the best by these, not of the "
                  "true best",
                  s->values->dir);
}

int prog_vector_search_prepare(prog_vector_search *s) {
    const prog_search_values *values = s->values;
    prog_search *search = &s->search;
    thr_error err = {.status = THR_OK};

    if (thr_index_open(search->run->context, values->dir, &s->index, &err) != THR_OK)
        return prog_failed(&err);
    s->info = thr_index_get_info(s->index);
    note_recall(s);
    s->items = prog_items_of_index(s->index, values->dir, &s->all);
    s->first = values->follow ? s->index : NULL;
    search->n_items = values->follow ? THR_NO_ID : s->info.n_items; /* it may grow */
    search->queries = values->queries;
    search->has_cells = thr_index_get_cells(s->index).n_cells > 0;
    search->may_skip_cells =
        search->has_cells && (values->follow || thr_index_get_journal(s->index).n_bytes == 0); /* it may be folded */
    search->search_batch = search_batch;
    s->options = (thr_search_options){0};
    prog_search_values_set(values, s->info.n_items, &s->options);
    int rc = prog_search_values_filter(values, search->run, &s->items, &s->filter, &s->options);
    if (rc == PROG_DONE)
        rc = prog_search_values_words(values, &s->items, search, &s->like, &s->vectors);
    if (rc == PROG_DONE)
        rc = prog_results_open(&search->results, search->run, values->output, s->info.has_names ? name_of : NULL,
                               s->index, values->rerank.columns != NULL);
    if (rc == PROG_DONE)
        rc = prog_search_values_prepare(
            values, s->info.metric, values->filter != NULL ? s->filter.n_allowed : UINT64_MAX, search, &s->least_score);
    s->options.certified = search->certified;
    search->reads_all_cells = search->reads_all_cells && s->info.relative_codes;
    if (values->follow) {
        search->batch = 1; /* every query sees the newest commit, and is answered before the next one is read */
        search->flush = true;
        search->skips_wrong = !search->by_radius;
    }
    if (rc == PROG_DONE)
        rc = prog_rerank_open(&search->rerank, search->run, &values->rerank, &s->items, search->depth);
    return rc == PROG_DONE ? open_features(s) : rc;
}

/* ------------------------------------------------------------------------------------------------ search */

int prog_vector_search_file(prog_vector_search *s) {
    thr_reader *file = NULL, *texts = NULL;
    int rc = prog_input_open(s->search.run->context, s->values->queries, &file);

    if (rc != PROG_DONE)
        return rc;
    if (thr_reader_get_shape(file).dtype == THR_DTYPE_NONE || prog_encodes_vectors(thr_tower_of_index(s->index)))
        rc = prog_texts_reader(s->index, s->values->dir, s->values->queries, file, &texts);
    if (rc == PROG_DONE)
        rc = texts != NULL ? open_users(s, s->values->queries, NULL)
                           : prog_search_values_users(s->values, &s->search, NULL, NULL, NULL);
    if (rc == PROG_DONE)
        rc = prog_search_rows(&s->search, texts != NULL ? texts : file, s->values->dir, s->info.n_dims);
    thr_reader_free(texts);
    thr_reader_free(file);
    return rc;
}

int prog_vector_search_words(prog_vector_search *s) {
    const int rc = s->like == NULL ? open_users(s, NULL, &s->values->text) : PROG_DONE;

    return rc == PROG_DONE ? prog_search_words(&s->search, s->vectors, s->info.n_dims) : rc;
}

void prog_vector_search_free(prog_vector_search *s) {
    prog_search_free(&s->search);
    prog_filter_free(&s->filter);
    free(s->vectors);
    free(s->like);
    if (s->first != s->index)
        thr_index_free(s->first);
    thr_index_free(s->index);
}
