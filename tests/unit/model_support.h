/* SPDX-License-Identifier: Apache-2.0 */
/* model_support.h - small models that are learned in a moment, and texts for them. */
#pragma once

#include "index_support.h"

enum { MODEL_DIMS = 32, MODEL_PAIRS = 160, TEXT_ROOM = 80 };

/* A few words of a small language, the same for the same number. */
static inline void make_text(uint64_t number, char text[TEXT_ROOM]) {
    static const char *const syllables[] = {"ba", "den", "fi", "gor", "hul", "ka", "lem", "mi",
                                            "no", "pru", "ra", "sto", "ti",  "vu", "wen", "zo"};
    uint64_t rng = number + 1;
    const uint64_t n_words = 2 + thr_rng_below(&rng, 4);
    size_t used = 0;
    for (uint64_t w = 0; w < n_words; w++) {
        const int length =
            snprintf(text + used, TEXT_ROOM - used, "%s%s%s%s", w > 0 ? " " : "", syllables[thr_rng_below(&rng, 16)],
                     syllables[thr_rng_below(&rng, 16)], syllables[thr_rng_below(&rng, 16)]);
        used += (size_t)length;
    }
}

/* Texts 0 to n - 1, one per line. */
static inline void write_texts(const char *path, uint64_t n) {
    FILE *file = fopen(path, "w");
    char text[TEXT_ROOM];
    assert_non_null(file);
    for (uint64_t i = 0; i < n; i++) {
        make_text(i, text);
        (void)fprintf(file, "%s\n", text);
    }
    assert_int_equal(fclose(file), 0);
}

/* Learn a model at path; what its sides are, and a seed that makes others of the same size. */
static inline void make_model(thr_context *context, const char *path, uint32_t query_bits, uint32_t item_bits,
                              uint64_t seed) {
    thr_tower_train_options options;
    char pairs[PATH_ROOM], text[TEXT_ROOM];
    (void)snprintf(pairs, sizeof pairs, "%s.tsv", path);
    FILE *file = fopen(pairs, "w");
    assert_non_null(file);
    for (uint64_t i = 0; i < MODEL_PAIRS; i++) {
        make_text(i, text);
        (void)fprintf(file, "%.*s\t%s\n", (int)strcspn(text, " "), text, text);
    }
    assert_int_equal(fclose(file), 0);
    thr_tower_train_options_init(&options);
    options.config.n_dims = MODEL_DIMS;
    options.config.n_pooled = 24;
    options.config.query_bits = query_bits;
    options.config.item_bits = item_bits;
    options.config.max_grams = 300;
    options.run.batch = 32;
    options.n_negatives = 4;
    options.run.n_epochs = 1;
    options.run.seed = seed;
    expect_ok(thr_tower_train(context, pairs, path, &options, NULL, &err));
    (void)unlink(pairs);
}

/* The embeddings of texts first to first + n - 1, MODEL_DIMS floats each. */
static inline float *encode_texts(thr_context *context, const char *path, thr_side side, uint64_t first, uint64_t n) {
    thr_tower *tower = NULL;
    float *out = test_new(n * MODEL_DIMS, sizeof *out);
    expect_ok(thr_tower_open(context, path, &tower, &err));
    for (uint64_t i = 0; i < n; i++) {
        char text[TEXT_ROOM];
        const char *const one = text;
        make_text(first + i, text);
        expect_ok(thr_tower_encode(tower, side, &one, NULL, 1, out + i * MODEL_DIMS, &err));
    }
    thr_tower_free(tower);
    return out;
}
