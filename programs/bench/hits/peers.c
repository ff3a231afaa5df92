/* SPDX-License-Identifier: Apache-2.0 */
/* peers.c - other programs read the same matrix and queries, and print their times. */
#define _GNU_SOURCE /* popen */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "hits.h"

static void save(bench_scan_run *run, const char *name, const void *data, size_t size) {
    char path[1200];
    (void)snprintf(path, sizeof path, "%s/%s", run->scratch, name);
    bench_save(run, path, "wb", data, size);
}

void bench_hits_export(bench_scan_run *run, const bench_catalogue *c) {
    save(run, "offsets.u64", c->offsets, (c->n_items + 1) * sizeof *c->offsets);
    save(run, "features.u32", c->features, c->n_postings * sizeof *c->features);
}

void bench_hits_export_queries(bench_scan_run *run, const bench_hits_query *queries, uint32_t n_queries,
                               const float *sums, uint64_t n_items) {
    char name[64];
    const size_t size = queries[0].n;
    uint32_t *features = bench_room(run, n_queries * size * sizeof *features);
    float *weights = bench_room(run, n_queries * size * sizeof *weights);
    for (uint32_t q = 0; q < n_queries; q++) {
        memcpy(features + q * size, queries[q].features, size * sizeof *features);
        memcpy(weights + q * size, queries[q].weights, size * sizeof *weights);
    }
    (void)snprintf(name, sizeof name, "%zu.u32", size);
    save(run, name, features, n_queries * size * sizeof *features);
    (void)snprintf(name, sizeof name, "%zu.f32", size);
    save(run, name, weights, n_queries * size * sizeof *weights);
    (void)snprintf(name, sizeof name, "%zu.sums.f32", size);
    save(run, name, sums, n_items * sizeof *sums);
    free(features);
    free(weights);
}

int bench_hits_peers(bench_scan_run *run, const bench_catalogue *c, uint32_t n_queries, const uint32_t sizes[2],
                     bench_hits_peer *peers, int most) {
    char command[1600], line[256];
    int n = 0;
    (void)snprintf(command, sizeof command,
                   "PYTHONPATH=programs${PYTHONPATH:+:$PYTHONPATH} %s programs/bench/hits/hits.py '%s' %" PRIu64
                   " %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32,
                   getenv("PYTHON") != NULL ? "\"$PYTHON\"" : "python3", run->scratch, c->n_items, c->n_features,
                   n_queries, sizes[0], sizes[1]);
    if (strchr(run->scratch, '\'') != NULL)
        bench_fail(run, "%s: a quote in the scratch directory's name", run->scratch);
    (void)fflush(NULL);
    FILE *output = popen(command, "r"); // NOLINT(cert-env33-c)
    while (output != NULL && n < most && fgets(line, sizeof line, output) != NULL) {
        bench_hits_peer *p = &peers[n];
        n += sscanf(line, "%79[^\t]\t%" SCNu32 "\t%lf", // NOLINT(cert-err34-c)
                    p->name, &p->size, &p->seconds) == 3;
    }
    if (output == NULL || pclose(output) != 0)
        bench_fail(run, "programs/bench/hits/hits.py failed: it is run at the top of the source tree, with numpy");
    return n;
}
