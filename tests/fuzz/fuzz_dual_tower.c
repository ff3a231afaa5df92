/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_dual_tower.c - bytes read as a dual tower's file, and as a table of items with one of requests after an empty
 * line: kept requests name only existing items and words, best ads first.
 */
#include "fuzz/io_fuzz.h"
#include "fuzz/model_mutator.h"
#include "dual_tower/data.h"
#include "dual_tower/model_file.h"

static void read_model(const uint8_t *data, size_t size) {
    thr_tensors *tensors = NULL;
    thr_dual_model model = {0};
    uint64_t fingerprint = 0;
    thr_error err;
    thr_status status = thr_tensors_open_memory(fuzz_context(), "a.safetensors", data, size, &tensors, &err);
    if (status == THR_OK)
        status = thr_dual_read(fuzz_context(), tensors, "a.safetensors", &model, &fingerprint, &err);
    if (status != THR_OK)
        fuzz_check_error(&err, status);
    else
        for (int side = 0; side < THR_N_SIDES; side++)
            for (uint32_t w = 0; w < thr_dual_n_words(&model.words[side]); w++)
                fuzz_check(model.words[side].fields[w] < thr_dual_n_fields(&model.words[side]));
    thr_dual_words_free(fuzz_context(), &model);
    thr_tensors_free(tensors);
}

static void check_requests(const thr_dual_lexicon *lexicon, const thr_dual_items *items,
                           const thr_dual_requests *requests) {
    for (size_t r = 0; r < requests->n; r++) {
        const uint64_t first = requests->ad_offsets[r], end = requests->ad_offsets[r + 1];
        fuzz_check(end > first && end - first <= requests->most_ads && requests->levels[first] == 0);
        for (uint64_t a = first; a < end; a++) {
            fuzz_check(requests->ads[a] < items->n && requests->values[a] >= 0);
            fuzz_check(a == first || requests->levels[a] - requests->levels[a - 1] <= 1);
        }
        for (size_t w = requests->word_offsets[r]; w < requests->word_offsets[r + 1]; w++) {
            const uint32_t word = requests->words[w];
            fuzz_check(word < lexicon->words[THR_SIDE_QUERY].n_words);
            fuzz_check(lexicon->hits[word] == THR_DUAL_NONE ||
                       lexicon->hits[word] < lexicon->words[THR_SIDE_ITEM].n_words);
        }
    }
}

static thr_table *open_table(const uint8_t *data, size_t size, thr_error *err) {
    const thr_image image = {.data = data, .size = size, .sized = true};
    thr_table *table = NULL;
    const thr_status status = thr_io_table_open_memory(fuzz_context(), "a.tsv", &image, &table, err);
    fuzz_check((status == THR_OK) == (table != NULL));
    return table;
}

static void read_tables(const uint8_t *data, size_t size) {
    thr_dual_lexicon lexicon = {0};
    thr_dual_items items = {0};
    thr_dual_requests requests = {0};
    thr_error err;
    size_t middle = 0;
    while (middle + 1 < size && !(data[middle] == '\n' && data[middle + 1] == '\n'))
        middle++;
    thr_table *first = open_table(data, middle + 1 < size ? middle + 1 : size, &err);
    thr_status status = THR_EFORMAT;
    if (first != NULL) {
        status = thr_dual_items_take(fuzz_context(), first, &lexicon, &items, &err);
        if (status != THR_OK)
            fuzz_check_error(&err, status);
    }
    if (status == THR_OK && middle + 2 < size) {
        thr_table *second = open_table(data + middle + 2, size - middle - 2, &err);
        if (second != NULL) {
            status = thr_dual_requests_take(fuzz_context(), second, &items, &lexicon, &requests, &err);
            if (status != THR_OK)
                fuzz_check_error(&err, status);
            check_requests(&lexicon, &items, &requests); /* of the lines before a bad one */
        }
        thr_io_table_free(second);
    }
    thr_io_table_free(first);
    thr_dual_lexicon_free(fuzz_context(), &lexicon);
    thr_dual_items_free(fuzz_context(), &items);
    thr_dual_requests_free(fuzz_context(), &requests);
}

FUZZ_MUTATOR(fuzz_mutate_model)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    read_model(data, size);
    read_tables(data, size);
    return 0;
}
