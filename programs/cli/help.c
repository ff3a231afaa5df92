/* SPDX-License-Identifier: Apache-2.0 */
/*
 * help.c - help on standard output, 80 columns, from the tables.
 */
#include <stdio.h>
#include <string.h>

#include "cli/program.h"

enum { LINE_WIDTH = 80, HELP_COLUMN = 26 };

size_t prog_example_length(const char *text) {
    size_t length = 0;

    while (strncmp(text + length, "    ", 4) == 0) {
        length += strcspn(text + length, "\n");
        length += strspn(text + length, "\n") > 0;
    }
    return length;
}

/*
 * Write words from column on, broken before LINE_WIDTH. An empty line in text ends a paragraph; examples are written as
 * they are.
 */
static void wrap(const char *text, size_t indent, size_t column) {
    while (*text != '\0') {
        size_t length = strcspn(text, " \n");
        size_t blanks;

        if (column > indent && column + 1 + length > LINE_WIDTH) {
            (void)printf("\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            (void)putchar(' ');
            column++;
        }
        (void)printf("%.*s", (int)length, text);
        column += length;
        text += length;
        blanks = strspn(text, " \n");
        if (blanks >= 2 && text[0] == '\n' && text[1] == '\n') {
            const size_t example = prog_example_length(text + 2);

            (void)printf("\n\n");
            if (example != 0) {
                (void)printf("%.*s\n", (int)example, text + 2);
                text += 2 + example;
                blanks = strspn(text, "\n");
            }
            (void)printf("%*s", (int)indent, "");
            column = indent;
        }
        text += blanks;
    }
    (void)putchar('\n');
}

/* "  left        text", the text wrapped in its own column. */
static void line(const char *left, const char *text) {
    size_t width = strlen(left) + 2;

    (void)printf("  %s", left);
    if (width + 2 > HELP_COLUMN)
        (void)printf("\n%*s", HELP_COLUMN, "");
    else
        (void)printf("%*s", (int)(HELP_COLUMN - width), "");
    wrap(text, HELP_COLUMN, HELP_COLUMN);
}

void prog_option_text(const prog_option *o, char *text, size_t size) {
    if (o->fallback == NULL)
        (void)snprintf(text, size, "%s", o->help);
    else
        (void)snprintf(text, size, "%s (default: %s%s%s)", o->help, o->fallback, o->special != NULL ? "; " : "",
                       o->special != NULL ? o->special : "");
}

static void options(const char *title, const prog_option *table) {
    (void)printf("\n%s\n", title);
    for (const prog_option *o = table; prog_option_is(o); o++) {
        char left[96];
        char text[512];
        char letter[8] = "    ";

        if (o->hidden)
            continue;
        if (o->heading != NULL)
            (void)printf("\n%s:\n", o->heading);
        if (o->letter != 0)
            (void)snprintf(letter, sizeof letter, "-%c%s", o->letter, o->name != NULL ? ", " : "");
        (void)snprintf(left, sizeof left, "%s%s%s%s%s", letter, o->name != NULL ? "--" : "",
                       o->name != NULL ? o->name : "", o->value != NULL ? " " : "", o->value != NULL ? o->value : "");
        prog_option_text(o, text, sizeof text);
        line(left, text);
    }
}

static void usage(const prog_command *command) {
    for (const char *const *u = command->usages; u != NULL && *u != NULL; u++)
        (void)printf("%-7s%s %s %s %s\n", u == command->usages ? "Usage:" : "", prog_self.name, command->noun,
                     command->verb, *u);
    if (command->usages != NULL)
        return;
    (void)printf("Usage: %s %s%s%s", prog_self.name, command->noun, command->verb != NULL ? " " : "",
                 command->verb != NULL ? command->verb : "");
    for (const prog_argument *a = command->arguments; a->name != NULL; a++)
        (void)printf(a->required ? " %s" : " [%s]", a->name);
    for (const prog_option *o = command->options.table; prog_option_is(o); o++) {
        if (o->required && o->letter != 0)
            (void)printf(" -%c %s", o->letter, o->value);
        else if (o->required)
            (void)printf(" --%s %s", o->name, o->value);
    }
    (void)printf(" [options]\n");
}

static void command_help(const prog_command *command) {
    usage(command);
    (void)putchar('\n');
    wrap(command->text, 0, 0);
    if (command->arguments->name != NULL)
        (void)printf("\nArguments:\n");
    for (const prog_argument *a = command->arguments; a->name != NULL; a++)
        line(a->name, a->help);
    if (prog_option_is(command->options.table))
        options("Options:", command->options.table);
    options("Options of every command:", prog_global_options);
    (void)printf("\nExamples:\n");
    for (const char *const *e = command->examples; *e != NULL; e++)
        (void)printf("  %s\n", *e);
}

static void command_lines(const char *noun) {
    for (const prog_command *const *c = prog_commands; *c != NULL; c++) {
        char left[64];

        if (noun != NULL && strcmp((*c)->noun, noun) != 0)
            continue;
        (void)snprintf(left, sizeof left, "%s%s%s", (*c)->noun, (*c)->verb != NULL ? " " : "",
                       (*c)->verb != NULL ? (*c)->verb : "");
        line(left, (*c)->summary);
    }
}

void prog_help(const program *run) {
    if (run->command != NULL) {
        command_help(run->command);
        return;
    }
    if (run->noun != NULL) {
        (void)printf("Usage: %s %s VERB [options]\n\nCommands:\n", prog_self.name, run->noun);
        command_lines(run->noun);
        (void)printf("\n%s %s VERB --help shows a command's arguments and options.\n", prog_self.name, run->noun);
        return;
    }
    (void)printf("Usage: %s %s [options]\n\n", prog_self.name, prog_self.words);
    wrap(prog_self.about, 0, 0);
    (void)printf("\nCommands:\n");
    command_lines(NULL);
    options("Options of every command:", prog_global_options);
    (void)putchar('\n');
    wrap("--help shows a command's arguments and options. Results go to standard output or to -o, "
         "everything else to standard error. Exit codes: 0 done, 1 the work failed, 2 wrong usage.",
         0, (size_t)printf("%s %s", prog_self.name, prog_self.words));
}
