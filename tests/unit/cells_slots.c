/* SPDX-License-Identifier: Apache-2.0 */
/* cells_slots.c - the slots of a search of cells take about 256 MiB, by the memory that a slot allocates. */
#include "test.h"

#include "cells/workspace.h"

static const double ERROR = 0.25; /* the largest relative error of the estimated memory of a slot */

/* Counts the bytes that it allocates. */
static void *count_bytes(void *n_bytes, size_t size) {
    *(size_t *)n_bytes += size;
    return malloc(size);
}

static void release(void *n_bytes, void *block) {
    (void)n_bytes;
    free(block);
}

/* The bytes of a slot, without its lane of the scan. */
static size_t bytes_of_slot(const thr_cells_plan *plan) {
    size_t n_bytes = 0;
    thr_context context = {.allocator = {count_bytes, release, &n_bytes}};
    thr_cells_visitor visitor = {.found.n = 0};
    const thr_cells_capacity capacity = thr_cells_capacity_of(plan);
    expect_ok(thr_cells_visitor_reserve(&context, &capacity, &visitor, &err));
    thr_cells_visitor_free(&context, &visitor);
    return n_bytes + sizeof(thr_cells_visitor) + sizeof(thr_cells_visit) + sizeof(thr_cells_pass);
}

TEST(slots_take_about_256_MiB) {
    static const struct {
        uint32_t n_dims;
        size_t n_cells, n_segments;
        uint64_t n_blocks, wanted;
    } cases[] = {{24, 60, 1, 125, 20},           {64, 1000, 1, 15625, 20},    {768, 4000, 30, 150000, 100},
                 {100, 20000, 1, 1000000, 20},   {24, 100, 5, 20000, 100000}, {4096, 1, 1, 10, 20},
                 {64, 100000, 100, 2000000, 50}, {64, 64, 3000, 200000, 1000}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        thr_context context = {.n_threads = 1};
        thr_quantiser quantiser = {.n_dims = cases[i].n_dims};
        const thr_scan_corpus scan = {.quantiser = &quantiser, .n_segments = cases[i].n_segments};
        const thr_cells_corpus corpus = {.scan = &scan};
        const thr_cells_job job = {.plan = {.context = &context,
                                            .corpus = &corpus,
                                            .n_cells = cases[i].n_cells,
                                            .n_blocks = cases[i].n_blocks,
                                            .wanted = cases[i].wanted}};
        const uint64_t n = thr_cells_slots_in_memory(&job);
        const double mib = (double)n * (double)bytes_of_slot(&job.plan) / (1 << 20);
        assert_case(mib > 256 * (1 - ERROR) && mib < 256 * (1 + ERROR), "case %d: %d slots take %.0f MiB", (int)i,
                    (int)n, mib);
    }
}
