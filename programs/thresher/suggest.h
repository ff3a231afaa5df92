/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suggest.h - the right word nearest to a wrong one.
 */
#ifndef THRESHER_PROGRAM_SUGGEST_H
#define THRESHER_PROGRAM_SUGGEST_H

#include <stddef.h>

/* Letters to insert, delete, replace or swap with their neighbour to make b of a; large for words longer than 64. */
size_t prog_distance(const char *a, const char *b);

/* Keeps the nearest of the words offered to it, unless all are too far from what was written. */
typedef struct prog_nearest {
    const char *wrong;
    const char *best; /* NULL while nothing is near enough */
    size_t distance;
} prog_nearest;

prog_nearest prog_nearest_to(const char *wrong);
void prog_offer(prog_nearest *nearest, const char *word);

#endif
