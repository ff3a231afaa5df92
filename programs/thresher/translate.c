/* SPDX-License-Identifier: Apache-2.0 */
/* translate.c - `translate MODEL [TEXT]`: one text per line, translated in groups of some hundred lines, in order. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "head/options.h"
#include "info/gpus.h"
#include "input/input.h"
#include "cli/json.h"
#include "cli/output.h"
#include "commands.h"
#include "output/rows.h"
#include "cli/messages.h"

/*
 * Number of batches whose texts are sorted by length together. With batches of one, each line is answered as it
 * arrives.
 */
enum { BATCHES_AT_ONCE = 32 };

typedef struct translate_values {
    const char *model, *text, *head, *alignment, *output, *states;
    size_t screen, penalty;
    prog_head_values head_values;
    uint64_t aligned, group, beam, n_best, batch, max_length, max_source;
    double length_penalty, length_ratio;
    bool unk, replace_unk, words, times;
} translate_values;

static const char *const screens[] = {"full", "frequent", "wta", "planes", "align", NULL};
static const thr_head_screen of_screens[] = {THR_HEAD_SCREEN_FULL, THR_HEAD_SCREEN_FREQUENT, THR_HEAD_SCREEN_WTA,
                                             THR_HEAD_SCREEN_PLANES, THR_HEAD_SCREEN_ALIGN};
static const char *const penalties[] = {"length", "wu", "none", NULL};

static const prog_argument arguments[] = {
    {PROG_REQUIRED("MODEL", PROG_NAMES_FILE, offsetof(translate_values, model),
                   "a translation model, .safetensors (docs/translate.md)")},
    {PROG_ARGUMENT("TEXT", PROG_NAMES_FILE, offsetof(translate_values, text),
                   "one text per line: a file of any name, a column of a table, or - for standard input "
                   "(default)")},
    {.name = NULL},
};

static const prog_option options[] = {
    {PROG_CHOICE_OPTION("screen", "full|frequent|wta|planes|align", screens, offsetof(translate_values, screen),
                        "words of the target whose logits are computed, as in thresher head query; align, the most "
                        "frequent words and the translations of the text's words in --alignment"),
     .fallback = "full"},
    {PROG_FILE_OPTION("alignment", offsetof(translate_values, alignment),
                      "with align: translations of words, one per line: source word, target word, probability; "
                      "thresher head align learns them")},
    {PROG_COUNT_OPTION("aligned", "N", offsetof(translate_values, aligned),
                       "with align: target words of each word of the text, the most probable ones"),
     .least = 1, .most = UINT32_MAX, .fallback = "50"},
    PROG_HEAD_OPTIONS(translate_values, head_values),
    {PROG_COUNT_OPTION("group", "N", offsetof(translate_values, group),
                       "0: the beams of a sentence share their candidates; 1: each has its own"),
     .most = 1, .fallback = "1"},
    {PROG_FILE_OPTION("head", offsetof(translate_values, head),
                      "a head that thresher head build made of MODEL, which saves building it")},
    {PROG_COUNT_OPTION("beam", "N", offsetof(translate_values, beam), "live translations of a text (beam size)"),
     .least = 1, .most = THR_BEAM_MAX_BEAM, .fallback = "5"},
    {PROG_COUNT_OPTION("n-best", "N", offsetof(translate_values, n_best),
                       "translations of a text to print, best first, with their scores; of distinct texts"),
     .least = 1, .most = THR_BEAM_MAX_BEAM, .fallback = "1"},
    {PROG_CHOICE_OPTION(
         "penalty", "length|wu|none", penalties, offsetof(translate_values, penalty),
         "length penalty, the divisor of log-probabilities: length, words^A; wu, ((5 + words) / 6)^A; none, 1"),
     .fallback = "length"},
    {PROG_REAL_OPTION("length-penalty", "A", offsetof(translate_values, length_penalty),
                      "the A of --penalty, up to 10: a larger one favours longer translations"),
     .least_real = 0, .most_real = 10, .fallback = "1"},
    {PROG_COUNT_OPTION("max-length", "N", offsetof(translate_values, max_length), "most words of a translation"),
     .least = 1, .most = THR_BEAM_MAX_LENGTH, .fallback = "500"},
    {PROG_REAL_OPTION("length-ratio", "R", offsetof(translate_values, length_ratio),
                      "most words of a translation for each word of the text, plus 10"),
     .least_real = 0, .most_real = 1000, .fallback = "2"},
    {PROG_COUNT_OPTION("max-source", "N", offsetof(translate_values, max_source),
                       "most words of a line; a longer line is an error"),
     .least = 1, .most = THR_BEAM_MAX_LENGTH, .fallback = "1000"},
    {PROG_COUNT_OPTION("batch", "N", offsetof(translate_values, batch),
                       "texts translated together; with 1 each line is answered before the next is read"),
     .least = 1, .most = 65536, .fallback = "32"},
    {PROG_FLAG_OPTION("unk", offsetof(translate_values, unk),
                      "allow <unk> in translations; else the next best word is used")},
    {PROG_FLAG_OPTION("replace-unk", offsetof(translate_values, replace_unk),
                      "replace each <unk> by the word of the text with the largest attention")},
    {PROG_FLAG_OPTION("words", offsetof(translate_values, words),
                      "print the model's words with joiners, instead of joined text")},
    {PROG_FLAG_OPTION("times", offsetof(translate_values, times),
                      "print where the time went: encoder, layers, attention, head, expansion, reorder")},
    {PROG_TEXT_OPTION("states", "FILE", offsetof(translate_values, states),
                      "also write the states of all steps, one per row: .npy .fbin or .fvecs, for thresher head "
                      "query --measure"),
     .names = PROG_NAMES_OUTPUT},
    {PROG_TEXT_OPTION("output", "FILE", offsetof(translate_values, output),
                      "write to a file, which appears when it is complete"),
     .letter = 'o', .names = PROG_NAMES_OUTPUT},
    PROG_OPTIONS_END,
};

/* Lines of one call, and totals so far. */
typedef struct translation {
    program *run;
    const translate_values *values;
    thr_translator *translator;
    thr_reader *in;
    const char *in_name; /* for messages */
    prog_out out;
    prog_rows_out states;
    int states_rc;
    char **lines; /* copies */
    size_t *lengths, n, most;
    uint64_t n_lines, n_source_words, n_unknown, n_words, n_cut, n_states;
    double seconds; /* of all calls */
    thr_translator_times times;
} translation;

static void keep_states(void *user, const float *states, uint64_t n, uint32_t n_dims) {
    translation *t = user;

    (void)n_dims;
    if (t->states_rc == PROG_DONE)
        t->states_rc = prog_rows_out_write(&t->states, states, n);
}

static int open_states(translation *t) {
    if (t->values->states == NULL)
        return PROG_DONE;
    if (t->values->states[0] == '-') {
        prog_error("--states %s: standard output has the translations; name a file", t->values->states);
        return PROG_WRONG_WORDS;
    }
    return prog_rows_out_open(&t->states, t->run->context, t->values->states, THR_DTYPE_F32,
                              thr_translator_get_info(t->translator).n_dims);
}

static int open_model(translation *t) {
    static const char *const of_penalty[] = {"length-penalty", NULL}, *const of_align[] = {"aligned", NULL};
    const translate_values *v = t->values;
    thr_translator_options o = {0};
    thr_head_query_options query;
    thr_error err = {.status = THR_OK};

    thr_head_query_options_init(&query);
    query.screen = of_screens[v->screen];
    query.group = v->group;
    prog_head_take_options(t->run, &v->head_values, &query);
    o.query = &query;
    o.head = v->head;
    o.alignment = v->alignment;
    o.n_aligned = (uint32_t)v->aligned;
    if (query.screen != THR_HEAD_SCREEN_ALIGN)
        prog_note_unused(t->run, of_align, "without --screen align");
    o.beam = (uint32_t)v->beam;
    o.n_best = (uint32_t)v->n_best;
    o.penalty = (thr_beam_penalty)v->penalty;
    o.alpha = v->length_penalty;
    if (o.penalty == THR_BEAM_PENALTY_NONE)
        prog_note_unused(t->run, of_penalty, "with --penalty none");
    o.length_ratio = v->length_ratio;
    o.max_length = (uint32_t)v->max_length;
    o.max_source = (uint32_t)v->max_source;
    o.batch = (uint32_t)v->batch;
    o.unknown = v->unk;
    o.replace_unk = v->replace_unk;
    if (v->states != NULL) {
        o.on_states = keep_states;
        o.on_states_user = t;
    }
    return thr_translator_open(t->run->context, v->model, &o, &t->translator, &err) == THR_OK ? PROG_DONE
                                                                                              : prog_failed(&err);
}

/* ------------------------------------------------------------------------------------------------ lines in */

static bool is_input(const char *path) {
    return path == NULL || strcmp(path, "-") == 0;
}

static int open_text(translation *t) {
    thr_error err = {.status = THR_OK};

    t->in_name = is_input(t->values->text) ? "standard input" : t->values->text;
    return thr_reader_open_lines(t->run->context, t->values->text, 0, &t->in, &err) == THR_OK ? PROG_DONE
                                                                                              : prog_failed(&err);
}

/* Print the line of the file, which the library does not have. */
static int check_length(const translation *t, const char *line, size_t length) {
    uint64_t n_words = 1;
    const size_t size = thr_words_split(line, length, NULL, 0);

    if (size <= t->values->max_source) /* a word takes a byte */
        return PROG_DONE;
    char *words = malloc(size + 1);
    if (words == NULL)
        return prog_no_memory();
    (void)thr_words_split(line, length, words, size + 1);
    for (size_t i = 0; i < size; i++)
        n_words += words[i] == ' ';
    free(words);
    if (n_words <= t->values->max_source)
        return PROG_DONE;
    prog_error("%s: line %" PRIu64 " has %" PRIu64 " words, more than %" PRIu64 ": split it, or raise --max-source",
               t->in_name, t->n_lines + t->n + 1, n_words, t->values->max_source);
    return PROG_FAILED;
}

static int add_line(translation *t, const char *line, size_t length) {
    const int rc = check_length(t, line, length);

    if (rc != PROG_DONE)
        return rc;
    t->lines[t->n] = malloc(length + 1);
    if (t->lines[t->n] == NULL)
        return prog_no_memory();
    memcpy(t->lines[t->n], line, length);
    t->lengths[t->n++] = length;
    return PROG_DONE;
}

static void drop_lines(translation *t) {
    for (size_t i = 0; i < t->n; i++)
        free(t->lines[i]);
    t->n = 0;
}

/* ------------------------------------------------------------------------------------------------ lines out */

static void put_json(FILE *file, const translation *t, const thr_translations *made, size_t i) {
    prog_json json = prog_json_to(file);

    thr_json_open(&json, '{');
    prog_json_key_count(&json, "query", t->n_lines + i);
    thr_json_put_key(&json, "translations");
    thr_json_open(&json, '[');
    for (uint64_t j = made->first_of[i]; j < made->first_of[i + 1]; j++) {
        const thr_translation *one = &made->translations[j];

        thr_json_open(&json, '{');
        prog_json_key_text(&json, "text", t->values->words ? one->words : one->text);
        prog_json_key_real(&json, "score", one->score);
        prog_json_key_real(&json, "log_prob", one->log_prob);
        prog_json_key_count(&json, "n_words", one->n_words);
        prog_json_key_bool(&json, "ended", one->ended);
        thr_json_close(&json, '}');
    }
    thr_json_close(&json, ']');
    prog_json_end_object(&json);
}

/* With --n-best print the format of Moses: number ||| text ||| features ||| score. */
static void put_text(FILE *file, const translation *t, const thr_translations *made, size_t i) {
    const bool n_best = prog_is_given(t->run, "n-best");

    if (!n_best && made->first_of[i] == made->first_of[i + 1])
        (void)fputc('\n', file);
    for (uint64_t j = made->first_of[i]; j < made->first_of[i + 1]; j++) {
        const thr_translation *one = &made->translations[j];
        const char *text = t->values->words ? one->words : one->text;

        if (n_best)
            (void)fprintf(file, "%" PRIu64 " ||| %s ||| log_prob= %.6f ||| %.6f\n", t->n_lines + i, text, one->log_prob,
                          one->score);
        else
            (void)fprintf(file, "%s\n", text);
    }
}

static void add_times(translation *t, const thr_translator_times *some, double seconds) {
    t->seconds += seconds;
    t->times.encoder += some->encoder;
    t->times.layers += some->layers;
    t->times.attention += some->attention;
    t->times.head += some->head;
    t->times.expansion += some->expansion;
    t->times.reorder += some->reorder;
}

static int translate_lines(translation *t) {
    thr_error err = {.status = THR_OK};
    thr_translations made;

    const double begin = prog_seconds();

    if (thr_translator_translate(t->translator, (const char *const *)t->lines, t->lengths, t->n, &made, &err) != THR_OK)
        return prog_failed_at(t->in_name, &err);
    add_times(t, &made.times, prog_seconds() - begin);
    if (t->states_rc != PROG_DONE)
        return t->states_rc;
    for (size_t i = 0; i < t->n; i++) {
        if (t->run->globals.json)
            put_json(t->out.file, t, &made, i);
        else
            put_text(t->out.file, t, &made, i);
        for (uint64_t j = made.first_of[i]; j < made.first_of[i + 1] && j == made.first_of[i]; j++)
            t->n_cut += !made.translations[j].ended;
    }
    t->n_source_words += made.n_source_words;
    t->n_unknown += made.n_unknown;
    t->n_words += made.n_words;
    t->n_states += made.n_states;
    t->n_lines += t->n;
    drop_lines(t);
    return prog_out_flush(&t->out);
}

/* ------------------------------------------------------------------------------------------------ command */

static int translate_all(translation *t) {
    const char *line = NULL;
    size_t length = 0;
    int rc = PROG_DONE;

    t->most = t->values->batch == 1 ? 1 : (size_t)t->values->batch * BATCHES_AT_ONCE;
    if (is_input(t->values->text) && isatty(STDIN_FILENO))
        t->most = 1;
    t->lines = calloc(t->most, sizeof *t->lines);
    t->lengths = calloc(t->most, sizeof *t->lengths);
    if (t->lines == NULL || t->lengths == NULL)
        return prog_no_memory();
    for (;;) {
        rc = prog_input_line(t->in, &line, &length);
        if (rc == PROG_DONE && line != NULL)
            rc = add_line(t, line, length);
        if (rc != PROG_DONE)
            return rc;
        if (t->n == t->most || (line == NULL && t->n > 0))
            rc = translate_lines(t);
        if (rc != PROG_DONE || line == NULL)
            return rc;
    }
}

static void print_report(const translation *t, double seconds) {
    prog_note("translated %s, %s to %s, in %s (%s words/s)", prog_counted(t->n_lines, "line").text,
              prog_counted(t->n_source_words, "word").text, prog_exact(t->n_words).text, prog_time(seconds).text,
              prog_short(seconds > 0 ? (double)t->n_words / seconds : 0).text);
    if (t->n_cut > 0)
        prog_note("cut %s at the maximum length (--length-ratio, --max-length)",
                  prog_counted(t->n_cut, "translation").text);
    prog_detail("the model lacks %s of the texts; %s queried", prog_counted(t->n_unknown, "word").text,
                prog_counted(t->n_states, "state").text);
}

static void print_times(const translation *t) {
    const thr_translator_times *times = &t->times;
    const struct {
        const char *name;
        double seconds;
    } parts[] = {
        {"encoder", times->encoder}, {"layers", times->layers},       {"attention", times->attention},
        {"head", times->head},       {"expansion", times->expansion}, {"reorder", times->reorder},
    };
    double rest = t->seconds;

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        prog_note("%-9s  %5.1f %%  %s", parts[i].name, t->seconds > 0 ? 100 * parts[i].seconds / t->seconds : 0,
                  prog_time(parts[i].seconds).text);
        rest -= parts[i].seconds;
    }
    prog_note("%-9s  %5.1f %%  %s", "other", t->seconds > 0 ? 100 * rest / t->seconds : 0, prog_time(rest).text);
}

static int run_translate(program *run, const void *all_values) {
    translation t = {.run = run, .values = all_values, .states_rc = PROG_DONE};
    int rc = open_model(&t);

    if (rc == PROG_DONE)
        rc = open_text(&t);
    if (rc == PROG_DONE)
        rc = prog_out_open(&t.out, run->context, t.values->output);
    if (rc == PROG_DONE)
        rc = open_states(&t);
    const double start = prog_seconds();

    if (rc == PROG_DONE)
        rc = translate_all(&t);
    rc = prog_rows_out_close(&t.states, rc);
    rc = prog_out_close(&t.out, rc);
    if (rc == PROG_DONE) {
        print_report(&t, prog_seconds() - start);
        prog_print_device("states and words were computed", prog_first_device(run).text);
    }
    if (rc == PROG_DONE && t.values->times)
        print_times(&t);
    drop_lines(&t);
    free(t.lines);
    free(t.lengths);
    thr_reader_free(t.in);
    thr_translator_free(t.translator);
    return rc;
}

const prog_command prog_translate = {
    PROG_COMMAND("translate", NULL, translate_values, arguments, options, run_translate),
    .summary = "translate text by an LSTM model and beam search",
    .text =
        "Translates one text per line with an LSTM model, with or without attention, and prints one translation per "
        "line, in the same order; an empty line gives an empty line. Lines are lower-cased and "
        "tokenised, and translations are joined again. A line is one sequence: split text into "
        "sentences first.\n\nA screen speeds up the choice of words in large vocabularies; "
        "measure on your text what it costs in quality. A translation does not depend on other "
        "lines, the batch, the threads, the CPU or a GPU (--device).\n\nWith --n-best there are up to N lines per "
        "text, number ||| text ||| log_prob= L ||| score, numbered from 0; with --json one object "
        "per text: query, and translations with text, score, log_prob, n_words, ended.",
    .examples =
        PROG_EXAMPLES("thresher translate fr-en.safetensors news.fr -o news.en",
                      "echo \"le chat dort.\" | thresher translate fr-en.safetensors",
                      "thresher translate fr-en.safetensors news.fr --screen planes --beam 12 --n-best 5",
                      "thresher translate fr-en.safetensors news.fr --screen align --alignment fr-en.lex",
                      "thresher translate fr-en.safetensors news.fr --screen wta --group 0 --normaliser exact --json"),
};
