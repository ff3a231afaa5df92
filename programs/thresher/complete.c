/* SPDX-License-Identifier: Apache-2.0 */
/*
 * complete.c - completion for bash, zsh and fish, from the tables.
 */
#include <stdio.h>
#include <string.h>

#include "commands.h"

/* The verb's part of "index build"; nothing for a noun that is a command itself. */
static const char *blank(const prog_command *command) {
    return command->verb != NULL ? " " : "";
}

static const char *verb(const prog_command *command) {
    return command->verb != NULL ? command->verb : "";
}

/* Text within single quotes of a shell; also_escape gets a backslash in front. */
static void quoted(const char *text, const char *also_escape) {
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '\'')
            (void)fputs("'\\''", stdout);
        else if (strchr(also_escape, *c) != NULL)
            (void)printf("\\%c", *c);
        else
            (void)putchar(*c);
    }
}

static void choices(const prog_option *option) {
    for (const char *const *c = option->choices; *c != NULL; c++)
        (void)printf("%s%s", c == option->choices ? "" : " ", *c);
}

/* ------------------------------------------------------------------------------------------------ bash */

/* "--output -o", with a separator between the two. */
static void bash_spellings(const prog_option *o, const char *separator) {
    if (o->name != NULL)
        (void)printf("--%s", o->name);
    if (o->name != NULL && o->letter != 0)
        (void)printf("%s", separator);
    if (o->letter != 0)
        (void)printf("-%c", o->letter);
}

/* Case branches over the previous word: completions of an option's value. */
static void bash_values(const prog_option *table) {
    for (const prog_option *o = table; prog_option_is(o); o++) {
        if (o->hidden || o->kind == PROG_FLAG)
            continue;
        (void)printf("        ");
        bash_spellings(o, "|");
        if (o->choices != NULL) {
            (void)printf(") _thresher_words \"");
            choices(o);
            (void)printf("\"; return ;;\n");
        } else if (o->names == PROG_NAMES_NOTHING) {
            (void)printf(") return ;;\n");
        } else {
            (void)printf(") _thresher_files %s; return ;;\n", o->names == PROG_NAMES_DIR ? "-d" : "-f");
        }
    }
}

static void bash_list(const prog_option *table) {
    for (const prog_option *o = table; prog_option_is(o); o++) {
        if (o->hidden)
            continue;
        (void)putchar(' ');
        bash_spellings(o, " ");
    }
}

void prog_complete_bash(void) {
    (void)printf("# SPDX-License-Identifier: Apache-2.0\n"
                 "# bash completion for thresher\n\n"
                 "_thresher_words() {\n"
                 "    mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\")\n}\n\n"
                 "_thresher_files() {\n"
                 "    compopt -o filenames 2>/dev/null\n"
                 "    mapfile -t COMPREPLY < <(compgen \"$1\" -- \"$cur\")\n}\n\n"
                 "_thresher() {\n"
                 "    local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} noun= verb= options= i\n"
                 "    COMPREPLY=()\n"
                 "    # --metric=cosine comes as three words\n"
                 "    if [[ $cur == \"=\" ]]; then cur=; elif [[ $before == \"=\" ]]; then "
                 "before=${COMP_WORDS[COMP_CWORD - 2]}; fi\n"
                 "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
                 "        case ${COMP_WORDS[i]} in\n");
    for (const prog_option *o = prog_global_options; prog_option_is(o); o++) {
        if (o->hidden || o->kind == PROG_FLAG)
            continue;
        (void)printf("        ");
        bash_spellings(o, "|");
        (void)printf(") ((i++)) ;;\n");
    }
    (void)printf("        -*) ;;\n"
                 "        *) if [[ -z $noun ]]; then noun=${COMP_WORDS[i]}; elif [[ -z $verb ]]; then "
                 "verb=${COMP_WORDS[i]}; fi ;;\n"
                 "        esac\n    done\n    case $before in\n");
    bash_values(prog_global_options);
    (void)printf("    esac\n    case \"$noun $verb\" in\n");
    for (const prog_command *const *c = prog_commands; *c != NULL; c++) {
        (void)printf("    \"%s %s\"%s)\n        options=\"", (*c)->noun, verb(*c), (*c)->verb == NULL ? "*" : "");
        bash_list((*c)->options.table);
        (void)printf("\"\n        case $before in\n");
        bash_values((*c)->options.table);
        (void)printf("        esac ;;\n");
    }
    (void)printf("    \" \") [[ $cur == -* ]] || { _thresher_words \"");
    for (const prog_noun *n = prog_nouns; n->name != NULL; n++)
        (void)printf("%s%s", n == prog_nouns ? "" : " ", n->name);
    (void)printf("\"; return; } ;;\n");
    for (const prog_noun *n = prog_nouns; n->name != NULL; n++) {
        bool first = true;

        for (const prog_command *const *c = prog_commands; *c != NULL; c++) {
            if (strcmp((*c)->noun, n->name) != 0 || (*c)->verb == NULL)
                continue;
            if (first)
                (void)printf("    \"%s \") [[ $cur == -* ]] || { _thresher_words \"", n->name);
            (void)printf("%s%s", first ? "" : " ", (*c)->verb);
            first = false;
        }
        if (!first)
            (void)printf("\"; return; } ;;\n");
    }
    (void)printf("    esac\n    if [[ $cur == -* ]]; then\n        _thresher_words \"$options");
    bash_list(prog_global_options);
    (void)printf("\"\n    else\n        _thresher_files -f\n    fi\n}\n\ncomplete -F _thresher thresher\n");
}

/* ------------------------------------------------------------------------------------------------ zsh */

static void zsh_option(const prog_option *o, bool by_letter) {
    (void)printf("        '%s", o->kind == PROG_LIST ? "*" : "");
    if (by_letter)
        (void)printf("-%c%s", o->letter, o->kind != PROG_FLAG ? "+" : "");
    else
        (void)printf("--%s%s", o->name, o->kind != PROG_FLAG ? "=" : "");
    (void)putchar('[');
    quoted(o->help, "[]:\\");
    (void)putchar(']');
    if (o->kind != PROG_FLAG) {
        (void)putchar(':');
        quoted(o->value, ":\\");
        (void)putchar(':');
        if (o->choices != NULL) {
            (void)putchar('(');
            choices(o);
            (void)putchar(')');
        } else if (o->names != PROG_NAMES_NOTHING) {
            (void)printf("%s", o->names == PROG_NAMES_DIR ? "_files -/" : "_files");
        }
    }
    (void)printf("'\n");
}

static void zsh_options(const prog_option *table) {
    for (const prog_option *o = table; prog_option_is(o); o++) {
        if (o->hidden)
            continue;
        if (o->letter != 0)
            zsh_option(o, true);
        if (o->name != NULL)
            zsh_option(o, false);
    }
}

/* An array of "word:what it means". noun NULL: all nouns. */
static void zsh_words(const char *noun) {
    if (noun == NULL) {
        for (const prog_noun *n = prog_nouns; n->name != NULL; n++) {
            (void)printf(" '%s:", n->name);
            quoted(n->summary, ":\\");
            (void)putchar('\'');
        }
        return;
    }
    for (const prog_command *const *c = prog_commands; *c != NULL; c++) {
        if (strcmp((*c)->noun, noun) != 0)
            continue;
        (void)printf(" '%s:", (*c)->verb);
        quoted((*c)->summary, ":\\");
        (void)putchar('\'');
    }
}

static bool is_command(const char *noun) {
    for (const prog_command *const *c = prog_commands; *c != NULL; c++)
        if (strcmp((*c)->noun, noun) == 0 && (*c)->verb == NULL)
            return true;
    return false;
}

void prog_complete_zsh(void) {
    (void)printf("#compdef thresher\n# SPDX-License-Identifier: Apache-2.0\n\n_thresher() {\n"
                 "    local -a words_here every\n    local command\n    integer n\n    every=(\n");
    zsh_options(prog_global_options);
    (void)printf("    )\n    if (( CURRENT == 2 )); then\n        words_here=(");
    zsh_words(NULL);
    (void)printf(" )\n        [[ $words[2] == -* ]] && { _arguments -s $every; return }\n"
                 "        _describe command words_here\n        return\n    fi\n    case $words[2] in\n");
    for (const prog_noun *n = prog_nouns; n->name != NULL; n++) {
        if (is_command(n->name)) {
            (void)printf("    %s) command=$words[2]; n=1 ;;\n", n->name);
            continue;
        }
        (void)printf("    %s)\n        if (( CURRENT == 3 )); then\n            words_here=(", n->name);
        zsh_words(n->name);
        (void)printf(" )\n            _describe command words_here\n            return\n        fi\n"
                     "        command=\"$words[2] $words[3]\"; n=2 ;;\n");
    }
    (void)printf("    esac\n    shift n words\n    (( CURRENT -= n ))\n    case $command in\n");
    for (const prog_command *const *c = prog_commands; *c != NULL; c++) {
        (void)printf("    '%s%s%s') _arguments -s -S $every $_thresher_%s%s%s ;;\n", (*c)->noun, blank(*c), verb(*c),
                     (*c)->noun, (*c)->verb != NULL ? "_" : "", verb(*c));
    }
    (void)printf("    esac\n}\n");
    for (const prog_command *const *c = prog_commands; *c != NULL; c++) {
        size_t place = 1;

        (void)printf("\n_thresher_%s%s%s=(\n", (*c)->noun, (*c)->verb != NULL ? "_" : "", verb(*c));
        zsh_options((*c)->options.table);
        for (const prog_argument *a = (*c)->arguments; a->name != NULL; a++) {
            const char *files = a->names == PROG_NAMES_DIR ? "_files -/" : "_files";

            if (a->many)
                (void)printf("        '*:%s:%s'\n", a->name, files);
            else
                (void)printf("        '%zu:%s%s:%s'\n", place++, a->required ? "" : ":", a->name, files);
        }
        (void)printf(")\n");
    }
    (void)printf("\n_thresher \"$@\"\n");
}

/* ------------------------------------------------------------------------------------------------ fish */

static void fish_options(const prog_option *table, const char *condition) {
    for (const prog_option *o = table; prog_option_is(o); o++) {
        if (o->hidden)
            continue;
        (void)printf("complete -c thresher");
        if (condition[0] != '\0')
            (void)printf(" -n '%s'", condition);
        if (o->name != NULL)
            (void)printf(" -l %s", o->name);
        if (o->letter != 0)
            (void)printf(" -s %c", o->letter);
        if (o->choices != NULL) {
            (void)printf(" -x -a '");
            choices(o);
            (void)putchar('\'');
        } else if (o->kind != PROG_FLAG && o->names == PROG_NAMES_DIR) {
            (void)printf(" -x -a '(__fish_complete_directories)'");
        } else if (o->kind != PROG_FLAG) {
            (void)printf(" -%c", o->names != PROG_NAMES_NOTHING ? 'r' : 'x');
        }
        (void)printf(" -d '");
        quoted(o->help, "\\");
        (void)printf("'\n");
    }
}

void prog_complete_fish(void) {
    (void)printf("# SPDX-License-Identifier: Apache-2.0\n# fish completion for thresher\n\n"
                 "# The words before the cursor that are no options.\n"
                 "function __thresher_words\n    set -l words (commandline -opc)\n    set -e words[1]\n"
                 "    string match -v -- '-*' $words\nend\n\n"
                 "function __thresher_is\n    set -l words (__thresher_words)\n    set -l n (count $argv)\n"
                 "    test (count $words) -ge $n; and test \"$words[1..$n]\" = \"$argv\"\nend\n\n"
                 "function __thresher_wants_verb\n    set -l words (__thresher_words)\n"
                 "    test (count $words) -eq 1; and test \"$words[1]\" = $argv[1]\nend\n\n");
    for (const prog_noun *n = prog_nouns; n->name != NULL; n++) {
        (void)printf("complete -c thresher -f -n 'test (count (__thresher_words)) -eq 0' -a %s -d '", n->name);
        quoted(n->summary, "\\");
        (void)printf("'\n");
    }
    for (const prog_command *const *c = prog_commands; *c != NULL; c++) {
        char condition[96];

        if ((*c)->verb != NULL) {
            (void)printf("complete -c thresher -f -n '__thresher_wants_verb %s' -a %s -d '", (*c)->noun, (*c)->verb);
            quoted((*c)->summary, "\\");
            (void)printf("'\n");
        }
        (void)snprintf(condition, sizeof condition, "__thresher_is %s%s%s", (*c)->noun, blank(*c), verb(*c));
        fish_options((*c)->options.table, condition);
    }
    fish_options(prog_global_options, "");
}
