/* SPDX-License-Identifier: Apache-2.0 */
/* gpus.h - the GPUs that a context may use. */
#pragma once

#include "device/choice.h"

#include <pthread.h>

enum { THR_GPUS_TEXT_SIZE = THR_DEVICES_TEXT_SIZE + 2 * THR_ERROR_TEXT_SIZE };

typedef struct thr_gpus {
    thr_device_choice choice;
    double wake_up; /* seconds that opening devices is expected to take; "auto" uses GPUs only if it saves more */

    pthread_mutex_t mutex; /* guards the fields below */
    thr_devices *devices;  /* NULL: not opened */
    bool failed;           /* opening them failed */
    uint32_t n_copies;     /* objects with a copy on the devices (policy.h) */
    bool gave_up;          /* an object fell back to the CPU */
    /* Device texts, each written once with the first reason: "cpu; reason", "cuda:0 (NVIDIA H200); reason" */
    char without[THR_GPUS_TEXT_SIZE], in_part[THR_GPUS_TEXT_SIZE];
} thr_gpus;

/*
 * Set up the GPUs of a new context; words as thr_context_options.device. "cpu" sets *gpus to NULL; "cuda" opens the
 * devices.
 */
thr_status thr_device_gpus_create(thr_context *context, const char *words, thr_gpus **gpus, thr_error *err);
void thr_device_gpus_free(thr_context *context, thr_gpus *gpus);

/* Return whether the user required GPUs ("cuda", not "auto"), which makes their failures errors. */
bool thr_device_gpus_required(const thr_context *context);

/* Return the devices; "auto" opens them at the first call. NULL if none; thr_context_device then has the reason. */
const thr_devices *thr_device_gpus_get(thr_context *context);

/*
 * For the text of thr_context_device: count copies on devices, and record the first object that fell back to the CPU.
 */
void thr_device_gpus_add_copy(thr_context *context);
void thr_device_gpus_remove_copy(thr_context *context);
void thr_device_gpus_report_fallback(thr_context *context, const char *object, const thr_error *why);
