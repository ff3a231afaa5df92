/* SPDX-License-Identifier: Apache-2.0 */
/* texts.h - texts one behind the other, as BLEU takes them. */
#ifndef THRESHER_BENCH_TEXTS_H
#define THRESHER_BENCH_TEXTS_H

#include "scan.h"

typedef struct bench_texts {
    uint64_t n, room, bytes_room;
    uint64_t *offsets; /* n + 1 */
    char *bytes;
} bench_texts;

/* Append one; -1 without memory. */
int bench_texts_add(bench_texts *t, const char *text, size_t length);

/* Append the first `most` lines of a file; -1 after saying why not. */
int bench_texts_read(bench_scan_run *run, const char *path, uint64_t most, bench_texts *t);

thr_bleu_texts bench_texts_view(const bench_texts *t);

/* The share of a's texts, one at least, that are b's, of which there are as many. */
double bench_texts_same(const bench_texts *a, const bench_texts *b);

void bench_texts_free(bench_texts *t);

#endif
