/* SPDX-License-Identifier: Apache-2.0 */
/* hits_peers.c - programs of others read the same matrix and queries, and say how long they took. */
#define _GNU_SOURCE /* popen */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "hits.h"

static int save(const char *dir, const char *name, const void *data, size_t size) {
    char path[1200];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        return -1;
    const bool written = fwrite(data, 1, size, file) == size;
    return fclose(file) == 0 && written ? 0 : -1;
}

int bench_hits_export(const char *dir, const bench_catalogue *c) {
    return save(dir, "offsets.u64", c->offsets, (c->n_items + 1) * sizeof *c->offsets) != 0 ||
                   save(dir, "features.u32", c->features, c->n_postings * sizeof *c->features) != 0
               ? -1
               : 0;
}

int bench_hits_export_queries(const char *dir, uint32_t size, uint32_t n_queries, const uint32_t *features,
                              const float *weights, const float *sums, uint64_t n_items) {
    char name[64];
    const size_t n = (size_t)size * n_queries;
    (void)snprintf(name, sizeof name, "%" PRIu32 ".u32", size);
    int rc = save(dir, name, features, n * sizeof *features);
    (void)snprintf(name, sizeof name, "%" PRIu32 ".f32", size);
    rc |= save(dir, name, weights, n * sizeof *weights);
    (void)snprintf(name, sizeof name, "%" PRIu32 ".sums.f32", size);
    return rc | save(dir, name, sums, n_items * sizeof *sums);
}

int bench_hits_peers(const char *dir, const bench_catalogue *c, uint32_t n_queries, const uint32_t *sizes, int n_sizes,
                     bench_hits_peer *peers, int most) {
    char command[1600], line[256];
    int n = 0,
        at = snprintf(command, sizeof command, "%s programs/bench/peers/hits.py '%s' %" PRIu64 " %" PRIu32 " %" PRIu32,
                      getenv("PYTHON") != NULL ? "\"$PYTHON\"" : "python3", dir, c->n_items, c->n_features, n_queries);
    for (int i = 0; i < n_sizes; i++)
        at += snprintf(command + at, sizeof command - (size_t)at, " %" PRIu32, sizes[i]);
    if (strchr(dir, '\'') != NULL)
        return -1;
    (void)fflush(NULL);
    FILE *output = popen(command, "r"); // NOLINT(cert-env33-c)
    if (output == NULL)
        return -1;
    while (n < most && fgets(line, sizeof line, output) != NULL) {
        bench_hits_peer *p = &peers[n];
        char *size = strchr(line, '\t'), *seconds = size == NULL ? NULL : strchr(size + 1, '\t');
        if (seconds == NULL)
            continue;
        *size++ = *seconds++ = '\0';
        (void)snprintf(p->name, sizeof p->name, "%.79s", line);
        p->size = (uint32_t)strtoul(size, NULL, 10);
        p->seconds = strtod(seconds, NULL);
        n++;
    }
    return pclose(output) == 0 ? n : -1;
}
