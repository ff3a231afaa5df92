/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a GPU does without posting lists: the product of a sparse matrix of what items have with a query's weights, by
 * cuSPARSE, prepared beforehand (HitMatch 4.4). Items and features as in gcheck's measurements of posting lists. The
 * fastest algorithm counts; the product alone, without the best items, everything on the device.
 */
#include "probe.cuh"

#ifdef PROBE_WITH_CUSPARSE

#include <cmath>
#include <cusparse.h>

enum { ITEMS = 5000000, KINDS = 200000, AN_ITEM = 20, FEATURES = 200, THREADS = 256, BLOCKS = 4096 };

static void sparse_check(cusparseStatus_t status, const char *what) {
    if (status == CUSPARSE_STATUS_SUCCESS)
        return;
    std::fprintf(stderr, "gprobe: cuSPARSE: %s: %s\n", what, cusparseGetErrorString(status));
    std::exit(1);
}

/* Feature i is about as frequent as 1 / (i + 1). */
static __host__ __device__ int32_t feature_of(uint32_t number) {
    const float u = static_cast<float>(probe_hash(number) >> 8) * 0x1p-24f;
    const int32_t f = static_cast<int32_t>(expf(u * logf(KINDS + 1.0f))) - 1;
    return f < 0 ? 0 : f < KINDS ? f : KINDS - 1;
}

static __global__ void fill(int32_t *rows, int32_t *columns, float *values) {
    for (uint32_t i = blockIdx.x * THREADS + threadIdx.x; i < ITEMS * AN_ITEM; i += BLOCKS * THREADS) {
        columns[i] = feature_of(i);
        values[i] = 1.0f;
        if (i % AN_ITEM == 0)
            rows[i / AN_ITEM] = static_cast<int32_t>(i);
        if (i == 0)
            rows[ITEMS] = ITEMS * AN_ITEM;
    }
}

/* Weights are eighths, small ones: sums are exact in any order. */
static __global__ void count_wrong(const int32_t *columns, const float *weights, const float *sums, uint32_t *n_wrong) {
    for (uint32_t i = blockIdx.x * THREADS + threadIdx.x; i < ITEMS; i += BLOCKS * THREADS) {
        float sum = 0;
        for (uint32_t j = 0; j < AN_ITEM; j++)
            sum += weights[columns[i * AN_ITEM + j]];
        if (sum != sums[i])
            atomicAdd(n_wrong, 1u);
    }
}

typedef struct bench {
    cusparseHandle_t sparse;
    cusparseSpMatDescr_t matrix;
    cusparseDnVecDescr_t weights, sums;
    int32_t *columns;
    float *device_weights, *device_sums;
    uint32_t *n_wrong;
} bench;

static bench make() {
    bench b = {};
    std::vector<float> weights(KINDS, 0.0f);
    int32_t *rows = probe_alloc<int32_t>(ITEMS + 1);
    float *values = probe_alloc<float>(static_cast<size_t>(ITEMS) * AN_ITEM);
    b.columns = probe_alloc<int32_t>(static_cast<size_t>(ITEMS) * AN_ITEM);
    b.device_weights = probe_alloc<float>(KINDS);
    b.device_sums = probe_alloc<float>(ITEMS);
    b.n_wrong = probe_alloc<uint32_t>(1);
    fill<<<BLOCKS, THREADS>>>(rows, b.columns, values);
    PROBE_LAUNCHED();
    for (uint32_t i = 0; i < FEATURES; i++)
        weights[static_cast<size_t>(feature_of(0x80000000u + i))] = 0.125f * static_cast<float>(i % 40 + 1);
    PROBE_CHECK(cudaMemcpy(b.device_weights, weights.data(), KINDS * sizeof(float), cudaMemcpyHostToDevice));
    sparse_check(cusparseCreate(&b.sparse), "starting");
    sparse_check(cusparseCreateCsr(&b.matrix, ITEMS, KINDS, static_cast<int64_t>(ITEMS) * AN_ITEM, rows, b.columns,
                                   values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                                   CUDA_R_32F),
                 "a matrix");
    sparse_check(cusparseCreateDnVec(&b.weights, KINDS, b.device_weights, CUDA_R_32F), "weights");
    sparse_check(cusparseCreateDnVec(&b.sums, ITEMS, b.device_sums, CUDA_R_32F), "sums");
    return b;
}

/* The time of a product by one algorithm; 0 where its sums are wrong. */
static double measure(const bench &b, cusparseSpMVAlg_t algorithm) {
    const float one = 1, zero = 0;
    size_t size = 0;
    uint32_t n_wrong = 0;
    sparse_check(cusparseSpMV_bufferSize(b.sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, b.matrix, b.weights, &zero,
                                         b.sums, CUDA_R_32F, algorithm, &size),
                 "asking for the workspace");
    void *workspace = probe_alloc<char>(size == 0 ? 1 : size);
    sparse_check(cusparseSpMV_preprocess(b.sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, b.matrix, b.weights, &zero,
                                         b.sums, CUDA_R_32F, algorithm, workspace),
                 "preparing");
    const double seconds = probe_seconds([&] {
        sparse_check(cusparseSpMV(b.sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, b.matrix, b.weights, &zero, b.sums,
                                  CUDA_R_32F, algorithm, workspace),
                     "a product");
    });
    PROBE_CHECK(cudaMemset(b.n_wrong, 0, sizeof *b.n_wrong));
    count_wrong<<<BLOCKS, THREADS>>>(b.columns, b.device_weights, b.device_sums, b.n_wrong);
    PROBE_LAUNCHED();
    PROBE_CHECK(cudaMemcpy(&n_wrong, b.n_wrong, sizeof n_wrong, cudaMemcpyDeviceToHost));
    return n_wrong == 0 ? seconds : 0;
}

void probe_sparse() {
    const cusparseSpMVAlg_t algorithms[] = {CUSPARSE_SPMV_CSR_ALG1, CUSPARSE_SPMV_CSR_ALG2};
    double best = 0;
    const bench b = make();
    for (const cusparseSpMVAlg_t algorithm : algorithms) {
        const double seconds = measure(b, algorithm);
        if (seconds > 0)
            best = best == 0 ? seconds : std::min(best, seconds);
    }
    if (best > 0)
        probe_figure("sparse.spmv_s", best);
    else
        probe_words("sparse.spmv", "wrong sums");
    sparse_check(cusparseDestroy(b.sparse), "ending");
}

#else

void probe_sparse() {
    probe_words("sparse.spmv", "cuSPARSE was not found");
}

#endif
