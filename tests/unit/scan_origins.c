/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan_origins.c - estimates from codes with origins against the formulas of scan/segment.h in double, and the terms
 * that a query has for origins.
 */
#include "index_support.h"

#include "cells/block_subset.h"
#include "code/nested.h"
#include "code/rotate.h"
#include "index/impl.h"
#include "scan/margins/bounds.h"

#include <float.h>

static const char DIR_A[] = "scan-origins";

enum { BUILT = 3000, ADDED = 333, SEGMENT_ROWS = 1280, MOST_DIMS = 64, MOST_ROWS = 3600 };

/* Float32 arithmetic, including 74 steps of a rotation: relative to the sizes of all terms. */
static const double ROUNDING = 4e-6, BFLOAT16 = 0x1p-8;

typedef struct kind {
    thr_metric metric;
    uint32_t n_dims, bits, lead, cells;
    bool rotated, shifted; /* shifted: the build chooses a centre */
    bool whole;            /* one segment of the build */
} kind;

/* ------------------------------------------------------------------------------------------------ an index */

/* Rows about 40 points. */
static float *make_rows(const kind *k, uint64_t n, uint64_t seed) {
    float *points = random_rows(40, k->n_dims, 77), *rows = random_rows(n, k->n_dims, seed);
    for (uint64_t i = 0; i < n * k->n_dims; i++)
        rows[i] = 0.3f * rows[i] + points[i / k->n_dims % 40 * k->n_dims + i % k->n_dims] +
                  (k->shifted ? 2 + 0.01f * (float)(i % k->n_dims) : 0);
    return rows;
}

/* Three segments with cells, or one, and one without. */
static thr_index *open_kind(thr_context *context, const kind *k) {
    float *rows = make_rows(k, BUILT + ADDED, 1);
    thr_index_build_options options = build_options(k->metric, THR_DTYPE_F32, k->bits);
    const thr_matrix more = thr_matrix_f32(rows + (size_t)BUILT * k->n_dims, ADDED, k->n_dims);
    thr_reader *reader = NULL;
    options.lead_bits = k->lead;
    options.rotate = k->rotated ? THR_ROTATE_ON : THR_ROTATE_OFF;
    options.cells = k->cells;
    options.segment_rows = k->whole ? 0 : SEGMENT_ROWS;
    options.calibration_queries = THR_NO_CALIBRATION;
    test_remove_directory(DIR_A);
    expect_ok(build_rows(context, DIR_A, rows, BUILT, k->n_dims, &options, &err));
    expect_ok(thr_reader_from_matrix(context, &more, &reader, &err));
    expect_ok(thr_index_add(context, DIR_A, reader, NULL, NULL, &err));
    thr_reader_free(reader);
    thr_index *index = test_index_open(context, DIR_A);
    const uint32_t last = index->n_segments - 1;
    assert_true(index->corpus.origins != NULL && index->n_segments == (k->whole ? 2 : 4));
    assert_true(index->cells[0].n > k->cells / 3 && index->cells[last].n == 0 && index->manifest.n_rows <= MOST_ROWS);
    return index;
}

/* ------------------------------------------------------------------------------------------------ an item */

typedef struct item {
    double x[MOST_DIMS]; /* as it is scored */
    double o[MOST_DIMS], residual, from_centre, size;
    int v[MOST_DIMS], leading[MOST_DIMS];
    double factor[2], offset[2]; /* as stored: of leading planes or of flat codes; of all planes */
} item;

static double length_of(const double *x, uint32_t n_dims) {
    double square = 0;
    for (uint32_t d = 0; d < n_dims; d++)
        square += x[d] * x[d];
    return sqrt(square);
}

/* A rotation is linear, so the parts that float32 leaves of each number are rotated, too. */
static void rotate(const thr_quantiser *quantiser, double *x) {
    float part[MOST_DIMS];
    double sum[MOST_DIMS] = {0};
    for (int i = 0; i < 2 && quantiser->rotation != NULL; i++) {
        for (uint32_t d = 0; d < quantiser->n_dims; d++) {
            part[d] = (float)x[d];
            x[d] -= (double)part[d];
        }
        thr_code_rotation_apply(quantiser->rotation, part);
        for (uint32_t d = 0; d < quantiser->n_dims; d++)
            sum[d] += (double)part[d];
    }
    if (quantiser->rotation != NULL)
        memcpy(x, sum, quantiser->n_dims * sizeof *x);
}

/* The origin of item i of segment s, by the cells of the file. */
static double origin_value(const thr_index *index, uint32_t s, uint32_t i, uint32_t d) {
    const thr_cell_table *table = &index->cells[s];
    const thr_quantiser *quantiser = &index->manifest.quantiser;
    uint32_t cell = 0;
    if (table->n == 0)
        return quantiser->centre == NULL ? 0 : (double)quantiser->centre[d];
    while (i >= thr_cell_end(table, cell))
        cell++;
    return (double)table->centroids[(size_t)cell * table->n_dims + d];
}

static void read_code(const thr_index *index, const thr_segment *segment, uint32_t i, item *out) {
    const uint32_t n_dims = index->manifest.quantiser.n_dims, bits = index->manifest.quantiser.item_bits,
                   lead = index->manifest.lead;
    const thr_record_shape shape = thr_record_shape_of(n_dims, bits, lead, segment->lead_offsets);
    const uint8_t *record = segment->records == NULL ? NULL : segment->records + i * thr_record_size(shape);
    for (uint32_t d = 0; d < n_dims; d++) {
        out->leading[d] = test_code_value(segment->codes, n_dims, lead, i, d);
        uint32_t u = (uint32_t)(out->leading[d] - 1 + (1 << lead)) / 2;
        for (uint32_t p = 0; p < bits - lead; p++)
            u = 2 * u + (record[thr_record_head(shape) + p * shape.n_rows + d / 8] >> d % 8 & 1);
        out->v[d] = 2 * (int)u + 1 - (1 << bits);
    }
    if (record == NULL) {
        out->factor[0] = out->factor[1] = (double)segment->factors[i];
        out->offset[0] = out->offset[1] = (double)segment->offsets[i];
        return;
    }
    float factor, offset;
    assert_true(segment->lead_offsets);
    thr_code_record_read_head(shape, record, &factor, &offset);
    out->factor[0] = (double)thr_bf16_to_f32(segment->leads[2 * i]);
    out->offset[0] = (double)thr_bf16_to_f32(segment->leads[2 * i + 1]);
    out->factor[1] = (double)factor;
    out->offset[1] = (double)offset;
}

static void assert_near(const kind *k, uint64_t row, const char *what, double got, double wanted, double bound) {
    assert_case(fabs(got - wanted) <= bound, "%s, %u of %u bits%s%s, row %llu: %s is %.9g, not %.9g (error up to %.3g)",
                thr_metric_name(k->metric), k->lead, k->bits, k->rotated ? ", rotated" : "",
                k->shifted ? ", shifted" : "", (unsigned long long)row, what, got, wanted, bound);
}

/*
 * Read item i of a segment, and check its stored numbers: factor = |r| / <r / |r|, b>, with o for the origin and c for
 * the centre offset = factor <b, o - c> - <r, o>, or for L2 2 factor <b, o - c> + |r|^2, of the factor as stored.
 */
static void read_item(const thr_index *index, const kind *k, uint32_t s, uint32_t i, item *out) {
    const thr_quantiser *quantiser = &index->manifest.quantiser;
    const thr_segment *segment = &index->segments[s];
    const uint32_t n_dims = quantiser->n_dims;
    const float *kept = (const float *)segment->vectors + (size_t)i * n_dims;
    double r[MOST_DIMS], oc[MOST_DIMS], along = 0, sums[4] = {0}, code_length = 0;
    for (uint32_t d = 0; d < n_dims; d++)
        out->x[d] = (double)kept[d];
    const double norm = length_of(out->x, n_dims), scale = k->metric == THR_METRIC_COSINE ? 1 / norm : 1;
    for (uint32_t d = 0; d < n_dims; d++) {
        out->x[d] *= scale;
        out->o[d] = origin_value(index, s, i, d);
        r[d] = out->x[d] - out->o[d];
        oc[d] = out->o[d] - (quantiser->centre == NULL ? 0 : (double)quantiser->centre[d]);
        along += r[d] * out->o[d];
    }
    out->residual = length_of(r, n_dims);
    out->from_centre = length_of(oc, n_dims);
    out->size = length_of(out->x, n_dims) + length_of(out->o, n_dims);
    read_code(index, segment, i, out);
    rotate(quantiser, r);
    rotate(quantiser, oc);
    for (uint32_t d = 0; d < n_dims; d++) {
        sums[0] += r[d] * out->leading[d];
        sums[1] += r[d] * out->v[d];
        sums[2] += oc[d] * out->leading[d];
        sums[3] += oc[d] * out->v[d];
        code_length += out->v[d] * out->v[d];
    }
    const bool nested = k->lead < k->bits;
    for (int way = 0; way < 2; way++) {
        const double stored = nested && (way == 0 || k->bits <= 4) ? BFLOAT16 : 0, factor = out->factor[way];
        const double wanted = out->residual * out->residual / sums[way], product = factor * sums[2 + way];
        const double offset =
            k->metric == THR_METRIC_L2 ? out->residual * out->residual + 2 * product : product - along;
        const double sizes = 2 * factor * sqrt(code_length) * (out->from_centre + 0.01 * out->size) +
                             out->residual * (out->residual + out->size) + 0.05 * out->size * out->size;
        if (out->residual > 1e-6 * out->size)
            assert_near(k, segment->first_row + i, "a factor", factor, wanted,
                        (stored + 4 * ROUNDING * (1 + out->size / out->residual)) * wanted);
        else /* the only item of its cell: the residual is what rounding left */
            assert_true(factor * sqrt(n_dims) <= 4e-6 * out->size);
        assert_near(k, segment->first_row + i, "an offset", out->offset[way], offset,
                    stored * fabs(offset) + ROUNDING * sizes);
    }
}

/* ------------------------------------------------------------------------------------------------ estimates */

typedef struct bench {
    const kind *kind;
    thr_index *index;
    item *items; /* by row */
    thr_scan *scan;
    thr_search_options options;
} bench;

static void open_bench(bench *b, thr_context *context, const kind *k) {
    *b = (bench){.kind = k, .index = open_kind(context, k)};
    b->items = test_new(MOST_ROWS, sizeof *b->items);
    for (uint32_t s = 0; s < b->index->n_segments; s++)
        for (uint32_t i = 0; i < b->index->segments[s].n_items; i++)
            read_item(b->index, k, s, i, &b->items[b->index->segments[s].first_row + i]);
    expect_ok(thr_scan_create(context, &b->scan, &err));
    b->options = (thr_search_options){.recall = 0.99f};
}

static void close_bench(bench *b) {
    thr_scan_free(b->scan);
    thr_index_free(b->index);
}

static double true_score(const kind *k, const float *q, const item *x) {
    double dot = 0, distance = 0;
    for (uint32_t d = 0; d < k->n_dims; d++) {
        dot += (double)q[d] * x->x[d];
        distance += ((double)q[d] - x->x[d]) * ((double)q[d] - x->x[d]);
    }
    return k->metric == THR_METRIC_L2 ? -distance : dot;
}

/* By inner product: w o is the point nearest to q, where o is the origin with the largest product. */
static double naive_weight(const thr_scan_corpus *corpus, const float *q) {
    const uint32_t n_dims = corpus->quantiser->n_dims;
    double largest = 0, weight = 0;
    if (corpus->metric != THR_METRIC_IP)
        return 1;
    for (size_t s = 0; s < corpus->origins->n_segments; s++)
        for (uint32_t i = 0; i < corpus->origins->segments[s].n; i++) {
            const float *o = corpus->origins->segments[s].points + (size_t)i * n_dims;
            double product = 0, square = 0;
            for (uint32_t d = 0; d < n_dims; d++) {
                product += (double)o[d] * (double)q[d];
                square += (double)o[d] * (double)o[d];
            }
            if (product > largest) {
                largest = product;
                weight = product / square;
            }
        }
    return weight;
}

/* What the formula needs of a query: q as it is scored, and its codes. */
typedef struct naive {
    const float *q;
    double weight;        /* w */
    double length, scale; /* of q; of q - w c, and twice that for L2 */
    int v[MOST_DIMS], rest[MOST_DIMS];
    double gain, rest_gain; /* of the two codes: they make vectors whose component along q - w c is as long as that */
} naive;

static void read_query(const bench *b, const thr_scan_query *query, naive *n) {
    const thr_quantiser *quantiser = &b->index->manifest.quantiser;
    const uint32_t n_dims = quantiser->n_dims;
    double p[MOST_DIMS], products[2] = {0}, square = 0;
    *n = (naive){.q = query->vector, .weight = naive_weight(&b->index->corpus, query->vector)};
    for (uint32_t d = 0; d < n_dims; d++) {
        p[d] = (double)n->q[d];
        n->length += p[d] * p[d];
        p[d] -= quantiser->centre == NULL ? 0 : n->weight * (double)quantiser->centre[d];
    }
    const double length = length_of(p, n_dims);
    n->length = sqrt(n->length);
    n->scale = length * (b->kind->metric == THR_METRIC_L2 ? 2 : 1);
    rotate(quantiser, p);
    for (uint32_t d = 0; d < n_dims; d++) {
        n->v[d] = 2 * query->code.levels[d] + 1 - (1 << query->code.query_bits);
        n->rest[d] = b->kind->lead < b->kind->bits ? query->rest.digits[d] : 0;
        products[0] += p[d] * n->v[d];
        products[1] += p[d] * n->rest[d];
        square += n->v[d] * n->v[d];
    }
    n->gain = length / products[0] * n->scale;
    n->rest_gain = products[1] > 0 ? length / products[1] * n->scale : 0;
    /* the code is that of q - w c: of other vectors it would be at a larger angle */
    assert_true(products[0] / length / sqrt(square) > (query->code.query_bits == 8 ? 0.998 : 0.97));
    assert_true(query->is_unbiased && query->bias == 0);
    assert_true(fabs((double)query->offset_weight - n->weight) <= 1e-5 * n->weight);
}

/* Estimate by the leading planes (way 0) or all planes (1). added: to the integer product of codes, or to the sum. */
static double estimate(const bench *b, const naive *n, const item *x, int way, double added, double *size) {
    const uint32_t n_dims = b->kind->n_dims, others = b->kind->bits - b->kind->lead;
    double products[2] = {0}, base = 0, distance = 0;
    for (uint32_t d = 0; d < n_dims; d++) {
        const double q = (double)n->q[d];
        products[0] += x->leading[d] * n->v[d];
        products[1] += (x->v[d] - (double)(1 << others) * x->leading[d]) * n->rest[d];
        base += q * x->o[d];
        distance += (q - x->o[d]) * (q - x->o[d]);
    }
    distance = sqrt(distance);
    if (b->kind->metric == THR_METRIC_L2)
        base = -distance * distance;
    double product = products[0] * n->gain;
    if (way == 1)
        product = product * (double)(1 << others) + products[1] * n->rest_gain;
    const double margin = way == 0 ? added * n->gain : added;
    *size = fabs(product * x->factor[way]) + fabs(n->weight * x->offset[way]) + n->length * x->size +
            distance * distance +
            x->factor[way] * n->scale * sqrt(n_dims) * (1 << (way == 0 ? b->kind->lead : b->kind->bits));
    return (product + margin) * x->factor[way] - n->weight * x->offset[way] + base;
}

/* Prepare a query for a corpus, which is the index's or a part of it; all rows fit the lane's collector. */
static void prepare(bench *b, const thr_scan_corpus *corpus, const float *vector, uint32_t lane, uint32_t query_bits,
                    thr_job *job, thr_scan_query *query) {
    static const thr_answers answers = {.k = 1};
    const thr_matrix matrix = thr_matrix_f32(vector, 1, b->kind->n_dims);
    b->options.query_bits = query_bits;
    *job = thr_scan_job_make(b->index->context, corpus, &b->options, &answers);
    job->measures_queries = true;
    thr_scan_query_prepare(job, &matrix, 0, &b->scan->lanes[lane], query);
}

static uint64_t n_blocks_of(const thr_scan_corpus *corpus) {
    return (corpus->n_rows + THR_BLOCK_ITEMS - 1) / THR_BLOCK_ITEMS;
}

static int by_row(const void *a, const void *b) {
    const uint64_t x = ((const thr_candidate *)a)->row, y = ((const thr_candidate *)b)->row;
    return (x > y) - (x < y);
}

/* Screen a whole corpus for some queries; each lane's collector then has its rows in order. */
static void screen(const thr_job *job, const thr_scan_query *queries, uint32_t n, thr_lane *lanes, float threshold) {
    const thr_scan_group group = thr_scan_group_make(job, queries, n, lanes);
    for (uint32_t i = 0; i < n; i++) {
        lanes[i].collector.n = 0;
        lanes[i].collector.threshold = threshold;
    }
    thr_scan_screen_blocks(&group, lanes, (thr_block_range){0, n_blocks_of(job->corpus)});
    for (uint32_t i = 0; i < n; i++)
        qsort(lanes[i].collector.items, lanes[i].collector.n, sizeof(thr_candidate), by_row);
}

static float middle_score(const thr_candidate *items, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)items[i].score;
    return (float)(sum / (double)n);
}

/* With a threshold exactly the rows pass that reach it, with the same scores. */
static void check_threshold(const thr_job *job, const thr_scan_query *query, thr_lane *lane) {
    const size_t n = lane->collector.n;
    const float middle = middle_score(lane->collector.items, n);
    float thresholds[5] = {middle, lane->collector.items[n / 2].score};
    for (size_t t = 2; t < 5; t++) /* just above a score */
        thresholds[t] = nextafterf(lane->collector.items[n * t / 6].score, INFINITY);
    thr_candidate *all = test_new(n, sizeof *all);
    memcpy(all, lane->collector.items, n * sizeof *all);
    for (size_t t = 0; t < 5; t++) {
        size_t passed = 0;
        screen(job, query, 1, lane, thresholds[t]);
        for (size_t i = 0; i < n; i++)
            if (all[i].score >= thresholds[t]) {
                assert_true(passed < lane->collector.n && lane->collector.items[passed].row == all[i].row);
                assert_true(lane->collector.items[passed].score == all[i].score);
                assert_true(lane->collector.items[passed++].distance == all[i].distance);
            }
        assert_int_equal(passed, lane->collector.n);
        assert_true(thresholds[t] != middle || (passed > 0 && passed < n));
    }
    memcpy(lane->collector.items, all, n * sizeof *all);
    lane->collector.n = n;
}

/* The row of the index that a row of the corpus is; part NULL: the corpus is the index's. */
static uint64_t row_in_index(const thr_cells_subset *part, uint64_t row) {
    return part == NULL ? row : thr_cells_subset_to_whole(part, row);
}

/* Codes of 8 bits are so exact that estimates are near the scores, whatever formula they are made by. */
static void assert_near_truth(const bench *b, const naive *n, uint64_t row, double got, bool narrow) {
    const item *x = &b->items[row];
    double distance = 0;
    for (uint32_t d = 0; d < b->kind->n_dims; d++)
        distance += ((double)n->q[d] - x->o[d]) * ((double)n->q[d] - x->o[d]);
    const double times = b->kind->metric == THR_METRIC_L2 ? 2 : 1;
    const double bound =
        times * x->residual * 0.1 * (sqrt(distance) + n->scale / times) + (narrow ? BFLOAT16 * fabs(x->offset[1]) : 0);
    assert_near(b->kind, row, "an accurate estimate", got, true_score(b->kind, n->q, x), bound + 1e-5 * x->size);
}

static void check_margins(bench *b, const thr_job *job, thr_scan_query *query, const naive *n,
                          const thr_cells_subset *part) {
    thr_lane *lane = b->scan->lanes;
    double size, most = 0, least = INFINITY;
    for (uint32_t i = 0; i < query->corpus->origins->n; i++) {
        most = fmax(most, (double)query->origins[i].distance);
        least = fmin(least, (double)query->origins[i].distance);
    }
    assert_true(query->geometry.farthest_origin == most && query->geometry.nearest_origin == least);
    query->random_margin = 50 / most;
    query->own_margin = 20;
    query->across = 0.7 * most;
    screen(job, query, 1, lane, -INFINITY);
    for (size_t i = 0; i < lane->collector.n; i++) {
        const uint64_t row = row_in_index(part, lane->collector.items[i].row);
        const double distance =
            (double)thr_scan_term_of(query->corpus, query->origins, lane->collector.items[i].row).distance;
        const double random = 50 / most * fmin(distance, 0.7 * most);
        const double wanted = estimate(b, n, &b->items[row], 0, ceil(sqrt(random * random + 400)), &size);
        assert_near(b->kind, row, "an estimate with a margin", (double)lane->collector.items[i].score, wanted,
                    ROUNDING * size);
    }
    query->rescore_margin = (float)(3 / most);
    query->own_rescore_margin = 2;
    for (size_t i = 0; b->kind->lead < b->kind->bits && i < lane->collector.n; i++) {
        const uint64_t row = row_in_index(part, lane->collector.items[i].row);
        const double distance =
            (double)thr_scan_term_of(query->corpus, query->origins, lane->collector.items[i].row).distance;
        const double random = 3 / most * fmin(distance, 0.7 * most);
        thr_scan_rescore(query, &lane->collector.items[i], 1);
        const double wanted = estimate(b, n, &b->items[row], 1, sqrt(random * random + 4), &size);
        assert_near(b->kind, row, "a rescored estimate with a margin", (double)lane->collector.items[i].score, wanted,
                    ROUNDING * (size + 4 * b->items[row].factor[1]));
    }
}

/* For each item, thr_scan_largest_across of its score bounds the part of q - w o that is orthogonal to its residual. */
static void check_across(const bench *b, const thr_scan_query *query, const naive *n) {
    const double times = b->kind->metric == THR_METRIC_L2 ? 2 : 1;
    for (uint32_t s = 0; s < b->index->n_segments; s++)
        for (uint32_t i = 0; i < b->index->segments[s].n_items; i++) {
            const item *x = &b->items[b->index->segments[s].first_row + i];
            double product = 0, square = 0, residual = 0;
            for (uint32_t d = 0; d < b->kind->n_dims; d++) {
                const double r = x->x[d] - x->o[d], a = (double)n->q[d] - n->weight * x->o[d];
                product += a * r;
                square += a * a;
                residual += r * r;
            }
            const double across = sqrt(fmax(square - (residual > 0 ? product * product / residual : 0), 0));
            const double bound = thr_scan_largest_across(query, true_score(b->kind, n->q, x));
            assert_case(times * across <= bound * (1 + 1e-6), "%s, %u bits: across is %.9g, above %.9g",
                        thr_metric_name(b->kind->metric), b->kind->bits, times * across, bound);
        }
}

/* All estimates of a query by a corpus. Returns how many rows were there. */
static size_t check_query(bench *b, const thr_scan_corpus *corpus, const thr_cells_subset *part, const float *vector,
                          uint32_t query_bits) {
    const bool nested = b->kind->lead < b->kind->bits;
    thr_job job;
    thr_scan_query query;
    naive n;
    double size;
    expect_ok(thr_scan_make_room(b->scan, corpus, 1, 1, MOST_ROWS, &err));
    thr_lane *lane = b->scan->lanes;
    prepare(b, corpus, vector, 0, query_bits, &job, &query);
    read_query(b, &query, &n);
    screen(&job, &query, 1, lane, -INFINITY);
    const size_t n_rows = lane->collector.n;
    check_threshold(&job, &query, lane);
    for (size_t i = 0; i < n_rows; i++) {
        const thr_candidate *found = &lane->collector.items[i];
        const uint64_t row = row_in_index(part, found->row);
        const double wanted = estimate(b, &n, &b->items[row], 0, 0, &size), got = (double)found->score;
        assert_near(b->kind, row, "an estimate", got, wanted, ROUNDING * size);
        if (b->kind->lead == 8 && query_bits == 8)
            assert_near_truth(b, &n, row, got, false);
        if (!nested)
            continue;
        const double truth = true_score(b->kind, n.q, &b->items[row]);
        assert_true(got >= thr_scan_screen_bound(&query, (float)truth, 0));
    }
    for (size_t i = 0; nested && i < n_rows; i++) {
        thr_candidate *found = &lane->collector.items[i];
        const uint64_t row = row_in_index(part, found->row);
        thr_scan_rescore(&query, found, 1);
        const double wanted = estimate(b, &n, &b->items[row], 1, 0, &size), got = (double)found->score;
        const double truth = true_score(b->kind, n.q, &b->items[row]);
        assert_near(b->kind, row, "a rescored estimate", got, wanted, ROUNDING * size);
        assert_true(got >= thr_scan_rescore_bound(&query, (float)truth, 0, b->items[row].factor[1] * (1 + 0x1p-7)));
        if (b->kind->bits == 8 && query_bits == 8)
            assert_near_truth(b, &n, row, got, false);
    }
    check_margins(b, &job, &query, &n, part);
    check_across(b, &query, &n);
    return n_rows;
}

/* Queries that read tiles together get the bits of single ones. */
static void check_group(bench *b, const thr_scan_corpus *corpus, const float *vectors, uint32_t n) {
    thr_job job;
    thr_scan_query queries[8];
    thr_candidate *alone[8];
    size_t n_rows[8];
    expect_ok(thr_scan_make_room(b->scan, corpus, n, n, MOST_ROWS, &err));
    for (uint32_t q = 0; q < n; q++) {
        prepare(b, corpus, vectors + (size_t)q * b->kind->n_dims, q, 4, &job, &queries[q]);
        screen(&job, &queries[q], 1, &b->scan->lanes[q], -INFINITY);
        n_rows[q] = b->scan->lanes[q].collector.n;
        alone[q] = test_new(n_rows[q], sizeof *alone[q]);
        memcpy(alone[q], b->scan->lanes[q].collector.items, n_rows[q] * sizeof *alone[q]);
    }
    screen(&job, queries, n, b->scan->lanes, -INFINITY);
    for (uint32_t q = 0; q < n; q++) {
        assert_int_equal(b->scan->lanes[q].collector.n, n_rows[q]);
        for (size_t i = 0; i < n_rows[q]; i++)
            assert_true(b->scan->lanes[q].collector.items[i].row == alone[q][i].row &&
                        b->scan->lanes[q].collector.items[i].score == alone[q][i].score);
    }
}

/* A third of the blocks: views that begin and end anywhere in segments. */
static void choose_blocks(uint64_t *rng, uint64_t n_blocks, uint64_t *blocks) {
    for (uint64_t i = 0; i < n_blocks; i++)
        blocks[i / 64] |= (uint64_t)(thr_rng_below(rng, 3) == 0) << i % 64;
    blocks[0] = (blocks[0] & ~UINT64_C(1)) | 2; /* not the first block */
}

#ifdef THR_SANITIZED
enum { MORE = 3 };
#else
enum { MORE = 1 };
#endif

static const thr_metric METRICS[] = {THR_METRIC_COSINE, THR_METRIC_IP, THR_METRIC_L2};
static const uint32_t CODES[][2] = {{1, 1}, {3, 3}, {8, 8}, {3, 1}, {6, 2}, {8, 4}};

TEST(estimates_are_those_of_the_formulas) {
    uint64_t rng = test_seed();
    size_t n_centred = 0, n_kinds = 0;
    for (size_t m = 0; m < 3; m++)
        for (size_t c = 0; c < COUNT_OF(CODES); c++)
            for (int more = 0; more < 4; more += MORE) {
                /* cells of some 10 items, and such that span blocks */
                const kind k = {METRICS[m],
                                13 + (uint32_t)thr_rng_below(&rng, MOST_DIMS - 12),
                                CODES[c][0],
                                CODES[c][1],
                                more % 3 == 0 ? 300 : 30,
                                (more & 1) != 0,
                                (more & 2) != 0,
                                false};
                bench b;
                thr_cells_subset part = {.n_segments = 0};
                uint64_t blocks[MOST_ROWS / 64 / 64 + 1] = {0};
                open_bench(&b, *state, &k);
                n_kinds++;
                n_centred += b.index->manifest.quantiser.centre != NULL;
                float *queries = make_rows(&k, 8, 5);
                test_gaussian(&rng, queries + 2 * (size_t)k.n_dims, k.n_dims);
                for (uint32_t d = 0; d < k.n_dims; d++)
                    queries[3 * k.n_dims + d] = -queries[3 * k.n_dims + d];
                choose_blocks(&rng, n_blocks_of(&b.index->corpus), blocks);
                expect_ok(thr_cells_subset_make(*state, &b.index->corpus, blocks, n_blocks_of(&b.index->corpus), NULL,
                                                &part, &err));
                assert_true(part.n_segments > 4 && part.segments[0].first_item > 0);
                for (uint32_t q = 0; q < 4; q++) {
                    const float *query = queries + (size_t)q * k.n_dims;
                    assert_int_equal(check_query(&b, &b.index->corpus, NULL, query, q % 2 == 0 ? 8 : 4), BUILT + ADDED);
                    assert_true(check_query(&b, &part.corpus, &part, query, q % 2 == 0 ? 4 : 8) > 64);
                }
                check_group(&b, &b.index->corpus, queries, 8);
                check_group(&b, &part.corpus, queries, 5);
                thr_cells_subset_free(*state, &part);
                close_bench(&b);
            }
    assert_true(n_centred > n_kinds / 4 && n_centred < n_kinds);
}

/* ------------------------------------------------------------------------------------------------ terms */

/* The distance of a term is an upper bound, and not much larger than the true one; times: 2 for L2. */
static void check_terms(const thr_scan_corpus *corpus, const float *points, const float *vector, double length,
                        const thr_origin_term *terms, double rounding) {
    const uint32_t n_dims = corpus->quantiser->n_dims, n = corpus->origins->n;
    const double times = corpus->metric == THR_METRIC_L2 ? 2 : 1, weight = naive_weight(corpus, vector);
    const double slack = fmax(0.003, 1.01 * sqrt((n_dims / 16.0 + 16) * 0x1p-24)); /* the root of rounding errors */
    for (uint32_t i = 0; i < n; i++) {
        double product = 0, square = 0, own = 0;
        for (uint32_t d = 0; d < n_dims; d++) {
            const double o = (double)points[(size_t)i * n_dims + d], q = (double)vector[d];
            product += o * q;
            square += (weight * o - q) * (weight * o - q);
            own += o * o;
        }
        const double base = corpus->metric == THR_METRIC_L2 ? -square : product;
        const double size = corpus->metric == THR_METRIC_L2 ? square : sqrt(own) * length;
        const double bound = (double)terms[i].distance, distance = times * sqrt(square);
        assert_case(fabs((double)terms[i].base - base) <= rounding * size, "%u dims, origin %u: base %.9g, not %.9g",
                    n_dims, i, (double)terms[i].base, base);
        assert_case(bound >= distance, "%s, %u dims, origin %u: bound %.9g is below %.9g",
                    thr_metric_name(corpus->metric), n_dims, i, bound, distance);
        assert_case(bound <= 1.001 * distance + slack * (length + weight * sqrt(own)),
                    "%s, %u dims, origin %u: bound %.9g is far above %.9g", thr_metric_name(corpus->metric), n_dims, i,
                    bound, distance);
    }
}

/* Read the origins of all segments, and check the bounds of their lengths and distances from the centre. */
static void read_points(const thr_index *index, float *points) {
    const thr_corpus_origins *origins = index->corpus.origins;
    const float *centre = index->manifest.quantiser.centre;
    const uint32_t n_dims = index->manifest.quantiser.n_dims;
    uint32_t at = 0;
    double longest = 0, farthest = 0, o[MOST_DIMS], oc[MOST_DIMS];
    for (uint32_t s = 0; s < index->n_segments; s++)
        for (uint32_t c = 0; c < (index->cells[s].n > 0 ? index->cells[s].n : 1); c++, at++) {
            const uint32_t first = index->cells[s].n > 0 ? index->cells[s].cells[c].first : 0;
            for (uint32_t d = 0; d < n_dims; d++) {
                o[d] = origin_value(index, s, first, d);
                oc[d] = o[d] - (centre == NULL ? 0 : (double)centre[d]);
                points[(size_t)at * n_dims + d] = (float)o[d];
            }
            longest = fmax(longest, length_of(o, n_dims));
            farthest = fmax(farthest, length_of(oc, n_dims));
        }
    assert_true(at == origins->n && at > 256);
    assert_true(origins->longest >= longest && origins->longest < longest * 1.0001);
    const double centre_length = centre == NULL ? 0 : sqrt(index->context->kernels->sum_squares(centre, n_dims));
    assert_true(origins->farthest >= farthest && origins->farthest < (longest + centre_length) * 1.0001);
}

TEST(terms_are_the_bases_and_bounds_of_distances) {
    uint64_t rng = test_seed();
    for (size_t m = 0; m < 3; m++)
        for (int more = 0; more < 4; more++) {
            const kind k = {METRICS[m], 40, 2, 1, 300, (more & 1) != 0, (more & 2) != 0, more == 2};
            OWNED(thr_index, index) = open_kind(*state, &k);
            const thr_kernels *kernels = index->context->kernels;
            const thr_corpus_origins *origins = index->corpus.origins;
            float *points = test_new((size_t)origins->n * k.n_dims, sizeof *points),
                  *scores = test_new(origins->n, sizeof *scores), *queries = make_rows(&k, 5, 9);
            thr_origin_term *terms = test_new(2 * (size_t)origins->n, sizeof *terms), *others = terms + origins->n;
            const uint32_t at = origins->n;
            read_points(index, points);
            for (size_t q = 0; q < 5; q++) {
                float *vector = queries + q * k.n_dims;
                if (q == 1)
                    memcpy(vector, points + (size_t)thr_rng_below(&rng, at) * k.n_dims, k.n_dims * sizeof *vector);
                if (q == 2)
                    memset(vector, 0, k.n_dims * sizeof *vector);
                const double length = sqrt(kernels->sum_squares(vector, k.n_dims));
                const thr_rows_kernel score = k.metric == THR_METRIC_L2 ? kernels->l2_f32 : kernels->dot_f32;
                score(scores, vector, points, k.n_dims * sizeof(float), at, k.n_dims);
                const double weight = thr_scan_origin_terms(&index->corpus, kernels, vector, length, NULL, terms);
                assert_true(thr_scan_origin_terms(&index->corpus, kernels, vector, length, scores, others) == weight);
                assert_memory_equal(terms, others, at * sizeof *terms);
                check_terms(&index->corpus, points, vector, length, terms, ROUNDING);
            }
        }
}

/*
 * Sums of many numbers of the same sign round worst. Origins at the query, and at ever larger distances from it; of
 * length 1 as by cosine, and longer.
 */
TEST(reaches_are_upper_bounds_in_many_dimensions) {
    enum { POINTS = 48, DIMS = 16384 };
    uint64_t rng = test_seed();
    thr_context *context = *state;
    float *points = test_new((size_t)POINTS * DIMS, sizeof *points), *query = test_new(DIMS, sizeof *query),
          lengths[POINTS];
    for (uint32_t n_dims = 1; n_dims <= DIMS; n_dims *= 4)
        for (size_t m = 0; m < 3; m++)
            for (int alike = 0; alike < 2; alike++) {
                thr_origin_term terms[POINTS];
                const thr_quantiser quantiser = {.n_dims = n_dims, .item_bits = 1};
                const float scale = METRICS[m] == THR_METRIC_COSINE ? 1 : exp2f((float)thr_rng_below(&rng, 20) - 10);
                test_gaussian(&rng, query, n_dims);
                for (uint32_t d = 0; d < n_dims; d++)
                    query[d] = alike ? 0.7f + 1e-3f * query[d] : query[d];
                const float unit = scale / (float)sqrt(context->kernels->sum_squares(query, n_dims));
                for (uint32_t d = 0; d < n_dims; d++)
                    query[d] *= unit;
                for (uint32_t i = 0; i < POINTS; i++) {
                    const float spread = i == 0 ? 0 : ldexpf(scale, -(int)i) / sqrtf((float)n_dims);
                    for (uint32_t d = 0; d < n_dims; d++)
                        points[(size_t)i * n_dims + d] = query[d] + spread * test_normal(&rng);
                    lengths[i] = (float)sqrt(context->kernels->sum_squares(points + (size_t)i * n_dims, n_dims));
                }
                const thr_segment_origins some = {.n = POINTS, .points = points, .lengths = lengths};
                const thr_corpus_origins origins = {.segments = &some, .n_segments = 1, .n = POINTS};
                const thr_scan_corpus corpus = {.quantiser = &quantiser, .metric = METRICS[m], .origins = &origins};
                const double length = sqrt(context->kernels->sum_squares(query, n_dims));
                thr_scan_origin_terms(&corpus, context->kernels, query, length, NULL, terms);
                check_terms(&corpus, points, query, length, terms, n_dims * 0x1p-26 + ROUNDING);
            }
}

TEST_IN_CONTEXT(2, DIR_A)
