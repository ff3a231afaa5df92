/* SPDX-License-Identifier: Apache-2.0 */
/* suggest.h - find the word closest to a wrong one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * The number of letters to insert, delete, replace or swap with their neighbour to turn a into b, whatever their case;
 * large for words longer than 64.
 */
size_t prog_distance(const char *a, const char *b);

/* Whether text is this word, or another spelling of it: with underscores for hyphens, or float32 for f32. */
bool prog_is_spelling(const char *text, const char *word);

/* Keeps the closest of the words offered, unless all are too far. */
typedef struct prog_nearest {
    const char *wrong;
    const char *best; /* NULL while nothing is near enough */
    size_t distance;
} prog_nearest;

prog_nearest prog_nearest_to(const char *wrong);
void prog_offer(prog_nearest *nearest, const char *word);
