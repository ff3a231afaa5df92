/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes of an index on a failing machine: every allocation and every system call fails in turn, processes are killed,
 * and power is lost, so that writes that were not flushed are missing.
 */
#define _GNU_SOURCE
#include "faulty_changes.h"

static const char DIR_B[] = "index-faulty-start";
static const char DIR_A[] = "index-faulty", OLD[] = "index-faulty.old";

/* Operation number i: additions, some of which replace, removals, compactions of all kinds, and codes made anew. */
static thr_status operate(thr_context *context, const char *dir, int i) {
    uint64_t ids[STEP];
    float rows[STEP * DIMS];
    items_of(i, ids, rows);
    if (i % 8 == 7)
        return thr_index_compact(context, dir, NULL, &err);
    if (i % 8 == 2)
        return thr_index_rewrite(context, dir, NULL, &err);
    if (i % 8 == 3)
        return thr_index_recode(context, dir, NULL, &err);
    if (removes_items(i))
        return thr_index_remove(context, dir, ids, STEP, NULL, &err);
    const thr_index_add_options options = options_of(ids);
    const thr_matrix matrix = thr_matrix_f32(rows, STEP, DIMS);
    OWNED(thr_reader, reader) = NULL;
    thr_status status = thr_reader_from_matrix(context, &matrix, &reader, &err);
    if (status == THR_OK)
        status = thr_index_add(context, dir, reader, &options, NULL, &err);
    return status;
}

static void end_operations(void) {}

static const int WHYS[] = {EIO, ENOSPC};

TEST(every_allocation_may_fail) {
    for (int features = 0; features < 2; features++) {
        with_features = features != 0;
        fail_every_allocation();
    }
}

TEST(every_system_call_may_fail) {
    for (int features = 0; features < 2; features++) {
        with_features = features != 0;
        fail_every_call(*state, WHYS, COUNT_OF(WHYS));
    }
}

TEST(a_killed_writer_loses_nothing) {
    for (int features = 0; features < 2; features++) {
        with_features = features != 0;
        end_at_calls(*state, END, false);
    }
}

TEST(a_power_failure_loses_nothing) {
    for (int features = 0; features < 2; features++) {
        with_features = features != 0;
        end_at_calls(*state, LOSE, false);
    }
}

TEST_IN_CONTEXT(1, NULL)
