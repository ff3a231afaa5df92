/* SPDX-License-Identifier: Apache-2.0 */
/*
 * talk.h - what the program says on standard error, its clock, and signals that ask it to stop.
 *
 * Every message is one line and begins with the program's name and ": "; control characters in names become '?'.
 * Standard error belongs to the process, so the state here is the process's too.
 */
#ifndef THRESHER_PROGRAM_TALK_H
#define THRESHER_PROGRAM_TALK_H

#include <stdbool.h>
#include <stdint.h>

#include <thresher/thresher.h>

#if defined(__GNUC__)
#define PROG_PRINTF(text, values) __attribute__((__format__(__printf__, text, values)))
#else
#define PROG_PRINTF(text, values)
#endif

/* quiet silences notes and progress, verbose lets details through. Progress is drawn on a terminal only. */
void prog_talk_setup(bool quiet, bool verbose);

void prog_error(const char *format, ...) PROG_PRINTF(1, 2);  /* always said */
void prog_note(const char *format, ...) PROG_PRINTF(1, 2);   /* unless quiet */
void prog_detail(const char *format, ...) PROG_PRINTF(1, 2); /* only when verbose */

/* Say why a library call failed and answer the exit code: 1, or 128 + n when signal n stopped it. */
int prog_failed(const thr_error *err);

/* The same with the name of what was worked on in front. */
int prog_failed_at(const char *where, const thr_error *err);

/* The same of a command with --force, which is offered where it helps. */
int prog_failed_to_build(const thr_error *err);

/* Say that memory ran out; answers 1. */
int prog_no_memory(void);

/*
 * From now on SIGINT, SIGTERM and SIGHUP only set a flag; the second one ends the process as usual. A write beyond the
 * limit on sizes of files fails, instead of ending the process.
 */
void prog_catch_signals(void);

/* cut_file.c: from now on a mapped file that is cut short ends the process with a line and exit code 1. */
void prog_catch_cut_files(void);

/* The signal that asked to stop, 0 while none did. */
int prog_stop_signal(void);

/* Say that the work was stopped; answers 128 + n. */
int prog_stopped(void);

/* A thr_progress_fn; user is not used. */
bool prog_progress(void *user, const char *what, uint64_t done, uint64_t total);

/* Wipe the progress line off the terminal. Every message does it by itself. */
void prog_progress_end(void);

/* Seconds since some fixed moment; never runs backward. */
double prog_seconds(void);

/* Numbers for people: "1,234,567"; "1.2 M"; "14.3 MB"; "0.31 s". */
typedef struct prog_words {
    char text[48];
} prog_words;
prog_words prog_exact(uint64_t n);
prog_words prog_short(double n);
prog_words prog_bytes(double n);
prog_words prog_time(double seconds);

#endif
