/* SPDX-License-Identifier: Apache-2.0 */
/* workspace.c - freeing a query's scratch memory. */
#include "head/workspace.h"

void thr_head_workspace_free(void *piece) {
    thr_head_workspace *workspace = piece;
    thr_context *context = workspace->context;
    for (size_t i = 0; i < workspace->n_collectors; i++)
        thr_select_collector_free(&workspace->collectors[i]);
    thr_lsh_counter_free(context, &workspace->counter);
    THR_RELEASE(context, workspace->states, workspace->codes, workspace->always, workspace->marks, workspace->words,
                workspace->collectors, workspace->sums, workspace->columns, workspace->tiles, workspace->normalisers,
                workspace->sampled);
    thr_head_sample_free(context, &workspace->sample);
    THR_RELEASE(context, workspace->coded, workspace->found, workspace->estimates, workspace->logits, workspace->part,
                workspace->levels, workspace->never, workspace->shown);
    thr_scan_free(workspace->scan);
    thr_release(context, workspace);
}
