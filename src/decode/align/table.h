/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h - a file of word translations, read for the words of two vocabularies.
 *
 * A line is "source target weight", separated by spaces or tabs; the weight, a probability or its logarithm, only
 * orders the target words of a source word. Words that a vocabulary lacks are skipped.
 */
#pragma once

#include "base/text/dictionary.h"

/* Source word e has the target words words[starts[e]] to words[starts[e + 1] - 1], best first. Starts zeroed. */
typedef struct thr_align_table {
    uint64_t *starts; /* a place more than the source vocabulary has words */
    uint32_t *words;
} thr_align_table;

/*
 * Read the best n_best target words of each source word; equal weights in the order of target words. model names the
 * vocabularies' owner in messages. The caller frees *table, also after an error.
 *
 * Returns THR_OK; THR_EFORMAT for a line that is none (err has its number); THR_EMISMATCH if the vocabularies have the
 * words of fewer than one line in 20; what thr_reader_open_lines returns; THR_ENOMEM.
 */
thr_status thr_align_table_read(thr_context *context, const char *path, const thr_dictionary *const vocabularies[2],
                                const char *model, uint32_t n_best, thr_align_table *table, thr_error *err);
void thr_align_table_free(thr_context *context, thr_align_table *table);
