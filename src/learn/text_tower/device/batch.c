/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch.c - uploading a step's batch: texts, bags and their transposes are written to pinned memory one after the
 * other, in the layout of the device's array, and uploaded in one copy.
 */
#include "text_tower/device/learner.h"

#include <string.h>

#include "base/error.h"

/* A capacity with a reserve, so that slightly larger batches of the next steps need no reallocation. */
static size_t with_reserve(size_t n) {
    return n + n / 4;
}

static size_t count_text_words(const thr_text_trainer *trainer, thr_side side) {
    const thr_texts *texts = &trainer->scratch.batch.texts[side];
    return texts->offsets[texts->n_texts];
}

static size_t count_trigrams(const thr_batch_words *words) {
    return words->offsets[words->n];
}

/* An upper bound: the number of touched rows is not known yet. */
static size_t count_numbers(const thr_text_trainer *trainer) {
    const thr_tower_config *config = &trainer->model.config;
    size_t n = 0;
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++) {
        const size_t n_words =
            config->shared_words ? trainer->scratch.batch.tables[0].n : trainer->scratch.batch.tables[side].n;
        n += trainer->scratch.batch.texts[side].n_texts + 1 + 3 * count_text_words(trainer, side) + n_words + 1;
    }
    for (size_t i = 0; i < thr_model_n_tables(config); i++) {
        const thr_batch_words *words = &trainer->scratch.batch.tables[i];
        n += words->n + 1 + 4 * count_trigrams(words) + 1;
    }
    return n;
}

static thr_status make_numbers(thr_device_learner *learner, size_t n, thr_error *err) {
    const thr_backend *backend = learner->base.backend;
    void *pinned = NULL;
    learner->n_numbers = 0;
    if (n > UINT32_MAX)
        return thr_fail(err, THR_EUNSUPPORTED,
                        "%u pairs have %zu words and trigrams, and a GPU takes fewer than 2^32: choose smaller "
                        "batches or read fewer words of a text",
                        learner->n, n);
    if (n <= learner->numbers_capacity)
        return THR_OK;
    const size_t capacity = with_reserve(n), size = capacity * sizeof *learner->numbers;
    learner->numbers_capacity = 0;
    backend->release_pinned(learner->base.device, learner->pinned);
    backend->release(learner->base.device, learner->numbers);
    learner->pinned = learner->numbers = NULL;
    THR_TRY(backend->alloc_pinned(learner->base.device, size, &pinned, "a batch's texts", err));
    learner->pinned = pinned;
    THR_TRY(thr_training_learner_alloc(&learner->base, size, &learner->numbers, "a batch's texts", err));
    learner->numbers_capacity = capacity;
    return THR_OK;
}

static thr_status make_vectors(thr_device_learner *learner, const thr_text_trainer *trainer, thr_error *err) {
    const thr_tower_config *config = &trainer->model.config;
    const size_t n_columns = thr_model_n_columns(config);
    size_t n = 0;
    for (size_t i = 0; i < thr_model_n_tables(config); i++)
        n += trainer->scratch.batch.tables[i].n * n_columns;
    if (2 * n > learner->vectors_capacity) {
        const size_t capacity = with_reserve(2 * n);
        learner->vectors_capacity = 0;
        learner->base.backend->release(learner->base.device, learner->vectors);
        learner->vectors = NULL;
        THR_TRY(thr_training_learner_alloc(&learner->base, capacity * sizeof *learner->vectors, &learner->vectors,
                                           "words' vectors and gradients", err));
        learner->vectors_capacity = capacity;
    }
    learner->n_vectors = n;
    learner->d_vectors = learner->vectors + n;
    for (size_t i = 0, at = 0; i < thr_model_n_tables(config); i++) {
        learner->tables[i].vectors = learner->vectors + at;
        learner->tables[i].d_vectors = learner->d_vectors + at;
        at += trainer->scratch.batch.tables[i].n * n_columns;
    }
    return THR_OK;
}

/* Reserve n numbers. Returns where the host writes them; *on_device is where they will be on the device. */
static uint32_t *take(thr_device_learner *learner, size_t n, const uint32_t **on_device) {
    uint32_t *here = learner->pinned + learner->n_numbers;
    *on_device = learner->numbers + learner->n_numbers;
    learner->n_numbers += n;
    return here;
}

static void write_sizes(thr_device_learner *learner, const size_t *from, size_t n, const uint32_t **on_device) {
    uint32_t *to = take(learner, n, on_device);
    for (size_t i = 0; i < n; i++)
        to[i] = (uint32_t)from[i];
}

static void write_numbers(thr_device_learner *learner, const uint32_t *from, size_t n, const uint32_t **on_device) {
    uint32_t *to = take(learner, n, on_device);
    if (n != 0)
        memcpy(to, from, n * sizeof *to);
}

/*
 * Counting sort of positions by their words. While filling, first[w + 1] is where w's next position goes; at the end it
 * is the end of w's list, which is the start of the next.
 */
static void find_positions(const uint32_t *words, uint32_t n, uint32_t n_words, uint32_t *first, uint32_t *positions) {
    uint32_t start = 0;
    memset(first, 0, ((size_t)n_words + 1) * sizeof *first);
    for (uint32_t p = 0; p < n; p++)
        first[words[p] + 1]++;
    for (uint32_t w = 1; w <= n_words; w++) {
        const uint32_t count = first[w];
        first[w] = start;
        start += count;
    }
    for (uint32_t p = 0; p < n; p++)
        positions[first[words[p] + 1]++] = p;
}

static void write_texts(thr_device_learner *learner, thr_text_trainer *trainer, thr_side side) {
    const thr_texts *texts = &trainer->scratch.batch.texts[side];
    const size_t n_words = thr_batch_table(&trainer->model.config, &trainer->scratch.batch, side)->n;
    const size_t n = count_text_words(trainer, side);
    thr_device_side *to = &learner->sides[side];
    to->texts.n_texts = (uint32_t)texts->n_texts;
    write_sizes(learner, texts->offsets, texts->n_texts + 1, &to->texts.offsets);
    write_numbers(learner, texts->words, n, &to->texts.words);
    uint32_t *text_of = take(learner, n, &to->text_of);
    for (uint32_t i = 0; i < texts->n_texts; i++)
        for (size_t p = texts->offsets[i]; p < texts->offsets[i + 1]; p++)
            text_of[p] = i;
    uint32_t *first = take(learner, n_words + 1, &to->first), *positions = take(learner, n, &to->positions);
    find_positions(texts->words, (uint32_t)n, (uint32_t)n_words, first, positions);
}

static thr_status write_words(thr_device_learner *learner, thr_text_trainer *trainer, size_t number, thr_error *err) {
    const thr_batch_words *words = &trainer->scratch.batch.tables[number];
    const thr_bags bags = thr_batch_bags(words);
    const thr_bags_transposed *transposed = &trainer->scratch.transposed;
    const size_t n_trigrams = count_trigrams(words);
    thr_device_table *to = &learner->tables[number];
    THR_TRY(
        thr_nn_bags_transpose(trainer->base.context, &bags, trainer->model.grams.n, &trainer->scratch.transposed, err));
    to->n_words = (uint32_t)words->n;
    to->n_touched = (uint32_t)transposed->n_rows;
    write_sizes(learner, words->offsets, words->n + 1, &to->offsets);
    write_numbers(learner, words->rows, n_trigrams, &to->rows);
    write_numbers(learner, transposed->rows, transposed->n_rows, &to->touched);
    write_sizes(learner, transposed->offsets, transposed->n_rows + 1, &to->touched_offsets);
    write_numbers(learner, transposed->bags, n_trigrams, &to->touched_bags);
    return THR_OK;
}

thr_status thr_text_device_batch_put(thr_device_learner *learner, thr_text_trainer *trainer, const uint32_t *numbers,
                                     thr_error *err) {
    const thr_tower_config *config = &trainer->model.config;
    thr_batch_mode mode = thr_text_trainer_batch_mode(trainer);
    mode.learn = false; /* the device has its own gradients */
    const thr_batch_source source = {config, &trainer->lexicon, &trainer->pairs, numbers, learner->n};
    THR_TRY(thr_text_batch_fill(trainer->base.context, &source, &mode, &trainer->scratch.batch, err));
    THR_TRY(make_numbers(learner, count_numbers(trainer), err));
    THR_TRY(make_vectors(learner, trainer, err));
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++)
        write_texts(learner, trainer, side);
    for (size_t i = 0; i < thr_model_n_tables(config); i++)
        THR_TRY(write_words(learner, trainer, i, err));
    return learner->base.backend->upload(learner->base.stream, learner->numbers, learner->pinned,
                                         learner->n_numbers * sizeof *learner->numbers, err);
}
