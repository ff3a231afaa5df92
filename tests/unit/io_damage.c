/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io_damage.c - small files of every format, cut at every byte, with every byte changed, with bytes after them, and
 * read with every allocation failing in turn.
 */
#include "unit/io_files.h"

enum { N_ROWS = 5, N_DIMS = 3 };

static const struct {
    const char *name;
    size_t value; /* bytes; 0: a text */
} formats[] = {{"a.npy", 4},    {"a.fvecs", 4}, {"a.bvecs", 1}, {"a.ivecs", 4}, {"a.fbin", 4},
               {"a.f16bin", 2}, {"a.u8bin", 1}, {"a.i8bin", 1}, {"a.ibin", 4},  {"t.ibin:distances", 4},
               {"a.txt", 0},    {"a.tsv", 0},   {"a.csv", 0}};

static void make_file(size_t format, bytes *file) {
    const char *name = formats[format].name;
    size_t value = formats[format].value;
    if (strstr(name, ".npy") != NULL)
        put_npy(file, "<f4", value, N_ROWS, N_DIMS);
    else if (strstr(name, "vecs") != NULL)
        put_vecs(file, value, N_ROWS, N_DIMS);
    else if (strstr(name, "bin") != NULL)
        put_bin(file, value, N_ROWS, N_DIMS);
    else
        put_text(file, "one\ntwo\r\nthree\n\nfive");
    if (strchr(name, ':') != NULL)
        put_pattern(file, 0, N_ROWS * N_DIMS * value);
}

/* Whole rows (or lines) of the undamaged file must come, and no others, when the status is THR_OK. */
static void check_prefix(size_t format, const bytes *got, thr_status status) {
    if (status != THR_OK)
        return;
    if (formats[format].value == 0) {
        assert_true(got->size == 0 || got->data[got->size - 1] == '\n');
        return;
    }
    assert_int_equal(got->size % (N_DIMS * formats[format].value), 0);
    for (size_t i = 0; i < got->size; i++)
        assert_int_equal(got->data[i], pattern(i));
}

TEST(a_cut_at_every_byte_is_found_or_leaves_whole_rows) {
    for (size_t f = 0; f < COUNT_OF(formats); f++) {
        bytes file = {0};
        make_file(f, &file);
        for (size_t size = 0; size <= file.size; size++) {
            /* A copy of exactly this size, so that a sanitizer sees one byte read past it. */
            uint8_t *cut = test_new(1, size + (size == 0));
            memcpy(cut, file.data, size);
            for (int sized = 0; sized < 2; sized++) {
                for (uint64_t piece = 1; piece <= N_ROWS + 1; piece += N_ROWS) {
                    bytes got = {0};
                    thr_status status =
                        read_all_memory(io_context, formats[f].name, cut, size, sized, piece, &got, &err);
                    check_prefix(f, &got, status);
                    bool is_text = formats[f].value == 0, is_vecs = strstr(formats[f].name, "vecs") != NULL;
                    if (size == file.size)
                        assert_int_equal(status, THR_OK);
                    else if (!is_text && !(is_vecs && size % (file.size / N_ROWS) == 0))
                        assert_true(status == THR_ECORRUPT || status == THR_ENOTFOUND);
                    if (status != THR_OK)
                        assert_contains(err.text, formats[f].name);
                }
            }
        }
    }
}

TEST(a_real_file_cut_at_every_byte_is_no_different) {
    for (size_t f = 0; f < COUNT_OF(formats); f++) {
        bytes file = {0};
        make_file(f, &file);
        char name[32];
        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(formats[f].name, ":"), formats[f].name);
        for (size_t size = file.size;; size--) {
            file.size = size;
            (void)write_file(name, &file);
            bytes from_file = {0}, from_memory = {0};
            thr_error other;
            thr_status status = read_all(io_context, in_dir(formats[f].name), 2, &from_file, &err);
            assert_int_equal(
                status, read_all_memory(io_context, formats[f].name, file.data, size, true, 2, &from_memory, &other));
            assert_int_equal(from_file.size, from_memory.size);
            if (size == 0)
                break;
        }
    }
}

TEST(every_changed_byte_gives_rows_or_an_error) {
    for (size_t f = 0; f < COUNT_OF(formats); f++) {
        bytes file = {0};
        make_file(f, &file);
        for (size_t i = 0; i < file.size; i++) {
            uint8_t before = file.data[i];
            for (unsigned change = 1; change < 256; change += change < 16 ? 1 : 29) {
                file.data[i] = (uint8_t)(before ^ change);
                for (int sized = 0; sized < 2; sized++) {
                    bytes got = {0};
                    thr_status status =
                        read_all_memory(io_context, formats[f].name, file.data, file.size, sized, 2, &got, &err);
                    /* A reader may only give what the file has room for. */
                    assert_true(got.size <= file.size + 1);
                    if (status != THR_OK)
                        assert_true(status == THR_EFORMAT || status == THR_ECORRUPT || status == THR_ENOTFOUND);
                }
            }
            file.data[i] = before;
        }
    }
}

TEST(bytes_after_the_end_are_refused) {
    for (size_t f = 0; f < COUNT_OF(formats); f++) {
        bytes file = {0};
        make_file(f, &file);
        size_t rows = N_ROWS * N_DIMS * formats[f].value; /* what may follow an .ibin */
        for (size_t more = 1; more <= 70 && formats[f].value != 0; more++) {
            put_text(&file, "\x03");
            bool distances = strcmp(formats[f].name, "a.ibin") == 0 && more == rows;
            if (distances)
                continue;
            for (int sized = 0; sized < 2; sized++) {
                bytes got = {0};
                assert_int_equal(
                    read_all_memory(io_context, formats[f].name, file.data, file.size, sized, 2, &got, &err),
                    THR_ECORRUPT);
            }
        }
    }
}

TEST(every_allocation_may_fail) {
    for (size_t f = 0; f < COUNT_OF(formats); f++) {
        bytes file = {0};
        make_file(f, &file);
        for (int sized = 0; sized < 2; sized++) {
            test_oom oom = test_oom_start(&io_memory);
            while (test_oom_next(&oom)) {
                bytes got = {0};
                test_oom_arm(&oom);
                const thr_status status =
                    read_all_memory(io_context, formats[f].name, file.data, file.size, sized, 2, &got, &err);
                (void)test_oom_check(&oom, status, &err, NULL);
            }
            assert_true(oom.n_failed > 2);
        }
    }
}

static uint64_t zeros(void *user, uint64_t first, uint64_t max_rows, float *out) {
    (void)user;
    (void)first;
    memset(out, 0, max_rows * sizeof(float));
    return max_rows;
}

TEST(every_allocation_of_memory_readers_may_fail) {
    float data[2] = {0};
    for (int kind = 0; kind < 2; kind++) {
        test_oom oom = test_oom_start(&io_memory);
        while (test_oom_next(&oom)) {
            OWNED(thr_reader, reader) = NULL;
            test_oom_arm(&oom);
            const thr_status status = kind == 0
                                          ? thr_reader_from_matrix(io_context, ROWS(data, 2, 1), &reader, &err)
                                          : thr_reader_from_function(io_context, 2, 1, zeros, NULL, &reader, &err);
            assert_int_equal(test_oom_check(&oom, status, &err, NULL), reader != NULL);
        }
    }
}
