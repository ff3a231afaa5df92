/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.h - the GPUs that searches and trainings can use.
 *
 * thr_context_options.device selects them when a context is created. A GPU needs the library libthresher_cuda.so beside
 * this one, a driver, and memory for the data that is copied there.
 *
 *   index          screens the codes of searches for the best k (not exact, not radius), on one or all GPUs
 *   posting lists  thr_hits_search, on the first GPU
 *   head           thr_head_query, on the first GPU
 *   RankSVM        thr_rank_train and thr_rank_cross_validate, on the first GPU
 *   text model     steps of thr_tower_train, on the first GPU; needs cuBLAS (the library that the environment variable
 *                  THR_CUBLAS_LIBRARY names, else the one that the loader finds). Sums round differently (tower.h)
 *
 * All but the text model give the same bits as a CPU. The first search on a GPU copies the data there. With "auto" an
 * object is copied once its uses so far are estimated to take the CPU longer than starting the GPU and copying. If the
 * GPU fails or lacks memory, that object alone returns to the CPU.
 *
 * Threads: all functions may be called from several threads at once.
 */
#ifndef THRESHER_DEVICE_H
#define THRESHER_DEVICE_H

#include <thresher/context.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { THR_DEVICE_NAME_SIZE = 256 };

typedef struct thr_device_info {
    uint32_t number;                 /* N of "cuda:N" */
    char name[THR_DEVICE_NAME_SIZE]; /* product name */
    uint32_t major, minor;           /* compute capability */
    uint32_t n_multiprocessors;
    uint64_t memory_bytes, free_bytes;
    uint32_t driver, runtime; /* CUDA versions: 13000 is 13.0 */
} thr_device_info;

/*
 * Count the GPUs. Returns THR_OK; THR_EDEVICE if none can be used: no backend, no driver, a driver that is too old, or
 * no device (err has the reason).
 */
THR_API thr_status thr_device_count(uint32_t *n, thr_error *err);

/* Describe GPU `number`. Returns THR_OK; THR_EINVAL if number is not below the count; THR_EDEVICE. */
THR_API thr_status thr_device_describe(uint32_t number, thr_device_info *info, thr_error *err);

#ifdef __cplusplus
}
#endif

#endif
