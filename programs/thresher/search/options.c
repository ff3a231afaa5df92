/* SPDX-License-Identifier: Apache-2.0 */
#include "search/options.h"

#include <math.h>
#include <stdlib.h>

#include "cli/messages.h"

int prog_search_values_check(const program *run, const prog_search_values *values) {
    static const char *const of_codes[] = {"recall", "survivors", "query-bits", NULL};

    if (!isnan(values->radius) &&
        (values->candidates != 0 || values->survivors != 0 || !isnan(values->extra) || values->extra_distance != 0)) {
        prog_error("--candidates, --survivors, --extra and --extra-distance are for the best -k, not for --radius; %s",
                   prog_see_help(run));
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
    if (!isnan(values->extra))
        options->extra = (float)values->extra;
    options->extra_distance = values->extra_distance;
}

int prog_search_values_prepare(const prog_search_values *values, thr_metric metric, uint64_t depth, uint64_t n_allowed,
                               prog_search *s, float *least_score) {
    s->by_radius = !isnan(values->radius);
    const int rc = s->by_radius
                       ? prog_search_prepare_radius(s, values->dir, metric, values->radius, values->output, least_score)
                       : prog_search_make_room(s, values->k, depth, n_allowed);

    if (rc != PROG_DONE || (!prog_results_show_certified(&s->results) && !s->run->globals.verbose))
        return rc;
    s->certified = malloc((size_t)s->batch);
    return s->certified != NULL ? PROG_DONE : prog_no_memory();
}
