/* SPDX-License-Identifier: Apache-2.0 */
#include "head/workspace.h"

void thr_head_room_free(void *piece) {
    thr_head_room *room = piece;
    thr_context *context = room->context;
    for (size_t i = 0; i < room->n_collectors; i++)
        thr_select_collector_free(&room->collectors[i]);
    thr_lsh_counter_free(context, &room->counter);
    thr_release(context, room->states);
    thr_release(context, room->codes);
    thr_release(context, room->always);
    thr_release(context, room->marks);
    thr_release(context, room->words);
    thr_release(context, room->collectors);
    thr_release(context, room->sums);
    thr_release(context, room->columns);
    thr_release(context, room->tiles);
    thr_release(context, room->normalisers);
    thr_release(context, room->sampled);
    thr_head_sample_free(context, &room->sample);
    thr_release(context, room->coded);
    thr_release(context, room->found);
    thr_release(context, room->estimates);
    thr_release(context, room->logits);
    thr_release(context, room->part);
    thr_release(context, room->cells);
    thr_scan_free(room->scan);
    thr_release(context, room);
}
