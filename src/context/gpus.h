/* SPDX-License-Identifier: Apache-2.0 */
/* gpus.h - the GPUs a context was told to use. */
#ifndef THR_CONTEXT_GPUS_H
#define THR_CONTEXT_GPUS_H

#include "device/choice.h"

typedef struct thr_gpus thr_gpus;

/* For a context that is being made; words as thr_context_options.device. "cpu" makes none, "cuda" opens them now. */
thr_status thr_gpus_create(thr_context *context, const char *words, thr_gpus **gpus, thr_error *err);
void thr_gpus_free(thr_context *context, thr_gpus *gpus);

/* Whether a search must fail where they do: "cuda", not "auto". */
bool thr_gpus_required(const thr_context *context);

/* The devices, which "auto" opens at the first call; NULL where the CPU is to be used. */
const thr_devices *thr_gpus_get(thr_context *context);

/* "auto": use the CPU from now on, for this reason. */
void thr_gpus_give_up(thr_context *context, const thr_error *why);

/*
 * Seconds that waking a GPU up is expected to take, which a search must be worth for "auto". A context begins with half
 * a second; tests have others.
 */
double thr_gpus_wake_up(const thr_context *context);
void thr_gpus_expect_wake_up(thr_context *context, double seconds);

#endif
