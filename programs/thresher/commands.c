/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commands.c - the list of commands and the options that all of them take. Each command's own table is beside its
 * function.
 */
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

const prog_noun prog_nouns[] = {
    {"info", "this build and machine, or what a file is"},
    {"index", "build an index of vectors and search it"},
    {"tower", "learn codes of texts"},
    {"hits", "posting lists of items' features, every item scored"},
    {"head", "output layers over large vocabularies, the best words of states"},
    {"translate", "translate text by a model with attention and beam search"},
    {"rank", "learn to rank rows of features"},
    {"eval", "how good an answer is"},
    {"bench", "measure this machine"},
    {NULL, NULL},
};

const prog_command *const prog_commands[] = {
    &prog_info,
    &prog_index_build,
    &prog_index_search,
    &prog_index_info,
    &prog_index_verify,
    &prog_index_tune,
    &prog_tower_train,
    &prog_tower_encode,
    &prog_tower_eval,
    &prog_hits_build,
    &prog_hits_search,
    &prog_hits_info,
    &prog_hits_verify,
    &prog_head_build,
    &prog_head_query,
    &prog_head_info,
    &prog_head_verify,
    &prog_translate,
    &prog_rank_train,
    &prog_rank_predict,
    &prog_rank_eval,
    &prog_eval_recall,
    &prog_eval_auc,
    &prog_eval_ndcg,
    &prog_eval_bleu,
    &bench_scan_command,
    &bench_filter_command,
    &bench_search_command,
    &bench_tower_command,
    &bench_hits_command,
    &bench_rank_command,
    &bench_head_command,
    NULL,
};
