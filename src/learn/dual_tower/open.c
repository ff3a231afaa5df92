/* SPDX-License-Identifier: Apache-2.0 */
/* open.c - opening a dual tower, and encoding texts of features with it. */
#include "dual_tower/model_file.h"
#include "dual_tower/dual.h"

#include <string.h>

#include "base/error.h"
#include "training/encode_pieces.h"

thr_status thr_dual_probe(thr_context *context, const char *path, bool *is_dual, thr_error *err) {
    thr_tensors *tensors = NULL;
    *is_dual = false;
    THR_TRY(thr_tensors_open(context, path, &tensors, err));
    *is_dual = thr_dual_is_in(tensors);
    thr_tensors_free(tensors);
    return THR_OK;
}

thr_status thr_dual_open(thr_context *context, const char *path, thr_dual **dual_out, thr_error *err) {
    thr_dual *dual = NULL;
    *dual_out = NULL;
    THR_TRY(thr_alloc_zero(context, 1, sizeof *dual, &dual, "a model", err));
    dual->context = thr_context_retain(context);
    thr_status status = thr_tensors_open(context, path, &dual->tensors, err);
    if (status == THR_OK)
        status = thr_dual_read(context, dual->tensors, path, &dual->model, &dual->fingerprint, err);
    THR_RETURN_MADE(status, dual, dual_out, thr_dual_free);
}

void thr_dual_free(thr_dual *dual) {
    if (dual == NULL)
        return;
    thr_context *context = dual->context;
    thr_dual_words_free(context, &dual->model);
    thr_tensors_free(dual->tensors);
    thr_release(context, dual);
    thr_context_free(context);
}

thr_dual_info thr_dual_get_info(const thr_dual *dual) {
    const thr_dual_model *model = &dual->model;
    const thr_dual_vocabulary *users = &model->words[THR_SIDE_QUERY], *items = &model->words[THR_SIDE_ITEM];
    thr_dual_info info = {.config = model->config,
                          .n_vector = thr_dual_n_vector(&model->config),
                          .n_user_words = thr_dual_n_words(users),
                          .n_item_words = thr_dual_n_words(items),
                          .n_user_fields = thr_dual_n_fields(users),
                          .n_item_fields = thr_dual_n_fields(items),
                          .file_bytes = thr_tensors_file_bytes(dual->tensors),
                          .fingerprint = dual->fingerprint};
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++) {
        info.n_parameters += (uint64_t)thr_dual_n_words(&model->words[side]) * model->config.n_embedding;
        const thr_tensor_list list = thr_dual_tensors(model, side);
        for (size_t p = 0; p < list.n; p++)
            info.n_parameters += thr_tensor_size(&list.shapes[p]);
    }
    if (model->config.hits)
        info.n_parameters += (uint64_t)info.n_user_words + info.n_user_fields;
    return info;
}

/* ------------------------------------------------------------------------------------------------ encode */

/* A thread's scratch memory for encoding. */
typedef struct encode_workspace {
    uint32_t *rows;
    float *x;
    size_t rows_capacity, x_capacity;
    thr_dual_bags bags;
    thr_dual_pass pass;
} encode_workspace;

typedef struct encode_job {
    const thr_dual *dual;
    thr_side side;
    const char *const *texts;
    const size_t *lengths;
    float *out;
} encode_job;

/* Features are binary: a repeated word counts once, as in training. */
static size_t drop_repeated(uint32_t *rows, size_t n) {
    size_t n_kept = 0;
    for (size_t i = 0; i < n; i++) {
        size_t at = 0;
        while (at < n_kept && rows[at] != rows[i])
            at++;
        if (at == n_kept)
            rows[n_kept++] = rows[i];
    }
    return n_kept;
}

static thr_status add_text(const encode_job *job, size_t i, encode_workspace *workspace, thr_error *err) {
    thr_context *context = job->dual->context;
    const thr_dual_vocabulary *vocabulary = &job->dual->model.words[job->side];
    const char *at = job->texts[i], *end = at + (job->lengths != NULL ? job->lengths[i] : strlen(at));
    size_t n = 0;
    for (;;) {
        thr_dual_word word;
        bool got = false;
        THR_TRY(thr_dual_next_word(&at, end, job->side, &word, &got, err));
        if (!got)
            break;
        THR_TRY(thr_grow(context, &workspace->rows, &workspace->rows_capacity, n + 1, sizeof *workspace->rows, "words",
                         err));
        THR_TRY(thr_grow(context, &workspace->x, &workspace->x_capacity, n + 1, sizeof *workspace->x, "words", err));
        workspace->rows[n] = thr_dual_find_bytes(&vocabulary->words, word.text, word.length);
        workspace->x[n++] = word.x;
    }
    if (job->side == THR_SIDE_ITEM)
        n = drop_repeated(workspace->rows, n);
    return thr_dual_bags_add(context, vocabulary, workspace->rows, job->side == THR_SIDE_QUERY ? workspace->x : NULL, n,
                             &workspace->bags, err);
}

static thr_status encode_piece(void *user, size_t first, size_t n, void *arg, thr_error *err) {
    const encode_job *job = user;
    encode_workspace *workspace = arg;
    const thr_dual_model *model = &job->dual->model;
    const size_t n_vector = thr_dual_n_vector(&model->config);
    workspace->bags.n = 0;
    for (size_t i = first; i < first + n; i++)
        THR_TRY(add_text(job, i, workspace, err));
    THR_TRY(thr_dual_forward(job->dual->context, model, job->side, &workspace->bags, &workspace->pass, err));
    memcpy(job->out + first * n_vector, workspace->pass.vectors, n * n_vector * sizeof *job->out);
    return THR_OK;
}

static void free_workspace(thr_context *context, void *arg) {
    encode_workspace *workspace = arg;
    THR_RELEASE(context, workspace->rows, workspace->x);
    thr_dual_bags_free(context, &workspace->bags);
    thr_dual_pass_free(context, &workspace->pass);
}

thr_status thr_dual_encode(const thr_dual *dual, thr_side side, const char *const *texts, const size_t *lengths,
                           size_t n_texts, float *out, thr_error *err) {
    encode_job job = {.dual = dual, .side = side, .texts = texts, .lengths = lengths, .out = out};
    THR_TRY(thr_tensors_check(dual->tensors, err));
    return thr_training_encode_pieces_run(dual->context,
                                          &(thr_encode_pieces){side, n_texts, sizeof(encode_workspace), &job,
                                                               encode_piece, free_workspace, out,
                                                               thr_dual_n_vector(&dual->model.config)},
                                          err);
}
