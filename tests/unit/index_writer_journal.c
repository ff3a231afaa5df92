/* SPDX-License-Identifier: Apache-2.0 */
/* Files of journals: of another index, damaged, with impossible frames, and with room at their ends. */
#include "index_writer_support.h"

#include "index/journal/frame.h"
#include "index/journal/tail.h"

#include <dirent.h>
#include <sys/stat.h>

static const char DIR_A[] = "index-writer-journal";

static char *journal_of(const char *dir) {
    static char path[512];
    struct dirent *entry;
    DIR *open_dir = opendir(dir);
    assert_non_null(open_dir);
    path[0] = '\0';
    while ((entry = readdir(open_dir)) != NULL)
        if (strncmp(entry->d_name, "journal-", 8) == 0)
            (void)snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
    (void)closedir(open_dir);
    assert_true(path[0] != '\0');
    return path;
}

static void create_with_one_item(thr_context *context) {
    float vector[DIMS] = {1};
    const thr_matrix one = thr_matrix_f32(vector, 1, DIMS);
    create_empty(context, DIR_A, THR_METRIC_COSINE, THR_DTYPE_F32, false);
    OWNED(thr_index_writer, writer) = open_writer(context, DIR_A, JOURNAL);
    expect_ok(thr_index_writer_add(writer, &one, NULL, NULL, NULL, &err));
}

TEST(a_journal_of_another_index_or_a_pipe_is_refused) {
    thr_index *index = NULL;
    create_with_one_item(*state);
    assert_int_equal(rename(journal_of(DIR_A), "other.log"), 0);
    create_with_one_item(*state);
    const char *path = journal_of(DIR_A);
    assert_int_equal(rename("other.log", path), 0);
    expect_error(thr_index_open(*state, DIR_A, &index, &err), THR_ECORRUPT, NULL);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_error(thr_index_open(*state, DIR_A, &index, &err), THR_ECORRUPT, NULL);
}

/* The number in the header of a journal. */
static uint32_t build_of(const uint8_t *bytes) {
    uint32_t build;
    memcpy(&build, bytes + 20, sizeof build);
    return build;
}

static void change_byte(const char *path, size_t at) {
    size_t size;
    uint8_t *bytes = test_bytes_of(path, &size);
    assert_true(at < size);
    bytes[at] ^= 0x5a;
    test_write_file(path, bytes, size);
}

/* With any of its bytes changed the items are there, a check finds it, and a compaction or a writer mends it. */
TEST(a_journals_header_may_be_damaged) {
    for (size_t at = 0; at < THR_JOURNAL_HEADER; at++)
        for (int how = 0; how < 2; how++) {
            thr_index *index = NULL;
            thr_index_writer *writer = NULL;
            const uint64_t n = how == 0 ? 0 : 1;
            create_with_one_item(*state);
            if (how == 0) {
                const uint64_t id = 0; /* an empty index whose journal is carried over to a new one */
                expect_ok(thr_index_remove(*state, DIR_A, &id, 1, NULL, &err));
                expect_ok(thr_index_writer_open(*state, DIR_A, NULL, &writer, &err));
                expect_ok(thr_index_writer_remove(writer, &id, 1, NULL, &err));
                thr_index_writer_free(writer);
            }
            change_byte(journal_of(DIR_A), at);
            expect_ok(thr_index_open(*state, DIR_A, &index, &err));
            assert_int_equal(thr_index_get_info(index).n_items, n);
            expect_error(thr_index_verify(index, &err), THR_ECORRUPT, NULL);
            thr_index_free(index);
            if (at % 2 == 0) {
                expect_ok(thr_index_compact(*state, DIR_A, NULL, &err));
            } else {
                const uint64_t none = 77;
                expect_ok(thr_index_writer_open(*state, DIR_A, NULL, &writer, &err));
                expect_ok(thr_index_writer_remove(writer, &none, 1, NULL, &err));
                thr_index_writer_free(writer);
            }
            expect_ok(thr_index_open(*state, DIR_A, &index, &err));
            assert_int_equal(thr_index_get_info(index).n_items, n);
            expect_ok(thr_index_verify(index, &err));
            thr_index_free(index);
        }
}

/* What a writer with a mistake would have written, with the right checksum. */
TEST(verify_finds_a_repeated_name_in_a_journal) {
    const char *const names[] = {"aa", "bb"};
    float vectors[2 * DIMS] = {1};
    const thr_matrix two = thr_matrix_f32(vectors, 2, DIMS);
    thr_frame_header h;
    size_t size;
    create_empty(*state, DIR_A, THR_METRIC_COSINE, THR_DTYPE_F32, true);
    thr_index_writer *writer = open_writer(*state, DIR_A, JOURNAL);
    expect_ok(thr_index_writer_add(writer, &two, NULL, names, NULL, &err));
    thr_index_writer_free(writer);
    const char *path = journal_of(DIR_A);
    uint8_t *bytes = test_bytes_of(path, &size), *frame = bytes + THR_JOURNAL_HEADER;
    memcpy(&h, frame, sizeof h);
    assert_int_equal(size, THR_JOURNAL_HEADER + h.size);
    assert_memory_equal(frame + h.size - 8, "aa\0bb\0\0", 8); /* names are last */
    memcpy(frame + h.size - 8, "aa\0aa", 5);
    h.checksum = thr_index_frame_checksum(&h, (const char *)frame + sizeof h);
    memcpy(frame, &h, sizeof h);
    test_write_file(path, bytes, size);
    OWNED(thr_index, index) = test_index_open(*state, DIR_A);
    expect_error(thr_index_verify(index, &err), THR_ECORRUPT, NULL);
    assert_non_null(strstr(err.text, "second item with the name 'aa'"));
}

/* Thousands of headers that all promise the rest of the file are not each summed to its end. */
TEST(headers_without_frames_are_damage) {
    enum { HEADERS = 1 << 17 };
    thr_index *index = NULL;
    size_t size;
    create_with_one_item(*state);
    const char *path = journal_of(DIR_A);
    uint8_t *old = test_bytes_of(path, &size);
    const size_t all = size + 8 + (size_t)HEADERS * THR_FRAME_HEADER;
    const uint32_t build = build_of(old);
    uint8_t *bytes = test_new(all, 1);
    memcpy(bytes, old, size);
    for (size_t at = size + 8; at < all; at += THR_FRAME_HEADER) {
        thr_frame_header h = {.magic = THR_FRAME_MAGIC, .size = all - at, .position = at, .n_changes = 1};
        h.header_sum = thr_index_frame_header_sum(&h, build);
        memcpy(bytes + at, &h, sizeof h);
    }
    test_write_file(path, bytes, all);
    expect_error(thr_index_open(*state, DIR_A, &index, &err), THR_ECORRUPT, NULL);
}

enum { FIRST_SIZE = THR_FRAME_HEADER + 16 + 8 + DIMS * 4 }; /* of a frame with one item */

/* A whole frame, as a vector that another frame holds: at `at` of the file, with what follows it. */
static void put_fake_frame(uint8_t *bytes, size_t at, uint64_t previous, uint32_t build) {
    thr_frame_header h = {
        .magic = THR_FRAME_MAGIC, .size = THR_FRAME_HEADER, .position = at, .previous = previous, .n_changes = 1};
    h.header_sum = thr_index_frame_header_sum(&h, build);
    h.checksum = thr_index_frame_checksum(&h, "");
    memcpy(bytes + at, &h, sizeof h);
}

/*
 * The second frame is torn at any byte, after a vector with the bytes of a frame. The header of the torn frame may be
 * missing; then these bytes pass for a frame only if they were made with the journal's number.
 */
TEST(a_frame_inside_the_data_of_a_torn_frame_is_no_frame) {
    const float vector[DIMS] = {1};
    const thr_matrix one = thr_matrix_f32(vector, 1, DIMS);
    for (int how = 0; how < 3; how++) {
        size_t size;
        create_with_one_item(*state);
        thr_index_writer *writer = open_writer(*state, DIR_A, JOURNAL);
        expect_ok(thr_index_writer_add(writer, &one, NULL, NULL, NULL, &err));
        const char *path = journal_of(DIR_A);
        uint8_t *bytes = test_bytes_of(path, &size);
        thr_index_writer_free(writer);
        const size_t second = THR_JOURNAL_HEADER + FIRST_SIZE;
        const size_t data = second + THR_FRAME_HEADER + 16 + 8;
        assert_true(size >= data + DIMS * 4);
        put_fake_frame(bytes, data, 7, build_of(bytes) + (how == 1)); /* in the vector, of 48 bytes */
        if (how == 1)
            memset(bytes + second, 0, THR_FRAME_HEADER); /* of these bytes none was written */
        test_write_file(path, bytes, second + FIRST_SIZE + (how == 2 ? 8 : 0));
        OWNED(thr_index, index) = test_index_open(*state, DIR_A);
        assert_int_equal(thr_index_get_info(index).n_items, 1);
    }
}

/* After a writer was closed. Before, an end that is cut is a torn frame. */
TEST(a_journal_that_was_cut_is_damaged) {
    const float vectors[3 * DIMS] = {1};
    for (size_t n = 1; n <= 3; n++)
        for (size_t cut = 1; cut <= 2 * FIRST_SIZE; cut += n == 2 ? 1 : 61) {
            thr_index *index = NULL;
            size_t size;
            create_empty(*state, DIR_A, THR_METRIC_COSINE, THR_DTYPE_F32, false);
            for (size_t i = 0; i < n; i++) {
                const thr_matrix one = thr_matrix_f32(vectors + i * DIMS, 1, DIMS);
                OWNED(thr_index_writer, writer) = open_writer(*state, DIR_A, JOURNAL);
                expect_ok(thr_index_writer_add(writer, &one, NULL, NULL, NULL, &err));
            }
            uint8_t *bytes = test_bytes_of(journal_of(DIR_A), &size);
            assert_int_equal(size, THR_JOURNAL_HEADER + n * FIRST_SIZE);
            test_write_file(journal_of(DIR_A), bytes, size - (cut < n * FIRST_SIZE ? cut : n * FIRST_SIZE));
            expect_error(thr_index_open(*state, DIR_A, &index, &err), THR_ECORRUPT, NULL);
            assert_non_null(strstr(err.text, "when a writer was closed"));
        }
}

TEST(a_journal_is_no_larger_than_a_writer_makes_it) {
    thr_index *index = NULL;
    create_with_one_item(*state);
    assert_int_equal(truncate(journal_of(DIR_A), (off_t)THR_JOURNAL_MOST_BYTES), 0);
    expect_ok(thr_index_open(*state, DIR_A, &index, &err)); /* zeros, room for further frames */
    thr_index_free(index);
    assert_int_equal(truncate(journal_of(DIR_A), (off_t)1 << 30), 0);
    expect_error(thr_index_open(*state, DIR_A, &index, &err), THR_ECORRUPT, NULL);
    assert_non_null(strstr(err.text, "larger than a journal can be"));
}

static size_t size_of_journal(void) {
    struct stat st;
    assert_int_equal(stat(journal_of(DIR_A), &st), 0);
    return (size_t)st.st_size;
}

/* A writer keeps zeros after the last frame. Readers, and writers after one that was killed, do not mind them. */
TEST(room_at_the_end_of_a_journal_is_ignored) {
    float vector[DIMS] = {1};
    const thr_matrix one = thr_matrix_f32(vector, 1, DIMS);
    thr_index *index = NULL, *newer = NULL;
    size_t size;
    create_empty(*state, DIR_A, THR_METRIC_COSINE, THR_DTYPE_F32, false);
    thr_index_writer *writer = open_writer(*state, DIR_A, JOURNAL);
    expect_ok(thr_index_writer_add(writer, &one, NULL, NULL, NULL, &err));
    assert_true(size_of_journal() > 8 * sizeof vector + THR_JOURNAL_HEADER + THR_FRAME_HEADER);
    expect_ok(thr_index_open(*state, DIR_A, &index, &err));
    expect_ok(thr_index_verify(index, &err));
    for (uint64_t n = 2; n < 40; n++) {
        const size_t before = size_of_journal();
        expect_ok(thr_index_refresh(index, &newer, &err));
        assert_null(newer);
        expect_ok(thr_index_writer_add(writer, &one, NULL, NULL, NULL, &err));
        assert_int_equal(size_of_journal(), before);
        expect_ok(thr_index_refresh(index, &newer, &err));
        assert_non_null(newer);
        thr_index_free(index);
        index = newer;
        assert_int_equal(thr_index_get_info(index).n_items, n);
    }
    thr_index_free(index);
    uint8_t *with_room = test_bytes_of(journal_of(DIR_A), &size);
    thr_index_writer_free(writer);
    assert_true(size_of_journal() < size);
    test_write_file(journal_of(DIR_A), with_room, size); /* as if the writer had been killed */
    writer = open_writer(*state, DIR_A, JOURNAL);
    expect_ok(thr_index_writer_add(writer, &one, NULL, NULL, NULL, &err));
    thr_index_writer_free(writer);
    expect_ok(thr_index_open(*state, DIR_A, &index, &err));
    assert_int_equal(thr_index_get_info(index).n_items, 40);
    expect_ok(thr_index_verify(index, &err));
    thr_index_free(index);
}

TEST_IN_CONTEXT(2, NULL)
