/* SPDX-License-Identifier: Apache-2.0 */
#include "info/ranking.h"

#include <stdio.h>
#include <string.h>

#include "input/endings.h"
#include "cli/json.h"
#include "output/plain.h"
#include "cli/messages.h"

static bool ends_at(const char *path, size_t length, const char *end) {
    const size_t n = strlen(end);

    return length > n && strncmp(path + length - n, end, n) == 0;
}

bool prog_names_ranking(const char *path) {
    static const char *const endings[] = {".svm", ".svmlight", ".libsvm"};
    size_t length = strlen(path);

    if (ends_at(path, length, ".gz") || ends_at(path, length, ".xz"))
        length -= strlen(".gz");
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        if (ends_at(path, length, endings[i]))
            return true;
    return false;
}

/* Counts over a view. */
typedef struct ranking_facts {
    double least_label, largest_label;
    uint64_t smallest_query, largest_query; /* rows */
    uint64_t n_pairs;
} ranking_facts;

static ranking_facts find_facts(const thr_ranking_view *view) {
    const thr_judged judged = {
        .n_queries = (size_t)view->n_queries, .offsets = view->offsets, .scores = view->labels, .labels = view->labels};
    thr_pair_quality pairs = {.n_pairs = 0};
    ranking_facts facts = {.least_label = view->labels[0],
                           .largest_label = view->labels[0],
                           .smallest_query = view->offsets[1],
                           .largest_query = view->offsets[1]};

    for (uint64_t i = 0; i < view->n_rows; i++) {
        if (view->labels[i] < facts.least_label)
            facts.least_label = view->labels[i];
        if (view->labels[i] > facts.largest_label)
            facts.largest_label = view->labels[i];
    }
    for (uint64_t q = 0; q < view->n_queries; q++) {
        const uint64_t n = view->offsets[q + 1] - view->offsets[q];

        if (n < facts.smallest_query)
            facts.smallest_query = n;
        if (n > facts.largest_query)
            facts.largest_query = n;
    }
    (void)thr_pair_accuracy(&judged, &pairs, NULL); /* it fails if there are no pairs */
    facts.n_pairs = pairs.n_pairs;
    return facts;
}

static void print_json(const char *path, const thr_ranking_view *view, const ranking_facts *facts) {
    prog_json json = prog_json_object();

    prog_json_key_text(&json, "file", path);
    prog_json_key_text(&json, "kind", "ranking");
    PROG_JSON_COUNTS(&json, {"n_rows", view->n_rows}, {"n_queries", view->has_queries ? view->n_queries : 0},
                     {"smallest_query", facts->smallest_query}, {"largest_query", facts->largest_query},
                     {"n_pairs", facts->n_pairs}, {"n_features", view->n_features});
    prog_json_key_bool(&json, "dense", view->dense != NULL);
    prog_json_key_real(&json, "least_label", facts->least_label);
    prog_json_key_real(&json, "largest_label", facts->largest_label);
    prog_json_end_object(&json);
}

static void print_text(const char *path, const thr_ranking_view *view, const ranking_facts *facts) {
    const bool packed = prog_ends_with(path, ".gz") || prog_ends_with(path, ".xz");
    const int length = (int)strlen(path) - (packed ? 3 : 0); /* of what .query follows */

    prog_line("file        %s", path);
    (void)printf("rows        %s\n", prog_exact(view->n_rows).text);
    if (view->has_queries)
        (void)printf("queries     %s, of %s to %s\n", prog_exact(view->n_queries).text,
                     prog_exact(facts->smallest_query).text, prog_counted(facts->largest_query, "row").text);
    else
        prog_line("queries     none: no line has a qid, and there is no file %.*s.query", length, path);
    (void)printf("pairs       %s of different labels\n", prog_exact(facts->n_pairs).text);
    (void)printf("labels      %.9g to %.9g\n", facts->least_label, facts->largest_label);
    (void)printf("features    %s, %s\n", prog_exact(view->n_features).text, view->dense != NULL ? "dense" : "sparse");
}

int prog_print_ranking(program *run, const char *path, bool *is_ranking) {
    thr_error err = {.status = THR_OK};
    thr_ranking_options how = {0};
    thr_ranking *ranking = NULL;
    thr_ranking_view view;
    ranking_facts facts;

    how.without_queries = true;
    how.without_comments = true;
    const thr_status status = thr_ranking_open(run->context, path, &how, &ranking, &err);

    if (is_ranking != NULL)
        *is_ranking = status == THR_OK;
    if (status != THR_OK)
        return is_ranking != NULL ? PROG_DONE : prog_failed(&err);
    view = thr_ranking_get_view(ranking);
    facts = find_facts(&view);
    if (run->globals.json)
        print_json(path, &view, &facts);
    else
        print_text(path, &view, &facts);
    thr_ranking_free(ranking);
    return PROG_DONE;
}
