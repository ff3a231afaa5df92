/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matmul of every level beside OpenBLAS's sgemm on one thread: what it costs to add in a fixed order and to round every
 * product. OpenBLAS is loaded at run time, so that nothing is built with it.
 */
#include "blas.h"

#include "base/clock.h"
#include "kcheck.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112, REPEATS = 40, MOST = 1024 * 1024, WAYS = THR_ISA_LAST + 2 };

typedef void (*sgemm_fn)(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha, const float *a,
                         int a_row, const float *b, int b_row, float beta, float *c, int c_row);

typedef struct blas {
    sgemm_fn sgemm;
    float *a, *b, *c, *want;
} blas;

static const struct {
    int n_rows, n_inner, n_columns;
    bool transposed;
    const char *what;
} shapes[] = {
    {1024, 288, 64, false, "a batch through a layer"},    {1024, 64, 288, false, "its gradient by the batch"},
    {288, 1024, 64, true, "its gradient by the weights"}, {1024, 64, 64, false, "a binary layer"},
    {1024, 64, 1024, false, "all cosines of a batch"},    {12, 64, 32, false, "those of 12 rows with 21 others"},
    {1, 288, 64, false, "one text through a layer"},
};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

/* way: a level, or the last one for OpenBLAS. */
static void multiply(const blas *x, size_t shape, int way, float *c) {
    const int m = shapes[shape].n_rows, k = shapes[shape].n_inner, n = shapes[shape].n_columns;
    const bool transposed = shapes[shape].transposed;
    if (way == WAYS - 1) {
        x->sgemm(ROW_MAJOR, transposed ? TRANSPOSED : PLAIN, PLAIN, m, n, k, 1.0f, x->a, transposed ? m : k, x->b, n,
                 1.0f, c, n);
        return;
    }
    thr_kernels_get((thr_isa)way)
        ->matmul(&(thr_product){.c = c,
                                .a = x->a,
                                .b = x->b,
                                .c_row = (size_t)n,
                                .a_row = transposed ? 1 : (size_t)k,
                                .a_step = transposed ? (size_t)m : 1,
                                .b_row = (size_t)n,
                                .n_rows = (size_t)m,
                                .n_columns = (size_t)n,
                                .n_inner = (size_t)k});
}

static bool takes_part(int way) {
    return way == WAYS - 1 || (way > THR_ISA_SCALAR && thr_kernel_isa_has((thr_isa)way));
}

/* Ways take turns, so that all of them meet the same disturbances; the best of each counts. */
static int measure(const blas *x, size_t shape) {
    const int m = shapes[shape].n_rows, k = shapes[shape].n_inner, n = shapes[shape].n_columns;
    const size_t size = (size_t)m * (size_t)n;
    const double flops = 2.0 * m * k * n;
    const int calls = 1 + (int)(1e7 / flops);
    double best[WAYS];
    memset(x->want, 0, size * sizeof *x->want);
    multiply(x, shape, THR_ISA_SCALAR, x->want);
    for (int way = 0; way < WAYS; way++) {
        best[way] = 1e9;
        memset(x->c, 0, size * sizeof *x->c);
        if (takes_part(way))
            multiply(x, shape, way, x->c);
        for (size_t i = 0; takes_part(way) && i < size; i++)
            if (way == WAYS - 1 ? fabsf(x->c[i] - x->want[i]) > 1e-4f * (float)k : x->c[i] != x->want[i]) {
                printf("FAIL: %s gives another product\n", way == WAYS - 1 ? "OpenBLAS" : thr_isa_name((thr_isa)way));
                return 1;
            }
    }
    for (int repeat = 0; repeat < REPEATS; repeat++)
        for (int way = 0; way < WAYS; way++) {
            if (!takes_part(way))
                continue;
            const double start = thr_clock();
            for (int call = 0; call < calls; call++)
                multiply(x, shape, way, x->c);
            const double took = (thr_clock() - start) / calls;
            best[way] = took < best[way] ? took : best[way];
        }
    char text[64];
    (void)snprintf(text, sizeof text, "%d x %d x %d%s", m, k, n, shapes[shape].transposed ? ", transposed" : "");
    printf("| %-28s | %-32s |", text, shapes[shape].what);
    for (int way = 0; way < WAYS; way++)
        if (takes_part(way)) {
            const char *name = way == WAYS - 1 ? "OpenBLAS" : thr_isa_name((thr_isa)way);
            printf(" %6.1f |", flops / best[way] * 1e-9);
            kcheck_figure("matmul beside BLAS", name, text, "GFLOP/s", flops / best[way] * 1e-9);
        }
    printf("\n");
    return 0;
}

static void say_header(void) {
    printf("| rows x summed x columns | what it is |");
    for (int way = 0; way < WAYS; way++)
        if (takes_part(way))
            printf(" %s |", way == WAYS - 1 ? "OpenBLAS" : thr_isa_name((thr_isa)way));
    printf("\n|---|---|");
    for (int way = 0; way < WAYS; way++)
        if (takes_part(way))
            printf("---|");
    printf("\n");
}

int kcheck_blas(void) {
    (void)setenv("OPENBLAS_NUM_THREADS", "1", 1); /* before it is loaded */
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    void *symbol = library == NULL ? NULL : dlsym(library, "cblas_sgemm");
    if (symbol == NULL) {
        printf("no OpenBLAS to compare with: %s\n", dlerror());
        return 77;
    }
    blas x = {.a = malloc(MOST * sizeof(float)),
              .b = malloc(MOST * sizeof(float)),
              .c = malloc(MOST * sizeof(float)),
              .want = malloc(MOST * sizeof(float))};
    memcpy(&x.sgemm, &symbol, sizeof x.sgemm);
    int rc = x.a == NULL || x.b == NULL || x.c == NULL || x.want == NULL ? 2 : 0;
    for (size_t i = 0; rc == 0 && i < MOST; i++) {
        x.a[i] = (float)(i * 7919 % 2001) * 1e-3f - 1.0f;
        x.b[i] = (float)(i * 104729 % 2003) * 1e-3f - 1.0f;
    }
    say_header();
    for (size_t shape = 0; rc == 0 && shape < N_SHAPES; shape++)
        rc = measure(&x, shape);
    free(x.a);
    free(x.b);
    free(x.c);
    free(x.want);
    return rc;
}
