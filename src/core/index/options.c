/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - defaults and names of the index's public types. */
#include <thresher/index.h>

#include <string.h>

enum {
    DEFAULT_ITEM_BITS = 3,
    DEFAULT_SAMPLE_ROWS = 4096,
    DEFAULT_CALIBRATION_QUERIES = 1000,
    /* Candidates refined for k: at least CANDIDATES_TIMES k, and at least k + CANDIDATES_MORE. */
    CANDIDATES_TIMES = 4,
    CANDIDATES_MORE = 90
};

static const float DEFAULT_RECALL = 0.99f;

const char *thr_metric_name(thr_metric metric) {
    static const char *const names[] = {"cosine", "ip", "l2"};
    return (unsigned)metric < sizeof names / sizeof names[0] ? names[metric] : "?";
}

void thr_index_build_options_init(thr_index_build_options *options) {
    memset(options, 0, sizeof *options);
    options->metric = THR_METRIC_COSINE;
    options->item_bits = DEFAULT_ITEM_BITS;
    options->keep = THR_DTYPE_F32;
    options->sample_rows = DEFAULT_SAMPLE_ROWS;
    options->calibration_queries = DEFAULT_CALIBRATION_QUERIES;
}

void thr_search_options_init(thr_search_options *options) {
    memset(options, 0, sizeof *options);
    options->recall = DEFAULT_RECALL;
}

uint64_t thr_search_candidates(uint64_t k) {
    uint64_t times, more;
    if (__builtin_mul_overflow(k, (uint64_t)CANDIDATES_TIMES, &times))
        times = UINT64_MAX;
    if (__builtin_add_overflow(k, (uint64_t)CANDIDATES_MORE, &more))
        more = UINT64_MAX;
    return times > more ? times : more;
}
