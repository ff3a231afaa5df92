/* SPDX-License-Identifier: Apache-2.0 */
/* input.h - read inputs whole: files of numbers, for heads and calibration, and lists of words. */
#pragma once

#include <stdint.h>

#include <thresher/thresher.h>

/* n_rows rows of n_dims floats. */
typedef struct prog_floats {
    float *items;
    uint64_t n_rows;
    uint32_t n_dims;
} prog_floats;

/*
 * Read the first rows of a file of numbers, at most this many; what names them in messages. Returns PROG_DONE, or an
 * exit code after printing an error.
 */
int prog_floats_read(prog_floats *floats, thr_context *context, const char *path, const char *what, uint64_t most);
void prog_floats_free(prog_floats *floats);

/* Numbers of words. */
typedef struct prog_head_words {
    uint32_t *items;
    uint64_t n;
} prog_head_words;

/* Read word numbers from a file of whole numbers, row by row, or a text with one per line. Returns as above. */
int prog_head_words_read(prog_head_words *words, thr_context *context, const char *path);

/* The same for numbers and ranges in the text itself, such as "0,7,1000-1023", unless a file has that name. */
int prog_head_words_take(prog_head_words *words, thr_context *context, const char *text);
void prog_head_words_free(prog_head_words *words);

/* Lists of words for groups of states, and the arrays that own them. */
typedef struct prog_head_lists {
    thr_head_word_lists lists;
    prog_head_words words;
    uint64_t *starts;
} prog_head_lists;

/* Read a text with a list a line, numbers separated by spaces; a line may be empty. Returns as above. */
int prog_head_lists_read(prog_head_lists *lists, thr_context *context, const char *path);
void prog_head_lists_free(prog_head_lists *lists);
