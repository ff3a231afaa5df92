/* SPDX-License-Identifier: Apache-2.0 */
/* verified.h - what the commands info and verify of all nouns share. */
#pragma once

#include "cli/program.h"

/* The values of a command whose only argument is a file or a directory. */
typedef struct prog_path_values {
    const char *path;
} prog_path_values;

#define PROG_PATH_ARGUMENT(table, word, what_names, what)                                                              \
    static const prog_argument table[] = {                                                                             \
        {PROG_REQUIRED(word, what_names, offsetof(prog_path_values, path), what)},                                     \
        {.name = NULL},                                                                                                \
    }

extern const prog_option prog_no_options[1];

/* kind: "index", "hits" or "head", the key that path has in JSON. start: of prog_seconds, when reading began. */
void prog_print_verified(const program *run, const char *kind, const char *path, uint64_t bytes, double start);
