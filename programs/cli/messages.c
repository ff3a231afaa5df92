/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/messages.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "cli/program.h"

enum { LINE_SIZE = 2048 };

static const double REDRAW_SECONDS = 0.15; /* often enough to see it move */
static const double LONG_SECONDS = 10;     /* of work that is reported where there is no terminal */

static bool quiet;
static bool verbose;
static bool draws; /* progress goes to a terminal */
static size_t drawn;
enum { GRACE = 20, PER_SECOND = 10 }; /* tenths of a second; a call of the library stops within a few tenths of one */

static volatile sig_atomic_t stop_signal;
static volatile sig_atomic_t stopped_at; /* in tenths of a second */
static int unreadable = -1;              /* a descriptor that cannot be read */

void prog_messages_setup(bool be_quiet, bool be_verbose) {
    quiet = be_quiet;
    verbose = be_verbose;
    draws = !be_quiet && isatty(STDERR_FILENO) == 1;
}

/* ------------------------------------------------------------------------------------------------ messages */

static void print_line(char *line) {
    thr_make_printable(line);
    prog_progress_end();
    (void)fprintf(stderr, "%s: %s\n", prog_self.name, line);
}

void prog_error(const char *format, ...) {
    char line[LINE_SIZE];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    print_line(line);
}

void prog_note(const char *format, ...) {
    char line[LINE_SIZE];
    va_list arguments;

    if (quiet)
        return;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    print_line(line);
}

void prog_detail(const char *format, ...) {
    char line[LINE_SIZE];
    va_list arguments;

    if (!verbose)
        return;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    print_line(line);
}

int prog_failed_at(const char *where, const thr_error *err) {
    /* A signal also cuts a read short, which the library may report as a failed read. */
    if (stop_signal != 0 && (err->status == THR_ECANCELED || err->status == THR_EIO))
        return prog_stopped();
    prog_error("%s%s%s", where, where[0] == '\0' ? "" : ": ",
               err->text[0] != '\0' ? err->text : thr_status_text(err->status));
    return PROG_FAILED;
}

int prog_failed(const thr_error *err) {
    return prog_failed_at("", err);
}

int prog_failed_existing(const thr_error *err, const char *how) {
    const char *at = strstr(err->text, "replace it");

    if (at == NULL)
        return prog_failed(err);
    prog_error("%.*s%s to %s", (int)(at - err->text), err->text, how, at);
    return PROG_FAILED;
}

const char *prog_reason(int error_number) {
    static char text[128];
    struct rlimit limit;

    if (error_number != EMFILE || getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return strerror(error_number);
    (void)snprintf(text, sizeof text,
                   "too many open files, this process may have %llu: raise the limit with 'ulimit -n'",
                   (unsigned long long)limit.rlim_cur);
    return text;
}

int prog_no_memory(void) {
    prog_error("out of memory: free memory, or raise its limit (ulimit -v)");
    return PROG_FAILED;
}

/* ------------------------------------------------------------------------------------------------ signals */

/*
 * The first signal also replaces standard input by an unreadable descriptor, so that a read that waits for a silent
 * pipe fails instead of being restarted. The same stop may come twice, as from timeout, to the process and to its
 * group: within GRACE further ones change nothing. A later one ends the process.
 */
static void remember(int number) {
    int before = errno;
    const sig_atomic_t now = (sig_atomic_t)(prog_seconds() * PER_SECOND);

    if (stop_signal == 0) {
        stopped_at = now;
        stop_signal = number;
        if (unreadable >= 0)
            (void)dup2(unreadable, STDIN_FILENO);
    } else if (now - stopped_at > GRACE) {
        prog_delete_outputs();
        (void)signal(number, SIG_DFL);
        (void)raise(number);
    }
    errno = before;
}

void prog_catch_signals(void) {
    const int numbers[] = {SIGINT, SIGTERM, SIGHUP};

    (void)signal(SIGXFSZ, SIG_IGN); /* a write beyond the limit of file sizes is reported as a failed write */
    unreadable = open("/dev/null", O_WRONLY | O_CLOEXEC);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct sigaction before;
        struct sigaction action;

        /* Signals that the caller ignores (nohup, a background job) stay ignored. */
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler == SIG_IGN)
            continue;
        memset(&action, 0, sizeof action);
        action.sa_handler = remember;
        action.sa_flags = 0; /* no SA_RESTART: a waiting read must end */
        (void)sigemptyset(&action.sa_mask);
        (void)sigaction(numbers[i], &action, NULL);
    }
}

int prog_stop_signal(void) {
    return stop_signal;
}

int prog_stopped(void) {
    prog_error("stopped; nothing was changed");
    return PROG_SIGNALLED + stop_signal;
}

/* ------------------------------------------------------------------------------------------------ progress */

double prog_seconds(void) {
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void prog_progress_end(void) {
    if (drawn == 0)
        return;
    (void)fprintf(stderr, "\r%*s\r", (int)drawn, "");
    drawn = 0;
}

/* A line such as "encode  1.2 M of 10 M items  812 k/s  10 s left". */
typedef struct progress_text {
    char text[160];
    size_t length;
} progress_text;

/* rate: items per second; 0: unknown */
static progress_text progress_line(const char *what, uint64_t done, uint64_t total, double rate) {
    progress_text line;
    size_t used = (size_t)snprintf(line.text, sizeof line.text, "%.40s  %s", what, prog_short((double)done).text);

    if (total > 0)
        used += (size_t)snprintf(line.text + used, sizeof line.text - used, " of %s", prog_short((double)total).text);
    used += (size_t)snprintf(line.text + used, sizeof line.text - used, " items");
    if (rate > 0.0)
        used += (size_t)snprintf(line.text + used, sizeof line.text - used, "  %s/s", prog_short(rate).text);
    if (rate > 0.0 && total > done)
        used += (size_t)snprintf(line.text + used, sizeof line.text - used, "  %s left",
                                 prog_time((double)(total - done) / rate).text);
    line.length = used;
    return line;
}

/* Draw over the current line. */
static void draw(progress_text line) {
    (void)fprintf(stderr, "\r%s", line.text);
    if (drawn > line.length)
        (void)fprintf(stderr, "%*s", (int)(drawn - line.length), "");
    (void)fflush(stderr);
    drawn = line.length;
}

/* Print a line, unless the last one was for work with the same first word: "epoch 2" after "epoch 1". */
static void print_once(const char *what, progress_text line) {
    static char printed[40];
    const int length = (int)strcspn(what, " ");

    if (strncmp(printed, what, (size_t)length) == 0 && printed[length] == '\0')
        return;
    (void)snprintf(printed, sizeof printed, "%.*s", length, what);
    prog_note("%s", line.text);
}

bool prog_progress(void *user, const char *what, uint64_t done, uint64_t total) {
    static char current[40];      /* name of the current work, */
    static double since, last;    /* when it began and was last shown, */
    static uint64_t from, before; /* and how far it was at its beginning and at the last call */
    double now;

    (void)user;
    if (stop_signal != 0)
        return false;
    if (quiet)
        return true;
    now = prog_seconds();
    if (strncmp(current, what, sizeof current - 1) != 0 || done < before) {
        (void)snprintf(current, sizeof current, "%s", what);
        since = now;
        from = done;
    } else if (now - last < REDRAW_SECONDS && done != total) {
        before = done;
        return true;
    }
    last = now;
    before = done;
    const double rate = now - since >= REDRAW_SECONDS ? (double)(done - from) / (now - since) : 0.0;

    if (draws)
        draw(progress_line(what, done, total, rate));
    else if (now - since >= LONG_SECONDS)
        print_once(what, progress_line(what, done, total, rate));
    return true;
}

/* ------------------------------------------------------------------------------------------------ numbers */

prog_words prog_exact(uint64_t n) {
    prog_words words;
    char digits[24];
    size_t n_digits = (size_t)snprintf(digits, sizeof digits, "%" PRIu64, n);
    size_t used = 0;

    for (size_t i = 0; i < n_digits; i++) {
        if (i > 0 && (n_digits - i) % 3 == 0)
            words.text[used++] = ',';
        words.text[used++] = digits[i];
    }
    words.text[used] = '\0';
    return words;
}

prog_words prog_counted(uint64_t n, const char *noun) {
    const size_t length = strlen(noun);
    const bool ends_in_y = noun[length - 1] == 'y';
    prog_words words = prog_exact(n);
    const size_t used = strlen(words.text);

    if (n == 1)
        (void)snprintf(words.text + used, sizeof words.text - used, " %s", noun);
    else
        (void)snprintf(words.text + used, sizeof words.text - used, " %.*s%s", (int)(length - ends_in_y), noun,
                       ends_in_y ? "ies" : "s");
    return words;
}

/* Two or three digits and a unit of powers of 1,000. */
static prog_words scaled(double n, const char *const *units, size_t n_units) {
    prog_words words;
    size_t unit = 0;

    while (n >= 999.5 && unit + 1 < n_units) {
        n /= 1000.0;
        unit++;
    }
    (void)snprintf(words.text, sizeof words.text, "%.*f%s", unit > 0 && n < 99.95 ? 1 : 0, n, units[unit]);
    return words;
}

prog_words prog_short(double n) {
    static const char *const units[] = {"", " k", " M", " G", " T"};

    return scaled(n, units, sizeof units / sizeof units[0]);
}

prog_words prog_bytes(double n) {
    static const char *const units[] = {" bytes", " kB", " MB", " GB", " TB"};

    return scaled(n, units, sizeof units / sizeof units[0]);
}

prog_words prog_time(double seconds) {
    prog_words words;

    if (seconds < 1e-3)
        (void)snprintf(words.text, sizeof words.text, "%.0f us", seconds * 1e6);
    else if (seconds < 0.9995) /* what %.3g rounds to less than 1,000 */
        (void)snprintf(words.text, sizeof words.text, "%.3g ms", seconds * 1e3);
    else if (seconds < 120.0)
        (void)snprintf(words.text, sizeof words.text, "%.3g s", seconds);
    else if (seconds < 7200.0)
        (void)snprintf(words.text, sizeof words.text, "%.0f min", seconds / 60.0);
    else
        (void)snprintf(words.text, sizeof words.text, "%.1f h", seconds / 3600.0);
    return words;
}
