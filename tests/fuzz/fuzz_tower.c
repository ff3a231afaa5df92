/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_tower.c - bytes read as a model's file, and as a text: words are no longer than the limit, folded and of letters
 * only, and the same word has the same number.
 */
#include "fuzz/io_fuzz.h"
#include "fuzz/model_mutator.h"
#include "words/lexicon.h"
#include "text_tower/model_file.h"

static void read_model(const uint8_t *data, size_t size) {
    thr_tensors *tensors = NULL;
    thr_text_model model = {0};
    uint64_t fingerprint = 0;
    thr_error err;
    thr_status status = thr_tensors_open_memory(fuzz_context(), "a.safetensors", data, size, &tensors, &err);
    if (status == THR_OK)
        status = thr_text_model_read(fuzz_context(), tensors, "a.safetensors", &model, &fingerprint, &err);
    if (status != THR_OK) {
        fuzz_check_error(&err, status);
    } else {
        fuzz_check(thr_text_model_check(&model.config, NULL) == THR_OK);
        for (uint32_t i = 0; i < model.grams.n; i++)
            fuzz_check(thr_words_grams_row(&model.grams, model.grams.keys[i]) == i);
    }
    thr_words_grams_free(fuzz_context(), &model.grams);
    thr_tensors_free(tensors);
}

static void read_text(const char *text, size_t size) {
    thr_lexicon lexicon = {0};
    thr_word_list words = {0};
    uint32_t word[THR_WORD_LETTERS];
    size_t n = 0;
    thr_letters letters = {(const unsigned char *)text, (const unsigned char *)text + size};
    fuzz_check(thr_words_lexicon_read(fuzz_context(), &lexicon, text, size, UINT32_MAX, &words, NULL) == THR_OK);
    for (size_t length; (length = thr_words_letters_next_word(&letters, word)) != 0; n++) {
        uint32_t number = 0;
        fuzz_check(length <= THR_WORD_LETTERS && n < words.n);
        for (size_t i = 0; i < length; i++)
            fuzz_check(thr_words_is_letter(word[i]) && thr_words_fold_case(word[i]) == word[i]);
        fuzz_check(thr_words_lexicon_add(fuzz_context(), &lexicon, word, length, &number, NULL) == THR_OK);
        fuzz_check(number == words.items[n]);
    }
    fuzz_check(n == words.n && letters.next == letters.end);
    thr_release(fuzz_context(), words.items);
    thr_words_lexicon_free(fuzz_context(), &lexicon);
}

FUZZ_MUTATOR(fuzz_mutate_model)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    read_model(data, size);
    read_text((const char *)data, size);
    return 0;
}
