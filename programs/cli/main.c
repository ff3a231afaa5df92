/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - parse the command line, run the command, return its exit code. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/output.h"
#include "cli/program.h"
#include "cli/messages.h"

/*
 * Occupy descriptors 0 to 2 if the caller closed them, so that no file gets such a number and is overwritten by
 * messages. They are opened in the wrong direction: using a closed stream remains an error.
 */
static void hold_standard_streams(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) == -1 && errno == EBADF)
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/* An error of standard output (full disk, closed pipe) may appear only when it is flushed. One error line is enough. */
static int finish(int rc) {
    prog_progress_end();
    errno = 0;
    if ((fflush(stdout) == 0 && !ferror(stdout)) || rc != PROG_DONE)
        return rc;
    /* If an earlier write failed, its errno is lost, and nothing may be left to flush. Another write fails like it. */
    const bool has_reason = errno != 0 || write(STDOUT_FILENO, "\n", 1) < 0;
    prog_error("standard output could not be written: %s", has_reason ? prog_reason(errno) : "a write failed");
    return PROG_FAILED;
}

static int run_command(program *run) {
    thr_context_options options = {0};
    thr_error err = {.status = THR_OK};
    int rc;

    options.n_threads = (uint32_t)run->globals.threads;
    options.progress = prog_progress;
    options.device = run->globals.device;
    if (thr_context_create(&options, &run->context, &err) != THR_OK)
        return prog_failed(&err);
    rc = prog_check_outputs(run);
    if (rc == PROG_DONE)
        rc = run->command->run(run, run->values);
    thr_context_free(run->context);
    return rc;
}

static int generate(const program *run) {
    if (prog_self.generate == NULL) {
        prog_error("%s has no manual and no completion", prog_self.name);
        return PROG_WRONG_WORDS;
    }
    prog_self.generate(run->globals.generate, run->command);
    return PROG_DONE;
}

static int work(program *run, int argc, char **argv) {
    int rc = prog_parse(run, argc, argv);

    run->globals.verbose = run->globals.verbose && !run->globals.quiet;
    prog_messages_setup(run->globals.quiet, run->globals.verbose);
    if (rc != PROG_DONE)
        return rc;
    if (run->globals.generate != PROG_NO_CHOICE)
        rc = generate(run);
    else if (run->globals.help)
        prog_help(run);
    else if (run->globals.version)
        (void)printf("%s %s\n", prog_self.name, thr_version());
    else
        rc = run_command(run);
    return rc;
}

int main(int argc, char **argv) {
    program run = {.noun = NULL};
    int rc;

    hold_standard_streams();
    prog_messages_setup(false, false);
    prog_catch_signals();
    prog_catch_cut_files();
    rc = work(&run, argc, argv);
    prog_parse_free(&run);
    return finish(rc);
}
