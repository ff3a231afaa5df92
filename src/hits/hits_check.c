/* SPDX-License-Identifier: Apache-2.0 */
/* hits_check.c - what the checksums of a file of posting lists do not tell: a writer's mistakes. */
#include <string.h>

#include <thresher/hits.h>

#include "base/error.h"
#include "base/memory.h"
#include "hits/hits_file.h"
#include "hits/lists_check.h"

/* Every row once. */
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
    return good || *status != THR_OK ? NULL : "a row stands twice";
}

static const char *check_ids(const thr_hits_contents *c) {
    for (uint32_t i = 0; i < c->lists.n_items; i++) {
        if (c->id_order[i] >= c->lists.n_items || c->ids[c->id_order[i]] == THR_NO_ID)
            return "an id is none";
        if (i > 0 && c->ids[c->id_order[i]] <= c->ids[c->id_order[i - 1]])
            return "the ids do not ascend in their order";
    }
    return NULL;
}

static const char *check_strings(const thr_strings *strings, bool ascending) {
    uint64_t end = 0;
    for (uint64_t i = 0; i < strings->n; i++) {
        const char *text = thr_strings_get(strings, i);
        if (text == NULL || strings->offsets[i] != end || strlen(text) + 1 != strings->offsets[i + 1] - end)
            return "a name is not where it should be";
        if (ascending && i > 0 && strcmp(thr_strings_get(strings, i - 1), text) >= 0)
            return "the words do not ascend";
        end = strings->offsets[i + 1];
    }
    return end == strings->size ? NULL : "bytes follow the last name";
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
        wrong = check_strings(&c->names, false);
    if (wrong == NULL && c->words.offsets != NULL)
        wrong = check_strings(&c->words, true);
    for (uint32_t f = 0; f < c->lists.n_features && wrong == NULL && c->words.offsets != NULL; f++)
        wrong = c->lists.features[f] == f ? NULL : "a feature has no word";
    if (wrong != NULL)
        return thr_fail(err, THR_ECORRUPT, "%s: %s: " THR_HITS_REMEDY, view->path, wrong);
    return status;
}
