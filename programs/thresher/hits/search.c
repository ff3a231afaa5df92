/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search.c - `hits search FILE QUERIES -k N`, with --features WORDS instead of QUERIES.
 */
#include <unistd.h>

#include "info/gpus.h"
#include "hits/weight_note.h"
#include "search/search.h"
#include "commands.h"
#include "cli/messages.h"

typedef struct search_values {
    const char *path, *queries;
    uint64_t k;
    prog_list words;
    prog_features_values features;
    const char *with, *without, *output;
} search_values;

static const prog_argument arguments[] = {
    {PROG_REQUIRED("FILE", PROG_NAMES_FILE, offsetof(search_values, path),
                   "posting lists that thresher hits build wrote")},
    {PROG_ARGUMENT("QUERIES", PROG_NAMES_FILE, offsetof(search_values, queries),
                   "one query per line, as 'category=12:1.5 brand=7': features with a weight after the last "
                   "colon, or 1: .txt, or FILE.tsv:COLUMN; or --features")},
    {.name = NULL},
};

static const prog_option options[] = {
    {PROG_K_OPTION(offsetof(search_values, k), "items to find for every query")},
    {PROG_LIST_OPTION("features", "WORDS", offsetof(search_values, words),
                      "instead of QUERIES: this query, such as 'category=12:1.5 brand=7'; repeatable")},
    PROG_FEATURES_OPTIONS(offsetof(search_values, features),
                          "the sum of the weights of the query's features that the item has"),
    {PROG_FILE_OPTION("with", offsetof(search_values, with),
                      "items to add for this search, as in thresher hits build; existing ones are replaced. "
                      "The file of the lists does not change")},
    {PROG_FILE_OPTION("without", offsetof(search_values, without),
                      "items to remove for this search, one id or name per line: .txt, or FILE.tsv:COLUMN")},
    {PROG_RESULTS_OPTION(offsetof(search_values, output), "")},
    PROG_OPTIONS_END,
};

typedef struct hits_search {
    prog_search search;
    const search_values *values;
    thr_hits *hits;
    prog_hits_part part;
} hits_search;

static thr_status search_batch(prog_search *search, const thr_matrix *rows, thr_error *err) {
    const hits_search *s = (const hits_search *)(const void *)search;
    const thr_hits_queries queries = prog_features_view(&search->features, 0);
    thr_hits_search_options how = {0};
    (void)rows;
    how.value = (thr_hits_value)s->values->features.value;
    how.target = prog_features_target(&search->features, 0);
    how.model = search->features.model;
    return thr_hits_search(s->hits, &queries, search->k, &how, search->ids, search->scores, err);
}

static const char *name_of(const void *hits, uint64_t id) {
    return thr_hits_name(hits, id);
}

/* Apply --with and --without. */
static int change(hits_search *s) {
    thr_error err = {.status = THR_OK};
    thr_hits_changes changes = {0};
    thr_hits *updated = NULL;
    uint64_t n_missing = 0;
    if (s->values->with == NULL && s->values->without == NULL)
        return PROG_DONE;
    changes.added_path = s->values->with;
    changes.removed_path = s->values->without;
    changes.n_missing = &n_missing;
    if (thr_hits_update(s->hits, &changes, &updated, &err) != THR_OK)
        return prog_failed(&err);
    prog_progress_end();
    const uint64_t n_features = thr_hits_get_info(s->hits).n_features;
    thr_hits_free(s->hits);
    s->hits = updated;
    if (s->values->with != NULL)
        prog_hits_note_weighed(s->search.run, updated, n_features, s->values->with);
    const thr_hits_info info = thr_hits_get_info(updated);
    prog_detail("%s added, %s of the lists' own replaced or left out", prog_counted(info.n_added, "item").text,
                prog_exact(info.n_removed).text);
    if (n_missing > 0)
        prog_note("%s to remove did not exist", prog_counted(n_missing, "item").text);
    return PROG_DONE;
}

static int prepare(hits_search *s) {
    const search_values *values = s->values;
    prog_search *search = &s->search;
    thr_error err = {.status = THR_OK};
    if (thr_hits_open(search->run->context, values->path, &s->hits, &err) != THR_OK)
        return prog_failed(&err);
    int rc = change(s);
    if (rc != PROG_DONE)
        return rc;
    const thr_hits_info info = thr_hits_get_info(s->hits);
    search->n_items = info.n_items;
    search->queries = values->queries;
    search->words = values->queries == NULL ? &values->words : NULL;
    search->search_batch = search_batch;
    s->part = (prog_hits_part){.hits = s->hits};
    const prog_hits_parts parts = {&s->part, 1, NULL};
    rc = prog_features_open(&search->features, search->run, &values->features, &parts);
    if (rc == PROG_DONE)
        rc = prog_features_from(&search->features, search->run, values->queries, "--features", search->words, NULL);
    if (rc == PROG_DONE)
        rc = prog_search_make_room(search, values->k, 0, UINT64_MAX);
    return rc == PROG_DONE ? prog_results_open(&search->results, search->run, values->output,
                                               info.has_names ? name_of : NULL, s->hits, false)
                           : rc;
}

/* Whether queries come from a terminal and answers go to one. */
static bool is_typed(const hits_search *s) {
    return s->values->queries != NULL && s->values->queries[0] == '-' && isatty(STDOUT_FILENO) == 1;
}

static int search_all(hits_search *s) {
    s->search.batch = is_typed(s) ? 1 : s->search.batch;
    int rc = prog_search_batch(&s->search, NULL);
    while (rc == PROG_DONE && s->search.features.batch.n_queries > 0)
        rc = prog_search_batch(&s->search, NULL);
    return rc;
}

static int run_search(program *run, const void *all_values) {
    const search_values *values = all_values;
    hits_search s = {.search = {.run = run, .started_s = prog_seconds()}, .values = values};
    if ((values->queries != NULL) == (values->words.n > 0)) {
        prog_error("%s; %s",
                   values->queries != NULL ? "QUERIES and --features exclude each other"
                                           : "QUERIES or --features WORDS is missing",
                   prog_see_help(run));
        return PROG_WRONG_WORDS;
    }
    int rc = prepare(&s);
    if (rc == PROG_DONE)
        rc = search_all(&s);
    rc = prog_search_end(&s.search, rc);
    if (rc == PROG_DONE)
        prog_print_device("posting lists are added up", prog_first_device(run).text);
    prog_search_free(&s.search);
    thr_hits_free(s.hits);
    return rc;
}

const prog_command prog_hits_search = {
    PROG_COMMAND("hits", "search", search_values, arguments, options, run_search),
    .summary = "find the k items whose features match each query best",
    .text = "Sums, for every item, the weights of the query's features that it has, and prints the "
            "best items. Items without a hit have the sum 0 and are ranked with the others. Items of "
            "equal value are ordered as in the input. Features that no item has are ignored; JSON counts "
            "them under unknown. A note names the queries of which no feature is known, and the unknown "
            "words of a target.\n\n--with and --without give the answers of lists rebuilt without "
            "the removed items and with the added ones at the end. The first word of a query may be "
            "#model=FINGERPRINT, as thresher tower encode --hits writes it; lists built for another "
            "model refuse the query.\n\nWithout -o the command prints a table, with --json it "
            "prints one object per query: query, ids, scores, names if items have them, unknown features, and with "
            "--explain matches, one object per item with features and their weights.",
    .examples = PROG_EXAMPLES(
        "thresher hits search ads.hits --features 'category=12:1.5 brand=7' -k 5 --explain",
        "thresher hits search ads.hits queries.txt -k 100 --multipliers bids.tsv --value sigmoid -o result.jsonl",
        "thresher hits search ads.hits queries.txt --target 'country=fr AND NOT adult'",
        "thresher hits search ads.hits queries.txt --with new.tsv --without ended.txt"),
};
