/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Indexes that were written once and are kept in the tree: the good ones must open and give the same answers, bit for
 * bit, for ever and at every CPU level; the damaged ones must be refused as tests/golden/EXPECT says.
 *
 * "unit_index_golden --write" writes them anew into tests/golden of the sources. That is right for a new format, into a
 * new directory, and wrong as a way to make this test pass.
 */
#include "index_support.h"

#include <inttypes.h>

static thr_error error;
static const char GOLDEN[] = THR_SOURCE_DIR "/tests/golden";
enum { N = 70, DIMS = 10, N_QUERIES = 4, K = 6, MODES = 4 };

static const struct {
    const char *name, *answers; /* the directory, and the text beside it */
    thr_metric metric;
    thr_dtype keep;
    bool ids, names, shifted; /* shifted: the rows share a direction, so that codes are of what is left of it */
} kinds[] = {{"cosine-f16-ids", "cosine-f16-ids.answers", THR_METRIC_COSINE, THR_DTYPE_F16, true, false, false},
             {"l2-i8-names", "l2-i8-names.answers", THR_METRIC_L2, THR_DTYPE_I8, false, true, false},
             {"ip-f32", "ip-f32.answers", THR_METRIC_IP, THR_DTYPE_F32, false, false, false},
             {"cosine-none", "cosine-none.answers", THR_METRIC_COSINE, THR_DTYPE_NONE, false, false, false},
             {"cosine-f32-centred", "cosine-f32-centred.answers", THR_METRIC_COSINE, THR_DTYPE_F32, false, false, true},
             {"l2-none-centred", "l2-none-centred.answers", THR_METRIC_L2, THR_DTYPE_NONE, false, false, true},
             {"ip-f16-centred", "ip-f16-centred.answers", THR_METRIC_IP, THR_DTYPE_F16, false, false, true}};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* Whole numbers from -10 to 10, or from 0 to 20; row 5 is zero. */
static void make_rows(float *rows, uint64_t n, uint64_t seed, bool shifted) {
    for (uint64_t i = 0; i < n * DIMS; i++)
        rows[i] = i / DIMS == 5 ? 0 : (float)thr_rng_below(&seed, 21) - (shifted ? 0 : 10);
}

/* ------------------------------------------------------------------------------------------------ answers */

static void print_answer(FILE *out, thr_index *index, const thr_matrix *queries, int mode) {
    uint64_t ids[N_QUERIES * K];
    float scores[N_QUERIES * K];
    thr_search_options options;
    thr_search_options_init(&options);
    options.n_candidates = mode == 1 ? 8 : 0;
    options.extra = mode == 2 ? 0.05f : -1;
    options.exact = mode == 3;
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

/* All answers of an index as one text, to be freed. */
static char *all_answers(thr_context *context, const char *dir, const char *kind, bool shifted) {
    char path[PATH_ROOM];
    float queries[N_QUERIES * DIMS] = {0};
    thr_matrix matrix = thr_matrix_f32(queries, N_QUERIES, DIMS);
    thr_index *index = NULL;
    size_t size;
    make_rows(queries, N_QUERIES, 77, shifted);
    join_path(path, dir, kind);
    expect_ok(thr_index_open(context, path, &index, &error));
    expect_ok(thr_index_verify(index, &error));
    FILE *out = tmpfile();
    assert_non_null(out);
    for (int mode = 0; mode < MODES; mode++)
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

static void old_indexes_give_the_same_answers_for_ever(void **state) {
    (void)state;
    for (int isa = THR_ISA_SCALAR; isa <= THR_ISA_AVX512; isa++)
        for (uint32_t n_threads = 1; n_threads <= 2; n_threads++) {
            thr_context_options options;
            thr_context *context = NULL;
            thr_context_options_init(&options);
            options.isa = (thr_isa)isa;
            options.n_threads = n_threads;
            if (thr_context_create(&options, &context, &error) == THR_EUNSUPPORTED)
                continue;
            assert_non_null(context);
            for (size_t k = 0; k < KINDS; k++) {
                char dir[PATH_ROOM], path[PATH_ROOM];
                size_t size;
                join_path(dir, GOLDEN, "v1");
                join_path(path, dir, kinds[k].answers);
                char *wanted = (char *)read_bytes(path, &size);
                char *got = all_answers(context, dir, kinds[k].name, kinds[k].shifted);
                assert_string_equal(got, wanted);
                free(got);
                free(wanted);
            }
            thr_context_free(context);
        }
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
    assert_true(n >= 10);
}

/* ------------------------------------------------------------------------------------------------ write */

static void write_good(thr_context *context, const char *dir) {
    float rows[N * DIMS];
    uint64_t ids[N];
    char path[PATH_ROOM];
    for (uint64_t i = 0; i < N; i++)
        ids[i] = (i * 37 % N) * 1000;
    FILE *names = fopen("golden-names.txt", "w");
    assert_non_null(names);
    for (int i = 0; i < N; i++)
        (void)fprintf(names, "item %d\n", i);
    (void)fclose(names);
    for (size_t k = 0; k < KINDS; k++) {
        thr_index_build_options options = build_options(kinds[k].metric, kinds[k].keep, 3);
        make_rows(rows, N, 1, kinds[k].shifted);
        options.segment_rows = 64;
        options.ids = kinds[k].ids ? ids : NULL;
        options.n_ids = kinds[k].ids ? N : 0;
        options.ids_path = kinds[k].names ? "golden-names.txt" : NULL;
        join_path(path, dir, kinds[k].name);
        remove_dir(path);
        expect_ok(build_rows(context, path, rows, N, DIMS, &options, &error));
        char *text = all_answers(context, dir, kinds[k].name, kinds[k].shifted);
        join_path(path, dir, kinds[k].answers);
        write_text(path, text);
        free(text);
    }
    (void)unlink("golden-names.txt");
}

/* What is done to a copy of cosine-f16-ids. */
typedef struct damage {
    const char *name, *when, *status;
    const char *file; /* 0: the first segment, M: the manifest */
    long at;          /* flip a bit there; from the end when negative */
    long size;        /* or cut to this size; from the end when negative */
    const char *text; /* or put this in its place; "" to delete the file */
} damage;

static const damage damages[] = {
    {"bad-manifest-cut", "open", "ECORRUPT", "M", 0, -1, NULL},
    {"bad-manifest-empty", "open", "ECORRUPT", "M", 0, 0, NULL},
    {"bad-manifest-flipped", "open", "ECORRUPT", "M", 60, 0, NULL},
    {"bad-manifest-foreign", "open", "EFORMAT", "M", 0, 0, "MANIFEST-000001\n"},
    {"bad-manifest-missing", "open", "EFORMAT", "M", 0, 0, ""},
    {"bad-manifest-newer", "open", "EVERSION", "M", 0, 0, "thresher-index 2\nsomething new\n"},
    {"bad-segment-cut", "open", "ECORRUPT", "0", 0, -64, NULL},
    {"bad-segment-empty", "open", "ECORRUPT", "0", 0, 0, NULL},
    {"bad-segment-missing", "open", "ECORRUPT", "0", 0, 0, ""},
    {"bad-segment-header", "open", "ECORRUPT", "0", 12, 0, NULL},
    {"bad-segment-magic", "open", "ECORRUPT", "0", 3, 0, NULL},
    {"bad-segment-table", "open", "ECORRUPT", "0", -20, 0, NULL},
    {"bad-section-vectors", "verify", "ECORRUPT", "0", 100, 0, NULL},
    {"bad-section-codes", "verify", "ECORRUPT", "0", 64 + 64 * DIMS * 2 + 5, 0, NULL},
};

static void copy_file(const char *from_dir, const char *to_dir, const char *name) {
    char path[PATH_ROOM];
    size_t size;
    join_path(path, from_dir, name);
    uint8_t *bytes = read_bytes(path, &size);
    join_path(path, to_dir, name);
    write_bytes(path, bytes, size);
    free(bytes);
}

static void copy_index(const char *from, const char *to) {
    DIR *stream = opendir(from);
    assert_non_null(stream);
    remove_dir(to);
    assert_int_equal(mkdir(to, 0777), 0);
    for (struct dirent *entry; (entry = readdir(stream)) != NULL;)
        if (entry->d_name[0] != '.')
            copy_file(from, to, entry->d_name);
    (void)closedir(stream);
}

/* The file of dir whose name begins with first. */
static void find_file(const char *dir, char first, char path[PATH_ROOM]) {
    DIR *stream = opendir(dir);
    assert_non_null(stream);
    for (struct dirent *entry; (entry = readdir(stream)) != NULL;)
        if (entry->d_name[0] == first && (first == 'M' || strncmp(entry->d_name, "000000", 6) == 0))
            join_path(path, dir, entry->d_name);
    (void)closedir(stream);
}

static void apply(const damage *d, const char *path) {
    size_t size;
    uint8_t *bytes = read_bytes(path, &size);
    if (d->text != NULL && d->text[0] == '\0') {
        assert_int_equal(unlink(path), 0);
    } else if (d->text != NULL) {
        write_text(path, d->text);
    } else if (d->at != 0) {
        bytes[d->at > 0 ? (size_t)d->at : size - (size_t)-d->at] ^= 1;
        write_bytes(path, bytes, size);
    } else {
        write_bytes(path, bytes, d->size >= 0 ? (size_t)d->size : size - (size_t)-d->size);
    }
    free(bytes);
}

static void write_bad(const char *good) {
    char dir[PATH_ROOM], path[PATH_ROOM];
    join_path(path, GOLDEN, "EXPECT");
    FILE *list = fopen(path, "w");
    assert_non_null(list);
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        join_path(dir, GOLDEN, damages[i].name);
        copy_index(good, dir);
        find_file(dir, damages[i].file[0], path);
        apply(&damages[i], path);
        (void)fprintf(list, "%s %s %s\n", damages[i].name, damages[i].when, damages[i].status);
    }
    (void)fclose(list);
}

static void write_all(void **state) {
    char dir[PATH_ROOM], good[PATH_ROOM];
    (void)mkdir(GOLDEN, 0777);
    join_path(dir, GOLDEN, "v1");
    (void)mkdir(dir, 0777);
    write_good(*state, dir);
    join_path(good, dir, kinds[0].name);
    write_bad(good);
}

static int setup(void **state) {
    *state = make_context(NULL, 1);
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
