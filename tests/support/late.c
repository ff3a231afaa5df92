/* SPDX-License-Identifier: Apache-2.0 */
#include "late.h"

#include "support.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_STREAMS = 64, MOST_PINNED = 256 };

typedef enum kind { UPLOAD, DOWNLOAD, CLEAR, AFTER, PACK, SCREEN, BATCH, THRESHOLD, COUNT_KEYS, SELECT } kind;

typedef struct late_stream late_stream;

/* Work enqueued on a stream. */
typedef struct task {
    struct task *next;
    kind kind;
    uint64_t number; /* tasks of all streams are counted */
    void *to;
    const void *from;
    void *copy; /* of the data at `from`, which may be freed by then */
    size_t size;
    late_stream *other; /* that has to be so far before */
    uint64_t until;
    union {
        thr_pack_op pack;
        thr_screen_op screen;
        thr_batch_op batch;
        thr_threshold_op threshold;
        thr_count_op count;
        thr_select_op select;
    } op;
} task;

struct late_stream {
    thr_stream *real;
    task *first, **end;
    uint64_t last_told; /* its last task's number */
};

static struct {
    const thr_backend *real;
    thr_backend table;
    late_stream *streams[MOST_STREAMS];
    size_t n_streams;
    struct {
        const char *memory;
        size_t size;
    } pinned[MOST_PINNED];
    uint64_t rng, n_told, n_overtakings;
} late;

/* --------------------------------------------------------------------------------------------- doing */

static bool may_run(const late_stream *s) {
    const task *t = s->first;
    return t != NULL && (t->kind != AFTER || t->other->first == NULL || t->other->first->number > t->until);
}

static thr_status do_task(thr_stream *s, const task *t) {
    const thr_backend *b = late.real;
    thr_error err;
    switch (t->kind) {
    case UPLOAD:
        return b->upload(s, t->to, t->copy == NULL ? t->from : t->copy, t->size, &err);
    case DOWNLOAD:
        return b->download(s, t->to, t->from, t->size, &err);
    case CLEAR:
        return b->clear(s, t->to, t->size, &err);
    case PACK:
        return b->pack(s, &t->op.pack, &err);
    case SCREEN:
        return b->screen(s, &t->op.screen, &err);
    case BATCH:
        return b->batch(s, &t->op.batch, &err);
    case THRESHOLD:
        return b->threshold(s, &t->op.threshold, &err);
    case COUNT_KEYS:
        return b->count_keys(s, &t->op.count, &err);
    case SELECT:
        return b->select(s, &t->op.select, &err);
    case AFTER:
        break;
    }
    return THR_OK;
}

static void run_first(late_stream *s) {
    task *t = s->first;
    assert_int_equal(do_task(s->real, t), THR_OK);
    for (size_t i = 0; i < late.n_streams; i++)
        late.n_overtakings += t->kind != AFTER && late.streams[i] != s && late.streams[i]->first != NULL &&
                              late.streams[i]->first->number < t->number;
    s->first = t->next;
    if (s->first == NULL)
        s->end = &s->first;
    free(t->copy);
    free(t);
}

/* Until a stream has nothing left; NULL: all. For a while one stream is preferred, then another. */
static void run_until_empty(const late_stream *wanted) {
    size_t preferred = 0;
    for (;;) {
        bool left = false;
        for (size_t i = 0; i < late.n_streams; i++)
            left = left || ((wanted == NULL || wanted == late.streams[i]) && late.streams[i]->first != NULL);
        if (!left)
            return;
        if (thr_rng_below(&late.rng, 8) == 0)
            preferred = (size_t)thr_rng_below(&late.rng, late.n_streams);
        while (!may_run(late.streams[preferred]))
            preferred = (size_t)thr_rng_below(&late.rng, late.n_streams);
        run_first(late.streams[preferred]);
    }
}

/* -------------------------------------------------------------------------------------------- telling */

static task *tell(thr_stream *stream, kind what) {
    late_stream *s = (late_stream *)stream;
    task *t = test_array(1, sizeof *t);
    t->kind = what;
    t->number = s->last_told = ++late.n_told;
    *s->end = t;
    s->end = &t->next;
    return t;
}

static bool is_pinned(const void *memory) {
    for (size_t i = 0; i < MOST_PINNED; i++)
        if (late.pinned[i].memory != NULL && (const char *)memory >= late.pinned[i].memory &&
            (const char *)memory < late.pinned[i].memory + late.pinned[i].size)
            return true;
    return false;
}

/* Pinned memory is read when the copy is made, other memory before the call returns. */
static thr_status tell_upload(thr_stream *stream, void *to, const void *from, size_t size, thr_error *err) {
    task *t = tell(stream, UPLOAD);
    (void)err;
    t->to = to;
    t->from = from;
    t->size = size;
    if (!is_pinned(from)) {
        t->copy = test_array(size, 1);
        memcpy(t->copy, from, size);
    }
    return THR_OK;
}

static thr_status tell_download(thr_stream *stream, void *to, const void *from, size_t size, thr_error *err) {
    task *t = tell(stream, DOWNLOAD);
    (void)err;
    t->to = to;
    t->from = from;
    t->size = size;
    return THR_OK;
}

static thr_status tell_clear(thr_stream *stream, void *memory, size_t size, thr_error *err) {
    task *t = tell(stream, CLEAR);
    (void)err;
    t->to = memory;
    t->size = size;
    return THR_OK;
}

static thr_status tell_after(thr_stream *stream, thr_stream *other, thr_error *err) {
    task *t = tell(stream, AFTER);
    (void)err;
    t->other = (late_stream *)other;
    t->until = t->other->last_told;
    return THR_OK;
}

#define TELL(name, KIND, field, type)                                                                                  \
    static thr_status tell_##name(thr_stream *stream, const type *op, thr_error *err) {                                \
        (void)err;                                                                                                     \
        tell(stream, KIND)->op.field = *op;                                                                            \
        return THR_OK;                                                                                                 \
    }
TELL(pack, PACK, pack, thr_pack_op)
TELL(screen, SCREEN, screen, thr_screen_op)
TELL(batch, BATCH, batch, thr_batch_op)
TELL(threshold, THRESHOLD, threshold, thr_threshold_op)
TELL(count_keys, COUNT_KEYS, count, thr_count_op)
TELL(select, SELECT, select, thr_select_op)

/* --------------------------------------------------------------------------------- streams and memory */

static thr_status open_stream(thr_device *device, thr_stream **stream, thr_error *err) {
    late_stream *s = test_array(1, sizeof *s);
    assert_true(late.n_streams < MOST_STREAMS);
    s->end = &s->first;
    late.streams[late.n_streams++] = s;
    *stream = (thr_stream *)s;
    return late.real->open_stream(device, &s->real, err);
}

static thr_status wait(thr_stream *stream, thr_error *err) {
    run_until_empty((late_stream *)stream);
    return late.real->wait(((late_stream *)stream)->real, err);
}

/* Others may still have to come after it, so that all have to be done. */
static void close_stream(thr_stream *stream) {
    late_stream *s = (late_stream *)stream;
    if (s == NULL)
        return;
    run_until_empty(NULL);
    for (size_t i = 0; i < late.n_streams; i++)
        if (late.streams[i] == s)
            late.streams[i--] = late.streams[--late.n_streams];
    late.real->close_stream(s->real);
    free(s);
}

/* Giving memory back waits for the device, as CUDA does. */
static void release(thr_device *device, void *memory) {
    run_until_empty(NULL);
    late.real->release(device, memory);
}

static thr_status alloc_pinned(thr_device *device, size_t size, void **memory, const char *what, thr_error *err) {
    size_t i = 0;
    const thr_status status = late.real->alloc_pinned(device, size, memory, what, err);
    while (i < MOST_PINNED && late.pinned[i].memory != NULL)
        i++;
    assert_true(i < MOST_PINNED);
    late.pinned[i].memory = *memory;
    late.pinned[i].size = size;
    return status;
}

static void release_pinned(thr_device *device, void *memory) {
    run_until_empty(NULL);
    for (size_t i = 0; i < MOST_PINNED && memory != NULL; i++)
        if (late.pinned[i].memory == memory)
            late.pinned[i].memory = NULL;
    late.real->release_pinned(device, memory);
}

const thr_backend *test_late_backend(const thr_backend *real, uint64_t seed) {
    assert_int_equal(late.n_streams, 0);
    late.real = real;
    late.rng = seed;
    late.n_overtakings = 0;
    late.table = *real;
    late.table.release = release;
    late.table.alloc_pinned = alloc_pinned;
    late.table.release_pinned = release_pinned;
    late.table.open_stream = open_stream;
    late.table.close_stream = close_stream;
    late.table.wait = wait;
    late.table.after = tell_after;
    late.table.upload = tell_upload;
    late.table.download = tell_download;
    late.table.clear = tell_clear;
    late.table.pack = tell_pack;
    late.table.screen = tell_screen;
    late.table.batch = tell_batch;
    late.table.threshold = tell_threshold;
    late.table.count_keys = tell_count_keys;
    late.table.select = tell_select;
    return &late.table;
}

uint64_t test_late_overtakings(void) {
    return late.n_overtakings;
}
