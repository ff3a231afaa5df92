/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_translate.c - bytes read as a model of translations, with which all its words are gone through where it is one;
 * and as a text, which is put together again as it was.
 */
#include <thresher/words.h>

#include "fuzz/io_fuzz.h"
#include "fuzz/model_mutator.h"
#include "translate/workspace.h"

enum { MOST_WORDS = 64 };

static void run_model(const thr_seq2seq *model) {
    thr_seq2seq_work work = {.context = fuzz_context(), .model = model};
    uint32_t words[MOST_WORDS + 1];
    size_t starts[2] = {0, 1};
    const uint32_t from[2] = {0, 0};
    float *states = malloc(2 * model->n_dims * sizeof *states);
    for (size_t n = model->source.words.n < MOST_WORDS ? model->source.words.n : MOST_WORDS; starts[1] <= n;
         starts[1]++)
        words[starts[1] - 1] = (uint32_t)starts[1] - 1;
    words[starts[1] - 1] = THR_WORD_END;
    fuzz_check(states != NULL && thr_translate_seq2seq_encode(&work, words, starts, 1, NULL) == THR_OK);
    fuzz_check(thr_translate_seq2seq_begin(&work, NULL, 1, NULL) == THR_OK);
    fuzz_check(thr_translate_seq2seq_reorder(&work, from, 2, NULL) == THR_OK);
    for (uint32_t w = 0; w < model->target.words.n && w < MOST_WORDS; w++) {
        const uint32_t both[2] = {w, THR_WORD_END};
        uint32_t attended[2];
        fuzz_check(thr_translate_seq2seq_step(&work, both, states, attended, NULL) == THR_OK);
        fuzz_check(attended[0] < starts[1] && attended[1] < starts[1]);
    }
    free(states);
    thr_translate_seq2seq_work_free(&work);
}

static void read_model(const uint8_t *data, size_t size) {
    thr_tensors *tensors = NULL;
    thr_seq2seq model = {.n_layers = 0};
    thr_matrix weights = {.n_rows = 0};
    float *bias = NULL;
    thr_error err;
    thr_status status = thr_tensors_open_memory(fuzz_context(), "a.safetensors", data, size, &tensors, &err);
    if (status == THR_OK)
        status = thr_translate_seq2seq_read(fuzz_context(), tensors, "a.safetensors", &model, &weights, &bias, &err);
    if (status != THR_OK) {
        fuzz_check_error(&err, status);
    } else {
        fuzz_check(weights.n_rows == model.target.words.n && weights.n_dims == model.n_dims);
        run_model(&model);
    }
    thr_release(fuzz_context(), bias);
    thr_translate_seq2seq_free(fuzz_context(), &model);
    thr_tensors_free(tensors);
}

static void read_text(const char *text, size_t size) {
    const size_t n = thr_words_split(text, size, NULL, 0);
    fuzz_check(n <= 10 * size);
    char *words = malloc(n + 1), *joined = malloc(n + 1);
    fuzz_check(words != NULL && joined != NULL && thr_words_split(text, size, words, n + 1) == n);
    const size_t n_joined = thr_words_join(words, n, joined, n + 1);
    fuzz_check(n_joined <= n);
    char *again = malloc(n + 1);
    fuzz_check(again != NULL && thr_words_split(joined, n_joined, again, n + 1) == n && memcmp(words, again, n) == 0);
    free(words);
    free(joined);
    free(again);
}

FUZZ_MUTATOR(fuzz_mutate_model)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    read_model(data, size);
    read_text((const char *)data, size);
    return 0;
}
