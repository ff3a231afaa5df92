/* SPDX-License-Identifier: Apache-2.0 */
/*
 * generate.c - the manual (mdoc), a page for each command, and docs/cli.md, from the tables.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"

/* ------------------------------------------------------------------------------------------------ manual */

static void roff_char(char c) {
    if (c == '\\')
        (void)fputs("\\e", stdout);
    else if (c == '-')
        (void)fputs("\\-", stdout);
    else
        (void)putchar(c);
}

/* Lines of an example, each indented by four blanks. */
static void roff_example(const char *text, size_t length) {
    (void)printf(".Bd -literal -offset indent\n");
    for (size_t i = 0; i < length; i++) {
        if (i == 0 || text[i - 1] == '\n')
            i += 4;
        roff_char(text[i]);
    }
    (void)printf(".Ed\n");
}

/*
 * Write text for mdoc: escapes backslashes, hyphens and a dot or quote at the start of a line; breaks lines; keeps
 * examples.
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
        for (size_t i = 0; i < length; i++)
            roff_char(text[i]);
        column += length;
        /* mdoc needs a line end after each sentence */
        if (length > 1 && (text[length - 1] == '.' || text[length - 1] == '?') && text[length] == ' ' &&
            (isupper((unsigned char)text[length + 1]) || text[length + 1] == '-')) {
            (void)putchar('\n');
            column = 0;
        }
        text += length;
        blanks = strspn(text, " \n");
        if (blanks >= 2 && text[0] == '\n' && text[1] == '\n') {
            const size_t example = prog_example_length(text + 2);

            if (column > 0)
                (void)putchar('\n');
            if (example != 0) {
                roff_example(text + 2, example);
                text += 2 + example;
                blanks = strspn(text, "\n");
            }
            (void)printf(".Pp\n");
            column = 0;
        }
        text += blanks;
    }
    if (column > 0)
        (void)putchar('\n');
}

/* Write a word as an argument of a macro, so that it is not read as a macro or punctuation. */
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
        if (o->heading != NULL)
            (void)printf(".El\n.Pp\n%s:\n.Bl -tag -width Ds\n", o->heading);
        roff_option(o, ".It");
        prog_option_text(o, text, sizeof text);
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), ".");
        text[0] = (char)toupper((unsigned char)text[0]);
        roff(text);
    }
    (void)printf(".El\n");
}

/* "-o", or "--ids" where there is no letter. */
static prog_spelling shortest(const prog_option *option) {
    const prog_option by_letter = {.letter = option->letter};

    return prog_spell(option->letter != 0 ? &by_letter : option);
}

/* A word of a usage: "[QUERIES]", "--vectors" or "MODEL". */
static void roff_usage_word(const char *word, size_t length) {
    const bool optional = word[0] == '[';

    (void)printf("%s%s", optional ? ".Op " : ".", word[optional ? 1 : 0] == '-' ? "Fl " : "Ar ");
    for (size_t i = optional ? 1 : word[0] == '-' ? 1 : 0; i < length - (optional ? 1 : 0); i++)
        roff_char(word[i]);
    (void)putchar('\n');
}

static void roff_usages(const prog_command *command) {
    for (const char *const *u = command->usages; *u != NULL; u++) {
        (void)printf(".Nm thresher\n.Cm %s %s\n", command->noun, command->verb);
        for (const char *word = *u; *word != '\0'; word += strspn(word, " ")) {
            const size_t length = strcspn(word, " ");
            roff_usage_word(word, length);
            word += length;
        }
    }
}

static void roff_usage(const prog_command *command) {
    if (command->usages != NULL) {
        roff_usages(command);
        return;
    }
    (void)printf(".Nm thresher\n.Cm %s%s%s\n", command->noun, command->verb != NULL ? " " : "",
                 command->verb != NULL ? command->verb : "");
    for (const prog_argument *a = command->arguments; a->name != NULL; a++) {
        (void)printf(a->required ? ".Ar " : ".Op Ar ");
        macro_word(a->name);
        (void)putchar('\n');
    }
    for (const prog_option *o = command->options.table; prog_option_is(o); o++) {
        if (!o->required)
            continue;
        (void)printf(".Fl %s Ar ", shortest(o).text + 1);
        macro_word(o->value);
        (void)putchar('\n');
    }
    (void)printf(".Op Ar options\n");
}

static void roff_arguments(const prog_command *command) {
    if (command->arguments->name == NULL)
        return;
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

/* "index-build" */
static prog_spelling page_of(const prog_command *command) {
    prog_spelling name;

    (void)snprintf(name.text, sizeof name.text, "%s%s%s", command->noun, command->verb != NULL ? "-" : "",
                   command->verb != NULL ? command->verb : "");
    return name;
}

static void roff_title(const char *page, const char *summary) {
    (void)printf(".\\\" SPDX-License-Identifier: Apache-2.0\n.Dd %s\n.Dt THRESHER", PROG_DATE);
    for (const char *c = page; *c != '\0'; c++)
        (void)putchar(toupper((unsigned char)*c));
    (void)printf(" 1\n.Os\n.Sh NAME\n.Nm thresher%s\n.Nd %s\n.Sh SYNOPSIS\n", page, summary);
}

static void command_page(const prog_command *command) {
    char page[80];

    (void)snprintf(page, sizeof page, "-%s", page_of(command).text);
    roff_title(page, command->summary);
    roff_usage(command);
    (void)printf(".Sh DESCRIPTION\n");
    roff(command->text);
    roff_arguments(command);
    if (prog_option_is(command->options.table)) {
        (void)printf(".Pp\nOptions:\n");
        roff_options(command->options.table);
    }
    (void)printf(".Pp\nOptions of all commands are in\n.Xr thresher 1 .\n.Sh EXAMPLES\n.Bd -literal -offset indent\n");
    for (const char *const *e = command->examples; *e != NULL; e++) {
        for (const char *c = *e; *c != '\0'; c++)
            roff_char(*c);
        (void)putchar('\n');
    }
    (void)printf(".Ed\n.Sh SEE ALSO\n.Xr thresher 1\n");
}

/* The environment variables of the library, the programs and the Python package. */
static const struct {
    const char *name, *text;
} environment[] = {
    {"THR_ISA", "Limits the CPU level: scalar, avx2, avx512-vnni or avx512; on ARM scalar, neon or neon-dot. Answers "
                "are the same at "
                "every level."},
    {"THR_KERNEL", "Method to compute distances: xor, table or tile, instead of the fastest for each search. Answers "
                   "are the same."},
    {"THR_CUDA_LIBRARY", "The GPU library to load, instead of libthresher_cuda.so beside libthresher.so."},
    {"THR_CUBLAS_LIBRARY",
     "The cuBLAS library to load for training on a GPU, instead of the one that the loader finds."},
    {"THRESHER_LIBRARY", "The libthresher.so that the Python package loads, instead of its own or an installed one."},
    {"TMPDIR", "Directory of temporary files of the Python package and of thresher-bench; without it /tmp."},
};

static void program_page(void) {
    roff_title("", "find the nearest vectors by scoring all of them");
    (void)printf(".Nm\n.Ar NOUN VERB\n.Op Ar options\n");
    (void)printf(".Sh DESCRIPTION\n");
    roff("Thresher finds nearest neighbours: it scores items by codes of a few bits per dimension, and the best few by "
         "their exact vectors. Results go to standard output or to the file that -o names, everything else to standard "
         "error.");
    (void)printf(
        ".Pp\nThe ending of a name selects the format:\n.Pa .npy .fvecs .bvecs .ivecs .fbin .f16bin .u8bin .i8bin\n"
        ".Pa .ibin .hdf5:DATASET .txt .tsv:COLUMN .csv:COLUMN ,\n");
    roff("each also with .gz or .xz appended. A dash and an ending, as in -.fvecs, is standard "
         "input. A ground-truth file in .ibin gives ids, and with :distances appended its "
         "distances. A column of a table is a text: .tsv:4 is the fourth column, .csv:title the "
         "column that the first row names, .tsv:4,2 is two columns joined by a tab, and without a "
         "colon it is the first.");
    (void)printf(".Pp\nAll commands take these options:\n");
    roff_options(prog_global_options);
    (void)printf(".Sh COMMANDS\n");
    (void)printf(".Bl -tag -width Ds\n");
    for (const prog_command *const *c = prog_commands; *c != NULL; c++) {
        (void)printf(".It Xr thresher\\-%s 1\n", page_of(*c).text);
        roff((*c)->summary);
    }
    (void)printf(".El\n.Sh ENVIRONMENT\n.Bl -tag -width Ds\n");
    for (size_t i = 0; i < sizeof environment / sizeof *environment; i++) {
        (void)printf(".It Ev %s\n", environment[i].name);
        roff(environment[i].text);
    }
    (void)printf(".El\n.Sh EXIT STATUS\n.Bl -tag -width Ds\n.It 0\nThe work was done.\n.It 1\n");
    roff("The work failed; a line on standard error has the object, the place and the remedy.");
    (void)printf(".It 2\n");
    roff("Unknown command or option; the closest match is suggested.");
    (void)printf(".It 128 + n\n");
    roff("Stopped by signal n, as 130 by SIGINT; nothing was changed.");
    (void)printf(".El\n");
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

/* Write paragraphs, with < escaped, and examples unchanged. */
static void markdown_text(const char *text) {
    size_t example = prog_example_length(text);

    for (size_t i = 0; text[i] != '\0'; i++) {
        if (i > 0 && text[i - 1] == '\n')
            example = i + prog_example_length(text + i);
        if (text[i] == '<' && i >= example)
            (void)putchar('\\');
        (void)putchar(text[i]);
    }
}

static void markdown_options(const prog_option *table) {
    (void)printf("| option | meaning | default |\n|---|---|---|\n");
    for (const prog_option *o = table; prog_option_is(o); o++) {
        if (o->hidden)
            continue;
        if (o->heading != NULL)
            (void)printf("\n%s:\n\n| option | meaning | default |\n|---|---|---|\n", o->heading);
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
        (void)printf(" | %s%s%s |\n",
                     o->fallback != NULL ? o->fallback
                     : o->required       ? "must be given"
                                         : "",
                     o->special != NULL ? "; " : "", o->special != NULL ? o->special : "");
    }
    (void)putchar('\n');
}

static void markdown_usage(const prog_command *command) {
    (void)printf("    thresher %s%s%s", command->noun, command->verb != NULL ? " " : "",
                 command->verb != NULL ? command->verb : "");
    for (const prog_argument *a = command->arguments; a->name != NULL; a++)
        (void)printf(a->required ? " %s" : " [%s]", a->name);
    for (const prog_option *o = command->options.table; prog_option_is(o); o++)
        if (o->required)
            (void)printf(" %s %s", shortest(o).text, o->value);
    (void)printf(" [options]\n");
}

static void markdown_command(const prog_command *command) {
    (void)printf("## thresher %s%s%s\n\n", command->noun, command->verb != NULL ? " " : "",
                 command->verb != NULL ? command->verb : "");
    for (const char *const *u = command->usages; u != NULL && *u != NULL; u++)
        (void)printf("    thresher %s %s %s\n", command->noun, command->verb, *u);
    if (command->usages == NULL)
        markdown_usage(command);
    (void)putchar('\n');
    markdown_text(command->text);
    (void)printf("\n\n");
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
        "else to\nstandard error.\n\n"
        "| exit code | meaning |\n|---|---|\n"
        "| 0 | the work was done |\n"
        "| 1 | the work failed; a message has the object, the place and the remedy |\n"
        "| 2 | unknown command or option; the closest match is suggested |\n"
        "| 128 + n | stopped by signal n |\n\n"
        "An option that is given twice has its last value. Existing indexes, heads and posting lists are replaced "
        "only with\n`--force`. Other outputs replace a file of the same name; trainings print a note first. A "
        "symbolic\nlink stays, and the file that it points to is replaced. Where a command prints results, `-o` may "
        "also name "
        "a pipe, a\ndevice or `/proc/self/fd/N`, or, where the ending selects the format, a link to it whose name has "
        "one.\n\n"
        "Long work shows its progress on standard error, unless `-q` is given. A terminal shows one line, which is "
        "redrawn; a\nfile or pipe gets one line for each stage that takes ten seconds.\n\n"
        "The ending of a name selects the format: `.npy .fvecs .bvecs .ivecs .fbin .f16bin .u8bin .i8bin .ibin\n"
        ".hdf5:DATASET .txt .tsv:COLUMN .csv:COLUMN`, each also with `.gz` or `.xz` appended.\n\n"
        "| name | meaning |\n|---|---|\n"
        "| `-.fvecs` | standard input, in the format of .fvecs |\n"
        "| `X.ibin:distances` | the distances of a ground-truth file; `X.ibin` gives its ids |\n"
        "| `X.tsv:4` | column 4 of a table, as a text, from the first row on; `X.tsv` is column 1 |\n"
        "| `X.tsv:title`, `X.csv:title` | the column that the first row names, from the second row on |\n"
        "| `X.tsv:4,2` | two columns, joined by a tab |\n\n"
        "## Environment\n\n"
        "| variable | meaning |\n|---|---|\n");
    for (size_t i = 0; i < sizeof environment / sizeof *environment; i++)
        (void)printf("| `%s` | %s |\n", environment[i].name, environment[i].text);
    (void)printf("\n## All commands\n\n");
    for (const prog_command *const *c = prog_commands; *c != NULL; c++)
        (void)printf("- `thresher %s%s%s`: %s\n", (*c)->noun, (*c)->verb != NULL ? " " : "",
                     (*c)->verb != NULL ? (*c)->verb : "", (*c)->summary);
    (void)printf("\nAll of them take these options:\n\n");
    markdown_options(prog_global_options);
    for (const prog_command *const *c = prog_commands; *c != NULL; c++)
        markdown_command(*c);
}

void prog_generate(size_t generator, const prog_command *command) {
    void (*const generators[])(void) = {program_page, markdown, prog_complete_bash, prog_complete_zsh,
                                        prog_complete_fish};

    if (generator == 0 && command != NULL)
        command_page(command);
    else
        generators[generator]();
}
