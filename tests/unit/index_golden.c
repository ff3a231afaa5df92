/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Indexes that were written once and are kept in the tree: the good ones must open and give the same answers, bit for
 * bit, for ever and at every CPU level; the damaged ones must be refused as listed in tests/golden/EXPECT.
 *
 * "unit_index_golden --write" writes those of this version of the format, and the damaged ones of all versions, anew
 * into tests/golden of the sources. That is right for a new format, into a new directory, and wrong as a way to make
 * this test pass. What older versions of Thresher have written is never written again: nothing can.
 */
#include "index_support.h"

#include "index/manifest.h"
#include "index/segment_file.h"
#include "kernel/kernel.h"

#include <thresher/items.h>

#include <inttypes.h>

static thr_error error;
static const char GOLDEN[] = THR_SOURCE_DIR "/tests/golden";
enum { N = 70, SEGMENT = 64, DIMS = 10, N_QUERIES = 4, K = 6 };

typedef struct golden_kind {
    const char *name, *answers; /* the directory, and the text beside it */
    thr_metric metric;
    thr_dtype keep;
    bool ids, names, shifted; /* shifted: the rows share a direction, so that codes are of residuals */
    uint32_t bits, lead;
    bool rotate, tuned;
    uint32_t cells;
    bool changed, journal,
        features; /* items were added, replaced and removed by commits; by a writer that left a journal */
} golden_kind;

static const golden_kind kinds_1[] = {
    {"ip-f32", "ip-f32.answers", THR_METRIC_IP, THR_DTYPE_F32, .ids = false},
    {"cosine-none", "cosine-none.answers", THR_METRIC_COSINE, THR_DTYPE_NONE, .ids = false},
    {"cosine-f32-centred", "cosine-f32-centred.answers", THR_METRIC_COSINE, THR_DTYPE_F32, .shifted = true},
    {"l2-none-centred", "l2-none-centred.answers", THR_METRIC_L2, THR_DTYPE_NONE, .shifted = true}};

/*
 * Nested codes with records of both widths, with and without offsets; flat codes with factors and without; rotations.
 */
#define KIND(name, metric, keep, ...)                                                                                  \
    { name, name ".answers", THR_METRIC_##metric, THR_DTYPE_##keep, __VA_ARGS__ }
static const golden_kind kinds_2[] = {
    KIND("cosine-f16-ids", COSINE, F16, .ids = true, .bits = 3, .lead = 1, .rotate = true),
    KIND("cosine-f32-centred-tuned", COSINE, F32, .shifted = true, .bits = 3, .lead = 1, .rotate = true, .tuned = true),
    KIND("l2-i8-names", L2, I8, .names = true, .bits = 6, .lead = 2),
    KIND("l2-none-centred", L2, NONE, .shifted = true, .bits = 8, .lead = 3, .rotate = true),
    KIND("ip-f16-centred-tuned", IP, F16, .shifted = true, .bits = 5, .lead = 1, .tuned = true),
    KIND("ip-none", IP, NONE, .bits = 4, .lead = 2, .rotate = true),
    KIND("ip-f32-flat", IP, F32, .bits = 2, .lead = 2, .rotate = true),
    KIND("cosine-none-flat", COSINE, NONE, .bits = 3, .lead = 3)};

static const golden_kind kinds_3[] = {
    KIND("cosine-f16-ids-cells", COSINE, F16, .ids = true, .bits = 3, .lead = 1, .cells = 4, .changed = true),
    KIND("l2-i8-names", L2, I8, .names = true, .bits = 4, .lead = 1, .rotate = true, .changed = true),
    KIND("ip-none", IP, NONE, .bits = 3, .lead = 1, .changed = true)};
static const golden_kind kinds_4[] = {
    KIND("cosine-f32-ids", COSINE, F32, .ids = true, .bits = 3, .lead = 1, .changed = true, .journal = true),
    KIND("l2-i8-names-cells", L2, I8, .names = true, .bits = 3, .lead = 1, .cells = 3, .journal = true),
    KIND("ip-f16", IP, F16, .bits = 2, .lead = 1, .journal = true)};

/* Segments with slots of names. */
static const golden_kind kinds_names[] = {
    KIND("cosine-f16", COSINE, F16, .names = true, .bits = 3, .lead = 1),
    KIND("l2-i8-cells", L2, I8, .names = true, .bits = 3, .lead = 1, .cells = 3, .changed = true, .journal = true)};

/* Cells with their ends. */
static const golden_kind kinds_ends[] = {
    KIND("ip-f32-cells", IP, F32, .bits = 3, .lead = 1, .cells = 4),
    KIND("l2-f16-names-cells", L2, F16, .names = true, .bits = 3, .lead = 1, .cells = 3, .changed = true)};

/* Features, of added items in a second file. */
static const golden_kind kinds_added[] = {
    KIND("ip-f32", IP, F32, .bits = 3, .lead = 1, .changed = true, .features = true),
    KIND("l2-f16-names", L2, F16, .names = true, .bits = 3, .lead = 1, .changed = true, .features = true)};

static const struct {
    const char *name;
    const golden_kind *kinds;
    size_t n_kinds;
    int modes;       /* how they are searched: print_answer */
    uint32_t format; /* of the manifests; 0: several */
} versions[] = {{"v1", kinds_1, sizeof kinds_1 / sizeof kinds_1[0], 4, 1},
                {"v2", kinds_2, sizeof kinds_2 / sizeof kinds_2[0], 7, 2},
                {"v3", kinds_3, sizeof kinds_3 / sizeof kinds_3[0], 7, 3},
                {"v4", kinds_4, sizeof kinds_4 / sizeof kinds_4[0], 7, 4},
                {"names", kinds_names, sizeof kinds_names / sizeof kinds_names[0], 7, 0},
                {"ends", kinds_ends, sizeof kinds_ends / sizeof kinds_ends[0], 7, 0},
                {"added", kinds_added, sizeof kinds_added / sizeof kinds_added[0], 9, 3}};
enum { VERSIONS = sizeof versions / sizeof versions[0], WRITTEN = 5 /* and the later ones are of this version */ };

/* Whole numbers from -10 to 10, or from 0 to 20; row 5 is zero. */
static void make_rows(float *rows, uint64_t n, uint64_t seed, bool shifted) {
    for (uint64_t i = 0; i < n * DIMS; i++)
        rows[i] = i / DIMS == 5 ? 0 : (float)thr_rng_below(&seed, 21) - (shifted ? 0 : 10);
}

/* Feature f is on one item in f + 2, and as a word of a table "feature f". */
enum { FEATURES = 6 };

static void draw_features(uint64_t n, uint64_t seed, uint64_t *offsets, uint32_t *features) {
    offsets[0] = 0;
    for (uint64_t i = 0; i < n; i++) {
        offsets[i + 1] = offsets[i];
        for (uint32_t f = 0; f < FEATURES; f++)
            if (thr_rng_below(&seed, f + 2) == 0)
                features[offsets[i + 1]++] = f;
    }
}

/* ------------------------------------------------------------------------------------------------ answers */

static void print_answer(FILE *out, thr_index *index, const thr_matrix *queries, int mode) {
    uint64_t ids[N_QUERIES * K];
    float scores[N_QUERIES * K];
    thr_search_options options;
    thr_search_options_init(&options);
    options.n_candidates = mode == 1 || mode == 4 ? 8 : 0;
    options.extra = mode == 2 ? 0.05f : -1;
    options.n_survivors = mode == 4 ? 12 : 0;
    options.query_bits = mode == 5 ? 7 : 4;
    options.recall = mode == 6 ? 0.9f : 0.99f;
    const uint64_t ends[N_QUERIES + 1] = {0, 2, 2, 4, 6};
    const uint32_t asked[] = {0, 3, 5, 1, 2, 4};
    const float weights[] = {1, 2, -3, 4, 5, 0.5f};
    const thr_hits_queries features = {N_QUERIES, ends, asked, weights};
    options.features = mode > 6 ? &features : NULL;
    options.exact = mode == 3 || mode == 8;
    thr_status status = thr_index_search(index, queries, K, &options, ids, scores, &error);
    for (int i = 0; i < N_QUERIES * K; i++) {
        uint32_t bits;
        memcpy(&bits, &scores[i], sizeof bits);
        (void)fprintf(out, "%d %d %s", mode, i / K, thr_status_name(status));
        if (status == THR_OK)
            (void)fprintf(out, " %" PRIu64 " %08" PRIx32, ids[i], bits);
        (void)fputc('\n', out);
    }
}

/* By slots, or in a pass over the names of older segments. */
static void expect_names_are_found(const thr_index *index) {
    uint64_t id, found[2];
    if (!thr_index_get_info(index).has_names)
        return;
    for (uint64_t row = 0; row < thr_index_n_rows(index); row++) {
        expect_ok(thr_index_row_ids(index, row, 1, &id, &error));
        const char *name[2] = {id == THR_NO_ID ? "item" : thr_index_name(index, id)};
        name[1] = name[0];
        expect_ok(thr_index_find_many(index, name, 2, found, &error));
        assert_true(found[0] == id && found[1] == id);
        expect_status(thr_index_find(index, name[0], &found[0], &error), id == THR_NO_ID ? THR_ENOTFOUND : THR_OK);
        assert_true(found[0] == id);
    }
}

/* All answers of an index as one text, to be freed. */
static char *all_answers(thr_context *context, size_t version, const golden_kind *kind) {
    char dir[PATH_ROOM], path[PATH_ROOM];
    float queries[N_QUERIES * DIMS] = {0};
    thr_matrix matrix = thr_matrix_f32(queries, N_QUERIES, DIMS);
    thr_index *index = NULL;
    size_t size;
    make_rows(queries, N_QUERIES, 77, kind->shifted);
    join_path(dir, GOLDEN, versions[version].name);
    join_path(path, dir, kind->name);
    expect_ok(thr_index_open(context, path, &index, &error));
    if (versions[version].format != 0)
        assert_int_equal(thr_index_get_info(index).format_version, versions[version].format);
    expect_names_are_found(index);
    expect_ok(thr_index_verify(index, &error));
    FILE *out = tmpfile();
    assert_non_null(out);
    for (int mode = 0; mode < versions[version].modes; mode++)
        print_answer(out, index, &matrix, mode);
    for (uint64_t id = 0; id < 4; id++)
        (void)fprintf(out, "name %s\n", thr_index_name(index, id) == NULL ? "-" : thr_index_name(index, id));
    thr_index_free(index);
    size = (size_t)ftell(out);
    rewind(out);
    char *text = malloc(size + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, size, out), size);
    text[size] = '\0';
    (void)fclose(out);
    return text;
}

/* Modes without counts: a recall is kept by margins, whose answers may get better, never worse. */
static bool may_improve(int mode) {
    return mode == 0 || mode == 5 || mode == 6;
}

/* Whether an answer's line is at least as good: the same, or in a mode that may improve a score that is not less. */
static bool line_is_as_good(const char *got, const char *wanted) {
    int modes[2], queries[2], n = 0;
    uint64_t ids[2];
    uint32_t bits[2];
    float scores[2];
    if (strcmp(got, wanted) == 0)
        return true;
    n += sscanf(got, "%d %d OK %" SCNu64 " %" SCNx32, &modes[0], &queries[0], &ids[0], &bits[0]);
    n += sscanf(wanted, "%d %d OK %" SCNu64 " %" SCNx32, &modes[1], &queries[1], &ids[1], &bits[1]);
    memcpy(scores, bits, sizeof scores);
    return n == 8 && modes[0] == modes[1] && queries[0] == queries[1] && may_improve(modes[0]) &&
           scores[0] >= scores[1];
}

/* Compare line by line; both texts are cut into lines. */
static void expect_as_good(const char *path, char *got, char *wanted) {
    char *got_rest = NULL, *wanted_rest = NULL;
    const char *got_line = strtok_r(got, "\n", &got_rest), *line = strtok_r(wanted, "\n", &wanted_rest);
    for (; got_line != NULL && line != NULL;
         got_line = strtok_r(NULL, "\n", &got_rest), line = strtok_r(NULL, "\n", &wanted_rest))
        if (!line_is_as_good(got_line, line))
            fail_msg("%s: %s, not %s", path, got_line, line);
    assert_true(got_line == NULL && line == NULL);
}

static void expect_same_answers(thr_context *context, size_t version, const golden_kind *kind) {
    char dir[PATH_ROOM], path[PATH_ROOM];
    size_t size;
    join_path(dir, GOLDEN, versions[version].name);
    join_path(path, dir, kind->answers);
    char *wanted = (char *)test_read_file(path, &size);
    char *got = all_answers(context, version, kind);
    expect_as_good(path, got, wanted);
    free(got);
    free(wanted);
}

static void old_indexes_give_the_same_answers_for_ever(void **state) {
    (void)state;
    for (int isa = THR_ISA_SCALAR; isa <= THR_ISA_LAST; isa++)
        for (uint32_t n_threads = 1; n_threads <= 2; n_threads++) {
            thr_context_options options;
            thr_context *context = NULL;
            thr_context_options_init(&options);
            options.isa = (thr_isa)isa;
            options.n_threads = n_threads;
            if (thr_context_create(&options, &context, &error) == THR_EUNSUPPORTED)
                continue;
            assert_non_null(context);
            for (size_t v = 0; v < VERSIONS; v++)
                for (size_t k = 0; k < versions[v].n_kinds; k++)
                    expect_same_answers(context, v, &versions[v].kinds[k]);
            thr_context_free(context);
        }
}

/* ------------------------------------------------------------------------------------------------ write */

/* What a calibration might have found, so that files with it are kept; small enough that not all rows are refined. */
static void add_tuning(thr_context *context, const char *dir) {
    char path[PATH_ROOM], *text;
    thr_manifest manifest;
    size_t size;
    join_path(path, dir, "MANIFEST");
    expect_ok(thr_index_manifest_read(context, path, &manifest, NULL, NULL, &error));
    manifest.tuning.n_queries = 50;
    for (uint64_t r = 0; r < THR_TUNED_RECALLS; r++)
        for (size_t k = 0; k < THR_TUNED_KS; k++) {
            manifest.tuning.at[r].candidates[k] = 7 + r;
            manifest.tuning.at[r].survivors[k] = 14 + 2 * r;
        }
    expect_ok(thr_index_manifest_print(context, &manifest, &text, &size, &error));
    test_write_file(path, text, size);
    thr_release(context, text);
    thr_index_manifest_free(context, &manifest);
}

enum { MORE = 8 };
static const uint64_t REMOVED[] = {0, 3, 5000, 1000001, 12};

/* Add items, one of which replaces another, and remove some, in three commits. */
static void change(thr_context *context, const char *dir, const golden_kind *kind, const float *rows) {
    const thr_matrix matrix = thr_matrix_f32(rows, MORE, DIMS);
    static const char NAMES[] = "new 0\nnew 1\nnew 2\nnew 3\nnew 4\nnew 5\nnew 6\nitem 9\n";
    uint64_t ids[MORE];
    thr_index_add_options options;
    thr_reader *reader = NULL;
    uint64_t offsets[MORE + 1];
    uint32_t numbers[MORE * FEATURES];
    draw_features(MORE, 3, offsets, numbers);
    const thr_item_features features = {offsets, numbers, MORE};
    thr_index_add_options_init(&options);
    options.features = kind->features ? &features : NULL;
    for (uint64_t i = 0; i < MORE; i++)
        ids[i] = i + 1 < MORE ? 1000000 + i : 7;
    options.replace = true;
    options.ids = kind->names ? NULL : ids;
    options.n_ids = kind->names ? 0 : MORE;
    options.ids_path = kind->names ? "golden-more.txt" : NULL;
    test_write_text("golden-more.txt", NAMES);
    expect_ok(thr_reader_from_matrix(context, &matrix, &reader, &error));
    expect_ok(thr_index_add(context, dir, reader, &options, NULL, &error));
    thr_reader_free(reader);
    (void)unlink("golden-more.txt");
    expect_ok(thr_index_remove(context, dir, REMOVED, sizeof REMOVED / sizeof REMOVED[0], NULL, &error));
}

/* The same by a writer, which is not closed by a flush. */
static void change_by_journal(thr_context *context, const char *dir, const golden_kind *kind, const float *rows) {
    const thr_matrix matrix = thr_matrix_f32(rows, MORE, DIMS);
    const char *names[MORE] = {"late 0", "late 1", "late 2", "late 3", "late 4", "late 5", "late 6", "late 7"};
    const uint64_t removed[] = {2000000, 11, 4000};
    uint64_t ids[MORE];
    thr_index_writer *writer = NULL;
    for (uint64_t i = 0; i < MORE; i++)
        ids[i] = 2000000 + i;
    expect_ok(thr_index_writer_open(context, dir, NULL, &writer, &error));
    expect_ok(
        thr_index_writer_upsert(writer, &matrix, kind->names ? NULL : ids, kind->names ? names : NULL, NULL, &error));
    expect_ok(thr_index_writer_remove(writer, removed, sizeof removed / sizeof removed[0], NULL, &error));
    thr_index_writer_free(writer);
}

static void write_names(uint64_t n) {
    FILE *names = fopen("golden-names.txt", "w");
    assert_non_null(names);
    for (uint64_t i = 0; i < n; i++)
        (void)fprintf(names, "item %d\n", (int)i);
    (void)fclose(names);
}

/* All kinds of one version. */
static thr_index_build_options options_of(const golden_kind *kind) {
    thr_index_build_options options = build_options(kind->metric, kind->keep, kind->bits);
    options.segment_rows = SEGMENT;
    options.lead_bits = kind->lead;
    options.rotate = kind->rotate ? THR_ROTATE_ON : THR_ROTATE_OFF;
    options.calibration_queries = 0;
    options.ids_path = kind->names ? "golden-names.txt" : NULL;
    options.cells = kind->cells;
    return options;
}

static void write_kind(thr_context *context, const char *path, const golden_kind *kind) {
    /* A small addition to a whole segment gets a file of lists of its own. */
    const uint64_t n = kind->features ? SEGMENT : N;
    float rows[N * DIMS];
    uint64_t ids[N], offsets[N + 1];
    uint32_t numbers[N * FEATURES];
    thr_index_build_options options = options_of(kind);
    const thr_item_features features = {offsets, numbers, n};
    draw_features(N, 2, offsets, numbers);
    for (uint64_t i = 0; i < N; i++)
        ids[i] = (i * 37 % N) * 1000;
    write_names(n);
    make_rows(rows, n, 1, kind->shifted);
    options.ids = kind->ids ? ids : NULL;
    options.n_ids = kind->ids ? n : 0;
    options.features = kind->features ? &features : NULL;
    test_remove_directory(path);
    expect_ok(build_rows(context, path, rows, n, DIMS, &options, &error));
    if (kind->tuned)
        add_tuning(context, path);
    if (kind->changed)
        change(context, path, kind, rows + 10 * DIMS);
    if (kind->journal)
        change_by_journal(context, path, kind, rows + 30 * DIMS);
}

static void write_good(thr_context *context, size_t version) {
    char dir[PATH_ROOM], path[PATH_ROOM];
    join_path(dir, GOLDEN, versions[version].name);
    (void)mkdir(dir, 0777);
    for (size_t k = 0; k < versions[version].n_kinds; k++) {
        const golden_kind *kind = &versions[version].kinds[k];
        join_path(path, dir, kind->name);
        write_kind(context, path, kind);
        char *text = all_answers(context, version, kind);
        join_path(path, dir, kind->answers);
        test_write_text(path, text);
        free(text);
    }
    (void)unlink("golden-names.txt");
}

/* What is done to a copy of a good index. */
typedef struct damage {
    const char *name, *when, *status;
    const char *from; /* the good index */
    const char *file; /* how its name begins */
    long at;          /* flip a bit there; from the end when negative */
    long size;        /* or cut to this size; from the end when negative */
    const char *text; /* or put this in its place; "" to delete the file */
    uint32_t section; /* at is counted from its beginning; 0: from the file's */
} damage;

static const char FROM_1[] = "v1/ip-f32", FROM_2[] = "v2/cosine-f32-centred-tuned",
                  FROM_3[] = "v3/cosine-f16-ids-cells", FROM_4[] = "v4/cosine-f32-ids",
                  FROM_NAMES[] = "names/cosine-f16", FROM_ENDS[] = "ends/ip-f32-cells", FROM_ADDED[] = "added/ip-f32";

static const damage damages[] = {
    {"bad-manifest-cut", "open", "ECORRUPT", FROM_1, "M", 0, -1, NULL, 0},
    {"bad-manifest-empty", "open", "ECORRUPT", FROM_1, "M", 0, 0, NULL, 0},
    {"bad-manifest-flipped", "open", "ECORRUPT", FROM_1, "M", 60, 0, NULL, 0},
    {"bad-manifest-foreign", "open", "EFORMAT", FROM_1, "M", 0, 0, "MANIFEST-000001\n", 0},
    {"bad-manifest-missing", "open", "EFORMAT", FROM_1, "M", 0, 0, "", 0},
    {"bad-manifest-newer", "open", "EVERSION", FROM_1, "M", 0, 0, "thresher-index 1000\nsomething new\n", 0},
    {"bad-segment-cut", "open", "ECORRUPT", FROM_1, "000000", 0, -64, NULL, 0},
    {"bad-segment-empty", "open", "ECORRUPT", FROM_1, "000000", 0, 0, NULL, 0},
    {"bad-segment-missing", "open", "ECORRUPT", FROM_1, "000000", 0, 0, "", 0},
    {"bad-segment-header", "open", "ECORRUPT", FROM_1, "000000", 12, 0, NULL, 0},
    {"bad-segment-magic", "open", "ECORRUPT", FROM_1, "000000", 3, 0, NULL, 0},
    {"bad-segment-table", "open", "ECORRUPT", FROM_1, "000000", -20, 0, NULL, 0},
    {"bad-section-vectors", "verify", "ECORRUPT", FROM_1, "000000", 36, 0, NULL, THR_SECTION_VECTORS},
    {"bad-section-codes", "verify", "ECORRUPT", FROM_1, "000000", 5, 0, NULL, THR_SECTION_CODES},
    {"bad-v2-manifest-flipped", "open", "ECORRUPT", FROM_2, "M", 50, 0, NULL, 0},
    {"bad-v2-manifest-cut", "open", "ECORRUPT", FROM_2, "M", 0, 300, NULL, 0},
    {"bad-v2-segment-newer", "open", "EVERSION", FROM_2, "000000", 11, 0, NULL, 0},
    {"bad-v2-segment-lead", "open", "ECORRUPT", FROM_2, "000000", 48, 0, NULL, 0},
    {"bad-v2-segment-cut", "open", "ECORRUPT", FROM_2, "000000", 0, 2000, NULL, 0},
    {"bad-v2-section-codes", "verify", "ECORRUPT", FROM_2, "000000", 70, 0, NULL, THR_SECTION_CODES},
    {"bad-v2-section-centre", "open", "ECORRUPT", FROM_2, "000000", 8, 0, NULL, THR_SECTION_CENTRE},
    {"bad-v2-section-leads", "verify", "ECORRUPT", FROM_2, "000000", 33, 0, NULL, THR_SECTION_LEADS},
    {"bad-v2-section-records", "verify", "ECORRUPT", FROM_2, "000000", 21, 0, NULL, THR_SECTION_RECORDS},
    {"bad-v3-live-flipped", "open", "ECORRUPT", FROM_3, "l", 2, 0, NULL, 0},
    {"bad-v3-live-missing", "open", "ECORRUPT", FROM_3, "l", 0, 0, "", 0},
    {"bad-v3-section-cells", "open", "ECORRUPT", FROM_3, "000002", 2, 0, NULL, THR_SECTION_CELLS},
    {"bad-v4-journal-flipped", "open", "ECORRUPT", FROM_4, "j", 100, 0, NULL, 0},
    {"bad-v4-journal-header", "verify", "ECORRUPT", FROM_4, "j", 9, 0, NULL, 0},
    {"bad-v4-journal-missing", "open", "ECORRUPT", FROM_4, "j", 0, 0, "", 0},
    {"bad-ends-section", "verify", "ECORRUPT", FROM_ENDS, "000002", 5, 0, NULL, THR_SECTION_CELL_ENDS},
    {"bad-added-cut", "open", "ECORRUPT", FROM_ADDED, "added", 0, -64, NULL, 0},
    {"bad-added-missing", "open", "ECORRUPT", FROM_ADDED, "added", 0, 0, "", 0},
    {"bad-names-slots", "verify", "ECORRUPT", FROM_NAMES, "000000", 9, 0, NULL, THR_SECTION_NAME_SLOTS},
};

static void copy_file(const char *from_dir, const char *to_dir, const char *name) {
    char path[PATH_ROOM];
    size_t size;
    join_path(path, from_dir, name);
    uint8_t *bytes = test_read_file(path, &size);
    join_path(path, to_dir, name);
    test_write_file(path, bytes, size);
    free(bytes);
}

static void copy_index(const char *from, const char *to) {
    DIR *stream = opendir(from);
    assert_non_null(stream);
    test_remove_directory(to);
    assert_int_equal(mkdir(to, 0777), 0);
    for (struct dirent *entry; (entry = readdir(stream)) != NULL;)
        if (entry->d_name[0] != '.')
            copy_file(from, to, entry->d_name);
    (void)closedir(stream);
}

/* The file of dir whose name begins so. */
static void find_file(const char *dir, const char *begin, char path[PATH_ROOM]) {
    DIR *stream = opendir(dir);
    assert_non_null(stream);
    path[0] = '\0';
    for (struct dirent *entry; (entry = readdir(stream)) != NULL;)
        if (strncmp(entry->d_name, begin, strlen(begin)) == 0)
            join_path(path, dir, entry->d_name);
    (void)closedir(stream);
    assert_true(path[0] != '\0');
}

static size_t begin_of(const uint8_t *segment, uint32_t kind) {
    thr_segment_header header;
    memcpy(&header, segment, sizeof header);
    for (uint32_t i = 0; i < header.n_sections; i++) {
        thr_section section;
        memcpy(&section, segment + header.table_offset + i * sizeof section, sizeof section);
        if (section.kind == kind)
            return (size_t)section.offset;
    }
    fail_msg("there is no section %u", kind);
    return 0;
}

static void apply(const damage *d, const char *path) {
    size_t size;
    uint8_t *bytes = test_read_file(path, &size);
    if (d->text != NULL && d->text[0] == '\0') {
        assert_int_equal(unlink(path), 0);
    } else if (d->text != NULL) {
        test_write_text(path, d->text);
    } else if (d->at != 0) {
        const size_t begin = d->section != 0 ? begin_of(bytes, d->section) : d->at < 0 ? size : 0;
        assert_true(d->at < 0 ? (size_t)-d->at <= begin : begin + (size_t)d->at < size);
        bytes[d->at > 0 ? begin + (size_t)d->at : begin - (size_t)-d->at] ^= 1;
        test_write_file(path, bytes, size);
    } else {
        test_write_file(path, bytes, d->size >= 0 ? (size_t)d->size : size - (size_t)-d->size);
    }
    free(bytes);
}

static void write_bad(void) {
    char dir[PATH_ROOM], good[PATH_ROOM], path[PATH_ROOM];
    join_path(path, GOLDEN, "EXPECT");
    FILE *list = fopen(path, "w");
    assert_non_null(list);
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        join_path(good, GOLDEN, damages[i].from);
        join_path(dir, GOLDEN, damages[i].name);
        copy_index(good, dir);
        find_file(dir, damages[i].file, path);
        apply(&damages[i], path);
        (void)fprintf(list, "%s %s %s\n", damages[i].name, damages[i].when, damages[i].status);
    }
    (void)fclose(list);
}

static void write_all(void **state) {
    (void)mkdir(GOLDEN, 0777);
    for (size_t v = WRITTEN; v < VERSIONS; v++)
        write_good(*state, v);
    write_bad();
}

/* ------------------------------------------------------------------------------------------------ damaged */

static void damaged_indexes_are_refused_as_expected(void **state) {
    char path[PATH_ROOM], name[100], when[20], wanted[20];
    size_t n = 0;
    join_path(path, GOLDEN, "EXPECT");
    FILE *list = fopen(path, "r");
    assert_non_null(list);
    while (fscanf(list, "%99s %19s %19s", name, when, wanted) == 3) {
        thr_index *index = NULL;
        join_path(path, GOLDEN, name);
        error.text[0] = '\0';
        thr_status status = thr_index_open(*state, path, &index, &error);
        if (strcmp(when, "verify") == 0) {
            assert_string_equal(thr_status_name(status), "OK");
            status = thr_index_verify(index, &error);
        }
        if (strcmp(thr_status_name(status), wanted) != 0)
            fail_msg("%s: %s instead of %s: %s", name, thr_status_name(status), wanted, error.text);
        assert_non_null(strstr(error.text, name)); /* the sentence names the file */
        thr_index_free(index);
        n++;
    }
    (void)fclose(list);
    assert_int_equal(n, sizeof damages / sizeof damages[0]);
}

static int setup(void **state) {
    *state = test_context(1, THR_ISA_BEST, NULL);
    return 0;
}

static int teardown(void **state) {
    thr_context_free(*state);
    return 0;
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(old_indexes_give_the_same_answers_for_ever),
        cmocka_unit_test(damaged_indexes_are_refused_as_expected),
    };
    const struct CMUnitTest writers[] = {cmocka_unit_test(write_all)};
    if (argc == 2 && strcmp(argv[1], "--write") == 0)
        return cmocka_run_group_tests(writers, setup, teardown);
    return cmocka_run_group_tests(tests, setup, teardown);
}
