/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_nested.c - files of nested codes follow docs/format.md: every number in them is computed again here
 * from the vectors, the manifest and the centre alone.
 */
#include "index_support.h"

#include "base/half.h"
#include "code/nested.h"
#include "code/rotate.h"
#include "index/impl.h"

static const char DIR_A[] = "index-nested";
enum { N = 150, MOST_DIMS = 140 };

static thr_index *build(thr_context *context, const float *rows, uint32_t n_dims,
                        const thr_index_build_options *options) {
    test_remove_directory(DIR_A);
    expect_ok(build_rows(context, DIR_A, rows, N, n_dims, options, &err));
    thr_index *index = test_index_open(context, DIR_A);
    expect_ok(thr_index_verify(index, &err));
    return index;
}

static thr_index_build_options nested_options(thr_metric metric, uint32_t bits, uint32_t lead, bool rotate) {
    thr_index_build_options options = build_options(metric, THR_DTYPE_F32, bits);
    options.lead_bits = lead;
    options.rotate = rotate ? THR_ROTATE_ON : THR_ROTATE_OFF;
    options.segment_rows = 64;
    options.calibration_queries = THR_NO_CALIBRATION;
    return options;
}

/* ------------------------------------------------------------------------------------------------ by the book */

/* What is coded of a row: its residual, and the offset beside it. */
typedef struct coded_row {
    double residual[MOST_DIMS], length, offset;
} coded_row;

static double dot(const double *x, const double *y, uint32_t n) {
    double sum = 0;
    for (uint32_t d = 0; d < n; d++)
        sum += x[d] * y[d];
    return sum;
}

static coded_row code_by_the_book(const thr_index *index, const float *row) {
    const thr_manifest *m = &index->manifest;
    const uint32_t n_dims = m->quantiser.n_dims;
    const float *centre = m->quantiser.centre;
    double x[MOST_DIMS], c[MOST_DIMS] = {0};
    float rotated[MOST_DIMS];
    coded_row coded;
    for (uint32_t d = 0; d < n_dims; d++)
        x[d] = (double)row[d];
    const double norm = sqrt(dot(x, x, n_dims));
    for (uint32_t d = 0; d < n_dims; d++) {
        c[d] = centre == NULL ? 0 : (double)centre[d];
        x[d] = x[d] / (m->metric == THR_METRIC_COSINE ? norm : 1) - c[d];
    }
    coded.length = sqrt(dot(x, x, n_dims));
    coded.offset = m->metric == THR_METRIC_L2 ? coded.length * coded.length
                   : centre != NULL           ? -dot(x, c, n_dims) / sqrt(dot(c, c, n_dims))
                                              : 0;
    for (uint32_t d = 0; d < n_dims; d++)
        rotated[d] = (float)x[d];
    if (m->quantiser.rotation_seed != 0)
        thr_code_rotation_apply(m->quantiser.rotation, rotated);
    for (uint32_t d = 0; d < n_dims; d++)
        coded.residual[d] = (double)rotated[d];
    return coded;
}

/* Bit of a plane, from the blocks or the record as they lie in the file. */
static unsigned plane_bit(const thr_index *index, const thr_segment *segment, uint32_t item, uint32_t dim,
                          uint32_t plane) {
    const thr_manifest *m = &index->manifest;
    const size_t n_rows = (m->quantiser.n_dims + 7) / 8, lead = m->lead, bytes = m->quantiser.item_bits > 4 ? 4 : 2;
    const size_t head = m->centred || m->metric == THR_METRIC_L2 ? 2 * bytes : bytes;
    const size_t size = head + (m->quantiser.item_bits - lead) * n_rows;
    const uint8_t byte = plane < lead
                             ? segment->codes[(item / 64 * n_rows + dim / 8) * lead * 64 + plane * 64 + item % 64]
                             : segment->records[item * size + head + (plane - lead) * n_rows + dim / 8];
    return byte >> dim % 8 & 1u;
}

/* The odd integer of an item's first n_planes planes. */
static double value_of(const thr_index *index, const thr_segment *segment, uint32_t item, uint32_t dim,
                       uint32_t n_planes) {
    int u = 0;
    for (uint32_t p = 0; p < n_planes; p++)
        u = 2 * u + (int)plane_bit(index, segment, item, dim, p);
    return 2 * u + 1 - (1 << n_planes);
}

static void expect_near(double got, double wanted, double relative, const char *what, uint32_t item) {
    if (!(fabs(got - wanted) <= relative * fabs(wanted) + 1e-30))
        fail_msg("%s of item %u is %.9g, not %.9g", what, item, got, wanted);
}

/* The largest |r - factor b| and |factor b| seen. */
static void note_error(const coded_row *coded, const double *b, double factor, uint32_t n_dims, double *error_most,
                       double *length_most) {
    double off[MOST_DIMS];
    for (uint32_t d = 0; d < n_dims; d++)
        off[d] = coded->residual[d] - factor * b[d];
    *error_most = fmax(*error_most, sqrt(dot(off, off, n_dims)));
    *length_most = fmax(*length_most, factor * sqrt(dot(b, b, n_dims)));
}

static void check_item(const thr_index *index, const thr_segment *segment, uint32_t item, const float *row,
                       double most[4]) {
    const thr_manifest *m = &index->manifest;
    const uint32_t n_dims = m->quantiser.n_dims, bits = m->quantiser.item_bits;
    const bool pairs = m->centred || m->metric == THR_METRIC_L2, wide = bits > 4;
    const coded_row coded = code_by_the_book(index, row);
    const double half = (double)(1u << (bits - 1)),
                 scale = half / (coded.length * (double)m->quantiser.ranges[bits - 1]);
    double b[MOST_DIMS], lead_b[MOST_DIMS];
    for (uint32_t d = 0; d < n_dims; d++) {
        const double cell = fmin(fmax(floor(coded.residual[d] * scale), -half), half - 1);
        b[d] = value_of(index, segment, item, d, bits);
        lead_b[d] = value_of(index, segment, item, d, m->lead);
        /* Where a component lies at the edge of a cell, floats may see it on the other side. */
        if (fabs(coded.residual[d] * scale - round(coded.residual[d] * scale)) > 1e-3 * half)
            assert_true(b[d] == 2 * cell + 1);
    }
    const thr_record_shape shape = thr_record_shape_of(n_dims, bits, m->lead, pairs);
    float factor, offset;
    thr_code_record_read_head(shape, segment->records + item * thr_record_size(shape), &factor, &offset);
    const double lead_factor = (double)thr_bf16_to_f32(segment->leads[pairs ? 2 * item : item]);
    const double length = sqrt(dot(coded.residual, coded.residual, n_dims));
    expect_near((double)factor, length * length / dot(coded.residual, b, n_dims), wide ? 1e-5 : 0.004, "factor", item);
    expect_near(lead_factor, length * length / dot(coded.residual, lead_b, n_dims), 0.004, "leading factor", item);
    if (pairs) {
        const double slack = 1e-6 * coded.length / fmax(fabs(coded.offset), 1e-9);
        expect_near((double)offset, coded.offset, (wide ? 1e-5 : 0.004) + slack, "offset", item);
        expect_near((double)thr_bf16_to_f32(segment->leads[2 * item + 1]), coded.offset, 0.004 + slack,
                    "leading offset", item);
    }
    note_error(&coded, lead_b, lead_factor, n_dims, &most[0], &most[1]);
    note_error(&coded, b, (double)factor, n_dims, &most[2], &most[3]);
}

static void check_files(thr_context *context, thr_metric metric, uint32_t n_dims, uint32_t bits, uint32_t lead,
                        bool centre, bool rotate) {
    float *rows = random_rows(N, n_dims, 1000 * n_dims + bits);
    for (size_t i = 0; centre && i < (size_t)N * n_dims; i++)
        rows[i] += 1;
    const thr_index_build_options options = nested_options(metric, bits, lead, rotate);
    OWNED(thr_index, index) = build(context, rows, n_dims, &options);
    const thr_code_errors *errors = &index->manifest.errors;
    const thr_index_info info = thr_index_get_info(index);
    double most[4] = {0};
    assert_int_equal(info.lead_bits, lead);
    assert_int_equal(info.item_bits, bits);
    assert_int_equal(info.rotated, rotate);
    assert_int_equal(info.centred, centre);
    assert_int_equal(info.tuned_queries, 0);
    assert_int_equal(info.n_segments, 3);
    for (uint32_t row = 0; row < N; row++)
        check_item(index, &index->segments[row / 64], row % 64, rows + (size_t)row * n_dims, most);
    const double stored[4] = {(double)errors->lead_error, (double)errors->lead_length, (double)errors->full_error,
                              (double)errors->full_length};
    const double rounding = n_dims * 0x1p-20 * stored[3] * stored[3]; /* more than is added for it */
    for (int i = 0; i < 4; i++)
        if (!(most[i] <= stored[i] &&
              stored[i] * stored[i] <= most[i] * most[i] + (i % 2 == 0 ? rounding : 1e-6 * stored[i] * stored[i])))
            fail_msg("%u of %u planes: number %d of the errors is %.9g, the largest seen %.9g", lead, bits, i,
                     stored[i], most[i]);
}

TEST(files_follow_the_format) {
    static const uint32_t dims[] = {9, 40, 139};
    size_t turn = 0;
    for (int metric = THR_METRIC_COSINE; metric <= THR_METRIC_L2; metric++)
        for (uint32_t bits = 2; bits <= 6; bits += 2)
            for (uint32_t lead = 1; lead < bits; lead += 2)
                for (int kind = 0; kind < 4; kind++, turn++)
                    check_files(*state, (thr_metric)metric, dims[turn % 3], bits, lead, kind % 2 == 1, kind / 2 == 1);
}

TEST(sections_are_those_of_nested_codes) {
    static const uint32_t nested[] = {THR_SECTION_VECTORS, THR_SECTION_CODES, THR_SECTION_INVERSE_NORMS,
                                      THR_SECTION_LEADS, THR_SECTION_RECORDS};
    static const uint32_t flat[] = {THR_SECTION_VECTORS, THR_SECTION_CODES, THR_SECTION_BLOCK_NORMS,
                                    THR_SECTION_INVERSE_NORMS};
    enum { DIMS = 20 };
    float *rows = random_rows(N, DIMS, 1);
    for (uint32_t lead = 2; lead <= 3; lead++) {
        const uint32_t *wanted = lead < 3 ? nested : flat;
        const size_t n = lead < 3 ? COUNT_OF(nested) : COUNT_OF(flat);
        const thr_index_build_options options = nested_options(THR_METRIC_COSINE, 3, lead, false);
        OWNED(thr_index, index) = build(*state, rows, DIMS, &options);
        for (uint32_t s = 0; s < index->n_segments; s++) {
            const thr_segment_view *view = &index->mapped[s].view;
            assert_int_equal(view->file.n_sections, n);
            for (size_t i = 0; i < n; i++)
                assert_int_equal(view->file.sections[i].kind, wanted[i]);
        }
    }
}

/* Few dimensions have few bits in a plane, many need no more than one. Never more planes than there are. */
TEST(leading_planes_are_chosen_by_dimensions) {
    static const struct {
        uint32_t n_dims, bits, lead;
    } cases[] = {{8, 1, 1}, {8, 2, 2}, {8, 3, 2}, {8, 8, 2}, {400, 1, 1}, {400, 2, 1}, {400, 3, 1}, {400, 8, 1}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        float *rows = random_rows(N, cases[i].n_dims, 1);
        const thr_index_build_options options = nested_options(THR_METRIC_IP, cases[i].bits, 0, false);
        OWNED(thr_index, index) = build(*state, rows, cases[i].n_dims, &options);
        assert_int_equal(thr_index_get_info(index).lead_bits, cases[i].lead);
    }
}

/* ------------------------------------------------------------------------------------------------ odd rows */

static void check_equal_rows(thr_context *context, float value, uint32_t n_dims,
                             const thr_index_build_options *options) {
    float *rows = test_new(N * n_dims, sizeof *rows), scores[5];
    uint64_t ids[5];
    thr_search_options search = {0};
    for (size_t i = 0; i < (size_t)N * n_dims; i++)
        rows[i] = value;
    OWNED(thr_index, index) = build(context, rows, n_dims, options);
    const thr_matrix query = thr_matrix_f32(rows, 1, n_dims);
    search.n_survivors = 20;
    search.n_candidates = 10;
    expect_ok(thr_index_search(index, &query, 5, &search, ids, scores, &err));
    for (uint64_t i = 0; i < 5; i++) {
        assert_int_equal(ids[i], i); /* all rows tie: the first ones */
        assert_true(scores[i] == scores[0]);
    }
}

/* Rows that are all alike, all zero, of one dimension, tiny or huge are built, verified, and found. */
TEST(rows_without_differences_can_be_indexed_and_searched) {
    static const float values[] = {0, 1, -3.5f, 1e-20f, 1e17f};
    static const uint32_t dims[] = {1, 3, 130};
    bool rotate = false;
    for (int metric = THR_METRIC_COSINE; metric <= THR_METRIC_L2; metric++)
        for (size_t d = 0; d < COUNT_OF(dims); d++)
            for (uint32_t bits = 3; bits <= 6; bits += 3)
                for (size_t v = 0; v < COUNT_OF(values); v++, rotate = !rotate) {
                    thr_index_build_options options = nested_options((thr_metric)metric, bits, 1, rotate);
                    options.segment_rows = 0;
                    check_equal_rows(*state, values[v], dims[d], &options);
                }
}

TEST(more_leading_planes_than_planes_and_unknown_rotations_are_refused) {
    enum { DIMS = 4 };
    float *rows = random_rows(N, DIMS, 1);
    thr_index_build_options bad = build_options(THR_METRIC_IP, THR_DTYPE_F32, 3);
    test_remove_directory(DIR_A);
    bad.lead_bits = 4;
    expect_error(build_rows(*state, DIR_A, rows, N, DIMS, &bad, &err), THR_EINVAL, "4 leading bits of 3");
    bad.lead_bits = 3;
    bad.rotate = (thr_rotate)3;
    expect_error(build_rows(*state, DIR_A, rows, N, DIMS, &bad, &err), THR_EINVAL, NULL);
    assert_int_equal(access(DIR_A, F_OK), -1);
}

TEST_IN_CONTEXT(2, DIR_A)
