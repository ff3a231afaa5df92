/* SPDX-License-Identifier: Apache-2.0 */
/* Search only some of the items: a bitmap with one bit per row selects them. */
#include <stdio.h>

#include <thresher/thresher.h>

enum { N = 1000, DIMS = 8, WORDS = (N + 63) / 64 };

int main(void) {
    static float vectors[N * DIMS];
    for (int i = 0; i < N * DIMS; i++)
        vectors[i] = (float)((i * 37) % 101) / 101.0f;

    thr_context *context = NULL;
    thr_reader *reader = NULL;
    thr_index *index = NULL;
    thr_error err;
    const thr_matrix rows = thr_matrix_f32(vectors, N, DIMS);
    if (thr_context_create(NULL, &context, &err) != THR_OK ||
        thr_reader_from_matrix(context, &rows, &reader, &err) != THR_OK ||
        thr_index_build(context, "filter.index", reader, NULL, &err) != THR_OK ||
        thr_index_open(context, "filter.index", &index, &err) != THR_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }

    uint64_t allowed[WORDS] = {0};
    for (uint64_t row = 0; row < N; row += 10)
        allowed[row / 64] |= UINT64_C(1) << row % 64;
    thr_search_options options = {0};
    options.filter = allowed;
    options.filter_bits = N;

    uint64_t found[5];
    const thr_matrix query = thr_matrix_f32(vectors, 1, DIMS);
    if (thr_index_search(index, &query, 5, &options, found, NULL, &err) != THR_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    int wrong = 0;
    for (int i = 0; i < 5; i++) {
        printf("row %llu\n", (unsigned long long)found[i]);
        wrong += found[i] % 10 != 0;
    }
    thr_index_free(index);
    thr_reader_free(reader);
    thr_context_free(context);
    return wrong;
}
