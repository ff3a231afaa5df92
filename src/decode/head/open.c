/* SPDX-License-Identifier: Apache-2.0 */
/* open.c - saving a head to a file, and opening one by mmap. */
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/files/out.h"
#include "head/head.h"

thr_status thr_head_check_path(thr_context *context, const char *path, bool replace, thr_error *err) {
    if (context == NULL)
        return thr_fail(err, THR_EINVAL, "the context is NULL");
    THR_TRY(thr_out_check_place(context, path, err));
    if (!replace && access(path, F_OK) == 0)
        return thr_fail(err, THR_EEXIST, "%s: exists already: replace it, or choose another name", path);
    return thr_out_check_kind(path, thr_head_kind.magic, sizeof thr_head_kind.magic, "a head", err);
}

thr_status thr_head_save(const thr_head *head, const char *path, bool replace, thr_error *err) {
    if (head == NULL)
        return thr_fail(err, THR_EINVAL, "the head is NULL");
    THR_TRY(thr_head_check_path(head->context, path, replace, err));
    if (head->path != NULL)
        THR_TRY(thr_map_check(&head->map, head->path, err));
    return thr_head_write(head->context, path, thr_head_of(head), err);
}

/* ------------------------------------------------------------------------------------------------ open */

static thr_status load(thr_head *head, const char *path, thr_error *err) {
    THR_TRY(thr_path_append(head->context, path, "", &head->path, err));
    THR_TRY(thr_map_open(path, &head->map, err));
    THR_TRY(thr_head_parse(head->context, head->path, head->map.data, head->map.size, &head->view, err));
    THR_TRY(thr_head_find_hidden(head, err));
    return thr_head_complete(head, err);
}

thr_status thr_head_open(thr_context *context, const char *path, thr_head **out, thr_error *err) {
    thr_head *head = NULL;
    if (out != NULL)
        *out = NULL;
    if (context == NULL || path == NULL || out == NULL)
        return thr_fail(err, THR_EINVAL, "the context, the path or the pointer to the head is NULL");
    THR_TRY(thr_head_start(context, &head, err));
    const thr_status status = load(head, path, err);
    THR_RETURN_MADE(status, head, out, thr_head_free);
}
