/* SPDX-License-Identifier: Apache-2.0 */
#include "input/items.h"

#include <stdint.h>
#include <stdlib.h>

#include "cli/messages.h"
#include "cli/program.h"

prog_items prog_items_of_index(const thr_index *index, const char *dir, prog_items_part *part) {
    const thr_index_info info = thr_index_get_info(index);

    *part = (prog_items_part){.index = index, .n_rows = thr_index_n_rows(index), .greatest_id = UINT64_MAX};
    return (prog_items){.what = "index",
                        .dir = dir,
                        .n_rows = part->n_rows,
                        .has_names = info.has_names,
                        .has_ids = info.has_ids,
                        .is_moved = thr_index_n_commits(index) > 0,
                        .n_parts = 1,
                        .parts = part};
}

const char *prog_items_disorder(const prog_items *items) {
    if (items->is_moved)
        return "items were removed, added or moved";
    for (size_t i = 0; i < items->n_parts; i++)
        if (thr_index_get_cells(items->parts[i].index).n_cells > 0)
            return "cells reorder items";
    return NULL;
}

/* Ranges of given ids may overlap, so every part whose range has the id is searched. */
const prog_items_part *prog_items_find_id(const prog_items *items, uint64_t id, uint64_t *row) {
    for (size_t i = 0; i < items->n_parts; i++) {
        const prog_items_part *part = &items->parts[i];

        if (part->least_id > id || id > part->greatest_id || !thr_index_row(part->index, id - part->first_id, row))
            continue;
        *row += part->first_row;
        return part;
    }
    return NULL;
}

const prog_items_part *prog_items_find(const prog_items *items, const char *word, uint64_t *id, thr_error *err) {
    uint64_t row;

    for (size_t i = 0; i < items->n_parts && items->has_names; i++) {
        const thr_status status = thr_index_find(items->parts[i].index, word, id, err);
        *id += items->parts[i].first_id;
        if (status != THR_ENOTFOUND)
            return status == THR_OK ? &items->parts[i] : NULL;
    }
    *err = (thr_error){.status = THR_OK};
    return prog_read_count(word, id) ? prog_items_find_id(items, *id, &row) : NULL;
}

static int not_found(const prog_items *items, const char *word, const thr_error *err) {
    uint64_t id;

    if (err->status != THR_OK)
        return prog_failed_at("--like", err);
    if (items->has_names || prog_read_count(word, &id))
        prog_error("--like: %s: holds no item %s\"%.100s\"", items->dir, items->has_names ? "" : "with the id ", word);
    else
        prog_error("--like %s: %s has no names; give an id", word, items->dir);
    return PROG_FAILED;
}

int prog_items_vectors(const prog_items *items, const char *const *words, size_t n, uint64_t **ids, float **vectors) {
    const uint32_t n_dims = thr_index_get_info(items->parts[0].index).n_dims;

    *ids = malloc(n * sizeof **ids);
    *vectors = n <= SIZE_MAX / sizeof(float) / n_dims ? malloc(n * n_dims * sizeof(float)) : NULL;
    if (*ids == NULL || *vectors == NULL)
        return prog_no_memory();
    for (size_t i = 0; i < n; i++) {
        thr_error err = {.status = THR_OK};
        const prog_items_part *part = prog_items_find(items, words[i], &(*ids)[i], &err);

        if (part == NULL)
            return not_found(items, words[i], &err);
        if (thr_index_vector(part->index, (*ids)[i] - part->first_id, *vectors + i * n_dims, &err) != THR_OK)
            return prog_failed_at("--like", &err);
    }
    return PROG_DONE;
}
