/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gguf.h - named tensors in a GGUF file: a header, metadata, tensor descriptions, then aligned data.
 *
 * Versions 2 and 3, little-endian. Files are mapped and tensors are views of the map. Everything needed to reach a
 * tensor is validated once: counts, lengths, types, offsets and, for supported types, that all bytes lie in the file.
 * Metadata is skipped except for the alignment and the number of parts. A file contains a whole model, so tensors
 * that are not used may have unsupported types.
 *
 * Rows: the first axis of the format is the innermost one. Here n_dims is its length, and n_rows the product of the
 * others.
 */
#pragma once

#include <thresher/matrix.h>

#include "base/memory.h"

enum { THR_GGUF_AXES = 4 };

/* Supported types, with their numbers in the format. */
typedef enum thr_gguf_type {
    THR_GGUF_F32 = 0,
    THR_GGUF_F16 = 1,
    THR_GGUF_Q8_0 = 8,  /* blocks of 32 int8 and a float16 factor */
    THR_GGUF_Q6_K = 14, /* blocks of 256 6-bit integers, an int8 scale for each 16, and a float16 factor */
    THR_GGUF_BF16 = 30
} thr_gguf_type;

typedef struct thr_gguf_tensor {
    const char *name; /* n_name bytes; not NUL-terminated */
    size_t n_name;
    uint32_t type; /* thr_gguf_type, or another number */
    uint32_t n_axes;
    uint64_t n_dims, n_rows;
    const uint8_t *data; /* NULL if the type is not supported */
} thr_gguf_tensor;

typedef struct thr_gguf thr_gguf;

/*
 * Open a file. THR_OK; THR_ENOTFOUND; THR_EFORMAT if it is not a valid GGUF file; THR_EVERSION for an unsupported
 * version; THR_ECORRUPT if it is truncated; THR_EIO; THR_ENOMEM.
 */
thr_status thr_tensors_gguf_open(thr_context *context, const char *path, thr_gguf **file, thr_error *err);

/* The same for a file's bytes in memory, which must outlive the reader; name is for messages. */
thr_status thr_tensors_gguf_open_memory(thr_context *context, const char *name, const void *data, size_t size,
                                        thr_gguf **file, thr_error *err);

void thr_tensors_gguf_free(thr_gguf *file);

size_t thr_tensors_gguf_count(const thr_gguf *file);
/* Tensor i in the order of the file. */
const thr_gguf_tensor *thr_tensors_gguf_at(const thr_gguf *file, size_t i);
/* The first tensor of this name; NULL if there is none. */
const thr_gguf_tensor *thr_tensors_gguf_find(const thr_gguf *file, const char *name);
/* Number of parts of the model, from the key split.count; 1 for a whole one. */
uint32_t thr_tensors_gguf_parts(const thr_gguf *file);

/* Return "Q4_K", or "?" for an unknown number. Never NULL. */
const char *thr_tensors_gguf_type_name(uint32_t type);

/*
 * Return the type that holds all values exactly: F32, F16 or BF16 as stored; F32 for Q8_0 and Q6_K; NONE for
 * unsupported types.
 */
thr_dtype thr_tensors_gguf_dtype(uint32_t type);

/* Convert row `row` < n_rows of a supported type to n_dims floats. */
void thr_tensors_gguf_row(const thr_gguf_tensor *tensor, uint64_t row, float *out);
