/* SPDX-License-Identifier: Apache-2.0 */
/* code_origins.c - codes relative to origins: their planes and measures against a naive model in double. */
#include "owned.h"

#include "code/encode.h"

#include "code/rotate.h"
#include "index/code_origins.h"

#include <float.h>

enum { ROWS = 150, MOST_DIMS = 80, MOST_CELLS = 9 };

typedef struct bench {
    thr_context *context;
    thr_quantiser quantiser;
    float centre[MOST_DIMS], rows[ROWS * MOST_DIMS], centroids[MOST_CELLS * MOST_DIMS];
    thr_cell cells[MOST_CELLS];
    thr_cell_table table;
    thr_index_code_origins origins;
    float norms[ROWS], residuals[ROWS], alongs[ROWS], products[ROWS], lead_products[ROWS], origin_products[ROWS],
        lead_origin_products[ROWS];
    uint32_t code_squares[ROWS];
    thr_measures measures;
    uint8_t *codes;
} bench;

typedef struct kind {
    uint32_t n_dims, bits, lead;
    bool unit, centred, rotated, cells;
} kind;

/* Cells of 1 to 40 rows; row 5 is 0, row 6 is its origin, row 7 is so near to it that its residual is very short. */
static void fill_rows(bench *b, const kind *k, uint64_t *rng) {
    const uint32_t n_dims = k->n_dims;
    test_gaussian(rng, b->rows, (size_t)ROWS * n_dims);
    test_gaussian(rng, b->centroids, (size_t)MOST_CELLS * n_dims);
    test_gaussian(rng, b->centre, n_dims);
    for (uint32_t c = 0, first = 0; c < MOST_CELLS; c++, first += c == 1 ? 8 : 1 + (uint32_t)thr_rng_below(rng, 17)) {
        b->cells[c] = (thr_cell){.first = first};
        for (uint32_t d = 0; d < n_dims; d++)
            b->centroids[c * n_dims + d] *= k->unit ? 0.3f / sqrtf((float)n_dims) : 1;
    }
    b->table = (thr_cell_table){
        .n = MOST_CELLS, .n_items = ROWS, .n_dims = n_dims, .cells = b->cells, .centroids = b->centroids};
    for (uint32_t d = 0; d < n_dims; d++)
        b->centre[d] *= k->unit ? 0.2f / sqrtf((float)n_dims) : 0.5f;
    memset(b->rows + (size_t)5 * n_dims, 0, n_dims * sizeof(float));
    if (!k->unit && k->cells) {
        memcpy(b->rows + (size_t)6 * n_dims, b->centroids, n_dims * sizeof(float));
        memcpy(b->rows + (size_t)7 * n_dims, b->centroids, n_dims * sizeof(float));
        b->rows[7 * n_dims] *= 1 + FLT_EPSILON;
    }
}

static void open_bench(bench *b, thr_context *context, const kind *k, uint64_t *rng) {
    *b = (bench){.context = context, .quantiser = {.n_dims = k->n_dims, .item_bits = k->bits, .unit = k->unit}};
    fill_rows(b, k, rng);
    b->quantiser.ranges[k->bits - 1] = 0.1f + (float)thr_rng_below(rng, 1000) / 1500;
    b->quantiser.centre = k->centred ? b->centre : NULL;
    if (k->rotated)
        expect_ok(thr_code_quantiser_rotate(context, &b->quantiser, 77, &err));
    b->measures = (thr_measures){.norms = b->norms,
                                 .residuals = b->residuals,
                                 .alongs = b->alongs,
                                 .code_squares = b->code_squares,
                                 .products = b->products,
                                 .lead_products = b->lead_products,
                                 .lead = k->lead,
                                 .origin_products = b->origin_products,
                                 .lead_origin_products = b->lead_origin_products};
    b->codes = test_new(thr_code_size(&b->quantiser, ROWS), 1);
    expect_ok(
        thr_index_code_origins_make(context, &b->quantiser, k->cells ? &b->table : NULL, ROWS, &b->origins, &err));
}

static void close_bench(bench *b) {
    thr_index_code_origins_free(&b->origins);
    thr_code_rotation_free(b->context, b->quantiser.rotation);
}

static void encode(bench *b, const thr_code_origins *origins) {
    const thr_matrix rows = thr_matrix_f32(b->rows, ROWS, b->quantiser.n_dims);
    expect_ok(thr_code_encode_rows(b->context, &b->quantiser, &(thr_code_input){&rows, 0, origins}, b->codes,
                                   &b->measures, &err));
}

/* The origin of a row, by the definition of cells. */
static const float *origin_of(const bench *b, const kind *k, uint32_t row) {
    static const float zero[MOST_DIMS];
    uint32_t cell = 0;
    if (!k->cells)
        return k->centred ? b->centre : zero;
    while (cell + 1 < MOST_CELLS && b->cells[cell + 1].first <= row)
        cell++;
    return b->centroids + (size_t)cell * k->n_dims;
}

/* A rotation in double: it is linear, so the parts that float32 leaves of each number are rotated, too. */
static void rotate(const bench *b, double *x) {
    const uint32_t n_dims = b->quantiser.n_dims;
    float part[MOST_DIMS];
    double sum[MOST_DIMS] = {0};
    if (b->quantiser.rotation == NULL)
        return;
    for (int i = 0; i < 2; i++) {
        for (uint32_t d = 0; d < n_dims; d++) {
            part[d] = (float)x[d];
            x[d] -= (double)part[d];
        }
        thr_code_rotation_apply(b->quantiser.rotation, part);
        for (uint32_t d = 0; d < n_dims; d++)
            sum[d] += (double)part[d];
    }
    memcpy(x, sum, n_dims * sizeof *x);
}

typedef struct naive {
    double norm, residual, along;       /* <r, o> */
    double r[MOST_DIMS], oc[MOST_DIMS]; /* r and o - c, rotated */
    double origin_length, origin_to_centre;
} naive;

static void measure(const bench *b, const kind *k, uint32_t row, naive *n) {
    const float *x = b->rows + (size_t)row * k->n_dims, *o = origin_of(b, k, row);
    double squares[4] = {0};
    *n = (naive){0};
    for (uint32_t d = 0; d < k->n_dims; d++)
        squares[0] += (double)x[d] * (double)x[d];
    n->norm = sqrt(squares[0]);
    for (uint32_t d = 0; d < k->n_dims; d++) {
        n->r[d] = (double)x[d] * (!k->unit ? 1 : n->norm > 0 ? 1 / n->norm : 0) - (double)o[d];
        n->oc[d] = (double)o[d] - (k->centred ? (double)b->centre[d] : 0);
        squares[1] += n->r[d] * n->r[d];
        squares[2] += (double)o[d] * (double)o[d];
        squares[3] += n->oc[d] * n->oc[d];
        n->along += n->r[d] * (double)o[d];
    }
    n->residual = sqrt(squares[1]);
    n->origin_length = sqrt(squares[2]);
    n->origin_to_centre = sqrt(squares[3]);
    rotate(b, n->r);
    rotate(b, n->oc);
}

static void assert_near(const kind *k, uint32_t row, const char *what, double got, double wanted, double error) {
    assert_case(fabs(got - wanted) <= error,
                "seed %llu: %u dims, %u of %u bits%s%s%s%s, row %u: %s is %.9g, not %.9g (error up to %.3g)",
                (unsigned long long)test_seed(), k->n_dims, k->lead, k->bits, k->unit ? ", unit" : "",
                k->centred ? ", centred" : "", k->rotated ? ", rotated" : "", k->cells ? ", cells" : "", row, what, got,
                wanted, error);
}

/* Values that lie near the border of two cells may get either; near: their number. */
static void check_row(const bench *b, const kind *k, uint32_t row, size_t *near) {
    static const double ROUNDING = 2e-6; /* rotations have some 80 additions */
    const uint32_t n_dims = k->n_dims, bits = k->bits;
    const double half = (double)(1u << (bits - 1)), range = (double)b->quantiser.ranges[bits - 1];
    double products[4] = {0}, lengths[2] = {0}; /* with r^ and with o - c, of all planes and of leading ones */
    uint32_t square = 0;
    naive n;
    measure(b, k, row, &n);
    const double size = n.origin_length + (k->unit ? 1 : n.norm), shift = ROUNDING * size / n.residual;
    for (uint32_t d = 0; d < n_dims; d++) {
        const int v = test_code_value(b->codes, n_dims, bits, row, d), u = (v - 1 + (1 << bits)) / 2;
        const int lead = 2 * (u >> (bits - k->lead)) + 1 - (1 << k->lead);
        const double y = n.r[d] / n.residual / range * half, cell = fmin(fmax(floor(y), -half), half - 1);
        if (fabs(y - rint(y)) > shift / range * half)
            assert_near(k, row, "a cell of the code", u - half, cell, 0);
        else
            ++*near;
        products[0] += n.r[d] / n.residual * v;
        products[1] += n.r[d] / n.residual * lead;
        products[2] += n.oc[d] * v;
        products[3] += n.oc[d] * lead;
        lengths[0] += (double)v * v;
        lengths[1] += (double)lead * lead;
        square += (uint32_t)(v * v);
    }
    const double full = sqrt(lengths[0]), leading = sqrt(lengths[1]);
    const double far = ROUNDING * (n.origin_to_centre + 1e-3 * n.origin_length);
    assert_near(k, row, "the norm", (double)b->norms[row], n.norm, ROUNDING * n.norm);
    assert_near(k, row, "the residual's length", (double)b->residuals[row], n.residual, ROUNDING * size);
    assert_near(k, row, "<r, o>", (double)b->alongs[row], n.along, ROUNDING * size * n.origin_length);
    assert_near(k, row, "<r^, b>", (double)b->products[row], products[0], (shift + ROUNDING) * full);
    assert_near(k, row, "<r^, b> of the lead", (double)b->lead_products[row], products[1],
                (shift + ROUNDING) * leading);
    assert_near(k, row, "<b, o - c>", (double)b->origin_products[row], products[2], far * full);
    assert_near(k, row, "<b, o - c> of the lead", (double)b->lead_origin_products[row], products[3], far * leading);
    assert_int_equal(b->code_squares[row], square);
}

/* A residual of length 0 has no direction: the all-minus code, and products of 0. */
static void check_row_at_its_origin(const bench *b, const kind *k) {
    assert_true(b->residuals[6] == 0 && b->alongs[6] == 0 && b->products[6] == 0 && b->lead_products[6] == 0);
    assert_true(b->origin_products[6] == 0 && b->lead_origin_products[6] == 0);
    assert_true(b->norms[6] > 0);
    for (uint32_t d = 0; d < k->n_dims; d++)
        assert_int_equal(test_code_value(b->codes, k->n_dims, k->bits, 6, d), 1 - (1 << k->bits));
}

static kind make_kind(uint32_t n_dims, uint32_t bits, uint32_t number, uint64_t *rng) {
    return (kind){.n_dims = n_dims,
                  .bits = bits,
                  .lead = 1 + (uint32_t)thr_rng_below(rng, bits),
                  .unit = (number & 1) != 0,
                  .centred = (number & 2) != 0,
                  .rotated = (number & 4) != 0,
                  .cells = (number & 8) != 0};
}

TEST(codes_and_measures_are_those_of_the_model) {
    static bench b;
    uint64_t rng = test_seed();
    size_t n = 0, near = 0;
    OWNED(thr_context, context) = test_context(2, THR_ISA_BEST, NULL);
    for (uint32_t bits = 1; bits <= THR_MAX_BITS; bits++)
        for (uint32_t number = 0; number < 16; number++)
            for (uint32_t n_dims = 2; n_dims <= MOST_DIMS; n_dims += 26) {
                const kind k = make_kind(n_dims, bits, number, &rng);
                open_bench(&b, context, &k, &rng);
                encode(&b, &b.origins.of);
                for (uint32_t row = 0; row < ROWS; row++) {
                    const bool at_zero = row == 5 && !k.cells && !k.centred;
                    const bool at_origin = !k.unit && k.cells && (row == 6 || row == 7);
                    n += n_dims;
                    if (!at_zero && !at_origin)
                        check_row(&b, &k, row, &near);
                }
                if (!k.unit && k.cells)
                    check_row_at_its_origin(&b, &k);
                close_bench(&b);
            }
    assert_case(near * 100 < n, "%zu of %zu values too near a border to judge", near, n);
}

/*
 * Rows whose only origin is the centre have the codes of a quantiser that has only that, to the bit; so do rows whose
 * only origin is 0, unless the quantiser normalises them.
 */
TEST(one_origin_at_the_centre_changes_no_code) {
    static bench a, b;
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    for (uint32_t bits = 1; bits <= THR_MAX_BITS; bits++)
        for (uint32_t number = 0; number < 8; number++) {
            uint64_t rngs[2] = {test_seed() + bits, test_seed() + bits};
            const kind k = make_kind(37, bits, number, &rngs[0]), same = make_kind(37, bits, number, &rngs[1]);
            if (k.unit && !k.centred)
                continue;
            open_bench(&a, context, &k, &rngs[0]);
            open_bench(&b, context, &same, &rngs[1]);
            encode(&a, &a.origins.of);
            encode(&b, NULL);
            assert_memory_equal(a.codes, b.codes, thr_code_size(&a.quantiser, ROWS));
            assert_memory_equal(a.norms, b.norms, sizeof a.norms);
            assert_memory_equal(a.residuals, b.residuals, sizeof a.residuals);
            assert_memory_equal(a.products, b.products, sizeof a.products);
            assert_memory_equal(a.lead_products, b.lead_products, sizeof a.lead_products);
            assert_memory_equal(a.code_squares, b.code_squares, sizeof a.code_squares);
            double square = 0;
            for (uint32_t d = 0; d < k.n_dims; d++)
                square += k.centred ? (double)a.centre[d] * (double)a.centre[d] : 0;
            for (uint32_t row = 0; row < ROWS; row++) {
                const double along = (double)b.alongs[row] * sqrt(square);
                assert_near(&k, row, "<r, c>", (double)a.alongs[row], along, 1e-6 * fabs(along));
                assert_true(a.origin_products[row] == 0 && a.lead_origin_products[row] == 0);
            }
            close_bench(&a);
            close_bench(&b);
        }
}

/* Any part of the rows has the same codes and measures as all of them. */
TEST(parts_of_the_rows_are_coded_alike) {
    enum { FIRST = 64, PART = ROWS - FIRST };
    static bench a, b;
    uint64_t rngs[2] = {test_seed(), test_seed()};
    thr_context *context = test_context(2, THR_ISA_BEST, NULL), *scalar = test_context(1, THR_ISA_SCALAR, NULL);
    const kind k = {.n_dims = 29, .bits = 4, .lead = 2, .unit = true, .centred = true, .rotated = true, .cells = true};
    open_bench(&a, context, &k, &rngs[0]);
    open_bench(&b, scalar, &k, &rngs[1]);
    encode(&a, &a.origins.of);
    thr_code_origins rest = b.origins.of;
    rest.of_row += FIRST;
    const thr_matrix rows = thr_matrix_f32(b.rows + (size_t)FIRST * k.n_dims, PART, k.n_dims);
    expect_ok(
        thr_code_encode_rows(scalar, &b.quantiser, &(thr_code_input){&rows, FIRST, &rest}, b.codes, &b.measures, &err));
    const size_t skipped = thr_code_size(&a.quantiser, FIRST);
    assert_memory_equal(a.codes + skipped, b.codes, thr_code_size(&a.quantiser, PART));
    assert_memory_equal(a.residuals + FIRST, b.residuals, PART * sizeof(float));
    assert_memory_equal(a.alongs + FIRST, b.alongs, PART * sizeof(float));
    assert_memory_equal(a.products + FIRST, b.products, PART * sizeof(float));
    assert_memory_equal(a.origin_products + FIRST, b.origin_products, PART * sizeof(float));
    assert_memory_equal(a.lead_origin_products + FIRST, b.lead_origin_products, PART * sizeof(float));
    close_bench(&a);
    close_bench(&b);
    thr_context_free(context);
    thr_context_free(scalar);
}

TEST(making_origins_survives_failed_allocations) {
    static bench b;
    uint64_t rng = test_seed();
    test_memory memory = {0};
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, &memory);
    for (uint32_t number = 0; number < 16; number += 2) {
        const kind k = make_kind(20, 3, number, &rng);
        open_bench(&b, context, &k, &rng);
        thr_index_code_origins_free(&b.origins);
        test_oom oom = test_oom_start(&memory);
        while (test_oom_next(&oom)) {
            test_oom_arm(&oom);
            const thr_status status =
                thr_index_code_origins_make(context, &b.quantiser, k.cells ? &b.table : NULL, ROWS, &b.origins, &err);
            (void)test_oom_check(&oom, status, &err, "origins");
            thr_index_code_origins_free(&b.origins);
        }
        assert_true(oom.n_failed >= 2);
        close_bench(&b);
    }
}
