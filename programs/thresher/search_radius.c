/* SPDX-License-Identifier: Apache-2.0 */
/* search_radius.c - the parts of a search that differ by radius. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "index_search.h"
#include "talk.h"

/*
 * Queries of a batch, a thread: as many as scan the codes together. Answers have no known length, so a batch is small.
 */
enum { QUERIES_A_THREAD = 16 };

/*
 * For l2 the user gives a distance and the library needs minus its square, rounded so that items just at it are within.
 */
static int find_least_score(prog_vector_search *s) {
    const double radius = s->values->radius;

    s->least_score = (float)radius;
    if (s->info.metric != THR_METRIC_L2)
        return PROG_DONE;
    if (radius < 0.0) {
        prog_error("--radius %g: %s is an index for l2, where it is a distance: give 0 or more", radius,
                   s->values->dir);
        return PROG_WRONG_WORDS;
    }
    s->least_score = (float)(-radius * radius);
    if ((double)s->least_score > -radius * radius)
        s->least_score = nextafterf(s->least_score, -INFINITY);
    return PROG_DONE;
}

int prog_vector_search_prepare_radius(prog_vector_search *s) {
    if (s->search.results.format == PROG_FORMAT_IVECS) {
        prog_error("-o %s: rows of .ivecs have one length, but answers by --radius have not; write .jsonl or .trec",
                   s->values->output);
        return PROG_WRONG_WORDS;
    }
    s->search.batch = (uint64_t)QUERIES_A_THREAD * thr_context_threads(s->search.run->context);
    return find_least_score(s);
}

int prog_search_take_found(prog_search *s, uint64_t query, uint64_t *n) {
    const uint64_t first = s->found->offsets[query];

    *n = s->found->offsets[query + 1] - first;
    if (*n >= s->capacity) {
        s->capacity = *n + 1; /* never none */
        free(s->ids);
        free(s->scores);
        s->ids = malloc((size_t)s->capacity * sizeof *s->ids);
        s->scores = malloc((size_t)s->capacity * sizeof *s->scores);
        if (s->ids == NULL || s->scores == NULL)
            return prog_no_memory();
    }
    if (*n > 0) {
        memcpy(s->ids, s->found->ids + first, (size_t)*n * sizeof *s->ids);
        memcpy(s->scores, s->found->scores + first, (size_t)*n * sizeof *s->scores);
    }
    return PROG_DONE;
}
