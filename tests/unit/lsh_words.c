/* SPDX-License-Identifier: Apache-2.0 */
/* lsh_words.c - cuckoo tables find their entries; candidates have the hits that a count pair by pair gives. */
#include "test.h"

#include "lsh/lsh.h"

static thr_cuckoo_slot *draw_spans(uint64_t *rng, size_t n) {
    thr_cuckoo_slot *spans = test_new(n, sizeof *spans);
    for (size_t i = 0; i < n; i++) /* all keys differ */
        spans[i] = (thr_cuckoo_slot){(uint32_t)(i % 7), (uint32_t)(i / 7 * 3) ^ 0x5a000000u,
                                     (uint32_t)thr_rng_below(rng, 1000), 1 + (uint32_t)thr_rng_below(rng, 9)};
    return spans;
}

RANDOM_TEST(every_key_is_found_and_no_other) {
    static const size_t NS[] = {1, 2, 100, 5000, 60000};
    for (size_t i = 0; i < COUNT_OF(NS); i++) {
        thr_cuckoo_slot *spans = draw_spans(&rng, NS[i]), *slots;
        thr_cuckoo table = {.n_slots = thr_lsh_cuckoo_n_slots(NS[i]), .seed = 3};
        expect_ok(thr_lsh_cuckoo_build(*state, spans, NS[i], &slots, &table, &err));
        for (size_t j = 0; j < NS[i]; j++) {
            const thr_cuckoo_slot *found = thr_lsh_cuckoo_find(&table, spans[j].band, spans[j].code);
            assert_non_null(found);
            assert_memory_equal(found, &spans[j], sizeof *found);
            assert_null(thr_lsh_cuckoo_find(&table, spans[j].band + 7, spans[j].code));
            assert_null(thr_lsh_cuckoo_find(&table, spans[j].band, spans[j].code + 1));
        }
        assert_null(thr_lsh_cuckoo_find(&table, 0, 0));
        thr_release(*state, slots);
    }
}

/* Of 40 keys in 40 slots and less some have no place: first the stash takes them, then there is no table. */
RANDOM_TEST(keys_without_a_place_go_to_the_stash_until_it_is_full) {
    thr_cuckoo_slot *spans = draw_spans(&rng, 40), *slots;
    bool stashed = false, refused = false;
    for (uint32_t n_slots = 100; n_slots > 0; n_slots--) {
        thr_cuckoo table = {.n_slots = n_slots, .seed = 9};
        const thr_status status = thr_lsh_cuckoo_build(*state, spans, 40, &slots, &table, &err);
        if (status != THR_OK) {
            expect_error(status, THR_EUNSUPPORTED, "has no place for 40 band codes with any of 16 seeds");
            assert_null(slots);
            refused = true;
            continue;
        }
        assert_true(n_slots + table.n_stash >= 40 && table.n_stash <= THR_CUCKOO_STASH);
        stashed = stashed || table.n_stash > 0;
        for (size_t j = 0; j < 40; j++)
            assert_memory_equal(thr_lsh_cuckoo_find(&table, spans[j].band, spans[j].code), &spans[j], sizeof *spans);
        assert_null(thr_lsh_cuckoo_find(&table, 99, 99));
        thr_release(*state, slots);
    }
    assert_true(stashed && refused);
}

TEST(a_table_has_a_limit) {
    assert_int_equal(thr_lsh_cuckoo_n_slots(0), 16);
    assert_int_equal(thr_lsh_cuckoo_n_slots(4), 25);
    assert_true(thr_lsh_cuckoo_n_slots(900000000) > 2000000000);
    assert_int_equal(thr_lsh_cuckoo_n_slots(1000000000), 0);
}

/* Codes of few values, so that many words share each. */
static uint32_t *draw_codes(uint64_t *rng, size_t n, uint32_t values) {
    uint32_t *codes = test_new(n, sizeof *codes);
    for (size_t i = 0; i < n; i++)
        codes[i] = (uint32_t)(thr_rng_below(rng, values) * 0x10001000u);
    return codes;
}

/* L[i, w] by comparing codes. */
static uint32_t naive_hits(const uint32_t *word, const uint32_t *state, uint32_t n_bands) {
    uint32_t hits = 0;
    for (uint32_t band = 0; band < n_bands; band++)
        hits += word[band] == state[band];
    return hits;
}

/* The hits of a word with several states, as they are combined. */
static uint32_t combined_hits(const uint32_t *word, const uint32_t *states, size_t n_states, uint32_t n_bands,
                              thr_lsh_combine combine) {
    uint32_t largest = 0, sum = 0;
    for (size_t i = 0; i < n_states; i++) {
        const uint32_t hits = naive_hits(word, &states[i * n_bands], n_bands);
        largest = hits > largest ? hits : largest;
        sum += hits;
    }
    return combine == THR_LSH_LARGEST ? largest : sum;
}

RANDOM_TEST(marked_words_are_those_with_the_hits) {
    static const struct {
        uint32_t n_words, n_bands, values;
    } SHAPES[] = {{1, 1, 1}, {64, 3, 2}, {1000, 20, 5}, {333, 50, 12}};
    enum { MOST_STATES = 5 };
    for (size_t s = 0; s < COUNT_OF(SHAPES); s++) {
        const uint32_t n = SHAPES[s].n_words, n_bands = SHAPES[s].n_bands;
        uint32_t *codes = draw_codes(&rng, (size_t)n * n_bands, SHAPES[s].values);
        thr_lsh_memory memory;
        thr_lsh lsh;
        thr_lsh_counter counter;
        expect_ok(thr_lsh_build(*state, codes, &(thr_lsh_shape){n, n_bands, 1}, &memory, &lsh, &err));
        assert_null(thr_lsh_check(&lsh));
        expect_ok(thr_lsh_counter_make(*state, n, &counter, &err));
        for (int round = 0; round < 60; round++) {
            const size_t n_states = 1 + (size_t)thr_rng_below(&rng, MOST_STATES);
            const uint32_t threshold = 1 + (uint32_t)thr_rng_below(&rng, n_bands + 3);
            const thr_lsh_combine combine = round % 2 == 0 ? THR_LSH_LARGEST : THR_LSH_SUM;
            uint32_t *states = draw_codes(&rng, n_states * n_bands, SHAPES[s].values + 1);
            uint64_t *marks = test_new(n / 64 + 1, sizeof *marks);
            thr_lsh_mark(&lsh, &counter, states, n_states, threshold, combine, marks);
            for (uint32_t w = 0; w < n; w++) {
                const uint32_t *word = &codes[(size_t)w * n_bands];
                const bool wanted = combined_hits(word, states, n_states, n_bands, combine) >= threshold;
                assert_case((marks[w / 64] >> w % 64 & 1) == wanted, "seed %llu, shape %zu, round %d, word %u",
                            (unsigned long long)test_seed(), s, round, w);
                assert_int_equal(counter.counts[w], 0);
            }
        }
        thr_lsh_counter_free(*state, &counter);
        thr_lsh_free(*state, &memory);
    }
}

TEST(words_and_bands_have_limits) {
    static const uint32_t code = 0;
    thr_lsh_memory memory;
    thr_lsh lsh;
    expect_error(thr_lsh_build(*state, &code, &(thr_lsh_shape){0, 1, 1}, &memory, &lsh, &err), THR_EDIM,
                 "0 words in 1 bands");
    expect_error(thr_lsh_build(*state, &code, &(thr_lsh_shape){1, 0, 1}, &memory, &lsh, &err), THR_EDIM,
                 "1 words in 0 bands");
    expect_error(thr_lsh_build(*state, &code, &(thr_lsh_shape){65536, 65536, 1}, &memory, &lsh, &err), THR_EDIM,
                 "in all bands");
}

RANDOM_TEST(what_a_file_may_not_hold_is_noticed) {
    uint32_t *codes = draw_codes(&rng, 30, 3);
    thr_lsh_memory memory;
    thr_lsh lsh;
    expect_ok(thr_lsh_build(*state, codes, &(thr_lsh_shape){10, 3, 1}, &memory, &lsh, &err));
    memory.words[29] = 10;
    assert_string_equal(thr_lsh_check(&lsh), "a list has a word that is out of range");
    memory.words[29] = 9;
    assert_null(thr_lsh_check(&lsh));
    memory.slots[lsh.table.n_slots - 1].first = 25;
    memory.slots[lsh.table.n_slots - 1].n = 6;
    assert_string_equal(thr_lsh_check(&lsh), "a band code's list is out of bounds");
    thr_lsh_free(*state, &memory);
}

RANDOM_TEST(every_allocation_may_fail) {
    uint32_t *codes = draw_codes(&rng, 4000, 300);
    test_memory tracked = {0};
    test_oom oom = test_oom_start(&tracked);
    while (test_oom_next(&oom)) {
        OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, &tracked);
        thr_lsh_memory memory;
        thr_lsh lsh;
        thr_lsh_counter counter = {NULL, NULL, 0};
        test_oom_arm(&oom);
        thr_status status = thr_lsh_build(context, codes, &(thr_lsh_shape){400, 10, 1}, &memory, &lsh, &err);
        if (status == THR_OK)
            status = thr_lsh_counter_make(context, 400, &counter, &err);
        (void)test_oom_check(&oom, status, &err, NULL);
        thr_lsh_free(context, &memory);
        thr_lsh_counter_free(context, &counter);
    }
    assert_true(oom.n_failed > 4);
}

TEST_IN_CONTEXT(1, NULL)
