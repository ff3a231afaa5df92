/* SPDX-License-Identifier: Apache-2.0 */
/* rank_model_info.h - what a model of rankings holds. */
#ifndef THRESHER_PROGRAM_RANK_MODEL_INFO_H
#define THRESHER_PROGRAM_RANK_MODEL_INFO_H

#include "program.h"

/* Whether a file begins as LIBLINEAR's models do. */
bool prog_is_liblinear(const char *path);

/*
 * Print what a file of tensors, or one of LIBLINEAR's, is, if it is such a model, else nothing: *is says which.
 * PROG_DONE, or an exit code after saying what is wrong with one.
 */
int prog_print_rank_model(program *run, const char *path, bool *is);

#endif
