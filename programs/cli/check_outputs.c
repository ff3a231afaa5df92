/* SPDX-License-Identifier: Apache-2.0 */
/* check_outputs.c - check, by the tables of arguments and options, that no output of a command is one of its inputs. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/output.h"
#include "cli/program.h"
#include "cli/messages.h"

static const char *value_at(const program *run, size_t offset) {
    return *(const char *const *)((const char *)run->values + offset);
}

static int check_input(const char *output, const char *input) {
    thr_error err = {.status = THR_OK};

    return thr_output_check_input(output, input, &err) == THR_OK ? PROG_DONE : prog_failed(&err);
}

static int check_arguments(const program *run, const char *output) {
    int rc = PROG_DONE;

    for (const prog_argument *a = run->command->arguments; a->name != NULL && rc == PROG_DONE; a++) {
        const prog_list *list = (const void *)((const char *)run->values + a->offset);

        if (a->names == PROG_NAMES_FILE && !a->many)
            rc = check_input(output, value_at(run, a->offset));
        for (size_t i = 0; a->names == PROG_NAMES_FILE && a->many && i < list->n && rc == PROG_DONE; i++)
            rc = check_input(output, list->items[i]);
    }
    return rc;
}

static bool find_directory(const char *path, size_t length, struct stat *status) {
    char name[4096];

    if (length >= sizeof name)
        return false;
    (void)snprintf(name, sizeof name, "%.*s", (int)length, path);
    return stat(length > 0 ? name : ".", status) == 0;
}

/* Files that do not exist are the same if their directories and last name components are. */
static bool have_one_place(const char *a, const char *b) {
    const char *a_slash = strrchr(a, '/'), *b_slash = strrchr(b, '/');
    const char *a_name = a_slash != NULL ? a_slash + 1 : a, *b_name = b_slash != NULL ? b_slash + 1 : b;
    struct stat a_status, b_status;

    return strcmp(a_name, b_name) == 0 && find_directory(a, (size_t)(a_name - a), &a_status) &&
           find_directory(b, (size_t)(b_name - b), &b_status) && a_status.st_dev == b_status.st_dev &&
           a_status.st_ino == b_status.st_ino;
}

bool prog_is_one_file(const char *a, const char *b) {
    return have_one_place(a, b) || thr_output_check_input(a, b, NULL) != THR_OK;
}

static bool is_same(const char *a, const char *b) {
    return b != NULL && prog_is_one_file(a, b);
}

static int check_option(const program *run, const prog_option *output) {
    const char *path = value_at(run, output->offset);
    int rc = path == NULL ? PROG_DONE : check_arguments(run, path);

    for (const prog_option *o = run->command->options.table; path != NULL && prog_option_is(o) && rc == PROG_DONE;
         o++) {
        if (o->kind == PROG_TEXT && o->names == PROG_NAMES_FILE)
            rc = check_input(path, value_at(run, o->offset));
        if (o->names != PROG_NAMES_OUTPUT || o >= output || !is_same(path, value_at(run, o->offset)))
            continue;
        prog_error("%s %s: is already the output of %s: choose another name", prog_spell(output).text, path,
                   prog_spell(o).text);
        rc = PROG_FAILED;
    }
    return rc;
}

int prog_check_outputs(const program *run) {
    int rc = PROG_DONE;

    for (const prog_option *o = run->command->options.table; prog_option_is(o) && rc == PROG_DONE; o++)
        if (o->names == PROG_NAMES_OUTPUT)
            rc = check_option(run, o);
    return rc;
}
