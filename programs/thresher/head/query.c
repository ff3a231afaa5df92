/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query.c - `head query FILE STATES -k N`: the best words of every state, or with --measure a screen's recall.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "info/gpus.h"
#include "head/options.h"
#include "head/input.h"
#include "cli/json.h"
#include "commands.h"
#include "output/results.h"
#include "cli/messages.h"

typedef struct query_values {
    const char *path, *states, *always, *never, *lists, *against, *output;
    uint64_t k, group;
    size_t screen, combine;
    prog_head_values head_values;
    bool measure, certify;
} query_values;

static const char *const screens[] = {"full", "frequent", "wta", "planes", "auto", "align", NULL};
static const char *const over[] = {"the candidates", "all words", "all words, by a sample"};
static const char *const combines[] = {"largest", "sum", NULL};

static const prog_argument arguments[] = {
    {PROG_REQUIRED("FILE", PROG_NAMES_FILE, offsetof(query_values, path), "a head that thresher head build wrote")},
    {PROG_REQUIRED("STATES", PROG_NAMES_FILE, offsetof(query_values, states),
                   "one row per state: .npy or another file of rows")},
    {.name = NULL},
};

static const prog_option options[] = {
    {PROG_K_OPTION(offsetof(query_values, k), "words to find for every state"), .most = UINT32_MAX},
    {PROG_CHOICE_OPTION("screen", "full|frequent|wta|planes|auto|align", screens, offsetof(query_values, screen),
                        "words whose logits are computed: full, all; frequent, the most frequent; wta, those and "
                        "the words that share hashes with the state; planes, a shortlist by estimates of plane "
                        "codes; auto, full or planes, whichever is faster here; align, the most frequent and those "
                        "of --lists"),
     .fallback = "full"},
    PROG_HEAD_OPTIONS(query_values, head_values),
    {PROG_COUNT_OPTION("group", "N", offsetof(query_values, group),
                       "with wta, planes and align: number of consecutive states that share their candidates, as the "
                       "beams of a sentence may; 0: all"),
     .most = UINT32_MAX, .fallback = "1"},
    {PROG_CHOICE_OPTION("combine", "largest|sum", combines, offsetof(query_values, combine),
                        "how a group combines its states' hits for a word, before the threshold"),
     .fallback = "largest"},
    {PROG_FILE_OPTION("always", offsetof(query_values, always),
                      "words that are always candidates, by number: a file of whole numbers, or .txt with one "
                      "per line")},
    {PROG_TEXT_OPTION("never", "WORDS", offsetof(query_values, never),
                      "words that are never answered, such as padding: numbers and ranges, 0,7,1000-1023, or a file as "
                      "for --always")},
    {PROG_FILE_OPTION(
        "lists", offsetof(query_values, lists),
        "with align: the numbers of the words of each state, or group of states, one line per state or group; "
        "for example the translations of a sentence's words")},
    {PROG_FLAG_OPTION("certify", offsetof(query_values, certify),
                      "report for every state whether its words are proven to be those of the full head; with "
                      "planes that needs several planes")},
    {PROG_FLAG_OPTION("measure", offsetof(query_values, measure),
                      "instead of words, print the recall of the screen and the times of both")},
    {PROG_FILE_OPTION("against", offsetof(query_values, against),
                      "instead of words, print the share of this head's answers that is lost; it scores all words, and "
                      "may hold the same weights in more bytes")},
    {PROG_RESULTS_OPTION(offsetof(query_values, output), "")},
    PROG_OPTIONS_END,
};

typedef struct query {
    program *run;
    const query_values *values;
    thr_head *head;
    prog_floats states;
    prog_head_words always, never;
    prog_head_lists lists;
    thr_head_query_options query_options;
    thr_matrix rows;
    uint32_t k;
    uint32_t *words, *n_candidates;
    float *logits, *log_probs;
    uint8_t *certified;
    thr_head_screen used;
    uint64_t *ids; /* of one state */
} query;

static int prepare(query *q) {
    static const char *const of_lists[] = {"lists", NULL};
    const query_values *v = q->values;
    thr_error err = {.status = THR_OK};

    if (thr_head_open(q->run->context, v->path, &q->head, &err) != THR_OK)
        return prog_failed(&err);
    int rc = prog_floats_read(&q->states, q->run->context, v->states, "states", UINT64_MAX);
    if (rc == PROG_DONE && v->always != NULL)
        rc = prog_head_words_read(&q->always, q->run->context, v->always);
    if (rc == PROG_DONE && v->never != NULL)
        rc = prog_head_words_take(&q->never, q->run->context, v->never);
    if (rc == PROG_DONE && v->lists != NULL)
        rc = prog_head_lists_read(&q->lists, q->run->context, v->lists);
    if (rc != PROG_DONE)
        return rc;
    thr_head_query_options_init(&q->query_options);
    q->query_options.screen = (thr_head_screen)v->screen;
    q->query_options.combine = (thr_head_combine)v->combine;
    q->query_options.group = v->group;
    q->query_options.used = &q->used;
    q->used = q->query_options.screen;
    q->query_options.always = q->always.items;
    q->query_options.n_always = q->always.n;
    q->query_options.never = q->never.items;
    q->query_options.n_never = q->never.n;
    q->query_options.lists = v->lists != NULL ? &q->lists.lists : NULL;
    if (q->query_options.screen != THR_HEAD_SCREEN_ALIGN)
        prog_note_unused(q->run, of_lists, "without --screen align");
    prog_head_take_options(q->run, &v->head_values, &q->query_options);
    q->k = (uint32_t)v->k;
    q->rows = thr_matrix_f32(q->states.items, q->states.n_rows, q->states.n_dims);
    return PROG_DONE;
}

/* ------------------------------------------------------------------------------------------------ words */

static int put_state(query *q, prog_results *results, uint64_t state) {
    for (uint32_t i = 0; i < q->k; i++)
        q->ids[i] = q->words[state * q->k + i];
    const prog_answer answer = {.ids = q->ids,
                                .scores = q->logits + state * q->k,
                                .n = q->k,
                                .width = q->k,
                                .log_probs = q->log_probs + state * q->k,
                                .normaliser = prog_normalisers[q->values->head_values.normaliser],
                                .n_candidates = &q->n_candidates[state],
                                .certified = q->values->certify ? &q->certified[state] : NULL};
    return prog_results_put(results, &answer);
}

static bool make_room(query *q) {
    const uint64_t n = q->states.n_rows > 0 ? q->states.n_rows : 1;

    if (n > SIZE_MAX / sizeof(uint64_t) / q->k)
        return false;
    const size_t places = (size_t)n * q->k;
    q->words = malloc(places * sizeof *q->words);
    q->logits = malloc(places * sizeof *q->logits);
    q->log_probs = malloc(places * sizeof *q->log_probs);
    q->n_candidates = malloc((size_t)n * sizeof *q->n_candidates);
    q->ids = malloc(q->k * sizeof *q->ids);
    q->certified = malloc((size_t)n);
    return q->certified != NULL && q->words != NULL && q->logits != NULL && q->log_probs != NULL &&
           q->n_candidates != NULL && q->ids != NULL;
}

static int answer(query *q) {
    thr_error err = {.status = THR_OK};
    prog_results results;
    double n_candidates = 0;
    uint64_t n_certified = 0;

    if (!make_room(q))
        return prog_no_memory();
    q->query_options.n_candidates = q->n_candidates;
    q->query_options.certified = q->values->certify ? q->certified : NULL;
    const double start = prog_seconds();
    if (thr_head_query(q->head, &q->rows, q->k, &q->query_options,
                       &(thr_head_answers){q->words, q->logits, q->log_probs}, &err) != THR_OK)
        return prog_failed_at(q->values->states, &err);
    const double seconds = prog_seconds() - start;
    int rc = prog_results_open(&results, q->run, q->values->output, NULL, NULL, false);
    if (rc != PROG_DONE)
        return rc;
    for (uint64_t i = 0; i < q->states.n_rows && rc == PROG_DONE; i++) {
        rc = put_state(q, &results, i);
        n_candidates += (double)q->n_candidates[i] / (double)q->states.n_rows;
        n_certified += q->values->certify ? q->certified[i] : 0;
    }
    rc = prog_results_close(&results, rc);
    if (rc == PROG_DONE)
        prog_note("%s, %.1f of %s words each, log-probabilities over %s, in %s",
                  prog_counted(q->states.n_rows, "state").text, n_candidates,
                  prog_exact(thr_head_get_info(q->head).n_words).text, over[q->values->head_values.normaliser],
                  prog_time(seconds).text);
    if (rc == PROG_DONE && q->values->screen == THR_HEAD_SCREEN_AUTO)
        prog_note("screen: %s", screens[q->used]);
    if (rc == PROG_DONE && q->values->certify)
        prog_note("certified: %s of %s", prog_exact(n_certified).text, prog_counted(q->states.n_rows, "state").text);
    if (rc == PROG_DONE)
        prog_print_device("words are scored", prog_first_device(q->run).text);
    return rc;
}

/* ------------------------------------------------------------------------------------------------ measure */

/* Time the second query, which allocates nothing. */
static int clock_query(query *q, const thr_head_query_options *query_options, double *seconds) {
    thr_error err = {.status = THR_OK};

    for (int i = 0; i < 2; i++) {
        const double start = prog_seconds();
        if (thr_head_query(q->head, &q->rows, q->k, query_options,
                           &(thr_head_answers){q->words, q->logits, q->log_probs}, &err) != THR_OK)
            return prog_failed_at(q->values->states, &err);
        *seconds = prog_seconds() - start;
    }
    return PROG_DONE;
}

/* The time of the screen beside that of all words; 0 with another head. */
typedef struct query_times {
    double screen, full;
} query_times;

static void print_report(const query *q, const thr_head_recall *recall, query_times times) {
    const char *against = q->values->against;
    const uint32_t n_words = thr_head_get_info(q->head).n_words;

    (void)printf("recall@%" PRIu32 "    %.4f, worst state %.4f; the same best word for %.4f of %s\n", q->k,
                 recall->recall, recall->worst, recall->first, prog_counted(q->states.n_rows, "state").text);
    if (q->values->screen == THR_HEAD_SCREEN_AUTO)
        (void)printf("screen      %s\n", screens[q->used]);
    (void)printf("candidates  %.1f of %s words per state\n", recall->candidates, prog_exact(n_words).text);
    if (against != NULL)
        (void)printf("error       %.3g of log-probabilities on average\n", recall->log_prob_error);
    else
        (void)printf("time        %s, %s with all words\n", prog_time(times.screen).text, prog_time(times.full).text);
}

static void print_report_json(const query *q, const thr_head_recall *recall, query_times times) {
    const char *against = q->values->against;
    const uint32_t n_words = thr_head_get_info(q->head).n_words;
    prog_json json = prog_json_object();

    prog_json_key_text(&json, "screen", screens[q->values->screen]);
    if (q->values->screen == THR_HEAD_SCREEN_AUTO)
        prog_json_key_text(&json, "used", screens[q->used]);
    if (against != NULL)
        prog_json_key_text(&json, "against", against);
    PROG_JSON_COUNTS(&json, {"k", q->k}, {"n_states", q->states.n_rows}, {"n_words", n_words});
    PROG_JSON_REALS(&json, {"recall", recall->recall}, {"worst_recall", recall->worst}, {"same_best", recall->first},
                    {"candidates", recall->candidates});
    if (against != NULL)
        PROG_JSON_REALS(&json, {"log_prob_error", recall->log_prob_error});
    else
        PROG_JSON_REALS(&json, {"screen_s", times.screen}, {"full_s", times.full});
    prog_json_end_object(&json);
}

static int clock_queries(query *q, query_times *times) {
    thr_head_query_options full;
    int rc = make_room(q) ? PROG_DONE : prog_no_memory();

    thr_head_query_options_init(&full);
    if (rc == PROG_DONE)
        rc = clock_query(q, &full, &times->full);
    return rc == PROG_DONE ? clock_query(q, &q->query_options, &times->screen) : rc;
}

static int measure(query *q) {
    const char *against = q->values->against;
    thr_error err = {.status = THR_OK};
    thr_head *truth = NULL;
    thr_head_recall recall;
    query_times times = {0, 0};
    int rc = PROG_DONE;

    if (against != NULL && thr_head_open(q->run->context, against, &truth, &err) != THR_OK)
        return prog_failed(&err);
    if (thr_head_measure(q->head, truth, &q->rows, q->k, &q->query_options, &recall, &err) != THR_OK)
        rc = prog_failed_at(q->values->states, &err);
    else if (truth == NULL)
        rc = clock_queries(q, &times);
    if (rc == PROG_DONE)
        (q->run->globals.json ? print_report_json : print_report)(q, &recall, times);
    thr_head_free(truth);
    return rc;
}

/* Check options of printing words against those of measuring. */
static int check_words(const query *q) {
    const query_values *v = q->values;

    if (v->measure && v->against != NULL)
        prog_error("--measure and --against exclude each other; %s", prog_see_help(q->run));
    else if (v->output != NULL && (v->measure || v->against != NULL))
        prog_error("%s and -o exclude each other; %s", v->measure ? "--measure" : "--against", prog_see_help(q->run));
    else
        return PROG_DONE;
    return PROG_WRONG_WORDS;
}

static int run_query(program *run, const void *all_values) {
    query q = {.run = run, .values = all_values};
    int rc = check_words(&q);

    if (rc == PROG_DONE)
        rc = prepare(&q);
    if (rc == PROG_DONE)
        rc = q.values->measure || q.values->against != NULL ? measure(&q) : answer(&q);
    thr_head_free(q.head);
    prog_floats_free(&q.states);
    prog_head_words_free(&q.always);
    prog_head_words_free(&q.never);
    prog_head_lists_free(&q.lists);
    free(q.words);
    free(q.logits);
    free(q.log_probs);
    free(q.n_candidates);
    free(q.ids);
    free(q.certified);
    return rc;
}

const prog_command prog_head_query = {
    PROG_COMMAND("head", "query", query_values, arguments, options, run_query),
    .summary = "find the most probable words for every decoder state",
    .text = "Prints, for every state, the words with the largest logits among its candidates, with "
            "logits and log-probabilities. The screen chooses the candidates; logits are exact and "
            "the same with every screen. If a screen passes fewer than k words, the most frequent "
            "other words become candidates.\n\nLog-probabilities over the candidates are too large, "
            "by an amount that depends on the screen. --normaliser exact gives those of the full "
            "head, at its cost; sampled estimates them cheaply.\n\nWithout -o the command prints a "
            "table, with --json one object per state: query, ids, scores (logits), log_probs, "
            "normaliser, candidates, and with --certify certified.",
    .examples = PROG_EXAMPLES("thresher head query model.head states.npy -k 12",
                              "thresher head query model.head states.npy -k 12 --screen planes --shortlist 300",
                              "thresher head query model.head states.npy -k 12 --screen wta --group 12 -o best.jsonl",
                              "thresher head query model.head states.npy -k 12 --screen wta --measure",
                              "thresher head query model.head states.npy -k 12 --screen planes --certify",
                              "thresher head query small.head states.npy -k 12 --against model.head"),
};
