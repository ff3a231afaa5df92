/* SPDX-License-Identifier: Apache-2.0 */
/* run.c - what every bench command does before and after its sections; memory and failures on the way. */
#include "bench.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/messages.h"

struct bench_run bench;

const prog_argument bench_no_arguments[] = {{.name = NULL}};

/* What bench_alloc gave: room for more of them than any bench has. */
enum { MOST_ROOMS = 1 << 14 };
static void *rooms[MOST_ROOMS];
static size_t n_rooms;

void *bench_alloc(size_t size) {
    void *room = n_rooms < MOST_ROOMS ? calloc(1, size == 0 ? 1 : size) : NULL;
    if (room == NULL)
        bench_fail("out of memory: %zu bytes", size);
    return rooms[n_rooms++] = room;
}

size_t bench_mark(void) {
    return n_rooms;
}

void bench_release(size_t mark) {
    while (n_rooms > mark)
        free(rooms[--n_rooms]);
}

static _Noreturn void end(int rc) {
    bench_scratch_remove(bench.scratch);
    exit(rc);
}

void bench_fail(const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    prog_error("%s", text);
    end(PROG_FAILED);
}

void bench_check(thr_status status) {
    if (status != THR_OK)
        end(prog_failed(&bench.err));
}

int bench_run(program *run_program, const void *values, void (*sections)(void)) {
    bench.program = run_program;
    bench.values = values;
    if (run_program->globals.json) {
        prog_error("benchmarks print tables: leave --json out");
        return PROG_WRONG_WORDS;
    }
    thr_context_options options = {0};
    options.n_threads = 1;
    bench_check(thr_context_create(&options, &bench.context, &bench.err));
    if (bench_scratch_make(bench.values->scratch, bench.scratch, sizeof bench.scratch) != 0)
        bench_fail("%s: no directory can be made there: name another with --scratch", bench.scratch);
    sections();
    bench_print_figures();
    bench_scratch_remove(bench.scratch);
    bench_release(0);
    thr_context_free(bench.context);
    return PROG_DONE;
}
