/* SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

enum { CHUNK = 4096 };

static const uint64_t STEP = 0x9e3779b97f4a7c15u;

static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t bench_mix(uint64_t i) {
    return mix(i * STEP);
}

uint64_t bench_random(uint64_t *state) {
    return mix(*state += STEP);
}

double bench_uniform(uint64_t bits) {
    return (double)(bits >> 11) * 0x1p-53;
}

/* Sums of four 16-bit uniforms, one word a component; any row can be made without those before it. */
uint64_t bench_normal_rows(void *user, uint64_t first, uint64_t max_rows, float *out) {
    const bench_normal *normal = user;
    const uint64_t rows = max_rows < CHUNK ? max_rows : CHUNK;
    uint64_t counter = mix(normal->seed) + first * normal->n_dims;
    for (uint64_t i = 0; i < rows * normal->n_dims; i++) {
        const uint64_t r = bench_mix(++counter);
        const uint32_t sum = (uint32_t)((r & 0xffff) + (r >> 16 & 0xffff) + (r >> 32 & 0xffff) + (r >> 48));
        out[i] = (float)sum * (1.0f / 65536.0f) - 2.0f;
    }
    return rows;
}

void bench_normal_row(uint64_t seed, uint64_t row, uint32_t n_dims, float *out) {
    bench_normal normal = {.seed = seed, .n_dims = n_dims};
    (void)bench_normal_rows(&normal, row, 1, out);
}

void bench_save_normal(const char *path, const bench_normal *normal, uint64_t n_rows) {
    bench_normal rows = *normal;
    const size_t mark = bench_mark();
    float *chunk = bench_alloc((size_t)CHUNK * rows.n_dims * sizeof *chunk);
    bench_save(path, "wb", (const uint32_t[]){(uint32_t)n_rows, rows.n_dims}, 2 * sizeof(uint32_t));
    for (uint64_t first = 0, n; first < n_rows; first += n) {
        n = bench_normal_rows(&rows, first, n_rows - first, chunk);
        bench_save(path, "ab", chunk, (size_t)n * rows.n_dims * sizeof *chunk);
    }
    bench_release(mark);
}
