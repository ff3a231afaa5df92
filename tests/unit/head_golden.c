/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of heads that are kept in the tree: each must open and give the same answers, bit for bit, at every CPU level;
 * damaged copies must be refused.
 *
 * "unit_head_golden --write" writes all of them anew into tests/golden/heads of the sources. That is right after
 * a change of the format, and wrong as a way to make this test pass.
 */
#include "test.h"

#include "kernel/kernel.h"

#include <thresher/head.h>

#include <inttypes.h>

TEST_OWNABLE(thr_head)

static const char GOLDEN[] = THR_SOURCE_DIR "/tests/golden/heads";

enum { K = 4, WORDS = 70, DIMS = 19, STATES = 5, TEXT = 1 << 14, PATH_ROOM = 1200 };

static const struct {
    const char *name;
    thr_dtype dtype;
    bool bias, order;
    uint32_t n_bands, n_planes;
} KINDS[] = {
    {"f32.head", THR_DTYPE_F32, true, true, 6, 3},
    {"f16.head", THR_DTYPE_F16, false, false, 0, 0},
    {"bf16.head", THR_DTYPE_BF16, true, false, 4, 1},
    {"i8.head", THR_DTYPE_I8, false, true, 5, 2},
};

/* ------------------------------------------------------------------------------------------------ heads */

static void draw(float *out, size_t n, uint64_t seed) {
    uint64_t rng = seed;
    for (size_t i = 0; i < n; i++)
        out[i] = (float)thr_rng_below(&rng, 4001) / 1000 - 2;
}

static void write_kind(thr_context *context, size_t kind, const char *path) {
    static float weights[WORDS * DIMS], bias[WORDS];
    uint32_t frequent[WORDS / 2];
    OWNED(thr_head, head) = NULL;
    thr_head_build_options options = DEFAULTS(thr_head_build_options);
    draw(weights, WORDS * DIMS, 1);
    draw(bias, WORDS, 2);
    for (uint32_t i = 0; i < WORDS / 2; i++)
        frequent[i] = i * 37 % WORDS;
    options.dtype = KINDS[kind].dtype;
    options.bias = KINDS[kind].bias ? bias : NULL;
    options.n_bias = WORDS;
    options.frequent = KINDS[kind].order ? frequent : NULL;
    options.n_frequent = WORDS / 2;
    options.n_bands = KINDS[kind].n_bands;
    options.n_planes = KINDS[kind].n_planes;
    options.n_hashes = 2;
    options.n_places = 5;
    expect_ok(thr_head_create(context, ROWS(weights, WORDS, DIMS), &options, &head, &err));
    expect_ok(thr_head_save(head, path, true, &err));
}

/* ------------------------------------------------------------------------------------------------ answers */

static char *golden_path(char path[PATH_ROOM], const char *name, const char *ending) {
    (void)snprintf(path, PATH_ROOM, "%s/%s%s", GOLDEN, name, ending);
    return path;
}

static uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* What every screen finds for every state: words, and the bits of logits and log-probabilities. */
static void print_answers(thr_context *context, size_t kind, char *text) {
    static float states[STATES * DIMS];
    char path[PATH_ROOM];
    OWNED(thr_head, head) = NULL;
    size_t at = 0;
    draw(states, STATES * DIMS, 3);
    expect_ok(thr_head_open(context, golden_path(path, KINDS[kind].name, ""), &head, &err));
    expect_ok(thr_head_verify(head, &err));
    for (int screen = THR_HEAD_SCREEN_FULL; screen <= THR_HEAD_SCREEN_PLANES; screen++) {
        uint32_t words[STATES * K], n_candidates[STATES];
        float logits[STATES * K], log_probs[STATES * K];
        thr_head_query_options options = DEFAULTS(thr_head_query_options);
        if ((screen == THR_HEAD_SCREEN_WTA && KINDS[kind].n_bands == 0) ||
            (screen == THR_HEAD_SCREEN_PLANES && KINDS[kind].n_planes == 0))
            continue;
        options.screen = (thr_head_screen)screen;
        options.n_frequent = 5;
        options.n_shortlist = 12;
        options.n_candidates = n_candidates;
        expect_ok(thr_head_query(head, ROWS(states, STATES, DIMS), K, &options,
                                 &(thr_head_answers){words, logits, log_probs}, &err));
        for (size_t s = 0; s < STATES; s++) {
            at += (size_t)snprintf(text + at, TEXT - at, "%d %zu of %" PRIu32, screen, s, n_candidates[s]);
            for (size_t i = s * K; i < (s + 1) * K; i++)
                at += (size_t)snprintf(text + at, TEXT - at, "  %" PRIu32 " %08" PRIx32 " %08" PRIx32, words[i],
                                       bits_of(logits[i]), bits_of(log_probs[i]));
            at += (size_t)snprintf(text + at, TEXT - at, "\n");
        }
    }
    assert_true(at < TEXT);
}

static void answer_as_then(thr_context *context, const char *level) {
    for (size_t kind = 0; kind < COUNT_OF(KINDS); kind++) {
        char path[PATH_ROOM], text[TEXT];
        size_t size;
        uint8_t *wanted = test_bytes_of(golden_path(path, KINDS[kind].name, ".answers"), &size);
        print_answers(context, kind, text);
        if (size != strlen(text) || memcmp(wanted, text, size) != 0)
            fail_msg("%s, %s:\n%s", KINDS[kind].name, level, text);
    }
}

TEST(good_files_give_the_same_answers_at_every_level) {
    test_at_every_level(answer_as_then);
}

/* The writer makes the same bytes as then, except for sections that a later format may add. */
TEST(the_same_heads_are_written) {
    thr_context *context = test_new_context(1);
    for (size_t kind = 0; kind < COUNT_OF(KINDS); kind++) {
        char path[PATH_ROOM];
        size_t size, wanted_size;
        write_kind(context, kind, "golden.head");
        uint8_t *bytes = test_bytes_of("golden.head", &size);
        uint8_t *wanted = test_bytes_of(golden_path(path, KINDS[kind].name, ""), &wanted_size);
        if (size != wanted_size || memcmp(bytes, wanted, size) != 0)
            fail_msg("%s: %zu bytes are written, which are others than the %zu there are", KINDS[kind].name, size,
                     wanted_size);
    }
    (void)unlink("golden.head");
}

/* ------------------------------------------------------------------------------------------------ damage */

static const struct {
    size_t at; /* byte to change, or with `cut` the size */
    uint8_t byte;
    bool cut;
    thr_status opened, verified;
} BAD[] = {{7408, 0, true, THR_ECORRUPT, THR_OK},     {0, 0, true, THR_EFORMAT, THR_OK},
           {0, 't', false, THR_EFORMAT, THR_OK},      {8, 0, false, THR_EVERSION, THR_OK},
           {8, 2, false, THR_EVERSION, THR_OK},       {12, 1, false, THR_ECORRUPT, THR_OK},
           {13792, 0xff, false, THR_OK, THR_ECORRUPT} /* weights are the last section */};

TEST(damaged_files_are_refused) {
    static const char PATH[] = "golden-damaged.head";
    thr_context *context = test_new_context(1);
    for (size_t i = 0; i < COUNT_OF(BAD); i++) {
        char path[PATH_ROOM];
        size_t size;
        OWNED(thr_head, head) = NULL;
        uint8_t *bytes = test_bytes_of(golden_path(path, KINDS[0].name, ""), &size);
        if (!BAD[i].cut)
            bytes[BAD[i].at] = BAD[i].byte;
        test_write_file(PATH, bytes, BAD[i].cut ? BAD[i].at : size);
        assert_int_equal(thr_head_open(context, PATH, &head, &err), BAD[i].opened);
        if (BAD[i].opened == THR_OK)
            assert_int_equal(thr_head_verify(head, &err), BAD[i].verified);
        assert_non_null(strstr(err.text, PATH));
    }
    (void)unlink(PATH);
}

/* ------------------------------------------------------------------------------------------------ write */

static void write_all(void) {
    thr_context *context = test_new_context(1);
    for (size_t kind = 0; kind < COUNT_OF(KINDS); kind++) {
        char path[PATH_ROOM], text[TEXT];
        write_kind(context, kind, golden_path(path, KINDS[kind].name, ""));
        print_answers(context, kind, text);
        test_write_text(golden_path(path, KINDS[kind].name, ".answers"), text);
    }
}

TEST_WRITER(write_all)
