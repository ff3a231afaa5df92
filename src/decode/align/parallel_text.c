/* SPDX-License-Identifier: Apache-2.0 */
/* parallel_text.c - reading two texts side by side; pairs that cannot be learned from are skipped. */
#include "align/parallel_text.h"

#include <inttypes.h>
#include <string.h>

#include <thresher/words.h>

#include "base/error.h"
#include "io/reader.h"

static const char EMPTY[] = "<empty>"; /* a word of the texts has no < before other letters */

/* A line split into words. */
typedef struct split_line {
    char *text;
    size_t capacity, length, n_words;
} split_line;

static thr_status split(thr_context *context, const char *line, size_t length, split_line *out, thr_error *err) {
    const size_t n = thr_words_split(line, length, NULL, 0);
    THR_TRY(thr_grow(context, &out->text, &out->capacity, n + 1, 1, "a line", err));
    out->length = thr_words_split(line, length, out->text, n + 1);
    out->n_words = n > 0;
    for (const char *at = out->text; (at = memchr(at, ' ', (size_t)(out->text + n - at))) != NULL; at++)
        out->n_words++;
    return THR_OK;
}

static thr_status add_word(thr_context *context, thr_align_side *side, const char *word, size_t length,
                           thr_error *err) {
    THR_TRY(
        thr_grow(context, &side->words, &side->words_capacity, side->n_words + 1, sizeof *side->words, "a text", err));
    return thr_dictionary_add(context, &side->dictionary, word, length, &side->words[side->n_words++], NULL, err);
}

static thr_status add_line(thr_context *context, thr_align_side *side, const split_line *line, uint64_t sentence,
                           thr_error *err) {
    const char *at = line->text, *const end = at + line->length;
    for (size_t i = 0; i < line->n_words; i++) {
        const char *space = memchr(at, ' ', (size_t)(end - at));
        space = space != NULL ? space : end;
        THR_TRY(add_word(context, side, at, (size_t)(space - at), err));
        at = space + 1;
    }
    THR_TRY(thr_grow(context, &side->starts, &side->starts_capacity, (size_t)sentence + 2, sizeof *side->starts,
                     "a text", err));
    side->starts[sentence + 1] = side->n_words;
    return THR_OK;
}

static thr_status add_pair(thr_context *context, const split_line lines[2], thr_align_text *c, thr_error *err) {
    for (int i = 0; i < 2; i++)
        if (lines[i].n_words == 0 || lines[i].n_words > THR_ALIGN_MOST_WORDS) {
            c->n_skipped++;
            return THR_OK;
        }
    THR_TRY(add_word(context, &c->source, EMPTY, sizeof EMPTY - 1, err));
    THR_TRY(add_line(context, &c->source, &lines[0], c->n_pairs, err));
    THR_TRY(add_line(context, &c->target, &lines[1], c->n_pairs, err));
    c->n_pairs++;
    return THR_OK;
}

/* Read until both texts end. lines: scratch. */
static thr_status read_pairs(thr_context *context, thr_reader *const readers[2], split_line lines[2], thr_align_text *c,
                             thr_error *err) {
    for (uint64_t n = 0;; n++) {
        const char *line[2];
        for (int i = 0; i < 2; i++) {
            size_t length;
            THR_TRY(thr_reader_next_line(readers[i], &line[i], &length, err));
            if (line[i] != NULL)
                THR_TRY(split(context, line[i], length, &lines[i], err));
        }
        if (line[0] == NULL && line[1] == NULL)
            return THR_OK;
        if (line[0] == NULL || line[1] == NULL)
            return thr_fail(
                err, THR_EDIM, "%s ends after %" PRIu64 " lines and %s does not: each line needs a translation",
                thr_io_reader_name(readers[line[0] != NULL]), n, thr_io_reader_name(readers[line[0] == NULL]));
        THR_TRY(add_pair(context, lines, c, err));
    }
}

thr_status thr_align_text_read(thr_context *context, const char *source, const char *target, thr_align_text *c,
                               thr_error *err) {
    thr_reader *readers[2] = {NULL, NULL};
    split_line lines[2] = {{.text = NULL}, {.text = NULL}};
    thr_align_side *const sides[2] = {&c->source, &c->target};
    thr_status status = THR_OK;
    for (int i = 0; i < 2; i++) {
        THR_TRY_OUT(thr_grow(context, &sides[i]->starts, &sides[i]->starts_capacity, 1, sizeof *sides[i]->starts,
                             "a text", err));
        sides[i]->starts[0] = 0;
    }
    THR_TRY_OUT(thr_reader_open_lines(context, source, 0, &readers[0], err));
    THR_TRY_OUT(thr_reader_open_lines(context, target, 0, &readers[1], err));
    THR_TRY_OUT(read_pairs(context, readers, lines, c, err));
    if (c->n_pairs == 0)
        status = thr_fail(err, THR_EDIM, "%s and %s have no pair of lines of 1 to %d words", source, target,
                          THR_ALIGN_MOST_WORDS);
out:
    for (int i = 0; i < 2; i++) {
        thr_reader_free(readers[i]);
        thr_release(context, lines[i].text);
    }
    return status;
}

void thr_align_text_free(thr_context *context, thr_align_text *c) {
    thr_align_side *const sides[2] = {&c->source, &c->target};
    for (int i = 0; i < 2; i++) {
        thr_dictionary_free(context, &sides[i]->dictionary);
        THR_RELEASE(context, sides[i]->words, sides[i]->starts);
    }
    *c = (thr_align_text){.n_pairs = 0};
}
