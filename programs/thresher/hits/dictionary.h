/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dictionary.h - the words of queries, each looked up once in the posting lists of every part.
 *
 * Zeroed before the first use. Memory grows with the distinct words; clear it now and then.
 */
#pragma once

#include "hits/parts.h"

typedef struct prog_dictionary {
    char **words;
    uint32_t *features; /* n x parts->n; UINT32_MAX where the part does not have the word */
    uint32_t *slots;    /* a word's number + 1, where its hash leads to; 0: empty */
    size_t n, n_slots;  /* n_slots: a power of two, at least 2 n */
} prog_dictionary;

enum { PROG_DICTIONARY_MOST = 1 << 20 }; /* words, after which it is cleared */

/* The number of a word. Returns PROG_DONE, or PROG_FAILED after printing that memory ran out. */
int prog_dictionary_number(prog_dictionary *dictionary, const prog_hits_parts *parts, const char *word,
                           uint32_t *number);
void prog_dictionary_clear(prog_dictionary *dictionary);
