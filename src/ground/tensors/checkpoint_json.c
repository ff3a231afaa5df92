/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_json.c - the index of a sharded model, and what config.json states about its output layer. */
#include "tensors/checkpoint.h"

#include <string.h>

#include "base/error.h"
#include "base/text/json.h"

/* ------------------------------------------------------------------------------------------------ the index */

typedef struct index_reader {
    thr_context *context;
    thr_json json;
    thr_shard_index *index;
    size_t n_strings, capacity;
} index_reader;

/* Strings are decoded one after the other: together they are shorter than the text. */
static thr_status read_string(index_reader *r, const char **string, thr_error *err) {
    size_t length = 0;
    THR_TRY(thr_json_take_string(&r->json, r->index->strings + r->n_strings, &length, err));
    *string = r->index->strings + r->n_strings;
    r->n_strings += length + 1;
    return THR_OK;
}

static thr_status read_entry(index_reader *r, thr_error *err) {
    thr_shard_entry entry;
    THR_TRY(read_string(r, &entry.name, err));
    THR_TRY(thr_json_expect(&r->json, ':', "a colon was expected", err));
    THR_TRY(read_string(r, &entry.file, err));
    if (entry.file[0] == '\0' || strchr(entry.file, '/') != NULL)
        return thr_json_fail(&r->json, "a shard is not the name of a file in the index's directory", err);
    THR_TRY(thr_grow(r->context, &r->index->entries, &r->capacity, r->index->n + 1, sizeof *r->index->entries,
                     "an index of tensors", err));
    r->index->entries[r->index->n++] = entry;
    return THR_OK;
}

static thr_status read_map(index_reader *r, thr_error *err) {
    THR_TRY(thr_json_expect(&r->json, '{', "weight_map is not an object", err));
    if (thr_json_take(&r->json, '}'))
        return THR_OK;
    do
        THR_TRY(read_entry(r, err));
    while (thr_json_take(&r->json, ','));
    return thr_json_expect(&r->json, '}', "weight_map has no end", err);
}

thr_status thr_tensors_index_read(thr_context *context, const char *name, const void *text, size_t size,
                                  thr_shard_index *index, thr_error *err) {
    index_reader r = {.context = context, .json = thr_json_of(name, text, size), .index = index};
    const char *key = NULL;
    *index = (thr_shard_index){.strings = NULL};
    THR_TRY(thr_alloc(context, size, 1, &index->strings, "names of tensors", err));
    THR_TRY(thr_json_expect(&r.json, '{', "no object", err));
    do {
        THR_TRY(read_string(&r, &key, err));
        THR_TRY(thr_json_expect(&r.json, ':', "a colon was expected", err));
        THR_TRY(strcmp(key, "weight_map") == 0 ? read_map(&r, err) : thr_json_skip(&r.json, err));
    } while (thr_json_take(&r.json, ','));
    THR_TRY(thr_json_expect(&r.json, '}', "the object has no end", err));
    if (!thr_json_at_end(&r.json))
        return thr_json_fail(&r.json, "something follows the object", err);
    return index->n > 0 ? THR_OK : thr_json_fail(&r.json, "weight_map lists no tensors", err);
}

void thr_tensors_index_free(thr_context *context, thr_shard_index *index) {
    THR_RELEASE(context, index->strings, index->entries);
    *index = (thr_shard_index){.strings = NULL};
}

/* ------------------------------------------------------------------------------------------------ config.json */

static const char tie_key[] = "tie_word_embeddings", text_key[] = "text_config";

/* Read true or false; other values state nothing. */
static thr_status read_tie(thr_json *json, thr_tying *tying, thr_error *err) {
    if (thr_json_take_word(json, "true"))
        *tying = THR_TYING_TIED;
    else if (thr_json_take_word(json, "false"))
        *tying = THR_TYING_UNTIED;
    else
        return thr_json_skip(json, err);
    return THR_OK;
}

/* Read an object's tie_word_embeddings. *text is where the value of its text_config begins, if it has one. */
static thr_status read_object(thr_json *json, thr_tying *tying, thr_json *text, thr_error *err) {
    THR_TRY(thr_json_expect(json, '{', "no object", err));
    if (thr_json_take(json, '}'))
        return THR_OK;
    do {
        const bool is_tie = thr_json_take_key(json, tie_key), is_text = !is_tie && thr_json_take_key(json, text_key);
        if (!is_tie && !is_text) {
            THR_TRY(thr_json_skip(json, err));
            THR_TRY(thr_json_expect(json, ':', "a colon was expected", err));
        }
        if (is_text)
            *text = *json;
        THR_TRY(is_tie ? read_tie(json, tying, err) : thr_json_skip(json, err));
    } while (thr_json_take(json, ','));
    return thr_json_expect(json, '}', "the object has no end", err);
}

thr_status thr_tensors_config_read(const char *name, const void *bytes, size_t size, thr_tying *tying, thr_error *err) {
    thr_json json = thr_json_of(name, bytes, size), text = {.at = NULL}, ignored;
    thr_tying inner = THR_TYING_WHOLE;
    *tying = THR_TYING_WHOLE;
    THR_TRY(read_object(&json, tying, &text, err));
    if (!thr_json_at_end(&json))
        return thr_json_fail(&json, "something follows the object", err);
    if (text.at != NULL && thr_json_take(&text, '{')) {
        text.at--;
        THR_TRY(read_object(&text, &inner, &ignored, err));
    }
    *tying = inner != THR_TYING_WHOLE ? inner : *tying;
    return THR_OK;
}
