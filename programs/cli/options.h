/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.h - option tables and the parser of a command line.
 *
 * A table entry has an option's spelling, type, place in the command's struct and help. The parser accepts --opt value,
 * --opt=value, -o value, -ovalue and -qv; -- ends the options. The word after an option that takes a value is its
 * value, so negative numbers need no quoting. If an option is given twice, the last one counts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct program;

/* The type of the value at an option's offset. */
typedef enum prog_kind {
    PROG_FLAG,   /* bool */
    PROG_TEXT,   /* const char *, NULL when not given */
    PROG_LIST,   /* prog_list, every time the option is given adds one */
    PROG_COUNT,  /* uint64_t or uint32_t, 0 when not given and without default */
    PROG_REAL,   /* double or float, NaN when not given and without default */
    PROG_CHOICE, /* size_t or enum, index of choices; PROG_NO_CHOICE when not given and without default */
    PROG_DEVICE, /* const char *, one of choices, the last also followed by ":N" or ":N,N" */
} prog_kind;

#define PROG_NO_CHOICE SIZE_MAX

/* The kind of file that a value names, for shell completion and to check that no output overwrites an input. */
typedef enum prog_names {
    PROG_NAMES_NOTHING,
    PROG_NAMES_FILE, /* an input */
    PROG_NAMES_DIR,
    PROG_NAMES_OUTPUT, /* a file to write */
    PROG_NAMES_START,  /* an input that the output continues, and may replace */
} prog_names;

typedef struct prog_list {
    const char **items;
    size_t n;
} prog_list;

typedef struct prog_option {
    const char *name; /* without the dashes; NULL when there is only a letter */
    char letter;      /* 0 when there is none */
    prog_kind kind;
    const char *value; /* the value's name in the help: "N" */
    const char *help;  /* a line or two, without full stop */
    size_t offset;
    size_t size;                /* 4: the value has four bytes, of PROG_COUNT, PROG_REAL and PROG_CHOICE; 0: eight */
    const char *fallback;       /* the default as text, or NULL */
    const char *special;        /* "32 with --vectors": the default in other cases; needs fallback; or NULL */
    const char *const *choices; /* of PROG_CHOICE and PROG_DEVICE, ended by NULL; else NULL */
    uint64_t least, most;       /* of PROG_COUNT; most 0 means no limit */
    const char *word;           /* of PROG_COUNT: a word that means UINT64_MAX, or NULL */
    double least_real;          /* of PROG_REAL, ... */
    double most_real;           /* ... 0 means no limit; with one, least_real itself is too small */
    unsigned group;             /* options of the same group, not 0, exclude each other */
    prog_names names;
    bool required;
    bool hidden;         /* left out of help, manual and completion */
    const char *heading; /* the title of this option and of those after it, or NULL */
} prog_option;

/* Ends a table. */
#define PROG_OPTIONS_END                                                                                               \
    { .name = NULL, .letter = 0 }

/* A command's table. program.given has one bit per option: a longer table does not compile. */
enum { PROG_MAX_OPTIONS = 64 };

typedef struct prog_options {
    const prog_option *table;
} prog_options;

#define PROG_OPTIONS(array)                                                                                            \
    {                                                                                                                  \
        (array) + 0 * sizeof(struct {                                                                                  \
                      _Static_assert(sizeof(array) / sizeof(array)[0] <= PROG_MAX_OPTIONS + 1,                         \
                                     "too many options: widen given");                                                 \
                      char unused;                                                                                     \
                  })                                                                                                   \
    }

typedef struct prog_argument {
    const char *name; /* "VECTORS"; NULL ends the table */
    const char *help;
    size_t offset; /* of a const char *, NULL when not given; of a prog_list where there may be many */
    prog_names names;
    bool required;
    bool many; /* last argument: takes all remaining words, at least one if required */
} prog_argument;

/* ------------------------------------------------------------------------------------------------ shared options */

/*
 * Entries of an option table: PLACE is offsetof the value in the command's struct. Further fields may follow in the
 * braces.
 */

/* Number of results. */
#define PROG_K_OPTION(place, what)                                                                                     \
    .letter = 'k', .kind = PROG_COUNT, .value = "N", .least = 1, .fallback = "10", .help = (what), .offset = (place)

/* Output of results (thresher/output/results.h). */
#define PROG_RESULTS_OPTION(place, more)                                                                               \
    .name = "output", .letter = 'o', .kind = PROG_TEXT, .value = "FILE", .names = PROG_NAMES_OUTPUT,                   \
    .help = "write .ivecs, .jsonl or .trec instead of a table" more, .offset = (place)

/* An input file. */
#define PROG_FILE_OPTION(spelt, place, what)                                                                           \
    .name = (spelt), .kind = PROG_TEXT, .value = "FILE", .names = PROG_NAMES_FILE, .help = (what), .offset = (place)

/* The output file. */
#define PROG_NEW_FILE_OPTION(takes, place, what)                                                                       \
    .name = "output", .letter = 'o', .kind = PROG_TEXT, .value = (takes), .names = PROG_NAMES_OUTPUT,                  \
    .required = true, .help = (what), .offset = (place)

#define PROG_FLAG_OPTION(spelt, place, what) .name = (spelt), .kind = PROG_FLAG, .help = (what), .offset = (place)

#define PROG_FORCE_OPTION(place)                                                                                       \
    PROG_FLAG_OPTION("force", place, "replace an existing file of the same kind when the new one is complete")

#define PROG_TEXT_OPTION(spelt, takes, place, what)                                                                    \
    .name = (spelt), .kind = PROG_TEXT, .value = (takes), .help = (what), .offset = (place)

#define PROG_COUNT_OPTION(spelt, takes, place, what)                                                                   \
    .name = (spelt), .kind = PROG_COUNT, .value = (takes), .help = (what), .offset = (place)

#define PROG_REAL_OPTION(spelt, takes, place, what)                                                                    \
    .name = (spelt), .kind = PROG_REAL, .value = (takes), .help = (what), .offset = (place)

#define PROG_LIST_OPTION(spelt, takes, place, what)                                                                    \
    .name = (spelt), .kind = PROG_LIST, .value = (takes), .help = (what), .offset = (place)

#define PROG_CHOICE_OPTION(spelt, takes, of, place, what)                                                              \
    .name = (spelt), .kind = PROG_CHOICE, .value = (takes), .choices = (of), .help = (what), .offset = (place)

#define PROG_ARGUMENT(spelt, what_names, place, what)                                                                  \
    .name = (spelt), .names = (what_names), .help = (what), .offset = (place)
#define PROG_REQUIRED(spelt, what_names, place, what) PROG_ARGUMENT(spelt, what_names, place, what), .required = true

/* ------------------------------------------------------------------------------------------------ use */

/* Whether an entry is not the end of its table. */
bool prog_option_is(const prog_option *option);

/* The spelling of an option in messages: "--bits" or "-k". */
typedef struct prog_spelling {
    char text[64];
} prog_spelling;
prog_spelling prog_spell(const prog_option *option);

/* The end of messages about wrong usage: "see thresher index build --help". */
const char *prog_see_help(const struct program *run);

/*
 * Parse the command line into run. Returns PROG_DONE, or an exit code after printing an error. Missing arguments are no
 * error with --help, --version or --generate.
 */
int prog_parse(struct program *run, int argc, char **argv);

/* Whether the command's own option of this name or letter was given. */
bool prog_is_given(const struct program *run, const char *name);

/*
 * Print a note for each of these options that was given, because it has no effect: "--hashes has no effect with
 * --bands 0". names is ended by NULL; when is the end of the sentence.
 */
void prog_note_unused(const struct program *run, const char *const *names, const char *when);

/* Free what prog_parse allocated. */
void prog_parse_free(struct program *run);

/* Parse a whole number, digits only, in least..most. */
bool prog_read_count(const char *text, uint64_t *out);

/* Parse a finite decimal number; nothing may follow it. */
bool prog_read_real(const char *text, double *out);
