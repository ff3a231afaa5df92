/* SPDX-License-Identifier: Apache-2.0 */
/* explain.h - which of a query's features the items of an answer have, and their weights. */
#pragma once

#include "hits/query.h"
#include "output/results.h"

/* A feature of the query and its position in the query. */
typedef struct prog_place {
    uint32_t feature;
    size_t at;
} prog_place;

/* Memory that is reused between answers. Zeroed before the first. */
typedef struct prog_explainer {
    prog_match *matches;
    uint64_t *match_ends;
    prog_place *places;
    size_t *first; /* the first position of each of the query's features */
    float *shares;
    uint8_t *matched;
    uint32_t *own; /* the query's features in the part that has an item */
    size_t matches_capacity, shares_capacity, ends_capacity;
} prog_explainer;

/* Add the matches of its items to an answer, which borrows them until the next. Returns PROG_DONE or an exit code. */
int prog_explain(prog_explainer *explainer, const prog_hits_parts *parts, const prog_hits_query *query,
                 prog_answer *answer);
void prog_explainer_free(prog_explainer *explainer);
