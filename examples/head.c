/* SPDX-License-Identifier: Apache-2.0 */
/* Make a head of a decoder's output layer, find the best words of states, and see what a shortlist keeps. */
#include <stdio.h>

#include <thresher/thresher.h>

enum { WORDS = 5000, DIMS = 64, STATES = 4, BEAM = 5 };

static float weights[WORDS * DIMS], states[STATES * DIMS];

/* Numbers from -1 to 1 that look like chance. */
static void draw(float *out, size_t n, uint32_t seed) {
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        out[i] = (float)(seed >> 8) / 8388608.0f - 1;
    }
}

int main(void) {
    thr_context *context = NULL;
    thr_head *head = NULL;
    thr_error err;
    draw(weights, WORDS * DIMS, 1);
    draw(states, STATES * DIMS, 2);
    const thr_matrix w = thr_matrix_f32(weights, WORDS, DIMS), h = thr_matrix_f32(states, STATES, DIMS);
    if (thr_context_create(NULL, &context, &err) != THR_OK ||
        thr_head_create(context, &w, NULL, &head, &err) != THR_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }

    /* A step of a beam search: the words that may follow each beam, and their probabilities among all words. */
    uint32_t words[STATES * BEAM];
    float log_probs[STATES * BEAM];
    thr_head_query_options options;
    thr_head_recall recall;
    thr_head_query_options_init(&options);
    options.screen = THR_HEAD_SCREEN_PLANES;
    options.normaliser = THR_HEAD_NORMALISER_EXACT;
    if (thr_head_query(head, &h, BEAM, &options, &(thr_head_answers){words, NULL, log_probs}, &err) != THR_OK ||
        thr_head_measure(head, NULL, &h, BEAM, &options, &recall, &err) != THR_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    for (int i = 0; i < STATES; i++)
        printf("state %d: word %u, log-probability %.4f\n", i, words[i * BEAM], (double)log_probs[i * BEAM]);
    printf("recall@%d %.4f by %.0f of %d words per state\n", BEAM, recall.recall, recall.candidates, WORDS);
    thr_head_free(head);
    thr_context_free(context);
    return recall.recall >= 0.9 ? 0 : 1;
}
