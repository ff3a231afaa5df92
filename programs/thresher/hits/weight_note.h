/* SPDX-License-Identifier: Apache-2.0 */
/* weight_note.h - warn of item features that look as if they had a weight. */
#pragma once

#include "cli/program.h"

/*
 * Print a note if features from number first on end like a weight in a query, `w=x:3`. They are taken as words, which
 * is rarely meant. table is the file they come from, which is read again to find a line with one of them.
 */
void prog_hits_note_weighed(const program *run, const thr_hits *hits, uint64_t first, const char *table);
