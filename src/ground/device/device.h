/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.h - the interface of a GPU backend, a table of functions over raw device memory, and its loader.
 *
 * A backend is a separate library (libthresher_cuda.so), loaded at run time, so the core needs no CUDA. It provides
 * memory, streams and operations: ops.h, hit_ops.h and head_ops.h for searches, translate_ops.h for decoders,
 * learn_ops.h and rank_ops.h for training. The callers compose them. Functions that take a stream only enqueue work.
 * Work of one stream runs in order, and a later call may return its failure.
 *
 * Threads: a device may be used from several threads at once, a stream from one at a time.
 * Errors:  THR_ENOMEM if device or pinned memory is exhausted; the device stays usable. THR_EDEVICE for all others;
 *          after a kernel's failure every later call returns it (the device is lost to this process).
 */
#pragma once

#include "device/head_ops.h"
#include "device/hit_ops.h"
#include "device/learn_ops.h"
#include "device/ops.h"
#include "device/rank_ops.h"
#include "device/translate_ops.h"

#include <thresher/device.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct thr_device thr_device; /* one GPU, opened */
typedef struct thr_stream thr_stream;

enum { THR_BACKEND_VERSION = 9 }; /* changes with this struct and the structs of ops.h and the other *_ops.h */

typedef struct thr_backend {
    uint32_t version;
    uint32_t size;    /* of this struct */
    const char *name; /* "cuda" */

    thr_status (*count)(uint32_t *n, thr_error *err);
    thr_status (*describe)(uint32_t number, thr_device_info *info, thr_error *err);
    thr_status (*open)(uint32_t number, thr_device **device, thr_error *err);
    void (*close)(thr_device *device); /* everything made from it must have been released */

    /* Device memory, 256-byte aligned; pinned host memory, which copies at full speed. */
    thr_status (*alloc)(thr_device *device, size_t size, void **memory, const char *what, thr_error *err);
    void (*release)(thr_device *device, void *memory);
    thr_status (*free_memory)(thr_device *device, uint64_t *free_bytes, uint64_t *all_bytes, thr_error *err);
    thr_status (*alloc_pinned)(thr_device *device, size_t size, void **memory, const char *what, thr_error *err);
    void (*release_pinned)(thr_device *device, void *memory);

    thr_status (*open_stream)(thr_device *device, thr_stream **stream, thr_error *err);
    void (*close_stream)(thr_stream *stream); /* waits for its work */
    thr_status (*wait)(thr_stream *stream, thr_error *err);
    /* Work enqueued on stream waits for work already enqueued on other, a stream of the same device. */
    thr_status (*after)(thr_stream *stream, thr_stream *other, thr_error *err);

    thr_status (*upload)(thr_stream *stream, void *to, const void *from, size_t size, thr_error *err);
    thr_status (*download)(thr_stream *stream, void *to, const void *from, size_t size, thr_error *err);
    thr_status (*clear)(thr_stream *stream, void *memory, size_t size, thr_error *err); /* set to zeros */

    /* The largest batch of queries with query_bits bits over such codes; 0: batches are not supported. */
    uint32_t (*batch_limit)(const thr_device *device, uint32_t n_dims, uint32_t n_planes, uint32_t query_bits);

    thr_status (*pack)(thr_stream *stream, const thr_pack_op *op, thr_error *err);
    thr_status (*screen)(thr_stream *stream, const thr_screen_op *op, thr_error *err);
    thr_status (*listed)(thr_stream *stream, const thr_listed_op *op, thr_error *err);
    thr_status (*batch)(thr_stream *stream, const thr_batch_op *op, thr_error *err);
    thr_status (*threshold)(thr_stream *stream, const thr_threshold_op *op, thr_error *err);
    thr_status (*count_keys)(thr_stream *stream, const thr_count_op *op, thr_error *err);
    thr_status (*select)(thr_stream *stream, const thr_select_op *op, thr_error *err);
    thr_status (*rescore)(thr_stream *stream, const thr_rescore_op *op, thr_error *err);
    thr_status (*refine)(thr_stream *stream, const thr_refine_op *op, thr_error *err);

    thr_status (*hit_lists)(thr_stream *stream, const thr_hit_lists_op *op, thr_error *err);
    thr_status (*hit_tiles)(thr_stream *stream, const thr_hit_tiles_op *op, thr_error *err);
    thr_status (*hit_dense)(thr_stream *stream, const thr_hit_dense_op *op, thr_error *err);
    thr_status (*hit_terms)(thr_stream *stream, const thr_hit_terms_op *op, thr_error *err);

    thr_status (*head_hash)(thr_stream *stream, const thr_head_hash_op *op, thr_error *err);
    thr_status (*head_hits)(thr_stream *stream, const thr_head_hits_op *op, thr_error *err);
    thr_status (*head_found)(thr_stream *stream, const thr_head_found_op *op, thr_error *err);
    thr_status (*head_list)(thr_stream *stream, const thr_head_list_op *op, thr_error *err);
    thr_status (*head_product)(thr_stream *stream, const thr_head_product_op *op, thr_error *err);
    thr_status (*head_sums)(thr_stream *stream, const thr_head_sums_op *op, thr_error *err);
    thr_status (*head_best)(thr_stream *stream, const thr_head_best_op *op, thr_error *err);

    thr_status (*gather)(thr_stream *stream, const thr_gather_op *op, thr_error *err);
    thr_status (*layer)(thr_stream *stream, const thr_layer_op *op, thr_error *err);
    thr_status (*lstm)(thr_stream *stream, const thr_lstm_op *op, thr_error *err);
    thr_status (*attend)(thr_stream *stream, const thr_attend_op *op, thr_error *err);
    thr_status (*adam)(thr_stream *stream, const thr_adam_op *op, thr_error *err);
    thr_status (*adam_rows)(thr_stream *stream, const thr_adam_rows_op *op, thr_error *err);
    thr_status (*ftrl_rows)(thr_stream *stream, const thr_ftrl_rows_op *op, thr_error *err);
    thr_status (*requests)(thr_stream *stream, const thr_requests_op *op, thr_error *err);
    thr_status (*windows)(thr_stream *stream, const thr_windows_op *op, thr_error *err);
    thr_status (*windows_back)(thr_stream *stream, const thr_windows_back_op *op, thr_error *err);
    thr_status (*product)(thr_stream *stream, const thr_product_op *op, thr_error *err);
    thr_status (*fill_rows)(thr_stream *stream, const thr_fill_rows_op *op, thr_error *err);
    thr_status (*sum_rows)(thr_stream *stream, const thr_sum_rows_op *op, thr_error *err);
    thr_status (*plane)(thr_stream *stream, const thr_plane_op *op, thr_error *err);
    thr_status (*plane_back)(thr_stream *stream, const thr_plane_back_op *op, thr_error *err);
    thr_status (*residual)(thr_stream *stream, const thr_residual_op *op, thr_error *err);
    thr_status (*residual_back)(thr_stream *stream, const thr_residual_back_op *op, thr_error *err);
    thr_status (*match)(thr_stream *stream, const thr_match_op *op, thr_error *err);

    thr_status (*rank_scores)(thr_stream *stream, const thr_rank_scores_op *op, thr_error *err);
    thr_status (*rank_order)(thr_stream *stream, const thr_rank_order_op *op, thr_error *err);
    thr_status (*rank_costs)(thr_stream *stream, const thr_rank_costs_op *op, thr_error *err);
    thr_status (*rank_hessian)(thr_stream *stream, const thr_rank_hessian_op *op, thr_error *err);
    thr_status (*rank_add)(thr_stream *stream, const thr_rank_add_op *op, thr_error *err);
    thr_status (*rank_diagonal)(thr_stream *stream, const thr_rank_diagonal_op *op, thr_error *err);
    thr_status (*rank_sample)(thr_stream *stream, const thr_rank_sample_op *op, thr_error *err);
} thr_backend;

/* The only symbol that a backend library exports. */
#define THR_BACKEND_SYMBOL "thr_backend_get"
typedef const thr_backend *(*thr_backend_get_fn)(void);

/*
 * Load the CUDA backend: the library that the environment variable THR_CUDA_LIBRARY names, else libthresher_cuda.so
 * next to this library, else on the loader's search path. It is loaded once and never unloaded.
 *
 * Returns THR_OK; THR_EDEVICE if there is none (a build without CUDA) or its version differs.
 */
thr_status thr_device_backend_load(const thr_backend **backend, thr_error *err);

#ifdef __cplusplus
}
#endif
