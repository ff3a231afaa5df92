/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gguf.h - named tensors in a GGUF file: a header, metadata, what tensors there are, then their data, aligned.
 *
 * Versions 2 and 3, little-endian. Files are opened by mmap and tensors are views of it. Everything that leads to a
 * tensor is checked once: counts, lengths, types, places and, of types that are read, that all bytes are within the
 * file. Metadata is gone over and left alone but for the alignment and the number of parts. A file is a model, so
 * tensors that are not asked for may be of any type.
 *
 * Rows: the first axis of the format is the innermost one. Here n_dims is its length, and n_rows the product of others.
 */
#ifndef THR_IO_GGUF_H
#define THR_IO_GGUF_H

#include <thresher/matrix.h>

#include "base/memory.h"

enum { THR_GGUF_AXES = 4 };

/* Types by their numbers in the format; others are not read. */
typedef enum thr_gguf_type {
    THR_GGUF_F32 = 0,
    THR_GGUF_F16 = 1,
    THR_GGUF_Q8_0 = 8,  /* 32 int8 with a float16 that they are multiplied by */
    THR_GGUF_Q6_K = 14, /* 256 integers of 6 bits, int8 scales of sixteen each, and a float16 */
    THR_GGUF_BF16 = 30
} thr_gguf_type;

typedef struct thr_gguf_tensor {
    const char *name; /* n_name bytes; not NUL-terminated */
    size_t n_name;
    uint32_t type; /* thr_gguf_type, or another number */
    uint32_t n_axes;
    uint64_t n_dims, n_rows;
    const uint8_t *data; /* of a type that is not read: NULL */
} thr_gguf_tensor;

typedef struct thr_gguf thr_gguf;

/*
 * THR_OK; THR_ENOTFOUND; THR_EFORMAT for a file that is no GGUF, or breaks its rules; THR_EVERSION for a version that
 * is not read; THR_ECORRUPT for one that is cut; THR_EIO; THR_ENOMEM.
 */
thr_status thr_io_gguf_open(thr_context *context, const char *path, thr_gguf **file, thr_error *err);

/* The same over a file's bytes in memory, which must live as long; name is for messages. */
thr_status thr_io_gguf_open_memory(thr_context *context, const char *name, const void *data, size_t size,
                                   thr_gguf **file, thr_error *err);

void thr_io_gguf_free(thr_gguf *file);

size_t thr_io_gguf_count(const thr_gguf *file);
/* In the order of the file. */
const thr_gguf_tensor *thr_io_gguf_at(const thr_gguf *file, size_t i);
/* The first of this name; NULL when there is none. */
const thr_gguf_tensor *thr_io_gguf_find(const thr_gguf *file, const char *name);
/* Of how many parts the model is, as split.count says; 1 for a whole one. */
uint32_t thr_io_gguf_parts(const thr_gguf *file);

/* "Q4_K"; "?" for a number that has no name here. Never NULL. */
const char *thr_io_gguf_type_name(uint32_t type);

/* What holds a type without loss: F32, F16, BF16; of Q8_0 and Q6_K F32; NONE of a type that is not read. */
thr_dtype thr_io_gguf_dtype(uint32_t type);

/* Row number row, below n_rows, as n_dims floats; of a type that is read. */
void thr_io_gguf_row(const thr_gguf_tensor *tensor, uint64_t row, float *out);

#endif
