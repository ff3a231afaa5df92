/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen.c - choosing the words of a group of states: marks those found by hashes or codes or in its list, and the
 * always-in words.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "head/workspace.h"
#include "parallel/pool.h"

static void mark(uint64_t *marks, uint32_t word) {
    marks[word / 64] |= UINT64_C(1) << word % 64;
}

static bool is_marked(const uint64_t *marks, uint32_t word) {
    return (marks[word / 64] >> word % 64 & 1) != 0;
}

static uint32_t frequent_word(const thr_head_contents *c, uint32_t i) {
    return c->order != NULL ? c->order[i] : i;
}

thr_status thr_head_mark_always(const thr_head *head, thr_head_workspace *workspace, const thr_head_query_options *o,
                                uint32_t n_frequent, thr_error *err) {
    const thr_head_contents *c = thr_head_of(head);
    const size_t n = thr_head_mark_words(c);
    THR_TRY(thr_grow(workspace->context, &workspace->always, &workspace->always_capacity, n, sizeof *workspace->always,
                     "words", err));
    THR_TRY(thr_grow(workspace->context, &workspace->marks, &workspace->marks_capacity, n, sizeof *workspace->marks,
                     "words", err));
    memset(workspace->always, 0, n * sizeof *workspace->always);
    for (uint64_t i = 0; i < o->n_always; i++) {
        if (o->always[i] >= c->n_words)
            return thr_fail(err, THR_EINVAL,
                            "always-in word number %" PRIu64 " is %" PRIu32 ", and the head has %" PRIu32 " words", i,
                            o->always[i], c->n_words);
        mark(workspace->always, o->always[i]);
    }
    for (uint32_t i = 0; i < n_frequent; i++)
        mark(workspace->always, frequent_word(c, i));
    for (uint32_t i = 0; o->screen == THR_HEAD_SCREEN_PLANES && i < head->n_longest; i++)
        mark(workspace->always, head->longest[i]);
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ hashes */

typedef struct hashing {
    const thr_head *head;
    thr_head_workspace *workspace;
} hashing;

static void hash_state(void *arg, size_t state, uint32_t worker) {
    const hashing *h = arg;
    (void)worker;
    const thr_head_contents *c = thr_head_of(h->head);
    thr_lsh_wta_hash(&h->head->wta, h->workspace->states + state * c->n_dims,
                     h->workspace->codes + state * c->shape.n_bands);
}

thr_status thr_head_hash_states(const thr_head *head, thr_head_workspace *workspace, size_t n_states, thr_error *err) {
    const thr_head_contents *c = thr_head_of(head);
    size_t n;
    if (!thr_mul_size(n_states, c->shape.n_bands, &n))
        return thr_fail(err, THR_ENOMEM, "no memory for the hashes of %zu states", n_states);
    THR_TRY(thr_grow(workspace->context, &workspace->codes, &workspace->codes_capacity, n, sizeof *workspace->codes,
                     "hashes of states", err));
    if (workspace->n_counted != c->n_words) {
        thr_lsh_counter_free(workspace->context, &workspace->counter);
        workspace->n_counted = 0;
        THR_TRY(thr_lsh_counter_make(workspace->context, c->n_words, &workspace->counter, err));
        workspace->n_counted = c->n_words;
    }
    hashing all = {head, workspace};
    thr_parallel_for(workspace->context, n_states, hash_state, &all);
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ planes */

/* Where fewer words than the shortlist's length may be found, repeat the first one, so that all entries are words. */
static void complete_shortlists(thr_head_workspace *workspace, const thr_head_plan *plan) {
    for (size_t i = 0; i < plan->n_states * plan->n_shortlist; i++) {
        const size_t first = i / plan->n_shortlist * plan->n_shortlist;
        if (workspace->found[i] != THR_NO_ID)
            continue;
        workspace->found[i] = workspace->found[first] != THR_NO_ID ? workspace->found[first] : 0;
        if (plan->options->certified != NULL)
            workspace->estimates[i] = -INFINITY; /* nothing that has a code was left out */
    }
}

thr_status thr_head_scan_states(const thr_head *head, const thr_scan_corpus *corpus, thr_head_workspace *workspace,
                                const thr_head_plan *plan, thr_error *err) {
    const thr_head_contents *c = thr_head_of(head);
    const size_t n_states = plan->n_states, n_shortlist = plan->n_shortlist;
    const bool estimates = plan->options->certified != NULL;
    const bool is_filtered = workspace->has_never && n_shortlist < c->n_words;
    const uint32_t n_coded = thr_head_coded_dims(c);
    const float *states = workspace->states;
    thr_search_options options = {0};
    size_t n, n_found;
    if (!thr_mul_size(n_states, n_coded, &n) || !thr_mul_size(n_states, n_shortlist, &n_found))
        return thr_fail(err, THR_ENOMEM, "no memory for the words of %zu states", n_states);
    if (workspace->scan == NULL)
        THR_TRY(thr_scan_create(workspace->context, &workspace->scan, err));
    THR_TRY(thr_grow(workspace->context, &workspace->found, &workspace->found_capacity, n_found,
                     sizeof *workspace->found, "words", err));
    if (estimates)
        THR_TRY(thr_grow(workspace->context, &workspace->estimates, &workspace->estimates_capacity, n_found,
                         sizeof *workspace->estimates, "estimates", err));
    if (n_coded != c->n_dims) {
        THR_TRY(thr_grow(workspace->context, &workspace->coded, &workspace->coded_capacity, n, sizeof *workspace->coded,
                         "states", err));
        for (size_t i = 0; i < n_states; i++) {
            memcpy(workspace->coded + i * n_coded, workspace->states + i * c->n_dims,
                   c->n_dims * sizeof *workspace->coded);
            workspace->coded[i * n_coded + c->n_dims] = 1;
        }
        states = workspace->coded;
    }
    const thr_matrix queries = thr_matrix_f32(states, n_states, n_coded);
    options.n_survivors = options.n_candidates = n_shortlist;
    if (is_filtered) {
        options.filter = workspace->shown;
        options.filter_bits = c->n_words;
    }
    options.query_bits = estimates ? THR_HEAD_CERTIFIED_BITS : 0;
    const thr_answers found = {
        .k = n_shortlist, .ids = workspace->found, .scores = estimates ? workspace->estimates : NULL};
    THR_TRY(thr_scan_search(workspace->scan, corpus, &queries, &options, &found, err));
    if (is_filtered)
        complete_shortlists(workspace, plan);
    return THR_OK;
}

void thr_head_mark_shortlists(thr_head_workspace *workspace, const thr_head_plan *plan, size_t first, size_t n) {
    for (size_t i = first * plan->n_shortlist; i < (first + n) * plan->n_shortlist; i++)
        mark(workspace->marks, (uint32_t)workspace->found[i]);
}

/* ------------------------------------------------------------------------------------------------ candidates */

/* Convert marks to a list of words, ascending. Returns their number. */
static uint32_t list(const uint64_t *marks, size_t n, uint32_t *words) {
    uint32_t n_words = 0;
    for (size_t i = 0; i < n; i++)
        for (uint64_t left = marks[i]; left != 0; left &= left - 1)
            words[n_words++] = (uint32_t)(i * 64) + (uint32_t)__builtin_ctzll(left);
    return n_words;
}

/* Count the marked words that may be answered. never may be NULL. */
static uint32_t count(const uint64_t *marks, const uint64_t *never, size_t n) {
    uint32_t n_words = 0;
    for (size_t i = 0; i < n; i++)
        n_words += (uint32_t)__builtin_popcountll(marks[i] & (never != NULL ? ~never[i] : UINT64_MAX));
    return n_words;
}

/* Mark the words of a group's list. */
static void mark_list(thr_head_workspace *workspace, const thr_head_word_lists *lists, size_t group) {
    for (uint64_t i = lists->starts[group]; i < lists->starts[group + 1]; i++)
        mark(workspace->marks, lists->words[i]);
}

uint32_t thr_head_choose(const thr_head *head, thr_head_workspace *workspace, const thr_head_plan *plan, size_t first,
                         size_t n) {
    const thr_head_contents *c = thr_head_of(head);
    const thr_head_query_options *o = plan->options;
    const size_t n_marks = thr_head_mark_words(c);
    memcpy(workspace->marks, workspace->always, n_marks * sizeof *workspace->marks);
    if (o->screen == THR_HEAD_SCREEN_WTA)
        thr_lsh_mark(&c->lsh, &workspace->counter, workspace->codes + first * c->shape.n_bands, n, plan->threshold,
                     o->combine == THR_HEAD_COMBINE_SUM ? THR_LSH_SUM : THR_LSH_LARGEST, workspace->marks);
    if (o->screen == THR_HEAD_SCREEN_PLANES)
        thr_head_mark_shortlists(workspace, plan, first, n);
    if (o->screen == THR_HEAD_SCREEN_ALIGN)
        mark_list(workspace, o->lists, first / plan->group);
    uint32_t missing = count(workspace->marks, workspace->has_never ? workspace->never : NULL, n_marks);
    missing = missing < plan->k ? plan->k - missing : 0;
    for (uint32_t i = 0; missing > 0; i++) {
        const uint32_t word = frequent_word(c, i);
        if (is_marked(workspace->marks, word) || (workspace->has_never && is_marked(workspace->never, word)))
            continue;
        mark(workspace->marks, word);
        missing--;
    }
    return list(workspace->marks, n_marks, workspace->words);
}
