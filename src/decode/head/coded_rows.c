/* SPDX-License-Identifier: Apache-2.0 */
/* coded_rows.c - the rows that plane codes are made of: a word's weights, with its bias as one more dimension. */
#include "head/head.h"
#include "head/planes.h"
#include "head/weight_formats.h"

static void coded_row(const void *user, uint32_t w, float *out) {
    const thr_head *head = user;
    const thr_head_contents *c = thr_head_of(head);
    thr_head_row(c, head->context->kernels, w, out);
    if (c->bias != NULL)
        out[c->n_dims] = thr_head_is_hidden(head->hidden, w) ? 0 : c->bias[w];
}

thr_head_coded thr_head_coded_of(const thr_head *head) {
    const thr_head_contents *c = thr_head_of(head);
    return (thr_head_coded){coded_row, head, c->n_words, thr_head_coded_dims(c), head->hidden};
}
