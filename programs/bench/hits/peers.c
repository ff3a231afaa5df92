/* SPDX-License-Identifier: Apache-2.0 */
/* peers.c - other programs read the same matrix and queries, and print their times. */
#define _GNU_SOURCE /* popen */
#include <inttypes.h>
#include <string.h>

#include "hits.h"

void bench_hits_export(const bench_catalogue *c) {
    bench_save(bench_path("offsets.u64"), "wb", c->offsets, (c->n_items + 1) * sizeof *c->offsets);
    bench_save(bench_path("features.u32"), "wb", c->features, c->n_postings * sizeof *c->features);
}

void bench_hits_export_queries(const bench_hits_query *queries, uint32_t n_queries, const float *sums,
                               uint64_t n_items) {
    const uint32_t size = queries[0].n;
    for (uint32_t q = 0; q < n_queries; q++) {
        bench_save(bench_path("%" PRIu32 ".u32", size), "ab", queries[q].features, size * sizeof(uint32_t));
        bench_save(bench_path("%" PRIu32 ".f32", size), "ab", queries[q].weights, size * sizeof(float));
    }
    bench_save(bench_path("%" PRIu32 ".sums.f32", size), "wb", sums, n_items * sizeof *sums);
}

int bench_hits_peers(const bench_catalogue *c, uint32_t n_queries, const uint32_t sizes[2], bench_hits_peer *peers,
                     int most) {
    char command[1600], line[256];
    int n = 0;
    (void)snprintf(command, sizeof command,
                   BENCH_PYTHON " programs/bench/hits/hits.py '%s' %" PRIu64 " %" PRIu32 " %" PRIu32 " %" PRIu32
                                " %" PRIu32,
                   bench.scratch, c->n_items, c->n_features, n_queries, sizes[0], sizes[1]);
    if (strchr(bench.scratch, '\'') != NULL)
        bench_fail("%s: a quote in the scratch directory's name", bench.scratch);
    (void)fflush(NULL);
    FILE *output = popen(command, "r"); // NOLINT(cert-env33-c)
    while (output != NULL && n < most && fgets(line, sizeof line, output) != NULL) {
        bench_hits_peer *p = &peers[n];
        n += sscanf(line, "%79[^\t]\t%" SCNu32 "\t%lf", // NOLINT(cert-err34-c)
                    p->name, &p->size, &p->seconds) == 3;
    }
    if (output == NULL || pclose(output) != 0)
        bench_fail("programs/bench/hits/hits.py failed: it is run at the top of the source tree, with numpy");
    return n;
}
