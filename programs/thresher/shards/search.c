/* SPDX-License-Identifier: Apache-2.0 */
/* search.c - `shards search DIR QUERIES -k N`; --like and --text replace QUERIES, --radius S replaces -k. */
#include "shards/search_run.h"
#include "commands.h"
#include "cli/messages.h"

static const prog_argument arguments[] = {
    {PROG_REQUIRED("DIR", PROG_NAMES_DIR, offsetof(prog_search_values, dir), "a collection of shards")},
    {PROG_QUERIES_ARGUMENT(0, "a collection")},
    {.name = NULL},
};

static const prog_option options[] = {
    PROG_WANTED_OPTIONS(0, "a collection"),
    PROG_QUERY_OPTIONS(0, "collection"),
    PROG_SCREEN_OPTIONS(0, "a collection", " of all shards", " of a shard"),
    PROG_FILTER_OPTIONS(0),
    PROG_FUSED_OPTIONS(0, "collection"),
    PROG_FOUND_OPTION(0),
    PROG_OPTIONS_END,
};

static int run_search(program *run, const void *all_values) {
    const prog_search_values *values = all_values;
    prog_shards_search s = {.search = {.run = run, .started_s = prog_seconds()}, .values = values};
    int rc = prog_search_values_check(run, values);

    if (rc != PROG_DONE)
        return rc;
    rc = prog_shards_search_prepare(&s);
    if (rc == PROG_DONE)
        rc = values->queries != NULL ? prog_shards_search_file(&s) : prog_shards_search_words(&s);
    if (rc == PROG_DONE)
        rc = prog_features_end(&s.search.features);
    rc = prog_search_end(&s.search, rc);
    if (rc == PROG_DONE)
        prog_search_report(values, &s.search, "collection");
    prog_shards_search_free(&s);
    return rc;
}

const prog_command prog_shards_search_command = {
    PROG_COMMAND("shards", "search", prog_search_values, arguments, options, run_search),
    .summary = "find the k nearest items of every query in all shards",
    .text = "Searches one shard after the other and merges the answers, which are those of one index over all rows: "
            "the same bits with --exact, and a promised recall holds for the whole. Equal scores are ordered by the "
            "row in the collection. One shard is open at a time, so the collection may be larger than memory; a filter "
            "takes one bit per item. With features all shards are open, and --multipliers, --offsets and columns of "
            "--rank-features take 4 bytes per item each.\n\n"
            "Collections are built in Python, by thresher.shards.build. The output is that of thresher index search.",
    .examples = PROG_EXAMPLES("thresher shards search my.shards queries.npy -k 10 -o result.ivecs",
                              "thresher shards search my.shards queries.fvecs -k 100 --exact --json",
                              "thresher shards search my.shards queries.npy --radius 0.8 -o pairs.jsonl",
                              "thresher shards search my.shards --like 1234567 --filter allowed.npy",
                              "thresher shards search ads.shards users.npy --features users.txt -k 100 --json"),
};
