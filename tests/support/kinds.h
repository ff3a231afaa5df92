/* SPDX-License-Identifier: Apache-2.0 */
/* kinds.h - corpora of all kinds of codes, and searches of all kinds over them, as devices have to answer them. */
#pragma once

#include "gpus.h"

extern const thr_metric TEST_METRICS[3];
extern const thr_dtype TEST_KEEPS[4];

/* Flat or nested, of one segment or several, with a centre or not, of up to 75 dimensions. */
test_shape test_any_shape(uint64_t *rng, uint32_t bits, uint32_t n_items);

/* Rows of one direction: every score is the same. */
float *test_equal_rows(uint64_t *rng, uint32_t n_items, uint32_t n_dims);

/* One query and n_queries of them, for few rows, any number and all; with margins, with filters: all by the book. */
void test_all_searches(thr_context *context, const test_corpus *corpus, uint64_t n_queries, uint64_t *rng);

/* A search whose answer is for the caller to judge; and one for 5 rows whose answer does not matter. */
thr_status test_search(thr_context *context, const test_corpus *corpus, const float *queries, uint64_t n_queries,
                       uint64_t k, const thr_search_options *options, uint64_t *rows, float *scores, thr_error *err);
thr_status test_search_once(thr_context *context, const test_corpus *corpus, const float *queries, uint64_t n_queries,
                            thr_error *err);
