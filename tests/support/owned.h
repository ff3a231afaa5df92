/* SPDX-License-Identifier: Apache-2.0 */
/*
 * owned.h - handles of the core that OWNED frees (test.h), opened in one call:
 *
 *     OWNED(thr_index, index) = test_index_open(context, "there");
 */
#pragma once

#include <thresher/thresher.h>

#include "test.h"

TEST_OWNABLE(thr_hits)
TEST_OWNABLE(thr_hits_target)
TEST_OWNABLE(thr_index)
TEST_OWNABLE(thr_index_writer)
TEST_OWNABLE(thr_radius_result)
TEST_OWNABLE(thr_scan)

/* An index, posting lists or a scan, which can be opened or made. */
#define test_index_open(context, dir) test_index_open_at((context), (dir), __FILE__, __LINE__)
#define test_hits_open(context, path) test_hits_open_at((context), (path), __FILE__, __LINE__)
#define test_scan_create(context)     test_scan_create_at((context), __FILE__, __LINE__)

static inline thr_index *test_index_open_at(thr_context *context, const char *dir, const char *file, int line) {
    thr_index *index = NULL;
    test_assert_ok(thr_index_open(context, dir, &index, &err), &err, file, line);
    return index;
}

static inline thr_hits *test_hits_open_at(thr_context *context, const char *path, const char *file, int line) {
    thr_hits *hits = NULL;
    test_assert_ok(thr_hits_open(context, path, &hits, &err), &err, file, line);
    return hits;
}

static inline thr_scan *test_scan_create_at(thr_context *context, const char *file, int line) {
    thr_scan *scan = NULL;
    test_assert_ok(thr_scan_create(context, &scan, &err), &err, file, line);
    return scan;
}
