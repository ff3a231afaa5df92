/* SPDX-License-Identifier: Apache-2.0 */
/* head.h - the members of thr_head, and the functions that its files share. */
#pragma once

#include <thresher/head.h>

#include "base/idle.h"
#include "device/policy.h"
#include "head/file.h"
#include "kernel/kernel.h"
#include "scan/scan.h"

/* Memory that a head in memory owns; all NULL for a mapped one. */
typedef struct thr_head_memory {
    void *weights;
    float *scales;
    float *bias;
    uint32_t *order;
    thr_lsh_memory lsh;
    thr_head_planes_memory planes;
} thr_head_memory;

struct thr_head {
    thr_context *context;
    char *path; /* NULL for a head made in memory */
    thr_map map;
    thr_head_view view; /* its contents are the head's, mapped or not */
    thr_head_memory memory;
    thr_wta wta;             /* permutations, if the head has hashes */
    thr_quantiser quantiser; /* of the plane codes, which corpus describes for scans */
    thr_segment segment;
    thr_scan_corpus corpus;
    uint64_t *never, *hidden;           /* a bit a word: never answered; without a code. NULL: none */
    uint32_t longest[THR_HEAD_LONGEST]; /* words added to every shortlist (planes.h) */
    uint32_t n_longest;
    thr_idle workspaces;

    pthread_mutex_t mutex;            /* guards choices and bounds */
    struct thr_head_choices *choices; /* of AUTO (auto_screen.h) */
    struct thr_head_bounds *bounds;   /* of codes, from the first certified query on (certify.h) */

    thr_device_policy on_device; /* its copies are thr_head_device */
};

static inline const thr_head_contents *thr_head_of(const thr_head *head) {
    return &head->view.contents;
}

/*
 * thr_head_start makes an empty head; the next function derives permutations and workspaces from its contents. THR_OK
 * or THR_ENOMEM.
 */
thr_status thr_head_start(thr_context *context, thr_head **head, thr_error *err);
thr_status thr_head_complete(thr_head *head, thr_error *err);

/* Set never and hidden by the biases (never.c). THR_ERANGE if no word is left; THR_ENOMEM. */
thr_status thr_head_find_hidden(thr_head *head, thr_error *err);

/* Count the words that may be answered, less n_never words. THR_EINVAL for a wrong word; THR_ENOMEM. */
thr_status thr_head_count_left(const thr_head *head, const uint32_t *never, uint64_t n_never, uint32_t *n_left,
                               thr_error *err);

/* Words' rows as they are coded: weights, and the bias as one more component. */
thr_head_coded thr_head_coded_of(const thr_head *head);

/* A source of weights: n_rows rows of n_dims floats, stored as or converted from dtype, read by row number. */
typedef struct thr_head_source {
    uint64_t n_rows;
    uint32_t n_dims;
    thr_dtype dtype;
    thr_head_row_fn *row;
    const void *user;
} thr_head_source;

/* thr_head_create from a source; options are complete. */
thr_status thr_head_make(thr_context *context, const thr_head_source *source, const thr_head_build_options *options,
                         thr_head **head, thr_error *err);

/* thr_head_create_file for safetensors files, alone or with an index, and for GGUF. */
thr_status thr_head_create_tensors(thr_context *context, const char *path, const char *tensor,
                                   const thr_head_build_options *options, thr_head **head, thr_error *err);
thr_status thr_head_create_gguf(thr_context *context, const char *path, const char *tensor,
                                const thr_head_build_options *options, thr_head **head, thr_error *err);

/* Scratch memory of a query (workspace.h). It grows to the largest query so far. */
typedef struct thr_head_workspace thr_head_workspace;
void thr_head_workspace_free(void *workspace);
