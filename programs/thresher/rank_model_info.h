/* SPDX-License-Identifier: Apache-2.0 */
/* rank_model_info.h - what a model of rankings holds. */
#ifndef THRESHER_PROGRAM_RANK_MODEL_INFO_H
#define THRESHER_PROGRAM_RANK_MODEL_INFO_H

#include "program.h"

/*
 * Print what a file of tensors is, if it is such a model, else nothing: *is says which. PROG_DONE, or an exit code
 * after saying what is wrong with one.
 */
int prog_print_rank_model(program *run, const char *path, bool *is);

#endif
