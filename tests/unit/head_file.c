/* SPDX-License-Identifier: Apache-2.0 */
/* head_file.c - an opened head equals the saved one, to the bit; a damaged file is refused. */

#include "damage.h"
#include "head_support.h"
#include "tensors/safetensors.h"
#include "seal.h"

static const char PATH[] = "unit-head-file.head";
static const head_case SMALL = {70, 9, THR_DTYPE_F32, true, true, 4, 2, 4, 2};
static const head_case BARE = {40, 5, THR_DTYPE_F16, false, false, 0, 0, 0, 0};
static const head_case UPPER = {50, 7, THR_DTYPE_BF16, true, false, 3, 1, 3, 1};
static const head_case BYTES = {30, 6, THR_DTYPE_I8, false, false, 2, 1, 3, 1};

static void save(thr_context *context, const head_case *shape, uint64_t seed) {
    uint64_t rng = seed;
    head_drawn h = head_draw(shape, &rng, true);
    OWNED(thr_head, head) = head_make(context, &h);
    expect_ok(thr_head_save(head, PATH, true, &err));
}

static thr_status open_and_verify(thr_context *context, bool *opened, thr_error *error) {
    thr_head *head = NULL;
    thr_status status = thr_head_open(context, PATH, &head, error);
    *opened = status == THR_OK;
    if (*opened)
        status = thr_head_verify(head, error);
    thr_head_free(head);
    return status;
}

/* Whatever an opened file holds, nothing outside of it is read (ASan sees it), and an answer is one or an error. */
static void use(thr_context *context) {
    OWNED(thr_head, head) = NULL;
    uint32_t words[10];
    float logits[10], log_probs[10], states[64];
    if (thr_head_open(context, PATH, &head, &err) != THR_OK)
        return;
    const thr_head_info info = thr_head_get_info(head);
    uint64_t rng = 4;
    test_gaussian(&rng, states, 64);
    for (int screen = 0; screen < 4; screen++) {
        thr_head_query_options o = DEFAULTS(thr_head_query_options);
        o.screen = (thr_head_screen)screen;
        o.n_frequent = 5;
        o.normaliser = THR_HEAD_NORMALISER_EXACT;
        const thr_status status = thr_head_query(head, ROWS(states, 2, info.n_dims), 5, &o,
                                                 &(thr_head_answers){words, logits, log_probs}, &err);
        if (status != THR_OK && status != THR_EUNSUPPORTED)
            expect_error(status, THR_ERANGE, "verify the head's file");
        for (int i = 0; i < 10 && status == THR_OK; i++)
            assert_true(words[i] < info.n_words);
    }
}

/* The opened head has what the saved one has, and a file. */
static void check_info(thr_head_info saved, thr_head_info opened, const head_case *shape) {
    const thr_head_info a = saved, b = opened;
    assert_true(a.n_words == b.n_words && a.n_dims == b.n_dims && a.dtype == b.dtype && a.has_bias == b.has_bias);
    assert_true(a.has_order == b.has_order && a.n_bands == b.n_bands && a.n_hashes == b.n_hashes);
    assert_true(a.n_places == b.n_places && a.n_codes == b.n_codes && a.hash_bytes == b.hash_bytes);
    assert_true(a.n_planes == b.n_planes && a.plane_bytes == b.plane_bytes);
    assert_true(a.file_bytes == 0 && b.file_bytes > b.weight_bytes + b.hash_bytes + b.plane_bytes);
    const uint64_t row_bytes = shape == &BYTES ? a.n_dims + 4 : a.n_dims * (shape == &SMALL ? 4 : 2); /* with scale */
    assert_int_equal(a.weight_bytes, a.n_words * row_bytes);
}

RANDOM_TEST(an_opened_head_answers_as_the_one_that_was_saved) {
    static const head_case *const SHAPES[] = {&SMALL, &BARE, &UPPER, &BYTES};
    for (size_t s = 0; s < 4; s++) {
        rng = test_seed() + s;
        OWNED(thr_head, opened) = NULL;
        float states[30];
        head_drawn h = head_draw(SHAPES[s], &rng, false);
        OWNED(thr_head, head) = head_make(*state, &h);
        expect_ok(thr_head_save(head, PATH, true, &err));
        expect_ok(thr_head_open(*state, PATH, &opened, &err));
        check_info(thr_head_get_info(head), thr_head_get_info(opened), SHAPES[s]);
        test_gaussian(&rng, states, 30);
        const thr_matrix rows = thr_matrix_f32(states, 3, h.shape.n_dims);
        for (int screen = 0; screen < (SHAPES[s]->n_bands > 0 ? 4 : 2); screen++) {
            uint32_t x[12], y[12];
            float p[12], q[12];
            thr_head_query_options o = DEFAULTS(thr_head_query_options);
            o.screen = (thr_head_screen)screen;
            o.n_frequent = 7;
            o.n_shortlist = 6;
            o.threshold = 1;
            expect_ok(thr_head_query(head, &rows, 4, &o, &(thr_head_answers){x, NULL, p}, &err));
            expect_ok(thr_head_query(opened, &rows, 4, &o, &(thr_head_answers){y, NULL, q}, &err));
            assert_memory_equal(x, y, sizeof x);
            assert_memory_equal(p, q, sizeof p);
        }
        expect_ok(thr_head_verify(head, &err));
        expect_ok(thr_head_verify(opened, &err));
    }
}

static test_damage damage_of(thr_context *context) {
    return (test_damage){.path = PATH, .context = context, .open_and_verify = open_and_verify, .use = use};
}

TEST(every_changed_byte_is_found) {
    const test_damage damage = damage_of(*state);
    static const head_case *const SHAPES[] = {&SMALL, &BARE, &UPPER, &BYTES};
    for (size_t s = 0; s < 4; s++) {
        save(*state, SHAPES[s], 9);
        test_every_changed_byte_is_found(&damage);
    }
}

TEST(a_cut_file_is_not_opened) {
    const test_damage damage = damage_of(*state);
    save(*state, &SMALL, 9);
    test_a_cut_file_is_not_opened(&damage);
    thr_head *head = NULL;
    expect_error(thr_head_open(*state, PATH, &head, &err), THR_ENOTFOUND, PATH);
    assert_null(head);
}

static uint8_t *section_of(uint8_t *bytes, uint32_t kind) {
    thr_head_header header;
    thr_section section = {0};
    memcpy(&header, bytes, sizeof header);
    for (uint32_t i = 0; i < header.n_sections && section.kind != kind; i++)
        memcpy(&section, bytes + header.table_offset + i * sizeof section, sizeof section);
    assert_int_equal(section.kind, kind);
    return bytes + section.offset;
}

static void write_sealed(uint8_t *bytes, size_t size) {
    FILE *file = fopen(PATH, "wb");
    assert_true(file != NULL && test_seal(bytes, size));
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    (void)fclose(file);
}

/* With right checksums: weights of a word whose hashes are others', lists without a word, numbers of codes. */
TEST(hashes_that_are_not_the_weights_are_found) {
    static const char *const wanted_text[] = {
        "word 3 is missing from the hash lists of its weights", "the lists do not have every word once in each band",
        "the number of codes is wrong", "words of a code do not ascend", "word 5 is missing"};
    for (int wrong = 0; wrong < 5; wrong++) {
        size_t size;
        bool opened;
        save(*state, &SMALL, 4);
        uint8_t *bytes = test_bytes_of(PATH, &size);
        uint32_t *slots = (void *)section_of(bytes, THR_HEAD_SLOTS); /* band, code, first, n each */
        uint32_t *lists = (void *)section_of(bytes, THR_HEAD_LISTS);
        while (slots[3] < 2)
            slots += 4;
        float *weights = (void *)section_of(bytes, THR_HEAD_WEIGHTS);
        for (int d = 0; d < 9 && wrong == 0; d++)
            weights[3 * 9 + d] *= -1;
        slots[3] -= wrong == 1;
        if (wrong == 2)
            section_of(bytes, THR_HEAD_HASHES)[40]++; /* the number of codes */
        if (wrong == 3)
            lists[slots[2]] = lists[slots[2] + 1];
        for (uint32_t i = 0, *word = lists; wrong == 4 && i < 70; i++, word++) /* the first band's */
            *word = *word == 5 ? 69 : *word == 69 ? 5 : *word;
        write_sealed(bytes, size);
        const thr_status status = open_and_verify(*state, &opened, &err);
        assert_true(opened && status == THR_ECORRUPT);
        if (strstr(err.text, wanted_text[wrong]) == NULL && (wrong != 4 || strstr(err.text, wanted_text[3]) == NULL))
            fail_msg("%d: %s", wrong, err.text);
        use(*state);
    }
}

/* Otherwise a search would fail, with a message about the query. */
TEST(numbers_that_are_too_large_are_refused) {
    const float huge = 0x1p100F;
    save(*state, &SMALL, 9);
    for (int section = 0; section < 2; section++) {
        size_t size;
        bool opened;
        uint8_t *bytes = test_bytes_of(PATH, &size);
        uint8_t *at = section_of(bytes, section == 0 ? THR_HEAD_FACTORS : THR_HEAD_WEIGHTS);
        float was;
        memcpy(&was, at, sizeof was);
        memcpy(at, &huge, sizeof huge);
        write_sealed(bytes, size);
        expect_error(open_and_verify(*state, &opened, &err), THR_ECORRUPT,
                     section == 0 ? "section factors: one is" : "section weights: row 0 holds");
        memcpy(at, &was, sizeof was);
        write_sealed(bytes, size);
    }
}

/* No writer sets them, and the checksum is right. */
TEST(bits_that_are_unknown_are_damage) {
    static const size_t places[] = {offsetof(thr_head_header, has), offsetof(thr_head_header, zero),
                                    offsetof(thr_head_header, zero_too)};
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        bool opened;
        size_t size;
        save(*state, &SMALL, 4);
        uint8_t *bytes = test_bytes_of(PATH, &size);
        bytes[places[i]] |= 64;
        write_sealed(bytes, size);
        expect_error(open_and_verify(*state, &opened, &err), THR_ECORRUPT, "the header holds invalid numbers");
    }
}

TEST(a_changed_file_is_not_searched) {
    static const float states[9] = {1};
    const thr_matrix rows = thr_matrix_f32(states, 1, 9);
    OWNED(thr_head, head) = NULL;
    uint32_t word;
    save(*state, &SMALL, 9);
    expect_ok(thr_head_open(*state, PATH, &head, &err));
    expect_ok(thr_head_query(head, &rows, 1, NULL, &(thr_head_answers){&word, NULL, NULL}, &err));
    assert_int_equal(truncate(PATH, 1024), 0);
    expect_error(thr_head_query(head, &rows, 1, NULL, &(thr_head_answers){&word, NULL, NULL}, &err), THR_ECHANGED,
                 PATH);
    expect_error(thr_head_verify(head, &err), THR_ECHANGED, PATH);
    assert_int_equal(truncate(PATH, 0), 0);
    expect_error(thr_head_save(head, "unit-head-copy.head", true, &err), THR_ECHANGED, PATH);
}

RANDOM_TEST(what_is_there_is_not_written_over) {
    rng = 3;
    bool opened;
    head_drawn h = head_draw(&BARE, &rng, false);
    OWNED(thr_head, head) = head_make(*state, &h);
    save(*state, &SMALL, 9);
    expect_error(thr_head_save(head, PATH, false, &err), THR_EEXIST, "exists already");
    expect_error(thr_head_save(head, "no-such-directory/x.head", false, &err), THR_ENOTFOUND, "x.head");
    expect_ok(thr_head_save(head, PATH, true, &err));
    expect_ok(open_and_verify(*state, &opened, &err));
}

TEST(a_file_does_not_depend_on_threads) {
    size_t size, again_size;
    save(*state, &SMALL, 9);
    uint8_t *bytes = test_bytes_of(PATH, &size);
    OWNED(thr_context, one) = test_context(1, THR_ISA_SCALAR, NULL);
    save(one, &SMALL, 9);
    uint8_t *again = test_bytes_of(PATH, &again_size);
    assert_int_equal(size, again_size);
    assert_memory_equal(bytes, again, size);
}

/* ------------------------------------------------------------------------------------------------ sources */

static void write_tensors(thr_context *context, const char *path, const thr_tensor *tensors, size_t n) {
    const thr_tensors_image image = {.tensors = tensors, .n_tensors = n};
    expect_ok(thr_tensors_write(context, path, &image, &err));
}

static const char TENSORS[] = "unit-head-file.safetensors";
static const float tensor_weights[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, tensor_bias[4] = {1, 2, 3, 4};
static const float zeros[8];

/* The matrices and vectors of several heads, all in TENSORS; or only the first that is no head's. */
static void write_named_tensors(thr_context *context, bool only_numbers) {
    const size_t tied = 8 * sizeof(float), weights = sizeof tensor_weights, bias = sizeof tensor_bias;
    const thr_tensor all[] = {
        {.name = "numbers.weight", THR_DTYPE_I32, 2, {2, 2}, zeros, 4 * sizeof(int32_t)},
        {.name = "model.embed_tokens.weight", THR_DTYPE_F32, 2, {4, 2}, zeros, tied},
        {.name = "lm_head.weight", THR_DTYPE_F32, 2, {4, 3}, tensor_weights, weights},
        {.name = "lm_head.bias", THR_DTYPE_F32, 1, {4}, tensor_bias, bias},
        {.name = "odd.weight", THR_DTYPE_F32, 2, {4, 2}, zeros, tied},
        {.name = "odd.bias", THR_DTYPE_F32, 2, {2, 2}, tensor_bias, bias},
        {.name = "long.weight", THR_DTYPE_F32, 2, {4, 2}, zeros, tied},
        {.name = "long.bias", THR_DTYPE_F32, 1, {8}, zeros, tied},
    };
    write_tensors(context, TENSORS, all, only_numbers ? 1 : COUNT_OF(all));
}

static thr_head_build_options without_bands(void) {
    thr_head_build_options build = DEFAULTS(thr_head_build_options);
    build.n_bands = 0;
    return build;
}

TEST(tensors_are_found_by_name) {
    const thr_head_build_options build = without_bands();
    thr_head *head = NULL;
    write_named_tensors(*state, false);
    expect_ok(thr_head_create_file(*state, TENSORS, NULL, &build, &head, &err));
    assert_int_equal(thr_head_get_info(head).n_dims, 3);
    assert_memory_equal(thr_head_of(head)->weights, tensor_weights, sizeof tensor_weights);
    assert_memory_equal(thr_head_of(head)->bias, tensor_bias, sizeof tensor_bias);
    thr_head_free(head);
    expect_ok(thr_head_create_file(*state, TENSORS, "model.embed_tokens.weight", &build, &head, &err));
    assert_true(thr_head_get_info(head).n_dims == 2 && !thr_head_get_info(head).has_bias);
    thr_head_free(head);
}

TEST(tensors_that_are_no_head_are_refused_by_name) {
    static const struct {
        const char *name;
        thr_status status;
        const char *part;
    } cases[] = {
        {"other", THR_ENOTFOUND, "has no tensor other: of 8 it has, the first matrices are numbers.weight [2, 2], "},
        {"numbers.weight", THR_EFORMAT, "the tensor numbers.weight is not a matrix of F32, F16 or BF16"},
        {"lm_head.bias", THR_EFORMAT, "the tensor lm_head.bias is not a matrix"},
        {"odd.weight", THR_EFORMAT, "the tensor odd.bias is not a vector"},
        {"long.weight", THR_EDIM, "8 biases for 4 words"},
    };
    const thr_head_build_options build = without_bands();
    thr_head *head = NULL;
    write_named_tensors(*state, false);
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        expect_error(thr_head_create_file(*state, TENSORS, cases[i].name, &build, &head, &err), cases[i].status,
                     cases[i].part);
    write_named_tensors(*state, true);
    expect_error(thr_head_create_file(*state, TENSORS, NULL, &build, &head, &err), THR_ENOTFOUND,
                 "has no tensor with the usual name of an output layer: of 1 it has, the first matrices are "
                 "numbers.weight [2, 2]");
    assert_null(head);
}

/* As they are, to the bit; and made of floats, each the nearest. */
TEST(bfloat16_is_kept) {
    static const uint16_t weights[] = {0x3f80, 0xc000, 0x0001, 0x8000, 0x4049, 0x3eab}, bias[] = {0x4000, 0x3f00, 0};
    static const float floats[] = {1.00390625F, -1.01171875F, 0x1.fp59F, 1e-30F, -3.14159F, 0};
    const thr_tensor all[] = {{.name = "proj.weight", THR_DTYPE_BF16, 2, {3, 2}, weights, sizeof weights},
                              {.name = "proj.bias", THR_DTYPE_BF16, 1, {3}, bias, sizeof bias}};
    thr_head *head = NULL;
    thr_head_build_options build = DEFAULTS(thr_head_build_options);
    build.n_bands = 0;
    write_tensors(*state, TENSORS, all, 2);
    expect_ok(thr_head_create_file(*state, TENSORS, NULL, &build, &head, &err));
    assert_int_equal(thr_head_get_info(head).dtype, THR_DTYPE_BF16);
    assert_memory_equal(thr_head_of(head)->weights, weights, sizeof weights);
    assert_true(thr_head_of(head)->bias[0] == 2 && thr_head_of(head)->bias[1] == 0.5F);
    thr_head_free(head);
    build.dtype = THR_DTYPE_BF16;
    expect_ok(thr_head_create(*state, ROWS(floats, 3, 2), &build, &head, &err));
    static const uint16_t nearest[] = {0x3f80, 0xbf82, 0x5d78, 0x0da2, 0xc049, 0}; /* of ties the even one */
    assert_memory_equal(thr_head_of(head)->weights, nearest, sizeof nearest);
    thr_head_free(head);
}

/* The largest magnitude of a row is 127, ties go to the even integer, and zeros stay zeros. */
TEST(bytes_have_a_scale_a_word) {
    static const float floats[] = {127, -0.5F, 1.5F, -254, 3, 5, 0, 0, 0, 0x1p-40F, 0x1p-48F, -0x1p-41F};
    static const int8_t wanted[] = {127, 0, 2, -127, 2, 2, 0, 0, 0, 127, 0, -64};
    OWNED(thr_head, head) = NULL;
    thr_head_build_options build = DEFAULTS(thr_head_build_options);
    uint32_t words[4];
    float logits[4], row[3];
    const float asked[3] = {1, 1, 1};
    const thr_matrix states = thr_matrix_f32(asked, 1, 3);
    build.n_places = 2;
    build.dtype = THR_DTYPE_I8;
    expect_ok(thr_head_create(*state, ROWS(floats, 4, 3), &build, &head, &err));
    const thr_head_contents *c = thr_head_of(head);
    assert_memory_equal(c->weights, wanted, sizeof wanted);
    assert_true(c->scales[0] == 1 && c->scales[1] == 2 && c->scales[2] == 0 && c->scales[3] == 0x1p-40F / 127);
    thr_head_row(c, head->context->kernels, 1, row);
    assert_true(row[0] == -254 && row[1] == 4 && row[2] == 4);
    expect_ok(thr_head_query(head, &states, 4, NULL, &(thr_head_answers){words, logits, NULL}, &err));
    assert_true(words[0] == 0 && logits[0] == 129 && words[1] == 3 && words[2] == 2 && logits[2] == 0);
    assert_true(words[3] == 1 && logits[3] == -246);
}

TEST(rows_are_read_from_other_files) {
    static const char ROWS[] = "unit-head-file.fbin";
    static const struct {
        uint32_t n, d;
        float rows[6];
    } file = {3, 2, {1, 2, 3, 4, 5, 6}};
    thr_head *head = NULL;
    thr_head_build_options build = DEFAULTS(thr_head_build_options);
    FILE *out = fopen(ROWS, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(&file, sizeof file, 1, out), 1);
    (void)fclose(out);
    build.n_bands = 0;
    expect_ok(thr_head_create_file(*state, ROWS, NULL, &build, &head, &err));
    assert_true(thr_head_get_info(head).n_words == 3 && thr_head_get_info(head).n_dims == 2);
    assert_memory_equal(thr_head_of(head)->weights, file.rows, sizeof file.rows);
    thr_head_free(head);
    expect_error(thr_head_create_file(*state, ROWS, "x", &build, &head, &err), THR_EINVAL, "cannot find tensor x");
    expect_error(thr_head_create_file(*state, "none.npy", NULL, &build, &head, &err), THR_ENOTFOUND, "none.npy");
    out = fopen("unit-head-file.txt", "w");
    (void)fputs("word\n", out);
    (void)fclose(out);
    expect_error(thr_head_create_file(*state, "unit-head-file.txt", NULL, &build, &head, &err), THR_EFORMAT,
                 "is a text");
}

TEST_IN_CONTEXT(2, NULL)
