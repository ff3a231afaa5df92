/* SPDX-License-Identifier: Apache-2.0 */
/* replay.c - reads the frames of a journal, and distinguishes a torn end from damage. */
#include "base/error.h"
#include "base/files/file.h"
#include "index/journal/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define REMEDY "restore the file, or build the index again"

/* With the room after the frames, which is written a piece at a time. */
static const uint64_t MOST_BYTES = THR_JOURNAL_MOST_BYTES + 2 * THR_JOURNAL_MOST_ROOM;

/* The bytes of the file from `first` on; all: to its end. */
typedef struct bytes {
    char *data;
    size_t size;
    uint64_t first;
    bool all;
} bytes;

static thr_status read_rest(const thr_journal *j, size_t most, bytes *b, thr_error *err) {
    struct stat st;
    if (fstat(j->fd, &st) != 0)
        return thr_fail(err, THR_EIO, "%s: cannot be measured", j->path);
    *b = (bytes){.first = j->end};
    if ((uint64_t)st.st_size < j->end)
        return thr_fail(err, THR_ECORRUPT, "%s: is shorter than it was: " REMEDY, j->path);
    if ((uint64_t)st.st_size > MOST_BYTES)
        return thr_fail(err, THR_ECORRUPT, "%s: is larger than a journal can be: " REMEDY, j->path);
    const size_t rest = (size_t)((uint64_t)st.st_size - j->end);
    b->all = rest <= most;
    THR_TRY(thr_alloc(j->context, b->all ? rest : most, 1, &b->data, "the journal", err));
    return thr_read_at(j->fd, j->path, j->end, b->data, b->all ? rest : most, &b->size, err);
}

/* Whether zeros begin at this offset, as many as a header has; a writer's room for further frames looks so. */
static bool is_room(const bytes *b, size_t at) {
    static const char zeros[THR_FRAME_HEADER] = {0};
    return b->size - at >= sizeof zeros && memcmp(b->data + at, zeros, sizeof zeros) == 0;
}

/* Whether the header of a frame is at this offset of the bytes. Its frame may be cut. */
static bool is_header(const thr_journal *j, const bytes *b, size_t at, thr_frame_header *h) {
    if (b->size - at < sizeof *h)
        return false;
    memcpy(h, b->data + at, sizeof *h);
    return h->magic == THR_FRAME_MAGIC && h->position == b->first + at && h->size % 8 == 0 && h->size >= sizeof *h &&
           h->n_changes > 0 && h->header_sum == thr_index_frame_header_sum(h, j->kind.build);
}

/* Whether a whole frame begins there. */
static bool is_frame(const thr_journal *j, const bytes *b, size_t at, thr_frame_header *h) {
    return is_header(j, b, at, h) && h->size <= b->size - at &&
           h->checksum == thr_index_frame_checksum(h, b->data + at + sizeof *h);
}

/* Take n values of a size, and their padding, from the bytes of a frame. */
static const void *take(const char **at, const char *end, uint64_t n, uint64_t size) {
    const char *taken = *at;
    uint64_t total;
    if (__builtin_mul_overflow(n, size, &total) || total > (uint64_t)(end - *at) ||
        thr_frame_padded(total) > (uint64_t)(end - *at))
        return NULL;
    *at += thr_frame_padded(total);
    return taken;
}

/* Every added item has a name, which its zero byte ends, if items have names. */
static bool names_fit(const thr_journal *j, const thr_journal_change *change) {
    uint64_t n = 0;
    for (uint64_t i = 0; i < change->names_size; i++)
        n += change->names[i] == '\0';
    return j->kind.has_names ? n == change->n_added && (n == 0 || change->names[change->names_size - 1] == '\0')
                             : change->names_size == 0;
}

static thr_status wrong_frame(const thr_journal *j, const thr_frame_header *h, thr_error *err) {
    return thr_fail(err, THR_ECORRUPT, "%s: the frame at byte %" PRIu64 " is wrong: " REMEDY, j->path, h->position);
}

static thr_status visit_frame(const thr_journal *j, const char *at, const thr_frame_header *h, thr_journal_visit *visit,
                              void *arg, thr_error *err) {
    const char *end = at + h->size;
    at += sizeof *h;
    for (uint32_t i = 0; i < h->n_changes; i++) {
        const thr_change_header *header = take(&at, end, 1, sizeof *header);
        if (header == NULL)
            return wrong_frame(j, h, err);
        thr_journal_change change = {header->n_removed, header->n_added, .names_size = header->names_size};
        change.removed = take(&at, end, change.n_removed, sizeof(uint64_t));
        change.ids = change.removed == NULL ? NULL : take(&at, end, change.n_added, sizeof(uint64_t));
        change.vectors = change.ids == NULL ? NULL : take(&at, end, change.n_added, j->kind.n_dims * sizeof(float));
        change.names = change.vectors == NULL ? NULL : take(&at, end, change.names_size, 1);
        if (change.names == NULL || !names_fit(j, &change))
            return wrong_frame(j, h, err);
        THR_TRY(visit(arg, &change, err));
    }
    return at == end ? THR_OK : wrong_frame(j, h, err);
}

/*
 * A frame is written only after the one before is on the disk: one that follows proves that this one was, too. Where
 * the header of the torn frame is whole, what it encloses is data. What follows a torn frame has few headers, so frames
 * that take more than all bytes together are damage: this pass is linear.
 */
static thr_status check_torn(const thr_journal *j, const bytes *b, size_t at, thr_error *err) {
    thr_frame_header h;
    uint64_t summed = 0, end = b->size;
    size_t next = at + 8;
    while (end > at && b->data[end - 1] == 0) /* room for further frames */
        end--;
    if (is_header(j, b, at, &h))
        next = h.size < end - at ? at + (size_t)h.size : (size_t)end;
    for (; next < end; next += 8)
        if (is_header(j, b, next, &h) && h.size <= b->size - next &&
            ((summed += h.size) > b->size || is_frame(j, b, next, &h)))
            return thr_fail(err, THR_ECORRUPT,
                            "%s: damaged at byte %" PRIu64 ", and whole at byte %" PRIu64 " again: " REMEDY, j->path,
                            b->first + at, b->first + next);
    return THR_OK;
}

/* The writer cuts off a frame that it could not flush; a reader may have seen it. */
static thr_status check_last(const thr_journal *j, thr_error *err) {
    thr_frame_header h;
    size_t got;
    if (j->last == j->end)
        return THR_OK;
    THR_TRY(thr_read_at(j->fd, j->path, j->last, &h, sizeof h, &got, err));
    return got == sizeof h && h.position == j->last && h.checksum == j->checksum
               ? THR_OK
               : thr_fail(err, THR_ECORRUPT, "%s: the frame at byte %" PRIu64 " has changed", j->path, j->last);
}

thr_status thr_index_journal_follows(const thr_journal *journal, uint64_t checksum, bool *follows, thr_error *err) {
    bytes b = {.data = NULL};
    thr_frame_header h;
    const thr_status status = read_rest(journal, SIZE_MAX, &b, err);
    *follows = status == THR_OK && (b.size == 0 || (is_frame(journal, &b, 0, &h) && h.previous == checksum));
    thr_release(journal->context, b.data);
    return status;
}

/* Visit the whole frames of the bytes; *at is where they end. */
static thr_status visit_frames(thr_journal *j, const bytes *b, size_t *at, thr_journal_visit *visit, void *arg,
                               thr_error *err) {
    thr_frame_header h;
    for (*at = 0; *at < b->size && is_frame(j, b, *at, &h) && h.previous == j->checksum; *at += (size_t)h.size) {
        THR_TRY(visit_frame(j, b->data + *at, &h, visit, arg, err));
        j->last = h.position;
        j->end = h.position + h.size;
        j->checksum = h.checksum;
    }
    return THR_OK;
}

static thr_status read_on(thr_journal *journal, thr_journal_visit *visit, void *arg, thr_error *err) {
    enum { FIRST_PIECE = 4096, GROWTH = 16 };
    size_t most = journal->last == journal->end ? SIZE_MAX : FIRST_PIECE, at;
    thr_status status = THR_OK;
    THR_TRY(check_last(journal, err));
    for (bool more = true; more && status == THR_OK; most *= GROWTH) {
        bytes b = {.data = NULL};
        status = read_rest(journal, most, &b, err);
        if (status == THR_OK)
            status = visit_frames(journal, &b, &at, visit, arg, err);
        more = status == THR_OK && !b.all && !is_room(&b, at);
        if (status == THR_OK && b.all && at < b.size)
            status = check_torn(journal, &b, at, err);
        thr_release(journal->context, b.data);
    }
    return status == THR_OK && journal->end < journal->least_end
               ? thr_fail(err, THR_ECORRUPT,
                          "%s: its frames end at byte %" PRIu64 ", and ended at byte %" PRIu64
                          " when a writer was closed: it was cut, or its end is damaged: " REMEDY,
                          journal->path, journal->end, journal->least_end)
               : status;
}

thr_status thr_index_journal_open_file(thr_journal *journal, thr_error *err) {
    const int access = journal->appends ? O_RDWR : O_RDONLY;
    struct stat st;
    while (journal->fd < 0) {
        journal->fd = open(journal->path, access | O_CLOEXEC | O_NONBLOCK); /* a pipe must not block */
        if (journal->fd < 0 && errno != EINTR)
            return thr_fail_errno(err, errno, "open", journal->path);
    }
    if (fstat(journal->fd, &st) == 0 && S_ISREG(st.st_mode))
        return THR_OK;
    thr_journal_close_file(journal);
    return thr_fail(err, THR_ECORRUPT, "%s: is not a plain file: restore it, or build the index again", journal->path);
}

thr_status thr_index_journal_read(thr_journal *journal, thr_journal_visit *visit, void *arg, thr_error *err) {
    THR_TRY(thr_index_journal_open_file(journal, err));
    const thr_status status = read_on(journal, visit, arg, err);
    if (!journal->appends)
        thr_journal_close_file(journal);
    return status;
}
