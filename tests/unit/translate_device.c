/* SPDX-License-Identifier: Apache-2.0 */
/*
 * translate_device.c - texts translated in contexts that use GPUs, which are emulated: the CPU's states and
 * translations to the bit, by models with attention and without, and fallbacks where a GPU fails.
 */

#include <thresher/translate.h>

#include "device/gpus.h"
#include "emulator.h"
#include "translate_support.h"

static const char PATH[] = "unit-translate-device.safetensors";
enum { NO_SKIP = SIZE_MAX, TEXTS = 7, TEXT_MOST = 160, STATES_MOST = 1 << 16 };

static test_emulator emulator;

static const model_shape SHAPES[] = {{9, 12, 5, 3, 10, 7, 1, THR_DTYPE_F32, false},
                                     {30, 40, 20, 9, 34, 40, 2, THR_DTYPE_F32, false},
                                     {5, 6, 1, 1, 2, 1, 3, THR_DTYPE_F16, false},
                                     {9, 14, 5, 3, 10, 10, 2, THR_DTYPE_F32, true}};

/* "auto" finds every batch worth a GPU in these. */
static thr_context *make_context(const char *device) {
    thr_context_options options = {0};
    thr_context *context = NULL;
    options.n_threads = 1;
    options.device = device;
    expect_ok(thr_context_create(&options, &context, &err));
    if (context->gpus != NULL)
        context->gpus->wake_up = -1;
    return context;
}

/* The states of all steps, and the translations as text. */
typedef struct answer {
    float states[STATES_MOST];
    size_t n_states;
    char text[8192];
} answer;

static void keep_states(void *user, const float *states, uint64_t n, uint32_t n_dims) {
    answer *a = user;
    assert_true(a->n_states + n * n_dims <= STATES_MOST);
    memcpy(a->states + a->n_states, states, n * n_dims * sizeof *states);
    a->n_states += n * n_dims;
}

static void draw_texts(char texts[TEXTS][TEXT_MOST], const char *at[TEXTS], uint64_t n_words, uint64_t *rng) {
    for (size_t i = 0; i < TEXTS; i++) {
        size_t used = 0;
        const size_t n = i == 0 ? 0 : (size_t)thr_rng_below(rng, MODEL_PLACES - 1);
        texts[i][0] = '\0';
        for (size_t j = 0; j < n; j++) /* some words are unknown */
            used += (size_t)sprintf(texts[i] + used, "%sw%u", j > 0 ? " " : "", (unsigned)thr_rng_below(rng, n_words));
        at[i] = texts[i];
    }
}

static thr_status translate(thr_context *context, const char *const texts[TEXTS], bool replace_unk, answer *a,
                            thr_error *error) {
    thr_translator_options o = {0};
    thr_translator *t = NULL;
    thr_translations r;
    size_t used = 0;
    o.beam = 3;
    o.n_best = 2;
    o.batch = 3;
    o.max_length = 6;
    o.replace_unk = replace_unk;
    o.on_states = keep_states;
    o.on_states_user = a;
    a->n_states = 0;
    a->text[0] = '\0';
    assert_ok(thr_translator_open(context, PATH, &o, &t, error), error);
    const thr_status status = thr_translator_translate(t, texts, NULL, TEXTS, &r, error);
    for (uint64_t i = 0; status == THR_OK && i < r.first_of[TEXTS]; i++)
        used += (size_t)snprintf(a->text + used, sizeof a->text - used, "%s %a %a\n", r.translations[i].text,
                                 r.translations[i].log_prob, r.translations[i].score);
    thr_translator_free(t);
    return status;
}

RANDOM_TEST(states_and_translations_are_the_cpus) {
    static answer right, got;
    for (size_t s = 0; s < COUNT_OF(SHAPES); s++) {
        char texts[TEXTS][TEXT_MOST];
        const char *at[TEXTS];
        model *m = model_make(&SHAPES[s]);
        model_write(*state, m, PATH, NO_SKIP);
        draw_texts(texts, at, SHAPES[s].n_source + 2, &rng);
        expect_ok(translate(*state, at, !SHAPES[s].plain, &right, &err));
        thr_context *context = make_context(s % 2 == 0 ? "cuda" : "auto");
        const uint64_t before = emulator.launches();
        expect_ok(translate(context, at, !SHAPES[s].plain, &got, &err));
        assert_true(emulator.launches() > before);
        assert_true(strncmp(thr_context_device(context), "cuda:0", 6) == 0);
        assert_int_equal(got.n_states, right.n_states);
        assert_memory_equal(got.states, right.states, right.n_states * sizeof *right.states);
        assert_string_equal(got.text, right.text);
        thr_context_free(context);
        assert_int_equal(emulator.allocated(), 0);
        assert_int_equal(emulator.pinned(), 0);
    }
}

/* Every allocation, copy and launch of the first ones in turn: "cuda" fails, "auto" has the CPU's translations. */
RANDOM_TEST(a_failing_gpu_is_an_error_or_the_cpus_work) {
    static const char *const kinds[] = {"alloc", "copy", "launch"};
    static answer right, got;
    rng += 1;
    char texts[TEXTS][TEXT_MOST];
    const char *at[TEXTS];
    model *m = model_make(&SHAPES[0]);
    model_write(*state, m, PATH, NO_SKIP);
    draw_texts(texts, at, SHAPES[0].n_source + 2, &rng);
    expect_ok(translate(*state, at, true, &right, &err));
    for (size_t k = 0; k < COUNT_OF(kinds); k++)
        for (unsigned n = 1; n < 60; n += 11) {
            char what[32];
            for (int automatic = 0; automatic < 2; automatic++) {
                thr_context *context = make_context(automatic ? "auto" : "cuda");
                (void)snprintf(what, sizeof what, "%s %u", kinds[k], n);
                emulator.let_fail(what);
                const thr_status status = translate(context, at, true, &got, &err);
                if (automatic)
                    expect_ok(status);
                else
                    assert_true(status == THR_OK || status == THR_EDEVICE || status == THR_ENOMEM);
                if (status == THR_OK)
                    assert_string_equal(got.text, right.text);
                thr_context_free(context);
                emulator.let_fail("none");
                assert_int_equal(emulator.allocated(), 0);
                assert_int_equal(emulator.pinned(), 0);
            }
        }
}

static int open_group(void **state) {
    *state = test_context(1, THR_ISA_BEST, NULL);
    return 0;
}

static int close_group(void **state) {
    thr_context_free(*state);
    return unlink(PATH);
}

TEST_NEEDS(test_emulator_take(&emulator, 1))
TEST_GROUP(open_group, close_group)
