/* SPDX-License-Identifier: Apache-2.0 */
/* texts.h - queries that are texts, encoded by the model of an index, or of a shard. */
#pragma once

#include "cli/program.h"

/*
 * dir is the index or collection, for messages, which are printed. All return PROG_DONE or an exit code.
 *
 * *rows: the vectors of the lines of texts, called name. Frees neither, and borrows the index and texts.
 */
int prog_texts_reader(const thr_index *index, const char *dir, const char *name, thr_reader *texts, thr_reader **rows);

/* *vectors: those of --text, for free(). */
int prog_texts_encode(const thr_index *index, const char *dir, const prog_list *texts, float **vectors);
