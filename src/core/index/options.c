/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - defaults and names of the index's public types. */
#include "index/impl.h"

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

thr_index_build_options thr_index_complete_build(const thr_index_build_options *given) {
    thr_index_build_options o = given != NULL ? *given : (thr_index_build_options){0};
    if (o.item_bits == 0)
        o.item_bits = DEFAULT_ITEM_BITS;
    if (o.codes_only)
        o.keep = THR_DTYPE_NONE;
    else if (o.keep == THR_DTYPE_NONE)
        o.keep = THR_DTYPE_F32;
    if (o.sample_rows == 0)
        o.sample_rows = DEFAULT_SAMPLE_ROWS;
    if (o.calibration_queries == 0)
        o.calibration_queries = DEFAULT_CALIBRATION_QUERIES;
    else if (o.calibration_queries == THR_NO_CALIBRATION)
        o.calibration_queries = 0;
    return o;
}

thr_search_options thr_index_complete_search(const thr_search_options *given) {
    thr_search_options o = given != NULL ? *given : (thr_search_options){0};
    if (o.recall == 0)
        o.recall = DEFAULT_RECALL;
    return o;
}

uint64_t thr_search_candidates(uint64_t k) {
    uint64_t times, more;
    if (__builtin_mul_overflow(k, (uint64_t)CANDIDATES_TIMES, &times))
        times = UINT64_MAX;
    if (__builtin_add_overflow(k, (uint64_t)CANDIDATES_MORE, &more))
        more = UINT64_MAX;
    return times > more ? times : more;
}
