/* SPDX-License-Identifier: Apache-2.0 */
/* encoder.c - dual models as encoders of an index. */
#include "index/model/encoder.h"

#include <thresher/dual.h>

static thr_status probe(thr_context *context, const char *path, bool *is_one, thr_error *err) {
    return thr_dual_probe(context, path, is_one, err);
}

static thr_status open_model(thr_context *context, const char *path, bool whole, void **model, thr_error *err) {
    thr_dual *dual = NULL;
    (void)whole; /* opening reads all of it */
    const thr_status status = thr_dual_open(context, path, &dual, err);
    *model = dual;
    return status;
}

static thr_encoder_shape get_shape(const void *model) {
    const thr_dual_info info = thr_dual_get_info(model);
    return (thr_encoder_shape){.fingerprint = info.fingerprint, .n_dims = info.n_vector, .metric = THR_METRIC_IP};
}

static void free_model(void *model) {
    thr_dual_free(model);
}

const thr_encoder_kind thr_dual_tower_encoder = {
    .probe = probe, .open = open_model, .shape = get_shape, .free = free_model};

const thr_dual *thr_dual_of_index(const thr_index *index) {
    const thr_encoder *encoder = thr_index_encoder(index);
    return encoder->kind == &thr_dual_tower_encoder ? encoder->model : NULL;
}
