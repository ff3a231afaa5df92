/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/suggest.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

enum { LONGEST_WORD = 64 };

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Letters without their case; hyphens and underscores are one. */
static char fold(char c) {
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c == '_' ? '-' : c);
}

bool prog_is_spelling(const char *text, const char *word) {
    static const char *const types[][2] = {
        {"float32", "f32"}, {"float16", "f16"}, {"bfloat16", "bf16"}, {"int8", "i8"}, {"uint8", "u8"}};

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(text, types[i][0]) == 0 && strcmp(word, types[i][1]) == 0)
            return true;
    for (; *text != '\0' && (*text == *word || (*text == '_' && *word == '-')); text++)
        word++;
    return *text == '\0' && *word == '\0';
}

/* Edit distance with swaps of neighbours, by rows of the usual table; two rows back are needed for the swap. */
size_t prog_distance(const char *a, const char *b) {
    size_t rows[3][LONGEST_WORD + 1];
    size_t a_length = strlen(a);
    size_t b_length = strlen(b);

    if (a_length > LONGEST_WORD || b_length > LONGEST_WORD)
        return SIZE_MAX;
    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3];
        const size_t *two_above = rows[(i + 1) % 3];

        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            row[j] = above[j - 1] + (fold(a[i - 1]) != fold(b[j - 1]));
            row[j] = least(row[j], least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && fold(a[i - 1]) == fold(b[j - 2]) && fold(a[i - 2]) == fold(b[j - 1]))
                row[j] = least(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[a_length % 3][b_length];
}

prog_nearest prog_nearest_to(const char *wrong) {
    return (prog_nearest){.wrong = wrong, .best = NULL, .distance = SIZE_MAX};
}

/* Names in other programs for commands and options of this one. */
static bool is_other_name(const char *wrong, const char *word) {
    static const char *const names[][2] = {{"euclidean", "l2"},    {"euclid", "l2"}, {"sqeuclidean", "l2"},
                                           {"dot", "ip"},          {"inner", "ip"},  {"innerproduct", "ip"},
                                           {"inner_product", "ip"}};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcasecmp(wrong, names[i][0]) == 0 && strcmp(word, names[i][1]) == 0)
            return true;
    return false;
}

/* A word that extends the given one counts as one letter away; more than a third of the letters is too far. */
void prog_offer(prog_nearest *nearest, const char *word) {
    size_t length = strlen(nearest->wrong);
    size_t distance = prog_distance(nearest->wrong, word);

    if (length >= 2 && strncmp(nearest->wrong, word, length) == 0)
        distance = least(distance, 1);
    if (is_other_name(nearest->wrong, word)) {
        nearest->best = word;
        nearest->distance = 0;
        return;
    }
    if (distance > 1 + length / 3 || distance >= strlen(word) || distance >= nearest->distance)
        return;
    nearest->best = word;
    nearest->distance = distance;
}
