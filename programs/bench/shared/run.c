/* SPDX-License-Identifier: Apache-2.0 */
/* run.c - what every bench command does before and after its sections. */
#include "cli/program.h"
#include "run.h"
#include "cli/messages.h"

const prog_argument bench_no_arguments[] = {{.name = NULL}};

void bench_say_machine(bench_scan_run *run, const char *command) {
    char machine[256];
    bench_machine(machine, sizeof machine);
    bench_say(run, "## thresher-bench %s\n\nthresher %s, %s, %s, 1 thread.\n\n", command, thr_version(), machine,
              thr_isa_name(thr_context_isa(run->context)));
}

int bench_run(struct program *run_program, const bench_scan_values *values, void (*sections)(bench_scan_run *run)) {
    bench_scan_run run = {.program = run_program, .values = values};
    thr_context_options o;
    thr_context_options_init(&o);
    o.n_threads = 1;
    o.allocator = bench_counting_allocator(&run.allocations);
    bench_must(&run, thr_context_create(&o, &run.context, &run.err));
    if (bench_scratch_make(values->scratch, run.scratch, sizeof run.scratch) != 0)
        bench_fail(&run, "%s: no directory can be made there: name another with --scratch", run.scratch);
    sections(&run);
    bench_print_figures(&run);
    bench_scratch_remove(run.scratch);
    thr_context_free(run.context);
    return PROG_DONE;
}
