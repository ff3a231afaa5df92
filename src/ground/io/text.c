/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - read a text line by line. */
#include <string.h>

#include "base/error.h"
#include "io/reader.h"

enum { BUFFER_BYTES = 256 << 10 };

/*
 * buffer[start, end) has been read and not yet returned; it has no newline before scanned. The buffer's last byte is
 * reserved for the NUL after a last line without a line end.
 */
typedef struct text_state {
    char *buffer;
    size_t capacity;
    size_t start, scanned, end;
    bool ended;
    uint64_t line;         /* number of the next line, from 1 */
    uint64_t start_offset; /* of buffer[start] in the text */
} text_state;

static thr_status fill(thr_reader *reader, thr_error *err) {
    text_state *s = reader->state;
    if (s->end + 1 == s->capacity && s->start == 0)
        THR_TRY(thr_grow(reader->context, &s->buffer, &s->capacity, 2 * s->capacity, 1, "a long line", err));
    if (s->end + 1 == s->capacity) {
        memmove(s->buffer, s->buffer + s->start, s->end - s->start);
        s->end -= s->start;
        s->scanned -= s->start;
        s->start = 0;
    }
    size_t got = 0;
    THR_TRY(thr_io_stream_read_some(&reader->stream, s->buffer + s->end, s->capacity - 1 - s->end, &got, err));
    s->end += got;
    s->ended = got == 0;
    return THR_OK;
}

/* Length of the byte order mark if the file begins with one; it is not part of the first line. */
static size_t mark_length(const text_state *s) {
    static const char mark[] = "\xef\xbb\xbf";
    const size_t length = sizeof mark - 1;
    return s->start_offset == 0 && s->end - s->start >= length && memcmp(s->buffer + s->start, mark, length) == 0
               ? length
               : 0;
}

/* Return the line of length bytes at start, without its line end. */
static thr_status return_line(thr_reader *reader, size_t size, size_t length, const char **line, size_t *length_out,
                              thr_error *err) {
    text_state *s = reader->state;
    char *text = s->buffer + s->start;
    const char *nul = memchr(text, '\0', length);
    if (nul != NULL)
        return thr_fail(
            err, THR_EFORMAT,
            "%s: line %llu holds a NUL byte at byte %llu: convert the text to UTF-8 (UTF-16 has such bytes)",
            reader->name, (unsigned long long)s->line, (unsigned long long)(s->start_offset + (uint64_t)(nul - text)));
    const size_t lead = mark_length(s);
    text[length] = '\0';
    *line = text + lead;
    *length_out = length - lead;
    s->start += size;
    s->scanned = s->start;
    s->start_offset += size;
    s->line++;
    return THR_OK;
}

static thr_status text_next_line(thr_reader *reader, const char **line, size_t *length_out, thr_error *err) {
    text_state *s = reader->state;
    char *end = NULL;
    for (;;) {
        end = memchr(s->buffer + s->scanned, '\n', s->end - s->scanned);
        s->scanned = s->end;
        /* The longest line may be followed by one more byte, \r. */
        if (end != NULL || s->ended || s->end - s->start > reader->longest_line + mark_length(s) + 1)
            break;
        THR_TRY(fill(reader, err));
    }
    size_t size = (end != NULL ? (size_t)(end - s->buffer) : s->end) - s->start;
    size_t length = end != NULL && size != 0 && end[-1] == '\r' ? size - 1 : size;
    if (end == NULL && size == 0)
        return THR_OK;
    if (length > reader->longest_line + mark_length(s))
        return thr_fail(
            err, THR_EFORMAT, "%s: line %llu, at byte %llu, is longer than %zu bytes: is it really a text of lines?",
            reader->name, (unsigned long long)s->line, (unsigned long long)s->start_offset, reader->longest_line);
    return return_line(reader, end != NULL ? size + 1 : size, length, line, length_out, err);
}

static void text_close(thr_reader *reader) {
    text_state *s = reader->state;
    if (s == NULL)
        return;
    THR_RELEASE(reader->context, s->buffer, s);
}

static const thr_reader_ops text_ops = {.next_line = text_next_line, .close = text_close};

thr_status thr_io_text_open(thr_reader *reader, const thr_source *source, thr_error *err) {
    (void)source;
    text_state *s = NULL;
    THR_TRY(thr_alloc_zero(reader->context, 1, sizeof *s, &s, "a reader", err));
    reader->state = s;
    reader->ops = &text_ops;
    s->line = 1;
    reader->shape = (thr_reader_shape){.n_rows = THR_ROWS_UNKNOWN};
    s->capacity = reader->buffer_bytes < BUFFER_BYTES ? reader->buffer_bytes + 1 : BUFFER_BYTES;
    return thr_alloc(reader->context, s->capacity, 1, &s->buffer, "lines of a text", err);
}
