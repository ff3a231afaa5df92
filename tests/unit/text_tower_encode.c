/* SPDX-License-Identifier: Apache-2.0 */
/* text_tower_encode.c - a text's bits depend on nothing but the text; planes are signs; lines are read as rows. */
#define TOWER_TEST "encode"
#include "text_tower_support.h"

#include "io/reader.h"

static const char model[] = NAME("model"), lines[] = NAME("lines.txt");
enum { N_TEXTS = 300, DIMS = 9, LONG = 2 << 20 };

/* Texts, some of them odd. */
typedef struct texts {
    char room[N_TEXTS][TOWER_TEXT_ROOM];
    const char *at[N_TEXTS];
    size_t lengths[N_TEXTS];
    float *wanted; /* N_TEXTS x DIMS */
    thr_side side;
} texts;

static void make_texts(texts *t) {
    static const char *const odd[] = {"",         " ",          "\xff\xfe", "\xf0\x90", "a",
                                      "EDIT PDF", "edit, pdf!", "\xc3\x9c", "\xc3\xbc", "\xed\xa0\x80"};
    enum { N_ODD = COUNT_OF(odd) };
    memset(t, 0, sizeof *t);
    for (size_t i = 0; i < N_TEXTS; i++) {
        if (i % 7 == 0)
            (void)snprintf(t->room[i], TOWER_TEXT_ROOM, "%s", odd[i / 7 % N_ODD]);
        else
            tower_text(i, t->room[i]);
        t->at[i] = t->room[i];
        t->lengths[i] = strlen(t->room[i]);
    }
}

/* All at once, in pieces, with lengths and without. */
static void check_encode(thr_context *context, void *arg) {
    texts *t = arg;
    OWNED(thr_tower, tower) = tower_open(context, model);
    float *got = test_new(N_TEXTS * DIMS, sizeof *got);
    static const size_t pieces[] = {N_TEXTS, 1, 2, 127, 128, 129};
    for (size_t p = 0; p < COUNT_OF(pieces); p++) {
        memset(got, 0, N_TEXTS * DIMS * sizeof *got);
        for (size_t first = 0; first < N_TEXTS; first += pieces[p]) {
            const size_t n = N_TEXTS - first < pieces[p] ? N_TEXTS - first : pieces[p];
            expect_ok(thr_tower_encode(tower, t->side, t->at + first, p % 2 == 0 ? t->lengths + first : NULL, n,
                                       got + first * DIMS, &err));
        }
        assert_case(memcmp(got, t->wanted, N_TEXTS * DIMS * sizeof *got) == 0,
                    "%u threads, %s, side %d, %zu at once: other bits", thr_context_threads(context),
                    thr_isa_name(thr_context_isa(context)), (int)t->side, pieces[p]);
    }
}

TEST(bits_do_not_depend_on_neighbours_threads_or_level) {
    static const uint32_t bits[][2] = {{3, 2}, {8, 1}, {32, 32}};
    texts *t = test_new(1, sizeof *t);
    make_texts(t);
    t->wanted = test_new(N_TEXTS * DIMS, sizeof(float));
    for (size_t b = 0; b < 3; b++) {
        tower_make(model, bits[b][0], bits[b][1]);
        for (t->side = THR_SIDE_QUERY; t->side <= THR_SIDE_ITEM; t->side++) {
            thr_tower *tower = tower_open(*state, model);
            expect_ok(thr_tower_encode(tower, t->side, t->at, NULL, N_TEXTS, t->wanted, &err));
            thr_tower_free(tower);
            tower_each_context(check_encode, t);
        }
    }
}

static void encode_one(const thr_tower *tower, const char *text, size_t length, float out[DIMS]) {
    expect_ok(thr_tower_encode(tower, THR_SIDE_ITEM, &text, &length, 1, out, &err));
}

TEST(only_words_count) {
    static const char *const same[][2] = {{"edit pdf", "  EDIT -- pdf!\n"},
                                          {"", "\xff\xff ;"},
                                          {"edit pdf", "edit\xffpdf"},
                                          {"\xc3\xbc"
                                           "ber",
                                           "\xc3\x9c"
                                           "BER"}};
    float a[DIMS], b[DIMS];
    tower_make(model, 3, 8);
    OWNED(thr_tower, tower) = tower_open(*state, model);
    for (size_t i = 0; i < COUNT_OF(same); i++) {
        encode_one(tower, same[i][0], strlen(same[i][0]), a);
        encode_one(tower, same[i][1], strlen(same[i][1]), b);
        assert_case(memcmp(a, b, sizeof a) == 0, "texts %zu differ", i);
    }
    encode_one(tower, "edit pdf", 4, a); /* the length counts, not a NUL */
    encode_one(tower, "edit\0pdf", 4, b);
    assert_memory_equal(a, b, sizeof a);
    encode_one(tower, "edit\0pdf", 8, a); /* NUL parts words */
    encode_one(tower, "edit pdf", 8, b);
    assert_memory_equal(a, b, sizeof a);
}

TEST(of_a_text_the_first_words_are_read) {
    thr_tower_train_options options;
    float a[DIMS], b[DIMS];
    char *text = test_new(LONG + 1, 1);
    tower_small(&options);
    options.config.max_words = 3;
    options.run.n_epochs = 1;
    tower_write_pairs(NAME("pairs.tsv"), 0, TOWER_PAIRS);
    (void)tower_train(*state, NAME("pairs.tsv"), model, &options);
    OWNED(thr_tower, tower) = tower_open(*state, model);
    (void)snprintf(text, 32, "edit pdf kalem ");
    for (size_t i = 15; i < LONG; i++)
        text[i] = "abc \xff"[i % 5];
    encode_one(tower, text, LONG, a);
    encode_one(tower, text, 14, b);
    assert_memory_equal(a, b, sizeof a);
    memset(text, 'x', LONG); /* and of a word the first letters */
    encode_one(tower, text, LONG, a);
    encode_one(tower, text, 64, b);
    assert_memory_equal(a, b, sizeof a);
}

/* So many words that few texts are encoded at once. */
TEST(long_texts_are_no_different_from_short_ones) {
    enum { N = 60, WORDS = 300, ROOM = WORDS * 8 };
    char *room = test_new(N, ROOM + 1);
    const char *at[N];
    float *all = test_new(N * DIMS, sizeof *all), one[DIMS];
    thr_tower_train_options options;
    tower_small(&options);
    options.config.max_words = 1000;
    options.run.n_epochs = 1;
    tower_write_pairs(NAME("pairs.tsv"), 0, TOWER_PAIRS);
    (void)tower_train(*state, NAME("pairs.tsv"), model, &options);
    for (size_t i = 0; i < N; i++) {
        at[i] = room + i * (ROOM + 1);
        for (size_t w = 0; w < (i % 5 == 0 ? 1 : WORDS); w++)
            (void)snprintf(room + i * (ROOM + 1) + w * 8, 9, "w%06zu ", i * WORDS + w);
    }
    OWNED(thr_tower, tower) = tower_open(*state, model);
    expect_ok(thr_tower_encode(tower, THR_SIDE_ITEM, at, NULL, N, all, &err));
    for (size_t i = 0; i < N; i++) {
        encode_one(tower, at[i], strlen(at[i]), one);
        assert_memory_equal(one, all + i * DIMS, sizeof one);
    }
}

TEST(planes_are_the_signs_that_add_up_to_the_embedding) {
    texts *t = test_new(1, sizeof *t);
    float *rows = test_new(N_TEXTS * DIMS, sizeof *rows);
    make_texts(t);
    for (uint32_t bits = 1; bits <= 8; bits++) {
        tower_make(model, bits, 9 - bits);
        OWNED(thr_tower, tower) = tower_open(*state, model);
        for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++) {
            const uint32_t b = side == THR_SIDE_QUERY ? bits : 9 - bits, size = thr_tower_packed_size(tower, side);
            assert_int_equal(size, b * 2);
            unsigned char *packed = test_new(N_TEXTS + 1, size);
            packed[N_TEXTS * size] = 0x5A;
            expect_ok(thr_tower_encode(tower, side, t->at, t->lengths, N_TEXTS, rows, &err));
            expect_ok(thr_tower_pack(tower, side, rows, N_TEXTS, packed, &err));
            for (size_t i = 0; i < N_TEXTS; i++)
                for (size_t d = 0; d < DIMS; d++) {
                    float sum = 0;
                    for (uint32_t p = 0; p < b; p++)
                        sum += ((packed[i * size + p * 2 + d / 8] >> d % 8 & 1) != 0 ? 1.0f : -1.0f) / (float)(1u << p);
                    assert_case(sum == rows[i * DIMS + d], "%u bits, text %zu, dimension %zu: %g, not %g", b, i, d,
                                (double)sum, (double)rows[i * DIMS + d]);
                }
            for (size_t i = 0; i < N_TEXTS * b; i++)
                assert_int_equal(packed[i * 2 + 1] & ~1, 0); /* after the last dimension */
            assert_int_equal(packed[N_TEXTS * size], 0x5A);
        }
    }
}

TEST(what_is_no_code_is_not_packed) {
    unsigned char packed[8 * 2];
    const float odd[DIMS] = {NAN, INFINITY, -INFINITY, 1e30f, -1e30f, 0, 9, -9, 0.3f};
    tower_make(model, THR_FLOAT_BITS, 3);
    OWNED(thr_tower, tower) = tower_open(*state, model);
    assert_int_equal(thr_tower_packed_size(tower, THR_SIDE_QUERY), 0);
    expect_error(thr_tower_pack(tower, THR_SIDE_QUERY, odd, 1, packed, &err), THR_EUNSUPPORTED, "query side");
    expect_ok(thr_tower_pack(tower, THR_SIDE_ITEM, odd, 1, packed, &err)); /* whatever it gives */
    expect_ok(thr_tower_pack(tower, THR_SIDE_ITEM, odd, 0, packed, &err));
    float out[DIMS];
    const char *text = "a";
    expect_error(thr_tower_encode(tower, (thr_side)2, &text, NULL, 1, out, &err), THR_EINVAL, "side 2");
    expect_ok(thr_tower_encode(tower, THR_SIDE_ITEM, &text, NULL, 0, out, &err));
}

TEST(lines_are_read_as_rows) {
    texts *t = test_new(1, sizeof *t);
    float *wanted = test_new(N_TEXTS * DIMS, sizeof *wanted);
    make_texts(t);
    tower_make(model, 3, 2);
    FILE *file = fopen(lines, "wb");
    assert_non_null(file);
    for (size_t i = 0; i < N_TEXTS; i++) {
        if (t->lengths[i] == 0) /* an empty line is one, too */
            t->at[i] = "";
        (void)fprintf(file, "%s\n", t->at[i]);
    }
    assert_int_equal(fclose(file), 0);
    OWNED(thr_tower, tower) = tower_open(*state, model);
    expect_ok(thr_tower_encode(tower, THR_SIDE_ITEM, t->at, NULL, N_TEXTS, wanted, &err));
    for (uint64_t piece = 1; piece < 500; piece += 83) {
        thr_reader *text = NULL, *reader = NULL;
        thr_matrix rows;
        uint64_t n = 0;
        expect_ok(thr_reader_open(*state, lines, &text, &err));
        expect_ok(thr_tower_reader(tower, THR_SIDE_ITEM, text, &reader, &err));
        assert_int_equal(thr_reader_get_shape(reader).n_dims, DIMS);
        do {
            expect_ok(thr_reader_next(reader, piece, &rows, &err));
            assert_true(rows.n_rows <= piece && n + rows.n_rows <= N_TEXTS);
            assert_memory_equal(rows.data, wanted + n * DIMS, rows.n_rows * DIMS * sizeof *wanted);
            n += rows.n_rows;
        } while (rows.n_rows != 0);
        assert_int_equal(n, N_TEXTS);
        thr_reader_free(reader);
        thr_reader_free(text);
    }
}

TEST(numbers_are_no_texts) {
    static const float row[DIMS];
    thr_reader *numbers = NULL, *reader = NULL;
    tower_make(model, 3, 2);
    OWNED(thr_tower, tower) = tower_open(*state, model);
    expect_ok(thr_reader_from_matrix(*state, ROWS(row, 1, DIMS), &numbers, &err));
    expect_error(thr_tower_reader(tower, THR_SIDE_ITEM, numbers, &reader, &err), THR_EINVAL, "holds numbers");
    assert_null(reader);
    thr_reader_free(numbers);
}

/* Reading beyond the end of its map would end the process. */
TEST(a_model_that_was_cut_encodes_nothing) {
    static const char *const text = "edit pdf";
    float out[DIMS];
    OWNED(thr_tower, tower) = tower_open(*state, model);
    expect_ok(thr_tower_encode(tower, THR_SIDE_ITEM, &text, NULL, 1, out, &err));
    assert_int_equal(truncate(model, 0), 0);
    expect_error(thr_tower_encode(tower, THR_SIDE_ITEM, &text, NULL, 1, out, &err), THR_ECHANGED, model);
}
