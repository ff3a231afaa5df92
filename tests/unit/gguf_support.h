/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_support.h - GGUF files written value by value, for tests that read them. */
#pragma once

#include "test.h"

enum { GGUF_ROOM = 1 << 16 };

typedef struct gguf_bytes {
    uint8_t at[GGUF_ROOM];
    size_t n;
} gguf_bytes;

static inline void gguf_put(gguf_bytes *b, uint64_t x, size_t n) {
    assert_true(b->n + n <= GGUF_ROOM);
    for (size_t i = 0; i < n; i++)
        b->at[b->n++] = (uint8_t)(x >> 8 * i);
}

static inline void gguf_put_bytes(gguf_bytes *b, const void *bytes, size_t n) {
    assert_true(b->n + n <= GGUF_ROOM);
    memcpy(b->at + b->n, bytes, n);
    b->n += n;
}

static inline void gguf_put_string(gguf_bytes *b, const char *string) {
    gguf_put(b, strlen(string), 8);
    gguf_put_bytes(b, string, strlen(string));
}

static inline void gguf_begin(gguf_bytes *b, uint32_t version, uint64_t n_tensors, uint64_t n_pairs) {
    b->n = 0;
    gguf_put_bytes(b, "GGUF", 4);
    gguf_put(b, version, 4);
    gguf_put(b, n_tensors, 8);
    gguf_put(b, n_pairs, 8);
}

static inline void gguf_put_pair(gguf_bytes *b, const char *key, uint32_t type, uint64_t value, size_t n) {
    gguf_put_string(b, key);
    gguf_put(b, type, 4);
    gguf_put(b, value, n);
}

/* n_axes is 1 or 2: the first is the length of a row. */
static inline void gguf_put_tensor(gguf_bytes *b, const char *name, uint32_t type, uint32_t n_axes, uint64_t n_dims,
                                   uint64_t n_rows, uint64_t offset) {
    gguf_put_string(b, name);
    gguf_put(b, n_axes, 4);
    gguf_put(b, n_dims, 8);
    if (n_axes > 1)
        gguf_put(b, n_rows, 8);
    gguf_put(b, type, 4);
    gguf_put(b, offset, 8);
}

static inline void gguf_align(gguf_bytes *b, size_t alignment) {
    while (b->n % alignment != 0)
        gguf_put(b, 0, 1);
}
