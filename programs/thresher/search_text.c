/* SPDX-License-Identifier: Apache-2.0 */
/* search_text.c - queries that are texts: what the model that an index carries makes of them. */
#include <stdlib.h>

#include "search.h"
#include "talk.h"

static int find_model(const prog_search *s, const char *name, const char *verb, const thr_tower **tower) {
    *tower = thr_index_tower(s->index);
    if (*tower != NULL)
        return PROG_DONE;
    prog_error("%s %s text, and %s carries no model to read it with: give rows of numbers, an item with --like, or an "
               "index built with --model",
               name, verb, s->values->dir);
    return PROG_FAILED;
}

int prog_search_encode(const prog_search *s, const char *name, thr_reader *texts, thr_reader **rows) {
    thr_error err = {.status = THR_OK};
    const thr_tower *tower;
    int rc = find_model(s, name, "holds", &tower);

    if (rc == PROG_DONE && thr_tower_reader(tower, THR_SIDE_QUERY, texts, rows, &err) != THR_OK)
        rc = prog_failed(&err);
    return rc;
}

int prog_search_texts(prog_search *s) {
    const size_t n = s->values->text.n, size = sizeof(float) * s->info.n_dims;
    thr_error err = {.status = THR_OK};
    const thr_tower *tower;
    int rc = find_model(s, "--text", "is", &tower);

    if (rc != PROG_DONE)
        return rc;
    s->vectors = n <= SIZE_MAX / size ? malloc(n * size) : NULL;
    if (s->vectors == NULL)
        return prog_no_memory();
    if (thr_tower_encode(tower, THR_SIDE_QUERY, s->values->text.items, NULL, n, s->vectors, &err) != THR_OK)
        return prog_failed_at("--text", &err);
    return prog_search_vectors(s, n);
}
