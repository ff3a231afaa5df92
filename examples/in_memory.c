/* SPDX-License-Identifier: Apache-2.0 */
/* Index vectors that are in memory, with ids of your own, and search them by Euclidean distance. */
#include <stdio.h>

#include <thresher/thresher.h>

enum { N = 1000, DIMS = 16 };

int main(void) {
    static float vectors[N * DIMS];
    static uint64_t ids[N];
    for (int i = 0; i < N * DIMS; i++)
        vectors[i] = (float)((i * 37) % 101) / 101.0f;
    for (int i = 0; i < N; i++)
        ids[i] = 5000u + (uint64_t)i;

    thr_context *context = NULL;
    thr_reader *reader = NULL;
    thr_index *index = NULL;
    thr_error err;
    const thr_matrix rows = thr_matrix_f32(vectors, N, DIMS);
    thr_index_build_options options = {0};
    options.metric = THR_METRIC_L2;
    options.ids = ids;
    options.n_ids = N;
    options.replace = true;
    if (thr_context_create(NULL, &context, &err) != THR_OK ||
        thr_reader_from_matrix(context, &rows, &reader, &err) != THR_OK ||
        thr_index_build(context, "in_memory.index", reader, &options, &err) != THR_OK ||
        thr_index_open(context, "in_memory.index", &index, &err) != THR_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }

    uint64_t found[3];
    float scores[3];
    const thr_matrix query = thr_matrix_f32(vectors + 42 * DIMS, 1, DIMS);
    if (thr_index_search(index, &query, 3, NULL, found, scores, &err) != THR_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    for (int i = 0; i < 3; i++)
        printf("id %llu, squared distance %g\n", (unsigned long long)found[i], 0 - (double)scores[i]);
    thr_index_free(index);
    thr_reader_free(reader);
    thr_context_free(context);
    return scores[0] == 0 ? 0 : 1; /* the vector itself is there */
}
