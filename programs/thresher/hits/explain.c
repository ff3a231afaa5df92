/* SPDX-License-Identifier: Apache-2.0 */
#include "hits/explain.h"

#include <inttypes.h>
#include <stdlib.h>

#include "cli/messages.h"

/* Every feature may match in every item. */
static int reserve(prog_explainer *e, size_t n_features, size_t n_items) {
    if (n_features > e->shares_capacity) {
        free(e->places);
        free(e->first);
        free(e->shares);
        free(e->matched);
        free(e->own);
        e->shares_capacity = 2 * n_features;
        e->places = malloc(e->shares_capacity * sizeof *e->places);
        e->first = malloc(e->shares_capacity * sizeof *e->first);
        e->shares = malloc(e->shares_capacity * sizeof *e->shares);
        e->matched = malloc(e->shares_capacity);
        e->own = malloc(e->shares_capacity * sizeof *e->own);
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
    const bool shares = e->shares_capacity == 0 || (e->places != NULL && e->first != NULL && e->shares != NULL &&
                                                    e->matched != NULL && e->own != NULL);
    return shares && e->matches != NULL && e->match_ends != NULL ? PROG_DONE : prog_no_memory();
}

static int by_feature(const void *a, const void *b) {
    const prog_place *x = a, *y = b;
    return x->feature != y->feature ? (x->feature > y->feature) - (x->feature < y->feature)
                                    : (x->at > y->at) - (x->at < y->at);
}

/* Find the numbers of the query's features in a part, and their first positions. */
static void find_first(prog_explainer *e, const thr_hits *hits, const prog_hits_query *query) {
    for (size_t f = 0; f < query->n; f++) {
        if (!thr_hits_feature(hits, prog_hits_query_word(query, f), &e->own[f]))
            e->own[f] = UINT32_MAX;
        e->places[f] = (prog_place){e->own[f], f};
    }
    if (query->n > 0)
        qsort(e->places, query->n, sizeof *e->places, by_feature);
    for (size_t i = 0; i < query->n; i++)
        e->first[e->places[i].at] =
            i > 0 && e->places[i].feature == e->places[i - 1].feature ? e->first[e->places[i - 1].at] : e->places[i].at;
}

/* Append the matches of an item to the n already there. A repeated feature has the sum of its weights. */
static uint64_t take_matches(prog_explainer *e, const prog_hits_query *query, uint64_t n) {
    for (size_t f = 0; f < query->n; f++)
        if (e->first[f] != f)
            e->shares[e->first[f]] += e->shares[f];
    for (size_t f = 0; f < query->n; f++)
        if (e->matched[f] != 0 && e->first[f] == f)
            e->matches[n++] = (prog_match){prog_hits_query_word(query, f), e->shares[f]};
    return n;
}

int prog_explain(prog_explainer *e, const prog_hits_parts *parts, const prog_hits_query *query, prog_answer *answer) {
    const prog_hits_part *part = NULL;
    thr_error err = {.status = THR_OK};
    uint64_t n = 0;
    const int rc = reserve(e, query->n, (size_t)answer->n);
    for (uint64_t i = 0; i < answer->n && rc == PROG_DONE; i++) {
        const prog_hits_part *has = prog_hits_parts_of_id(parts, answer->ids[i]);
        const uint64_t offsets[] = {0, query->n};
        const thr_hits_queries queries = {1, offsets, e->own, query->weights};
        if (has == NULL) {
            prog_error("the posting lists have no item with the id %" PRIu64, answer->ids[i]);
            return PROG_FAILED;
        }
        if (has != part)
            find_first(e, has->hits, query);
        part = has;
        if (thr_hits_explain(has->hits, answer->ids[i] - has->first_id, &queries, 0, e->shares, e->matched, &err) !=
            THR_OK)
            return prog_failed(&err);
        n = take_matches(e, query, n);
        e->match_ends[i] = n;
    }
    answer->matches = e->matches;
    answer->match_ends = e->match_ends;
    return rc;
}

void prog_explainer_free(prog_explainer *e) {
    free(e->matches);
    free(e->match_ends);
    free(e->places);
    free(e->first);
    free(e->shares);
    free(e->matched);
    free(e->own);
}
