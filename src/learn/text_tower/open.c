/* SPDX-License-Identifier: Apache-2.0 */
/* open.c - opening a tower, encoding texts or vectors with it, and packing embeddings into bits. */
#include <thresher/tower.h>

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "training/encode_pieces.h"
#include "words/lexicon.h"
#include "text_tower/model_file.h"

/*
 * Texts encoded at once: enough that words recur, few enough that their vectors stay in cache. A piece of long texts
 * ends early, after this many words.
 */
enum { PIECE_WORDS = 2048 };

struct thr_tower {
    thr_context *context;
    thr_tensors *tensors;
    thr_text_model model;
    uint64_t fingerprint;
};

thr_status thr_text_tower_map(thr_context *context, const char *path, thr_tower **tower_out, thr_error *err) {
    thr_tower *tower = NULL;
    *tower_out = NULL;
    THR_TRY(thr_alloc_zero(context, 1, sizeof *tower, &tower, "a model", err));
    tower->context = thr_context_retain(context);
    thr_status status = thr_tensors_open(context, path, &tower->tensors, err);
    if (status == THR_OK)
        status = thr_text_model_read(context, tower->tensors, path, &tower->model, &tower->fingerprint, err);
    THR_RETURN_MADE(status, tower, tower_out, thr_tower_free);
}

thr_status thr_tower_open(thr_context *context, const char *path, thr_tower **tower_out, thr_error *err) {
    THR_TRY(thr_text_tower_map(context, path, tower_out, err));
    const thr_tower *tower = *tower_out;
    const thr_model_source source = thr_text_model_source(&tower->model);
    const thr_status status = thr_training_image_check_whole(context, &source, path, tower->fingerprint, err);
    if (status != THR_OK) {
        thr_tower_free(*tower_out);
        *tower_out = NULL;
    }
    return status;
}

thr_context *thr_text_tower_context(const thr_tower *tower) {
    return tower->context;
}

void thr_tower_free(thr_tower *tower) {
    if (tower == NULL)
        return;
    thr_context *context = tower->context;
    thr_words_grams_free(context, &tower->model.grams);
    thr_tensors_free(tower->tensors);
    thr_release(context, tower);
    thr_context_free(context);
}

thr_tower_info thr_tower_get_info(const thr_tower *tower) {
    const thr_tower_config *config = &tower->model.config;
    thr_tower_info info = {.config = *config,
                           .n_grams = tower->model.grams.n,
                           .file_bytes = thr_tensors_file_bytes(tower->tensors),
                           .fingerprint = tower->fingerprint};
    info.n_parameters = (uint64_t)info.n_grams * thr_model_n_columns(config) * thr_model_n_tables(config);
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++) {
        const thr_tensor_list list = thr_text_model_tensors(config, side);
        for (size_t p = 0; p < list.n; p++)
            info.n_parameters += thr_tensor_size(&list.shapes[p]);
    }
    return info;
}

/* A thread's scratch memory for encoding. */
typedef struct encode_workspace {
    thr_lexicon lexicon;
    thr_word_list words;
    float *vectors;
    size_t vectors_capacity;
    thr_pass pass;
} encode_workspace;

typedef struct encode_job {
    const thr_tower *tower;
    thr_side side;
    const char *const *texts; /* and their lengths or NULL; or */
    const size_t *lengths;
    const thr_matrix *rows;
    float *out;
} encode_job;

/* Embed an input, whose first row is `first`. The workspace's pass has room for it. */
static void embed(const encode_job *job, size_t first, const thr_side_input *input, encode_workspace *workspace) {
    const thr_tower_config *config = &job->tower->model.config;
    thr_text_side_forward(job->tower->context, &job->tower->model, job->side, input, &workspace->pass);
    memcpy(job->out + first * config->n_dims, thr_pass_embedding(config, job->side, &workspace->pass),
           input->n * config->n_dims * sizeof *job->out);
}

/* Encode texts from `first` on, at most `most`; *n_done is their number. */
static thr_status encode_some(const encode_job *job, size_t first, size_t most, encode_workspace *workspace,
                              size_t *n_done, thr_error *err) {
    thr_context *context = job->tower->context;
    const thr_text_model *model = &job->tower->model;
    const thr_tower_config *config = &model->config;
    size_t offsets[THR_PIECE_TEXTS + 1] = {0}, n = 0;
    thr_words_lexicon_clear(&workspace->lexicon);
    workspace->words.n = 0;
    while (n < most && workspace->words.n < PIECE_WORDS) {
        const char *text = job->texts[first + n];
        const size_t length = job->lengths != NULL ? job->lengths[first + n] : strlen(text);
        THR_TRY(thr_words_lexicon_read(context, &workspace->lexicon, text, length, config->max_words, &workspace->words,
                                       err));
        offsets[++n] = workspace->words.n;
    }
    *n_done = n;
    THR_TRY(thr_words_lexicon_spell(context, &workspace->lexicon, &model->grams, err));
    const size_t n_columns = thr_model_n_columns(config);
    THR_TRY(thr_grow(context, &workspace->vectors, &workspace->vectors_capacity, workspace->lexicon.n_words * n_columns,
                     sizeof *workspace->vectors, "words' vectors", err));
    THR_TRY(thr_text_pass_reserve(context, config, job->side, n, &workspace->pass, err));
    const thr_bags bags = thr_lexicon_bags(&workspace->lexicon);
    thr_nn_bags_forward(context, model->tables[job->side], n_columns, &bags, workspace->vectors);
    const thr_texts texts = {.n_texts = n, .offsets = offsets, .words = workspace->words.items};
    embed(job, first, &(thr_side_input){n, &texts, workspace->vectors}, workspace);
    return THR_OK;
}

static thr_status encode_rows(void *user, size_t first, size_t n, void *arg, thr_error *err) {
    const encode_job *job = user;
    encode_workspace *workspace = arg;
    thr_context *context = job->tower->context;
    const thr_tower_config *config = &job->tower->model.config;
    const size_t n_inputs = config->n_inputs;
    THR_TRY(thr_grow(context, &workspace->vectors, &workspace->vectors_capacity, n * n_inputs,
                     sizeof *workspace->vectors, "vectors", err));
    THR_TRY(thr_text_pass_reserve(context, config, job->side, n, &workspace->pass, err));
    THR_TRY(thr_matrix_to_f32(job->rows, first, n, workspace->vectors));
    for (size_t i = 0; i < n * n_inputs; i++)
        if (!isfinite(workspace->vectors[i]))
            return thr_fail(err, THR_ERANGE,
                            "row %zu, dimension %zu is NaN, infinity or beyond float32: repair or leave out the row",
                            first + i / n_inputs, i % n_inputs);
    embed(job, first, &(thr_side_input){.n = n, .vectors = workspace->vectors}, workspace);
    return THR_OK;
}

static thr_status encode_piece(void *user, size_t first, size_t n, void *workspace, thr_error *err) {
    const encode_job *job = user;
    for (size_t done = 0, some = 0; done < n; done += some)
        THR_TRY(encode_some(job, first + done, n - done, workspace, &some, err));
    return THR_OK;
}

static void free_workspace(thr_context *context, void *arg) {
    encode_workspace *workspace = arg;
    thr_words_lexicon_free(context, &workspace->lexicon);
    THR_RELEASE(context, workspace->words.items, workspace->vectors);
    thr_text_pass_free(context, &workspace->pass);
}

thr_status thr_tower_encode(const thr_tower *tower, thr_side side, const char *const *texts, const size_t *lengths,
                            size_t n_texts, float *out, thr_error *err) {
    encode_job job = {.tower = tower, .side = side, .texts = texts, .lengths = lengths, .out = out};
    if (thr_model_reads_vectors(&tower->model.config))
        return thr_fail(err, THR_EUNSUPPORTED, "a model of vectors of %" PRIu32 " dimensions cannot encode texts",
                        tower->model.config.n_inputs);
    THR_TRY(thr_tensors_check(tower->tensors, err));
    return thr_training_encode_pieces_run(tower->context,
                                          &(thr_encode_pieces){side, n_texts, sizeof(encode_workspace), &job,
                                                               encode_piece, free_workspace, out,
                                                               tower->model.config.n_dims},
                                          err);
}

thr_status thr_tower_encode_vectors(const thr_tower *tower, thr_side side, const thr_matrix *rows, float *out,
                                    thr_error *err) {
    encode_job job = {.tower = tower, .side = side, .rows = rows, .out = out};
    const uint32_t n_inputs = tower->model.config.n_inputs;
    if (n_inputs == 0)
        return thr_fail(err, THR_EUNSUPPORTED, "a model of texts cannot encode vectors");
    if (rows->n_dims != n_inputs)
        return thr_fail(err, THR_EDIM, "vectors of %" PRIu32 " dimensions for a model of vectors of %" PRIu32,
                        rows->n_dims, n_inputs);
    THR_TRY(thr_tensors_check(tower->tensors, err));
    return thr_training_encode_pieces_run(tower->context,
                                          &(thr_encode_pieces){side, (size_t)rows->n_rows, sizeof(encode_workspace),
                                                               &job, encode_rows, free_workspace, out,
                                                               tower->model.config.n_dims},
                                          err);
}

uint32_t thr_tower_packed_size(const thr_tower *tower, thr_side side) {
    const thr_tower_config *config = &tower->model.config;
    const uint32_t bits = thr_side_bits(config, side);
    if (bits == THR_FLOAT_BITS || (config->plain_weights && bits > 1))
        return 0;
    return bits * ((config->n_dims + 7) / 8);
}

/*
 * If u is the number whose binary digits are the planes, the embedding is (2u + 1 - 2^bits) / 2^(bits - 1). Any other
 * float is rounded down to such a value, so that the conversion is defined for all floats.
 */
static uint32_t find_digits(float embedding, uint32_t bits) {
    const float most = (float)((1u << bits) - 1);
    const float twice = embedding * (float)(1u << (bits - 1)) + most;
    return twice >= 2 * most ? (1u << bits) - 1 : twice > 0 ? (uint32_t)twice / 2 : 0;
}

thr_status thr_tower_pack(const thr_tower *tower, thr_side side, const float *embeddings, uint64_t n_texts,
                          unsigned char *out, thr_error *err) {
    const uint32_t n_dims = tower->model.config.n_dims, n_rows = (n_dims + 7) / 8;
    const uint32_t bits = thr_side_bits(&tower->model.config, side), size = thr_tower_packed_size(tower, side);
    if (size == 0)
        return thr_fail(err, THR_EUNSUPPORTED, "the %s side of this model has no binary codes",
                        side == THR_SIDE_QUERY ? "query" : "item");
    memset(out, 0, (size_t)n_texts * size);
    for (uint64_t t = 0; t < n_texts; t++, out += size, embeddings += n_dims) {
        for (uint32_t d = 0; d < n_dims; d++) {
            const uint32_t u = find_digits(embeddings[d], bits);
            for (uint32_t p = 0; p < bits; p++)
                out[p * n_rows + d / 8] |= (unsigned char)((u >> (bits - 1 - p) & 1) << d % 8);
        }
    }
    return THR_OK;
}
