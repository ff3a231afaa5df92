/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpus.h - what the program says of GPUs: which there are, and what became of --device.
 */
#ifndef THRESHER_PROGRAM_GPUS_H
#define THRESHER_PROGRAM_GPUS_H

#include "json.h"
#include "program.h"

/* After a search for the best k: what screens the codes, and why no GPU does where one was wanted. */
void prog_tell_device(const program *run);

/*
 * All GPUs, or why there are none: lines on standard output that begin with "device", or the keys "device", "gpus" and
 * "no_gpus_why" in json. With --device cpu nobody looks for them, so that no driver is touched.
 */
void prog_print_gpus(const program *run);
void prog_json_gpus(const program *run, prog_json *json);

#endif
