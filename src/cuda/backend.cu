/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the CUDA backend, and its devices, memory, streams and copies: thin wrappers of CUDA functions. */
#include "cuda/backend.cuh"

#include <new>
#include <stdio.h>
#include <string.h>

thr_status thr_cuda_check(const thr_device *device, cudaError_t error, const char *what, thr_error *err) {
    if (error == cudaSuccess)
        return THR_OK;
    (void)cudaGetLastError(); /* clears the error if it is not sticky */
    const int number = device == nullptr ? -1 : device->number;
    if (error == cudaErrorMemoryAllocation)
        return thr_fail(err, THR_ENOMEM, "cuda:%d: no memory for %s", number, what);
    return thr_fail(err, THR_EDEVICE, "cuda:%d: %s failed: %s (%s)", number, what, cudaGetErrorString(error),
                    cudaGetErrorName(error));
}

thr_status thr_cuda_use(const thr_device *device, thr_error *err) {
    return thr_cuda_check(device, cudaSetDevice(device->number), "choosing the device", err);
}

/* --------------------------------------------------------------------------------------------- devices */

static thr_status count_devices(uint32_t *n, thr_error *err) {
    int found = 0, driver = 0, runtime = 0;
    *n = 0;
    const cudaError_t error = cudaGetDeviceCount(&found);
    (void)cudaRuntimeGetVersion(&runtime);
    if (error == cudaErrorInsufficientDriver) {
        (void)cudaGetLastError();
        if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
            return thr_fail(err, THR_EDEVICE, "no GPU can be used: there is no NVIDIA driver here");
        return thr_fail(err, THR_EDEVICE,
                        "no GPU can be used: the NVIDIA driver is for CUDA %d.%d, this needs %d.%d: update the driver",
                        driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    }
    if (error == cudaErrorNoDevice || (error == cudaSuccess && found == 0)) {
        (void)cudaGetLastError();
        return thr_fail(err, THR_EDEVICE,
                        "no GPU can be used: the driver lists none (is CUDA_VISIBLE_DEVICES set to hide it?)");
    }
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        return thr_fail(err, THR_EDEVICE, "no GPU can be used: %s (%s)", cudaGetErrorString(error),
                        cudaGetErrorName(error));
    }
    *n = (uint32_t)found;
    return THR_OK;
}

static thr_status describe(uint32_t number, thr_device_info *info, thr_error *err) {
    const thr_device device = {(int)number, 0};
    cudaDeviceProp properties;
    size_t free_bytes = 0, all_bytes = 0;
    int driver = 0, runtime = 0;
    THR_TRY(thr_cuda_use(&device, err));
    THR_TRY(thr_cuda_check(&device, cudaGetDeviceProperties(&properties, (int)number), "reading its properties", err));
    THR_TRY(thr_cuda_check(&device, cudaMemGetInfo(&free_bytes, &all_bytes), "reading its free memory", err));
    THR_TRY(thr_cuda_check(&device, cudaDriverGetVersion(&driver), "reading the driver's version", err));
    THR_TRY(thr_cuda_check(&device, cudaRuntimeGetVersion(&runtime), "reading the runtime's version", err));
    *info = thr_device_info();
    info->number = number;
    (void)snprintf(info->name, sizeof info->name, "%s", properties.name);
    info->major = (uint32_t)properties.major;
    info->minor = (uint32_t)properties.minor;
    info->n_multiprocessors = (uint32_t)properties.multiProcessorCount;
    info->memory_bytes = all_bytes;
    info->free_bytes = free_bytes;
    info->driver = (uint32_t)driver;
    info->runtime = (uint32_t)runtime;
    return THR_OK;
}

static thr_status open_device(uint32_t number, thr_device **device_out, thr_error *err) {
    thr_device_info info;
    *device_out = nullptr;
    THR_TRY(describe(number, &info, err));
    if (info.major < 8)
        return thr_fail(err, THR_EDEVICE, "cuda:%u: %s has compute capability %u.%u, 8.0 is needed", number, info.name,
                        info.major, info.minor);
    thr_device *device = new (std::nothrow) thr_device{(int)number, info.n_multiprocessors};
    if (device == nullptr)
        return thr_fail(err, THR_ENOMEM, "no memory for a device");
    *device_out = device;
    return THR_OK;
}

static void close_device(thr_device *device) {
    delete device;
}

/* ---------------------------------------------------------------------------------------------- memory */

static thr_status alloc(thr_device *device, size_t size, void **memory, const char *what, thr_error *err) {
    size_t free_bytes = 0, all_bytes = 0;
    *memory = nullptr;
    THR_TRY(thr_cuda_use(device, err));
    const cudaError_t error = cudaMalloc(memory, size == 0 ? 1 : size);
    if (error != cudaErrorMemoryAllocation)
        return thr_cuda_check(device, error, what, err);
    (void)cudaGetLastError();
    *memory = nullptr;
    (void)cudaMemGetInfo(&free_bytes, &all_bytes);
    return thr_fail(err, THR_ENOMEM, "cuda:%d: no %.1f MB for %s: %.1f MB of its %.1f MB are free", device->number,
                    (double)size / 1e6, what, (double)free_bytes / 1e6, (double)all_bytes / 1e6);
}

/* Also called for a lost device; errors are ignored. */
static void release_by(cudaError_t (*free)(void *), const thr_device *device, void *memory) {
    if (memory == nullptr)
        return;
    (void)cudaSetDevice(device->number);
    (void)free(memory);
    (void)cudaGetLastError();
}

static void release(thr_device *device, void *memory) {
    release_by(cudaFree, device, memory);
}

static thr_status free_memory(thr_device *device, uint64_t *free_out, uint64_t *all_out, thr_error *err) {
    size_t free_bytes = 0, all_bytes = 0;
    THR_TRY(thr_cuda_use(device, err));
    THR_TRY(thr_cuda_check(device, cudaMemGetInfo(&free_bytes, &all_bytes), "reading its free memory", err));
    *free_out = free_bytes;
    *all_out = all_bytes;
    return THR_OK;
}

static thr_status alloc_pinned(thr_device *device, size_t size, void **memory, const char *what, thr_error *err) {
    *memory = nullptr;
    THR_TRY(thr_cuda_use(device, err));
    const cudaError_t error = cudaMallocHost(memory, size == 0 ? 1 : size);
    if (error != cudaErrorMemoryAllocation)
        return thr_cuda_check(device, error, what, err);
    (void)cudaGetLastError();
    *memory = nullptr;
    return thr_fail(err, THR_ENOMEM, "cuda:%d: no %.1f MB of the host's pinned memory for %s", device->number,
                    (double)size / 1e6, what);
}

static void release_pinned(thr_device *device, void *memory) {
    release_by(cudaFreeHost, device, memory);
}

/* --------------------------------------------------------------------------------------------- streams */

static void close_stream(thr_stream *stream) {
    if (stream == nullptr)
        return;
    (void)cudaSetDevice(stream->device->number);
    (void)cudaStreamSynchronize(stream->stream);
    thr_cuda_end_products(stream);
    (void)cudaStreamDestroy(stream->stream);
    (void)cudaEventDestroy(stream->event);
    (void)cudaGetLastError();
    delete stream;
}

static thr_status open_stream(thr_device *device, thr_stream **stream_out, thr_error *err) {
    cudaStream_t inner = nullptr;
    cudaEvent_t event = nullptr;
    *stream_out = nullptr;
    THR_TRY(thr_cuda_use(device, err));
    THR_TRY(thr_cuda_check(device, cudaStreamCreateWithFlags(&inner, cudaStreamNonBlocking), "opening a stream", err));
    thr_status status =
        thr_cuda_check(device, cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "opening a stream", err);
    thr_stream *stream = status == THR_OK ? new (std::nothrow) thr_stream{device, inner, event, nullptr} : nullptr;
    if (status == THR_OK && stream == nullptr)
        status = thr_fail(err, THR_ENOMEM, "no memory for a stream");
    if (status != THR_OK) {
        (void)cudaStreamDestroy(inner);
        (void)(event == nullptr ? cudaSuccess : cudaEventDestroy(event));
    }
    *stream_out = stream;
    return status;
}

static thr_status wait(thr_stream *stream, thr_error *err) {
    THR_TRY(thr_cuda_use(stream->device, err));
    return thr_cuda_check(stream->device, cudaStreamSynchronize(stream->stream), "its work", err);
}

/* A stream waits for the event's current record: recording it again does not affect streams that wait already. */
static thr_status after(thr_stream *stream, thr_stream *other, thr_error *err) {
    THR_TRY(thr_cuda_use(stream->device, err));
    THR_TRY(thr_cuda_check(stream->device, cudaEventRecord(other->event, other->stream), "marking a stream", err));
    return thr_cuda_check(stream->device, cudaStreamWaitEvent(stream->stream, other->event, 0), "joining streams", err);
}

static thr_status upload(thr_stream *stream, void *to, const void *from, size_t size, thr_error *err) {
    THR_TRY(thr_cuda_use(stream->device, err));
    return thr_cuda_check(stream->device, cudaMemcpyAsync(to, from, size, cudaMemcpyHostToDevice, stream->stream),
                          "copying to the device", err);
}

static thr_status download(thr_stream *stream, void *to, const void *from, size_t size, thr_error *err) {
    THR_TRY(thr_cuda_use(stream->device, err));
    return thr_cuda_check(stream->device, cudaMemcpyAsync(to, from, size, cudaMemcpyDeviceToHost, stream->stream),
                          "copying from the device", err);
}

static thr_status clear(thr_stream *stream, void *memory, size_t size, thr_error *err) {
    THR_TRY(thr_cuda_use(stream->device, err));
    return thr_cuda_check(stream->device, cudaMemsetAsync(memory, 0, size, stream->stream), "clearing memory", err);
}

/* ----------------------------------------------------------------------------------------------- table */

static const thr_backend backend = {THR_BACKEND_VERSION,
                                    sizeof(thr_backend),
                                    "cuda",
                                    count_devices,
                                    describe,
                                    open_device,
                                    close_device,
                                    alloc,
                                    release,
                                    free_memory,
                                    alloc_pinned,
                                    release_pinned,
                                    open_stream,
                                    close_stream,
                                    wait,
                                    after,
                                    upload,
                                    download,
                                    clear,
                                    thr_cuda_batch_limit,
                                    thr_cuda_pack,
                                    thr_cuda_screen,
                                    thr_cuda_listed,
                                    thr_cuda_batch,
                                    thr_cuda_threshold,
                                    thr_cuda_count_keys,
                                    thr_cuda_select,
                                    thr_cuda_rescore,
                                    thr_cuda_refine,
                                    thr_cuda_hit_lists,
                                    thr_cuda_hit_tiles,
                                    thr_cuda_hit_dense,
                                    thr_cuda_hit_terms,
                                    thr_cuda_head_hash,
                                    thr_cuda_head_hits,
                                    thr_cuda_head_found,
                                    thr_cuda_head_list,
                                    thr_cuda_head_product,
                                    thr_cuda_head_sums,
                                    thr_cuda_head_best,
                                    thr_cuda_gather,
                                    thr_cuda_layer,
                                    thr_cuda_lstm,
                                    thr_cuda_attend,
                                    thr_cuda_adam,
                                    thr_cuda_adam_rows,
                                    thr_cuda_ftrl_rows,
                                    thr_cuda_requests,
                                    thr_cuda_windows,
                                    thr_cuda_windows_back,
                                    thr_cuda_product,
                                    thr_cuda_fill_rows,
                                    thr_cuda_sum_rows,
                                    thr_cuda_plane,
                                    thr_cuda_plane_back,
                                    thr_cuda_residual,
                                    thr_cuda_residual_back,
                                    thr_cuda_match,
                                    thr_cuda_rank_scores,
                                    thr_cuda_rank_order,
                                    thr_cuda_rank_costs,
                                    thr_cuda_rank_hessian,
                                    thr_cuda_rank_add,
                                    thr_cuda_rank_diagonal,
                                    thr_cuda_rank_sample};

extern "C" THR_API const thr_backend *thr_backend_get(void) {
    return &backend;
}
