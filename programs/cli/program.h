/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.h - the parts that all commands share: the command table, global options, exit codes.
 *
 * A command is one prog_command: its words, arguments, option table and function. Parser, help, manual, completion and
 * docs/cli.md are all made from it. To add one, write the prog_command beside its function and add a line to
 * commands.c of its program, thresher or thresher-bench (programs/bench).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <thresher/thresher.h>

#include "cli/options.h"

/* Exit codes; after a stop by signal n, 128 + n. */
enum { PROG_DONE = 0, PROG_FAILED = 1, PROG_WRONG_WORDS = 2, PROG_SIGNALLED = 128 };

/* The date of the manual, for this version. */
#define PROG_DATE "November 21, 2026"

typedef struct prog_globals {
    uint64_t threads;   /* 0: as many as the process may use */
    const char *device; /* "auto", "cpu", "cuda", "cuda:0", "cuda:0,2" */
    uint64_t seed;
    bool quiet;
    bool verbose;
    bool json;
    bool help;
    bool version;
    size_t generate; /* index of prog_generators or PROG_NO_CHOICE */
} prog_globals;

struct program;

typedef struct prog_command {
    const char *noun;
    const char *verb;    /* NULL for a noun that is a command itself */
    const char *summary; /* a line without full stop */
    const char *text;    /* paragraphs separated by an empty line; lines indented by 4 blanks are an example */
    const prog_argument *arguments;
    prog_options options;
    size_t values_size;          /* size of the struct that the offsets of both tables point into */
    const char *const *examples; /* command lines, ended by NULL */
    const char *const *usages;   /* forms of what follows noun and verb, ended by NULL; NULL: one, from the tables */
    int (*run)(struct program *program, const void *values);
} prog_command;

#define PROG_EXAMPLES(...)                                                                                             \
    (const char *const[]) {                                                                                            \
        __VA_ARGS__, NULL                                                                                              \
    }

/* Everything but the words for people: the tables' offsets point into a struct of type values_type. */
#define PROG_COMMAND(its_noun, its_verb, values_type, its_arguments, its_options, run_it)                              \
    .noun = (its_noun), .verb = (its_verb), .arguments = (its_arguments), .options = PROG_OPTIONS(its_options),        \
    .values_size = sizeof(values_type), .run = (run_it)

/* One run: the parsed command line, and the context. */
typedef struct program {
    prog_globals globals;
    const char *noun;            /* NULL until parsed */
    const prog_command *command; /* NULL until parsed */
    void *values;                /* command->values_size bytes */
    uint64_t given;              /* bit i: option i of the command was on the command line */
    thr_context *context;        /* created before run is called */
} program;

/* The first words, each with a line of description. Ended by a NULL name. */
typedef struct prog_noun {
    const char *name;
    const char *summary;
} prog_noun;

/* The identity of a program. */
typedef struct prog_identity {
    const char *name;           /* "thresher": the first word of usages and messages */
    const char *words;          /* "NOUN VERB": the words of a usage after the name */
    const char *about;          /* a sentence for the help */
    const prog_noun *elsewhere; /* first words of another program, and its name; ended by a NULL name */
    /* Print the manual page of a command or, with NULL, of the program; or another choice. NULL: refused. */
    void (*generate)(size_t generator, const prog_command *command);
} prog_identity;

/* commands.c: the program's identity; all commands in the order of the help, ended by NULL; their first words. */
extern const prog_identity prog_self;
extern const prog_command *const prog_commands[];
extern const prog_noun prog_nouns[];

/* globals.c: the options that all commands take, and the choices of --generate. */
extern const prog_option prog_global_options[];
extern const char *const prog_generators[];

/* help.c: print help for the program, a noun or a command to standard output. */
void prog_help(const program *run);

/* Write the option's help with its defaults: "dimensions of the embedding (default: 64; 32 with --vectors)". */
void prog_option_text(const prog_option *o, char *text, size_t size);

/* The length of the example at the start of text, its last line end included; 0 if there is none. */
size_t prog_example_length(const char *text);
