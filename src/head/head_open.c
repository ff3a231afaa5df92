/* SPDX-License-Identifier: Apache-2.0 */
/* head_open.c - a head to a file, from one by mmap, and all of its bytes looked at. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file_sum.h"
#include "head/head_impl.h"
#include "head/head_kinds.h"

thr_status thr_head_save(const thr_head *head, const char *path, bool replace, thr_error *err) {
    if (head == NULL || path == NULL)
        return thr_fail(err, THR_EINVAL, "a head is saved to a name");
    if (!replace && access(path, F_OK) == 0)
        return thr_fail(err, THR_EEXIST, "%s: is there already: replace it, or choose another name", path);
    return thr_head_write(head->context, path, thr_head_of(head), err);
}

/* ------------------------------------------------------------------------------------------------ open */

static thr_status load(thr_head *head, const char *path, thr_error *err) {
    const size_t length = strlen(path) + 1;
    THR_TRY(thr_alloc(head->context, length, 1, &head->path, "a name", err));
    memcpy(head->path, path, length);
    THR_TRY(thr_map_open(path, &head->map, err));
    THR_TRY(thr_head_parse(head->context, head->path, head->map.data, head->map.size, &head->view, err));
    return thr_head_complete(head, err);
}

thr_status thr_head_open(thr_context *context, const char *path, thr_head **out, thr_error *err) {
    thr_head *head = NULL;
    if (out != NULL)
        *out = NULL;
    if (context == NULL || path == NULL || out == NULL)
        return thr_fail(err, THR_EINVAL, "a head is opened with a context, a name, and a place for it");
    THR_TRY(thr_head_start(context, &head, err));
    const thr_status status = load(head, path, err);
    if (status != THR_OK) {
        thr_head_free(head);
        return status;
    }
    *out = head;
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ verify */

static thr_status check_gaps(const thr_head_view *view, thr_error *err) {
    uint64_t end = THR_SECTIONS_HEADER;
    for (uint32_t i = 0; i <= view->n_sections; i++) {
        const uint64_t next = i < view->n_sections ? view->sections[i].offset : thr_align_up(end);
        for (; end < next; end++)
            if (view->data[end] != 0)
                return thr_fail(err, THR_ECORRUPT,
                                "%s: offset %" PRIu64 ": a byte between sections is not zero: " THR_HEAD_REMEDY,
                                view->path, end);
        end = i < view->n_sections ? next + view->sections[i].size : end;
    }
    return THR_OK;
}

/* A writer's mistake, where all checksums are right. */
static thr_status check_weights(const thr_head *head, const thr_head_contents *c, thr_error *err) {
    float *row = NULL;
    thr_status status = THR_OK;
    THR_TRY(thr_alloc(head->context, c->n_dims, sizeof *row, &row, "a row of weights", err));
    for (uint32_t w = 0; w < c->n_words && status == THR_OK; w++) {
        thr_head_row(c, head->context->kernels, w, row);
        if (!isfinite(head->context->kernels->sum_squares(row, c->n_dims)))
            status =
                thr_fail(err, THR_ECORRUPT,
                         "%s: row %" PRIu32 " of the weights holds NaN or infinity: " THR_HEAD_REMEDY, head->path, w);
    }
    thr_release(head->context, row);
    return status;
}

thr_status thr_head_verify(thr_head *head, thr_error *err) {
    thr_status status = THR_OK;
    thr_head_view again;
    thr_file_sum sum = {.piece = NULL};
    if (head == NULL)
        return thr_fail(err, THR_EINVAL, "there is no head to verify");
    if (head->path == NULL)
        return THR_OK;
    THR_TRY(thr_map_check(&head->map, head->path, err));
    THR_TRY(thr_head_parse(head->context, head->path, head->map.data, head->map.size, &again, err));
    THR_TRY(thr_file_sum_start(head->context, again.size, again.contents.n_words, &sum, err));
    for (uint32_t i = 0; i < again.n_sections; i++)
        THR_TRY_OUT(thr_file_sum_section(&sum, head->path, head->map.fd, &again.sections[i],
                                         thr_head_section_name(again.sections[i].kind), THR_HEAD_REMEDY, err));
    THR_TRY_OUT(check_gaps(&again, err));
    THR_TRY_OUT(check_weights(head, &again.contents, err));
    THR_TRY_OUT(thr_progress_end(&sum.progress, again.contents.n_words, err));
out:
    thr_file_sum_end(&sum);
    return status;
}
