/* SPDX-License-Identifier: Apache-2.0 */
/* ranking_info.h - what a file of examples to rank holds. */
#ifndef THRESHER_PROGRAM_RANKING_INFO_H
#define THRESHER_PROGRAM_RANKING_INFO_H

#include "program.h"

/* Does the name, without .gz or .xz, end in .svm, .svmlight or .libsvm? */
bool prog_names_ranking(const char *path);

/*
 * Read the file and print what it is. PROG_DONE, or an exit code after saying what is wrong. Unless is is NULL, *is
 * becomes whether the file is one, and a file that is none gets no message.
 */
int prog_print_ranking(program *run, const char *path, bool *is);

#endif
