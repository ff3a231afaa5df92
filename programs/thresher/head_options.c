/* SPDX-License-Identifier: Apache-2.0 */
#include "head_options.h"

const char *const prog_normalisers[] = {"candidates", "exact", "sampled", NULL};

void prog_head_take_options(const program *run, const prog_head_values *values, thr_head_query_options *query) {
    query->normaliser = (thr_head_normaliser)values->normaliser;
    if (prog_is_given(run, "frequent"))
        query->n_frequent = (uint32_t)values->frequent;
    if (prog_is_given(run, "threshold"))
        query->threshold = (uint32_t)values->threshold;
    if (prog_is_given(run, "shortlist"))
        query->n_shortlist = (uint32_t)values->shortlist;
}
