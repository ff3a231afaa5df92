/* SPDX-License-Identifier: Apache-2.0 */
/* index_out.h - build an index and say what it became, for the commands that make one. */
#ifndef THRESHER_PROGRAM_INDEX_OUT_H
#define THRESHER_PROGRAM_INDEX_OUT_H

#include "program.h"

/* PROG_DONE, or an exit code after saying what is wrong. start: prog_seconds when the command began. */
int prog_build_index(program *run, const char *dir, thr_reader *rows, const thr_index_build_options *build,
                     double start);

#endif
