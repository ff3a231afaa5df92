/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search.c - `index search DIR QUERIES -k N`; --like NAME or --text TEXT replace QUERIES, --radius S replaces
 * -k.
 */
#include "index/search_run.h"
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
    PROG_SCREEN_OPTIONS(offsetof(prog_index_values, common), "an index", "", ""),
    PROG_FILTER_OPTIONS(offsetof(prog_index_values, common)),
    PROG_FUSED_OPTIONS(offsetof(prog_index_values, common), "index"),
    {PROG_FLAG_OPTION(
        "follow", offsetof(prog_index_values, follow),
        "answer each query before the next one is read, from the newest commit of the index: for queries from a pipe "
        "while the index changes. A query with NaN gets an empty answer. Not with --filter or features")},
    PROG_FOUND_OPTION(offsetof(prog_index_values, common)),
    PROG_OPTIONS_END,
};

/* Check options that are valid alone but not together. */
static int check_words(const program *run, const prog_index_values *values) {
    const prog_search_values *common = &values->common;

    if (prog_search_values_check(run, common) != PROG_DONE)
        return PROG_WRONG_WORDS;
    if (!values->follow || (common->queries != NULL && common->filter == NULL && common->features == NULL &&
                            common->with.target == NULL && common->rerank.features == NULL))
        return PROG_DONE;
    prog_error("--follow needs QUERIES, and excludes --filter, --features, --target and --rank-features; %s",
               prog_see_help(run));
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
        prog_search_report(&values->common, &s.search, "index");
    prog_vector_search_free(&s);
    return rc;
}

const prog_command prog_index_search = {
    PROG_COMMAND("index", "search", prog_index_values, arguments, options, run_search),
    .summary = "find the k nearest items of every query, or all within a radius",
    .text =
        "Scores every item by its code (with cells: the items of the likeliest cells), and ranks "
        "the best candidates by their exact scores. Where it costs less, all items that pass the filter get "
        "exact scores instead. Larger scores are better: the cosine, the inner product, or minus the "
        "squared distance. Equal scores are ordered by row number. Queries longer than 2^120, for ip and l2 "
        "2^60, are refused, as are NaN and infinity. With --radius every item that "
        "may be within it gets an exact score, and all items within it are shown.\n\nIn an index "
        "with features, --features adds the weights of the query's features to the scores of the "
        "items that have them, in the same pass; --multipliers and --offsets are bids and "
        "pacing.\n\n--rank sorts the best items by a linear model of the search's score and "
        "features of the items.\n\nWithout -o the command prints a table, with --json it "
        "prints one object per query: query, ids, scores, names if the index has them, unknown features, and "
        "certified: whether the answer is proven to be the exact one, given the largest error of any code. In an "
        "index with cells, certified is left out where it would make the search read more cells, unless --certify is "
        "given. A result file appears when it is complete.",
    .examples = PROG_EXAMPLES("thresher index search words.index --like king --like queen -k 5",
                              "thresher index search vectors.index queries.fvecs -k 10 -o result.ivecs",
                              "thresher index search vectors.index queries.npy -k 100 --exact --json",
                              "thresher index search vectors.index queries.npy --radius 0.8 -o pairs.jsonl",
                              "thresher index search p.index --text 'edit pdf files' -k 10",
                              "thresher index search ads.index users.fvecs --features users.txt -k 100 --json",
                              "thresher index search p.index queries.txt -k 10 --rank m --rank-columns score",
                              "tail -f new.txt | thresher index search p.index -.txt -k 10 --follow"),
};
