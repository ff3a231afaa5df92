/* SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

thr_reader *bench_reader(thr_context *context, uint64_t n, uint32_t n_dims, thr_rows_fn fill, void *user) {
    thr_reader *reader = NULL;
    bench_check(thr_reader_from_function(context, n, n_dims, fill, user, &reader, &bench.err));
    return reader;
}

thr_index *bench_build(thr_context *context, thr_reader *reader, const char *dir,
                       const thr_index_build_options *options) {
    bench_check(thr_index_build(context, dir, reader, options, &bench.err));
    thr_reader_free(reader);
    return bench_open(bench.context, dir);
}

thr_index *bench_open(thr_context *context, const char *dir) {
    thr_index *index = NULL;
    bench_check(thr_index_open(context, dir, &index, &bench.err));
    return index;
}

double bench_recall(const uint64_t *truth, const uint64_t *found, size_t n_queries, size_t k) {
    const thr_recall_rows wanted = {truth, NULL, k}, answers = {found, NULL, k};
    double recall = 0;
    bench_check(thr_recall(&wanted, &answers, n_queries, k, &recall, &bench.err));
    return recall;
}

void bench_ask(thr_index *index, const float *query, uint32_t n_dims, size_t k, const thr_search_options *options,
               uint64_t *ids, float *scores) {
    const thr_matrix one = thr_matrix_f32(query, 1, n_dims);
    bench_check(thr_index_search(index, &one, k, options, ids, scores, &bench.err));
    for (size_t i = 1; scores != NULL && i < k && ids[i] != THR_NO_ID; i++)
        if (!(scores[i] <= scores[i - 1]) || ids[i] == ids[i - 1])
            bench_fail("answers are not in order or hold an item twice");
}
