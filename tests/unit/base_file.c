/* SPDX-License-Identifier: Apache-2.0 */
/* base_file.c - maps of whole files, and directories. Works in a directory it makes. */
#include "test.h"

#include "base/files/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

static test_memory memory;
static thr_context context;

static int make_directory(void **state) {
    (void)state;
    context.allocator = test_memory_allocator(&memory);
    return test_directory_make("base_file");
}

TEST(a_map_shows_the_bytes_of_a_file) {
    const char *path = test_path_of("mapped");
    char data[5000];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (char)(i * 7);
    test_write_file(path, data, sizeof data);
    thr_map map;
    expect_ok(thr_map_open(path, &map, &err));
    assert_int_equal(map.size, sizeof data);
    assert_memory_equal(map.data, data, sizeof data);
    expect_ok(thr_map_check(&map, path, &err));
    thr_map_close(&map);
    thr_map_close(&map);
    (void)unlink(path);
}

TEST(an_empty_file_is_a_map_of_no_bytes) {
    const char *path = test_path_of("empty");
    test_write_file(path, "", 0);
    thr_map map;
    expect_ok(thr_map_open(path, &map, &err));
    assert_int_equal(map.size, 0);
    assert_null(map.data);
    thr_map_close(&map);
    (void)unlink(path);
}

TEST(what_is_missing_or_no_plain_file_is_refused_by_name) {
    thr_map map;
    expect_error(thr_map_open(test_path_of("nothing"), &map, &err), THR_ENOTFOUND, "nothing");
    expect_error(thr_map_open(test_directory(), &map, &err), THR_EFORMAT, test_directory());
    /* A pipe nobody writes to must not make us wait. */
    const char *fifo = test_path_of("pipe");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    expect_error(thr_map_open(fifo, &map, &err), THR_EFORMAT, "pipe");
    thr_map_close(&map);
    (void)unlink(fifo);
}

TEST(a_change_under_the_map_is_noticed) {
    const char *path = test_path_of("changing");
    thr_map map;
    test_write_file(path, "0123456789", 10);
    expect_ok(thr_map_open(path, &map, &err));
    assert_int_equal(truncate(path, 5), 0);
    expect_error(thr_map_check(&map, path, &err), THR_ECHANGED,
                 "10 bytes then, 5 now): it was truncated; restore or rebuild it");
    thr_map_close(&map);

    test_write_file(path, "0123456789", 10);
    expect_ok(thr_map_open(path, &map, &err));
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 12345, .tv_nsec = 678}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    expect_error(thr_map_check(&map, path, &err), THR_ECHANGED,
                 "was written or touched since it was opened: open it again, or refresh the index");
    thr_map_close(&map);
    (void)unlink(path);
}

TEST(a_map_keeps_no_descriptor) {
    const char *path = test_path_of("mapped");
    thr_map map;
    test_write_file(path, "0123456789", 10);
    const int before = dup(0);
    (void)close(before);
    expect_ok(thr_map_open(path, &map, &err));
    const int after = dup(0);
    (void)close(after);
    assert_int_equal(after, before);
    thr_map_close(&map);
    (void)unlink(path);
}

TEST(a_deleted_or_replaced_file_is_read_through_its_map) {
    const char *path = test_path_of("mapped");
    char bytes[16];
    int fd;
    thr_map map;
    test_write_file(path, "0123456789", 10);
    expect_ok(thr_map_open(path, &map, &err));
    expect_ok(thr_map_reopen(&map, path, &fd, &err));
    assert_true(fd >= 0);
    (void)close(fd);
    assert_int_equal(unlink(path), 0);
    for (int replaced = 0; replaced < 2; replaced++) {
        if (replaced)
            test_write_file(path, "other", 5);
        expect_ok(thr_map_check(&map, path, &err));
        assert_false(thr_map_is_at(&map, path));
        expect_ok(thr_map_reopen(&map, path, &fd, &err));
        assert_int_equal(fd, -1);
        size_t got = sizeof bytes;
        expect_ok(thr_map_read(&map, fd, path, 6, bytes, &got, &err));
        assert_int_equal(got, 4);
        assert_memory_equal(bytes, "6789", 4);
    }
    thr_map_close(&map);
    (void)unlink(path);
}

TEST(directories_are_made_once) {
    bool made = false;
    char path[128];
    (void)snprintf(path, sizeof path, "%s", test_path_of("dir"));
    expect_ok(thr_dir_make(path, &made, &err));
    assert_true(made);
    expect_ok(thr_dir_make(path, &made, &err));
    assert_false(made);
    expect_ok(thr_dir_sync(path, &err));
    (void)rmdir(path);
    expect_error(thr_dir_sync(path, &err), THR_ENOTFOUND, "dir");
    test_write_file(path, "", 0);
    expect_error(thr_dir_make(path, &made, &err), THR_EEXIST, "dir");
    (void)unlink(path);
    expect_error(thr_dir_make(test_path_of("a/b"), &made, &err), THR_ENOTFOUND, "a/b");
    char *joined = NULL;
    expect_ok(thr_path_join(&context, "a", "b.c", &joined, &err));
    assert_string_equal(joined, "a/b.c");
    thr_release(&context, joined);
    assert_int_equal(memory.live, 0);
}

TEST_GROUP(make_directory, test_directory_remove)
