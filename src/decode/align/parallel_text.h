/* SPDX-License-Identifier: Apache-2.0 */
/* parallel_text.h - parallel text as numbers of words. */
#pragma once

#include <thresher/matrix.h>

#include "base/text/dictionary.h"

enum { THR_ALIGN_MOST_WORDS = 250 }; /* of a side of a pair */

/* A side: sentence i has words[starts[i]] to words[starts[i + 1] - 1], numbers of the dictionary. */
typedef struct thr_align_side {
    thr_dictionary dictionary;
    uint32_t *words;
    uint64_t *starts; /* n_pairs + 1 */
    size_t n_words, words_capacity, starts_capacity;
} thr_align_side;

/* Starts zeroed. On the source side word 0 is the empty word, which each sentence begins with (IBM's NULL). */
typedef struct thr_align_text {
    uint64_t n_pairs, n_skipped;
    thr_align_side source, target;
} thr_align_text;

/* Read two texts (thr_align_train). *text starts zeroed; the caller frees it, also after an error. */
thr_status thr_align_text_read(thr_context *context, const char *source, const char *target, thr_align_text *text,
                               thr_error *err);
void thr_align_text_free(thr_context *context, thr_align_text *text);
