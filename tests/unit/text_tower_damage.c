/* SPDX-License-Identifier: Apache-2.0 */
/* text_tower_damage.c - model files cut and changed at every byte, and headers with wrong contents. */
#define TOWER_TEST "damage"
#include "text_tower_support.h"

#include "text_tower/model_file.h"

static const char model[] = NAME("model"), damaged[] = NAME("damaged");

/* A model as small as can be, in memory that a sanitizer watches the ends of. */
static char *make_small(thr_context *context, size_t *size) {
    thr_tower_train_options options;
    tower_small(&options);
    options.config.n_dims = options.config.n_pooled = 2;
    options.config.query_bits = 2;
    options.config.item_bits = 1;
    options.config.max_grams = 5;
    options.run.n_epochs = 1;
    tower_write_pairs(NAME("pairs.tsv"), 0, TOWER_PAIRS);
    (void)tower_train(context, NAME("pairs.tsv"), model, &options);
    return tower_read(model, size);
}

/* Reads a model in memory; of one that is accepted the configuration and fingerprint. */
static thr_status read_bytes(thr_context *context, const void *bytes, size_t size, thr_tower_config *config,
                             uint64_t *fingerprint, thr_error *error) {
    thr_tensors *tensors = NULL;
    thr_text_model read = {0};
    thr_status status = thr_tensors_open_memory(context, "m.safetensors", bytes, size, &tensors, error);
    if (status == THR_OK)
        status = thr_text_model_read(context, tensors, "m.safetensors", &read, fingerprint, error);
    *config = read.config;
    thr_words_grams_free(context, &read.grams);
    thr_tensors_free(tensors);
    return status;
}

static size_t header_end(const char *bytes) {
    size_t length = 0;
    for (unsigned i = 0; i < 8; i++)
        length |= (size_t)(unsigned char)bytes[i] << 8 * i;
    return 8 + length;
}

TEST(a_changed_header_is_refused) {
    thr_tower_config wanted, config;
    uint64_t fingerprint = 0, other = 0;
    size_t size = 0, n_blank = 0;
    char *bytes = make_small(*state, &size);
    expect_ok(read_bytes(*state, bytes, size, &wanted, &fingerprint, &err));
    const size_t end = header_end(bytes);
    assert_true(end < size);
    for (size_t at = 0; at < end; at++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            const char kept = bytes[at];
            bytes[at] = (char)(kept ^ (1 << bit));
            const thr_status status = read_bytes(*state, bytes, size, &config, &other, &err);
            if (status == THR_OK) /* one blank for another */
                n_blank++;
            else
                assert_true(status == THR_EFORMAT || status == THR_ECORRUPT || status == THR_EVERSION);
            assert_case(status != THR_OK || kept == ' ', "byte %zu, bit %u of the header (%c): accepted", at, bit,
                        kept);
            if (status == THR_OK)
                assert_true(memcmp(&config, &wanted, sizeof config) == 0 && other == fingerprint);
            bytes[at] = kept;
        }
    }
    assert_true(n_blank < 200);
}

TEST(a_cut_model_is_refused) {
    thr_tower_config config;
    uint64_t fingerprint = 0;
    size_t size = 0;
    char *bytes = make_small(*state, &size);
    for (size_t n = 0; n < size; n++) {
        char *cut = test_copy(bytes, n, 1); /* exactly, so that a sanitizer sees one byte more */
        const thr_status status = read_bytes(*state, cut, n, &config, &fingerprint, &err);
        assert_true(status == THR_EFORMAT || status == THR_ECORRUPT);
    }
}

/*
 * Opening compares the fingerprint and refuses every change. Mapping, as an index does, takes any bits as weights:
 * nothing may crash. A repeated trigram is refused.
 */
RANDOM_TEST(changed_weights_are_refused_and_do_no_harm) {
    size_t size = 0;
    char *bytes = make_small(*state, &size);
    const size_t end = header_end(bytes);
    for (unsigned round = 0; round < 200; round++) {
        const size_t at = end + (size_t)thr_rng_below(&rng, size - end);
        const char kept = bytes[at];
        bytes[at] = (char)thr_rng_next(&rng);
        test_write_file(damaged, bytes, size);
        thr_tower *tower = NULL;
        const char *const texts[] = {"edit pdf", "", "play \xff chess"};
        float out[3 * 2];
        unsigned char packed[3 * 2];
        if (bytes[at] != kept) {
            assert_int_equal(thr_tower_open(*state, damaged, &tower, &err), THR_ECORRUPT);
            assert_null(tower);
        }
        const thr_status status = thr_text_tower_map(*state, damaged, &tower, &err);
        assert_true(status == THR_OK || status == THR_ECORRUPT);
        for (thr_side side = THR_SIDE_QUERY; status == THR_OK && side <= THR_SIDE_ITEM; side++) {
            expect_ok(thr_tower_encode(tower, side, texts, NULL, 3, out, &err));
            expect_ok(thr_tower_pack(tower, side, out, 3, packed, &err));
        }
        thr_tower_free(tower);
        bytes[at] = kept;
    }
    memcpy(bytes + end, bytes + end + 8, 8); /* trigrams come first */
    test_write_file(damaged, bytes, size);
    thr_tower *tower = NULL;
    expect_error(thr_tower_open(*state, damaged, &tower, &err), THR_ECORRUPT, "is repeated");
    assert_null(tower);
}

/* The same bytes with a piece of the header replaced by one as long. */
static void refused_with(thr_context *context, const char *from, const char *to, thr_status status, const char *words) {
    thr_tower_config config;
    uint64_t fingerprint = 0;
    size_t size = 0;
    char *bytes = tower_read(model, &size), *place = bytes;
    assert_int_equal(strlen(from), strlen(to));
    for (; (size_t)(place - bytes) + strlen(from) < size && memcmp(place, from, strlen(from)) != 0; place++) {
    }
    assert_memory_equal(place, from, strlen(from));
    memcpy(place, to, strlen(to));
    expect_error(read_bytes(context, bytes, size, &config, &fingerprint, &err), status, words);
    assert_non_null(strstr(err.text, "m.safetensors"));
}

TEST(headers_that_do_not_fit_are_explained) {
    thr_tower *tower = NULL;
    refused_with(*state, "\"thresher.tower\":\"1\"", "\"thresher.tower\":\"3\"", THR_EVERSION, "version 3");
    refused_with(*state, "\"thresher.tower\":\"1\"", "\"thresher.power\":\"1\"", THR_EFORMAT, "is not a model");
    refused_with(*state, "\"n_dims\":\"2\"", "\"n_dims\":\"0\"", THR_EFORMAT, "out of range");
    refused_with(*state, "\"n_dims\":\"2\"", "\"n_dims\":\"x\"", THR_EFORMAT, "not a number");
    refused_with(*state, "\"n_dims\":\"2\"", "\"n_dims\":\"3\"", THR_ECORRUPT, "checksum");
    refused_with(*state, "\"max_words\":\"128\"", "\"max_words\":\"129\"", THR_ECORRUPT, "checksum");
    refused_with(*state, "\"max_words\":\"128\"", "\"max_words\":\"+28\"", THR_ECORRUPT, "checksum");
    refused_with(*state, "\"plain_weights\":\"0\"", "\"plain_weights\":\"1\"", THR_ECORRUPT, "checksum");
    refused_with(*state, "\"grams\":", "\"grans\":", THR_EFORMAT, "letter trigrams");
    refused_with(*state, "\"query.base.bias\":", "\"query.base.bios\":", THR_EFORMAT, "query.base.bias");
    test_write_text(damaged, "text");
    expect_error(thr_tower_open(*state, damaged, &tower, &err), THR_ECORRUPT, damaged);
    expect_error(thr_tower_open(*state, NAME("none"), &tower, &err), THR_ENOTFOUND, NAME("none"));
    expect_error(thr_tower_open(*state, ".", &tower, &err), THR_EFORMAT, NULL);
    assert_null(tower);
}

/* A header one byte longer moves the data to where floats cannot be read from. */
TEST(tensors_that_are_not_aligned_are_refused) {
    thr_tower_config config;
    uint64_t fingerprint = 0;
    size_t size = 0;
    char *bytes = make_small(*state, &size);
    const size_t end = header_end(bytes);
    char *moved = test_new(size + 1, 1);
    memcpy(moved, bytes, end);
    moved[end] = ' ';
    memcpy(moved + end + 1, bytes + end, size - end);
    const size_t length = end + 1 - 8;
    for (unsigned i = 0; i < 8; i++)
        moved[i] = (char)(length >> 8 * i);
    expect_error(read_bytes(*state, moved, size + 1, &config, &fingerprint, &err), THR_EFORMAT, "is not aligned");
}

/* A bool is true for any byte but 0, and is written as 1. */
TEST(flags_are_written_as_0_or_1) {
    thr_tower_train_options options;
    thr_tower_config config;
    uint64_t fingerprint = 0;
    size_t size = 0;
    tower_small(&options);
    options.config.shared_words = true;
    options.run.n_epochs = 1;
    (void)tower_train(*state, NAME("pairs.tsv"), model, &options);
    char *bytes = tower_read(model, &size);
    expect_ok(read_bytes(*state, bytes, size, &config, &fingerprint, &err));
    assert_true(config.shared_words && !config.shared_steps && !config.plain_weights);
    assert_non_null(strstr(bytes + 8, "\"shared_words\":\"1\""));
}
