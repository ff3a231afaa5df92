/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify.c - verifying a head: compare every byte with its checksums, then recompute derived values. Derived values
 * that differ under correct checksums come from a faulty writer. No allocation grows with the number of words.
 */
#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "base/lower_bound.h"
#include "code/encode.h"
#include "head/head.h"
#include "head/weight_formats.h"

enum { STEP_WORDS = 1024 }; /* words between checks for cancellation */

/* Binary search; words ascend. */
static bool is_in(const uint32_t *words, uint32_t n, uint32_t word) {
    const uint32_t low = thr_lower_bound(words, 0, n, word);
    return low < n && words[low] == word;
}

/* The words of a code ascend, and all lists together have n_words words for each band. */
static const char *check_lists(const thr_head_contents *c) {
    const thr_cuckoo *table = &c->lsh.table;
    uint64_t n_words = 0, n_codes = 0;
    for (uint64_t i = 0; i < (uint64_t)table->n_slots + table->n_stash; i++) {
        const thr_cuckoo_slot *slot = &table->slots[i];
        const uint32_t *words = c->lsh.words + slot->first;
        for (uint32_t j = 1; j < slot->n; j++)
            if (words[j] <= words[j - 1])
                return "section lists: words of a code do not ascend";
        n_words += slot->n;
        n_codes += slot->n > 0;
    }
    if (n_words != (uint64_t)c->n_words * c->lsh.n_bands)
        return "section slots: the lists do not have every word once in each band";
    return n_codes == c->n_codes ? NULL : "section hashes: the number of codes is wrong";
}

/* Whether the word is listed under its own codes, computed from its stored weights. */
static bool is_found(const thr_head *head, const float *row, uint32_t w, uint32_t *codes) {
    const thr_head_contents *c = thr_head_of(head);
    thr_lsh_wta_hash(&head->wta, row, codes);
    for (uint32_t band = 0; band < c->lsh.n_bands; band++) {
        const thr_cuckoo_slot *slot = thr_lsh_cuckoo_find(&c->lsh.table, band, codes[band]);
        if (slot == NULL || !is_in(c->lsh.words + slot->first, slot->n, w))
            return false;
    }
    return true;
}

static thr_status check_words(const thr_head *head, thr_file_sum *sum, thr_error *err) {
    const thr_head_contents *c = thr_head_of(head);
    const thr_kernels *kernels = head->context->kernels;
    float *row = NULL;
    uint32_t *codes = NULL;
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_alloc(head->context, c->n_dims, sizeof *row, &row, "a row of weights", err));
    THR_TRY_OUT(thr_alloc(head->context, c->lsh.n_bands + (size_t)1, sizeof *codes, &codes, "a word's hashes", err));
    for (uint32_t w = 0; w < c->n_words; w++) {
        if (w % STEP_WORDS == 0)
            THR_TRY_OUT(thr_file_sum_step(sum, err));
        thr_head_row(c, kernels, w, row);
        if (!(sqrt(kernels->sum_squares(row, c->n_dims)) <= 2 * thr_longest_row(false)))
            THR_TRY_OUT(thr_fail(err, THR_ECORRUPT,
                                 "%s: section weights: row %" PRIu32
                                 " holds NaN or infinity, or is longer than 2^61: " THR_HEAD_REMEDY,
                                 head->path, w));
        if (c->lsh.n_bands > 0 && !is_found(head, row, w, codes))
            THR_TRY_OUT(thr_fail(err, THR_ECORRUPT,
                                 "%s: section lists: word %" PRIu32
                                 " is missing from the hash lists of its weights: " THR_HEAD_REMEDY,
                                 head->path, w));
    }
out:
    THR_RELEASE(head->context, row, codes);
    return status;
}

thr_status thr_head_verify(thr_head *head, thr_error *err) {
    thr_status status = THR_OK;
    thr_file_sum sum = {.piece = NULL};
    if (head == NULL)
        return thr_fail(err, THR_EINVAL, "the head is NULL");
    if (head->path == NULL)
        return THR_OK;
    const thr_head_contents *c = thr_head_of(head);
    THR_TRY(thr_file_sum_start(head->context, head->view.file.size, c->n_words, &sum, err));
    THR_TRY_OUT(thr_section_file_verify(&head->view.file, &head->map, &sum, err));
    const char *wrong = c->lsh.n_bands > 0 ? check_lists(c) : NULL;
    if (wrong != NULL)
        THR_TRY_OUT(thr_section_file_damaged(&head->view.file, 0, wrong, err));
    THR_TRY_OUT(check_words(head, &sum, err));
    THR_TRY_OUT(thr_progress_end(&sum.progress, c->n_words, err));
out:
    thr_file_sum_end(&sum);
    return status;
}
