/* SPDX-License-Identifier: Apache-2.0 */
/* report.c - what a search prints after its answers. */
#include "search/options.h"

#include <inttypes.h>

#include "info/gpus.h"
#include "cli/json.h"
#include "cli/messages.h"

/* GPUs screen only searches for the best k that are not exact and, if codes are relative to cells, may skip cells. */
static bool may_use_gpus(const prog_search_values *values, const prog_search *s) {
    return !s->by_radius && !values->exact && !s->reads_all_cells;
}

/* With --json and -o the summary goes to standard output. */
static void print_summary(const prog_search_values *values, const prog_search *s, const char *what, double total_s) {
    const uint64_t n = s->results.n_queries;
    prog_json json = prog_json_object();

    prog_json_key_text(&json, what, values->dir);
    prog_json_key_text(&json, "output", values->output);
    prog_json_key_count(&json, "n_queries", n);
    if (s->by_radius) {
        prog_json_key_real(&json, "radius", values->radius);
        prog_json_key_count(&json, "n_found", s->n_found);
    } else {
        prog_json_key_count(&json, "k", values->k);
    }
    prog_json_key_text(&json, "device", may_use_gpus(values, s) ? thr_context_device(s->run->context) : "cpu");
    PROG_JSON_REALS(&json, {"open_s", s->open_s}, {"search_s", s->search_s}, {"total_s", total_s},
                    {"queries_per_s", s->search_s > 0.0 ? (double)n / s->search_s : 0.0});
    if (s->certified != NULL)
        prog_json_key_count(&json, "n_certified", s->n_certified);
    prog_json_end_object(&json);
}

void prog_search_report(const prog_search_values *values, const prog_search *s, const char *what) {
    const thr_context *context = s->run->context;
    const double total_s = prog_seconds() - s->started_s;

    prog_detail("%s until the first query, %s of search, %s in all; %" PRIu32 " threads, CPU level %s",
                prog_time(s->open_s).text, prog_time(s->search_s).text, prog_time(total_s).text,
                thr_context_threads(context), thr_isa_name(thr_context_isa(context)));
    if (may_use_gpus(values, s))
        prog_print_device("codes are screened", thr_context_device(context));
    else if (!values->exact)
        prog_detail("codes are screened by the CPU, as in every search %s",
                    s->by_radius ? "by --radius" : "that reads all cells");
    if (s->run->globals.json && values->output != NULL && s->results.is_file)
        print_summary(values, s, what, total_s);
}
