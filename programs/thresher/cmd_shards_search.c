/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_shards_search.c - `shards search DIR QUERIES -k N`; --radius S replaces -k. */
#include <math.h>

#include "json.h"
#include "shards_search.h"
#include "talk.h"

enum { GROUP_CANDIDATES = 1, GROUP_WANTED };

static const prog_argument arguments[] = {
    {PROG_ARGUMENT("DIR", PROG_NAMES_DIR, offsetof(prog_shards_values, dir), "a collection of shards"),
     .required = true},
    {PROG_ARGUMENT("QUERIES", PROG_NAMES_FILE, offsetof(prog_shards_values, queries),
                   "rows of numbers, in any format that thresher index build reads"),
     .required = true},
    {.name = NULL},
};

static const prog_option options[] = {
    {PROG_K_OPTION(offsetof(prog_shards_values, k), "items to find for every query"), .group = GROUP_WANTED},
    {PROG_REAL_OPTION("radius", "S", offsetof(prog_shards_values, radius),
                      "instead of -k: find all items whose cosine or inner product with the query is at least "
                      "S, or whose distance is at most S in a collection for l2"),
     .least_real = -INFINITY, .group = GROUP_WANTED},
    {PROG_REAL_OPTION("recall", "R", offsetof(prog_shards_values, recall),
                      "the wanted share of the true k best of all shards, on average over queries of any kind, above 0 "
                      "and up to 1; above 0.999 every stored vector is scored. With --radius the probability to find "
                      "an item just within it"),
     .most_real = 1.0, .fallback = "0.99"},
    {PROG_COUNT_OPTION("survivors", "N", offsetof(prog_shards_values, survivors),
                       "items of a shard that pass the first stage and have their remaining bits read (default: what "
                       "the recall requires)"),
     .least = 1},
    {PROG_COUNT_OPTION("candidates", "N", offsetof(prog_shards_values, candidates),
                       "items of a shard that get exact scores (default: what the recall requires)"),
     .least = 1, .group = GROUP_CANDIDATES},
    {PROG_REAL_OPTION("extra", "E", offsetof(prog_shards_values, extra),
                      "instead of --candidates: every item whose estimated score is within E of the k-th best "
                      "estimate of its shard gets an exact score"),
     .group = GROUP_CANDIDATES},
    {PROG_FLAG_OPTION("exact", offsetof(prog_shards_values, exact), "score every stored vector exactly, without codes"),
     .group = GROUP_CANDIDATES},
    {PROG_COUNT_OPTION("query-bits", "1..8", offsetof(prog_shards_values, query_bits),
                       "bits a dimension of the query's code (default: 4; for a collection of model codes as many as "
                       "the model's queries have)"),
     .least = 1, .most = 8},
    {PROG_RESULTS_OPTION(offsetof(prog_shards_values, output), "")},
    PROG_OPTIONS_END,
};

static int run_search(program *run, const void *all_values) {
    static const char *const of_codes[] = {"recall", "survivors", "query-bits", NULL};
    const prog_shards_values *values = all_values;
    prog_shards_search s = {.search = {.run = run, .started_s = prog_seconds()}, .values = values};

    if (!isnan(values->radius) && (values->candidates != 0 || values->survivors != 0 || !isnan(values->extra))) {
        prog_error("--candidates, --survivors and --extra are for the best -k, not for --radius; %s",
                   prog_see_help(run));
        return PROG_WRONG_WORDS;
    }
    if (values->exact)
        prog_note_unused(run, of_codes, "with --exact");
    int rc = prog_shards_search_prepare(&s);
    if (rc == PROG_DONE)
        rc = prog_shards_search_file(&s);
    rc = prog_search_end(&s.search, rc);
    prog_shards_search_free(&s);
    return rc;
}

static const char *const examples[] = {
    "thresher shards search my.shards queries.npy -k 10 -o result.ivecs",
    "thresher shards search my.shards queries.fvecs -k 100 --exact --json",
    "thresher shards search my.shards queries.npy --radius 0.8 -o pairs.jsonl",
    NULL,
};

const prog_command prog_shards_search_command = {
    .noun = "shards",
    .verb = "search",
    .summary = "find the k nearest items of every query in all shards",
    .text = "Searches one shard after the other and merges the answers, which are those of one index over all rows: "
            "the same bits with --exact, and a promised recall holds for the whole. Equal scores are ordered by the "
            "row in the collection. One shard is open at a time, so the collection may be larger than memory.\n\n"
            "Collections are built in Python, by thresher.shards.build. The output is that of thresher index search.",
    .arguments = arguments,
    .options = PROG_OPTIONS(options),
    .values_size = sizeof(prog_shards_values),
    .examples = examples,
    .run = run_search,
};
