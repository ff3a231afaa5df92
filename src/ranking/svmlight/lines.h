/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines.h - count and parse a range of whole lines of an SVMlight file.
 *
 * Counting assumes a well-formed text: it looks only for line ends, colons, '#' and the last index of each line.
 * Parsing assumes nothing, not even correct counts: it stays within the array sizes that these gave, whatever the
 * text is.
 */
#pragma once

#include "base/memory.h"

typedef struct thr_svmlight_counts {
    size_t n_lines, n_rows, n_values, n_queries /* rows with a qid */, comment_bytes;
    uint32_t largest; /* the largest of the rows' last indices; in well-formed lines the largest index */
} thr_svmlight_counts;

/* Count text[0, size), which ends after a newline or at the end of the file. */
void thr_svmlight_count(const char *text, size_t size, thr_svmlight_counts *counts);

/* Output arrays of a range, each at the range's first element; NULL: not wanted. */
typedef struct thr_svmlight_places {
    double *labels;
    uint64_t *queries;
    uint64_t *starts;         /* receives first_value + ... */
    uint32_t *columns;        /* NULL if dense */
    float *values, *dense;    /* exactly one of them is set */
    uint64_t *comment_starts; /* receives first_comment + ... */
    char *comments;
    uint64_t first_value, first_comment;
    uint32_t n_features;
} thr_svmlight_places;

typedef enum thr_svmlight_fault_kind {
    THR_SVMLIGHT_FINE,
    THR_SVMLIGHT_NO_LABEL,
    THR_SVMLIGHT_LABEL_RANGE,
    THR_SVMLIGHT_NO_QUERY,
    THR_SVMLIGHT_QUERY_NUMBER,
    THR_SVMLIGHT_QUERY_LATE,
    THR_SVMLIGHT_NO_PAIR,
    THR_SVMLIGHT_INDEX_LOW,
    THR_SVMLIGHT_INDEX_HIGH,
    THR_SVMLIGHT_INDEX_TWICE,
    THR_SVMLIGHT_INDEX_DESCENDS,
    THR_SVMLIGHT_NO_VALUE,
    THR_SVMLIGHT_VALUE_RANGE,
    THR_SVMLIGHT_CHANGED /* the text differs from the counted one */
} thr_svmlight_fault_kind;

/* The first fault. at and line_begin point into the text. */
typedef struct thr_svmlight_fault {
    thr_svmlight_fault_kind kind;
    size_t line; /* of the range, from 0 */
    const char *line_begin, *at, *end /* of the text */;
    uint64_t index, before; /* the index and the one before it */
} thr_svmlight_fault;

/* Parse the rows of text[0, size), for which counts were made. fault->kind is THR_SVMLIGHT_FINE on success. */
void thr_svmlight_take(const char *text, size_t size, const thr_svmlight_counts *counts,
                       const thr_svmlight_places *places, thr_svmlight_fault *fault);

/* Return the status and message of a fault; first_line is the number of the range's first line, from 1. */
thr_status thr_svmlight_report_fault(const char *name, uint64_t first_line, const thr_svmlight_fault *fault,
                                     thr_error *err);
