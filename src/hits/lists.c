/* SPDX-License-Identifier: Apache-2.0 */
#include "hits/lists.h"

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

uint64_t thr_lists_bytes(const thr_lists *lists) {
    uint64_t bytes = 4 * (3 * (uint64_t)lists->n_features + 1) + 9 * (uint64_t)lists->n_entries;
    for (uint32_t group = 0; group < THR_LISTS_N_GROUPS; group++)
        bytes += (uint64_t)lists->groups[group].n_blocks * (2 + thr_lists_group_size(group));
    return bytes;
}
