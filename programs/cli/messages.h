/* SPDX-License-Identifier: Apache-2.0 */
/*
 * messages.h - messages on standard error, the clock, and signals that stop the program.
 *
 * Every message is one line and begins with the program's name and ": "; control characters in names become '?'.
 * Standard error belongs to the process, so the state here is global.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <thresher/thresher.h>

#if defined(__GNUC__)
#define PROG_PRINTF(text, values) __attribute__((__format__(__printf__, text, values)))
#else
#define PROG_PRINTF(text, values)
#endif

/*
 * quiet suppresses notes and progress, verbose enables details. On a terminal progress is a line that is redrawn;
 * elsewhere it is one line for each stage that takes ten seconds.
 */
void prog_messages_setup(bool quiet, bool verbose);

void prog_error(const char *format, ...) PROG_PRINTF(1, 2);  /* always printed */
void prog_note(const char *format, ...) PROG_PRINTF(1, 2);   /* unless quiet */
void prog_detail(const char *format, ...) PROG_PRINTF(1, 2); /* only when verbose */

/* Print why a library call failed; returns the exit code: 1, or 128 + n if signal n stopped it. */
int prog_failed(const thr_error *err);

/* The same with the name of the object in front. */
int prog_failed_at(const char *where, const thr_error *err);

/* The same; where the message suggests to replace what exists, it also has how: "add --force". */
int prog_failed_existing(const thr_error *err, const char *how);

/* The reason of a failed system call, and the remedy for too many open files. It lasts until the next call. */
const char *prog_reason(int error_number);

/* Print that memory ran out; returns 1. */
int prog_no_memory(void);

/*
 * Make SIGINT, SIGTERM and SIGHUP set a flag; one that comes two seconds later ends the process. Make a write beyond
 * the limit of file sizes fail instead of ending the process.
 */
void prog_catch_signals(void);

/* cut_file.c: make a mapped file that is cut short end the process with a message and exit code 1. */
void prog_catch_cut_files(void);

/* cut_file.c: delete the files under construction, before the process ends. Async-signal-safe. */
void prog_delete_outputs(void);

/* The signal that requested a stop; 0: none. */
int prog_stop_signal(void);

/* Print that the work was stopped; returns 128 + n. */
int prog_stopped(void);

/* A thr_progress_fn; user is not used. */
bool prog_progress(void *user, const char *what, uint64_t done, uint64_t total);

/* Erase the progress line. Every message does so itself. */
void prog_progress_end(void);

/* Seconds since a fixed moment; monotonic. */
double prog_seconds(void);

/* Numbers for people: "1,234,567"; "1 query", "2,000 queries"; "1.2 M"; "14.3 MB"; "0.31 s". */
typedef struct prog_words {
    char text[48];
} prog_words;
prog_words prog_exact(uint64_t n);
prog_words prog_counted(uint64_t n, const char *noun); /* noun: singular, at most 15 letters */
prog_words prog_short(double n);
prog_words prog_bytes(double n);
prog_words prog_time(double seconds);
