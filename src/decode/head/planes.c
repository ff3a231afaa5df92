/* SPDX-License-Identifier: Apache-2.0 */
/* planes.c - coding the rows of a head, and choosing the words whose codes are longest. */
#include "head/planes.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/minmax.h"

enum { SAMPLE = 4096, PIECE = 1024 }; /* rows; a piece has whole blocks */

typedef struct making {
    thr_context *context;
    const thr_head_coded *coded;
    double *mean;
    float *rows;                         /* SAMPLE of them */
    float *norms, *residuals, *products; /* PIECE each */
} making;

void thr_head_planes_mean(const thr_head_coded *coded, float *row, double *mean) {
    const uint32_t n_dims = coded->n_dims;
    uint32_t n = 0;
    memset(mean, 0, n_dims * sizeof *mean);
    for (uint32_t w = 0; w < coded->n_words; w++) {
        if (thr_head_is_hidden(coded->hidden, w))
            continue;
        n++;
        coded->row(coded->user, w, row);
        for (uint32_t d = 0; d < n_dims; d++)
            mean[d] += (double)row[d];
    }
    for (uint32_t d = 0; d < n_dims; d++)
        mean[d] /= n > 0 ? (double)n : 1;
}

void thr_head_planes_row(const thr_head_coded *coded, uint32_t w, const double *mean, float *out) {
    coded->row(coded->user, w, out);
    for (uint32_t d = 0; d < coded->n_dims; d++)
        out[d] = (float)((double)out[d] - mean[d]);
}

/* Train the quantiser on rows spread over the vocabulary, which is usually ordered by frequency. */
static thr_status train(const making *m, uint32_t n_planes, thr_quantiser *quantiser, thr_error *err) {
    const uint32_t most = THR_MIN(m->coded->n_words, SAMPLE);
    uint32_t n = 0;
    for (uint32_t i = 0; i < most; i++) {
        const uint32_t w = (uint32_t)((uint64_t)i * m->coded->n_words / most);
        if (!thr_head_is_hidden(m->coded->hidden, w))
            thr_head_planes_row(m->coded, w, m->mean, m->rows + (size_t)n++ * m->coded->n_dims);
    }
    if (n == 0) /* no word has a code: any will do */
        thr_head_planes_row(m->coded, 0, m->mean, m->rows + (size_t)n++ * m->coded->n_dims);
    const thr_matrix sample = thr_matrix_f32(m->rows, n, m->coded->n_dims);
    const thr_status status = thr_code_quantiser_train(m->context, &sample, n_planes,
                                                       THR_QUANTISER_UNIT | THR_QUANTISER_ROTATE, quantiser, err);
    quantiser->unit = false; /* rows are not normalised: their lengths matter */
    return status;
}

static thr_status encode(const making *m, const thr_quantiser *quantiser, const thr_head_planes_memory *memory,
                         thr_error *err) {
    const size_t block_size = thr_block_size(m->coded->n_dims, quantiser->item_bits);
    const thr_measures measures = {.norms = m->norms, .residuals = m->residuals, .products = m->products};
    for (uint32_t first = 0; first < m->coded->n_words; first += PIECE) {
        const uint32_t n = THR_MIN(m->coded->n_words - first, PIECE);
        for (uint32_t i = 0; i < n; i++)
            thr_head_planes_row(m->coded, first + i, m->mean, m->rows + (size_t)i * m->coded->n_dims);
        const thr_matrix rows = thr_matrix_f32(m->rows, n, m->coded->n_dims);
        THR_TRY(thr_code_encode_blocks(m->context, quantiser, &rows, first,
                                       memory->codes + first / THR_BLOCK_ITEMS * block_size, &measures, err));
        for (uint32_t i = 0; i < n; i++)
            memory->factors[first + i] =
                m->products[i] > 0 ? (float)((double)m->residuals[i] / (double)m->products[i]) : 0;
    }
    return THR_OK;
}

static thr_status make_room(making *m, thr_error *err) {
    THR_TRY(thr_alloc(m->context, m->coded->n_dims, sizeof *m->mean, &m->mean, "a mean", err));
    THR_TRY(thr_alloc(m->context, SAMPLE, m->coded->n_dims * sizeof *m->rows, &m->rows, "rows of weights", err));
    THR_TRY(thr_alloc(m->context, PIECE, sizeof *m->norms, &m->norms, "lengths", err));
    THR_TRY(thr_alloc(m->context, PIECE, sizeof *m->residuals, &m->residuals, "lengths", err));
    return thr_alloc(m->context, PIECE, sizeof *m->products, &m->products, "products", err);
}

static void free_workspace(const making *m) {
    THR_RELEASE(m->context, m->mean, m->rows, m->norms, m->residuals, m->products);
}

thr_status thr_head_planes_make(thr_context *context, const thr_head_coded *coded, uint32_t n_planes,
                                thr_head_planes_memory *memory, thr_head_planes *planes, thr_error *err) {
    making m = {.context = context, .coded = coded};
    const size_t n = (size_t)thr_head_padded(coded->n_words);
    thr_quantiser quantiser = {.n_dims = 0};
    thr_status status = THR_OK;
    *memory = (thr_head_planes_memory){NULL, NULL};
    if (n_planes == 0 || n_planes > THR_MAX_BITS)
        return thr_fail(err, THR_EINVAL, "codes of %" PRIu32 " planes: choose 1 to %d", n_planes, THR_MAX_BITS);
    THR_TRY_OUT(make_room(&m, err));
    thr_head_planes_mean(coded, m.rows, m.mean);
    THR_TRY_OUT(train(&m, n_planes, &quantiser, err));
    THR_TRY_OUT(thr_alloc_zero(context, n / THR_BLOCK_ITEMS, thr_block_size(coded->n_dims, n_planes), &memory->codes,
                               "codes of words", err));
    THR_TRY_OUT(thr_alloc_zero(context, n, sizeof *memory->factors, &memory->factors, "factors of words", err));
    THR_TRY_OUT(encode(&m, &quantiser, memory, err));
    *planes = (thr_head_planes){.n_planes = n_planes, .codes = memory->codes, .factors = memory->factors};
    memcpy(planes->quantiser.ranges, quantiser.ranges, sizeof planes->quantiser.ranges);
    planes->quantiser.rotation_seed = quantiser.rotation_seed;
out:
    thr_code_quantiser_free(context, &quantiser);
    free_workspace(&m);
    return status;
}

void thr_head_planes_free(thr_context *context, thr_head_planes_memory *memory) {
    THR_RELEASE(context, memory->codes, memory->factors);
    *memory = (thr_head_planes_memory){NULL, NULL};
}

uint32_t thr_head_planes_longest(const thr_head_planes *planes, uint32_t n_words, const uint64_t *hidden,
                                 uint32_t *words) {
    const uint32_t share = n_words / THR_HEAD_LONGEST_ONE_IN, most = THR_MIN(share, THR_HEAD_LONGEST);
    uint32_t n = 0;
    for (uint32_t w = 0; w < n_words && most > 0; w++) {
        if (thr_head_is_hidden(hidden, w))
            continue;
        uint32_t at = n < most ? n++ : most; /* words[0..n) by descending factor; when full, the last is replaced */
        for (; at > 0 && planes->factors[words[at - 1]] < planes->factors[w]; at--)
            if (at < most)
                words[at] = words[at - 1];
        if (at < most)
            words[at] = w;
    }
    return n;
}

const char *thr_head_planes_check(const thr_head_planes *planes, uint32_t n_words) {
    for (uint32_t b = 0; b < THR_MAX_BITS; b++)
        if (!isnormal(planes->quantiser.ranges[b]) || planes->quantiser.ranges[b] < 0)
            return "a range of the codes is not positive";
    for (uint64_t i = 0; i < thr_head_padded(n_words); i++)
        if (!(planes->factors[i] >= 0 && (double)planes->factors[i] <= 2 * thr_longest_row(false)))
            return "section factors: one is negative, not finite, or above 2^61";
    return NULL;
}
