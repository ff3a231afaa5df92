/* SPDX-License-Identifier: Apache-2.0 */
/* summary.h - build an index and print a summary, for the commands that build or show one. */
#pragma once

#include "cli/json.h"
#include "cli/program.h"

/* Choices of --metric, in the order of thr_metric, and of --keep, whose types are prog_keep_dtypes. */
extern const char *const prog_metrics[], *const prog_keeps[];
extern const thr_dtype prog_keep_dtypes[];

/* Returns PROG_DONE, or an exit code after printing an error. start: prog_seconds when the command began. */
int prog_build_index(program *run, const char *dir, thr_reader *rows, const thr_index_build_options *build,
                     double start);

/* Write the properties of an index as keys of the open object. */
void prog_json_index(prog_json *json, const char *dir, const thr_index *index);

/* Whether the recall of its searches is kept only for queries like those of the calibration: they have no margins. */
bool prog_is_flat_and_uncentred(const thr_index_info *info);

/* Write n_cells and, with cells, what searches read. */
void prog_json_cells(prog_json *json, const thr_cells_choice *cells);

/* Print what searches of an index with cells read. */
void prog_print_cells(const thr_cells_choice *cells);

/* Whether cosines or inner products of the items differ by too little for float32. */
#define PROG_SMALL_SPREAD "the vectors are nearly equal, so float32 rounds many scores to equal ones"

/* After a count. */
#define PROG_ZERO_VECTORS "zero vectors: they score 0 for every query, and rank before items of negative scores"

/* 0 without items. */
double prog_per_item(uint64_t bytes, uint64_t n_items);

/* File bytes per item, without the model, whose size does not depend on the number of items. */
double prog_bytes_per_item(const thr_index *index);
uint64_t prog_model_bytes(const thr_index *index); /* 0 where there is none */
