/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_verify.c - what a writer with a mistake has sealed with right checksums: thr_index_verify computes what follows
 * from the rest again, and finds it.
 */
#include "index_support.h"

#include "base/half.h"
#include "code/nested.h"
#include "index/segment_file.h"

#include <thresher/index_change.h>

static const char DIR_A[] = "index-verify";
enum { N = 200, DIMS = 9, SEGMENT_ITEMS = 64 };

static void build(thr_context *context, const thr_index_build_options *options) {
    float *rows = random_rows(N, DIMS, 5);
    test_remove_directory(DIR_A);
    expect_ok(build_rows(context, DIR_A, rows, N, DIMS, options, &err));
}

static void expect_sound(thr_context *context) {
    OWNED(thr_index, index) = test_index_open(context, DIR_A);
    expect_ok(thr_index_verify(index, &err));
}

static void expect_found(thr_context *context, const char *wanted_text) {
    OWNED(thr_index, index) = test_index_open(context, DIR_A);
    expect_error(thr_index_verify(index, &err), THR_ECORRUPT, NULL);
    if (strstr(err.text, wanted_text) == NULL)
        fail_msg("'%s' does not say '%s'", err.text, wanted_text);
}

/* The first segment's bytes of a section, in memory; put_back writes and seals them. */
typedef struct changed {
    char path[PATH_ROOM];
    uint8_t *bytes, *section;
    size_t size;
    uint64_t n;
} changed;

static changed take(uint32_t segment, uint32_t kind) {
    changed c;
    thr_segment_header header;
    char name[32];
    thr_manifest manifest;
    thr_context *context = test_context(1, THR_ISA_BEST, NULL);
    join_path(c.path, DIR_A, "MANIFEST");
    expect_ok(thr_index_manifest_read(context, c.path, &manifest, NULL, NULL, &err));
    thr_index_segment_name_print(manifest.segments[segment].number, manifest.segments[segment].build, name);
    thr_index_manifest_free(context, &manifest);
    thr_context_free(context);
    join_path(c.path, DIR_A, name);
    c.bytes = test_bytes_of(c.path, &c.size);
    memcpy(&header, c.bytes, sizeof header);
    for (uint32_t i = 0; i < header.n_sections; i++) {
        thr_section section;
        memcpy(&section, c.bytes + header.table_offset + i * sizeof section, sizeof section);
        if (section.kind == kind) {
            c.section = c.bytes + section.offset;
            c.n = section.size;
            return c;
        }
    }
    fail_msg("segment %u has no section %u", segment, kind);
    return c;
}

static void put_back(thr_context *context, const changed *c) {
    test_write_file(c->path, c->bytes, c->size);
    reseal_index(context, DIR_A);
}

/* Change one number of a section for another, see that it is found, and put the old one back. */
static void change(thr_context *context, uint32_t kind, size_t at, const void *number, size_t size,
                   const char *wanted_text) {
    changed c = take(0, kind);
    uint8_t was[8];
    assert_true(at + size <= c.n && size <= sizeof was);
    memcpy(was, c.section + at, size);
    memcpy(c.section + at, number, size);
    put_back(context, &c);
    expect_found(context, wanted_text);
    memcpy(c.section + at, was, size);
    put_back(context, &c);
    expect_sound(context);
}

TEST(an_id_in_two_segments_is_found) {
    thr_index_build_options options = build_options(THR_METRIC_COSINE, THR_DTYPE_F32, 3);
    uint64_t ids[N];
    for (uint64_t i = 0; i < N; i++)
        ids[i] = 10 * ((i * 77) % N); /* no segment's are smaller than another's */
    options.ids = ids;
    options.n_ids = N;
    options.segment_rows = SEGMENT_ITEMS;
    build(*state, &options);
    expect_sound(*state);
    for (uint32_t segment = 0; segment < 4; segment++) {
        changed c = take(segment, THR_SECTION_IDS), order = take(segment, THR_SECTION_ID_ORDER);
        const uint32_t n_items = segment < 3 ? SEGMENT_ITEMS : N - 3 * SEGMENT_ITEMS;
        uint32_t items[SEGMENT_ITEMS];
        uint64_t id, was, next;
        memcpy(items, order.section, n_items * sizeof *items);
        for (uint32_t place = 0; place + 1 < n_items; place += 1 + place / 3) {
            memcpy(&was, c.section + items[place] * sizeof was, sizeof was);
            memcpy(&next, c.section + items[place + 1] * sizeof was, sizeof was);
            id = was + 10; /* of another segment, if not of the next item here */
            if (id == next)
                continue;
            memcpy(c.section + items[place] * sizeof was, &id, sizeof id);
            put_back(*state, &c);
            char wanted_text[64];
            (void)snprintf(wanted_text, sizeof wanted_text, "has the id %llu of item", (unsigned long long)id);
            expect_found(*state, wanted_text);
            memcpy(c.section + items[place] * sizeof was, &was, sizeof was);
        }
        put_back(*state, &c);
    }
    expect_sound(*state);
}

/* Items that are added get ids from there on. */
TEST(a_next_id_that_an_item_has_is_found) {
    thr_index_build_options options = build_options(THR_METRIC_COSINE, THR_DTYPE_F32, 3);
    uint64_t ids[N];
    const uint64_t gone = 500;
    char path[PATH_ROOM], *text;
    size_t size;
    thr_manifest manifest;
    for (uint64_t i = 0; i < N; i++)
        ids[i] = 500 - i;
    options.ids = ids;
    options.n_ids = N;
    build(*state, &options);
    join_path(path, DIR_A, "MANIFEST");
    for (int mended = 0; mended < 2; mended++) {
        expect_ok(thr_index_remove(*state, DIR_A, &gone, 1, NULL, &err));
        expect_ok(thr_index_manifest_read(*state, path, &manifest, NULL, NULL, &err));
        assert_int_equal(manifest.next_id, 501);
        manifest.next_id = mended == 0 ? 500 : 501; /* the removed item counts, too */
        expect_ok(thr_index_manifest_print(*state, &manifest, &text, &size, &err));
        test_write_file(path, text, size);
        if (mended == 0)
            expect_found(*state, "has the id 500, but the MANIFEST's 'next' is 500");
        manifest.next_id = 501;
        thr_release(*state, text);
        expect_ok(thr_index_manifest_print(*state, &manifest, &text, &size, &err));
        test_write_file(path, text, size);
        thr_release(*state, text);
        thr_index_manifest_free(*state, &manifest);
        expect_sound(*state);
    }
}

/* They are not in the segments. */
TEST(a_rotation_or_ranges_of_other_codes_are_found) {
    char path[PATH_ROOM], *text;
    size_t size;
    join_path(path, DIR_A, "MANIFEST");
    for (int how = 0; how < 8; how++) {
        thr_index_build_options options = build_options((thr_metric)(how % 3), THR_DTYPE_F32, 3);
        thr_manifest manifest;
        options.rotate = how % 2 == 0 ? THR_ROTATE_ON : THR_ROTATE_OFF;
        options.lead_bits = how % 4 < 2 ? 3 : 1;
        options.cells = how < 4 ? 0 : 6;
        build(*state, &options);
        expect_sound(*state);
        for (int which = 0; which < 2; which++) {
            expect_ok(thr_index_manifest_read(*state, path, &manifest, NULL, NULL, &err));
            uint8_t *before = test_bytes_of(path, &size);
            const size_t n_before = size;
            if (which == 0)
                manifest.quantiser.rotation_seed = how % 4 == 0 ? 0 : manifest.quantiser.rotation_seed + 1;
            else
                manifest.quantiser.ranges[2] *= 4;
            expect_ok(thr_index_manifest_print(*state, &manifest, &text, &size, &err));
            test_write_file(path, text, size);
            expect_found(*state, "with the MANIFEST's rotation and ranges");
            test_write_file(path, before, n_before);
            thr_release(*state, text);
            thr_index_manifest_free(*state, &manifest);
        }
        expect_sound(*state);
    }
}

TEST(inverse_norms_that_are_not_the_vectors_are_found) {
    static const thr_dtype keeps[] = {THR_DTYPE_F32, THR_DTYPE_F16, THR_DTYPE_I8};
    for (size_t k = 0; k < 3; k++) {
        const thr_index_build_options options = build_options(THR_METRIC_COSINE, keeps[k], 3);
        build(*state, &options);
        expect_sound(*state);
        changed c = take(0, THR_SECTION_INVERSE_NORMS);
        float norm;
        memcpy(&norm, c.section + 7 * sizeof norm, sizeof norm);
        const float wrong[] = {-norm, 0, INFINITY, NAN, 2 * norm, 1.00001f * norm, 0.99999f * norm};
        /* Only float32 vectors have the length by themselves: that of the others is stored here alone. */
        const size_t n = keeps[k] == THR_DTYPE_F32 ? COUNT_OF(wrong) : 3;
        for (size_t i = 0; i < n; i++)
            change(*state, THR_SECTION_INVERSE_NORMS, 7 * sizeof norm, &wrong[i], sizeof norm,
                   "section inverse norms: that of item 7 is ");
    }
}

TEST(vectors_that_are_not_finite_are_found) {
    static const thr_metric metrics[] = {THR_METRIC_COSINE, THR_METRIC_IP, THR_METRIC_L2};
    const float nan = NAN, infinity = -INFINITY, longest = 0x1p125F;
    const uint16_t half_nan = 0x7e00, half_infinity = 0x7c00;
    const char wanted_text[] = "section vectors: that of item 3 holds NaN or infinity";
    const size_t at = 3 * DIMS + 4;
    for (size_t m = 0; m < 3; m++) {
        thr_index_build_options options = build_options(metrics[m], THR_DTYPE_F32, 2);
        build(*state, &options);
        change(*state, THR_SECTION_VECTORS, at * sizeof nan, &nan, sizeof nan, wanted_text);
        change(*state, THR_SECTION_VECTORS, at * sizeof nan, &infinity, sizeof nan, wanted_text);
        change(*state, THR_SECTION_VECTORS, at * sizeof nan, &longest, sizeof nan, "or is longer than");
        options.keep = THR_DTYPE_F16;
        build(*state, &options);
        change(*state, THR_SECTION_VECTORS, at * sizeof half_nan, &half_nan, sizeof half_nan, wanted_text);
        change(*state, THR_SECTION_VECTORS, at * sizeof half_nan, &half_infinity, sizeof half_nan, wanted_text);
        options.keep = THR_DTYPE_I8;
        build(*state, &options);
        change(*state, THR_SECTION_SCALES, 3 * sizeof nan, &nan, sizeof nan, wanted_text);
    }
}

TEST(factors_that_are_no_numbers_are_found) {
    const float wrong[] = {NAN, INFINITY, -1};
    const uint16_t halves[] = {0x7fc0, 0x7f80, 0xbf80}; /* bfloat16 */
    thr_index_build_options options = build_options(THR_METRIC_L2, THR_DTYPE_NONE, 3);
    options.lead_bits = 3;
    build(*state, &options);
    for (size_t i = 0; i < 3; i++)
        change(*state, THR_SECTION_FACTORS, 5 * sizeof *wrong, &wrong[i], sizeof *wrong, "item 5 has the factor");
    for (size_t i = 0; i < 2; i++)
        change(*state, THR_SECTION_OFFSETS, 5 * sizeof *wrong, &wrong[i], sizeof *wrong, "item 5 has the factor");
    options.lead_bits = 1;
    build(*state, &options);
    for (size_t i = 0; i < 3; i++) /* pairs of factor and offset */
        change(*state, THR_SECTION_LEADS, 5 * 2 * sizeof *halves, &halves[i], sizeof *halves,
               "section leads: item 5 has the factor");
    change(*state, THR_SECTION_LEADS, (5 * 2 + 1) * sizeof *halves, &halves[0], sizeof *halves, "and the offset nan");
    const size_t record = thr_record_size(thr_record_shape_of(DIMS, 3, 1, true));
    for (size_t i = 0; i < 3; i++)
        change(*state, THR_SECTION_RECORDS, 5 * record, &halves[i], sizeof *halves,
               "section records: item 5 has the factor");
}

/* The first plane of every dimension of an item. */
TEST(codes_that_are_not_the_vectors_are_found) {
    enum { ITEM = 77 };
    const uint32_t bits = 3, lead = 2, rows = (DIMS + 7) / 8;
    for (int how = 0; how < 9; how++) {
        thr_index_build_options options = build_options(
            (thr_metric)(how % 3), (thr_dtype[]){THR_DTYPE_F32, THR_DTYPE_F16, THR_DTYPE_I8}[how / 3], bits);
        options.lead_bits = how % 2 == 0 ? lead : bits;
        options.cells = how % 3 == 0 ? 0 : 6;
        build(*state, &options);
        expect_sound(*state);
        const size_t planes = options.lead_bits, block = (size_t)rows * planes * THR_BLOCK_ITEMS;
        for (uint32_t d = 0; d < DIMS; d++) {
            changed c = take(0, THR_SECTION_CODES);
            const size_t at =
                ITEM / THR_BLOCK_ITEMS * block + d / 8 * planes * THR_BLOCK_ITEMS + ITEM % THR_BLOCK_ITEMS;
            const uint8_t byte = c.section[at] ^ (uint8_t)(1 << d % 8);
            change(*state, THR_SECTION_CODES, at, &byte, 1, "section ");
        }
    }
}

TEST(numbers_that_are_not_the_vectors_are_found) {
    thr_index_build_options options = build_options(THR_METRIC_L2, THR_DTYPE_F32, 3);
    options.lead_bits = 3;
    build(*state, &options);
    for (int part = 0; part < 2; part++) {
        const uint32_t kind = part == 0 ? THR_SECTION_FACTORS : THR_SECTION_OFFSETS;
        changed c = take(0, kind);
        float number;
        memcpy(&number, c.section + 5 * sizeof number, sizeof number);
        const float wrong[] = {0.9999f * number, 1.0001f * number, 0};
        for (size_t i = 0; i < COUNT_OF(wrong); i++)
            change(*state, kind, 5 * sizeof number, &wrong[i], sizeof number,
                   part == 0 ? "the factor of item 5 is not that" : "the offset of item 5 is not that");
    }
    options.lead_bits = 1;
    build(*state, &options);
    const uint16_t zero = 0;
    change(*state, THR_SECTION_LEADS, 5 * 2 * sizeof zero, &zero, sizeof zero, "section leads: the factor of item 5");
    change(*state, THR_SECTION_LEADS, (5 * 2 + 1) * sizeof zero, &zero, sizeof zero,
           "section leads: the offset of item");
}

/* Certificates rely on the bounds of errors: one that is too small is found where codes prove it. */
TEST(bounds_that_items_exceed_are_found) {
    char path[PATH_ROOM], *text;
    size_t size;
    const float none[2] = {0, 0};
    join_path(path, DIR_A, "MANIFEST");
    for (int metric = 0; metric < 3; metric++) {
        thr_index_build_options options = build_options((thr_metric)metric, THR_DTYPE_I8, 3);
        options.lead_bits = 1;
        build(*state, &options);
        change(*state, THR_SECTION_KEPT, DIMS * sizeof(float), none, sizeof none, "MANIFEST");
        options.keep = THR_DTYPE_F32;
        build(*state, &options);
        for (int which = 0; which < 2; which++) {
            thr_manifest manifest;
            expect_ok(thr_index_manifest_read(*state, path, &manifest, NULL, NULL, &err));
            *(which == 0 ? &manifest.errors.lead_error : &manifest.errors.full_error) *= 0.99f;
            expect_ok(thr_index_manifest_print(*state, &manifest, &text, &size, &err));
            test_write_file(path, text, size);
            thr_release(*state, text);
            thr_index_manifest_free(*state, &manifest);
            expect_found(*state, "is farther from its residual than the");
            build(*state, &options);
        }
    }
}

/* Answers are certified by the manifest's lengths of codes, so a code that is longer makes wrong promises. */
TEST(codes_longer_than_the_manifest_has_them_are_found) {
    thr_index_build_options options = build_options(THR_METRIC_COSINE, THR_DTYPE_F32, 3);
    options.lead_bits = 1;
    build(*state, &options);
    const size_t record = thr_record_size(thr_record_shape_of(DIMS, 3, 1, false));
    const uint16_t large = thr_bf16_from_f32(3);
    change(*state, THR_SECTION_LEADS, 9 * sizeof large, &large, sizeof large,
           "section leads: the code of item 9 times its factor has length");
    change(*state, THR_SECTION_RECORDS, 9 * record, &large, sizeof large,
           "section records: the code of item 9 times its factor has length");
}

/* What a search finds by features would be called something else than what it finds by vectors. */
TEST(features_of_other_items_are_found) {
    for (int names = 0; names < 2; names++) {
        thr_index_build_options options = build_options(THR_METRIC_COSINE, THR_DTYPE_F32, 3);
        char path[PATH_ROOM];
        size_t size;
        FILE *table = fopen("verify-features.tsv", "w"), *list = fopen("verify-names.txt", "w");
        assert_true(table != NULL && list != NULL);
        for (int i = 0; i < N; i++) {
            (void)fprintf(table, "%s%d\tcolour=%d\n", names != 0 ? "item" : "", 1000 + i, i % 7);
            (void)fprintf(list, "%s%d\n", names != 0 ? "item" : "", 1000 + i);
        }
        (void)fclose(table);
        (void)fclose(list);
        options.features_path = "verify-features.tsv";
        options.ids_path = "verify-names.txt";
        build(*state, &options);
        expect_sound(*state);
        assert_int_equal(count_files(DIR_A, ".hits", path), 1);
        uint8_t *bytes = test_bytes_of(path, &size);
        const uint64_t was = 1199, is = 1200; /* the last, so that they still ascend */
        for (size_t i = 0; i + 8 <= size; i++) {
            if (names != 0 && memcmp(bytes + i, "item1199", 8) == 0)
                memcpy(bytes + i, "item1200", 8);
            else if (names == 0 && memcmp(bytes + i, &was, sizeof was) == 0)
                memcpy(bytes + i, &is, sizeof is);
        }
        test_write_file(path, bytes, size);
        reseal_index(*state, DIR_A);
        expect_found(*state, "item 199 has another id or name in index-verify/features-");
    }
    (void)unlink("verify-features.tsv");
    (void)unlink("verify-names.txt");
}

TEST_IN_CONTEXT(1, DIR_A)
