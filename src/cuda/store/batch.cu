/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The screen for many queries at once: products of bytes on tensor cores.
 *
 * A warp takes 32 items, converts their codes to bytes in registers (layout in ops.h), and multiplies them with the
 * bytes of up to 64 queries, which are in shared memory in the order in which lanes load them. The products stay in
 * registers and are compared with the thresholds there. The few scores that reach them are recomputed one by one, as
 * in the screen of few queries.
 *
 * Sums start at the bits of the float 1.5 * 2^23, whose low bits count units: reinterpreted as a float, a sum is too
 * large by exactly that, and subtracting it costs less than a conversion.
 */
#include "base/minmax.h"
#include "cuda/backend.cuh"
#include "cuda/learn/products.cuh"
#include "cuda/tiles.cuh"

static const uint32_t BATCH_THREADS = 256, BATCH_BLOCKS_A_SM = 2, BATCH_WARPS = BATCH_THREADS / THR_WARP;
static const uint32_t STRIP = 32; /* of a warp: four rows of a lane, 8 apart */
static const uint32_t ROWS = 4, COLUMN = 8, SHARED_WORDS = 8192, SUM_LIMIT = 1u << 22;
static const int32_t SUM_START = 0x4b400000;
static const float SUM_START_FLOAT = 12582912.0f;

/* The parameters of a query for comparisons. */
struct batch_query {
    float sum; /* sum of e */
    float gain, weight, least;
};

/* Load word w of plane p of an item from its tile, including the partial word after the whole ones. */
template <uint32_t PLANES>
__device__ __forceinline__ uint32_t item_word(const uint8_t *tile, uint32_t n_rows, uint32_t w, uint32_t p,
                                              uint32_t item) {
    if (w < n_rows / 4)
        return __ldcs((const uint32_t *)tile + (w * PLANES + p) * THR_DEVICE_TILE + item);
    uint32_t word = 0;
    const uint8_t *bytes = tile + n_rows / 4 * 4 * PLANES * THR_DEVICE_TILE + p * THR_DEVICE_TILE + item;
    for (uint32_t t = 0; t < n_rows % 4; t++)
        word |= (uint32_t)bytes[t * PLANES * THR_DEVICE_TILE] << 8 * t;
    return word;
}

/* Compute the bytes w of dimensions j, j + 8, j + 16 and j + 24 from a word's planes. */
template <uint32_t PLANES> __device__ __forceinline__ uint32_t spread(const uint32_t (&x)[PLANES], uint32_t j) {
    uint32_t u = 0;
#pragma unroll
    for (uint32_t p = 0; p < PLANES; p++)
        u = 2 * u + (x[p] >> j & 0x01010101u);
    if (PLANES == 8)
        return u ^ 0x80808080u;
    return ((u | 0x80808080u) - (1u << (PLANES - 1)) * 0x01010101u) ^ 0x80808080u;
}

/* A warp's items: those from `first` on of a tile. */
struct strip_items {
    const uint8_t *tile;
    uint32_t n_rows, first;
};

/* Add the products of 32 dimensions of the strip to sums; with squares, also accumulate the terms of |b|^2. */
template <uint32_t PLANES, uint32_t COLUMNS, typename Digits>
__device__ __forceinline__ void add_step(const strip_items &strip, uint32_t step, Digits &digits,
                                         int32_t (&sums)[2][COLUMNS][4], bool cosine, uint32_t (&squares)[ROWS]) {
    const uint32_t lane = threadIdx.x % THR_WARP, t = lane % 4;
    uint32_t a[2][4];
#pragma unroll
    for (uint32_t r = 0; r < ROWS; r++) {
        uint32_t x[PLANES];
#pragma unroll
        for (uint32_t p = 0; p < PLANES; p++)
            x[p] = item_word<PLANES>(strip.tile, strip.n_rows, step, p, strip.first + lane / 4 + 8 * r);
        a[r / 2][r % 2] = spread<PLANES>(x, t);
        a[r / 2][r % 2 + 2] = spread<PLANES>(x, t + 4);
        if (cosine)
#pragma unroll
            for (uint32_t i = 0; i < PLANES; i++)
#pragma unroll
                for (uint32_t j = i + 1; j < PLANES; j++)
                    squares[r] += (uint32_t)__popc(x[i] ^ x[j]) << (2 * PLANES - 2 - i - j);
    }
#pragma unroll
    for (uint32_t n = 0; n < COLUMNS; n++) {
        const uint2 two = digits[(step * COLUMNS + n) * THR_WARP + lane];
        const uint32_t b[2] = {two.x, two.y};
        multiply_add(sums[0][n], a[0], b);
        multiply_add(sums[1][n], a[1], b);
    }
}

/* Recompute the score of a row that may reach a query's threshold, and emit the row if it does. */
template <uint32_t PLANES>
THR_RARE __device__ void emit_row(const thr_batch_op &op, uint32_t q, uint32_t item, int32_t product) {
    const thr_device_query query = op.queries[q];
    const uint32_t tile = item / THR_DEVICE_TILE, lane = item % THR_DEVICE_TILE / LANE_ITEMS, i = item % LANE_ITEMS;
    const uint32_t distance = (uint32_t)(query.total - product) / 2;
    const uint64_t threshold = op.thresholds[q];
    float score;
    if (op.codes.block_norms != nullptr) {
        score = cosine_score(query, distance, code_square<PLANES>(op.codes, tile, lane, i));
    } else {
        const lane_numbers numbers = load_numbers(op.codes, tile, lane);
        score = factor_score(query, distance, numbers.factors[i], has_offsets(op.codes), numbers.offsets[i]);
    }
    const uint64_t key = key_of(op.codes, score, item);
    if (key < threshold)
        return;
    const uint32_t place = atomicAdd(op.counts + q, 1u);
    if (place < op.capacity)
        op.items[(size_t)q * op.capacity + place] = {key, __float_as_uint(score), distance};
}

/*
 * Parameters of a lane's four rows. For cosine the factor is about 1 / |b|, rounded up: rows that pass because of
 * that are rejected when their score is recomputed.
 */
struct row_numbers {
    float factor, offset;
};

template <uint32_t PLANES>
__device__ __forceinline__ row_numbers load_row(const thr_device_codes &codes, uint32_t item, uint32_t squares) {
    row_numbers row = {0, 0};
    if (codes.block_norms != nullptr) {
        const uint32_t top = (1u << PLANES) - 1;
        row.factor = 1.0f / sqrtf((float)(int32_t)(codes.n_dims * top * top - 4 * squares));
    } else if (codes.leads != nullptr && codes.lead_offsets) {
        const uint32_t pair = ((const uint32_t *)codes.leads)[item];
        row.factor = bf16(pair & 0xffff);
        row.offset = bf16(pair >> 16);
    } else if (codes.leads != nullptr) {
        row.factor = bf16(codes.leads[item]);
    } else {
        row.factor = codes.factors[item];
        row.offset = codes.offsets == nullptr ? 0.0f : codes.offsets[item];
    }
    return row;
}

/* Return which of a lane's four items exist and pass the filter: bit r for item first + 8 r. */
__device__ __forceinline__ uint32_t strip_rows(const thr_batch_op &op, uint64_t first) {
    uint32_t rows = 0;
#pragma unroll
    for (uint32_t r = 0; r < ROWS; r++) {
        const uint64_t item = first + 8 * r;
        if (item < op.codes.n_items && (op.filter == nullptr || (op.filter[item / 64] >> item % 64 & 1) != 0))
            rows |= 1u << r;
    }
    return rows;
}

/* Compare the strip's products with the thresholds: a lane has four items and two of every eight queries. */
template <uint32_t PLANES, uint32_t COLUMNS, typename Queries>
__device__ __forceinline__ void compare(const thr_batch_op &op, Queries &queries, uint32_t first, uint32_t rows,
                                        const row_numbers (&numbers)[ROWS], const int32_t (&sums)[2][COLUMNS][4]) {
    const uint32_t t = threadIdx.x % 4;
    const bool offsets = has_offsets(op.codes);
#pragma unroll
    for (uint32_t n = 0; n < COLUMNS; n++)
#pragma unroll
        for (uint32_t h = 0; h < 2; h++) {
            const uint32_t q = COLUMN * n + 2 * t + h;
            const batch_query query = queries[q];
            uint32_t hits = 0;
            float products[ROWS];
#pragma unroll
            for (uint32_t r = 0; r < ROWS; r++) {
                const float sum = __fadd_rn(__int_as_float(sums[r / 2][n][r % 2 * 2 + h]), -SUM_START_FLOAT);
                products[r] = __fmaf_rn(sum, 2.0f, query.sum); /* integers: exact */
                float score = __fmul_rn(__fmul_rn(products[r], numbers[r].factor), query.gain);
                if (offsets)
                    score = __fsub_rn(score, __fmul_rn(numbers[r].offset, query.weight));
                hits |= (uint32_t)(score >= query.least) << r;
            }
            hits &= rows;
            if (hits != 0 && q < op.n_queries)
#pragma unroll
                for (uint32_t r = 0; r < ROWS; r++)
                    if ((hits >> r & 1) != 0)
                        emit_row<PLANES>(op, q, first + 8 * r, (int32_t)products[r]);
        }
}

/*
 * Compute the parameters that a block compares with; thresholds are slightly lower for cosine, whose factors are
 * approximate.
 */
__device__ __forceinline__ batch_query make_query(const thr_batch_op &op, uint32_t q) {
    batch_query query = {0, 0, 0, INFINITY};
    if (q >= op.n_queries)
        return query;
    const bool cosine = op.codes.block_norms != nullptr;
    query.sum = __int2float_rn(op.queries[q].sum);
    query.gain = cosine ? 1.0f : op.queries[q].gain;
    query.weight = op.queries[q].weight;
    query.least = least_score(op.thresholds[q]);
    if (cosine)
        query.least -= fabsf(query.least) * 0x1p-19f;
    return query;
}

template <uint32_t PLANES, uint32_t COLUMNS>
static __global__ void __launch_bounds__(BATCH_THREADS, BATCH_BLOCKS_A_SM)
    screen_batch(THR_PARAMETER(thr_batch_op) op) {
    THR_SHARED(uint2, digits, SHARED_WORDS / 2);
    THR_SHARED(batch_query, queries, COLUMNS * COLUMN);
    const uint32_t lane = threadIdx.x % THR_WARP, n_rows = (op.codes.n_dims + 7) / 8, n_steps = (n_rows + 3) / 4;
    const uint32_t n_strips = (uint32_t)THR_CEIL_DIV(op.codes.n_items, STRIP);
    const bool cosine = op.codes.block_norms != nullptr;
    for (uint32_t i = threadIdx.x; i < n_steps * COLUMNS * THR_WARP; i += BATCH_THREADS)
        digits[i] = ((const uint2 *)op.digits)[i];
    if (threadIdx.x < COLUMNS * COLUMN)
        queries[threadIdx.x] = make_query(op, threadIdx.x);
    __syncthreads();
    for (uint32_t strip = blockIdx.x * BATCH_WARPS + threadIdx.x / THR_WARP; strip < n_strips;
         strip += gridDim.x * BATCH_WARPS) {
        const uint32_t first = strip * STRIP, own = first + lane / 4;
        const uint32_t rows = strip_rows(op, own);
        if (op.filter != nullptr && __any_sync(THR_ALL_LANES, rows != 0) == 0)
            continue;
        const strip_items items = {tile_of(op.codes, first / THR_DEVICE_TILE), n_rows, first % THR_DEVICE_TILE};
        int32_t sums[2][COLUMNS][4];
        uint32_t squares[ROWS] = {0, 0, 0, 0};
#pragma unroll
        for (uint32_t n = 0; n < COLUMNS; n++)
#pragma unroll
            for (uint32_t i = 0; i < 4; i++)
                sums[0][n][i] = sums[1][n][i] = SUM_START;
#pragma unroll 1
        for (uint32_t step = 0; step < n_steps; step++)
            add_step<PLANES, COLUMNS>(items, step, digits, sums, cosine, squares);
        row_numbers numbers[ROWS];
#pragma unroll
        for (uint32_t r = 0; r < ROWS; r++)
            numbers[r] = load_row<PLANES>(op.codes, own + 8 * r, squares[r]);
        compare<PLANES, COLUMNS>(op, queries, own, rows, numbers, sums);
    }
}

/* ------------------------------------------------------------------------------------------------- launching */

uint32_t thr_cuda_batch_limit(const thr_device *device, uint32_t n_dims, uint32_t n_planes, uint32_t query_bits) {
    const uint64_t largest = (uint64_t)n_dims * (1u << (n_planes - 1)) * ((1u << query_bits) - 1);
    const uint32_t n_steps = (n_dims + 31) / 32;
    (void)device;
    if (query_bits > 7 || largest >= SUM_LIMIT)
        return 0;
    for (uint32_t columns = 8; columns > 0; columns = columns == 8 ? 4 : columns == 4 ? 1 : 0)
        if (n_steps * columns * THR_WARP * 2 <= SHARED_WORDS)
            return columns * COLUMN;
    return 0;
}

template <uint32_t PLANES>
static thr_status run(thr_stream *stream, const thr_batch_op *op, uint32_t n_blocks, thr_error *err) {
    static const char what[] = "scoring codes";
    switch (op->n_columns) {
    case 1:
        return THR_RUN((screen_batch<PLANES, 1>), n_blocks, BATCH_THREADS, stream, what, err, *op);
    case 4:
        return THR_RUN((screen_batch<PLANES, 4>), n_blocks, BATCH_THREADS, stream, what, err, *op);
    default:
        return THR_RUN((screen_batch<PLANES, 8>), n_blocks, BATCH_THREADS, stream, what, err, *op);
    }
}

thr_status thr_cuda_batch(thr_stream *stream, const thr_batch_op *op, thr_error *err) {
    static thr_status (*const runs[])(thr_stream *, const thr_batch_op *, uint32_t,
                                      thr_error *) = {run<1>, run<2>, run<3>, run<4>, run<5>, run<6>, run<7>, run<8>};
    const uint64_t n_strips = THR_CEIL_DIV(op->codes.n_items, STRIP);
    const uint32_t n_blocks = loop_blocks(stream, n_strips, BATCH_WARPS, BATCH_BLOCKS_A_SM);
    return runs[op->codes.n_planes - 1](stream, op, n_blocks, err);
}
