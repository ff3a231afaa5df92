/* SPDX-License-Identifier: Apache-2.0 */
#include "texts.h"

#include <stdlib.h>
#include <string.h>

#include "program.h"

void bench_texts_free(bench_texts *t) {
    free(t->offsets);
    free(t->bytes);
    *t = (bench_texts){.n = 0};
}

int bench_texts_add(bench_texts *t, const char *text, size_t length) {
    if (t->n + 2 > t->room) {
        const uint64_t room = 2 * t->room + 64;
        uint64_t *offsets = realloc(t->offsets, room * sizeof *offsets);
        if (offsets == NULL)
            return -1;
        t->offsets = offsets;
        t->room = room;
        t->offsets[0] = 0;
    }
    const uint64_t begin = t->offsets[t->n];
    if (begin + length > t->bytes_room) {
        const uint64_t room = 2 * t->bytes_room + length + 4096;
        char *bytes = realloc(t->bytes, room);
        if (bytes == NULL)
            return -1;
        t->bytes = bytes;
        t->bytes_room = room;
    }
    if (length > 0) /* bytes may be NULL while all texts are empty */
        memcpy(t->bytes + begin, text, length);
    t->offsets[++t->n] = begin + length;
    return 0;
}

thr_bleu_texts bench_texts_view(const bench_texts *t) {
    return (thr_bleu_texts){.n = t->n, .offsets = t->offsets, .bytes = t->bytes};
}

double bench_texts_same(const bench_texts *a, const bench_texts *b) {
    uint64_t n = 0;
    for (uint64_t i = 0; i < a->n; i++) {
        const uint64_t length = a->offsets[i + 1] - a->offsets[i];
        n += length == b->offsets[i + 1] - b->offsets[i] &&
             memcmp(a->bytes + a->offsets[i], b->bytes + b->offsets[i], length) == 0;
    }
    return (double)n / (double)a->n;
}

int bench_texts_read(bench_scan_run *run, const char *path, uint64_t most, bench_texts *t) {
    thr_error err = {.status = THR_OK};
    thr_reader *reader = NULL;
    const char *line = NULL;
    size_t length;
    int rc = 0;
    if (thr_reader_open_lines(run->context, path, 0, &reader, &err) != THR_OK)
        return bench_fail(run, "%s", err.text);
    while (rc == 0 && t->n < most) {
        if (thr_reader_next_line(reader, &line, &length, &err) != THR_OK)
            rc = bench_fail(run, "%s", err.text);
        else if (line == NULL)
            break;
        else if (bench_texts_add(t, line, length) != 0)
            rc = bench_fail(run, "%s: no memory for its lines", path);
    }
    thr_reader_free(reader);
    return rc;
}
