/* SPDX-License-Identifier: Apache-2.0 */
#include "search/rerank.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input/endings.h"
#include "input/input.h"
#include "cli/messages.h"

static const char score_name[] = "score";

/* ------------------------------------------------------------------------------------------------ words */

int prog_rerank_check(const program *run, const prog_rerank_values *values, uint64_t k, const char *output) {
    const bool svm = output != NULL && prog_ends_with(output, ".svm");

    if (values->model != NULL && values->columns == NULL)
        prog_error("--rank needs --rank-columns, which names the model's features; %s", prog_see_help(run));
    else if (svm && values->columns == NULL)
        prog_error("-o %s: features need --rank-columns; %s", output, prog_see_help(run));
    else if (values->columns != NULL && values->model == NULL && !svm)
        prog_error("--rank-columns are for --rank MODEL, or for -o FILE.svm; %s", prog_see_help(run));
    else if ((values->features != NULL || values->depth != 0) && values->columns == NULL)
        prog_error("--rank-features and --rank-depth need --rank-columns; %s", prog_see_help(run));
    else if (values->items != NULL &&
             (values->items[0] == '\0' || values->features == NULL || !prog_is_table(values->features)))
        prog_error("--rank-items is a column of --rank-features FILE.tsv or .csv; %s", prog_see_help(run));
    else if (values->depth != 0 && values->model == NULL)
        prog_error("--rank-depth needs --rank MODEL; %s", prog_see_help(run));
    else if (values->depth != 0 && values->depth < k)
        prog_error("--rank-depth %" PRIu64 " is less than the %" PRIu64 " of -k; %s", values->depth, k,
                   prog_see_help(run));
    else
        return PROG_DONE;
    return PROG_WRONG_WORDS;
}

/* ------------------------------------------------------------------------------------------------ columns */

/* Get the next word of --rank-columns; false at the end. */
static bool next_word(const char **at, const char **word, size_t *length) {
    if (**at == '\0')
        return false;
    *word = *at;
    *length = strcspn(*at, ",");
    *at += *length;
    if (**at == ',')
        ++*at;
    return true;
}

/* Find the features that are the search's score, and count the others. */
static int read_sources(prog_rerank *r, const char *model_path) {
    const char *at = r->values->columns, *word;
    const size_t most = strlen(at) + 1;
    size_t length;

    r->sources = malloc(most * sizeof *r->sources);
    if (r->sources == NULL)
        return prog_no_memory();
    while (next_word(&at, &word, &length)) {
        const bool score = length == sizeof score_name - 1 && memcmp(word, score_name, length) == 0;

        if (length == 0) {
            prog_error("--rank-columns %s: a name is empty", r->values->columns);
            return PROG_FAILED;
        }
        r->sources[r->n_features++] = score ? -1 : (int64_t)r->n_columns++;
    }
    if (r->n_features == 0) {
        prog_error("--rank-columns: no names");
        return PROG_FAILED;
    }
    if (r->model != NULL && thr_rank_model_n_features(r->model) != r->n_features) {
        prog_error("%s has %" PRIu32 " features, --rank-columns %s names %" PRIu32
                   ": name each of them, in their order",
                   model_path, thr_rank_model_n_features(r->model), r->values->columns, r->n_features);
        return PROG_FAILED;
    }
    if (r->n_columns > 0 && r->values->features == NULL) {
        prog_error("--rank-columns %s: columns except \"score\" need --rank-features", r->values->columns);
        return PROG_FAILED;
    }
    return PROG_DONE;
}

/* "FILE.tsv:items,price,clicks": all columns to read, that of the items first. */
static char *columns_of(const prog_rerank *r) {
    const prog_rerank_values *v = r->values;
    const char *at = v->columns, *word, *items = v->items != NULL ? v->items : "";
    const size_t size = strlen(v->features) + strlen(items) + strlen(v->columns) + 4; /* commas are in columns */
    char *path = malloc(size);
    size_t length, feature = 0;

    if (path == NULL)
        return NULL;
    size_t end = (size_t)snprintf(path, size, "%s:%s", v->features, items);
    while (next_word(&at, &word, &length))
        if (r->sources[feature++] >= 0)
            end +=
                (size_t)snprintf(path + end, size - end, "%s%.*s", path[end - 1] == ':' ? "" : ",", (int)length, word);
    return path;
}

/* ------------------------------------------------------------------------------------------------ a table's rows */

/* Find the row of an item by its name, or by its id. */
static bool find_row(const prog_items *items, const char *word, uint64_t *row) {
    thr_error err;
    uint64_t id;

    return prog_items_find(items, word, &id, &err) != NULL && prog_items_find_id(items, id, row) != NULL;
}

/* Read one line of fields separated by tabs; writes to its text. */
static int take_line(prog_rerank *r, uint64_t line, char *text, uint64_t n_items, uint8_t *seen) {
    const char *path = r->values->features;
    uint64_t row = line - 1;

    if (r->values->items != NULL) {
        char *tab = strchr(text, '\t');

        if (tab == NULL) { /* the reader gives all columns */
            prog_error("%s: row %" PRIu64 " has no columns except that of items", path, line);
            return PROG_FAILED;
        }
        *tab = '\0';
        if (!find_row(r->items, text, &row)) /* the table may have rows of items that are not in the index */
            return PROG_DONE;
        text = tab + 1;
    } else if (row >= n_items) {
        prog_error("%s: more rows than the %s's %" PRIu64 " items: name the column of items with --rank-items", path,
                   r->items->what, n_items);
        return PROG_FAILED;
    }
    if (seen[row]++ != 0) {
        prog_error("%s: row %" PRIu64 " is a second one of its item", path, line);
        return PROG_FAILED;
    }
    for (uint32_t c = 0; c < r->n_columns; c++) {
        char *tab = strchr(text, '\t');
        double value;

        if (tab != NULL)
            *tab = '\0';
        if (!prog_read_real(text, &value) || !isfinite((float)value)) {
            prog_error("%s: row %" PRIu64 ": \"%.60s\" is not a finite number", path, line, text);
            return PROG_FAILED;
        }
        r->table[row * r->n_columns + c] = (float)value;
        text = tab != NULL ? tab + 1 : text;
    }
    return PROG_DONE;
}

static uint64_t n_items_of(const prog_items *items) {
    uint64_t n = 0;

    for (size_t i = 0; i < items->n_parts; i++)
        n += thr_index_get_info(items->parts[i].index).n_items;
    return n;
}

/* The rows of removed items need none. */
static int check_all_there(const prog_rerank *r, const uint8_t *seen, uint64_t n_rows) {
    const uint64_t n_items = n_items_of(r->items);
    uint64_t n_seen = 0;

    for (uint64_t row = 0; row < n_rows; row++)
        n_seen += seen[row];
    for (uint64_t row = 0; row < n_rows && n_seen < n_items; row++)
        if (seen[row] == 0) {
            prog_error("%s: the item of row %" PRIu64 " of the %s has no row: expected %" PRIu64 ", one an item",
                       r->values->features, row, r->items->what, n_items);
            return PROG_FAILED;
        }
    return PROG_DONE;
}

static int read_lines(prog_rerank *r, thr_reader *reader, uint64_t n_items, uint8_t *seen) {
    for (uint64_t line = 1;; line++) {
        char *copy;
        int rc = prog_input_line_copy(reader, &copy);

        if (rc != PROG_DONE)
            return rc;
        if (copy == NULL)
            return check_all_there(r, seen, n_items);
        rc = take_line(r, line, copy, n_items, seen);
        free(copy);
        if (rc != PROG_DONE)
            return rc;
    }
}

static int read_table(prog_rerank *r, program *run, uint64_t n_items) {
    char *path = columns_of(r);
    uint8_t *seen = calloc((size_t)n_items + 1, 1);
    thr_reader *reader = NULL;
    int rc;

    if (path == NULL || seen == NULL)
        rc = prog_no_memory();
    else if ((rc = prog_input_open(run->context, path, &reader)) == PROG_DONE)
        rc = read_lines(r, reader, n_items, seen);
    thr_reader_free(reader);
    free(seen);
    free(path);
    return rc;
}

/* ------------------------------------------------------------------------------------------------ a matrix's rows */

/* The columns of a matrix are named by number, from 1. */
static int read_numbers_wanted(const prog_rerank *r, uint32_t n_dims, uint32_t *wanted) {
    const char *at = r->values->columns, *word;
    size_t length, feature = 0;

    while (next_word(&at, &word, &length)) {
        char text[24];
        uint64_t number = 0;

        if (r->sources[feature++] < 0)
            continue;
        (void)snprintf(text, sizeof text, "%.*s", (int)(length < sizeof text ? length : sizeof text - 1), word);
        if (length >= sizeof text || !prog_read_count(text, &number) || number < 1 || number > n_dims) {
            prog_error("--rank-columns: there is no column \"%.*s\" in %s: it has 1 to %" PRIu32, (int)length, word,
                       r->values->features, n_dims);
            return PROG_FAILED;
        }
        wanted[r->sources[feature - 1]] = (uint32_t)(number - 1);
    }
    return PROG_DONE;
}

static int take_rows(prog_rerank *r, const thr_matrix *rows, const uint32_t *wanted, float *buffer, uint64_t first) {
    for (uint64_t i = 0; i < rows->n_rows; i++) {
        (void)thr_matrix_to_f32(rows, i, 1, buffer); /* it exists */
        for (uint32_t c = 0; c < r->n_columns; c++) {
            const float value = buffer[wanted[c]];

            if (!isfinite(value)) {
                prog_error("%s: row %" PRIu64 " has %g in column %" PRIu32 ": numbers must be finite",
                           r->values->features, first + i, (double)value, wanted[c] + 1);
                return PROG_FAILED;
            }
            r->table[(first + i) * r->n_columns + c] = value;
        }
    }
    return PROG_DONE;
}

static int read_rows(prog_rerank *r, thr_reader *reader, uint64_t n_items, const uint32_t *wanted, float *buffer) {
    enum { ROWS = 4096 };
    uint64_t n = 0;
    int rc = PROG_DONE;

    while (rc == PROG_DONE) {
        thr_matrix rows;

        rc = prog_input_rows(reader, ROWS, &rows);
        if (rc != PROG_DONE)
            return rc;
        if (rows.n_rows == 0 || rows.n_rows > n_items - n) {
            if (rows.n_rows == 0 && n == n_items)
                return PROG_DONE;
            prog_error("%s has %s%" PRIu64 " rows, the %s has %" PRIu64 " items: expected one an item",
                       r->values->features, rows.n_rows == 0 ? "" : "more than ", rows.n_rows == 0 ? n : n_items,
                       r->items->what, n_items);
            return PROG_FAILED;
        }
        rc = take_rows(r, &rows, wanted, buffer, n);
        n += rows.n_rows;
    }
    return rc;
}

static int read_columns(prog_rerank *r, thr_reader *reader, uint64_t n_items) {
    const thr_reader_shape shape = thr_reader_get_shape(reader);
    uint32_t *wanted;
    float *buffer;
    int rc;

    if (shape.dtype == THR_DTYPE_NONE) {
        prog_error("%s: a text; features are columns of .tsv or .csv, or rows of numbers", r->values->features);
        return PROG_FAILED;
    }
    wanted = malloc(r->n_columns * sizeof *wanted);
    buffer = malloc(shape.n_dims * sizeof *buffer);
    if (wanted != NULL && buffer != NULL) {
        rc = read_numbers_wanted(r, shape.n_dims, wanted);
        if (rc == PROG_DONE)
            rc = read_rows(r, reader, n_items, wanted, buffer);
    } else {
        rc = prog_no_memory();
    }
    free(buffer);
    free(wanted);
    return rc;
}

static int read_matrix(prog_rerank *r, program *run, uint64_t n_items) {
    thr_error err = {.status = THR_OK};
    thr_reader *reader = NULL;
    int rc;

    if (thr_reader_open(run->context, r->values->features, &reader, &err) != THR_OK)
        return prog_failed(&err);
    rc = read_columns(r, reader, n_items);
    thr_reader_free(reader);
    return rc;
}

/* ------------------------------------------------------------------------------------------------ open */

static void *array(uint64_t n, uint64_t size) {
    return n < (SIZE_MAX / 4) / size ? malloc((size_t)(n * size) + 1) : NULL;
}

static int allocate(prog_rerank *r, uint64_t n_items, uint64_t most) {
    if (n_items > UINT64_MAX / (r->n_columns + 1) || most > UINT64_MAX / r->n_features)
        return prog_no_memory();
    r->table = array(n_items * r->n_columns, sizeof *r->table);
    r->rows = array(most * r->n_features, sizeof *r->rows);
    r->moved = array(most * r->n_features, sizeof *r->moved);
    r->scores = array(most, sizeof *r->scores);
    r->found = array(most, sizeof *r->found);
    r->places = array(most, sizeof *r->places);
    return r->table && r->rows && r->moved && r->scores && r->found && r->places ? PROG_DONE : prog_no_memory();
}

/* Whether rows of a file without a column of items are those of the items. */
static int check_order(const prog_items *items, const char *path) {
    const char *reason = prog_items_disorder(items);

    if (reason == NULL)
        return PROG_DONE;
    prog_error("%s: %s, so rows cannot be matched to them: name the column of items with --rank-items", path, reason);
    return PROG_FAILED;
}

int prog_rerank_open(prog_rerank *r, program *run, const prog_rerank_values *values, const prog_items *items,
                     uint64_t most) {
    const uint64_t n_items = items->n_rows;
    thr_error err = {.status = THR_OK};
    int rc = PROG_DONE;

    if (values->columns == NULL)
        return PROG_DONE;
    r->values = values;
    r->items = items;
    if (values->model != NULL && thr_rank_model_open(run->context, values->model, &r->model, &err) != THR_OK)
        return prog_failed(&err);
    rc = read_sources(r, values->model);
    if (rc == PROG_DONE)
        rc = allocate(r, n_items, most);
    if (rc == PROG_DONE && r->n_columns > 0 && values->items == NULL)
        rc = check_order(items, values->features);
    if (rc == PROG_DONE && r->n_columns > 0)
        rc = prog_is_table(values->features) ? read_table(r, run, n_items) : read_matrix(r, run, n_items);
    return rc;
}

void prog_rerank_free(prog_rerank *r) {
    void *const all[] = {r->sources, r->table, r->rows, r->moved, r->scores, r->found, r->places};

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
    thr_rank_model_free(r->model);
    *r = (prog_rerank){.n_features = 0};
}

/* ------------------------------------------------------------------------------------------------ answers */

static void fill_row(const prog_rerank *r, uint64_t id, float score, float *out) {
    uint64_t row = 0;

    (void)prog_items_find_id(r->items, id, &row); /* the search found it, so it exists */
    for (uint32_t f = 0; f < r->n_features; f++)
        out[f] = r->sources[f] < 0 ? score : r->table[row * r->n_columns + (uint64_t)r->sources[f]];
}

int prog_rerank_answer(prog_rerank *r, uint64_t n, uint64_t *ids, float *scores) {
    const size_t width = r->n_features;
    thr_error err = {.status = THR_OK};
    float *rows = r->rows;
    const thr_matrix features = thr_matrix_f32(rows, n, r->n_features);

    for (uint64_t i = 0; i < n; i++) {
        fill_row(r, ids[i], scores[i], r->rows + i * width);
        r->found[i] = scores[i];
    }
    if (r->model == NULL)
        return PROG_DONE;
    if (thr_rank_model_rerank(r->model, &features, ids, r->scores, r->places, &err) != THR_OK)
        return prog_failed_at(r->values->model, &err);
    for (uint64_t i = 0; i < n; i++) {
        r->found[i] = scores[r->places[i]];
        memcpy(r->moved + i * width, rows + r->places[i] * width, width * sizeof *rows);
    }
    for (uint64_t i = 0; i < n; i++)
        scores[i] = (float)r->scores[i];
    r->rows = r->moved;
    r->moved = rows;
    return PROG_DONE;
}
