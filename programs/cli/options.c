/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/program.h"
#include "cli/suggest.h"
#include "cli/messages.h"

/* The most GPUs that the library uses, and the most digits of a number. */
enum { MAX_GPUS = 32, MAX_GPU_DIGITS = 4 };

/* ------------------------------------------------------------------------------------------------ numbers */

bool prog_read_count(const char *text, uint64_t *out) {
    uint64_t n = 0;

    if (*text == '\0')
        return false;
    for (const char *c = text; *c != '\0'; c++) {
        if (*c < '0' || *c > '9')
            return false;
        uint64_t digit = (uint64_t)(*c - '0');
        if (n > (UINT64_MAX - digit) / 10)
            return false;
        n = n * 10 + digit;
    }
    *out = n;
    return true;
}

bool prog_read_real(const char *text, double *out) {
    char *end = NULL;

    if (*text == '\0' || strspn(text, "+-.0123456789eE") != strlen(text))
        return false;
    errno = 0;
    *out = strtod(text, &end);
    return *end == '\0' && errno == 0 && isfinite(*out);
}

/* ------------------------------------------------------------------------------------------------ tables */

bool prog_option_is(const prog_option *option) {
    return option->name != NULL || option->letter != 0;
}

prog_spelling prog_spell(const prog_option *option) {
    prog_spelling spelling;

    if (option->name != NULL)
        (void)snprintf(spelling.text, sizeof spelling.text, "--%s", option->name);
    else
        (void)snprintf(spelling.text, sizeof spelling.text, "-%c", option->letter);
    return spelling;
}

static bool has_letter(const prog_option *option, char letter) {
    return option->letter != 0 && option->letter == letter;
}

static bool has_name(const prog_option *option, const char *name, size_t length) {
    return option->name != NULL && strlen(option->name) == length && strncmp(option->name, name, length) == 0;
}

/* Find an option by name, or by letter if name is NULL; the command's own come first. */
static const prog_option *find(const program *run, const char *name, size_t length, char letter) {
    const prog_option *tables[] = {run->command != NULL ? run->command->options.table : NULL, prog_global_options};

    for (size_t t = 0; t < 2; t++)
        for (const prog_option *o = tables[t]; o != NULL && prog_option_is(o); o++)
            if (name != NULL ? has_name(o, name, length) : has_letter(o, letter))
                return o;
    return NULL;
}

static bool is_global(const prog_option *option) {
    for (const prog_option *o = prog_global_options; prog_option_is(o); o++)
        if (o == option)
            return true;
    return false;
}

const char *prog_see_help(const program *run) {
    static char text[96];

    (void)snprintf(text, sizeof text, "see %s%s%s%s%s --help", prog_self.name, run->noun != NULL ? " " : "",
                   run->noun != NULL ? run->noun : "", run->command != NULL && run->command->verb != NULL ? " " : "",
                   run->command != NULL && run->command->verb != NULL ? run->command->verb : "");
    return text;
}

/* ------------------------------------------------------------------------------------------------ values */

/* Print that a value is none of the choices. meant: the choice to suggest; NULL: the one closest in spelling. */
static int wrong_choice(const prog_option *option, const char *text, const char *meant) {
    char all[256] = "";
    size_t used = 0;
    prog_nearest nearest = prog_nearest_to(text);

    for (const char *const *c = option->choices; *c != NULL; c++) {
        prog_offer(&nearest, *c);
        if (used < sizeof all)
            used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", used > 0 ? ", " : "", *c);
    }
    if (meant == NULL)
        meant = nearest.best;
    if (meant != NULL)
        prog_error("%s: \"%s\" is none of %s; did you mean %s?", prog_spell(option).text, text, all, meant);
    else
        prog_error("%s: \"%s\" is none of %s", prog_spell(option).text, text, all);
    return PROG_WRONG_WORDS;
}

static int store_choice(const prog_option *option, const char *text, size_t *out) {
    for (size_t i = 0; option->choices[i] != NULL; i++) {
        if (prog_is_spelling(text, option->choices[i])) {
            *out = i;
            return PROG_DONE;
        }
    }
    return wrong_choice(option, text, NULL);
}

/* Parse "0" or "0,2": GPU numbers, each once. Whether they exist is checked later. */
static bool are_gpu_numbers(const char *text) {
    uint64_t seen[MAX_GPUS];
    size_t n = 0;

    for (;; text++) {
        const size_t length = strspn(text, "0123456789");

        if (length == 0 || length > MAX_GPU_DIGITS || n == MAX_GPUS)
            return false;
        seen[n] = strtoull(text, NULL, 10);
        for (size_t i = 0; i < n; i++)
            if (seen[i] == seen[n])
                return false;
        n++;
        text += length;
        if (*text != ',')
            return *text == '\0';
    }
}

static int store_device(const prog_option *option, const char *text, const char **out) {
    const char *numbered = NULL;
    size_t length;

    *out = text;
    for (const char *const *c = option->choices; *c != NULL; c++) {
        if (strcmp(*c, text) == 0)
            return PROG_DONE;
        numbered = *c;
    }
    length = strlen(numbered);
    if (strncmp(text, numbered, length) == 0 && text[length] == ':') {
        if (are_gpu_numbers(text + length + 1))
            return PROG_DONE;
        prog_error("%s takes %s:N with the number of a GPU, or %s:0,2 with those of several, each once; not \"%s\"",
                   prog_spell(option).text, numbered, numbered, text);
        return PROG_WRONG_WORDS;
    }
    /* "gpu" is closest in spelling to "cpu", but means cuda */
    return wrong_choice(option, text, strncmp(text, "gpu", 3) == 0 ? numbered : NULL);
}

static int store_count(const prog_option *option, const char *text, uint64_t *out) {
    uint64_t most = option->most > 0 ? option->most : UINT64_MAX;

    if (option->word != NULL && strcmp(text, option->word) == 0) {
        *out = UINT64_MAX;
        return PROG_DONE;
    }
    if (prog_read_count(text, out) && *out >= option->least && *out <= most)
        return PROG_DONE;
    if (option->most > 0)
        prog_error("%s takes %s%sa whole number from %" PRIu64 " to %" PRIu64 ", not \"%s\"", prog_spell(option).text,
                   option->word != NULL ? option->word : "", option->word != NULL ? " or " : "", option->least,
                   option->most, text);
    else
        prog_error("%s takes a whole number, %" PRIu64 " or more, not \"%s\"", prog_spell(option).text, option->least,
                   text);
    return PROG_WRONG_WORDS;
}

static int store_real(const prog_option *option, const char *text, double *out) {
    const bool limited = option->most_real > 0.0;

    if (prog_read_real(text, out) &&
        (limited ? *out > option->least_real && *out <= option->most_real : *out >= option->least_real))
        return PROG_DONE;
    if (limited)
        prog_error("%s takes a number above %g and up to %g, not \"%s\"", prog_spell(option).text, option->least_real,
                   option->most_real, text);
    else if (option->least_real == (double)-INFINITY)
        prog_error("%s takes a number, not \"%s\"", prog_spell(option).text, text);
    else
        prog_error("%s takes a number, %g or more, not \"%s\"", prog_spell(option).text, option->least_real, text);
    return PROG_WRONG_WORDS;
}

static int append(prog_list *list, const char *text) {
    const char **items = realloc(list->items, (list->n + 1) * sizeof *items);

    if (items == NULL)
        return prog_no_memory();
    items[list->n] = text;
    list->items = items;
    list->n++;
    return PROG_DONE;
}

static void put_whole(void *place, size_t size, uint64_t n) {
    const uint32_t narrow = (uint32_t)n;

    memcpy(place, size == sizeof narrow ? (const void *)&narrow : (const void *)&n, size == 0 ? sizeof n : size);
}

static void put_real(void *place, size_t size, double x) {
    const float narrow = (float)x;

    memcpy(place, size == sizeof narrow ? (const void *)&narrow : (const void *)&x, size == 0 ? sizeof x : size);
}

/* Store text, NULL for a flag, as the option's value. */
static int store(program *run, const prog_option *option, const char *text) {
    void *place = (char *)(is_global(option) ? (void *)&run->globals : run->values) + option->offset;
    uint64_t count = 0;
    double real = 0;
    size_t choice = 0;
    int rc;

    switch (option->kind) {
    case PROG_FLAG:
        *(bool *)place = true;
        return PROG_DONE;
    case PROG_TEXT:
        *(const char **)place = text;
        return PROG_DONE;
    case PROG_LIST:
        return append(place, text);
    case PROG_COUNT:
        rc = store_count(option, text, &count);
        put_whole(place, option->size, count);
        return rc;
    case PROG_REAL:
        rc = store_real(option, text, &real);
        put_real(place, option->size, real);
        return rc;
    case PROG_CHOICE:
        rc = store_choice(option, text, &choice);
        put_whole(place, option->size, choice);
        return rc;
    case PROG_DEVICE:
        return store_device(option, text, place);
    }
    return PROG_FAILED;
}

/* Set the defaults before parsing. */
static int store_fallbacks(program *run, const prog_option *table) {
    for (const prog_option *o = table; prog_option_is(o); o++) {
        void *place = (char *)(is_global(o) ? (void *)&run->globals : run->values) + o->offset;

        if (o->kind == PROG_REAL)
            put_real(place, o->size, (double)NAN);
        if (o->kind == PROG_CHOICE)
            put_whole(place, o->size, PROG_NO_CHOICE);
        if (o->fallback != NULL && store(run, o, o->fallback) != PROG_DONE)
            return PROG_FAILED;
    }
    return PROG_DONE;
}

bool prog_is_given(const program *run, const char *name) {
    const prog_option *table = run->command->options.table;

    for (size_t i = 0; prog_option_is(&table[i]); i++)
        if (has_name(&table[i], name, strlen(name)) || (name[1] == '\0' && has_letter(&table[i], name[0])))
            return (run->given >> i & 1) != 0;
    return false;
}

void prog_note_unused(const program *run, const char *const *names, const char *when) {
    for (; *names != NULL; names++)
        if (prog_is_given(run, *names))
            prog_note("--%s has no effect %s", *names, when);
}

/* Check that an option does not exclude one that was given before. */
static int check_group(const program *run, const prog_option *option) {
    const prog_option *table = run->command->options.table;

    if (option->group == 0)
        return PROG_DONE;
    for (const prog_option *o = table; prog_option_is(o); o++) {
        if (o == option || o->group != option->group || (run->given >> (o - table) & 1) == 0)
            continue;
        prog_error("%s and %s exclude each other; %s", prog_spell(o).text, prog_spell(option).text, prog_see_help(run));
        return PROG_WRONG_WORDS;
    }
    return PROG_DONE;
}

/* Record that an option was given. */
static int mark(program *run, const prog_option *option) {
    if (run->command == NULL || is_global(option))
        return PROG_DONE;
    run->given |= UINT64_C(1) << (option - run->command->options.table);
    return check_group(run, option);
}

/* ------------------------------------------------------------------------------------------------ options */

static int unknown_option(const program *run, const char *word, size_t length) {
    char name[80];
    prog_nearest nearest;
    const prog_option *tables[] = {run->command != NULL ? run->command->options.table : NULL, prog_global_options};

    (void)snprintf(name, sizeof name, "%.*s", (int)(length < 70 ? length : 70), word);
    nearest = prog_nearest_to(name + (name[1] == '-' ? 2 : 1));
    for (size_t t = 0; t < 2; t++)
        for (const prog_option *o = tables[t]; o != NULL && prog_option_is(o); o++)
            if (o->name != NULL && !o->hidden)
                prog_offer(&nearest, o->name);
    if (nearest.best != NULL)
        prog_error("there is no option %s; did you mean --%s?", name, nearest.best);
    else if (run->command == NULL)
        prog_error("there is no option %s here; options of a command follow it; %s", name, prog_see_help(run));
    else
        prog_error("there is no option %s; %s", name, prog_see_help(run));
    return PROG_WRONG_WORDS;
}

/*
 * Get the value of an option: the rest of its word, or the next word. A next word that is a known long option means
 * that the value was forgotten.
 */
static int take_value(program *run, const prog_option *option, const char *attached, int *i, int argc, char **argv) {
    int rc = mark(run, option);

    if (rc != PROG_DONE)
        return rc;
    if (option->kind == PROG_FLAG)
        return store(run, option, NULL);
    if (attached == NULL) {
        const char *next = *i + 1 < argc ? argv[*i + 1] : NULL;
        if (next == NULL || (strncmp(next, "--", 2) == 0 && find(run, next + 2, strcspn(next + 2, "="), 0) != NULL)) {
            prog_error("%s needs a value: %s %s; %s", prog_spell(option).text, prog_spell(option).text, option->value,
                       prog_see_help(run));
            return PROG_WRONG_WORDS;
        }
        attached = next;
        *i += 1;
    }
    return store(run, option, attached);
}

static int read_long(program *run, int *i, int argc, char **argv) {
    const char *word = argv[*i];
    size_t length = strcspn(word + 2, "=");
    const prog_option *option = find(run, word + 2, length, 0);

    if (option == NULL)
        return unknown_option(run, word, length + 2);
    if (word[length + 2] == '\0')
        return take_value(run, option, NULL, i, argc, argv);
    if (option->kind == PROG_FLAG) {
        prog_error("%s takes no value; %s", prog_spell(option).text, prog_see_help(run));
        return PROG_WRONG_WORDS;
    }
    return take_value(run, option, word + length + 3, i, argc, argv);
}

static int read_letters(program *run, int *i, int argc, char **argv) {
    const char *word = argv[*i];

    for (const char *c = word + 1; *c != '\0'; c++) {
        const prog_option *option = find(run, NULL, 0, *c);
        int rc;

        if (option == NULL)
            return unknown_option(run, word, strlen(word));
        if (option->kind != PROG_FLAG && c[1] == '=') {
            prog_error("-%c=: leave out the =, as in -%c %s; %s", *c, *c, c + 2, prog_see_help(run));
            return PROG_WRONG_WORDS;
        }
        rc = take_value(run, option, option->kind != PROG_FLAG && c[1] != '\0' ? c + 1 : NULL, i, argc, argv);
        if (rc != PROG_DONE || option->kind != PROG_FLAG)
            return rc;
    }
    return PROG_DONE;
}

/* "-", "-.fvecs" and "-5" are arguments. */
static bool looks_like_option(const char *word) {
    return word[0] == '-' &&
           (word[1] == '-' || (word[1] >= 'a' && word[1] <= 'z') || (word[1] >= 'A' && word[1] <= 'Z'));
}

/* ------------------------------------------------------------------------------------------------ words */

static int choose(program *run, const prog_command *command) {
    run->command = command;
    run->values = calloc(1, command->values_size);
    if (run->values == NULL)
        return prog_no_memory();
    return store_fallbacks(run, command->options.table);
}

/* The first word is not a noun: a spelling mistake, or a verb without its noun. */
static int unknown_noun(const char *word) {
    prog_nearest nouns = prog_nearest_to(word);
    prog_nearest verbs = prog_nearest_to(word);
    const prog_command *by_verb = NULL;

    for (const prog_noun *n = prog_self.elsewhere; n != NULL && n->name != NULL; n++)
        if (strcmp(n->name, word) == 0) {
            prog_error("there is no command \"%s\": %s", word, n->summary);
            return PROG_WRONG_WORDS;
        }
    for (const prog_noun *n = prog_nouns; n->name != NULL; n++)
        prog_offer(&nouns, n->name);
    for (const prog_command *const *c = prog_commands; *c != NULL; c++) {
        const char *before = verbs.best;
        if ((*c)->verb != NULL)
            prog_offer(&verbs, (*c)->verb);
        if (verbs.best != before)
            by_verb = *c;
    }
    if (nouns.best != NULL && nouns.distance <= verbs.distance)
        prog_error("there is no command \"%s\"; did you mean %s %s?", word, prog_self.name, nouns.best);
    else if (by_verb != NULL)
        prog_error("there is no command \"%s\"; did you mean %s %s %s?", word, prog_self.name, by_verb->noun,
                   by_verb->verb);
    else
        prog_error("there is no command \"%s\"; see %s --help", word, prog_self.name);
    return PROG_WRONG_WORDS;
}

static int read_noun(program *run, const char *word) {
    for (const prog_noun *n = prog_nouns; n->name != NULL; n++)
        if (strcmp(n->name, word) == 0)
            run->noun = n->name;
    if (run->noun == NULL)
        return unknown_noun(word);
    for (const prog_command *const *c = prog_commands; *c != NULL; c++)
        if (strcmp((*c)->noun, word) == 0 && (*c)->verb == NULL)
            return choose(run, *c);
    return PROG_DONE;
}

/* word is NULL if the line ends before the verb. */
static int read_verb(program *run, const char *word) {
    char all[256] = "";
    size_t used = 0;
    prog_nearest nearest = prog_nearest_to(word != NULL ? word : "");

    for (const prog_command *const *c = prog_commands; *c != NULL; c++) {
        if (strcmp((*c)->noun, run->noun) != 0)
            continue;
        if (word != NULL && strcmp((*c)->verb, word) == 0)
            return choose(run, *c);
        prog_offer(&nearest, (*c)->verb);
        if (used < sizeof all)
            used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", used > 0 ? ", " : "", (*c)->verb);
    }
    if (word == NULL)
        prog_error("%s what? One of %s; %s", run->noun, all, prog_see_help(run));
    else if (nearest.best != NULL)
        prog_error("there is no command \"%s %s\"; did you mean %s %s %s?", run->noun, word, prog_self.name, run->noun,
                   nearest.best);
    else
        prog_error("there is no command \"%s %s\", only %s; %s", run->noun, word, all, prog_see_help(run));
    return PROG_WRONG_WORDS;
}

static int read_word(program *run, const char *word, size_t *n_arguments) {
    const prog_argument *arguments;

    if (run->command == NULL && strcmp(word, "help") == 0) { /* `thresher help index` is `thresher index --help` */
        run->globals.help = true;
        return PROG_DONE;
    }
    if (run->noun == NULL)
        return read_noun(run, word);
    if (run->command == NULL)
        return read_verb(run, word);
    arguments = run->command->arguments;
    for (size_t i = 0; i < *n_arguments && arguments->name != NULL; i++)
        arguments++;
    if (arguments->name == NULL) {
        prog_error("\"%s\" is one argument too many; %s", word, prog_see_help(run));
        return PROG_WRONG_WORDS;
    }
    if (word[0] == '\0') {
        prog_error("%s is empty; %s", arguments->name, prog_see_help(run));
        return PROG_WRONG_WORDS;
    }
    if (arguments->many)
        return append((prog_list *)(void *)((char *)run->values + arguments->offset), word);
    *(const char **)((char *)run->values + arguments->offset) = word;
    *n_arguments += 1;
    return PROG_DONE;
}

/* Check that all required arguments and options are given. */
static int check_complete(program *run) {
    if (run->noun == NULL) {
        prog_error("a command is missing; see %s --help", prog_self.name);
        return PROG_WRONG_WORDS;
    }
    if (run->command == NULL)
        return read_verb(run, NULL);
    for (const prog_argument *a = run->command->arguments; a->name != NULL; a++) {
        const void *place = (const char *)run->values + a->offset;

        if (a->required && (a->many ? ((const prog_list *)place)->n == 0 : *(const char *const *)place == NULL)) {
            prog_error("%s is missing; %s", a->name, prog_see_help(run));
            return PROG_WRONG_WORDS;
        }
    }
    for (const prog_option *o = run->command->options.table; prog_option_is(o); o++) {
        if (!o->required || (run->given >> (o - run->command->options.table) & 1) != 0)
            continue;
        if (o->letter != 0)
            prog_error("-%c %s is missing; %s", o->letter, o->value, prog_see_help(run));
        else
            prog_error("--%s %s is missing; %s", o->name, o->value, prog_see_help(run));
        return PROG_WRONG_WORDS;
    }
    return PROG_DONE;
}

int prog_parse(program *run, int argc, char **argv) {
    bool ended = false;
    size_t n_arguments = 0;
    int rc = store_fallbacks(run, prog_global_options);

    for (int i = 1; i < argc && rc == PROG_DONE; i++) {
        if (ended || !looks_like_option(argv[i]))
            rc = read_word(run, argv[i], &n_arguments);
        else if (strcmp(argv[i], "--") == 0)
            ended = true;
        else if (argv[i][1] == '-')
            rc = read_long(run, &i, argc, argv);
        else
            rc = read_letters(run, &i, argc, argv);
    }
    if (rc != PROG_DONE || run->globals.help || run->globals.version || run->globals.generate != PROG_NO_CHOICE)
        return rc;
    return check_complete(run);
}

void prog_parse_free(program *run) {
    if (run->values == NULL)
        return;
    for (const prog_option *o = run->command->options.table; prog_option_is(o); o++)
        if (o->kind == PROG_LIST)
            free((void *)((prog_list *)(void *)((char *)run->values + o->offset))->items);
    for (const prog_argument *a = run->command->arguments; a->name != NULL; a++)
        if (a->many)
            free((void *)((prog_list *)(void *)((char *)run->values + a->offset))->items);
    free(run->values);
    run->values = NULL;
}
