/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encode rows into blocks. A work item is one block: 64 rows are widened to float32 where necessary, measured, and
 * quantised one by one into a small buffer, whose bytes are then scattered 64 bytes apart.
 */
#include "code/encode.h"

#include "base/shortest.h"
#include "base/blocks.h"
#include "base/error.h"
#include "code/fixed.h"
#include "code/query.h"
#include "code/rotate.h"
#include "kernel/kernel.h"
#include "parallel/pool.h"

#include <math.h>
#include <string.h>

typedef struct encoding {
    thr_context *context;
    const thr_quantiser *quantiser;
    const thr_matrix *rows;
    uint8_t *codes;
    const thr_measures *out;
    const thr_code_origins *origins; /* NULL: none */
    double centre_length;            /* 0 without a centre */
    uint8_t *scratch;                /* one part per worker */
    size_t scratch_size;
} encoding;

static size_t row_floats(uint32_t n_dims) {
    return ((size_t)n_dims + 15) & ~(size_t)15;
}

/* Return a row as floats: in place if it is float32 and aligned, otherwise converted in `room`. */
static const float *row_as_floats(const thr_matrix *rows, uint64_t row, float *room) {
    const char *data = (const char *)rows->data + row * rows->stride;
    if (rows->dtype == THR_DTYPE_F32 && (uintptr_t)data % sizeof(float) == 0)
        return (const float *)(const void *)data;
    (void)thr_matrix_to_f32(rows, row, 1, room);
    return room;
}

/* A value of a row of any type. */
static double value_of(const thr_matrix *rows, uint64_t row, uint32_t d) {
    const char *at = (const char *)rows->data + row * rows->stride + d * thr_dtype_size(rows->dtype);
    double value;
    float narrow = 0;
    if (rows->dtype == THR_DTYPE_F64) {
        memcpy(&value, at, sizeof value);
        return value;
    }
    const thr_matrix one = {.data = at, .n_rows = 1, .n_dims = 1, .dtype = rows->dtype, .stride = rows->stride};
    (void)thr_matrix_to_f32(&one, 0, 1, &narrow);
    return (double)narrow;
}

static bool is_zero(const thr_matrix *rows, uint64_t row) {
    for (uint32_t d = 0; d < rows->n_dims; d++)
        if (value_of(rows, row, d) != 0)
            return false;
    return true;
}

/*
 * Write the residual from an origin to room and return its length: x - origin, or for unit quantisers x / |x| - origin
 * (-origin for a zero row, which has no direction).
 */
static double subtract(const encoding *e, const float *x, const float *origin, double norm, float *room) {
    const float scale = !e->quantiser->unit ? 1.0f : norm < THR_SHORTEST ? 0.0f : (float)(1 / norm);
    for (uint32_t d = 0; d < e->rows->n_dims; d++)
        room[d] = x[d] * scale - origin[d];
    return sqrt(e->context->kernels->sum_squares(room, e->rows->n_dims));
}

/* Return the row to quantise, rotated if the quantiser rotates: in room, or in place if nothing changes it. */
static const float *rotated(const encoding *e, const float *row, float *room) {
    if (e->quantiser->rotation == NULL)
        return row;
    if (row != room)
        memcpy(room, row, e->rows->n_dims * sizeof *row);
    thr_code_rotation_apply(e->quantiser->rotation, room);
    return room;
}

/*
 * Compute <r^, b> from sums of the scaled residual's products; length is the row's length before scaling. |<r^, b>|
 * is at least the sum of the absolute values of r^'s components, which is at least 1.
 */
static void measure_products(const encoding *e, const float *row, float scale, double length, uint64_t at) {
    const uint32_t bits = e->quantiser->item_bits;
    const double unscale = (double)e->quantiser->ranges[bits - 1] / (double)(1u << (bits - 1)) / length;
    float products[2];
    e->context->kernels->code_products(products, row, e->rows->n_dims, scale, bits, e->out->lead);
    if (e->out->products != NULL)
        e->out->products[at] = (float)((double)products[0] * unscale);
    if (e->out->lead_products != NULL)
        e->out->lead_products[at] = (float)((double)products[1] * unscale);
}

/* Compute <b, o - c> for a row's code b and its origin o: by all planes, and by the leading ones. */
static void measure_origin_products(const encoding *e, const float *row, float scale, bool coded, uint64_t at) {
    const uint32_t n_dims = e->rows->n_dims, bits = e->quantiser->item_bits, lead = e->out->lead;
    const float *from_centre = e->origins->from_centre + (size_t)e->origins->of_row[at] * n_dims;
    const float half = (float)(1u << (bits - 1));
    double full_sum = 0, lead_sum = 0;
    for (uint32_t d = 0; coded && d < n_dims; d++) {
        const int u = thr_code_cell(row[d] * scale, half) + (int)half;
        full_sum += (double)(2 * u + 1 - (1 << bits)) * (double)from_centre[d];
        lead_sum += (double)(2 * (u >> (bits - lead)) + 1 - (1 << lead)) * (double)from_centre[d];
    }
    if (e->out->origin_products != NULL)
        e->out->origin_products[at] = (float)full_sum;
    if (e->out->lead_origin_products != NULL)
        e->out->lead_origin_products[at] = (float)lead_sum;
}

/* Encode one row and compute its measures. A row that check_norms rejects later gets the code of a zero row. */
static void encode_row(const encoding *e, uint64_t at, float *room, uint8_t *code, size_t code_size) {
    const thr_kernels *kernels = e->context->kernels;
    const thr_measures *out = e->out;
    const uint32_t n_dims = e->rows->n_dims, bits = e->quantiser->item_bits;
    const double half = (double)(1u << (bits - 1)) / (double)e->quantiser->ranges[bits - 1];
    const double longest = thr_longest_row(e->quantiser->unit);
    const float *row = row_as_floats(e->rows, at, room);
    const double norm = sqrt(kernels->sum_squares(row, n_dims));
    const bool fixed = e->quantiser->fixed;
    const bool short_row = norm < THR_SHORTEST && !is_zero(e->rows, at);
    const bool fits = norm <= longest && !short_row && (!fixed || thr_code_is_fixed(row, n_dims, bits));
    /* length: of the coded vector; residual: of the residual, which is 1 for quantisers that normalise rows. */
    double length = norm, residual = e->quantiser->unit && norm >= THR_SHORTEST ? 1 : norm, along = 0;
    const float *origin =
        e->origins == NULL ? e->quantiser->centre : e->origins->points + (size_t)e->origins->of_row[at] * n_dims;
    if (origin != NULL && fits) {
        float product = 0;
        length = residual = subtract(e, row, origin, norm, room);
        row = room;
        kernels->dot_f32(&product, origin, room, 0, 1, n_dims);
        along = e->origins == NULL ? (double)product / e->centre_length : (double)product;
    }
    const bool coded = fits && length >= THR_SHORTEST;
    const float scale = (float)(fixed ? half : half / length);
    if (coded) {
        row = rotated(e, row, room);
        kernels->quantise(code, row, n_dims, scale, bits);
    } else {
        memset(code, 0, code_size);
    }
    /*
     * norms marks invalid rows: NaN stays NaN; a row that is too long, also after rounding to float32, or too short, or
     * that is no code becomes infinite.
     */
    out->norms[at] = !fits && !isnan(norm) ? INFINITY : norm < THR_SHORTEST ? 0.0f : (float)norm;
    if (out->residuals != NULL)
        out->residuals[at] = residual < THR_SHORTEST ? 0.0f : (float)residual;
    if (out->alongs != NULL)
        out->alongs[at] = (float)along;
    if (out->products != NULL)
        out->products[at] = 0;
    if (out->lead_products != NULL)
        out->lead_products[at] = 0;
    if (coded && (out->products != NULL || out->lead_products != NULL))
        measure_products(e, row, scale, fixed ? length : 1, at);
    if (e->origins != NULL)
        measure_origin_products(e, row, scale, coded, at);
}

static void encode_block(void *arg, size_t block, uint32_t worker) {
    const encoding *e = arg;
    const uint32_t n_dims = e->rows->n_dims, bits = e->quantiser->item_bits;
    const size_t code_size = (size_t)bits * thr_code_rows(n_dims);
    float *room = (float *)(void *)(e->scratch + worker * e->scratch_size);
    uint8_t *code = (uint8_t *)(room + row_floats(n_dims));
    uint8_t *out = e->codes + block * THR_BLOCK_ITEMS * code_size;
    const uint64_t first = (uint64_t)block * THR_BLOCK_ITEMS;
    const uint64_t left = e->rows->n_rows - first;
    const size_t n = left < THR_BLOCK_ITEMS ? (size_t)left : THR_BLOCK_ITEMS;
    if (n < THR_BLOCK_ITEMS)
        memset(out, 0, THR_BLOCK_ITEMS * code_size);
    for (size_t i = 0; i < n; i++) {
        encode_row(e, first + i, room, code, code_size);
        for (size_t b = 0; b < code_size; b++)
            out[b * THR_BLOCK_ITEMS + i] = code[b];
    }
    if (e->out->code_squares != NULL) {
        uint32_t squares[THR_BLOCK_ITEMS];
        e->context->kernels->code_squares(squares, out, 1, n_dims, bits);
        memcpy(e->out->code_squares + first, squares, n * sizeof *squares);
    }
}

thr_status thr_code_check_short(const thr_matrix *rows, uint64_t r, const char *noun, uint64_t number, thr_error *err) {
    double square = 0;
    for (uint32_t d = 0; d < rows->n_dims && !(square >= 2 * THR_SHORTEST * THR_SHORTEST); d++) {
        const double x = value_of(rows, r, d);
        square += x * x;
    }
    if (!(square < 1.001 * THR_SHORTEST * THR_SHORTEST) || is_zero(rows, r))
        return THR_OK;
    return thr_fail(err, THR_ERANGE,
                    "%s %llu is shorter than 2^-100 but not zero: scale the vectors up, or set it to zeros", noun,
                    (unsigned long long)number);
}

/* Report why row r was rejected. */
static thr_status report_bad_row(const thr_quantiser *quantiser, const thr_matrix *rows, uint64_t r, uint64_t first_row,
                                 thr_error *err) {
    const unsigned long long name = first_row + r;
    const uint32_t bits = quantiser->item_bits;
    uint32_t odd_dim = UINT32_MAX;
    float odd = 0;
    for (uint32_t d = 0; d < rows->n_dims; d++) {
        const float x = (float)value_of(rows, r, d);
        if (!isfinite(x))
            return thr_fail(err, THR_ERANGE, "row %llu, dimension %u is %s: remove or correct the row", name, d,
                            isnan(x) ? "not a number" : "infinite");
        if (odd_dim == UINT32_MAX && !thr_code_is_fixed(&x, 1, bits)) {
            odd_dim = d;
            odd = x;
        }
    }
    if (quantiser->fixed && odd_dim != UINT32_MAX)
        return thr_fail(err, THR_EMISMATCH,
                        "row %llu, dimension %u is %g: codes of %u planes hold odd multiples of %g between -2 and 2 "
                        "only: give the codes as the model made them",
                        name, odd_dim, (double)odd, bits, ldexp(1, 1 - (int)bits));
    THR_TRY(thr_code_check_short(rows, r, "row", first_row + r, err));
    return thr_fail(err, THR_ERANGE, "row %llu is longer than 2^%d: scale the vectors down", name,
                    quantiser->unit ? 120 : 60);
}

static thr_status check_norms(const thr_quantiser *quantiser, const thr_matrix *rows, uint64_t first_row,
                              const float *norms, thr_error *err) {
    for (uint64_t r = 0; r < rows->n_rows; r++)
        if (!(norms[r] <= (float)thr_longest_row(quantiser->unit)))
            return report_bad_row(quantiser, rows, r, first_row, err);
    return THR_OK;
}

thr_status thr_code_encode_blocks(thr_context *context, const thr_quantiser *quantiser, const thr_matrix *rows,
                                  uint64_t first_row, uint8_t *codes, const thr_measures *measures, thr_error *err) {
    return thr_code_encode_rows(context, quantiser, &(thr_code_input){rows, first_row, NULL}, codes, measures, err);
}

thr_status thr_code_encode_rows(thr_context *context, const thr_quantiser *quantiser, const thr_code_input *input,
                                uint8_t *codes, const thr_measures *measures, thr_error *err) {
    const thr_matrix *rows = input->rows;
    const size_t n_blocks = (size_t)thr_blocks_of(rows->n_rows);
    encoding e = {.context = context,
                  .quantiser = quantiser,
                  .rows = rows,
                  .codes = codes,
                  .out = measures,
                  .origins = input->origins};
    if (quantiser->centre != NULL)
        e.centre_length = sqrt(context->kernels->sum_squares(quantiser->centre, quantiser->n_dims));
    e.scratch_size = row_floats(rows->n_dims) * sizeof(float) +
                     (((size_t)quantiser->item_bits * thr_code_rows(rows->n_dims) + 63) & ~(size_t)63);
    THR_TRY(thr_alloc(context, context->n_threads, e.scratch_size, &e.scratch, "encoding", err));
    thr_parallel_for(context, n_blocks, encode_block, &e);
    thr_release(context, e.scratch);
    return check_norms(quantiser, rows, input->first_row, measures->norms, err);
}

thr_status thr_code_check_rows(const thr_matrix *rows, thr_error *err) {
    const size_t size = rows->n_dims * thr_dtype_size(rows->dtype);
    if (thr_dtype_size(rows->dtype) == 0)
        return thr_fail(err, THR_EINVAL, "the rows' type %d is not known", (int)rows->dtype);
    if (rows->n_rows != 0 && rows->data == NULL)
        return thr_fail(err, THR_EINVAL, "%llu rows without data", (unsigned long long)rows->n_rows);
    if (rows->n_rows > 1 && rows->stride < size)
        return thr_fail(err, THR_EINVAL, "the stride of %zu bytes is less than a row of %zu bytes", rows->stride, size);
    return THR_OK;
}

size_t thr_code_size(const thr_quantiser *quantiser, uint64_t n_rows) {
    return (size_t)thr_blocks_of(n_rows) * thr_block_size(quantiser->n_dims, quantiser->item_bits);
}

thr_status thr_code_quantiser_encode(thr_context *context, const thr_quantiser *quantiser, const thr_matrix *rows,
                                     void *codes, float *norms, thr_error *err) {
    if (rows->n_dims != quantiser->n_dims)
        return thr_fail(err, THR_EDIM, "the rows have %u dimensions, the quantiser %u", rows->n_dims,
                        quantiser->n_dims);
    THR_TRY(thr_code_check_rows(rows, err));
    float *own = NULL;
    if (norms == NULL)
        THR_TRY(thr_alloc(context, rows->n_rows, sizeof *own, &own, "lengths", err));
    const thr_measures measures = {.norms = norms != NULL ? norms : own};
    thr_status status = thr_code_encode_blocks(context, quantiser, rows, 0, codes, &measures, err);
    thr_release(context, own);
    return status;
}
