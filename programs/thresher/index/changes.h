/* SPDX-License-Identifier: Apache-2.0 */
/* changes.h - report what a change did to an index, for the commands that change one. */
#pragma once

#include "cli/program.h"

typedef enum prog_change_kind { PROG_ADDED, PROG_UPSERTED, PROG_REMOVED, PROG_COMPACTED } prog_change_kind;

typedef struct prog_change {
    prog_change_kind kind;
    const char *dir;
    thr_index_change done;
    thr_index_info before, after; /* of a compaction */
    bool recoded;
    double seconds;
} prog_change;

/* Print a note, and with --json an object. */
void prog_report_change(const program *run, const prog_change *change);
