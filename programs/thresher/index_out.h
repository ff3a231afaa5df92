/* SPDX-License-Identifier: Apache-2.0 */
/* index_out.h - build an index and say what it became, for the commands that make one or show one. */
#ifndef THRESHER_PROGRAM_INDEX_OUT_H
#define THRESHER_PROGRAM_INDEX_OUT_H

#include "json.h"
#include "program.h"

/* PROG_DONE, or an exit code after saying what is wrong. start: prog_seconds when the command began. */
int prog_build_index(program *run, const char *dir, thr_reader *rows, const thr_index_build_options *build,
                     double start);

/* What an index holds, as keys of the object that is open. */
void prog_json_index(prog_json *json, const char *dir, const thr_index *index);

/* Bytes of files an item, without the model: that is a file of its own, however many items there are. */
double prog_bytes_per_item(const thr_index *index);
uint64_t prog_model_bytes(const thr_index *index); /* 0 where there is none */

#endif
