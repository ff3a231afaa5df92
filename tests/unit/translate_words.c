/* SPDX-License-Identifier: Apache-2.0 */
/* translate_words.c - text to words and back: the contract of words.h, a naive model, and random texts. */
#include "test.h"

#include <thresher/words.h>

#include "base/text/utf8.h"
#include "words/letters.h"

#define JOIN "\xEF\xBF\xAD"

enum { TEXT_MOST = 64, WORDS_MOST = 10 * TEXT_MOST + 1 };

/* Words of a text, + for the joiner. */
static const struct {
    const char *text, *words, *joined;
} cases[] = {
    {"don't (ab).", "don +'+ t (+ ab +) +.", "don't (ab)."},
    {"", "", ""},
    {" \t\v\f\r\n", "", ""},
    {"Hello, World!", "hello +, world +!", "hello, world!"},
    {"a  b\tc", "a b c", "a b c"},
    {"... x", ". +. +. x", "... x"},
    {"x ...", "x . +. +.", "x ..."},
    {"\"Yes,\" he said", "\"+ yes +, +\" he said", "\"yes,\" he said"},
    {"3.5 % of 10,000", "3 +.+ 5 % of 10 +,+ 000", "3.5 % of 10,000"},
    {"- a -b c- d-e", "- a -+ b c +- d +-+ e", "- a -b c- d-e"},
    {"\xC3\x84RGER", "\xC3\xA4rger", "\xC3\xA4rger"}, /* folded */
    {"a\xC2\xA0"
     "b\xE3\x80\x80"
     "c\xC2\x85"
     "d\xE2\x80\x8A"
     "e",
     "a b c d e", "a b c d e"}, /* white space of Unicode */
    {"a\xE2\x80\x8B"
     "b",
     "a +\xE2\x80\x8B+ b",
     "a\xE2\x80\x8B"
     "b"},                                           /* U+200B has a width: none */
    {"a" JOIN "b " JOIN "(c", "a b (+ c", "a b (c"}, /* the joiner of a text */
    {"a\xFF"
     "b",
     "a +\xEF\xBF\xBD+ b",
     "a\xEF\xBF\xBD"
     "b"},                                                                  /* no UTF-8 */
    {"\xE2\x82", "\xEF\xBF\xBD +\xEF\xBF\xBD", "\xEF\xBF\xBD\xEF\xBF\xBD"}, /* a byte each */
    {"\xE6\x97\xA5\xE6\x9C\xAC\xE3\x80\x82", "\xE6\x97\xA5\xE6\x9C\xAC +\xE3\x80\x82",
     "\xE6\x97\xA5\xE6\x9C\xAC\xE3\x80\x82"},
    {"\xF0\x9F\x98\x80!", "\xF0\x9F\x98\x80 +!", "\xF0\x9F\x98\x80!"},
};

/* With the joiner for +, which no case's text has. */
static void spell(const char *words, char *out) {
    for (; *words != '\0'; words++) {
        const size_t n = *words == '+' ? strlen(JOIN) : 1;
        memcpy(out, *words == '+' ? JOIN : words, n);
        out += n;
    }
    *out = '\0';
}

TEST(words_are_those_that_are_promised) {
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char words[WORDS_MOST], want[WORDS_MOST], text[WORDS_MOST];
        spell(cases[i].words, want);
        assert_int_equal(thr_words_split(cases[i].text, strlen(cases[i].text), words, sizeof words), strlen(want));
        assert_string_equal(words, want);
        assert_int_equal(thr_words_join(words, strlen(words), text, sizeof text), strlen(cases[i].joined));
        assert_string_equal(text, cases[i].joined);
    }
}

TEST(words_no_text_has_are_joined_too) {
    static const struct {
        const char *words, *text;
    } odd[] = {{"  a   b ", "a b"}, {"a + b", "ab"}, {"a ++ b", "ab"}, {"+", ""},           {"+a b+", "a b"},
               {"a+ +b", "ab"},     {"a+ b", "ab"},  {"a +b", "ab"},   {"a +.+ +b", "a.b"}, {"", ""}};
    for (size_t i = 0; i < COUNT_OF(odd); i++) {
        char words[WORDS_MOST], text[WORDS_MOST];
        spell(odd[i].words, words);
        assert_int_equal(thr_words_join(words, strlen(words), text, sizeof text), strlen(odd[i].text));
        assert_string_equal(text, odd[i].text);
    }
}

TEST(what_there_is_no_room_for_is_counted) {
    static const char text[] = "ab, (c)";
    char whole[64], cut[64];
    const size_t n = thr_words_split(text, strlen(text), whole, sizeof whole);
    assert_int_equal(thr_words_split(text, strlen(text), NULL, 0), n);
    assert_int_equal(thr_words_join(whole, n, NULL, 0), strlen(text));
    for (size_t size = 1; size < n + 3; size++) {
        memset(cut, '#', sizeof cut);
        assert_int_equal(thr_words_split(text, strlen(text), cut, size), n);
        const size_t has = size - 1 < n ? size - 1 : n;
        assert_memory_equal(cut, whole, has);
        assert_true(cut[has] == '\0' && cut[size] == '#');
        memset(cut, '#', sizeof cut);
        assert_int_equal(thr_words_join(whole, n, cut, size), strlen(text));
        assert_true(cut[size] == '#');
        assert_int_equal(strlen(cut), size - 1 < strlen(text) ? size - 1 : strlen(text));
    }
}

/* ------------------------------------------------------------------------------------------------ the model */

/* A word of the text: code points first to end - 1, and which of its sides touch another. */
typedef struct token {
    size_t first, end;
    bool letters, front, behind;
} token;

static bool is_white(uint32_t c) {
    static const uint32_t white[] = {9,      10,     11,     12,     13,     32,     0x85,   0xA0,   0x1680,
                                     0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008,
                                     0x2009, 0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFFED};
    for (size_t i = 0; i < COUNT_OF(white); i++)
        if (white[i] == c)
            return true;
    return false;
}

/* The documented rule: tokens first, then each two neighbours that touch. */
static void model(const char *text, size_t length, char *out) {
    uint32_t codes[TEXT_MOST];
    token tokens[TEXT_MOST];
    size_t n = 0, n_tokens = 0;
    thr_letters letters = {(const unsigned char *)text, (const unsigned char *)text + length};
    while (letters.next < letters.end)
        codes[n++] = thr_words_letters_next(&letters);
    for (size_t i = 0; i < n;) {
        token t = {.first = i, .end = i + 1, .letters = thr_words_is_letter(codes[i])};
        while (t.letters && t.end < n && thr_words_is_letter(codes[t.end]))
            t.end++;
        i = t.end;
        if (!is_white(codes[t.first]))
            tokens[n_tokens++] = t;
    }
    for (size_t t = 0; t + 1 < n_tokens; t++)
        if (tokens[t].end == tokens[t + 1].first) {
            if (!tokens[t + 1].letters)
                tokens[t + 1].front = true;
            else
                tokens[t].behind = true;
        }
    for (size_t t = 0; t < n_tokens; t++) {
        out = t > 0 ? (*out = ' ', out + 1) : out;
        out += tokens[t].front ? thr_utf8_put(0xFFED, out) : 0;
        for (size_t i = tokens[t].first; i < tokens[t].end; i++)
            out += thr_utf8_put(thr_words_fold_case(codes[i]), out);
        out += tokens[t].behind ? thr_utf8_put(0xFFED, out) : 0;
    }
    *out = '\0';
}

RANDOM_TEST(random_texts_are_split_as_the_model_does_and_put_together_again) {
    static const char *const pieces[] = {
        "a",   "B", "7",  "\xC3\x89",     "\xCC\x81",         " ",    " ",    "\n", "\xE2\x80\xAF",
        ".",   "(", "\"", "\xE2\x80\x9C", "\xF0\x9F\x98\x80", "\x80", "\xF0", JOIN, "\xC2\xA0",
        "\x01"};
    for (size_t round = 0; round < 20000; round++) {
        char text[TEXT_MOST], words[WORDS_MOST], want[WORDS_MOST], joined[WORDS_MOST], again[10 * WORDS_MOST];
        size_t length = 0;
        for (size_t n = (size_t)(thr_rng_next(&rng) % 14); n > 0; n--) {
            const char *piece = pieces[thr_rng_next(&rng) % (COUNT_OF(pieces))];
            memcpy(text + length, piece, strlen(piece));
            length += strlen(piece);
        }
        const size_t n_words = thr_words_split(text, length, words, sizeof words);
        model(text, length, want);
        assert_case(strcmp(words, want) == 0 && n_words == strlen(want) && n_words <= 10 * length,
                    "seed %llu, round %zu: \"%s\" for \"%s\"", (unsigned long long)test_seed(), round, words, want);
        const size_t n_joined = thr_words_join(words, n_words, joined, sizeof joined);
        assert_true(n_joined <= n_words);
        (void)thr_words_split(joined, n_joined, again, sizeof again);
        assert_case(strcmp(again, words) == 0, "seed %llu, round %zu: \"%s\" after \"%s\"",
                    (unsigned long long)test_seed(), round, again, words);
    }
}
