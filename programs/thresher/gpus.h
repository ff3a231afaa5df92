/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpus.h - what the program says of GPUs: which there are, and what became of --device.
 */
#ifndef THRESHER_PROGRAM_GPUS_H
#define THRESHER_PROGRAM_GPUS_H

#include "json.h"
#include "program.h"

/* thr_context_device's words, of several GPUs the first one's only: a training uses no other. */
typedef struct prog_device {
    char text[600];
} prog_device;
prog_device prog_first_device(const program *run);

/*
 * After work that may have been a GPU's: whose it was, by device (thr_context_device's words), and why no GPU's where
 * one was wanted. what: "codes are screened".
 */
void prog_tell_device(const char *what, const char *device);

/*
 * All GPUs, or why there are none: lines on standard output that begin with "device", or the keys "device", "gpus" and
 * "no_gpus_why" in json. With --device cpu nobody looks for them, so that no driver is touched.
 */
void prog_print_gpus(const program *run);
void prog_json_gpus(const program *run, prog_json *json);

#endif
