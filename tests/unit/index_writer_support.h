/* SPDX-License-Identifier: Apache-2.0 */
/* index_writer_support.h - empty indexes and their writers. */
#pragma once

#include "index_support.h"

enum { DIMS = 12, JOURNAL = 64 };

/* An empty index of DIMS dimensions, in place of another one in dir. */
static inline void create_empty(thr_context *context, const char *dir, thr_metric metric, thr_dtype keep, bool names) {
    thr_index_create_options options = {.n_dims = DIMS, .metric = metric, .keep = keep, .names = names};
    test_remove_directory(dir);
    expect_ok(thr_index_create(context, dir, &options, &err));
}

static inline thr_index_writer *open_writer(thr_context *context, const char *dir, uint32_t journal_rows) {
    thr_index_writer_options options = {0};
    thr_index_writer *writer = NULL;
    options.journal_rows = journal_rows;
    expect_ok(thr_index_writer_open(context, dir, &options, &writer, &err));
    return writer;
}
