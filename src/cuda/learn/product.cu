/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of matrices, by cuBLAS. The first product loads it at run time, because searches do not need it. Its few
 * functions are declared here, so that building needs no cuBLAS header.
 *
 * cuBLAS is column-major: to it, a row-major matrix is its transpose, so c = a b is computed as c' = b' a' on the
 * same memory. Products are in float32: TF32 is off by default. The order of sums is chosen by cuBLAS and
 * reproducible on one GPU as long as a handle is used in one stream; so each stream has its own.
 */
#include "cuda/backend.cuh"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The functions used from the library. All return a cublasStatus_t. */
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

/* Look up the functions. Returns the name of a missing one, or nullptr. */
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
                        "training on a GPU needs cuBLAS: the library in THR_CUBLAS_LIBRARY could not be loaded (%s)",
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
    loaded = found; /* never unloaded */
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
 * Create a stream's handle at its first use. The device is current for the calling thread; cuBLAS, which has its own
 * runtime, gets it from the driver.
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
