/* SPDX-License-Identifier: Apache-2.0 */
/* verify.c - every byte of every shard, and whether the shards are as the list describes them. */
#include "shards/impl.h"

#include "base/error.h"
#include "base/minmax.h"

#include <thresher/items.h>

/* Sums over all shards. */
typedef struct totals {
    uint64_t n_cells;
    bool any_ids, all_names; /* some shard has given ids; all have names */
} totals;

static bool has_given_ids(const thr_index_info *info) {
    return info->has_ids && !info->has_names; /* with cells, items with names have stored ids that are rows */
}

/* Compare the ids of a shard with the list. */
static thr_status check_ids(const thr_shards *shards, uint64_t i, const thr_index *index, thr_error *err) {
    enum { AT_ONCE = 4096 };
    const thr_index_info info = thr_index_get_info(index);
    const thr_shard *shard = &shards->list[i];
    const uint64_t n_rows = thr_index_n_rows(index), first = has_given_ids(&info) ? 0 : thr_first_id(shards, i);
    uint64_t ids[AT_ONCE], least = UINT64_MAX, greatest = 0;
    for (uint64_t row = 0; row < n_rows; row += AT_ONCE) {
        const size_t n = (size_t)THR_MIN(n_rows - row, (uint64_t)AT_ONCE);
        THR_TRY(thr_index_row_ids(index, row, n, ids, err));
        for (size_t at = 0; at < n; at++) {
            if (ids[at] == THR_NO_ID)
                continue;
            least = THR_MIN(least, ids[at]);
            greatest = THR_MAX(greatest, ids[at]);
        }
    }
    if (least + first == shard->least_id && greatest + first == shard->greatest_id)
        return THR_OK;
    return thr_fail(err, THR_ECORRUPT,
                    "%s: has wrong ids of shard %llu: they are from %llu to %llu: " THR_SHARDS_REMEDY, shards->path,
                    (unsigned long long)i, (unsigned long long)(least + first), (unsigned long long)(greatest + first));
}

static thr_status verify_shard(thr_shards *shards, uint64_t i, totals *all, thr_error *err) {
    thr_index *index = NULL;
    THR_TRY(thr_shards_index(shards, i, &index, err));
    THR_TRY(thr_index_verify(index, err));
    THR_TRY(check_ids(shards, i, index, err));
    const thr_index_info info = thr_index_get_info(index);
    all->n_cells += thr_index_get_cells(index).n_cells;
    all->any_ids = all->any_ids || has_given_ids(&info);
    all->all_names = all->all_names && info.has_names;
    return THR_OK;
}

thr_status thr_shards_verify(thr_shards *shards, thr_error *err) {
    totals all = {.all_names = true};
    if (shards == NULL)
        return thr_fail(err, THR_EINVAL, "there is no collection to verify");
    for (uint64_t i = 0; i < shards->info.n_shards; i++)
        THR_TRY(verify_shard(shards, i, &all, err));
    const char *const wrong = all.any_ids && !shards->info.has_ids      ? "has_ids"
                              : all.all_names != shards->info.has_names ? "has_names"
                              : all.n_cells != shards->info.n_cells     ? "n_cells"
                                                                        : NULL;
    return wrong == NULL ? THR_OK
                         : thr_fail(err, THR_ECORRUPT, "%s: has another %s than the shards: " THR_SHARDS_REMEDY,
                                    shards->path, wrong);
}
