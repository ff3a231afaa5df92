/* SPDX-License-Identifier: Apache-2.0 */
/* globals.c - the options that every command of every program takes. */
#include "program.h"

static const char *const devices[] = {"auto", "cpu", "cuda", NULL};

const char *const prog_generators[] = {"man", "markdown", "bash-completion", "zsh-completion", "fish-completion", NULL};

const prog_option prog_global_options[] = {
    {PROG_COUNT_OPTION("threads", "N", offsetof(prog_globals, threads),
                       "threads to work with (default: all CPUs the process may use)"),
     .least = 1, .most = 1024},
    {.name = "device",
     .kind = PROG_DEVICE,
     .value = "auto|cpu|cuda[:N]",
     .choices = devices,
     .fallback = "auto",
     .help = "what screens codes in searches for the best -k, adds up posting lists, answers head query, and makes the "
             "steps of tower train and the passes of rank train: cpu; cuda, all GPUs, or cuda:0 or cuda:0,2, those, of "
             "which all but searches by codes take "
             "the first; "
             "or auto, GPUs where they work and the work is worth it, else the CPU. Answers are the "
             "same, and so are rankings; what towers learn is, up to rounding",
     .offset = offsetof(prog_globals, device)},
    {PROG_COUNT_OPTION("seed", "N", offsetof(prog_globals, seed), "seed of whatever a command draws at random"),
     .fallback = "1"},
    {PROG_FLAG_OPTION("json", offsetof(prog_globals, json), "print JSON: one object, or one a line")},
    {PROG_FLAG_OPTION("quiet", offsetof(prog_globals, quiet), "say nothing on standard error but errors"),
     .letter = 'q'},
    {PROG_FLAG_OPTION("verbose", offsetof(prog_globals, verbose), "say more on standard error, unless --quiet"),
     .letter = 'v'},
    {PROG_FLAG_OPTION("help", offsetof(prog_globals, help), "show help for the program, a noun or a command"),
     .letter = 'h'},
    {PROG_FLAG_OPTION("version", offsetof(prog_globals, version), "show the version")},
    {PROG_CHOICE_OPTION("generate", "WHAT", prog_generators, offsetof(prog_globals, generate),
                        "write the manual, docs/cli.md or shell completion"),
     .hidden = true},
    PROG_OPTIONS_END,
};
