/* SPDX-License-Identifier: Apache-2.0 */
/* check_files.c - whether the files of an open index are as they were when it was opened. */
#include "index/impl.h"

#include "base/error.h"
#include "base/files/guard.h"

thr_status thr_index_check_unchanged(const thr_index *index, thr_error *err) {
    thr_guard_renew();
    for (uint32_t i = 0; i < index->n_segments; i++)
        THR_TRY(thr_map_check(&index->mapped[i].map, index->mapped[i].path, err));
    THR_TRY(thr_index_live_check_unchanged(&index->live, err));
    return index->hits == NULL ? THR_OK : thr_hits_check_unchanged(index->hits, err);
}

thr_status thr_index_check_after(const thr_index *index, thr_status status, thr_error *err) {
    thr_error why;
    if (!thr_guard_fired() || thr_index_check_unchanged(index, &why) == THR_OK)
        return status;
    return thr_pass_on(why.status, &why, err);
}
