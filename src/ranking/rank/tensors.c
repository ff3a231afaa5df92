/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensors.c - models as safetensors: one tensor "weights", F64 with one axis, and metadata with the kind
 * (docs/format.md).
 */
#include <stdio.h>
#include <string.h>

#include "base/files/checksum.h"
#include "base/error.h"
#include "tensors/safetensors.h"
#include "rank/model.h"

static const char KIND[] = "thresher.rank", VERSION[] = "1";
enum { SUM_TEXT = 17 };

static void sum_text(const double *weights, uint32_t n_features, char *text) {
    (void)snprintf(text, SUM_TEXT, "%016llx",
                   (unsigned long long)thr_checksum_of(weights, n_features * sizeof *weights));
}

thr_status thr_rank_tensors_write(const thr_rank_model *model, const char *path, thr_error *err) {
    char sum[SUM_TEXT];
    sum_text(model->weights, model->n_features, sum);
    const char *const metadata[][2] = {{KIND, VERSION}, {"fingerprint", sum}};
    const thr_tensor weights = {.name = "weights",
                                .dtype = THR_DTYPE_F64,
                                .n_axes = 1,
                                .shape = {model->n_features},
                                .data = model->weights,
                                .n_bytes = model->n_features * sizeof(double)};
    const thr_tensors_image image = {
        .tensors = &weights, .n_tensors = 1, .metadata = metadata, .n_metadata = sizeof metadata / sizeof *metadata};
    return thr_tensors_write(model->context, path, &image, err);
}

static thr_status check_kind(const thr_tensors *tensors, const char *path, thr_error *err) {
    const char *version = thr_tensors_metadata(tensors, KIND);
    if (version == NULL)
        return thr_fail(err, THR_EFORMAT, "%s: these tensors are not a model of thresher rank train", path);
    if (strcmp(version, VERSION) != 0)
        return thr_fail(err, THR_EVERSION, "%s: a ranking model of version %.20s: this program reads version %s", path,
                        version, VERSION);
    return THR_OK;
}

thr_status thr_rank_tensors_read(thr_context *context, const char *path, thr_rank_model **model, thr_error *err) {
    thr_tensors *tensors = NULL;
    thr_rank_model *made = NULL;
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_tensors_open(context, path, &tensors, err));
    THR_TRY_OUT(check_kind(tensors, path, err));
    const thr_tensor *weights = thr_tensors_find(tensors, "weights");
    const char *sum = thr_tensors_metadata(tensors, "fingerprint");
    if (weights == NULL || weights->dtype != THR_DTYPE_F64 || weights->n_axes != 1 || sum == NULL) {
        status = thr_fail(err, THR_EFORMAT, "%s: has no weights of a ranking model", path);
        goto out;
    }
    THR_TRY_OUT(thr_rank_model_make(context, weights->shape[0], &made, err));
    memcpy(made->weights, weights->data, weights->n_bytes);
    char own[SUM_TEXT];
    sum_text(made->weights, made->n_features, own);
    if (strcmp(own, sum) != 0) {
        status =
            thr_fail(err, THR_ECORRUPT, "%s: its weights do not match its fingerprint: fetch or train it again", path);
        goto out;
    }
    THR_TRY_OUT(thr_rank_model_check(made, path, err));
    *model = made;
    made = NULL;
out:
    thr_rank_model_free(made);
    thr_tensors_free(tensors);
    return status;
}
