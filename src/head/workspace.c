/* SPDX-License-Identifier: Apache-2.0 */
/* workspace.c - freeing a query's scratch memory. */
#include "head/workspace.h"

void thr_head_workspace_free(void *piece) {
    thr_head_workspace *workspace = piece;
    thr_context *context = workspace->context;
    for (size_t i = 0; i < workspace->n_collectors; i++)
        thr_select_collector_free(&workspace->collectors[i]);
    thr_lsh_counter_free(context, &workspace->counter);
    thr_release(context, workspace->states);
    thr_release(context, workspace->codes);
    thr_release(context, workspace->always);
    thr_release(context, workspace->marks);
    thr_release(context, workspace->words);
    thr_release(context, workspace->collectors);
    thr_release(context, workspace->sums);
    thr_release(context, workspace->columns);
    thr_release(context, workspace->tiles);
    thr_release(context, workspace->normalisers);
    thr_release(context, workspace->sampled);
    thr_head_sample_free(context, &workspace->sample);
    thr_release(context, workspace->coded);
    thr_release(context, workspace->found);
    thr_release(context, workspace->estimates);
    thr_release(context, workspace->logits);
    thr_release(context, workspace->part);
    thr_release(context, workspace->cells);
    thr_scan_free(workspace->scan);
    thr_release(context, workspace);
}
