/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c - which segment has a row, which id a row has, and which row an id. */
#include "index/impl.h"

uint32_t thr_index_segment_of(const thr_index *index, uint64_t row) {
    uint32_t low = 0, high = index->n_segments;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (index->segments[middle].first_row <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

uint64_t thr_index_id_of(const thr_index *index, uint64_t row) {
    if (thr_index_in_tail(index, row))
        return index->tail->ids[row - index->tail->first_row];
    const uint32_t s = thr_index_segment_of(index, row);
    const uint64_t item = row - index->segments[s].first_row;
    const uint64_t *ids = index->mapped[s].view.ids;
    return ids != NULL ? ids[item] : index->manifest.segments[s].first_id + item;
}

static bool is_live(const uint64_t *live, uint64_t row) {
    return live == NULL || (live[row / 64] >> row % 64 & 1) != 0;
}

bool thr_index_segment_row(const thr_index *index, const uint64_t *live, uint64_t id, uint64_t *row) {
    *row = id;
    if (!index->manifest.has_ids)
        return id < index->root->n_segment_rows && is_live(live, id);
    for (uint32_t i = 0; i < index->n_segments; i++) {
        const uint64_t first_id = index->manifest.segments[i].first_id;
        uint32_t item = (uint32_t)(id - first_id);
        const bool found = index->mapped[i].view.ids != NULL
                               ? thr_index_segment_find_id(&index->mapped[i].view, id, &item)
                               : id >= first_id && id - first_id < index->segments[i].n_items;
        *row = index->segments[i].first_row + item;
        if (found && is_live(live, *row))
            return true;
    }
    return false;
}
