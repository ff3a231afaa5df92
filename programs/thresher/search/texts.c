/* SPDX-License-Identifier: Apache-2.0 */
#include "search/texts.h"

#include <stdlib.h>
#include <string.h>

#include "cli/messages.h"

static int has_model(const thr_index *index, const char *dir, const char *name, const char *verb) {
    if (thr_tower_of_index(index) != NULL || thr_dual_of_index(index) != NULL)
        return PROG_DONE;
    prog_error("%s %s text, and %s has no model to encode it: give rows of numbers, an item with --like, or an "
               "index built with --model",
               name, verb, dir);
    return PROG_FAILED;
}

int prog_texts_reader(const thr_index *index, const char *dir, const char *name, thr_reader *texts, thr_reader **rows) {
    const thr_dual *dual = thr_dual_of_index(index);
    thr_error err = {.status = THR_OK};
    const int rc = has_model(index, dir, name, "holds");

    if (rc != PROG_DONE)
        return rc;
    const thr_status status = dual != NULL
                                  ? thr_dual_reader(dual, THR_SIDE_QUERY, texts, rows, &err)
                                  : thr_tower_reader(thr_tower_of_index(index), THR_SIDE_QUERY, texts, rows, &err);
    return status == THR_OK ? PROG_DONE : prog_failed(&err);
}

static thr_status encode(const thr_index *index, const char *const *texts, size_t n, float *rows, thr_error *err) {
    const thr_dual *dual = thr_dual_of_index(index);
    return dual != NULL ? thr_dual_encode(dual, THR_SIDE_QUERY, texts, NULL, n, rows, err)
                        : thr_tower_encode(thr_tower_of_index(index), THR_SIDE_QUERY, texts, NULL, n, rows, err);
}

/* A text without known words is encoded like an empty one. */
static int note_unknown(const thr_index *index, const float *vectors, size_t n, size_t size) {
    static const char *const empty[] = {""};
    float *nothing = malloc(size);

    if (nothing == NULL)
        return prog_no_memory();
    const thr_status status = encode(index, empty, 1, nothing, NULL);
    for (size_t i = 0; status == THR_OK && i < n; i++)
        if (memcmp(nothing, vectors + i * (size / sizeof *vectors), size) == 0)
            prog_note("query %zu: no word of the text is in the model, so its answer is meaningless", i);
    free(nothing);
    return PROG_DONE;
}

int prog_texts_encode(const thr_index *index, const char *dir, const prog_list *texts, float **vectors) {
    const size_t n = texts->n, size = sizeof(float) * thr_index_get_info(index).n_dims;
    thr_error err = {.status = THR_OK};
    const int rc = has_model(index, dir, "--text", "is");

    if (rc != PROG_DONE)
        return rc;
    *vectors = n <= SIZE_MAX / size ? malloc(n * size) : NULL;
    if (*vectors == NULL)
        return prog_no_memory();
    if (encode(index, texts->items, n, *vectors, &err) != THR_OK)
        return prog_failed_at("--text", &err);
    return note_unknown(index, *vectors, n, size);
}
