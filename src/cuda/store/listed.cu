/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The screen of the blocks that each query lists: a warp takes a run of one query's blocks, and appends the rows that
 * reach the query's threshold. Runs are short, so that those of a single query keep many multiprocessors busy. With
 * origins, all items of a run have the same origin; the base is added last, as in scan/estimate.c, so that scores have
 * the same bits.
 */
#include "cuda/backend.cuh"
#include "cuda/store/emit.cuh"

static_assert(sizeof(thr_listed_op) <= 4096, "parameters of kernels have no more room");

enum { LISTED_THREADS = 256, LISTED_BLOCKS_A_SM = 8, HALF_LANES = 16, HALVES = 2 };

/* One query's part of an operation (tiles.cuh). */
struct listed_scan {
    const thr_device_codes &codes;
    const uint64_t *filter;
    uint32_t n_queries, query_bits;
    const uint32_t *far_words;
};

/* Return four bits: which of a lane's items have the origin. */
__device__ __forceinline__ uint32_t origin_rows(const thr_listed_origin &origin, uint32_t tile, uint32_t lane) {
    const uint32_t first = tile * THR_DEVICE_TILE + LANE_ITEMS * lane;
    uint32_t rows = 0;
#pragma unroll
    for (uint32_t i = 0; i < LANE_ITEMS; i++)
        rows |= (uint32_t)(first + i >= origin.first && first + i < origin.end) << i;
    return rows;
}

/* As let_through, for items of one origin. All are scored, since the base is added before the threshold applies. */
template <uint32_t PLANES>
__device__ __forceinline__ void let_through_of_origin(const thr_listed_op &op, const listed_scan &scan,
                                                      const thr_device_query &query, const thr_listed_run &run,
                                                      const thr_listed_origin &origin, const lane_tile &own,
                                                      const uint32_t (&distances)[LANE_ITEMS]) {
    const float least = least_score(op.thresholds[run.query]);
    const thr_device_query raised = {query.total + origin.margin, query.sum, query.gain, query.weight};
    float scores[LANE_ITEMS];
    uint32_t hits = score_items<PLANES>(scan, raised, own, distances, load_numbers(op.codes, own.tile, own.lane),
                                        -INFINITY, scores);
#pragma unroll
    for (uint32_t i = 0; i < LANE_ITEMS; i++) {
        scores[i] = __fadd_rn(scores[i], origin.base);
        hits &= ~((uint32_t) !(scores[i] >= least) << i);
    }
    emit_reached(op, op.codes, run.query, own, hits, distances, scores);
}

template <uint32_t PLANES, bool ORIGINS>
static __global__ void __launch_bounds__(LISTED_THREADS) screen_runs(THR_PARAMETER(thr_listed_op) op) {
    const uint32_t lane = threadIdx.x % THR_WARP, n_warps = gridDim.x * (LISTED_THREADS / THR_WARP);
    const uint32_t n_words = (op.codes.n_dims + 31) / 32 * op.query_bits;
    for (uint32_t at = blockIdx.x * (LISTED_THREADS / THR_WARP) + threadIdx.x / THR_WARP; at < op.n_runs;
         at += n_warps) {
        const thr_listed_run run = op.runs[at];
        const thr_device_query query = op.queries[run.query];
        const listed_scan scan = {op.codes, op.filter, 1, op.query_bits, op.words + (size_t)run.query * n_words};
        const uint32_t end = run.first_block + run.n_blocks;
        thr_listed_origin origin = {0, 0, 0, 0};
        if constexpr (ORIGINS)
            origin = op.origins[at];
        for (uint32_t tile = run.first_block / HALVES; tile * HALVES < end; tile++) {
            const uint32_t block = tile * HALVES + lane / HALF_LANES;
            const bool listed = block >= run.first_block && block < end;
            lane_tile own = {tile, lane, listed ? lane_rows(scan, tile, lane) : 0};
            if constexpr (ORIGINS)
                own.rows &= origin_rows(origin, tile, lane);
            if (__any_sync(THR_ALL_LANES, own.rows != 0) == 0)
                continue;
            uint32_t distances[1][LANE_ITEMS];
            find_distances<PLANES, 1, true>(scan, tile, lane, distances);
            if constexpr (ORIGINS)
                let_through_of_origin<PLANES>(op, scan, query, run, origin, own, distances[0]);
            else
                let_through<PLANES>(op, scan, query, run.query, own, distances[0], load_numbers(op.codes, tile, lane));
        }
    }
}

template <uint32_t PLANES>
static thr_status run(thr_stream *stream, const thr_listed_op *op, uint32_t n_blocks, thr_error *err) {
    static const char what[] = "scoring listed codes";
    if (op->origins != nullptr)
        return THR_RUN((screen_runs<PLANES, true>), n_blocks, LISTED_THREADS, stream, what, err, *op);
    return THR_RUN((screen_runs<PLANES, false>), n_blocks, LISTED_THREADS, stream, what, err, *op);
}

thr_status thr_cuda_listed(thr_stream *stream, const thr_listed_op *op, thr_error *err) {
    static thr_status (*const runs[])(thr_stream *, const thr_listed_op *, uint32_t,
                                      thr_error *) = {run<1>, run<2>, run<3>, run<4>, run<5>, run<6>, run<7>, run<8>};
    const uint32_t n_blocks = loop_blocks(stream, op->n_runs, LISTED_THREADS / THR_WARP, LISTED_BLOCKS_A_SM);
    return runs[op->codes.n_planes - 1](stream, op, n_blocks, err);
}
