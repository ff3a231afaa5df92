/* SPDX-License-Identifier: Apache-2.0 */
/* gpus.h - print the GPUs, and where the work ran. */
#pragma once

#include "cli/json.h"
#include "cli/program.h"

/* The text of thr_context_device, reduced to the first GPU: a training uses no other. */
typedef struct prog_device {
    char text[600];
} prog_device;
prog_device prog_first_device(const program *run);

/*
 * Print where work ran, by device (the text of thr_context_device), and why not on a GPU if one was requested. what:
 * "codes are screened".
 */
void prog_print_device(const char *what, const char *device);

/*
 * Print all GPUs, or the reason why there are none: lines on standard output that begin with "device", or the keys
 * "device", "gpus" and "no_gpus_why" in json. --device cpu skips the search, so no driver is loaded.
 */
void prog_print_gpus(const program *run);
void prog_json_gpus(const program *run, prog_json *json);
