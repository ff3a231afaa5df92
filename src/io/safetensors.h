/* SPDX-License-Identifier: Apache-2.0 */
/*
 * safetensors.h - named tensors in one file: 8 bytes of header length, a JSON header, then the data.
 *
 * Files are opened by mmap and tensors are views of it. Reading checks everything once: the header's length, its JSON,
 * that every tensor lies within the data, is as long as its shape and dtype say, and overlaps no other.
 */
#ifndef THR_IO_SAFETENSORS_H
#define THR_IO_SAFETENSORS_H

#include <thresher/matrix.h>

#include "base/memory.h"

enum { THR_TENSOR_AXES = 4 };

typedef struct thr_tensor {
    const char *name;
    thr_dtype dtype; /* F32, F16, I8, U8, F64, I32, U32, I64, U64; others (BF16) are THR_DTYPE_NONE: to be skipped */
    uint32_t n_axes; /* 0: one value */
    uint64_t shape[THR_TENSOR_AXES];
    const void *data; /* aligned to its value's size in files of ours; others may have it anywhere */
    size_t n_bytes;
} thr_tensor;

typedef struct thr_tensors thr_tensors;

/* THR_OK; THR_ENOTFOUND; THR_EFORMAT for a file that is no safetensors; THR_ECORRUPT; THR_EIO; THR_ENOMEM. */
thr_status thr_tensors_open(thr_context *context, const char *path, thr_tensors **tensors, thr_error *err);
void thr_tensors_free(thr_tensors *tensors);

size_t thr_tensors_count(const thr_tensors *tensors);
const thr_tensor *thr_tensors_at(const thr_tensors *tensors, size_t i);
/* NULL when there is none of this name. */
const thr_tensor *thr_tensors_find(const thr_tensors *tensors, const char *name);
/* A string of "__metadata__", NULL when there is none. */
const char *thr_tensors_metadata(const thr_tensors *tensors, const char *key);

/*
 * The same with what the caller expects: THR_EFORMAT naming the file, the tensor, and what it is instead. shape: n_axes
 * numbers.
 */
thr_status thr_tensors_expect(const thr_tensors *tensors, const char *name, thr_dtype dtype, uint32_t n_axes,
                              const uint64_t *shape, const thr_tensor **tensor, thr_error *err);

/* What to write: tensors in this order, data of each 64-byte aligned in the file, metadata as pairs of key and value. */
typedef struct thr_tensors_image {
    const thr_tensor *tensors;
    size_t n_tensors;
    const char *const (*metadata)[2];
    size_t n_metadata;
} thr_tensors_image;

/* Write to a temporary name, flush, rename. THR_OK; THR_ENOSPACE; THR_EIO; THR_ENOMEM. */
thr_status thr_tensors_write(thr_context *context, const char *path, const thr_tensors_image *image, thr_error *err);

#endif
