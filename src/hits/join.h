/* SPDX-License-Identifier: Apache-2.0 */
/*
 * join.h - two files of posting lists as one: the first has the rows up to its end, the second those after it.
 *
 * An index keeps the features of added rows in the second file, so that an addition does not write the first again. The
 * second becomes the delta of the first (delta.h), as updates have one. Both use places as rows. Place p of the second
 * file is row 65,536 w + p, where w is the window of the first row after the first file: a window of rows is a window of
 * each file, and the sums of both add up. Each file has words of its own; the second's get the numbers of the first's,
 * and others after them.
 */
#pragma once

#include "hits/impl.h"

/* The row of place 0 of the second file. */
static inline uint64_t thr_hits_second_row(uint64_t n_rows_of_first) {
    return n_rows_of_first / THR_LISTS_WINDOW * THR_LISTS_WINDOW;
}

/*
 * Join `added` to `hits`, which was just opened and takes it, whatever this returns. Multipliers and offsets of both
 * files are set. THR_ECORRUPT if they do not fit together; THR_ENOMEM.
 */
thr_status thr_hits_join(thr_hits *hits, thr_hits *added, thr_error *err);

/* Set the live rows of joined lists, a bit a row; NULL: all rows have an item. THR_ENOMEM. */
thr_status thr_hits_join_live(thr_hits *hits, const uint64_t *live, thr_error *err);
