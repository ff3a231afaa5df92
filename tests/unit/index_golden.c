/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Indexes that are kept in the tree: each must open and give the same answers, bit for bit, at every CPU level; damaged
 * copies of them must be refused.
 *
 * "unit_index_golden --write" writes them anew into tests/golden/index of the sources: right after a change of the
 * format, and wrong as a way to make this test pass.
 */
#include "index_support.h"

#include "index/manifest.h"
#include "index/segment_file.h"
#include "kernel/kernel.h"

#include <thresher/items.h>

#include <inttypes.h>

static const char GOLDEN[] = THR_SOURCE_DIR "/tests/golden/index";
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

/*
 * Together they have every section: nested codes with records of both widths, with offsets and without, flat codes with
 * factors and without, rotations, cells, names, a journal, and features of added items in a second file.
 */
#define KIND(name, metric, keep, ...)                                                                                  \
    { name, name ".answers", THR_METRIC_##metric, THR_DTYPE_##keep, __VA_ARGS__ }
static const golden_kind kinds[] = {
    KIND("cosine-none-flat", COSINE, NONE, .bits = 3, .lead = 3),
    KIND("ip-f32-flat", IP, F32, .bits = 2, .lead = 2, .rotate = true),
    KIND("l2-none-centred", L2, NONE, .shifted = true, .bits = 8, .lead = 3, .rotate = true),
    KIND("cosine-f32-centred-tuned", COSINE, F32, .shifted = true, .bits = 3, .lead = 1, .rotate = true, .tuned = true),
    KIND("cosine-f16-ids-cells", COSINE, F16, .ids = true, .bits = 3, .lead = 1, .cells = 4, .changed = true),
    KIND("l2-i8-names-cells", L2, I8, .names = true, .bits = 3, .lead = 1, .cells = 3, .changed = true,
         .journal = true),
    KIND("ip-f32-features", IP, F32, .bits = 3, .lead = 1, .changed = true, .features = true)};
enum { N_KINDS = COUNT_OF(kinds), MODES = 6, FEATURE_MODES = 8 /* of print_answer */ };

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
    thr_search_options options = {.n_candidates = mode == 1 || mode == 3 ? 8 : 0,
                                  .n_survivors = mode == 3 ? 12 : 0,
                                  .query_bits = mode == 4 ? 7 : 4,
                                  .recall = mode == 5 ? 0.9f : 0.99f};
    const uint64_t ends[N_QUERIES + 1] = {0, 2, 2, 4, 6};
    const uint32_t asked[] = {0, 3, 5, 1, 2, 4};
    const float weights[] = {1, 2, -3, 4, 5, 0.5f};
    const thr_hits_queries features = {N_QUERIES, ends, asked, weights};
    options.features = mode > 5 ? &features : NULL;
    options.exact = mode == 2 || mode == 7;
    thr_status status = thr_index_search(index, queries, K, &options, ids, scores, &err);
    for (int i = 0; i < N_QUERIES * K; i++) {
        uint32_t bits;
        memcpy(&bits, &scores[i], sizeof bits);
        (void)fprintf(out, "%d %d %s", mode, i / K, thr_status_name(status));
        if (status == THR_OK)
            (void)fprintf(out, " %" PRIu64 " %08" PRIx32, ids[i], bits);
        (void)fputc('\n', out);
    }
}

static void expect_names_are_found(const thr_index *index) {
    uint64_t id, found[2];
    if (!thr_index_get_info(index).has_names)
        return;
    for (uint64_t row = 0; row < thr_index_n_rows(index); row++) {
        expect_ok(thr_index_row_ids(index, row, 1, &id, &err));
        const char *name[2] = {id == THR_NO_ID ? "item" : thr_index_name(index, id)};
        name[1] = name[0];
        expect_ok(thr_index_find_many(index, name, 2, found, &err));
        assert_true(found[0] == id && found[1] == id);
        expect_status(thr_index_find(index, name[0], &found[0], &err), id == THR_NO_ID ? THR_ENOTFOUND : THR_OK);
        assert_true(found[0] == id);
    }
}

/* All answers of an index as one text, to be freed. */
static char *all_answers(thr_context *context, const golden_kind *kind) {
    char path[PATH_ROOM];
    float queries[N_QUERIES * DIMS] = {0};
    thr_matrix matrix = thr_matrix_f32(queries, N_QUERIES, DIMS);
    size_t size;
    make_rows(queries, N_QUERIES, 77, kind->shifted);
    join_path(path, GOLDEN, kind->name);
    thr_index *index = test_index_open(context, path);
    expect_names_are_found(index);
    expect_ok(thr_index_verify(index, &err));
    FILE *out = tmpfile();
    assert_non_null(out);
    for (int mode = 0; mode < (kind->features ? FEATURE_MODES : MODES); mode++)
        print_answer(out, index, &matrix, mode);
    for (uint64_t id = 0; id < 4; id++)
        (void)fprintf(out, "name %s\n", thr_index_name(index, id) == NULL ? "-" : thr_index_name(index, id));
    thr_index_free(index);
    size = (size_t)ftell(out);
    rewind(out);
    char *text = test_new(size + 1, 1);
    assert_int_equal(fread(text, 1, size, out), size);
    text[size] = '\0';
    (void)fclose(out);
    return text;
}

/* Modes without counts: a recall is kept by margins, whose answers may get better, never worse. */
static bool may_improve(int mode) {
    return mode == 0 || mode == 4 || mode == 5;
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

static void expect_same_answers(thr_context *context, const golden_kind *kind) {
    char path[PATH_ROOM];
    size_t size;
    join_path(path, GOLDEN, kind->answers);
    char *wanted = (char *)test_bytes_of(path, &size);
    char *got = all_answers(context, kind);
    expect_as_good(path, got, wanted);
}

TEST(kept_indexes_give_the_same_answers) {
    for (int isa = THR_ISA_SCALAR; isa <= THR_ISA_LAST; isa++)
        for (uint32_t n_threads = 1; n_threads <= 2; n_threads++) {
            thr_context_options options = {0};
            OWNED(thr_context, context) = NULL;
            options.isa = (thr_isa)isa;
            options.n_threads = n_threads;
            if (thr_context_create(&options, &context, &err) == THR_EUNSUPPORTED)
                continue;
            assert_non_null(context);
            for (size_t k = 0; k < N_KINDS; k++)
                expect_same_answers(context, &kinds[k]);
        }
}

/* ------------------------------------------------------------------------------------------------ write */

/* What a calibration might have found, so that files with it are kept; small enough that not all rows are refined. */
static void add_tuning(thr_context *context, const char *dir) {
    char path[PATH_ROOM], *text;
    thr_manifest manifest;
    size_t size;
    join_path(path, dir, "MANIFEST");
    expect_ok(thr_index_manifest_read(context, path, &manifest, NULL, NULL, &err));
    manifest.tuning.n_queries = 50;
    for (uint64_t r = 0; r < THR_TUNED_RECALLS; r++)
        for (size_t k = 0; k < THR_TUNED_KS; k++) {
            manifest.tuning.at[r].candidates[k] = 7 + r;
            manifest.tuning.at[r].survivors[k] = 14 + 2 * r;
        }
    expect_ok(thr_index_manifest_print(context, &manifest, &text, &size, &err));
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
    thr_index_add_options options = {0};
    uint64_t offsets[MORE + 1];
    uint32_t numbers[MORE * FEATURES];
    draw_features(MORE, 3, offsets, numbers);
    const thr_item_features features = {offsets, numbers, MORE};
    options.features = kind->features ? &features : NULL;
    for (uint64_t i = 0; i < MORE; i++)
        ids[i] = i + 1 < MORE ? 1000000 + i : 7;
    options.replace = true;
    options.ids = kind->names ? NULL : ids;
    options.n_ids = kind->names ? 0 : MORE;
    options.ids_path = kind->names ? "golden-more.txt" : NULL;
    test_write_text("golden-more.txt", NAMES);
    expect_ok(add_matrix(context, dir, &matrix, &options, NULL, &err));
    (void)unlink("golden-more.txt");
    expect_ok(thr_index_remove(context, dir, REMOVED, COUNT_OF(REMOVED), NULL, &err));
}

/* The same by a writer, which is not closed by a flush. */
static void change_by_journal(thr_context *context, const char *dir, const golden_kind *kind, const float *rows) {
    const thr_matrix matrix = thr_matrix_f32(rows, MORE, DIMS);
    const char *names[MORE] = {"late 0", "late 1", "late 2", "late 3", "late 4", "late 5", "late 6", "late 7"};
    const uint64_t removed[] = {2000000, 11, 4000};
    uint64_t ids[MORE];
    OWNED(thr_index_writer, writer) = NULL;
    for (uint64_t i = 0; i < MORE; i++)
        ids[i] = 2000000 + i;
    expect_ok(thr_index_writer_open(context, dir, NULL, &writer, &err));
    expect_ok(
        thr_index_writer_upsert(writer, &matrix, kind->names ? NULL : ids, kind->names ? names : NULL, NULL, &err));
    expect_ok(thr_index_writer_remove(writer, removed, COUNT_OF(removed), NULL, &err));
}

static thr_index_build_options options_of(const golden_kind *kind) {
    thr_index_build_options options = build_options(kind->metric, kind->keep, kind->bits);
    options.segment_rows = SEGMENT;
    options.lead_bits = kind->lead;
    options.rotate = kind->rotate ? THR_ROTATE_ON : THR_ROTATE_OFF;
    options.calibration_queries = THR_NO_CALIBRATION;
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
    write_lines("golden-names.txt", "item ", n);
    make_rows(rows, n, 1, kind->shifted);
    options.ids = kind->ids ? ids : NULL;
    options.n_ids = kind->ids ? n : 0;
    options.features = kind->features ? &features : NULL;
    test_remove_directory(path);
    expect_ok(build_rows(context, path, rows, n, DIMS, &options, &err));
    if (kind->tuned)
        add_tuning(context, path);
    if (kind->changed)
        change(context, path, kind, rows + 10 * DIMS);
    if (kind->journal)
        change_by_journal(context, path, kind, rows + 30 * DIMS);
}

static void write_all(void) {
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    char path[PATH_ROOM];
    (void)mkdir(GOLDEN, 0777);
    for (size_t k = 0; k < N_KINDS; k++) {
        join_path(path, GOLDEN, kinds[k].name);
        write_kind(context, path, &kinds[k]);
        char *text = all_answers(context, &kinds[k]);
        join_path(path, GOLDEN, kinds[k].answers);
        test_write_text(path, text);
    }
    (void)unlink("golden-names.txt");
}

/* ------------------------------------------------------------------------------------------------ damaged */

/* What is done to a copy of a good index. index_damage.c changes every byte of a segment. */
typedef struct damage {
    const char *what;
    thr_status opened, verified;
    const char *from; /* the good index */
    const char *file; /* how its name begins */
    long at;          /* flip a bit there; from the end when negative */
    long size;        /* or cut to this size; from the end when negative */
    const char *text; /* or put this in its place; "" to delete the file */
} damage;

static const char TUNED[] = "cosine-f32-centred-tuned", CELLS[] = "cosine-f16-ids-cells", NAMES[] = "l2-i8-names-cells",
                  ADDED[] = "ip-f32-features";

static const damage damages[] = {
    {"manifest cut", THR_ECORRUPT, THR_OK, TUNED, "M", 0, -1, NULL},
    {"manifest cut in the middle", THR_ECORRUPT, THR_OK, TUNED, "M", 0, 300, NULL},
    {"manifest empty", THR_ECORRUPT, THR_OK, TUNED, "M", 0, 0, NULL},
    {"manifest flipped", THR_ECORRUPT, THR_OK, TUNED, "M", 60, 0, NULL},
    {"manifest foreign", THR_EFORMAT, THR_OK, TUNED, "M", 0, 0, "MANIFEST-000001\n"},
    {"manifest missing", THR_EFORMAT, THR_OK, TUNED, "M", 0, 0, ""},
    {"manifest of another version", THR_EVERSION, THR_OK, TUNED, "M", 0, 0, "thresher-index 2\nsomething new\n"},
    {"segment cut", THR_ECORRUPT, THR_OK, TUNED, "000000", 0, -64, NULL},
    {"segment empty", THR_ECORRUPT, THR_OK, TUNED, "000000", 0, 0, NULL},
    {"segment missing", THR_ECORRUPT, THR_OK, TUNED, "000000", 0, 0, ""},
    {"segment of another version", THR_EVERSION, THR_OK, TUNED, "000000", 11, 0, NULL},
    {"segment header", THR_ECORRUPT, THR_OK, TUNED, "000000", 12, 0, NULL},
    {"segment lead", THR_ECORRUPT, THR_OK, TUNED, "000000", 48, 0, NULL},
    {"segment magic", THR_ECORRUPT, THR_OK, TUNED, "000000", 3, 0, NULL},
    {"segment table", THR_ECORRUPT, THR_OK, TUNED, "000000", -20, 0, NULL},
    {"live rows flipped", THR_ECORRUPT, THR_OK, CELLS, "l", 2, 0, NULL},
    {"live rows missing", THR_ECORRUPT, THR_OK, CELLS, "l", 0, 0, ""},
    {"journal flipped", THR_ECORRUPT, THR_OK, NAMES, "j", 100, 0, NULL},
    {"journal header", THR_OK, THR_ECORRUPT, NAMES, "j", 9, 0, NULL},
    {"journal missing", THR_ECORRUPT, THR_OK, NAMES, "j", 0, 0, ""},
    {"added features cut", THR_ECORRUPT, THR_OK, ADDED, "added", 0, -64, NULL},
    {"added features missing", THR_ECORRUPT, THR_OK, ADDED, "added", 0, 0, ""},
};

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

static void apply(const damage *d, const char *path) {
    size_t size;
    uint8_t *bytes = test_bytes_of(path, &size);
    if (d->text != NULL && d->text[0] == '\0') {
        assert_int_equal(unlink(path), 0);
    } else if (d->text != NULL) {
        test_write_text(path, d->text);
    } else if (d->at != 0) {
        bytes[d->at > 0 ? (size_t)d->at : size - (size_t)-d->at] ^= 1;
        test_write_file(path, bytes, size);
    } else {
        test_write_file(path, bytes, d->size >= 0 ? (size_t)d->size : size - (size_t)-d->size);
    }
}

TEST(damaged_indexes_are_refused) {
    static const char COPY[] = "golden-damaged";
    for (size_t i = 0; i < COUNT_OF(damages); i++) {
        const damage *d = &damages[i];
        char good[PATH_ROOM], path[PATH_ROOM];
        OWNED(thr_index, index) = NULL;
        join_path(good, GOLDEN, d->from);
        test_copy_directory(good, COPY);
        find_file(COPY, d->file, path);
        apply(d, path);
        err.text[0] = '\0';
        thr_status status = thr_index_open(*state, COPY, &index, &err);
        if (status != d->opened)
            fail_msg("%s: %s when opened: %s", d->what, thr_status_name(status), err.text);
        status = index != NULL ? thr_index_verify(index, &err) : THR_OK;
        if (status != d->verified)
            fail_msg("%s: %s when verified: %s", d->what, thr_status_name(status), err.text);
        assert_non_null(strstr(err.text, COPY)); /* the sentence names the file */
    }
    test_remove_directory(COPY);
}

TEST_IN_CONTEXT(1, NULL)
TEST_WRITER(write_all)
