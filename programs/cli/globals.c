/* SPDX-License-Identifier: Apache-2.0 */
/* globals.c - the options that every command of every program takes. */
#include "cli/program.h"

static const char *const devices[] = {"auto", "cpu", "cuda", NULL};

const char *const prog_generators[] = {"man", "markdown", "bash-completion", "zsh-completion", "fish-completion", NULL};

const prog_option prog_global_options[] = {
    {PROG_COUNT_OPTION(
         "threads", "N", offsetof(prog_globals, threads),
         "threads to work with (default: all CPUs the process may use, at most the CPU quota of its cgroup)"),
     .least = 1, .most = 1024},
    {.name = "device",
     .kind = PROG_DEVICE,
     .value = "auto|cpu|cuda[:N]",
     .choices = devices,
     .fallback = "auto",
     .help = "where to run: cpu; cuda, all GPUs; cuda:0 or cuda:0,2, the GPUs of these numbers; auto, GPUs "
             "if they work and the work is large enough, else the CPU. Only searches by codes use more than "
             "one GPU. Results are identical, except that trained text towers may differ by rounding",
     .offset = offsetof(prog_globals, device)},
    {PROG_COUNT_OPTION("seed", "N", offsetof(prog_globals, seed), "seed of all random choices"), .fallback = "1"},
    {PROG_FLAG_OPTION("json", offsetof(prog_globals, json), "print JSON: one object, or one object per line")},
    {PROG_FLAG_OPTION("quiet", offsetof(prog_globals, quiet), "print only errors to standard error"), .letter = 'q'},
    {PROG_FLAG_OPTION("verbose", offsetof(prog_globals, verbose), "print more to standard error, unless --quiet"),
     .letter = 'v'},
    {PROG_FLAG_OPTION("help", offsetof(prog_globals, help), "show help for the program, a noun or a command"),
     .letter = 'h'},
    {PROG_FLAG_OPTION("version", offsetof(prog_globals, version), "show the version")},
    {PROG_CHOICE_OPTION("generate", "WHAT", prog_generators, offsetof(prog_globals, generate),
                        "write the manual, docs/cli.md or shell completion"),
     .hidden = true},
    PROG_OPTIONS_END,
};
