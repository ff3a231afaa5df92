/* SPDX-License-Identifier: Apache-2.0 */
/* model.h - describe a model, as text and as JSON. */
#pragma once

#include "cli/json.h"
#include "cli/program.h"

/* "queries of 3 bits, items of 2 bits, 64 dimensions, 49,292 letter trigrams" */
typedef struct prog_model_text {
    char text[192];
} prog_model_text;
prog_model_text prog_model_line(const thr_tower *tower);

/* Write its properties as keys of the open object. */
void prog_json_model(prog_json *json, const thr_tower *tower);

/* Whether the file is .safetensors, by its name or by its header, which begins with metadata. */
bool prog_is_model(const char *path);

/* Describe the file. Returns PROG_DONE, or an exit code after printing an error. */
int prog_print_model(program *run, const char *path);
