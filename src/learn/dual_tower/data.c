/* SPDX-License-Identifier: Apache-2.0 */
/* data.c - parsing ITEMS and REQUESTS files into word numbers. */
#include "dual_tower/data.h"

#include <inttypes.h>
#include <math.h>

#include "base/files/checksum.h"
#include "base/error.h"
#include "base/minmax.h"

enum { SHOWN = 80 };

/* ---------------------------------------------------------------------------------------- errors with file and line */

/* Prefix an error's message with the file and the line. */
static thr_status at_row(const thr_table *table, thr_status status, const thr_error *why, thr_error *err) {
    return thr_fail(err, status, "%s: line %" PRIu64 ": %s", thr_io_table_name(table), thr_io_table_row(table),
                    why->text);
}

/* ------------------------------------------------------------------------------------------------ words */

/* For a user's new word, add the feature it hits to the items' words. */
static thr_status note_hit(thr_context *context, thr_dual_lexicon *lexicon, const thr_dual_word *word, uint32_t number,
                           thr_error *err) {
    THR_TRY(thr_grow(context, &lexicon->hits, &lexicon->hits_capacity, (size_t)number + 1, sizeof *lexicon->hits,
                     "words", err));
    THR_TRY(thr_grow(context, &lexicon->field_lengths, &lexicon->field_lengths_capacity, (size_t)number + 1,
                     sizeof *lexicon->field_lengths, "words", err));
    lexicon->field_lengths[number] = word->field_length;
    lexicon->hits[number] = THR_DUAL_NONE;
    if (word->feature == 0)
        return THR_OK;
    return thr_dual_add_bytes(context, &lexicon->words[THR_SIDE_ITEM], word->text + word->feature,
                              word->length - word->feature, &lexicon->hits[number], err);
}

/* The number of a word; a new word is added. */
static thr_status number_word(thr_context *context, thr_dual_lexicon *lexicon, thr_side side, const thr_dual_word *word,
                              uint32_t *number, thr_error *err) {
    const size_t n_words = lexicon->words[side].n_words;
    THR_TRY(thr_dual_add_bytes(context, &lexicon->words[side], word->text, word->length, number, err));
    if (side == THR_SIDE_QUERY && *number == n_words)
        return note_hit(context, lexicon, word, *number, err);
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ items */

static bool is_known(const uint32_t *words, size_t first, size_t n, uint32_t word) {
    for (size_t i = first; i < first + n; i++)
        if (words[i] == word)
            return true;
    return false;
}

static thr_status take_words(thr_context *context, const thr_field *field, thr_dual_lexicon *lexicon,
                             thr_dual_items *items, thr_error *err) {
    const char *at = field->text, *end = field->text + field->length;
    const size_t first = items->offsets[items->n];
    size_t n = 0;
    for (;;) {
        thr_dual_word word;
        bool got = false;
        uint32_t number = 0;
        THR_TRY(thr_dual_next_word(&at, end, THR_SIDE_ITEM, &word, &got, err));
        if (!got)
            break;
        THR_TRY(number_word(context, lexicon, THR_SIDE_ITEM, &word, &number, err));
        THR_TRY(thr_grow(context, &items->words, &items->words_capacity, first + n + 1, sizeof *items->words,
                         "items' words", err));
        if (is_known(items->words, first, n, number)) /* features are binary: a repeated one counts once */
            continue;
        if (n == THR_DUAL_ITEM_WORDS_MAX)
            return thr_fail(err, THR_EFORMAT, "more than %d words", THR_DUAL_ITEM_WORDS_MAX);
        items->words[first + n++] = number;
    }
    items->offsets[items->n + 1] = first + n;
    return THR_OK;
}

static thr_status take_id(thr_context *context, const thr_field *id, thr_dual_items *items, thr_error *err) {
    uint32_t number = 0;
    const char *end = id->text + id->length;
    if (id->length == 0 || id->text[0] == '~' || id->length > THR_DUAL_WORD_MAX ||
        thr_dual_skip_word(id->text, end) != end)
        return thr_fail(err, THR_EFORMAT, "'%.*s' is not an item's ID: 1 to %d bytes without blanks, the first not '~'",
                        SHOWN, id->text, THR_DUAL_WORD_MAX);
    THR_TRY(thr_dual_add_bytes(context, &items->ids, id->text, id->length, &number, err));
    if (number != items->n)
        return thr_fail(err, THR_EDUPLICATE, "the item '%.*s' is repeated", SHOWN, id->text);
    return THR_OK;
}

static thr_status take_item(thr_context *context, const thr_field *fields, size_t n_fields, thr_dual_lexicon *lexicon,
                            thr_dual_items *items, thr_error *err) {
    if (n_fields < 2)
        return thr_fail(err, THR_EFORMAT, "one column: expected the item's ID, a tab and its words");
    THR_TRY(thr_grow(context, &items->offsets, &items->offsets_capacity, items->n + 2, sizeof *items->offsets, "items",
                     err));
    items->offsets[0] = 0;
    THR_TRY(take_id(context, &fields[0], items, err));
    THR_TRY(take_words(context, &fields[1], lexicon, items, err));
    items->n++;
    return THR_OK;
}

thr_status thr_dual_items_take(thr_context *context, thr_table *table, thr_dual_lexicon *lexicon, thr_dual_items *items,
                               thr_error *err) {
    thr_progress progress = thr_progress_start(context, "reading items", 0);
    thr_error why;
    for (;;) {
        const thr_field *fields = NULL;
        size_t n_fields = 0;
        THR_TRY(thr_io_table_next_whole(table, &progress, &fields, &n_fields, err));
        if (n_fields == 0)
            return THR_OK;
        const thr_status status = take_item(context, fields, n_fields, lexicon, items, &why);
        if (status != THR_OK)
            return at_row(table, status, &why, err);
    }
}

thr_status thr_dual_items_read(thr_context *context, const char *path, thr_dual_lexicon *lexicon, thr_dual_items *items,
                               thr_error *err) {
    thr_table *table = NULL;
    THR_TRY(thr_io_table_open(context, path, &table, err));
    thr_status status = thr_dual_items_take(context, table, lexicon, items, err);
    if (status == THR_OK && items->n == 0)
        status = thr_fail(err, THR_EDIM, "%s: holds no items: write or fetch it again", path);
    thr_io_table_free(table);
    return status;
}

/* ------------------------------------------------------------------------------------------------ requests */

static thr_status take_user(thr_context *context, const thr_field *field, thr_dual_lexicon *lexicon,
                            thr_dual_requests *requests, thr_error *err) {
    const char *at = field->text, *end = field->text + field->length;
    size_t n = requests->word_offsets[requests->n];
    for (;;) {
        thr_dual_word word;
        bool got = false;
        THR_TRY(thr_dual_next_word(&at, end, THR_SIDE_QUERY, &word, &got, err));
        if (!got)
            break;
        THR_TRY(thr_grow(context, &requests->words, &requests->words_capacity, n + 1, sizeof *requests->words,
                         "users' words", err));
        THR_TRY(
            thr_grow(context, &requests->x, &requests->x_capacity, n + 1, sizeof *requests->x, "users' words", err));
        THR_TRY(number_word(context, lexicon, THR_SIDE_QUERY, &word, &requests->words[n], err));
        requests->x[n++] = word.x;
    }
    requests->word_offsets[requests->n + 1] = n;
    return THR_OK;
}

/* Parse ID or ID:VALUE; an ID may contain a colon. */
static thr_status find_ad(const thr_dual_items *items, const char *text, size_t length, uint32_t *item, float *value,
                          thr_error *err) {
    const size_t all = length;
    *value = 0;
    *item = thr_dual_find_bytes(&items->ids, text, length);
    if (*item == THR_DUAL_NONE && thr_dual_cut_number(text, &length, value)) {
        *item = thr_dual_find_bytes(&items->ids, text, length);
        if (!(*value >= 0 && isfinite(*value)))
            return thr_fail(err, THR_ERANGE, "the value of '%.*s' must be finite and 0 or more",
                            (int)THR_MIN(all, SHOWN), text);
    }
    if (*item != THR_DUAL_NONE)
        return THR_OK;
    return thr_fail(err, THR_ENOTFOUND, "no item has the ID '%.*s'", (int)THR_MIN(length, SHOWN), text);
}

static thr_status add_ad(thr_context *context, thr_dual_requests *requests, uint32_t item, uint32_t level, float value,
                         size_t at, thr_error *err) {
    THR_TRY(thr_grow(context, &requests->ads, &requests->ads_capacity, at + 1, sizeof *requests->ads, "ads", err));
    THR_TRY(
        thr_grow(context, &requests->levels, &requests->levels_capacity, at + 1, sizeof *requests->levels, "ads", err));
    THR_TRY(
        thr_grow(context, &requests->values, &requests->values_capacity, at + 1, sizeof *requests->values, "ads", err));
    requests->ads[at] = item;
    requests->levels[at] = level;
    requests->values[at] = value;
    return THR_OK;
}

static thr_status take_ads(thr_context *context, const thr_field *field, const thr_dual_items *items,
                           thr_dual_requests *requests, thr_error *err) {
    const char *end = field->text + field->length, *at = thr_dual_skip_blanks(field->text, end);
    const size_t first = (size_t)requests->ad_offsets[requests->n];
    uint32_t level = 0;
    size_t n = 0;
    for (; at < end; at = thr_dual_skip_blanks(at, end), n++) {
        uint32_t item = 0;
        float value = 0;
        const bool tied = *at == '~';
        const char *text = at + tied;
        at = thr_dual_skip_word(at, end);
        THR_TRY(find_ad(items, text, (size_t)(at - text), &item, &value, err));
        if (tied && n == 0)
            return thr_fail(err, THR_EFORMAT, "no ad comes before the first for it to tie with: leave its '~' off");
        if (n == THR_DUAL_ADS_MAX)
            return thr_fail(err, THR_EFORMAT, "more than %d ads", THR_DUAL_ADS_MAX);
        if (is_known(requests->ads, first, n, item))
            return thr_fail(err, THR_EFORMAT, "the ad '%.*s' is repeated", (int)THR_MIN(at - text, SHOWN), text);
        level += n != 0 && !tied;
        THR_TRY(add_ad(context, requests, item, level, value, first + n, err));
    }
    if (n == 0)
        return thr_fail(err, THR_EFORMAT, "no ads");
    requests->ad_offsets[requests->n + 1] = first + n;
    requests->most_ads = THR_MAX(n, requests->most_ads);
    return THR_OK;
}

/* Equal requests have equal hashes, so all of them train or all validate. */
static uint64_t hash_request(const thr_field *fields) {
    thr_checksum_room sum_memory;
    thr_checksum *sum = thr_checksum_start(&sum_memory);
    for (size_t i = 0; i < 2; i++)
        thr_checksum_add(sum, fields[i].text, fields[i].length + 1);
    return thr_checksum_end(sum);
}

static thr_status take_request(thr_context *context, const thr_field *fields, size_t n_fields,
                               const thr_dual_items *items, thr_dual_lexicon *lexicon, thr_dual_requests *requests,
                               thr_error *err) {
    const size_t n = requests->n;
    if (n_fields < 2)
        return thr_fail(err, THR_EFORMAT, "one column: expected the user's words, a tab and the ads");
    if (n >= UINT32_MAX)
        return thr_fail(err, THR_ERANGE, "more than %u requests: train on a part of them", UINT32_MAX);
    THR_TRY(thr_grow(context, &requests->word_offsets, &requests->word_offsets_capacity, n + 2,
                     sizeof *requests->word_offsets, "requests", err));
    THR_TRY(thr_grow(context, &requests->ad_offsets, &requests->ad_offsets_capacity, n + 2,
                     sizeof *requests->ad_offsets, "requests", err));
    THR_TRY(thr_grow(context, &requests->split, &requests->split_capacity, n + 1, sizeof *requests->split, "requests",
                     err));
    requests->split[n] = hash_request(fields);
    requests->word_offsets[0] = 0;
    requests->ad_offsets[0] = 0;
    THR_TRY(take_user(context, &fields[0], lexicon, requests, err));
    THR_TRY(take_ads(context, &fields[1], items, requests, err));
    requests->n++;
    return THR_OK;
}

thr_status thr_dual_requests_take(thr_context *context, thr_table *table, const thr_dual_items *items,
                                  thr_dual_lexicon *lexicon, thr_dual_requests *requests, thr_error *err) {
    thr_progress progress = thr_progress_start(context, "reading requests", 0);
    thr_error why;
    for (;;) {
        const thr_field *fields = NULL;
        size_t n_fields = 0;
        THR_TRY(thr_io_table_next_whole(table, &progress, &fields, &n_fields, err));
        if (n_fields == 0)
            return THR_OK;
        const thr_status status = take_request(context, fields, n_fields, items, lexicon, requests, &why);
        if (status != THR_OK)
            return at_row(table, status, &why, err);
    }
}

thr_status thr_dual_requests_read(thr_context *context, const char *path, const thr_dual_items *items,
                                  thr_dual_lexicon *lexicon, thr_dual_requests *requests, thr_error *err) {
    thr_table *table = NULL;
    THR_TRY(thr_io_table_open(context, path, &table, err));
    thr_status status = thr_dual_requests_take(context, table, items, lexicon, requests, err);
    if (status == THR_OK && requests->n == 0)
        status = thr_fail(err, THR_EDIM, "%s: holds no requests: write or fetch it again", path);
    thr_io_table_free(table);
    return status;
}

/* ------------------------------------------------------------------------------------------------ free */

void thr_dual_lexicon_free(thr_context *context, thr_dual_lexicon *lexicon) {
    for (size_t side = 0; side < THR_N_SIDES; side++)
        thr_words_lexicon_free(context, &lexicon->words[side]);
    THR_RELEASE(context, lexicon->hits, lexicon->field_lengths);
    *lexicon = (thr_dual_lexicon){0};
}

void thr_dual_items_free(thr_context *context, thr_dual_items *items) {
    thr_words_lexicon_free(context, &items->ids);
    THR_RELEASE(context, items->words, items->offsets);
    *items = (thr_dual_items){0};
}

void thr_dual_requests_free(thr_context *context, thr_dual_requests *requests) {
    THR_RELEASE(context, requests->words, requests->x, requests->word_offsets, requests->ads, requests->levels,
                requests->values, requests->ad_offsets, requests->split);
    *requests = (thr_dual_requests){0};
}
