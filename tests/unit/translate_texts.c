/* SPDX-License-Identifier: Apache-2.0 */
/*
 * translate_texts.c - texts translated: words of a small dictionary, the greedy choice of a model in double, the same
 * answers in every batch and with every screen that lets all words by; limits, memory, and refusals.
 */
#include <thresher/translate.h>

#include "translate_support.h"

#include "tensors/safetensors.h"

static const char PATH[] = "unit-translate-texts.safetensors", HEAD[] = "unit-translate-texts.head";
static const char TABLE[] = "unit-translate-texts.lex";
enum { NO_SKIP = SIZE_MAX, TEXTS = 40, TEXT_MOST = 160 };

static thr_translator *open_it(thr_context *context, const thr_translator_options *options) {
    thr_translator *t = NULL;
    expect_ok(thr_translator_open(context, PATH, options, &t, &err));
    return t;
}

static thr_translations translate(thr_translator *t, const char *const *texts, size_t n) {
    thr_translations result;
    expect_ok(thr_translator_translate(t, texts, NULL, n, &result, &err));
    assert_true(result.n_texts == n && result.first_of[0] == 0);
    return result;
}

static void dictionary(thr_context *context) {
    model *m = model_dictionary();
    model_write(context, m, PATH, NO_SKIP);
}

/* ------------------------------------------------------------------------------------------------ words */

TEST(words_are_translated_in_the_order_of_texts) {
    static const char *const texts[] = {"Chat", "", "le", "  \n ", "chien", ".", "chat"};
    static const char *const want[] = {"cat", "", "the", "", "dog", ".", "cat"};
    dictionary(*state);
    OWNED(thr_translator, t) = open_it(*state, NULL);
    const thr_translations r = translate(t, texts, 7);
    for (size_t i = 0; i < 7; i++) {
        assert_int_equal(r.first_of[i + 1] - r.first_of[i], 1);
        const thr_translation *made = &r.translations[r.first_of[i]];
        assert_string_equal(made->text, want[i]);
        assert_int_equal(made->n_words, *want[i] != '\0');
        assert_true(made->ended);
        assert_true(*want[i] != '\0' ? made->score < 0 && made->score > -0.2 : made->score == 0);
        assert_true(fabs(made->score * 2 - made->log_prob) < 1e-12); /* a word and the end */
    }
    assert_string_equal(r.translations[5].words, "\xEF\xBF\xAD.");
    assert_true(r.n_source_words == 5 && r.n_words == 5 && r.n_unknown == 0 && r.n_steps > 0 && r.n_states >= 5);
}

TEST(n_best_are_a_texts_translations_best_first) {
    static const char *const texts[] = {"le chien", "chat", "", "chien chat ."};
    dictionary(*state);
    thr_translator_options o = {0};
    o.n_best = 2;
    OWNED(thr_translator, t) = open_it(*state, &o);
    const thr_translations r = translate(t, texts, 4);
    static const uint64_t first_of[] = {0, 2, 4, 5, 7};
    static const char *const want[] = {"dog", "the", "cat", NULL, "", "cat", "dog"};
    assert_memory_equal(r.first_of, first_of, sizeof first_of);
    for (size_t i = 0; i < 7; i++)
        if (want[i] != NULL)
            assert_string_equal(r.translations[i].text, want[i]);
    assert_true(r.translations[2].score > r.translations[3].score);
}

TEST(unknown_words_are_left_out_or_said_or_replaced) {
    static const char *const texts[] = {"Zebra", "chat le Zebra!", "chat"};
    dictionary(*state);
    thr_translator_options o = {0};
    thr_translator *t = open_it(*state, &o);
    thr_translations r = translate(t, texts, 3);
    assert_true(r.n_unknown == 3);
    for (size_t i = 0; i < r.first_of[3]; i++)
        assert_null(strstr(r.translations[i].words, "unk"));
    thr_translator_free(t);
    o.unknown = true;
    t = open_it(*state, &o);
    r = translate(t, texts, 3);
    assert_string_equal(r.translations[0].text, "<unk>");
    assert_string_equal(r.translations[1].text, "<unk>");
    assert_string_equal(r.translations[2].text, "cat");
    thr_translator_free(t);
    o.unknown = false;
    o.replace_unk = true;
    o.n_best = 3;
    t = open_it(*state, &o);
    r = translate(t, texts, 3);
    assert_string_equal(r.translations[r.first_of[0]].text, "zebra");
    assert_string_equal(r.translations[r.first_of[1]].text, "zebra"); /* it comes before the '!' as unknown */
    assert_string_equal(r.translations[r.first_of[2]].text, "cat");
    thr_translator_free(t);
}

/* ------------------------------------------------------------------------------------------------ numbers */

/* A model whose translations end at times, and texts of its words. */
static model *random_model(thr_context *context) {
    static const model_shape shape = {30, 40, 7, 6, 18, 12, 2, THR_DTYPE_F32, false};
    model *m = model_make(&shape);
    uint64_t rng = 5;
    for (size_t i = 0; i < 40 * 12; i++)
        model_values(m, "output.weight")[i] = 3 * test_normal(&rng);
    model_values(m, "output.bias")[THR_WORD_END] += 2;
    model_write(context, m, PATH, NO_SKIP);
    return m;
}

typedef struct drawn_texts {
    char text[TEXTS][TEXT_MOST];
    const char *at[TEXTS];
    uint32_t words[TEXTS][MODEL_PLACES];
    size_t n[TEXTS];
} drawn_texts;

static void draw_texts(drawn_texts *all, uint64_t *rng) {
    for (size_t i = 0; i < TEXTS; i++) {
        size_t used = 0;
        all->n[i] = (size_t)thr_rng_below(rng, MODEL_PLACES - 1);
        all->at[i] = all->text[i];
        all->text[i][0] = '\0';
        for (size_t j = 0; j < all->n[i]; j++) {
            all->words[i][j] = 3 + (uint32_t)thr_rng_below(rng, 27);
            used += (size_t)sprintf(all->text[i] + used, "%sw%u", j > 0 ? " " : "", all->words[i][j]);
        }
        all->words[i][all->n[i]++] = THR_WORD_END;
    }
}

/* The likeliest word for a decoder's state, in double; adds its log-probability. */
static uint32_t likeliest_word(model *m, const double *state, double *log_prob) {
    double logits[40], sum = 0;
    uint32_t best = THR_WORD_END;
    for (uint32_t w = 0; w < 40; w++) {
        logits[w] = model_values(m, "output.bias")[w];
        for (size_t k = 0; k < 12; k++)
            logits[w] += model_values(m, "output.weight")[w * 12 + k] * state[k];
        sum += exp(logits[w]);
        best = w >= THR_WORD_END && logits[w] > logits[best] ? w : best;
    }
    *log_prob += logits[best] - log(sum);
    return best;
}

RANDOM_TEST(one_beam_is_the_greedy_choice_of_a_model_in_double) {
    static drawn_texts all;
    model *m = random_model(*state);
    thr_translator_options o = {0};
    o.beam = 1;
    o.penalty = THR_BEAM_PENALTY_NONE; /* else a longer one may come before the first that ends */
    o.length_ratio = 1;
    o.length_extra = 3;
    draw_texts(&all, &rng);
    OWNED(thr_translator, t) = open_it(*state, &o);
    const thr_translations r = translate(t, all.at, TEXTS);
    size_t n_ended = 0, n_words = 0;
    for (size_t i = 0; i < TEXTS; i++) {
        static naive_sentence sentence;
        char want[1024] = "";
        double log_prob = 0, s[MODEL_UNITS];
        bool ended = all.n[i] == 1;
        naive_encode(m, all.words[i], all.n[i], &sentence);
        naive_row row = sentence.first;
        uint32_t word = THR_WORD_START;
        for (size_t step = 0; !ended && step < all.n[i] - 1 + 3; step++) {
            naive_step(m, &sentence, &row, word, s);
            word = likeliest_word(m, s, &log_prob);
            ended = word == THR_WORD_END;
            if (!ended)
                (void)sprintf(want + strlen(want), "%sw%u", *want != '\0' ? " " : "", word);
        }
        const thr_translation *made = &r.translations[r.first_of[i]];
        assert_case(strcmp(made->text, want) == 0, "seed %llu: \"%s\", should be \"%s\"",
                    (unsigned long long)test_seed(), made->text, want);
        assert_int_equal(made->ended, ended);
        assert_true(fabs(made->log_prob - log_prob) < 1e-4);
        n_ended += ended;
        n_words += made->n_words;
    }
    assert_true(n_ended > 3 && n_words > TEXTS); /* else the model proves nothing */
}

/* Texts, words, scores to the bit. */
static void same_answers(const thr_translations *a, const thr_translations *b) {
    assert_memory_equal(a->first_of, b->first_of, (a->n_texts + 1) * sizeof *a->first_of);
    for (size_t i = 0; i < a->first_of[a->n_texts]; i++) {
        const thr_translation *x = &a->translations[i], *y = &b->translations[i];
        assert_string_equal(x->text, y->text);
        assert_string_equal(x->words, y->words);
        assert_memory_equal(&x->score, &y->score, sizeof x->score);
        assert_memory_equal(&x->log_prob, &y->log_prob, sizeof x->log_prob);
    }
}

RANDOM_TEST(an_answer_does_not_depend_on_the_batch_or_the_threads) {
    static drawn_texts all;
    rng += 1;
    (void)random_model(*state);
    thr_translator_options o = {0};
    o.beam = 4;
    o.n_best = 3;
    o.replace_unk = true;
    draw_texts(&all, &rng);
    thr_translator *t = open_it(*state, &o);
    const thr_translations whole = translate(t, all.at, TEXTS);
    for (uint32_t threads = 1; threads < 4; threads += 2)
        for (uint32_t batch = 1; batch < 20; batch += 6) {
            thr_context *context = test_context(threads, threads == 1 ? THR_ISA_SCALAR : THR_ISA_BEST, NULL);
            o.batch = batch;
            thr_translator *other = open_it(context, &o);
            const thr_translations r = translate(other, all.at, TEXTS);
            same_answers(&whole, &r);
            thr_translator_free(other);
            thr_context_free(context);
        }
    thr_translator_free(t);
}

RANDOM_TEST(screens_that_let_all_words_by_answer_as_the_full_head) {
    static drawn_texts all;
    rng += 2;
    (void)random_model(*state);
    thr_translator_options o = {0};
    thr_head_query_options q;
    thr_head_query_options_init(&q);
    draw_texts(&all, &rng);
    OWNED(thr_translator, t) = open_it(*state, &o);
    const thr_translations full = translate(t, all.at, TEXTS);
    o.query = &q;
    for (int screen = THR_HEAD_SCREEN_FREQUENT; screen <= THR_HEAD_SCREEN_PLANES; screen++) {
        q.screen = (thr_head_screen)screen;
        q.n_frequent = screen == THR_HEAD_SCREEN_FREQUENT ? 40 : 0;
        q.n_shortlist = 40;
        q.threshold = 1;
        q.normaliser = screen == THR_HEAD_SCREEN_WTA ? THR_HEAD_NORMALISER_EXACT : THR_HEAD_NORMALISER_CANDIDATES;
        if (screen == THR_HEAD_SCREEN_WTA)
            q.n_frequent = 40;
        OWNED(thr_translator, other) = open_it(*state, &o);
        const thr_head_info head = thr_translator_get_info(other).head;
        assert_int_equal(head.n_bands > 0, screen == THR_HEAD_SCREEN_WTA);
        assert_int_equal(head.n_planes > 0, screen == THR_HEAD_SCREEN_PLANES);
        const thr_translations r = translate(other, all.at, TEXTS);
        for (size_t i = 0; i < TEXTS; i++) {
            assert_string_equal(r.translations[i].text, full.translations[i].text);
            assert_true(fabs(r.translations[i].score - full.translations[i].score) < 1e-5);
        }
    }
}

RANDOM_TEST(a_model_without_attention_translates_but_does_not_replace) {
    static const model_shape shape = {30, 40, 7, 6, 18, 18, 2, THR_DTYPE_F32, true};
    static drawn_texts all;
    rng += 9;
    model *m = model_make(&shape);
    thr_translator_options o = {0};
    thr_translator *t = NULL;
    for (size_t i = 0; i < 40 * 18; i++)
        model_values(m, "output.weight")[i] = 3 * test_normal(&rng);
    model_write(*state, m, PATH, NO_SKIP);
    draw_texts(&all, &rng);
    t = open_it(*state, &o);
    assert_false(thr_translator_get_info(t).has_attention);
    const thr_translations whole = translate(t, all.at, TEXTS);
    o.batch = 3;
    thr_translator *other = open_it(*state, &o);
    const thr_translations parts = translate(other, all.at, TEXTS);
    same_answers(&whole, &parts);
    assert_true(whole.n_words > TEXTS);
    thr_translator_free(other);
    thr_translator_free(t);
    o.replace_unk = true;
    expect_error(thr_translator_open(*state, PATH, &o, &t, &err), THR_EUNSUPPORTED,
                 "unit-translate-texts.safetensors: a model without attention cannot replace <unk>");
}

TEST(an_alignment_gives_each_text_its_words) {
    static const char *const texts[] = {"le chien", "chat", "", "chien", "zebra"};
    dictionary(*state);
    thr_translator_options o = {0};
    thr_head_query_options q;
    thr_translator *t = NULL;
    thr_head_query_options_init(&q);
    q.screen = THR_HEAD_SCREEN_ALIGN;
    q.n_frequent = 0;
    o.query = &q;
    o.beam = 1;
    expect_error(thr_translator_open(*state, PATH, &o, &t, &err), THR_EINVAL, "the screen align needs an align");
    o.alignment = TABLE;
    for (uint32_t n = 1; n <= 2; n++) { /* the second best of chien is dog */
        test_write_text(TABLE, "le the 0.9\nchat cat 0.9\nchien cat 0.6\nchien dog 0.4\n");
        o.n_aligned = n;
        o.batch = n;
        t = open_it(*state, &o);
        const thr_translations r = translate(t, texts, 5);
        assert_string_equal(r.translations[r.first_of[1]].text, "cat");
        assert_string_equal(r.translations[r.first_of[2]].text, "");
        assert_string_equal(r.translations[r.first_of[3]].text, n == 1 ? "cat" : "dog");
        assert_true(strstr(r.translations[r.first_of[0]].text, n == 1 ? "dog" : ".") == NULL);
        thr_translator_free(t);
    }
    test_write_text(TABLE, "the le 0.9\n");
    expect_error(thr_translator_open(*state, PATH, &o, &t, &err), THR_EMISMATCH,
                 "unit-translate-texts.lex: unit-translate-texts.safetensors has the words of 0 of its 1 lines");
    q.screen = THR_HEAD_SCREEN_FULL;
    expect_error(thr_translator_open(*state, PATH, &o, &t, &err), THR_EINVAL,
                 "unit-translate-texts.lex: an alignment is for the screen align only");
}

/* All words of the target for every word: the full head's answers. */
RANDOM_TEST(an_alignment_of_all_words_answers_as_the_full_head) {
    static drawn_texts all;
    rng += 8;
    (void)random_model(*state);
    char *table = test_new(30 * 40 * 16, 1);
    size_t used = 0;
    thr_translator_options o = {0};
    thr_head_query_options q;
    draw_texts(&all, &rng);
    for (uint32_t e = 3; e < 30; e++)
        for (uint32_t f = 3; f < 40; f++)
            used += (size_t)sprintf(table + used, "w%u w%u 0.5\n", e, f);
    test_write_text(TABLE, table);
    OWNED(thr_translator, t) = open_it(*state, NULL);
    const thr_translations full = translate(t, all.at, TEXTS);
    thr_head_query_options_init(&q);
    q.screen = THR_HEAD_SCREEN_ALIGN;
    q.n_frequent = 3; /* special words */
    o.query = &q;
    o.alignment = TABLE;
    OWNED(thr_translator, other) = open_it(*state, &o);
    const thr_translations r = translate(other, all.at, TEXTS);
    for (size_t i = 0; i < TEXTS; i++)
        assert_string_equal(r.translations[i].text, full.translations[i].text);
}

typedef struct told_states {
    uint64_t n;
    bool all_small; /* they come from tanh */
} told_states;

static void take_told(void *user, const float *states, uint64_t n, uint32_t n_dims) {
    told_states *told = user;
    assert_int_equal(n_dims, 12);
    for (uint64_t i = 0; i < n * n_dims; i++)
        told->all_small = told->all_small && fabsf(states[i]) <= 1;
    told->n += n;
}

RANDOM_TEST(states_are_reported_before_the_head_scores_them) {
    static drawn_texts all;
    rng += 6;
    (void)random_model(*state);
    told_states told = {.all_small = true};
    thr_translator_options o = {0};
    draw_texts(&all, &rng);
    o.on_states = take_told;
    o.on_states_user = &told;
    OWNED(thr_translator, t) = open_it(*state, &o);
    const thr_translations r = translate(t, all.at, TEXTS);
    assert_true(told.n > TEXTS && told.n == r.n_states && told.all_small);
}

RANDOM_TEST(a_head_may_be_a_file) {
    static drawn_texts all;
    rng += 4;
    model *m = random_model(*state);
    thr_translator_options o = {0};
    thr_head_build_options build;
    thr_head *head = NULL;
    thr_translator *other = NULL;
    draw_texts(&all, &rng);
    OWNED(thr_translator, t) = open_it(*state, NULL);
    const thr_translations built = translate(t, all.at, TEXTS);
    thr_head_build_options_init(&build);
    build.n_bands = 0;
    expect_ok(thr_head_create_file(*state, PATH, NULL, &build, &head, &err));
    expect_ok(thr_head_save(head, HEAD, true, &err));
    thr_head_free(head);
    o.head = HEAD;
    other = open_it(*state, &o);
    const thr_translations r = translate(other, all.at, TEXTS);
    same_answers(&built, &r);
    thr_translator_free(other);
    o.build = &build;
    expect_error(thr_translator_open(*state, PATH, &o, &other, &err), THR_EINVAL, "a head is either opened or built");
    o.build = NULL;
    for (size_t i = 0; i < 40 * 12; i++)
        model_values(m, "output.weight")[i] *= -1; /* another model of the same shape */
    model_write(*state, m, PATH, NO_SKIP);
    expect_error(thr_translator_open(*state, PATH, &o, &other, &err), THR_EMISMATCH,
                 " has other weights than in unit-translate-texts.safetensors");
    dictionary(*state);
    expect_error(thr_translator_open(*state, PATH, &o, &other, &err), THR_EMISMATCH,
                 "a head of 40 words of 12 dimensions, but unit-translate-texts.safetensors has 7 of 14");
    assert_null(other);
}

/* ------------------------------------------------------------------------------------------------ limits */

TEST(lengths_have_limits) {
    static const char *const texts[] = {"chat", "le chat . chien le"};
    dictionary(*state);
    thr_translator_options o = {0};
    thr_translations r;
    o.max_source = 4;
    thr_translator *t = open_it(*state, &o);
    expect_error(thr_translator_translate(t, texts, NULL, 2, &r, &err), THR_EDIM,
                 "text 1 has 5 words: a text may have 4, split it");
    assert_true(r.n_texts == 0 && r.translations == NULL);
    r = translate(t, texts, 1); /* it goes on */
    assert_string_equal(r.translations[0].text, "cat");
    r = translate(t, NULL, 0);
    assert_int_equal(r.first_of[0], 0);
    thr_translator_free(t);
    o.max_source = 1000;
    o.max_length = 1; /* no room for the end */
    t = open_it(*state, &o);
    r = translate(t, texts, 1);
    assert_true(!r.translations[0].ended && strcmp(r.translations[0].text, "cat") == 0);
    thr_translator_free(t);
    o.max_length = 9;
    o.length_ratio = 0.5;
    o.length_extra = 1;
    t = open_it(*state, &o);
    r = translate(t, texts, 2);
    assert_true(!r.translations[0].ended && r.translations[1].ended);
    thr_translator_free(t);
    /* bytes that are given by length */
    t = open_it(*state, NULL);
    const char *const long_text = "chat le";
    const size_t four = 4;
    expect_ok(thr_translator_translate(t, &long_text, &four, 1, &r, &err));
    assert_string_equal(r.translations[0].text, "cat");
    assert_int_equal(r.n_source_words, 1);
    thr_translator_free(t);
}

TEST(nul_bytes_are_refused_by_text_and_place) {
    static const char *const texts[] = {"chat", "chien\0le", "\0"};
    static const size_t lengths[] = {4, 8, 1};
    dictionary(*state);
    thr_translator_options o = {0};
    thr_translations r;
    o.replace_unk = true;
    OWNED(thr_translator, t) = open_it(*state, &o);
    expect_error(thr_translator_translate(t, texts, lengths, 3, &r, &err), THR_EFORMAT,
                 "text 1 holds a NUL byte at byte 5");
    expect_error(thr_translator_translate(t, texts + 2, lengths + 2, 1, &r, &err), THR_EFORMAT,
                 "text 0 holds a NUL byte at byte 0");
    assert_true(r.n_texts == 0 && r.translations == NULL);
    r = translate(t, texts, 2); /* without lengths a text ends at its NUL; and it goes on */
    assert_string_equal(r.translations[1].text, "dog");
}

/* A text of the most words that fit in a batch's places, and more of them: answers are what they are alone. */
TEST(long_texts_are_batches_of_their_own) {
    enum { LONG = 9000 };
    char *text = test_new((size_t)LONG * 5 + 1, 1);
    for (size_t i = 0; i < LONG; i++)
        memcpy(text + i * 5, i % 2 == 0 ? "chat " : "chat\n", 5);
    const char *const texts[] = {text, "chien", text, text};
    dictionary(*state);
    thr_translator_options o = {0};
    o.max_source = LONG;
    o.max_length = 5;
    OWNED(thr_translator, t) = open_it(*state, &o);
    const thr_translations r = translate(t, texts, 4);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(r.translations[i].text, i == 1 ? "dog" : "cat");
}

TEST(options_out_of_range_are_refused) {
    static const struct {
        size_t field;
        double value;
        const char *part;
    } cases[] = {
        {0, -1, "-1 words for each word of the source"},
        {0, NAN, "words for each word of the source: choose above 0, up to 1000"},
        {1, 2e6, "translations of up to 2000000 words"},
        {2, 2e6, "2000000 more than their source"},
        {3, 2e6, "texts of up to 2000000 words"},
        {4, 2e6, NULL /* the search's */},
    };
    dictionary(*state);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        thr_translator_options o = {0};
        thr_translator *t = NULL;
        uint32_t *const fields[] = {NULL, &o.max_length, &o.length_extra, &o.max_source, &o.beam};
        if (cases[i].field == 0)
            o.length_ratio = cases[i].value;
        else
            *fields[cases[i].field] = (uint32_t)cases[i].value;
        expect_error(thr_translator_open(*state, PATH, &o, &t, &err), THR_EINVAL, cases[i].part);
        assert_null(t);
    }
}

TEST(a_missing_model_is_not_found_and_an_open_one_describes_itself) {
    dictionary(*state);
    OWNED(thr_translator, t) = NULL;
    expect_error(thr_translator_open(*state, NULL, NULL, &t, &err), THR_EINVAL, NULL);
    expect_error(thr_translator_open(*state, "none.safetensors", NULL, &t, &err), THR_ENOTFOUND, NULL);
    bool is_translator = false;
    expect_error(thr_translator_probe(*state, "none.safetensors", &is_translator, &err), THR_ENOTFOUND, NULL);
    expect_ok(thr_translator_probe(*state, PATH, &is_translator, &err));
    assert_true(is_translator);
    t = open_it(*state, NULL);
    expect_error(thr_translator_translate(t, NULL, NULL, 1, NULL, &err), THR_EINVAL, NULL);
    const thr_translator_info info = thr_translator_get_info(t);
    assert_true(info.n_source_words == 7 && info.n_target_words == 7 && info.n_units == 14 && info.n_dims == 14);
    assert_true(info.n_layers == 1 && info.source == NULL && info.target == NULL && info.n_parameters > 2000);
    thr_translator_free(NULL);
}

/* A model of numbers so large that products overflow: an error, and no answer that is none. */
TEST(numbers_that_overflow_are_refused) {
    static const char *const texts[] = {"chat"};
    model *m = model_dictionary();
    for (size_t i = 0; i < (size_t)14 * 14; i++)
        model_values(m, "attention.weight")[i] = 3e38F;
    model_write(*state, m, PATH, NO_SKIP);
    OWNED(thr_translator, t) = open_it(*state, NULL);
    thr_translations r;
    expect_error(thr_translator_translate(t, texts, NULL, 1, &r, &err), THR_ERANGE, NULL);
}

/* ------------------------------------------------------------------------------------------------ progress, memory */

typedef struct seen {
    uint64_t last, total, calls, stop_at;
} seen;

static bool watch(void *user, const char *what, uint64_t done, uint64_t total) {
    seen *s = user;
    if (strcmp(what, "translate") != 0)
        return true;
    assert_true(done >= s->last && done <= total);
    s->last = done;
    s->total = total;
    s->calls++;
    return s->stop_at == 0 || s->calls < s->stop_at;
}

TEST(progress_is_that_of_all_texts_and_may_stop) {
    static const char *const texts[] = {"chat", "le", "chien", "chat le", "le chien ."};
    seen s = {0};
    thr_context_options options = {0};
    OWNED(thr_context, context) = NULL;
    thr_translations r;
    options.n_threads = 1;
    options.progress = watch;
    options.progress_user = &s;
    expect_ok(thr_context_create(&options, &context, &err));
    dictionary(context);
    thr_translator_options o = {0};
    o.batch = 2;
    OWNED(thr_translator, t) = open_it(context, &o);
    (void)translate(t, texts, 5);
    assert_true(s.last == 5 && s.total == 5 && s.calls >= 3);
    s = (seen){.stop_at = 2};
    expect_error(thr_translator_translate(t, texts, NULL, 5, &r, &err), THR_ECANCELED, NULL);
    assert_int_equal(s.calls, 2);
}

TEST(a_second_call_of_the_same_shape_allocates_nothing) {
    static const char *const texts[] = {"Zebra", "chat le Zebra!", "chat"};
    test_memory memory = {0};
    thr_context *context = test_context(1, THR_ISA_BEST, &memory);
    dictionary(*state);
    thr_translator_options o = {0};
    o.replace_unk = true;
    o.n_best = 2;
    thr_translator *t = open_it(context, &o);
    (void)translate(t, texts, 3);
    const size_t live = memory.live, calls = memory.calls;
    (void)translate(t, texts, 3);
    assert_int_equal(memory.live, live);
    assert_true(memory.calls - calls <= 2); /* the sort's */
    thr_translator_free(t);
    thr_context_free(context);
    assert_int_equal(memory.live, 0);
}

TEST(every_allocation_may_fail) {
    static const char *const texts[] = {"Zebra", "chat le", ""};
    test_memory memory = {0};
    thr_context *context = test_context(1, THR_ISA_BEST, &memory);
    dictionary(*state);
    thr_translator_options o = {0};
    o.replace_unk = true;
    o.n_best = 2;
    test_oom oom = test_oom_start(&memory);
    while (test_oom_next(&oom)) {
        thr_translator *t = NULL;
        thr_translations r;
        test_oom_arm(&oom);
        thr_status status = thr_translator_open(context, PATH, &o, &t, &err);
        if (status == THR_OK)
            status = thr_translator_translate(t, texts, NULL, 3, &r, &err);
        (void)test_oom_check(&oom, status, &err, NULL);
        thr_translator_free(t);
    }
    thr_context_free(context);
}

static int set_up(void **state) {
    *state = test_context(2, THR_ISA_BEST, NULL);
    return 0;
}

static int tear_down(void **state) {
    (void)remove(PATH);
    (void)remove(HEAD);
    thr_context_free(*state);
    return 0;
}

TEST_GROUP(set_up, tear_down)
