/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "rank.h"

typedef struct node {
    int index; /* from 1; -1 ends a row */
    double value;
} node;

/* A row within its query, while that is put in order. */
typedef struct placed {
    double key;
    uint64_t row;
} placed;

typedef struct classic {
    node *nodes;
    size_t *starts; /* of rows */
    const double *labels;
    const uint64_t *queries;
    size_t n, *query_starts, n_queries;
    uint32_t n_features;
    double c;

    uint32_t *levels;      /* of a row: the place of its label among its query's, from 1 */
    placed *order;         /* rows of a query by score */
    double *z, *t, *r;     /* by row: X w, X v, what X' takes */
    double *plus, *minus;  /* rows above that are in reach, and below */
    double *counts, *sums; /* of the tree */
} classic;

/* ------------------------------------------------------------------------------------------------ rows */

/* The first queries' rows as pairs of an index and a double. */
static void take_rows(classic *m, const bench_examples *e, uint64_t n_queries) {
    const uint32_t d = e->shape.n_features;
    m->n = e->offsets[n_queries];
    m->n_features = d;
    m->labels = e->labels;
    m->queries = e->queries;
    m->starts = bench_alloc(m->n * sizeof *m->starts);
    m->nodes = bench_alloc(m->n * (d + 1) * sizeof *m->nodes);
    for (size_t i = 0; i < m->n; i++) {
        node *row = m->nodes + (m->starts[i] = i * (d + 1));
        for (uint32_t f = 0; f < d; f++)
            row[f] = (node){(int)f + 1, (double)e->values[i * d + f]};
        row[d].index = -1;
    }
}

/* ------------------------------------------------------------------------------------------------ queries */

static int by_key(const void *a, const void *b) {
    const placed *x = a, *y = b;
    return x->key < y->key ? -1 : x->key > y->key;
}

/* A query's rows are together. */
static void prepare(classic *m) {
    m->query_starts = bench_alloc((m->n + 1) * sizeof *m->query_starts);
    m->levels = bench_alloc(m->n * sizeof *m->levels);
    m->order = bench_alloc(m->n * sizeof *m->order);
    double **const vectors[] = {&m->z, &m->t, &m->r, &m->plus, &m->minus};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        *vectors[i] = bench_alloc(m->n * sizeof(double));
    for (size_t i = 0; i < m->n; i++)
        if (i == 0 || m->queries[i] != m->queries[i - 1])
            m->query_starts[m->n_queries++] = i;
    m->query_starts[m->n_queries] = m->n;
    for (size_t q = 0; q < m->n_queries; q++) {
        const size_t first = m->query_starts[q], n = m->query_starts[q + 1] - first;
        for (size_t i = 0; i < n; i++)
            m->order[first + i] = (placed){m->labels[first + i], first + i};
        qsort(m->order + first, n, sizeof *m->order, by_key);
        uint32_t level = 0;
        for (size_t i = 0; i < n; i++) {
            level += i == 0 || m->order[first + i].key != m->order[first + i - 1].key;
            m->levels[m->order[first + i].row] = level;
        }
    }
    m->counts = bench_alloc((m->n + 2) * sizeof *m->counts);
    m->sums = bench_alloc((m->n + 2) * sizeof *m->sums);
}

/* ------------------------------------------------------------------------------------------------ the tree */

static void tree_add(classic *m, size_t k, uint32_t level, double value) {
    for (size_t i = level; i <= k; i += i & (~i + 1)) {
        m->counts[i] += 1;
        m->sums[i] += value;
    }
}

static void tree_get(const classic *m, uint32_t level, double *count, double *sum) {
    *count = *sum = 0;
    for (size_t i = level; i > 0; i -= i & (~i + 1)) {
        *count += m->counts[i];
        *sum += m->sums[i];
    }
}

static void tree_clear(classic *m, size_t k) {
    memset(m->counts, 0, (k + 1) * sizeof *m->counts);
    memset(m->sums, 0, (k + 1) * sizeof *m->sums);
}

/*
 * For each row of a query the sums of `values` over the rows above that score less than one more, and over those below
 * that score more than one less; m->order is by score. out = (plus + minus) value - sums.
 */
static void pass(classic *m, size_t q, const double *values, bool count, double *out) {
    const size_t first = m->query_starts[q], n = m->query_starts[q + 1] - first, k = n;
    const placed *order = m->order + first;
    double c, s, all_c = 0, all_s = 0;
    tree_clear(m, k);
    for (size_t i = 0, j = 0; i < n; i++) {
        const uint64_t row = order[i].row;
        for (; j < n && order[j].key < order[i].key + 1; j++) {
            tree_add(m, k, m->levels[order[j].row], values[order[j].row]);
            all_c += 1;
            all_s += values[order[j].row];
        }
        tree_get(m, m->levels[row], &c, &s);
        if (count)
            m->plus[row] = all_c - c;
        out[row] = -(all_s - s);
    }
    tree_clear(m, k);
    for (size_t i = n, j = n; i-- > 0;) {
        const uint64_t row = order[i].row;
        for (; j > 0 && order[j - 1].key > order[i].key - 1; j--)
            tree_add(m, k, m->levels[order[j - 1].row], values[order[j - 1].row]);
        tree_get(m, m->levels[row] - 1, &c, &s);
        if (count)
            m->minus[row] = c;
        out[row] += (m->plus[row] + m->minus[row]) * values[row] - s;
    }
}

/* ------------------------------------------------------------------------------------------------ the function */

static void times(const classic *m, const double *w, double *out) {
    for (size_t i = 0; i < m->n; i++) {
        double sum = 0;
        for (const node *x = m->nodes + m->starts[i]; x->index != -1; x++)
            sum += w[x->index - 1] * x->value;
        out[i] = sum;
    }
}

static void add_times(const classic *m, const double *r, double *out) {
    for (size_t i = 0; i < m->n; i++)
        for (const node *x = m->nodes + m->starts[i]; x->index != -1; x++)
            out[x->index - 1] += r[i] * x->value;
}

static double inner(const double *a, const double *b, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static double value_at(classic *m, const double *w) {
    double squares = 0, slopes = 0, pairs = 0;
    times(m, w, m->z);
    for (size_t q = 0; q < m->n_queries; q++) {
        const size_t first = m->query_starts[q], end = m->query_starts[q + 1];
        for (size_t i = first; i < end; i++)
            m->order[i] = (placed){m->z[i], i};
        qsort(m->order + first, end - first, sizeof *m->order, by_key);
        pass(m, q, m->z, true, m->r);
        for (size_t i = first; i < end; i++) {
            squares += m->z[i] * m->r[i];
            slopes += m->z[i] * (m->minus[i] - m->plus[i]);
            pairs += m->minus[i];
        }
    }
    return 0.5 * inner(w, w, m->n_features) + m->c * (squares - 2 * slopes + pairs);
}

/* At the w of the last value. */
static void gradient_at(classic *m, const double *w, double *g) {
    for (size_t i = 0; i < m->n; i++)
        m->t[i] = 2 * m->c * (m->r[i] - (m->minus[i] - m->plus[i]));
    memcpy(g, w, m->n_features * sizeof *g);
    add_times(m, m->t, g);
}

static void product(classic *m, const double *v, double *out) {
    double *r = m->r;
    times(m, v, m->t);
    for (size_t q = 0; q < m->n_queries; q++)
        pass(m, q, m->t, false, r);
    for (size_t i = 0; i < m->n; i++)
        r[i] *= 2 * m->c;
    memcpy(out, v, m->n_features * sizeof *out);
    add_times(m, r, out);
}

/* ------------------------------------------------------------------------------------------------ trust region */

typedef struct region {
    double *g, *s, *r, *d, *hd, *w;
    double delta;
} region;

/* Conjugate gradients within the region; r = -g - H s is the residual. */
static uint64_t step_within(classic *m, region *p) {
    const size_t n = m->n_features;
    uint64_t n_products = 0;
    for (size_t i = 0; i < n; i++) {
        p->s[i] = 0;
        p->d[i] = p->r[i] = -p->g[i];
    }
    const double enough = 0.01 * inner(p->g, p->g, n);
    double rr = inner(p->r, p->r, n);
    while (rr > enough) {
        product(m, p->d, p->hd);
        n_products++;
        double alpha = rr / inner(p->d, p->hd, n);
        const double ss = inner(p->s, p->s, n), sd = inner(p->s, p->d, n), dd = inner(p->d, p->d, n);
        const bool leaves = sqrt(ss + 2 * alpha * sd + alpha * alpha * dd) > p->delta;
        if (leaves) {
            const double room = p->delta * p->delta - ss, root = sqrt(sd * sd + dd * room);
            alpha = sd >= 0 ? room / (sd + root) : (root - sd) / dd;
        }
        for (size_t i = 0; i < n; i++) {
            p->s[i] += alpha * p->d[i];
            p->r[i] -= alpha * p->hd[i];
        }
        if (leaves)
            break;
        const double before = rr;
        rr = inner(p->r, p->r, n);
        for (size_t i = 0; i < n; i++)
            p->d[i] = p->r[i] + rr / before * p->d[i];
    }
    return n_products;
}

/* The radius after a step that was to make f less by `wanted`, and did by `got`. */
static double next_radius(double delta, double length, double slope, double got, double wanted) {
    const double bend = -got - slope;
    const double alpha = bend <= 0 ? 4 : fmax(0.25, -0.5 * slope / bend);
    if (got < 1e-4 * wanted)
        return fmin(alpha * length, 0.5 * delta);
    if (got < 0.25 * wanted)
        return fmax(0.25 * delta, fmin(alpha * length, 0.5 * delta));
    if (got < 0.75 * wanted)
        return fmax(0.25 * delta, fmin(alpha * length, 4 * delta));
    return fmax(delta, fmin(alpha * length, 4 * delta));
}

void bench_rank_trace_add(bench_rank_trace *trace, double seconds, double objective) {
    if (trace == NULL || trace->n == BENCH_RANK_STEPS)
        return;
    trace->seconds[trace->n] = seconds;
    trace->objectives[trace->n++] = objective;
}

static void solve(classic *m, region *p, double epsilon, double start, bench_rank_trace *trace,
                  bench_classic_result *result) {
    enum { MOST_STEPS = 1000 };
    const size_t n = m->n_features;
    double *w = bench_alloc(n * sizeof *w), f = value_at(m, w), first;
    gradient_at(m, w, p->g);
    bench_rank_trace_add(trace, bench_clock() - start, f);
    first = p->delta = sqrt(inner(p->g, p->g, n));
    for (uint32_t step = 1; step <= MOST_STEPS; step++) {
        result->n_products += step_within(m, p);
        for (size_t i = 0; i < n; i++)
            p->w[i] = w[i] + p->s[i];
        const double slope = inner(p->g, p->s, n), wanted = -0.5 * (slope - inner(p->s, p->r, n));
        const double after = value_at(m, p->w), got = f - after, length = sqrt(inner(p->s, p->s, n));
        if (step == 1)
            p->delta = fmin(p->delta, length);
        p->delta = next_radius(p->delta, length, slope, got, wanted);
        result->n_steps = step;
        if (got > 1e-4 * wanted) {
            memcpy(w, p->w, n * sizeof *w);
            f = after;
            gradient_at(m, w, p->g);
            bench_rank_trace_add(trace, bench_clock() - start, f);
            if (sqrt(inner(p->g, p->g, n)) <= epsilon * first)
                break;
        } else {
            (void)value_at(m, w); /* order and counts of where it stays */
            gradient_at(m, w, p->g);
        }
        if (fabs(got) <= 1e-14 * fabs(f))
            break;
    }
    result->objective = f;
}

/* ------------------------------------------------------------------------------------------------ all */

void bench_classic_train(const bench_examples *e, uint64_t n_queries, double c, double epsilon, bench_rank_trace *trace,
                         bench_classic_result *result) {
    classic m = {.c = c};
    const size_t mark = bench_mark();
    *result = (bench_classic_result){.n_steps = 0};
    take_rows(&m, e, n_queries);
    const double start = bench_clock();
    prepare(&m);
    const size_t d = m.n_features;
    double *v = bench_alloc(6 * d * sizeof *v);
    region p = {v, v + d, v + 2 * d, v + 3 * d, v + 4 * d, v + 5 * d, 0};
    solve(&m, &p, epsilon, start, trace, result);
    result->solve_s = bench_clock() - start;
    bench_release(mark);
}
