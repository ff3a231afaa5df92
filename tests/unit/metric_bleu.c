/* SPDX-License-Identifier: Apache-2.0 */
/* metric_bleu.c - tokens as sacreBLEU's 13a makes them, BLEU by hand and against runs compared one by one. */
#include "test.h"

#include "metric/bleu_sentence.h"

/* ------------------------------------------------------------------------------------------------ tokens */

/* The tokens of text with a blank between, to out. */
static void tokenise(const char *text, const thr_bleu_options *o, char *out, size_t size) {
    thr_bleu_bytes bytes = {.n = 0}, spare = {.n = 0};
    thr_bleu_room room = {.n_texts = 1};
    size_t bad, n = 0;
    assert_int_equal(thr_metric_bleu_normalise(o, text, strlen(text), &bytes, &spare, &bad), THR_OK);
    room.texts = &bytes;
    assert_int_equal(thr_metric_bleu_part(&room, 0), THR_OK);
    out[0] = '\0';
    for (size_t i = 0; i < room.n_tokens; i++)
        n += (size_t)snprintf(out + n, size - n, "%s%.*s", i > 0 ? " " : "", (int)room.tokens[i].length,
                              room.tokens[i].text);
    free(bytes.bytes);
    free(spare.bytes);
    free(room.tokens);
    free(room.grams);
    free(room.words);
    free(room.runs);
}

typedef struct text_pair {
    const char *text, *tokens;
} text_pair;

static void assert_tokens(const text_pair *pairs, size_t n, const thr_bleu_options *o) {
    char out[512];
    for (size_t i = 0; i < n; i++) {
        tokenise(pairs[i].text, o, out, sizeof out);
        assert_case(strcmp(out, pairs[i].tokens) == 0, "\"%s\" becomes \"%s\", should be \"%s\"", pairs[i].text, out,
                    pairs[i].tokens);
    }
}

/* What sacreBLEU 2.6.0 makes of them. */
TEST(tokens_are_those_of_13a) {
    static const text_pair pairs[] = {
        {"Hello, world!", "Hello , world !"},
        {"1,000.5 a.b .5 5. a,b 1.,5", "1,000.5 a . b . 5 5 . a , b 1 . , 5"},
        {"end-to-end 3-4 x-3 3-x -1", "end-to-end 3 - 4 x-3 3 - x -1"},
        {"&quot;a&quot; &amp;lt; &amp;quot; &lt;b&gt;", "\" a \" < & quot ; < b >"},
        {"a<skipped>b", "ab"},
        {"it's \"x\" (y) [z] {w}", "it's \" x \" ( y ) [ z ] { w }"},
        {"wait... ..", "wait . . . . ."},
        {"\xC3\xA9.\xC3\xBC \xE4\xBD\xA0\xEF\xBC\x8C\xE5\xA5\xBD\xE3\x80\x82\x31.",
         "\xC3\xA9 . \xC3\xBC \xE4\xBD\xA0\xEF\xBC\x8C\xE5\xA5\xBD\xE3\x80\x82\x31 ."},
        {"a_b^c`d~e|f\\g/h@i#j$k%l*m+n=o", "a _ b ^ c ` d ~ e | f \\ g / h @ i # j $ k % l * m + n = o"},
        {"foo-\nbar\nbaz", "foobar baz"},
        {"&quot", "& quot"},
        {"", ""},
        {" \t\xE3\x80\x80\xC2\xA0", ""},
        {"a\xE2\x80\x89"
         "b\xC2\x85"
         "c\x1F"
         "d",
         "a b c d"},
    };
    static const text_pair as_they_are[] = {{"Hello, &quot;world!", "Hello, &quot;world!"},
                                            {"a\xC2\xA0 b.\r\n", "a b."}};
    thr_bleu_options o = {0};
    assert_tokens(pairs, COUNT_OF(pairs), &o);
    o.tokeniser = THR_BLEU_TOKENISER_NONE;
    assert_tokens(as_they_are, 2, &o);
}

/* Capitals of one, two and more bytes, the dotted I, and sigmas that end a word or do not. */
TEST(small_letters_are_unicodes) {
    static const text_pair pairs[] = {
        {"ABCxyz", "abcxyz"},
        {"\xC3\x84\xC3\x96\xC3\x9C \xC3\x9F", "\xC3\xA4\xC3\xB6\xC3\xBC \xC3\x9F"},
        {"\xC4\xB0stanbul", "i\xCC\x87stanbul"},
        {"\xCE\x9F\xCE\x94\xCE\x9F\xCE\xA3", "\xCE\xBF\xCE\xB4\xCE\xBF\xCF\x82"}, /* final */
        {"\xCE\xA3\xCE\x91\xCE\xA3\xCE\x91", "\xCF\x83\xCE\xB1\xCF\x83\xCE\xB1"}, /* not */
        {"\xCE\xA3", "\xCF\x83"},                                                 /* alone */
        {"\xCE\x91\xCE\xA3.\xCE\x91", "\xCE\xB1\xCF\x83.\xCE\xB1"},               /* a full stop is ignored */
        {"\xE1\xBA\x9E\xF0\x90\x90\x80", "\xC3\x9F\xF0\x90\x90\xA8"},
        {"\xC8\xBA", "\xE2\xB1\xA5"}, /* longer than it was */
    };
    thr_bleu_options o = {0};
    o.tokeniser = THR_BLEU_TOKENISER_NONE;
    o.lower_case = true;
    assert_tokens(pairs, COUNT_OF(pairs), &o);
}

/* ------------------------------------------------------------------------------------------------ scores */

enum { MOST = 12 };

static thr_bleu_texts view(const char *const *texts, size_t n, char *bytes, uint64_t *offsets) {
    offsets[0] = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t length = strlen(texts[i]);
        memcpy(bytes + offsets[i], texts[i], length + 1);
        offsets[i + 1] = offsets[i] + length;
    }
    return (thr_bleu_texts){n, offsets, bytes};
}

static thr_bleu_score score_of(const char *const *hyps, const char *const *refs, size_t n, const thr_bleu_options *o) {
    char a[2048], b[2048];
    uint64_t x[MOST], y[MOST];
    thr_bleu_score score;
    const thr_bleu_texts h = view(hyps, n, a, x), r = view(refs, n, b, y);
    expect_ok(thr_bleu(&h, &r, 1, o, &score, NULL, &err));
    return score;
}

static void assert_near(double x, double y) {
    assert_case(fabs(x - y) <= 1e-12 * (1 + fabs(y)), "%.17g is not %.17g", x, y);
}

/* 5 of 6 words, 3 of 5 pairs, 1 of 4 runs of three, none of four. */
TEST(scores_by_hand) {
    const char *const hyps[] = {"the cat sat on a mat"}, *const refs[] = {"the cat sat upon a mat today yes"};
    thr_bleu_options o = {0};
    const double bp = exp(1 - 8.0 / 6);
    thr_bleu_score s = score_of(hyps, refs, 1, &o);
    assert_true(s.counts[0] == 5 && s.counts[1] == 3 && s.counts[2] == 1 && s.counts[3] == 0);
    assert_true(s.totals[0] == 6 && s.totals[1] == 5 && s.totals[2] == 4 && s.totals[3] == 3);
    assert_true(s.hypothesis_length == 6 && s.reference_length == 8 && s.n_sentences == 1);
    assert_near(s.brevity_penalty, bp);
    assert_near(s.bleu, 100 * bp * pow(5.0 / 6 * 3 / 5 * 1 / 4 * 1 / 6, 0.25));
    o.smoothing = THR_BLEU_SMOOTHING_NONE;
    s = score_of(hyps, refs, 1, &o);
    assert_true(s.bleu == 0 && s.precisions[3] == 0 && s.precisions[2] == 25);
    o.smoothing = THR_BLEU_SMOOTHING_FLOOR;
    assert_near(score_of(hyps, refs, 1, &o).bleu, 100 * bp * pow(5.0 / 6 * 3 / 5 * 1 / 4 * 0.1 / 3, 0.25));
    o.smoothing_value = 0.5;
    assert_near(score_of(hyps, refs, 1, &o).bleu, 100 * bp * pow(5.0 / 6 * 3 / 5 * 1 / 4 * 0.5 / 3, 0.25));
    o.smoothing = THR_BLEU_SMOOTHING_ADD_K;
    o.smoothing_value = 2;
    assert_near(score_of(hyps, refs, 1, &o).bleu, 100 * bp * pow(5.0 / 6 * 5 / 7 * 3 / 6 * 2 / 5, 0.25));
    const char *const longer[] = {"a b", "c d e f", ""}, *const three[] = {"a b", "c d e", "x"};
    o = (thr_bleu_options){0};
    s = score_of(longer, three, 3, &o);
    assert_true(s.brevity_penalty == 1 && s.hypothesis_length == 6 && s.reference_length == 6);
    const char *const nothing[] = {"", ""}, *const some[] = {"a", ""};
    s = score_of(nothing, some, 2, &o);
    assert_true(s.bleu == 0 && s.brevity_penalty == 0 && s.totals[0] == 0);
    s = score_of(some, nothing, 2, &o);
    assert_true(s.bleu == 0 && s.brevity_penalty == 1 && s.counts[0] == 0 && s.totals[0] == 1);
}

TEST(short_sentences_want_effective_order) {
    const char *const same[] = {"a b"};
    thr_bleu_options o = {0};
    assert_true(score_of(same, same, 1, &o).bleu == 0); /* no runs of three */
    o.effective_order = true;
    assert_near(score_of(same, same, 1, &o).bleu, 100);
}

/* ------------------------------------------------------------------------------------------------ by comparing */

typedef struct drawn {
    uint32_t words[4][16], n[4]; /* of the hypothesis and three references */
} drawn;

static uint64_t count_of(const drawn *d, int text, const uint32_t *run, uint32_t order) {
    uint64_t n = 0;
    for (uint32_t i = 0; i + order <= d->n[text]; i++)
        n += memcmp(d->words[text] + i, run, order * sizeof *run) == 0;
    return n;
}

/* Each distinct run of the hypothesis once, at its first place. */
static uint64_t naive_matches(const drawn *d, int n_references, uint32_t order) {
    uint64_t matches = 0;
    for (uint32_t i = 0; i + order <= d->n[0]; i++) {
        const uint32_t *run = d->words[0] + i;
        bool first = true;
        for (uint32_t j = 0; j < i; j++)
            first = first && memcmp(d->words[0] + j, run, order * sizeof *run) != 0;
        if (!first)
            continue;
        const uint64_t wanted = count_of(d, 0, run, order);
        uint64_t most = 0;
        for (int r = 1; r <= n_references; r++) {
            const uint64_t n = count_of(d, r, run, order);
            most = n > most ? n : most;
        }
        matches += wanted < most ? wanted : most;
    }
    return matches;
}

static uint32_t naive_nearest(const drawn *d, int n_references) {
    uint32_t best = d->n[1];
    for (int r = 2; r <= n_references; r++) {
        const int off = abs((int)d->n[r] - (int)d->n[0]), least = abs((int)best - (int)d->n[0]);
        if (off < least || (off == least && d->n[r] < best))
            best = d->n[r];
    }
    return best;
}

RANDOM_TEST(counts_are_those_of_runs_one_by_one) {
    for (int round = 0; round < 3000; round++) {
        const int n_references = 1 + (int)thr_rng_below(&rng, 3);
        const uint64_t n_words = 1 + thr_rng_below(&rng, 6);
        drawn d = {.n = {0}};
        char bytes[4][128];
        uint64_t offsets[4][2];
        thr_bleu_texts views[4];
        for (int t = 0; t <= n_references; t++) {
            char text[128] = "";
            const char *const texts[] = {text};
            d.n[t] = (uint32_t)thr_rng_below(&rng, 16);
            for (uint32_t i = 0; i < d.n[t]; i++) {
                d.words[t][i] = (uint32_t)thr_rng_below(&rng, n_words);
                (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%sw%u", i > 0 ? " " : "",
                               d.words[t][i]);
            }
            views[t] = view(texts, 1, bytes[t], offsets[t]);
        }
        thr_bleu_score s;
        double alone;
        expect_ok(thr_bleu(&views[0], views + 1, (size_t)n_references, NULL, &s, &alone, &err));
        assert_true(s.hypothesis_length == d.n[0] && s.reference_length == naive_nearest(&d, n_references));
        assert_true(memcmp(&alone, &s.bleu, sizeof alone) == 0);
        for (uint32_t order = 1; order <= THR_BLEU_ORDER; order++) {
            const uint64_t right = naive_matches(&d, n_references, order);
            assert_case(s.counts[order - 1] == right, "seed %llu, round %d: %llu runs of %u, should be %llu",
                        (unsigned long long)test_seed(), round, (unsigned long long)s.counts[order - 1], order,
                        (unsigned long long)right);
            assert_true(s.totals[order - 1] == (d.n[0] >= order ? d.n[0] - order + 1 : 0));
        }
    }
}

/* ------------------------------------------------------------------------------------------------ words */

TEST(signatures_are_in_sacrebleus_words) {
    char signature[THR_BLEU_SIGNATURE_SIZE];
    expect_ok(thr_bleu_signature(NULL, 1, signature, &err));
    assert_string_equal(signature, "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:thresher-" THR_VERSION_STRING);
    thr_bleu_options o = {0};
    o.lower_case = o.effective_order = true;
    o.tokeniser = THR_BLEU_TOKENISER_NONE;
    o.smoothing = THR_BLEU_SMOOTHING_ADD_K;
    expect_ok(thr_bleu_signature(&o, 3, signature, &err));
    assert_string_equal(signature,
                        "nrefs:3|case:lc|eff:yes|tok:none|smooth:add-k[1.00]|version:thresher-" THR_VERSION_STRING);
    o.smoothing = THR_BLEU_SMOOTHING_FLOOR;
    o.smoothing_value = 0.25;
    expect_ok(thr_bleu_signature(&o, SIZE_MAX, signature, &err));
    assert_non_null(strstr(signature, "|smooth:floor[0.25]|"));
    o.smoothing_value = 1e300;
    expect_ok(thr_bleu_signature(&o, SIZE_MAX, signature, &err));
    assert_non_null(strstr(signature, "|version:thresher-" THR_VERSION_STRING));
}

TEST(texts_that_are_not_utf_8_are_refused) {
    static const struct {
        const char *text;
        int byte; /* the first that is wrong */
    } bad[] = {{"\xFF", 0},
               {"ab\x80", 2},
               {"\xC3", 0},
               {"\xC0\x80", 0},
               {"\xE0\x80\x80", 0},
               {"\xED\xA0\x80", 0},
               {"\xF4\x90\x80\x80", 0},
               {"\xF0\x9F\x98", 0},
               {"\xF8\x88\x80\x80\x80", 0}};
    const char *const two[] = {"a b", "c"};
    char a[64], c[64];
    uint64_t x[3], z[3];
    thr_bleu_score s;
    const thr_bleu_texts h = view(two, 2, a, x);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        const char *const texts[] = {"good", bad[i].text};
        const thr_bleu_texts wrong = view(texts, 2, c, z);
        char said[80];
        (void)snprintf(said, sizeof said, "hypothesis 1 is not UTF-8 at byte %d", bad[i].byte);
        expect_error(thr_bleu(&wrong, &h, 1, NULL, &s, NULL, &err), THR_EFORMAT, said);
        const thr_bleu_texts both[] = {h, wrong};
        (void)snprintf(said, sizeof said, "sentence 1 of reference 2 is not UTF-8 at byte %d", bad[i].byte);
        expect_error(thr_bleu(&h, both, 2, NULL, &s, NULL, &err), THR_EFORMAT, said);
    }
}

TEST(numbers_of_sentences_that_do_not_fit_are_refused) {
    const char *const two[] = {"a b", "c"};
    char a[64], b[64];
    uint64_t x[3], y[3];
    thr_bleu_score s;
    const thr_bleu_texts h = view(two, 2, a, x), one = view(two, 1, b, y);
    expect_error(thr_bleu(NULL, &h, 1, NULL, &s, NULL, &err), THR_EDIM, "BLEU of no sentences");
    expect_error(thr_bleu(&h, &h, 0, NULL, &s, NULL, &err), THR_EDIM, "BLEU of 2 sentences with 0 references");
    const thr_bleu_texts refs[] = {h, one};
    expect_error(thr_bleu(&h, refs, 2, NULL, &s, NULL, &err), THR_EDIM, "reference 2 has 1 sentences for 2 hypotheses");
    y[0] = 2;
    y[1] = 1;
    expect_error(thr_bleu(&one, &one, 1, NULL, &s, NULL, &err), THR_EINVAL,
                 "the hypotheses: the offsets of sentence 0 fall");
}

/* The default options with one change to o, their copy: BLEU is refused, and the error has this part. */
#define refuse_options(change, part)                                                                                   \
    do {                                                                                                               \
        thr_bleu_options o;                                                                                            \
        thr_bleu_score s;                                                                                              \
        o = (thr_bleu_options){0};                                                                                     \
        (change);                                                                                                      \
        expect_error(thr_bleu(&h, &h, 1, &o, &s, NULL, &err), THR_EINVAL, (part));                                     \
    } while (0)

TEST(options_out_of_range_are_refused) {
    const char *const two[] = {"a b", "c"};
    char a[64];
    uint64_t x[3];
    const thr_bleu_texts h = view(two, 2, a, x);
    refuse_options(o.tokeniser = (thr_bleu_tokeniser)2, "there is no tokeniser number 2");
    refuse_options(o.smoothing = (thr_bleu_smoothing)4, "there is no smoothing number 4");
    refuse_options(o.smoothing_value = -1, "a smoothing value of -1");
}
