/* SPDX-License-Identifier: Apache-2.0 */
/* journal.c - creates and opens journals, appends frames. */
#include "index/journal/journal.h"

#include "base/files/checksum.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/files/out.h"
#include "base/minmax.h"
#include "index/journal/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char MAGIC[8] = {'T', 'H', 'R', 'J', 'N', 'L', 0, 1};

typedef struct header {
    char magic[8];
    uint32_t version, n_dims, has_names, build;
    uint64_t least_end; /* 0: no writer was closed yet */
    uint32_t zero[6];
    uint64_t checksum; /* of the bytes before */
} header;

_Static_assert(sizeof(header) == THR_JOURNAL_HEADER, "no padding");

static header make_header(const thr_journal_kind *kind, uint64_t least_end) {
    header h = {.version = THR_FORMAT_VERSION,
                .n_dims = kind->n_dims,
                .has_names = kind->has_names,
                .build = kind->build,
                .least_end = least_end};
    memcpy(h.magic, MAGIC, sizeof MAGIC);
    h.checksum = thr_checksum_of(&h, offsetof(header, checksum));
    return h;
}

thr_status thr_index_journal_create(thr_context *context, const char *path, const thr_journal_kind *kind,
                                    thr_error *err) {
    const header h = make_header(kind, 0);
    thr_out out = {.context = NULL};
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_out_open(context, path, &out, err));
    out.directory_later = true;
    THR_TRY_OUT(thr_out_write(&out, &h, sizeof h, err));
    THR_TRY_OUT(thr_out_publish(&out, err));
out:
    thr_out_drop(&out);
    return status;
}

static thr_status read_header(thr_journal *j, thr_error *err) {
    header h = {.version = 0};
    size_t got = 0;
    THR_TRY(thr_read_at(j->fd, j->path, 0, &h, sizeof h, &got, err));
    const header first = make_header(&j->kind, 0), expected = make_header(&j->kind, h.least_end);
    j->checksum = first.checksum;
    if (got == sizeof h && memcmp(&h, &expected, sizeof h) == 0) {
        j->least_end = h.least_end;
        return THR_OK;
    }
    /* A whole header is of another index or of another version; the bytes after it are not read. */
    if (got == sizeof h && h.checksum != thr_checksum_of(&h, offsetof(header, checksum)))
        THR_TRY(thr_index_journal_follows(j, first.checksum, &j->header_damaged, err));
    if (j->header_damaged)
        return THR_OK;
    if (got >= offsetof(header, n_dims) && memcmp(h.magic, MAGIC, sizeof MAGIC) == 0)
        THR_TRY(thr_check_format_version(j->path, h.version, err));
    return thr_fail(err, THR_ECORRUPT,
                    "%s: its header is not that of this index's journal: restore the file, or build the index again",
                    j->path);
}

static thr_status flush(const thr_journal *j, thr_error *err) {
    int result;
    do
        result = fdatasync(j->fd);
    while (result != 0 && errno == EINTR);
    return result == 0 ? THR_OK : thr_fail_errno(err, errno, "flush", j->path);
}

static thr_status write_all(const thr_journal *j, uint64_t place, const void *bytes, size_t size, thr_error *err) {
    for (size_t at = 0; at < size;) {
        const ssize_t n = pwrite(j->fd, (const char *)bytes + at, size - at, (off_t)(place + at));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return thr_fail_errno(err, errno, "write", j->path);
        at += (size_t)n;
    }
    return THR_OK;
}

/* A header that is written in part is damaged, and the next writer mends it. */
static thr_status write_header(thr_journal *j, uint64_t least_end, thr_error *err) {
    const header h = make_header(&j->kind, least_end);
    THR_TRY(write_all(j, 0, &h, sizeof h, err));
    THR_TRY(flush(j, err));
    j->header_damaged = false;
    return THR_OK;
}

thr_status thr_index_journal_open(thr_context *context, const char *path, const thr_journal_kind *kind, bool append,
                                  thr_journal *journal, thr_error *err) {
    *journal = (thr_journal){.context = context, .fd = -1, .appends = append, .kind = *kind};
    THR_TRY(thr_path_append(context, path, "", &journal->path, err));
    THR_TRY(thr_index_journal_open_file(journal, err));
    journal->last = journal->end = THR_JOURNAL_HEADER;
    thr_status status = read_header(journal, err);
    if (status == THR_OK && append && journal->header_damaged)
        status = write_header(journal, 0, err);
    if (!append)
        thr_journal_close_file(journal);
    return status;
}

void thr_index_journal_close(thr_journal *journal) {
    thr_journal_close_file(journal);
    thr_release(journal->context, journal->path);
    journal->path = NULL;
}

/* ------------------------------------------------------------------------------------------------ append */

static thr_status cut(const thr_journal *j, thr_error *err) {
    int result;
    do
        result = ftruncate(j->fd, (off_t)j->end);
    while (result != 0 && errno == EINTR);
    return result == 0 ? THR_OK : thr_fail_errno(err, errno, "cut", j->path);
}

thr_status thr_index_journal_trim(const thr_journal *journal, thr_error *err) {
    const off_t size = lseek(journal->fd, 0, SEEK_END);
    if (size == (off_t)journal->end)
        return THR_OK;
    THR_TRY(cut(journal, err));
    return flush(journal, err);
}

void thr_index_journal_take_back(thr_journal *journal) {
    journal->end = journal->last;
    journal->room_end = 0;
    (void)cut(journal, NULL);
}

thr_status thr_index_journal_check_there(const thr_journal *journal, thr_error *err) {
    struct stat st;
    if (fstat(journal->fd, &st) != 0)
        return thr_fail_errno(err, errno, "stat", journal->path);
    return st.st_nlink > 0 && st.st_size >= (off_t)journal->end
               ? THR_OK
               : thr_fail(err, THR_ECHANGED,
                          "%s: another program has %s the journal of an open writer, and nothing was written: restore "
                          "the index, and open it again",
                          journal->path, st.st_nlink > 0 ? "cut" : "deleted");
}

void thr_index_journal_give_back_room(thr_journal *journal) {
    if (journal->room_end > journal->end)
        (void)cut(journal, NULL);
    journal->room_end = 0;
}

void thr_index_journal_note_end(thr_journal *journal) {
    if (journal->fd >= 0 && journal->end > THR_JOURNAL_HEADER && journal->end != journal->least_end)
        (void)write_header(journal, journal->end, NULL);
}

/*
 * Flushing bytes that the file has already writes no metadata, and costs half as much as flushing bytes that make it
 * longer. So zeros are written after a frame that ends beyond those of before; one flush is for both. Errors are
 * ignored: without room the next frame makes the file longer. A frame that is large is not worth it.
 */
static void make_room(thr_journal *j, uint64_t end, uint64_t frame_size) {
    enum { LEAST_ROOM = 64 << 10, MOST_ROOM = THR_JOURNAL_MOST_ROOM };
    const char zeros[16 << 10] = {0};
    const uint64_t most = THR_MIN(end, MOST_ROOM), size = THR_MAX(most, LEAST_ROOM);
    if (!j->keeps_room || end <= j->room_end || frame_size > LEAST_ROOM)
        return;
    for (j->room_end = end; j->room_end < end + size; j->room_end += sizeof zeros)
        if (write_all(j, j->room_end, zeros, sizeof zeros, NULL) != THR_OK)
            break;
}

thr_status thr_index_journal_append(thr_journal *journal, const thr_frame *frame, thr_error *err) {
    thr_frame_header h = {.magic = THR_FRAME_MAGIC,
                          .size = frame->size,
                          .position = journal->end,
                          .previous = journal->checksum,
                          .n_changes = frame->n_changes};
    if (journal->end + frame->size > THR_JOURNAL_MOST_BYTES)
        return thr_fail(err, THR_ERANGE,
                        "%s: would get larger than %d MiB, of items too few for a segment: add more at once, with "
                        "shorter names",
                        journal->path, THR_JOURNAL_MOST_BYTES >> 20);
    h.header_sum = thr_index_frame_header_sum(&h, journal->kind.build);
    h.checksum = thr_index_frame_checksum(&h, frame->bytes + sizeof h);
    memcpy(frame->bytes, &h, sizeof h);
    thr_status status = write_all(journal, journal->end, frame->bytes, frame->size, err);
    if (status == THR_OK) {
        make_room(journal, journal->end + frame->size, frame->size);
        status = flush(journal, err);
    }
    if (status != THR_OK) {
        journal->room_end = 0;
        (void)cut(journal, NULL); /* else the next frame overwrites it, or the next opening cuts it off */
        return status;
    }
    journal->last = journal->end;
    journal->end += frame->size;
    journal->checksum = h.checksum;
    return THR_OK;
}
