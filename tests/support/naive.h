/* SPDX-License-Identifier: Apache-2.0 */
/*
 * naive.h - a search by the book: score every item, sort them all, take the first.
 */
#pragma once

#include "select/candidates.h"
#include "support.h"

/*
 * Gaussian rows, around a mean where one is wanted; every eighth is zero or a copy of another: there are ties. These,
 * queries and filters are released as test_new's.
 */
float *test_tied_rows(uint64_t *rng, uint32_t n_items, uint32_t n_dims, bool mean);

/* So many queries; of more than three one is zero, and two are the same. */
float *test_queries(uint64_t *rng, uint64_t n, uint32_t n_dims);

/* A filter that lets one row in so many pass. */
uint64_t *test_filter(uint64_t *rng, uint32_t n_items, uint64_t one_in);

/* qsort's order: larger score first, then the smaller row. */
int test_candidate_order(const void *a, const void *b);

/* Estimated score of an item from the integers of both codes, before the query's part of it is applied. */
typedef struct test_query {
    double norm;
    float code_gain, gain; /* 1 / |query code|, and what factors are multiplied by */
    double scale;          /* length of the coded part, twice that for L2 */
    float weight;          /* of the items' offsets */
    float bias;            /* what an estimate lacks to be the score shown */
    int16_t *values;       /* odd integers */
    int16_t *rest_values;  /* the same of 7 bits, for the other planes of nested codes */
    float rest_gain;       /* a factor of their product */
    float *vector;         /* as refine reads it: of length 1 for cosine */
} test_query;

/* query_bits as a search's options have them. */
void test_query_make(test_query *query, const test_corpus *corpus, const float *vector, uint32_t query_bits);
void test_query_free(test_query *query);
float test_estimate(const test_corpus *corpus, const test_query *query, uint64_t item);

/* The same by the leading planes of nested codes alone. */
float test_lead_estimate(const test_corpus *corpus, const test_query *query, uint64_t item);

/* Score from the kept vector: with the scalar kernel, bit for bit what a search answers; and in double. */
float test_exact(const test_corpus *corpus, const test_query *query, uint64_t item);
double test_exact_double(const test_corpus *corpus, const test_query *query, uint64_t item, double *bound);

/* The score that an answer shows, given an exact score or an estimate. */
float test_shown(const test_corpus *corpus, float score);

/* What thr_scan_search must answer for one query. */
void test_naive_search(const test_corpus *corpus, const float *vector, uint64_t k, const thr_search_options *options,
                       uint64_t *rows, float *scores);

/* Search with a new scan in context, and compare every row and every bit of the scores with the naive answer. */
void test_search_equals_naive(thr_context *context, const test_corpus *corpus, const float *queries, uint64_t n_queries,
                              uint64_t k, const thr_search_options *options, const char *what);
