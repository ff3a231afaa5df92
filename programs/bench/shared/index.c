/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

thr_reader *bench_reader(bench_scan_run *run, thr_context *context, uint64_t n, uint32_t n_dims, thr_rows_fn fill,
                         void *user) {
    thr_reader *reader = NULL;
    bench_must(run, thr_reader_from_function(context, n, n_dims, fill, user, &reader, &run->err));
    return reader;
}

thr_index *bench_make_index(bench_scan_run *run, thr_context *context, thr_reader *reader, const char *dir,
                            const thr_index_build_options *options) {
    thr_index *index = NULL;
    bench_must(run, thr_index_build(context, dir, reader, options, &run->err));
    thr_reader_free(reader);
    bench_must(run, thr_index_open(run->context, dir, &index, &run->err));
    return index;
}
