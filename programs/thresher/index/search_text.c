/* SPDX-License-Identifier: Apache-2.0 */
/* search_text.c - queries that are texts, encoded by the index's model. */
#include <stdlib.h>
#include <string.h>

#include "index/search_run.h"
#include "cli/messages.h"

static int has_model(const prog_vector_search *s, const char *name, const char *verb) {
    if (thr_index_tower(s->index) != NULL || thr_index_dual(s->index) != NULL)
        return PROG_DONE;
    prog_error("%s %s text, and %s has no model to encode it: give rows of numbers, an item with --like, or an "
               "index built with --model",
               name, verb, s->values->common.dir);
    return PROG_FAILED;
}

int prog_vector_search_encode(const prog_vector_search *s, const char *name, thr_reader *texts, thr_reader **rows) {
    const thr_dual *dual = thr_index_dual(s->index);
    thr_error err = {.status = THR_OK};
    const int rc = has_model(s, name, "holds");

    if (rc != PROG_DONE)
        return rc;
    const thr_status status = dual != NULL
                                  ? thr_dual_reader(dual, THR_SIDE_QUERY, texts, rows, &err)
                                  : thr_tower_reader(thr_index_tower(s->index), THR_SIDE_QUERY, texts, rows, &err);
    return status == THR_OK ? PROG_DONE : prog_failed(&err);
}

static thr_status encode(const prog_vector_search *s, const char *const *texts, size_t n, float *rows, thr_error *err) {
    const thr_dual *dual = thr_index_dual(s->index);
    return dual != NULL ? thr_dual_encode(dual, THR_SIDE_QUERY, texts, NULL, n, rows, err)
                        : thr_tower_encode(thr_index_tower(s->index), THR_SIDE_QUERY, texts, NULL, n, rows, err);
}

/* A text without known words is encoded like an empty one. */
static int note_unknown(const prog_vector_search *s, size_t n) {
    static const char *const empty[] = {""};
    const size_t size = sizeof(float) * s->info.n_dims;
    float *nothing = malloc(size);

    if (nothing == NULL)
        return prog_no_memory();
    const thr_status status = encode(s, empty, 1, nothing, NULL);
    for (size_t i = 0; status == THR_OK && i < n; i++)
        if (memcmp(nothing, s->vectors + i * s->info.n_dims, size) == 0)
            prog_note("query %zu: no word of the text is in the model, so its answer is meaningless", i);
    free(nothing);
    return PROG_DONE;
}

int prog_vector_search_texts(prog_vector_search *s) {
    const char *const *texts = s->values->text.items;
    const size_t n = s->values->text.n, size = sizeof(float) * s->info.n_dims;
    thr_error err = {.status = THR_OK};
    const int rc = has_model(s, "--text", "is");

    if (rc != PROG_DONE)
        return rc;
    s->vectors = n <= SIZE_MAX / size ? malloc(n * size) : NULL;
    if (s->vectors == NULL)
        return prog_no_memory();
    if (encode(s, texts, n, s->vectors, &err) != THR_OK)
        return prog_failed_at("--text", &err);
    return note_unknown(s, n);
}
