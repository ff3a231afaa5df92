/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list.c - shards.json, parsed and printed. One table has the keys of an object, in their order, for both.
 *
 * The last value is the checksum of all bytes before its digits. Only what the printer prints is accepted, to the byte,
 * so that a list has one form.
 */
#include "shards/impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/files/checksum.h"
#include "base/minmax.h"
#include "base/text/json.h"
#include "tensors/heapsort.h"

enum { HEX_DIGITS = 16, KEY_SIZE = 64, TEXT_SIZE = THR_SHARD_NAME_SIZE };

static const char FORMAT_KEY[] = "thresher_shards", TAIL[] = "\"\n}\n"; /* after the checksum's digits */

typedef enum field_kind { FIELD_COUNT, FIELD_HEX, FIELD_FLAG, FIELD_TEXT } field_kind;

/* A key, and where its value is: a uint64_t; a bool; or a text of TEXT_SIZE. */
typedef struct field {
    const char *key;
    field_kind kind;
    void *place;
    uint64_t least, most; /* of a count */
} field;

/* ------------------------------------------------------------------------------------------------ fields */

/* Values of the outermost object as the table has them. */
typedef struct head {
    char metric[TEXT_SIZE], keep[TEXT_SIZE];
    uint64_t n_dims, item_bits, lead_bits, cells;
} head;

enum { N_HEAD = 13, N_SHARD = 6 };

static void head_fields(head *h, thr_shards_info *info, field fields[N_HEAD]) {
    const field all[N_HEAD] = {
        {"metric", FIELD_TEXT, h->metric, 0, 0},
        {"n_dims", FIELD_COUNT, &h->n_dims, 1, UINT32_MAX},
        {"bits", FIELD_COUNT, &h->item_bits, 1, THR_MAX_BITS},
        {"lead_bits", FIELD_COUNT, &h->lead_bits, 1, THR_MAX_BITS},
        {"keep", FIELD_TEXT, h->keep, 0, 0},
        {"quantiser", FIELD_HEX, &info->quantiser, 0, 0},
        {"model", FIELD_HEX, &info->model, 0, 0},
        {"has_ids", FIELD_FLAG, &info->has_ids, 0, 0},
        {"has_names", FIELD_FLAG, &info->has_names, 0, 0},
        {"has_removed", FIELD_FLAG, &info->has_removed, 0, 0},
        {"n_items", FIELD_COUNT, &info->n_items, 1, INT64_MAX},
        {"cells", FIELD_COUNT, &h->cells, 0, UINT32_MAX},
        {"n_cells", FIELD_COUNT, &info->n_cells, 0, UINT32_MAX},
    };
    memcpy(fields, all, sizeof all);
}

static void shard_fields(thr_shard *shard, field fields[N_SHARD]) {
    const field all[N_SHARD] = {
        {"directory", FIELD_TEXT, shard->directory, 0, 0},
        {"first_row", FIELD_COUNT, &shard->first_row, 0, INT64_MAX},
        {"n_items", FIELD_COUNT, &shard->n_items, 1, INT64_MAX},
        {"least_id", FIELD_COUNT, &shard->least_id, 0, UINT64_MAX - 1},
        {"greatest_id", FIELD_COUNT, &shard->greatest_id, 0, UINT64_MAX - 1},
        {"checksum", FIELD_HEX, &shard->checksum, 0, 0},
    };
    memcpy(fields, all, sizeof all);
}

/* ------------------------------------------------------------------------------------------------ parse */

typedef struct parser {
    thr_json json;
    char *scratch; /* room for any string of the text */
} parser;

static thr_status wrong(const parser *p, const char *key, const char *expected, thr_error *err) {
    char what[KEY_SIZE + 64];
    (void)snprintf(what, sizeof what, "%s: expected %s", key, expected);
    return thr_json_fail(&p->json, what, err);
}

static thr_status take_key(parser *p, const char *key, thr_error *err) {
    char what[KEY_SIZE + 64];
    if (thr_json_take_key(&p->json, key))
        return THR_OK;
    (void)snprintf(what, sizeof what, "the key %s was expected", key);
    return thr_json_fail(&p->json, what, err);
}

static thr_status take_hex(parser *p, const field *f, thr_error *err) {
    size_t length = 0;
    uint64_t value = 0;
    THR_TRY(thr_json_take_string(&p->json, p->scratch, &length, err));
    if (length != HEX_DIGITS || strspn(p->scratch, "0123456789abcdef") != HEX_DIGITS)
        return wrong(p, f->key, "16 hexadecimal digits", err);
    for (size_t i = 0; i < HEX_DIGITS; i++) {
        const char c = p->scratch[i];
        value = value << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    *(uint64_t *)f->place = value;
    return THR_OK;
}

static thr_status take_value(parser *p, const field *f, thr_error *err) {
    size_t length = 0;
    uint64_t count = 0;
    switch (f->kind) {
    case FIELD_COUNT:
        if (thr_json_take_count(&p->json, &count, NULL) != THR_OK || count < f->least || count > f->most)
            return wrong(p, f->key, "a whole number in its range", err);
        *(uint64_t *)f->place = count;
        return THR_OK;
    case FIELD_HEX:
        return take_hex(p, f, err);
    case FIELD_FLAG:
        *(bool *)f->place = thr_json_take_word(&p->json, "true");
        return *(bool *)f->place || thr_json_take_word(&p->json, "false") ? THR_OK
                                                                          : wrong(p, f->key, "true or false", err);
    case FIELD_TEXT:
        break;
    }
    THR_TRY(thr_json_take_string(&p->json, p->scratch, &length, err));
    if (length >= TEXT_SIZE)
        return wrong(p, f->key, "a shorter text", err);
    memcpy(f->place, p->scratch, length + 1);
    return THR_OK;
}

/* Values of all fields, with a comma after each. */
static thr_status take_fields(parser *p, const field *fields, size_t n, thr_error *err) {
    for (size_t i = 0; i < n; i++) {
        THR_TRY(take_key(p, fields[i].key, err));
        THR_TRY(take_value(p, &fields[i], err));
        if (i + 1 < n)
            THR_TRY(thr_json_expect(&p->json, ',', "a comma was expected", err));
    }
    return THR_OK;
}

static thr_status take_head(parser *p, thr_shards_info *info, thr_error *err) {
    static const thr_dtype kept[] = {THR_DTYPE_NONE, THR_DTYPE_F32, THR_DTYPE_F16, THR_DTYPE_I8};
    enum { N_KEPT = sizeof kept / sizeof kept[0] };
    head h = {.n_dims = 0};
    field fields[N_HEAD];
    uint32_t metric = THR_METRIC_COSINE;
    size_t keep = 0;
    head_fields(&h, info, fields);
    THR_TRY(take_fields(p, fields, N_HEAD, err));
    while (metric <= THR_METRIC_L2 && strcmp(h.metric, thr_metric_name((thr_metric)metric)) != 0)
        metric++;
    while (keep < N_KEPT && strcmp(h.keep, thr_dtype_name(kept[keep])) != 0)
        keep++;
    if (metric > THR_METRIC_L2)
        return wrong(p, "metric", "cosine, ip or l2", err);
    if (keep == N_KEPT)
        return wrong(p, "keep", "none, f32, f16 or i8", err);
    info->metric = (thr_metric)metric;
    info->keep = kept[keep];
    info->n_dims = (uint32_t)h.n_dims;
    info->item_bits = (uint32_t)h.item_bits;
    info->lead_bits = (uint32_t)h.lead_bits;
    info->cells = (uint32_t)h.cells;
    return THR_OK;
}

static thr_status take_shards(parser *p, thr_shards *s, thr_error *err) {
    THR_TRY(thr_json_expect(&p->json, '[', "shards: expected a list", err));
    do {
        field fields[N_SHARD];
        THR_TRY(thr_grow(s->context, &s->list, &s->capacity, (size_t)s->info.n_shards + 1, sizeof *s->list,
                         "a list of shards", err));
        thr_shard *shard = &s->list[s->info.n_shards++];
        *shard = (thr_shard){.n_items = 0};
        shard_fields(shard, fields);
        THR_TRY(thr_json_expect(&p->json, '{', "an object was expected", err));
        THR_TRY(take_fields(p, fields, N_SHARD, err));
        THR_TRY(thr_json_expect(&p->json, '}', "the end of an object was expected", err));
    } while (thr_json_take(&p->json, ','));
    return thr_json_expect(&p->json, ']', "shards: expected the end of the list", err);
}

/* ------------------------------------------------------------------------------------------------ check */

static int by_directory(const void *a, const void *b) {
    return strcmp(((const thr_shard *)a)->directory, ((const thr_shard *)b)->directory);
}

/* Every shard is there once. */
static thr_status check_distinct(const thr_shards *s, thr_error *err) {
    const void **sorted = NULL;
    thr_status status = THR_OK;
    THR_TRY(thr_alloc(s->context, (size_t)s->info.n_shards, sizeof *sorted, &sorted, "an order of shards", err));
    for (uint64_t i = 0; i < s->info.n_shards; i++)
        sorted[i] = &s->list[i];
    thr_order(sorted, (size_t)s->info.n_shards, by_directory);
    for (uint64_t i = 1; i < s->info.n_shards && status == THR_OK; i++) {
        const thr_shard *const one = sorted[i - 1], *const other = sorted[i];
        if (by_directory(one, other) == 0)
            status = thr_fail(err, THR_ECORRUPT, "%s: the shards %td and %td are both %s: " THR_SHARDS_REMEDY, s->path,
                              THR_MIN(one, other) - s->list, THR_MAX(one, other) - s->list, one->directory);
    }
    thr_release(s->context, sorted);
    return status;
}

static thr_status check_shard(const thr_shards *s, uint64_t i, uint64_t first_row, thr_error *err) {
    const thr_shard *shard = &s->list[i];
    const char *const name = shard->directory;
    bool plain = name[0] != '\0' && name[0] != '.';
    for (const char *c = name; *c != '\0'; c++)
        plain = plain && *c > ' ' && *c <= '~' && *c != '/' && *c != '"' && *c != '\\';
    if (!plain)
        return thr_fail(err, THR_ECORRUPT, "%s: directory: that of shard %llu is not a name without a path: %s",
                        s->path, (unsigned long long)i, THR_SHARDS_REMEDY);
    if (shard->least_id > shard->greatest_id)
        return thr_fail(err, THR_ECORRUPT, "%s: greatest_id: that of shard %llu is less than its least_id: %s", s->path,
                        (unsigned long long)i, THR_SHARDS_REMEDY);
    if (shard->first_row == first_row)
        return THR_OK;
    return thr_fail(err, THR_ECORRUPT, "%s: shard %llu (%s) begins at row %llu, not %llu: its rows %s", s->path,
                    (unsigned long long)i, name, (unsigned long long)shard->first_row, (unsigned long long)first_row,
                    shard->first_row < first_row ? "overlap those of the shard before: " THR_SHARDS_REMEDY
                                                 : "leave a gap: a shard is missing: " THR_SHARDS_REMEDY);
}

/* Rows of shards follow each other. A sum of counts below 2^63 does not overflow before it exceeds n_items. */
static thr_status check_list(const thr_shards *s, thr_error *err) {
    uint64_t at = 0;
    for (uint64_t i = 0; i < s->info.n_shards && at <= s->info.n_items; i++) {
        THR_TRY(check_shard(s, i, at, err));
        at += s->list[i].n_items;
    }
    if (at != s->info.n_items)
        return thr_fail(err, THR_ECORRUPT,
                        "%s: the shards hold %llu items, and n_items is %llu: a shard is missing or doubled: %s",
                        s->path, (unsigned long long)at, (unsigned long long)s->info.n_items, THR_SHARDS_REMEDY);
    return check_distinct(s, err);
}

/* ------------------------------------------------------------------------------------------------ print */

/* Text that grows; the first error stays. */
typedef struct printer {
    thr_context *context;
    char *text;
    size_t n, capacity;
    thr_status status;
    thr_error *err;
} printer;

static void append(void *to, const char *bytes, size_t n) {
    printer *p = to;
    if (p->status == THR_OK)
        p->status = thr_grow(p->context, &p->text, &p->capacity, p->n + n, 1, "a list of shards", p->err);
    if (p->status != THR_OK)
        return;
    memcpy(p->text + p->n, bytes, n);
    p->n += n;
}

static void put_hex(thr_json_out *out, uint64_t value) {
    char digits[HEX_DIGITS + 1];
    (void)snprintf(digits, sizeof digits, "%016" PRIx64, value);
    thr_json_put_text(out, digits);
}

static void put_fields(thr_json_out *out, const field *fields, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const field *f = &fields[i];
        thr_json_put_key(out, f->key);
        if (f->kind == FIELD_COUNT)
            thr_json_put_count(out, *(const uint64_t *)f->place);
        else if (f->kind == FIELD_HEX)
            put_hex(out, *(const uint64_t *)f->place);
        else if (f->kind == FIELD_FLAG)
            thr_json_put_word(out, *(const bool *)f->place ? "true" : "false");
        else
            thr_json_put_text(out, f->place);
    }
}

static void put_head(thr_json_out *out, const thr_shards_info *given) {
    thr_shards_info info = *given;
    head h = {.n_dims = info.n_dims, .item_bits = info.item_bits, .lead_bits = info.lead_bits, .cells = info.cells};
    field fields[N_HEAD];
    (void)snprintf(h.metric, sizeof h.metric, "%s", thr_metric_name(info.metric));
    (void)snprintf(h.keep, sizeof h.keep, "%s", thr_dtype_name(info.keep));
    head_fields(&h, &info, fields);
    put_fields(out, fields, N_HEAD);
}

static void put_shard(thr_json_out *out, const thr_shard *given) {
    thr_shard shard = *given;
    field fields[N_SHARD];
    thr_json_open(out, '{');
    out->lines = false;
    shard_fields(&shard, fields);
    put_fields(out, fields, N_SHARD);
    thr_json_close(out, '}');
    out->lines = true;
}

thr_status thr_shards_list_print(const thr_shards *shards, char **text, size_t *size, thr_error *err) {
    printer p = {.context = shards->context, .err = err};
    thr_json_out out = {.put = append, .to = &p};
    thr_json_open(&out, '{');
    out.lines = true;
    thr_json_put_key(&out, FORMAT_KEY);
    thr_json_put_count(&out, THR_FORMAT_VERSION);
    put_head(&out, &shards->info);
    thr_json_put_key(&out, "shards");
    thr_json_open(&out, '[');
    for (uint64_t i = 0; i < shards->info.n_shards; i++)
        put_shard(&out, &shards->list[i]);
    thr_json_close(&out, ']');
    thr_json_put_key(&out, "checksum");
    append(&p, "\"", 1);
    char digits[HEX_DIGITS + 1];
    (void)snprintf(digits, sizeof digits, "%016" PRIx64, p.status == THR_OK ? thr_checksum_of(p.text, p.n) : 0);
    append(&p, digits, HEX_DIGITS);
    append(&p, TAIL, sizeof TAIL - 1);
    *text = p.text;
    *size = p.n;
    return p.status;
}

/* ------------------------------------------------------------------------------------------------ the whole */

static bool has_checksum(const char *text, size_t size) {
    enum { TAIL_SIZE = HEX_DIGITS + sizeof TAIL - 1 };
    char digits[HEX_DIGITS + 1];
    if (size < TAIL_SIZE)
        return false;
    (void)snprintf(digits, sizeof digits, "%016" PRIx64, thr_checksum_of(text, size - TAIL_SIZE));
    return memcmp(text + size - TAIL_SIZE, digits, HEX_DIGITS) == 0;
}

/* The version comes before the checksum, which another version may compute otherwise. */
static thr_status take_start(parser *p, thr_error *err) {
    uint64_t version = 0;
    if (!thr_json_take(&p->json, '{') || !thr_json_take_key(&p->json, FORMAT_KEY) ||
        thr_json_take_count(&p->json, &version, NULL) != THR_OK)
        return thr_json_fail(&p->json, "is no list of shards, which begins with the number thresher_shards", err);
    THR_TRY(thr_check_format_version(p->json.name, version, err));
    const size_t size = (size_t)(p->json.end - p->json.start);
    if (!has_checksum(p->json.start, size))
        return thr_fail(
            err, THR_ECORRUPT,
            "%s: the checksum at its end does not fit its %zu bytes: the file is damaged or cut short, or was "
            "edited: " THR_SHARDS_REMEDY,
            p->json.name, size);
    return thr_json_expect(&p->json, ',', "a comma was expected", err);
}

static thr_status take_list(parser *p, thr_shards *s, thr_error *err) {
    THR_TRY(take_start(p, err));
    THR_TRY(take_head(p, &s->info, err));
    THR_TRY(thr_json_expect(&p->json, ',', "a comma was expected", err));
    THR_TRY(take_key(p, "shards", err));
    return take_shards(p, s, err);
}

/* Compare the text with the list as it is printed, which also covers what follows the shards. */
static thr_status check_form(const parser *p, const thr_shards *s, thr_error *err) {
    char *text = NULL;
    size_t size = 0, same = 0;
    const size_t given = (size_t)(p->json.end - p->json.start);
    thr_status status = thr_shards_list_print(s, &text, &size, err);
    while (status == THR_OK && same < size && same < given && text[same] == p->json.start[same])
        same++;
    if (status == THR_OK && (same < size || same < given)) {
        parser at = *p;
        at.json.at = at.json.start + same;
        status = thr_json_fail(&at.json, "is not as Thresher writes it", err);
    }
    thr_release(s->context, text);
    return status;
}

thr_status thr_shards_list_parse(thr_shards *shards, const char *text, size_t size, thr_error *err) {
    parser p = {.json = thr_json_of(shards->path, text, size)};
    THR_TRY(thr_alloc(shards->context, size + 1, 1, &p.scratch, "a list of shards", err));
    thr_status status = take_list(&p, shards, err);
    if (status == THR_OK)
        status = check_list(shards, err);
    if (status == THR_OK)
        status = check_form(&p, shards, err);
    thr_release(shards->context, p.scratch);
    return status;
}
