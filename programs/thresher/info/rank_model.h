/* SPDX-License-Identifier: Apache-2.0 */
/* rank_model.h - describe a ranking model. */
#pragma once

#include "cli/program.h"

/* Whether a file begins like a LIBLINEAR model. */
bool prog_is_liblinear(const char *path);

/*
 * Describe a file of tensors or a LIBLINEAR text if it is a ranking model (*is), else print nothing. Returns PROG_DONE,
 * or an exit code after printing an error.
 */
int prog_print_rank_model(program *run, const char *path, bool *is);
