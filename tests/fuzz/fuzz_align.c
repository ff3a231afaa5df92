/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_align.c - reads bytes as a table of word translations, or as two texts; a table learned from texts must be
 * readable.
 *
 * The first byte is the number of target words that are kept of a source word, 0 to 7, plus 8 for two texts, which a
 * NUL separates.
 */
#include <thresher/align.h>

#include <stdio.h>
#include <unistd.h>

#include "align/table.h"
#include "fuzz/io_fuzz.h"
#include "fuzz/text_mutator.h"

enum { WORDS = 4, BEST = 7, TEXTS = 8 };

typedef struct file {
    char path[24];
} file;

static file write_file(const uint8_t *data, size_t size) {
    file f = {"fuzz-align-XXXXXX"};
    const int fd = mkstemp(f.path);
    fuzz_check(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    (void)close(fd);
    return f;
}

/* a b c d, as a source and as a target vocabulary. */
static const thr_dictionary *letters(void) {
    static thr_dictionary words;
    for (char c = 'a'; words.n < WORDS; c++) {
        uint32_t number;
        bool is_new;
        fuzz_check(thr_dictionary_add(fuzz_context(), &words, &c, 1, &number, &is_new, NULL) == THR_OK && is_new);
    }
    return &words;
}

static thr_status read_table(const char *path, uint32_t n_best) {
    const thr_dictionary *const both[] = {letters(), letters()};
    thr_align_table table = {NULL, NULL};
    thr_error err;
    const thr_status status = thr_align_table_read(fuzz_context(), path, both, "letters", n_best, &table, &err);
    if (status != THR_OK)
        fuzz_check_error(&err, status);
    for (uint32_t e = 0; status == THR_OK && e < WORDS; e++) {
        fuzz_check(table.starts[0] == 0 && table.starts[e] <= table.starts[e + 1]);
        fuzz_check(table.starts[e + 1] - table.starts[e] <= n_best);
        for (uint64_t i = table.starts[e]; i < table.starts[e + 1]; i++)
            fuzz_check(table.words[i] < WORDS);
    }
    thr_align_table_free(fuzz_context(), &table);
    return status;
}

/* A table of other words is refused as one, but each of its lines is read. */
static void learn(const uint8_t *data, size_t size, uint32_t n_best) {
    const uint8_t *middle = size > 0 ? memchr(data, '\0', size) : NULL;
    const size_t first = middle != NULL ? (size_t)(middle - data) : size, used = middle != NULL ? first + 1 : size;
    const file source = write_file(data, first), target = write_file(data + used, size - used);
    file table = write_file(data, 0);
    thr_align_options options = {0};
    thr_align_report report;
    thr_error err;
    options.n_best = n_best;
    const thr_status status =
        thr_align_train(fuzz_context(), source.path, target.path, table.path, &options, &report, &err);
    if (status != THR_OK) {
        fuzz_check_error(&err, status);
    } else {
        const thr_status read = read_table(table.path, n_best);
        fuzz_check(report.n_written <= report.n_entries && report.perplexity >= 1 - 1e-9);
        fuzz_check(read == THR_OK || read == THR_EMISMATCH);
    }
    (void)unlink(source.path);
    (void)unlink(target.path);
    (void)unlink(table.path);
}

FUZZ_MUTATOR(fuzz_mutate_text)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0)
        return 0;
    const uint32_t n_best = data[0] & BEST;
    if ((data[0] & TEXTS) != 0) {
        learn(data + 1, size - 1, n_best > 0 ? n_best : 1);
    } else {
        const file table = write_file(data + 1, size - 1);
        (void)read_table(table.path, n_best);
        (void)unlink(table.path);
    }
    return 0;
}
