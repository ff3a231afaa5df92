/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_index_search.c - `index search DIR QUERIES -k N`, with --like NAME or --text TEXT instead of QUERIES, with
 * --radius S instead of -k.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gpus.h"
#include "json.h"
#include "program.h"
#include "search.h"
#include "talk.h"

enum { GROUP_CANDIDATES = 1, GROUP_WANTED };

static const char *const value_forms[] = {"sum", "sigmoid", NULL};

static const prog_argument arguments[] = {
    {.name = "DIR",
     .help = "an index",
     .offset = offsetof(prog_search_values, dir),
     .names = PROG_NAMES_DIR,
     .required = true},
    {.name = "QUERIES",
     .help = "rows of numbers, in any format that thresher index build reads; of an index with a model also texts, a "
             "line a query: .txt, or FILE.tsv:COLUMN; or --like or --text",
     .offset = offsetof(prog_search_values, queries),
     .names = PROG_NAMES_FILE},
    {.name = NULL},
};

static const prog_option options[] = {
    {.letter = 'k',
     .kind = PROG_COUNT,
     .value = "N",
     .least = 1,
     .group = GROUP_WANTED,
     .help = "how many items to find for every query",
     .offset = offsetof(prog_search_values, k)},
    {.name = "radius",
     .kind = PROG_REAL,
     .value = "S",
     .least_real = -INFINITY,
     .group = GROUP_WANTED,
     .help = "instead of -k: find all items whose cosine or inner product with the query is at least S, or whose "
             "distance from it is at most S in an index for l2",
     .offset = offsetof(prog_search_values, radius)},
    {.name = "like",
     .kind = PROG_LIST,
     .value = "NAME|ID",
     .help = "instead of QUERIES: the vector of this item, which is left out of its own answer; may be given again",
     .offset = offsetof(prog_search_values, like)},
    {.name = "text",
     .kind = PROG_LIST,
     .value = "TEXT",
     .help = "instead of QUERIES: this text, as the index's model encodes queries; may be given again",
     .offset = offsetof(prog_search_values, text)},
    {.name = "recall",
     .kind = PROG_REAL,
     .value = "R",
     .most_real = 1.0,
     .fallback = "0.99",
     .help =
         "the share of the true k best that is wanted, above 0 and up to 1: the index knows from its calibration how "
         "many rows that takes; above 0.999 every kept vector is scored. With --radius an item that is just within it "
         "is "
         "missed with a probability of 1 - R, others less; with 1 none is",
     .offset = offsetof(prog_search_values, recall)},
    {.name = "survivors",
     .kind = PROG_COUNT,
     .value = "N",
     .least = 1,
     .help = "how many of the best by the leading planes have their other planes read (default: what the recall takes)",
     .offset = offsetof(prog_search_values, survivors)},
    {.name = "candidates",
     .kind = PROG_COUNT,
     .value = "N",
     .least = 1,
     .group = GROUP_CANDIDATES,
     .help = "how many of the best by code get exact scores (default: what the recall takes)",
     .offset = offsetof(prog_search_values, candidates)},
    {.name = "extra",
     .kind = PROG_REAL,
     .value = "E",
     .group = GROUP_CANDIDATES,
     .help = "instead: all whose estimated score is within E of the k-th best estimate get exact scores",
     .offset = offsetof(prog_search_values, extra)},
    {.name = "exact",
     .kind = PROG_FLAG,
     .group = GROUP_CANDIDATES,
     .help = "instead: score every kept vector exactly, without the codes",
     .offset = offsetof(prog_search_values, exact)},
    {.name = "query-bits",
     .kind = PROG_COUNT,
     .value = "1..8",
     .least = 1,
     .most = 8,
     .help = "bits a dimension of the query's code (default: 4; of an index of a model's codes as many as its queries "
             "have)",
     .offset = offsetof(prog_search_values, query_bits)},
    {.name = "filter",
     .kind = PROG_TEXT,
     .value = "FILE",
     .names = PROG_NAMES_FILE,
     .help = "which items may be found: a text of ids or names (.txt .tsv:COLUMN .csv:COLUMN), a file of ids, .roaring "
             "of ids, or .npy of "
             "u1 with a 0 or 1 "
             "for every item",
     .offset = offsetof(prog_search_values, filter)},
    {.name = "features",
     .kind = PROG_TEXT,
     .value = "FILE",
     .names = PROG_NAMES_FILE,
     .help = "a line a query, features parted by spaces, each with a weight behind a colon or 1 (.txt, or "
             "FILE.tsv:COLUMN): of an index with features the weights of those that an item has are added to its score",
     .offset = offsetof(prog_search_values, features.features)},
    {.name = "value",
     .kind = PROG_CHOICE,
     .value = "sum|sigmoid",
     .choices = value_forms,
     .fallback = "sum",
     .help = "with --features: what an item is ranked by, s being its score and weights: s x multiplier + offset, or "
             "multiplier / (1 + exp(-s)) + offset",
     .offset = offsetof(prog_search_values, features.value)},
    {.name = "multipliers",
     .kind = PROG_TEXT,
     .value = "FILE",
     .names = PROG_NAMES_FILE,
     .help = "a bid an item: .tsv of items and numbers, where others have 1; or a column of numbers in order of items "
             "(default: those that the index was built with)",
     .offset = offsetof(prog_search_values, features.multipliers)},
    {.name = "offsets",
     .kind = PROG_TEXT,
     .value = "FILE",
     .names = PROG_NAMES_FILE,
     .help = "what is added for an item, in the same way, where others have 0",
     .offset = offsetof(prog_search_values, features.offsets)},
    {.name = "target",
     .kind = PROG_TEXT,
     .value = "WORDS",
     .help = "which items may be found, by what they have: features with AND, OR, NOT and parentheses, such as "
             "'category=12 AND NOT brand=7'",
     .offset = offsetof(prog_search_values, features.target)},
    {.name = "explain",
     .kind = PROG_FLAG,
     .help = "show which of the query's features each item has, and their weights",
     .offset = offsetof(prog_search_values, features.explain)},
    {.name = "rank",
     .kind = PROG_TEXT,
     .value = "MODEL",
     .names = PROG_NAMES_FILE,
     .help = "put what was found in the order of a model of thresher rank train; shown are its scores",
     .offset = offsetof(prog_search_values, rerank.model)},
    {.name = "rank-columns",
     .kind = PROG_TEXT,
     .value = "NAME,...",
     .help =
         "what the model's features 1, 2, ... are: \"score\", which is the search's, or columns of --rank-features, "
         "by name or by number from 1",
     .offset = offsetof(prog_search_values, rerank.columns)},
    {.name = "rank-features",
     .kind = PROG_TEXT,
     .value = "FILE",
     .names = PROG_NAMES_FILE,
     .help = "features of items: .tsv or .csv, or a matrix as .npy; a row an item, in the order of the index's rows",
     .offset = offsetof(prog_search_values, rerank.features)},
    {.name = "rank-items",
     .kind = PROG_TEXT,
     .value = "COLUMN",
     .help = "rows of --rank-features are in any order, and this column has the items' names or ids",
     .offset = offsetof(prog_search_values, rerank.items)},
    {.name = "rank-depth",
     .kind = PROG_COUNT,
     .value = "N",
     .least = 1,
     .help = "find N items, and show the best -k of them by the model (default: as many as -k)",
     .offset = offsetof(prog_search_values, rerank.depth)},
    {.name = "output",
     .letter = 'o',
     .kind = PROG_TEXT,
     .value = "FILE",
     .names = PROG_NAMES_FILE,
     .help = "write .ivecs, .jsonl or .trec instead of a table; with --rank-columns also .svm, the features of what is "
             "found, with labels of 0, for thresher rank train",
     .offset = offsetof(prog_search_values, output)},
    PROG_OPTIONS_END,
};

/* ------------------------------------------------------------------------------------------------ report */

/* Only searches for the best k are screened by GPUs, and exact ones not at all. */
static bool may_use_gpus(const prog_search *s) {
    return !prog_search_by_radius(s->values) && !s->values->exact;
}

/* The summary goes to standard error; with --json and -o standard output is free for it too. */
static void report(const prog_search *s) {
    uint64_t n = s->results.n_queries;
    double rate = s->search_s > 0.0 ? (double)n / s->search_s : 0.0;
    double total_s = prog_seconds() - s->started_s;

    prog_note("%s %s, %s items, in %s (%s queries/s)", prog_exact(n).text, n == 1 ? "query" : "queries",
              prog_exact(s->info.n_items).text, prog_time(s->search_s).text, prog_short(rate).text);
    if (prog_search_by_radius(s->values))
        prog_note("%s %s found", prog_exact(s->n_found).text, s->n_found == 1 ? "item" : "items");
    if (s->certified != NULL)
        prog_note("%s of %s answers certified exact", prog_exact(s->n_certified).text, prog_exact(n).text);
    if (s->features.all_unknown > 0)
        prog_note("%s of their features no item has", prog_exact(s->features.all_unknown).text);
    prog_detail("%s until the first query, %s of search, %s in all; %" PRIu32 " threads, CPU level %s",
                prog_time(s->open_s).text, prog_time(s->search_s).text, prog_time(total_s).text,
                thr_context_threads(s->run->context), thr_isa_name(thr_context_isa(s->run->context)));
    if (may_use_gpus(s))
        prog_tell_device("codes are screened", thr_context_device(s->run->context));
    else if (!s->values->exact)
        prog_detail("codes are screened by the CPU, as in every search by --radius");
    if (s->run->globals.json && s->values->output != NULL && strcmp(s->results.name, "standard output") != 0) {
        prog_json json = prog_json_to(stdout);

        prog_json_open(&json, '{');
        prog_json_key_text(&json, "index", s->values->dir);
        prog_json_key_text(&json, "output", s->values->output);
        prog_json_key_count(&json, "n_queries", n);
        if (prog_search_by_radius(s->values)) {
            prog_json_key_real(&json, "radius", s->values->radius);
            prog_json_key_count(&json, "n_found", s->n_found);
        } else {
            prog_json_key_count(&json, "k", s->values->k);
        }
        prog_json_key_text(&json, "device", may_use_gpus(s) ? thr_context_device(s->run->context) : "cpu");
        prog_json_key_real(&json, "open_s", s->open_s);
        prog_json_key_real(&json, "search_s", s->search_s);
        prog_json_key_real(&json, "total_s", total_s);
        prog_json_key_real(&json, "queries_per_s", rate);
        if (s->certified != NULL)
            prog_json_key_count(&json, "n_certified", s->n_certified);
        prog_json_close(&json, '}');
        prog_json_end(&json);
    }
}

/* Words that are right one by one, but not together. */
static int check_words(const program *run, const prog_search_values *values) {
    const prog_features_values *features = &values->features;
    const bool radius = prog_search_by_radius(values);
    const bool queries = values->queries != NULL, like = values->like.n > 0, text = values->text.n > 0;

    if (!queries && !like && !text)
        prog_error("QUERIES, --like NAME or --text TEXT is missing; %s", prog_see_help(run));
    else if (queries + like + text > 1)
        prog_error("%s and %s exclude each other; %s", queries ? "QUERIES" : "--like",
                   like && queries ? "--like" : "--text", prog_see_help(run));
    else if (values->k == 0 && !radius)
        prog_error("-k N or --radius S is missing; %s", prog_see_help(run));
    else if (radius && (values->candidates != 0 || values->survivors != 0 || !isnan(values->extra)))
        prog_error("--candidates, --survivors and --extra are for the best -k, not for --radius; %s",
                   prog_see_help(run));
    else if (radius && (features->features != NULL || features->target != NULL))
        prog_error("--features and --target are for the best -k, not for --radius; %s", prog_see_help(run));
    else if (radius && (values->rerank.model != NULL || values->rerank.columns != NULL))
        prog_error("--rank and --rank-columns are for the best -k, not for --radius; %s", prog_see_help(run));
    else if (features->features != NULL && !isnan(values->extra))
        prog_error("--extra is of scores alone, --features change them: give --recall or --candidates; %s",
                   prog_see_help(run));
    else if (features->features == NULL && !text && !queries &&
             (features->multipliers != NULL || features->offsets != NULL || features->explain || features->value != 0))
        prog_error("--value, --multipliers, --offsets and --explain need --features, or users in words; %s",
                   prog_see_help(run));
    else
        return prog_rerank_check(run, &values->rerank, values->k, values->output);
    return PROG_WRONG_WORDS;
}

static int run_search(program *run, const void *all_values) {
    const prog_search_values *values = all_values;
    prog_search s = {.run = run, .values = values, .started_s = prog_seconds()};
    int rc = check_words(run, values);

    if (rc != PROG_DONE)
        return rc;
    rc = prog_search_prepare(&s);
    if (rc == PROG_DONE)
        rc = values->queries != NULL ? prog_search_file(&s)
             : values->text.n > 0    ? prog_search_texts(&s)
                                     : prog_search_like(&s);
    if (rc == PROG_DONE)
        rc = prog_features_end(&s.features);
    if (rc == PROG_DONE)
        rc = prog_results_commit(&s.results);
    if (rc == PROG_DONE)
        report(&s);
    prog_search_free(&s);
    return rc;
}

static const char *const examples[] = {
    "thresher index search words.index --like king --like queen -k 5",
    "thresher index search vectors.index queries.fvecs -k 10 -o result.ivecs",
    "thresher index search vectors.index queries.npy -k 100 --exact --json",
    "thresher index search vectors.index queries.npy --radius 0.8 -o pairs.jsonl",
    "thresher index search p.index --text 'edit pdf files' -k 10",
    "thresher index search ads.index users.fvecs --features users.txt -k 100 --json",
    "thresher index search p.index queries.txt -k 10 --rank m --rank-columns score",
    NULL,
};

const prog_command prog_index_search = {
    .noun = "index",
    .verb = "search",
    .summary = "find the k nearest items of every query, or all within a radius",
    .text =
        "Scores every item with its code, takes the best candidates, and ranks those by their exact scores. Larger "
        "scores are better: the cosine, the inner product, or minus the squared distance. Equal scores are ordered "
        "by row number. With --radius everything that may be near enough gets an exact score, and all that is near "
        "enough is shown.\n\n"
        "Of an index with features, --features add what a query's features weigh to the scores of the items that have "
        "them, in the same pass; --multipliers and --offsets are bids and pacing.\n\n"
        "--rank puts the best by search in the order of a linear model over the search's score and features of "
        "items.\n\n"
        "Without -o a readable table is printed, with --json an object a query: query, ids, scores, names where the "
        "index has them, and whether the answer is certified: certainly the exact one, by a bound of what the codes "
        "are off by. A result file is complete or not there.",
    .arguments = arguments,
    .options = options,
    .values_size = sizeof(prog_search_values),
    .examples = examples,
    .run = run_search,
};
