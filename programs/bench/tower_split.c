/* SPDX-License-Identifier: Apache-2.0 */
#include "tower_split.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of ASCII, whatever the locale is. */
static bool is_letter(unsigned char c) {
    return (unsigned)(c - '0') < 10u || (unsigned)((c | 32) - 'a') < 26u;
}

/* FNV-1a over words in small letters with one space between them; bytes beyond ASCII count as they are. */
double bench_split_place(const char *query) {
    uint64_t hash = 0xcbf29ce484222325u;
    bool between = false, any = false;
    for (const unsigned char *c = (const unsigned char *)query; *c != '\0'; c++) {
        if (!is_letter(*c) && *c < 0x80) {
            between = any;
            continue;
        }
        if (between)
            hash = (hash ^ ' ') * 0x100000001b3u;
        const unsigned char small = *c >= 'A' && *c <= 'Z' ? (unsigned char)(*c | 32) : *c;
        hash = (hash ^ small) * 0x100000001b3u;
        between = false;
        any = true;
    }
    /* The high bits of FNV's product hardly know the last letters: mix once more (splitmix64's end). */
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
    hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebu;
    return (double)((hash ^ (hash >> 31)) >> 11) * 0x1p-53;
}

/* Room for n values of size bytes, doubling. */
static bool grow(void **memory, size_t *capacity, size_t n, size_t size) {
    if (n <= *capacity)
        return true;
    size_t wanted = *capacity == 0 ? 4096 : *capacity;
    while (wanted < n)
        wanted *= 2;
    void *grown = realloc(*memory, wanted * size);
    if (grown == NULL)
        return false;
    *memory = grown;
    *capacity = wanted;
    return true;
}

static bool has_letters(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (is_letter((unsigned char)text[i]))
            return true;
    return false;
}

static bool keep_text(bench_pairs *pairs, const char *text, size_t length, size_t *place) {
    void *memory = pairs->text;
    if (!grow(&memory, &pairs->text_capacity, pairs->n_text + length + 1, 1))
        return false;
    pairs->text = memory;
    *place = pairs->n_text;
    memcpy(pairs->text + pairs->n_text, text, length);
    pairs->text[pairs->n_text + length] = '\0';
    pairs->n_text += length + 1;
    return true;
}

/* One line; false for lack of memory. */
static bool take_line(bench_pairs *pairs, const char *line, bool labelled, double share) {
    const size_t query_length = strcspn(line, "\t");
    const char *item = line[query_length] == '\0' ? "" : line + query_length + 1;
    const size_t item_length = strcspn(item, "\t");
    const char *label = item[item_length] == '\0' ? "" : item + item_length + 1;
    bench_pair pair = {.label = labelled ? strtof(label, NULL) : 3.0f};
    if (!has_letters(line, query_length) || !has_letters(item, item_length)) {
        pairs->n_left_out++;
        return true;
    }
    void *rows = pairs->rows;
    if (!grow(&rows, &pairs->capacity, pairs->n + 1, sizeof pair))
        return false;
    pairs->rows = rows;
    const size_t before = pairs->n_text;
    if (!keep_text(pairs, line, query_length, &pair.query) || !keep_text(pairs, item, item_length, &pair.item))
        return false;
    const double place = bench_split_place(pairs->text + pair.query);
    pair.test = place < BENCH_TEST_SHARE;
    /* The first of each part, so that shares of a data set have the parts' proportion. */
    const double within = pair.test ? place / BENCH_TEST_SHARE : (place - BENCH_TEST_SHARE) / (1 - BENCH_TEST_SHARE);
    if (within >= share)
        pairs->n_text = before;
    else
        pairs->rows[pairs->n++] = pair;
    return true;
}

thr_status bench_pairs_read(thr_context *context, const char *path, bool labelled, double share, bench_pairs *pairs,
                            thr_error *err) {
    thr_reader *reader = NULL;
    thr_status status = thr_reader_open(context, path, &reader, err);
    const char *line = NULL;
    size_t length = 0;
    while (status == THR_OK) {
        status = thr_reader_next_line(reader, &line, &length, err);
        if (status != THR_OK || line == NULL)
            break;
        if (!take_line(pairs, line, labelled, share)) {
            status = err->status = THR_ENOMEM;
            (void)snprintf(err->text, sizeof err->text, "%s: no memory for its pairs", path);
        }
    }
    thr_reader_free(reader);
    return status;
}

void bench_pairs_free(bench_pairs *pairs) {
    free(pairs->text);
    free(pairs->rows);
    *pairs = (bench_pairs){0};
}

bool bench_pairs_is(const bench_pair *pair, bench_rows rows) {
    if (rows == BENCH_ROWS_TRAIN)
        return !pair->test;
    return pair->test && (rows == BENCH_ROWS_TEST || pair->label >= BENCH_LEAST_LABEL);
}

int bench_pairs_write(const bench_pairs *pairs, bench_rows rows, const char *path) {
    FILE *file = fopen(path, "a");
    if (file == NULL)
        return -1;
    for (size_t i = 0; i < pairs->n; i++)
        if (bench_pairs_is(&pairs->rows[i], rows))
            (void)fprintf(file, "%s\t%s\t%g\n", bench_query(pairs, i), bench_item(pairs, i),
                          (double)pairs->rows[i].label);
    const bool bad = ferror(file) != 0;
    return fclose(file) != 0 || bad ? -1 : 0;
}
