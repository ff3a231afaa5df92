/* SPDX-License-Identifier: Apache-2.0 */
/*
 * precondition.c - building and factorising the preconditioner: sampled rows, centred and scaled, fill panels of
 * floats, whose products are summed band by band.
 */
#include "rank/solver/precondition.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/minmax.h"
#include "parallel/pool.h"

enum {
    ROWS_A_FEATURE = 128, /* rows of the sample */
    MATRIX_PRODUCTS = 4,  /* most products with the Hessian that the matrix may cost */
    LEAST_A_FEATURE = 8,  /* with fewer sampled rows the matrix is too inaccurate */
    MOST_FEATURES = 1024, /* with more, only the diagonal is used */
    LEAST_QUERIES = 32,   /* of the sample, if there are so many; then fewer rows of each are sampled */
    PANEL = 256,
    BAND = 16 /* rows */
};
/*
 * Added to the diagonal, which is 1: a few times the rounding error of floats; 100 times more after each failed
 * factorisation.
 */
static const double ridge = 1e-5, next_ridge = 100, most_ridge = 1;
static const double DIAGONAL_SHARE = 0.01; /* LIBLINEAR's alpha_pcg; the rest is I */

/* ------------------------------------------------------------------------------------------------ sample */

thr_rank_sample thr_rank_sample_choose(const thr_rank_problem *problem) {
    const thr_ranking_view *view = &problem->view;
    uint64_t n_rows = 0, n_queries = 0;
    for (uint64_t q = 0; q < view->n_queries; q++) {
        n_rows += thr_rank_sample_may_have(problem, q) ? view->offsets[q + 1] - view->offsets[q] : 0;
        n_queries += thr_rank_sample_may_have(problem, q);
    }
    uint64_t wanted = (uint64_t)ROWS_A_FEATURE * view->n_features;
    /* a product takes 2 n_rows n steps for n features, a sampled row n^2 / 2 */
    const uint64_t paid = 4 * MATRIX_PRODUCTS * n_rows / (view->n_features > 0 ? view->n_features : 1);
    wanted = THR_MIN(wanted, paid);
    const uint64_t step = n_rows / (wanted > 0 ? wanted : 1), most = n_queries / LEAST_QUERIES;
    thr_rank_sample s = {.query_step = THR_MIN(step, most)};
    s.query_step = s.query_step > 0 ? s.query_step : 1;
    s.row_step = step / s.query_step > 0 ? step / s.query_step : 1;
    return s;
}

/* A query's row u, as doubles. */
static void take_row(const thr_rank_problem *problem, uint64_t query, uint64_t u, double *out) {
    const thr_ranking_view *view = &problem->view;
    const uint64_t row = view->offsets[query] + problem->rows[u];
    if (view->dense != NULL) {
        for (size_t d = 0; d < view->n_features; d++)
            out[d] = (double)view->dense[row * view->n_features + d];
        return;
    }
    memset(out, 0, view->n_features * sizeof *out);
    for (uint64_t e = view->sparse.starts[row]; e < view->sparse.starts[row + 1]; e++)
        out[view->sparse.columns[e]] = (double)view->sparse.values[e];
}

/* The mean of a query's sampled rows weighted by counts. Returns false if all counts are 0. */
static bool find_mean(thr_rank_preconditioner *p, uint64_t query, uint64_t row_step) {
    const thr_rank_problem *problem = p->problem;
    const size_t n = problem->view.n_features;
    double all = 0;
    memset(p->mean, 0, n * sizeof *p->mean);
    for (uint64_t u = problem->view.offsets[query]; u < problem->view.offsets[query + 1]; u += row_step) {
        all += problem->counts[u];
        take_row(problem, query, u, p->row);
        for (size_t d = 0; d < n; d++)
            p->mean[d] += problem->counts[u] * p->row[d];
    }
    for (size_t d = 0; d < n && all > 0; d++)
        p->mean[d] /= all;
    return all > 0;
}

/* ------------------------------------------------------------------------------------------------ matrix */

/* The rows of a panel, whose products are added to the matrix in bands. */
typedef struct panel_bands {
    thr_rank_preconditioner *p;
    size_t n_rows;
} panel_bands;

static void add_band(void *arg, size_t band, uint32_t worker) {
    const panel_bands *bands = arg;
    const size_t n = bands->p->problem->view.n_features, first = band * BAND, end = THR_MIN(first + BAND, n);
    (void)worker;
    const thr_product product = {.c = bands->p->sums + first * n,
                                 .a = bands->p->panel + first,
                                 .b = bands->p->panel,
                                 .c_row = n,
                                 .a_row = 1,
                                 .a_step = n,
                                 .b_row = n,
                                 .n_rows = end - first,
                                 .n_columns = end,
                                 .n_inner = bands->n_rows};
    bands->p->problem->context->kernels->matmul(&product);
}

static void add_panel(thr_rank_preconditioner *p, size_t n_rows) {
    panel_bands bands = {.p = p, .n_rows = n_rows};
    thr_parallel_for(p->problem->context, THR_CEIL_DIV(p->problem->view.n_features, BAND), add_band, &bands);
}

static void add_diagonal(thr_rank_preconditioner *p, uint64_t query, uint64_t row_step, double weight) {
    const thr_rank_problem *problem = p->problem;
    for (uint64_t u = problem->view.offsets[query]; u < problem->view.offsets[query + 1]; u += row_step) {
        take_row(problem, query, u, p->row);
        for (size_t d = 0; d < problem->view.n_features; d++) {
            const double x = p->row[d] - p->mean[d];
            p->scales[d] += weight * problem->counts[u] * x * x;
        }
    }
}

/*
 * Append the query's sampled rows to the panel; add each full panel to the matrix. Returns the rows left in the panel.
 */
static size_t add_rows(thr_rank_preconditioner *p, uint64_t query, uint64_t row_step, double weight, size_t in_panel) {
    const thr_rank_problem *problem = p->problem;
    const size_t n = problem->view.n_features;
    for (uint64_t u = problem->view.offsets[query]; u < problem->view.offsets[query + 1]; u += row_step) {
        const double root = sqrt(weight * problem->counts[u]);
        float *row = p->panel + in_panel * n;
        take_row(problem, query, u, p->row);
        for (size_t d = 0; d < n; d++)
            row[d] = (float)(root * (p->row[d] - p->mean[d]) / p->scales[d]);
        if (++in_panel == PANEL) {
            add_panel(p, in_panel);
            in_panel = 0;
        }
    }
    return in_panel;
}

void thr_rank_sample_add(thr_rank_preconditioner *p, const thr_rank_sample *sample, bool matrix, uint64_t *place) {
    const thr_rank_problem *problem = p->problem;
    const double share = (double)(sample->query_step * sample->row_step);
    size_t in_panel = 0;
    for (uint64_t q = 0; q < problem->view.n_queries; q++) {
        if (!thr_rank_sample_may_have(problem, q) || (*place)++ % sample->query_step != 0 ||
            !find_mean(p, q, sample->row_step))
            continue;
        if (matrix)
            in_panel = add_rows(p, q, sample->row_step, 2 * share * problem->costs[q], in_panel);
        else
            add_diagonal(p, q, sample->row_step, 2 * share * problem->costs[q]);
    }
    if (in_panel != 0)
        add_panel(p, in_panel);
}

/*
 * Cholesky factorisation, row by row: L L' is the matrix with a diagonal of 1 + added. Returns false if it is not
 * positive.
 */
static bool factorise(thr_rank_preconditioner *p, double added) {
    const size_t n = p->problem->view.n_features;
    for (size_t i = 0; i < n; i++) {
        double *row = p->factor + i * n;
        for (size_t j = 0; j <= i; j++) {
            const double *other = p->factor + j * n;
            double sum = i == j ? 1 + added : (double)p->sums[i * n + j];
            for (size_t k = 0; k < j; k++)
                sum -= row[k] * other[k];
            if (i == j && !(sum > 0))
                return false;
            row[j] = i == j ? sqrt(sum) : sum / other[j];
        }
    }
    return true;
}

/* ------------------------------------------------------------------------------------------------ set and solve */

/* Whether the matrix costs no more than MATRIX_PRODUCTS products: sampled rows times half the square of features. */
static bool is_worth_it(const thr_ranking_view *view) {
    return view->n_features > 0 && view->n_features <= MOST_FEATURES &&
           4 * MATRIX_PRODUCTS * view->n_rows >= (uint64_t)LEAST_A_FEATURE * view->n_features * view->n_features;
}

thr_status thr_rank_preconditioner_make(const thr_rank_problem *problem, bool is_diagonal, thr_rank_preconditioner *p,
                                        thr_error *err) {
    thr_context *context = problem->context;
    const size_t n = problem->view.n_features;
    *p = (thr_rank_preconditioner){.problem = problem, .is_diagonal = is_diagonal};
    thr_status status = thr_alloc(context, n, sizeof(double), &p->scales, "scales of features", err);
    if (p->is_diagonal || status != THR_OK)
        return status;
    THR_TRY_OUT(thr_alloc_zero(context, n * n, sizeof(double), &p->factor, "a matrix of features", err));
    THR_TRY_OUT(thr_alloc(context, n * n, sizeof(float), &p->sums, "a matrix of features", err));
    THR_TRY_OUT(thr_alloc(context, PANEL * n, sizeof(float), &p->panel, "rows of a sample", err));
    THR_TRY_OUT(thr_alloc(context, n, sizeof(double), &p->row, "a row of a sample", err));
    status = thr_alloc(context, n, sizeof(double), &p->mean, "the mean of a query", err);
out:
    if (status != THR_OK)
        thr_rank_preconditioner_end(p);
    return status;
}

thr_status thr_rank_preconditioner_start(const thr_rank_problem *problem, thr_rank_preconditioner *p, thr_error *err) {
    return thr_rank_preconditioner_make(problem, !is_worth_it(&problem->view), p, err);
}

void thr_rank_preconditioner_end(thr_rank_preconditioner *p) {
    if (p->problem == NULL)
        return;
    thr_context *context = p->problem->context;
    THR_RELEASE(context, p->scales, p->factor, p->sums, p->panel, p->row, p->mean);
    *p = (thr_rank_preconditioner){.problem = NULL};
}

void thr_rank_preconditioner_set(thr_rank_preconditioner *p, const double *diagonal) {
    const size_t n = p->problem->view.n_features;
    if (p->is_diagonal) {
        for (size_t d = 0; d < n; d++)
            p->scales[d] = 1 - DIAGONAL_SHARE + DIAGONAL_SHARE * diagonal[d];
        return;
    }
    const thr_rank_sample sample = thr_rank_sample_choose(p->problem);
    uint64_t place = 0;
    for (size_t d = 0; d < n; d++)
        p->scales[d] = 1;
    thr_rank_sample_add(p, &sample, false, &place);
    for (size_t d = 0; d < n; d++)
        p->scales[d] = sqrt(p->scales[d]);
    place = 0;
    memset(p->sums, 0, n * n * sizeof *p->sums);
    thr_rank_sample_add(p, &sample, true, &place);
    thr_rank_preconditioner_factorise(p);
}

void thr_rank_preconditioner_factorise(thr_rank_preconditioner *p) {
    double added = ridge;
    while (!factorise(p, added) && added < most_ridge)
        added *= next_ridge;
}

double thr_rank_preconditioner_solve(const thr_rank_preconditioner *p, const double *r, double *z) {
    const size_t n = p->problem->view.n_features;
    double rz = 0;
    if (p->is_diagonal) {
        for (size_t d = 0; d < n; d++)
            z[d] = r[d] / p->scales[d];
    } else {
        for (size_t i = 0; i < n; i++) {
            double sum = r[i] / p->scales[i];
            for (size_t j = 0; j < i; j++)
                sum -= p->factor[i * n + j] * z[j];
            z[i] = sum / p->factor[i * n + i];
        }
        for (size_t i = n; i-- > 0;) {
            z[i] /= p->factor[i * n + i];
            for (size_t j = 0; j < i; j++)
                z[j] -= p->factor[i * n + j] * z[i];
        }
        for (size_t d = 0; d < n; d++)
            z[d] /= p->scales[d];
    }
    for (size_t d = 0; d < n; d++)
        rz += r[d] * z[d];
    return rz;
}
