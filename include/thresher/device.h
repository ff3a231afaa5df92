/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.h - the GPUs that searches and trainings can use.
 *
 * Which one is used is said when a context is made (thr_context_options.device). A GPU screens codes: of searches for
 * the best k that are not exact, the part that touches every item. It needs the library libthresher_cuda.so beside this
 * one, a driver, and memory for the codes of an index, which are copied there at the first search. Answers are the same
 * as a CPU's, bit for bit.
 *
 * It also searches posting lists (thr_hits_search), which are copied there at the first search that uses a GPU; of
 * several GPUs the first one is used.
 *
 * With "auto" an index, posting lists or a head is copied to the GPU once its uses so far are estimated to take the CPU
 * longer than waking the GPU up and copying. If the GPU fails or lacks memory, that object alone returns to the CPU.
 *
 * And it makes the steps of thr_tower_train, with "cuda" always, with "auto" where the training is long; of several
 * GPUs the first does. It needs cuBLAS, too, which is loaded then: the library that the environment variable
 * THR_CUBLAS_LIBRARY names, else the one that the loader finds. Sums are rounded otherwise than a CPU's (tower.h).
 *
 * The environment variable THR_SELECT, which thr_context_create reads, says how the best rows are found on a GPU.
 * "threshold", the default: by a threshold from a sample. "buckets": the best row of every bucket of rows, then, where
 * a certificate leaves doubt, the other rows of such buckets; the answers are the same. "paper": without the
 * certificate, as it was published: of N rows a share of (N - 1) / (2 x buckets) is missed on average, and only answers
 * that leave out no row are certified; it is for comparisons. A number behind the last two, "paper:256", is how many
 * rows a bucket has, where otherwise there are, memory allowing, buckets enough to miss one row in 10,000.
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
    uint32_t number;                 /* as in "cuda:0" */
    char name[THR_DEVICE_NAME_SIZE]; /* as its maker calls it */
    uint32_t major, minor;           /* compute capability */
    uint32_t n_multiprocessors;
    uint64_t memory_bytes, free_bytes;
    uint32_t driver, runtime; /* CUDA versions: 13000 is 13.0 */
} thr_device_info;

/*
 * How many GPUs there are.
 *
 * Returns THR_OK; THR_EDEVICE when none can be used: no backend, no driver, too old a driver, no device (err says
 * which).
 */
THR_API thr_status thr_device_count(uint32_t *n, thr_error *err);

/* One of them. Returns THR_OK; THR_EINVAL for a number that is not below the count; THR_EDEVICE. */
THR_API thr_status thr_device_describe(uint32_t number, thr_device_info *info, thr_error *err);

#ifdef __cplusplus
}
#endif

#endif
