/* SPDX-License-Identifier: Apache-2.0 */
#include "output/results.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "input/endings.h"
#include "hits/query.h"
#include "output/plain.h"
#include "cli/suggest.h"
#include "cli/messages.h"

static const struct {
    const char *ending;
    prog_format format;
} endings[] = {
    {".ivecs", PROG_FORMAT_IVECS},
    {".jsonl", PROG_FORMAT_JSON},
    {".trec", PROG_FORMAT_TREC},
    {".svm", PROG_FORMAT_SVM}, /* where there are features */
};

enum { N_ENDINGS = sizeof endings / sizeof endings[0] };

/* ------------------------------------------------------------------------------------------------ open and close */

static int wrong_ending(const char *path, size_t n_endings) {
    const char *dot = strrchr(path, '.'), *more = n_endings == N_ENDINGS ? ", .trec or .svm" : " or .trec";
    prog_nearest nearest = prog_nearest_to(dot != NULL ? dot : "");

    for (size_t i = 0; i < n_endings; i++)
        prog_offer(&nearest, endings[i].ending);
    if (nearest.best != NULL)
        prog_error("-o %s: the ending must be .ivecs, .jsonl%s; did you mean %s?", path, more, nearest.best);
    else
        prog_error("-o %s: the ending must be .ivecs, .jsonl%s", path, more);
    return PROG_WRONG_WORDS;
}

int prog_results_open(prog_results *results, const program *run, const char *path, prog_name_of *name_of,
                      const void *named, bool features) {
    const size_t n_endings = features ? N_ENDINGS : N_ENDINGS - 1;

    *results = (prog_results){
        .format = run->globals.json ? PROG_FORMAT_JSON : PROG_FORMAT_TABLE, .name_of = name_of, .named = named};
    if (path == NULL)
        return prog_out_open(&results->out, run->context, NULL);
    for (size_t i = 0; i < n_endings; i++) {
        if (!prog_ends_with(path, endings[i].ending))
            continue;
        results->format = endings[i].format;
        const bool is_stdout = path[0] == '-' && strcmp(path + 1, endings[i].ending) == 0;
        results->is_file = !is_stdout;
        return prog_out_open(&results->out, run->context, is_stdout ? NULL : path);
    }
    return wrong_ending(path, n_endings);
}

int prog_results_close(prog_results *results, int rc) {
    return prog_out_close(&results->out, rc);
}

/* ------------------------------------------------------------------------------------------------ formats */

static const char *name_of(const prog_results *results, uint64_t id) {
    return results->name_of != NULL ? results->name_of(results->named, id) : NULL;
}

static uint64_t first_match(const prog_answer *answer, uint64_t i) {
    return i == 0 ? 0 : answer->match_ends[i - 1];
}

/* Print a line under the item: "category=12 0.7, brand=7 0.2". */
static void put_matches(FILE *file, const prog_answer *answer, uint64_t i) {
    for (uint64_t m = first_match(answer, i); m < answer->match_ends[i]; m++) {
        (void)fputs(m == first_match(answer, i) ? "                    " : ", ", file);
        prog_put_plain(file, answer->matches[m].word);
        (void)fprintf(file, " %g", (double)answer->matches[m].share);
    }
    if (answer->match_ends[i] > first_match(answer, i))
        (void)putc('\n', file);
}

static void put_table(prog_results *results, const prog_answer *answer) {
    FILE *file = results->out.file;

    if (results->n_queries > 0)
        (void)putc('\n', file);
    if (answer->like != NULL || answer->text != NULL) {
        (void)fputs(answer->like != NULL ? "like " : "text ", file);
        prog_put_plain(file, answer->like != NULL ? answer->like : answer->text);
        (void)putc('\n', file);
    } else {
        (void)fprintf(file, "query %" PRIu64 "\n", results->n_queries);
    }
    if (answer->n == 0)
        (void)fputs("  nothing found\n", file);
    for (uint64_t i = 0; i < answer->n; i++) {
        const char *name = name_of(results, answer->ids[i]);

        (void)fprintf(file, "%4" PRIu64 "  %12.6f  ", i + 1, (double)answer->scores[i]);
        if (answer->log_probs != NULL)
            (void)fprintf(file, "%12.6f  ", (double)answer->log_probs[i]);
        if (name != NULL)
            prog_put_plain(file, name);
        else
            (void)fprintf(file, "%" PRIu64, answer->ids[i]);
        (void)putc('\n', file);
        if (answer->matches != NULL)
            put_matches(file, answer, i);
    }
    if (answer->certified != NULL && *answer->certified)
        (void)fputs("      certified exact\n", file);
}

/* Print one object per item: its words and their shares. */
static void put_json_matches(prog_json *json, const prog_answer *answer) {
    thr_json_put_key(json, "matches");
    thr_json_open(json, '[');
    for (uint64_t i = 0; i < answer->n; i++) {
        thr_json_open(json, '{');
        for (uint64_t m = first_match(answer, i); m < answer->match_ends[i]; m++)
            prog_json_key_real(json, answer->matches[m].word, (double)answer->matches[m].share);
        thr_json_close(json, '}');
    }
    thr_json_close(json, ']');
}

static void put_json_log_probs(prog_json *json, const prog_answer *answer) {
    thr_json_put_key(json, "log_probs");
    thr_json_open(json, '[');
    for (uint64_t i = 0; i < answer->n; i++)
        prog_json_real(json, (double)answer->log_probs[i]);
    thr_json_close(json, ']');
    prog_json_key_text(json, "normaliser", answer->normaliser);
    prog_json_key_count(json, "candidates", *answer->n_candidates);
}

/* Print the features of the query that no item has, if any. */
static void put_json_unknown(prog_json *json, const prog_hits_query *query) {
    bool is_open = false;

    for (size_t i = 0; i < query->n; i++) {
        if (query->features[i] != UINT32_MAX)
            continue;
        if (!is_open) {
            thr_json_put_key(json, "unknown");
            thr_json_open(json, '[');
            is_open = true;
        }
        prog_json_text(json, prog_hits_query_word(query, i));
    }
    if (is_open)
        thr_json_close(json, ']');
}

static void put_json(prog_results *results, const prog_answer *answer) {
    prog_json json = prog_json_to(results->out.file);

    thr_json_open(&json, '{');
    prog_json_key_count(&json, "query", results->n_queries);
    if (answer->like != NULL)
        prog_json_key_text(&json, "like", answer->like);
    if (answer->text != NULL)
        prog_json_key_text(&json, "text", answer->text);
    thr_json_put_key(&json, "ids");
    thr_json_open(&json, '[');
    for (uint64_t i = 0; i < answer->n; i++)
        thr_json_put_count(&json, answer->ids[i]);
    thr_json_close(&json, ']');
    thr_json_put_key(&json, "scores");
    thr_json_open(&json, '[');
    for (uint64_t i = 0; i < answer->n; i++)
        prog_json_real(&json, (double)answer->scores[i]);
    thr_json_close(&json, ']');
    if (answer->found_scores != NULL) {
        thr_json_put_key(&json, "search_scores");
        thr_json_open(&json, '[');
        for (uint64_t i = 0; i < answer->n; i++)
            prog_json_real(&json, (double)answer->found_scores[i]);
        thr_json_close(&json, ']');
    }
    if (answer->log_probs != NULL)
        put_json_log_probs(&json, answer);
    if (results->name_of != NULL) {
        thr_json_put_key(&json, "names");
        thr_json_open(&json, '[');
        for (uint64_t i = 0; i < answer->n; i++)
            prog_json_text(&json, name_of(results, answer->ids[i]));
        thr_json_close(&json, ']');
    }
    if (answer->matches != NULL)
        put_json_matches(&json, answer);
    if (answer->query != NULL)
        put_json_unknown(&json, answer->query);
    if (answer->certified != NULL)
        prog_json_key_bool(&json, "certified", *answer->certified != 0);
    prog_json_end_object(&json);
}

/* Little-endian, whatever the machine is. */
static void put_int32(FILE *file, uint32_t value) {
    for (unsigned shift = 0; shift < 32; shift += 8)
        (void)putc((int)(value >> shift & 0xff), file);
}

static int put_ivecs(prog_results *results, const prog_answer *answer) {
    for (uint64_t i = 0; i < answer->n; i++) {
        if (answer->ids[i] > INT32_MAX) {
            prog_error("%s: id %" PRIu64 " of query %" PRIu64 " does not fit the 32 bits of .ivecs; write .jsonl",
                       results->out.name, answer->ids[i], results->n_queries);
            return PROG_FAILED;
        }
    }
    if (answer->width > INT32_MAX) {
        prog_error("%s: rows of %" PRIu64 " ids do not fit .ivecs; write .jsonl", results->out.name, answer->width);
        return PROG_FAILED;
    }
    put_int32(results->out.file, (uint32_t)answer->width);
    for (uint64_t i = 0; i < answer->width; i++)
        put_int32(results->out.file, i < answer->n ? (uint32_t)answer->ids[i] : UINT32_MAX);
    return PROG_DONE;
}

/* White space separates columns of a run and words of a comment, so names must not contain any. */
static int check_word(const prog_results *results, const char *word) {
    if (word[0] != '\0' && strpbrk(word, " \t\v\f\r\n") == NULL)
        return PROG_DONE;
    prog_error("%s: the name \"%s\" is empty or holds a blank, which %s cannot write; write .jsonl", results->out.name,
               word, results->format == PROG_FORMAT_SVM ? ".svm" : ".trec");
    return PROG_FAILED;
}

static int put_trec(prog_results *results, const prog_answer *answer) {
    FILE *file = results->out.file;
    char query[24];

    (void)snprintf(query, sizeof query, "%" PRIu64, results->n_queries);
    if (answer->like != NULL && check_word(results, answer->like) != PROG_DONE)
        return PROG_FAILED;
    for (uint64_t i = 0; i < answer->n; i++) {
        const char *name = name_of(results, answer->ids[i]);

        if (name != NULL && check_word(results, name) != PROG_DONE)
            return PROG_FAILED;
        (void)fprintf(file, "%s Q0 ", answer->like != NULL ? answer->like : query);
        if (name != NULL)
            (void)fputs(name, file);
        else
            (void)fprintf(file, "%" PRIu64, answer->ids[i]);
        (void)fprintf(file, " %" PRIu64 " %.9g thresher\n", i + 1, (double)answer->scores[i]);
    }
    return PROG_DONE;
}

/* Rows to be labelled: label 0. Values have all digits of a float32. */
static int put_svm(prog_results *results, const prog_answer *answer) {
    FILE *file = results->out.file;

    for (uint64_t i = 0; i < answer->n; i++) {
        const char *name = name_of(results, answer->ids[i]);
        const float *features = answer->features + i * answer->n_features;

        if (name != NULL && check_word(results, name) != PROG_DONE)
            return PROG_FAILED;
        (void)fprintf(file, "0 qid:%" PRIu64, results->n_queries);
        for (uint32_t f = 0; f < answer->n_features; f++)
            (void)fprintf(file, " %" PRIu32 ":%.9g", f + 1, (double)features[f]);
        if (name != NULL)
            (void)fprintf(file, " # docid = %s\n", name);
        else
            (void)fprintf(file, " # docid = %" PRIu64 "\n", answer->ids[i]);
    }
    return PROG_DONE;
}

bool prog_results_show_certified(const prog_results *results) {
    return results->format == PROG_FORMAT_JSON;
}

int prog_results_put(prog_results *results, const prog_answer *answer) {
    int rc = PROG_DONE;

    errno = 0;
    switch (results->format) {
    case PROG_FORMAT_TABLE:
        put_table(results, answer);
        break;
    case PROG_FORMAT_JSON:
        put_json(results, answer);
        break;
    case PROG_FORMAT_IVECS:
        rc = put_ivecs(results, answer);
        break;
    case PROG_FORMAT_SVM:
        rc = put_svm(results, answer);
        break;
    case PROG_FORMAT_TREC:
        rc = put_trec(results, answer);
        break;
    }
    if (rc == PROG_DONE && ferror(results->out.file))
        rc = prog_out_failed(&results->out);
    results->n_queries++;
    return rc;
}
