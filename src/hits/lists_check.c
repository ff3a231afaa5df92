/* SPDX-License-Identifier: Apache-2.0 */
#include "hits/lists_check.h"

/* ------------------------------------------------------------------------------------------------ bounds */

/* A run must not leave its block. Ids and bitmaps cannot. */
static bool runs_stay(const uint8_t *values, uint32_t size) {
    bool stay = true;
    for (uint32_t i = 0; i < size; i += 2)
        stay = stay && values[i] + values[i + 1] < THR_LISTS_BLOCK;
    return stay;
}

static const char *check_entry(const thr_lists *lists, uint32_t entry) {
    const uint32_t group = lists->entry_groups[entry], n = lists->entry_lengths[entry];
    const uint32_t n_blocks = (lists->n_items + THR_LISTS_BLOCK - 1) / THR_LISTS_BLOCK;
    if (group >= THR_LISTS_N_GROUPS)
        return "there is no such form of a block";
    const thr_lists_group *g = &lists->groups[group];
    if (n == 0 || n > g->n_blocks || lists->entry_begins[entry] > g->n_blocks - n)
        return "a feature's blocks are not within their group";
    const uint16_t *numbers = g->numbers + lists->entry_begins[entry];
    bool good = numbers[n - 1] < n_blocks;
    for (uint32_t i = 1; i < n; i++)
        good = good && numbers[i - 1] < numbers[i];
    if (!good)
        return "the numbers of a feature's blocks do not ascend to the last block";
    const uint32_t size = thr_lists_group_size(group);
    const uint8_t *values = g->values + (size_t)lists->entry_begins[entry] * size;
    if (group >= THR_LISTS_IDS && group < THR_LISTS_BITS)
        for (uint32_t i = 0; i < n; i++)
            good = good && runs_stay(values + (size_t)i * size, size);
    return good ? NULL : "a run leaves its block";
}

const char *thr_lists_check(const thr_lists *lists) {
    if (lists->first_entries[0] != 0 || lists->first_entries[lists->n_features] != lists->n_entries)
        return "the features' entries are not all there are";
    for (uint32_t f = 0; f < lists->n_features; f++) {
        if (f > 0 && lists->features[f] <= lists->features[f - 1])
            return "the features do not ascend";
        if (lists->features[f] > THR_HITS_MAX_FEATURE)
            return "a feature's number is too large";
        if (lists->first_entries[f + 1] <= lists->first_entries[f] || lists->first_entries[f + 1] > lists->n_entries)
            return "a feature's entries do not ascend";
        for (uint32_t e = lists->first_entries[f]; e < lists->first_entries[f + 1]; e++) {
            const char *wrong = check_entry(lists, e);
            if (wrong != NULL)
                return wrong;
            if (e > lists->first_entries[f] && lists->entry_groups[e] <= lists->entry_groups[e - 1])
                return "a feature's forms do not ascend";
        }
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------------ contents */

/* Items of one block, or 0 where its places do not ascend or go beyond the last item. room: how many items it has. */
static uint32_t count_items(const uint8_t *values, uint32_t group, uint32_t room) {
    uint32_t n = 0, next = 0; /* the least place that may come */
    const uint32_t size = thr_lists_group_size(group);
    if (group < THR_LISTS_IDS) {
        for (uint32_t i = 0; i < size; i++, n++) {
            if (values[i] < next || values[i] >= room)
                return 0;
            next = values[i] + 1u;
        }
    } else if (group < THR_LISTS_BITS) {
        for (uint32_t i = 0; i < size; i += 2) {
            if (values[i] < next || values[i] + values[i + 1] >= room)
                return 0;
            n += values[i + 1] + 1u;
            next = values[i] + values[i + 1] + 2u; /* a run that touched the next would be one with it */
        }
    } else {
        for (uint32_t i = 0; i < THR_LISTS_BLOCK; i++) {
            const bool has = (values[i / 8] >> i % 8 & 1) != 0;
            if (has && i >= room)
                return 0;
            n += has;
        }
    }
    return n;
}

static bool check_feature(const thr_lists *lists, uint32_t f, uint32_t taken[THR_LISTS_N_GROUPS]) {
    uint64_t n_items = 0;
    for (uint32_t e = lists->first_entries[f]; e < lists->first_entries[f + 1]; e++) {
        const uint32_t group = lists->entry_groups[e], begin = lists->entry_begins[e];
        const thr_lists_group *g = &lists->groups[group];
        if (begin != taken[group])
            return false;
        taken[group] += lists->entry_lengths[e];
        for (uint32_t b = begin; b < taken[group]; b++) {
            const uint32_t left = lists->n_items - (uint32_t)g->numbers[b] * THR_LISTS_BLOCK;
            const uint32_t n = count_items(g->values + (size_t)b * thr_lists_group_size(group), group,
                                           left < THR_LISTS_BLOCK ? left : THR_LISTS_BLOCK);
            if (n == 0)
                return false;
            n_items += n;
        }
    }
    return n_items == lists->sizes[f];
}

const char *thr_lists_check_contents(const thr_lists *lists) {
    uint32_t taken[THR_LISTS_N_GROUPS] = {0};
    uint64_t n_postings = 0;
    for (uint32_t f = 0; f < lists->n_features; f++) {
        if (!check_feature(lists, f, taken))
            return "the items of a feature are not as many as is said, or not in order";
        n_postings += lists->sizes[f];
    }
    for (uint32_t group = 0; group < THR_LISTS_N_GROUPS; group++)
        if (taken[group] != lists->groups[group].n_blocks)
            return "there are blocks of no feature";
    return n_postings == lists->n_postings ? NULL : "there are not as many postings as is said";
}
