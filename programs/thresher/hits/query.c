/* SPDX-License-Identifier: Apache-2.0 */
#include "hits/query.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/messages.h"

/* Without memory each array keeps its content. */
static bool more_words(prog_hits_batch *b, size_t n) {
    size_t *words = realloc(b->words, n * sizeof *words);
    b->words = words != NULL ? words : b->words;
    uint32_t *features = realloc(b->features, n * sizeof *features);
    b->features = features != NULL ? features : b->features;
    uint32_t *numbers = realloc(b->numbers, n * sizeof *numbers);
    b->numbers = numbers != NULL ? numbers : b->numbers;
    uint32_t *own = realloc(b->own, n * sizeof *own);
    b->own = own != NULL ? own : b->own;
    float *weights = realloc(b->weights, n * sizeof *weights);
    b->weights = weights != NULL ? weights : b->weights;
    b->capacity = n;
    return words != NULL && features != NULL && numbers != NULL && own != NULL && weights != NULL;
}

static bool more_text(prog_hits_batch *b, size_t n) {
    char *text = realloc(b->text, n);
    b->text = text != NULL ? text : b->text;
    b->text_capacity = n;
    return text != NULL;
}

static bool more_queries(prog_hits_batch *b, size_t n) {
    uint64_t *offsets = realloc(b->offsets, (n + 1) * sizeof *offsets);
    b->offsets = offsets != NULL ? offsets : b->offsets;
    b->queries_capacity = n;
    return offsets != NULL;
}

/* Reserve memory for one more query, from a line of this length. */
static bool reserve(prog_hits_batch *b, size_t length) {
    const size_t n = b->n + length / 2 + 1; /* most words in a line of this length */
    if (n > b->capacity && !more_words(b, 2 * n))
        return false;
    if (b->text_size + length + 1 > b->text_capacity && !more_text(b, 2 * (b->text_size + length + 1)))
        return false;
    return b->n_queries < b->queries_capacity || more_queries(b, 2 * b->n_queries + 16);
}

bool prog_hits_weight(const char *word, const char **colon, float *weight) {
    char *end = NULL;
    *colon = strrchr(word, ':');
    if (*colon == NULL || *colon == word || (*colon)[1] == '\0')
        return false;
    *weight = strtof(*colon + 1, &end);
    return *end == '\0';
}

/* Parse a word with a fingerprint; false for other words. */
static bool take_model(const char *word, uint64_t *model) {
    const size_t begin = strlen(PROG_HITS_MODEL_WORD);
    if (strncmp(word, PROG_HITS_MODEL_WORD, begin) != 0 || strlen(word + begin) != PROG_HITS_MODEL_DIGITS ||
        strspn(word + begin, "0123456789abcdef") != PROG_HITS_MODEL_DIGITS)
        return false;
    *model = strtoull(word + begin, NULL, 16);
    return true;
}

/* The feature of word i in a part; UINT32_MAX if the part does not have it. */
static uint32_t feature_in(const prog_hits_batch *b, const prog_hits_parts *parts, size_t i, size_t part) {
    return b->dictionary.features[(size_t)b->numbers[i] * parts->n + part];
}

/* Whether the text before the last colon of an unknown word is a feature: what follows was meant as a weight. */
static bool has_bad_weight(const prog_hits_parts *parts, char *word) {
    char *colon = strrchr(word, ':');
    uint32_t feature;
    if (colon == NULL || colon == word)
        return false;
    *colon = '\0';
    const bool is_feature = prog_hits_parts_feature(parts, word, &feature);
    *colon = ':';
    return is_feature;
}

/* "word:2.5" has weight 2.5. Text after the last colon that is not a number is part of the word. */
static int take_word(prog_hits_batch *b, const prog_hits_parts *parts, const char *name, char *word) {
    const char *colon;
    float weight = 1;
    const bool weighed = prog_hits_weight(word, &colon, &weight);
    if (weighed)
        word[colon - word] = '\0';
    else
        weight = 1;
    if (!isfinite(weight)) {
        prog_error("%s: the weight of %.200s is not a finite number", name, word);
        return PROG_FAILED;
    }
    b->words[b->n] = (size_t)(word - b->text);
    b->weights[b->n] = weight;
    if (prog_dictionary_number(&b->dictionary, parts, word, &b->numbers[b->n]) != PROG_DONE)
        return PROG_FAILED;
    b->features[b->n] = UINT32_MAX;
    for (size_t part = 0; part < parts->n && b->features[b->n] == UINT32_MAX; part++)
        b->features[b->n] = feature_in(b, parts, b->n, part);
    if (b->features[b->n] == UINT32_MAX && !weighed && has_bad_weight(parts, word)) {
        prog_error("%s: the weight of %.200s is not a number: write a number after the last colon", name, word);
        return PROG_FAILED;
    }
    b->n++;
    return PROG_DONE;
}

int prog_hits_batch_add(prog_hits_batch *batch, const prog_hits_parts *parts, const char *name, const char *line,
                        size_t length, uint64_t *model) {
    int rc = PROG_DONE;
    if (!reserve(batch, length))
        return prog_no_memory();
    char *text = batch->text + batch->text_size, *state = NULL;
    memcpy(text, line, length);
    text[length] = '\0';
    batch->text_size += length + 1;
    batch->offsets[batch->n_queries] = batch->n;
    *model = 0;
    char *const first = text + strspn(text, " \t");
    for (char *word = strtok_r(text, " \t", &state); word != NULL && rc == PROG_DONE;
         word = strtok_r(NULL, " \t", &state))
        if (word != first || !take_model(word, model))
            rc = take_word(batch, parts, name, word);
    batch->offsets[++batch->n_queries] = batch->n;
    return rc;
}

thr_hits_queries prog_hits_batch_of(prog_hits_batch *b, const prog_hits_parts *parts, size_t part) {
    for (size_t i = 0; i < b->n; i++)
        b->own[i] = feature_in(b, parts, i, part);
    return (thr_hits_queries){b->n_queries, b->offsets, b->own, b->weights};
}

void prog_hits_batch_clear(prog_hits_batch *batch) {
    batch->n = batch->n_queries = batch->text_size = 0;
    if (batch->dictionary.n > PROG_DICTIONARY_MOST)
        prog_dictionary_clear(&batch->dictionary);
}

prog_hits_query prog_hits_batch_query(const prog_hits_batch *b, size_t i) {
    const size_t at = (size_t)b->offsets[i];
    return (prog_hits_query){b->text, b->words + at, b->features + at, b->weights + at, (size_t)b->offsets[i + 1] - at};
}

void prog_hits_batch_free(prog_hits_batch *batch) {
    free(batch->text);
    free(batch->words);
    free(batch->numbers);
    free(batch->features);
    prog_dictionary_clear(&batch->dictionary);
    free(batch->own);
    free(batch->weights);
    free(batch->offsets);
    *batch = (prog_hits_batch){.n = 0};
}
