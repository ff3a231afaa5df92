/* SPDX-License-Identifier: Apache-2.0 */
/* search_text.c - queries that are texts: what the model that an index carries makes of them. */
#include <stdlib.h>

#include "search.h"
#include "talk.h"

static int has_model(const prog_search *s, const char *name, const char *verb) {
    if (thr_index_tower(s->index) != NULL || thr_index_dual(s->index) != NULL)
        return PROG_DONE;
    prog_error("%s %s text, and %s carries no model to read it with: give rows of numbers, an item with --like, or an "
               "index built with --model",
               name, verb, s->values->dir);
    return PROG_FAILED;
}

int prog_search_encode(const prog_search *s, const char *name, thr_reader *texts, thr_reader **rows) {
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

int prog_search_texts(prog_search *s) {
    const thr_dual *dual = thr_index_dual(s->index);
    const char *const *texts = s->values->text.items;
    const size_t n = s->values->text.n, size = sizeof(float) * s->info.n_dims;
    thr_error err = {.status = THR_OK};
    int rc = has_model(s, "--text", "is");

    if (rc != PROG_DONE)
        return rc;
    s->vectors = n <= SIZE_MAX / size ? malloc(n * size) : NULL;
    if (s->vectors == NULL)
        return prog_no_memory();
    const thr_status status =
        dual != NULL ? thr_dual_encode(dual, THR_SIDE_QUERY, texts, NULL, n, s->vectors, &err)
                     : thr_tower_encode(thr_index_tower(s->index), THR_SIDE_QUERY, texts, NULL, n, s->vectors, &err);
    if (status != THR_OK)
        return prog_failed_at("--text", &err);
    rc = prog_features_of_users(&s->features, s->run, s->index, NULL, &s->values->text, s->batch, &s->options);
    return rc == PROG_DONE ? prog_search_vectors(s, n) : rc;
}
