/* SPDX-License-Identifier: Apache-2.0 */
/* choice.h - parse a device choice, "auto", "cpu", "cuda" or "cuda:0,2", and open the devices it names. */
#pragma once

#include "base/memory.h"
#include "device/device.h"

enum { THR_MAX_DEVICES = 32, THR_DEVICES_TEXT_SIZE = 512 };

typedef enum thr_device_kind {
    THR_DEVICE_CPU,
    THR_DEVICE_AUTO, /* use GPUs if there are some and the work is large enough to gain; else the CPU */
    THR_DEVICE_CUDA  /* use the named GPUs, or all; fail if that is impossible */
} thr_device_kind;

typedef struct thr_device_choice {
    thr_device_kind kind;
    uint32_t n; /* number of named GPUs; 0: all */
    uint32_t numbers[THR_MAX_DEVICES];
} thr_device_choice;

/* Parse a choice; NULL means "cpu". THR_EINVAL for other text. */
thr_status thr_device_choice_read(const char *words, thr_device_choice *choice, thr_error *err);

/* Opened devices of one backend. */
typedef struct thr_devices {
    const thr_backend *backend;
    uint32_t n;
    thr_device *devices[THR_MAX_DEVICES];
    char text[THR_DEVICES_TEXT_SIZE]; /* "cuda:0 (NVIDIA H200)" */
} thr_devices;

/* Open the chosen GPUs; choice must not be the CPU. THR_EDEVICE; THR_EINVAL if there is no GPU with such a number. */
thr_status thr_devices_open(thr_context *context, const thr_device_choice *choice, thr_devices **devices,
                            thr_error *err);

/* Close. Everything made from the devices must have been released. NULL is allowed. */
void thr_devices_close(thr_context *context, thr_devices *devices);
