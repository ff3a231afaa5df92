/* SPDX-License-Identifier: Apache-2.0 */
#include "io/whole_lines.h"

#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "io/endings.h"

enum {
    KEEP_BYTES = 1 << 20, /* bytes of one read from a pipe */
    KEPT_CHUNKS = 16      /* maximum size of a compressed file that is kept */
};

static const char byte_order_mark[] = "\xef\xbb\xbf";

static size_t mark_length(const char *text, size_t size) {
    const size_t length = sizeof byte_order_mark - 1;
    return size >= length && memcmp(text, byte_order_mark, length) == 0 ? length : 0;
}

size_t thr_io_whole_lines_cut(const char *text, size_t size, size_t wanted) {
    if (wanted >= size)
        return size;
    const char *end = memchr(text + wanted, '\n', size - wanted);
    return end == NULL ? size : (size_t)(end - text) + 1;
}

bool thr_io_whole_lines_is_input(const char *name) {
    return name[0] == '-' && (name[1] == '\0' || (name[1] == '.' && strchr(name, '/') == NULL));
}

/* Read the whole stream and keep it, unless it has more than `most` bytes: then discard it. */
static thr_status keep_stream(thr_whole_lines *lines, size_t most, thr_error *err) {
    size_t capacity = 0;
    for (size_t got = 1; got != 0; lines->size += got) {
        if (lines->size > most) {
            thr_release(lines->context, lines->kept);
            lines->kept = NULL;
            lines->size = 0;
            return THR_OK;
        }
        THR_TRY(thr_grow(lines->context, &lines->kept, &capacity, lines->size + KEEP_BYTES, 1, "a text", err));
        THR_TRY(thr_io_stream_read(&lines->stream, lines->kept + lines->size, capacity - lines->size, &got, err));
    }
    lines->text = lines->kept;
    return THR_OK;
}

static thr_status open_file(thr_whole_lines *lines, thr_error *err) {
    struct stat st;
    const bool plain = lines->path != NULL && stat(lines->path, &st) == 0 && S_ISREG(st.st_mode);
    if (plain && lines->packing == THR_PACKING_NONE) {
        THR_TRY(thr_map_open(lines->path, &lines->map, err));
        lines->text = lines->map.size != 0 ? (const char *)lines->map.data : "";
        lines->size = (size_t)lines->map.size;
        lines->raw_size = lines->map.size;
        return THR_OK;
    }
    THR_TRY(thr_io_stream_open(lines->context, lines->path, lines->name, lines->packing, &lines->stream, err));
    if (!plain)
        return keep_stream(lines, SIZE_MAX, err);
    lines->raw_size = (uint64_t)st.st_size;
    if (lines->raw_size > lines->chunk_bytes || lines->chunk_bytes > SIZE_MAX / KEPT_CHUNKS)
        return THR_OK;
    THR_TRY(keep_stream(lines, KEPT_CHUNKS * lines->chunk_bytes, err));
    if (lines->text == NULL)
        return thr_io_whole_lines_rewind(lines, err);
    lines->raw_size = lines->size;
    return THR_OK;
}

thr_status thr_io_whole_lines_open(thr_context *context, const char *name, size_t chunk_bytes, thr_whole_lines *lines,
                                   thr_error *err) {
    *lines = (thr_whole_lines){.context = context, .stream = {.fd = -1}};
    THR_TRY(thr_check_path(name, "the file to read", err));
    size_t length = strlen(name);
    *lines = (thr_whole_lines){.context = context,
                               .name = name,
                               .path = thr_io_whole_lines_is_input(name) ? NULL : name,
                               .packing = thr_io_packing_cut(name, &length),
                               .chunk_bytes = chunk_bytes,
                               .stream = {.fd = -1},
                               .raw_size = THR_SIZE_UNKNOWN};
    const thr_status status = open_file(lines, err);
    if (status != THR_OK)
        thr_io_whole_lines_close(lines);
    return status;
}

void thr_io_whole_lines_open_memory(thr_context *context, const char *name, const void *text, size_t size,
                                    size_t chunk_bytes, thr_whole_lines *lines) {
    *lines = (thr_whole_lines){.context = context,
                               .name = name,
                               .chunk_bytes = chunk_bytes,
                               .text = size != 0 ? text : "",
                               .size = size,
                               .stream = {.fd = -1},
                               .raw_size = size};
}

/* Read until the buffer holds a chunk that ends after a newline, or the rest of the text. */
static thr_status next_unpacked(thr_whole_lines *lines, const char **chunk, size_t *size, thr_error *err) {
    if (lines->cut != 0)
        memmove(lines->buffer, lines->buffer + lines->cut, lines->end - lines->cut);
    lines->end -= lines->cut;
    lines->cut = 0;
    size_t wanted = lines->chunk_bytes;
    for (;;) {
        size_t got = 0;
        THR_TRY(thr_grow(lines->context, &lines->buffer, &lines->capacity, wanted, 1, "unpacked text", err));
        if (lines->end < wanted)
            THR_TRY(thr_io_stream_read(&lines->stream, lines->buffer + lines->end, wanted - lines->end, &got, err));
        lines->end += got;
        lines->cut = lines->end;
        if (lines->end < wanted) /* end of the text */
            break;
        while (lines->cut != 0 && lines->buffer[lines->cut - 1] != '\n')
            lines->cut--;
        if (lines->cut != 0)
            break;
        if (!thr_mul_size(wanted, 2, &wanted))
            return thr_fail(err, THR_ENOMEM, "%s: no memory for a line of %zu bytes", lines->name, lines->end);
    }
    const size_t mark = lines->begun ? 0 : mark_length(lines->buffer, lines->cut);
    lines->begun = true;
    *chunk = lines->buffer + mark;
    *size = lines->cut - mark;
    return THR_OK;
}

thr_status thr_io_whole_lines_next(thr_whole_lines *lines, const char **chunk, size_t *size, thr_error *err) {
    if (lines->text == NULL)
        return next_unpacked(lines, chunk, size, err);
    if (lines->given == 0)
        lines->given = mark_length(lines->text, lines->size);
    *chunk = lines->text + lines->given;
    *size = thr_io_whole_lines_cut(*chunk, lines->size - lines->given, lines->chunk_bytes);
    lines->given += *size;
    return THR_OK;
}

thr_status thr_io_whole_lines_rewind(thr_whole_lines *lines, thr_error *err) {
    lines->given = lines->cut = lines->end = 0;
    lines->begun = false;
    if (lines->text != NULL)
        return THR_OK;
    thr_io_stream_close(&lines->stream);
    lines->stream = (thr_stream){.fd = -1};
    return thr_io_stream_open(lines->context, lines->path, lines->name, lines->packing, &lines->stream, err);
}

uint64_t thr_io_whole_lines_position(const thr_whole_lines *lines) {
    return lines->text != NULL ? lines->given : lines->stream.raw_position;
}

void thr_io_whole_lines_close(thr_whole_lines *lines) {
    thr_map_close(&lines->map);
    thr_io_stream_close(&lines->stream);
    THR_RELEASE(lines->context, lines->kept, lines->buffer);
    lines->kept = lines->buffer = NULL;
}
