/* SPDX-License-Identifier: Apache-2.0 */
/* io_gguf.c - metadata is skipped, tensors are found, and impossible values are refused. */
#include <fcntl.h>

#include "gguf_support.h"
#include "tensors/gguf.h"

static void test_free_thr_gguf(thr_gguf **handle) {
    thr_tensors_gguf_free(*handle);
}

enum { STRING = 8, ARRAY = 9, U16 = 2, U32 = 4, U64 = 10 };

static thr_gguf *open_bytes(thr_context *context, const gguf_bytes *b) {
    thr_gguf *file = NULL;
    expect_ok(thr_tensors_gguf_open_memory(context, "a.gguf", b->at, b->n, &file, &err));
    return file;
}

static void refused(thr_context *context, const gguf_bytes *b, thr_status status, const char *text) {
    thr_gguf *file = NULL;
    void *exact = test_new(b->n, 1); /* ASan sees the end */
    memcpy(exact, b->at, b->n);
    expect_error(thr_tensors_gguf_open_memory(context, "a.gguf", exact, b->n, &file, &err), status, text);
    assert_null(file);
}

/* A string, numbers of every size, arrays of numbers, of strings and of arrays; an alignment that is not the usual. */
static void put_metadata(gguf_bytes *b) {
    static const uint8_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    for (uint32_t type = 0; type < 13; type++)
        if (sizes[type] > 0)
            gguf_put_pair(b, "a.number", type, 1, sizes[type]);
    gguf_put_string(b, "general.name");
    gguf_put(b, STRING, 4);
    gguf_put_string(b, "");
    gguf_put_string(b, "some.numbers");
    gguf_put(b, ARRAY, 4);
    gguf_put(b, U64, 4);
    gguf_put(b, 2, 8);
    gguf_put(b, 77, 8);
    gguf_put(b, 78, 8);
    gguf_put_string(b, "some.arrays");
    gguf_put(b, ARRAY, 4);
    gguf_put(b, ARRAY, 4);
    gguf_put(b, 1, 8);
    gguf_put(b, STRING, 4);
    gguf_put(b, 2, 8);
    gguf_put_string(b, "one");
    gguf_put_string(b, "two");
    gguf_put_pair(b, "general.alignment", U32, 64, 4);
    gguf_put_pair(b, "split.count", U16, 3, 2);
}
enum { N_PAIRS = 11 + 5 };

/* Four rows of 32 of every type that is read, and one of a type that is not. */
static size_t write_kinds(gguf_bytes *b, uint32_t version) {
    gguf_begin(b, version, 5, N_PAIRS);
    put_metadata(b);
    gguf_put_tensor(b, "floats", THR_GGUF_F32, 2, 32, 4, 0);
    gguf_put_tensor(b, "halves", THR_GGUF_F16, 2, 32, 4, 512);
    gguf_put_tensor(b, "upper", THR_GGUF_BF16, 2, 32, 4, 768);
    gguf_put_tensor(b, "blocks", THR_GGUF_Q8_0, 2, 32, 4, 1024);
    gguf_put_tensor(b, "others", 12, 2, 256, 4, 1);
    gguf_align(b, 64);
    const size_t start = b->n;
    for (uint32_t i = 0; i < 128; i++) {
        const float x = (float)i - 64;
        gguf_put_bytes(b, &x, sizeof x);
    }
    for (uint32_t i = 0; i < 128; i++)
        gguf_put(b, 0x3c00 + i, 2); /* 1 + i / 1024 */
    for (uint32_t i = 0; i < 128; i++)
        gguf_put(b, 0x3f80 + i, 2); /* 1 + i / 128 */
    for (uint32_t i = 0; i < 4; i++) {
        gguf_put(b, 0x3800 + 0x400 * i, 2); /* 2^(i - 1) */
        for (uint32_t j = 0; j < 32; j++)
            gguf_put(b, (uint8_t)(int8_t)((int)j - 16), 1);
    }
    return start;
}

TEST(tensors_are_found_where_they_lie) {
    gguf_bytes *b = test_new(1, sizeof *b);
    for (uint32_t version = 2; version <= 3; version++) {
        const size_t start = write_kinds(b, version);
        OWNED(thr_gguf, file) = open_bytes(*state, b);
        float row[32];
        assert_true(thr_tensors_gguf_count(file) == 5 && thr_tensors_gguf_parts(file) == 3);
        const thr_gguf_tensor *floats = thr_tensors_gguf_find(file, "floats"),
                              *blocks = thr_tensors_gguf_find(file, "blocks");
        const thr_gguf_tensor *others = thr_tensors_gguf_find(file, "others");
        assert_ptr_equal(floats, thr_tensors_gguf_at(file, 0));
        assert_ptr_equal(floats->data, b->at + start);
        assert_ptr_equal(blocks->data, b->at + start + 1024);
        assert_true(blocks->n_rows == 4 && blocks->n_dims == 32 && blocks->n_axes == 2 && others->data == NULL);
        assert_null(thr_tensors_gguf_find(file, "float"));
        assert_null(thr_tensors_gguf_find(file, ""));
        assert_int_equal(thr_tensors_gguf_dtype(floats->type), THR_DTYPE_F32);
        assert_int_equal(thr_tensors_gguf_dtype(thr_tensors_gguf_find(file, "halves")->type), THR_DTYPE_F16);
        assert_int_equal(thr_tensors_gguf_dtype(thr_tensors_gguf_find(file, "upper")->type), THR_DTYPE_BF16);
        assert_int_equal(thr_tensors_gguf_dtype(blocks->type), THR_DTYPE_F32);
        assert_int_equal(thr_tensors_gguf_dtype(others->type), THR_DTYPE_NONE);
        assert_string_equal(thr_tensors_gguf_type_name(others->type), "Q4_K");
        for (uint32_t r = 0; r < 4; r++) {
            thr_tensors_gguf_row(floats, r, row);
            assert_true(row[5] == (float)(r * 32 + 5) - 64);
            thr_tensors_gguf_row(thr_tensors_gguf_find(file, "halves"), r, row);
            assert_true(row[7] == 1 + (float)(r * 32 + 7) / 1024);
            thr_tensors_gguf_row(thr_tensors_gguf_find(file, "upper"), r, row);
            assert_true(row[31] == 1 + (float)(r * 32 + 31) / 128);
            thr_tensors_gguf_row(blocks, r, row);
            for (int j = 0; j < 32; j++)
                assert_true(row[j] == (float)(j - 16) * (r == 0 ? 0.5F : (float)(1 << (r - 1))));
        }
    }
    thr_tensors_gguf_free(NULL);
}

/* The naive model: the place of each bit of a value of Q6_K, and the scales of sixteen. */
RANDOM_TEST(six_bits_are_put_together) {
    gguf_bytes *b = test_new(1, sizeof *b);
    uint8_t block[210] = {0};
    float row[512], wanted[512];
    gguf_begin(b, 3, 1, 0);
    gguf_put_tensor(b, "six", THR_GGUF_Q6_K, 1, 512, 0, 0);
    gguf_align(b, 32);
    for (int k = 0; k < 2; k++) {
        memset(block, 0, sizeof block);
        for (int i = 0; i < 256; i++) {
            const int value = (int)thr_rng_below(&rng, 64), quarter = i % 128 / 32;
            const int scale = i / 16 % 2 == 0 ? i / 16 - 4 : -100; /* of sixteen */
            block[64 * (i / 128) + 32 * (quarter & 1) + i % 32] |= (uint8_t)((value & 15) << (quarter > 1 ? 4 : 0));
            block[128 + 32 * (i / 128) + i % 32] |= (uint8_t)(value >> 4 << 2 * quarter);
            block[192 + i / 16] = (uint8_t)(int8_t)scale;
            wanted[k * 256 + i] = (k == 0 ? 0.25F : -2.0F) * (float)(scale * (value - 32));
        }
        block[209] = k == 0 ? 0x34 : 0xc0;
        gguf_put_bytes(b, block, sizeof block);
    }
    OWNED(thr_gguf, file) = open_bytes(*state, b);
    thr_tensors_gguf_row(thr_tensors_gguf_find(file, "six"), 0, row);
    for (int i = 0; i < 512; i++)
        assert_true(row[i] == wanted[i]);
}

TEST(types_have_names) {
    static const struct {
        uint32_t type;
        const char *name;
    } SOME[] = {{0, "F32"},     {2, "Q4_0"},    {4, "?"},      {7, "Q5_1"},  {14, "Q6_K"},
                {20, "IQ4_NL"}, {23, "IQ4_XS"}, {28, "F64"},   {30, "BF16"}, {31, "?"},
                {35, "TQ2_0"},  {38, "?"},      {39, "MXFP4"}, {40, "?"},    {UINT32_MAX, "?"}};
    for (size_t i = 0; i < COUNT_OF(SOME); i++)
        assert_string_equal(thr_tensors_gguf_type_name(SOME[i].type), SOME[i].name);
}

/* Cut anywhere it is refused, and no byte past the end is read. */
TEST(a_cut_file_is_refused) {
    gguf_bytes *b = test_new(1, sizeof *b);
    (void)write_kinds(b, 3);
    for (b->n--; b->n > 0; b->n--)
        refused(*state, b, b->n < 4 ? THR_EFORMAT : THR_ECORRUPT, b->n < 4 ? "is it really one?" : "it is cut short");
}

TEST(wrong_inputs_are_refused) {
    gguf_bytes *b = test_new(1, sizeof *b);
    gguf_begin(b, 1, 0, 0);
    refused(*state, b, THR_EVERSION, "a.gguf: is GGUF of version 1; 2 and 3 are read: convert the model again");
    gguf_begin(b, 4, 0, 0);
    refused(*state, b, THR_EVERSION, "is GGUF of version 4");
    gguf_begin(b, 3u << 24, 0, 0);
    refused(*state, b, THR_EVERSION, "is big-endian; little-endian GGUF is read");
    b->at[0] = 'g';
    refused(*state, b, THR_EFORMAT, "a.gguf: does not start as a GGUF file does: is it really one?");

    gguf_begin(b, 3, 0, 1);
    gguf_put_pair(b, "a", 13, 0, 8);
    refused(*state, b, THR_EFORMAT, "offset 37: a value in the metadata has an unknown type");
    gguf_begin(b, 3, 0, 1);
    gguf_put_pair(b, "general.alignment", U32, 12, 4);
    refused(*state, b, THR_EFORMAT, "the alignment of tensors is not a multiple of 8");
    gguf_begin(b, 3, 0, 1);
    gguf_put_pair(b, "general.alignment", U32, 0, 4);
    refused(*state, b, THR_EFORMAT, "the alignment of tensors is not a multiple of 8");
    gguf_begin(b, 3, 0, 1);
    gguf_put_string(b, "deep");
    for (int i = 0; i < 20; i++) {
        gguf_put(b, ARRAY, 4);
        gguf_put(b, i == 0 ? 0 : 1, i == 0 ? 0 : 8);
    }
    refused(*state, b, THR_EFORMAT, "arrays in the metadata are nested too deeply");
}

TEST(counts_that_no_file_can_have_are_refused) {
    gguf_bytes *b = test_new(1, sizeof *b);
    gguf_begin(b, 3, UINT64_MAX, 0);
    refused(*state, b, THR_ECORRUPT, "the file ends within the descriptions of tensors");
    gguf_begin(b, 3, 0, UINT64_MAX);
    refused(*state, b, THR_ECORRUPT, "the file ends within metadata");
    gguf_begin(b, 3, 0, 1);
    gguf_put(b, UINT64_MAX, 8);
    refused(*state, b, THR_ECORRUPT, "the file ends within metadata");
    gguf_begin(b, 3, 0, 1);
    gguf_put_string(b, "a");
    gguf_put(b, ARRAY, 4);
    gguf_put(b, U64, 4);
    gguf_put(b, UINT64_MAX / 8 + 2, 8); /* of 8 bytes each: 8 bytes, if nobody looks */
    gguf_put(b, 0, 8);
    refused(*state, b, THR_ECORRUPT, "the file ends within metadata");
}

TEST(tensors_that_cannot_be_are_refused) {
    static const struct {
        uint32_t type, n_axes;
        uint64_t n_dims, n_rows, offset;
        thr_status status;
        const char *text;
    } CASES[] = {
        {THR_GGUF_F32, 2, 8, 8, 0, THR_OK, NULL},
        {THR_GGUF_F32, 2, 8, 9, 0, THR_ECORRUPT, "tensor 't' ends after the file's "},
        {THR_GGUF_F32, 2, 8, 7, 64, THR_ECORRUPT, "it is cut short, fetch it again"},
        {THR_GGUF_F32, 2, 8, 0, UINT64_MAX - 31, THR_ECORRUPT, "ends after the file's"},
        {THR_GGUF_F32, 2, 8, 7, 16, THR_EFORMAT, "does not begin at a multiple of the alignment"},
        {THR_GGUF_Q8_0, 2, 8, 1, 0, THR_EFORMAT, "rows are not whole blocks, or too long"},
        {THR_GGUF_F32, 2, UINT64_MAX / 2, 1, 0, THR_EFORMAT, "rows are not whole blocks, or too long"},
        {THR_GGUF_F16, 2, UINT64_MAX / 4, 9, 0, THR_EFORMAT, "rows are not whole blocks, or too long"},
        {THR_GGUF_F32, 5, 1, 1, 0, THR_EFORMAT, "a tensor has more than 4 axes"},
        {12, 2, UINT64_MAX, UINT64_MAX, 7, THR_OK, NULL}, /* of a type that is not read */
    };
    gguf_bytes *b = test_new(1, sizeof *b);
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        gguf_begin(b, 3, 1, 0);
        gguf_put_tensor(b, "t", CASES[i].type, CASES[i].n_axes, CASES[i].n_dims, CASES[i].n_rows, CASES[i].offset);
        if (CASES[i].n_axes > 2)
            gguf_put(b, 1, 8);
        gguf_align(b, 32);
        for (int j = 0; j < 256; j++)
            gguf_put(b, 0, 1);
        if (CASES[i].status == THR_OK)
            thr_tensors_gguf_free(open_bytes(*state, b));
        else
            refused(*state, b, CASES[i].status, CASES[i].text);
    }
    gguf_begin(b, 3, 1, 0); /* a product that is 4 where it overflows */
    gguf_put_string(b, "t");
    gguf_put(b, 3, 4);
    gguf_put(b, 1, 8);
    gguf_put(b, (UINT64_C(1) << 63) + 2, 8);
    gguf_put(b, 2, 8);
    gguf_put(b, THR_GGUF_F32, 4);
    gguf_put(b, 0, 8);
    gguf_align(b, 32);
    refused(*state, b, THR_EFORMAT, "a tensor has too many values");
}

TEST(memory_may_end_anywhere) {
    gguf_bytes *b = test_new(1, sizeof *b);
    (void)write_kinds(b, 3);
    test_memory memory = {0};
    test_oom oom = test_oom_start(&memory);
    while (test_oom_next(&oom)) {
        thr_context *context = test_context(1, THR_ISA_BEST, &memory);
        thr_gguf *file = NULL;
        test_oom_arm(&oom);
        const thr_status status = thr_tensors_gguf_open_memory(context, "a.gguf", b->at, b->n, &file, &err);
        (void)test_oom_check(&oom, status, &err, NULL);
        thr_tensors_gguf_free(file);
        thr_context_free(context);
    }
    assert_true(oom.n_failed > 2);
}

/* A file of 8 GiB, of which only these bytes are on the disk. */
static thr_status open_sparse(thr_context *context, const gguf_bytes *b, thr_error *error) {
    static const char path[] = "unit-io-gguf-sparse.gguf";
    thr_gguf *file = NULL;
    const int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    assert_true(fd >= 0 && write(fd, b->at, b->n) == (ssize_t)b->n && ftruncate(fd, (off_t)1 << 33) == 0);
    assert_int_equal(close(fd), 0);
    const thr_status status = thr_tensors_gguf_open(context, path, &file, error);
    (void)unlink(path);
    thr_tensors_gguf_free(file);
    return status;
}

TEST(a_sparse_file_is_not_read_to_its_end) {
    gguf_bytes *b = test_new(1, sizeof *b);
    gguf_begin(b, 3, 0, UINT64_MAX);
    expect_error(open_sparse(*state, b, &err), THR_EFORMAT, "a key of metadata is empty");
    gguf_begin(b, 3, 0, 1);
    gguf_put_pair(b, "a", 9, 8, 4); /* an array of strings */
    gguf_put(b, UINT64_MAX, 8);
    expect_error(open_sparse(*state, b, &err), THR_EFORMAT, "have more than 256 MiB");
    gguf_begin(b, 3, 1 << 27, 0);
    expect_error(open_sparse(*state, b, &err), THR_EFORMAT, "have more than 256 MiB");
}

TEST_IN_CONTEXT(1, NULL)
