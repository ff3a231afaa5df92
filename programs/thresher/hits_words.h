/* SPDX-License-Identifier: Apache-2.0 */
/* hits_words.h - features of items that look as if they had a weight. */
#ifndef THRESHER_PROGRAM_HITS_WORDS_H
#define THRESHER_PROGRAM_HITS_WORDS_H

#include "program.h"

/*
 * Note features from number first on that end as a weight of a query does: `w=x:3`. They are words as they stand, and
 * rarely meant so. table is the file that they are from, which is read again for the line of one of them.
 */
void prog_hits_note_weighed(const program *run, const thr_hits *hits, uint64_t first, const char *table);

#endif
