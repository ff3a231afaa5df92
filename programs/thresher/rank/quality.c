/* SPDX-License-Identifier: Apache-2.0 */
#include "rank/quality.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "cli/json.h"
#include "cli/messages.h"

enum { NOTED_ONE_IN = 100 }; /* pairs, of which as many as one are tied: a note */

const char *const prog_conventions[] = {"lightgbm", "letor", "xgboost", "xgboost-minus", NULL};
const char *const prog_gains[] = {"exponential", "linear", NULL};
const char *const prog_ties[] = {"wrong", "right", NULL};

/* "NDCG@10", or "NDCG" where all ranks count. */
typedef struct named {
    char text[40];
} named;

static named name_at(const char *measure, const char *at, uint64_t k) {
    named name;
    if (k == 0)
        (void)snprintf(name.text, sizeof name.text, "%s", measure);
    else
        (void)snprintf(name.text, sizeof name.text, "%s%s%" PRIu64, measure, at, k);
    return name;
}

static void print_json(const prog_quality_values *values, const thr_quality *q) {
    prog_json json = prog_json_object();

    prog_json_key_real(&json, name_at("ndcg", "_at_", values->k).text, q->ndcg);
    prog_json_key_real(&json, "map", q->map);
    prog_json_key_real(&json, "mrr", q->mrr);
    prog_json_key_real(&json, name_at("err", "_at_", values->k).text, q->err);
    prog_json_key_real(&json, name_at("precision", "_at_", values->k).text, q->precision);
    prog_json_key_real(&json, "pair_accuracy", q->pair_accuracy);
    PROG_JSON_COUNTS(&json, {"n_pairs", q->pairs.n_pairs}, {"n_pairs_right", q->pairs.n_right},
                     {"n_pairs_tied", q->pairs.n_tied}, {"n_rows", q->n_rows}, {"n_queries", q->n_queries},
                     {"n_queries_without_gain", q->n_without_gain}, {"k", values->k});
    prog_json_key_text(&json, "convention", prog_conventions[values->convention]);
    prog_json_key_text(&json, "gain", prog_gains[values->gain]);
    prog_json_key_text(&json, "ties", prog_ties[values->ties]);
    prog_json_end_object(&json);
}

/* note: printed after the value; or NULL */
static void print_line(const char *name, double value, const char *note) {
    char number[32] = "-";

    if (!isnan(value))
        (void)snprintf(number, sizeof number, "%.6f", value);
    if (note != NULL)
        (void)printf("%-12s %-8s  %s\n", name, number, note);
    else
        (void)printf("%-12s %s\n", name, number);
}

static void print_table(const prog_quality_values *values, const thr_quality *q) {
    const char *const gain = values->gain == (size_t)THR_GAIN_LINEAR ? "label" : "2^label - 1";
    char note[160];

    (void)snprintf(note, sizeof note, "of %s, %s without a gain; as %s has it, gain %s",
                   prog_counted(q->n_queries, "query").text, prog_exact(q->n_without_gain).text,
                   prog_conventions[values->convention], gain);
    print_line(name_at("NDCG", "@", values->k).text, q->ndcg, note);
    print_line("MAP", q->map, "over all ranks; labels from 1 on are relevant");
    print_line("MRR", q->mrr, NULL);
    print_line(name_at("ERR", "@", values->k).text, q->err, NULL);
    print_line(name_at("P", "@", values->k).text, q->precision, NULL);
    (void)snprintf(note, sizeof note, "of %s, %s of equal scores, which count as %s",
                   prog_counted(q->pairs.n_pairs, "pair").text, prog_exact(q->pairs.n_tied).text,
                   prog_ties[values->ties]);
    print_line("pairs", q->pair_accuracy, note);
}

int prog_quality_judge(const program *run, const prog_quality_values *values, const thr_ranking *ranking,
                       const double *scores, const char *where) {
    const thr_ranking_view view = thr_ranking_get_view(ranking);
    const thr_judged judged = {
        .n_queries = (size_t)view.n_queries, .offsets = view.offsets, .scores = scores, .labels = view.labels};
    const thr_quality_options options = {.k = (size_t)values->k,
                                         .convention = (thr_convention)values->convention,
                                         .gain = (thr_gain)values->gain,
                                         .ties_are_right = values->ties == 1};
    thr_quality quality;
    thr_error err = {.status = THR_OK};

    if (view.n_rows == 0) {
        prog_error("%s: holds no rows: there is nothing to measure", where);
        return PROG_FAILED;
    }
    if (thr_rank_quality(&judged, &options, &quality, &err) != THR_OK)
        return prog_failed_at(where, &err);
    if (quality.pairs.n_pairs == 0)
        prog_note("%s: no query has two rows of different labels, so there are no pairs", where);
    else if (quality.pairs.n_tied * NOTED_ONE_IN >= quality.pairs.n_pairs)
        prog_note(
            "%s: %.3g %% of the pairs have equal scores: their rows rank in the order of the file, which NDCG and "
            "the others depend on",
            where, 100 * (double)quality.pairs.n_tied / (double)quality.pairs.n_pairs);
    if (run->globals.json)
        print_json(values, &quality);
    else
        print_table(values, &quality);
    return PROG_DONE;
}
