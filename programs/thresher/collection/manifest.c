/* SPDX-License-Identifier: Apache-2.0 */
/* manifest.c - parses DIR/shards.json: objects of texts, whole numbers, flags and one list of objects. */
#include "collection/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/messages.h"

/* A collection without cells has format 1. */
enum { FORMAT = 1, CELLS_FORMAT = 2, MOST_BYTES = 1 << 28, KEY_SIZE = 24, CHECKSUM_LINE = 26 };

static const char HEX_DIGITS[] = "0123456789abcdef";

typedef enum field_kind {
    FIELD_TEXT,
    FIELD_COUNT,
    FIELD_COUNT_OR_AUTO,
    FIELD_HEX,
    FIELD_FLAG,
    FIELD_FORMAT,
    FIELD_SHARDS
} field_kind;

/* A key of an object, and where its value goes. */
typedef struct field {
    const char *key;
    field_kind kind;
    void *place;
    size_t size; /* of a text */
    uint64_t low, high;
    uint64_t since; /* the first format that has the key */
    bool optional;
    bool seen;
} field;

typedef struct parser {
    const char *path;
    const char *next; /* ends with NUL */
    prog_shards *shards;
    uint64_t capacity;
    uint64_t format;
} parser;

static int wrong(const parser *p, const char *key, const char *expected) {
    prog_error("%s: %s: expected %s: restore it or build the collection again", p->path, key, expected);
    return PROG_FAILED;
}

/* ------------------------------------------------------------------------------------------------ values */

static void skip_blanks(parser *p) {
    p->next += strspn(p->next, " \t\r\n");
}

static bool take(parser *p, char wanted) {
    skip_blanks(p);
    if (*p->next != wanted)
        return false;
    p->next++;
    return true;
}

/* A string of ASCII without escapes, which no value of ours needs. */
static bool take_text(parser *p, char *out, size_t size) {
    if (!take(p, '"'))
        return false;
    const size_t length = strcspn(p->next, "\"\\");
    if (p->next[length] != '"' || length >= size)
        return false;
    for (size_t i = 0; i < length; i++)
        if (p->next[i] < ' ' || p->next[i] > '~')
            return false;
    memcpy(out, p->next, length);
    out[length] = '\0';
    p->next += length + 1;
    return true;
}

static bool take_count(parser *p, uint64_t *value) {
    char *end;

    skip_blanks(p);
    if (*p->next < '0' || *p->next > '9' || (*p->next == '0' && p->next[1] >= '0' && p->next[1] <= '9'))
        return false; /* JSON has no leading zeros */
    errno = 0;
    *value = strtoull(p->next, &end, 10);
    p->next = end;
    return errno == 0 && strchr(".eE", *end) == NULL;
}

static bool take_hex(parser *p, uint64_t *value) {
    char digits[17];

    if (!take_text(p, digits, sizeof digits) || strspn(digits, HEX_DIGITS) != 16)
        return false;
    *value = strtoull(digits, NULL, 16);
    return true;
}

static bool take_flag(parser *p, bool *value) {
    skip_blanks(p);
    *value = strncmp(p->next, "true", 4) == 0;
    if (!*value && strncmp(p->next, "false", 5) != 0)
        return false;
    p->next += *value ? 4 : 5;
    return true;
}

/* ------------------------------------------------------------------------------------------------ objects */

static int take_shards(parser *p);

static int take_format(parser *p, const char *key) {
    if (!take_count(p, &p->format))
        return wrong(p, key, "a whole number");
    if (p->format == FORMAT || p->format == CELLS_FORMAT)
        return PROG_DONE;
    prog_error("%s: has format %" PRIu64 ", and this version reads %d and %d: use a newer version", p->path, p->format,
               (int)FORMAT, (int)CELLS_FORMAT);
    return PROG_FAILED;
}

static int take_value(parser *p, field *f) {
    char text[8];
    uint64_t count;

    switch (f->kind) {
    case FIELD_TEXT:
        return take_text(p, f->place, f->size) && *(char *)f->place != '\0' ? PROG_DONE : wrong(p, f->key, "a text");
    case FIELD_COUNT:
        if (!take_count(p, &count) || count < f->low || count > f->high)
            return wrong(p, f->key, "a whole number in its range");
        *(uint64_t *)f->place = count;
        return PROG_DONE;
    case FIELD_COUNT_OR_AUTO: /* validated, not kept: only changes use it, in Python */
        skip_blanks(p);
        if (*p->next == '"' ? take_text(p, text, sizeof text) && strcmp(text, "auto") == 0
                            : take_count(p, &count) && count >= f->low && count <= f->high)
            return PROG_DONE;
        return wrong(p, f->key, "\"auto\" or a whole number in its range");
    case FIELD_HEX:
        return take_hex(p, f->place) ? PROG_DONE : wrong(p, f->key, "16 hexadecimal digits");
    case FIELD_FLAG:
        return take_flag(p, f->place) ? PROG_DONE : wrong(p, f->key, "true or false");
    case FIELD_FORMAT:
        return take_format(p, f->key);
    case FIELD_SHARDS:
        break;
    }
    return take_shards(p);
}

static field *field_named(const parser *p, field *fields, size_t n, const char *key) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(fields[i].key, key) == 0 && fields[i].since <= p->format)
            return &fields[i];
    return NULL;
}

static int wrong_key(const parser *p, const char *key, bool is_unknown) {
    if (is_unknown)
        prog_error("%s: %s is no key of format %" PRIu64 ": restore it or build the collection again", p->path, key,
                   p->format);
    else
        prog_error("%s: an object has the key %s twice: restore it or build the collection again", p->path, key);
    return PROG_FAILED;
}

/* A key of the format that the object lacks; NULL: it has all. */
static const field *missing_field(const parser *p, const field *fields, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!fields[i].seen && !fields[i].optional && fields[i].since <= p->format)
            return &fields[i];
    return NULL;
}

/* An object with all of these keys that the format has, each once, and no others. */
static int take_object(parser *p, field *fields, size_t n) {
    char key[KEY_SIZE];

    if (!take(p, '{'))
        return wrong(p, "the list of shards", "an object");
    do {
        if (!take_text(p, key, sizeof key) || !take(p, ':'))
            return wrong(p, "an object", "a key and a value");
        field *f = field_named(p, fields, n, key);
        if (f == NULL || f->seen)
            return wrong_key(p, key, f == NULL);
        f->seen = true;
        const int rc = take_value(p, f);
        if (rc != PROG_DONE)
            return rc;
    } while (take(p, ','));
    if (!take(p, '}'))
        return wrong(p, "an object", "its end");
    const field *lacks = missing_field(p, fields, n);
    if (lacks == NULL)
        return PROG_DONE;
    prog_error("%s: the key %s is missing: restore it or build the collection again", p->path, lacks->key);
    return PROG_FAILED;
}

#define COUNT(word, where, least, most)                                                                                \
    { .key = (word), .kind = FIELD_COUNT, .place = &(where), .low = (least), .high = (most) }
#define TEXT(word, where)                                                                                              \
    { .key = (word), .kind = FIELD_TEXT, .place = (where), .size = sizeof(where) }

static int take_shard(parser *p, prog_shard *shard) {
    field fields[] = {
        TEXT("directory", shard->directory),
        COUNT("first_row", shard->first_row, 0, INT64_MAX),
        COUNT("n_items", shard->n_items, 1, INT64_MAX),
        COUNT("least_id", shard->least_id, 0, UINT64_MAX - 1),
        COUNT("greatest_id", shard->greatest_id, 0, UINT64_MAX - 1),
        TEXT("checksum", shard->checksum),
    };
    const int rc = take_object(p, fields, sizeof fields / sizeof fields[0]);

    if (rc == PROG_DONE && (strchr(shard->directory, '/') != NULL || shard->directory[0] == '.'))
        return wrong(p, "directory", "a name without a path");
    if (rc == PROG_DONE && strspn(shard->checksum, HEX_DIGITS) != PROG_SHARD_CHECKSUM - 1)
        return wrong(p, "checksum", "16 hexadecimal digits");
    if (rc == PROG_DONE && shard->least_id > shard->greatest_id)
        return wrong(p, "greatest_id", "at least least_id");
    return rc;
}

static int take_shards(parser *p) {
    prog_shards *s = p->shards;

    if (!take(p, '['))
        return wrong(p, "shards", "a list");
    do {
        if (s->n_shards == p->capacity) {
            p->capacity = 2 * p->capacity + 16;
            prog_shard *more = realloc(s->shards, (size_t)p->capacity * sizeof *more);
            if (more == NULL)
                return prog_no_memory();
            s->shards = more;
        }
        s->shards[s->n_shards] = (prog_shard){.n_items = 0};
        const int rc = take_shard(p, &s->shards[s->n_shards]);
        if (rc != PROG_DONE)
            return rc;
        s->n_shards++;
    } while (take(p, ','));
    return take(p, ']') ? PROG_DONE : wrong(p, "shards", "the end of the list");
}

/* Set the format, wherever the outermost object has it: it decides which other keys there are. */
static int find_format(parser *p) {
    parser at = *p;
    size_t depth = 0;

    for (; *(at.next += strcspn(at.next, "\"{}[]")) != '\0'; at.next++) {
        char key[KEY_SIZE];
        if (*at.next == '"') {
            const char *text = at.next;
            if (depth == 1 && take_text(&at, key, sizeof key) && strcmp(key, "thresher_shards") == 0 &&
                take(&at, ':')) {
                const int rc = take_format(&at, key);
                p->format = at.format;
                return rc;
            }
            for (at.next = text + 1; *at.next != '"' && *at.next != '\0'; at.next++)
                at.next += *at.next == '\\' && at.next[1] != '\0';
            if (*at.next == '\0')
                break;
        } else if (*at.next == '{' || *at.next == '[')
            depth++;
        else
            depth -= depth > 0;
    }
    prog_error("%s: is not that of a collection of shards: it has no number thresher_shards", p->path);
    return PROG_FAILED;
}

static int find_metric(const parser *p, const char *name, thr_metric *metric) {
    for (int i = THR_METRIC_COSINE; i <= THR_METRIC_L2; i++)
        if (strcmp(name, thr_metric_name((thr_metric)i)) == 0) {
            *metric = (thr_metric)i;
            return PROG_DONE;
        }
    return wrong(p, "metric", "cosine, ip or l2");
}

/* The types of kept vectors, by their names in the list. */
static int find_keep(const parser *p, const char *name, thr_dtype *keep) {
    static const struct {
        const char *name;
        thr_dtype dtype;
    } kept[] = {
        {"none", THR_DTYPE_NONE}, {"float32", THR_DTYPE_F32}, {"float16", THR_DTYPE_F16}, {"int8", THR_DTYPE_I8}};

    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        if (strcmp(name, kept[i].name) == 0) {
            *keep = kept[i].dtype;
            return PROG_DONE;
        }
    return wrong(p, "keep", "none, float32, float16 or int8");
}

static int take_document(parser *p) {
    prog_shards *s = p->shards;
    char metric[16] = "";
    field fields[] = {
        {.key = "thresher_shards", .kind = FIELD_FORMAT},
        TEXT("metric", metric),
        COUNT("n_dims", s->n_dims, 1, UINT32_MAX),
        COUNT("bits", s->bits, 1, THR_MAX_BITS),
        COUNT("lead_bits", s->lead_bits, 1, THR_MAX_BITS),
        TEXT("keep", s->keep),
        {.key = "quantiser", .kind = FIELD_HEX, .place = &s->quantiser},
        {.key = "model", .kind = FIELD_HEX, .place = &s->model},
        {.key = "has_ids", .kind = FIELD_FLAG, .place = &s->has_ids},
        {.key = "has_names", .kind = FIELD_FLAG, .place = &s->has_names},
        COUNT("n_items", s->n_items, 1, INT64_MAX),
        {.key = "cells", .kind = FIELD_COUNT_OR_AUTO, .low = 1, .high = UINT32_MAX, .since = CELLS_FORMAT},
        {.key = "n_cells", .kind = FIELD_COUNT, .place = &s->n_cells, .high = UINT32_MAX, .since = CELLS_FORMAT},
        {.key = "has_removed", .kind = FIELD_FLAG, .place = &s->has_removed, .optional = true},
        {.key = "shards", .kind = FIELD_SHARDS},
    };
    int rc = find_format(p);

    if (rc == PROG_DONE)
        rc = take_object(p, fields, sizeof fields / sizeof fields[0]);
    skip_blanks(p);
    if (rc == PROG_DONE && *p->next != '\0')
        rc = wrong(p, "its end", "nothing more");
    if (rc == PROG_DONE)
        rc = find_keep(p, s->keep, &s->kept);
    return rc == PROG_DONE ? find_metric(p, metric, &s->metric) : rc;
}

/* ------------------------------------------------------------------------------------------------ the file */

static int by_directory(const void *a, const void *b) {
    const prog_shard *one = *(const prog_shard *const *)a, *other = *(const prog_shard *const *)b;
    const int order = strcmp(one->directory, other->directory);

    return order != 0 ? order : one < other ? -1 : 1;
}

/* Every shard is there once. */
static int check_distinct(const parser *p) {
    const prog_shards *s = p->shards;
    const prog_shard **sorted = malloc(((size_t)s->n_shards + 1) * sizeof(const prog_shard *));
    int rc = PROG_DONE;

    if (sorted == NULL)
        return prog_no_memory();
    for (uint64_t i = 0; i < s->n_shards; i++)
        sorted[i] = &s->shards[i];
    qsort(sorted, (size_t)s->n_shards, sizeof *sorted, by_directory);
    for (uint64_t i = 1; i < s->n_shards && rc == PROG_DONE; i++)
        if (strcmp(sorted[i - 1]->directory, sorted[i]->directory) == 0) {
            prog_error("%s: shard %td is %s, which is shard %td already", p->path, sorted[i] - s->shards,
                       sorted[i]->directory, sorted[i - 1] - s->shards);
            rc = PROG_FAILED;
        }
    free(sorted);
    return rc;
}

/* Rows of shards follow each other. */
static int check_ranges(const parser *p) {
    const prog_shards *s = p->shards;
    uint64_t at = 0;

    for (uint64_t i = 0; i < s->n_shards; i++) {
        if (s->shards[i].first_row != at) {
            prog_error("%s: shard %" PRIu64 " (%s) begins at row %" PRIu64 ", not %" PRIu64 ": %s", p->path, i,
                       s->shards[i].directory, s->shards[i].first_row, at,
                       s->shards[i].first_row < at ? "its rows overlap those of the shard before"
                                                   : "its rows leave a gap: a shard is missing");
            return PROG_FAILED;
        }
        at += s->shards[i].n_items;
    }
    if (at == s->n_items)
        return check_distinct(p);
    prog_error("%s: the shards hold %" PRIu64 " items, and n_items is %" PRIu64 ": a shard is missing or doubled",
               p->path, at, s->n_items);
    return PROG_FAILED;
}

/* Read a file whole, with a NUL after it. *text is NULL if it does not exist. */
static int read_whole(const char *path, char **text) {
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a pipe must not block */
    FILE *file = fd < 0 ? NULL : fdopen(fd, "rb");
    size_t size = 0, capacity = 1 << 16;
    int rc = PROG_DONE;

    *text = NULL;
    if (file == NULL && (errno == ENOENT || errno == ENOTDIR))
        return PROG_DONE;
    if (file == NULL) {
        prog_error("%s: cannot be read: %s", path, prog_reason(errno));
        return PROG_FAILED;
    }
    for (;;) {
        char *more = capacity <= MOST_BYTES ? realloc(*text, capacity) : NULL;
        if (more == NULL) {
            rc = prog_no_memory();
            break;
        }
        *text = more;
        size += fread(more + size, 1, capacity - size - 1, file);
        if (size < capacity - 1)
            break;
        capacity *= 2;
    }
    if (rc == PROG_DONE && ferror(file)) {
        prog_error("%s: cannot be read", path);
        rc = PROG_FAILED;
    }
    if (rc == PROG_DONE && memchr(*text, '\0', size) != NULL) {
        prog_error("%s: holds a NUL, so it is no JSON", path);
        rc = PROG_FAILED;
    }
    if (rc == PROG_DONE)
        (*text)[size] = '\0';
    (void)fclose(file);
    return rc;
}

static char *join(const char *dir, const char *name) {
    const size_t size = strlen(dir) + strlen(name) + 2;
    char *path = malloc(size);

    if (path != NULL)
        (void)snprintf(path, size, "%s/%s", dir, name);
    return path;
}

bool prog_is_collection(const char *dir) {
    char *path = join(dir, "shards.json");
    const bool is = path != NULL && access(path, F_OK) == 0;

    free(path);
    return is;
}

int prog_shards_read(prog_shards *shards, const char *dir) {
    char *path = join(dir, "shards.json"), *text = NULL;
    *shards = (prog_shards){.dir = dir};
    parser p = {.path = path, .shards = shards};

    if (path == NULL)
        return prog_no_memory();
    int rc = read_whole(path, &text);
    if (rc == PROG_DONE && text == NULL) {
        if (access(dir, F_OK) != 0)
            prog_error("%s: there is no such directory", dir);
        else
            prog_error(
                "%s: is no collection of shards, there is no shards.json in it (an interrupted build leaves none)",
                dir);
        rc = PROG_FAILED;
    }
    p.next = text;
    if (rc == PROG_DONE)
        rc = take_document(&p);
    shards->counts_cells = p.format == CELLS_FORMAT;
    if (rc == PROG_DONE)
        rc = check_ranges(&p);
    free(text);
    free(path);
    return rc;
}

void prog_shards_free(prog_shards *shards) {
    free(shards->shards);
    shards->shards = NULL;
}

/* ------------------------------------------------------------------------------------------------ shards */

static thr_status fail(thr_error *err, thr_status status, const char *dir, uint64_t i, const char *why) {
    err->status = status;
    (void)snprintf(err->text, sizeof err->text,
                   "%.300s: shard %" PRIu64 " %s: restore it or build the collection again", dir, i, why);
    return status;
}

/* The last line of a MANIFEST is "checksum " and 16 digits. One that is not there has none. */
static thr_status has_checksum(const char *dir, const char *checksum, bool *good, thr_error *err) {
    char *path = join(dir, "MANIFEST"), line[CHECKSUM_LINE + 1] = "";
    FILE *file = path != NULL ? fopen(path, "rb") : NULL;
    const bool there = file != NULL || errno == ENOENT || errno == ENOTDIR;

    *good = file != NULL && fseek(file, -CHECKSUM_LINE, SEEK_END) == 0 &&
            fread(line, 1, CHECKSUM_LINE, file) == CHECKSUM_LINE && strncmp(line, "checksum ", 9) == 0 &&
            strncmp(line + 9, checksum, PROG_SHARD_CHECKSUM - 1) == 0;
    if (!there) {
        err->status = THR_EIO;
        (void)snprintf(err->text, sizeof err->text, "%.300s/MANIFEST: cannot be opened: %s", dir, prog_reason(errno));
    }
    if (file != NULL)
        (void)fclose(file);
    free(path);
    return there ? THR_OK : THR_EIO;
}

static uint64_t model_of(const thr_index *index) {
    if (thr_tower_of_index(index) != NULL)
        return thr_tower_get_info(thr_tower_of_index(index)).fingerprint;
    return thr_dual_of_index(index) != NULL ? thr_dual_get_info(thr_dual_of_index(index)).fingerprint : 0;
}

/* Whether another shard has the place of shard i in the list now. */
static bool is_replaced(const prog_shards *s, uint64_t i) {
    prog_shards now;
    const bool other = prog_shards_read(&now, s->dir) == PROG_DONE &&
                       (i >= now.n_shards || strcmp(now.shards[i].directory, s->shards[i].directory) != 0);
    prog_shards_free(&now);
    return other;
}

thr_status prog_shards_open(const prog_shards *s, thr_context *context, uint64_t i, thr_index **index, thr_error *err) {
    const prog_shard *shard = &s->shards[i];
    char *dir = join(s->dir, shard->directory);

    if (dir == NULL)
        return fail(err, THR_ENOMEM, shard->directory, i, "needs more memory");
    bool before = false, after = false;
    thr_status status = has_checksum(dir, shard->checksum, &before, err);
    if (status == THR_OK)
        status = thr_index_open(context, dir, index, err);
    if (status == THR_OK)
        status = has_checksum(dir, shard->checksum, &after, err);
    if (status == THR_ENOTFOUND)
        status = fail(err, THR_ECORRUPT, dir, i, "of the collection is missing");
    if (status == THR_OK) {
        const thr_index_info info = thr_index_get_info(*index);
        if (info.metric != s->metric || info.n_dims != s->n_dims || info.item_bits != s->bits ||
            info.lead_bits != s->lead_bits || info.keep != s->kept ||
            thr_index_quantiser_fingerprint(*index) != s->quantiser || model_of(*index) != s->model)
            status = fail(
                err, THR_EMISMATCH, dir, i,
                "has another metric, dimensions, bits, type of kept vectors, quantiser or model than the collection");
        else if (!before || !after || info.n_items != shard->n_items)
            status = fail(err, THR_ECORRUPT, dir, i, "was changed or replaced since the collection was published");
    }
    if (status == THR_ECORRUPT && is_replaced(s, i)) {
        err->status = status = THR_ECHANGED;
        (void)snprintf(err->text, sizeof err->text, "%.300s: the collection was changed meanwhile: search it again",
                       s->dir);
    }
    if (status != THR_OK) {
        thr_index_free(*index);
        *index = NULL;
    }
    free(dir);
    return status;
}

bool prog_refuse_shard(const char *dir) {
    char *list = join(dir, "../shards.json"), *text = NULL;
    bool is_shard = false;

    if (list != NULL && access(list, F_OK) == 0 && read_whole(list, &text) == PROG_DONE && text != NULL) {
        size_t end = strlen(dir), begin;
        while (end > 0 && dir[end - 1] == '/')
            end--;
        for (begin = end; begin > 0 && dir[begin - 1] != '/';)
            begin--;
        char quoted[PROG_SHARD_NAME + 3];
        (void)snprintf(quoted, sizeof quoted, "\"%.*s\"", (int)(end - begin), dir + begin);
        is_shard = end - begin < PROG_SHARD_NAME && strstr(text, quoted) != NULL;
    }
    if (is_shard)
        prog_error("%s: is a shard of a collection, which would not open any more: change the collection, by Python's "
                   "thresher.shards",
                   dir);
    free(text);
    free(list);
    return is_shard;
}
