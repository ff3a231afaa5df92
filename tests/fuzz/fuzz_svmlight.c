/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_svmlight.c - bytes read as an SVMlight file, in pieces that end everywhere. */
#include <math.h>

#include "fuzz/io_fuzz.h"
#include "svmlight/read.h"

static uint64_t hash_row(const thr_svmlight *s, size_t r, uint64_t hash) {
    hash = fuzz_hash(hash, &s->labels[r], sizeof s->labels[r]);
    fuzz_check(isfinite(s->labels[r]));
    if (s->queries != NULL)
        hash = fuzz_hash(hash, &s->queries[r], sizeof s->queries[r]);
    const size_t n = s->dense != NULL ? s->n_features : (size_t)(s->starts[r + 1] - s->starts[r]);
    const float *values = s->dense != NULL ? s->dense + r * n : s->values + s->starts[r];
    const uint32_t *columns = s->dense != NULL ? NULL : s->columns + s->starts[r];
    for (size_t v = 0; v < n; v++) {
        fuzz_check(isfinite(values[v]));
        fuzz_check(columns == NULL || (columns[v] < s->n_features && (v == 0 || columns[v - 1] < columns[v])));
    }
    hash = fuzz_hash(hash, values, n * sizeof *values);
    if (columns != NULL)
        hash = fuzz_hash(hash, columns, n * sizeof *columns);
    if (s->comment_starts != NULL)
        hash = fuzz_hash(hash, s->comments + s->comment_starts[r],
                         (size_t)(s->comment_starts[r + 1] - s->comment_starts[r]));
    return hash;
}

static fuzz_result read_pieces(const uint8_t *data, size_t size, size_t piece_bytes, bool need_queries) {
    fuzz_result result = {.hash = 0xcbf29ce484222325u};
    const thr_svmlight_options options = {.piece_bytes = piece_bytes, .need_queries = need_queries};
    thr_svmlight s;
    thr_error err;
    result.status = thr_svmlight_read_memory(fuzz_context(), "a.svm", data, size, &options, &s, &err);
    if (result.status != THR_OK) {
        fuzz_check_error(&err, result.status);
        result.hash = fuzz_hash(result.hash, err.text, strlen(err.text));
    } else {
        fuzz_check((s.dense == NULL) == (s.values != NULL));
        fuzz_check(!need_queries || s.queries != NULL || s.n_rows == 0);
        result.n = s.n_rows;
        for (size_t r = 0; r < s.n_rows; r++)
            result.hash = hash_row(&s, r, result.hash);
    }
    thr_svmlight_free(&s);
    return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const fuzz_result first = read_pieces(data, size, 0, false);
    for (size_t piece = 1; piece < 60; piece += 1 + piece / 2) {
        const fuzz_result other = read_pieces(data, size, piece, false);
        fuzz_check(other.status == first.status && other.n == first.n && other.hash == first.hash);
    }
    const fuzz_result needed = read_pieces(data, size, 0, true);
    fuzz_check(needed.status == first.status || (first.status == THR_OK && needed.status == THR_EFORMAT));
    return 0;
}
