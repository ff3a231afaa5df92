/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal.h - DIR/journal-BUILD.log: the changes since the newest segment, appended frame by frame (docs/format.md).
 *
 * A frame holds the changes that one flush to the disk acknowledges. It is written only after the frame before it was
 * flushed, so at most the last frame of a file can be torn; it was not acknowledged, and readers ignore it. Every frame
 * has its place, the checksum of the frame before, that of its header and its own, so that no bytes of another journal,
 * nor of a frame that was cut off, nor of data in a frame, are taken for a frame. A writer that is closed notes in the
 * header where the last frame ends, so that a file that is cut afterwards is not taken for one with a torn frame.
 */
#pragma once

#include "base/memory.h"

enum { THR_JOURNAL_HEADER = 64, THR_FRAME_HEADER = 48 };

/* The largest end of a frame, and of the zeros after it. A writer makes a segment of a journal that would be larger. */
enum { THR_JOURNAL_MOST_BYTES = 64 << 20, THR_JOURNAL_MOST_ROOM = 1 << 20 };

/* Removes items, then adds others. Views. */
typedef struct thr_journal_change {
    uint32_t n_removed, n_added;
    const uint64_t *removed; /* ids, including those of replaced items */
    const uint64_t *ids;     /* of the added items */
    const float *vectors;    /* theirs, n_dims each */
    const char *names;       /* theirs, each with a zero byte; NULL in an index without names */
    uint64_t names_size;
} thr_journal_change;

/* What a journal's header holds: it belongs to one index. */
typedef struct thr_journal_kind {
    uint32_t build; /* of the file's name */
    uint32_t n_dims;
    bool has_names;
} thr_journal_kind;

typedef struct thr_journal {
    thr_context *context;
    char *path;
    int fd;       /* -1: closed; that of a journal opened to read is open during a read only */
    bool appends; /* opened to append */
    thr_journal_kind kind;
    bool header_damaged; /* in the file; nothing is lost */
    uint64_t last, end;  /* where the last whole frame begins and ends */
    uint64_t checksum;   /* of that frame; before the first one, of the header */
    uint64_t least_end;  /* from the file's header: the last frame ends there or later */
    bool keeps_room;     /* append writes zeros after a frame, which the next frames overwrite */
    uint64_t room_end;   /* of these zeros */
} thr_journal;

/*
 * Write an empty journal, under a temporary name until it is flushed. The caller flushes the directory. THR_ENOSPACE;
 * THR_EIO; THR_ENOMEM.
 */
thr_status thr_index_journal_create(thr_context *context, const char *path, const thr_journal_kind *kind,
                                    thr_error *err);

/*
 * Open a journal, to read it, or also to append, which keeps the descriptor. The header of an index's journal follows
 * from the index. So a damaged one is no error if the first frame follows the right one, or if there is no frame;
 * append mends it in the file. THR_ECORRUPT if the header is damaged otherwise, or another index's; THR_EVERSION;
 * THR_ENOTFOUND; THR_EIO; THR_ENOMEM. Close it in any case.
 */
thr_status thr_index_journal_open(thr_context *context, const char *path, const thr_journal_kind *kind, bool append,
                                  thr_journal *journal, thr_error *err);
void thr_index_journal_close(thr_journal *journal);

typedef thr_status thr_journal_visit(void *arg, const thr_journal_change *change, thr_error *err);

/*
 * Visit the changes of all frames after journal->end, and advance it, in the file that is at the path now if the
 * journal was opened to read: the checksums of its frames prove that it is the same, or a copy. A torn frame at the end
 * of the file is left, as are zeros there. Once a frame was read, a frame whose header is zeros ends the journal,
 * whatever follows.
 *
 * THR_ECORRUPT if a whole frame follows a damaged one, the frames end before least_end, or the file no longer holds the
 * last frame that was read; THR_ENOTFOUND if it was deleted; THR_EIO; THR_ENOMEM; and what visit returns.
 */
thr_status thr_index_journal_read(thr_journal *journal, thr_journal_visit *visit, void *arg, thr_error *err);

/* In replay.c: open the descriptor, if it is closed. THR_ECORRUPT if it is no plain file; THR_ENOTFOUND; THR_EIO. */
thr_status thr_index_journal_open_file(thr_journal *journal, thr_error *err);

/* In replay.c: whether the file has no frame, or a first one that is whole and follows a header of this checksum. */
thr_status thr_index_journal_follows(const thr_journal *journal, uint64_t checksum, bool *follows, thr_error *err);

/* Cut off what follows the last whole frame, before the first append, and flush that. THR_EIO. */
thr_status thr_index_journal_trim(const thr_journal *journal, thr_error *err);

/* Cut off the room after the last frame. Errors are ignored: zeros at the end hold nothing. */
void thr_index_journal_give_back_room(thr_journal *journal);

/* Note in the header where the last frame ends. Errors are ignored: then a cut looks like a torn frame. */
void thr_index_journal_note_end(thr_journal *journal);

/* A frame under construction. Begin with zeros and a context; release bytes. */
typedef struct thr_frame {
    thr_context *context;
    char *bytes;
    size_t size, capacity;
    uint32_t n_changes;
} thr_frame;

void thr_index_frame_begin(thr_frame *frame);

/* The bytes that a change takes in a frame. */
uint64_t thr_index_frame_change_size(const thr_journal_change *change, uint32_t n_dims);

/* Append a change. THR_ENOMEM, with the frame as before. */
thr_status thr_index_frame_add(thr_frame *frame, const thr_journal_change *change, uint32_t n_dims, thr_error *err);

/*
 * Write the frame to the end of the journal and flush it. After an error the frame is cut off again, and journal is as
 * before. THR_ERANGE if the journal gets larger than THR_JOURNAL_MOST_BYTES; THR_ENOSPACE; THR_EIO.
 */
thr_status thr_index_journal_append(thr_journal *journal, const thr_frame *frame, thr_error *err);

/* Cut the frame that was appended last off again. Close the journal afterwards. */
void thr_index_journal_take_back(thr_journal *journal);

/* THR_ECHANGED if the file was deleted or cut since it was opened: appended changes would be lost. */
thr_status thr_index_journal_check_there(const thr_journal *journal, thr_error *err);
