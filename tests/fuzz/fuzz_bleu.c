/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_bleu.c - bytes judged as sentences: invalid UTF-8 is refused, all others have scores that make sense.
 *
 * The first byte holds the options; NUL bytes separate the texts, a hypothesis and two references in turn.
 */
#include <thresher/metric.h>

#include "fuzz/io_fuzz.h"

enum { MOST_TEXTS = 64, N_FILES = 3 };

typedef struct sentences {
    char bytes[N_FILES][4096];
    uint64_t offsets[N_FILES][MOST_TEXTS + 1];
    uint64_t n[N_FILES];
} sentences;

static void part(sentences *s, const uint8_t *data, size_t size) {
    size_t file = 0;
    uint64_t used[N_FILES] = {0};
    for (size_t i = 0; i < size; i++) {
        if (data[i] != 0) {
            s->bytes[file][used[file]++] = (char)data[i];
            continue;
        }
        if (s->n[file] == MOST_TEXTS)
            break;
        s->offsets[file][++s->n[file]] = used[file];
        file = (file + 1) % N_FILES;
    }
}

static void check(const thr_bleu_score *score) {
    fuzz_check(score->bleu >= 0 && score->bleu <= 100.0001);
    fuzz_check(score->brevity_penalty >= 0 && score->brevity_penalty <= 1);
    for (int i = 0; i < THR_BLEU_ORDER; i++)
        fuzz_check(score->counts[i] <= score->totals[i] && score->totals[i] <= score->hypothesis_length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sentences *s = calloc(1, sizeof *s);
    thr_bleu_options how = {0};
    thr_bleu_score score, same;
    thr_bleu_texts views[N_FILES];
    thr_error err;
    fuzz_check(s != NULL);
    if (size > 1 && size < 4096)
        part(s, data + 1, size - 1);
    for (size_t i = 0; i < N_FILES; i++) /* as many of each as the last one has */
        views[i] = (thr_bleu_texts){.n = s->n[N_FILES - 1], .offsets = s->offsets[i], .bytes = s->bytes[i]};
    if (size > 0) {
        how.tokeniser = (thr_bleu_tokeniser)(data[0] & 1);
        how.smoothing = (thr_bleu_smoothing)(data[0] >> 1 & 3);
        how.lower_case = (data[0] & 8) != 0;
        how.effective_order = (data[0] & 16) != 0;
    }
    const thr_status status = thr_bleu(&views[0], views + 1, N_FILES - 1, &how, &score, NULL, &err);
    fuzz_check(status == THR_OK || status == THR_EFORMAT || (status == THR_EDIM && views[0].n == 0));
    if (status == THR_OK) {
        check(&score);
        fuzz_check(thr_bleu(&views[0], &views[0], 1, &how, &same, NULL, &err) == THR_OK);
        for (int i = 0; i < THR_BLEU_ORDER; i++)
            fuzz_check(same.counts[i] == same.totals[i] && same.totals[i] == score.totals[i]);
    }
    free(s);
    return 0;
}
