/* SPDX-License-Identifier: Apache-2.0 */
/* radius.c - the parts of a search that differ by radius. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/search.h"
#include "cli/messages.h"

/*
 * Queries of a batch, a thread: as many as scan the codes together. Answers have no known length, so a batch is small.
 */
enum { QUERIES_A_THREAD = 16 };

/*
 * For l2 the user gives a distance and the library needs minus its square, rounded so that items just at it are within.
 */
static int find_least_score(const char *dir, thr_metric metric, double radius, float *least_score) {
    *least_score = (float)radius;
    if (metric == THR_METRIC_COSINE && fabs(radius) > 1.0)
        prog_note("--radius %g: a cosine is between -1 and 1, so %s is found", radius,
                  radius > 0 ? "nothing" : "every item");
    if (metric != THR_METRIC_L2)
        return PROG_DONE;
    if (radius < 0.0) {
        prog_error("--radius %g: %s is an index for l2, where it is a distance: give 0 or more", radius, dir);
        return PROG_WRONG_WORDS;
    }
    *least_score = (float)(-radius * radius);
    if ((double)*least_score > -radius * radius)
        *least_score = nextafterf(*least_score, -INFINITY);
    return PROG_DONE;
}

int prog_search_prepare_radius(prog_search *s, const char *dir, thr_metric metric, double radius, const char *output,
                               float *least_score) {
    if (s->results.format == PROG_FORMAT_IVECS) {
        prog_error("-o %s: rows of .ivecs have one length, but answers by --radius have not; write .jsonl or .trec",
                   output);
        return PROG_WRONG_WORDS;
    }
    s->batch = (uint64_t)QUERIES_A_THREAD * thr_context_threads(s->run->context);
    return find_least_score(dir, metric, radius, least_score);
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
