/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels.h - how fast this machine computes distances in each way, for a few shapes of searches.
 */
#ifndef THRESHER_PROGRAM_KERNELS_H
#define THRESHER_PROGRAM_KERNELS_H

#include "json.h"
#include "program.h"

/* A table on standard output, or an array in json. Both return an exit code, having said what went wrong. */
int prog_print_kernels(const program *run);
int prog_json_kernels(const program *run, prog_json *json);

#endif
