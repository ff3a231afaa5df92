/* SPDX-License-Identifier: Apache-2.0 */
/* ranking.h - describe a file of examples to rank. */
#pragma once

#include "cli/program.h"

/* Does the name, without .gz or .xz, end in .svm, .svmlight or .libsvm? */
bool prog_names_ranking(const char *path);

/*
 * Read a file of examples to rank and print its counts. Returns PROG_DONE, or an exit code after an error message.
 * With is_ranking, a file of another kind is no error: *is_ranking becomes false and nothing is printed.
 */
int prog_print_ranking(program *run, const char *path, bool *is_ranking);
