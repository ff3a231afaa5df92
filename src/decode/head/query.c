/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query.c - a query on the CPU: check options and states, borrow a workspace, then for each group choose words and
 * score them.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/minmax.h"
#include "code/encode.h"
#include "head/certify.h"
#include "head/auto_screen.h"
#include "head/device/copy.h"

/* Defaults. A shortlist has SHORTLIST words, and SHORTLIST_K more for each of the k. */
enum { USUAL_FREQUENT = 1000, USUAL_THRESHOLD = 2, SHORTLIST = 100, SHORTLIST_K = 16 };

void thr_head_query_options_init(thr_head_query_options *options) {
    *options = (thr_head_query_options){
        .n_frequent = THR_HEAD_AUTO, .threshold = THR_HEAD_AUTO, .n_shortlist = THR_HEAD_AUTO, .group = 1};
}

/* ------------------------------------------------------------------------------------------------ workspaces */

thr_status thr_head_workspace_make(thr_context *context, void **piece, thr_error *err) {
    return thr_idle_piece(context, sizeof(thr_head_workspace), piece, err);
}

/* ------------------------------------------------------------------------------------------------ checks */

static thr_status check_options(const thr_head_contents *c, const thr_head_query_options *o, uint32_t k,
                                thr_error *err) {
    if (k == 0 || k > c->n_words)
        return thr_fail(err, THR_EINVAL,
                        "the best %" PRIu32 " words of a head that has %" PRIu32 ": ask for 1 or more%s", k, c->n_words,
                        k == 0 ? "" : ", and no more than it has");
    THR_TRY(thr_check_enum((int)o->screen, THR_HEAD_SCREEN_ALIGN, "thr_head_screen", err));
    THR_TRY(thr_check_enum((int)o->normaliser, THR_HEAD_NORMALISER_SAMPLED, "thr_head_normaliser", err));
    THR_TRY(thr_check_enum((int)o->combine, THR_HEAD_COMBINE_SUM, "thr_head_combine", err));
    if (o->n_frequent != THR_HEAD_AUTO && o->n_frequent > c->n_words)
        return thr_fail(err, THR_EINVAL, "%" PRIu32 " frequent words of a head that has %" PRIu32 " words",
                        o->n_frequent, c->n_words);
    if (o->threshold == 0)
        return thr_fail(err, THR_EINVAL, "every word has 0 hits: choose a threshold of 1 or more, or the full screen");
    if (o->n_always > 0 && o->always == NULL)
        return thr_fail(err, THR_EINVAL, "%" PRIu64 " always-in words, but the list of them is NULL", o->n_always);
    if (o->screen == THR_HEAD_SCREEN_WTA && c->shape.n_bands == 0)
        return thr_fail(err, THR_EUNSUPPORTED, "the head has no hashes: build it with bands, or choose another screen");
    if (o->n_shortlist != THR_HEAD_AUTO && (o->n_shortlist == 0 || o->n_shortlist > c->n_words))
        return thr_fail(err, THR_EINVAL, "a shortlist of %" PRIu32 " words of a head that has %" PRIu32, o->n_shortlist,
                        c->n_words);
    if (o->screen == THR_HEAD_SCREEN_PLANES && c->planes.n_planes == 0)
        return thr_fail(err, THR_EUNSUPPORTED, "the head has no codes: build it with planes, or choose another screen");
    return THR_OK;
}

/* Check that every group has a list of words that exist. */
static thr_status check_lists(const thr_head_contents *c, const thr_head_word_lists *lists, size_t n_groups,
                              thr_error *err) {
    if (lists == NULL || lists->starts == NULL || lists->n < n_groups)
        return thr_fail(err, THR_EINVAL,
                        "the screen align has %" PRIu64
                        " lists of words for %zu groups of states: give lists, one for each group",
                        lists == NULL || lists->starts == NULL ? 0 : lists->n, n_groups);
    for (size_t g = 0; g < n_groups; g++)
        if (lists->starts[g] > lists->starts[g + 1] ||
            (lists->words == NULL && lists->starts[g] < lists->starts[g + 1]))
            return thr_fail(err, THR_EINVAL, "list %zu has no words where it should: starts must not decrease", g);
    for (size_t g = 0; g < n_groups; g++)
        for (uint64_t i = lists->starts[g]; i < lists->starts[g + 1]; i++)
            if (lists->words[i] >= c->n_words)
                return thr_fail(err, THR_EINVAL, "word %" PRIu32 " of list %zu does not exist: the head has %" PRIu32,
                                lists->words[i], g, c->n_words);
    return THR_OK;
}

static thr_head_plan plan_of(const thr_head_contents *c, const thr_head_query_options *o, size_t n_states, uint32_t k) {
    const uint32_t usual = THR_MIN(USUAL_FREQUENT, c->n_words);
    thr_head_plan p = {.options = o, .k = k, .n_states = n_states};
    p.n_frequent = o->n_frequent != THR_HEAD_AUTO ? o->n_frequent : o->screen == THR_HEAD_SCREEN_PLANES ? 0 : usual;
    p.threshold = o->threshold != THR_HEAD_AUTO                  ? o->threshold
                  : c->shape.n_bands < (uint32_t)USUAL_THRESHOLD ? 1
                                                                 : USUAL_THRESHOLD;
    p.all = o->screen == THR_HEAD_SCREEN_FULL;
    const uint64_t shortlist = SHORTLIST + (uint64_t)SHORTLIST_K * k;
    p.n_shortlist = o->n_shortlist != THR_HEAD_AUTO ? o->n_shortlist
                    : shortlist < c->n_words        ? (uint32_t)shortlist
                                                    : c->n_words;
    /* one group of all states: its words do not depend on states */
    const bool shared = p.all || o->screen == THR_HEAD_SCREEN_FREQUENT;
    p.group = shared || o->group == 0 || o->group > n_states ? n_states : (size_t)o->group;
    return p;
}

static thr_status take_states(const thr_head *head, thr_head_workspace *workspace, const thr_matrix *states,
                              thr_error *err) {
    const uint32_t n_dims = thr_head_of(head)->n_dims;
    size_t n;
    THR_TRY(thr_code_check_rows(states, err));
    if (states->n_dims != n_dims)
        return thr_fail(err, THR_EDIM, "states of %" PRIu32 " dimensions for a head of %" PRIu32, states->n_dims,
                        n_dims);
    if (states->n_rows > SIZE_MAX / sizeof(float) || !thr_mul_size((size_t)states->n_rows, n_dims, &n))
        return thr_fail(err, THR_ENOMEM, "no memory for %" PRIu64 " states", states->n_rows);
    THR_TRY(thr_grow(workspace->context, &workspace->states, &workspace->states_capacity, n, sizeof *workspace->states,
                     "states", err));
    THR_TRY(thr_matrix_to_f32(states, 0, states->n_rows, workspace->states));
    for (size_t i = 0; i < states->n_rows; i++) {
        const double length = sqrt(workspace->context->kernels->sum_squares(workspace->states + i * n_dims, n_dims));
        if (!(length <= thr_longest_row(false)))
            return thr_fail(err, THR_ERANGE, "state %zu %s", i,
                            isfinite(length) ? "is longer than 2^60" : "holds NaN or infinity");
    }
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ run a query */

/* Add the time since *since to *part, and start the next part. */
static void note_time(double *since, double *part) {
    const double now = thr_clock();
    *part += now - *since;
    *since = now;
}

/*
 * Reserve everything whose size depends on the query's shape alone, so that a second query of that shape allocates
 * nothing; then screen.
 */
static thr_status make_room(const thr_head *head, thr_head_workspace *workspace, const thr_head_plan *p,
                            thr_error *err) {
    const uint32_t n_words = thr_head_of(head)->n_words;
    THR_TRY(thr_grow(workspace->context, &workspace->words, &workspace->words_capacity, n_words,
                     sizeof *workspace->words, "words", err));
    THR_TRY(thr_grow(workspace->context, &workspace->normalisers, &workspace->normalisers_capacity, p->n_states,
                     sizeof *workspace->normalisers, "sums", err));
    THR_TRY(thr_head_score_reserve(head, workspace, n_words, p->k, err));
    double since = thr_clock();
    THR_TRY(thr_head_mark_always(head, workspace, p->options, p->n_frequent, err));
    note_time(&since, &p->times->choose);
    if (p->options->screen == THR_HEAD_SCREEN_WTA)
        THR_TRY(thr_head_hash_states(head, workspace, p->n_states, err));
    if (p->options->screen == THR_HEAD_SCREEN_PLANES)
        THR_TRY(thr_head_scan_states(head, &head->corpus, workspace, p, err));
    note_time(&since, &p->times->screen);
    return THR_OK;
}

static thr_status score_group(const thr_head *head, thr_head_workspace *workspace, const thr_head_plan *p, size_t first,
                              thr_error *err) {
    const size_t left = p->n_states - first, n = THR_MIN(left, p->group);
    uint32_t n_words = thr_head_of(head)->n_words;
    double since = thr_clock();
    if (!p->all)
        n_words = thr_head_choose(head, workspace, p, first, n);
    note_time(&since, &p->times->choose);
    for (size_t i = 0; p->options->n_candidates != NULL && i < n; i++)
        p->options->n_candidates[first + i] = n_words;
    const thr_head_words words = {p->all ? NULL : workspace->words, 0, n_words};
    const thr_status status = thr_head_score(head, workspace, p, words, first, n, err);
    note_time(&since, &p->times->score);
    return status;
}

static thr_status run_on_cpu(const thr_head *head, thr_head_workspace *workspace, thr_head_plan *p, thr_error *err) {
    const bool totals = p->answers.log_probs != NULL;
    THR_TRY(make_room(head, workspace, p, err));
    if (totals && p->options->normaliser == THR_HEAD_NORMALISER_EXACT && !p->all) {
        double since = thr_clock();
        thr_head_normalise(head, workspace, p->n_states, workspace->normalisers);
        note_time(&since, &p->times->exact);
        p->normalisers = workspace->normalisers;
    }
    p->sampled = totals && p->options->normaliser == THR_HEAD_NORMALISER_SAMPLED && !p->all;
    if (p->sampled) {
        double since = thr_clock();
        THR_TRY(thr_head_sample_states(head, workspace, p->n_states, err));
        note_time(&since, &p->times->exact);
    }
    for (size_t first = 0; first < p->n_states; first += p->group)
        THR_TRY(score_group(head, workspace, p, first, err));
    return THR_OK;
}

/* A query in progress; the workspace has its states. */
typedef struct query_job {
    thr_head *head;
    thr_head_workspace *workspace;
    thr_head_query_options options; /* complete */
    size_t n_states;
    uint32_t k;
    thr_head_answers answers;
    thr_head_times times;
} query_job;

static thr_head_plan plan_for(query_job *a) {
    thr_head_plan p = plan_of(thr_head_of(a->head), &a->options, a->n_states, a->k);
    p.times = &a->times;
    p.answers = a->answers;
    return p;
}

/* A thr_head_run_fn: answers on a GPU or on the CPU. */
static thr_status run_screen(void *arg, thr_head_screen screen, thr_error *err) {
    query_job *a = arg;
    bool done = false;
    a->options.screen = screen;
    a->times = (thr_head_times){0, 0, 0, 0};
    thr_head_plan p = plan_for(a);
    double since = thr_clock();
    THR_TRY(thr_head_query_device(a->head, a->workspace, &p, &done, err));
    if (!done)
        return run_on_cpu(a->head, a->workspace, &p, err);
    note_time(&since, &a->times.score);
    return THR_OK;
}

/* The screen that AUTO chooses. */
static thr_status choose_screen(query_job *a, thr_head_screen *screen, thr_error *err) {
    const thr_head_contents *c = thr_head_of(a->head);
    const bool exact = a->answers.log_probs != NULL && a->options.normaliser == THR_HEAD_NORMALISER_EXACT;
    const thr_head_plan p = plan_for(a);
    *screen = THR_HEAD_SCREEN_FULL;
    if (c->planes.n_planes == 0 || p.n_shortlist == c->n_words || exact)
        return THR_OK;
    return thr_head_choose_screen(a->head, a->n_states, p.n_shortlist, run_screen, a, screen, err);
}

static thr_status certify(query_job *a, thr_error *err) {
    const thr_head_plan p = plan_for(a);
    return thr_head_certify(a->head, a->workspace, &p, p.answers.logits, a->options.certified, err);
}

/* Answer as the options request; n_candidates, certified and used are outputs. */
static thr_status answer(query_job *a, thr_error *err) {
    thr_head_screen screen = a->options.screen;
    if (a->options.certified != NULL && a->answers.logits == NULL) {
        THR_TRY(thr_grow(a->workspace->context, &a->workspace->logits, &a->workspace->logits_capacity,
                         a->n_states * a->k, sizeof *a->workspace->logits, "logits", err));
        a->answers.logits = a->workspace->logits;
    }
    if (screen == THR_HEAD_SCREEN_AUTO)
        THR_TRY(choose_screen(a, &screen, err));
    THR_TRY(run_screen(a, screen, err));
    if (a->options.used != NULL)
        *a->options.used = screen;
    return a->options.certified != NULL ? certify(a, err) : THR_OK;
}

static thr_status query(thr_head *head, const thr_matrix *states, uint32_t k, const thr_head_query_options *o,
                        const thr_head_answers *answers, thr_error *err) {
    void *workspace;
    size_t places;
    query_job a = {.head = head, .options = *o, .n_states = (size_t)states->n_rows, .k = k, .answers = *answers};
    THR_TRY(check_options(thr_head_of(head), o, k, err));
    if (o->screen == THR_HEAD_SCREEN_ALIGN && states->n_rows > 0 && states->n_rows <= SIZE_MAX) {
        const size_t group = plan_of(thr_head_of(head), o, (size_t)states->n_rows, k).group;
        THR_TRY(check_lists(thr_head_of(head), o->lists, ((size_t)states->n_rows - 1) / group + 1, err));
    }
    if (states->n_rows > SIZE_MAX || !thr_mul_size((size_t)states->n_rows, (size_t)k * sizeof(uint32_t), &places))
        return thr_fail(err, THR_EINVAL, "%" PRIu64 " states with %" PRIu32 " words each are too many", states->n_rows,
                        k);
    if (head->path != NULL)
        THR_TRY(thr_map_check(&head->map, head->path, err));
    THR_TRY(thr_idle_take(&head->workspaces, thr_head_workspace_make, &workspace, err));
    thr_status status = thr_head_take_never(head, workspace, o, k, err);
    if (status == THR_OK)
        status = take_states(head, workspace, states, err);
    a.workspace = workspace;
    if (status == THR_OK && states->n_rows > 0)
        status = answer(&a, err);
    thr_idle_put(&head->workspaces, workspace);
    if (o->times != NULL)
        *o->times = a.times;
    return status;
}

thr_status thr_head_query(thr_head *head, const thr_matrix *states, uint32_t k, const thr_head_query_options *options,
                          const thr_head_answers *answers, thr_error *err) {
    thr_head_query_options complete;
    if (head == NULL || states == NULL || answers == NULL || answers->words == NULL)
        return thr_fail(err, THR_EINVAL, "the head, the states or the words of a query are NULL");
    thr_head_query_options_init(&complete);
    if (options != NULL)
        complete = *options;
    return query(head, states, k, &complete, answers, err);
}
