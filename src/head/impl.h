/* SPDX-License-Identifier: Apache-2.0 */
/* impl.h - a head's inside, and the scratch memory of a query. */
#ifndef THR_HEAD_IMPL_H
#define THR_HEAD_IMPL_H

#include <thresher/head.h>

#include <stddef.h>

#include "base/idle.h"
#include "device/policy.h"
#include "head/file.h"
#include "kernel/kernel.h"
#include "scan/scan.h"

/* What a head owns that is no file's; all NULL of one that was opened. */
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
    char *path; /* NULL: made in memory */
    thr_map map;
    thr_head_view view; /* its contents are the head's, of one in memory, too */
    thr_head_memory memory;
    thr_wta wta;             /* permutations, with hashes */
    thr_quantiser quantiser; /* with planes, and these as a scan takes them */
    thr_segment segment;
    thr_scan_target target;
    uint32_t longest[THR_HEAD_LONGEST]; /* words that are candidates with every shortlist (planes.h) */
    uint32_t n_longest;
    thr_idle workspaces;

    pthread_mutex_t mutex;            /* of what follows */
    struct thr_head_choices *choices; /* of screens, for AUTO (auto_screen.h) */
    struct thr_head_bounds *bounds;   /* of codes, from the first query on that wants them (certify.h) */

    thr_device_policy on_device; /* its copy is a thr_head_device */
};

static inline const thr_head_contents *thr_head_of(const thr_head *head) {
    return &head->view.contents;
}

/* An empty one; and what is made of contents: permutations, rooms. THR_ENOMEM. */
thr_status thr_head_start(thr_context *context, thr_head **head, thr_error *err);
thr_status thr_head_complete(thr_head *head, thr_error *err);

/* Bytes of the options of a query that they had at first. */
enum { THR_HEAD_QUERY_FIRST = offsetof(thr_head_query_options, used) };

/* Words' rows as they are coded: with the bias, if there is one, as one more component. */
thr_head_coded thr_head_coded_of(const thr_head *head);

/* Where weights come from: n_rows of n_dims floats, which are of dtype or from it; a row at a time, of any number. */
typedef struct thr_head_source {
    uint64_t n_rows;
    uint32_t n_dims;
    thr_dtype dtype;
    thr_head_row_fn *row;
    const void *user;
} thr_head_source;

/* thr_head_create of such; options are complete. */
thr_status thr_head_make(thr_context *context, const thr_head_source *source, const thr_head_build_options *options,
                         thr_head **head, thr_error *err);

/*
 * thr_head_create_file of GGUF: tensor NULL takes output.weight, or token_embd.weight that it is tied to. THR_EFORMAT
 * for a tensor that is no matrix; THR_EUNSUPPORTED for types that are not read.
 */
thr_status thr_head_create_gguf(thr_context *context, const char *path, const char *tensor,
                                const thr_head_build_options *options, thr_head **head, thr_error *err);

/*
 * Words of a state: bits, of which word w is bit w % 64 of marks[w / 64], and ids, ascending. A piece of scratch memory
 * grows as it is needed, and stays.
 */
typedef struct thr_head_workspace thr_head_workspace;
void thr_head_workspace_free(void *workspace);

#endif
