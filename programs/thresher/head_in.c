/* SPDX-License-Identifier: Apache-2.0 */
#include "head_in.h"

#include <inttypes.h>
#include <stdlib.h>

#include "ids.h"
#include "program.h"
#include "talk.h"

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

int prog_floats_read(prog_floats *floats, thr_context *context, const char *path, const char *what) {
    thr_error err = {.status = THR_OK};
    thr_reader *reader = NULL;
    uint64_t room = 0;
    int rc = PROG_DONE;

    *floats = (prog_floats){.items = NULL};
    if (thr_reader_open(context, path, &reader, &err) != THR_OK)
        return prog_failed(&err);
    floats->n_dims = thr_reader_get_shape(reader).n_dims;
    if (thr_reader_get_shape(reader).dtype == THR_DTYPE_NONE) {
        prog_error("%s holds text; %s are numbers", path, what);
        rc = PROG_FAILED;
    }
    while (rc == PROG_DONE) {
        thr_matrix rows;
        if (thr_reader_next(reader, ROWS_AT_ONCE, &rows, &err) != THR_OK)
            rc = prog_failed(&err);
        else if (rows.n_rows == 0)
            break;
        else
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
    thr_error err = {.status = THR_OK};
    uint64_t room = 0, word;

    for (uint64_t n = 1;; n++) {
        const char *line;
        size_t length;
        if (thr_reader_next_line(reader, &line, &length, &err) != THR_OK)
            return prog_failed(&err);
        if (line == NULL)
            return PROG_DONE;
        if (!prog_read_count(line, &word)) {
            prog_error("%s: line %" PRIu64 " is not the number of a word (the first word is 0)", path, n);
            return PROG_FAILED;
        }
        const int rc = add_word(words, word, &room, path);
        if (rc != PROG_DONE)
            return rc;
    }
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
    thr_error err = {.status = THR_OK};
    thr_reader *reader = NULL;

    *words = (prog_head_words){.items = NULL};
    if (thr_reader_open(context, path, &reader, &err) != THR_OK)
        return prog_failed(&err);
    const bool text = thr_reader_get_shape(reader).dtype == THR_DTYPE_NONE;
    const int rc = text ? read_lines(words, reader, path) : PROG_DONE;
    thr_reader_free(reader);
    return text ? rc : read_numbers(words, context, path);
}

void prog_head_words_free(prog_head_words *words) {
    free(words->items);
    words->items = NULL;
}
