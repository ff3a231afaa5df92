/* SPDX-License-Identifier: Apache-2.0 */
/* An index whose items come and go while it is searched: add, replace, remove, refresh, compact. */
#include <stdio.h>

#include <thresher/thresher.h>

enum { DIMS = 8, ITEMS = 100 };

/* Return the status of a call that failed. */
#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        const thr_status status_ = (call);                                                                             \
        if (status_ != THR_OK)                                                                                         \
            return status_;                                                                                            \
    } while (0)

/* Item i: the unit vector of dimension i % DIMS, a little moved, so that all differ. */
static void make(float *rows, uint64_t first, uint64_t n) {
    for (uint64_t i = first; i < first + n; i++)
        for (uint64_t d = 0; d < DIMS; d++)
            rows[(i - first) * DIMS + d] = (i % DIMS == d ? 1.0f : 0.0f) + 0.001f * (float)(i * (d + 1) % 97);
}

static thr_status add(thr_context *context, uint64_t first, uint64_t n, const thr_index_add_options *options,
                      thr_index_change *change, thr_error *err) {
    float rows[ITEMS * DIMS];
    thr_reader *reader = NULL;
    make(rows, first, n);
    const thr_matrix matrix = thr_matrix_f32(rows, n, DIMS);
    thr_status status = thr_reader_from_matrix(context, &matrix, &reader, err);
    if (status == THR_OK)
        status = options == NULL ? thr_index_build(context, "live.index", reader, NULL, err)
                                 : thr_index_add(context, "live.index", reader, options, change, err);
    thr_reader_free(reader);
    return status;
}

/* Close the old snapshot and search the newest one. A program with threads keeps it until its last search ends. */
static thr_status refresh(thr_index **index, thr_error *err) {
    thr_index *newer = NULL;
    const thr_status status = thr_index_refresh(*index, &newer, err);
    if (status == THR_OK && newer != NULL) {
        thr_index_free(*index);
        *index = newer;
    }
    return status;
}

static thr_status best(thr_index *index, uint64_t item, uint64_t *id, thr_error *err) {
    float row[DIMS];
    make(row, item, 1);
    const thr_matrix query = thr_matrix_f32(row, 1, DIMS);
    return thr_index_search(index, &query, 1, NULL, id, NULL, err);
}

static thr_status live(thr_context *context, thr_index **index, uint64_t found[3], thr_error *err) {
    const uint64_t replaced[] = {100, 7}, gone[] = {100};
    thr_index_change change;
    thr_index_add_options options = {0};
    TRY(add(context, 0, ITEMS, NULL, NULL, err));
    TRY(thr_index_open(context, "live.index", index, err));
    TRY(add(context, 100, 2, &options, &change, err)); /* on the disk when it returns */
    printf("added %llu items from id %llu on\n", (unsigned long long)change.n_added,
           (unsigned long long)change.first_id);
    TRY(refresh(index, err));
    TRY(best(*index, 100, &found[0], err));
    options.ids = replaced;
    options.n_ids = 2;
    options.replace = true; /* the items with these ids go in the same commit */
    TRY(add(context, 200, 2, &options, &change, err));
    TRY(refresh(index, err));
    TRY(best(*index, 200, &found[1], err));
    TRY(thr_index_remove(context, "live.index", gone, 1, &change, err));
    TRY(thr_index_compact(context, "live.index", &change, err)); /* gives the bytes back */
    TRY(refresh(index, err));
    TRY(best(*index, 200, &found[2], err));
    printf("%llu items after %llu commits\n", (unsigned long long)change.n_items, (unsigned long long)change.n_commits);
    return THR_OK;
}

int main(void) {
    thr_context *context = NULL;
    thr_index *index = NULL;
    thr_error err;
    uint64_t found[3] = {0};
    if (thr_context_create(NULL, &context, &err) != THR_OK || live(context, &index, found, &err) != THR_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    thr_index_free(index);
    thr_context_free(context);
    return found[0] == 100 && found[1] == 100 && found[2] != 100 ? 0 : 1;
}
