/* SPDX-License-Identifier: Apache-2.0 */
/* dual.h - the dual-tower parts of the commands of `tower`. */
#pragma once

#include "cli/json.h"
#include "cli/program.h"

/* All return PROG_DONE, or an exit code after printing an error. */
int prog_eval_dual(program *run, const char *model, const char *requests, const char *items);

/* Encode the users or items of a file to output; hits (may be NULL): a file for the users' hits. */
int prog_encode_dual(program *run, const char *model, thr_side side, const char *texts, const char *output,
                     const char *hits);

/* Describe such a model in a line; and as keys of an open JSON object. */
typedef struct prog_dual_text {
    char text[100];
} prog_dual_text;
prog_dual_text prog_dual_line(const thr_dual_info *info);
void prog_json_dual(prog_json *json, const thr_dual_info *info);

/* `info` of such a model. */
int prog_print_dual(program *run, const char *path);

/* Whether the model at path is a dual tower. */
int prog_probe_dual(program *run, const char *path, bool *is_dual);
