/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_nested.c - codes taken apart bit by bit: the leading planes are a code of fewer bits, records hold the others,
 * and v = 2^m v_lead + v_rest, so that their two products make the whole code's.
 */
#include "owned.h"

#include "code/nested.h"

#include "base/half.h"

enum { BLOCKS = 2, ITEMS = 64 * BLOCKS, MARK = 0xa5, READ_BEYOND = 7 };

/* Blocks of any planes, and what thr_code_split_planes makes of them. */
typedef struct split_codes {
    uint32_t n_dims, bits, lead;
    thr_record_shape shape;
    uint8_t *codes, *lead_codes, *records;
} split_codes;

static split_codes split_random(uint64_t *rng, uint32_t n_dims, uint32_t bits, uint32_t lead, bool has_offset) {
    split_codes s = {n_dims, bits, lead, thr_record_shape_of(n_dims, bits, lead, has_offset), NULL, NULL, NULL};
    const size_t size = BLOCKS * thr_block_size(n_dims, bits), record_bytes = ITEMS * thr_record_size(s.shape);
    s.codes = test_new(size, 1);
    for (size_t i = 0; i < size; i++) {
        const bool last = i / 64 / bits % thr_code_rows(n_dims) == n_dims / 8;
        s.codes[i] = (uint8_t)(thr_rng_next(rng) & (last ? (1u << n_dims % 8) - 1 : 0xff));
    }
    s.lead_codes = test_new(BLOCKS * thr_block_size(n_dims, lead), 1);
    s.records = test_new(record_bytes + READ_BEYOND, 1);
    memset(s.records, MARK, record_bytes);
    thr_code_split_planes(s.codes, BLOCKS, lead, s.shape, s.lead_codes, s.records);
    return s;
}

static const uint8_t *planes_of(const split_codes *s, uint64_t item) {
    return s->records + item * thr_record_size(s->shape) + thr_record_head(s->shape);
}

/* The odd integer that a record's planes have for a dimension. */
static int rest_value(const split_codes *s, uint64_t item, uint32_t dim) {
    int u = 0;
    for (uint32_t p = 0; p < s->shape.n_planes; p++)
        u = 2 * u + (planes_of(s, item)[p * s->shape.n_rows + dim / 8] >> dim % 8 & 1);
    return 2 * u + 1 - (1 << s->shape.n_planes);
}

/* Every shape of few dimensions. */
static void for_every_shape(void (*check)(uint64_t *rng, const split_codes *s)) {
    uint64_t rng = test_seed();
    for (uint32_t bits = 2; bits <= THR_MAX_BITS; bits++)
        for (uint32_t lead = 1; lead < bits; lead++)
            for (uint32_t n_dims = 1; n_dims <= 40; n_dims += 1 + (uint32_t)thr_rng_below(&rng, 6)) {
                split_codes s = split_random(&rng, n_dims, bits, lead, thr_rng_below(&rng, 2) == 0);
                check(&rng, &s);
            }
}

static void check_bits(uint64_t *rng, const split_codes *s) {
    (void)rng;
    for (uint64_t i = 0; i < ITEMS; i++)
        for (uint32_t d = 0; d < 8 * s->shape.n_rows; d++)
            for (uint32_t p = 0; p < s->bits; p++) {
                const unsigned wanted = test_code_bit(s->codes, s->n_dims, s->bits, i, d, p);
                const uint32_t j = p - s->lead;
                const unsigned got = p < s->lead ? test_code_bit(s->lead_codes, s->n_dims, s->lead, i, d, p)
                                                 : (unsigned)planes_of(s, i)[j * s->shape.n_rows + d / 8] >> d % 8 & 1u;
                assert_case(got == wanted, "seed %llu: %u dims, %u of %u planes: item %llu, dimension %u, plane %u",
                            (unsigned long long)test_seed(), s->n_dims, s->lead, s->bits, (unsigned long long)i, d, p);
            }
}

TEST(every_bit_goes_to_its_place) {
    for_every_shape(check_bits);
}

static void check_heads(uint64_t *rng, const split_codes *s) {
    (void)rng;
    for (uint64_t i = 0; i < ITEMS; i++)
        for (size_t b = 0; b < thr_record_head(s->shape); b++)
            assert_int_equal(s->records[i * thr_record_size(s->shape) + b], MARK);
    for (size_t b = 0; b < READ_BEYOND; b++)
        assert_int_equal(s->records[ITEMS * thr_record_size(s->shape) + b], 0);
}

TEST(heads_and_what_follows_are_not_touched) {
    for_every_shape(check_heads);
}

static void check_values(uint64_t *rng, const split_codes *s) {
    const uint64_t item = thr_rng_below(rng, ITEMS);
    for (uint32_t d = 0; d < s->n_dims; d++)
        assert_int_equal(test_code_value(s->codes, s->n_dims, s->bits, item, d),
                         (1 << s->shape.n_planes) * test_code_value(s->lead_codes, s->n_dims, s->lead, item, d) +
                             rest_value(s, item, d));
}

TEST(values_are_those_of_both_parts_together) {
    for_every_shape(check_values);
}

/* ------------------------------------------------------------------------------------------------ records */

TEST(heads_are_bfloat16_up_to_four_bits_and_float32_beyond) {
    uint64_t rng = test_seed();
    for (uint32_t bits = 2; bits <= THR_MAX_BITS; bits++)
        for (int has_offset = 0; has_offset < 2; has_offset++) {
            const thr_record_shape shape = thr_record_shape_of(20, bits, 1, has_offset != 0);
            const size_t head = thr_record_head(shape), size = thr_record_size(shape);
            const float factor = test_normal(&rng), offset = 1e10f * test_normal(&rng);
            float read_factor = 7, read_offset = 7;
            uint8_t record[64];
            assert_int_equal(shape.wide, bits > 4);
            assert_int_equal(head, (bits > 4 ? 4 : 2) * (1 + has_offset));
            assert_int_equal(size, head + (bits - 1) * 3);
            memset(record, MARK, sizeof record);
            thr_code_record_write_head(shape, record + 1, factor, offset); /* records need no alignment */
            thr_code_record_read_head(shape, record + 1, &read_factor, &read_offset);
            assert_true(read_factor == (shape.wide ? factor : thr_bf16_to_f32(thr_bf16_from_f32(factor))));
            assert_true(read_offset == (!has_offset  ? 0
                                        : shape.wide ? offset
                                                     : thr_bf16_to_f32(thr_bf16_from_f32(offset))));
            assert_int_equal(record[0], MARK);
            for (size_t b = 1 + head; b < sizeof record; b++)
                assert_int_equal(record[b], MARK);
        }
}

/* ------------------------------------------------------------------------------------------------ queries */

/* A query of so many dimensions with random ranges, made into memory that is all ones. */
typedef struct made_query {
    thr_quantiser quantiser;
    float *vector;
    double norm;
    void *memory;
    thr_rest_query rest;
} made_query;

static made_query make_query(uint64_t *rng, uint32_t n_dims) {
    made_query q = {.quantiser = {.n_dims = n_dims, .item_bits = THR_MAX_BITS}};
    const size_t size = thr_rest_query_size(n_dims);
    for (int b = 0; b < THR_MAX_BITS; b++)
        q.quantiser.ranges[b] = 0.05f + (float)thr_rng_below(rng, 100) / 200; /* some components are cut off */
    q.vector = test_new(n_dims, sizeof *q.vector);
    test_gaussian(rng, q.vector, n_dims);
    for (uint32_t d = 0; d < n_dims; d++)
        q.norm += (double)q.vector[d] * (double)q.vector[d];
    q.norm = sqrt(q.norm);
    assert_int_equal(size % 64, 0);
    assert_true(size >= n_dims && size < n_dims + 64);
    q.memory = test_new_aligned(size);
    memset(q.memory, 0xff, size);
    thr_code_rest_query_make(&q.rest, &q.quantiser, q.vector, q.norm, q.memory);
    return q;
}

TEST(digits_are_the_odd_integers_of_seven_bits) {
    uint64_t rng = test_seed();
    for (uint32_t n_dims = 1; n_dims <= 200; n_dims += 1 + (uint32_t)thr_rng_below(&rng, 10)) {
        made_query q = make_query(&rng, n_dims);
        const float scale = (float)(64 / (q.norm * (double)q.quantiser.ranges[6]));
        int64_t sum = 0, square = 0;
        for (uint32_t d = 0; d < n_dims; d++) {
            const int wanted = 2 * (int)fminf(fmaxf(floorf(q.vector[d] * scale), -64), 63) + 1;
            assert_case(q.rest.digits[d] == wanted, "seed %llu: %u dims: digit %u is %d, not %d",
                        (unsigned long long)test_seed(), n_dims, d, q.rest.digits[d], wanted);
            sum += wanted;
            square += wanted * wanted;
        }
        for (uint32_t d = n_dims; d < thr_rest_query_size(n_dims); d++)
            assert_int_equal(q.rest.digits[d], 0);
        assert_int_equal(q.rest.digit_sum, sum);
        assert_true(q.rest.gain == (float)(1 / sqrt((double)square)));
    }
}

/* With both parts scored by the same query the sum is the whole code's product, at every level. */
static void check_products(uint64_t *rng, const split_codes *s) {
    made_query q = make_query(rng, s->n_dims);
    for (uint64_t i = 0; i < ITEMS; i++) {
        int32_t whole = 0, lead = 0, rest = 0;
        for (uint32_t d = 0; d < s->n_dims; d++) {
            whole += q.rest.digits[d] * test_code_value(s->codes, s->n_dims, s->bits, i, d);
            lead += q.rest.digits[d] * test_code_value(s->lead_codes, s->n_dims, s->lead, i, d);
            rest += q.rest.digits[d] * rest_value(s, i, d);
        }
        assert_int_equal(whole, (1 << s->shape.n_planes) * lead + rest);
        for (int isa = THR_ISA_SCALAR; isa <= THR_ISA_LAST; isa++) {
            if (!thr_kernel_isa_has((thr_isa)isa))
                continue;
            assert_int_equal(thr_kernels_get((thr_isa)isa)
                                 ->rest_product(planes_of(s, i), s->shape.n_planes, s->shape.n_rows, q.rest.digits,
                                                q.rest.digit_sum),
                             rest);
        }
    }
}

TEST(products_of_both_parts_make_the_whole_product) {
    for_every_shape(check_products);
}

/*
 * The estimate divides by products measured while encoding: those of the leading planes are of the code in the blocks.
 */
TEST(leading_planes_are_measured_as_a_code_of_their_own) {
    enum { ROWS = 100, DIMS = 30 };
    uint64_t rng = test_seed();
    OWNED(thr_context, context) = test_context(2, THR_ISA_BEST, NULL);
    float *rows = test_new((size_t)ROWS * DIMS, sizeof *rows);
    test_gaussian(&rng, rows, (size_t)ROWS * DIMS);
    for (uint32_t bits = 2; bits <= THR_MAX_BITS; bits += 2)
        for (uint32_t lead = 1; lead < bits; lead++) {
            const thr_matrix matrix = thr_matrix_f32(rows, ROWS, DIMS);
            float norms[ROWS], products[ROWS], lead_products[ROWS];
            const thr_measures measures = {
                .norms = norms, .products = products, .lead_products = lead_products, .lead = lead};
            split_codes s = split_random(&rng, DIMS, bits, lead, false);
            thr_quantiser quantiser;
            expect_ok(thr_code_quantiser_train(context, &matrix, bits, 0, &quantiser, &err));
            expect_ok(thr_code_encode_blocks(context, &quantiser, &matrix, 0, s.codes, &measures, &err));
            thr_code_split_planes(s.codes, BLOCKS, lead, s.shape, s.lead_codes, s.records);
            for (uint64_t i = 0; i < ROWS; i++) {
                double whole = 0, led = 0;
                for (uint32_t d = 0; d < DIMS; d++) {
                    const double x = (double)rows[i * DIMS + d] / (double)norms[i];
                    whole += x * test_code_value(s.codes, DIMS, bits, i, d);
                    led += x * test_code_value(s.lead_codes, DIMS, lead, i, d);
                }
                assert_case(fabs(whole - (double)products[i]) <= 1e-5 * whole &&
                                fabs(led - (double)lead_products[i]) <= 1e-5 * led,
                            "seed %llu: %u of %u planes, row %llu: %.9g and %.9g, not %.9g and %.9g",
                            (unsigned long long)test_seed(), lead, bits, (unsigned long long)i, (double)products[i],
                            (double)lead_products[i], whole, led);
            }
            thr_code_quantiser_free(context, &quantiser);
        }
}
