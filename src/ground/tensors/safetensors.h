/* SPDX-License-Identifier: Apache-2.0 */
/*
 * safetensors.h - named tensors in one file: 8 bytes of header length, a JSON header, then the data.
 *
 * Files are mapped and tensors are views of the map. Opening validates everything once: the header's length and JSON;
 * that each tensor lies within the data and has the size that its shape and dtype imply; that tensors cover the data
 * without holes or overlaps, as the format requires. Names and metadata are UTF-8 without NUL characters and without
 * duplicates.
 *
 * Alignment: the format allows no padding between tensors, so tensors cannot all begin at multiples of 64. In files
 * that this library writes, the data does, and tensors of 8-byte values come first, then those of 4, 2 and 1 bytes,
 * so every tensor is aligned for its type. Files by other writers guarantee no alignment: check before casting.
 */
#pragma once

#include <thresher/matrix.h>

#include "base/memory.h"

enum { THR_TENSOR_AXES = 4 };

typedef struct thr_tensor {
    const char *name;
    /*
     * F32, F16, BF16, I8, U8, F64, I32, U32, I64, U64. THR_DTYPE_NONE for other types (BOOL) or too many axes: such a
     * tensor should be skipped.
     */
    thr_dtype dtype;
    uint32_t n_axes;                 /* 0: a scalar */
    uint64_t shape[THR_TENSOR_AXES]; /* truncated if there are more axes */
    const void *data;
    size_t n_bytes;
} thr_tensor;

typedef struct thr_tensors thr_tensors;

/*
 * Open a file. THR_OK; THR_ENOTFOUND; THR_EFORMAT if it is not a safetensors file; THR_ECORRUPT; THR_EIO; THR_ENOMEM.
 */
thr_status thr_tensors_open(thr_context *context, const char *path, thr_tensors **tensors, thr_error *err);

/* The same for a file's bytes in memory, which must outlive the reader; name is for messages. */
thr_status thr_tensors_open_memory(thr_context *context, const char *name, const void *data, size_t size,
                                   thr_tensors **tensors, thr_error *err);

void thr_tensors_free(thr_tensors *tensors);

/* Return THR_ECHANGED if the file has changed since it was opened. Costs one fstat. */
thr_status thr_tensors_check(const thr_tensors *tensors, thr_error *err);

uint64_t thr_tensors_file_bytes(const thr_tensors *tensors); /* header and data */
size_t thr_tensors_count(const thr_tensors *tensors);
/* Tensor i in the order of the header. */
const thr_tensor *thr_tensors_at(const thr_tensors *tensors, size_t i);
/* The tensor of this name; NULL if there is none. */
const thr_tensor *thr_tensors_find(const thr_tensors *tensors, const char *name);
/* A string of "__metadata__"; NULL if the key is missing. */
const char *thr_tensors_metadata(const thr_tensors *tensors, const char *key);

/*
 * Return THR_EEXIST if path is a non-empty file that is not a safetensors file with this key in its metadata. `what`
 * is the expected kind, for the message: "a dual tower". Call it before long work.
 */
thr_status thr_tensors_check_place(thr_context *context, const char *path, const char *key, const char *what,
                                   thr_error *err);

/*
 * Find a tensor and check its type and shape (n_axes numbers). THR_EFORMAT with the file, the tensor and the
 * difference.
 */
thr_status thr_tensors_expect(const thr_tensors *tensors, const char *name, thr_dtype dtype, uint32_t n_axes,
                              const uint64_t *shape, const thr_tensor **tensor, thr_error *err);

/*
 * The contents to write. The header lists tensors in this order; metadata is pairs of key and value. n_bytes of a
 * tensor must match its dtype and shape.
 */
typedef struct thr_tensors_image {
    const thr_tensor *tensors;
    size_t n_tensors;
    const char *const (*metadata)[2];
    size_t n_metadata;
} thr_tensors_image;

/*
 * Write to a temporary name, flush, rename. THR_OK; THR_ENOSPACE; THR_EIO; THR_ENOMEM; THR_EINVAL for an image that
 * could not be read back: a duplicate name or one that is not UTF-8, a wrong size, an invalid dtype.
 */
thr_status thr_tensors_write(thr_context *context, const char *path, const thr_tensors_image *image, thr_error *err);
