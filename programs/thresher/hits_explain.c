/* SPDX-License-Identifier: Apache-2.0 */
#include "hits_explain.h"

#include <stdlib.h>

#include "talk.h"

/* Every feature may match in every item. */
static int reserve(prog_explainer *e, size_t n_features, size_t n_items) {
    if (n_features > e->shares_capacity) {
        free(e->shares);
        free(e->matched);
        e->shares_capacity = 2 * n_features;
        e->shares = malloc(e->shares_capacity * sizeof *e->shares);
        e->matched = malloc(e->shares_capacity);
    }
    if (n_features * n_items >= e->matches_capacity) {
        free(e->matches);
        e->matches_capacity = 2 * n_features * n_items + 1;
        e->matches = calloc(e->matches_capacity, sizeof *e->matches);
    }
    if (n_items >= e->ends_capacity) {
        free(e->match_ends);
        e->ends_capacity = n_items + 1;
        e->match_ends = calloc(e->ends_capacity, sizeof *e->match_ends);
    }
    const bool shares = e->shares_capacity == 0 || (e->shares != NULL && e->matched != NULL);
    return shares && e->matches != NULL && e->match_ends != NULL ? PROG_DONE : prog_no_memory();
}

int prog_explain(prog_explainer *e, const thr_hits *hits, const prog_hits_query *query, prog_answer *answer) {
    thr_error err = {.status = THR_OK};
    uint64_t n = 0;
    const int rc = reserve(e, query->n, (size_t)answer->n);
    for (uint64_t i = 0; i < answer->n && rc == PROG_DONE; i++) {
        if (thr_hits_explain(hits, answer->ids[i], query->features, query->weights, query->n, e->shares, e->matched,
                             &err) != THR_OK)
            return prog_failed(&err);
        for (size_t f = 0; f < query->n; f++)
            if (e->matched[f] != 0)
                e->matches[n++] = (prog_match){query->words[f], e->shares[f]};
        e->match_ends[i] = n;
    }
    answer->matches = e->matches;
    answer->match_ends = e->match_ends;
    return rc;
}

void prog_explainer_free(prog_explainer *e) {
    free(e->matches);
    free(e->match_ends);
    free(e->shares);
    free(e->matched);
}
