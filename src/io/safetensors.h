/* SPDX-License-Identifier: Apache-2.0 */
/*
 * safetensors.h - named tensors in one file: 8 bytes of header length, a JSON header, then the data.
 *
 * Files are opened by mmap and tensors are views of it. Reading checks everything once: the header's length, its JSON,
 * that every tensor lies within the data, is as long as its shape and dtype say, and that all together fill the data
 * without a hole and without an overlap, as the format demands. Names and metadata are UTF-8 without NUL characters;
 * none stands twice.
 *
 * Alignment: the format lets nothing stand between tensors, so not every tensor can begin at a multiple of 64. In files
 * of ours the data does, and in it tensors of 8-byte values come first, then those of 4, 2 and 1: every tensor is
 * aligned to its own values. Of files by others nothing is known; look before you cast.
 */
#ifndef THR_IO_SAFETENSORS_H
#define THR_IO_SAFETENSORS_H

#include <thresher/matrix.h>

#include "base/memory.h"

enum { THR_TENSOR_AXES = 4 };

typedef struct thr_tensor {
    const char *name;
    /*
     * F32, F16, BF16, I8, U8, F64, I32, U32, I64, U64; others (BOOL), or too many axes, are THR_DTYPE_NONE: to be
     * skipped
     */
    thr_dtype dtype;
    uint32_t n_axes;                 /* 0: one value */
    uint64_t shape[THR_TENSOR_AXES]; /* the first of them, where there are more axes */
    const void *data;
    size_t n_bytes;
} thr_tensor;

typedef struct thr_tensors thr_tensors;

/* THR_OK; THR_ENOTFOUND; THR_EFORMAT for a file that is no safetensors; THR_ECORRUPT; THR_EIO; THR_ENOMEM. */
thr_status thr_io_tensors_open(thr_context *context, const char *path, thr_tensors **tensors, thr_error *err);

/* The same over a file's bytes in memory, which must live as long; name is for messages. */
thr_status thr_io_tensors_open_memory(thr_context *context, const char *name, const void *data, size_t size,
                                      thr_tensors **tensors, thr_error *err);

void thr_io_tensors_free(thr_tensors *tensors);

/* THR_ECHANGED when the file is not what it was when it was opened. Costs one fstat. */
thr_status thr_io_tensors_check(const thr_tensors *tensors, thr_error *err);

uint64_t thr_io_tensors_file_bytes(const thr_tensors *tensors); /* header and data */
size_t thr_io_tensors_count(const thr_tensors *tensors);
/* In the order of the header. */
const thr_tensor *thr_io_tensors_at(const thr_tensors *tensors, size_t i);
/* NULL when there is none of this name. */
const thr_tensor *thr_io_tensors_find(const thr_tensors *tensors, const char *name);
/* A string of "__metadata__", NULL when there is none. */
const char *thr_io_tensors_metadata(const thr_tensors *tensors, const char *key);

/*
 * THR_EEXIST when path names a file that is neither empty nor tensors with this key in their metadata. what is the
 * expected kind, for the message: "a dual tower". Call it before long work.
 */
thr_status thr_io_tensors_check_place(thr_context *context, const char *path, const char *key, const char *what,
                                      thr_error *err);

/*
 * The same with what the caller expects: THR_EFORMAT naming the file, the tensor, and what it is instead. shape: n_axes
 * numbers.
 */
thr_status thr_io_tensors_expect(const thr_tensors *tensors, const char *name, thr_dtype dtype, uint32_t n_axes,
                                 const uint64_t *shape, const thr_tensor **tensor, thr_error *err);

/*
 * What to write: the header lists tensors in this order, metadata is pairs of key and value. A tensor's n_bytes must be
 * what its dtype and shape say.
 */
typedef struct thr_tensors_image {
    const thr_tensor *tensors;
    size_t n_tensors;
    const char *const (*metadata)[2];
    size_t n_metadata;
} thr_tensors_image;

/*
 * Write to a temporary name, flush, rename. THR_OK; THR_ENOSPACE; THR_EIO; THR_ENOMEM; THR_EINVAL for an image that
 * could not be read back: a name that stands twice or is no UTF-8, a size that is wrong, a dtype that is none.
 */
thr_status thr_io_tensors_write(thr_context *context, const char *path, const thr_tensors_image *image, thr_error *err);

#endif
