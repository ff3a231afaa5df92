/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_svmlight_cache.c - bytes taken as the cache of an SVMlight file, whose state is that in the cache, checksums
 * recomputed; every number of a cache that is accepted is read.
 */
#include <math.h>

#include "fuzz/io_fuzz.h"
#include "fuzz/section_mutator.h"
#include "svmlight/side_files.h"

static void check_row(const thr_svmlight *s, size_t r) {
    fuzz_check(isfinite(s->labels[r]) && (s->queries == NULL || s->queries[r] <= UINT64_MAX));
    const size_t n = s->dense != NULL ? s->n_features : (size_t)(s->starts[r + 1] - s->starts[r]);
    const float *values = s->dense != NULL ? s->dense + r * n : s->values + s->starts[r];
    const uint32_t *columns = s->dense != NULL ? NULL : s->columns + s->starts[r];
    for (size_t v = 0; v < n; v++) {
        fuzz_check(isfinite(values[v]));
        fuzz_check(columns == NULL || (columns[v] < s->n_features && (v == 0 || columns[v - 1] < columns[v])));
    }
    if (s->comment_starts != NULL)
        (void)fuzz_hash(0, s->comments + s->comment_starts[r],
                        (size_t)(s->comment_starts[r + 1] - s->comment_starts[r]));
}

FUZZ_MUTATOR(fuzz_mutate_sections)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    thr_svmlight_source source = {.file = 0};
    uint8_t *memory = fuzz_sealed_copy(data, size);
    if (size >= THR_SECTIONS_HEADER + sizeof source) /* the first section */
        memcpy(&source, (const char *)memory + THR_SECTIONS_HEADER, sizeof source);
    const thr_map map = {.data = memory, .size = size};
    for (int with_comments = 0; with_comments < 2; with_comments++) {
        thr_svmlight s;
        if (thr_svmlight_cache_take(&map, &source, with_comments != 0, &s))
            for (size_t r = 0; r < s.n_rows; r++)
                check_row(&s, r);
    }
    free(memory);
    return 0;
}
