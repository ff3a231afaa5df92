/* SPDX-License-Identifier: Apache-2.0 */
/* hits.c - the weights that the words of a user's history add to items. */
#include "base/error.h"
#include "dual_tower/dual.h"

/* weight = (w of the word + w of its sequence's field) x. Returns false if the field was not learned. */
static bool weigh(const thr_dual_model *model, const thr_dual_word *word, float *weight) {
    const thr_dual_vocabulary *users = &model->words[THR_SIDE_QUERY];
    const uint32_t field = thr_dual_find_bytes(&users->field_names, word->text, word->field_length);
    const uint32_t row = thr_dual_find_bytes(&users->words, word->text, word->length);
    if (field == THR_DUAL_NONE)
        return false;
    *weight = (model->hit_fields[field] + (row != THR_DUAL_NONE ? model->hit_words[row] : 0.0f)) * word->x;
    return true;
}

thr_status thr_dual_hits(const thr_dual *dual, const char *text, size_t length, thr_dual_hit *hits,
                         size_t hits_capacity, size_t *n, thr_error *err) {
    const char *at = text, *end = text + length;
    *n = 0;
    THR_TRY(thr_tensors_check(dual->tensors, err));
    for (;;) {
        thr_dual_word word;
        bool got = false;
        float weight = 0;
        THR_TRY(thr_dual_next_word(&at, end, THR_SIDE_QUERY, &word, &got, err));
        if (!got)
            return THR_OK;
        if (!dual->model.config.hits || word.feature == 0 || !weigh(&dual->model, &word, &weight) || weight == 0)
            continue;
        if (*n < hits_capacity)
            hits[*n] = (thr_dual_hit){word.text + word.feature, word.length - word.feature, weight};
        ++*n;
    }
}
