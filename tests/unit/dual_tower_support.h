/* SPDX-License-Identifier: Apache-2.0 */
/* dual_tower_support.h - what the tests of dual towers share: a small shop with users that have tastes, trainings of a
 * blink. */
#pragma once

#include "text_tower_support.h"

#include <thresher/dual.h>

TEST_OWNABLE(thr_dual)

enum { DUAL_ITEMS = 40, DUAL_REQUESTS = 160, DUAL_ADS = 6 };

/* Item i has one of 5 brands and one or two of 7 categories; every tenth has a flag, one has nothing. */
static inline void dual_write_items(const char *path) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (int i = 0; i < DUAL_ITEMS - 1; i++)
        (void)fprintf(file, "ad%d\tbrand=%d category=%d category=%d%s item=%d\n", i, i % 5, i % 7, i * 3 % 7,
                      i % 10 == 0 ? " new" : "", i);
    (void)fprintf(file, "ad%d\t\n", DUAL_ITEMS - 1);
    assert_int_equal(fclose(file), 0);
}

/* A user clicked on ads of a category before, and the best ad is of that category; the others are at random. */
static inline void dual_write_requests(const char *path, uint64_t first, int n) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (int r = 0; r < n; r++) {
        uint64_t rng = first + (uint64_t)r + 1;
        const int taste = (int)thr_rng_below(&rng, 7), brand = (int)thr_rng_below(&rng, 5);
        const int number = 1 + (int)thr_rng_below(&rng, 3), best = taste + 7 * (int)thr_rng_below(&rng, 5);
        (void)fprintf(file, "age=%d click.category=%d:%d click.brand=%d:0.5 seen.category=%d id=%d\t",
                      (int)thr_rng_below(&rng, 3), taste, number, brand, taste, r % 50);
        (void)fprintf(file, "ad%d:%d", best, (int)thr_rng_below(&rng, 300));
        for (int a = 1; a < DUAL_ADS; a++)
            (void)fprintf(file, " %sad%d:%d", a > 2 && a % 2 == 0 ? "~" : "", (best + a * 3 + r % 3) % DUAL_ITEMS,
                          (int)thr_rng_below(&rng, 300));
        (void)fprintf(file, "\n");
    }
    assert_int_equal(fclose(file), 0);
}

static inline void dual_small(thr_dual_train_options *options) {
    thr_dual_train_options_init(options);
    options->config.n_embedding = 5;
    options->config.n_hidden = 9;
    options->config.n_dims = 7;
    options->config.n_products = 3;
    options->run.valid_share = 0.2f;
    options->run.n_epochs = 3;
    options->run.patience = 0;
    options->run.batch = 20;
    options->optimiser = THR_DUAL_ADAM;
    options->run.rate = options->embedding_rate = 0.01f;
}

static inline thr_tower_report dual_train(thr_context *context, const char *requests, const char *items,
                                          const char *path, const thr_dual_train_options *options) {
    thr_tower_report report;
    expect_ok(thr_dual_train(context, requests, items, path, options, &report, &err));
    assert_int_equal(access(path, F_OK), 0);
    return report;
}

static inline thr_dual *dual_open(thr_context *context, const char *path) {
    thr_dual *dual = NULL;
    expect_ok(thr_dual_open(context, path, &dual, &err));
    return dual;
}
