/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_index_build.c - `index build VECTORS -o DIR`, with --model MODEL of the lines of a text.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dual.h"
#include "hits_values.h"
#include "index_out.h"
#include "program.h"
#include "talk.h"

typedef struct build_values {
    const char *vectors;
    const char *output;
    const char *ids;
    const char *features, *values;
    const char *model;
    size_t metric;
    uint64_t bits;
    uint64_t lead;
    bool rotate;
    bool no_rotate;
    size_t keep;
    bool codes_only;
    bool force;
    uint64_t segment_items;
} build_values;

/* In the order of thr_metric. */
static const char *const metrics[] = {"cosine", "ip", "l2", NULL};

static const char *const keeps[] = {"f32", "f16", "i8", NULL};
static const thr_dtype keep_dtypes[] = {THR_DTYPE_F32, THR_DTYPE_F16, THR_DTYPE_I8};

enum { GROUP_KEEP = 1, GROUP_ROTATE = 2 };

static const prog_argument arguments[] = {
    {PROG_ARGUMENT("VECTORS", PROG_NAMES_FILE, offsetof(build_values, vectors),
                   "rows of numbers: .npy .fvecs .bvecs .fbin .f16bin .u8bin .i8bin .hdf5:DATASET, also with .gz or "
                   ".xz behind; -.fvecs and the like read standard input. With --model also texts, a line an item: "
                   ".txt, or a column of a table, FILE.tsv:COLUMN"),
     .required = true},
    {.name = NULL},
};

static const prog_option options[] = {
    {.name = "output",
     .letter = 'o',
     .kind = PROG_TEXT,
     .value = "DIR",
     .required = true,
     .names = PROG_NAMES_DIR,
     .help = "the index to make",
     .offset = offsetof(build_values, output)},
    {PROG_FILE_OPTION("ids", offsetof(build_values, ids),
                      "an id an item (.npy .ibin .ivecs), or a text of one id or name a line (.txt .tsv:COLUMN "
                      ".csv:COLUMN); default: row numbers from 0")},
    {PROG_FILE_OPTION(
        "features", offsetof(build_values, features),
        "what the items have, in the order of VECTORS: .tsv of names and features, as thresher hits build reads it; "
        "the names are the items' unless --ids gives the same. Searches may then add what features weigh")},
    {PROG_FILE_OPTION("values", offsetof(build_values, values),
                      "with --features: a bid an item, which multiplies its score unless a search gives others: .tsv "
                      "of items and numbers, where others have 1; or a column of numbers in order of items")},
    {PROG_FILE_OPTION(
        "model", offsetof(build_values, model),
        "the model (thresher tower train) whose item side encodes the texts, or has made the vectors; the index "
        "carries a copy and can be searched with texts. Where its items are binary, their codes are as it makes them")},
    {PROG_CHOICE_OPTION("metric", "cosine|ip|l2", metrics, offsetof(build_values, metric),
                        "what near means: cosine, inner product or distance; a model decides it"),
     .fallback = "cosine"},
    {PROG_COUNT_OPTION("bits", "1..8", offsetof(build_values, bits),
                       "bits of code a dimension: more is slower and needs fewer candidates"),
     .least = 1, .most = 8, .fallback = "3"},
    {PROG_COUNT_OPTION("lead", "1..8", offsetof(build_values, lead),
                       "bits that are screened by themselves; the others are read of what survives only (default: "
                       "chosen by dimensions; as many as --bits: all are screened)"),
     .least = 1, .most = 8},
    {PROG_FLAG_OPTION(
         "rotate", offsetof(build_values, rotate),
         "rotate vectors at random before they are coded (default: where a sample's codes get better by it)"),
     .group = GROUP_ROTATE},
    {PROG_FLAG_OPTION("no-rotate", offsetof(build_values, no_rotate), "do not rotate"), .group = GROUP_ROTATE},
    {PROG_CHOICE_OPTION("keep", "f32|f16|i8", keeps, offsetof(build_values, keep),
                        "type of the vectors kept for exact scores"),
     .fallback = "f32", .group = GROUP_KEEP},
    {PROG_FLAG_OPTION("codes-only", offsetof(build_values, codes_only),
                      "keep no vectors: the index is small and scores are estimates"),
     .group = GROUP_KEEP},
    {PROG_FLAG_OPTION("force", offsetof(build_values, force),
                      "replace an existing index when the new one is complete")},
    {PROG_COUNT_OPTION("segment-items", "N", offsetof(build_values, segment_items),
                       "at most so many items a segment file (default: chosen by size)"),
     .least = 1},
    PROG_OPTIONS_END,
};

/* ------------------------------------------------------------------------------------------------ words */

/* Words that are right one by one, but not together. */
static int check_words(const program *run, const build_values *values) {
    if (values->lead > values->bits)
        prog_error("--lead %" PRIu64 " of --bits %" PRIu64 ": at most all of them; %s", values->lead, values->bits,
                   prog_see_help(run));
    else if (values->values != NULL && values->features == NULL)
        prog_error("--values needs --features: bids are of items that have them; %s", prog_see_help(run));
    else
        return PROG_DONE;
    return PROG_WRONG_WORDS;
}

/* What a binary model has decided cannot be told again. */
static int check_model_words(const program *run, const build_values *values, const thr_tower_config *config) {
    static const char *const decided[] = {"bits", "lead", "rotate", "keep"};

    if (config->item_bits == THR_FLOAT_BITS)
        return PROG_DONE;
    for (size_t i = 0; i < sizeof decided / sizeof decided[0]; i++)
        if (prog_is_given(run, decided[i])) {
            prog_error("--%s: items of %s are codes of %" PRIu32 " %s already, kept as they are: leave it out",
                       decided[i], values->model, config->item_bits, config->item_bits == 1 ? "bit" : "bits");
            return PROG_WRONG_WORDS;
        }
    return PROG_DONE;
}

/* ------------------------------------------------------------------------------------------------ build */

/* Where rows come from: a file of them, or texts that a model's item side encodes. */
typedef struct build_source {
    thr_reader *file;  /* of rows or lines */
    thr_tower *tower;  /* of texts, or NULL */
    thr_dual *dual;    /* or NULL */
    thr_reader *texts; /* the lines, encoded; NULL where the file holds rows */
    thr_metric metric;
} build_source;

/* What a model's vectors are learned for is the metric, unless another is given. */
static int open_model(program *run, const build_values *values, build_source *source) {
    const thr_metric metric = (thr_metric)values->metric;
    thr_error err = {.status = THR_OK};
    bool dual = false;

    if (prog_probe_dual(run, values->model, &dual) != PROG_DONE)
        return PROG_FAILED;
    source->metric = dual ? THR_METRIC_IP : THR_METRIC_COSINE;
    if (prog_is_given(run, "metric") && metric != source->metric) {
        prog_error("--metric %s with --model: vectors of %s are learned for %s; %s", thr_metric_name(metric),
                   values->model, thr_metric_name(source->metric), prog_see_help(run));
        return PROG_WRONG_WORDS;
    }
    const thr_status status = dual ? thr_dual_open(run->context, values->model, &source->dual, &err)
                                   : thr_tower_open(run->context, values->model, &source->tower, &err);
    if (status != THR_OK)
        return prog_failed(&err);
    if (dual)
        return PROG_DONE;
    const thr_tower_info info = thr_tower_get_info(source->tower);
    return check_model_words(run, values, &info.config);
}

static int open_source(program *run, const build_values *values, build_source *source) {
    thr_error err = {.status = THR_OK};
    int rc;

    if (thr_reader_open(run->context, values->vectors, &source->file, &err) != THR_OK)
        return prog_failed(&err);
    if (values->model != NULL) {
        rc = open_model(run, values, source);
        if (rc != PROG_DONE)
            return rc;
    }
    if (thr_reader_get_shape(source->file).dtype != THR_DTYPE_NONE)
        return PROG_DONE;
    if (source->tower == NULL && source->dual == NULL) {
        prog_error("%s holds text; VECTORS must be rows of numbers (texts need --model, names go to --ids)",
                   values->vectors);
        return PROG_FAILED;
    }
    const thr_status status = source->dual != NULL
                                  ? thr_dual_reader(source->dual, THR_SIDE_ITEM, source->file, &source->texts, &err)
                                  : thr_tower_reader(source->tower, THR_SIDE_ITEM, source->file, &source->texts, &err);
    return status == THR_OK ? PROG_DONE : prog_failed(&err);
}

static void close_source(build_source *source) {
    thr_reader_free(source->texts);
    thr_tower_free(source->tower);
    thr_dual_free(source->dual);
    thr_reader_free(source->file);
}

static int run_build(program *run, const void *all_values) {
    const build_values *values = all_values;
    thr_index_build_options build;
    float *multipliers = NULL;
    build_source source = {.metric = (thr_metric)values->metric};
    double start = prog_seconds();
    int rc = check_words(run, values);

    if (rc != PROG_DONE)
        return rc;
    rc = open_source(run, values, &source);
    if (rc != PROG_DONE)
        goto out;
    thr_index_build_options_init(&build);
    build.model = values->model;
    build.metric = source.metric;
    build.item_bits = (uint32_t)values->bits;
    build.lead_bits = (uint32_t)values->lead;
    build.rotate = values->rotate ? THR_ROTATE_ON : values->no_rotate ? THR_ROTATE_OFF : THR_ROTATE_AUTO;
    build.keep = values->codes_only ? THR_DTYPE_NONE : keep_dtypes[values->keep];
    build.ids_path = values->ids;
    build.replace = values->force;
    build.segment_rows = values->segment_items;
    build.features_path = values->features;
    if (values->values != NULL)
        rc = prog_table_values_read(run, values->features, values->values, 1, &multipliers, &build.n_values);
    build.multipliers = multipliers;
    if (rc == PROG_DONE)
        rc = prog_build_index(run, values->output, source.texts != NULL ? source.texts : source.file, &build, start);
out:
    close_source(&source);
    free(multipliers);
    return rc;
}

static const char *const examples[] = {
    "thresher index build vectors.fvecs -o vectors.index",
    "thresher index build words.npy --ids words.txt --keep f16 -o words.index",
    "xzcat sift.fvecs.xz | thresher index build -.fvecs --metric l2 -o sift.index",
    "thresher index build packages.tsv:2 --model packages.safetensors -o p.index",
    "thresher index build ads.fvecs --metric ip --features ads.tsv -o ads.index",
    "thresher index build ads.tsv:2 --model m.safetensors --features ads.tsv -o ads",
    NULL,
};

const prog_command prog_index_build = {
    .noun = "index",
    .verb = "build",
    .summary = "make an index of all rows of a file of vectors, or of texts",
    .text =
        "Encodes every row with a few bits a dimension, without training, and keeps the vectors beside the codes for "
        "exact scores. Rows are streamed, so the file may be larger than memory. At the end some of the items serve as "
        "queries to find out how many rows a recall takes.\n\n"
        "With --model the rows are texts, or vectors that the model made of them: what it learned of queries and items "
        "goes into the index, which then answers queries in words. A dual model's are features: with --features the "
        "hits of a user's history count, too.\n\n"
        "With --features searches may add to an item's score what a query weighs the features that it has, multiply "
        "it by a bid, and target items by what they have.\n\n"
        "The index appears when it is complete. A build that fails or is stopped (SIGINT, SIGTERM) changes nothing: "
        "what was there before stays.",
    .arguments = arguments,
    .options = PROG_OPTIONS(options),
    .values_size = sizeof(build_values),
    .examples = examples,
    .run = run_build,
};
