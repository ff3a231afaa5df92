/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kcheck --layouts: the same codes laid out in three ways, each scanned by the kernel that suits it. The first is the
 * library's; results/kernels.csv has the speed of each. All three must give the same sum of distances.
 */
#include "layouts.h"

#include "base/clock.h"
#include "base/rng.h"
#include "kcheck.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>

enum { DIMS = 200, PLANES = 3, QUERY_BITS = 4, ROWS = 25, WORDS = 4, ITEMS = 64, REPEATS = 5 };

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vpopcntdq")))

typedef struct layouts_input {
    size_t n_blocks;
    uint8_t *together, *apart; /* byte rows, planes of a row side by side, or of a block one after the other */
    uint64_t *words;           /* 8 items' 64-bit words side by side, 256 bits per plane */
    uint8_t nibbles[ROWS * 32] __attribute__((aligned(64)));
    uint64_t query_words[QUERY_BITS][WORDS];
    thr_query_part part;
} layouts_input;

/* Look-ups of four dimensions with any distance between rows and between planes. */
AVX512 static uint64_t scan_bytes(const layouts_input *in, const uint8_t *blocks, size_t row_stride,
                                  size_t plane_stride) {
    const __m512i mask = _mm512_set1_epi8(15);
    __m512i total = _mm512_setzero_si512();
    for (size_t b = 0; b < in->n_blocks; b++, blocks += (size_t)ITEMS * PLANES * ROWS) {
        __m512i sums[PLANES];
        for (int p = 0; p < PLANES; p++)
            sums[p] = _mm512_setzero_si512();
        for (int r = 0; r < ROWS; r++) {
            const __m128i *table = (const __m128i *)(const void *)(in->nibbles + 32 * r);
            const __m512i low = _mm512_broadcast_i32x4(table[0]), high = _mm512_broadcast_i32x4(table[1]);
            for (int p = 0; p < PLANES; p++) {
                const __m512i x = _mm512_loadu_si512(blocks + (size_t)r * row_stride + (size_t)p * plane_stride);
                const __m512i v =
                    _mm512_add_epi8(_mm512_shuffle_epi8(low, _mm512_and_si512(x, mask)),
                                    _mm512_shuffle_epi8(high, _mm512_and_si512(_mm512_srli_epi16(x, 4), mask)));
                sums[p] = _mm512_add_epi64(sums[p], _mm512_sad_epu8(v, _mm512_setzero_si512()));
            }
        }
        for (int p = 0; p < PLANES; p++)
            total = _mm512_add_epi64(total, _mm512_slli_epi64(sums[p], (unsigned)(PLANES - 1 - p)));
    }
    return (uint64_t)_mm512_reduce_add_epi64(total);
}

/* XOR and popcount of 64-bit words, eight items per register. */
AVX512 static uint64_t scan_words(const layouts_input *in) {
    const uint64_t *words = in->words;
    __m512i total = _mm512_setzero_si512();
    for (size_t group = 0; group < in->n_blocks * 8; group++, words += 8 * PLANES * WORDS) {
        __m512i levels[PLANES + QUERY_BITS - 1];
        for (int l = 0; l < PLANES + QUERY_BITS - 1; l++)
            levels[l] = _mm512_setzero_si512();
        for (int w = 0; w < WORDS; w++)
            for (int p = 0; p < PLANES; p++) {
                const __m512i x = _mm512_loadu_si512(words + 8 * (w * PLANES + p));
                for (int j = 0; j < QUERY_BITS; j++) {
                    const __m512i bits = _mm512_xor_si512(x, _mm512_set1_epi64((long long)in->query_words[j][w]));
                    const int l = PLANES - 1 - p + QUERY_BITS - 1 - j;
                    levels[l] = _mm512_add_epi64(levels[l], _mm512_popcnt_epi64(bits));
                }
            }
        for (int l = 0; l < PLANES + QUERY_BITS - 1; l++)
            total = _mm512_add_epi64(total, _mm512_slli_epi64(levels[l], (unsigned)l));
    }
    return (uint64_t)_mm512_reduce_add_epi64(total);
}

/* The library's kernel, 16 blocks at a time as the scan calls it. */
static uint64_t scan_library(const layouts_input *in, thr_distance_kernel kernel) {
    uint64_t total = 0;
    uint32_t distances[16 * ITEMS];
    for (size_t b = 0; b < in->n_blocks; b += 16) {
        const size_t n = in->n_blocks - b < 16 ? in->n_blocks - b : 16;
        kernel(distances, in->together + b * ITEMS * PLANES * ROWS, n, &in->part);
        for (size_t i = 0; i < n * ITEMS; i++)
            total += distances[i];
    }
    return total;
}

static void fill(layouts_input *in, uint32_t *planes) {
    uint64_t rng = 1;
    uint8_t values[ROWS * 8];
    for (int d = 0; d < DIMS; d++) {
        values[d] = (uint8_t)thr_rng_below(&rng, 1 << QUERY_BITS);
        for (int j = 0; j < QUERY_BITS; j++)
            in->query_words[j][d / 64] |= (uint64_t)(values[d] >> (QUERY_BITS - 1 - j) & 1) << d % 64;
    }
    for (int r = 0; r < ROWS; r++) {
        for (int m = 0; m < 32; m++)
            for (int i = 0; i < 4; i++) {
                const uint8_t v = values[8 * r + m / 16 * 4 + i];
                in->nibbles[32 * r + m] = (uint8_t)(in->nibbles[32 * r + m] + ((m >> i & 1) != 0 ? 15 - v : v));
            }
        for (int j = 0; j < QUERY_BITS; j++)
            planes[r * QUERY_BITS + j] = (uint32_t)(in->query_words[j][r / 8] >> r % 8 * 8 & 0xff) * 0x01010101u;
    }
    in->part = (thr_query_part){QUERY_BITS, PLANES, ROWS, planes, in->nibbles, NULL};
    for (size_t b = 0; b < in->n_blocks; b++)
        for (size_t r = 0; r < ROWS; r++)
            for (size_t p = 0; p < PLANES; p++)
                for (size_t i = 0; i < ITEMS; i += 8) {
                    const uint64_t eight = thr_rng_next(&rng);
                    const size_t block = b * ITEMS * PLANES * ROWS;
                    memcpy(in->together + block + (r * PLANES + p) * ITEMS + i, &eight, 8);
                    memcpy(in->apart + block + (p * ROWS + r) * ITEMS + i, &eight, 8);
                    for (size_t k = 0; k < 8; k++)
                        ((uint8_t *)
                             in->words)[8 * (((b * 8 + i / 8) * WORDS + r / 8) * PLANES * 8 + p * 8 + k) + r % 8] =
                            (uint8_t)(eight >> 8 * k);
                }
}

static uint64_t run(const layouts_input *in, int way) {
    const size_t row = (size_t)ITEMS * PLANES, plane = (size_t)ITEMS * ROWS;
    switch (way) {
    case 0:
        return scan_bytes(in, in->together, row, ITEMS);
    case 1:
        return scan_bytes(in, in->apart, ITEMS, plane);
    case 2:
        return scan_words(in);
    default:
        return scan_library(in, thr_kernels_get(THR_ISA_AVX512)->distance_xor);
    }
}

static int measure(size_t n_blocks, const char *where) {
    static const char *const names[] = {
        "byte rows, planes of a row together, look-up", "byte rows, planes of a block apart, look-up",
        "64-bit words of 8 items, XOR and popcount", "byte rows, planes of a row together, XOR and popcount"};
    uint32_t planes[ROWS * QUERY_BITS];
    const size_t bytes = n_blocks * ITEMS * PLANES * ROWS, word_bytes = n_blocks * ITEMS * PLANES * WORDS * 8;
    layouts_input in = {.n_blocks = n_blocks,
                        .together = aligned_alloc(64, bytes),
                        .apart = aligned_alloc(64, bytes),
                        .words = aligned_alloc(64, word_bytes)};
    int rc = 0;
    if (in.together == NULL || in.apart == NULL || in.words == NULL) {
        rc = 2;
        goto out;
    }
    memset(in.words, 0, word_bytes);
    fill(&in, planes);
    const uint64_t want = run(&in, 0);
    for (int way = 0; way < 4; way++) {
        double best = 1e9;
        for (int repeat = 0; repeat < REPEATS; repeat++) {
            const double start = thr_clock();
            /* Small inputs are scanned often enough to be timed. */
            const size_t passes = 1 + ((size_t)64 << 20) / bytes;
            for (size_t pass = 0; pass < passes; pass++)
                if (run(&in, way) != want) {
                    printf("FAIL: %s gives another sum\n", names[way]);
                    rc = 1;
                    goto out;
                }
            const double took = (thr_clock() - start) / (double)passes;
            best = took < best ? took : best;
        }
        const double read = (double)(way == 2 ? word_bytes : bytes);
        printf("| %-55s | %-6s | %5.0f | %9.0f | %6.1f |\n", names[way], where, read / (double)(n_blocks * ITEMS),
               (double)(n_blocks * ITEMS) / best * 1e-6, read / best * 1e-9);
        kcheck_figure(where[0] == 'L' ? "layouts, L2" : "layouts, memory", names[way], "200 d, 3 bits, 4-bit query",
                      "M items/s", (double)(n_blocks * ITEMS) / best * 1e-6);
    }
out:
    free(in.together);
    free(in.apart);
    free(in.words);
    return rc;
}

int kcheck_layouts(void) {
    if (!thr_kernel_isa_has(THR_ISA_AVX512)) {
        printf("the layouts are compared with AVX-512, which this CPU has not\n");
        return 77;
    }
    printf("200 d, 3 bits, 4-bit query:\n\n| layout and kernel | from | bytes per item | M items/s | GB/s "
           "|\n|---|---|---|---|---|\n");
    const int rc = measure(128, "L2");
    return rc != 0 ? rc : measure(32768, "memory");
}

#else

int kcheck_layouts(void) {
    printf("the layouts are compared with AVX-512, which this CPU has not\n");
    return 77;
}

#endif
