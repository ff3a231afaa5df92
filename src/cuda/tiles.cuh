/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tiles.cuh - what a warp computes for a tile of 128 items: which pass the filter, their distances, their scores.
 *
 * Lane l has items 4 l to 4 l + 3. Distances are those of XFBQ (10), scores those of the CPU's screen kernels
 * (kernel/kernel.h), operation by operation, so both have the same bits.
 */
#pragma once

#include "base/minmax.h"
#include "cuda/carries.cuh"
#include "cuda/keys.cuh"
#include "device/ops.h"

enum { LANE_ITEMS = 4 }; /* items of a tile that a lane handles */

/*
 * Scan is thr_device_scan, or a struct with its members codes, filter, n_queries, query_bits and, if FAR, far_words.
 * FAR query words are in device memory, others in the kernel's parameters.
 */
template <bool FAR, typename Scan> __device__ __forceinline__ const uint32_t *query_words(const Scan &scan) {
    if constexpr (FAR)
        return scan.far_words;
    else
        return scan.words;
}

/* A lane's items of a tile; bit i of rows: item i exists and passes the filter. */
struct lane_tile {
    uint32_t tile, lane, rows;
};

/* Return four bits: which of a lane's items exist and pass the filter. */
template <typename Scan> __device__ __forceinline__ uint32_t lane_rows(const Scan &scan, uint32_t tile, uint32_t lane) {
    const uint64_t first = (uint64_t)tile * THR_DEVICE_TILE + LANE_ITEMS * lane;
    if (first >= scan.codes.n_items)
        return 0;
    const uint64_t left = scan.codes.n_items - first;
    const uint32_t there = left >= LANE_ITEMS ? 15u : (1u << left) - 1;
    return scan.filter == nullptr ? there : there & (uint32_t)(scan.filter[first / 64] >> first % 64);
}

/* Words of a plane that are loaded and counted together: limited so that registers allow enough warps. */
template <uint32_t PLANES> static const uint32_t STEP_WORDS = PLANES == 1 ? 4 : PLANES <= 4 ? 2 : 1;

enum { BITS_AT_ONCE = 4 }; /* of a query; more take two passes */

/*
 * Add the distances of words [w, w + WORDS) of four items for bits [j, j + BITS) of every query: x[i][u][p] is word w
 * + u of plane p of item i.
 */
template <uint32_t WORDS, uint32_t BITS, bool FAR, typename Scan, uint32_t STEP, uint32_t PLANES, uint32_t QUERIES>
__device__ __forceinline__ void add_bits(const Scan &scan, uint32_t n_words, uint32_t w, uint32_t j,
                                         const uint32_t (&x)[LANE_ITEMS][STEP][PLANES],
                                         uint32_t (&distances)[QUERIES][LANE_ITEMS]) {
    const uint32_t weight = 1u << (scan.query_bits - j - BITS);
#pragma unroll
    for (uint32_t q = 0; q < QUERIES; q++) {
        if (q >= scan.n_queries)
            return;
        uint32_t words[WORDS][BITS];
        const uint32_t *from = query_words<FAR>(scan) + (q * n_words + w) * scan.query_bits + j;
#pragma unroll
        for (uint32_t u = 0; u < WORDS; u++)
#pragma unroll
            for (uint32_t b = 0; b < BITS; b++)
                words[u][b] = FAR ? __ldg(from + u * scan.query_bits + b) : from[u * scan.query_bits + b];
#pragma unroll
        for (uint32_t i = 0; i < LANE_ITEMS; i++)
            distances[q][i] += count_weighted(x[i], words) * weight;
    }
}

/* Add the distances of words [w, w + n) for all bits; 1 <= n <= WORDS. */
template <uint32_t WORDS, bool FAR, typename Scan, uint32_t STEP, uint32_t PLANES, uint32_t QUERIES>
__device__ __forceinline__ void add_step(const Scan &scan, uint32_t n_words, uint32_t w, uint32_t n,
                                         const uint32_t (&x)[LANE_ITEMS][STEP][PLANES],
                                         uint32_t (&distances)[QUERIES][LANE_ITEMS]) {
    if constexpr (WORDS > 1)
        if (n < WORDS)
            return add_step<WORDS - 1, FAR>(scan, n_words, w, n, x, distances);
#pragma unroll 1
    for (uint32_t j = 0; j < scan.query_bits; j += BITS_AT_ONCE)
        switch (scan.query_bits - j) {
        case 1:
            add_bits<WORDS, 1, FAR>(scan, n_words, w, j, x, distances);
            break;
        case 2:
            add_bits<WORDS, 2, FAR>(scan, n_words, w, j, x, distances);
            break;
        case 3:
            add_bits<WORDS, 3, FAR>(scan, n_words, w, j, x, distances);
            break;
        default:
            add_bits<WORDS, BITS_AT_ONCE, FAR>(scan, n_words, w, j, x, distances);
        }
}

/* Return the key of an item of codes, numbered within the whole set that the codes are a range of. */
__device__ __forceinline__ uint64_t key_of(const thr_device_codes &codes, float score, uint32_t item) {
    return thr_device_key_make(order_score(score), codes.first_tile * THR_DEVICE_TILE + item);
}

__device__ __forceinline__ const uint8_t *tile_of(const thr_device_codes &codes, uint32_t tile) {
    const uint32_t n_rows = (codes.n_dims + 7) / 8;
    return (const uint8_t *)codes.tiles + (size_t)tile * n_rows * codes.n_planes * THR_DEVICE_TILE;
}

/* Load the whole words among [w, w + STEP) of a lane's four items, which are contiguous. */
template <uint32_t STEP, uint32_t PLANES>
__device__ __forceinline__ void load_words(const uint8_t *tile, uint32_t w, uint32_t n_whole, uint32_t lane,
                                           uint32_t (&x)[LANE_ITEMS][STEP][PLANES]) {
    const uint4 *at = (const uint4 *)tile + (size_t)w * PLANES * THR_WARP + lane;
#pragma unroll
    for (uint32_t u = 0; u < STEP; u++) {
        if (w + u >= n_whole)
            return;
#pragma unroll
        for (uint32_t p = 0; p < PLANES; p++) {
            const uint4 four = __ldcs(at + (u * PLANES + p) * THR_WARP);
            x[0][u][p] = four.x;
            x[1][u][p] = four.y;
            x[2][u][p] = four.z;
            x[3][u][p] = four.w;
        }
    }
}

/* Load the bytes after n_words whole words: n_bytes (1 to 3) of a plane become the low bytes of word u. */
template <uint32_t STEP, uint32_t PLANES>
__device__ __forceinline__ void load_rest(const uint8_t *tile, uint32_t n_words, uint32_t n_bytes, uint32_t lane,
                                          uint32_t u, uint32_t (&x)[LANE_ITEMS][STEP][PLANES]) {
    const uint32_t *at = (const uint32_t *)tile + (size_t)n_words * PLANES * THR_DEVICE_TILE + lane;
#pragma unroll
    for (uint32_t p = 0; p < PLANES; p++) {
        uint32_t words[LANE_ITEMS] = {};
#pragma unroll 1
        for (uint32_t t = 0; t < n_bytes; t++) {
            const uint32_t bytes = __ldcs(at + (t * PLANES + p) * THR_WARP);
#pragma unroll
            for (uint32_t i = 0; i < LANE_ITEMS; i++)
                words[i] |= (bytes >> 8 * i & 0xff) << 8 * t;
        }
#pragma unroll
        for (uint32_t v = 0; v < STEP; v++)
#pragma unroll
            for (uint32_t i = 0; i < LANE_ITEMS && v == u; i++)
                x[i][v][p] = words[i];
    }
}

/* Compute D of a lane's four items for every query. */
template <uint32_t PLANES, uint32_t QUERIES, bool FAR, typename Scan>
__device__ __forceinline__ void find_distances(const Scan &scan, uint32_t tile, uint32_t lane,
                                               uint32_t (&distances)[QUERIES][LANE_ITEMS]) {
    constexpr uint32_t STEP = STEP_WORDS<PLANES>;
    const uint32_t n_rows = (scan.codes.n_dims + 7) / 8, n_whole = n_rows / 4, n_words = (n_rows + 3) / 4;
    const uint8_t *codes = tile_of(scan.codes, tile);
#pragma unroll
    for (uint32_t q = 0; q < QUERIES; q++)
#pragma unroll
        for (uint32_t i = 0; i < LANE_ITEMS; i++)
            distances[q][i] = 0;
#pragma unroll 1
    for (uint32_t w = 0; w < n_words; w += STEP) {
        const uint32_t n = THR_MIN(n_words - w, STEP);
        uint32_t x[LANE_ITEMS][STEP][PLANES];
        load_words(codes, w, n_whole, lane, x);
        if (w + n > n_whole)
            load_rest(codes, n_whole, n_rows % 4, lane, n - 1, x);
        add_step<STEP, FAR>(scan, n_words, w, n, x, distances);
    }
}

/* Load word w of one item in a plane; for a partial last word, its low bytes. */
__device__ __forceinline__ uint32_t code_word(const uint8_t *tile, uint32_t n_rows, uint32_t n_planes, uint32_t plane,
                                              uint32_t w, uint32_t item) {
    const uint32_t n_whole = n_rows / 4;
    if (w < n_whole)
        return ((const uint32_t *)tile)[(w * n_planes + plane) * THR_DEVICE_TILE + item];
    uint32_t word = 0;
#pragma unroll 1
    for (uint32_t t = 0; t < n_rows % 4; t++)
        word |= (uint32_t)tile[((n_whole * 4 + t) * n_planes + plane) * THR_DEVICE_TILE + item] << 8 * t;
    return word;
}

/* Compute |b|^2 of a lane's item i from popcounts between its own planes (kernel/kernel.h, code_squares). */
template <uint32_t PLANES>
THR_RARE __device__ uint32_t code_square(const thr_device_codes &codes, uint32_t tile, uint32_t lane, uint32_t i) {
    const uint32_t n_rows = (codes.n_dims + 7) / 8, top = (1u << PLANES) - 1;
    const uint8_t *own = tile_of(codes, tile);
    uint32_t sum = 0;
#pragma unroll 1
    for (uint32_t w = 0; w < (n_rows + 3) / 4; w++) {
        uint32_t x[PLANES];
#pragma unroll
        for (uint32_t p = 0; p < PLANES; p++)
            x[p] = code_word(own, n_rows, PLANES, p, w, LANE_ITEMS * lane + i);
#pragma unroll
        for (uint32_t a = 0; a < PLANES; a++)
#pragma unroll
            for (uint32_t b = a + 1; b < PLANES; b++)
                sum += (uint32_t)__popc(x[a] ^ x[b]) << (2 * PLANES - 2 - a - b);
    }
    return codes.n_dims * top * top - 4 * sum;
}

/* The numbers stored beside the codes of a lane's items. */
struct lane_numbers {
    float factors[LANE_ITEMS], offsets[LANE_ITEMS];
};

__device__ __forceinline__ float bf16(uint32_t bits) {
    return __uint_as_float(bits << 16);
}

__device__ __forceinline__ lane_numbers load_numbers(const thr_device_codes &codes, uint32_t tile, uint32_t lane) {
    lane_numbers numbers = {};
    const size_t first = (size_t)tile * THR_DEVICE_TILE + LANE_ITEMS * lane;
    if (codes.leads != nullptr && codes.lead_offsets) {
        const uint4 pairs = __ldcs((const uint4 *)(codes.leads + 2 * first));
        const uint32_t words[LANE_ITEMS] = {pairs.x, pairs.y, pairs.z, pairs.w};
#pragma unroll
        for (uint32_t i = 0; i < LANE_ITEMS; i++) {
            numbers.factors[i] = bf16(words[i] & 0xffff);
            numbers.offsets[i] = bf16(words[i] >> 16);
        }
    } else if (codes.leads != nullptr) {
        const uint2 pairs = __ldcs((const uint2 *)(codes.leads + first));
        const uint32_t words[LANE_ITEMS] = {pairs.x & 0xffff, pairs.x >> 16, pairs.y & 0xffff, pairs.y >> 16};
#pragma unroll
        for (uint32_t i = 0; i < LANE_ITEMS; i++)
            numbers.factors[i] = bf16(words[i]);
    } else if (codes.factors != nullptr) {
#pragma unroll
        for (uint32_t i = 0; i < LANE_ITEMS; i++) {
            numbers.factors[i] = __ldcs(codes.factors + first + i);
            numbers.offsets[i] = codes.offsets == nullptr ? 0.0f : __ldcs(codes.offsets + first + i);
        }
    }
    return numbers;
}

__device__ __forceinline__ bool has_offsets(const thr_device_codes &codes) {
    return codes.leads != nullptr ? codes.lead_offsets : codes.offsets != nullptr;
}

__device__ __forceinline__ float product_of(int32_t total, uint32_t distance) {
    return __int2float_rn((int32_t)((uint32_t)total - 2 * distance));
}

/* As screen_factors and screen_leads of kernel/kernel.h. */
__device__ __forceinline__ float factor_score(const thr_device_query &query, uint32_t distance, float factor,
                                              bool offsets, float offset) {
    const float score = __fmul_rn(__fmul_rn(product_of(query.total, distance), factor), query.gain);
    return offsets ? __fsub_rn(score, __fmul_rn(offset, query.weight)) : score;
}

/* As screen_cosine of kernel/kernel.h. */
__device__ __forceinline__ float cosine_score(const thr_device_query &query, uint32_t distance, uint32_t square) {
    return __fdiv_rn(product_of(query.total, distance), __fsqrt_rn(__int2float_rn((int32_t)square)));
}

/*
 * As block_bounds of kernel/kernel.h: the largest distance that can reach a score, whose sign the caller has checked.
 */
__device__ __forceinline__ int32_t cosine_bound(const thr_device_query &query, uint32_t floor, float score) {
    if (!(score > 0))
        return INT32_MAX;
    const float needed = score * __fsqrt_rn(__uint2float_rn(floor)) * (1.0f - 0x1p-19f);
    const float slack = (__int2float_rn(query.total) - needed) * 0.5f;
    const float loose = slack + fabsf(slack) * 0x1p-22f;
    return loose < 0.0f ? -1 : loose >= 0x1p30f ? INT32_MAX : (int32_t)loose + 1;
}

/*
 * Compute the scores of a lane's four items that are in rows and may reach `least`; return which they are. Every
 * other item scores less than `least`.
 */
template <uint32_t PLANES, typename Scan>
__device__ __forceinline__ uint32_t score_items(const Scan &scan, const thr_device_query &query, const lane_tile &own,
                                                const uint32_t (&distances)[LANE_ITEMS], const lane_numbers &numbers,
                                                float least, float (&scores)[LANE_ITEMS]) {
    const bool cosine = scan.codes.block_norms != nullptr, offsets = has_offsets(scan.codes);
    uint32_t reached = 0;
    if (!cosine) {
#pragma unroll
        for (uint32_t i = 0; i < LANE_ITEMS; i++) {
            scores[i] = factor_score(query, distances[i], numbers.factors[i], offsets, numbers.offsets[i]);
            reached |= (uint32_t)(scores[i] >= least) << i;
        }
        return own.rows & reached;
    }
    const int32_t bound = cosine_bound(query, scan.codes.block_norms[2 * (size_t)own.tile + own.lane / 16], least);
#pragma unroll
    for (uint32_t i = 0; i < LANE_ITEMS; i++)
        if ((own.rows >> i & 1) != 0 && (int32_t)distances[i] <= bound) {
            scores[i] = cosine_score(query, distances[i], code_square<PLANES>(scan.codes, own.tile, own.lane, i));
            reached |= (uint32_t)(scores[i] >= least) << i;
        }
    return reached;
}
