/* SPDX-License-Identifier: Apache-2.0 */
/*
 * align.c - tables of word translations: the probabilities of a naive IBM model 1 with a full matrix, the table's lines
 * and their order, reading tables of other programs, and refusals.
 */
#include "test.h"

#include <thresher/align.h>

#include "align/ibm1.h"
#include "align/table.h"

static const char SOURCE[] = "unit-align.en", TARGET[] = "unit-align.de", TABLE[] = "unit-align.lex";
enum { WORDS = 12, PAIRS = 60, MOST = 8 };

/* ------------------------------------------------------------------------------------------------ naive model */

typedef struct naive_text {
    uint32_t words[PAIRS][MOST];
    size_t n[PAIRS];
} naive_text;

/* Sentences of words a, b, ...; some are empty. Words of the target follow those of the source at times. */
static void draw(naive_text *source, naive_text *target, uint64_t *rng) {
    for (size_t s = 0; s < PAIRS; s++) {
        source->n[s] = s % 10 == 9 ? 0 : 1 + (size_t)thr_rng_below(rng, MOST - 1);
        target->n[s] = s % 15 == 7 ? 0 : 1 + (size_t)thr_rng_below(rng, MOST - 1);
        for (size_t i = 0; i < MOST; i++) {
            source->words[s][i] = (uint32_t)thr_rng_below(rng, WORDS);
            target->words[s][i] =
                thr_rng_below(rng, 3) > 0 ? (source->words[s][i] * 5 + 1) % WORDS : (uint32_t)thr_rng_below(rng, WORDS);
        }
    }
}

static void write_text(const char *path, const naive_text *text, char first) {
    char *bytes = test_new((size_t)PAIRS * (MOST * 3 + 2), 1);
    size_t n = 0;
    for (size_t s = 0; s < PAIRS; s++) {
        for (size_t i = 0; i < text->n[s]; i++)
            n += (size_t)sprintf(bytes + n, "%s%c%c", i > 0 ? " " : "", first, (char)('a' + text->words[s][i]));
        bytes[n++] = '\n';
    }
    test_write_file(path, bytes, n);
}

/* t[e][f]; e = WORDS is the empty word. */
static void naive_learn(const naive_text *source, const naive_text *target, int n_iterations,
                        double t[WORDS + 1][WORDS]) {
    for (size_t e = 0; e <= WORDS; e++)
        for (size_t f = 0; f < WORDS; f++)
            t[e][f] = 1.0 / WORDS;
    for (int iteration = 0; iteration < n_iterations; iteration++) {
        double counts[WORDS + 1][WORDS] = {{0}};
        for (size_t s = 0; s < PAIRS; s++)
            for (size_t j = 0; source->n[s] > 0 && j < target->n[s]; j++) {
                const uint32_t f = target->words[s][j];
                double sum = t[WORDS][f];
                for (size_t i = 0; i < source->n[s]; i++)
                    sum += t[source->words[s][i]][f];
                counts[WORDS][f] += t[WORDS][f] / sum;
                for (size_t i = 0; i < source->n[s]; i++)
                    counts[source->words[s][i]][f] += t[source->words[s][i]][f] / sum;
            }
        for (size_t e = 0; e <= WORDS; e++) {
            double total = 0;
            for (size_t f = 0; f < WORDS; f++)
                total += counts[e][f];
            for (size_t f = 0; f < WORDS; f++)
                t[e][f] = total > 0 ? counts[e][f] / total : 0;
        }
    }
}

static size_t naive_lines(double t[WORDS + 1][WORDS], double least, size_t n_best) {
    size_t n = 0;
    for (size_t e = 0; e < WORDS; e++) {
        size_t of_word = 0;
        for (size_t f = 0; f < WORDS; f++)
            of_word += t[e][f] >= least && t[e][f] > 0;
        n += of_word < n_best ? of_word : n_best;
    }
    return n;
}

/* ------------------------------------------------------------------------------------------------ learning */

RANDOM_TEST(probabilities_are_those_of_a_naive_model) {
    static naive_text source, target;
    double t[WORDS + 1][WORDS];
    for (uint32_t iterations = 1; iterations < 8; iterations += 3) {
        thr_align_options o = {0};
        thr_align_report report;
        draw(&source, &target, &rng);
        write_text(SOURCE, &source, 'e');
        write_text(TARGET, &target, 'f');
        naive_learn(&source, &target, (int)iterations, t);
        o.n_iterations = iterations;
        o.n_best = iterations == 1 ? 3 : 100;
        o.min_probability = iterations == 1 ? 0 : 0.01;
        expect_ok(thr_align_train(*state, SOURCE, TARGET, TABLE, &o, &report, &err));
        FILE *file = fopen(TABLE, "r");
        char e[8], f[8], last_word[8] = "";
        double p, last = 0;
        size_t n = 0;
        assert_non_null(file);
        for (; fscanf(file, "%7s %7s %lf", e, f, &p) == 3; n++) {
            const double want = t[e[1] - 'a'][f[1] - 'a'];
            assert_true(e[0] == 'e' && f[0] == 'f');
            assert_case(fabs(p - want) < 1e-5 * want, "seed %llu: p(%s | %s) is %g, should be %g",
                        (unsigned long long)test_seed(), f, e, p, want);
            assert_true(strcmp(e, last_word) != 0 || p <= last);
            memcpy(last_word, e, sizeof e);
            last = p;
        }
        (void)fclose(file);
        assert_int_equal(n, naive_lines(t, o.min_probability, o.n_best));
        assert_int_equal(report.n_written, n);
        assert_true(report.n_pairs + report.n_skipped == PAIRS && report.n_skipped == 6 + 4 && report.perplexity > 1);
    }
}

TEST(words_that_go_together_are_each_others_best_translation) {
    thr_align_report report;
    test_write_text(SOURCE, "House\nbig house\nbig\n");
    test_write_text(TARGET, "Haus\ngroßes Haus\ngroßes\n");
    thr_align_options o = {0};
    o.n_iterations = 200;
    o.n_best = 1;
    expect_ok(thr_align_train(*state, SOURCE, TARGET, TABLE, &o, &report, &err));
    size_t size;
    char *text = (char *)test_bytes_of(TABLE, &size);
    assert_true(strncmp(text, "house haus ", 11) == 0 && strstr(text, "\nbig großes ") != NULL);
    assert_true(report.n_source_words == 2 && report.n_target_words == 2 && report.n_entries == 4);
}

TEST(bad_options_and_texts_are_refused) {
    thr_align_options o = {0};
    test_write_text(SOURCE, "a\nb\n");
    test_write_text(TARGET, "a\n");
    expect_error(thr_align_train(*state, SOURCE, TARGET, TABLE, NULL, NULL, &err), THR_EDIM,
                 "unit-align.de ends after 1 lines and unit-align.en does not: each line needs a translation");
    expect_error(thr_align_train(*state, TARGET, SOURCE, TABLE, NULL, NULL, &err), THR_EDIM,
                 "unit-align.de ends after 1 lines and unit-align.en does not");
    test_write_text(TARGET, "a\n\n");
    test_write_text(SOURCE, "\nb\n");
    expect_error(thr_align_train(*state, SOURCE, TARGET, TABLE, NULL, NULL, &err), THR_EDIM,
                 "unit-align.en and unit-align.de have no pair of lines of 1 to 250 words");
    expect_error(thr_align_train(*state, SOURCE, TARGET, SOURCE, NULL, NULL, &err), THR_EINVAL, NULL);
    expect_error(thr_align_train(*state, "none.en", TARGET, TABLE, NULL, NULL, &err), THR_ENOTFOUND, "none.en");
    o.n_iterations = 1001;
    expect_error(thr_align_train(*state, SOURCE, TARGET, TABLE, &o, NULL, &err), THR_EINVAL, "1001 iterations");
    o = (thr_align_options){0};
    o.min_probability = NAN;
    expect_error(thr_align_train(*state, SOURCE, TARGET, TABLE, &o, NULL, &err), THR_EINVAL, "probability of nan");
}

/* ------------------------------------------------------------------------------------------------ reading */

typedef struct two_vocabularies {
    thr_dictionary source, target;
} two_vocabularies;

/* Words s0, s1, ... and t0, t1, ... */
static two_vocabularies vocabularies(thr_context *context, uint32_t n) {
    two_vocabularies both = {.source = {.n = 0}};
    for (uint32_t i = 0; i < n; i++) {
        char word[16];
        uint32_t number;
        bool is_new;
        const size_t length = (size_t)snprintf(word, sizeof word, "s%u", i);
        expect_ok(thr_dictionary_add(context, &both.source, word, length, &number, &is_new, &err));
        word[0] = 't';
        expect_ok(thr_dictionary_add(context, &both.target, word, length, &number, &is_new, &err));
    }
    return both;
}

static thr_status read_table(thr_context *context, const two_vocabularies *both, uint32_t n_best,
                             thr_align_table *table, thr_error *error) {
    const thr_dictionary *const two[] = {&both->source, &both->target};
    *table = (thr_align_table){NULL, NULL};
    return thr_align_table_read(context, TABLE, two, "a model", n_best, table, error);
}

TEST(a_table_has_the_best_words_of_each_source_word) {
    two_vocabularies both = vocabularies(*state, 5);
    thr_align_table table;
    /* tabs and spaces, logarithms, equal numbers, unknown words, words in any order */
    test_write_text(
        TABLE, "s3 t1 -2.5\ns1 t4 .25\n s1\tt0  0.5 \ns1 t2 0.25\r\ns1 tx 0.9\nsx t1 1\ns3 t2 -1e-3\ns1 t3 1e-9\n");
    expect_ok(read_table(*state, &both, 3, &table, &err));
    static const uint64_t starts[] = {0, 0, 3, 3, 5, 5};
    static const uint32_t words[] = {0, 2, 4, 2, 1};
    assert_memory_equal(table.starts, starts, sizeof starts);
    assert_memory_equal(table.words, words, sizeof words);
    thr_align_table_free(*state, &table);
    thr_dictionary_free(*state, &both.source);
    thr_dictionary_free(*state, &both.target);
}

TEST(tables_of_other_kinds_are_refused_by_line) {
    static const char *const bad[] = {
        "s1 t1 0.5\ns1 t1\n",      "s1 t1 0.5\ns1 t1 x\n",     "s1 t1 0.5\n\n",           "s1 t1 0.5\ns1 t1 nan\n",
        "s1 t1 0.5\ns1 t1 1e99\n", "s1 t1 0.5\ns1 t1 0.5 9\n", "s1 t1 0.5\ns1 t1 0.5x\n", "s1 t1 0.5\ns1 ||| t1 0.5\n"};
    two_vocabularies both = vocabularies(*state, 5);
    thr_align_table table;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        test_write_text(TABLE, bad[i]);
        expect_error(read_table(*state, &both, 3, &table, &err), THR_EFORMAT,
                     "unit-align.lex: line 2 is not a source word, a target word and a probability");
        thr_align_table_free(*state, &table);
    }
    char text[40 * 12] = "s1 t1 0.5\n";
    test_write_text(TABLE, "t1 s1 0.5\n");
    expect_error(read_table(*state, &both, 3, &table, &err), THR_EMISMATCH,
                 "unit-align.lex: a model has the words of 0 of its 1 lines: learn it of the model's words, source");
    for (int i = 0; i < 39; i++)
        (void)strcat(text, "x y 0.5\n");
    test_write_text(TABLE, text);
    expect_error(read_table(*state, &both, 3, &table, &err), THR_EMISMATCH, "has the words of 1 of its 40 lines");
    test_write_text(TABLE, "");
    expect_error(read_table(*state, &both, 3, &table, &err), THR_EMISMATCH, "0 of its 0 lines");
    thr_dictionary_free(*state, &both.source);
    thr_dictionary_free(*state, &both.target);
}

/* ------------------------------------------------------------------------------------------------ threads */

typedef struct learner {
    thr_context *context;
    char path[32];
    int n_wrong;
} learner;

/* Learn a table and read it, several times. */
static void *learn_and_read(void *arg) {
    enum { ROUNDS = 4 };
    learner *l = arg;
    for (int round = 0; round < ROUNDS; round++) {
        thr_dictionary words = {.n = 0};
        thr_align_table table = {NULL, NULL};
        uint32_t number;
        bool is_new;
        l->n_wrong += thr_dictionary_add(l->context, &words, "sa", 2, &number, &is_new, NULL) != THR_OK ||
                      thr_align_train(l->context, SOURCE, TARGET, l->path, NULL, NULL, NULL) != THR_OK ||
                      thr_align_table_read(l->context, l->path, (const thr_dictionary *const[]){&words, &words}, "m", 3,
                                           &table, NULL) != THR_EMISMATCH;
        thr_align_table_free(l->context, &table);
        thr_dictionary_free(l->context, &words);
    }
    return NULL;
}

RANDOM_TEST(threads_of_one_context_learn_the_same_table) {
    enum { THREADS = 4 };
    static naive_text source, target;
    learner learners[THREADS];
    draw(&source, &target, &rng);
    write_text(SOURCE, &source, 's');
    write_text(TARGET, &target, 't');
    expect_ok(thr_align_train(*state, SOURCE, TARGET, TABLE, NULL, NULL, &err));
    for (int t = 0; t < THREADS; t++) {
        learners[t] = (learner){.context = *state};
        (void)snprintf(learners[t].path, sizeof learners[t].path, "unit-align.%d", t);
    }
    test_at_once(THREADS, learn_and_read, learners, sizeof *learners);
    for (int t = 0; t < THREADS; t++) {
        assert_int_equal(learners[t].n_wrong, 0);
        size_t n = 0, n_other = 0;
        uint8_t *bytes = test_bytes_of(TABLE, &n), *other = test_bytes_of(learners[t].path, &n_other);
        assert_int_equal(n, n_other);
        assert_memory_equal(bytes, other, n);
    }
}

/* ------------------------------------------------------------------------------------------------ memory */

RANDOM_TEST(every_failed_allocation_is_reported) {
    static naive_text source, target;
    test_memory memory = {.fail_at = 0};
    thr_context *context = test_context(1, THR_ISA_BEST, &memory);
    (void)state;
    draw(&source, &target, &rng);
    write_text(SOURCE, &source, 's');
    write_text(TARGET, &target, 't');
    test_oom oom = test_oom_start(&memory);
    while (test_oom_next(&oom)) {
        test_oom_arm(&oom);
        const thr_status status = thr_align_train(context, SOURCE, TARGET, TABLE, NULL, NULL, &err);
        (void)test_oom_check(&oom, status, &err, "no memory");
    }
    assert_true(oom.n_failed > 20);
    two_vocabularies both = vocabularies(context, 12);
    test_write_text(TABLE, "s1 t1 0.5\ns2 t2 0.5\n");
    oom = test_oom_start(&memory);
    while (test_oom_next(&oom)) {
        thr_align_table table;
        test_oom_arm(&oom);
        const thr_status status = read_table(context, &both, 3, &table, &err);
        (void)test_oom_check(&oom, status, &err, "no memory");
        thr_align_table_free(context, &table);
    }
    assert_true(oom.n_failed > 3);
    thr_dictionary_free(context, &both.source);
    thr_dictionary_free(context, &both.target);
    thr_context_free(context);
    assert_int_equal(memory.live, 0);
}

TEST_IN_CONTEXT(2, NULL)
