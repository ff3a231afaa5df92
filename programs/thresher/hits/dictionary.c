/* SPDX-License-Identifier: Apache-2.0 */
#include "hits/dictionary.h"

#include <stdlib.h>
#include <string.h>

#include "cli/messages.h"
#include "cli/program.h"

enum { FIRST_SLOTS = 1024 };

/* FNV-1a. */
static uint64_t hash_of(const char *word) {
    uint64_t hash = 0xcbf29ce484222325u;

    for (; *word != '\0'; word++)
        hash = (hash ^ (unsigned char)*word) * 0x100000001b3u;
    return hash;
}

/* The slot of a word, or the empty one where it belongs. */
static uint32_t *slot_of(const prog_dictionary *d, const char *word) {
    size_t at = (size_t)hash_of(word) & (d->n_slots - 1);

    while (d->slots[at] != 0 && strcmp(d->words[d->slots[at] - 1], word) != 0)
        at = (at + 1) & (d->n_slots - 1);
    return &d->slots[at];
}

/* Double the room. */
static bool grow(prog_dictionary *d, size_t n_parts) {
    const size_t n_slots = d->n_slots > 0 ? 2 * d->n_slots : FIRST_SLOTS;
    char **words = realloc(d->words, n_slots / 2 * sizeof *words);
    d->words = words != NULL ? words : d->words;
    uint32_t *features = realloc(d->features, n_slots / 2 * n_parts * sizeof *features);
    d->features = features != NULL ? features : d->features;
    uint32_t *slots = calloc(n_slots, sizeof *slots);

    if (words == NULL || features == NULL || slots == NULL) {
        free(slots);
        return false;
    }
    free(d->slots);
    d->slots = slots;
    d->n_slots = n_slots;
    for (size_t i = 0; i < d->n; i++)
        *slot_of(d, d->words[i]) = (uint32_t)i + 1;
    return true;
}

int prog_dictionary_number(prog_dictionary *d, const prog_hits_parts *parts, const char *word, uint32_t *number) {
    if (2 * d->n >= d->n_slots && !grow(d, parts->n))
        return prog_no_memory();
    uint32_t *slot = slot_of(d, word);

    if (*slot == 0) {
        d->words[d->n] = strdup(word);
        if (d->words[d->n] == NULL)
            return prog_no_memory();
        for (size_t i = 0; i < parts->n; i++)
            if (!thr_hits_feature(parts->parts[i].hits, word, &d->features[d->n * parts->n + i]))
                d->features[d->n * parts->n + i] = UINT32_MAX;
        *slot = (uint32_t)++d->n;
    }
    *number = *slot - 1;
    return PROG_DONE;
}

void prog_dictionary_clear(prog_dictionary *d) {
    for (size_t i = 0; i < d->n; i++)
        free(d->words[i]);
    free(d->words);
    free(d->features);
    free(d->slots);
    *d = (prog_dictionary){.n = 0};
}
