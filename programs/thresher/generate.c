/* SPDX-License-Identifier: Apache-2.0 */
/*
 * generate.c - the manual (mdoc) and docs/cli.md, from the tables.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "program.h"

/* ------------------------------------------------------------------------------------------------ manual */

/*
 * Text for mdoc: backslashes and hyphens escaped, a dot or quote at the start of a line made harmless, no long lines.
 */
static void roff(const char *text) {
    size_t column = 0;

    while (*text != '\0') {
        size_t length = strcspn(text, " \n");
        size_t blanks;

        if (column > 0 && column + 1 + length > 78) {
            (void)putchar('\n');
            column = 0;
        } else if (column > 0) {
            (void)putchar(' ');
            column++;
        }
        if (column == 0 && (*text == '.' || *text == '\''))
            (void)fputs("\\&", stdout);
        for (size_t i = 0; i < length; i++) {
            if (text[i] == '\\')
                (void)fputs("\\e", stdout);
            else if (text[i] == '-')
                (void)fputs("\\-", stdout);
            else
                (void)putchar(text[i]);
        }
        column += length;
        /* A sentence ends its line, as mdoc wants it. */
        if (length > 1 && (text[length - 1] == '.' || text[length - 1] == '?') && text[length] == ' ' &&
            (isupper((unsigned char)text[length + 1]) || text[length + 1] == '-')) {
            (void)putchar('\n');
            column = 0;
        }
        text += length;
        blanks = strspn(text, " \n");
        if (blanks >= 2 && text[0] == '\n' && text[1] == '\n') {
            (void)printf("%s.Pp\n", column > 0 ? "\n" : "");
            column = 0;
        }
        text += blanks;
    }
    if (column > 0)
        (void)putchar('\n');
}

/* A word as an argument of a macro: a macro's name or punctuation in it must not be taken for one. */
static void macro_word(const char *word) {
    for (const char *c = word; *c != '\0'; c++) {
        if (*c == '-')
            (void)fputs("\\-", stdout);
        else
            (void)putchar(*c);
    }
}

static void roff_option(const prog_option *o, const char *macro) {
    (void)printf("%s", macro);
    if (o->letter != 0)
        (void)printf(" Fl %c", o->letter);
    if (o->letter != 0 && o->name != NULL)
        (void)printf(" , ");
    if (o->name != NULL)
        (void)printf("%sFl -%s", o->letter != 0 ? "" : " ", o->name);
    if (o->value != NULL) {
        (void)printf(" Ar ");
        macro_word(o->value);
    }
    (void)putchar('\n');
}

static void roff_options(const prog_option *table) {
    (void)printf(".Bl -tag -width Ds\n");
    for (const prog_option *o = table; prog_option_is(o); o++) {
        char text[512];

        if (o->hidden)
            continue;
        roff_option(o, ".It");
        (void)snprintf(text, sizeof text, "%s%s%s%s.", o->help, o->fallback != NULL ? " (default: " : "",
                       o->fallback != NULL ? o->fallback : "", o->fallback != NULL ? ")" : "");
        text[0] = (char)toupper((unsigned char)text[0]);
        roff(text);
    }
    (void)printf(".El\n");
}

static void roff_usage(const prog_command *command) {
    (void)printf(".Nm\n.Cm %s%s%s\n", command->noun, command->verb != NULL ? " " : "",
                 command->verb != NULL ? command->verb : "");
    for (const prog_argument *a = command->arguments; a->name != NULL; a++) {
        (void)printf(a->required ? ".Ar " : ".Op Ar ");
        macro_word(a->name);
        (void)putchar('\n');
    }
    for (const prog_option *o = command->options.table; prog_option_is(o); o++) {
        if (!o->required)
            continue;
        (void)printf(".Fl %c Ar ", o->letter);
        macro_word(o->value);
        (void)putchar('\n');
    }
    (void)printf(".Op Ar options\n");
}

static void roff_command(const prog_command *command) {
    (void)printf(".Ss %s%s%s\n", command->noun, command->verb != NULL ? " " : "",
                 command->verb != NULL ? command->verb : "");
    roff(command->text);
    if (command->arguments->name != NULL) {
        (void)printf(".Bl -tag -width Ds\n");
        for (const prog_argument *a = command->arguments; a->name != NULL; a++) {
            char text[512];

            (void)printf(".It Ar ");
            macro_word(a->name);
            (void)putchar('\n');
            (void)snprintf(text, sizeof text, "%s.", a->help);
            text[0] = (char)toupper((unsigned char)text[0]);
            roff(text);
        }
        (void)printf(".El\n");
    }
    if (prog_option_is(command->options.table)) {
        (void)printf(".Pp\nOptions:\n");
        roff_options(command->options.table);
    }
}

static void manual(void) {
    (void)printf(".\\\" SPDX-License-Identifier: Apache-2.0\n"
                 ".Dd %s\n.Dt THRESHER 1\n.Os\n.Sh NAME\n.Nm thresher\n"
                 ".Nd find the nearest vectors by scoring all of them\n.Sh SYNOPSIS\n",
                 PROG_DATE);
    for (const prog_command *const *c = prog_commands; *c != NULL; c++)
        roff_usage(*c);
    (void)printf(".Sh DESCRIPTION\n");
    roff("Thresher finds the nearest vectors: every item is scored with a few bits a dimension, the best few with the "
         "exact vectors. Results go to standard output or to the file that -o names, everything else to standard "
         "error.");
    (void)printf(".Pp\nFiles are told by their ending:\n.Pa .npy .fvecs .bvecs .ivecs .fbin .f16bin .u8bin .i8bin\n"
                 ".Pa .ibin .hdf5:DATASET .txt .tsv:COLUMN .csv:COLUMN ,\n");
    roff(
        "each also with .gz or .xz behind it. A dash and an ending, as in -.fvecs, is standard input. A file of ground "
        "truth in .ibin holds ids, and with :distances behind its name the distances. A column of a table is a text: "
        ".tsv:4 "
        "is the fourth, .csv:title the one that the first row calls so, .tsv:4,2 is two with a tab between, and "
        "without "
        "a colon it is the first.");
    (void)printf(".Pp\nAll commands take these options:\n");
    roff_options(prog_global_options);
    (void)printf(".Sh COMMANDS\n");
    for (const prog_command *const *c = prog_commands; *c != NULL; c++)
        roff_command(*c);
    (void)printf(".Sh ENVIRONMENT\n.Bl -tag -width Ds\n.It Ev THR_ISA\n");
    roff("Lowers the CPU level that is used: scalar, avx2 or avx512; on ARM scalar, neon or neon-dot. Answers are the "
         "same at every level.");
    (void)printf(".It Ev THR_KERNEL\n");
    roff("How distances are computed: xor, table or tile, not the fastest for each search. Answers are the same.");
    (void)printf(".It Ev THR_SELECT\n");
    roff("How GPUs find the best rows: threshold (the default), by a threshold from a sample; buckets, the best of "
         "every "
         "bucket and then those that a certificate leaves in doubt, with the same answers; paper, without the "
         "certificate, which misses some rows and is for comparisons only. A number behind the last two, as in "
         "paper:256, is how many rows a bucket has.");
    (void)printf(".It Ev THR_CUDA_LIBRARY\n");
    roff("The file of the library that GPUs are used with, instead of libthresher_cuda.so beside libthresher.so.");
    (void)printf(".It Ev THR_CUBLAS_LIBRARY\n");
    roff("The file of cuBLAS, which trainings on a GPU multiply matrices with, instead of the one that the loader "
         "finds.");
    (void)printf(".El\n.Sh EXIT STATUS\n.Bl -tag -width Ds\n.It 0\nThe work was done.\n.It 1\n");
    roff("The work failed; a line on standard error says what, where, and how to mend it.");
    (void)printf(".It 2\n");
    roff("The words are wrong; the nearest right word is suggested.");
    (void)printf(".It 128 + n\n");
    roff("Stopped by signal n, as 130 by SIGINT; nothing was changed.");
    (void)printf(".El\n.Sh EXAMPLES\n.Bd -literal -offset indent\n");
    for (const prog_command *const *c = prog_commands; *c != NULL; c++) {
        for (const char *const *e = (*c)->examples; *e != NULL; e++) {
            for (const char *ch = *e; *ch != '\0'; ch++)
                (void)fputs(*ch == '-' ? "\\-" : (char[]){*ch, '\0'}, stdout);
            (void)putchar('\n');
        }
    }
    (void)printf(".Ed\n");
}

/* ------------------------------------------------------------------------------------------------ Markdown */

/* A cell of a table. */
static void cell(const char *text) {
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '|' || *c == '<')
            (void)putchar('\\');
        (void)putchar(*c);
    }
}

static void markdown_options(const prog_option *table) {
    (void)printf("| option | meaning | default |\n|---|---|---|\n");
    for (const prog_option *o = table; prog_option_is(o); o++) {
        if (o->hidden)
            continue;
        (void)printf("| `");
        if (o->letter != 0)
            (void)printf("-%c%s", o->letter, o->name != NULL ? ", " : "");
        if (o->name != NULL)
            (void)printf("--%s", o->name);
        if (o->value != NULL) {
            (void)putchar(' ');
            cell(o->value);
        }
        (void)printf("` | ");
        cell(o->help);
        (void)printf(" | %s |\n", o->fallback != NULL ? o->fallback : o->required ? "must be given" : "");
    }
    (void)putchar('\n');
}

static void markdown_command(const prog_command *command) {
    (void)printf("## thresher %s%s%s\n\n", command->noun, command->verb != NULL ? " " : "",
                 command->verb != NULL ? command->verb : "");
    (void)printf("    thresher %s%s%s", command->noun, command->verb != NULL ? " " : "",
                 command->verb != NULL ? command->verb : "");
    for (const prog_argument *a = command->arguments; a->name != NULL; a++)
        (void)printf(a->required ? " %s" : " [%s]", a->name);
    for (const prog_option *o = command->options.table; prog_option_is(o); o++)
        if (o->required)
            (void)printf(" -%c %s", o->letter, o->value);
    (void)printf(" [options]\n\n%s\n\n", command->text);
    if (command->arguments->name != NULL)
        (void)printf("| argument | meaning |\n|---|---|\n");
    for (const prog_argument *a = command->arguments; a->name != NULL; a++) {
        (void)printf("| `");
        cell(a->name);
        (void)printf("` | ");
        cell(a->help);
        (void)printf(" |\n");
    }
    if (command->arguments->name != NULL)
        (void)putchar('\n');
    if (prog_option_is(command->options.table))
        markdown_options(command->options.table);
    (void)printf("Examples:\n\n");
    for (const char *const *e = command->examples; *e != NULL; e++)
        (void)printf("    %s\n", *e);
    (void)putchar('\n');
}

static void markdown(void) {
    (void)printf(
        "<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
        "<!-- Written by `thresher --generate markdown`; a test compares the two. -->\n"
        "# The command line\n\n"
        "`thresher NOUN VERB [options]`. Results go to standard output or to the file that `-o` names, everything "
        "else\n"
        "to standard error. Exit code 0: done; 1: the work failed, and a line says what, where, and how to mend it; 2: "
        "the\nwords are wrong, and the nearest right word is suggested; 128 + n: stopped by signal n.\n\n"
        "Files are told by their ending: `.npy .fvecs .bvecs .ivecs .fbin .f16bin .u8bin .i8bin .ibin .hdf5:DATASET\n"
        ".txt .tsv:COLUMN .csv:COLUMN`, each also with `.gz` or `.xz` behind it. `-.fvecs` and the like are standard "
        "input;\n`X.ibin:distances` are the distances in a file of ground truth. A column of a table is a text: "
        "`X.tsv:4` "
        "is the\nfourth, `X.csv:title` the one that the first row calls so, `X.tsv:4,2` two with a tab between, and "
        "without a\n"
        "colon it is the first.\n\n"
        "## All commands\n\n");
    for (const prog_command *const *c = prog_commands; *c != NULL; c++)
        (void)printf("- `thresher %s%s%s`: %s\n", (*c)->noun, (*c)->verb != NULL ? " " : "",
                     (*c)->verb != NULL ? (*c)->verb : "", (*c)->summary);
    (void)printf("\nAll of them take these options:\n\n");
    markdown_options(prog_global_options);
    for (const prog_command *const *c = prog_commands; *c != NULL; c++)
        markdown_command(*c);
}

void prog_generate(size_t generator) {
    void (*const generators[])(void) = {manual, markdown, prog_complete_bash, prog_complete_zsh, prog_complete_fish};

    generators[generator]();
}
