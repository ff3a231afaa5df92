/* SPDX-License-Identifier: Apache-2.0 */
/*
 * align.h - tables of word translations, learned from parallel text, for the shortlists of translations.
 *
 * A table has the probability p(f | e) of each target word f for a source word e, by IBM model 1 (Brown and others
 * 1993). Lines of a table are what fast_align, eflomal and GIZA++ print, too:
 *
 *     house haus 0.72
 *
 * The words are those of thr_words_split. thr_translator_options.alignment takes such a file: its words are the
 * candidates of THR_HEAD_SCREEN_ALIGN (the word alignments, WA, of the WTA-LSH paper's Figure 6).
 */
#ifndef THRESHER_ALIGN_H
#define THRESHER_ALIGN_H

#include <thresher/context.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct thr_align_options {
    uint32_t n_iterations;  /* of expectation maximisation, 1 to 1000. 0: 5 */
    uint32_t n_best;        /* most target words of a source word that are written. 0: 100 */
    double min_probability; /* of an entry that is written, up to 1. 0: 1e-4 */
} thr_align_options;

typedef struct thr_align_report {
    uint64_t n_pairs;                        /* pairs of lines learned from */
    uint64_t n_skipped;                      /* pairs with a side that is empty or has more than 250 words */
    uint32_t n_source_words, n_target_words; /* distinct */
    uint64_t n_entries;                      /* pairs of words that occur together, each with a probability */
    uint64_t n_written;                      /* entries written, one per line */
    double perplexity;                       /* of a target word, under the table before the last update */
} thr_align_report;

/*
 * Learn a table from two texts, line i of target being the translation of line i of source, and write it to path,
 * which appears when it is complete. Texts are opened as by thr_reader_open_lines; "pairs.tsv:2" is a column. options
 * may be NULL for the defaults; report may be NULL.
 *
 * Lines are ordered by the source word's first occurrence, then by falling probability; equal ones by the target
 * word's first occurrence. The same texts and options give the same bytes. One thread makes the table. Memory: 4 bytes
 * per word of the texts, and 20 bytes per pair of words that occur together.
 *
 * Returns THR_OK, or
 *   THR_EINVAL   options are out of range, or path is one of the texts
 *   THR_EDIM     the texts have different numbers of lines, no pair of 1 to 250 words on both sides, or too many words
 *   THR_ENOTFOUND, THR_EFORMAT, THR_ECORRUPT, THR_EIO, THR_ENOSPACE, THR_ECANCELED, THR_ENOMEM
 */
THR_API thr_status thr_align_train(thr_context *context, const char *source, const char *target, const char *path,
                                   const thr_align_options *options, thr_align_report *report, thr_error *err);

#ifdef __cplusplus
}
#endif

#endif
