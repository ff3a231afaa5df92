/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy.h - the one rule for what goes to a GPU, object by object.
 *
 * An object is what is copied to a GPU as a whole and used there: an index's codes, posting lists, a head, a training.
 * It decides, counts and gives up for itself: what becomes of one object changes nothing for the others of its context.
 *
 *   device   the copy is made                                 a failure on the GPU
 *   cpu      never                                            -
 *   cuda     by the first use; others wait for it             is the caller's; the next use tries again
 *   auto     once the estimated CPU seconds of all uses, this THR_EDEVICE, THR_ENOMEM and THR_EUNSUPPORTED: the CPU
 *            one included, exceed waking a GPU up and         does this use and all later ones, and the copy is
 *            copying; meanwhile other uses run on the CPU     freed. Any other status is returned: the CPU would
 *                                                             fail in the same way
 *
 * A copy stays until its object gives up or is freed.
 *
 * Threads: an object may be used from several threads at once, but for its start and end.
 */
#ifndef THR_DEVICE_POLICY_H
#define THR_DEVICE_POLICY_H

#include "device/gpus.h"

/* How objects of one kind are copied. */
typedef struct thr_device_copier {
    thr_status (*copy)(void *object, const thr_devices *devices, void **copy, thr_error *err);
    void (*free)(void *copy);
    double wake_ups; /* CPU time that "auto" requires, in wake-ups: 1; more if a GPU rounds differently */
} thr_device_copier;

/* What an object is about to do. */
typedef struct thr_device_use {
    const thr_device_copier *copier;
    void *object;
    const char *name; /* in reasons; lives as long as the object */
    double bytes;     /* that are copied */
    double seconds;   /* that the CPU is expected to take for it, less what a GPU takes; see thr_device_needs_seconds */
    bool forced;      /* another object's copy needs this one: make it, or wait for it, without the estimate */
} thr_device_use;

/* An object's own state; all zero but for the context before the first use. */
typedef struct thr_device_policy {
    thr_context *context;
    pthread_mutex_t mutex; /* of what follows */
    pthread_cond_t copied;
    const thr_device_copier *copier;
    const char *name;
    void *copy;       /* NULL: none */
    uint32_t n_users; /* of the copy */
    bool copying, gave_up;
    double seconds; /* of all uses so far */
} thr_device_policy;

void thr_device_policy_start(thr_device_policy *policy, thr_context *context);
void thr_device_policy_end(thr_device_policy *policy); /* frees the copy; nobody uses it any more */

/* Whether a use needs its seconds; if not, leave them 0 and skip the estimate. */
bool thr_device_needs_seconds(thr_device_policy *policy);

/*
 * Begin a use. *copy_out is the copy, to be given back by thr_device_leave; NULL: the CPU does the work.
 * THR_OK, and what the copier returns.
 */
thr_status thr_device_enter(thr_device_policy *policy, const thr_device_use *use, void *copy_out, thr_error *err);

/*
 * End a use with the status and the error (why) of the GPU's work. *done (done may be NULL): the GPU did it. If it
 * is false and THR_OK is returned, do the work on the CPU. Any other status is returned, with why in err.
 */
thr_status thr_device_leave(thr_device_policy *policy, thr_status status, const thr_error *why, bool *done,
                            thr_error *err);

/* For work that no GPU does, though the CPU could: with "cuda" THR_EUNSUPPORTED and the sentence, else THR_OK. */
thr_status thr_device_refuse(const thr_context *context, const char *sentence, thr_error *err);

#endif
