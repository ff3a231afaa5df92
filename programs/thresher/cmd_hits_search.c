/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_hits_search.c - `hits search FILE QUERIES -k N`, with --features WORDS instead of QUERIES.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpus.h"
#include "hits_explain.h"
#include "talk.h"

typedef struct search_values {
    const char *path, *queries;
    uint64_t k;
    prog_list features;
    size_t value;
    const char *multipliers, *offsets, *target, *with, *without, *output;
    bool explain;
} search_values;

static const char *const value_forms[] = {"sum", "sigmoid", NULL};

static const prog_argument arguments[] = {
    {.name = "FILE",
     .help = "posting lists that thresher hits build wrote",
     .offset = offsetof(search_values, path),
     .names = PROG_NAMES_FILE,
     .required = true},
    {.name = "QUERIES",
     .help = "a query a line: features parted by spaces, each with a weight behind a colon or 1: .txt, or "
             "FILE.tsv:COLUMN; or --features",
     .offset = offsetof(search_values, queries),
     .names = PROG_NAMES_FILE},
    {.name = NULL},
};

static const prog_option options[] = {
    {.letter = 'k',
     .kind = PROG_COUNT,
     .value = "N",
     .least = 1,
     .fallback = "10",
     .help = "how many items to find for every query",
     .offset = offsetof(search_values, k)},
    {.name = "features",
     .kind = PROG_LIST,
     .value = "WORDS",
     .help = "instead of QUERIES: this query, such as 'category=12:1.5 brand=7'; may be given again",
     .offset = offsetof(search_values, features)},
    {.name = "value",
     .kind = PROG_CHOICE,
     .value = "sum|sigmoid",
     .choices = value_forms,
     .fallback = "sum",
     .help = "what an item is ranked by, with s the sum of its weights: s x multiplier + offset, or "
             "multiplier / (1 + exp(-s)) + offset",
     .offset = offsetof(search_values, value)},
    {.name = "multipliers",
     .kind = PROG_TEXT,
     .value = "FILE",
     .names = PROG_NAMES_FILE,
     .help = "a bid an item: .tsv of items and numbers, where others have 1; or a column of numbers in order of items",
     .offset = offsetof(search_values, multipliers)},
    {.name = "offsets",
     .kind = PROG_TEXT,
     .value = "FILE",
     .names = PROG_NAMES_FILE,
     .help = "what is added for an item, in the same way, where others have 0",
     .offset = offsetof(search_values, offsets)},
    {.name = "target",
     .kind = PROG_TEXT,
     .value = "WORDS",
     .help = "which items may be found, by what they have: features with AND, OR, NOT and parentheses, such as "
             "'category=12 AND NOT (brand=7 OR brand=9)'",
     .offset = offsetof(search_values, target)},
    {.name = "with",
     .kind = PROG_TEXT,
     .value = "FILE",
     .names = PROG_NAMES_FILE,
     .help = "items to search beside those of the lists, as in thresher hits build; one that is there is replaced. The "
             "lists' file stays as it is",
     .offset = offsetof(search_values, with)},
    {.name = "without",
     .kind = PROG_TEXT,
     .value = "FILE",
     .names = PROG_NAMES_FILE,
     .help = "items to leave out, an id or a name a line: .txt, or FILE.tsv:COLUMN",
     .offset = offsetof(search_values, without)},
    {.name = "explain",
     .kind = PROG_FLAG,
     .help = "show which of the query's features each item has, and their weights",
     .offset = offsetof(search_values, explain)},
    {.name = "output",
     .letter = 'o',
     .kind = PROG_TEXT,
     .value = "FILE",
     .names = PROG_NAMES_FILE,
     .help = "write .ivecs, .jsonl or .trec instead of a table",
     .offset = offsetof(search_values, output)},
    PROG_OPTIONS_END,
};

typedef struct search {
    program *run;
    const search_values *values;
    thr_hits *hits;
    thr_hits_target *target;
    prog_results results;
    prog_hits_query query;
    uint64_t width; /* items of an answer at most */
    uint64_t *ids;
    float *found;
    prog_explainer explainer;
    uint64_t n_unknown; /* features, of all queries */
    double search_s;
} search;

/* ------------------------------------------------------------------------------------------------ one query */

static int search_line(search *s, const char *name, const char *text, const char *line, size_t length) {
    thr_error err = {.status = THR_OK};
    thr_hits_search_options how;
    uint32_t n_unknown = 0;
    int rc = prog_hits_query_read(&s->query, s->hits, name, line, length);
    if (rc != PROG_DONE)
        return rc;
    const uint64_t ends[] = {0, s->query.n};
    const thr_hits_queries queries = {1, ends, s->query.features, s->query.weights};
    thr_hits_search_options_init(&how);
    how.value = (thr_hits_value)s->values->value;
    how.target = s->target;
    how.n_unknown = &n_unknown;
    how.model = s->query.model;
    const double start = prog_seconds();
    if (thr_hits_search(s->hits, &queries, s->width, &how, s->ids, s->found, &err) != THR_OK)
        return prog_failed_at(name, &err);
    s->search_s += prog_seconds() - start;
    s->n_unknown += n_unknown;
    prog_answer answer = {.text = text, .ids = s->ids, .scores = s->found, .width = s->width};
    while (answer.n < s->width && s->ids[answer.n] != THR_NO_ID)
        answer.n++;
    if (s->values->explain)
        rc = prog_explain(&s->explainer, s->hits, &s->query, &answer);
    return rc == PROG_DONE ? prog_results_put(&s->results, &answer) : rc;
}

/* ------------------------------------------------------------------------------------------------ all queries */

static int search_file(search *s) {
    thr_error err = {.status = THR_OK};
    thr_reader *reader = NULL;
    int rc = PROG_DONE;
    if (thr_reader_open(s->run->context, s->values->queries, &reader, &err) != THR_OK)
        return prog_failed(&err);
    if (thr_reader_get_shape(reader).dtype != THR_DTYPE_NONE) {
        prog_error("%s holds numbers; QUERIES are lines of features", s->values->queries);
        rc = PROG_FAILED;
    }
    for (uint64_t n = 1; rc == PROG_DONE; n++) {
        const char *line;
        size_t length;
        char name[256];
        if (thr_reader_next_line(reader, &line, &length, &err) != THR_OK)
            rc = prog_failed(&err);
        else if (line == NULL)
            break;
        else if (prog_stop_signal() != 0)
            rc = prog_stopped();
        else {
            (void)snprintf(name, sizeof name, "%.200s: line %" PRIu64, s->values->queries, n);
            rc = search_line(s, name, NULL, line, length);
        }
    }
    thr_reader_free(reader);
    return rc;
}

static int search_words(search *s) {
    int rc = PROG_DONE;
    for (size_t i = 0; i < s->values->features.n && rc == PROG_DONE; i++) {
        const char *line = s->values->features.items[i];
        rc = search_line(s, "--features", line, line, strlen(line));
    }
    return rc;
}

static const char *name_of(const void *hits, uint64_t id) {
    return thr_hits_name(hits, id);
}

/* The lists with what --with and --without change. */
static int change(search *s) {
    thr_error err = {.status = THR_OK};
    thr_hits_changes changes;
    thr_hits *updated = NULL;
    uint64_t n_missing = 0;
    if (s->values->with == NULL && s->values->without == NULL)
        return PROG_DONE;
    thr_hits_changes_init(&changes);
    changes.added_path = s->values->with;
    changes.removed_path = s->values->without;
    changes.n_missing = &n_missing;
    if (thr_hits_update(s->hits, &changes, &updated, &err) != THR_OK)
        return prog_failed(&err);
    prog_progress_end();
    thr_hits_free(s->hits);
    s->hits = updated;
    const thr_hits_info info = thr_hits_get_info(updated);
    prog_detail("%s items added, %s of the lists' own replaced or left out", prog_exact(info.n_added).text,
                prog_exact(info.n_removed).text);
    if (n_missing > 0)
        prog_note("%s of the items to leave out are not there", prog_exact(n_missing).text);
    return PROG_DONE;
}

static int prepare(search *s) {
    thr_error err = {.status = THR_OK};
    if (thr_hits_open(s->run->context, s->values->path, &s->hits, &err) != THR_OK)
        return prog_failed(&err);
    int rc = change(s);
    if (rc != PROG_DONE)
        return rc;
    const thr_hits_info info = thr_hits_get_info(s->hits);
    if (s->values->target != NULL) {
        if (thr_hits_target_create(s->hits, s->values->target, &s->target, &err) != THR_OK)
            return prog_failed_at("--target", &err);
        prog_detail("%s of %s items may be found", prog_exact(thr_hits_target_count(s->target)).text,
                    prog_exact(info.n_items).text);
    }
    rc = prog_hits_values_set(s->run, s->hits, s->values->multipliers, s->values->offsets);
    if (rc != PROG_DONE)
        return rc;
    s->width = s->values->k < info.n_items ? s->values->k : info.n_items > 0 ? info.n_items : 1;
    s->ids = malloc((size_t)s->width * sizeof *s->ids);
    s->found = malloc((size_t)s->width * sizeof *s->found);
    if (s->ids == NULL || s->found == NULL)
        return prog_no_memory();
    return prog_results_open(&s->results, s->values->output, s->run->globals.json, info.has_names ? name_of : NULL,
                             s->hits, false);
}

static void free_search(search *s) {
    prog_results_drop(&s->results);
    prog_hits_query_free(&s->query);
    thr_hits_target_free(s->target);
    thr_hits_free(s->hits);
    free(s->ids);
    free(s->found);
    prog_explainer_free(&s->explainer);
}

static int run_search(program *run, const void *all_values) {
    const search_values *values = all_values;
    search s = {.run = run, .values = values};
    if ((values->queries != NULL) == (values->features.n > 0)) {
        prog_error("%s; %s",
                   values->queries != NULL ? "QUERIES and --features exclude each other"
                                           : "QUERIES or --features WORDS is missing",
                   prog_see_help(run));
        return PROG_WRONG_WORDS;
    }
    int rc = prepare(&s);
    if (rc == PROG_DONE)
        rc = values->queries != NULL ? search_file(&s) : search_words(&s);
    const uint64_t n = s.results.n_queries;
    if (rc == PROG_DONE)
        rc = prog_results_commit(&s.results);
    if (rc == PROG_DONE) {
        prog_note("%s %s, %s items, in %s", prog_exact(n).text, n == 1 ? "query" : "queries",
                  prog_exact(thr_hits_get_info(s.hits).n_items).text, prog_time(s.search_s).text);
        prog_tell_device("posting lists are added up", prog_first_device(run).text);
        if (s.n_unknown > 0)
            prog_note("%s of their features no item has", prog_exact(s.n_unknown).text);
    }
    free_search(&s);
    return rc;
}

static const char *const examples[] = {
    "thresher hits search ads.hits --features 'category=12:1.5 brand=7' -k 5 --explain",
    "thresher hits search ads.hits queries.txt -k 100 --multipliers bids.tsv --value sigmoid -o result.jsonl",
    "thresher hits search ads.hits queries.txt --target 'country=fr AND NOT adult'",
    "thresher hits search ads.hits queries.txt --with new.tsv --without ended.txt",
    NULL,
};

const prog_command prog_hits_search = {
    .noun = "hits",
    .verb = "search",
    .summary = "find the best k items of every query by the features they have",
    .text =
        "Adds up, for every item, the weights of the query's features that it has, and shows the best items. Items "
        "without a hit have the sum 0 and are ranked with the others; equal ones in the order in which they were "
        "given. Features that no item has are counted and left out.\n\n"
        "With --with and --without the answers are those of lists built anew without the removed items, and with "
        "the added ones behind all others. A query whose first word is #model= and a fingerprint, as thresher tower "
        "encode --hits writes it, is refused by lists that were built for another model.\n\n"
        "Without -o a readable table is printed, with --json an object a query: query, ids, scores, names where "
        "items have them, and with --explain matches, an object an item of features and their weights.",
    .arguments = arguments,
    .options = options,
    .values_size = sizeof(search_values),
    .examples = examples,
    .run = run_search,
};
