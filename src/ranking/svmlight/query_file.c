/* SPDX-License-Identifier: Apache-2.0 */
/* query_file.c - FILE.query: the number of consecutive rows of each query. */
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/minmax.h"
#include "base/text/decimal.h"
#include "base/error.h"
#include "io/endings.h"
#include "svmlight/side_files.h"
#include "io/whole_lines.h"

enum { CHUNK_BYTES = 1 << 20, SHOWN = 40 };

thr_status thr_svmlight_find_side(thr_context *context, const char *path, char **side, thr_error *err) {
    static const char *const endings[] = {".query", ".query.gz", ".query.xz"};
    size_t length = strlen(path);
    (void)thr_io_packing_cut(path, &length);
    struct stat status;
    char *name = NULL;
    *side = NULL;
    THR_TRY(thr_alloc(context, length + sizeof ".query.gz", 1, &name, "a file name", err));
    memcpy(name, path, length);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0] && *side == NULL; i++) {
        memcpy(name + length, endings[i], strlen(endings[i]) + 1);
        if (stat(name, &status) == 0 && S_ISREG(status.st_mode))
            *side = name;
    }
    if (*side == NULL)
        thr_release(context, name);
    return THR_OK;
}

/* Rows assigned to queries so far. */
typedef struct assignment {
    const char *path, *side;
    uint64_t *queries;
    size_t n_rows, given;
    uint64_t n_queries, n_lines;
} assignment;

/* Process a trimmed line: one query's number of rows, or nothing. */
static thr_status assign_rows(assignment *g, const char *line, size_t length, thr_error *err) {
    g->n_lines++;
    while (length != 0 && (line[length - 1] == '\r' || line[length - 1] == ' ' || line[length - 1] == '\t'))
        length--;
    uint64_t n = 0;
    if (length == 0)
        return THR_OK;
    if (!thr_decimal_parse(line, length, &n) || n == 0)
        return thr_fail(err, THR_EFORMAT, "%s: line %" PRIu64 ": \"%.*s\" is not a number of rows of a query", g->side,
                        g->n_lines, (int)THR_MIN(length, SHOWN), line);
    if (n > g->n_rows - g->given)
        return thr_fail(err, THR_EMISMATCH,
                        "%s: line %" PRIu64 " ends at row %" PRIu64 " of %s, which has %zu: both must be of one set",
                        g->side, g->n_lines, (uint64_t)g->given + n, g->path, g->n_rows);
    for (uint64_t i = 0; i < n; i++)
        g->queries[g->given++] = g->n_queries;
    g->n_queries++;
    return THR_OK;
}

static thr_status assign_all(assignment *g, thr_whole_lines *lines, thr_error *err) {
    for (;;) {
        const char *chunk = NULL;
        size_t size = 0;
        THR_TRY(thr_io_whole_lines_next(lines, &chunk, &size, err));
        if (size == 0)
            break;
        for (size_t begin = 0; begin < size;) {
            const size_t next = begin + thr_io_whole_lines_cut(chunk + begin, size - begin, 0);
            const size_t end = chunk[next - 1] == '\n' ? next - 1 : next;
            THR_TRY(assign_rows(g, chunk + begin, end - begin, err));
            begin = next;
        }
    }
    if (g->given != g->n_rows)
        return thr_fail(err, THR_EMISMATCH,
                        "%s: its %" PRIu64 " queries have %zu rows, %s has %zu: both must be of one set", g->side,
                        g->n_queries, g->given, g->path, g->n_rows);
    return THR_OK;
}

thr_status thr_svmlight_take_side(thr_context *context, const char *path, const char *side, uint64_t *queries,
                                  size_t n_rows, thr_error *err) {
    assignment g = {.path = path, .side = side, .queries = queries, .n_rows = n_rows};
    thr_whole_lines lines;
    THR_TRY(thr_io_whole_lines_open(context, side, CHUNK_BYTES, &lines, err));
    const thr_status status = assign_all(&g, &lines, err);
    thr_io_whole_lines_close(&lines);
    return status;
}
