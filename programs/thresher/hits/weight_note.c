/* SPDX-License-Identifier: Apache-2.0 */
#include "hits/weight_note.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hits/query.h"
#include "cli/messages.h"

/* Whether a line's features, separated by blanks, contain the word. */
static bool holds(const char *line, const char *word) {
    const size_t length = strlen(word);
    for (const char *at = line; (at = strstr(at, word)) != NULL; at++)
        if ((at == line || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

/* The line of a table, from 1, whose features contain the word; 0 if it cannot be read again. */
static uint64_t find_line(const program *run, const char *table, const char *word) {
    const size_t size = strlen(table) + sizeof ":2";
    char *column = table[0] == '-' ? NULL : malloc(size);
    thr_reader *reader = NULL;
    const char *line = NULL;
    uint64_t number = 0;
    size_t length;
    bool found = false;
    if (column == NULL)
        return 0;
    (void)snprintf(column, size, "%s:2", table);
    if (thr_reader_open(run->context, column, &reader, NULL) == THR_OK)
        while (!found && thr_reader_next_line(reader, &line, &length, NULL) == THR_OK && line != NULL) {
            found = holds(line, word);
            number++;
        }
    thr_reader_free(reader);
    free(column);
    return found ? number : 0;
}

void prog_hits_note_weighed(const program *run, const thr_hits *hits, uint64_t first, const char *table) {
    const char *shown = NULL, *word, *colon;
    uint64_t n = 0;
    float weight;
    char where[32] = "";
    for (uint64_t f = first; (word = thr_hits_word(hits, (uint32_t)f)) != NULL; f++) {
        if (!prog_hits_weight(word, &colon, &weight))
            continue;
        shown = shown == NULL ? word : shown;
        n++;
    }
    if (n == 0)
        return;
    const uint64_t line = find_line(run, table, shown);
    if (line > 0)
        (void)snprintf(where, sizeof where, "line %" PRIu64 ": ", line);
    prog_note("%s: %sitem features have no weights, so %.200s is one feature, number included; to match it, write "
              "%.200s:1 in a query (%s)",
              table, where, shown, shown, prog_counted(n, "such feature").text);
}
