/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target.c - evaluates a target, an expression of features with AND, OR, NOT and parentheses, to bits by place.
 *
 *   any     is  all {OR all}
 *   all     is  one {AND one}
 *   one     is  NOT one, or (any), or a word, or "a word" in quotes
 *
 * Each rule fills a bitmap of whole windows. Their nesting is limited, and with it the memory.
 */
#include <string.h>

#include "base/error.h"
#include "hits/hits.h"
#include "select/bitmap.h"

enum { MAX_DEPTH = 64 };

typedef enum kind { END, OPEN, CLOSE, AND, OR, NOT, WORD } kind;

typedef struct parser {
    const thr_hits *hits;
    const char *text, *next; /* next: the text after the token */
    kind kind;               /* of the token */
    const char *start;       /* of the token, or its word */
    size_t length;           /* of the word */
    size_t n_words;          /* of a bitmap of whole windows */
    uint32_t depth;
    char *word; /* capacity: the longest word and a zero byte */
    thr_hits_target *target;
    size_t unknown_bytes; /* of the target's unknown words */
    thr_error *err;
} parser;

static thr_status wrong(const parser *p, const char *what) {
    return thr_fail(p->err, THR_EINVAL, "target '%.200s', character %zu: %s", p->text, (size_t)(p->start - p->text) + 1,
                    what);
}

/* ------------------------------------------------------------------------------------------------ tokens */

static kind kind_of(const char *word, size_t length) {
    static const struct {
        const char *word;
        kind kind;
    } words[] = {{"AND", AND}, {"OR", OR}, {"NOT", NOT}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i].word) == length && memcmp(words[i].word, word, length) == 0)
            return words[i].kind;
    return WORD;
}

static thr_status advance(parser *p) {
    p->start = p->next + strspn(p->next, " \t\n");
    p->length = 0;
    if (*p->start == '\0' || *p->start == '(' || *p->start == ')') {
        p->kind = *p->start == '\0' ? END : *p->start == '(' ? OPEN : CLOSE;
        p->next = p->start + (p->kind != END);
    } else if (*p->start == '"') {
        const char *end = strchr(p->start + 1, '"');
        if (end == NULL)
            return wrong(p, "the quotes are not closed");
        p->kind = WORD;
        p->length = (size_t)(end - ++p->start);
        p->next = end + 1;
    } else {
        p->length = strcspn(p->start, " \t\n()\"");
        p->next = p->start + p->length;
        p->kind = kind_of(p->start, p->length);
    }
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ evaluation */

static thr_status take_any(parser *p, uint64_t *out);

static void mark(const thr_lists *lists, uint32_t feature, uint64_t *out) {
    const uint32_t f = thr_lists_find(lists, feature);
    if (f < lists->n_features)
        thr_lists_mark(lists, f, out);
}

/*
 * Append a word that no item has. The words with their zero bytes fit into the expression's length, since a blank,
 * quote or parenthesis separates them.
 */
static void keep_unknown(parser *p) {
    memcpy(p->target->unknown + p->unknown_bytes, p->word, p->length + 1);
    p->unknown_bytes += p->length + 1;
    p->target->n_unknown++;
}

static thr_status take_word(parser *p, uint64_t *out) {
    uint32_t feature;
    memset(out, 0, p->n_words * sizeof *out);
    memcpy(p->word, p->start, p->length);
    p->word[p->length] = '\0';
    if (thr_hits_number(p->hits, p->word, &feature) && thr_hits_has_feature(p->hits, feature)) {
        mark(&p->hits->view.contents.lists, feature, out);
        if (p->hits->delta != NULL)
            mark(&p->hits->delta->built.lists, feature, out + thr_hits_file_words(p->hits));
    } else if (p->hits->view.contents.words.offsets == NULL && p->word[strspn(p->word, "0123456789")] != '\0') {
        return wrong(p, "a word, but the features of these posting lists are numbers");
    } else {
        keep_unknown(p);
    }
    return advance(p);
}

/* The advice for a token where AND, OR or the end is expected. */
static const char *advice(const parser *p, const char *otherwise) {
    static const char *const known[][2] = {{"and", "write AND in capitals"},
                                           {"or", "write OR in capitals"},
                                           {"not", "write AND NOT in capitals"},
                                           {"&&", "write AND"},
                                           {"&", "write AND"},
                                           {"||", "write OR"},
                                           {"|", "write OR"},
                                           {"And", "write AND in capitals"},
                                           {"Or", "write OR in capitals"}};
    for (size_t i = 0; p->kind == WORD && i < sizeof known / sizeof known[0]; i++)
        if (strlen(known[i][0]) == p->length && memcmp(known[i][0], p->start, p->length) == 0)
            return known[i][1];
    return p->kind == WORD && strchr("<>=!", *p->start) != NULL
               ? "a target does not compare values: name features that items have, such as price=low"
               : otherwise;
}

static thr_status take_one(parser *p, uint64_t *out) {
    if (p->kind == NOT || p->kind == OPEN) {
        const bool negated = p->kind == NOT;
        if (++p->depth > MAX_DEPTH)
            return wrong(p, "NOT and parentheses are nested more than 64 deep");
        THR_TRY(advance(p));
        THR_TRY(negated ? take_one(p, out) : take_any(p, out));
        p->depth--;
        for (size_t w = 0; negated && w < p->n_words; w++)
            out[w] = ~out[w];
        if (negated)
            return THR_OK;
        return p->kind == CLOSE ? advance(p) : wrong(p, advice(p, "a parenthesis is not closed"));
    }
    return p->kind == WORD ? take_word(p, out) : wrong(p, "a feature, NOT or ( is expected");
}

/* Operands separated by one kind of operator. */
static thr_status take_joined(parser *p, kind op, thr_status (*take)(parser *, uint64_t *), uint64_t *out) {
    thr_status status = THR_OK;
    uint64_t *other = NULL;
    THR_TRY_OUT(take(p, out));
    while (p->kind == op) {
        if (other == NULL)
            THR_TRY_OUT(thr_alloc(p->hits->context, p->n_words, sizeof *other, &other, "a target", p->err));
        THR_TRY_OUT(advance(p));
        THR_TRY_OUT(take(p, other));
        for (size_t w = 0; w < p->n_words; w++)
            out[w] = op == AND ? out[w] & other[w] : out[w] | other[w];
    }
out:
    thr_release(p->hits->context, other);
    return status;
}

static thr_status take_all(parser *p, uint64_t *out) {
    return take_joined(p, AND, take_one, out);
}

static thr_status take_any(parser *p, uint64_t *out) {
    return take_joined(p, OR, take_all, out);
}

static thr_status evaluate(parser *p, uint64_t *out) {
    THR_TRY(thr_alloc(p->hits->context, strlen(p->text) + 1, 1, &p->word, "a target", p->err));
    thr_status status = advance(p);
    if (status == THR_OK)
        status = take_any(p, out);
    if (status == THR_OK && p->kind != END)
        status = wrong(p, advice(p, "AND, OR or the end is expected"));
    thr_release(p->hits->context, p->word);
    return status;
}

/* ------------------------------------------------------------------------------------------------ targets */

thr_status thr_hits_target_create(thr_hits *hits, const char *expression, thr_hits_target **out, thr_error *err) {
    thr_status status = THR_OK;
    thr_hits_target *target = NULL;
    if (out != NULL)
        *out = NULL;
    if (hits == NULL || expression == NULL || out == NULL)
        return thr_fail(err, THR_EINVAL, "a target needs posting lists, an expression, and a pointer for the result");
    parser p = {.hits = hits, .text = expression, .next = expression, .err = err};
    p.n_words = thr_hits_n_words(hits);
    THR_TRY(thr_hits_check_unchanged(hits, err));
    THR_TRY(thr_alloc_zero(hits->context, 1, sizeof *target, &target, "a target", err));
    target->context = thr_context_retain(hits->context);
    target->hits = hits;
    p.target = target;
    THR_TRY_OUT(thr_alloc(hits->context, p.n_words, sizeof *target->words, &target->words, "a target", err));
    THR_TRY_OUT(thr_alloc(hits->context, strlen(expression) + 1, 1, &target->unknown, "a target", err));
    THR_TRY_OUT(evaluate(&p, target->words));
    for (size_t w = 0; thr_hits_live_rows(hits) != NULL && w < thr_hits_file_words(hits); w++)
        target->words[w] &= thr_hits_live_rows(hits)[w];
    const uint64_t *added = hits->delta == NULL ? NULL : hits->delta->added_live;
    for (size_t w = thr_hits_file_words(hits); added != NULL && w < p.n_words; w++)
        target->words[w] &= added[w - thr_hits_file_words(hits)];
    target->n_items = thr_bitmap_count(target->words, hits->view.contents.lists.n_items) +
                      thr_bitmap_count(target->words + thr_hits_file_words(hits), thr_hits_n_added(hits));
out:
    status = thr_hits_check_after(hits, status, err);
    THR_RETURN_MADE(status, target, out, thr_hits_target_free);
}

void thr_hits_target_free(thr_hits_target *target) {
    if (target == NULL)
        return;
    thr_context *context = target->context; /* target->hits may be freed already */
    THR_RELEASE(context, target->words, target->unknown, target);
    thr_context_free(context);
}

uint64_t thr_hits_target_count(const thr_hits_target *target) {
    return target->n_items;
}

const char *thr_hits_target_unknown(const thr_hits_target *target, size_t i) {
    const char *word = target->unknown;
    if (i >= target->n_unknown)
        return NULL;
    while (i-- > 0)
        word += strlen(word) + 1;
    return word;
}
