/* SPDX-License-Identifier: Apache-2.0 */
#include "search/options.h"

#include <math.h>
#include <stdlib.h>

#include "cli/messages.h"
#include "search/texts.h"

static const double LARGEST_ESTIMATED_RECALL = 0.999; /* a search with a larger one is exact */

/* Queries come from one place. */
static int check_queries(const program *run, const prog_search_values *values) {
    const bool queries = values->queries != NULL, like = values->like.n > 0, text = values->text.n > 0;

    if (queries + like + text == 1)
        return PROG_DONE;
    if (!queries && !like && !text)
        prog_error("QUERIES, --like NAME or --text TEXT is missing; %s", prog_see_help(run));
    else
        prog_error("%s and %s exclude each other; %s", queries ? "QUERIES" : "--like",
                   like && queries ? "--like" : "--text", prog_see_help(run));
    return PROG_WRONG_WORDS;
}

/* Features, values and ranking models. */
static int check_fused(const program *run, const prog_search_values *values) {
    const prog_features_values *with = &values->with;
    const bool radius = !isnan(values->radius);

    if (radius && (values->features != NULL || with->target != NULL))
        prog_error("--features and --target are for the best -k, not for --radius; %s", prog_see_help(run));
    else if (radius && (values->rerank.model != NULL || values->rerank.columns != NULL))
        prog_error("--rank and --rank-columns are for the best -k, not for --radius; %s", prog_see_help(run));
    else if (values->features == NULL && values->text.n == 0 && values->queries == NULL &&
             (with->multipliers != NULL || with->offsets != NULL || with->explain || with->value != 0))
        prog_error("--value, --multipliers, --offsets and --explain need --features, or users in words; %s",
                   prog_see_help(run));
    else
        return prog_rerank_check(run, &values->rerank, values->k, values->output);
    return PROG_WRONG_WORDS;
}

int prog_search_values_check(const program *run, const prog_search_values *values) {
    static const char *const of_codes[] = {"recall", "survivors", "query-bits", NULL};

    if (check_queries(run, values) != PROG_DONE || check_fused(run, values) != PROG_DONE)
        return PROG_WRONG_WORDS;
    if (values->skip_missing && values->filter == NULL) {
        prog_error("--skip-missing needs --filter; %s", prog_see_help(run));
        return PROG_WRONG_WORDS;
    }
    if (!isnan(values->radius) && (values->candidates != 0 || values->survivors != 0)) {
        prog_error("--candidates and --survivors are for the best -k, not for --radius; %s", prog_see_help(run));
        return PROG_WRONG_WORDS;
    }
    if (values->exact)
        prog_note_unused(run, of_codes, "with --exact");
    return PROG_DONE;
}

static uint64_t at_most(uint64_t n, uint64_t most) {
    return n < most ? n : most;
}

void prog_search_values_set(const prog_search_values *values, uint64_t n_items, thr_search_options *options) {
    options->query_bits = (uint32_t)values->query_bits;
    options->recall = (float)values->recall;
    options->n_survivors = at_most(values->survivors, n_items);
    options->n_candidates = at_most(values->candidates, n_items);
    options->exact = values->exact;
    options->value = (thr_hits_value)values->with.value;
}

int prog_search_values_filter(const prog_search_values *values, program *run, const prog_items *items,
                              prog_filter *filter, thr_search_options *options) {
    if (values->filter == NULL)
        return PROG_DONE;
    filter->skip_missing = values->skip_missing;
    filter->hint = "; --skip-missing leaves out such items";
    const int rc = prog_filter_read(filter, run->context, values->filter, items);
    options->filter = filter->words;
    options->filter_bits = filter->n_bits;
    if (filter->n_missing > 0)
        prog_note("%s: skipped %s that the %s does not have", values->filter,
                  prog_counted(filter->n_missing, "item").text, items->what);
    return rc;
}

int prog_search_values_words(const prog_search_values *values, const prog_items *items, prog_search *s, uint64_t **like,
                             float **vectors) {
    int rc = PROG_DONE;

    if (values->like.n > 0) {
        s->words = &values->like;
        rc = prog_items_vectors(items, values->like.items, values->like.n, like, vectors);
        s->like = *like;
    } else if (values->text.n > 0) {
        s->words = &values->text;
        rc = prog_texts_encode(items->parts[0].index, items->dir, &values->text, vectors);
    }
    return rc;
}

/* Whether certifying makes the search read cells that it skips otherwise, or would skip without a journal. */
static bool certifying_reads_more(const prog_search_values *values, const prog_search *s) {
    const bool counted = values->candidates != 0 || values->survivors != 0;

    return s->has_cells && isnan(values->radius) && !values->exact && values->features == NULL && !counted &&
           values->recall <= LARGEST_ESTIMATED_RECALL;
}

static bool certifies(const prog_search_values *values, const prog_search *s) {
    const bool shows = prog_results_show_certified(&s->results) || s->run->globals.verbose;
    const bool skips = certifying_reads_more(values, s);

    if (shows && skips && !values->certify)
        prog_detail("answers are not certified, because that would read %s: use --certify",
                    s->may_skip_cells ? "every cell" : "more items");
    return values->certify || (shows && !skips);
}

int prog_search_values_prepare(const prog_search_values *values, thr_metric metric, uint64_t n_allowed, prog_search *s,
                               float *least_score) {
    s->by_radius = !isnan(values->radius);
    s->reads_all_cells = s->has_cells && (values->certify || !s->may_skip_cells || !certifying_reads_more(values, s));
    const int rc = s->by_radius
                       ? prog_search_prepare_radius(s, values->dir, metric, values->radius, values->output, least_score)
                       : prog_search_make_room(s, values->k, values->rerank.depth, n_allowed);

    if (rc != PROG_DONE || !certifies(values, s))
        return rc;
    s->certified = malloc((size_t)s->batch);
    return s->certified != NULL ? PROG_DONE : prog_no_memory();
}
