/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy.h - the one rule that decides, object by object, whether work runs on a GPU.
 *
 * An object is the unit that is copied to a GPU as a whole and used there: an index's codes, posting lists, a head, a
 * training. Each object decides, counts and falls back on its own, without effect on other objects of its context.
 *
 *   device   the copy is made                                 after a failure on the GPU
 *   cpu      never                                            -
 *   cuda     by the first use; others wait for it             the caller gets it; the next use tries again
 *   auto     once the estimated CPU seconds of all uses,      THR_EDEVICE, THR_ENOMEM, THR_EUNSUPPORTED: the CPU does
 *            including this one, exceed waking up a GPU       this use and all later ones, and the copy is freed.
 *            and copying; until then uses run on the CPU      Other statuses are returned: the CPU would fail, too
 *
 * A copy stays until its object falls back or is freed.
 *
 * Threads: an object may be used from several threads at once, except while it is created and freed.
 */
#pragma once

#include "device/gpus.h"

/* How to copy objects of one kind. */
typedef struct thr_device_copier {
    thr_status (*copy)(void *object, const thr_devices *devices, void **copy, thr_error *err);
    void (*free)(void *copy);
    double wake_ups; /* CPU time that "auto" requires, as a multiple of waking up a GPU: 1, or more if a GPU rounds
                        differently */
} thr_device_copier;

/* A use of an object that is about to begin, and its cost. */
typedef struct thr_device_use {
    const thr_device_copier *copier;
    void *object;
    const char *name; /* for messages; must outlive the object */
    double bytes;     /* to copy */
    double seconds;   /* expected CPU time of this use, less the GPU's; see thr_device_needs_seconds */
    bool forced;      /* another object's copy needs this one: make it or wait for it, ignoring the estimate */
} thr_device_use;

/* An object's own state. Before the first use all fields but the context are zero. */
typedef struct thr_device_policy {
    thr_context *context;
    pthread_mutex_t mutex; /* guards the fields below */
    pthread_cond_t copied;
    const thr_device_copier *copier;
    const char *name;
    void *copy;       /* NULL: none */
    uint32_t n_users; /* of the copy */
    bool copying, gave_up;
    double seconds; /* of all uses so far */
} thr_device_policy;

void thr_device_policy_start(thr_device_policy *policy, thr_context *context);
void thr_device_policy_end(thr_device_policy *policy); /* frees the copy; no use may be in progress */

/* Return whether a use needs its seconds; if not, leave them 0 and skip the estimate. */
bool thr_device_needs_seconds(thr_device_policy *policy);

/*
 * Begin a use. *copy_out is the copy, which thr_device_leave releases; NULL: do the work on the CPU. Returns THR_OK
 * or a status of the copier.
 */
thr_status thr_device_enter(thr_device_policy *policy, const thr_device_use *use, void *copy_out, thr_error *err);

/*
 * End a use with the status and error (why) of the GPU's work. *done (done may be NULL) is true if the GPU did the
 * work. If it is false and THR_OK is returned, do the work on the CPU. Any other status is returned, with why in err.
 */
thr_status thr_device_leave(thr_device_policy *policy, thr_status status, const thr_error *why, bool *done,
                            thr_error *err);

/*
 * For work that only the CPU supports: return THR_EUNSUPPORTED with the message if the device is "cuda", else THR_OK.
 */
thr_status thr_device_refuse(const thr_context *context, const char *sentence, thr_error *err);
