/* SPDX-License-Identifier: Apache-2.0 */
/* Every byte of an index changed, cut or missing: an error that names the file, never a crash or a wrong answer. */
#include "index_support.h"

#include "index/segment_file.h"

#include <fcntl.h>

static const char DIR_A[] = "index-damage";
enum { N = 70, DIMS = 5 };

typedef struct small {
    thr_context *context;
    char segment[PATH_ROOM], manifest[PATH_ROOM];
    uint8_t *bytes; /* of the segment */
    size_t size;
} small;

/* bits: planes, of which two are in the blocks. */
static small make_cells(thr_context *context, thr_metric metric, thr_dtype keep, uint32_t bits, bool ids, bool names,
                        uint32_t cells) {
    small s = {.context = context};
    float *rows = random_rows(N, DIMS, 3);
    uint64_t numbers[N];
    thr_index_build_options options = build_options(metric, keep, bits);
    test_remove_directory(DIR_A);
    options.lead_bits = 2;
    options.cells = cells;
    for (uint64_t i = 0; bits > 4 && i < (uint64_t)N * DIMS; i++)
        rows[i] += 2; /* worth a centre */
    for (uint64_t i = 0; i < N; i++)
        numbers[i] = 1000 - 7 * i;
    if (ids) {
        options.ids = numbers;
        options.n_ids = N;
    }
    if (names) {
        FILE *file = fopen("damage-names.txt", "w");
        assert_non_null(file);
        for (int i = 0; i < N; i++)
            (void)fprintf(file, "word%d\n", i);
        (void)fclose(file);
        options.ids_path = "damage-names.txt";
    }
    expect_ok(build_rows(context, DIR_A, rows, N, DIMS, &options, &err));
    assert_int_equal(count_files(DIR_A, ".seg", s.segment), 1);
    join_path(s.manifest, DIR_A, "MANIFEST");
    s.bytes = test_bytes_of(s.segment, &s.size);
    return s;
}

static small make_small(thr_context *context, thr_metric metric, thr_dtype keep, uint32_t bits, bool ids, bool names) {
    return make_cells(context, metric, keep, bits, ids, names, 0);
}

/* Files are changed and cut in place: rewriting them thousands of times would keep the disk busy for a minute. */
static int open_for_damage(const char *path) {
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    return fd;
}

static void put_byte(int fd, size_t at, uint8_t value) {
    assert_int_equal(pwrite(fd, &value, 1, (off_t)at), 1);
}

static void cut(int fd, size_t size) {
    assert_int_equal(ftruncate(fd, (off_t)size), 0);
}

/* Open, and verify when that works. */
static thr_status open_and_verify(thr_context *context, bool *opened) {
    OWNED(thr_index, index) = NULL;
    thr_status status = thr_index_open(context, DIR_A, &index, &err);
    *opened = status == THR_OK;
    if (*opened)
        status = thr_index_verify(index, &err);
    return status;
}

TEST(every_changed_byte_of_a_segment_is_found) {
    static const struct {
        thr_metric metric;
        thr_dtype keep;
        uint32_t bits;
        bool ids, names;
        uint32_t cells;
    } kinds[] = {
        {THR_METRIC_L2, THR_DTYPE_F32, 3, true, false, 4},       {THR_METRIC_COSINE, THR_DTYPE_F16, 2, true, false, 0},
        {THR_METRIC_L2, THR_DTYPE_I8, 2, false, true, 0},        {THR_METRIC_IP, THR_DTYPE_F32, 2, false, false, 0},
        {THR_METRIC_COSINE, THR_DTYPE_NONE, 2, false, false, 0}, {THR_METRIC_IP, THR_DTYPE_F16, 3, true, false, 0},
        {THR_METRIC_COSINE, THR_DTYPE_I8, 6, false, false, 0}};
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        small s = make_cells(*state, kinds[k].metric, kinds[k].keep, kinds[k].bits, kinds[k].ids, kinds[k].names,
                             kinds[k].cells);
        bool opened;
        size_t n_opened = 0;
        int fd = open_for_damage(s.segment);
        expect_ok(open_and_verify(s.context, &opened));
        for (size_t i = 0; i < s.size; i++) {
            put_byte(fd, i, s.bytes[i] ^ (uint8_t)(1 << i % 8));
            thr_status status = open_and_verify(s.context, &opened);
            if (status != THR_ECORRUPT && status != THR_EVERSION)
                fail_msg("byte %zu of %zu changed: %s", i, s.size, thr_status_name(status));
            assert_non_null(strstr(err.text, ".seg: "));
            n_opened += opened;
            put_byte(fd, i, s.bytes[i]);
        }
        expect_ok(open_and_verify(s.context, &opened));
        (void)close(fd);
        assert_true(n_opened > 0 && n_opened < s.size);
    }
}

TEST(a_segment_cut_anywhere_is_not_opened) {
    small s = make_small(*state, THR_METRIC_COSINE, THR_DTYPE_F32, 3, true, false);
    int fd = open_for_damage(s.segment);
    bool opened;
    cut(fd, s.size + 1); /* nor one that is longer */
    expect_error(open_and_verify(s.context, &opened), THR_ECORRUPT, NULL);
    for (size_t size = s.size; size-- > 0;) {
        cut(fd, size);
        expect_error(open_and_verify(s.context, &opened), THR_ECORRUPT, NULL);
        assert_false(opened);
    }
    (void)close(fd);
    assert_int_equal(unlink(s.segment), 0);
    expect_error(open_and_verify(s.context, &opened), THR_ECORRUPT, ".seg");
}

TEST(every_changed_or_missing_byte_of_the_manifest_is_found) {
    small s = make_small(*state, THR_METRIC_IP, THR_DTYPE_F32, 3, false, false);
    size_t size;
    uint8_t *text = test_bytes_of(s.manifest, &size);
    int fd = open_for_damage(s.manifest);
    bool opened;
    for (size_t i = 0; i < size; i++) {
        put_byte(fd, i, text[i] ^ (uint8_t)(1 << i % 7));
        thr_status status = open_and_verify(s.context, &opened);
        assert_true(!opened && (status == THR_ECORRUPT || status == THR_EFORMAT || status == THR_EVERSION));
        assert_non_null(strstr(err.text, "MANIFEST: "));
        put_byte(fd, i, text[i]);
    }
    expect_ok(open_and_verify(s.context, &opened));
    while (size-- > 0) {
        cut(fd, size);
        thr_status status = open_and_verify(s.context, &opened);
        assert_true(!opened && (status == THR_ECORRUPT || status == THR_EFORMAT));
    }
    (void)close(fd);
}

/* Write a segment and a manifest whose checksums all fit, so that only the contents are wrong. */
static void reseal(const small *s) {
    test_write_file(s->segment, s->bytes, s->size);
    reseal_index(s->context, DIR_A);
}

static uint8_t *section_of(small *s, uint32_t kind, uint64_t *size) {
    thr_segment_header header;
    *size = 0;
    memcpy(&header, s->bytes, sizeof header);
    for (uint32_t i = 0; i < header.n_sections; i++) {
        thr_section section;
        memcpy(&section, s->bytes + header.table_offset + i * sizeof section, sizeof section);
        *size = section.size;
        if (section.kind == kind)
            return s->bytes + section.offset;
    }
    fail_msg("no section %u", kind);
    return NULL;
}

/* Ask for everything that reads contents. */
static void use_everything(thr_context *context) {
    uint64_t id, ids[10];
    float vector[DIMS], query[DIMS] = {1, 2, 3, 4, 5};
    thr_matrix matrix = thr_matrix_f32(query, 1, DIMS);
    OWNED(thr_index, index) = test_index_open(context, DIR_A);
    for (uint64_t i = 0; i < 1200; i++) {
        const char *name = thr_index_name(index, i);
        assert_true(name == NULL || strlen(name) < 100);
        (void)thr_index_vector(index, i, vector, &err);
    }
    (void)thr_index_find(index, "word7", &id, &err);
    (void)thr_index_find(index, "17", &id, &err);
    (void)thr_index_search(index, &matrix, 10, NULL, ids, NULL, &err);
}

TEST(contents_that_are_wrong_in_spite_of_their_checksums_are_harmless) {
    static const struct {
        uint32_t kind, bits;
    } cases[] = {{THR_SECTION_CODES, 2},         {THR_SECTION_IDS, 2},    {THR_SECTION_ID_ORDER, 2},
                 {THR_SECTION_INVERSE_NORMS, 2}, {THR_SECTION_NAMES, 2},  {THR_SECTION_BLOCK_NORMS, 2},
                 {THR_SECTION_CODES, 3},         {THR_SECTION_LEADS, 3},  {THR_SECTION_RECORDS, 3},
                 {THR_SECTION_LEADS, 6},         {THR_SECTION_RECORDS, 6}};
    bool opened;
    for (size_t k = 0; k < COUNT_OF(cases); k++) {
        const bool names = cases[k].kind == THR_SECTION_NAMES;
        small s = make_small(*state, THR_METRIC_COSINE, THR_DTYPE_F16, cases[k].bits, !names, names);
        uint64_t size;
        uint8_t *bytes = section_of(&s, cases[k].kind, &size);
        for (int value = 0; value < 256; value += 85) {
            memset(bytes, value, size);
            reseal(&s);
            expect_error(open_and_verify(s.context, &opened), THR_ECORRUPT, NULL);
            use_everything(s.context);
        }
        uint64_t seed = k;
        for (int round = 0; round < 50; round++) {
            for (uint64_t i = 0; i < size; i++)
                bytes[i] = (uint8_t)(thr_rng_below(&seed, 8) == 0 ? thr_rng_next(&seed) : 0);
            reseal(&s);
            (void)open_and_verify(s.context, &opened);
            assert_true(opened);
            use_everything(s.context);
        }
    }
}

TEST(a_segment_with_a_number_that_is_unknown_is_damaged) {
    static const struct {
        size_t at;
        uint8_t bits;
    } cases[] = {{offsetof(thr_segment_header, n_cells), 5},   {offsetof(thr_segment_header, metric) + 1, 2},
                 {offsetof(thr_segment_header, metric), 2},    {offsetof(thr_segment_header, metric), 4},
                 {offsetof(thr_segment_header, metric), 0x80}, {offsetof(thr_segment_header, keep), 77}};
    small s = make_small(*state, THR_METRIC_IP, THR_DTYPE_F32, 3, false, false);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        bool opened;
        s.bytes[cases[i].at] ^= cases[i].bits;
        reseal(&s);
        expect_error(open_and_verify(s.context, &opened), THR_ECORRUPT, NULL);
        s.bytes[cases[i].at] ^= cases[i].bits;
    }
}

/* As a builder with a mistake would write them. */
TEST(norms_that_are_not_those_of_the_codes_are_found) {
    small s = make_small(*state, THR_METRIC_COSINE, THR_DTYPE_NONE, 2, false, false);
    uint64_t size;
    bool opened;
    uint32_t norms[2], wrong[2];
    uint8_t *bytes = section_of(&s, THR_SECTION_BLOCK_NORMS, &size);
    assert_int_equal(size, sizeof norms); /* 70 items: the second block holds 6 */
    memcpy(norms, bytes, sizeof norms);
    for (int block = 0; block < 2; block++)
        for (int by = -8; by <= 8; by += 16) {
            memcpy(wrong, norms, sizeof wrong);
            wrong[block] += (uint32_t)by;
            memcpy(bytes, wrong, sizeof wrong);
            reseal(&s);
            expect_error(open_and_verify(s.context, &opened), THR_ECORRUPT, NULL);
            char text[64];
            (void)snprintf(text, sizeof text, "that of block %d is %u, by its codes %u", block, wrong[block],
                           norms[block]);
            assert_non_null(strstr(err.text, text));
            use_everything(s.context);
        }
    memcpy(bytes, norms, sizeof norms);
    reseal(&s);
    expect_ok(open_and_verify(s.context, &opened));
}

/* One bit where there must be none, in an otherwise sound file. */
TEST(a_bit_in_the_padding_is_found) {
    small s = make_small(*state, THR_METRIC_L2, THR_DTYPE_NONE, 5, false, false);
    uint64_t size;
    const uint64_t record = 2 * sizeof(float) + 3, lead = 2 * sizeof(uint16_t), head = 2 * sizeof(float);
    const struct {
        uint32_t kind;
        uint64_t at;
        uint8_t bit;
        const char *wanted_text;
    } places[] = {{THR_SECTION_RECORDS, 0 * record + head, 1 << 5, "bits past the last dimension"},
                  {THR_SECTION_RECORDS, 13 * record + head + 1, 1 << 7, "bits past the last dimension"},
                  {THR_SECTION_RECORDS, (N - 1) * record + head + 2, 1 << 6, "bits past the last dimension"},
                  {THR_SECTION_RECORDS, N * record, 1, "padding"},
                  {THR_SECTION_RECORDS, 128 * record - 1, 1, "padding"},
                  {THR_SECTION_LEADS, N * lead, 1, "padding"},
                  {THR_SECTION_LEADS, 128 * lead - 1, 1 << 7, "padding"},
                  {THR_SECTION_CODES, 2 * 64 + N % 64, 1, "padding"},
                  {THR_SECTION_CODES, 64, 1 << 5, "bits past the last dimension"}};
    bool opened;
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        uint8_t *byte = section_of(&s, places[i].kind, &size) + places[i].at;
        assert_true(places[i].at < size);
        *byte ^= places[i].bit;
        reseal(&s);
        expect_error(open_and_verify(s.context, &opened), THR_ECORRUPT, NULL);
        assert_true(opened);
        if (strstr(err.text, places[i].wanted_text) == NULL)
            fail_msg("place %zu: '%s' does not say '%s'", i, err.text, places[i].wanted_text);
        *byte ^= places[i].bit;
        reseal(&s);
        expect_ok(open_and_verify(s.context, &opened));
    }
}

/*
 * A search divides by the centre's length and multiplies with its values, so an index without a good one is not opened.
 */
TEST(a_centre_that_is_no_vector_is_refused) {
    static const float bad[] = {0, NAN, -INFINITY, 0x1p-60f, 0x1p61f};
    small s = make_small(*state, THR_METRIC_COSINE, THR_DTYPE_F16, 6, false, false);
    uint64_t size;
    uint8_t *bytes = section_of(&s, THR_SECTION_CENTRE, &size), good[DIMS * sizeof(float)];
    bool opened;
    assert_int_equal(size, sizeof good);
    memcpy(good, bytes, size);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        for (size_t d = 0; d < DIMS; d++)
            memcpy(bytes + d * sizeof(float), &bad[i], sizeof(float));
        reseal(&s);
        expect_error(open_and_verify(s.context, &opened), THR_ECORRUPT, NULL);
        assert_false(opened);
        assert_non_null(strstr(err.text, "centre"));
    }
    memcpy(bytes, good, size);
    reseal(&s);
    expect_ok(open_and_verify(s.context, &opened));
}

/* Scores of kept vectors would not be finite. */
TEST(a_kept_centre_that_is_too_long_is_refused) {
    static const thr_metric metrics[] = {THR_METRIC_COSINE, THR_METRIC_IP, THR_METRIC_L2};
    for (size_t m = 0; m < 3; m++) {
        small s = make_small(*state, metrics[m], m == 1 ? THR_DTYPE_I8 : THR_DTYPE_F16, 3, false, false);
        const float bad[] = {m == 0 ? 3 : 0x1p62F, -0x1p100F, INFINITY};
        uint64_t size;
        uint8_t *bytes = section_of(&s, THR_SECTION_KEPT, &size);
        bool opened;
        for (size_t i = 0; i < COUNT_OF(bad); i++) {
            memcpy(bytes, &bad[i], sizeof bad[i]);
            reseal(&s);
            expect_error(open_and_verify(s.context, &opened), THR_ECORRUPT, NULL);
            assert_false(opened);
            assert_non_null(strstr(err.text, "section kept: its centre is longer than"));
        }
    }
}

TEST(segments_of_other_indexes_are_not_accepted) {
    small a = make_small(*state, THR_METRIC_IP, THR_DTYPE_F32, 3, false, false);
    small b = make_small(*state, THR_METRIC_IP, THR_DTYPE_F32, 3, false, false);
    bool opened;
    assert_int_equal(a.size, b.size);
    test_write_file(b.segment, a.bytes, a.size);
    expect_error(open_and_verify(b.context, &opened), THR_ECORRUPT, NULL);
    assert_false(opened);
}

TEST(what_is_no_index_is_refused_as_such) {
    thr_index *index = NULL;
    test_remove_directory(DIR_A);
    expect_error(thr_index_open(*state, DIR_A, &index, &err), THR_ENOTFOUND, NULL);
    expect_error(thr_index_open(*state, "", &index, &err), THR_EINVAL, NULL);
    assert_int_equal(mkdir(DIR_A, 0777), 0);
    expect_error(thr_index_open(*state, DIR_A, &index, &err), THR_EFORMAT, NULL);
    test_write_text("index-damage/MANIFEST", "");
    expect_error(thr_index_open(*state, DIR_A, &index, &err), THR_ECORRUPT, NULL);
    test_write_text("index-damage/MANIFEST", "foreign\n");
    expect_error(thr_index_open(*state, DIR_A, &index, &err), THR_EFORMAT, NULL);
    test_write_text("index-damage/MANIFEST", "thresher-index 1000\n");
    expect_error(thr_index_open(*state, DIR_A, &index, &err), THR_EVERSION, NULL);
    expect_error(thr_index_open(*state, "index-damage/MANIFEST", &index, &err), THR_EFORMAT, NULL);
    assert_null(index);
    thr_index_free(NULL);
}

TEST(a_file_changed_under_the_map_is_noticed) {
    float query[DIMS] = {1, 2, 3, 4, 5}, vector[DIMS];
    thr_matrix matrix = thr_matrix_f32(query, 1, DIMS);
    uint64_t ids[3];
    for (int how = 0; how < 3; how++) {
        small s = make_small(*state, THR_METRIC_IP, THR_DTYPE_F32, 3, false, true);
        OWNED(thr_index, index) = test_index_open(s.context, DIR_A);
        expect_ok(thr_index_search(index, &matrix, 3, NULL, ids, NULL, &err));
        assert_string_equal(thr_index_name(index, 3), "word3");
        if (how == 0)
            assert_int_equal(truncate(s.segment, 100), 0);
        else if (how == 1)
            assert_int_equal(truncate(s.segment, (off_t)s.size + 1), 0);
        else
            test_write_file(s.segment, s.bytes, s.size); /* the same bytes: its time has changed */
        expect_error(thr_index_search(index, &matrix, 3, NULL, ids, NULL, &err), THR_ECHANGED, NULL);
        expect_error(thr_index_vector(index, 0, vector, &err), THR_ECHANGED, NULL);
        expect_error(thr_index_find(index, "word3", ids, &err), THR_ECHANGED, NULL);
        expect_error(thr_index_verify(index, &err), THR_ECHANGED, NULL);
        assert_null(thr_index_name(index, 3));
    }
}

TEST_IN_CONTEXT(1, NULL)
