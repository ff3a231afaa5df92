/* SPDX-License-Identifier: Apache-2.0 */
/* align.c - `head align SOURCE TARGET -o FILE`: word translations for translate --screen align. */
#include <stdio.h>

#include "cli/json.h"
#include "cli/output.h"
#include "output/plain.h"
#include "commands.h"
#include "cli/messages.h"

typedef struct align_values {
    const char *source, *target, *output;
    uint64_t iterations, best;
    double min_probability;
} align_values;

static const prog_argument arguments[] = {
    {PROG_REQUIRED("SOURCE", PROG_NAMES_FILE, offsetof(align_values, source),
                   "one text per line: a file of any name, or a column of a table")},
    {PROG_REQUIRED("TARGET", PROG_NAMES_FILE, offsetof(align_values, target), "their translations, one per line")},
    {.name = NULL},
};

static const prog_option options[] = {
    {PROG_TEXT_OPTION("output", "FILE", offsetof(align_values, output),
                      "the table to write, which appears when it is complete"),
     .letter = 'o', .names = PROG_NAMES_OUTPUT, .required = true},
    {PROG_COUNT_OPTION("iterations", "N", offsetof(align_values, iterations), "iterations of IBM model 1"), .least = 1,
     .most = 1000, .fallback = "5"},
    {PROG_COUNT_OPTION("best", "N", offsetof(align_values, best), "most target words of a source word to write"),
     .least = 1, .most = UINT32_MAX, .fallback = "100"},
    {PROG_REAL_OPTION("min-probability", "P", offsetof(align_values, min_probability),
                      "the least probability to write"),
     .least_real = 0, .most_real = 1, .fallback = "0.0001"},
    PROG_OPTIONS_END,
};

static void report_training(const program *run, const align_values *values, const thr_align_report *report,
                            double seconds) {
    if (!run->globals.json) {
        prog_line("%s: %s for %s and %s, learned from %s in %s, perplexity %.4g", values->output,
                  prog_counted(report->n_written, "line").text,
                  prog_counted(report->n_source_words, "source word").text,
                  prog_counted(report->n_target_words, "target word").text, prog_counted(report->n_pairs, "pair").text,
                  prog_time(seconds).text, report->perplexity);
        if (report->n_skipped > 0)
            prog_note("skipped %s with an empty or overlong side", prog_counted(report->n_skipped, "pair").text);
        return;
    }
    prog_json json = prog_json_object();

    prog_json_key_text(&json, "alignment", values->output);
    PROG_JSON_COUNTS(&json, {"n_pairs", report->n_pairs}, {"n_skipped", report->n_skipped},
                     {"n_source_words", report->n_source_words}, {"n_target_words", report->n_target_words},
                     {"n_entries", report->n_entries}, {"n_written", report->n_written});
    prog_json_key_real(&json, "perplexity", report->perplexity);
    prog_json_key_real(&json, "train_s", seconds);
    prog_json_end_object(&json);
}

static int run_align(program *run, const void *all_values) {
    const align_values *values = all_values;
    const double start = prog_seconds();
    thr_align_options o = {0};
    thr_align_report report;
    thr_error err = {.status = THR_OK};

    prog_note_replaced(values->output, "table");
    o.n_iterations = (uint32_t)values->iterations;
    o.n_best = (uint32_t)values->best;
    o.min_probability = values->min_probability;
    if (thr_align_train(run->context, values->source, values->target, values->output, &o, &report, &err) != THR_OK)
        return prog_failed(&err);
    report_training(run, values, &report, prog_seconds() - start);
    if (report.n_written == 0)
        prog_note("%s is empty: no translation is as probable as --min-probability %g; choose a lower one",
                  values->output, values->min_probability);
    return PROG_DONE;
}

const prog_command prog_head_align = {
    PROG_COMMAND("head", "align", align_values, arguments, options, run_align),
    .summary = "learn which words translate which, from parallel text",
    .text = "Learns the probability of each target word for each source word by IBM model 1, and writes the most "
            "probable ones, one per line:\n\n    house haus 0.72\n\nthresher translate --screen align --alignment FILE "
            "scores only the most frequent words and the translations of a text's words. Tables of fast_align, eflomal "
            "and GIZA++ have such lines, too. Lines are lower-cased and tokenised as in thresher translate.",
    .examples = PROG_EXAMPLES("thresher head align news.fr news.en -o fr-en.lex",
                              "thresher head align pairs.tsv.xz:1 pairs.tsv.xz:2 -o fr-en.lex --best 50"),
};
