/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_rank_model.c - bytes read as a ranking model, of tensors or a text. What opens has finite weights, and what is
 * saved of it opens with the same ones.
 */
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include <thresher/rank.h>

#include "fuzz/io_fuzz.h"
#include "fuzz/model_mutator.h"

static void put_file(const char *path, const uint8_t *data, size_t size) {
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(data, 1, size, file) != size || fclose(file) != 0)
        abort();
}

static void check_saved(const thr_rank_model *model, const char *path) {
    const uint32_t n = thr_rank_model_n_features(model);
    const double *weights = thr_rank_model_weights(model);
    thr_rank_model *again = NULL;
    for (uint32_t i = 0; i < n; i++)
        fuzz_check(isfinite(weights[i]));
    (void)unlink(path);
    fuzz_check(thr_rank_model_save(model, path, NULL) == THR_OK);
    fuzz_check(thr_rank_model_open(fuzz_context(), path, &again, NULL) == THR_OK);
    fuzz_check(thr_rank_model_n_features(again) == n);
    fuzz_check(n == 0 || memcmp(thr_rank_model_weights(again), weights, n * sizeof *weights) == 0);
    thr_rank_model_free(again);
}

FUZZ_MUTATOR(fuzz_mutate_model)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[64];
    thr_rank_model *model = NULL;
    thr_error err;
    (void)snprintf(path, sizeof path, "fuzz-rank-model-%ld.safetensors", (long)getpid());
    put_file(path, data, size);
    const thr_status status = thr_rank_model_open(fuzz_context(), path, &model, &err);
    fuzz_check((status == THR_OK) == (model != NULL));
    if (status != THR_OK)
        fuzz_check_error(&err, status);
    else if (thr_rank_model_n_features(model) <= 4096)
        check_saved(model, path);
    thr_rank_model_free(model);
    (void)unlink(path);
    return 0;
}
