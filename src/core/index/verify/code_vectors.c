/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_vectors.c - compares the codes of a segment, their factors and their offsets with the kept vectors.
 *
 * The residual r' of a kept vector is within a distance s of the residual r that was coded: s is the bound of the kept
 * vector's error (float16 and int8) and the rounding of float32. So the two directions differ by at most 2 s / |r'|. A
 * code must have the cells of such a direction; its factor |r|^2 / <r, b>, its offset and its distance from r must be
 * those of such a residual.
 */
#include "index/verify/verify.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/shortest.h"
#include "base/error.h"
#include "code/encode.h"
#include "code/rotate.h"
#include "kernel/kernel.h"

enum { STEP_ITEMS = 4096 }; /* between two checks for cancellation */

/* Of lengths: writers may rotate with another precision. */
static const double ROUNDING = 0x1p-18;
static const double BFLOAT16 = 0x1p-8; /* relative, of stored factors and offsets */
static const double LEAST = 0x1p-126;  /* smaller stored numbers lose precision */

typedef struct comparison {
    const thr_index *index;
    const thr_segment_view *view;
    const thr_quantiser *quantiser;
    bool relative;       /* codes are relative to origins */
    uint32_t cell;       /* of the item, if the segment has cells */
    const float *origin; /* of the item; NULL: 0 */
    double centre_length, kept_centre_length;
    float *residual;
    float *from_centre; /* the cell's o - c, rotated if residuals are; 0 without cells */
    uint8_t *cells;     /* u of each dimension */
} comparison;

/* Sums over a code b: of all planes, or of the leading ones. */
typedef struct code_sums {
    double square, product, origin; /* |b|^2, <r', b>, <b, o - c> */
} code_sums;

typedef struct item {
    uint32_t number;
    double length, slack;              /* |r'|, s */
    double along;                      /* <r', o>; not relative: <r', c> / |c| */
    double origin_length, from_centre; /* |o|, |o - c| */
    code_sums full, lead;
} item;

static thr_status fail(const comparison *c, uint32_t kind, const item *i, const char *what, thr_error *err) {
    return thr_fail(err, THR_ECORRUPT,
                    "%s: section %s: the %s of item %" PRIu32
                    " is not that of its vector, with the MANIFEST's rotation and ranges: build the index again",
                    c->view->file.path, thr_index_section_name(kind), what, i->number);
}

/* ------------------------------------------------------------------------------------------------ an item */

/* A bound of the distance of an item's kept vector, scaled to the length 1 for cosine, from the one that was coded. */
static double kept_error(const thr_segment *segment, uint32_t number) {
    if (segment->scales == NULL)
        return 0;
    const double error = (double)segment->kept.ratio * (double)segment->scales[number];
    return fmin(error, (double)segment->kept.error) + (double)segment->kept.unit_error + THR_SHORTEST;
}

/* Called for all items in turn. */
static void find_origin(comparison *c, uint32_t number) {
    const thr_cell_table *cells = &c->view->cells;
    const float *centre = c->quantiser->centre;
    if (!c->relative || cells->n == 0 || (number > 0 && number < thr_cell_end(cells, c->cell)))
        return;
    c->cell += number > 0;
    c->origin = cells->centroids + (size_t)c->cell * cells->n_dims;
    for (uint32_t d = 0; d < cells->n_dims; d++)
        c->from_centre[d] = c->origin[d] - (centre == NULL ? 0 : centre[d]);
    if (c->quantiser->rotation != NULL)
        thr_code_rotation_apply(c->quantiser->rotation, c->from_centre);
}

/* Leave the residual, rotated if residuals are, in c->residual. */
static void read_residual(const comparison *c, item *i) {
    const uint32_t n_dims = c->quantiser->n_dims;
    float *r = c->residual;
    double square = 0, origin_square = 0, along = 0;
    thr_index_row_vector(c->index, c->view->scan.first_row + i->number, r);
    const double norm = sqrt(c->index->context->kernels->sum_squares(r, n_dims));
    const double scale = !c->quantiser->unit ? 1 : norm < THR_SHORTEST ? 0 : 1 / norm;
    for (uint32_t d = 0; d < n_dims; d++) {
        const double o = c->origin == NULL ? 0 : (double)c->origin[d], x = (double)r[d] * scale - o;
        square += x * x;
        origin_square += o * o;
        along += x * o;
        r[d] = (float)x;
    }
    i->length = sqrt(square);
    i->origin_length = sqrt(origin_square);
    i->along = c->relative || c->origin == NULL ? along : along / c->centre_length;
    i->slack = kept_error(&c->view->scan, i->number) +
               ROUNDING * ((norm + 2 * c->kept_centre_length) * scale + i->origin_length);
    if (c->quantiser->rotation != NULL)
        thr_code_rotation_apply(c->quantiser->rotation, r);
}

static unsigned bit_of(uint8_t byte, uint32_t d) {
    return (unsigned)byte >> d % 8 & 1;
}

static void read_cells(const comparison *c, uint32_t number) {
    const thr_segment_shape *s = &c->view->shape;
    const thr_record_shape shape = thr_shape_records(s);
    const uint8_t *block = c->view->scan.codes + number / THR_BLOCK_ITEMS * thr_block_size(s->n_dims, s->lead);
    const uint8_t *record = c->view->scan.records == NULL
                                ? NULL
                                : c->view->scan.records + number * thr_record_size(shape) + thr_record_head(shape);
    for (uint32_t d = 0; d < s->n_dims; d++) {
        const uint32_t g = d / 8;
        unsigned u = 0;
        for (uint32_t p = 0; p < s->lead; p++)
            u = 2 * u + bit_of(block[((size_t)g * s->lead + p) * THR_BLOCK_ITEMS + number % THR_BLOCK_ITEMS], d);
        for (uint32_t p = 0; p < s->bits - s->lead; p++)
            u = 2 * u + bit_of(record[(size_t)p * shape.n_rows + g], d);
        c->cells[d] = (uint8_t)u;
    }
}

static void sum_up(const comparison *c, item *i) {
    const thr_segment_shape *s = &c->view->shape;
    double from_square = 0;
    for (uint32_t d = 0; d < s->n_dims; d++) {
        const double r = (double)c->residual[d], o = (double)c->from_centre[d];
        const double b = 2 * c->cells[d] + 1 - (1 << s->bits);
        const double leading = 2 * (c->cells[d] >> (s->bits - s->lead)) + 1 - (1 << s->lead);
        i->full.square += b * b;
        i->full.product += b * r;
        i->full.origin += b * o;
        i->lead.square += leading * leading;
        i->lead.product += leading * r;
        i->lead.origin += leading * o;
        from_square += o * o;
    }
    i->from_centre = sqrt(from_square);
}

/* ------------------------------------------------------------------------------------------------ checks */

static double cell_of(double x, double half) {
    return fmin(fmax(floor(x), -half), half - 1) + half;
}

/* Whether each cell is that of a direction within the slack. */
static bool are_cells(const comparison *c, const item *i) {
    const uint32_t bits = c->quantiser->item_bits;
    const double half = (double)(1u << (bits - 1)), scale = half / ((double)c->quantiser->ranges[bits - 1] * i->length);
    const double slack = 2 * i->slack * scale;
    for (uint32_t d = 0; d < c->quantiser->n_dims; d++) {
        const double x = (double)c->residual[d] * scale, u = c->cells[d];
        if (u < cell_of(x - slack, half) || u > cell_of(x + slack, half))
            return false;
    }
    return true;
}

/* rounding: relative, of the stored factor. A factor is at most |r|, since <r / |r|, b> is at least 1. */
static bool is_factor(const item *i, const code_sums *code, double factor, double rounding) {
    const double s = i->slack, wide = s * sqrt(code->square);
    if (i->length <= 4 * s || code->product <= 4 * wide)
        return factor <= (i->length + s) * (1 + rounding) + LEAST;
    const double right = i->length * i->length / code->product;
    return fabs(factor - right) <= right * (rounding + 4 * s / i->length + 2 * wide / code->product) + LEAST;
}

static bool is_offset(const comparison *c, const item *i, const code_sums *code, double factor, double offset,
                      double rounding) {
    const double s = i->slack, length = i->length;
    const bool l2 = c->view->shape.metric == THR_METRIC_L2;
    const double own = l2 ? length * length : -i->along, of_origin = (l2 ? 2 : 1) * factor * code->origin;
    const double longest = l2 ? 2 * length + s : c->relative ? i->origin_length : 1;
    const double slack = s * longest + ROUNDING * (fabs(own) + length * longest) +
                         2 * ROUNDING * factor * sqrt(code->square) * i->from_centre;
    return fabs(offset - own - of_origin) <= slack + rounding * fabs(offset) + LEAST;
}

/* Whether the code times its factor is as near as the manifest has it. */
static bool is_near(const item *i, const code_sums *code, double factor, float most) {
    const double length = i->length;
    const double square = length * length - 2 * factor * code->product + factor * factor * code->square;
    return sqrt(fmax(square, 0)) <= (double)most * (1 + ROUNDING) + i->slack;
}

static thr_status check_numbers(const comparison *c, const item *i, thr_error *err) {
    const thr_segment *scan = &c->view->scan;
    const bool has_offset = thr_shape_has_offsets(&c->view->shape);
    if (scan->factors == NULL)
        return THR_OK;
    const double factor = (double)scan->factors[i->number];
    if (!is_factor(i, &i->full, factor, ROUNDING))
        return fail(c, THR_SECTION_FACTORS, i, "factor", err);
    if (has_offset && !is_offset(c, i, &i->full, factor, (double)scan->offsets[i->number], ROUNDING))
        return fail(c, THR_SECTION_OFFSETS, i, "offset", err);
    return THR_OK;
}

/* What a nested segment stores of an item for its leading planes, or for all of them. */
typedef struct stored_pair {
    uint32_t kind; /* the section */
    double rounding;
    float factor, offset;
    float most; /* the manifest's largest distance of a code from its residual */
} stored_pair;

static thr_status check_pair(const comparison *c, const item *i, const code_sums *code, const stored_pair *stored,
                             thr_error *err) {
    const double factor = (double)stored->factor, offset = (double)stored->offset;
    if (!is_factor(i, code, factor, stored->rounding))
        return fail(c, stored->kind, i, "factor", err);
    if (thr_shape_has_offsets(&c->view->shape) && !is_offset(c, i, code, factor, offset, stored->rounding))
        return fail(c, stored->kind, i, "offset", err);
    if (is_near(i, code, factor, stored->most))
        return THR_OK;
    return thr_fail(err, THR_ECORRUPT,
                    "%s: section %s: the code of item %" PRIu32
                    " is farther from its residual than the %g of the MANIFEST: build the index again",
                    c->view->file.path, thr_index_section_name(stored->kind), i->number, (double)stored->most);
}

static thr_status check_nested(const comparison *c, const item *i, thr_error *err) {
    const thr_segment *scan = &c->view->scan;
    const thr_record_shape shape = thr_shape_records(&c->view->shape);
    const thr_code_errors *errors = &c->index->manifest.errors;
    const uint16_t *leads = scan->leads + (size_t)i->number * (scan->lead_offsets ? 2 : 1);
    const stored_pair lead = {THR_SECTION_LEADS, BFLOAT16, thr_bf16_to_f32(leads[0]),
                              scan->lead_offsets ? thr_bf16_to_f32(leads[1]) : 0, errors->lead_error};
    stored_pair full = {THR_SECTION_RECORDS, shape.wide ? ROUNDING : BFLOAT16, 0, 0, errors->full_error};
    thr_code_record_read_head(shape, scan->records + i->number * thr_record_size(shape), &full.factor, &full.offset);
    THR_TRY(check_pair(c, i, &i->lead, &lead, err));
    return check_pair(c, i, &i->full, &full, err);
}

static thr_status check_item(comparison *c, uint32_t number, thr_error *err) {
    item i = {.number = number};
    find_origin(c, number);
    read_residual(c, &i);
    read_cells(c, number);
    sum_up(c, &i);
    if (i.length > 4 * i.slack && !are_cells(c, &i))
        return fail(c, THR_SECTION_CODES, &i, "code", err);
    return c->view->scan.records != NULL ? check_nested(c, &i, err) : check_numbers(c, &i, err);
}

thr_status thr_index_verify_code_vectors(const thr_index *index, uint32_t segment, thr_file_sum *sum, thr_error *err) {
    static const char what[] = "a residual";
    const thr_manifest *m = &index->manifest;
    const thr_segment_view *view = &index->mapped[segment].view;
    const uint32_t n_dims = m->quantiser.n_dims;
    comparison c = {.index = index,
                    .view = view,
                    .quantiser = &m->quantiser,
                    .relative = m->has_origins,
                    .origin = m->quantiser.centre};
    thr_status status = THR_OK;
    if (m->keep == THR_DTYPE_NONE || m->model.codes) /* a model's codes are not of the vectors */
        return THR_OK;
    if (c.origin != NULL)
        c.centre_length = sqrt(index->context->kernels->sum_squares(c.origin, n_dims));
    if (m->kept_centre != NULL) /* a kept vector is a sum with it */
        c.kept_centre_length = sqrt(index->context->kernels->sum_squares(m->kept_centre, n_dims));
    THR_TRY_OUT(thr_alloc(index->context, n_dims, sizeof *c.residual, &c.residual, what, err));
    THR_TRY_OUT(thr_alloc_zero(index->context, n_dims, sizeof *c.from_centre, &c.from_centre, what, err));
    THR_TRY_OUT(thr_alloc(index->context, n_dims, sizeof *c.cells, &c.cells, what, err));
    for (uint32_t i = 0; i < view->shape.n_items; i++) {
        if (i % STEP_ITEMS == 0)
            THR_TRY_OUT(thr_file_sum_step(sum, err));
        THR_TRY_OUT(check_item(&c, i, err));
    }
out:
    THR_RELEASE(index->context, c.residual, c.from_centre, c.cells);
    return status;
}
