/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bleu_grams.c - count the n-grams of 1 to 4 tokens that a hypothesis shares with its references, by sorting.
 *
 * Equal tokens get equal numbers. The key of an n-gram combines the number of its first n - 1 tokens' gram with that
 * of its last token. After sorting, equal n-grams are adjacent, grouped by source, and numbered in turn. An n-gram's
 * matches are the smaller of its count in the hypothesis and its largest count in a reference.
 */
#include <stdlib.h>
#include <string.h>

#include "base/minmax.h"
#include "base/text/utf8.h"
#include "metric/bleu_sentence.h"

/* ------------------------------------------------------------------------------------------------ tokens */

/* array: the address of a pointer. */
static bool grow(void *array, size_t capacity, size_t size) {
    void *memory;
    memcpy(&memory, array, sizeof memory);
    memory = realloc(memory, capacity * size);
    if (memory != NULL)
        memcpy(array, &memory, sizeof memory);
    return memory != NULL;
}

static bool make_room(thr_bleu_room *room) {
    if (room->n_tokens < room->capacity)
        return true;
    const size_t capacity = room->capacity + room->capacity / 2 + 64;
    if (!grow(&room->tokens, capacity, sizeof *room->tokens) || !grow(&room->grams, capacity, sizeof *room->grams) ||
        !grow(&room->words, capacity, sizeof *room->words) || !grow(&room->runs, capacity, sizeof *room->runs))
        return false;
    room->capacity = capacity;
    return true;
}

static bool add_token(thr_bleu_room *room, const char *text, const char *end, uint32_t source) {
    if (room->n_tokens == UINT32_MAX || !make_room(room))
        return false;
    room->tokens[room->n_tokens] = (thr_bleu_token){
        .text = text, .length = (size_t)(end - text), .source = source, .place = (uint32_t)room->n_tokens};
    room->n_tokens++;
    return true;
}

thr_status thr_metric_bleu_part(thr_bleu_room *room, uint32_t source) {
    const thr_bleu_bytes *bytes = &room->texts[source];
    const char *at = bytes->bytes, *end = at + bytes->n, *token = at;
    while (at < end) {
        const char *before = at;
        uint32_t letter = 0;
        (void)thr_utf8_next(&at, end, &letter);
        if (!thr_metric_is_blank(letter))
            continue;
        if (before > token && !add_token(room, token, before, source))
            return THR_ENOMEM;
        token = at;
    }
    return end == token || add_token(room, token, end, source) ? THR_OK : THR_ENOMEM;
}

static int by_text(const void *a, const void *b) {
    const thr_bleu_token *x = a, *y = b;
    const size_t both = THR_MIN(x->length, y->length);
    const int order = memcmp(x->text, y->text, both);
    return order != 0 ? order : (x->length > y->length) - (x->length < y->length);
}

static void number_tokens(thr_bleu_room *room) {
    uint32_t number = 0;
    qsort(room->tokens, room->n_tokens, sizeof *room->tokens, by_text);
    for (size_t i = 0; i < room->n_tokens; i++) {
        number += i > 0 && by_text(&room->tokens[i - 1], &room->tokens[i]) != 0;
        room->words[room->tokens[i].place] = number;
    }
}

/* ------------------------------------------------------------------------------------------------ runs */

static int by_key(const void *a, const void *b) {
    const thr_bleu_gram *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->source > y->source) - (x->source < y->source);
}

/*
 * Collect and sort the n-grams of an order; return their number. For orders above 1, runs holds the numbers of the
 * previous order.
 */
static size_t collect(thr_bleu_room *room, size_t order) {
    size_t n = 0;
    for (uint32_t source = 0; source < room->n_texts; source++)
        for (size_t i = room->first_of[source]; i + order <= room->first_of[source + 1]; i++)
            room->grams[n++] =
                (thr_bleu_gram){.key = (order == 1 ? 0 : (uint64_t)room->runs[i] << 32) | room->words[i + order - 1],
                                .source = source,
                                .place = (uint32_t)i};
    qsort(room->grams, n, sizeof *room->grams, by_key);
    return n;
}

/* Count the equal n-grams [i, end) in the hypothesis, clipped to the largest count in a reference. */
static uint64_t count_matches(const thr_bleu_gram *grams, size_t i, size_t end) {
    uint64_t wanted = 0, most = 0;
    for (; i < end && grams[i].source == 0; i++)
        wanted++;
    while (i < end) {
        const size_t first = i;
        while (i < end && grams[i].source == grams[first].source)
            i++;
        most = THR_MAX(i - first, most);
    }
    return THR_MIN(wanted, most);
}

static uint64_t count_order(thr_bleu_room *room, size_t order) {
    const size_t n = collect(room, order);
    uint64_t matches = 0;
    uint32_t number = 0;
    for (size_t i = 0; i < n; number++) {
        const size_t first = i;
        for (; i < n && room->grams[i].key == room->grams[first].key; i++)
            room->runs[room->grams[i].place] = number;
        matches += count_matches(room->grams, first, i);
    }
    return matches;
}

static uint64_t length_of(const thr_bleu_room *room, size_t source) {
    return room->first_of[source + 1] - room->first_of[source];
}

/* The length of the reference that is nearest in length; the shorter one on ties. */
static uint64_t nearest_length(const thr_bleu_room *room) {
    const uint64_t wanted = length_of(room, 0);
    uint64_t nearest = length_of(room, 1);
    for (size_t source = 2; source < room->n_texts; source++) {
        const uint64_t length = length_of(room, source);
        const uint64_t off = length > wanted ? length - wanted : wanted - length,
                       least = nearest > wanted ? nearest - wanted : wanted - nearest;
        if (off < least || (off == least && length < nearest))
            nearest = length;
    }
    return nearest;
}

void thr_metric_bleu_count(thr_bleu_room *room, thr_bleu_counts *counts) {
    *counts = (thr_bleu_counts){.hypothesis_length = length_of(room, 0), .reference_length = nearest_length(room)};
    if (counts->hypothesis_length > 0)
        number_tokens(room);
    for (size_t order = 1; order <= THR_BLEU_ORDER && order <= counts->hypothesis_length; order++) {
        counts->totals[order - 1] = counts->hypothesis_length - order + 1;
        counts->counts[order - 1] = count_order(room, order);
    }
}
