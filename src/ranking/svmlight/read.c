/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - two passes over ranges of whole lines: count, then parse into arrays of the exact size. */
#include "svmlight/read.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/minmax.h"
#include "base/progress.h"
#include "io/endings.h"
#include "svmlight/side_files.h"
#include "svmlight/lines.h"
#include "io/whole_lines.h"

enum {
    PIECE_BYTES = 1 << 20,
    CHUNK_PIECES = 16, /* minimum pieces of a chunk */
    THREAD_PIECES = 4  /* pieces of a chunk for each thread, so that threads finish at about the same time */
};

/* A range of whole lines: its counts, and the totals of the ranges before it. */
typedef struct range {
    thr_svmlight_counts counts;
    size_t first_row;
    uint64_t first_line, first_value, first_comment;
} range;

/* The part of a chunk that one work item parses. */
typedef struct part {
    const char *text;
    size_t size;
    thr_svmlight_fault fault;
} part;

typedef struct reading {
    thr_context *context;
    const char *name;
    thr_svmlight_options options;
    thr_whole_lines lines;
    range *ranges;
    size_t n_ranges, ranges_capacity;
    size_t first_range; /* of the current chunk */
    part *parts;
    size_t n_parts, parts_capacity;
    range total; /* first_* are totals over all ranges; of counts only n_queries, n_rows and largest are totals */
    thr_svmlight_places places;
    uint64_t *comment_starts;
    char *comments;
    thr_progress progress;
} reading;

/* ------------------------------------------------------------------------------------------------ passes */

static void count_part(void *arg, size_t piece, uint32_t worker) {
    reading *r = arg;
    (void)worker;
    thr_svmlight_count(r->parts[piece].text, r->parts[piece].size, &r->ranges[r->first_range + piece].counts);
}

static void parse_part(void *arg, size_t piece, uint32_t worker) {
    reading *r = arg;
    (void)worker;
    part *p = &r->parts[piece];
    const range *g = &r->ranges[r->first_range + piece];
    const thr_svmlight_places *all = &r->places;
    const thr_svmlight_places places = {
        .labels = all->labels + g->first_row,
        .queries = all->queries != NULL ? all->queries + g->first_row : NULL,
        .starts = all->starts != NULL ? all->starts + g->first_row : NULL,
        .columns = all->columns != NULL ? all->columns + g->first_value : NULL,
        .values = all->values != NULL ? all->values + g->first_value : NULL,
        .dense = all->dense != NULL ? all->dense + g->first_row * all->n_features : NULL,
        .comment_starts = r->comment_starts != NULL ? r->comment_starts + g->first_row : NULL,
        .comments = r->comments != NULL ? r->comments + g->first_comment : NULL,
        .first_value = g->first_value,
        .first_comment = g->first_comment,
        .n_features = all->n_features};
    thr_svmlight_take(p->text, p->size, &g->counts, &places, &p->fault);
}

/* Split the chunk into parts at line ends. */
static thr_status split_chunk(reading *r, const char *chunk, size_t size, thr_error *err) {
    r->n_parts = 0;
    while (size != 0) {
        const size_t n = thr_io_whole_lines_cut(chunk, size, r->options.piece_bytes);
        THR_TRY(thr_grow(r->context, &r->parts, &r->parts_capacity, r->n_parts + 1, sizeof *r->parts,
                         "pieces of a text", err));
        r->parts[r->n_parts++] = (part){.text = chunk, .size = n};
        chunk += n;
        size -= n;
    }
    return THR_OK;
}

static void run(reading *r, thr_svmlight_piece fn) {
    if (r->options.run != NULL)
        r->options.run(r->context, r->n_parts, fn, r);
    else
        for (size_t i = 0; i < r->n_parts; i++)
            fn(r, i, 0);
}

static thr_status count_chunk(reading *r, thr_error *err) {
    THR_TRY(thr_grow(r->context, &r->ranges, &r->ranges_capacity, r->n_ranges + r->n_parts, sizeof *r->ranges,
                     "pieces of a text", err));
    r->n_ranges += r->n_parts;
    run(r, count_part);
    for (size_t i = 0; i < r->n_parts; i++) {
        range *g = &r->ranges[r->first_range + i], *total = &r->total;
        const thr_svmlight_counts *c = &g->counts;
        g->first_row = total->first_row;
        g->first_line = total->first_line;
        g->first_value = total->first_value;
        g->first_comment = total->first_comment;
        total->first_row += c->n_rows;
        total->first_line += c->n_lines;
        total->first_value += c->n_values;
        total->first_comment += c->comment_bytes;
        total->counts.n_queries += c->n_queries;
        if (c->largest > total->counts.largest)
            total->counts.largest = c->largest;
    }
    return THR_OK;
}

static thr_status changed(const reading *r, thr_error *err) {
    const thr_svmlight_fault fault = {.kind = THR_SVMLIGHT_CHANGED};
    return thr_svmlight_report_fault(r->name, 0, &fault, err);
}

static thr_status parse_chunk(reading *r, thr_error *err) {
    if (r->n_parts > r->n_ranges - r->first_range)
        return changed(r, err);
    run(r, parse_part);
    for (size_t i = 0; i < r->n_parts; i++)
        if (r->parts[i].fault.kind != THR_SVMLIGHT_FINE)
            return thr_svmlight_report_fault(r->name, r->ranges[r->first_range + i].first_line + 1, &r->parts[i].fault,
                                             err);
    return THR_OK;
}

/* Make one pass over all chunks. done: bytes read in earlier passes, for progress. */
static thr_status run_pass(reading *r, thr_status (*do_chunk)(reading *r, thr_error *err), uint64_t done,
                           thr_error *err) {
    r->first_range = 0;
    for (;;) {
        const char *chunk = NULL;
        size_t size = 0;
        THR_TRY(thr_io_whole_lines_next(&r->lines, &chunk, &size, err));
        if (size == 0)
            return THR_OK;
        THR_TRY(split_chunk(r, chunk, size, err));
        THR_TRY(do_chunk(r, err));
        r->first_range += r->n_parts;
        THR_TRY(thr_progress_step(&r->progress, done + thr_io_whole_lines_position(&r->lines), err));
    }
}

/* ------------------------------------------------------------------------------------------------ arrays */

static thr_status check_totals(const reading *r, thr_error *err) {
    if (r->total.first_row > THR_SVMLIGHT_MAX_ROWS)
        return thr_fail(err, THR_EDIM, "%s: %zu rows: at most %" PRIu32 " are read", r->name, r->total.first_row,
                        THR_SVMLIGHT_MAX_ROWS);
    return THR_OK;
}

/*
 * Return whether dense rows take no more memory than CSR. n_features and n_rows are below 2^32; 8 x n_values does not
 * overflow.
 */
static bool is_dense(const range *total) {
    const uint64_t n_cells = (uint64_t)total->first_row * total->counts.largest;
    return (n_cells + 1) / 2 <= total->first_value + total->first_row;
}

static thr_status make_arrays(reading *r, thr_error *err) {
    const size_t n_rows = r->total.first_row, n_values = (size_t)r->total.first_value;
    thr_svmlight_places *p = &r->places;
    p->n_features = r->total.counts.largest;
    THR_TRY(thr_alloc(r->context, n_rows, sizeof *p->labels, &p->labels, "labels", err));
    if (r->total.counts.n_queries != 0 && !r->options.ignore_queries)
        THR_TRY(thr_alloc(r->context, n_rows, sizeof *p->queries, &p->queries, "queries of rows", err));
    if (is_dense(&r->total)) {
        size_t n_cells;
        if (!thr_mul_size(n_rows, p->n_features, &n_cells))
            return thr_fail(err, THR_ENOMEM, "%s: no memory for %zu rows of %" PRIu32 " features", r->name, n_rows,
                            p->n_features);
        THR_TRY(thr_alloc(r->context, n_cells, sizeof *p->dense, &p->dense, "rows of features", err));
    } else {
        THR_TRY(thr_alloc(r->context, n_rows + 1, sizeof *p->starts, &p->starts, "rows of features", err));
        THR_TRY(thr_alloc(r->context, n_values, sizeof *p->columns, &p->columns, "columns of values", err));
        THR_TRY(thr_alloc(r->context, n_values, sizeof *p->values, &p->values, "values of features", err));
        p->starts[n_rows] = n_values;
    }
    if (r->total.first_comment != 0 && !r->options.drop_comments) {
        THR_TRY(thr_alloc(r->context, n_rows + 1, sizeof *r->comment_starts, &r->comment_starts, "comments", err));
        THR_TRY(thr_alloc(r->context, (size_t)r->total.first_comment, 1, &r->comments, "comments", err));
        r->comment_starts[n_rows] = r->total.first_comment;
    }
    return THR_OK;
}

static void drop_arrays(reading *r) {
    void *const arrays[] = {r->places.labels, r->places.queries, r->places.starts,  r->places.columns,
                            r->places.values, r->places.dense,   r->comment_starts, r->comments};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        thr_release(r->context, arrays[i]);
}

/* Read FILE.query if no line has a query. Fails if queries are required and neither source has them. */
static thr_status read_side(reading *r, const char *path, thr_error *err) {
    char *side = NULL;
    thr_status status = THR_OK;
    if (r->options.ignore_queries || r->places.queries != NULL || r->total.first_row == 0)
        return THR_OK;
    if (path != NULL)
        THR_TRY(thr_svmlight_find_side(r->context, path, &side, err));
    if (side != NULL) {
        THR_TRY_OUT(thr_alloc(r->context, r->total.first_row, sizeof *r->places.queries, &r->places.queries,
                              "queries of rows", err));
        THR_TRY_OUT(thr_svmlight_take_side(r->context, path, side, r->places.queries, r->total.first_row, err));
    } else if (r->options.need_queries) {
        size_t length = strlen(r->name);
        (void)thr_io_packing_cut(r->name, &length);
        status = thr_fail(err, THR_EFORMAT,
                          "%s: none of %zu rows has a qid:N after its label, and there is no file %.*s.query: rows "
                          "are ranked within queries",
                          r->name, r->total.first_row, (int)length, r->name);
    }
out:
    thr_release(r->context, side);
    return status;
}

/* Read all of an open text and close it, also after an error. path NULL: do not look for FILE.query. */
static thr_status read_lines(reading *r, const char *path, thr_svmlight *out, thr_error *err) {
    thr_status status = THR_OK;
    const uint64_t raw = r->lines.raw_size == THR_SIZE_UNKNOWN ? 0 : r->lines.raw_size;
    r->progress = thr_progress_start(r->context, "read", 2 * raw);
    THR_TRY_OUT(run_pass(r, count_chunk, 0, err));
    THR_TRY_OUT(check_totals(r, err));
    THR_TRY_OUT(make_arrays(r, err));
    const uint64_t done = thr_io_whole_lines_position(&r->lines);
    THR_TRY_OUT(thr_io_whole_lines_rewind(&r->lines, err));
    THR_TRY_OUT(run_pass(r, parse_chunk, done, err));
    if (r->first_range != r->n_ranges)
        status = changed(r, err);
    if (status == THR_OK)
        status = read_side(r, path, err);
    if (status == THR_OK)
        status = thr_progress_end(&r->progress, done + thr_io_whole_lines_position(&r->lines), err);
out:
    thr_io_whole_lines_close(&r->lines);
    THR_RELEASE(r->context, r->ranges, r->parts);
    if (status != THR_OK) {
        drop_arrays(r);
        return status;
    }
    *out = (thr_svmlight){.context = r->context,
                          .n_rows = r->total.first_row,
                          .n_values = (size_t)r->total.first_value,
                          .n_features = r->total.counts.largest,
                          .labels = r->places.labels,
                          .queries = r->places.queries,
                          .starts = r->places.starts,
                          .columns = r->places.columns,
                          .values = r->places.values,
                          .dense = r->places.dense,
                          .comment_starts = r->comment_starts,
                          .comments = r->comments};
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ public functions */

static reading start(thr_context *context, const char *name, const thr_svmlight_options *options, size_t *chunk_bytes) {
    reading r = {.context = context, .name = name};
    if (options != NULL)
        r.options = *options;
    if (r.options.piece_bytes == 0)
        r.options.piece_bytes = PIECE_BYTES;
    const size_t wanted = (size_t)THREAD_PIECES * context->n_threads;
    *chunk_bytes = r.options.piece_bytes * THR_MAX(wanted, CHUNK_PIECES);
    return r;
}

/*
 * Write the cache, unless the file changed while it was read: its rows may be of neither state. The cache is optional:
 * a failure is no error.
 */
static void write_cache(thr_context *context, const char *path, const thr_svmlight_source *source, bool with_comments,
                        thr_svmlight *s) {
    thr_svmlight_source now;
    if (thr_svmlight_look(context, path, &now, &s->cache) != THR_OK)
        return;
    if (!thr_svmlight_is_same(source, &now))
        (void)thr_fail(&s->cache, THR_ECHANGED, "%s: changed while it was read, so no cache was written", path);
    else
        (void)thr_svmlight_cache_write(context, path, source, with_comments, s, &s->cache);
}

thr_status thr_svmlight_read(thr_context *context, const char *path, const thr_svmlight_options *options,
                             thr_svmlight *out, thr_error *err) {
    size_t chunk_bytes;
    reading r = start(context, path, options, &chunk_bytes);
    const bool with_comments = !r.options.drop_comments;
    *out = (thr_svmlight){.context = NULL};
    const char *file = thr_io_whole_lines_is_input(path) ? NULL : path;
    thr_svmlight_source source = {0};
    if (file != NULL && (r.options.use_cache || r.options.write_cache))
        THR_TRY(thr_svmlight_look(context, path, &source, err));
    bool found = false;
    if (file != NULL && r.options.use_cache)
        THR_TRY(thr_svmlight_cache_open(context, path, &source, with_comments, out, &found, err));
    if (found && r.options.ignore_queries)
        out->queries = NULL;
    if (found && (out->queries != NULL || !r.options.need_queries))
        return THR_OK;
    thr_svmlight_free(out);
    THR_TRY(thr_io_whole_lines_open(context, path, chunk_bytes, &r.lines, err));
    THR_TRY(read_lines(&r, file, out, err));
    /* A cache stores everything in its file; without queries it would be incomplete. */
    if (file != NULL && r.options.write_cache && !r.options.ignore_queries)
        write_cache(context, path, &source, with_comments, out);
    return THR_OK;
}

thr_status thr_svmlight_read_memory(thr_context *context, const char *name, const void *text, size_t size,
                                    const thr_svmlight_options *options, thr_svmlight *out, thr_error *err) {
    size_t chunk_bytes;
    reading r = start(context, name, options, &chunk_bytes);
    *out = (thr_svmlight){.context = NULL};
    thr_io_whole_lines_open_memory(context, name, text, size, chunk_bytes, &r.lines);
    return read_lines(&r, NULL, out, err);
}

void thr_svmlight_free(thr_svmlight *svmlight) {
    const void *const arrays[] = {svmlight->labels, svmlight->queries, svmlight->starts,         svmlight->columns,
                                  svmlight->values, svmlight->dense,   svmlight->comment_starts, svmlight->comments};
    if (svmlight->from_cache)
        thr_map_close(&svmlight->map);
    else if (svmlight->context != NULL)
        for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
            thr_release(svmlight->context, (void *)(uintptr_t)arrays[i]);
    *svmlight = (thr_svmlight){.context = NULL};
}
