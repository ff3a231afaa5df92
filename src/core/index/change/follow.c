/* SPDX-License-Identifier: Apache-2.0 */
/*
 * follow.c - thr_index_refresh, and followers, which refresh at every take.
 *
 * The follower and every search that took the current snapshot are its users; the last one to put it back frees it.
 */
#include "base/error.h"
#include "index/features.h"
#include "index/journal/snapshot.h"

#include <thresher/index_change.h>

#include <pthread.h>
#include <time.h>

thr_status thr_index_is_newest_manifest(const thr_index *root, bool *same, thr_error *err) {
    thr_manifest now = {0};
    uint64_t checksum = 0;
    *same = thr_map_is_at(&root->manifest_map, root->manifest_path);
    if (*same)
        return THR_OK;
    THR_TRY(thr_index_manifest_read(root->context, root->manifest_path, &now, &checksum, NULL, err));
    thr_index_manifest_free(root->context, &now);
    *same = checksum == root->manifest_checksum;
    return THR_OK;
}

/* Check the segments, too, if the MANIFEST is a copy: then they may be copies. */
static bool segments_are_in_place(const thr_index *root) {
    for (uint32_t i = 0; i < root->n_segments; i++)
        if (!thr_map_is_at(&root->mapped[i].map, root->mapped[i].path))
            return false;
    return true;
}

/*
 * Whether the paths of an open index still lead to the files that it has mapped, unchanged. Touched files must be
 * opened again, because searches of the mapped ones fail; copies too, because writers append to the copies.
 */
static bool is_in_place(const thr_index *index) {
    const thr_index *root = index->root;
    bool same;
    if (!thr_map_is_at(&root->manifest_map, root->manifest_path) &&
        (thr_index_is_newest_manifest(root, &same, NULL) != THR_OK || !same || !segments_are_in_place(root)))
        return false;
    return thr_index_check_unchanged(index, NULL) == THR_OK;
}

/* Whether the error may be gone once another program has replaced all files of the index. */
static bool may_pass(thr_status status) {
    return status == THR_ENOTFOUND || status == THR_EFORMAT || status == THR_ECORRUPT || status == THR_ECHANGED;
}

thr_status thr_index_refresh(const thr_index *index, thr_index **newer, thr_error *err) {
    enum { TRIES = 7, FIRST_WAIT_NS = 1000000 };
    struct timespec wait = {.tv_nsec = FIRST_WAIT_NS};
    thr_error why = {.status = THR_OK};
    thr_status status = THR_ENOTFOUND;
    if (index == NULL || newer == NULL)
        return thr_fail(err, THR_EINVAL, "a refresh needs an index and a pointer for the newer one");
    *newer = NULL;
    if (is_in_place(index) && thr_index_snapshot_refresh(index, newer, NULL) == THR_OK)
        return THR_OK;
    for (int i = 0; i < TRIES && may_pass(status); i++, wait.tv_nsec *= 2) {
        if (i > 0)
            (void)nanosleep(&wait, NULL);
        status = thr_index_open(index->context, index->dir, newer, &why);
    }
    if (status == THR_OK)
        status = thr_index_hits_inherit(index, *newer, &why);
    if (status != THR_OK) {
        thr_index_free(*newer);
        *newer = NULL;
    }
    return thr_pass_on(status, &why, err);
}

struct thr_index_follower {
    thr_context *context;
    pthread_mutex_t mutex; /* for current; held while a newer commit is opened */
    thr_index *current;
};

thr_status thr_index_follower_open(thr_context *context, const char *dir, thr_index_follower **follower,
                                   thr_error *err) {
    thr_index_follower *f = NULL;
    if (context == NULL || follower == NULL)
        return thr_fail(err, THR_EINVAL, "following an index needs a context and a pointer for the result");
    *follower = NULL;
    THR_TRY(thr_alloc_zero(context, 1, sizeof *f, &f, "a follower", err));
    const thr_status status = thr_index_open(context, dir, &f->current, err);
    if (status != THR_OK) {
        thr_release(context, f);
        return status;
    }
    f->current->n_takers = 1;
    f->context = thr_context_retain(context);
    (void)pthread_mutex_init(&f->mutex, NULL);
    *follower = f;
    return THR_OK;
}

void thr_index_follower_put(thr_index *index) {
    if (index != NULL && atomic_fetch_sub(&index->n_takers, 1) == 1)
        thr_index_free(index);
}

thr_status thr_index_follower_take(thr_index_follower *follower, thr_index **index, thr_error *err) {
    thr_index *newer = NULL, *before = NULL;
    if (follower == NULL || index == NULL)
        return thr_fail(err, THR_EINVAL, "taking a snapshot needs a follower and a pointer for the result");
    *index = NULL;
    (void)pthread_mutex_lock(&follower->mutex);
    const thr_status status = thr_index_refresh(follower->current, &newer, err);
    if (newer != NULL) {
        newer->n_takers = 1;
        before = follower->current;
        follower->current = newer;
    }
    if (status == THR_OK) {
        *index = follower->current;
        (void)atomic_fetch_add(&(*index)->n_takers, 1);
    }
    (void)pthread_mutex_unlock(&follower->mutex);
    thr_index_follower_put(before);
    return status;
}

void thr_index_follower_free(thr_index_follower *follower) {
    if (follower == NULL)
        return;
    thr_context *context = follower->context;
    thr_index_follower_put(follower->current);
    (void)pthread_mutex_destroy(&follower->mutex);
    thr_release(context, follower);
    thr_context_free(context);
}
