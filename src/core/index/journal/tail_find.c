/* SPDX-License-Identifier: Apache-2.0 */
/* tail_find.c - finds the live row of a tail that has an id or a name. */
#include "index/journal/tail.h"

#include <string.h>

static bool is_live(const thr_tail *tail, const uint64_t *live, uint32_t row) {
    const uint64_t at = tail->first_row + row;
    return (live[at / 64] >> at % 64 & 1) != 0;
}

bool thr_index_tail_find(const thr_tail *tail, const uint64_t *live, uint32_t n_rows, uint64_t id, uint64_t *row) {
    uint32_t found;
    for (uint64_t at = thr_row_table_at(id); thr_row_table_next(&tail->by_id, &at, &found);)
        if (found < n_rows && tail->ids[found] == id && is_live(tail, live, found)) {
            *row = tail->first_row + found;
            return true;
        }
    return false;
}

bool thr_index_tail_find_name(const thr_tail *tail, const uint64_t *live, uint32_t n_rows, const char *name,
                              uint64_t key, uint64_t *row) {
    uint32_t found;
    for (uint64_t at = thr_row_table_at(key); thr_row_table_next(&tail->by_name, &at, &found);)
        if (found < n_rows && is_live(tail, live, found) && strcmp(tail->names[found], name) == 0) {
            *row = tail->first_row + found;
            return true;
        }
    return false;
}
