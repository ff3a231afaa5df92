/* SPDX-License-Identifier: Apache-2.0 */
/* verify.c - checks every byte of a file of posting lists against its checksums, then what checksums cannot find. */
#include <string.h>

#include <thresher/hits.h>

#include "base/error.h"
#include "base/memory.h"
#include "hits/hits.h"
#include "lists/validate.h"

/* Check that every row occurs once. */
static const char *check_rows(thr_context *context, const uint32_t *rows, uint32_t n, thr_status *status,
                              thr_error *err) {
    uint8_t *seen = NULL;
    *status = thr_alloc_zero(context, n, 1, &seen, "rows", err);
    bool good = *status == THR_OK;
    for (uint32_t place = 0; place < n && good; place++) {
        good = seen[rows[place]] == 0;
        seen[rows[place]] = 1;
    }
    thr_release(context, seen);
    return good || *status != THR_OK ? NULL : "a row is repeated";
}

static const char *check_ids(const thr_hits_contents *c) {
    for (uint32_t i = 0; i < c->lists.n_items; i++) {
        if (c->id_order[i] >= c->lists.n_items || c->ids[c->id_order[i]] == THR_NO_ID)
            return "an id is none";
        if (i > 0 && c->ids[c->id_order[i]] <= c->ids[c->id_order[i - 1]])
            return "the order of the ids does not ascend";
    }
    return NULL;
}

static const char *check_names(const thr_strings *names) {
    const uint64_t wrong = thr_strings_check(names);
    return wrong < names->n ? "a name is at a wrong offset" : wrong == names->n ? "bytes follow the last name" : NULL;
}

/* Check that every feature has a word, and that words ascend. */
static const char *check_words(const thr_hits_contents *c) {
    const char *wrong = check_names(&c->words), *before = NULL;
    for (uint32_t f = 0; f < c->lists.n_features && wrong == NULL; f++) {
        const char *word = thr_strings_get(&c->words, f); /* NULL: the file was cut meanwhile */
        if (thr_lists_feature(&c->lists, f) != f)
            wrong = "a feature has no word";
        else if (word == NULL || (before != NULL && strcmp(before, word) >= 0))
            wrong = "the words do not ascend";
        before = word;
    }
    return wrong;
}

thr_status thr_hits_check_contents(thr_context *context, const thr_hits_view *view, thr_error *err) {
    const thr_hits_contents *c = &view->contents;
    thr_status status = THR_OK;
    const char *wrong = thr_lists_check_contents(&c->lists);
    if (wrong == NULL && c->rows != NULL)
        wrong = check_rows(context, c->rows, c->lists.n_items, &status, err);
    if (wrong == NULL && c->ids != NULL)
        wrong = check_ids(c);
    if (wrong == NULL && c->names.offsets != NULL)
        wrong = check_names(&c->names);
    if (wrong == NULL && c->words.offsets != NULL)
        wrong = check_words(c);
    if (wrong != NULL)
        return thr_fail(err, THR_ECORRUPT, "%s: %s: " THR_HITS_REMEDY, view->file.path, wrong);
    return status;
}

/* ------------------------------------------------------------------------------------------------ verify */

thr_status thr_hits_verify(thr_hits *hits, thr_error *err) {
    thr_status status = THR_OK;
    thr_file_sum sum = {.piece = NULL};
    if (hits == NULL)
        return thr_fail(err, THR_EINVAL, "hits is NULL: nothing to verify");
    THR_TRY(thr_file_sum_start(hits->context, hits->view.file.size, hits->info.n_items, &sum, err));
    THR_TRY_OUT(thr_section_file_verify(&hits->view.file, &hits->map, &sum, err));
    THR_TRY_OUT(thr_hits_check_contents(hits->context, &hits->view, err));
    THR_TRY_OUT(thr_progress_end(&sum.progress, hits->info.n_items, err));
out:
    thr_file_sum_end(&sum);
    status = thr_hits_check_after(hits, status, err);
    return status == THR_OK && hits->delta != NULL && hits->delta->from != NULL
               ? thr_hits_verify(hits->delta->from, err)
               : status;
}
