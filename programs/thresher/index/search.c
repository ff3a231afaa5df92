/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search.c - `index search DIR QUERIES -k N`, of an index or a collection; --like NAME or --text TEXT replace QUERIES,
 * --radius S replaces -k.
 */
#include <math.h>

#include "index/collection.h"
#include "index/search_run.h"
#include "commands.h"
#include "cli/messages.h"

enum { GROUP_CANDIDATES = 1, GROUP_WANTED };

static const prog_argument arguments[] = {
    {PROG_REQUIRED("DIR", PROG_NAMES_DIR, offsetof(prog_search_values, dir), "an index or a collection of shards")},
    {PROG_ARGUMENT("QUERIES", PROG_NAMES_FILE, offsetof(prog_search_values, queries),
                   "rows of numbers, in any format that thresher index build reads; for an index with a model also "
                   "texts, one per line: .txt, or FILE.tsv:COLUMN; or --like or --text")},
    {.name = NULL},
};

static const prog_option options[] = {
    {PROG_K_OPTION(offsetof(prog_search_values, k), "items to find for every query"), .group = GROUP_WANTED},
    {PROG_REAL_OPTION("radius", "S", offsetof(prog_search_values, radius),
                      "instead of -k: find all items whose cosine or inner product with the query is at least "
                      "S, or whose distance is at most S in an index for l2 (scores are minus its square)"),
     .least_real = -INFINITY, .group = GROUP_WANTED},
    {PROG_LIST_OPTION("like", "NAME|ID", offsetof(prog_search_values, like),
                      "instead of QUERIES: use the vector of this item, and leave the item out of the answer; "
                      "repeatable")},
    {PROG_LIST_OPTION("text", "TEXT", offsetof(prog_search_values, text),
                      "instead of QUERIES: encode this text with the index's model; repeatable")},
    {PROG_REAL_OPTION("recall", "R", offsetof(prog_search_values, recall),
                      "the share of the true k best to find, on average over queries, above 0 and up to 1; above 0.999 "
                      "the search is exact. Without kept vectors recall is measured against the codes: the best by all "
                      "codes, which are not quite the true best. With --radius: the probability of finding an item "
                      "just within it; better items are found more often, and with 1 every item is found"),
     .most_real = 1.0, .fallback = "0.99"},
    {PROG_COUNT_OPTION("survivors", "N", offsetof(prog_search_values, survivors),
                       "number of items that pass the screen, whose other planes are read, in each shard of a "
                       "collection (default: what the recall requires)"),
     .least = 1},
    {PROG_COUNT_OPTION("candidates", "N", offsetof(prog_search_values, candidates),
                       "number of items that get exact scores, in each shard of a collection (default: what the "
                       "recall requires)"),
     .least = 1, .group = GROUP_CANDIDATES},
    {PROG_FLAG_OPTION("exact", offsetof(prog_search_values, exact), "score stored vectors exactly, without codes"),
     .group = GROUP_CANDIDATES},
    {PROG_FLAG_OPTION("certify", offsetof(prog_search_values, certify),
                      "report for every answer whether it is proven to be the exact one. This makes a search read all "
                      "cells, unless it is exact or by radius. Without --certify, --json, -o X.jsonl and -v report it "
                      "where that reads no more cells")},
    {PROG_COUNT_OPTION("query-bits", "1..8", offsetof(prog_search_values, query_bits),
                       "bits per dimension of the query's code (default: 4; for an index of model codes as many as "
                       "the model's queries have)"),
     .least = 1, .most = 8},
    {PROG_FILE_OPTION("filter", offsetof(prog_search_values, filter),
                      "items that may be found: a text of ids or names (.txt .tsv:COLUMN .csv:COLUMN), a file "
                      "of ids, .roaring of ids, or .npy of u1 or bool with one 0 or 1 per item")},
    {PROG_FLAG_OPTION("skip-missing", offsetof(prog_search_values, skip_missing),
                      "skip ids and names of --filter that no item has, and count them (default: an error)")},
    {PROG_FILE_OPTION("features", offsetof(prog_search_values, features),
                      "one line per query, as 'category=12:1.5 brand=7': features, each with a weight after "
                      "its last colon, else 1 (.txt, or FILE.tsv:COLUMN). The score of an item grows by the weights of "
                      "its features")},
    PROG_FEATURES_OPTIONS(offsetof(prog_search_values, with),
                          "the item's score plus the weights of the query's features that the item has. "
                          "Without --features bids do not count"),
    {PROG_TEXT_OPTION("rank", "MODEL", offsetof(prog_search_values, rerank.model),
                      "sort the items found by a model of thresher rank train, and show its scores"),
     .names = PROG_NAMES_FILE},
    {PROG_TEXT_OPTION("rank-columns", "NAME,...", offsetof(prog_search_values, rerank.columns),
                      "the model's features 1, 2, ...: \"score\", the score of the search, or columns of "
                      "--rank-features, by name or by number from 1")},
    {PROG_FILE_OPTION("rank-features", offsetof(prog_search_values, rerank.features),
                      "features of items: .tsv or .csv, or a matrix as .npy; one row per item, in the order of the "
                      "index's rows")},
    {PROG_TEXT_OPTION("rank-items", "COLUMN", offsetof(prog_search_values, rerank.items),
                      "the column of --rank-features with the items' names or ids; its rows may then be in any order")},
    {PROG_COUNT_OPTION("rank-depth", "N", offsetof(prog_search_values, rerank.depth),
                       "find N items, sort them by the model, and show the best -k (default: -k)"),
     .least = 1},
    {PROG_FLAG_OPTION(
        "follow", offsetof(prog_search_values, follow),
        "answer each query before the next one is read, from the newest commit of the index: for queries from a pipe "
        "while the index changes. A query with NaN gets an empty answer. Not with --filter, features or a collection")},
    {PROG_RESULTS_OPTION(offsetof(prog_search_values, output),
                         "; with --rank-columns also .svm, the features of the items found, with labels of 0, for "
                         "thresher rank train")},
    PROG_OPTIONS_END,
};

/* Check options that are valid alone but not together. */
static int check_words(const program *run, const prog_search_values *values) {
    const bool is_collection = values->follow && prog_is_collection(values->dir);

    if (prog_search_values_check(run, values) != PROG_DONE)
        return PROG_WRONG_WORDS;
    if (!values->follow || (values->queries != NULL && values->filter == NULL && values->features == NULL &&
                            values->with.target == NULL && values->rerank.features == NULL && !is_collection))
        return PROG_DONE;
    if (is_collection)
        prog_error("%s is a collection, and --follow is for an index that changes; %s", values->dir,
                   prog_see_help(run));
    else
        prog_error("--follow needs QUERIES, and excludes --filter, --features, --target and --rank-features; %s",
                   prog_see_help(run));
    return PROG_WRONG_WORDS;
}

static int run_search(program *run, const void *all_values) {
    const prog_search_values *values = all_values;
    prog_vector_search s = {.search = {.run = run, .started_s = prog_seconds()}, .values = values};
    int rc = check_words(run, values);

    if (rc != PROG_DONE)
        return rc;
    rc = prog_vector_search_prepare(&s);
    if (rc == PROG_DONE)
        rc = values->queries != NULL ? prog_vector_search_file(&s) : prog_vector_search_words(&s);
    if (rc == PROG_DONE)
        rc = prog_features_end(&s.search.features);
    if (values->follow && s.index != NULL)
        s.search.n_items = thr_index_get_info(s.index).n_items;
    rc = prog_search_end(&s.search, rc);
    if (rc == PROG_DONE)
        prog_search_report(values, &s.search, s.items.what);
    prog_vector_search_free(&s);
    return rc;
}

const prog_command prog_index_search = {
    PROG_COMMAND("index", "search", prog_search_values, arguments, options, run_search),
    .summary = "find the k nearest items of every query, or all within a radius",
    .text =
        "Scores every item by its code (with cells: the items of the likeliest cells), and ranks "
        "the best candidates by their exact scores. Where it costs less, all items that pass the filter get "
        "exact scores instead. Larger scores are better: the cosine, the inner product, or minus the "
        "squared distance. Equal scores are ordered by row number. Queries longer than 2^120, for ip and l2 "
        "2^60, are refused, as are NaN and infinity. With --radius every item that "
        "may be within it gets an exact score, and all items within it are shown.\n\nDIR is an index, or a collection "
        "of shards that Python's thresher.shards has built. The answers of a collection are those of one index over "
        "all rows: the same bits with --exact, and a promised recall holds for the whole. Shards are mapped, so "
        "the collection may be larger than memory; a filter takes one bit per item; --multipliers, --offsets and "
        "columns of --rank-features take 4 bytes per item each.\n\nIn an index "
        "with features, --features adds the weights of the query's features to the scores of the "
        "items that have them, in the same pass; --multipliers and --offsets are bids and "
        "pacing.\n\n--rank sorts the best items by a linear model of the search's score and "
        "features of the items.\n\nWithout -o the command prints a table, with --json it "
        "prints one object per query: query, ids, scores, names if the index has them, unknown features, and "
        "certified: whether the answer is proven to be the exact one, given the largest error of any code. In an "
        "index with cells, certified is left out where it would make the search read more cells, unless --certify is "
        "given. With -v the command also prints what the search reads, and why; of a collection, for its first shard, "
        "without the filter. A result file appears when it is complete.",
    .examples = PROG_EXAMPLES("thresher index search words.index --like king --like queen -k 5",
                              "thresher index search vectors.index queries.fvecs -k 10 -o result.ivecs",
                              "thresher index search my.shards queries.npy -k 100 --exact --json",
                              "thresher index search vectors.index queries.npy --radius 0.8 -o pairs.jsonl",
                              "thresher index search p.index --text 'edit pdf files' -k 10",
                              "thresher index search ads.index users.fvecs --features users.txt -k 100 --json",
                              "thresher index search p.index queries.txt -k 10 --rank m --rank-columns score",
                              "tail -f new.txt | thresher index search p.index -.txt -k 10 --follow"),
};
