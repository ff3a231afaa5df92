/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a head's file, its checksums recomputed; queries of a head that opens read only its bytes. */
#include "head/head.h"

#include "fuzz/io_fuzz.h"
#include "fuzz/section_mutator.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_DIMS = 4096 };

static void query(thr_head *head) {
    static float state[MOST_DIMS];
    const thr_head_info info = thr_head_get_info(head);
    const thr_matrix rows = thr_matrix_f32(state, 1, info.n_dims);
    const uint32_t never[] = {0};
    uint8_t certified[1];
    uint32_t words[1];
    float logits[1], log_probs[1];
    for (uint32_t d = 0; d < info.n_dims && d < MOST_DIMS; d++)
        state[d] = (float)(d % 7) - 3;
    for (int screen = 0; screen <= THR_HEAD_SCREEN_PLANES && info.n_dims <= MOST_DIMS; screen++) {
        thr_head_query_options options;
        thr_head_query_options_init(&options);
        options.screen = (thr_head_screen)screen;
        options.normaliser = THR_HEAD_NORMALISER_EXACT;
        options.certified = certified;
        options.never = never;
        options.n_never = info.n_words % 2; /* of some heads */
        (void)thr_head_query(head, &rows, 1, &options, &(thr_head_answers){words, logits, log_probs}, NULL);
    }
}

FUZZ_MUTATOR(fuzz_mutate_sections)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    thr_head *head = NULL;
    uint8_t *memory = fuzz_sealed_copy(data, size);
    if (thr_head_start(fuzz_context(), &head, NULL) == THR_OK) {
        if (thr_head_parse(fuzz_context(), "head", memory, size, &head->view, NULL) == THR_OK &&
            thr_head_find_hidden(head, NULL) == THR_OK && thr_head_complete(head, NULL) == THR_OK)
            query(head);
        thr_head_free(head);
    }
    free(memory);
    return 0;
}
