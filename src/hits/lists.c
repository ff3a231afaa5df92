/* SPDX-License-Identifier: Apache-2.0 */
#include "hits/lists.h"

#include <string.h>

uint32_t thr_lists_find(const thr_lists *lists, uint32_t feature) {
    uint32_t begin = 0, end = lists->n_features;
    while (begin < end) {
        const uint32_t middle = begin + (end - begin) / 2;
        if (lists->features[middle] < feature)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin < lists->n_features && lists->features[begin] == feature ? begin : lists->n_features;
}

uint32_t thr_lists_seek(const uint16_t *numbers, uint32_t n, uint32_t block) {
    uint32_t begin = 0;
    while (begin < n) {
        const uint32_t middle = begin + (n - begin) / 2;
        if (numbers[middle] < block)
            begin = middle + 1;
        else
            n = middle;
    }
    return begin;
}

/* bits: of a block's items, 4 words. */
static void mark_block(const uint8_t *values, uint32_t group, uint64_t *bits) {
    const uint32_t size = thr_lists_group_size(group);
    if (group < THR_LISTS_IDS) {
        for (uint32_t i = 0; i < size; i++)
            bits[values[i] / 64] |= UINT64_C(1) << values[i] % 64;
    } else if (group < THR_LISTS_BITS) {
        for (uint32_t i = 0; i < size; i += 2)
            for (uint32_t at = values[i]; at <= (uint32_t)values[i] + values[i + 1]; at++)
                bits[at / 64] |= UINT64_C(1) << at % 64;
    } else {
        for (uint32_t word = 0; word < 4; word++) {
            uint64_t more;
            memcpy(&more, values + word * sizeof more, sizeof more);
            bits[word] |= more;
        }
    }
}

bool thr_lists_has(const thr_lists *lists, uint32_t feature, uint32_t item) {
    const uint32_t f = thr_lists_find(lists, feature), block = item / THR_LISTS_BLOCK, place = item % THR_LISTS_BLOCK;
    if (f == lists->n_features)
        return false;
    for (uint32_t e = lists->first_entries[f]; e < lists->first_entries[f + 1]; e++) {
        const uint32_t group = lists->entry_groups[e], begin = lists->entry_begins[e], n = lists->entry_lengths[e];
        const uint32_t at = thr_lists_seek(lists->groups[group].numbers + begin, n, block);
        if (at == n || lists->groups[group].numbers[begin + at] != block)
            continue;
        uint64_t bits[4] = {0};
        mark_block(lists->groups[group].values + (size_t)(begin + at) * thr_lists_group_size(group), group, bits);
        return (bits[place / 64] >> place % 64 & 1) != 0;
    }
    return false;
}

void thr_lists_mark(const thr_lists *lists, uint32_t f, uint64_t *words) {
    for (uint32_t e = lists->first_entries[f]; e < lists->first_entries[f + 1]; e++) {
        const uint32_t group = lists->entry_groups[e], begin = lists->entry_begins[e];
        const thr_lists_group *g = &lists->groups[group];
        for (uint32_t b = begin; b < begin + lists->entry_lengths[e]; b++)
            mark_block(g->values + (size_t)b * thr_lists_group_size(group), group, words + (size_t)g->numbers[b] * 4);
    }
}

uint64_t thr_lists_bytes(const thr_lists *lists) {
    uint64_t bytes = 4 * (3 * (uint64_t)lists->n_features + 1) + 9 * (uint64_t)lists->n_entries;
    for (uint32_t group = 0; group < THR_LISTS_N_GROUPS; group++)
        bytes += (uint64_t)lists->groups[group].n_blocks * (2 + thr_lists_group_size(group));
    return bytes;
}
