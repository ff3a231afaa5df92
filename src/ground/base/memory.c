/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory.h"

#include "base/error.h"

#include <string.h>

enum { ALIGNMENT = 64 };

/* The pointer-sized slot before the aligned address holds the address that the allocator returned. */
thr_status thr_alloc(thr_context *context, size_t count, size_t size, void *memory_out, const char *what,
                     thr_error *err) {
    size_t bytes = 0;
    void *start = NULL;
    if (thr_mul_size(count, size, &bytes) && bytes <= SIZE_MAX - 2 * ALIGNMENT)
        start = context->allocator.allocate(context->allocator.user, bytes + ALIGNMENT + sizeof(void *));
    if (start == NULL)
        return thr_fail(err, THR_ENOMEM,
                        "no memory for %s: %zu x %zu bytes; free memory, raise its limit, or give less at once", what,
                        count, size);
    uintptr_t aligned = ((uintptr_t)start + sizeof(void *) + ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1);
    memcpy((char *)aligned - sizeof(void *), &start, sizeof start);
    void *memory = (void *)aligned;
    memcpy(memory_out, &memory, sizeof memory);
    return THR_OK;
}

thr_status thr_alloc_zero(thr_context *context, size_t count, size_t size, void *memory_out, const char *what,
                          thr_error *err) {
    THR_TRY(thr_alloc(context, count, size, memory_out, what, err));
    void *memory = NULL;
    memcpy(&memory, memory_out, sizeof memory);
    memset(memory, 0, count * size);
    return THR_OK;
}

thr_status thr_grow(thr_context *context, void *memory_inout, size_t *capacity, size_t wanted, size_t size,
                    const char *what, thr_error *err) {
    if (wanted <= *capacity)
        return THR_OK;
    size_t count = *capacity + *capacity / 2;
    if (count < wanted)
        count = wanted;
    void *old = NULL, *grown = NULL;
    memcpy(&old, memory_inout, sizeof old);
    THR_TRY(thr_alloc(context, count, size, &grown, what, err));
    if (old != NULL)
        memcpy(grown, old, *capacity * size);
    thr_release(context, old);
    memcpy(memory_inout, &grown, sizeof grown);
    *capacity = count;
    return THR_OK;
}

void thr_release(thr_context *context, void *memory) {
    if (memory == NULL)
        return;
    void *start = NULL;
    memcpy(&start, (char *)memory - sizeof(void *), sizeof start);
    context->allocator.release(context->allocator.user, start);
}

void thr_release_each(thr_context *context, void *const *memories, size_t n) {
    for (size_t i = 0; i < n; i++)
        thr_release(context, memories[i]);
}
