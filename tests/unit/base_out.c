/* SPDX-License-Identifier: Apache-2.0 */
/* base_out.c - files that appear whole or not at all: their temporary names, leftovers, links, writers side by side. */
#define _DEFAULT_SOURCE /* flock, mkdtemp */
#include "test.h"

#include "base/files/file.h"
#include "base/files/out.h"
#include "base/files/target.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static test_memory memory;
static thr_context context;

static int make_directory(void **state) {
    (void)state;
    context.allocator = test_memory_allocator(&memory);
    return test_directory_make("base_out");
}

static void expect_text(const char *path, const char *wanted) {
    char text[64] = "";
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    assert_string_equal(text, wanted);
}

/* Names in the directory; the last one that is a temporary file's is copied to temporary, where that is not NULL. */
static size_t count_names(char *temporary, size_t size) {
    size_t n = 0, length;
    DIR *names = opendir(test_directory());
    assert_non_null(names);
    for (struct dirent *entry = readdir(names); entry != NULL; entry = readdir(names)) {
        n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
        if (temporary != NULL && thr_out_is_temporary(entry->d_name, &length))
            (void)snprintf(temporary, size, "%s", entry->d_name);
    }
    (void)closedir(names);
    return n;
}

static void put(const char *path, const char *text) {
    thr_out out;
    expect_ok(thr_out_open(&context, path, &out, &err));
    expect_ok(thr_out_write(&out, text, strlen(text), &err));
    expect_ok(thr_out_publish(&out, &err));
}

/* ------------------------------------------------------------------------------------------------ one writer */

TEST(a_published_file_has_all_bytes_and_no_temporary_remains) {
    const char *path = test_path_of("new");
    thr_out out;
    expect_ok(thr_out_open(&context, path, &out, &err));
    assert_false(test_exists(path));
    assert_int_equal(count_names(NULL, 0), 1);
    expect_ok(thr_out_write(&out, "12345", 5, &err));
    expect_ok(thr_out_align(&out, &err));
    assert_int_equal(out.position, 64);
    expect_ok(thr_out_align(&out, &err));
    assert_int_equal(out.position, 64);
    thr_out_flush_hint(&out);
    expect_ok(thr_out_write(&out, "end", 3, &err));
    expect_ok(thr_out_write_at(&out, 1, "XY", 2, &err));
    assert_int_equal(out.position, 67);
    assert_false(test_exists(path));
    expect_ok(thr_out_publish(&out, &err));
    thr_out_drop(&out);
    assert_int_equal(count_names(NULL, 0), 1);

    char wanted[67] = "1XY45";
    memcpy(wanted + 64, "end", 3);
    thr_map map;
    expect_ok(thr_map_open(path, &map, &err));
    assert_int_equal(map.size, 67);
    assert_memory_equal(map.data, wanted, 67);
    thr_map_close(&map);
    (void)unlink(path);
    assert_int_equal(memory.live, 0);
}

TEST(a_dropped_file_never_was_and_the_old_one_stays) {
    const char *path = test_path_of("old");
    thr_out out = {.context = NULL};
    thr_out_drop(&out);
    test_write_text(path, "old");
    expect_ok(thr_out_open(&context, path, &out, &err));
    expect_ok(thr_out_write(&out, "newer", 5, &err));
    thr_out_drop(&out);
    thr_out_drop(&out);
    assert_int_equal(count_names(NULL, 0), 1);
    expect_text(path, "old");
    (void)unlink(path);
    assert_int_equal(memory.live, 0);
}

TEST(what_cannot_be_replaced_by_a_file_is_refused_at_once) {
    thr_out out;
    expect_error(thr_out_open(&context, test_path_of("no/such/dir"), &out, &err), THR_ENOTFOUND, "no/such/dir");
    expect_error(thr_out_open(&context, "", &out, &err), THR_EINVAL, "empty");
    expect_error(thr_out_open(&context, test_path_of("new/"), &out, &err), THR_EIO, "new/: is a directory");
    assert_int_equal(mkfifo(test_path_of("pipe"), 0600), 0);
    expect_error(thr_out_open(&context, test_path_of("pipe"), &out, &err), THR_EIO,
                 "pipe: is a pipe or device, not a regular file");
    assert_int_equal(unlink(test_path_of("pipe")), 0);
    assert_int_equal(mkdir(test_path_of("taken"), 0777), 0);
    expect_error(thr_out_open(&context, test_path_of("taken"), &out, &err), THR_EIO, "taken: is a directory");
    thr_out_drop(&out);
    assert_int_equal(rmdir(test_path_of("taken")), 0);
    /* One that comes between leaves nothing, too. */
    expect_ok(thr_out_open(&context, test_path_of("taken"), &out, &err));
    assert_int_equal(mkdir(test_path_of("taken"), 0777), 0);
    expect_error(thr_out_publish(&out, &err), THR_EIO, "taken: cannot rename into place");
    assert_int_equal(rmdir(test_path_of("taken")), 0);
    assert_int_equal(count_names(NULL, 0), 0);
    assert_int_equal(memory.live, 0);
}

/* By a user who may not do everything. */
static bool is_refused_in(const char *dir) {
    char path[500];
    thr_out out;
    (void)snprintf(path, sizeof path, "%s/file", dir);
    return (geteuid() != 0 || setuid(65534) == 0) && thr_out_open(&context, path, &out, &err) == THR_EIO &&
           strstr(err.text, "locked/file: cannot create: no permission to write in ") != NULL;
}

TEST(a_directory_without_permission_is_named) {
    assert_int_equal(mkdir(test_path_of("locked"), 0777), 0);
    assert_int_equal(chmod(test_path_of("locked"), 0555), 0);
    assert_int_equal(chmod(test_directory(), 0711), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(is_refused_in(test_path_of("locked")) ? 0 : 1);
    int ended = -1;
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_int_equal(chmod(test_directory(), 0700), 0);
    assert_int_equal(rmdir(test_path_of("locked")), 0);
    assert_int_equal(ended, 0);
}

TEST(every_failing_allocation_is_clean) {
    test_oom oom = test_oom_start(&memory);
    while (test_oom_next(&oom)) {
        thr_out out;
        test_oom_arm(&oom);
        const thr_status status = thr_out_open(&context, test_path_of("never"), &out, &err);
        if (test_oom_check(&oom, status, &err, "name"))
            thr_out_drop(&out);
        assert_int_equal(count_names(NULL, 0), 0);
    }
    assert_int_equal(oom.n_failed, 2);
}

TEST(a_full_disk_is_enospace) {
    if (!test_exists("/dev/full"))
        skip();
    char name[] = "full";
    thr_out out = {.fd = open("/dev/full", O_WRONLY), .path = name, .context = &context};
    expect_error(thr_out_write(&out, "x", 1, &err), THR_ENOSPACE, "full");
    (void)close(out.fd);
}

/* As the program does, which ignores the signal that would end it. */
TEST(a_file_that_may_not_grow_is_an_error_and_leaves_nothing) {
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const struct rlimit limit = {.rlim_cur = 4, .rlim_max = 4};
        thr_out out;
        (void)signal(SIGXFSZ, SIG_IGN);
        (void)setrlimit(RLIMIT_FSIZE, &limit);
        bool right = thr_out_open(&context, test_path_of("large"), &out, &err) == THR_OK;
        right = right && thr_out_write(&out, "12345678", 8, &err) == THR_EIO;
        right = right && strstr(err.text, "large: cannot write: File too large") != NULL;
        thr_out_drop(&out);
        _exit(right ? 0 : 1);
    }
    int ended = -1;
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_int_equal(ended, 0);
    assert_int_equal(count_names(NULL, 0), 0);
}

/* ------------------------------------------------------------------------------------------------ bits and links */

static mode_t bits_of(const char *path) {
    struct stat st;
    assert_int_equal(lstat(path, &st), 0);
    return st.st_mode & 07777;
}

TEST(a_new_file_has_the_bits_of_the_umask_and_one_that_is_replaced_keeps_its_own) {
    const char *path = test_path_of("bits");
    const mode_t before = umask(027);
    put(path, "1");
    assert_int_equal(bits_of(path), 0640);
    assert_int_equal(chmod(path, 0604), 0);
    put(path, "2");
    assert_int_equal(bits_of(path), 0604);
    assert_int_equal(chmod(path, 0400), 0);
    put(path, "3");
    assert_int_equal(bits_of(path), 0400);
    expect_text(path, "3");
    (void)umask(before);
    (void)unlink(path);
}

static bool is_link(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

/* Through a relative link to an absolute one, in another directory. */
TEST(a_link_at_the_target_stays_and_the_file_that_it_names_is_written) {
    char absolute[4096], here[2048];
    assert_non_null(getcwd(here, sizeof here));
    (void)snprintf(absolute, sizeof absolute, "%s/%s", here, test_path_of("other/named"));
    assert_int_equal(mkdir(test_path_of("other"), 0777), 0);
    assert_int_equal(symlink(absolute, test_path_of("second")), 0);
    assert_int_equal(symlink("second", test_path_of("link")), 0);
    for (int i = 0; i < 2; i++) { /* the file does not exist, then it does */
        put(test_path_of("link"), i == 0 ? "new" : "newer");
        expect_text(absolute, i == 0 ? "new" : "newer");
        assert_true(is_link(test_path_of("link")) && is_link(test_path_of("second")));
    }
    (void)unlink(absolute);
    (void)rmdir(test_path_of("other"));
    (void)unlink(test_path_of("second"));
    (void)unlink(test_path_of("link"));
    assert_int_equal(count_names(NULL, 0), 0);
}

TEST(links_that_lead_to_no_name_of_a_file_are_refused) {
    const char *path = test_path_of("link");
    char descriptor[64];
    thr_out out;
    int fd = -1;
    test_write_text(test_path_of("opened"), "mine");
    const int opened = open(test_path_of("opened"), O_RDWR | O_APPEND | O_CLOEXEC);
    (void)snprintf(descriptor, sizeof descriptor, "/proc/self/fd/%d", opened);
    if (access("/proc/self/fd", X_OK) == 0) {
        assert_int_equal(symlink(descriptor, path), 0);
        expect_error(thr_out_open(&context, path, &out, &err), THR_EIO, "is an open file of a process");
        assert_true(thr_target_is_stream(path) && thr_target_is_stream(descriptor) && is_link(path));
        expect_ok(thr_target_open_stream(path, &fd, &err));
        assert_int_equal(write(fd, " new", 4), 4);
        (void)close(fd);
        expect_text(test_path_of("opened"), "mine new");
        (void)unlink(path);
    }
    (void)close(opened);
    assert_false(thr_target_is_stream(test_path_of("opened")));
    assert_int_equal(symlink("link", path), 0);
    expect_error(thr_out_open(&context, path, &out, &err), THR_EIO, "Too many levels of symbolic links");
    (void)unlink(path);
    (void)unlink(test_path_of("opened"));
    assert_int_equal(count_names(NULL, 0), 0);
}

/* A link of another user in a directory where all may write: the system refuses to follow it, too. */
TEST(a_planted_link_is_refused) {
    thr_out out;
    if (geteuid() != 0)
        skip();
    assert_int_equal(mkdir(test_path_of("all"), 0777), 0);
    assert_int_equal(chmod(test_path_of("all"), 01777), 0);
    assert_int_equal(symlink("named", test_path_of("all/link")), 0);
    put(test_path_of("all/link"), "own");
    expect_text(test_path_of("all/named"), "own");
    assert_int_equal(lchown(test_path_of("all/link"), 12345, 12345), 0);
    expect_error(thr_out_open(&context, test_path_of("all/link"), &out, &err), THR_EIO,
                 "is a link that another user made in a directory where all may write");
    expect_text(test_path_of("all/named"), "own");
    (void)unlink(test_path_of("all/named"));
    (void)unlink(test_path_of("all/link"));
    (void)rmdir(test_path_of("all"));
}

TEST(a_directory_is_made_where_a_link_names_it) {
    bool made = false;
    struct stat st;
    assert_int_equal(symlink("named", test_path_of("link")), 0);
    for (int i = 0; i < 2; i++) {
        expect_ok(thr_dir_make(test_path_of("link"), &made, &err));
        assert_true(made == (i == 0) && stat(test_path_of("named"), &st) == 0 && S_ISDIR(st.st_mode));
    }
    assert_true(is_link(test_path_of("link")));
    (void)unlink(test_path_of("link"));
    (void)rmdir(test_path_of("named"));
}

TEST(links_at_names_that_can_be_guessed_are_not_followed) {
    static const char *const names[] = {"t.tmp", ".t.tmp", "t.0", ".t.0000000000000000.tmp"};
    thr_out out;
    char temporary[300] = "";
    test_write_text(test_path_of("victim"), "mine");
    for (size_t i = 0; i < COUNT_OF(names); i++)
        assert_int_equal(symlink("victim", test_path_of(names[i])), 0);
    put(test_path_of("t"), "new");
    expect_text(test_path_of("victim"), "mine");
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        assert_true(test_exists(test_path_of(names[i])));
        (void)unlink(test_path_of(names[i]));
    }
    /* Nor is one that takes the name over while the file is written: that fails, or replaces the link by itself. */
    expect_ok(thr_out_open(&context, test_path_of("t"), &out, &err));
    assert_int_equal(count_names(temporary, sizeof temporary), 3);
    assert_int_equal(unlink(test_path_of(temporary)), 0);
    assert_int_equal(symlink("victim", test_path_of(temporary)), 0);
    expect_ok(thr_out_write(&out, "more", 4, &err));
    thr_out_drop(&out);
    expect_text(test_path_of("victim"), "mine");
    (void)unlink(test_path_of("victim"));
    (void)unlink(test_path_of("t"));
    assert_int_equal(count_names(NULL, 0), 0);
}

TEST(a_file_of_the_users_that_ends_in_tmp_stays) {
    static const char *const names[] = {"x.tmp",
                                        ".x.tmp",
                                        ".x.0123456789abcde.tmp",
                                        ".x.0123456789abcdeg.tmp",
                                        ".x.0123456789abcdef.tmp2",
                                        "x.0123456789abcdef.tmp",
                                        ".y.0123456789abcdef.tmp"};
    enum { N_NAMES = COUNT_OF(names) };
    for (size_t i = 0; i < N_NAMES; i++)
        test_write_text(test_path_of(names[i]), "mine");
    put(test_path_of("x"), "new");
    for (size_t i = 0; i < N_NAMES; i++) {
        expect_text(test_path_of(names[i]), "mine");
        (void)unlink(test_path_of(names[i]));
    }
    (void)unlink(test_path_of("x"));
    assert_int_equal(count_names(NULL, 0), 0);
}

/* ------------------------------------------------------------------------------------------------ names */

TEST(names_of_temporary_files_are_recognised) {
    size_t length = 0;
    assert_true(thr_out_is_temporary(".x.0123456789abcdef.tmp", &length));
    assert_int_equal(length, 1);
    assert_true(thr_out_is_temporary("..a.b.0123456789abcdef.tmp", &length));
    assert_int_equal(length, 4);
    assert_false(thr_out_is_temporary("..0123456789abcdef.tmp", &length));
    assert_false(thr_out_is_temporary(".x.0123456789abcdeF.tmp", &length));
    assert_false(thr_out_is_temporary(".x.0123456789abcdef.tm", &length));
    assert_false(thr_out_is_temporary("", &length));
}

TEST(names_may_be_as_long_as_the_file_system_has_them) {
    char name[257];
    for (size_t length = 225; length <= 255; length++) {
        memset(name, 'n', length);
        name[length] = '\0';
        put(test_path_of(name), "long");
        expect_text(test_path_of(name), "long");
        (void)unlink(test_path_of(name));
    }
    thr_out out;
    memset(name, 'n', 256);
    name[256] = '\0';
    expect_error(thr_out_open(&context, test_path_of(name), &out, &err), THR_EIO, "nnn");
    assert_int_equal(count_names(NULL, 0), 0);
}

/* ------------------------------------------------------------------------------------------------ many writers */

TEST(two_writers_in_one_process_keep_apart) {
    thr_out a, b;
    expect_ok(thr_out_open(&context, test_path_of("both"), &a, &err));
    expect_ok(thr_out_write(&a, "aaaa", 4, &err));
    expect_ok(thr_out_open(&context, test_path_of("both"), &b, &err));
    assert_int_equal(count_names(NULL, 0), 2);
    expect_ok(thr_out_write(&b, "bb", 2, &err));
    expect_ok(thr_out_write(&a, "aaaa", 4, &err));
    expect_ok(thr_out_publish(&b, &err));
    expect_text(test_path_of("both"), "bb");
    expect_ok(thr_out_publish(&a, &err));
    expect_text(test_path_of("both"), "aaaaaaaa");
    (void)unlink(test_path_of("both"));
    assert_int_equal(count_names(NULL, 0), 0);
}

enum { ROUNDS = 40, PIECES = 64, PIECE = 64 };

/* All bytes of a file are one letter, and it is whole. */
static bool is_of_one_writer(const char *path) {
    char text[PIECES * PIECE + 1];
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return false;
    const size_t n = fread(text, 1, sizeof text, file);
    (void)fclose(file);
    for (size_t i = 1; i < n; i++)
        if (text[i] != text[0])
            return false;
    return n == PIECES * PIECE;
}

static int write_often(const char *path, char letter) {
    char piece[PIECE];
    memset(piece, letter, sizeof piece);
    for (int round = 0; round < ROUNDS; round++) {
        thr_out out;
        if (thr_out_open(&context, path, &out, &err) != THR_OK)
            return 1;
        for (int i = 0; i < PIECES; i++)
            if (thr_out_write(&out, piece, sizeof piece, &err) != THR_OK)
                return 2;
        if (thr_out_publish(&out, &err) != THR_OK)
            return 3;
        if (!is_of_one_writer(path))
            return 4;
    }
    return 0;
}

TEST(two_processes_that_write_one_file_publish_whole_ones) {
    const char *path = test_path_of("raced");
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(write_often(path, 'b'));
    const int mine = write_often(path, 'a');
    int ended = -1;
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_int_equal(mine, 0);
    assert_int_equal(ended, 0);
    (void)unlink(path);
    assert_int_equal(count_names(NULL, 0), 0);
}

TEST(leftovers_of_the_dead_go_and_files_of_the_living_stay) {
    thr_out living;
    char left[300] = "";
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        thr_out out;
        if (thr_out_open(&context, test_path_of("t"), &out, &err) != THR_OK ||
            thr_out_write(&out, "half", 4, &err) != THR_OK)
            _exit(1);
        (void)raise(SIGKILL);
    }
    int ended = 0;
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(WIFSIGNALED(ended));
    assert_int_equal(count_names(left, sizeof left), 1);
    /* A target whose name only begins like that one. */
    expect_ok(thr_out_open(&context, test_path_of("t2"), &living, &err)); /* whose name only begins like this */
    assert_int_equal(count_names(NULL, 0), 2);
    thr_out_drop(&living);
    assert_true(test_exists(test_path_of(left)));

    expect_ok(thr_out_open(&context, test_path_of("t"), &living, &err));
    assert_false(test_exists(test_path_of(left)));
    expect_ok(thr_out_write(&living, "living", 6, &err));
    put(test_path_of("t"), "other");
    assert_int_equal(count_names(NULL, 0), 2);
    expect_ok(thr_out_publish(&living, &err));
    expect_text(test_path_of("t"), "living");
    (void)unlink(test_path_of("t"));
    assert_int_equal(count_names(NULL, 0), 0);
}

/* ------------------------------------------------------------------------------------------------ before the work */

TEST(an_input_is_known_by_all_its_names) {
    char dotted[420];
    const char *input = test_path_of("input.tsv"), *other = test_path_of("other");
    test_write_text(input, "1");
    test_write_text(other, "1");
    assert_int_equal(link(input, test_path_of("hard")), 0);
    assert_int_equal(symlink("input.tsv", test_path_of("soft")), 0);
    (void)snprintf(dotted, sizeof dotted, "./%s", input);
    const char *const names[] = {input, test_path_of("hard"), test_path_of("soft"), dotted};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        expect_error(thr_out_check_input(names[i], input, &err), THR_EINVAL, "is also the input");
        expect_error(thr_out_check_input(names[i], test_path_of("input.tsv:2"), &err), THR_EINVAL, "input.tsv:2");
        expect_ok(thr_out_check_input(names[i], other, &err));
        expect_ok(thr_out_check_input(names[i], NULL, &err));
    }
    expect_ok(thr_out_check_input(test_path_of("new"), input, &err));
    expect_ok(thr_out_check_input(test_path_of("new"), test_path_of("new"), &err));
    expect_ok(thr_out_check_input("/dev/null", "/dev/null", &err));
    for (size_t i = 1; i < 3; i++)
        (void)unlink(names[i]);
    (void)unlink(input);
    (void)unlink(other);
}

TEST(only_what_is_of_the_kind_or_empty_is_replaced) {
    const char *path = test_path_of("kind");
    expect_ok(thr_out_check_kind(path, "mine", 4, "one of mine", &err));
    expect_ok(thr_out_check_kind(test_path_of("no/dir"), "mine", 4, "one of mine", &err));
    test_write_text(path, "");
    expect_ok(thr_out_check_kind(path, "mine", 4, "one of mine", &err));
    test_write_text(path, "mine and more");
    expect_ok(thr_out_check_kind(path, "mine", 4, "one of mine", &err));
    test_write_text(path, "min");
    expect_error(thr_out_check_kind(path, "mine", 4, "one of mine", &err), THR_EEXIST, "is not one of mine");
    (void)unlink(path);
}

TEST_GROUP(make_directory, test_directory_remove)
