/* SPDX-License-Identifier: Apache-2.0 */
/* head_impl.h - a head's inside, and the scratch memory of a query. */
#ifndef THR_HEAD_HEAD_IMPL_H
#define THR_HEAD_HEAD_IMPL_H

#include <thresher/head.h>

#include "base/idle.h"
#include "head/head_file.h"
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
    thr_idle rooms;
};

static inline const thr_head_contents *thr_head_of(const thr_head *head) {
    return &head->view.contents;
}

/* An empty one; and what is made of contents: permutations, rooms. THR_ENOMEM. */
thr_status thr_head_start(thr_context *context, thr_head **head, thr_error *err);
thr_status thr_head_complete(thr_head *head, thr_error *err);

/*
 * Words of a state: bits, of which word w is bit w % 64 of marks[w / 64], and ids, ascending. A piece of scratch memory
 * grows as it is needed, and stays.
 */
typedef struct thr_head_room thr_head_room;
void thr_head_room_free(void *room);

#endif
