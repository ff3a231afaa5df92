/* SPDX-License-Identifier: Apache-2.0 */
/* job.c - makes a search's job: the numbers of rows, the margins, and whether to score vectors without a screen. */
#include "scan/margins/bounds.h"
#include "scan/radius_plan.h"
#include "select/bitmap.h"
#include "base/blocks.h"

thr_kept_errors thr_scan_kept_errors(const thr_scan_corpus *corpus) {
    thr_kept_errors errors = {0};
    for (size_t s = 0; s < corpus->n_segments; s++)
        thr_kept_errors_join(&errors, &corpus->segments[s].kept);
    return errors;
}

uint64_t thr_scan_count_allowed(const thr_scan_corpus *corpus, const uint64_t *filter) {
    return filter == NULL ? corpus->n_rows : thr_select_bitmap_count_range(filter, 0, corpus->n_rows);
}

/*
 * Margins need factors, because errors of estimates are proportional to them, and vectors, to measure the errors. They
 * hold for scores of codes alone, without sums of posting lists.
 */
bool thr_scan_has_margins(const thr_scan_corpus *corpus) {
    return thr_has_factors(corpus) && corpus->keep != THR_DTYPE_NONE && corpus->hits == NULL;
}

/* The job without margins: the numbers of survivors and candidates, and whether to score vectors. */
static thr_job make_without_margins(thr_context *context, const thr_scan_corpus *corpus,
                                    const thr_search_options *options, const thr_answers *answers) {
    thr_job job = {.context = context, .corpus = corpus, .options = options, .answers = answers};
    const uint64_t k = answers->k;
    job.query_bits = options->query_bits != 0  ? options->query_bits
                     : corpus->query_bits != 0 ? corpus->query_bits
                                               : THR_DEFAULT_QUERY_BITS;
    job.n_blocks = thr_blocks_of(corpus->n_rows);
    job.n_allowed = thr_scan_count_allowed(corpus, options->filter);
    job.exact = options->exact || thr_scan_rows_are_cheaper(corpus, options->filter, job.n_allowed);
    /* Candidates are at least k. k suffice for exact scores, and without vectors to refine by. */
    uint64_t wanted = options->n_candidates > k ? options->n_candidates : k;
    if (job.exact || corpus->keep == THR_DTYPE_NONE)
        wanted = k;
    wanted = wanted < job.n_allowed ? wanted : job.n_allowed;
    uint64_t survivors = options->n_survivors > wanted ? options->n_survivors : wanted;
    if (job.exact || !thr_is_nested(corpus))
        survivors = wanted;
    survivors = survivors < job.n_allowed ? survivors : job.n_allowed;
    job.n_candidates = wanted == 0 ? 1 : (size_t)wanted;
    job.n_survivors = survivors == 0 ? 1 : (size_t)survivors;
    return job;
}

/* Decide which errors and lengths the search computes. */
static void choose_measures(thr_job *job) {
    job->measures_queries = thr_answer_refines(job) && (job->answers->certified != NULL || job->screen_z > 0);
    job->kept_error = thr_answer_refines(job) && job->answers->certified != NULL ? thr_scan_kept_error(job->corpus) : 0;
}

thr_job thr_scan_job_make(thr_context *context, const thr_scan_corpus *corpus, const thr_search_options *options,
                          const thr_answers *answers) {
    thr_job job = make_without_margins(context, corpus, options, answers);
    if (thr_answer_refines(&job) && options->recall > 0 && options->recall < 1 && thr_scan_has_margins(corpus)) {
        const thr_radius radius = thr_scan_radius_make(0, (double)options->recall);
        job.screen_z = radius.screen_z;
        job.rescore_z = radius.rescore_z;
    }
    choose_measures(&job);
    return job;
}

thr_job thr_scan_job_of_part(const thr_job *whole, const thr_scan_corpus *corpus, const thr_search_options *options,
                             const thr_answers *answers) {
    thr_job job = make_without_margins(whole->context, corpus, options, answers);
    job.screen_z = thr_answer_refines(&job) ? whole->screen_z : 0;
    job.rescore_z = thr_answer_refines(&job) ? whole->rescore_z : 0;
    choose_measures(&job);
    return job;
}
