/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query.c - a query on a GPU: upload states and always-in words, enqueue all operations, download the answers. The host
 * synchronises once, at the end.
 *
 * Groups of states are processed together as long as their buffers fit the limit. A larger group is processed in parts:
 * its hits are counted, and its logits computed, some states at a time. A state's logits have a place for every word,
 * because the host does not have the number of candidates; unused places only cost memory.
 */
#include <string.h>

#include "base/error.h"
#include "base/minmax.h"
#include "head/device/gpu_head.h"
#include "nn/logarithm.h"

_Static_assert((int)THR_HEAD_OP_TILE == (int)THR_HEAD_TILE, "a device's sums are the CPU's");

/* A query in progress. */
typedef struct device_job {
    thr_head_device *d;
    const thr_head_contents *c;
    const thr_head_plan *plan;
    bool has_never;
    uint32_t n_best_words; /* k, and one for each word that is never answered: the host leaves those out */
    bool totals, exact;    /* compute sums of exponentials; and over all words */
    size_t n_groups;
    uint32_t n_rows;           /* states processed at once */
    uint32_t n_marks, n_tiles; /* 32-bit words of marks, and tiles, that cover all words */
    /* Device memory: inputs, intermediates, results. */
    float *states;
    uint32_t *always, *never, *found, *codes, *counts, *marks, *words, *reached;
    float *logits;
    thr_head_op_sum *tiles;
    thr_head_op_sum *sums; /* of states; first of the results, which are contiguous */
    thr_head_word *best;
    uint32_t *n_best, *n_listed;
    size_t answer_bytes;
    char *host_in, *host_answers;
} device_job;

/* ------------------------------------------------------------------------------------------------ reserve buffers */

static bool by_hashes(const device_job *a) {
    return a->plan->options->screen == THR_HEAD_SCREEN_WTA;
}

static bool by_planes(const device_job *a) {
    return a->plan->options->screen == THR_HEAD_SCREEN_PLANES;
}

/* The number of states whose logits, counts, word lists, tiles and marks fit the limit. */
static uint32_t rows_at_once(const device_job *a) {
    const size_t a_row = a->c->n_words * (2 * sizeof(uint32_t) + sizeof(float)) + a->n_marks * sizeof(uint32_t) +
                         a->n_tiles * (sizeof *a->tiles + sizeof *a->reached);
    size_t n = a->d->limit / a_row;
    n = THR_MIN(THR_HEAD_DEVICE_STATES, n);
    n = THR_MIN(a->plan->n_states, n);
    return n > 0 ? (uint32_t)n : 1;
}

/* Reserve the results: sums, best words, their number, the number of candidates. */
static thr_status reserve_results(device_job *a, thr_error *err) {
    const size_t n = a->plan->n_states;
    size_t n_best, size;
    char *at = NULL;
    if (!thr_mul_size(n, a->n_best_words, &n_best) || !thr_mul_size(n_best, sizeof *a->best, &size) ||
        n > (SIZE_MAX - size) / (sizeof *a->sums + 2 * sizeof(uint32_t)))
        return thr_fail(err, THR_ENOMEM, "no memory for the words of %zu states", n);
    a->answer_bytes = size + n * (sizeof *a->sums + 2 * sizeof(uint32_t));
    THR_TRY(thr_head_device_grow(a->d, THR_HEAD_BUFFER_ANSWERS, a->answer_bytes, &at, err));
    a->sums = (thr_head_op_sum *)(void *)at;
    a->best = (thr_head_word *)(void *)(a->sums + n);
    a->n_best = (uint32_t *)(void *)(a->best + n_best);
    a->n_listed = a->n_best + n;
    return thr_head_device_grow(a->d, THR_HEAD_BUFFER_HOST_ANSWERS, a->answer_bytes, &a->host_answers, err);
}

/* Bytes of the inputs: states, always-in words and those never answered, words found by the scan. */
typedef struct input_sizes {
    size_t states, always, found;
} input_sizes;

static thr_status reserve_inputs(device_job *a, input_sizes *sizes, thr_error *err) {
    const size_t n = a->plan->n_states;
    *sizes = (input_sizes){.always = a->n_marks * sizeof(uint32_t) * (a->has_never ? 2 : 1)};
    if (!thr_mul_size(n, a->c->n_dims * sizeof(float), &sizes->states) ||
        (by_planes(a) && !thr_mul_size(n, a->plan->n_shortlist * sizeof(uint32_t), &sizes->found)) ||
        sizes->states > SIZE_MAX - sizes->always || sizes->found > SIZE_MAX - sizes->always - sizes->states)
        return thr_fail(err, THR_ENOMEM, "no memory for %zu states", n);
    THR_TRY(thr_head_device_grow(a->d, THR_HEAD_BUFFER_STATES, sizes->states, &a->states, err));
    THR_TRY(thr_head_device_grow(a->d, THR_HEAD_BUFFER_ALWAYS, sizes->always, &a->always, err));
    a->never = a->has_never ? a->always + a->n_marks : NULL;
    THR_TRY(thr_head_device_grow(a->d, THR_HEAD_BUFFER_FOUND, sizes->found, &a->found, err));
    return thr_head_device_grow(a->d, THR_HEAD_BUFFER_HOST_IN, sizes->states + sizes->always + sizes->found,
                                &a->host_in, err);
}

/* Reserve the intermediates. There is one word list at least, and no more than groups. */
static thr_status reserve_intermediates(device_job *a, thr_error *err) {
    const size_t rows = a->n_rows, words = a->c->n_words * sizeof(uint32_t), n_tiles = rows * a->n_tiles;
    const size_t lists = a->plan->all ? 0 : THR_MIN(a->n_groups, rows);
    size_t n_codes = 0;
    if (by_hashes(a) && !thr_mul_size(a->plan->n_states, a->c->shape.n_bands * sizeof *a->codes, &n_codes))
        return thr_fail(err, THR_ENOMEM, "no memory for the hashes of %zu states", a->plan->n_states);
    THR_TRY(thr_head_device_grow(a->d, THR_HEAD_BUFFER_CODES, n_codes, &a->codes, err));
    THR_TRY(thr_head_device_grow(a->d, THR_HEAD_BUFFER_COUNTS, by_hashes(a) ? rows * words : 0, &a->counts, err));
    THR_TRY(thr_head_device_grow(a->d, THR_HEAD_BUFFER_MARKS, lists * a->n_marks * sizeof *a->marks, &a->marks, err));
    THR_TRY(thr_head_device_grow(a->d, THR_HEAD_BUFFER_WORDS, lists * words, &a->words, err));
    THR_TRY(thr_head_device_grow(a->d, THR_HEAD_BUFFER_LOGITS, rows * words, &a->logits, err));
    THR_TRY(thr_head_device_grow(a->d, THR_HEAD_BUFFER_TILES, n_tiles * sizeof *a->tiles, &a->tiles, err));
    return thr_head_device_grow(a->d, THR_HEAD_BUFFER_REACHED, n_tiles * sizeof *a->reached, &a->reached, err);
}

/* ------------------------------------------------------------------------------------------------ upload */

static thr_status upload(const device_job *a, void *to, size_t size, char **from, thr_error *err) {
    char *at = *from;
    *from += size;
    return size == 0 ? THR_OK : a->d->arrays.backend->upload(a->d->arrays.stream, to, at, size, err);
}

static thr_status send(device_job *a, const thr_head_workspace *workspace, const input_sizes *sizes, thr_error *err) {
    const size_t n_found = sizes->found / sizeof(uint32_t);
    char *at = a->host_in, *found = at + sizes->states + sizes->always;
    memcpy(at, workspace->states, sizes->states);
    memcpy(at + sizes->states, workspace->always, a->n_marks * sizeof(uint32_t));
    if (a->has_never)
        memcpy(at + sizes->states + a->n_marks * sizeof(uint32_t), workspace->never, a->n_marks * sizeof(uint32_t));
    for (size_t i = 0; i < n_found; i++) {
        const uint32_t word = (uint32_t)workspace->found[i];
        memcpy(found + i * sizeof word, &word, sizeof word);
    }
    THR_TRY(upload(a, a->states, sizes->states, &at, err));
    THR_TRY(upload(a, a->always, sizes->always, &at, err));
    return upload(a, a->found, sizes->found, &at, err);
}

/* ------------------------------------------------------------------------------------------------ choose words */

static thr_status hash(const device_job *a, thr_error *err) {
    const thr_wta *wta = &a->d->head->wta;
    for (size_t first = 0; first < a->plan->n_states; first += THR_HEAD_DEVICE_STATES) {
        const size_t left = a->plan->n_states - first;
        const thr_head_hash_op op = {.places = a->d->places,
                                     .n_dims = a->c->n_dims,
                                     .n_places = wta->shape.n_places,
                                     .n_bands = wta->shape.n_bands,
                                     .n_hashes = wta->shape.n_hashes,
                                     .bits = wta->bits,
                                     .states = a->states + first * a->c->n_dims,
                                     .n_states = left < THR_HEAD_DEVICE_STATES ? (uint32_t)left
                                                                               : (uint32_t)THR_HEAD_DEVICE_STATES,
                                     .codes = a->codes + first * wta->shape.n_bands};
        THR_TRY(a->d->arrays.backend->head_hash(a->d->arrays.stream, &op, err));
    }
    return THR_OK;
}

/*
 * The length of a group among states processed together; if a group is processed in parts, all its states have list 0.
 */
static uint32_t group_at_once(const device_job *a) {
    return a->plan->group < a->n_rows ? (uint32_t)a->plan->group : a->n_rows;
}

/* Count the hits of n states (n_rows at most) from `first` on. fresh: these are the first of their group. */
static thr_status count(const device_job *a, size_t first, uint32_t n, bool fresh, thr_error *err) {
    const thr_backend *backend = a->d->arrays.backend;
    const thr_cuckoo *table = &a->c->lsh.table;
    const uint32_t group = group_at_once(a);
    const bool sum = a->plan->options->combine == THR_HEAD_COMBINE_SUM;
    const thr_head_hits_op op = {.slots = a->d->slots,
                                 .n_slots = table->n_slots,
                                 .n_stash = table->n_stash,
                                 .seed = table->seed,
                                 .listed = a->d->listed,
                                 .n_words = a->c->n_words,
                                 .n_bands = a->c->shape.n_bands,
                                 .codes = a->codes + first * a->c->shape.n_bands,
                                 .n_states = n,
                                 .share = sum ? group : 1,
                                 .group = group,
                                 .threshold = a->plan->threshold,
                                 .counts = a->counts,
                                 .marks = a->marks,
                                 .n_marks = a->n_marks};
    const size_t n_counted = sum ? THR_CEIL_DIV(n, group) : n;
    if (fresh || !sum)
        THR_TRY(backend->clear(a->d->arrays.stream, a->counts, n_counted * a->c->n_words * sizeof *a->counts, err));
    return backend->head_hits(a->d->arrays.stream, &op, err);
}

/* Mark the words that the screen finds for n states from `first` on. */
static thr_status mark(const device_job *a, size_t first, uint32_t n, bool fresh, thr_error *err) {
    const thr_head_found_op found = {.words = a->found != NULL ? a->found + first * a->plan->n_shortlist : NULL,
                                     .n_found = a->plan->n_shortlist,
                                     .n_states = n,
                                     .group = group_at_once(a),
                                     .marks = a->marks,
                                     .n_marks = a->n_marks};
    if (by_hashes(a))
        return count(a, first, n, fresh, err);
    return by_planes(a) ? a->d->arrays.backend->head_found(a->d->arrays.stream, &found, err) : THR_OK;
}

/* ------------------------------------------------------------------------------------------------ score words */

static thr_status score(const device_job *a, const thr_head_lists *lists, size_t first, thr_head_op_sum *totals,
                        thr_error *err) {
    const thr_head_product_op product = {.lists = *lists,
                                         .weights = a->d->weights,
                                         .keep = (int)a->c->dtype,
                                         .scales = a->d->scales,
                                         .bias = a->d->bias,
                                         .n_dims = a->c->n_dims,
                                         .states = a->states + first * a->c->n_dims};
    const thr_head_sums_op sums = {.lists = *lists, .n_tiles = a->n_tiles, .tiles = a->tiles, .totals = totals};
    THR_TRY(a->d->arrays.backend->head_product(a->d->arrays.stream, &product, err));
    return a->d->arrays.backend->head_sums(a->d->arrays.stream, &sums, err);
}

/* Find the best words of n states from `first` on, whose word lists are complete, and their softmax normalisers. */
static thr_status answer(const device_job *a, size_t first, size_t first_group, uint32_t n, thr_error *err) {
    thr_head_lists lists = {.n_words = a->c->n_words, .n_states = n, .group = group_at_once(a), .logits = a->logits};
    thr_head_op_sum *sums = a->totals ? a->sums + first : NULL;
    if (!a->plan->all) {
        lists.words = a->words;
        lists.n_listed = a->n_listed + first_group;
    }
    THR_TRY(score(a, &lists, first, a->exact ? NULL : sums, err));
    const thr_head_best_op best = {.lists = lists,
                                   .n_tiles = a->n_tiles,
                                   .tiles = a->tiles,
                                   .reached = a->reached,
                                   .k = a->n_best_words,
                                   .best = a->best + first * a->n_best_words,
                                   .n_best = a->n_best + first};
    THR_TRY(a->d->arrays.backend->head_best(a->d->arrays.stream, &best, err));
    if (!a->exact)
        return THR_OK;
    const thr_head_lists all = {.n_words = a->c->n_words, .n_states = n, .group = n, .logits = a->logits};
    return score(a, &all, first, sums, err);
}

/* ------------------------------------------------------------------------------------------------ run a query */

static thr_status list(const device_job *a, size_t first_group, uint32_t n_groups, thr_error *err) {
    const thr_head_list_op op = {.n_words = a->c->n_words,
                                 .n_groups = n_groups,
                                 .k = a->plan->k,
                                 .order = a->d->order,
                                 .always = a->always,
                                 .never = a->never,
                                 .marks = a->marks,
                                 .n_marks = a->n_marks,
                                 .words = a->words,
                                 .n_listed = a->n_listed + first_group};
    return a->d->arrays.backend->head_list(a->d->arrays.stream, &op, err);
}

/* Process groups together; a group that is too large, some states at a time. */
static thr_status run_groups(const device_job *a, size_t first_group, uint32_t n_groups, thr_error *err) {
    const size_t first = first_group * a->plan->group, left = a->plan->n_states - first;
    const size_t n = left / n_groups < a->plan->group ? left : n_groups * a->plan->group, rows = a->n_rows;
    if (!a->plan->all) {
        THR_TRY(a->d->arrays.backend->clear(a->d->arrays.stream, a->marks,
                                            (size_t)n_groups * a->n_marks * sizeof *a->marks, err));
        for (size_t i = 0; i < n; i += rows)
            THR_TRY(mark(a, first + i, (uint32_t)THR_MIN(n - i, rows), i == 0, err));
        THR_TRY(list(a, first_group, n_groups, err));
    }
    for (size_t i = 0; i < n; i += rows)
        THR_TRY(answer(a, first + i, first_group, (uint32_t)THR_MIN(n - i, rows), err));
    return THR_OK;
}

static thr_status run_query(device_job *a, const thr_head_workspace *workspace, thr_error *err) {
    const size_t together = a->n_rows / a->plan->group > 0 ? a->n_rows / a->plan->group : 1;
    input_sizes sizes;
    THR_TRY(reserve_inputs(a, &sizes, err));
    THR_TRY(reserve_intermediates(a, err));
    THR_TRY(reserve_results(a, err));
    THR_TRY(send(a, workspace, &sizes, err));
    if (by_hashes(a))
        THR_TRY(hash(a, err));
    for (size_t g = 0; g < a->n_groups; g += together)
        THR_TRY(run_groups(a, g, (uint32_t)THR_MIN(a->n_groups - g, together), err));
    THR_TRY(a->d->arrays.backend->download(a->d->arrays.stream, a->host_answers, a->sums, a->answer_bytes, err));
    return a->d->arrays.backend->wait(a->d->arrays.stream, err);
}

/* ------------------------------------------------------------------------------------------------ write answers */

/* ln of a sum of exponentials, computed as in score.c. */
static double normaliser_of(const thr_head_op_sum *s) {
    return (double)s->largest + thr_logarithm(THR_MAX(s->sum, 1));
}

/* Sort a state's words that may be answered. Returns their number. */
static uint32_t sort_answer(const device_job *a, const uint64_t *never, const thr_head_word *best, uint32_t n) {
    thr_candidate *sorted = a->d->best;
    uint32_t n_left = 0;
    for (uint32_t j = 0; j < n; j++) {
        if (a->has_never && (never[best[j].word / 64] >> best[j].word % 64 & 1) != 0)
            continue;
        sorted[n_left] = (thr_candidate){.row = best[j].word};
        memcpy(&sorted[n_left++].score, &best[j].logit, sizeof sorted->score);
    }
    thr_select_candidates_sort(sorted, n_left);
    return n_left;
}

static void write_answer(const device_job *a, const thr_head_op_sum *sum, size_t state) {
    const thr_head_answers *out = &a->plan->answers;
    const uint32_t k = a->plan->k;
    const thr_candidate *sorted = a->d->best;
    const double normaliser = out->log_probs == NULL ? 0 : normaliser_of(sum);
    for (uint32_t j = 0; j < k; j++) {
        out->words[state * k + j] = (uint32_t)sorted[j].row;
        if (out->logits != NULL)
            out->logits[state * k + j] = sorted[j].score;
        if (out->log_probs != NULL)
            out->log_probs[state * k + j] = (float)((double)sorted[j].score - normaliser);
    }
}

static thr_status write_answers(const device_job *a, const uint64_t *never, thr_error *err) {
    const size_t n = a->plan->n_states, k = a->n_best_words;
    const thr_head_op_sum *sums = (const void *)a->host_answers;
    const thr_head_word *best = (const void *)(sums + n);
    const uint32_t *n_best = (const void *)(best + n * k), *n_listed = n_best + n;
    for (size_t i = 0; i < n; i++) {
        if (sort_answer(a, never, best + i * k, n_best[i]) < a->plan->k)
            return thr_fail(err, THR_ERANGE, "state %zu has logits that are NaN: verify the head's file", i);
        write_answer(a, sums + i, i);
        if (a->plan->options->n_candidates != NULL)
            a->plan->options->n_candidates[i] = a->plan->all ? a->c->n_words : n_listed[i / a->plan->group];
    }
    return THR_OK;
}

/* Scan the plane codes, and bring the best words back to the host. */
static thr_status scan(thr_head_device *d, thr_head_workspace *workspace, const thr_head_plan *plan, thr_error *err) {
    const thr_scan_corpus *corpus;
    THR_TRY(thr_head_device_codes(d, &corpus, err));
    return thr_head_scan_states(d->head, corpus, workspace, plan, err);
}

thr_status thr_head_device_query(thr_head_device *d, thr_head_workspace *workspace, const thr_head_plan *plan,
                                 thr_error *err) {
    const thr_head_contents *c = thr_head_of(d->head);
    const bool totals = plan->answers.log_probs != NULL;
    device_job a = {.d = d,
                    .c = c,
                    .plan = plan,
                    .has_never = workspace->has_never,
                    .n_best_words =
                        plan->k < c->n_words - workspace->n_never ? plan->k + workspace->n_never : c->n_words,
                    .totals = totals,
                    .exact = totals && !plan->all && plan->options->normaliser == THR_HEAD_NORMALISER_EXACT,
                    .n_groups = (plan->n_states - 1) / plan->group + 1,
                    .n_marks = 2 * (uint32_t)thr_head_mark_words(c),
                    .n_tiles = (c->n_words - 1) / THR_HEAD_TILE + 1};
    THR_TRY(thr_head_mark_always(d->head, workspace, plan->options, plan->n_frequent, err));
    if (by_planes(&a))
        THR_TRY(scan(d, workspace, plan, err));
    (void)pthread_mutex_lock(&d->mutex);
    a.n_rows = rows_at_once(&a);
    thr_status status =
        thr_grow(d->head->context, &d->best, &d->best_capacity, a.n_best_words, sizeof *d->best, "a query", err);
    if (status == THR_OK)
        status = run_query(&a, workspace, err);
    if (status == THR_OK)
        status = write_answers(&a, workspace->never, err);
    else
        (void)d->arrays.backend->wait(d->arrays.stream, NULL); /* for operations enqueued before the failure */
    (void)pthread_mutex_unlock(&d->mutex);
    return status;
}
