/* SPDX-License-Identifier: Apache-2.0 */
/*
 * way.c - the probe that finds the fastest way to compute distances on this processor.
 *
 * Each method computes the distances between a few random blocks and a few random queries, often enough for its time to
 * be measurable. Its rate is that of its fastest round. Methods alternate within a round, so that a disturbance affects
 * all of them.
 */
#include "scan/way.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/rng.h"
#include "code/encode.h"
#include "code/group.h"
#include "context/way_rates.h"

#include <math.h>
#include <string.h>

enum {
    PROBE_QUERIES = 16,     /* most queries; rates hardly change beyond it */
    PROBE_BYTES = 12288,    /* of codes, as many as a scan's tile; at least one block */
    PROBE_MEMORY = 1 << 20, /* of query codes; long codes are repeated instead */
    PROBE_ROUNDS = 5
};

#define PROBE_RUN  4e-6 /* least seconds of a run: a hundred times the cost of reading the clock */
#define PROBE_TIME 1e-3 /* seconds after which no further round starts */

/* --------------------------------------------------------------------------------------------- the probe */

/* Round a number of queries to one that is measured: kernels process queries in fours (group.c). */
static uint32_t probed_queries(uint32_t n_queries) {
    return n_queries < 4 ? n_queries : n_queries < PROBE_QUERIES ? n_queries / 4 * 4 : PROBE_QUERIES;
}

typedef struct probe {
    const thr_kernels *kernels;
    uint8_t *blocks;
    size_t n_blocks, stride;
    uint32_t *distances, *scratch;
    thr_query_code codes[PROBE_QUERIES];
    const thr_query_code *pointers[PROBE_QUERIES];
    thr_query_group group;
} probe;

static size_t round_up_64(size_t n) {
    return (n + 63) & ~(size_t)63;
}

static void fill_queries(probe *p, const thr_way_choice *choice, uint32_t n_codes, float *vector, uint8_t *memory) {
    thr_quantiser quantiser = {.n_dims = choice->n_dims, .item_bits = choice->item_bits};
    for (int b = 0; b < THR_MAX_BITS; b++)
        quantiser.ranges[b] = 1;
    uint64_t rng = 1;
    for (uint32_t q = 0; q < n_codes; q++, memory += round_up_64(thr_code_query_size(choice->n_dims))) {
        for (uint32_t d = 0; d < choice->n_dims; d++)
            vector[d] = (float)thr_rng_below(&rng, 256) / 128 - 1;
        thr_code_query_make(&p->codes[q], &quantiser, choice->item_bits, vector, 1, choice->query_bits, memory);
    }
    for (uint32_t q = 0; q < PROBE_QUERIES; q++)
        p->pointers[q] = &p->codes[q % n_codes];
}

static double time_calls(const probe *p, size_t n_calls) {
    const double start = thr_clock();
    for (size_t i = 0; i < n_calls; i++)
        thr_code_query_group_distances(&p->group, p->kernels, p->blocks, p->n_blocks, p->distances, p->stride,
                                       p->scratch);
    return thr_clock() - start;
}

static void time_ways(probe *p, thr_way_choice *choice, void *group_memory) {
    size_t n_calls[THR_N_WAYS] = {0};
    double spent = 0;
    for (int round = 0; round < PROBE_ROUNDS && spent < PROBE_TIME; round++)
        for (int way = 0; way < THR_N_WAYS; way++) {
            /* XOR computes each query separately, so one query gives its rate; with many bits it is slow. */
            const uint32_t n_queries = way == THR_WAY_XOR ? 1 : choice->n_queries;
            thr_code_query_group_make(&p->group, (thr_way)way, p->pointers, n_queries, group_memory);
            double took = 0;
            if (round == 0) /* also a warm-up */
                for (n_calls[way] = 1; (took = time_calls(p, n_calls[way])) < PROBE_RUN; n_calls[way] *= 2)
                    spent += took;
            else
                took = time_calls(p, n_calls[way]);
            spent += took;
            const double n_distances = (double)(n_calls[way] * p->n_blocks * THR_BLOCK_ITEMS * n_queries);
            choice->rates[way] = fmax(choice->rates[way], n_distances / took);
        }
}

static thr_status measure(thr_context *context, thr_way_choice *choice, thr_error *err) {
    const size_t block_size = thr_block_size(choice->n_dims, choice->item_bits);
    const size_t code_size = round_up_64(thr_code_query_size(choice->n_dims));
    const uint32_t n_queries = choice->n_queries;
    const size_t n_codes = PROBE_MEMORY / code_size < 1           ? 1
                           : PROBE_MEMORY / code_size < n_queries ? PROBE_MEMORY / code_size
                                                                  : n_queries;
    probe p = {.kernels = context->kernels, .n_blocks = THR_MAX(1, PROBE_BYTES / block_size)};
    p.stride = p.n_blocks * THR_BLOCK_ITEMS + THR_GROUP_GAP;
    const size_t sizes[] = {p.n_blocks * block_size,
                            n_queries * p.stride * sizeof(uint32_t),
                            p.n_blocks * THR_BLOCK_ITEMS * sizeof(uint32_t),
                            choice->n_dims * sizeof(float),
                            n_codes * code_size,
                            thr_code_query_group_size(choice->n_dims, n_queries)};
    uint8_t *memory = NULL, *parts[sizeof sizes / sizeof *sizes];
    size_t total = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        total += round_up_64(sizes[i]);
    THR_TRY(thr_alloc(context, 1, total, &memory, "a probe of kernels", err));
    parts[0] = memory;
    for (size_t i = 1; i < sizeof sizes / sizeof *sizes; i++)
        parts[i] = parts[i - 1] + round_up_64(sizes[i - 1]);
    p.blocks = parts[0];
    p.distances = (uint32_t *)(void *)parts[1];
    p.scratch = (uint32_t *)(void *)parts[2];
    uint64_t rng = 2;
    for (size_t i = 0; i < sizes[0]; i++)
        p.blocks[i] = (uint8_t)thr_rng_next(&rng);
    fill_queries(&p, choice, (uint32_t)n_codes, (float *)(void *)parts[3], parts[4]);
    time_ways(&p, choice, parts[5]);
    thr_release(context, memory);
    return THR_OK;
}

/* -------------------------------------------------------------------------------------------- the choice */

/* Measure the rates of a valid shape and choose the way. */
static thr_status choose(thr_context *context, thr_way_choice *choice, thr_error *err) {
    thr_way_choice probed = *choice;
    probed.n_queries = probed_queries(choice->n_queries);
    if (!thr_context_way_rates_find(context->way_rates, &probed)) {
        THR_TRY(measure(context, &probed, err));
        thr_context_way_rates_keep(context->way_rates, &probed);
    }
    memcpy(choice->rates, probed.rates, sizeof choice->rates);
    choice->forced = context->forced_way >= 0;
    choice->way = choice->forced ? (thr_way)context->forced_way : THR_WAY_XOR;
    for (int way = 0; way < THR_N_WAYS && !choice->forced; way++)
        if (choice->rates[way] > choice->rates[choice->way])
            choice->way = (thr_way)way;
    return THR_OK;
}

thr_way thr_scan_way_choose(thr_context *context, uint32_t n_dims, uint32_t item_bits, uint32_t query_bits,
                            uint32_t n_queries) {
    if (context->forced_way >= 0)
        return (thr_way)context->forced_way;
    thr_way_choice choice = {
        .n_dims = n_dims, .item_bits = item_bits, .query_bits = query_bits, .n_queries = n_queries};
    return choose(context, &choice, NULL) == THR_OK ? choice.way : THR_WAY_TABLE;
}

thr_status thr_way_choose(thr_context *context, uint32_t n_dims, uint32_t item_bits, uint32_t query_bits,
                          uint32_t n_queries, thr_way_choice *choice, thr_error *err) {
    if (n_dims < 1 || n_dims > THR_MAX_DIMS)
        return thr_fail(err, THR_EDIM, "%u dimensions are not in 1..%d", n_dims, THR_MAX_DIMS);
    if (item_bits < 1 || item_bits > THR_MAX_BITS || query_bits < 1 || query_bits > THR_MAX_BITS)
        return thr_fail(err, THR_EINVAL, "%u planes and queries of %u bits: both must be in 1..%d", item_bits,
                        query_bits, THR_MAX_BITS);
    if (n_queries < 1)
        return thr_fail(err, THR_EINVAL, "0 queries: a choice needs at least one query");
    *choice =
        (thr_way_choice){.n_dims = n_dims, .item_bits = item_bits, .query_bits = query_bits, .n_queries = n_queries};
    return choose(context, choice, err);
}
