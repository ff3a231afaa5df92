/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench.h - what the benchmarks share: the run, the clock, the machine, files, drawn data, and the report.
 *
 * Benchmarks use the public API only, as a user would. A process runs one of them, so the state of the run
 * is a global.
 */
#pragma once

#include <math.h>
#include <stdio.h>

#include <thresher/thresher.h>

#include "cli/program.h"

/* In a shell at the top of the source tree: Python, one thread, with the modules of programs/bench. */
#define BENCH_PYTHON "OMP_NUM_THREADS=1 PYTHONPATH=programs${PYTHONPATH:+:$PYTHONPATH} \"${PYTHON:-python3}\""

/* ------------------------------------------------------------------------------------------------- run.c */

/* The options of all benchmarks. */
typedef struct bench_values {
    const char *data, *scratch, *sets, *weights, *tensor, *states, *csv;
    uint64_t items, codes;
    bool peers, quick, convergence;
} bench_values;

struct bench_run {
    program *program;
    const bench_values *values;
    thr_context *context; /* of one thread; program->context has all */
    thr_error err;        /* of the calls whose status goes to bench_check */
    char scratch[1024];   /* a directory that is removed at the end */
};
extern struct bench_run bench;

/* Make the context and the scratch directory, run the sections, print the figures. Returns an exit code. */
int bench_run(program *run_program, const void *values, void (*sections)(void));

/* A command of `thresher-bench`: its name, arguments, options and sections(void); then its words for people. */
#define BENCH_COMMAND(name, arguments, options, sections, ...)                                                         \
    static int run_command(program *run_program, const void *values) {                                                 \
        return bench_run(run_program, values, sections);                                                               \
    }                                                                                                                  \
    const prog_command bench_##name##_command = {                                                                      \
        PROG_COMMAND(#name, NULL, bench_values, arguments, options, run_command), __VA_ARGS__}

/* Options of the library, as they are by default: thr_index_build for thr_index_build_options. */
#define BENCH_OPTIONS(type, name)                                                                                      \
    type##_options name;                                                                                               \
    type##_options_init(&name)

/* Entries of option tables, and the arguments of a command that takes none. */
#define BENCH_SCRATCH_OPTION                                                                                           \
    {                                                                                                                  \
        PROG_TEXT_OPTION("scratch", "DIR", offsetof(bench_values, scratch),                                            \
                         "where files are written (default: $TMPDIR or /tmp)"),                                        \
            .names = PROG_NAMES_DIR                                                                                    \
    }
#define BENCH_CSV_OPTION                                                                                               \
    {                                                                                                                  \
        PROG_TEXT_OPTION(                                                                                              \
            "csv", "FILE", offsetof(bench_values, csv),                                                                \
            "also append each figure as a row of results/*.csv; ./run bench --docs fills in the machine"),             \
            .names = PROG_NAMES_FILE                                                                                   \
    }
extern const prog_argument bench_no_arguments[];

/* End the program with a message; the scratch directory is removed. */
_Noreturn void bench_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* End the program unless status, which a call of the library returned beside bench.err, is THR_OK. */
void bench_check(thr_status status);

/*
 * Allocate zeroed memory, which is freed by bench_release of an earlier mark or at the end of the run. Not for several
 * threads at a time. The program ends if there is no memory.
 */
void *bench_alloc(size_t size);
size_t bench_mark(void);
void bench_release(size_t mark);

/* ----------------------------------------------------------------------------------------------- machine.c */

double bench_clock(void); /* seconds */

/*
 * for (BENCH_BEST(seconds, rounds)) work(); stores the least time of a round in seconds. BENCH_ALSO runs one round and
 * stores its time if that is less: when two sides take turns, other processes disturb both alike.
 */
typedef struct bench_timer {
    double *best, start; /* start is negative before the first round */
    int left;
} bench_timer;
bench_timer bench_timed(double *best, int rounds, double worst);
bool bench_next(bench_timer *timer);
#define BENCH_BEST(seconds, rounds)                                                                                    \
    bench_timer timer_ = bench_timed(&(seconds), rounds, INFINITY);                                                    \
    bench_next(&timer_);
#define BENCH_ALSO(seconds)                                                                                            \
    bench_timer timer_ = bench_timed(&(seconds), 1, seconds);                                                          \
    bench_next(&timer_);

/* Put in ascending order. */
void bench_sort(double *values, size_t n);

/* Best of several plain reads of the 256-byte pieces of data, in bytes per second: nothing is computed but a sum. */
double bench_read_bandwidth(const void *data, size_t size);

/* The same of 512 MiB in huge pages, measured once; 0 when there is no memory for it. */
double bench_memory_bandwidth(void);

/* Run work(arg) in a child process. Returns its exit code, and the most memory it held, in bytes. */
int bench_in_child(int (*work)(void *arg), void *arg, uint64_t *peak_bytes);

/* ------------------------------------------------------------------------------------------------- files.c */

/* Make a directory below dir (NULL: $TMPDIR or /tmp) and write its name to path; delete such a directory. */
int bench_scratch_make(const char *dir, char *path, size_t size);
void bench_scratch_remove(const char *path);

/* The name of a file or directory in the scratch directory, in bench_alloc's memory. */
char *bench_path(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The directory of the public data: --data, or THRESHER_DATA; "" where neither is given. */
const char *bench_data(void);

/* The bytes of the first file in an index directory whose name ends in .seg, mapped. size 0 when there is none. */
const void *bench_map_segment(const char *index_dir, size_t *size);
void bench_unmap(const void *data, size_t size);

/* Write a file (mode "wb"), or more of it ("ab"). */
void bench_save(const char *path, const char *mode, const void *data, size_t size);

/* ----------------------------------------------------------------------------------------------- random.c */

/* 64 pseudo-random bits (splitmix64): of number i, or the next of a sequence; and such bits as a number in [0, 1). */
uint64_t bench_mix(uint64_t i);
uint64_t bench_random(uint64_t *state);
double bench_uniform(uint64_t bits);

/* Synthetic rows, the same for the same seed: about normal, independent components. A thr_rows_fn; user is this. */
typedef struct bench_normal {
    uint64_t seed;
    uint32_t n_dims;
} bench_normal;
uint64_t bench_normal_rows(void *user, uint64_t first, uint64_t max_rows, float *out);

/* Row `row` of them, n_dims floats; and the first n_rows as .fbin. */
void bench_normal_row(uint64_t seed, uint64_t row, uint32_t n_dims, float *out);
void bench_save_normal(const char *path, const bench_normal *normal, uint64_t n_rows);

/* ------------------------------------------------------------------------------------------------- index.c */

/* A reader of n rows made by fill. Build an index of a reader's rows in dir, free the reader, and open the index. */
thr_reader *bench_reader(thr_context *context, uint64_t n, uint32_t n_dims, thr_rows_fn fill, void *user);
thr_index *bench_build(thr_context *context, thr_reader *reader, const char *dir,
                       const thr_index_build_options *options);

/* Open one that is there. */
thr_index *bench_open(thr_context *context, const char *dir);

/* The share of the ids in truth, k of each query, that are among those found. */
double bench_recall(const uint64_t *truth, const uint64_t *found, size_t n_queries, size_t k);

/* The best k of one query; scores may be NULL, otherwise the program ends unless the answers are in order. */
void bench_ask(thr_index *index, const float *query, uint32_t n_dims, size_t k, const thr_search_options *options,
               uint64_t *ids, float *scores);

/* ------------------------------------------------------------------------------------------------ report.c */

/*
 * A table of figures: text for people and, with --csv, a row of results/ for each figure. Columns, and cells of a row,
 * are separated by " | ". The first n_keys columns describe what is measured, all others are numbers, or empty. A key
 * named "system" is whose figure it is, "data" goes in front of the case; all other keys are the setting. The header of
 * a number is its unit. All rows are gathered first, so that columns line up.
 */
enum { BENCH_MAX_COLUMNS = 11, BENCH_MAX_ROWS = 64, BENCH_ROW = 512 };

typedef struct bench_table {
    const char *name, *columns; /* name: the case */
    int n_keys, n_rows;
    char rows[BENCH_MAX_ROWS][BENCH_ROW];
} bench_table;

/* In bench_alloc's memory. */
bench_table *bench_table_begin(const char *name, int n_keys, const char *columns);

/* Begin a row with these cells; add some to the last row. */
void bench_row(bench_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
void bench_cells(bench_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

void bench_print(const bench_table *table);

/* Print the subject, version and level of the CPU as a title; any text. Rows of results/ are of the last subject. */
void bench_print_title(const char *subject);
void bench_print_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Rows of the closing table of figures, which bench_print_figures prints: what was measured, and its target. */
void bench_figure(bool at_least, double value, double target, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
#define bench_at_least(...) bench_figure(true, __VA_ARGS__)
#define bench_at_most(...)  bench_figure(false, __VA_ARGS__)
void bench_print_figures(void);

/* ------------------------------------------------------------------------------------------------ commands */

extern const prog_command bench_scan_command, bench_writer_command, bench_tower_command, bench_hits_command,
    bench_rank_command, bench_head_command;
