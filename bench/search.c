/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search.c - `bench search`: how to run the comparison with other libraries, which is a Python program of the source
 * tree.
 */
#include <stdio.h>

#include "json.h"
#include "program.h"

static const char *const packages[] = {"numpy", "faiss-cpu", "usearch", "hnswlib", "rabitqlib", NULL};

typedef struct search_values {
    char nothing;
} search_values;

static const prog_option options[] = {PROG_OPTIONS_END};
static const prog_argument no_arguments[] = {{.name = NULL}};
static const char *const examples[] = {"thresher bench search", NULL};

static int bench_search(program *run, const void *values) {
    (void)values;
    if (run->globals.json) {
        prog_json json = prog_json_to(stdout);
        prog_json_open(&json, '{');
        prog_json_key_text(&json, "command", "./run bench search");
        prog_json_key(&json, "python_packages");
        prog_json_open(&json, '[');
        for (size_t i = 0; packages[i] != NULL; i++)
            prog_json_text(&json, packages[i]);
        prog_json_close(&json, ']');
        prog_json_close(&json, '}');
        prog_json_end(&json);
        return PROG_DONE;
    }
    (void)printf("In the directory of Thresher's source:\n\n    pip install");
    for (size_t i = 0; packages[i] != NULL; i++)
        (void)printf(" %s", packages[i]);
    (void)printf("\n    ./run bench search --quick     a few minutes\n"
                 "    ./run bench search             all data sets and peers, about 40 minutes\n"
                 "    ./run bench search --help\n\n"
                 "Only numpy must be there: a peer that is not installed is left out, with a line.\n");
    return PROG_DONE;
}

const prog_command bench_search_command = {
    .noun = "bench",
    .verb = "search",
    .summary = "say how searches are compared with other libraries",
    .text = "The comparison of recall, speed, build time and size with Faiss, usearch, hnswlib and RaBitQ-Library is a "
            "Python program in the source tree, bench/peers/search.py. This prints what to install and to run. Its "
            "results are in docs/benchmarks.md.",
    .arguments = no_arguments,
    .options = PROG_OPTIONS(options),
    .values_size = sizeof(search_values),
    .examples = examples,
    .run = bench_search,
};
