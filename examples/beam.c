/* SPDX-License-Identifier: Apache-2.0 */
/* Beam search over a decoder of your own: here a table of which word followed which two in a few sentences. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <thresher/thresher.h>

enum { END, THE, CAT, DOG, SAT, RAN, ON, MAT, TO, WORDS, MOST_ROWS = 16 };
static const char *const text[WORDS] = {".", "the", "cat", "dog", "sat", "ran", "on", "mat", "to"};
static const uint32_t corpus[] = {END, END, THE, CAT, SAT, ON,  THE, MAT, END, END, THE, DOG, RAN, TO,  THE,
                                  CAT, END, END, THE, CAT, RAN, TO,  THE, MAT, END, END, THE, DOG, SAT, ON,
                                  THE, MAT, END, END, THE, CAT, SAT, END, END, THE, DOG, RAN, END, END};

/* The decoder: its data for each row, and a state for the head, here the logits themselves. */
typedef struct trigrams {
    uint32_t before[MOST_ROWS], last[MOST_ROWS];
    float logits[WORDS][WORDS][WORDS];
} trigrams;

static thr_status start(void *self, uint64_t n_sentences, thr_error *err) {
    trigrams *t = self;
    (void)err;
    for (uint64_t i = 0; i < n_sentences; i++)
        t->last[i] = END;
    return THR_OK;
}

static thr_status step(void *self, const uint32_t *words, uint64_t n, float *states, thr_error *err) {
    trigrams *t = self;
    (void)err;
    for (uint64_t i = 0; i < n; i++) {
        t->before[i] = t->last[i];
        t->last[i] = words[i];
        memcpy(states + i * WORDS, t->logits[t->before[i]][t->last[i]], sizeof t->logits[0][0]);
    }
    return THR_OK;
}

static thr_status reorder(void *self, const uint32_t *from, uint64_t n, thr_error *err) {
    trigrams *t = self;
    uint32_t last[MOST_ROWS];
    (void)err;
    for (uint64_t i = 0; i < n; i++)
        last[i] = t->last[from[i]];
    memcpy(t->last, last, n * sizeof *last);
    return THR_OK;
}

static void learn(trigrams *t) {
    const size_t n = sizeof corpus / sizeof *corpus;
    for (size_t i = 0; i + 2 < n; i++)
        t->logits[corpus[i]][corpus[i + 1]][corpus[i + 2]] += 1;
    for (int a = 0; a < WORDS; a++)
        for (int b = 0; b < WORDS; b++)
            for (int c = 0; c < WORDS; c++)
                t->logits[a][b][c] = logf(t->logits[a][b][c] + 0.01f);
}

int main(void) {
    static trigrams model;
    static float identity[WORDS * WORDS]; /* a real head has a decoder's output layer here: see head.c */
    thr_context *context = NULL;
    thr_head *head = NULL;
    thr_beam *beam = NULL;
    thr_head_build_options build;
    thr_beam_options options;
    thr_beam_result found;
    thr_error err;
    learn(&model);
    for (int w = 0; w < WORDS; w++)
        identity[w * WORDS + w] = 1;
    const thr_matrix weights = thr_matrix_f32(identity, WORDS, WORDS);
    const thr_decoder decoder = {&model, start, step, reorder};
    thr_head_build_options_init(&build);
    build.n_bands = build.n_planes = 0; /* no screens for so few words */
    options = (thr_beam_options){.start_word = END, .end_word = END, .penalty = THR_BEAM_PENALTY_NONE};
    options.beam = 4;
    options.n_best = 3;
    options.min_length = 4;
    options.max_length = 12;
    options.penalty = THR_BEAM_PENALTY_WU;
    if (thr_context_create(NULL, &context, &err) != THR_OK ||
        thr_head_create(context, &weights, &build, &head, &err) != THR_OK ||
        thr_beam_create(head, &options, &beam, &err) != THR_OK ||
        thr_beam_search(beam, &decoder, 1, NULL, &found, &err) != THR_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    for (uint64_t i = 0; i < found.n_sequences; i++) {
        printf("%8.4f ", found.scores[i]);
        for (uint64_t j = found.offsets[i]; j < found.offsets[i + 1]; j++)
            printf(" %s", text[found.words[j]]);
        printf("\n");
    }
    const int good = found.n_sequences == 3 && found.ended[0];
    thr_beam_free(beam);
    thr_head_free(head);
    thr_context_free(context);
    return good ? 0 : 1;
}
