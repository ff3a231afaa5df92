/* SPDX-License-Identifier: Apache-2.0 */
/* Strings are numbered as they come, and found again. */
#include "test.h"

#include "base/text/dictionary.h"

enum { N = 5000 };

static size_t write_word(char *word, size_t size, uint32_t i) {
    return (size_t)snprintf(word, size, "%s%u", i % 3 == 0 ? "" : "word", i);
}

TEST(what_was_added_is_found) {
    thr_dictionary d = {.n = 0};
    thr_context *context = test_new_context(1);
    uint32_t number;
    bool is_new;
    char word[32];
    (void)state;
    assert_false(thr_dictionary_find(&d, "", 0, &number));
    for (uint32_t i = 0; i < N; i++) {
        const size_t length = write_word(word, sizeof word, i);
        assert_false(thr_dictionary_find(&d, word, length, &number));
        expect_ok(thr_dictionary_add(context, &d, word, length, &number, &is_new, &err));
        assert_true(is_new && number == i);
    }
    for (uint32_t i = 0; i < N; i++) {
        const size_t length = write_word(word, sizeof word, i);
        assert_true(thr_dictionary_find(&d, word, length, &number) && number == i);
        expect_ok(thr_dictionary_add(context, &d, word, length, &number, &is_new, &err));
        assert_true(!is_new && number == i);
        assert_string_equal(thr_dictionary_text(&d, i), word);
    }
    assert_false(thr_dictionary_find(&d, "word", 4, &number));
    assert_false(thr_dictionary_find(&d, "word1000000", 11, &number));
    assert_int_equal(d.n, N);
    thr_dictionary_free(context, &d);
}

TEST(every_failing_allocation_leaves_what_was_added) {
    thr_dictionary d = {.n = 0};
    test_memory memory = {0};
    thr_context *context = test_context(1, THR_ISA_BEST, &memory);
    char word[32];
    (void)state;
    for (uint32_t i = 0; i < N; i++) {
        const size_t length = write_word(word, sizeof word, i);
        uint32_t number;
        bool is_new;
        memory.fail_at = atomic_load(&memory.calls) + 1;
        if (thr_dictionary_add(context, &d, word, length, &number, &is_new, &err) != THR_OK) {
            assert_int_equal(d.n, i);
            memory.fail_at = 0;
            expect_ok(thr_dictionary_add(context, &d, word, length, &number, &is_new, &err));
        }
        memory.fail_at = 0;
        assert_true(is_new && number == i);
        assert_true(thr_dictionary_find(&d, word, length, &number) && number == i);
    }
    thr_dictionary_free(context, &d);
    thr_context_free(context);
    assert_int_equal(atomic_load(&memory.live), 0);
}
