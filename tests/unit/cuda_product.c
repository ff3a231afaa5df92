/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_product.c - all products by the emulated cuBLAS, and the error without cuBLAS.
 *
 * A library that was found is kept, so the tests without it come first.
 */
#include "cuda_support.h"

static thr_status try_product(thr_stream *stream, thr_error *error) {
    const float two = 2;
    const float *x = gpu_floats(&two, 1);
    const thr_product_op op = {.c = gpu_floats(NULL, 1), .a = x, .b = x, .n_rows = 1, .n_columns = 1, .n_inner = 1};
    const thr_status status = gpu.backend->product(stream, &op, error);
    gpu_forget();
    return status;
}

TEST(a_library_that_is_not_there_is_named) {
    (void)setenv("THR_CUBLAS_LIBRARY", "no/such/libcublas.so", 1);
    expect_error(try_product(gpu.stream, &err), THR_EDEVICE, "training on a GPU needs cuBLAS");
    assert_non_null(strstr(err.text, "no/such/libcublas.so"));
}

TEST(a_library_that_is_another_is_refused) {
    (void)setenv("THR_CUBLAS_LIBRARY", test_emulator_path(), 1);
    expect_error(try_product(gpu.stream, &err), THR_EDEVICE, "has no cublasCreate_v2");
}

TEST(errors_of_cublas_are_reported) {
    (void)setenv("THR_CUBLAS_LIBRARY", test_emulator_cublas(), 1);
    (void)setenv("SIMT_CUBLAS_STATUS", "3", 1);
    expect_error(try_product(gpu.stream, &err), THR_ENOMEM, "cuda:0: no memory for cuBLAS");
    (void)setenv("SIMT_CUBLAS_STATUS", "8", 1);
    expect_error(try_product(gpu.stream, &err), THR_EDEVICE, "opening cuBLAS failed: status 8");
    (void)unsetenv("SIMT_CUBLAS_STATUS");
    expect_ok(try_product(gpu.stream, &err)); /* nothing of the failures is left */
}

/* Number [row, column] of a matrix that is n_rows x n_columns, or stored as its transpose. */
static size_t place(bool transposed, size_t n_rows, size_t n_columns, size_t row, size_t column) {
    return transposed ? column * n_rows + row : row * n_columns + column;
}

/* Bound of a sum of n_inner products in any order: so many roundings of the sum of its terms' sizes. */
static void check_product(const thr_product_op *op, const float *a, const float *b, const float *c) {
    float *got = gpu_get(op->c, (size_t)op->n_rows * op->n_columns * sizeof *got);
    for (size_t i = 0; i < op->n_rows; i++)
        for (size_t j = 0; j < op->n_columns; j++) {
            double want = op->add ? (double)c[i * op->n_columns + j] : 0, sizes = fabs(want);
            for (size_t k = 0; k < op->n_inner; k++) {
                const double term = (double)a[place(op->a_transposed, op->n_rows, op->n_inner, i, k)] *
                                    (double)b[place(op->b_transposed, op->n_inner, op->n_columns, k, j)];
                want += term;
                sizes += fabs(term);
            }
            const double x = (double)got[i * op->n_columns + j];
            assert_case(fabs(x - want) <= (op->n_inner + 1) * 0x1p-24 * sizes,
                        "seed %llu: %u x %u x %u%s%s%s: [%zu, %zu] is %.9g, should be %.9g",
                        (unsigned long long)test_seed(), op->n_rows, op->n_columns, op->n_inner,
                        op->a_transposed ? ", a transposed" : "", op->b_transposed ? ", b transposed" : "",
                        op->add ? ", added" : "", i, j, x, want);
        }
}

RANDOM_TEST(matrices_are_multiplied_as_they_lie) {
    static const uint32_t shapes[][3] = {{1, 1, 1}, {3, 5, 7}, {33, 17, 64}, {1, 64, 288}, {20, 1, 9}, {64, 31, 2}};
    for (size_t s = 0; s < COUNT_OF(shapes); s++)
        for (unsigned ways = 0; ways < 8; ways++) {
            const uint32_t *shape = shapes[s];
            const size_t n_a = (size_t)shape[0] * shape[2], n_b = (size_t)shape[2] * shape[1];
            const size_t n_c = (size_t)shape[0] * shape[1];
            float *a = nn_normal(&rng, n_a), *b = nn_normal(&rng, n_b), *c = nn_normal(&rng, n_c);
            const bool add = (ways & 4) != 0;
            const thr_product_op op = {.c = gpu_floats(add ? c : NULL, n_c),
                                       .a = gpu_floats(a, n_a),
                                       .b = gpu_floats(b, n_b),
                                       .n_rows = shape[0],
                                       .n_columns = shape[1],
                                       .n_inner = shape[2],
                                       .a_transposed = (ways & 1) != 0,
                                       .b_transposed = (ways & 2) != 0,
                                       .add = add};
            gpu_do(product, &op);
            check_product(&op, a, b, c);
            gpu_forget();
        }
}

/* Each has a handle of its own, which its end gives back. */
TEST(every_stream_multiplies) {
    for (int i = 0; i < 3; i++) {
        thr_stream *stream = NULL;
        expect_ok(gpu.backend->open_stream(gpu.device, &stream, &err));
        expect_ok(try_product(stream, &err));
        expect_ok(try_product(stream, &err));
        gpu.backend->close_stream(stream);
    }
}
