/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recall_counts.c - the numbers of survivors and candidates that reach a recall: interpolates the calibration's counts,
 * and extrapolates beyond its recalls and numbers of results.
 */
#include "index/impl.h"
#include "index/calibration/calibrate.h"
#include "scan/cost.h"

#include <math.h>

enum {
    SURVIVORS_TIMES = 8,    /* survivors per candidate without a calibration */
    LEAST_TO_CHOOSE = 4096, /* items; with fewer, all ways cost about the same */
    /*
     * Margins keep a recall whatever the number of survivors. With twice the calibration's, few queries like those of
     * the calibration need a second pass (scan/margins/complete.c).
     */
    MARGIN_TIMES = 2,
};

/* The index of the least calibrated recall that is not below the wanted one; THR_TUNED_RECALLS if there is none. */
static size_t recall_row(float recall) {
    size_t r = 0;
    while (r < THR_TUNED_RECALLS && recall > (float)thr_tuned_recalls[r] / 1000.0f)
        r++;
    return r;
}

/* Interpolate a count for k: by a power of k between two calibrated ks, in proportion to k beyond the last. */
static uint64_t count_for(const uint64_t counts[THR_TUNED_KS], uint64_t k) {
    size_t i = 0;
    while (i < THR_TUNED_KS && thr_tuned_ks[i] < k)
        i++;
    if (i == THR_TUNED_KS)
        return (uint64_t)fmin(ceil((double)counts[i - 1] * ((double)k / thr_tuned_ks[i - 1])), 0x1p62);
    if (thr_tuned_ks[i] == k || i == 0)
        return counts[i];
    const double share = log((double)k / thr_tuned_ks[i - 1]) / log((double)thr_tuned_ks[i] / thr_tuned_ks[i - 1]);
    const double low = (double)counts[i - 1], high = (double)counts[i];
    return (uint64_t)ceil(low * pow(high / low, share));
}

/*
 * If a filter passes a share f of the rows, the k / f best rows contain about k that pass: these are the wanted
 * neighbours. The filter passes the same share of the rows before them in the screen's order.
 */
static uint64_t count_of_share(const uint64_t counts[THR_TUNED_KS], uint64_t k, double share) {
    const double wider = fmin((double)k / share, 0x1p40);
    return (uint64_t)ceil((double)count_for(counts, (uint64_t)wider) * share) + k;
}

/* Whether scoring every row in order costs less than reading these survivors and candidates. */
static bool exact_is_cheaper(const thr_index *index, double survivors, double candidates) {
    const double n_items = (double)index->manifest.n_items;
    const double size = (double)(index->vectors.quantiser->n_dims * thr_dtype_size(index->vectors.keep));
    return n_items * thr_cost_ns(THR_COST_VECTOR, 1, size) <
           fmin(survivors, n_items) * THR_COST_RECORD_NS +
               fmin(candidates, n_items) * thr_cost_ns(THR_COST_VECTOR_ANYWHERE, 1, size);
}

/* Why vectors are scored without a screen, for a recall (the number of its row) that takes these counts; or NULL. */
static const char *why_exact(const thr_index *index, size_t recall, uint64_t survivors, uint64_t candidates,
                             bool filtered) {
    const uint64_t n_items = index->manifest.n_items;
    if (recall == THR_TUNED_RECALLS)
        return "the recall is above 0.999";
    if (index->manifest.tuning.n_queries == 0 && n_items < THR_TUNE_LEAST_ITEMS)
        return "the index has too few items for a screen to pay";
    if (survivors >= n_items / 2)
        return "half of the items would pass a screen";
    if (!filtered && n_items >= LEAST_TO_CHOOSE && exact_is_cheaper(index, (double)survivors, (double)candidates))
        return "reading all in order costs less than so many survivors and candidates";
    return NULL;
}

const char *thr_index_resolve_recall(const thr_index *index, uint64_t k, thr_search_options *options) {
    const thr_tuning *tuning = &index->manifest.tuning;
    const size_t r = recall_row(options->recall);
    const uint64_t n_items = index->manifest.n_items;
    const bool filtered = options->filter != NULL && options->filter != index->live.words;
    const bool kept = index->manifest.keep != THR_DTYPE_NONE;
    uint64_t survivors = SURVIVORS_TIMES * thr_search_candidates(k), candidates = thr_search_candidates(k);
    if (tuning->n_queries > 0) {
        const size_t row = r < THR_TUNED_RECALLS ? r : THR_TUNED_RECALLS - 1;
        const uint64_t allowed = filtered ? thr_scan_count_allowed(&index->corpus, options->filter) : n_items;
        const double share = (double)(allowed > 0 ? allowed : 1) / (double)n_items;
        const uint64_t *s = tuning->at[row].survivors, *c = tuning->at[row].candidates;
        survivors = filtered ? count_of_share(s, k, share) : count_for(s, k);
        candidates = filtered ? count_of_share(c, k, share) : count_for(c, k);
    }
    const bool counted = options->n_candidates != 0;
    const char *exact = options->exact ? "exact scores were requested" : NULL;
    if (exact == NULL && kept && !counted)
        exact = why_exact(index, r, survivors, candidates, filtered);
    options->exact = exact != NULL;
    if (counted || options->n_survivors != 0) {
        options->recall = 0; /* the caller's numbers decide */
    } else if (kept && index->manifest.model.n_inputs == 0) {
        survivors *= MARGIN_TIMES;
        candidates *= MARGIN_TIMES;
    }
    if (options->n_candidates == 0)
        options->n_candidates = candidates;
    if (options->n_survivors == 0)
        options->n_survivors = survivors;
    return exact;
}
