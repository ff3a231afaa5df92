/* SPDX-License-Identifier: Apache-2.0 */
/* Items with features by Zipf's law. */
#include "gcheck.h"

uint32_t gcheck_draw_feature(uint32_t n_kinds, uint64_t *rng) {
    const double u = (double)(thr_rng_next(rng) >> 11) * 0x1p-53;
    const uint32_t f = (uint32_t)exp(u * log((double)n_kinds + 1)) - 1;
    return f < n_kinds ? f : n_kinds - 1;
}

void gcheck_items_make(uint64_t n_items, uint32_t n_kinds, uint32_t an_item, uint64_t *rng, gcheck_items *items) {
    const uint64_t n = n_items * an_item;
    items->offsets = test_array(n_items + 1, sizeof *items->offsets);
    items->features = test_array(n, sizeof *items->features);
    for (uint64_t i = 0; i <= n_items; i++)
        items->offsets[i] = i * an_item;
    for (uint64_t i = 0; i < n; i++)
        items->features[i] = gcheck_draw_feature(n_kinds, rng);
    items->view = (thr_item_features){items->offsets, items->features, n_items};
}

void gcheck_items_free(gcheck_items *items) {
    free(items->offsets);
    free(items->features);
    *items = (gcheck_items){.offsets = NULL};
}
