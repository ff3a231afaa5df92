/* SPDX-License-Identifier: Apache-2.0 */
#include "device/policy.h"

#include "base/error.h"

#include <string.h>

static const double COPY_RATE = 5e9; /* bytes per second, including reading host memory and packing */

void thr_device_policy_start(thr_device_policy *policy, thr_context *context) {
    *policy = (thr_device_policy){.context = context};
    (void)pthread_mutex_init(&policy->mutex, NULL);
    (void)pthread_cond_init(&policy->copied, NULL);
}

static void free_copy(thr_device_policy *policy, void *copy) {
    if (copy == NULL)
        return;
    policy->copier->free(copy);
    thr_device_gpus_remove_copy(policy->context);
}

void thr_device_policy_end(thr_device_policy *policy) {
    free_copy(policy, policy->copy);
    (void)pthread_cond_destroy(&policy->copied);
    (void)pthread_mutex_destroy(&policy->mutex);
    *policy = (thr_device_policy){.context = NULL};
}

bool thr_device_needs_seconds(thr_device_policy *policy) {
    if (policy->context->gpus == NULL || thr_device_gpus_required(policy->context))
        return false;
    (void)pthread_mutex_lock(&policy->mutex);
    const bool counts = policy->copy == NULL && !policy->gave_up;
    (void)pthread_mutex_unlock(&policy->mutex);
    return counts;
}

/* Return whether the CPU takes over after a failure. */
static bool falls_back(const thr_device_policy *policy, thr_status status) {
    return !thr_device_gpus_required(policy->context) &&
           (status == THR_EDEVICE || status == THR_ENOMEM || status == THR_EUNSUPPORTED);
}

/* The caller holds the mutex, as for the functions below. */
static void give_up(thr_device_policy *policy, const thr_error *why) {
    if (!policy->gave_up)
        thr_device_gpus_report_fallback(policy->context, policy->name, why);
    policy->gave_up = true;
}

static bool is_worth_it(const thr_device_policy *policy, const thr_device_use *use) {
    const double wake_up = policy->context->gpus->wake_up;
    return policy->seconds > use->copier->wake_ups * wake_up + use->bytes / COPY_RATE;
}

/* Releases the mutex while copying. */
static thr_status make_copy(thr_device_policy *policy, const thr_device_use *use, thr_error *err) {
    thr_error why = {.status = THR_OK};
    void *copy = NULL;
    thr_status status = THR_OK;
    policy->copier = use->copier;
    policy->name = use->name;
    policy->copying = true;
    (void)pthread_mutex_unlock(&policy->mutex);
    const thr_devices *devices = thr_device_gpus_get(policy->context);
    if (devices != NULL)
        status = use->copier->copy(use->object, devices, &copy, &why);
    if (devices != NULL && status == THR_OK)
        thr_device_gpus_add_copy(policy->context);
    (void)pthread_mutex_lock(&policy->mutex);
    policy->copying = false;
    policy->copy = status == THR_OK ? copy : NULL;
    (void)pthread_cond_broadcast(&policy->copied);
    if (devices == NULL) /* thr_context_device has the reason */
        policy->gave_up = true;
    if (!falls_back(policy, status))
        return thr_pass_on(status, &why, err);
    give_up(policy, &why);
    return THR_OK;
}

/* Return whether this use makes the copy. If a copy is mandatory, wait for the thread that is making it. */
static bool is_to_copy(thr_device_policy *policy, const thr_device_use *use) {
    const bool must = use->forced || thr_device_gpus_required(policy->context);
    while (must && policy->copying)
        (void)pthread_cond_wait(&policy->copied, &policy->mutex);
    return policy->copy == NULL && !policy->copying && !policy->gave_up && (must || is_worth_it(policy, use));
}

thr_status thr_device_enter(thr_device_policy *policy, const thr_device_use *use, void *copy_out, thr_error *err) {
    thr_status status = THR_OK;
    void *copy = NULL;
    memcpy(copy_out, &copy, sizeof copy);
    if (policy->context->gpus == NULL)
        return THR_OK;
    (void)pthread_mutex_lock(&policy->mutex);
    policy->seconds += use->seconds;
    if (is_to_copy(policy, use))
        status = make_copy(policy, use, err);
    if (policy->copy != NULL && !policy->gave_up) {
        copy = policy->copy;
        policy->n_users++;
    }
    (void)pthread_mutex_unlock(&policy->mutex);
    memcpy(copy_out, &copy, sizeof copy);
    return status;
}

thr_status thr_device_leave(thr_device_policy *policy, thr_status status, const thr_error *why, bool *done,
                            thr_error *err) {
    const bool cpu = falls_back(policy, status);
    void *unused = NULL;
    (void)pthread_mutex_lock(&policy->mutex);
    policy->n_users--;
    if (cpu)
        give_up(policy, why);
    if (policy->gave_up && policy->n_users == 0) {
        unused = policy->copy;
        policy->copy = NULL;
    }
    (void)pthread_mutex_unlock(&policy->mutex);
    free_copy(policy, unused);
    if (done != NULL)
        *done = status == THR_OK;
    return cpu ? THR_OK : thr_pass_on(status, why, err);
}

thr_status thr_device_refuse(const thr_context *context, const char *sentence, thr_error *err) {
    return thr_device_gpus_required(context) ? thr_fail(err, THR_EUNSUPPORTED, "%s", sentence) : THR_OK;
}
