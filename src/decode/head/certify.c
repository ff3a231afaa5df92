/* SPDX-License-Identifier: Apache-2.0 */
/*
 * certify.c - bounds on the logits of words outside a shortlist, by the Cauchy-Schwarz inequality, as
 * scan/margins/bounds.c has them.
 *
 * Let p be a state extended by 1 for the bias, and rotated as the codes are; r a word's row less the mean m of all
 * rows; x = factor * b the vector its code represents; and p~ = |p| c / |c| the vector that the state's code c
 * represents. The word's logit is <r, p> + <m, p>, its estimate <x, p~>, and
 *
 *     <r, p> - <x, p~> = <r - x, p> + <x, p - p~>.
 *
 * Suppose that a word's logit is at least t, the k-th of an answer. Then y = t - <m, p> is at most |r| |p|, and the
 * component of p orthogonal to r, `across`, is at most sqrt(|p|^2 - (y / |r|)^2) for y > 0, else |p|. x was chosen so
 * that x - r is orthogonal to r; the remainder along r is measured, and `along` is the largest of any word. So the
 * word's estimate is at least
 *
 *     y - |x - r| |across| - along |p| - |x| |p - p~|.
 *
 * Every word outside the shortlist has an estimate of at most the shortlist's last one. If that is below the bound, the
 * word's logit is below t. If this holds for every word that is not a candidate, the answer is certain, ties included.
 *
 * Rounding. Lengths are measured in double from the floats that were coded. The rotation, the scan's float32 products
 * and the logits' products add one unit of rounding (2^-24) for each addition of a lane of n / 16 terms, for each of
 * the rotation's 74 steps, and for what follows. `rounding` times the sizes of all terms is a few times that sum.
 */
#include "head/certify.h"

#include "base/minmax.h"
#include "base/shortest.h"
#include "base/error.h"
#include "code/query.h"
#include "code/rotate.h"
#include "parallel/pool.h"

#include <math.h>
#include <string.h>

enum { PIECE = 64 }; /* words of a piece: one block */

static const double UNIT = 0x1p-24, UP = 1 + 0x1p-20, SMALLEST = 0x1p-126;

/* |r|, |x| and |x - r| of a word. */
typedef struct word_bounds {
    float row, code, error;
} word_bounds;

struct thr_head_bounds {
    double *mean;
    double mean_length, along;
    double buried; /* the largest |W_w| of a word without a code */
    word_bounds *words;
};

void thr_head_bounds_free(thr_context *context, thr_head_bounds *bounds) {
    if (bounds == NULL)
        return;
    THR_RELEASE(context, bounds->mean, bounds->words, bounds);
}

/* ------------------------------------------------------------------------------------------------ bounds of words */

typedef struct measuring {
    const thr_head *head;
    thr_head_coded coded;
    thr_head_bounds *bounds;
    float *rows;             /* scratch memory, one row per thread */
    double *alongs, *buried; /* the largest found by each thread */
} measuring;

/* The integer of dimension d in word w's code; odd, at most 2^n_planes - 1 in size. */
static int integer_at(const thr_head_contents *c, uint32_t w, uint32_t d) {
    const uint32_t n_planes = c->planes.n_planes;
    const uint8_t *bytes = c->planes.codes + w / THR_BLOCK_ITEMS * thr_block_size(thr_head_coded_dims(c), n_planes) +
                           (size_t)(d / 8) * n_planes * THR_BLOCK_ITEMS + w % THR_BLOCK_ITEMS;
    int cell = 0;
    for (uint32_t p = 0; p < n_planes; p++)
        cell = 2 * cell + (bytes[(size_t)p * THR_BLOCK_ITEMS] >> d % 8 & 1);
    return 2 * cell + 1 - (1 << n_planes);
}

static float round_up(double x) {
    return (float)(x * UP + SMALLEST);
}

/* Measure a word's lengths. Returns the length of x - r along r. */
static double measure_word(const measuring *m, uint32_t w, float *row) {
    const thr_head_contents *c = thr_head_of(m->head);
    const uint32_t n_dims = thr_head_coded_dims(c);
    const double factor = (double)c->planes.factors[w];
    double row_square = 0, code_square = 0, error_square = 0, along = 0;
    thr_head_planes_row(&m->coded, w, m->bounds->mean, row);
    if (m->head->quantiser.rotation != NULL)
        thr_code_rotation_apply(m->head->quantiser.rotation, row);
    for (uint32_t d = 0; d < n_dims; d++) {
        const double r = (double)row[d], x = factor * integer_at(c, w, d);
        row_square += r * r;
        code_square += x * x;
        error_square += (x - r) * (x - r);
        along += (x - r) * r;
    }
    m->bounds->words[w] =
        (word_bounds){round_up(sqrt(row_square)), round_up(sqrt(code_square)), round_up(sqrt(error_square))};
    return row_square > 0 ? fabs(along) / sqrt(row_square) * UP : 0;
}

/* The length of a row of weights, without the bias. */
static double measure_buried(const measuring *m, uint32_t w, float *row) {
    m->coded.row(m->coded.user, w, row);
    return sqrt(m->head->context->kernels->sum_squares(row, thr_head_of(m->head)->n_dims)) * UP;
}

static void measure_piece(void *arg, size_t piece, uint32_t worker) {
    const measuring *m = arg;
    const uint32_t n_words = thr_head_of(m->head)->n_words, first = (uint32_t)piece * PIECE;
    float *row = m->rows + (size_t)worker * thr_head_coded_dims(thr_head_of(m->head));
    for (uint32_t w = first; w < n_words && w < first + PIECE; w++)
        if (thr_head_is_hidden(m->head->hidden, w))
            m->buried[worker] = fmax(m->buried[worker], measure_buried(m, w, row));
        else
            m->alongs[worker] = fmax(m->alongs[worker], measure_word(m, w, row));
}

static thr_status measure_words(const thr_head *head, thr_head_bounds *bounds, thr_error *err) {
    thr_context *context = head->context;
    const thr_head_contents *c = thr_head_of(head);
    const size_t n_dims = thr_head_coded_dims(c), n_threads = context->n_threads;
    measuring m = {.head = head, .coded = thr_head_coded_of(head), .bounds = bounds};
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_alloc(context, n_dims * sizeof(float), n_threads, &m.rows, "rows of weights", err));
    THR_TRY_OUT(thr_alloc_zero(context, 2 * n_threads, sizeof *m.alongs, &m.alongs, "bounds", err));
    m.buried = m.alongs + n_threads;
    THR_TRY_OUT(thr_alloc(context, n_dims, sizeof *bounds->mean, &bounds->mean, "a mean", err));
    THR_TRY_OUT(thr_alloc(context, c->n_words, sizeof *bounds->words, &bounds->words, "bounds of words", err));
    thr_head_planes_mean(&m.coded, m.rows, bounds->mean);
    thr_parallel_for(context, THR_CEIL_DIV((size_t)c->n_words, PIECE), measure_piece, &m);
    for (size_t d = 0; d < n_dims; d++)
        bounds->mean_length += bounds->mean[d] * bounds->mean[d];
    bounds->mean_length = sqrt(bounds->mean_length) * UP;
    for (size_t i = 0; i < n_threads; i++)
        bounds->along = fmax(bounds->along, m.alongs[i]);
    for (size_t i = 0; i < n_threads; i++)
        bounds->buried = fmax(bounds->buried, m.buried[i]);
out:
    THR_RELEASE(context, m.rows, m.alongs);
    return status;
}

/* The head's bounds; the first thread that needs them measures them while others wait. */
static thr_status get_bounds(thr_head *head, const thr_head_bounds **out, thr_error *err) {
    thr_head_bounds *bounds = NULL;
    thr_status status = THR_OK;
    (void)pthread_mutex_lock(&head->mutex);
    if (head->bounds == NULL) {
        status = thr_alloc_zero(head->context, 1, sizeof *bounds, &bounds, "bounds of words", err);
        if (status == THR_OK)
            status = measure_words(head, bounds, err);
        if (status == THR_OK)
            head->bounds = bounds;
        else
            thr_head_bounds_free(head->context, bounds);
    }
    *out = head->bounds;
    (void)pthread_mutex_unlock(&head->mutex);
    return status;
}

/* ------------------------------------------------------------------------------------------------ bounds of states */

/* A state as it is scanned, and the limits its answer sets. */
typedef struct state_bounds {
    double length;   /* |p| */
    double error;    /* |p - p~| */
    double least;    /* the shortlist's last estimate */
    double wanted;   /* y: the k-th logit less <m, p> */
    double rounding; /* relative error of a product */
} state_bounds;

static double distance_to_code(const thr_query_code *code, const float *part, double length) {
    const int middle = 1 << code->query_bits;
    double square = 0, sum = 0;
    for (uint32_t d = 0; d < code->n_dims; d++) {
        const int c = 2 * code->levels[d] + 1 - middle;
        square += (double)(c * c);
    }
    const double scale = length / sqrt(square);
    for (uint32_t d = 0; d < code->n_dims; d++) {
        const double off = (double)part[d] - scale * (2 * code->levels[d] + 1 - middle);
        sum += off * off;
    }
    return sqrt(sum) * UP;
}

static state_bounds measure_state(const thr_head *head, thr_head_workspace *workspace, const thr_head_plan *plan,
                                  const thr_head_bounds *bounds, size_t state, double logit) {
    const thr_head_contents *c = thr_head_of(head);
    const uint32_t n_dims = thr_head_coded_dims(c);
    const thr_scan_corpus *corpus = &head->corpus;
    float *part = workspace->part;
    thr_query_code code;
    state_bounds s = {.least = (double)workspace->estimates[(state + 1) * plan->n_shortlist - 1],
                      .wanted = logit,
                      .rounding = ((double)n_dims / 16 + 128) * 4 * UNIT};
    memcpy(part, workspace->states + state * c->n_dims, c->n_dims * sizeof *part);
    if (n_dims > c->n_dims)
        part[c->n_dims] = 1;
    for (uint32_t d = 0; d < n_dims; d++)
        s.wanted -= bounds->mean[d] * (double)part[d];
    s.length = sqrt(workspace->context->kernels->sum_squares(part, n_dims));
    if (!(s.length > THR_SHORTEST))
        return s;
    if (corpus->quantiser->rotation != NULL)
        thr_code_rotation_apply(corpus->quantiser->rotation, part);
    thr_code_query_make_levels(&code, corpus->quantiser, corpus->lead, part, s.length, THR_HEAD_CERTIFIED_BITS,
                               workspace->levels);
    s.error = distance_to_code(&code, part, s.length);
    return s;
}

/* Whether a word without a code cannot reach the logit: by the lengths of its row and of the state. */
static bool is_buried(const state_bounds *s, const thr_head_bounds *bounds, double bias, double logit) {
    const double most = bounds->buried * s->length;
    return bias + most + s->rounding * (most + fabs(bias)) < logit;
}

/* Whether a word outside the shortlist cannot reach the k-th logit. */
static bool is_out_of_reach(const state_bounds *s, const thr_head_bounds *bounds, uint32_t word) {
    const word_bounds *w = &bounds->words[word];
    const double row = (double)w->row, code = (double)w->code;
    const double y = s->wanted - s->rounding * (row + code + bounds->mean_length) * s->length;
    if (y > row * s->length)
        return true;
    const double beside = y > 0 ? y / row : 0, across = sqrt(fmax(s->length * s->length - beside * beside, 0)) * UP;
    return s->least + (double)w->error * across + bounds->along * s->length + code * s->error < y;
}

static bool is_certain(const thr_head *head, thr_head_workspace *workspace, const thr_head_plan *plan,
                       const thr_head_bounds *bounds, size_t state, double logit) {
    const uint32_t n_words = thr_head_of(head)->n_words;
    const state_bounds s = measure_state(head, workspace, plan, bounds, state, logit);
    if (!(s.length > THR_SHORTEST)) /* such a short state's shortlist is arbitrary */
        return false;
    memcpy(workspace->marks, workspace->always, thr_head_mark_words(thr_head_of(head)) * sizeof *workspace->marks);
    thr_head_mark_shortlists(workspace, plan, state, 1);
    bool certain = true;
    for (size_t i = 0; i < thr_head_mark_words(thr_head_of(head)) && certain; i++)
        for (uint64_t left = ~workspace->marks[i]; left != 0 && certain; left &= left - 1) {
            const size_t word = i * 64 + (size_t)__builtin_ctzll(left);
            if (word >= n_words || (workspace->has_never && (workspace->never[i] >> word % 64 & 1) != 0))
                continue;
            certain = thr_head_is_hidden(head->hidden, (uint32_t)word)
                          ? is_buried(&s, bounds, (double)thr_head_of(head)->bias[word], logit)
                          : is_out_of_reach(&s, bounds, (uint32_t)word);
        }
    return certain;
}

thr_status thr_head_certify(thr_head *head, thr_head_workspace *workspace, const thr_head_plan *plan,
                            const float *logits, uint8_t *certified, thr_error *err) {
    const thr_head_contents *c = thr_head_of(head);
    const thr_head_bounds *bounds = NULL;
    const bool by_planes = plan->options->screen == THR_HEAD_SCREEN_PLANES;
    const bool all = plan->options->screen == THR_HEAD_SCREEN_FULL || (by_planes && plan->n_shortlist == c->n_words);
    memset(certified, all ? 1 : 0, plan->n_states);
    if (all || !by_planes)
        return THR_OK;
    const uint32_t n_dims = thr_head_coded_dims(c);
    THR_TRY(thr_grow(workspace->context, &workspace->part, &workspace->part_capacity, n_dims, sizeof *workspace->part,
                     "a state", err));
    THR_TRY(thr_grow(workspace->context, &workspace->levels, &workspace->levels_capacity,
                     thr_code_query_levels_size(n_dims), sizeof *workspace->levels, "a state", err));
    THR_TRY(get_bounds(head, &bounds, err));
    for (size_t i = 0; i < plan->n_states; i++)
        certified[i] = is_certain(head, workspace, plan, bounds, i, (double)logits[i * plan->k + plan->k - 1]);
    return THR_OK;
}
