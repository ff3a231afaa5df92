/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows are normalised to length 1 first, so a cosine is a product and its gradient a projection: with u = x / |x| and
 * G the gradient by u, d_x = (G - (G u) u) / |x|.
 *
 * The cosines of row i with its negatives are a band along the diagonal of the matrix of all cosines. The band is
 * stored as one line of n_negatives numbers per row, so the entry one row down in the same column is one place to the
 * left: the band is a matrix with row stride `stride - 1`. A block of rows times the union of their columns is
 * therefore one product, written directly into the band, and the gradients are products of the band, plain and
 * transposed. The entries of a product outside the band fall into the padding of `pad` floats at both ends of the
 * lines, which is zeroed before it is read.
 */
#include "nn/match_loss.h"

#include "base/memory.h"
#include "base/minmax.h"
#include "kernel/elementwise.h"
#include "nn/logarithm.h"
#include "parallel/pool.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { LANES = 16 };

typedef struct run {
    const thr_kernels *kernels;
    const thr_match_loss *loss;
    size_t n, n_dims, n_negatives;
    size_t block, pad, stride; /* block: rows of a product; stride: of the band's lines */
    float *queries, *items;    /* normalised to length 1 */
    float *items_across;       /* transposed */
    float *band;               /* cosines, then the gradient of the loss by them; starts at the first line's padding */
    float *pairs;              /* the same for the matching pairs */
    float *query_scales, *item_scales; /* 1 / |x|, 0 for zero vectors */
    float *losses;                     /* a double each */
    const float *raw_queries, *raw_items;
    float *cosines, *d_queries, *d_items;
    const struct run *teacher; /* a run over the teacher's vectors, whose band holds their cosines; or NULL */
} run;

/* Rows of a product: with few negatives, large blocks would compute mostly entries outside the band. */
static size_t block_rows(size_t n_negatives) {
    return n_negatives < 24 ? 6 : n_negatives < 96 ? 12 : n_negatives < 256 ? 24 : 48;
}

static size_t band_stride(size_t n_negatives) {
    return n_negatives + 2 * (block_rows(n_negatives) - 1) + LANES - 1;
}

size_t thr_nn_match_loss_scratch(const thr_match_loss *loss, size_t n_rows, size_t n_dims) {
    enum { NUMBERS = 5 }; /* a pair, two scales, and a loss of two floats */
    const size_t own = n_rows * (3 * n_dims + band_stride(loss->n_negatives) + NUMBERS);
    const size_t others = n_rows * (3 * loss->n_teacher_dims + band_stride(loss->n_negatives) + NUMBERS);
    return own + (loss->teacher_share > 0 ? others : 0);
}

/* Return line i of the band: negative j is at [j]. */
static float *line(const run *r, size_t i) {
    return r->band + i * r->stride + r->pad;
}

/* ------------------------------------------------------------------------------------------------ one row */

static float largest(const float *x, size_t n, float most) {
    float lanes[LANES];
    for (size_t l = 0; l < LANES; l++)
        lanes[l] = most;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t l = 0; l < LANES; l++)
            lanes[l] = THR_MAX(x[i + l], lanes[l]);
    for (; i < n; i++)
        lanes[i % LANES] = THR_MAX(x[i], lanes[i % LANES]);
    for (size_t l = 0; l < LANES; l++)
        most = THR_MAX(lanes[l], most);
    return most;
}

/* Sum 16 partial sums by halving: the order of dot_f32. */
static float sum_of(const float *x, size_t n) {
    float lanes[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t l = 0; l < LANES; l++)
            lanes[l] += x[i + l];
    for (; i < n; i++)
        lanes[i % LANES] += x[i];
    for (size_t half = LANES / 2; half > 0; half /= 2)
        for (size_t l = 0; l < half; l++)
            lanes[l] += lanes[l + half];
    return lanes[0];
}

/* Turn the teacher's cosines of a row into its share of the targets, in place; returns the pair's target. */
static float find_targets(const run *r, size_t i) {
    float *t = line(r->teacher, i);
    const size_t n = r->n_negatives;
    const float gamma = r->loss->teacher_gamma, share = r->loss->teacher_share, pair = r->teacher->pairs[i];
    const float most = largest(t, n, pair);
    for (size_t j = 0; j < n; j++)
        t[j] = gamma * (t[j] - most);
    r->kernels->exp_f32(t, t, n);
    const float own = thr_kernel_exp_one(gamma * (pair - most)), scale = share / (sum_of(t, n) + own);
    for (size_t j = 0; j < n; j++)
        t[j] *= scale;
    return 1 - share + scale * own;
}

/* Move the targets' share from the pair, which the gradient by the cosines assumes to have all of it. */
static void take_targets(const run *r, size_t i, float pair_target, float *c) {
    const float *t = line(r->teacher, i);
    const float gamma = r->loss->gamma / (float)r->n;
    for (size_t j = 0; j < r->n_negatives; j++)
        c[j] -= gamma * t[j];
    r->pairs[i] += gamma * (1 - pair_target);
}

/*
 * Turn a row's cosines into its loss, and then, in place, into the gradient by them: gamma / n p_j for the negatives,
 * and for the pair the value that makes the sum 0. The padding, which other rows have overwritten, becomes 0.
 */
static void soft_max(const run *r, size_t i) {
    float *c = line(r, i);
    const size_t n = r->n_negatives;
    const float gamma = r->loss->gamma, pair = r->pairs[i], most = largest(c, n, pair);
    float pair_target = 1, elsewhere = 0;
    for (size_t j = 0; j < n; j++)
        c[j] = gamma * (c[j] - most);
    if (r->teacher != NULL) {
        pair_target = find_targets(r, i);
        r->kernels->dot_f32(&elsewhere, line(r->teacher, i), c, n * sizeof *c, 1, n);
    }
    r->kernels->exp_f32(c, c, n);
    const float others = sum_of(c, n), all = others + thr_kernel_exp_one(gamma * (pair - most));
    const double loss = (isfinite(all) ? thr_logarithm((double)all) : (double)all) +
                        (double)pair_target * ((double)gamma * (double)(most - pair)) - (double)elsewhere;
    memcpy(r->losses + 2 * i, &loss, sizeof loss);
    if (r->d_queries == NULL)
        return;
    const float scale = gamma / ((float)r->n * all);
    for (size_t j = 0; j < n; j++)
        c[j] *= scale;
    r->pairs[i] = -(others * scale);
    if (r->teacher != NULL)
        take_targets(r, i, pair_target, c);
    memset(c - r->pad, 0, r->pad * sizeof *c);
    memset(c + n, 0, (r->stride - r->pad - n) * sizeof *c);
}

/* Convert the gradient g by u = x * scale to that by x. */
static void project(const run *r, float *g, const float *u, float scale) {
    float along = 0;
    r->kernels->dot_f32(&along, g, u, r->n_dims * sizeof *u, 1, r->n_dims);
    for (size_t d = 0; d < r->n_dims; d++)
        g[d] = (g[d] - along * u[d]) * scale;
}

/* ------------------------------------------------------------------------------------------------ blocks of rows */

/* Lengths below FLT_MIN count as 0, because dividing by them could overflow. */
static float to_unit(const run *r, const float *x, float *unit) {
    const double length = sqrt(r->kernels->sum_squares(x, r->n_dims));
    const float scale = length < (double)FLT_MIN ? 0.0f : (float)(1.0 / length);
    for (size_t d = 0; d < r->n_dims; d++)
        unit[d] = x[d] * scale;
    return scale;
}

static size_t rows_of(const run *r, size_t block) {
    const size_t left = r->n - block * r->block;
    return THR_MIN(left, r->block);
}

/* Normalise and transpose in blocks of one cache line of floats. */
static void normalise_block(void *arg, size_t piece, uint32_t worker) {
    (void)worker;
    const run *r = arg;
    const size_t first = piece * LANES, n_dims = r->n_dims, end = r->n - first < LANES ? r->n : first + LANES;
    for (size_t i = first; i < end; i++) {
        r->query_scales[i] = to_unit(r, r->raw_queries + i * n_dims, r->queries + i * n_dims);
        r->item_scales[i] = to_unit(r, r->raw_items + i * n_dims, r->items + i * n_dims);
        r->kernels->dot_f32(&r->pairs[i], r->queries + i * n_dims, r->items + i * n_dims, n_dims * sizeof(float), 1,
                            n_dims);
        if (r->cosines != NULL)
            r->cosines[i] = r->pairs[i];
    }
    for (size_t d = 0; d < n_dims; d++)
        for (size_t i = first; i < end; i++)
            r->items_across[d * r->n + i] = r->items[i * n_dims + d];
}

/* A contiguous run of the other side's rows that a block's columns refer to; columns wrap around to row 0. */
typedef struct run_of_rows {
    size_t column, row, n;
} run_of_rows;

static bool next_rows(const run *r, size_t from, size_t width, run_of_rows *rows) {
    rows->column += rows->n;
    if (rows->column >= width)
        return false;
    const size_t left = width - rows->column;
    rows->row = (from + rows->column) % r->n;
    rows->n = THR_MIN(left, r->n - rows->row);
    return true;
}

/* Compute the cosines, rounded up to whole vectors: cheaper than a partial vector. */
static void find_cosines(const run *r, size_t first, size_t n_rows) {
    const size_t width = THR_ROUND_UP(r->n_negatives + n_rows - 1, LANES);
    memset(r->band + first * r->stride, 0, n_rows * r->stride * sizeof *r->band);
    for (run_of_rows at = {0}; next_rows(r, first + r->loss->shift, width, &at);)
        r->kernels->matmul(&(thr_product){.c = line(r, first) + at.column,
                                          .a = r->queries + first * r->n_dims,
                                          .b = r->items_across + at.row,
                                          .c_row = r->stride - 1,
                                          .a_row = r->n_dims,
                                          .a_step = 1,
                                          .b_row = r->n,
                                          .n_rows = n_rows,
                                          .n_columns = at.n,
                                          .n_inner = r->n_dims});
}

/* Initialise a block of gradients with the contribution of the pairs. */
static void begin_gradients(const run *r, size_t first, size_t n_rows, const float *others, float *gradients) {
    for (size_t i = first; i < first + n_rows; i++)
        for (size_t d = 0; d < r->n_dims; d++)
            gradients[i * r->n_dims + d] = r->pairs[i] * others[i * r->n_dims + d];
}

static void query_block(void *arg, size_t piece, uint32_t worker) {
    (void)worker;
    const run *r = arg;
    const size_t first = piece * r->block, n_rows = rows_of(r, piece), n_dims = r->n_dims;
    find_cosines(r, first, n_rows);
    if (r->teacher != NULL)
        find_cosines(r->teacher, first, n_rows);
    for (size_t i = first; i < first + n_rows; i++)
        soft_max(r, i);
    if (r->d_queries == NULL)
        return;
    begin_gradients(r, first, n_rows, r->items, r->d_queries);
    for (run_of_rows at = {0}; next_rows(r, first + r->loss->shift, r->n_negatives + n_rows - 1, &at);)
        r->kernels->matmul(&(thr_product){.c = r->d_queries + first * n_dims,
                                          .a = line(r, first) + at.column,
                                          .b = r->items + at.row * n_dims,
                                          .c_row = n_dims,
                                          .a_row = r->stride - 1,
                                          .a_step = 1,
                                          .b_row = n_dims,
                                          .n_rows = n_rows,
                                          .n_columns = n_dims,
                                          .n_inner = at.n});
    for (size_t i = first; i < first + n_rows; i++)
        project(r, r->d_queries + i * n_dims, r->queries + i * n_dims, r->query_scales[i]);
}

/*
 * Item first + k is negative j of query i = first + k - shift - j. The queries of a block therefore start with that
 * of its first item's last negative, and ascend.
 */
static void item_block(void *arg, size_t piece, uint32_t worker) {
    (void)worker;
    const run *r = arg;
    const size_t first = piece * r->block, n_rows = rows_of(r, piece), n_dims = r->n_dims;
    const size_t last = r->n_negatives - 1, from = first + r->n - r->loss->shift - last;
    begin_gradients(r, first, n_rows, r->queries, r->d_items);
    for (run_of_rows at = {0}; next_rows(r, from, r->n_negatives + n_rows - 1, &at);)
        r->kernels->matmul(&(thr_product){.c = r->d_items + first * n_dims,
                                          .a = r->band + at.row * r->stride + (r->pad + last - at.column),
                                          .b = r->queries + at.row * n_dims,
                                          .c_row = n_dims,
                                          .a_row = 1,
                                          .a_step = r->stride - 1,
                                          .b_row = n_dims,
                                          .n_rows = n_rows,
                                          .n_columns = n_dims,
                                          .n_inner = at.n});
    for (size_t j = first; j < first + n_rows; j++)
        project(r, r->d_items + j * n_dims, r->items + j * n_dims, r->item_scales[j]);
}

/* Returns the scratch memory that is left. */
static float *lay_out(run *r, float *scratch) {
    float **const parts[] = {&r->queries, &r->items,        &r->items_across, &r->band,
                             &r->pairs,   &r->query_scales, &r->item_scales,  &r->losses};
    const size_t rows = r->n * r->n_dims;
    const size_t sizes[] = {rows, rows, rows, r->n * r->stride, r->n, r->n, r->n, 2 * r->n};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        *parts[i] = scratch;
        scratch += sizes[i];
    }
    return scratch;
}

/* A run over the teacher's vectors, for their cosines alone. */
static run make_teacher(const run *r, const thr_match_batch *batch, float *scratch) {
    run t = *r;
    t.n_dims = r->loss->n_teacher_dims;
    t.raw_queries = batch->teacher_queries;
    t.raw_items = batch->teacher_items;
    t.cosines = t.d_queries = t.d_items = NULL;
    (void)lay_out(&t, scratch);
    return t;
}

double thr_nn_match_loss_run(thr_context *context, const thr_match_loss *loss, const thr_match_batch *batch,
                             float *scratch) {
    const size_t n_rows = batch->n_rows;
    run r = {.kernels = context->kernels,
             .loss = loss,
             .n = n_rows,
             .n_dims = batch->n_dims,
             .n_negatives = loss->n_negatives,
             .block = block_rows(loss->n_negatives),
             .pad = block_rows(loss->n_negatives) - 1,
             .stride = band_stride(loss->n_negatives),
             .raw_queries = batch->queries,
             .raw_items = batch->items,
             .cosines = batch->cosines,
             .d_queries = batch->d_queries,
             .d_items = batch->d_items};
    const size_t n_blocks = THR_CEIL_DIV(n_rows, r.block);
    run teacher = make_teacher(&r, batch, lay_out(&r, scratch));
    thr_parallel_for(context, THR_CEIL_DIV(n_rows, LANES), normalise_block, &r);
    if (loss->teacher_share > 0) {
        thr_parallel_for(context, THR_CEIL_DIV(n_rows, LANES), normalise_block, &teacher);
        r.teacher = &teacher;
    }
    thr_parallel_for(context, n_blocks, query_block, &r);
    if (batch->d_items != NULL)
        thr_parallel_for(context, n_blocks, item_block, &r);
    double sum = 0;
    for (size_t i = 0; i < n_rows; i++) {
        double row = 0;
        memcpy(&row, r.losses + 2 * i, sizeof row);
        sum += row;
    }
    return n_rows == 0 ? 0 : sum / (double)n_rows;
}
