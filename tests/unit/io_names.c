/* SPDX-License-Identifier: Apache-2.0 */
/* io_names.c - from names to readers: endings, parts, guesses, things that are no files, and standard input. */
#include "unit/io_files.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "io/endings.h"

/* "-" for standard input, else the path; then the part. */
static void check_name(const char *name, const char *path, const char *part, thr_packing packing, const char *ending) {
    char *room = test_new(1, strlen(name) + 1); /* exactly, so that a sanitizer sees one byte more */
    thr_source source;
    const thr_ending *found = NULL;
    expect_ok(thr_io_ending_find(name, room, &source, &found, &err));
    assert_string_equal(source.path != NULL ? source.path : "-", path);
    assert_int_equal(source.part != NULL, part != NULL);
    if (part != NULL)
        assert_string_equal(source.part, part);
    assert_int_equal(source.packing, packing);
    assert_string_equal(source.ending, ending);
}

TEST(names_are_taken_apart) {
    check_name("a.npy", "a.npy", NULL, THR_PACKING_NONE, ".npy");
    check_name("dir.txt/a.b.fvecs.gz", "dir.txt/a.b.fvecs.gz", NULL, THR_PACKING_GZ, ".fvecs");
    check_name("a.f16bin.xz", "a.f16bin.xz", NULL, THR_PACKING_XZ, ".f16bin");
    check_name("-.npy", "-", NULL, THR_PACKING_NONE, ".npy");
    check_name("-.txt.gz", "-", NULL, THR_PACKING_GZ, ".txt");
    check_name("-.ibin:distances", "-", "distances", THR_PACKING_NONE, ".ibin");
    check_name("./-.npy", "./-.npy", NULL, THR_PACKING_NONE, ".npy");
    check_name("-a.npy", "-a.npy", NULL, THR_PACKING_NONE, ".npy");
    check_name("--.npy", "--.npy", NULL, THR_PACKING_NONE, ".npy");
    check_name("t.ibin:distances", "t.ibin", "distances", THR_PACKING_NONE, ".ibin");
    check_name("t.ibin.gz:distances", "t.ibin.gz", "distances", THR_PACKING_GZ, ".ibin");
    check_name("x:y.h5:a:b/c.d", "x:y.h5", "a:b/c.d", THR_PACKING_NONE, ".h5");
    check_name("a.hdf5", "a.hdf5", NULL, THR_PACKING_NONE, ".hdf5");
    check_name("a.hdf5:", "a.hdf5", "", THR_PACKING_NONE, ".hdf5");
    check_name("a.tsv:4", "a.tsv", "4", THR_PACKING_NONE, ".tsv");
    check_name("-.tsv.xz:4", "-", "4", THR_PACKING_XZ, ".tsv");
    check_name("a.csv.gz:product: title", "a.csv.gz", "product: title", THR_PACKING_GZ, ".csv");
}

static void check_unknown(const char *name, const char *nearest) {
    thr_reader *reader = NULL;
    const thr_image nothing = {.data = ""};
    assert_int_equal(thr_io_reader_open_memory(io_context, name, &nothing, &reader, &err), THR_EINVAL);
    assert_null(reader);
    assert_contains(err.text, ".npy .fvecs .bvecs .ivecs .fbin .f16bin .u8bin .i8bin .ibin .hdf5 .h5 .txt .tsv .csv");
    if (nearest != NULL)
        assert_contains(err.text, nearest);
    else
        assert_null(strstr(err.text, "did you mean"));
}

TEST(unknown_endings_list_the_known_and_the_nearest) {
    check_unknown("a.npz", NULL);
    check_unknown("a.safetensors", NULL);
    check_unknown("a.svm", NULL);
    check_unknown("a.fvec", "did you mean .fvecs?");
    check_unknown("a.NPY", "did you mean .npy?");
    check_unknown("a.i32bin.gz", "did you mean .ibin?");
    check_unknown("a.hdf", "did you mean .hdf5?");
    check_unknown("a.parquet", NULL);
    check_unknown("a.tvs", "did you mean .tsv?");
    check_unknown("a.text", "did you mean .txt?");
    check_unknown("a", NULL);
    check_unknown("-", NULL);
    check_unknown(".npy", "did you mean .npy?"); /* an ending alone is no name */
    check_unknown("a.gz", NULL);
    check_unknown("a.fbin:distances", "did you mean .fbin?");
    check_unknown("a.0123456789012345678901234567890123456789", NULL);
    check_unknown("a.b/c", NULL);
    check_unknown(":", NULL);
}

TEST(what_is_no_file_is_refused) {
    thr_reader *reader = NULL;
    const char *missing = in_dir("missing.npy");
    expect_error(thr_reader_open(io_context, missing, &reader, &err), THR_ENOTFOUND, missing);
    static const char *const names[] = {"dir.npy", "dir.fvecs", "dir.ibin", "dir.txt", "dir.npy.gz", "dir.hdf5"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const char *dir = in_dir(names[i]);
        assert_int_equal(mkdir(dir, 0777), 0);
        thr_status status = thr_reader_open(io_context, dir, &reader, &err);
        assert_true(status == THR_EFORMAT || status == THR_EUNSUPPORTED); /* unsupported in builds without HDF5 or gz */
        assert_null(reader);
    }
    assert_int_equal(thr_reader_open(io_context, in_dir("none/a.npy"), &reader, &err), THR_ENOTFOUND);
}

TEST(empty_files_of_formats_without_a_header_have_no_rows) {
    static const char *const names[] = {"e.fvecs", "e.bvecs", "e.ivecs", "e.txt", "e.tsv:2", "e.csv:name"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        for (int sized = 0; sized < 2; sized++) {
            bytes got = {0};
            expect_ok(read_all_memory(io_context, names[i], "", 0, sized, 1, &got, &err));
            assert_int_equal(got.size, 0);
        }
    }
}

TEST(empty_files_of_formats_with_a_header_are_refused) {
    static const char *const names[] = {"e.npy", "e.fbin", "e.ibin",
#ifdef THR_WITH_GZ
                                        "e.txt.gz"
#endif
    };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        bytes none = {0}, got = {0};
        const char *path = write_file(names[i], &none);
        expect_error(read_all(io_context, path, 1, &got, &err), THR_ECORRUPT, "empty");
        assert_contains(err.text, path);
        expect_error(read_all_memory(io_context, names[i], "", 0, false, 1, &got, &err), THR_ECORRUPT, "empty");
    }
}

TEST(a_name_with_control_bytes_stays_one_line) {
    thr_reader *reader = NULL;
    assert_int_equal(thr_reader_open(io_context, "a\nb\x1b[2J.npy", &reader, &err), THR_ENOTFOUND);
    assert_null(strpbrk(err.text, "\n\x1b"));
    assert_int_equal(thr_reader_open(io_context, "a.fvecs", &reader, NULL), THR_ENOTFOUND);
}

TEST(a_very_long_name_is_no_harm) {
    enum { N = 10000 };
    char *name = test_new(1, N + 5);
    memset(name, 'a', N);
    memcpy(name + N, ".npy", 5);
    thr_reader *reader = NULL;
    assert_int_equal(thr_reader_open(io_context, name, &reader, &err), THR_EIO);
    name[N] = 'x';
    assert_int_equal(thr_reader_open(io_context, name, &reader, &err), THR_EINVAL);
}

/* Put a file where standard input is, and give the old one back. */
static int replace_stdin(int fd) {
    int before = dup(STDIN_FILENO);
    assert_int_equal(dup2(fd, STDIN_FILENO), STDIN_FILENO);
    (void)close(fd);
    return before;
}

static void restore_stdin(int before) {
    if (before < 0) {
        (void)close(STDIN_FILENO); /* there was none */
        return;
    }
    (void)dup2(before, STDIN_FILENO);
    (void)close(before);
}

/* Write a file's bytes slowly, in pieces. Returns the process that does so. */
static pid_t write_slowly(const bytes *file, int to) {
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child != 0)
        return child;
    for (size_t i = 0; i < file->size; i += 100) {
        size_t n = file->size - i < 100 ? file->size - i : 100;
        if (write(to, file->data + i, n) != (ssize_t)n)
            _exit(1);
        (void)poll(NULL, 0, 2); /* milliseconds */
    }
    _exit(0);
}

TEST(standard_input_is_read_in_order) {
    bytes file = {0};
    put_npy(&file, "<f4", 4, 50, 3);
    for (int nonblocking = 0; nonblocking < 2; nonblocking++) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        if (nonblocking)
            assert_int_not_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), -1);
        const pid_t child = write_slowly(&file, ends[1]);
        (void)close(ends[1]);
        int before = replace_stdin(ends[0]);
        thr_reader *reader = NULL;
        thr_status status = thr_reader_open(io_context, "-.npy", &reader, &err);
        bytes got = {0};
        uint64_t n = 0;
        if (status == THR_OK) {
            assert_false(thr_reader_get_shape(reader).seekable);
            assert_int_equal(thr_reader_get_shape(reader).n_rows, 50);
            status = read_rows(reader, 7, &got, &n, &err);
        }
        thr_reader_free(reader);
        assert_int_not_equal(fcntl(STDIN_FILENO, F_GETFD), -1); /* it stays open */
        restore_stdin(before);
        (void)waitpid(child, NULL, 0);
        expect_ok(status);
        assert_int_equal(n, 50);
        assert_memory_equal(got.data, file.data + file.size - got.size, got.size);
    }
}

TEST(a_file_as_standard_input_is_read_from_its_position) {
    bytes file = {0}, got = {0};
    put_text(&file, "skipped\nread\n");
    int fd = open(write_file("in.txt", &file), O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(lseek(fd, 8, SEEK_SET), 8);
    int before = replace_stdin(fd);
    thr_status status = read_all(io_context, "-.txt", 1, &got, &err);
    restore_stdin(before);
    expect_ok(status);
    assert_int_equal(got.size, 5);
}

TEST(a_fifo_is_read_in_order) {
    bytes file = {0}, got = {0};
    put_vecs(&file, 4, 2000, 30);
    const char *path = in_dir("fifo.fvecs");
    assert_int_equal(mkfifo(path, 0600), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int fd = open(path, O_WRONLY);
        for (size_t i = 0; i < file.size;) {
            ssize_t n = write(fd, file.data + i, file.size - i);
            if (n <= 0)
                _exit(1);
            i += (size_t)n;
        }
        _exit(0);
    }
    expect_ok(read_all(io_context, path, 100, &got, &err));
    (void)waitpid(child, NULL, 0);
    assert_int_equal(got.size, 2000 * 120);
    for (size_t i = 0; i < got.size; i++)
        assert_int_equal(got.data[i], pattern(i));
}

TEST(hdf5_is_not_read_through_pipes_or_packings) {
    static const char *const names[] = {"-.hdf5:train", "a.hdf5.gz:train", "a.h5.xz"};
    for (size_t i = 0; i < 3; i++) {
        thr_reader *reader = NULL;
        expect_error(thr_reader_open(io_context, names[i], &reader, &err), THR_EUNSUPPORTED, names[i]);
    }
}
