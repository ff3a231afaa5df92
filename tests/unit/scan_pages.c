/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan_pages.c - pages that are announced are read from the disk, others are not; when searches announce them, and in
 * how few calls.
 */
#define _GNU_SOURCE /* mincore */
#include "test.h"

#include "scan/pages.h"

#include "base/files/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>

enum { PAGES = 2048, FIRST = 1000, ANNOUNCED = 40, WAITS = 2000 };

static int in_a_directory(void **state) {
    (void)state;
    return test_directory_make("scan_pages");
}

/* Whether page i of a map is in memory. */
static bool is_in_memory(const thr_map *map, size_t page_size, size_t i) {
    unsigned char state = 0;
    assert_int_equal(mincore((void *)(uintptr_t)(map->data + i * page_size), page_size, &state), 0);
    return (state & 1) != 0;
}

static size_t count_in_memory(const thr_map *map, size_t page_size, size_t first, size_t end) {
    size_t n = 0;
    for (size_t i = first; i < end; i++)
        n += is_in_memory(map, page_size, i);
    return n;
}

/* Drop a file from the page cache. Some file systems, tmpfs among them, keep it. */
static void forget(const char *path) {
    const int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(fsync(fd), 0);
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    (void)close(fd);
}

TEST(announced_pages_are_read_and_no_others) {
    const size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
    const char *path = test_path_of("pages");
    char *bytes = test_new(PAGES, page_size);
    test_write_file(path, bytes, PAGES * page_size);
    thr_map map;
    expect_ok(thr_map_open(path, &map, &err));
    forget(path);
    const bool forgotten = count_in_memory(&map, page_size, 0, PAGES) == 0;
    if (forgotten) {
        thr_map_read_ahead(map.data + FIRST * page_size + 1, (ANNOUNCED - 1) * page_size);
        for (int i = 0; i < WAITS && count_in_memory(&map, page_size, FIRST, FIRST + ANNOUNCED) < ANNOUNCED; i++)
            (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        assert_int_equal(count_in_memory(&map, page_size, FIRST, FIRST + ANNOUNCED), ANNOUNCED);
        assert_int_equal(count_in_memory(&map, page_size, 0, PAGES), ANNOUNCED);
    }
    thr_map_close(&map);
    (void)unlink(path);
    if (!forgotten)
        skip();
}

static size_t n_announcements;

/* In the place of the C library's. */
int posix_madvise(void *at, size_t size, int advice) {
    n_announcements++;
    return madvise(at, size, advice) == 0 ? 0 : errno;
}

/* The system calls that announce the vectors of every `step`-th of ROWS rows of a quarter of a page. */
static size_t calls_for_rows(const thr_segment *segment, uint64_t step) {
    enum { ROWS = 200 };
    const thr_quantiser quantiser = {.n_dims = (uint32_t)sysconf(_SC_PAGESIZE) / 16};
    const thr_scan_corpus corpus = {
        .quantiser = &quantiser, .keep = THR_DTYPE_F32, .segments = segment, .n_segments = 1, .n_rows = ROWS};
    const thr_scan_query query = {.corpus = &corpus, .reads_ahead = true};
    thr_candidate items[ROWS];
    size_t n = 0;
    for (uint64_t row = 0; row < ROWS; row += step)
        items[n++] = (thr_candidate){.row = row};
    n_announcements = 0;
    thr_scan_read_ahead_vectors(&query, items, n);
    return n_announcements;
}

TEST(a_page_is_announced_once) {
    const size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
    char *bytes = mmap(NULL, 50 * page_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(bytes != MAP_FAILED);
    const thr_segment segment = {.n_items = 200, .vectors = bytes};
    assert_int_equal(calls_for_rows(&segment, 1), 50);
    assert_int_equal(calls_for_rows(&segment, 4), 50);
    assert_int_equal(calls_for_rows(&segment, 8), 25);
    assert_int_equal(munmap(bytes, 50 * page_size), 0);
}

/* How many passes in a row read ahead. */
static size_t passes_ahead(thr_read_ahead *ahead) {
    size_t n = 0;
    while (n < 1000 && thr_scan_reads_ahead(ahead))
        n++;
    return n;
}

TEST(passes_stop_announcing_where_nothing_is_read_from_the_disk) {
    thr_read_ahead ahead = {0};
    const size_t first = passes_ahead(&ahead);
    assert_in_range(first, 1, 999);
    assert_false(thr_scan_reads_ahead(&ahead));
    ahead.blocks_read--; /* as if the thread had read from the disk since the last pass */
    assert_int_equal(passes_ahead(&ahead), first);
}

TEST_GROUP(in_a_directory, test_directory_remove)
