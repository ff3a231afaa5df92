/* SPDX-License-Identifier: Apache-2.0 */
#include "device/gpus.h"

#include "base/error.h"

#include <stdio.h>

static const double WAKE_UP = 0.5;

thr_status thr_device_gpus_create(thr_context *context, const char *words, thr_gpus **gpus_out, thr_error *err) {
    thr_device_choice choice;
    thr_gpus *gpus = NULL;
    *gpus_out = NULL;
    THR_TRY(thr_device_choice_read(words, &choice, err));
    if (choice.kind == THR_DEVICE_CPU)
        return THR_OK;
    THR_TRY(thr_alloc_zero(context, 1, sizeof *gpus, &gpus, "devices", err));
    gpus->choice = choice;
    gpus->wake_up = WAKE_UP;
    if (choice.kind == THR_DEVICE_CUDA) {
        const thr_status status = thr_devices_open(context, &choice, &gpus->devices, err);
        if (status != THR_OK) {
            thr_release(context, gpus);
            return status;
        }
    }
    (void)pthread_mutex_init(&gpus->mutex, NULL);
    *gpus_out = gpus;
    return THR_OK;
}

void thr_device_gpus_free(thr_context *context, thr_gpus *gpus) {
    if (gpus == NULL)
        return;
    thr_devices_close(context, gpus->devices);
    (void)pthread_mutex_destroy(&gpus->mutex);
    thr_release(context, gpus);
}

bool thr_device_gpus_required(const thr_context *context) {
    return context->gpus != NULL && context->gpus->choice.kind == THR_DEVICE_CUDA;
}

const thr_devices *thr_device_gpus_get(thr_context *context) {
    thr_gpus *gpus = context->gpus;
    thr_error why;
    if (gpus == NULL)
        return NULL;
    (void)pthread_mutex_lock(&gpus->mutex);
    if (gpus->devices == NULL && !gpus->failed &&
        thr_devices_open(context, &gpus->choice, &gpus->devices, &why) != THR_OK) {
        gpus->failed = true;
        (void)snprintf(gpus->without, sizeof gpus->without, "cpu; %s", why.text);
    }
    const thr_devices *devices = gpus->devices;
    (void)pthread_mutex_unlock(&gpus->mutex);
    return devices;
}

void thr_device_gpus_add_copy(thr_context *context) {
    (void)pthread_mutex_lock(&context->gpus->mutex);
    context->gpus->n_copies++;
    (void)pthread_mutex_unlock(&context->gpus->mutex);
}

void thr_device_gpus_remove_copy(thr_context *context) {
    (void)pthread_mutex_lock(&context->gpus->mutex);
    context->gpus->n_copies--;
    (void)pthread_mutex_unlock(&context->gpus->mutex);
}

void thr_device_gpus_report_fallback(thr_context *context, const char *object, const thr_error *why) {
    thr_gpus *gpus = context->gpus;
    (void)pthread_mutex_lock(&gpus->mutex);
    if (!gpus->gave_up) {
        (void)snprintf(gpus->without, sizeof gpus->without, "cpu; %s: %s", object, why->text);
        (void)snprintf(gpus->in_part, sizeof gpus->in_part, "%s; %s: %s", gpus->devices->text, object, why->text);
        gpus->gave_up = true;
    }
    (void)pthread_mutex_unlock(&gpus->mutex);
}

static const char *describe(const thr_gpus *gpus) {
    if (gpus->failed)
        return gpus->without;
    if (gpus->gave_up)
        return gpus->n_copies > 0 ? gpus->in_part : gpus->without;
    return gpus->devices != NULL ? gpus->devices->text : "cpu";
}

const char *thr_context_device(const thr_context *context) {
    thr_gpus *gpus = context->gpus;
    if (gpus == NULL)
        return "cpu";
    (void)pthread_mutex_lock(&gpus->mutex);
    const char *text = describe(gpus);
    (void)pthread_mutex_unlock(&gpus->mutex);
    return text;
}
