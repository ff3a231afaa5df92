/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_file.c - saving and opening models. The path's ending or the file's first bytes select tensors (tensors.c) or
 * text (liblinear.c).
 */
#include "rank/model.h"

#include <string.h>

#include "base/text/ends_with.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/files/out.h"

thr_status thr_rank_model_check_path(thr_context *context, const char *path, thr_error *err) {
    thr_rank_model *there = NULL;
    THR_TRY(thr_out_check_place(context, path, err));
    if (thr_out_is_vacant(path))
        return THR_OK;
    const thr_status status = thr_rank_model_open(context, path, &there, err);
    thr_rank_model_free(there);
    if (status == THR_OK || status == THR_ENOMEM)
        return status;
    return status == THR_ECORRUPT || status == THR_EVERSION ? THR_OK
                                                            : thr_out_fail_other_kind(path, "a ranking model", err);
}

thr_status thr_rank_model_save(const thr_rank_model *model, const char *path, thr_error *err) {
    THR_TRY(thr_rank_model_check_path(model->context, path, err));
    return thr_ends_with(path, ".safetensors") ? thr_rank_tensors_write(model, path, err)
                                               : thr_rank_text_write(model, path, err);
}

/* Safetensors begin with the header's length, eight bytes of which the upper four are 0; texts have no zero bytes. */
static bool is_text(const thr_map *map) {
    enum { LEAD = 8 };
    return map->size < LEAD || memchr(map->data, '\0', LEAD) == NULL;
}

thr_status thr_rank_model_open(thr_context *context, const char *path, thr_rank_model **model, thr_error *err) {
    thr_map map;
    *model = NULL;
    THR_TRY(thr_map_open(path, &map, err));
    const thr_status status = is_text(&map)
                                  ? thr_rank_text_read(context, path, (const char *)map.data, map.size, model, err)
                                  : thr_rank_tensors_read(context, path, model, err);
    thr_map_close(&map);
    return status;
}
