/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include <stdlib.h>

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

double bench_share(uint64_t bits) {
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

thr_status bench_load(thr_context *context, const char *path, float **rows, uint64_t *n_rows, uint32_t *n_dims,
                      thr_error *err) {
    thr_reader *reader = NULL;
    uint64_t capacity = 0;
    *rows = NULL;
    *n_rows = 0;
    thr_status status = thr_reader_open(context, path, &reader, err);
    if (status != THR_OK)
        return status;
    *n_dims = thr_reader_get_shape(reader).n_dims;
    for (;;) {
        thr_matrix piece;
        status = thr_reader_next(reader, CHUNK, &piece, err);
        if (status != THR_OK || piece.n_rows == 0)
            break;
        if (*n_rows + piece.n_rows > capacity) {
            capacity = 2 * (*n_rows + piece.n_rows);
            float *grown = realloc(*rows, capacity * *n_dims * sizeof(float));
            if (grown == NULL) {
                status = THR_ENOMEM;
                break;
            }
            *rows = grown;
        }
        status = thr_matrix_to_f32(&piece, 0, piece.n_rows, *rows + *n_rows * *n_dims);
        if (status != THR_OK)
            break;
        *n_rows += piece.n_rows;
    }
    thr_reader_free(reader);
    return status;
}

void bench_save_fbin(bench_scan_run *run, const char *path, const float *rows, uint64_t n_rows, uint32_t n_dims) {
    const uint32_t header[2] = {(uint32_t)n_rows, n_dims};
    bench_save(run, path, "wb", header, sizeof header);
    bench_save(run, path, "ab", rows, (size_t)n_rows * n_dims * sizeof *rows);
}

void bench_save_normal_fbin(bench_scan_run *run, const char *path, const bench_normal *normal, uint64_t n_rows) {
    const uint32_t header[2] = {(uint32_t)n_rows, normal->n_dims};
    float *chunk = bench_room(run, (size_t)CHUNK * normal->n_dims * sizeof(float));
    bench_save(run, path, "wb", header, sizeof header);
    for (uint64_t first = 0; first < n_rows;) {
        const uint64_t rows = bench_normal_rows((void *)(uintptr_t)normal, first, n_rows - first, chunk);
        bench_save(run, path, "ab", chunk, (size_t)rows * normal->n_dims * sizeof *chunk);
        first += rows;
    }
    free(chunk);
}

void bench_save(bench_scan_run *run, const char *path, const char *mode, const void *data, size_t size) {
    FILE *file = fopen(path, mode);
    const bool written = file != NULL && fwrite(data, 1, size, file) == size;
    if (file == NULL || fclose(file) != 0 || !written)
        bench_fail(run, "%s: cannot be written", path);
}
