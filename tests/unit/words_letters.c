/* SPDX-License-Identifier: Apache-2.0 */
/* words_letters.c - texts become words: folded, split at punctuation and invalid UTF-8, cut if too long. */
#include "test.h"

#include "words/letters.h"

/* The words of a text, each followed by "|", ASCII as it is and the rest as <hex>. */
static void words_of(const char *text, size_t length, char *out, size_t size) {
    thr_letters letters = {(const unsigned char *)text, (const unsigned char *)text + length};
    uint32_t word[THR_WORD_LETTERS];
    size_t used = 0;
    out[0] = '\0';
    for (size_t n; (n = thr_words_letters_next_word(&letters, word)) != 0;) {
        for (size_t i = 0; i < n; i++)
            used += (size_t)snprintf(out + used, size - used, word[i] < 0x80 ? "%c" : "<%x>", word[i]);
        used += (size_t)snprintf(out + used, size - used, "|");
    }
}

TEST(words_are_folded_and_parted) {
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"Edit PDF-files, now!", "edit|pdf|files|now|"},
        {"", ""},
        {" \t.,;\n", ""},
        {"x86_64 C++ 3D", "x86|64|c|3d|"},
        {"\xc3\x84RGER \xc3\x9f", "<e4>rger|<df>|"},        /* AERGER with umlaut, sharp s */
        {"\xce\x91\xce\xa3 \xd0\x96", "<3b1><3c3>|<436>|"}, /* Greek, Cyrillic */
        {"a\xe2\x80\x94"
         "b\xc2\xa0"
         "c",
         "a|b|c|"},                                    /* dash, hard space */
        {"\xe6\x97\xa5\xe6\x9c\xac", "<65e5><672c>|"}, /* no spaces, no case */
        {"\xf0\x9f\x98\x80 smile", "smile|"},          /* a symbol */
        {"caf\xe9 ol\xe9", "caf|ol|"},                 /* Latin-1 is no UTF-8 */
        {"a\xc0\xaf"
         "b",
         "a|b|"}, /* longer than needed */
        {"a\xed\xa0\x80"
         "b",
         "a|b|"}, /* a surrogate */
        {"a\xf4\x90\x80\x80"
         "b",
         "a|b|"},            /* past the last code point */
        {"a\xe6\x97", "a|"}, /* cut short */
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char words[256];
        words_of(cases[i].text, strlen(cases[i].text), words, sizeof words);
        assert_string_equal(words, cases[i].words);
    }
}

/* Every code point below the surrogates, encoded, is read as itself: one word of one letter, or none. */
TEST(every_code_point_is_read_back) {
    for (uint32_t c = 0x80; c < 0xD800; c++) {
        char text[3], expected[32], words[64];
        size_t n = 0;
        if (c < 0x800) {
            text[n++] = (char)(0xC0 | c >> 6);
        } else {
            text[n++] = (char)(0xE0 | c >> 12);
            text[n++] = (char)(0x80 | (c >> 6 & 0x3F));
        }
        text[n++] = (char)(0x80 | (c & 0x3F));
        (void)snprintf(expected, sizeof expected, thr_words_fold_case(c) < 0x80 ? "%c|" : "<%x>|",
                       thr_words_fold_case(c));
        words_of(text, n, words, sizeof words);
        assert_string_equal(words, thr_words_is_letter(c) ? expected : "");
    }
}

TEST(folding_is_done_once) {
    for (uint32_t c = 0; c < 0x20000; c++)
        assert_int_equal(thr_words_fold_case(thr_words_fold_case(c)), thr_words_fold_case(c));
}

TEST(a_long_word_is_cut) {
    char text[300];
    uint32_t word[THR_WORD_LETTERS];
    memset(text, 'a', sizeof text);
    memcpy(text + 297, " b ", 3);
    thr_letters letters = {(unsigned char *)text, (unsigned char *)text + sizeof text};
    assert_int_equal(thr_words_letters_next_word(&letters, word), THR_WORD_LETTERS);
    assert_int_equal(thr_words_letters_next_word(&letters, word), 1);
    assert_int_equal(word[0], 'b');
    assert_int_equal(thr_words_letters_next_word(&letters, word), 0);
}

TEST(a_word_of_n_letters_has_n_trigrams) {
    const uint32_t word[] = {'c', 'a', 't'};
    assert_true(thr_word_gram(word, 3, 0) == thr_gram('#', 'c', 'a'));
    assert_true(thr_word_gram(word, 3, 1) == thr_gram('c', 'a', 't'));
    assert_true(thr_word_gram(word, 3, 2) == thr_gram('a', 't', '#'));
    assert_true(thr_word_gram(word, 1, 0) == thr_gram('#', 'c', '#'));
}

/* Bytes of any kind end, and give words of folded letters only. */
RANDOM_TEST(any_bytes_are_read) {
    for (int trial = 0; trial < 2000; trial++) {
        unsigned char bytes[64];
        const size_t size = (size_t)thr_rng_below(&rng, sizeof bytes + 1);
        unsigned char *exact = test_new(size + 1, 1); /* so that a sanitizer sees the end */
        for (size_t i = 0; i < size; i++)
            bytes[i] = (unsigned char)thr_rng_next(&rng);
        memcpy(exact, bytes, size);
        thr_letters letters = {exact, exact + size};
        uint32_t word[THR_WORD_LETTERS];
        for (size_t n; (n = thr_words_letters_next_word(&letters, word)) != 0;)
            for (size_t i = 0; i < n; i++)
                assert_case(thr_words_is_letter(word[i]) && thr_words_fold_case(word[i]) == word[i],
                            "seed %llu trial %d: letter %x", (unsigned long long)test_seed(), trial, word[i]);
    }
}
