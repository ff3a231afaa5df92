/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of matrices, by cuBLAS. It is loaded when a first one is wanted, for who only searches need not have it; and
 * its few functions are declared here, so that building needs no header of it.
 *
 * cuBLAS reads matrices column by column. What lies row by row is the transpose to it, so c = a b is asked for as
 * c' = b' a', of the same memory. Numbers are multiplied as float32: TF32 would have to be asked for. The order of the
 * sums is cuBLAS's own, and on one GPU always the same as long as a handle is used in one stream; so each has its own.
 */
#include "cuda/backend.cuh"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is taken from the library. All answer with a cublasStatus_t. */
struct cublas {
    int (*create)(cublasContext **handle);
    int (*destroy)(cublasContext *handle);
    int (*set_stream)(cublasContext *handle, cudaStream_t stream);
    int (*sgemm)(cublasContext *handle, int a_transposed, int b_transposed, int m, int n, int k, const float *alpha,
                 const float *a, int a_stride, const float *b, int b_stride, const float *beta, float *c, int c_stride);
};

enum { CUBLAS_OK = 0, CUBLAS_NO_MEMORY = 3 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cublas loaded; /* all functions or none */

/* Returns the name of a function that is not there, or nullptr. */
static const char *find_functions(void *library, cublas *found) {
    const struct {
        const char *name;
        void *pointer;
    } functions[] = {{"cublasCreate_v2", &found->create},
                     {"cublasDestroy_v2", &found->destroy},
                     {"cublasSetStream_v2", &found->set_stream},
                     {"cublasSgemm_v2", &found->sgemm}};
    for (const auto &function : functions) {
        void *symbol = dlsym(library, function.name);
        if (symbol == nullptr)
            return function.name;
        memcpy(function.pointer, &symbol, sizeof symbol);
    }
    return nullptr;
}

static thr_status load(thr_error *err) {
    const int version = CUDART_VERSION / 1000;
    const char *named = getenv("THR_CUBLAS_LIBRARY");
    const bool is_named = named != nullptr && *named != '\0';
    char name[32];
    (void)snprintf(name, sizeof name, "libcublas.so.%d", version);
    void *library = dlopen(is_named ? named : name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr && !is_named)
        library = dlopen("libcublas.so", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr && is_named)
        return thr_fail(err, THR_EDEVICE,
                        "training on a GPU needs cuBLAS: what THR_CUBLAS_LIBRARY names could not be loaded (%s)",
                        dlerror());
    if (library == nullptr)
        return thr_fail(err, THR_EDEVICE,
                        "training on a GPU needs cuBLAS: %s was not found: install CUDA %d's libraries, or name it in "
                        "THR_CUBLAS_LIBRARY",
                        name, version);
    cublas found;
    const char *missing = find_functions(library, &found);
    if (missing != nullptr) {
        (void)dlclose(library);
        return thr_fail(err, THR_EDEVICE, "training on a GPU needs cuBLAS: %s has no %s", is_named ? named : name,
                        missing);
    }
    loaded = found; /* and stays */
    return THR_OK;
}

static thr_status check(const thr_device *device, int status, const char *what, thr_error *err) {
    if (status == CUBLAS_OK)
        return THR_OK;
    if (status == CUBLAS_NO_MEMORY)
        return thr_fail(err, THR_ENOMEM, "cuda:%d: no memory for cuBLAS", device->number);
    return thr_fail(err, THR_EDEVICE, "cuda:%d: %s failed: status %d of cuBLAS", device->number, what, status);
}

static thr_status load_once(thr_error *err) {
    (void)pthread_mutex_lock(&lock);
    const thr_status status = loaded.create != nullptr ? THR_OK : load(err);
    (void)pthread_mutex_unlock(&lock);
    return status;
}

/*
 * A stream's handle, made when it is first wanted. The device is the calling thread's, which cuBLAS, with a runtime of
 * its own, learns from the driver.
 */
static thr_status prepare(thr_stream *stream, thr_error *err) {
    cublasContext *handle = nullptr;
    if (stream->products != nullptr)
        return THR_OK;
    THR_TRY(load_once(err));
    THR_TRY(check(stream->device, loaded.create(&handle), "opening cuBLAS", err));
    const int status = loaded.set_stream(handle, stream->stream);
    if (status == CUBLAS_OK)
        stream->products = handle;
    else
        (void)loaded.destroy(handle);
    return check(stream->device, status, "opening cuBLAS", err);
}

void thr_cuda_end_products(thr_stream *stream) {
    if (stream->products != nullptr)
        (void)loaded.destroy(stream->products);
    stream->products = nullptr;
}

thr_status thr_cuda_product(thr_stream *stream, const thr_product_op *op, thr_error *err) {
    const float one = 1.0f, kept = op->add ? 1.0f : 0.0f;
    const uint32_t a_columns = op->a_transposed ? op->n_rows : op->n_inner;
    const uint32_t b_columns = op->b_transposed ? op->n_inner : op->n_columns;
    THR_TRY(thr_cuda_use(stream->device, err));
    if (op->n_rows == 0 || op->n_columns == 0)
        return THR_OK;
    THR_TRY(prepare(stream, err));
    const int status = loaded.sgemm(stream->products, op->b_transposed, op->a_transposed, (int)op->n_columns,
                                    (int)op->n_rows, (int)op->n_inner, &one, op->b, (int)b_columns, op->a,
                                    (int)a_columns, &kept, op->c, (int)op->n_columns);
    return check(stream->device, status, "a product", err);
}
