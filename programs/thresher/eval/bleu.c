/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bleu.c - `eval bleu HYP REF...`.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input/input.h"
#include "cli/json.h"
#include "commands.h"
#include "cli/messages.h"

typedef struct bleu_values {
    const char *hypotheses;
    prog_list references;
    size_t tokeniser, smoothing; /* indices */
    double smoothing_value;
    bool lower_case, effective_order, sentences;
} bleu_values;

static const prog_argument arguments[] = {
    {PROG_REQUIRED("HYP", PROG_NAMES_FILE, offsetof(bleu_values, hypotheses),
                   "the translations, UTF-8, one sentence per line: .txt, a column of .tsv or .csv as in "
                   "X.tsv:2, each also .gz or .xz; files of other names are lines of text")},
    {PROG_ARGUMENT("REF...", PROG_NAMES_FILE, offsetof(bleu_values, references),
                   "the references: one file, or several with a reference each for every sentence"),
     .required = true, .many = true},
    {.name = NULL},
};

static const char *const tokenisers[] = {"13a", "none", NULL};                   /* thr_bleu_tokeniser */
static const char *const smoothings[] = {"exp", "none", "floor", "add-k", NULL}; /* thr_bleu_smoothing */

static const prog_option options[] = {
    {PROG_CHOICE_OPTION("tokenise", "13a|none", tokenisers, offsetof(bleu_values, tokeniser),
                        "tokeniser: that of mteval-v13a, or none: the text is tokenised by white space"),
     .fallback = "13a"},
    {PROG_CHOICE_OPTION("smooth", "exp|none|floor|add-k", smoothings, offsetof(bleu_values, smoothing),
                        "smoothing of n-gram orders without matches: half a match, then a quarter, and so on; "
                        "none; a floor; or k added to all orders but the first"),
     .fallback = "exp"},
    {PROG_REAL_OPTION("smooth-value", "X", offsetof(bleu_values, smoothing_value),
                      "the floor (default: 0.1), or k (default: 1)")},
    {PROG_FLAG_OPTION("lower-case", offsetof(bleu_values, lower_case), "compare lower-cased text")},
    {PROG_FLAG_OPTION("effective-order", offsetof(bleu_values, effective_order),
                      "leave out the orders that a sentence is too short for")},
    {PROG_FLAG_OPTION("sentences", offsetof(bleu_values, sentences), "print the BLEU of every sentence, one per line")},
    PROG_OPTIONS_END,
};

/* ------------------------------------------------------------------------------------------------ texts */

/* The lines of a file, concatenated. */
typedef struct text_file {
    char *bytes;
    uint64_t *offsets;
    size_t n, n_bytes, room, bytes_room;
} text_file;

static void text_file_free(text_file *file) {
    free(file->bytes);
    free(file->offsets);
}

static bool grow(text_file *file, size_t length) {
    if (file->n + 2 > file->room) {
        const size_t room = file->room + file->room / 2 + 1024;
        uint64_t *offsets = realloc(file->offsets, room * sizeof *offsets);

        if (offsets == NULL)
            return false;
        file->offsets = offsets;
        file->room = room;
    }
    if (file->n_bytes + length > file->bytes_room) {
        const size_t room = file->bytes_room + file->bytes_room / 2 + length + 65536;
        char *bytes = realloc(file->bytes, room);

        if (bytes == NULL)
            return false;
        file->bytes = bytes;
        file->bytes_room = room;
    }
    return true;
}

static bool add_line(text_file *file, const char *line, size_t length) {
    if (!grow(file, length))
        return false;
    if (length > 0) /* bytes may be NULL while all lines are empty */
        memcpy(file->bytes + file->n_bytes, line, length);
    file->offsets[file->n] = file->n_bytes;
    file->n_bytes += length;
    file->n++;
    file->offsets[file->n] = file->n_bytes;
    return true;
}

static int read_texts(text_file *file, program *run, const char *path) {
    thr_error err = {.status = THR_OK};
    thr_reader *reader = NULL;
    const char *line = NULL;
    size_t length = 0;
    int rc = PROG_DONE;

    if (thr_reader_open_lines(run->context, path, 0, &reader, &err) != THR_OK)
        return prog_failed(&err);
    while (prog_input_next_line(reader, &line, &length, &rc))
        rc = add_line(file, line, length) ? PROG_DONE : prog_no_memory();
    thr_reader_free(reader);
    return rc;
}

/* ------------------------------------------------------------------------------------------------ BLEU */

/* The files; the first one holds the hypotheses. */
typedef struct all_texts {
    const char **paths;
    text_file *files;
    thr_bleu_texts *views;
    size_t n;
} all_texts;

static void all_texts_free(all_texts *all) {
    for (size_t i = 0; all->files != NULL && i < all->n; i++)
        text_file_free(&all->files[i]);
    free(all->files);
    free(all->views);
    free((void *)all->paths);
}

static int read_all(all_texts *all, program *run, const bleu_values *values) {
    all->n = values->references.n + 1;
    all->files = calloc(all->n, sizeof *all->files);
    all->views = calloc(all->n, sizeof *all->views);
    all->paths = calloc(all->n, sizeof *all->paths);
    if (all->files == NULL || all->views == NULL || all->paths == NULL)
        return prog_no_memory();
    for (size_t i = 0; i < all->n; i++) {
        const char *path = i == 0 ? values->hypotheses : values->references.items[i - 1];
        text_file *file = &all->files[i];
        const int rc = read_texts(file, run, path);

        if (rc != PROG_DONE)
            return rc;
        all->paths[i] = path;
        all->views[i] = (thr_bleu_texts){.n = file->n, .offsets = file->offsets, .bytes = file->bytes};
        if (file->n == 0) {
            prog_error("%s has no lines", path);
            return PROG_FAILED;
        }
        if (file->n != all->files[0].n) {
            prog_error("%s has %s, %s has %s: every sentence needs its reference", values->hypotheses,
                       prog_counted(all->files[0].n, "line").text, path, prog_exact(file->n).text);
            return PROG_FAILED;
        }
    }
    return PROG_DONE;
}

/* Print the file and line of an invalid UTF-8 text: the library counts sentences from 0 and has no file names. */
static int say_failed(const all_texts *all, const thr_error *err) {
    for (size_t i = 0; err->status == THR_EFORMAT && i < all->n; i++)
        for (uint64_t s = 0; s < all->views[i].n; s++) {
            thr_error problem = {.status = THR_OK};
            thr_bleu_score score;
            const thr_bleu_texts line = {1, all->views[i].offsets + s, all->views[i].bytes};

            if (thr_bleu(&line, &line, 1, NULL, &score, NULL, &problem) == THR_EFORMAT) {
                const char *byte = strstr(problem.text, "is not UTF-8");

                prog_error("%s: line %" PRIu64 " %s", all->paths[i], s + 1, byte != NULL ? byte : problem.text);
                return PROG_FAILED;
            }
        }
    return prog_failed(err);
}

static double ratio_of(const thr_bleu_score *score) {
    return score->reference_length == 0 ? 0 : (double)score->hypothesis_length / (double)score->reference_length;
}

static void print_line(const thr_bleu_score *score, const char *signature) {
    (void)printf("BLEU|%s = %.2f ", signature, score->bleu);
    for (int i = 0; i < THR_BLEU_ORDER; i++)
        (void)printf("%s%.1f", i > 0 ? "/" : "", score->precisions[i]);
    (void)printf(" (BP = %.3f ratio = %.3f hyp_len = %" PRIu64 " ref_len = %" PRIu64 ")\n", score->brevity_penalty,
                 ratio_of(score), score->hypothesis_length, score->reference_length);
}

static void json_counts(prog_json *json, const char *key, const uint64_t *counts) {
    thr_json_put_key(json, key);
    thr_json_open(json, '[');
    for (int i = 0; i < THR_BLEU_ORDER; i++)
        thr_json_put_count(json, counts[i]);
    thr_json_close(json, ']');
}

static void json_reals(prog_json *json, const char *key, const double *reals, size_t n) {
    thr_json_put_key(json, key);
    thr_json_open(json, '[');
    for (size_t i = 0; i < n; i++)
        prog_json_real(json, reals[i]);
    thr_json_close(json, ']');
}

static void print_json(const thr_bleu_score *score, const char *signature, size_t n_references,
                       const double *by_sentence) {
    prog_json json = prog_json_object();

    prog_json_key_real(&json, "bleu", score->bleu);
    json_reals(&json, "precisions", score->precisions, THR_BLEU_ORDER);
    prog_json_key_real(&json, "brevity_penalty", score->brevity_penalty);
    prog_json_key_real(&json, "length_ratio", ratio_of(score));
    prog_json_key_count(&json, "hypothesis_length", score->hypothesis_length);
    prog_json_key_count(&json, "reference_length", score->reference_length);
    json_counts(&json, "counts", score->counts);
    json_counts(&json, "totals", score->totals);
    prog_json_key_count(&json, "n_sentences", score->n_sentences);
    prog_json_key_count(&json, "n_references", n_references);
    prog_json_key_text(&json, "signature", signature);
    if (by_sentence != NULL)
        json_reals(&json, "sentences", by_sentence, (size_t)score->n_sentences);
    prog_json_end_object(&json);
}

static int judge(const program *run, const bleu_values *values, const all_texts *all, double *by_sentence) {
    thr_error err = {.status = THR_OK};
    thr_bleu_options how = {0};
    thr_bleu_score score;
    char signature[THR_BLEU_SIGNATURE_SIZE];
    const size_t n_references = all->n - 1;

    how.tokeniser = (thr_bleu_tokeniser)values->tokeniser;
    how.smoothing = (thr_bleu_smoothing)values->smoothing;
    how.smoothing_value = isnan(values->smoothing_value) ? 0 : values->smoothing_value;
    how.lower_case = values->lower_case;
    how.effective_order = values->effective_order;
    if (thr_bleu(&all->views[0], all->views + 1, n_references, &how, &score, by_sentence, &err) != THR_OK)
        return say_failed(all, &err);
    if (thr_bleu_signature(&how, n_references, signature, &err) != THR_OK)
        return prog_failed(&err);
    if (run->globals.json)
        print_json(&score, signature, n_references, by_sentence);
    else if (by_sentence == NULL)
        print_line(&score, signature);
    else
        for (uint64_t i = 0; i < score.n_sentences; i++)
            (void)printf("%.2f\n", by_sentence[i]);
    return PROG_DONE;
}

static int run_bleu(program *run, const void *all_values) {
    const bleu_values *values = all_values;
    all_texts all = {.n = 0};
    double *by_sentence = NULL;
    int rc;

    if (!isnan(values->smoothing_value) && (values->smoothing == 0 || values->smoothing == 1)) {
        prog_error("--smooth-value goes with --smooth floor and add-k, not with %s", smoothings[values->smoothing]);
        return PROG_WRONG_WORDS;
    }
    if (values->smoothing_value <= 0) {
        prog_error("--smooth-value %g: a number above 0", values->smoothing_value);
        return PROG_WRONG_WORDS;
    }
    rc = read_all(&all, run, values);
    if (rc == PROG_DONE && values->sentences) {
        by_sentence = malloc((all.files[0].n + 1) * sizeof *by_sentence);
        rc = by_sentence != NULL ? PROG_DONE : prog_no_memory();
    }
    if (rc == PROG_DONE)
        rc = judge(run, values, &all, by_sentence);
    free(by_sentence);
    all_texts_free(&all);
    return rc;
}

const prog_command prog_eval_bleu = {
    PROG_COMMAND("eval", "bleu", bleu_values, arguments, options, run_bleu),
    .summary = "measure translations against references: BLEU, with the digits of sacreBLEU",
    .text = "BLEU is the geometric mean of the n-gram precisions, n = 1 to 4, times a penalty for "
            "translations that are shorter than their references. The command prints sacreBLEU's "
            "line: the signature of the settings, the score, the four precisions, the brevity "
            "penalty (BP), and lengths in tokens. The figures are those of sacreBLEU 2.6 with the "
            "same signature. Pass plain text, not tokens, unless with --tokenise none.",
    .examples = PROG_EXAMPLES("thresher eval bleu translated.txt reference.txt",
                              "thresher eval bleu translated.txt reference1.txt reference2.txt --lower-case --json",
                              "thresher eval bleu translated.txt pairs.tsv:2 --sentences --effective-order"),
};
