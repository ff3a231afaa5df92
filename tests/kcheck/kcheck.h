/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kcheck.h - what the checks of single kernels are written with.
 *
 * A check fills buffers at random, then calls check_call with a function that runs the kernel of a given table into a
 * given output. In a test run the output of the level is compared byte by byte with the specification's; in a timed run
 * the same call is timed.
 */
#pragma once

#include "kernel/kernel.h"

typedef struct kcheck kcheck;

/* Run one slot with the input in arg, writing at most out_size bytes to out. */
typedef void (*kcheck_run)(const thr_kernels *kernels, void *out, void *arg);

/* A buffer whose last byte is right before (or, in turn, first byte right after) a page that may not be touched. */
void *kcheck_buffer(kcheck *check, size_t size);

/* Random numbers of this round. */
uint64_t kcheck_random(kcheck *check);
uint32_t kcheck_below(kcheck *check, uint32_t n);
float kcheck_float(kcheck *check); /* about normal, with a few zeros, equal values and large values among them */
void kcheck_fill(kcheck *check, void *bytes, size_t size);

/* In a timed run shapes are the large standard ones rather than random. */
bool kcheck_timed(const kcheck *check);

/*
 * Compare or time. shape is printed with a failure or a time. bytes is what the kernel reads, items what it handles.
 */
void kcheck_call(kcheck *check, kcheck_run run, void *arg, size_t out_size, size_t items, size_t bytes,
                 const char *shape, ...) __attribute__((format(printf, 7, 8)));

/* With --csv: append a figure as a row of results/kernels.csv, but for the machine's name, date and commit. */
void kcheck_figure(const char *name, const char *system, const char *setting, const char *unit, double value);

#define KCHECK_DECLARE(name, type) void check_##name(kcheck *check);
THR_KERNEL_LIST(KCHECK_DECLARE)
#undef KCHECK_DECLARE
