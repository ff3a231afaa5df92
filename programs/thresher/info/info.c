/* SPDX-License-Identifier: Apache-2.0 */
/* info.c - `info`: this build and machine, or a description of a file or index. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "input/endings.h"
#include "info/gpus.h"
#include "input/input.h"
#include "cli/json.h"
#include "info/kernels.h"
#include "info/model.h"
#include "output/plain.h"
#include "commands.h"
#include "info/rank_model.h"
#include "info/ranking.h"
#include "cli/messages.h"

/* Bytes of a line of results: a query has up to 2^32 items, but far fewer results are usual. */
enum { LONGEST_ANSWER = 1 << 30 };

typedef struct info_values {
    const char *path;
} info_values;

/* ------------------------------------------------------------------------------------------------ build and machine */

/* A level is available when a context can be made for it and gets it. */
static bool has_level(thr_isa isa) {
    thr_context_options options = {0};
    thr_context *context = NULL;
    bool yes;

    options.n_threads = 1;
    options.isa = isa;
    yes = thr_context_create(&options, &context, NULL) == THR_OK && thr_context_isa(context) == isa;
    thr_context_free(context);
    return yes;
}

static int print_build(const program *run) {
    static const thr_isa levels[] = {THR_ISA_SCALAR, THR_ISA_AVX2, THR_ISA_AVX512_VNNI,
                                     THR_ISA_AVX512, THR_ISA_NEON, THR_ISA_NEON_DOT};
    const char *level = thr_isa_name(thr_context_isa(run->context));
    uint32_t n_threads = thr_context_threads(run->context);
    const char *features = thr_build_features();
    int rc;

    if (run->globals.json) {
        prog_json json = prog_json_object();

        prog_json_key_text(&json, "version", thr_version());
        prog_json_key_text(&json, "cpu_level", level);
        thr_json_put_key(&json, "cpu_levels_available");
        thr_json_open(&json, '[');
        for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++)
            if (has_level(levels[i]))
                prog_json_text(&json, thr_isa_name(levels[i]));
        thr_json_close(&json, ']');
        prog_json_key_count(&json, "n_threads", n_threads);
        prog_json_gpus(run, &json);
        prog_json_key_text(&json, "features", features);
        thr_json_put_key(&json, "kernels");
        rc = prog_json_kernels(run, &json);
        if (rc != PROG_DONE)
            return rc;
        prog_json_end_object(&json);
        return PROG_DONE;
    }
    (void)printf("thresher    %s\n", thr_version());
    (void)printf("CPU level   %s in use; available:", level);
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++)
        if (has_level(levels[i]))
            (void)printf(" %s", thr_isa_name(levels[i]));
    (void)printf("\nthreads     %" PRIu32 "\n", n_threads);
    prog_print_gpus(run);
    (void)printf("reads       .npy .fvecs .bvecs .ivecs .fbin .f16bin .u8bin .i8bin .ibin .txt .tsv .csv "
                 ".safetensors%s%s%s\n",
                 strstr(features, "hdf5") != NULL ? " .hdf5" : "", strstr(features, "gz") != NULL ? " and .gz" : "",
                 strstr(features, "xz") != NULL ? " and .xz" : "");
    (void)printf("built with  %s\n", features[0] != '\0' ? features : "nothing optional");
    return prog_print_kernels(run);
}

/* ------------------------------------------------------------------------------------------------ files */

/* The number of lines of a text is known only after reading it. */
static int count_lines(thr_reader *reader, uint64_t *n_lines) {
    const char *line = NULL;
    size_t length;
    int rc = PROG_DONE;

    for (*n_lines = 0; prog_input_next_line(reader, &line, &length, &rc); ++*n_lines)
        ;
    return rc;
}

static void print_file_json(const char *path, const thr_reader_shape *shape, bool is_text, bool has_size, double size) {
    prog_json json = prog_json_object();

    prog_json_key_text(&json, "file", path);
    prog_json_key_text(&json, "kind", is_text ? "text" : "matrix");
    thr_json_put_key(&json, is_text ? "n_lines" : "n_rows");
    if (shape->n_rows == THR_ROWS_UNKNOWN)
        prog_json_null(&json);
    else
        thr_json_put_count(&json, shape->n_rows);
    if (!is_text) {
        prog_json_key_count(&json, "n_dims", shape->n_dims);
        prog_json_key_text(&json, "dtype", thr_dtype_name(shape->dtype));
        prog_json_key_bool(&json, "seekable", shape->seekable);
    }
    if (has_size)
        prog_json_key_count(&json, "file_bytes", (uint64_t)size);
    prog_json_end_object(&json);
}

static void print_file_text(const char *path, const thr_reader_shape *shape, bool is_text, bool has_size, double size) {
    prog_line("file        %s", path);
    (void)printf("%s       %s\n", is_text ? "lines" : "rows ",
                 shape->n_rows == THR_ROWS_UNKNOWN ? "not known before the end" : prog_exact(shape->n_rows).text);
    if (!is_text) {
        (void)printf("dimensions  %" PRIu32 "\n", shape->n_dims);
        (void)printf("values      %s, %zu bytes per row\n", thr_dtype_name(shape->dtype),
                     thr_dtype_size(shape->dtype) * shape->n_dims);
    }
    if (has_size)
        (void)printf("size        %s\n", prog_bytes(size).text);
}

/* Describe a file with an unknown ending: examples to rank, or an error that lists the endings. */
static int print_unnamed(program *run, const char *path, const thr_error *unknown) {
    bool is = false;
    struct stat status;

    if (stat(path, &status) == 0 && status.st_size == 0) {
        prog_error("%s: the file is empty, and no format has its ending: write or fetch it again", path);
        return PROG_FAILED;
    }
    const int rc = prog_print_ranking(run, path, &is);
    if (!is)
        prog_error("%s; posting lists and heads are known by their first bytes, so restore a damaged one",
                   unknown->text);
    return is ? rc : PROG_FAILED;
}

static int print_file(program *run, const char *path) {
    thr_error err = {.status = THR_OK};
    thr_reader *reader = NULL;
    thr_reader_shape shape;
    struct stat status;
    bool has_size = stat(path, &status) == 0 && S_ISREG(status.st_mode);
    bool is_text;
    int rc = PROG_DONE;

    const bool is_answer = prog_ends_with(path, ".jsonl") || prog_ends_with(path, ".trec");
    const thr_status opened = is_answer ? thr_reader_open_lines(run->context, path, LONGEST_ANSWER, &reader, &err)
                                        : thr_reader_open(run->context, path, &reader, &err);

    if (opened != THR_OK)
        return err.status == THR_EINVAL ? print_unnamed(run, path, &err) : prog_failed(&err);
    shape = thr_reader_get_shape(reader);
    is_text = shape.dtype == THR_DTYPE_NONE;
    if (is_text)
        rc = count_lines(reader, &shape.n_rows);
    if (rc == PROG_DONE && run->globals.json)
        print_file_json(path, &shape, is_text, has_size, has_size ? (double)status.st_size : 0.0);
    else if (rc == PROG_DONE)
        print_file_text(path, &shape, is_text, has_size, has_size ? (double)status.st_size : 0.0);
    thr_reader_free(reader);
    return rc;
}

/* Describe a text that begins like a LIBLINEAR model; report errors as for any text. */
static int print_liblinear(program *run, const char *path) {
    bool is = false;
    const int rc = prog_print_rank_model(run, path, &is);

    return is ? rc : print_file(run, path);
}

/* ------------------------------------------------------------------------------------------------ command */

static int run_info(program *run, const void *values) {
    const char *path = ((const info_values *)values)->path;
    struct stat status;

    if (path == NULL)
        return print_build(run);
    const bool is_there = stat(path, &status) == 0;

    if (is_there && S_ISDIR(status.st_mode))
        return prog_print_index(run, path);
    if (is_there && !S_ISREG(status.st_mode)) { /* opening a pipe blocks until a writer appears */
        prog_error("%s is a pipe or a device, and info reads files more than once: write it to a file", path);
        return PROG_FAILED;
    }
    if (prog_is_hits(path))
        return prog_print_hits(run, path);
    if (prog_names_ranking(path))
        return prog_print_ranking(run, path, NULL);
    if (prog_is_head(path))
        return prog_print_head(run, path);
    if (prog_is_liblinear(path))
        return print_liblinear(run, path);
    return prog_is_model(path) ? prog_print_model(run, path) : print_file(run, path);
}

static const prog_argument arguments[] = {
    {PROG_ARGUMENT("FILE|DIR", PROG_NAMES_FILE, offsetof(info_values, path),
                   "a file of vectors, ids, words, results, a model, posting lists, a head or examples to rank "
                   "(.svm), an index or a collection")},
    {.name = NULL},
};

static const prog_option no_options[] = {PROG_OPTIONS_END};

const prog_command prog_info = {
    PROG_COMMAND("info", NULL, info_values, arguments, no_options, run_info),
    .summary = "show this build and machine, or describe a file",
    .text = "Without an argument: the version, the CPU level in use and those available, the "
            "threads, the GPUs or the reason why there are none, the optional formats of this build, "
            "and the speed of each method to compute distances. With a file: its rows, dimensions "
            "and type of values; for a model its sides or languages; for examples to rank queries, "
            "pairs and labels. For an index or a collection, as thresher index info.",
    .examples = PROG_EXAMPLES("thresher info", "thresher info vectors.fvecs", "thresher info words.index --json"),
};
