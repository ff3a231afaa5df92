/* SPDX-License-Identifier: Apache-2.0 */
#include "head/input.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "input/ids.h"
#include "input/input.h"
#include "cli/program.h"
#include "cli/messages.h"

enum { ROWS_AT_ONCE = 4096 };

/* ------------------------------------------------------------------------------------------------ floats */

static int add_rows(prog_floats *floats, const thr_matrix *rows, uint64_t *room) {
    const uint64_t wanted = floats->n_rows + rows->n_rows;

    if (wanted > *room) {
        const uint64_t twice = 2 * wanted;
        if (twice > SIZE_MAX / sizeof *floats->items / rows->n_dims)
            return prog_no_memory();
        float *larger = realloc(floats->items, (size_t)twice * rows->n_dims * sizeof *larger);
        if (larger == NULL)
            return prog_no_memory();
        floats->items = larger;
        *room = twice;
    }
    if (thr_matrix_to_f32(rows, 0, rows->n_rows, floats->items + floats->n_rows * rows->n_dims) != THR_OK)
        return PROG_FAILED;
    floats->n_rows = wanted;
    return PROG_DONE;
}

int prog_floats_read(prog_floats *floats, thr_context *context, const char *path, const char *what, uint64_t most) {
    thr_reader *reader = NULL;
    uint64_t room = 0;
    int rc = prog_input_open(context, path, &reader);

    *floats = (prog_floats){.items = NULL};
    if (rc != PROG_DONE)
        return rc;
    floats->n_dims = thr_reader_get_shape(reader).n_dims;
    if (thr_reader_get_shape(reader).dtype == THR_DTYPE_NONE) {
        prog_error("%s holds text; %s are numbers", path, what);
        rc = PROG_FAILED;
    }
    while (floats->n_rows < most) {
        const uint64_t left = most - floats->n_rows;
        thr_matrix rows;

        if (!prog_input_next_rows(reader, left < ROWS_AT_ONCE ? left : ROWS_AT_ONCE, &rows, &rc))
            break;
        rc = add_rows(floats, &rows, &room);
    }
    thr_reader_free(reader);
    return rc;
}

void prog_floats_free(prog_floats *floats) {
    free(floats->items);
    floats->items = NULL;
}

/* ------------------------------------------------------------------------------------------------ words */

static int add_word(prog_head_words *words, uint64_t word, uint64_t *room, const char *path) {
    if (word > UINT32_MAX) {
        prog_error("%s: number %" PRIu64 " is %" PRIu64 ", which is not a word", path, words->n, word);
        return PROG_FAILED;
    }
    if (words->n == *room) {
        const uint64_t wanted = *room > 0 ? 2 * *room : ROWS_AT_ONCE;
        uint32_t *larger = realloc(words->items, (size_t)wanted * sizeof *larger);
        if (larger == NULL)
            return prog_no_memory();
        words->items = larger;
        *room = wanted;
    }
    words->items[words->n++] = (uint32_t)word;
    return PROG_DONE;
}

static int read_lines(prog_head_words *words, thr_reader *reader, const char *path) {
    uint64_t room = 0, word;
    const char *line;
    size_t length;
    int rc = PROG_DONE;

    for (uint64_t n = 1; prog_input_next_line(reader, &line, &length, &rc); n++) {
        if (!prog_read_count(line, &word)) {
            prog_error("%s: line %" PRIu64 " is not the number of a word (the first word is 0)", path, n);
            return PROG_FAILED;
        }
        rc = add_word(words, word, &room, path);
    }
    return rc;
}

static int read_numbers(prog_head_words *words, thr_context *context, const char *path) {
    prog_ids ids;
    uint64_t room = 0;
    int rc = prog_ids_read(&ids, context, path);

    for (uint64_t i = 0; rc == PROG_DONE && i < ids.n_rows * ids.n_columns; i++)
        rc = add_word(words, ids.ids[i], &room, path);
    prog_ids_free(&ids);
    return rc;
}

int prog_head_words_read(prog_head_words *words, thr_context *context, const char *path) {
    thr_reader *reader = NULL;
    int rc = prog_input_open(context, path, &reader);

    *words = (prog_head_words){.items = NULL};
    if (rc != PROG_DONE)
        return rc;
    const bool text = thr_reader_get_shape(reader).dtype == THR_DTYPE_NONE;

    if (text)
        rc = read_lines(words, reader, path);
    thr_reader_free(reader);
    return text ? rc : read_numbers(words, context, path);
}

/* Read a number at *at, and advance. false if there is none, or it is too large. */
static bool take_number(const char **at, uint64_t *number) {
    char *end = NULL;

    if (**at < '0' || **at > '9')
        return false;
    *number = strtoull(*at, &end, 10);
    *at = end;
    return *number <= UINT32_MAX;
}

int prog_head_words_take(prog_head_words *words, thr_context *context, const char *text) {
    uint64_t room = 0, first = 0, last = 0;
    const char *at = text;
    int rc = PROG_DONE;

    *words = (prog_head_words){.items = NULL};
    if (strspn(text, "0123456789,-") < strlen(text) || text[0] == '-' || access(text, F_OK) == 0)
        return prog_head_words_read(words, context, text);
    do {
        bool is_good = take_number(&at, &first);

        last = first;
        if (is_good && *at == '-') {
            at++;
            is_good = take_number(&at, &last) && last >= first && last - first < THR_HEAD_MAX_WORDS;
        }
        if (!is_good || (*at != '\0' && *at != ',')) {
            prog_error("%s: is neither a file nor a list of words such as 0,7,1000-1023", text);
            return PROG_FAILED;
        }
        for (uint64_t word = first; word <= last && rc == PROG_DONE; word++)
            rc = add_word(words, word, &room, text);
    } while (rc == PROG_DONE && *at++ == ',');
    return rc;
}

/* ------------------------------------------------------------------------------------------------ lists */

/* Add the numbers of a line. */
static int add_list(prog_head_lists *lists, const char *line, uint64_t *room, const char *path) {
    char word[32]; /* longer than any number */

    for (const char *at = line + strspn(line, " \t"); *at != '\0'; at += strspn(at, " \t")) {
        const size_t length = strcspn(at, " \t");
        uint64_t number = UINT64_MAX;

        (void)snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word), at);
        if (length >= sizeof word || !prog_read_count(word, &number)) {
            prog_error("%s: line %" PRIu64 " has '%s', which is not the number of a word (the first word is 0)", path,
                       lists->lists.n + 1, word);
            return PROG_FAILED;
        }
        const int rc = add_word(&lists->words, number, room, path);
        if (rc != PROG_DONE)
            return rc;
        at += length;
    }
    return PROG_DONE;
}

static int add_start(prog_head_lists *lists, uint64_t *room) {
    if (lists->lists.n + 2 > *room) {
        uint64_t *larger = realloc(lists->starts, (size_t)(2 * *room + ROWS_AT_ONCE) * sizeof *larger);
        if (larger == NULL)
            return prog_no_memory();
        lists->starts = larger;
        *room = 2 * *room + ROWS_AT_ONCE;
    }
    lists->starts[lists->lists.n] = lists->words.n;
    return PROG_DONE;
}

int prog_head_lists_read(prog_head_lists *lists, thr_context *context, const char *path) {
    thr_reader *reader = NULL;
    thr_error err = {.status = THR_OK};
    const char *line = NULL;
    size_t length = 0;
    uint64_t room = 0, starts_room = 0;
    int rc = thr_reader_open_lines(context, path, 0, &reader, &err) == THR_OK ? PROG_DONE : prog_failed(&err);

    *lists = (prog_head_lists){.starts = NULL};
    if (rc == PROG_DONE)
        rc = add_start(lists, &starts_room);
    while (prog_input_next_line(reader, &line, &length, &rc)) {
        rc = add_list(lists, line, &room, path);
        lists->lists.n++;
        if (rc == PROG_DONE)
            rc = add_start(lists, &starts_room);
    }
    thr_reader_free(reader);
    lists->lists.starts = lists->starts;
    lists->lists.words = lists->words.items;
    return rc;
}

void prog_head_lists_free(prog_head_lists *lists) {
    prog_head_words_free(&lists->words);
    free(lists->starts);
    lists->starts = NULL;
}

void prog_head_words_free(prog_head_words *words) {
    free(words->items);
    words->items = NULL;
}
