/* SPDX-License-Identifier: Apache-2.0 */
/* gpus.h - the GPUs a context was told to use. */
#ifndef THR_DEVICE_GPUS_H
#define THR_DEVICE_GPUS_H

#include "device/choice.h"

#include <pthread.h>

enum { THR_GPUS_TEXT_SIZE = THR_DEVICES_TEXT_SIZE + 2 * THR_ERROR_TEXT_SIZE };

typedef struct thr_gpus {
    thr_device_choice choice;
    double wake_up; /* seconds that opening devices is expected to take, which "auto" has to gain */

    pthread_mutex_t mutex; /* of what follows */
    thr_devices *devices;  /* NULL: not opened */
    bool failed;           /* they could not be opened */
    uint32_t n_copies;     /* objects that have a copy on them (policy.h) */
    bool gave_up;          /* an object has */
    /* Both written once, with the first reason: "cpu; reason", "cuda:0 (NVIDIA H200); reason" */
    char without[THR_GPUS_TEXT_SIZE], in_part[THR_GPUS_TEXT_SIZE];
} thr_gpus;

/* For a context that is being made; words as thr_context_options.device. "cpu" makes none, "cuda" opens them now. */
thr_status thr_device_gpus_create(thr_context *context, const char *words, thr_gpus **gpus, thr_error *err);
void thr_device_gpus_free(thr_context *context, thr_gpus *gpus);

/* Whether a user has named GPUs, so that their failures are errors: "cuda", not "auto". */
bool thr_device_gpus_required(const thr_context *context);

/* The devices, which "auto" opens at the first call; NULL if there are none, and thr_context_device has the reason. */
const thr_devices *thr_device_gpus_get(thr_context *context);

/* For the text of thr_context_device: count the copies on devices, and record the first object that went to the CPU. */
void thr_device_gpus_add_copy(thr_context *context);
void thr_device_gpus_remove_copy(thr_context *context);
void thr_device_gpus_report_fallback(thr_context *context, const char *object, const thr_error *why);

#endif
