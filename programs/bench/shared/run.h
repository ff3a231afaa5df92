/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.h - one run of `thresher-bench scan` or `thresher-bench filter`: what its sections share.
 */
#ifndef THRESHER_BENCH_RUN_H
#define THRESHER_BENCH_RUN_H

#include "bench.h"
#include "cli/program.h"

typedef struct bench_scan_values {
    const char *data, *scratch, *curves;
    uint64_t items;
    bool peers;
} bench_scan_values;

/* Entries of option tables (options.h), and the arguments of a command that takes none. */
#define BENCH_SCRATCH_OPTION(place)                                                                                    \
    PROG_TEXT_OPTION("scratch", "DIR", place, "where files are written (default: $TMPDIR or /tmp)"),                   \
        .names = PROG_NAMES_DIR
extern const prog_argument bench_no_arguments[];

/* A figure with the bound it is held to. */
typedef struct bench_figure_value {
    const char *key;
    char text[160];
    double value, target;
    bool at_least; /* the target is a lower bound */
} bench_figure_value;

enum { BENCH_MAX_FIGURES = 32 };

typedef struct bench_allocations {
    uint64_t n;
    size_t live, most; /* bytes there are, and were at most */
} bench_allocations;

typedef struct bench_scan_run {
    struct program *program;
    const bench_scan_values *values;
    thr_context *context;
    thr_error err;
    char scratch[1024];
    bench_allocations allocations;               /* the context's, so far */
    uint64_t query_allocations, queries_counted; /* those of searches after the first of their kind */
    double anonymous_bandwidth, scan_share[3];
    bench_figure_value figures[BENCH_MAX_FIGURES];
    int n_figures;
} bench_scan_run;

/* --------------------------------------------------------------------------------------------------- run.c */

/* Make a context of one thread and a scratch directory, run the sections, print the figures; answers an exit code. */
int bench_run(struct program *program, const bench_scan_values *values, void (*sections)(bench_scan_run *run));

/* The title, and what it was measured on. */
void bench_say_machine(bench_scan_run *run, const char *command);

/* ----------------------------------------------------------------------------------------------- figures.c */

/* Malloc and free of one thread, counting. */
thr_allocator bench_counting_allocator(bench_allocations *allocations);

/* Plain read of 512 MiB in huge pages; 0 when there is no memory for it. */
double bench_anonymous_bandwidth(void);

/* Text and tables for people: nothing with --json. */
void bench_say(bench_scan_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
void bench_print(bench_scan_run *run, const bench_table *table);

/* End the program with a message; the scratch directory is removed. */
_Noreturn void bench_fail(bench_scan_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* End the program unless status, which a call of the library returned beside run->err, is THR_OK. */
void bench_must(bench_scan_run *run, thr_status status);

/* Zeroed memory. Without any the program ends. */
void *bench_room(bench_scan_run *run, size_t size);

/* Note a figure and its description. */
void bench_figure(bench_scan_run *run, const char *key, double value, double target, bool at_least, const char *format,
                  ...) __attribute__((format(printf, 6, 7)));

/* The closing table of figures and targets, or the JSON object. */
void bench_print_figures(bench_scan_run *run);

/* --------------------------------------------------------------------------------------------- vectors.c */

/* Write a file (mode "wb"), or more of it ("ab"); rows as .fbin. */
void bench_save(bench_scan_run *run, const char *path, const char *mode, const void *data, size_t size);
void bench_save_fbin(bench_scan_run *run, const char *path, const float *rows, uint64_t n_rows, uint32_t n_dims);
void bench_save_normal_fbin(bench_scan_run *run, const char *path, const bench_normal *normal, uint64_t n_rows);

/* ----------------------------------------------------------------------------------------------- index.c */

/* A reader of n rows that fill makes; and an index of what a reader has, which is freed, built in dir and opened. */
thr_reader *bench_reader(bench_scan_run *run, thr_context *context, uint64_t n, uint32_t n_dims, thr_rows_fn fill,
                         void *user);
thr_index *bench_make_index(bench_scan_run *run, thr_context *context, thr_reader *reader, const char *dir,
                            const thr_index_build_options *options);

/* ------------------------------------------------------------------------------------------- scan_real.c */

/* Search over the exact scan on real vectors, allocations on the query path, and the peers. */
void bench_real(bench_scan_run *run);

/* ------------------------------------------------------------------------------------------------ filter.c */

/* Searches of the index in dir, which holds bench_normal's rows and vectors, with filters of several kinds. */
void bench_filter(bench_scan_run *run, const char *dir);

#endif
