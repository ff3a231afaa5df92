/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cublas.c - as much of cuBLAS as the CUDA backend calls, for emulated GPUs: a library that THR_CUBLAS_LIBRARY names.
 *
 * An emulated GPU's memory is the host's, and its streams do everything at once; so does this. What cuBLAS refuses is
 * refused alike. SIMT_CUBLAS_STATUS=N in the environment is what opening it answers, in the place of a handle.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#define VISIBLE __attribute__((visibility("default")))

/* Memory of an emulated GPU is not for the host to touch, so it is poisoned for AddressSanitizer; a kernel may. */
#define LIKE_A_KERNEL __attribute__((no_sanitize("address")))

typedef enum status { SUCCESS = 0, NOT_INITIALIZED = 1, ALLOC_FAILED = 3, INVALID_VALUE = 7 } status;

typedef struct handle {
    void *stream;
} handle;

VISIBLE status cublasCreate_v2(handle **h);
VISIBLE status cublasDestroy_v2(handle *h);
VISIBLE status cublasSetStream_v2(handle *h, void *stream);
VISIBLE status cublasSgemm_v2(handle *h, int a_transposed, int b_transposed, int m, int n, int k, const float *alpha,
                              const float *a, int a_stride, const float *b, int b_stride, const float *beta, float *c,
                              int c_stride);

status cublasCreate_v2(handle **h) {
    const char *told = getenv("SIMT_CUBLAS_STATUS");
    if (told != NULL)
        return (status)strtol(told, NULL, 10);
    *h = malloc(sizeof **h);
    return *h == NULL ? ALLOC_FAILED : SUCCESS;
}

status cublasDestroy_v2(handle *h) {
    if (h == NULL)
        return NOT_INITIALIZED;
    free(h);
    return SUCCESS;
}

status cublasSetStream_v2(handle *h, void *stream) {
    if (h == NULL)
        return NOT_INITIALIZED;
    h->stream = stream;
    return SUCCESS;
}

/* Whether columns of so many numbers can be so far apart. */
static bool strides_fit(int n_rows, int stride) {
    return stride >= 1 && stride >= n_rows;
}

/* Column by column: c[i, j] = alpha * sum of a[i, l] b[l, j] + beta c[i, j]; with beta 0, c is not read. */
LIKE_A_KERNEL status cublasSgemm_v2(handle *h, int a_transposed, int b_transposed, int m, int n, int k,
                                    const float *alpha, const float *a, int a_stride, const float *b, int b_stride,
                                    const float *beta, float *c, int c_stride) {
    if (h == NULL)
        return NOT_INITIALIZED;
    if (a_transposed < 0 || a_transposed > 1 || b_transposed < 0 || b_transposed > 1 || m < 0 || n < 0 || k < 0 ||
        !strides_fit(a_transposed ? k : m, a_stride) || !strides_fit(b_transposed ? n : k, b_stride) ||
        !strides_fit(m, c_stride))
        return INVALID_VALUE;
    const size_t a_row = a_transposed ? (size_t)a_stride : 1, a_column = a_transposed ? 1 : (size_t)a_stride;
    const size_t b_row = b_transposed ? (size_t)b_stride : 1, b_column = b_transposed ? 1 : (size_t)b_stride;
    for (size_t j = 0; j < (size_t)n; j++)
        for (size_t i = 0; i < (size_t)m; i++) {
            float sum = 0;
            for (size_t l = 0; l < (size_t)k; l++)
                sum += a[i * a_row + l * a_column] * b[l * b_row + j * b_column];
            float *to = c + j * (size_t)c_stride + i;
            *to = *alpha * sum + (*beta == 0 ? 0 : *beta * *to);
        }
    return SUCCESS;
}
