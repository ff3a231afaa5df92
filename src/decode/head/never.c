/* SPDX-License-Identifier: Apache-2.0 */
/*
 * never.c - words that may not be answered, and words that plane codes leave out.
 *
 * A bias of -infinity means never, as for the rows that pad a vocabulary; a query may name more words. Those stay in
 * normalisers: only answers leave them out.
 *
 * Codes are made of rows with the bias as one more component, so a bias such as -1e9 would take all precision from the
 * codes of other words: such words are not coded, but their logits are exact where another screen passes them.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "head/workspace.h"

/* Words with a smaller bias are not coded: e^-1000 is 0 in double. */
static const float LEAST_CODED_BIAS = -1000;

static void set_bit(uint64_t *bits, uint32_t word) {
    bits[word / 64] |= UINT64_C(1) << word % 64;
}

static uint32_t count_bits(const uint64_t *bits, size_t n) {
    uint32_t n_set = 0;
    for (size_t i = 0; i < n; i++)
        n_set += (uint32_t)__builtin_popcountll(bits[i]);
    return n_set;
}

thr_status thr_head_find_hidden(thr_head *head, thr_error *err) {
    const thr_head_contents *c = thr_head_of(head);
    uint32_t n_hidden = 0;
    for (uint32_t w = 0; c->bias != NULL && w < c->n_words; w++)
        n_hidden += c->bias[w] < LEAST_CODED_BIAS;
    if (n_hidden == 0)
        return THR_OK;
    const size_t n = thr_head_mark_words(c);
    THR_TRY(thr_alloc_zero(head->context, n, sizeof *head->never, &head->never, "words that are never answered", err));
    THR_TRY(thr_alloc_zero(head->context, n, sizeof *head->hidden, &head->hidden, "words without codes", err));
    for (uint32_t w = 0; w < c->n_words; w++) {
        if (c->bias[w] < LEAST_CODED_BIAS)
            set_bit(head->hidden, w);
        if (c->bias[w] == -INFINITY)
            set_bit(head->never, w);
    }
    const uint32_t n_never = count_bits(head->never, n);
    return n_never < c->n_words
               ? THR_OK
               : thr_fail(err, THR_ERANGE, "every bias is -infinity: no word of the head may be answered");
}

static thr_status check_words(const thr_head_contents *c, const uint32_t *never, uint64_t n_never, thr_error *err) {
    if (n_never > 0 && never == NULL)
        return thr_fail(err, THR_EINVAL, "%" PRIu64 " words that are never answered, but the list of them is NULL",
                        n_never);
    for (uint64_t i = 0; i < n_never; i++)
        if (never[i] >= c->n_words)
            return thr_fail(err, THR_EINVAL,
                            "never-answered word number %" PRIu64 " is %" PRIu32 ", and the head has %" PRIu32 " words",
                            i, never[i], c->n_words);
    return THR_OK;
}

thr_status thr_head_count_left(const thr_head *head, const uint32_t *never, uint64_t n_never, uint32_t *n_left,
                               thr_error *err) {
    const thr_head_contents *c = thr_head_of(head);
    const size_t n = thr_head_mark_words(c);
    uint64_t *bits = NULL;
    THR_TRY(check_words(c, never, n_never, err));
    THR_TRY(thr_alloc_zero(head->context, n, sizeof *bits, &bits, "words that are never answered", err));
    for (size_t i = 0; head->never != NULL && i < n; i++)
        bits[i] = head->never[i];
    for (uint64_t i = 0; i < n_never; i++)
        set_bit(bits, never[i]);
    *n_left = c->n_words - count_bits(bits, n);
    thr_release(head->context, bits);
    return THR_OK;
}

/* Copy the head's words of one kind and those of the query. */
static thr_status join(thr_head_workspace *w, const uint64_t *own, const thr_head_query_options *o, size_t n,
                       uint64_t **bits, size_t *capacity, thr_error *err) {
    THR_TRY(thr_grow(w->context, bits, capacity, n, sizeof **bits, "words that are never answered", err));
    if (own != NULL)
        memcpy(*bits, own, n * sizeof **bits);
    else
        memset(*bits, 0, n * sizeof **bits);
    for (uint64_t i = 0; i < o->n_never; i++)
        set_bit(*bits, o->never[i]);
    return THR_OK;
}

thr_status thr_head_take_never(const thr_head *head, thr_head_workspace *w, const thr_head_query_options *o, uint32_t k,
                               thr_error *err) {
    const thr_head_contents *c = thr_head_of(head);
    const size_t n = thr_head_mark_words(c);
    w->n_never = 0;
    w->has_never = head->never != NULL || o->n_never > 0;
    if (!w->has_never)
        return THR_OK;
    THR_TRY(check_words(c, o->never, o->n_never, err));
    THR_TRY(join(w, head->never, o, n, &w->never, &w->never_capacity, err));
    THR_TRY(join(w, head->hidden, o, n, &w->shown, &w->shown_capacity, err));
    for (size_t i = 0; i < n; i++)
        w->shown[i] = ~w->shown[i];
    if (c->n_words % 64 != 0)
        w->shown[n - 1] &= (UINT64_C(1) << c->n_words % 64) - 1;
    w->n_never = count_bits(w->never, n);
    return k <= c->n_words - w->n_never
               ? THR_OK
               : thr_fail(err, THR_EINVAL,
                          "the best %" PRIu32 " words of a head that has %" PRIu32 ", of which %" PRIu32
                          " are never answered: ask for no more than are left",
                          k, c->n_words, w->n_never);
}
