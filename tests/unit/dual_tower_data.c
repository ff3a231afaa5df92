/* SPDX-License-Identifier: Apache-2.0 */
/* dual_tower_data.c - words taken apart, tables of items and requests, and lines that are wrong. */
#define TOWER_TEST "dual-data"
#include "dual_tower_support.h"

#include "dual_tower/vocabulary.h"

static const char items_path[] = NAME("items.tsv"), requests_path[] = NAME("requests.tsv");

/* ------------------------------------------------------------------------------------------------ words */

static thr_status next(const char *text, thr_side side, thr_dual_word *word, thr_error *error) {
    const char *at = text;
    bool got = false;
    const thr_status status = thr_dual_next_word(&at, text + strlen(text), side, word, &got, error);
    assert_true(status != THR_OK || got);
    return status;
}

TEST(words_are_taken_apart) {
    static const struct {
        const char *text, *word, *field, *feature; /* NULL: of no sequence */
        thr_side side;
        float x;
    } cases[] = {
        {"age=3", "age=3", "age", NULL, THR_SIDE_QUERY, 1},
        {"age=3:0.5", "age=3", "age", NULL, THR_SIDE_QUERY, 0.5f},
        {"age=3.5", "age=3.5", "age", NULL, THR_SIDE_QUERY, 1},
        {"vip", "vip", "vip", NULL, THR_SIDE_QUERY, 1},
        {"vip:-2e1", "vip", "vip", NULL, THR_SIDE_QUERY, -20},
        {"click.category=12:3", "click.category=12", "click.category", "category=12", THR_SIDE_QUERY, 3},
        {"click.new:2", "click.new", "click.new", "new", THR_SIDE_QUERY, 2},
        {"a.b.c=1", "a.b.c=1", "a.b.c", "b.c=1", THR_SIDE_QUERY, 1},
        {"t=a:b", "t=a:b", "t", NULL, THR_SIDE_QUERY, 1},
        {"t=10:30:1", "t=10:30", "t", NULL, THR_SIDE_QUERY, 1},
        {"t=x:nan", "t=x:nan", "t", NULL, THR_SIDE_QUERY, 1},
        {"t=x:inf", "t=x:inf", "t", NULL, THR_SIDE_QUERY, 1},
        {"t=x:0x1", "t=x:0x1", "t", NULL, THR_SIDE_QUERY, 1},
        {"t=x:1.2.3", "t=x:1.2.3", "t", NULL, THR_SIDE_QUERY, 1},
        {"t=x:", "t=x:", "t", NULL, THR_SIDE_QUERY, 1},
        {"t=", "t=", "t", NULL, THR_SIDE_QUERY, 1},
        {"t=a=b", "t=a=b", "t", NULL, THR_SIDE_QUERY, 1},
        {"url=http://x:80", "url=http://x:80", "url", NULL, THR_SIDE_ITEM, 1},
        {"v1.2=3:4", "v1.2=3:4", "v1.2", NULL, THR_SIDE_ITEM, 1},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        thr_dual_word word;
        expect_ok(next(cases[i].text, cases[i].side, &word, &err));
        assert_case(word.length == strlen(cases[i].word) && memcmp(word.text, cases[i].word, word.length) == 0 &&
                        word.field_length == strlen(cases[i].field) && word.x == cases[i].x,
                    "%s: %.*s, field %zu, %g", cases[i].text, (int)word.length, word.text, word.field_length,
                    (double)word.x);
        assert_int_equal(word.feature == 0, cases[i].feature == NULL);
        if (cases[i].feature != NULL)
            assert_memory_equal(word.text + word.feature, cases[i].feature, strlen(cases[i].feature));
    }
}

TEST(words_that_are_none_are_named) {
    thr_dual_word word;
    char large[1100];
    static const char *const bad[] = {"=3", ".x=3", "click.=3", "click.", "."};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        expect_error(next(bad[i], THR_SIDE_QUERY, &word, &err), THR_EFORMAT, "has no name before");
    expect_error(next("a=3:1e99", THR_SIDE_QUERY, &word, &err), THR_ERANGE, "'a=3' has a number");
    memset(large, 'a', sizeof large);
    large[1001] = '\0';
    expect_error(next(large, THR_SIDE_ITEM, &word, &err), THR_EFORMAT, "more than 1000 bytes");
    large[1000] = '\0';
    expect_ok(next(large, THR_SIDE_ITEM, &word, &err));
    const char *at = "  \t ";
    bool got = true;
    expect_ok(thr_dual_next_word(&at, at + 4, THR_SIDE_QUERY, &word, &got, &err));
    assert_false(got);
}

/* A text need not end with NUL. */
TEST(words_end_where_the_text_does) {
    static const char text[] = {'a', '=', '1', ':', '2', '5'};
    const char *at = text;
    thr_dual_word word;
    bool got = false;
    expect_ok(thr_dual_next_word(&at, text + 5, THR_SIDE_QUERY, &word, &got, &err));
    assert_true(got && word.length == 3 && word.x == 2);
}

/* ------------------------------------------------------------------------------------------------ tables */

typedef struct files {
    thr_dual_lexicon lexicon;
    thr_dual_items items;
    thr_dual_requests requests;
} files;

static thr_status read_both(thr_context *context, const char *items, const char *requests, files *f, thr_error *error) {
    memset(f, 0, sizeof *f);
    test_write_text(items_path, items);
    test_write_text(requests_path, requests);
    THR_TRY(thr_dual_items_read(context, items_path, &f->lexicon, &f->items, error));
    return thr_dual_requests_read(context, requests_path, &f->items, &f->lexicon, &f->requests, error);
}

static void free_files(thr_context *context, files *f) {
    thr_dual_lexicon_free(context, &f->lexicon);
    thr_dual_items_free(context, &f->items);
    thr_dual_requests_free(context, &f->requests);
}

TEST(tables_are_read) {
    files f;
    expect_ok(read_both(*state, "a\tx=1 y=2 x=1\nb\ty=2\nc:7\t\n",
                        "age=1:2 click.y=2:3\tb:1.5 ~a c:7 \tmore\n\ta c:7:4\r\nclick.z=9\tc:7 b:0\n", &f, &err));
    assert_int_equal(f.items.n, 3);
    const size_t offsets[] = {0, 2, 3, 3};
    assert_memory_equal(f.items.offsets, offsets, sizeof offsets);
    assert_int_equal(f.requests.n, 3);
    const uint32_t ads[] = {1, 0, 2, 0, 2, 2, 1}, levels[] = {0, 0, 1, 0, 1, 0, 1};
    const uint64_t ad_offsets[] = {0, 3, 5, 7};
    const float values[] = {1.5f, 0, 0, 0, 4, 0, 0}, x[] = {2, 3, 1};
    assert_memory_equal(f.requests.ads, ads, sizeof ads);
    assert_memory_equal(f.requests.levels, levels, sizeof levels);
    assert_memory_equal(f.requests.ad_offsets, ad_offsets, sizeof ad_offsets);
    assert_memory_equal(f.requests.values, values, sizeof values);
    assert_memory_equal(f.requests.x, x, sizeof x);
    assert_int_equal(f.requests.most_ads, 3);
    const size_t word_offsets[] = {0, 2, 2, 3};
    assert_memory_equal(f.requests.word_offsets, word_offsets, sizeof word_offsets);
    assert_int_equal(f.lexicon.hits[f.requests.words[0]], THR_DUAL_NONE);
    assert_int_equal(f.lexicon.hits[f.requests.words[1]], f.items.words[2]);  /* y=2 */
    assert_int_not_equal(f.lexicon.hits[f.requests.words[2]], THR_DUAL_NONE); /* of a word that no item has */
    free_files(*state, &f);
}

TEST(bad_lines_are_named) {
    static const struct {
        const char *items, *requests;
        thr_status status;
        const char *words;
    } cases[] = {
        {"a\tx\nb\n", "", THR_EFORMAT, "items.tsv: line 2: one column"},
        {"a\tx\n\ty\n", "", THR_EFORMAT, "items.tsv: line 2: '' is not an item's ID"},
        {"~a\tx\n", "", THR_EFORMAT, "line 1: '~a' is not an item's ID"},
        {"a b\tx\n", "", THR_EFORMAT, "'a b' is not an item's ID"},
        {"a\tx\nb\tx\na\ty\n", "", THR_EDUPLICATE, "items.tsv: line 3: the item 'a'"},
        {"a\t=1\n", "", THR_EFORMAT, "line 1: the word '=1'"},
        {"a\tx\n", "u\ta\nu\tb\n", THR_ENOTFOUND, "requests.tsv: line 2: no item has the ID 'b'"},
        {"a\tx\n", "u\tb:3\n", THR_ENOTFOUND, "no item has the ID 'b'"},
        {"a\tx\n", "u a\n", THR_EFORMAT, "line 1: one column"},
        {"a\tx\n", "u\t \n", THR_EFORMAT, "line 1: no ads"},
        {"a\tx\n", "u\t~a\n", THR_EFORMAT, "no ad comes before the first"},
        {"a\tx\nb\tx\n", "u\ta b ~a:3\n", THR_EFORMAT, "the ad 'a:3' is repeated"},
        {"a\tx\n", "u\ta:-1\n", THR_ERANGE, "the value of 'a:-1'"},
        {"a\tx\n", "u\ta:1e40\n", THR_ERANGE, "the value of 'a:1e40'"},
        {"a\tx\n", "u:1e40\ta\n", THR_ERANGE, "line 1: the word 'u' has a number"},
        {"a\tx\n", ".u\ta\n", THR_EFORMAT, "line 1: the word '.u'"},
        {"", "", THR_EDIM, "items.tsv: holds no items"},
        {"a\tx\n", "", THR_EDIM, "requests.tsv: holds no requests"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        files f;
        expect_error(read_both(*state, cases[i].items, cases[i].requests, &f, &err), cases[i].status, cases[i].words);
        free_files(*state, &f);
    }
}

TEST(lines_that_tables_leave_out_are_errors) {
    static const char items[] = "a\tx\nb\0\ty\nc\tz\n";
    files f = {0};
    test_write_file(items_path, items, sizeof items - 1);
    expect_error(thr_dual_items_read(*state, items_path, &f.lexicon, &f.items, &err), THR_EFORMAT,
                 "line 2 holds a NUL byte");
    free_files(*state, &f);
}

TEST(requests_have_a_most_of_ads) {
    files f = {0};
    FILE *items = fopen(items_path, "wb"), *requests = fopen(requests_path, "wb");
    assert_true(items != NULL && requests != NULL);
    (void)fprintf(requests, "u\t");
    for (int i = 0; i <= THR_DUAL_ADS_MAX; i++) {
        (void)fprintf(items, "%d\tx\n", i);
        (void)fprintf(requests, "%d ", i);
    }
    assert_true(fclose(items) == 0 && fclose(requests) == 0);
    expect_ok(thr_dual_items_read(*state, items_path, &f.lexicon, &f.items, &err));
    expect_error(thr_dual_requests_read(*state, requests_path, &f.items, &f.lexicon, &f.requests, &err), THR_EFORMAT,
                 "more than 4096 ads");
    free_files(*state, &f);
}

TEST(items_have_a_most_of_words) {
    files f = {0};
    FILE *file = fopen(items_path, "wb");
    assert_non_null(file);
    (void)fprintf(file, "a\t");
    for (int i = 0; i <= THR_DUAL_ITEM_WORDS_MAX; i++)
        (void)fprintf(file, "x=%d x=0 ", i);
    assert_int_equal(fclose(file), 0);
    expect_error(thr_dual_items_read(*state, items_path, &f.lexicon, &f.items, &err), THR_EFORMAT,
                 "line 1: more than 4096 words");
    free_files(*state, &f);
}

TEST(vocabularies_have_a_most_of_fields) {
    thr_dual_vocabulary vocabulary = {0};
    char *text = test_new(8 * (THR_DUAL_FIELDS_MAX + 1), 1);
    size_t n = 0;
    for (int i = 0; i < THR_DUAL_FIELDS_MAX; i++)
        n += (size_t)sprintf(text + n, "u%04d\n", i);
    expect_ok(thr_dual_vocabulary_make(*state, text, n, THR_SIDE_QUERY, "a", &vocabulary, &err));
    assert_int_equal(thr_dual_n_fields(&vocabulary), THR_DUAL_FIELDS_MAX);
    thr_dual_vocabulary_free(*state, &vocabulary);
    n += (size_t)sprintf(text + n, "u4096\n");
    expect_error(thr_dual_vocabulary_make(*state, text, n, THR_SIDE_QUERY, "a", &vocabulary, &err), THR_EFORMAT,
                 "more than 4096 fields");
    thr_dual_vocabulary_free(*state, &vocabulary);
}

/* Ascending words, one per line, none twice; else the list is damaged. */
TEST(lists_of_words_that_are_damaged_are_refused) {
    static const char *const bad[] = {"",      "a=1",  "a=1\na=1\n", "b\na\n",  "a\n\n",
                                      "a b\n", "=1\n", "a=1:2\n",    "a\n\tb\n"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        thr_dual_vocabulary vocabulary = {0};
        expect_error(
            thr_dual_vocabulary_make(*state, bad[i], strlen(bad[i]), THR_SIDE_QUERY, "model", &vocabulary, &err),
            THR_ECORRUPT, "model: its list of users' words is damaged");
        thr_dual_vocabulary_free(*state, &vocabulary);
    }
}

typedef struct job {
    thr_context *context;
    files f;
} job;

static thr_status do_read(void *arg, thr_error *error) {
    job *j = arg;
    memset(&j->f, 0, sizeof j->f);
    thr_status status = thr_dual_items_read(j->context, items_path, &j->f.lexicon, &j->f.items, error);
    if (status == THR_OK)
        status = thr_dual_requests_read(j->context, requests_path, &j->f.items, &j->f.lexicon, &j->f.requests, error);
    free_files(j->context, &j->f);
    return status;
}

TEST(every_allocation_may_fail) {
    test_memory memory = {0};
    job j = {.context = test_context(1, THR_ISA_BEST, &memory)};
    dual_write_items(items_path);
    dual_write_requests(requests_path, 0, DUAL_REQUESTS);
    tower_fail_allocations(&memory, do_read, &j);
    thr_context_free(j.context);
    assert_int_equal(atomic_load(&memory.live), 0);
}
