/* SPDX-License-Identifier: Apache-2.0 */
/* choice.h - from the words of a user, "auto", "cpu", "cuda" or "cuda:0,2", to opened devices. */
#ifndef THR_DEVICE_CHOICE_H
#define THR_DEVICE_CHOICE_H

#include "base/memory.h"
#include "device/device.h"

enum { THR_MAX_DEVICES = 32, THR_DEVICES_TEXT_SIZE = 512 };

typedef enum thr_device_kind {
    THR_DEVICE_CPU,
    THR_DEVICE_AUTO, /* GPUs where there are some and a search is worth it; else the CPU */
    THR_DEVICE_CUDA  /* those that are named, or all; or a failure */
} thr_device_kind;

typedef struct thr_device_choice {
    thr_device_kind kind;
    uint32_t n; /* numbers; 0: all there are */
    uint32_t numbers[THR_MAX_DEVICES];
} thr_device_choice;

/* NULL is "cpu". THR_EINVAL for other words. */
thr_status thr_device_choice_read(const char *words, thr_device_choice *choice, thr_error *err);

/* Opened devices of one backend. */
typedef struct thr_devices {
    const thr_backend *backend;
    uint32_t n;
    thr_device *devices[THR_MAX_DEVICES];
    char text[THR_DEVICES_TEXT_SIZE]; /* "cuda:0 (NVIDIA H200)" */
} thr_devices;

/* Open what is chosen, which is not the CPU. THR_EDEVICE; THR_EINVAL for a number that there is no device of. */
thr_status thr_devices_open(thr_context *context, const thr_device_choice *choice, thr_devices **devices,
                            thr_error *err);

/* Everything made from them must have been released; NULL is allowed. */
void thr_devices_close(thr_context *context, thr_devices *devices);

#endif
