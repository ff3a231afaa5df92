/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c - thr_index_explain: the plan of a search as text, one decision per line. */
#include "index/search/plan.h"

#include "base/error.h"
#include "base/minmax.h"
#include "cells/cell_blocks.h"
#include "scan/margins/margin.h"
#include "select/bitmap.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* A text that grows by lines. The longest text of all plans fits. */
typedef struct explanation {
    char *text;
    size_t n;
} explanation;

__attribute__((format(printf, 2, 3))) static void add(explanation *e, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int n = vsnprintf(e->text + e->n, THR_EXPLAIN_SIZE - e->n, format, arguments);
    va_end(arguments);
    if (n > 0)
        e->n = THR_MIN(e->n + (size_t)n, THR_EXPLAIN_SIZE - 1);
}

static bool reads_vectors(const thr_search_plan *plan) {
    return plan->source == THR_SOURCE_VECTORS || (plan->source == THR_SOURCE_BOUNDED && plan->k > 0);
}

static void add_source(const thr_index *index, const thr_search_plan *plan, explanation *e) {
    const thr_cells_corpus cells = {&index->corpus, index->cells, index->n_segments};
    const size_t n_cells = thr_cells_count(&cells);
    switch (plan->source) {
    case THR_SOURCE_NOTHING:
        add(e, "source: nothing, there are no segments");
        break;
    case THR_SOURCE_VECTORS:
        add(e, "source: the vectors of all rows%s", plan->options.filter == NULL ? "" : " that pass the filter");
        break;
    case THR_SOURCE_BOUNDED:
        add(e, "source: of %zu cells those that can hold an item of the answer, by bounds of scores", n_cells);
        break;
    case THR_SOURCE_CODES:
        add(e, "source: the codes of all rows");
        break;
    case THR_SOURCE_CELLS:
        add(e, "source: the codes of the likeliest of %zu cells, and of more until the recall is reached", n_cells);
        break;
    }
    add(e, plan->reason == NULL ? "\n" : ": %s\n", plan->reason);
    if (plan->has_tail && index->n_tail > 0)
        add(e, "tail: %" PRIu32 " rows of the journal are scored exactly\n", index->n_tail);
    if (plan->encodes)
        add(e, "queries: the index's model encodes them\n");
}

static void add_filter(const thr_index *index, const thr_search_plan *plan, explanation *e) {
    const uint64_t n_rows = index->manifest.n_rows;
    if (plan->tail_filter != NULL)
        add(e, "filter: %" PRIu64 " of %" PRIu64 " rows pass\n",
            thr_select_bitmap_count_range(plan->tail_filter, 0, n_rows), n_rows);
    if (plan->hits != NULL)
        add(e, "features: sums of posting lists are added to the scores of all rows\n");
}

static void add_recall_of_codes(const thr_index *index, const thr_search_plan *plan, double recall, explanation *e) {
    const bool calibrated = index->manifest.tuning.n_queries > 0;
    if (plan->job.screen_z > 0)
        add(e, "promise: recall %g, by error margins of each query\n", recall);
    else if (!(plan->options.recall > 0))
        add(e, "promise: none, the numbers of survivors and candidates are given\n");
    else
        add(e, "promise: recall %g%s, %s\n", recall,
            index->vectors.keep == THR_DTYPE_NONE ? " of the best by the codes" : "",
            calibrated ? "for queries like those of the calibration" : "by numbers that were not calibrated");
}

static void add_promise(const thr_index *index, const thr_search_plan *plan, explanation *e) {
    const double recall = (double)plan->options.recall;
    if (reads_vectors(plan))
        add(e, "promise: all scores are exact\n");
    else if (plan->source == THR_SOURCE_CELLS)
        add(e, "promise: recall %g; %g %% of the misses in cells that are not read, the others by error margins\n",
            recall, 100 * THR_CELLS_UNVISITED_SHARE);
    else if (plan->k == 0 && recall < 1 && !plan->options.exact)
        add(e,
            "promise: an item that just reaches the score is found with probability %g, a better one with a higher\n",
            recall);
    else if (plan->k == 0)
        add(e, "promise: no item is missed\n");
    else if (plan->source == THR_SOURCE_CODES)
        add_recall_of_codes(index, plan, recall, e);
}

/* The numbers of rows that a screen of all codes keeps. */
static void add_counts(const thr_search_plan *plan, explanation *e) {
    const thr_scan_corpus *corpus = &plan->corpus;
    const thr_job *job = &plan->job;
    if (plan->source != THR_SOURCE_CODES || plan->k == 0)
        return;
    add(e, "screen: %" PRIu32 " of %" PRIu32 " planes, queries of %" PRIu32 " bits, %zu survivors\n", corpus->lead,
        corpus->quantiser->item_bits, job->query_bits, job->n_survivors);
    if (plan->reranks)
        add(e, "refine: %" PRIu64 " vectors\n", plan->n_found);
    else if (job->screen_z > 0)
        add(e, "refine: %" PRIu64 " vectors, then all others that can be among the best\n",
            THR_MIN(thr_scan_first_refined(plan->k), job->n_survivors));
    else if (corpus->keep != THR_DTYPE_NONE)
        add(e, "refine: %zu vectors\n", job->n_candidates);
}

static void add_certificates(const thr_index *index, const thr_search_plan *plan, explanation *e) {
    const thr_search_options *o = &plan->options;
    const bool by_codes = plan->source == THR_SOURCE_CODES || (plan->k == 0 && !o->exact);
    const bool none = !plan->certifies || (by_codes && (plan->hits != NULL || index->vectors.keep == THR_DTYPE_NONE));
    if (o->certified == NULL)
        return;
    add(e, "certificates: %s\n",
        plan->compares_ranges           ? "by ranges of the scores of the vectors as given"
        : none                          ? "none, only exact scores without features can prove an answer"
        : !by_codes                     ? "all rows that can matter are scored exactly"
        : plan->k == 0 && o->recall < 1 ? "of queries that score all vectors"
                                        : "by bounds of the errors of codes");
}

static void add_machine(const thr_index *index, const thr_search_plan *plan, explanation *e) {
    const thr_context *context = index->context;
    const size_t group = thr_scan_group_size(context, plan->n_queries);
    const bool screens = plan->k > 0 && (plan->source == THR_SOURCE_CELLS ||
                                         (plan->source == THR_SOURCE_CODES && plan->corpus.origins == NULL));
    if (context->gpus != NULL)
        add(e, "device: %s\n", screens ? thr_context_device(context) : "cpu: such searches do not run on GPUs");
    if (group == 0)
        add(e, "threads: %" PRIu32 ", all for one query at a time\n", context->n_threads);
    else
        add(e, "threads: %" PRIu32 ", each for groups of %zu queries\n", context->n_threads, group);
}

static void explain(const thr_index *index, const thr_search_plan *plan, char *text) {
    explanation e = {text, 0};
    add_source(index, plan, &e);
    add_filter(index, plan, &e);
    add_promise(index, plan, &e);
    add_counts(plan, &e);
    add_certificates(index, plan, &e);
    add_machine(index, plan, &e);
}

static thr_status check(const thr_index *index, uint64_t n_queries, uint64_t k, const thr_search_options *options,
                        thr_error *err) {
    if (n_queries == 0)
        return thr_fail(err, THR_EINVAL, "0 queries to explain: give 1 or more");
    if (k == 0)
        return thr_index_check_radius_options(index, options, err);
    THR_TRY(thr_index_check_options(index, options, k, err));
    return thr_index_feature_scores_check(index->hits, index->manifest_path, options, n_queries, err);
}

thr_status thr_index_explain(thr_index *index, uint64_t n_queries, uint64_t k, const thr_search_options *options,
                             char *text, thr_error *err) {
    const thr_search_options complete = thr_index_complete_search(options);
    thr_search_plan plan;
    if (index == NULL || text == NULL)
        return thr_fail(err, THR_EINVAL, "an explanation needs an index and memory for the text");
    THR_TRY(check(index, n_queries, k, &complete, err));
    THR_TRY(thr_index_check_unchanged(index, err));
    const thr_status status = thr_index_plan_begin(index, n_queries, k, &complete, &plan, err);
    if (status == THR_OK)
        explain(index, &plan, text);
    thr_index_plan_end(index, &plan);
    return thr_index_check_after(index, status, err);
}
