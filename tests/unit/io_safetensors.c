/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io_safetensors.c - tensors written and read back, headers that must be refused, small files with every byte changed
 * or cut off, and every allocation failing in turn.
 */
#include "unit/io_files.h"

#include "tensors/safetensors.h"

TEST_OWNABLE(thr_tensors)

/* ------------------------------------------------------------------------------------------------ files by hand */

/* A file of this header, padded by hand or not at all, and n_data bytes. */
static void put_file(bytes *file, const char *header, size_t n_data) {
    const size_t length = strlen(header);
    put_u32(file, (uint32_t)length);
    put_u32(file, 0);
    put_text(file, header);
    put_pattern(file, 0, n_data);
}

static thr_status open_bytes(const bytes *file, thr_tensors **tensors, thr_error *error) {
    thr_status status = thr_tensors_open_memory(io_context, "a.safetensors", file->data, file->size, tensors, error);
    assert_true((status == THR_OK) == (*tensors != NULL));
    if (status != THR_OK)
        assert_contains(error->text, "a.safetensors");
    return status;
}

static void check_refused(const char *header, size_t n_data, thr_status wanted, const char *wanted_text) {
    bytes file = {0};
    thr_tensors *tensors = NULL;
    put_file(&file, header, n_data);
    thr_status status = open_bytes(&file, &tensors, &err);
    if (status != wanted)
        fail_msg("%s: %d is not %d: %s", header, status, wanted, status != THR_OK ? err.text : "it was read");
    assert_contains(err.text, wanted_text);
}

static thr_tensors *check_read(const char *header, size_t n_data, bytes *file) {
    thr_tensors *tensors = NULL;
    put_file(file, header, n_data);
    if (open_bytes(file, &tensors, &err) != THR_OK)
        fail_msg("%s: %s", header, err.text);
    return tensors;
}

#define TENSOR(name, dtype, shape, from, to)                                                                           \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" #from "," #to "]}"

TEST(headers_of_the_format_are_read) {
    bytes file = {0};
    thr_tensors *t = check_read("{}", 0, &file);
    assert_int_equal(thr_tensors_count(t), 0);
    assert_null(thr_tensors_find(t, "a"));
    assert_null(thr_tensors_metadata(t, "a"));
    thr_tensors_free(t);
    drop(&file);

    /* Keys in any order, space everywhere, offsets in another order than names, all that can be escaped. */
    t = check_read("{ \"b\" : { \"data_offsets\" : [ 8 , 12 ] , \"shape\" : [ ] , \"dtype\" : \"I32\" } ,\n"
                   "\"__metadata__\" : { \"k\\u00e9y\\ud83d\\ude00\" : \"\\\"\\\\\\/\\b\\f\\n\\r\\t\", \"\" : "
                   "\"\xc3\xa9\" } ,\r\n\t"
                   "\"a.weight\":{\"dtype\":\"F16\",\"shape\":[2,1,2,1],\"data_offsets\":[0,8]}}    ",
                   12, &file);
    assert_int_equal(thr_tensors_count(t), 2);
    const thr_tensor *b = thr_tensors_at(t, 0), *a = thr_tensors_at(t, 1);
    assert_string_equal(b->name, "b");
    assert_int_equal(b->dtype, THR_DTYPE_I32);
    assert_int_equal(b->n_axes, 0);
    assert_int_equal(b->n_bytes, 4);
    assert_string_equal(a->name, "a.weight");
    assert_int_equal(a->n_axes, 4);
    assert_int_equal(a->shape[2], 2);
    assert_int_equal(a->n_bytes, 8);
    assert_ptr_equal((const uint8_t *)a->data + 8, b->data);
    assert_int_equal(*(const uint8_t *)a->data, pattern(0));
    assert_ptr_equal(thr_tensors_find(t, "a.weight"), a);
    assert_ptr_equal(thr_tensors_find(t, "b"), b);
    assert_null(thr_tensors_find(t, "a"));
    assert_string_equal(thr_tensors_metadata(t, "k\xc3\xa9y\xf0\x9f\x98\x80"), "\"\\/\b\f\n\r\t");
    assert_string_equal(thr_tensors_metadata(t, ""), "\xc3\xa9");
    assert_null(thr_tensors_metadata(t, "k"));
    thr_tensors_free(t);
}

TEST(kinds_that_are_not_computed_with_are_left_alone) {
    bytes file = {0};
    thr_tensors *t =
        check_read("{" TENSOR("whole", "U16", "[3]", 0, 6) "," TENSOR("f4", "F4", "[2,3]", 6, 9) "," TENSOR(
                       "deep", "I8", "[1,1,2,1,3]", 9, 15) "," TENSOR("none", "F32", "[0,7]", 15, 15) "}",
                   15, &file);
    const thr_tensor *found = NULL;
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(thr_tensors_at(t, i)->dtype, THR_DTYPE_NONE);
    assert_int_equal(thr_tensors_find(t, "whole")->n_bytes, 6);
    assert_int_equal(thr_tensors_find(t, "deep")->n_axes, 5);
    assert_int_equal(thr_tensors_find(t, "none")->n_bytes, 0);
    uint64_t shape[5] = {3, 7};
    expect_error(thr_tensors_expect(t, "whole", THR_DTYPE_F32, 1, shape, &found, &err), THR_EFORMAT,
                 "tensor 'whole' is of another dtype [3], where f32 [3] is wanted");
    expect_error(thr_tensors_expect(t, "deep", THR_DTYPE_I8, 2, shape, &found, &err), THR_EFORMAT, "[1, 1, 2, 1, ...]");
    expect_error(thr_tensors_expect(t, "none", THR_DTYPE_F32, 2, shape, &found, &err), THR_EFORMAT,
                 "is f32 [0, 7], where f32 [3, 7] is wanted");
    assert_null(found);
    expect_error(thr_tensors_expect(t, "gone", THR_DTYPE_F32, 2, shape, &found, &err), THR_EFORMAT,
                 "has no tensor 'gone', f32 [3, 7], among its 4");
    shape[0] = 0;
    expect_ok(thr_tensors_expect(t, "none", THR_DTYPE_F32, 2, shape, &found, &err));
    assert_ptr_equal(found, thr_tensors_find(t, "none"));
    thr_tensors_free(t);
}

TEST(headers_that_are_not_json_are_refused_by_byte) {
    static const struct {
        const char *header, *wanted_text;
    } cases[] = {
        {"{ ", "byte 10: a string was expected"},
        {"{]", "byte 9: a string was expected"},
        {"{}x", "byte 10: something follows"},
        {"{},", "something follows"},
        {"{\"a\"}", "a colon was expected"},
        {"{\"a\":1}", "a tensor is not an object"},
        {"{\"a\":{}}", "a string was expected"},
        {"{\"a\":{\"dtype\":\"F32\"}}", "lacks dtype, shape or data_offsets"},
        {"{\"a\":{\"dtype\":\"F33\"}}", "the dtype is unknown"},
        {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", "occurs twice"},
        {"{\"a\":{\"strides\":[1]}}", "a key of a tensor is unknown"},
        {"{\"a\":{\"shape\":[[1]]}}", "a whole number"},
        {"{\"a\":{\"shape\":[-1]}}", "a whole number"},
        {"{\"a\":{\"shape\":[01]}}", "a whole number"},
        {"{\"a\":{\"shape\":[1.0]}}", "a whole number"},
        {"{\"a\":{\"shape\":[1e3]}}", "a whole number"},
        {"{\"a\":{\"shape\":[1,]}}", "a whole number"},
        {"{\"a\":{\"shape\":[18446744073709551616]}}", "a number is too large"},
        {"{\"a\":{\"shape\":[4294967296,4294967296,0]}}", "too many values"},
        {"{\"a\":{\"shape\":[1 1]}}", "the shape has no end"},
        {"{\"a\":{\"data_offsets\":[1]}}", "the offsets are not two numbers"},
        {"{\"a\":{\"data_offsets\":[0,1,2]}}", "the offsets are not two numbers"},
        {"{\"__metadata__\":null}", "the metadata is not an object"},
        {"{\"__metadata__\":{\"a\":1}}", "a string was expected"},
        {"{\"__metadata__\":{\"a\":\"b\",}}", "a string was expected"},
        {"{\"__metadata__\":{},\"__metadata__\":{}}", "metadata occurs twice"},
        {"{\"__metadata__\":{\"a\":\"\",\"\\u0061\":\"\"}}", "the metadata has 'a' twice"},
        {"{\"a", "a string has no end"},
        {"{\"a\\", "an invalid escape"},
        {"{\"a\\x\"", "an invalid escape"},
        {"{\"a\\u12", "an invalid escape"},
        {"{\"a\\u00g0\"", "an invalid escape"},
        {"{\"a\\u0000\"", "an invalid escape"},
        {"{\"a\\ud800\"", "half a character"},
        {"{\"a\\ud800\\u0041\"", "half a character"},
        {"{\"a\\udc00\"", "half a character"},
        {"{\"a\nb\"", "a control character"},
        {"{\"\xff\"", "is not UTF-8"},
        {"{\"\xc0\x80\"", "is not UTF-8"},
        {"{\"\xe0\x80\x80\"", "is not UTF-8"},
        {"{\"\xed\xa0\x80\"", "is not UTF-8"},
        {"{\"\xf4\x90\x80\x80\"", "is not UTF-8"},
        {"{\"\xe2\x82\"", "is not UTF-8"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        check_refused(cases[i].header, 0, THR_EFORMAT, cases[i].wanted_text);
}

TEST(tensors_that_do_not_fill_the_data_are_refused) {
    check_refused("{" TENSOR("a", "F32", "[2]", 0, 4) "}", 4, THR_EFORMAT, "tensor 'a' of 2 F32 is in bytes 0 to 4");
    check_refused("{" TENSOR("a", "F32", "[0]", 4, 0) "}", 4, THR_EFORMAT, "do not match its size");
    check_refused("{" TENSOR("a", "F4", "[3]", 0, 1) "}", 1, THR_EFORMAT, "do not match its size");
    check_refused("{" TENSOR("a", "F64", "[2305843009213693952]", 0, 0) "}", 0, THR_EFORMAT, "do not match its size");
    check_refused("{" TENSOR("a", "F32", "[2]", 0, 8) "}", 7, THR_ECORRUPT, "ends at byte 8 of the data, which are 7");
    check_refused("{" TENSOR("a", "F32", "[2]", 0, 8) "}", 9, THR_ECORRUPT,
                  "the data are 9 bytes, but the tensors end at byte 8");
    check_refused("{}", 1, THR_ECORRUPT, "the data are 1 bytes, but the tensors end at byte 0");
    check_refused("{" TENSOR("a", "I8", "[4]", 0, 4) "," TENSOR("b", "I8", "[4]", 3, 7) "}", 7, THR_EFORMAT,
                  "tensor 'b' begins at byte 3 of the data, where the one before ends at 4: they overlap");
    check_refused("{" TENSOR("a", "I8", "[4]", 0, 4) "," TENSOR("b", "I8", "[2]", 5, 7) "}", 7, THR_EFORMAT,
                  "a gap between them");
    check_refused("{" TENSOR("a", "I8", "[4]", 0, 4) "," TENSOR("a", "I8", "[3]", 4, 7) "}", 7, THR_EFORMAT,
                  "there are two tensors 'a'");
    check_refused("{" TENSOR("a", "I8", "[0]", 2, 2) "," TENSOR("b", "I8", "[4]", 0, 4) "}", 4, THR_EFORMAT,
                  "they overlap");
}

TEST(what_does_not_start_as_a_file_does_is_refused) {
    bytes file = {0};
    thr_tensors *tensors = NULL;
    for (size_t size = 0; size < 8; size++) {
        expect_error(thr_tensors_open_memory(io_context, "a", "{}{}{}{}", size, &tensors, &err), THR_ECORRUPT,
                     "too few for the length of a header");
    }
    put_text(&file, "a text, and not a short one");
    expect_error(open_bytes(&file, &tensors, &err), THR_EFORMAT, "is it really one?");
    const char *path = write_file("text.safetensors", &file);
    expect_error(thr_tensors_open(io_context, path, &tensors, &err), THR_EFORMAT, path);
    drop(&file);
    static const uint8_t long_header[] = {100, 0, 0, 0, 0, 0, 0, 0, '{', '}'};
    put(&file, long_header, sizeof long_header);
    expect_error(open_bytes(&file, &tensors, &err), THR_ECORRUPT, "fewer than its header of 100");
    file.data[7] = 1;
    assert_int_equal(open_bytes(&file, &tensors, &err), THR_EFORMAT);
    drop(&file);
    path = write_file("empty.safetensors", &file);
    assert_int_equal(thr_tensors_open(io_context, path, &tensors, &err), THR_ECORRUPT);
    assert_int_equal(thr_tensors_open(io_context, in_dir("missing"), &tensors, &err), THR_ENOTFOUND);
    assert_int_equal(thr_tensors_open(io_context, test_dir, &tensors, &err), THR_EFORMAT);
    assert_null(tensors);
    thr_tensors_free(NULL);
}

/* ------------------------------------------------------------------------------------------------ round trips */

enum { N_SAMPLE = 6 };
static uint64_t numbers[40];
static const char *const sample_metadata[][2] = {{"format", "thr \"1\"\n"}, {"vocabulary", "caf\xc3\xa9\\"}};

/* One of every size of values, in an order that the data cannot have; an empty one and a single value. */
static thr_tensors_image sample(thr_tensor out[N_SAMPLE]) {
    for (size_t i = 0; i < 40; i++)
        numbers[i] = i * 0x9e3779b97f4a7c15u;
    const thr_tensor tensors[N_SAMPLE] = {
        {"bytes", THR_DTYPE_U8, 2, {3, 1}, numbers, 3},
        {"half \"\\\t", THR_DTYPE_F16, 1, {5}, numbers + 1, 10},
        {"float", THR_DTYPE_F32, 3, {2, 2, 3}, numbers + 5, 48},
        {"none", THR_DTYPE_I8, 2, {4, 0}, NULL, 0},
        {"ids", THR_DTYPE_U64, 1, {7}, numbers + 20, 56},
        {"\xe2\x82\xac", THR_DTYPE_I32, 0, {0}, numbers + 2, 4},
    };
    memcpy(out, tensors, sizeof tensors);
    return (thr_tensors_image){.tensors = out, .n_tensors = N_SAMPLE, .metadata = sample_metadata, .n_metadata = 2};
}

TEST(what_is_written_is_read_back_and_aligned) {
    thr_tensor tensors[N_SAMPLE];
    const thr_tensors_image image = sample(tensors);
    const char *path = in_dir("round.safetensors");
    OWNED(thr_tensors, t) = NULL;
    expect_ok(thr_tensors_write(io_context, path, &image, &err));
    expect_ok(thr_tensors_open(io_context, path, &t, &err));
    assert_int_equal(thr_tensors_count(t), N_SAMPLE);
    const uint8_t *first = thr_tensors_find(t, "ids")->data;
    assert_int_equal((uintptr_t)first % 64, 0);
    for (size_t i = 0; i < N_SAMPLE; i++) {
        const thr_tensor *got = thr_tensors_at(t, i), *found = NULL;
        assert_string_equal(got->name, tensors[i].name);
        expect_ok(thr_tensors_expect(t, tensors[i].name, tensors[i].dtype, tensors[i].n_axes, tensors[i].shape, &found,
                                     &err));
        assert_ptr_equal(found, got);
        assert_int_equal(got->n_bytes, tensors[i].n_bytes);
        assert_true(got->n_bytes == 0 || memcmp(got->data, tensors[i].data, got->n_bytes) == 0);
        assert_int_equal((uintptr_t)got->data % thr_dtype_size(got->dtype), 0);
    }
    assert_string_equal(thr_tensors_metadata(t, "format"), "thr \"1\"\n");
    assert_string_equal(thr_tensors_metadata(t, "vocabulary"), "caf\xc3\xa9\\");
}

TEST(an_image_of_nothing_is_a_file) {
    const thr_tensors_image none = {0};
    const char *path = in_dir("none.safetensors");
    OWNED(thr_tensors, t) = NULL;
    expect_ok(thr_tensors_write(io_context, path, &none, &err));
    expect_ok(thr_tensors_open(io_context, path, &t, &err));
    assert_int_equal(thr_tensors_count(t), 0);
}

static void check_unwritable(const thr_tensors_image *image, const char *wanted_text) {
    const char *path = in_dir("never.safetensors");
    expect_error(thr_tensors_write(io_context, path, image, &err), THR_EINVAL, "never.safetensors");
    assert_contains(err.text, wanted_text);
    assert_int_equal(access(path, F_OK), -1);
}

TEST(images_that_could_not_be_read_are_not_written) {
    thr_tensor tensors[N_SAMPLE];
    thr_tensors_image image = sample(tensors);
    tensors[0].n_bytes = 4;
    check_unwritable(&image, "tensor 'bytes' of u8 with 2 axes cannot be written as 4 bytes");
    image = sample(tensors);
    tensors[1].dtype = THR_DTYPE_NONE;
    check_unwritable(&image, "of none with 1 axes");
    image = sample(tensors);
    tensors[2].n_axes = 5;
    check_unwritable(&image, "with 5 axes");
    image = sample(tensors);
    tensors[2].shape[0] = tensors[2].shape[1] = UINT64_MAX / 2;
    check_unwritable(&image, "shape and size must agree");
    image = sample(tensors);
    tensors[2].name = "ids";
    check_unwritable(&image, "the tensor 'ids' occurs twice");
    tensors[2].name = "\xff";
    check_unwritable(&image, "is not UTF-8");
    tensors[2].name = "__metadata__";
    check_unwritable(&image, "can be called '__metadata__'");
    image = sample(tensors);
    const char *const twice[][2] = {{"a", "b"}, {"a", "c"}}, *const wrong[][2] = {{"a", "\xc3"}, {"b", "c"}};
    image.metadata = twice;
    check_unwritable(&image, "the metadata 'a' occurs twice");
    image.metadata = wrong;
    check_unwritable(&image, "is not UTF-8");
    image = sample(tensors);
    assert_int_equal(thr_tensors_write(io_context, in_dir("none/a.safetensors"), &image, &err), THR_ENOTFOUND);
}

RANDOM_TEST(many_tensors_are_found_by_name) {
    enum { N = 1000 };
    static char names[N][16];
    static thr_tensor tensors[N];
    rng = 3;
    for (size_t i = 0; i < N; i++) {
        (void)snprintf(names[i], sizeof names[i], "%llu", (unsigned long long)(thr_rng_next(&rng) % 10000000 * N + i));
        const size_t value = (size_t)1 << thr_rng_below(&rng, 4);
        const uint64_t n = thr_rng_below(&rng, 5);
        const thr_dtype dtype = value == 1   ? THR_DTYPE_I8
                                : value == 2 ? THR_DTYPE_F16
                                : value == 4 ? THR_DTYPE_U32
                                             : THR_DTYPE_F64;
        tensors[i] = (thr_tensor){names[i], dtype, 1, {n}, numbers + i % 30, (size_t)n * value};
    }
    const thr_tensors_image image = {.tensors = tensors, .n_tensors = N};
    const char *path = in_dir("many.safetensors");
    OWNED(thr_tensors, t) = NULL;
    expect_ok(thr_tensors_write(io_context, path, &image, &err));
    expect_ok(thr_tensors_open(io_context, path, &t, &err));
    for (size_t i = 0; i < N; i++) {
        const thr_tensor *found = thr_tensors_find(t, names[i]);
        assert_ptr_equal(found, thr_tensors_at(t, i));
        assert_memory_equal(found->data, tensors[i].data, tensors[i].n_bytes);
    }
}

/* ------------------------------------------------------------------------------------------------ damage */

static void read_sample(bytes *file) {
    thr_tensor tensors[N_SAMPLE];
    const thr_tensors_image image = sample(tensors);
    const char *path = in_dir("damage.safetensors");
    expect_ok(thr_tensors_write(io_context, path, &image, &err));
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    for (int c = getc(in); c != EOF; c = getc(in)) {
        const uint8_t byte = (uint8_t)c;
        put(file, &byte, 1);
    }
    assert_int_equal(fclose(in), 0);
}

/* Open exactly these bytes; where that works, read every byte of every tensor and call every accessor. */
static thr_status use(const uint8_t *data, size_t size) {
    uint8_t *exact = test_new(1, size + (size == 0));
    thr_tensors *t = NULL;
    assert_non_null(exact);
    memcpy(exact, data, size);
    thr_status status = thr_tensors_open_memory(io_context, "a", exact, size, &t, &err);
    if (status == THR_OK) {
        uint64_t sum = 0;
        for (size_t i = 0; i < thr_tensors_count(t); i++) {
            const thr_tensor *tensor = thr_tensors_at(t, i);
            for (size_t b = 0; b < tensor->n_bytes; b++)
                sum += ((const uint8_t *)tensor->data)[b];
            assert_ptr_equal(thr_tensors_find(t, tensor->name), tensor);
        }
        assert_true(sum < 1u << 20);
        (void)thr_tensors_metadata(t, "format");
    } else {
        assert_true(status == THR_EFORMAT || status == THR_ECORRUPT);
        assert_contains(err.text, "a: ");
    }
    thr_tensors_free(t);
    return status;
}

TEST(every_cut_is_found) {
    bytes file = {0};
    read_sample(&file);
    assert_int_equal(use(file.data, file.size), THR_OK);
    for (size_t size = 0; size < file.size; size++)
        assert_int_not_equal(use(file.data, size), THR_OK);
    put_text(&file, "x");
    assert_int_equal(use(file.data, file.size), THR_ECORRUPT);
}

TEST(every_changed_byte_gives_tensors_or_an_error) {
    bytes file = {0};
    read_sample(&file);
    for (size_t i = 0; i < file.size; i++) {
        const uint8_t before = file.data[i];
        for (unsigned change = 1; change < 256; change++) {
            file.data[i] = (uint8_t)(before ^ change);
            (void)use(file.data, file.size);
        }
        file.data[i] = before;
    }
}

TEST(every_allocation_may_fail) {
    thr_tensor tensors[N_SAMPLE];
    const thr_tensors_image image = sample(tensors);
    const char *path = in_dir("alloc.safetensors");
    for (int reading = 0; reading < 2; reading++) {
        test_oom oom = test_oom_start(&io_memory);
        while (test_oom_next(&oom)) {
            OWNED(thr_tensors, t) = NULL;
            test_oom_arm(&oom);
            const thr_status status = reading ? thr_tensors_open(io_context, path, &t, &err)
                                              : thr_tensors_write(io_context, path, &image, &err);
            const bool succeeded = test_oom_check(&oom, status, &err, NULL);
            assert_int_equal(t != NULL, succeeded && reading != 0);
            assert_true(reading || (access(path, F_OK) == 0) == (status == THR_OK));
        }
    }
}
