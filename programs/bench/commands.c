/* SPDX-License-Identifier: Apache-2.0 */
/* commands.c - the program thresher-bench: its name and the list of its commands. */
#include "bench.h"

const prog_identity prog_self = {
    .name = "thresher-bench",
    .words = "COMMAND",
    .about = "Measures Thresher on this machine and checks every answer. Results are tables and, with "
             "--csv, rows of results/; comparisons with other libraries begin with ./run bench.",
};

const prog_noun prog_nouns[] = {
    {"scan", "builds and scans"},
    {"writer", "durable changes of an index"},
    {"tower", "learned codes of texts"},
    {"hits", "posting lists"},
    {"rank", "learning to rank"},
    {"head", "output layers over large vocabularies"},
    {NULL, NULL},
};

const prog_command *const prog_commands[] = {
    &bench_scan_command,
    &bench_writer_command,
    &bench_tower_command,
    &bench_hits_command,
    &bench_rank_command,
    &bench_head_command,
    NULL,
};
