/* SPDX-License-Identifier: Apache-2.0 */
#include "hits/parts.h"

uint64_t prog_hits_parts_n_items(const prog_hits_parts *parts) {
    uint64_t n = 0;

    for (size_t i = 0; i < parts->n; i++)
        n += thr_hits_get_info(parts->parts[i].hits).n_items;
    return n;
}

uint64_t prog_hits_parts_n_rows(const prog_hits_parts *parts) {
    const prog_hits_part *last = &parts->parts[parts->n - 1];
    return last->first_row + thr_hits_get_info(last->hits).n_rows;
}

bool prog_hits_parts_feature(const prog_hits_parts *parts, const char *word, uint32_t *feature) {
    for (size_t i = 0; i < parts->n; i++)
        if (thr_hits_feature(parts->parts[i].hits, word, feature))
            return true;
    return false;
}

bool prog_hits_parts_find(const prog_hits_parts *parts, const char *name, uint64_t *row) {
    for (size_t i = 0; i < parts->n; i++) {
        const prog_hits_part *part = &parts->parts[i];
        uint64_t id;

        if (!thr_hits_find(part->hits, name, &id) || !thr_hits_row(part->hits, id, row))
            continue;
        *row += part->first_row;
        return true;
    }
    return false;
}

const prog_hits_part *prog_hits_parts_of_id(const prog_hits_parts *parts, uint64_t id) {
    uint64_t row;

    for (size_t i = 0; i < parts->n; i++)
        if (id >= parts->parts[i].first_id && thr_hits_row(parts->parts[i].hits, id - parts->parts[i].first_id, &row))
            return &parts->parts[i];
    return NULL;
}
