/* SPDX-License-Identifier: Apache-2.0 */
/* Indexes in files, built and opened as a user would. */
#include "gcheck.h"

void gcheck_make_place(char dir[GCHECK_PLACE_SIZE]) {
    const char *where = getenv("TMPDIR");
    (void)snprintf(dir, GCHECK_PLACE_SIZE, "%s/thresher-gcheck-XXXXXX", where == NULL ? "/tmp" : where);
    if (mkdtemp(dir) == NULL) {
        perror(dir);
        exit(1);
    }
}

void gcheck_build_index(gcheck *g, const char *dir, const gcheck_vectors *vectors,
                        const thr_index_build_options *options) {
    const thr_matrix rows = thr_matrix_f32(vectors->items, vectors->n_items, vectors->n_dims);
    thr_reader *reader = NULL;
    gcheck_must(thr_reader_from_matrix(g->context, &rows, &reader, &err), &err, "reading vectors");
    gcheck_must(thr_index_build(g->context, dir, reader, options, &err), &err, "building an index");
    thr_reader_free(reader);
}

void gcheck_open_index(const char *dir, const char *device, thr_context **context, thr_index **index) {
    thr_context_options options = {0};
    options.device = device;
    gcheck_must(thr_context_create(&options, context, &err), &err, device);
    gcheck_must(thr_index_open(*context, dir, index, &err), &err, "opening an index");
}
