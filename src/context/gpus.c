/* SPDX-License-Identifier: Apache-2.0 */
#include "context/gpus.h"

#include "base/error.h"

#include <pthread.h>
#include <stdio.h>

struct thr_gpus {
    pthread_mutex_t mutex;
    thr_device_choice choice;
    thr_devices *devices; /* NULL: not opened */
    bool given_up;
    double wake_up;                                 /* seconds */
    char why[sizeof "cpu; " + THR_ERROR_TEXT_SIZE]; /* written once, when given up */
};

thr_status thr_gpus_create(thr_context *context, const char *words, thr_gpus **gpus_out, thr_error *err) {
    thr_device_choice choice;
    thr_gpus *gpus = NULL;
    *gpus_out = NULL;
    THR_TRY(thr_device_choice_read(words, &choice, err));
    if (choice.kind == THR_DEVICE_CPU)
        return THR_OK;
    THR_TRY(thr_alloc_zero(context, 1, sizeof *gpus, &gpus, "devices", err));
    gpus->choice = choice;
    gpus->wake_up = 0.5;
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

void thr_gpus_free(thr_context *context, thr_gpus *gpus) {
    if (gpus == NULL)
        return;
    thr_devices_close(context, gpus->devices);
    (void)pthread_mutex_destroy(&gpus->mutex);
    thr_release(context, gpus);
}

bool thr_gpus_required(const thr_context *context) {
    return context->gpus != NULL && context->gpus->choice.kind == THR_DEVICE_CUDA;
}

static void give_up(thr_gpus *gpus, const thr_error *why) {
    if (gpus->given_up)
        return;
    gpus->given_up = true;
    (void)snprintf(gpus->why, sizeof gpus->why, "cpu; %s", why->text);
}

const thr_devices *thr_gpus_get(thr_context *context) {
    thr_gpus *gpus = context->gpus;
    thr_error why;
    if (gpus == NULL)
        return NULL;
    (void)pthread_mutex_lock(&gpus->mutex);
    if (gpus->devices == NULL && !gpus->given_up &&
        thr_devices_open(context, &gpus->choice, &gpus->devices, &why) != THR_OK)
        give_up(gpus, &why);
    const thr_devices *devices = gpus->given_up ? NULL : gpus->devices;
    (void)pthread_mutex_unlock(&gpus->mutex);
    return devices;
}

void thr_gpus_give_up(thr_context *context, const thr_error *why) {
    (void)pthread_mutex_lock(&context->gpus->mutex);
    give_up(context->gpus, why);
    (void)pthread_mutex_unlock(&context->gpus->mutex);
}

double thr_gpus_wake_up(const thr_context *context) {
    return context->gpus->wake_up;
}

void thr_gpus_expect_wake_up(thr_context *context, double seconds) {
    context->gpus->wake_up = seconds;
}

const char *thr_context_device(const thr_context *context) {
    thr_gpus *gpus = context->gpus;
    if (gpus == NULL)
        return "cpu";
    (void)pthread_mutex_lock(&gpus->mutex);
    const char *text = gpus->given_up ? gpus->why : gpus->devices != NULL ? gpus->devices->text : "cpu";
    (void)pthread_mutex_unlock(&gpus->mutex);
    return text;
}
