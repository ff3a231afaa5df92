/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base_section_file.c - files of sections: the reader accepts the writer's files, reports a newer version as newer even
 * if other fields are unknown, and refuses every wrong number in the header and the table, also if their sums overflow.
 */
#include "test.h"

#include "base/files/section_file.h"
#include "damage.h"
#include "seal.h"

#include <fcntl.h>

static const char PATH[] = "unit-section-file";
static const char *const names[] = {"?", "first", "second", "third"};
static const thr_file_kind kind = {.magic = {'T', 'E', 'S', 'T', 0, 0, 0, 1},
                                   .last = 3,
                                   .names = names,
                                   .foreign_status = THR_EFORMAT,
                                   .foreign_text = "is no test",
                                   .remedy = "write it again"};

typedef struct header {
    uint8_t magic[8];
    uint32_t version, numbers[5], n_sections, more;
    uint64_t table_offset, last, checksum;
} header;

_Static_assert(sizeof(header) == THR_SECTIONS_HEADER, "no padding");

/* Sections of 100 and 7 bytes; the second kind is not there. */
static thr_section_rule rule(const void *shape, uint32_t of, uint64_t *size) {
    *size = of == 1 ? 100 : 5;
    (void)shape;
    return of == 1 ? THR_SECTION_EXACT : of == 2 ? THR_SECTION_ABSENT : THR_SECTION_AT_LEAST;
}

typedef struct fixture {
    thr_context *context;
    uint64_t words[512]; /* the file, aligned */
    uint8_t *bytes;
    size_t size;
} fixture;

static void make(fixture *f, thr_context *context) {
    thr_section_writer writer;
    header h = {.version = 0};
    char data[100];
    memset(data, 'x', sizeof data);
    memcpy(h.magic, kind.magic, sizeof h.magic);
    expect_ok(thr_sections_open(context, PATH, &writer, &err));
    expect_ok(thr_sections_put(&writer, 1, data, 100, &err));
    expect_ok(thr_sections_put(&writer, 3, data, 7, &err));
    expect_ok(thr_sections_finish(&writer, &h, &err));
    thr_sections_drop(&writer);
    uint8_t *bytes = test_bytes_of(PATH, &f->size);
    assert_true(f->size == 320 && f->size <= sizeof f->words);
    memcpy(f->words, bytes, f->size);
    f->bytes = (uint8_t *)f->words;
    f->context = context;
}

static thr_status read_it(const fixture *f, thr_section_file *file, thr_error *error) {
    const thr_status status = thr_section_file_read(&kind, PATH, f->bytes, f->size, file, error);
    return status == THR_OK ? thr_section_file_fit(file, rule, NULL, error) : status;
}

TEST(what_is_written_is_read) {
    fixture f;
    thr_section_file file;
    make(&f, *state);
    expect_ok(read_it(&f, &file, &err));
    assert_int_equal(file.n_sections, 2);
    assert_int_equal(f.bytes[THR_SECTIONS_VERSION_AT], THR_FORMAT_VERSION);
    assert_ptr_equal(thr_section_file_at(&file, 1), f.bytes + 64);
    assert_null(thr_section_file_at(&file, 2));
    assert_int_equal(thr_section_file_find(&file, 3)->size, 7);
    assert_true(thr_section_file_is_whole(&file));
    f.bytes[180] = 1; /* between sections */
    assert_false(thr_section_file_is_whole(&file));
    expect_error(thr_section_file_check_gaps(&file, &err), THR_ECORRUPT, "offset 180");
    f.bytes[180] = 0;
    f.bytes[193] ^= 1;
    assert_false(thr_section_file_is_whole(&file));
}

/* The offset of the version number never changes; the bytes after it may be anything. */
RANDOM_TEST(another_version_is_reported_whatever_else_it_holds) {
    static const char wanted_text[] = "is of format version 4; this library reads version 1: build it again";
    fixture f;
    thr_section_file file;
    make(&f, *state);
    f.bytes[8] = 4;
    expect_error(read_it(&f, &file, &err), THR_EVERSION, wanted_text);
    for (size_t i = 12; i < f.size; i++)
        f.bytes[i] = (uint8_t)thr_rng_next(&rng);
    expect_error(read_it(&f, &file, &err), THR_EVERSION, wanted_text);
    for (f.size = 12; f.size < 64; f.size++)
        expect_error(read_it(&f, &file, &err), THR_EVERSION, wanted_text);
    f.bytes[8] = 0;
    expect_error(read_it(&f, &file, &err), THR_EVERSION, "is of format version 0");
    f.bytes[7] = 2;
    expect_error(read_it(&f, &file, &err), THR_EFORMAT, "is no test");
}

TEST(sections_that_are_unknown_or_not_wanted_are_refused) {
    fixture f;
    thr_section_file file;
    make(&f, *state);
    f.bytes[256 + 32] = 9; /* the kind of the second section */
    expect_error(read_it(&f, &file, &err), THR_ECORRUPT, "offset 56: the checksum");
    assert_true(test_seal(f.bytes, f.size));
    expect_error(read_it(&f, &file, &err), THR_ECORRUPT, "the section table is wrong");
    f.bytes[256 + 32] = 2; /* a known kind that is not wanted */
    assert_true(test_seal(f.bytes, f.size));
    expect_error(read_it(&f, &file, &err), THR_ECORRUPT, "the section table is wrong");
}

TEST(numbers_of_the_table_that_are_wrong_are_refused) {
    static const uint64_t extremes[] = {0,       1,      65,         128,        319,        320,
                                        321,     384,    1ull << 31, 1ull << 32, 1ull << 55, 1ull << 63,
                                        -128ull, -64ull, -32ull,     UINT64_MAX};
    static const size_t places[] = {THR_SECTIONS_TABLE_AT, 256 + 8, 256 + 16, 256 + 40, 256 + 48};
    fixture f;
    thr_section_file file;
    make(&f, *state);
    for (size_t p = 0; p < COUNT_OF(places); p++)
        for (size_t e = 0; e < COUNT_OF(extremes); e++)
            for (uint32_t n = 0; n < 26; n++) {
                uint64_t was;
                uint8_t *at = f.bytes + places[p];
                memcpy(&was, at, sizeof was);
                if (was == extremes[e] || (n != 2 && places[p] != THR_SECTIONS_TABLE_AT))
                    continue;
                memcpy(at, &extremes[e], sizeof was);
                f.bytes[THR_SECTIONS_COUNT_AT] = (uint8_t)n;
                if (places[p] != THR_SECTIONS_TABLE_AT)
                    assert_true(test_seal(f.bytes, f.size));
                assert_case(read_it(&f, &file, &err) == THR_ECORRUPT, "%zu: %#llx, %u sections", places[p],
                            (unsigned long long)extremes[e], n);
                memcpy(at, &was, sizeof was);
            }
    f.bytes[THR_SECTIONS_COUNT_AT] = 2;
    assert_true(test_seal(f.bytes, f.size));
    expect_ok(read_it(&f, &file, &err));
}

TEST(a_file_that_changed_is_noticed) {
    fixture f;
    thr_map map;
    thr_section_file file;
    thr_file_sum sum;
    make(&f, *state);
    expect_ok(thr_map_open(PATH, &map, &err));
    expect_ok(thr_section_file_read(&kind, PATH, map.data, map.size, &file, &err));
    expect_ok(thr_file_sum_start(*state, map.size, 1, &sum, &err));
    expect_ok(thr_section_file_verify(&file, &map, &sum, &err));
    file.sections[1].checksum ^= 1;
    expect_error(thr_section_file_verify(&file, &map, &sum, &err), THR_ECORRUPT, "section third, offset 192");
    file.checksum ^= 1;
    expect_error(thr_section_file_verify(&file, &map, &sum, &err), THR_ECHANGED, "open it again");
    assert_int_equal(truncate(PATH, 321), 0);
    expect_error(thr_section_file_verify(&file, &map, &sum, &err), THR_ECHANGED, "321 now");
    thr_file_sum_end(&sum);
    thr_map_close(&map);
    (void)unlink(PATH);
}

TEST_IN_CONTEXT(2, NULL)
