/* SPDX-License-Identifier: Apache-2.0 */
#include "base/radix.h"

#include "base/error.h"

#include <string.h>

static void scatter(const thr_keyed *in, thr_keyed *out, size_t n, unsigned shift, size_t counts[256]) {
    size_t start = 0;
    for (size_t digit = 0; digit < 256; digit++) {
        size_t count = counts[digit];
        counts[digit] = start;
        start += count;
    }
    for (size_t i = 0; i < n; i++)
        out[counts[in[i].key >> shift & 0xff]++] = in[i];
}

thr_status thr_radix_sort(thr_context *context, thr_keyed *pairs, size_t n, thr_error *err) {
    thr_keyed *other = NULL;
    thr_keyed *in = pairs;
    if (n < 2)
        return THR_OK;
    THR_TRY(thr_alloc(context, n, sizeof *other, &other, "sorting ids", err));
    thr_keyed *out = other;
    for (unsigned shift = 0; shift < 64; shift += 8) {
        size_t counts[256] = {0};
        for (size_t i = 0; i < n; i++)
            counts[in[i].key >> shift & 0xff]++;
        if (counts[in[0].key >> shift & 0xff] == n)
            continue;
        scatter(in, out, n, shift, counts);
        thr_keyed *swap = in;
        in = out;
        out = swap;
    }
    if (in != pairs)
        memcpy(pairs, in, n * sizeof *pairs);
    thr_release(context, other);
    return THR_OK;
}

thr_status thr_radix_order(thr_context *context, const uint64_t *keys, uint32_t n, uint32_t *order, thr_error *err) {
    thr_keyed *pairs = NULL;
    THR_TRY(thr_alloc(context, n, sizeof *pairs, &pairs, "the order of ids", err));
    for (uint32_t i = 0; i < n; i++)
        pairs[i] = (thr_keyed){.key = keys[i], .value = i};
    const thr_status status = thr_radix_sort(context, pairs, n, err);
    for (uint32_t i = 0; i < n && status == THR_OK; i++)
        order[i] = (uint32_t)pairs[i].value;
    thr_release(context, pairs);
    return status;
}

size_t thr_radix_first(const thr_keyed *pairs, size_t n, uint64_t key) {
    size_t first = 0;
    while (first < n) {
        const size_t middle = first + (n - first) / 2;
        if (pairs[middle].key < key)
            first = middle + 1;
        else
            n = middle;
    }
    return first;
}

bool thr_radix_find(const uint64_t *keys, const uint32_t *order, uint32_t n, uint64_t key, uint32_t *number) {
    uint32_t low = 0, high = n;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2, candidate = order[middle];
        if (candidate >= n)
            return false;
        if (keys[candidate] == key) {
            *number = candidate;
            return true;
        }
        if (keys[candidate] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}
