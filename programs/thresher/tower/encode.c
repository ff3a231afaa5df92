/* SPDX-License-Identifier: Apache-2.0 */
/* encode.c - `tower encode MODEL TEXTS|VECTORS -o FILE`; with -o DIR, an index of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tower/dual.h"
#include "input/endings.h"
#include "index/summary.h"
#include "index/rows.h"
#include "input/input.h"
#include "commands.h"
#include "output/rows.h"
#include "cli/suggest.h"
#include "cli/messages.h"

enum { ROWS_AT_ONCE = 4096 };

typedef struct encode_values {
    const char *model, *texts, *output, *ids, *hits;
    size_t side;
    bool packed, force;
} encode_values;

static const char *const sides[] = {"query", "item", NULL};

static const prog_argument arguments[] = {
    {PROG_REQUIRED("MODEL", PROG_NAMES_FILE, offsetof(encode_values, model),
                   "a model that thresher tower train wrote")},
    {PROG_REQUIRED("TEXTS", PROG_NAMES_FILE, offsetof(encode_values, texts),
                   "one text per line: .txt; or a column of a table: packages.tsv:4; for a dual tower requests "
                   "or items, .tsv; for a model of vectors rows of numbers, .npy .fvecs .fbin ...")},
    {.name = NULL},
};

static const prog_option options[] = {
    {PROG_NEW_FILE_OPTION("FILE|DIR", offsetof(encode_values, output),
                          "one row per text: .npy .fbin .fvecs, packed .npy .u8bin .bvecs; with another ending, or "
                          "none, the index to build")},
    {PROG_CHOICE_OPTION("side", "query|item", sides, offsetof(encode_values, side), "the tower that encodes"),
     .fallback = "item"},
    {PROG_FLAG_OPTION("packed", offsetof(encode_values, packed),
                      "write bits instead of floats: plane after plane, one bit per dimension, eight per byte, from "
                      "the lowest; floats are the sums of the planes, weighted 1, 1/2, 1/4, ...")},
    {PROG_FILE_OPTION("ids", offsetof(encode_values, ids),
                      "for an index: one id or name per text, as in thresher index build")},
    {PROG_TEXT_OPTION("hits", "FILE", offsetof(encode_values, hits),
                      "for a dual tower and --side query: write one line per user, with the model's fingerprint "
                      "and the words whose weights the history adds, for thresher hits search"),
     .names = PROG_NAMES_OUTPUT},
    {PROG_FLAG_OPTION("force", offsetof(encode_values, force), "replace an existing index")},
    PROG_OPTIONS_END,
};

/* Write the reader's rows to the file. */
static int copy(thr_reader *rows, const thr_tower *tower, const encode_values *values, prog_rows_out *out) {
    const thr_tower_info info = thr_tower_get_info(tower);
    const uint32_t n_dims = info.config.n_dims;
    unsigned char *packed = malloc((size_t)ROWS_AT_ONCE * n_dims);
    thr_error err = {.status = THR_OK};
    int rc = packed == NULL ? prog_no_memory() : PROG_DONE;

    for (thr_matrix piece; prog_input_next_rows(rows, ROWS_AT_ONCE, &piece, &rc);) {
        if (!values->packed)
            rc = prog_rows_out_write(out, piece.data, piece.n_rows);
        else if (thr_tower_pack(tower, (thr_side)values->side, piece.data, piece.n_rows, packed, &err) != THR_OK)
            rc = prog_failed(&err);
        else
            rc = prog_rows_out_write(out, packed, piece.n_rows);
    }
    free(packed);
    return rc;
}

/* Endings of other files: -o with one of them is a mistake rather than the name of an index. */
static bool names_other_file(const char *path) {
    static const char *const others[] = {".txt",   ".tsv",  ".csv",         ".ivecs", ".f16bin", ".i8bin",
                                         ".ibin",  ".hdf5", ".h5",          ".json",  ".gz",     ".xz",
                                         ".jsonl", ".trec", ".safetensors", ".npz"};

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (prog_ends_with(path, others[i]))
            return true;
    return path[0] == '-';
}

/* The ending of vectors that the path's is one letter from; NULL: none. */
static const char *misspelt_ending(const char *path) {
    static const char *const known[] = {".npy", ".fbin", ".fvecs", ".u8bin", ".bvecs"};
    const char *dot = strrchr(path, '.');

    for (size_t i = 0; dot != NULL && i < sizeof known / sizeof known[0]; i++)
        if (prog_distance(dot, known[i]) <= 1)
            return known[i];
    return NULL;
}

/* Print that -o is neither a file of vectors nor a name of an index. */
static int wrong_ending(const char *path) {
    const char *nearest = misspelt_ending(path);

    prog_error("-o %s: the ending must be .npy, .fbin or .fvecs, or .npy, .u8bin or .bvecs for packed codes%s%s%s",
               path, nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "",
               nearest != NULL ? "?" : "");
    return PROG_WRONG_WORDS;
}

static int check_words(const program *run, const encode_values *values) {
    const bool index = !prog_names_rows(values->output);

    if (index && (names_other_file(values->output) || misspelt_ending(values->output) != NULL))
        return wrong_ending(values->output);
    if (index && values->packed)
        prog_error("--packed needs a file, but -o %s names an index; %s", values->output, prog_see_help(run));
    else if (index && values->side != THR_SIDE_ITEM)
        prog_error("--side query: -o %s names an index, which holds items; %s", values->output, prog_see_help(run));
    else if (!index && (values->ids != NULL || values->force))
        prog_error("%s needs an index, but -o %s names a file; %s", values->ids != NULL ? "--ids" : "--force",
                   values->output, prog_see_help(run));
    else
        return PROG_DONE;
    return PROG_WRONG_WORDS;
}

/* Build an index, as `index build TEXTS --model MODEL`. */
static int make_index(program *run, const encode_values *values, thr_reader *rows, double start) {
    thr_index_build_options build = {0};

    build.model = values->model;
    build.ids_path = values->ids;
    build.replace = values->force;
    return prog_build_index(run, values->output, rows, &build, start);
}

static int make_file(const program *run, const encode_values *values, const thr_tower *tower, thr_reader *rows,
                     double start) {
    prog_rows_out out;
    const uint32_t n_dims =
        values->packed ? thr_tower_packed_size(tower, (thr_side)values->side) : thr_tower_get_info(tower).config.n_dims;

    if (n_dims == 0) {
        prog_error("%s: its %s side is not binary: leave out --packed", values->model, sides[values->side]);
        return PROG_FAILED;
    }
    int rc =
        prog_rows_out_open(&out, run->context, values->output, values->packed ? THR_DTYPE_U8 : THR_DTYPE_F32, n_dims);

    if (rc == PROG_DONE)
        rc = copy(rows, tower, values, &out);
    rc = prog_rows_out_close(&out, rc);
    if (rc == PROG_DONE) {
        const double seconds = prog_seconds() - start;
        const char *what = thr_tower_get_info(tower).config.n_inputs > 0 ? "vector" : "text";
        prog_note("encoded %s in %s (%s per second)", prog_counted(out.n_rows, what).text, prog_time(seconds).text,
                  prog_short((double)out.n_rows / seconds).text);
    }
    return rc;
}

/* Check the options of dual towers: output is a file of vectors; --hits needs a dual tower. */
static int check_dual_words(const program *run, const encode_values *values, bool is_dual) {
    if (!is_dual && values->hits != NULL)
        prog_error("--hits: %s is not a dual tower; %s", values->model, prog_see_help(run));
    else if (is_dual && (values->packed || !prog_names_rows(values->output)))
        prog_error("%s is a dual tower, whose vectors are floats: write them to .npy, .fbin or .fvecs; %s",
                   values->model, prog_see_help(run));
    else if (values->hits != NULL && values->side != THR_SIDE_QUERY)
        prog_error("--hits needs users: add --side query; %s", prog_see_help(run));
    else
        return PROG_DONE;
    return PROG_WRONG_WORDS;
}

static int run_encode(program *run, const void *all_values) {
    const encode_values *values = all_values;
    const double start = prog_seconds();
    thr_error err = {.status = THR_OK};
    thr_tower *tower = NULL;
    thr_reader *texts = NULL, *rows = NULL;
    bool is_dual = false;
    int rc = check_words(run, values);

    if (rc == PROG_DONE)
        rc = prog_probe_dual(run, values->model, &is_dual);
    if (rc == PROG_DONE)
        rc = check_dual_words(run, values, is_dual);
    if (rc != PROG_DONE)
        return rc;
    if (is_dual)
        return prog_encode_dual(run, values->model, (thr_side)values->side, values->texts, values->output,
                                values->hits);
    if (thr_tower_open(run->context, values->model, &tower, &err) != THR_OK ||
        thr_reader_open(run->context, values->texts, &texts, &err) != THR_OK ||
        thr_tower_reader(tower, (thr_side)values->side, texts, &rows, &err) != THR_OK)
        rc = prog_failed(&err);
    else if (prog_names_rows(values->output))
        rc = make_file(run, values, tower, rows, start);
    else
        rc = make_index(run, values, prog_takes_vectors(tower) ? texts : rows, start);
    thr_reader_free(rows);
    thr_reader_free(texts);
    thr_tower_free(tower);
    return rc;
}

const prog_command prog_tower_encode = {
    PROG_COMMAND("tower", "encode", encode_values, arguments, options, run_encode),
    .summary = "encode texts or vectors with a model",
    .text = "Writes the embedding of every text to a file, or builds an index of them, which stores "
            "the model and can be searched by text, as thresher index build TEXTS --model MODEL "
            "does.\n\nFor a dual tower TEXTS are users, column 1 of requests, or items, column 2 of "
            "--items (see tower train). The score of a user and an item is the inner product of "
            "their vectors, plus the weights of the words of --hits that the item has.",
    .examples = PROG_EXAMPLES(
        "thresher tower encode p.safetensors packages.tsv.xz:long -o codes.npy --packed",
        "thresher tower encode p.safetensors questions.txt --side query -o questions.fvecs",
        "thresher tower encode p.safetensors packages.tsv.xz:long --ids packages.tsv.xz:package -o p.index",
        "thresher tower encode ads.safetensors requests.tsv --side query -o users.fvecs --hits hits.txt"),
};
