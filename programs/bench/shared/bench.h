/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench.h - what the benchmarks share: the clock, the machine, scratch files, test vectors, and the report.
 *
 * Benchmarks use the public API only, as a user would.
 */
#ifndef THRESHER_BENCH_H
#define THRESHER_BENCH_H

#include <stdio.h>

#include <thresher/thresher.h>

struct prog_command;
extern const struct prog_command bench_scan_command, bench_filter_command, bench_tower_command, bench_hits_command,
    bench_rank_command, bench_head_command, bench_writer_command;

/* ---------------------------------------------------------------------------------------------- machine.c */

double bench_clock(void); /* seconds */

/* "AMD EPYC ..., 2 CPUs, 23 GiB" */
void bench_machine(char *text, size_t size);

/* Best of several plain reads of size bytes (a multiple of 256), in bytes a second: nothing is computed but a sum. */
double bench_read_bandwidth(const void *data, size_t size);

/* Bytes of anonymous memory, huge pages where the system gives them; NULL when there is none. Every byte is written. */
void *bench_memory(size_t size);
void bench_memory_free(void *memory, size_t size);

/* Run work(arg) in a child process. Returns its exit code, and the most memory it held, in bytes. */
int bench_in_child(int (*work)(void *arg), void *arg, uint64_t *peak_bytes);

/* Size of the loaded libthresher.so, 0 when the library is linked in another way. */
uint64_t bench_library_size(void);

/* ---------------------------------------------------------------------------------------------- scratch.c */

/* A new directory below dir (NULL: $TMPDIR or /tmp), whose name is written to path; and the end of it. */
int bench_scratch_make(const char *dir, char *path, size_t size);
void bench_scratch_remove(const char *path);

/* The bytes of the first file in an index directory whose name ends in .seg, mapped. size 0 when there is none. */
const void *bench_map_segment(const char *index_dir, size_t *size);
void bench_unmap(const void *data, size_t size);

/* ---------------------------------------------------------------------------------------------- vectors.c */

/* 64 bits that look like chance (splitmix64): of number i, or the next of a sequence; and as a number of [0, 1). */
uint64_t bench_mix(uint64_t i);
uint64_t bench_random(uint64_t *state);
double bench_share(uint64_t bits);

/* Synthetic rows, the same for the same seed: about normal, independent components. A thr_rows_fn; user is this. */
typedef struct bench_normal {
    uint64_t seed;
    uint32_t n_dims;
} bench_normal;
uint64_t bench_normal_rows(void *user, uint64_t first, uint64_t max_rows, float *out);

/* All rows of a file, in malloc's memory. */
thr_status bench_load(thr_context *context, const char *path, float **rows, uint64_t *n_rows, uint32_t *n_dims,
                      thr_error *err);

/* ----------------------------------------------------------------------------------------------- report.c */

/*
 * A table that is readable as text and is Markdown. Columns, and cells of a row, are separated by " | "; all rows are
 * gathered first, so that columns line up.
 */
enum { BENCH_MAX_COLUMNS = 11, BENCH_MAX_ROWS = 64, BENCH_ROW = 512 };

typedef struct bench_table {
    const char *title, *columns;
    int n_rows;
    char rows[BENCH_MAX_ROWS][BENCH_ROW];
} bench_table;

void bench_table_begin(bench_table *table, const char *title, const char *columns);

/* Begin a row with these cells; add some to the last row. */
void bench_row(bench_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
void bench_cells(bench_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

void bench_table_print(const bench_table *table, FILE *file);

#endif
