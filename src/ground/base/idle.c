/* SPDX-License-Identifier: Apache-2.0 */
#include "base/idle.h"

#include "base/error.h"

thr_status thr_idle_start(thr_idle *idle, thr_context *context, thr_error *err) {
    if (pthread_mutex_init(&idle->mutex, NULL) != 0)
        return thr_fail(err, THR_ENOMEM, "no memory for a mutex");
    idle->context = context;
    return THR_OK;
}

thr_status thr_idle_piece(thr_context *context, size_t size, void **piece, thr_error *err) {
    thr_context **made = NULL;
    THR_TRY(thr_alloc_zero(context, 1, size, &made, "a search", err));
    *made = context;
    *piece = made;
    return THR_OK;
}

thr_status thr_idle_take(thr_idle *idle, thr_idle_make *make, void **piece, thr_error *err) {
    thr_status status = THR_OK;
    *piece = NULL;
    (void)pthread_mutex_lock(&idle->mutex);
    if (idle->n > 0) {
        *piece = idle->pieces[--idle->n];
        goto out;
    }
    THR_TRY_OUT(thr_grow(idle->context, &idle->pieces, &idle->capacity, idle->n_made + 1, sizeof *idle->pieces,
                         "searches", err));
    THR_TRY_OUT(make(idle->context, piece, err));
    idle->n_made++;
out:
    (void)pthread_mutex_unlock(&idle->mutex);
    return status;
}

void thr_idle_put(thr_idle *idle, void *piece) {
    (void)pthread_mutex_lock(&idle->mutex);
    idle->pieces[idle->n++] = piece;
    (void)pthread_mutex_unlock(&idle->mutex);
}

void thr_idle_end(thr_idle *idle, void (*free_piece)(void *piece)) {
    if (idle->context == NULL)
        return;
    for (size_t i = 0; i < idle->n; i++)
        free_piece(idle->pieces[i]);
    thr_release(idle->context, idle->pieces);
    (void)pthread_mutex_destroy(&idle->mutex);
    idle->context = NULL;
}
