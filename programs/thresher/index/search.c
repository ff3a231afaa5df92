/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search.c - `index search DIR QUERIES -k N`; --like NAME or --text TEXT replace QUERIES, --radius S replaces
 * -k.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "info/gpus.h"
#include "index/search_run.h"
#include "cli/json.h"
#include "commands.h"
#include "cli/messages.h"

static const prog_argument arguments[] = {
    {PROG_REQUIRED("DIR", PROG_NAMES_DIR, offsetof(prog_index_values, common.dir), "an index")},
    {PROG_QUERIES_ARGUMENT(offsetof(prog_index_values, common), "an index")},
    {.name = NULL},
};

static const prog_option options[] = {
    PROG_WANTED_OPTIONS(offsetof(prog_index_values, common), "an index"),
    PROG_QUERY_OPTIONS(offsetof(prog_index_values, common), "index"),
    PROG_SCREEN_OPTIONS(offsetof(prog_index_values, common), "an index", "", "", "",
                        "; better items are found more often, and with 1 all are"),
    PROG_FILTER_OPTIONS(offsetof(prog_index_values, common)),
    {PROG_FILE_OPTION("features", offsetof(prog_index_values, features),
                      "a line a query, as 'category=12:1.5 brand=7': features with a weight after the last "
                      "colon, or 1 (.txt, or FILE.tsv:COLUMN). The score of an item grows by the weights of "
                      "its features")},
    PROG_FEATURES_OPTIONS(prog_index_values, with),
    {PROG_TEXT_OPTION("rank", "MODEL", offsetof(prog_index_values, rerank.model),
                      "sort the items found by a model of thresher rank train, and show its scores"),
     .names = PROG_NAMES_FILE},
    {PROG_TEXT_OPTION("rank-columns", "NAME,...", offsetof(prog_index_values, rerank.columns),
                      "the model's features 1, 2, ...: \"score\", the score of the search, or columns of "
                      "--rank-features, by name or by number from 1")},
    {PROG_FILE_OPTION("rank-features", offsetof(prog_index_values, rerank.features),
                      "features of items: .tsv or .csv, or a matrix as .npy; a row an item, in the order of "
                      "the index's rows")},
    {PROG_TEXT_OPTION("rank-items", "COLUMN", offsetof(prog_index_values, rerank.items),
                      "the column of --rank-features with the items' names or ids; its rows may then be in any "
                      "order")},
    {PROG_COUNT_OPTION("rank-depth", "N", offsetof(prog_index_values, rerank.depth),
                       "find N items, sort them by the model, and show the best -k (default: -k)"),
     .least = 1},
    {PROG_FLAG_OPTION(
        "follow", offsetof(prog_index_values, follow),
        "search every query in the newest commit of an index that changes, and write its answer before "
        "the next query is read, from a pipe for example; a query with NaN gets an empty answer; not with --filter "
        "or features")},
    {PROG_RESULTS_OPTION(offsetof(prog_index_values, common.output),
                         "; with --rank-columns also .svm, the features of the items found, with labels of 0, for "
                         "thresher rank train")},
    PROG_OPTIONS_END,
};

/* ------------------------------------------------------------------------------------------------ report */

/* GPUs screen only searches for the best k that are not exact. */
static bool may_use_gpus(const prog_vector_search *s) {
    return !s->search.by_radius && !s->values->common.exact;
}

/* With --json and -o the summary goes to standard output. */
static void print_summary(const prog_vector_search *s, double total_s) {
    const prog_search *search = &s->search;
    const uint64_t n = search->results.n_queries;
    prog_json json = prog_json_object();

    prog_json_key_text(&json, "index", s->values->common.dir);
    prog_json_key_text(&json, "output", s->values->common.output);
    prog_json_key_count(&json, "n_queries", n);
    if (search->by_radius) {
        prog_json_key_real(&json, "radius", s->values->common.radius);
        prog_json_key_count(&json, "n_found", search->n_found);
    } else {
        prog_json_key_count(&json, "k", s->values->common.k);
    }
    prog_json_key_text(&json, "device", may_use_gpus(s) ? thr_context_device(search->run->context) : "cpu");
    prog_json_key_real(&json, "open_s", search->open_s);
    prog_json_key_real(&json, "search_s", search->search_s);
    prog_json_key_real(&json, "total_s", total_s);
    prog_json_key_real(&json, "queries_per_s", search->search_s > 0.0 ? (double)n / search->search_s : 0.0);
    if (search->certified != NULL)
        prog_json_key_count(&json, "n_certified", search->n_certified);
    prog_json_end_object(&json);
}

static void report(const prog_vector_search *s) {
    const prog_search *search = &s->search;
    const thr_context *context = search->run->context;
    const double total_s = prog_seconds() - search->started_s;

    prog_detail("%s until the first query, %s of search, %s in all; %" PRIu32 " threads, CPU level %s",
                prog_time(search->open_s).text, prog_time(search->search_s).text, prog_time(total_s).text,
                thr_context_threads(context), thr_isa_name(thr_context_isa(context)));
    if (may_use_gpus(s))
        prog_print_device("codes are screened", thr_context_device(context));
    else if (!s->values->common.exact)
        prog_detail("codes are screened by the CPU, as in every search by --radius");
    if (search->run->globals.json && s->values->common.output != NULL && search->results.is_file)
        print_summary(s, total_s);
}

/* Check options that are valid alone but not together. */
static int check_words(const program *run, const prog_index_values *values) {
    const prog_features_values *with = &values->with;
    const bool radius = !isnan(values->common.radius);
    const bool queries = values->common.queries != NULL, text = values->common.text.n > 0;

    if (prog_search_values_check(run, &values->common) != PROG_DONE)
        return PROG_WRONG_WORDS;
    if (radius && (values->features != NULL || with->target != NULL))
        prog_error("--features and --target are for the best -k, not for --radius; %s", prog_see_help(run));
    else if (radius && (values->rerank.model != NULL || values->rerank.columns != NULL))
        prog_error("--rank and --rank-columns are for the best -k, not for --radius; %s", prog_see_help(run));
    else if (values->features != NULL && (!isnan(values->common.extra) || values->common.extra_distance != 0))
        prog_error("--extra and --extra-distance do not work with --features: give --recall or --candidates; %s",
                   prog_see_help(run));
    else if (values->features == NULL && !text && !queries &&
             (with->multipliers != NULL || with->offsets != NULL || with->explain || with->value != 0))
        prog_error("--value, --multipliers, --offsets and --explain need --features, or users in words; %s",
                   prog_see_help(run));
    else if (values->follow && (!queries || values->common.filter != NULL || values->features != NULL ||
                                with->target != NULL || values->rerank.features != NULL))
        prog_error("--follow needs QUERIES, and excludes --filter, --features, --target and --rank-features; %s",
                   prog_see_help(run));
    else
        return prog_rerank_check(run, &values->rerank, values->common.k, values->common.output);
    return PROG_WRONG_WORDS;
}

static int run_search(program *run, const void *all_values) {
    const prog_index_values *values = all_values;
    prog_vector_search s = {.search = {.run = run, .started_s = prog_seconds()}, .values = values};
    int rc = check_words(run, values);

    if (rc != PROG_DONE)
        return rc;
    rc = prog_vector_search_prepare(&s);
    if (rc == PROG_DONE)
        rc = values->common.queries != NULL ? prog_vector_search_file(&s) : prog_vector_search_words(&s);
    if (rc == PROG_DONE)
        rc = prog_features_end(&s.search.features);
    if (values->follow)
        s.search.n_items = s.info.n_items;
    rc = prog_search_end(&s.search, rc);
    if (rc == PROG_DONE)
        report(&s);
    prog_vector_search_free(&s);
    return rc;
}

const prog_command prog_index_search = {
    PROG_COMMAND("index", "search", prog_index_values, arguments, options, run_search),
    .summary = "find the k nearest items of every query, or all within a radius",
    .text = "Scores every item by its code, takes the best candidates, and ranks those by their "
            "exact scores. Larger scores are better: the cosine, the inner product, or minus the "
            "squared distance. Equal scores are ordered by row number. Queries longer than 2^120, for ip and l2 "
            "2^60, are refused, as are NaN and infinity. With --radius every item that "
            "may be within it gets an exact score, and all items within it are shown.\n\nIn an index "
            "with features, --features adds the weights of the query's features to the scores of the "
            "items that have them, in the same pass; --multipliers and --offsets are bids and "
            "pacing.\n\n--rank sorts the best items by a linear model of the search's score and "
            "features of the items.\n\nWithout -o the command prints a table, with --json an object "
            "a query: query, ids, scores, names if the index has them, unknown features, and "
            "certified: whether the answer is proven to be the exact one, given the largest error of "
            "any code. A result file appears when it is complete.",
    .examples = PROG_EXAMPLES("thresher index search words.index --like king --like queen -k 5",
                              "thresher index search vectors.index queries.fvecs -k 10 -o result.ivecs",
                              "thresher index search vectors.index queries.npy -k 100 --exact --json",
                              "thresher index search vectors.index queries.npy --radius 0.8 -o pairs.jsonl",
                              "thresher index search p.index --text 'edit pdf files' -k 10",
                              "thresher index search ads.index users.fvecs --features users.txt -k 100 --json",
                              "thresher index search p.index queries.txt -k 10 --rank m --rank-columns score",
                              "tail -f new.txt | thresher index search p.index -.txt -k 10 --follow"),
};
