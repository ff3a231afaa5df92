/* SPDX-License-Identifier: Apache-2.0 */
/* rank_model_info.h - describe a ranking model. */
#ifndef THRESHER_PROGRAM_RANK_MODEL_INFO_H
#define THRESHER_PROGRAM_RANK_MODEL_INFO_H

#include "program.h"

/* Whether a file begins like a LIBLINEAR model. */
bool prog_is_liblinear(const char *path);

/*
 * Describe a file of tensors or a LIBLINEAR text if it is a ranking model (*is), else print nothing. Returns PROG_DONE,
 * or an exit code after printing an error.
 */
int prog_print_rank_model(program *run, const char *path, bool *is);

#endif
