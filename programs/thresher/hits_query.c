/* SPDX-License-Identifier: Apache-2.0 */
#include "hits_query.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "talk.h"

static int reserve(prog_hits_query *q, size_t length) {
    const size_t n = length / 2 + 1; /* words a line of this length can have */
    if (length + 1 > q->text_capacity) {
        free(q->text);
        q->text_capacity = 2 * (length + 1);
        q->text = malloc(q->text_capacity);
    }
    if (n > q->capacity) {
        free(q->words);
        free(q->features);
        free(q->weights);
        q->capacity = 2 * n;
        q->words = malloc(q->capacity * sizeof *q->words);
        q->features = malloc(q->capacity * sizeof *q->features);
        q->weights = malloc(q->capacity * sizeof *q->weights);
    }
    if (q->text != NULL && q->words != NULL && q->features != NULL && q->weights != NULL)
        return PROG_DONE;
    prog_hits_query_free(q);
    (void)prog_no_memory();
    return PROG_FAILED;
}

/* Cut a number from behind a word's last colon. What stands there and is none belongs to the word. */
static float take_weight(char *word) {
    char *colon = strrchr(word, ':'), *end = NULL;
    if (colon == NULL || colon == word || colon[1] == '\0')
        return 1;
    const float weight = strtof(colon + 1, &end);
    if (*end != '\0')
        return 1;
    *colon = '\0';
    return weight;
}

/* The fingerprint that a word says; false where it is another word. */
static bool take_model(const char *word, uint64_t *model) {
    const size_t begin = strlen(PROG_HITS_MODEL_WORD);
    if (strncmp(word, PROG_HITS_MODEL_WORD, begin) != 0 || strlen(word + begin) != PROG_HITS_MODEL_DIGITS ||
        strspn(word + begin, "0123456789abcdef") != PROG_HITS_MODEL_DIGITS)
        return false;
    *model = strtoull(word + begin, NULL, 16);
    return true;
}

int prog_hits_query_read(prog_hits_query *query, const thr_hits *hits, const char *name, const char *line,
                         size_t length) {
    const int rc = reserve(query, length);
    if (rc != PROG_DONE)
        return rc;
    memcpy(query->text, line, length);
    query->text[length] = '\0';
    query->n = 0;
    query->model = 0;
    char *state = NULL;
    for (char *word = strtok_r(query->text, " \t", &state); word != NULL; word = strtok_r(NULL, " \t", &state)) {
        if (word == query->text + strspn(line, " \t") && take_model(word, &query->model))
            continue;
        const float weight = take_weight(word);
        if (!isfinite(weight)) {
            prog_error("%s: the weight of %.200s is no finite number", name, word);
            return PROG_FAILED;
        }
        query->words[query->n] = word;
        query->weights[query->n] = weight;
        if (!thr_hits_feature(hits, word, &query->features[query->n]))
            query->features[query->n] = UINT32_MAX;
        query->n++;
    }
    return PROG_DONE;
}

void prog_hits_query_free(prog_hits_query *query) {
    free(query->text);
    free(query->words);
    free(query->features);
    free(query->weights);
    *query = (prog_hits_query){.n = 0};
}
