/* SPDX-License-Identifier: Apache-2.0 */
#include "roaring_writer.h"

#include "test.h"

#include <stdlib.h>
#include <string.h>

typedef struct bytes {
    uint8_t *data;
    size_t n, room;
} bytes;

/* The low n bytes of a number, little-endian. */
static void put(bytes *b, uint64_t number, size_t n) {
    if (b->n + n > b->room) {
        b->room = 2 * (b->room + n);
        b->data = realloc(b->data, b->room);
        assert_non_null(b->data);
    }
    for (size_t i = 0; i < n; i++)
        b->data[b->n++] = (uint8_t)(number >> 8 * i);
}

/* How many values from the first on agree in all but their last `bits` bits. */
static size_t same(const uint64_t *values, size_t n, unsigned bits) {
    size_t count = 1;
    while (count < n && values[count] >> bits == values[0] >> bits)
        count++;
    return count;
}

static void put_runs(bytes *b, const uint64_t *values, size_t n) {
    const size_t at = b->n;
    unsigned n_runs = 0;
    put(b, 0, 2);
    for (size_t i = 0, length; i < n; i += length, n_runs++) {
        for (length = 1; i + length < n && values[i + length] == values[i] + length;)
            length++;
        put(b, values[i], 2);
        put(b, length - 1, 2);
    }
    b->data[at] = (uint8_t)n_runs;
    b->data[at + 1] = (uint8_t)(n_runs >> 8);
}

static void put_bitmap(bytes *b, const uint64_t *values, size_t n) {
    uint64_t words[1024] = {0};
    for (size_t i = 0; i < n; i++)
        words[values[i] % 65536 / 64] |= UINT64_C(1) << values[i] % 64;
    for (size_t i = 0; i < 1024; i++)
        put(b, words[i], 8);
}

static void put_container(bytes *b, const uint64_t *values, size_t n, bool is_runs) {
    if (is_runs)
        put_runs(b, values, n);
    else if (n > 4096)
        put_bitmap(b, values, n);
    else
        for (size_t i = 0; i < n; i++)
            put(b, values[i], 2);
}

/* A bitmap of 32 bits. Containers are made apart, so that their offsets are known. */
static void put_bucket(bytes *b, const uint64_t *values, size_t n, unsigned runs) {
    bytes flags = {NULL, 0, 0}, keys = {NULL, 0, 0}, offsets = {NULL, 0, 0}, containers = {NULL, 0, 0};
    size_t n_containers = 0;
    for (size_t i = 0, count; i < n; i += count, n_containers++) {
        const bool is_runs = runs != 0 && n_containers % runs == 0;
        count = same(values + i, n - i, 16);
        if (n_containers % 8 == 0)
            put(&flags, 0, 1);
        flags.data[n_containers / 8] |= (uint8_t)(is_runs << n_containers % 8);
        put(&keys, values[i] >> 16, 2);
        put(&keys, count - 1, 2);
        put(&offsets, containers.n, 4);
        put_container(&containers, values + i, count, is_runs);
    }
    const bool has_runs = runs != 0 && n > 0, has_offsets = !has_runs || n_containers >= 4;
    size_t head = has_runs ? 4 + flags.n : 8;
    head += keys.n + (has_offsets ? offsets.n : 0);
    put(b, has_runs ? 12347 | (n_containers - 1) << 16 : 12346, 4);
    if (!has_runs)
        put(b, n_containers, 4);
    for (size_t i = 0; has_runs && i < flags.n; i++)
        put(b, flags.data[i], 1);
    for (size_t i = 0; i < keys.n; i++)
        put(b, keys.data[i], 1);
    for (size_t i = 0; has_offsets && i < n_containers; i++) {
        uint32_t offset;
        memcpy(&offset, offsets.data + 4 * i, sizeof offset);
        put(b, head + offset, 4);
    }
    for (size_t i = 0; i < containers.n; i++)
        put(b, containers.data[i], 1);
    free(flags.data);
    free(keys.data);
    free(offsets.data);
    free(containers.data);
}

uint8_t *test_roaring_write(const uint64_t *values, size_t n, test_roaring_form form, size_t *size) {
    bytes b = {NULL, 0, 0};
    if (!form.wide) {
        put_bucket(&b, values, n, form.runs);
    } else {
        uint64_t n_buckets = 0;
        put(&b, 0, 8);
        for (size_t i = 0, count; i < n; i += count, n_buckets++) {
            count = same(values + i, n - i, 32);
            put(&b, values[i] >> 32, 4);
            put_bucket(&b, values + i, count, form.runs);
        }
        memcpy(b.data, &n_buckets, sizeof n_buckets);
    }
    *size = b.n;
    uint8_t *written = test_copy(b.data, b.n, 1);
    free(b.data);
    return written;
}
