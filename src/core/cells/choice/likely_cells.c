/* SPDX-License-Identifier: Apache-2.0 */
/* likely_cells.c - the choice by the model of scores. */
#include "cells/choice/likely_cells.h"

#include "base/error.h"
#include "base/minmax.h"

#include <math.h>

enum { RATES = 4 }; /* that thr_cells_likely_are_too_large tries; a fifth would rarely add a proof */

thr_status thr_cells_likely_reserve(thr_context *context, size_t n, thr_likely_cells *likely, thr_error *err) {
    static const char what[] = "likely cells";
    THR_TRY(thr_alloc(context, n, sizeof *likely->cells, &likely->cells, what, err));
    THR_TRY(thr_alloc(context, n, sizeof *likely->expected, &likely->expected, what, err));
    THR_TRY(thr_alloc(context, n, sizeof *likely->keys, &likely->keys, what, err));
    return thr_alloc(context, n, sizeof *likely->heap, &likely->heap, what, err);
}

void thr_cells_likely_free(thr_context *context, thr_likely_cells *likely) {
    THR_RELEASE(context, likely->cells, likely->expected, likely->keys, likely->heap);
    *likely = (thr_likely_cells){0};
}

void thr_cells_likely_list(const thr_cells_models *models, double spread, double score, const bool *may_be_listed,
                           thr_likely_cells *likely) {
    double sum = 0;
    likely->n = thr_cells_models_list_near(models, spread, score, may_be_listed, likely->cells);
    for (size_t i = 0; i < likely->n; i++) {
        const thr_cell_score_model model = thr_cells_models_get(models, likely->cells[i]);
        likely->expected[i] = thr_cells_expected_above(&model, spread, score);
        sum += likely->expected[i];
    }
    likely->sum = sum;
}

/*
 * Let cell c have n(c) rows, of which e(c) are expected to be among the best. For any rate r > 0 and any cells S of at
 * most n_rows rows
 *
 *     sum over S of e(c) <= r n_rows + sum over all listed cells of max(e(c) - r n(c), 0)
 *
 * If the right side is less than the rows wanted, no such S has them. The rates tried are those at which r n_rows is
 * 1/2, 1/4, ... of the rows wanted.
 */
bool thr_cells_likely_are_too_large(const thr_cells_models *models, double allowed, double n_rows,
                                    const thr_likely_cells *likely) {
    const double wanted = likely->sum - allowed;
    for (int i = 1; wanted > 0 && i <= RATES; i++) {
        const double rate = ldexp(wanted / n_rows, -i);
        double most = n_rows * rate;
        for (size_t c = 0; c < likely->n; c++) {
            const double beyond = likely->expected[c] - rate * models->n[likely->cells[c]];
            most += THR_MAX(beyond, 0);
        }
        if (most < wanted)
            return true;
    }
    return false;
}

size_t thr_cells_likely_choose(const thr_cells_models *models, double allowed, double n_rows, thr_likely_cells *likely,
                               uint32_t *chosen) {
    size_t n_chosen = 0;
    double n = 0, left = likely->sum;
    for (size_t i = 0; i < likely->n; i++)
        likely->keys[likely->cells[i]] = likely->expected[i] / models->n[likely->cells[i]];
    thr_cells_queue queue = thr_cells_queue_of(likely->heap, likely->cells, likely->n, likely->keys);
    while (queue.n > 0 && left > allowed) {
        const uint32_t cell = thr_cells_queue_pop(&queue);
        n += models->n[cell];
        if (n > n_rows)
            return 0;
        left -= likely->keys[cell] * models->n[cell];
        chosen[n_chosen++] = cell;
    }
    return n_chosen;
}
