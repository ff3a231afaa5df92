/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.h - the speed of each method to compute distances on this machine, for some shapes of searches. */
#pragma once

#include "cli/json.h"
#include "cli/program.h"

/* Print a table to standard output, or an array to json. Returns PROG_DONE, or an exit code after printing an error. */
int prog_print_kernels(const program *run);
int prog_json_kernels(const program *run, prog_json *json);
