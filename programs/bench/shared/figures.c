/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/json.h"
#include "cli/program.h"
#include "run.h"
#include "cli/messages.h"

enum { ANONYMOUS_BYTES = 512 << 20 };

/* A block's size precedes it. */
enum { FRONT = 64 };

static void *allocate(void *user, size_t size) {
    bench_allocations *a = user;
    char *memory = malloc(size + FRONT);
    if (memory == NULL)
        return NULL;
    memcpy(memory, &size, sizeof size);
    a->n++;
    a->live += size;
    a->most = a->live > a->most ? a->live : a->most;
    return memory + FRONT;
}

static void release(void *user, void *memory) {
    bench_allocations *a = user;
    size_t size;
    if (memory == NULL)
        return;
    memcpy(&size, (char *)memory - FRONT, sizeof size);
    a->live -= size;
    free((char *)memory - FRONT);
}

thr_allocator bench_counting_allocator(bench_allocations *allocations) {
    return (thr_allocator){allocate, release, allocations};
}

double bench_anonymous_bandwidth(void) {
    void *memory = bench_memory(ANONYMOUS_BYTES);
    if (memory == NULL)
        return 0;
    const double rate = bench_read_bandwidth(memory, ANONYMOUS_BYTES);
    bench_memory_free(memory, ANONYMOUS_BYTES);
    return rate;
}

void bench_say(bench_scan_run *run, const char *format, ...) {
    if (run->program->globals.json)
        return;
    va_list args;
    va_start(args, format);
    (void)vprintf(format, args);
    va_end(args);
    (void)fflush(stdout);
}

void bench_print(bench_scan_run *run, const bench_table *table) {
    if (!run->program->globals.json)
        bench_table_print(table, stdout);
}

static _Noreturn void end(bench_scan_run *run, int rc) {
    bench_scratch_remove(run->scratch);
    exit(rc);
}

void bench_fail(bench_scan_run *run, const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    prog_error("%s", text);
    end(run, PROG_FAILED);
}

void bench_must(bench_scan_run *run, thr_status status) {
    if (status != THR_OK)
        end(run, prog_failed(&run->err));
}

void *bench_room(bench_scan_run *run, size_t size) {
    void *room = calloc(1, size == 0 ? 1 : size);
    if (room == NULL)
        bench_fail(run, "out of memory: %zu bytes", size);
    return room;
}

void bench_figure(bench_scan_run *run, const char *key, double value, double target, bool at_least, const char *format,
                  ...) {
    if (run->n_figures == BENCH_MAX_FIGURES)
        return;
    bench_figure_value *figure = &run->figures[run->n_figures++];
    *figure = (bench_figure_value){.key = key, .value = value, .target = target, .at_least = at_least};
    va_list args;
    va_start(args, format);
    (void)vsnprintf(figure->text, sizeof figure->text, format, args);
    va_end(args);
}

static bool met(const bench_figure_value *figure) {
    return figure->at_least ? figure->value >= figure->target : figure->value <= figure->target;
}

static void print_json(bench_scan_run *run) {
    char machine[256];
    bench_machine(machine, sizeof machine);
    prog_json json = prog_json_to(stdout);
    prog_json_open(&json, '{');
    prog_json_key_text(&json, "version", thr_version());
    prog_json_key_text(&json, "machine", machine);
    prog_json_key_text(&json, "isa", thr_isa_name(thr_context_isa(run->context)));
    prog_json_key(&json, "figures");
    prog_json_open(&json, '[');
    for (int i = 0; i < run->n_figures; i++) {
        const bench_figure_value *figure = &run->figures[i];
        prog_json_open(&json, '{');
        prog_json_key_text(&json, "key", figure->key);
        prog_json_key_text(&json, "text", figure->text);
        prog_json_key_real(&json, "value", figure->value);
        prog_json_key_text(&json, "bound", figure->at_least ? ">=" : "<=");
        prog_json_key_real(&json, "target", figure->target);
        prog_json_key_bool(&json, "met", met(figure));
        prog_json_close(&json, '}');
    }
    prog_json_close(&json, ']');
    prog_json_close(&json, '}');
    prog_json_end(&json);
}

void bench_print_figures(bench_scan_run *run) {
    static bench_table table;
    if (run->program->globals.json) {
        print_json(run);
        return;
    }
    if (run->n_figures == 0)
        return;
    bench_table_begin(&table, "Figures and targets", "figure | target | measured | met");
    for (int i = 0; i < run->n_figures; i++) {
        const bench_figure_value *figure = &run->figures[i];
        bench_row(&table, "%s | %s %.4g | %.4g | %s", figure->text, figure->at_least ? ">=" : "<=", figure->target,
                  figure->value, met(figure) ? "yes" : "**no**");
    }
    bench_table_print(&table, stdout);
}
