/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a GPU does without codes: the product of all vectors with the queries by cuBLAS, then the best 10. The fastest
 * way that is tried counts, in float32 and in half precision; times are the host's, from queries in its memory to row
 * numbers in its memory.
 *
 * The best 10 take one pass and a little: the largest score of each of 2,048 runs of rows; the tenth largest of these
 * is reached by ten rows at least, and all rows that reach it are in runs whose largest does.
 */
#include "probe.cuh"

#ifdef PROBE_WITH_CUBLAS

#include <chrono>
#include <cublas_v2.h>
#include <cuda_fp16.h>

enum { DIMS = 200, K = 10, RUNS = 2048, THREADS = 256, SORT_THREADS = 1024, MOST_QUERIES = 64, PLACES = 2048 };

static void blas_check(cublasStatus_t status, const char *what) {
    if (status == CUBLAS_STATUS_SUCCESS)
        return;
    std::fprintf(stderr, "gprobe: cuBLAS: %s: %s\n", what, cublasGetStatusString(status));
    std::exit(1);
}

/* ------------------------------------------------------------------------------------------------- data */

static __device__ float normal_of(uint32_t number) {
    const uint32_t x = probe_hash(number), y = probe_hash(number ^ 0x9e3779b9u);
    const uint32_t sum = (x & 0xffff) + (x >> 16) + (y & 0xffff) + (y >> 16);
    return static_cast<float>(sum) * (1.0f / 65536.0f) - 2.0f;
}

template <typename T> static __global__ void fill(T *to, size_t n, uint32_t seed) {
    for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += static_cast<size_t>(gridDim.x) * blockDim.x)
        to[i] =
            static_cast<T>(normal_of(static_cast<uint32_t>(i) * 2654435761u + static_cast<uint32_t>(i >> 32) + seed));
}

/* --------------------------------------------------------------------------------------------- selecting */

/* Larger keys are larger scores, and of equal ones smaller rows. */
static __device__ uint64_t key_of(float score, uint32_t row) {
    const uint32_t bits = __float_as_uint(score);
    const uint32_t order = (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
    return static_cast<uint64_t>(order) << 32 | static_cast<uint32_t>(~row);
}

/* A warp a run: its largest score. */
template <typename T>
static __global__ void __launch_bounds__(THREADS) find_largest(const T *scores, uint32_t n, float *largest) {
    const uint32_t run = blockIdx.x * (THREADS / 32) + threadIdx.x / 32, lane = threadIdx.x % 32,
                   each = (n + RUNS - 1) / RUNS;
    const T *own = scores + static_cast<size_t>(blockIdx.y) * n;
    const uint32_t end = min((run + 1) * each, n);
    float most = -INFINITY;
#pragma unroll 8
    for (uint32_t i = run * each + lane; i < end; i += 32)
        most = fmaxf(most, static_cast<float>(own[i]));
    for (int step = 16; step > 0; step /= 2)
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, step));
    if (lane == 0)
        largest[blockIdx.y * RUNS + run] = most;
}

/* Falling; n is a power of two. */
static __device__ void sort_keys(uint64_t *keys, uint32_t n) {
    for (uint32_t size = 2; size <= n; size *= 2)
        for (uint32_t step = size / 2; step > 0; step /= 2) {
            __syncthreads();
            for (uint32_t i = threadIdx.x; i < n; i += SORT_THREADS) {
                const uint32_t other = i ^ step;
                const bool falling = (i & size) == 0;
                if (other > i && (keys[i] < keys[other]) == falling) {
                    const uint64_t key = keys[i];
                    keys[i] = keys[other];
                    keys[other] = key;
                }
            }
        }
    __syncthreads();
}

/* One block per query: rows of the best K, best first; UINT32_MAX where more rows are equal than there are places. */
template <typename T>
static __global__ void __launch_bounds__(SORT_THREADS)
    find_best(const T *scores, uint32_t n, const float *largest, uint32_t *rows) {
    __shared__ uint64_t keys[PLACES];
    __shared__ uint32_t runs[PLACES], n_runs, n_found;
    const T *own = scores + static_cast<size_t>(blockIdx.x) * n;
    const uint32_t each = (n + RUNS - 1) / RUNS;
    for (uint32_t i = threadIdx.x; i < RUNS; i += SORT_THREADS)
        keys[i] = key_of(largest[blockIdx.x * RUNS + i], i);
    if (threadIdx.x == 0)
        n_runs = n_found = 0;
    sort_keys(keys, RUNS);
    const uint64_t least = keys[K - 1] >> 32 << 32;
    for (uint32_t i = threadIdx.x; i < RUNS; i += SORT_THREADS)
        if (keys[i] >= least)
            runs[atomicAdd(&n_runs, 1u)] = ~static_cast<uint32_t>(keys[i]);
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < PLACES; i += SORT_THREADS)
        keys[i] = 0;
    __syncthreads();
    for (uint32_t r = threadIdx.x / 32; r < n_runs; r += SORT_THREADS / 32)
        for (uint32_t i = runs[r] * each + threadIdx.x % 32; i < min((runs[r] + 1) * each, n); i += 32) {
            const uint64_t key = key_of(static_cast<float>(own[i]), i);
            const uint32_t place = key >= least ? atomicAdd(&n_found, 1u) : PLACES;
            if (place < PLACES)
                keys[place] = key;
        }
    sort_keys(keys, PLACES);
    if (threadIdx.x < K)
        rows[blockIdx.x * K + threadIdx.x] = n_found > PLACES ? UINT32_MAX : ~static_cast<uint32_t>(keys[threadIdx.x]);
}

/* ------------------------------------------------------------------------------------------------ searches */

/* Everything on the device; scores are of floats or halves. */
struct bench {
    cublasHandle_t blas;
    uint32_t n;
    float *items, *queries, *largest;
    __half *half_items, *half_queries;
    void *scores;
    uint32_t *rows;
    std::vector<float> host_queries;
    std::vector<__half> host_half_queries;
    std::vector<uint32_t> host_rows;
};

/* Scores of n_queries queries, one query's after the other. */
using product = void (*)(bench &b, int n_queries);

static void gemv_rows(bench &b, int) { /* a row's values side by side */
    const float one = 1, zero = 0;
    blas_check(cublasSgemv(b.blas, CUBLAS_OP_T, DIMS, static_cast<int>(b.n), &one, b.items, DIMS, b.queries, 1, &zero,
                           static_cast<float *>(b.scores), 1),
               "gemv");
}

static void gemv_columns(bench &b, int) { /* a dimension's values side by side */
    const float one = 1, zero = 0;
    blas_check(cublasSgemv(b.blas, CUBLAS_OP_N, static_cast<int>(b.n), DIMS, &one, b.items, static_cast<int>(b.n),
                           b.queries, 1, &zero, static_cast<float *>(b.scores), 1),
               "gemv");
}

template <typename IN, typename OUT, cublasComputeType_t COMPUTE> static void gemm(bench &b, int n_queries) {
    constexpr bool half_in = sizeof(IN) == 2, half_out = sizeof(OUT) == 2;
    const float one = 1, zero = 0;
    blas_check(cublasGemmEx(b.blas, CUBLAS_OP_T, CUBLAS_OP_N, static_cast<int>(b.n), n_queries, DIMS, &one,
                            half_in ? static_cast<void *>(b.half_items) : static_cast<void *>(b.items),
                            half_in ? CUDA_R_16F : CUDA_R_32F, DIMS,
                            half_in ? static_cast<void *>(b.half_queries) : static_cast<void *>(b.queries),
                            half_in ? CUDA_R_16F : CUDA_R_32F, DIMS, &zero, b.scores,
                            half_out ? CUDA_R_16F : CUDA_R_32F, static_cast<int>(b.n), COMPUTE, CUBLAS_GEMM_DEFAULT),
               "gemm");
}

template <typename OUT> static void select(bench &b, int n_queries) {
    const OUT *scores = static_cast<const OUT *>(b.scores);
    find_largest<<<dim3(RUNS / (THREADS / 32), static_cast<unsigned>(n_queries)), THREADS>>>(scores, b.n, b.largest);
    PROBE_LAUNCHED();
    find_best<<<static_cast<unsigned>(n_queries), SORT_THREADS>>>(scores, b.n, b.largest, b.rows);
    PROBE_LAUNCHED();
}

template <typename OUT> static void search(bench &b, product multiply, int n_queries) {
    const size_t n = static_cast<size_t>(n_queries) * DIMS;
    PROBE_CHECK(cudaMemcpyAsync(b.queries, b.host_queries.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    PROBE_CHECK(
        cudaMemcpyAsync(b.half_queries, b.host_half_queries.data(), n * sizeof(__half), cudaMemcpyHostToDevice));
    multiply(b, n_queries);
    select<OUT>(b, n_queries);
    PROBE_CHECK(cudaMemcpyAsync(b.host_rows.data(), b.rows, static_cast<size_t>(n_queries) * K * sizeof(uint32_t),
                                cudaMemcpyDeviceToHost));
    PROBE_CHECK(cudaStreamSynchronize(nullptr));
}

/* The rows of the last query's answer against all its scores; whether they are the best. */
template <typename OUT> static bool is_right(bench &b, int n_queries) {
    std::vector<OUT> scores(b.n);
    const size_t at = static_cast<size_t>(n_queries - 1) * b.n;
    PROBE_CHECK(
        cudaMemcpy(scores.data(), static_cast<OUT *>(b.scores) + at, b.n * sizeof(OUT), cudaMemcpyDeviceToHost));
    std::vector<std::pair<float, uint32_t>> best(b.n);
    for (uint32_t i = 0; i < b.n; i++)
        best[i] = {-static_cast<float>(scores[i]), i};
    std::partial_sort(best.begin(), best.begin() + K, best.end());
    for (int i = 0; i < K; i++)
        if (best[static_cast<size_t>(i)].second != b.host_rows[static_cast<size_t>((n_queries - 1) * K + i)])
            return false;
    return true;
}

static double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/* The median time of searches; in best the least of all ways so far. */
template <typename OUT> static void measure(bench &b, const char *name, product multiply, int n_queries, double *best) {
    std::vector<double> times;
    search<OUT>(b, multiply, n_queries);
    if (!is_right<OUT>(b, n_queries)) {
        probe_words(name, "wrong rows");
        return;
    }
    for (double start = now(); times.size() < 5 || (now() - start < 0.5 && times.size() < 200);) {
        const double begun = now();
        search<OUT>(b, multiply, n_queries);
        times.push_back(now() - begun);
    }
    std::sort(times.begin(), times.end());
    const double median = times[times.size() / 2];
    probe_figure(name, median);
    *best = *best == 0 ? median : std::min(*best, median);
}

static bench make(uint64_t n_items) {
    bench b = {};
    const size_t n = n_items * DIMS, n_queries = static_cast<size_t>(MOST_QUERIES) * DIMS;
    b.n = static_cast<uint32_t>(n_items);
    b.items = probe_alloc<float>(n);
    b.half_items = probe_alloc<__half>(n);
    b.queries = probe_alloc<float>(n_queries);
    b.half_queries = probe_alloc<__half>(n_queries);
    b.scores = probe_alloc<float>(n_items * MOST_QUERIES);
    b.largest = probe_alloc<float>(static_cast<size_t>(RUNS) * MOST_QUERIES);
    b.rows = probe_alloc<uint32_t>(K * MOST_QUERIES);
    b.host_queries.resize(n_queries);
    b.host_half_queries.resize(n_queries);
    b.host_rows.resize(K * MOST_QUERIES);
    fill<<<1024, THREADS>>>(b.items, n, 1);
    PROBE_LAUNCHED();
    fill<<<1024, THREADS>>>(b.half_items, n, 1);
    PROBE_LAUNCHED();
    fill<<<1, THREADS>>>(b.queries, n_queries, 12345);
    PROBE_LAUNCHED();
    PROBE_CHECK(cudaMemcpy(b.host_queries.data(), b.queries, n_queries * sizeof(float), cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < n_queries; i++)
        b.host_half_queries[i] = __float2half(b.host_queries[i]);
    blas_check(cublasCreate(&b.blas), "starting");
    return b;
}

void probe_baseline(uint64_t n_items) {
    double f32_one = 0, f32_many = 0, f16_one = 0, f16_many = 0;
    bench b = make(n_items);
    probe_figure("baseline.items", static_cast<double>(n_items));
    measure<float>(b, "baseline.f32.1.gemv_rows_s", gemv_rows, 1, &f32_one);
    measure<float>(b, "baseline.f32.1.gemv_columns_s", gemv_columns, 1, &f32_one);
    measure<float>(b, "baseline.f32.1.gemm_s", gemm<float, float, CUBLAS_COMPUTE_32F>, 1, &f32_one);
    measure<float>(b, "baseline.f32.64.gemm_s", gemm<float, float, CUBLAS_COMPUTE_32F>, 64, &f32_many);
    measure<float>(b, "baseline.f32.64.gemm_tf32_s", gemm<float, float, CUBLAS_COMPUTE_32F_FAST_TF32>, 64, &f32_many);
    measure<float>(b, "baseline.f16.1.gemm_s", gemm<__half, float, CUBLAS_COMPUTE_32F>, 1, &f16_one);
    measure<float>(b, "baseline.f16.64.gemm_s", gemm<__half, float, CUBLAS_COMPUTE_32F>, 64, &f16_many);
    measure<__half>(b, "baseline.f16.64.gemm_to_half_s", gemm<__half, __half, CUBLAS_COMPUTE_32F>, 64, &f16_many);
    probe_figure("baseline.f32.1_s", f32_one);
    probe_figure("baseline.f32.64_s", f32_many);
    probe_figure("baseline.f16.1_s", f16_one);
    probe_figure("baseline.f16.64_s", f16_many);
    blas_check(cublasDestroy(b.blas), "ending");
}

#else

void probe_baseline(uint64_t) {
    probe_words("baseline.missing", "cuBLAS was not found");
}

#endif
