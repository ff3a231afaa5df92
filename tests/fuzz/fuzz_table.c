/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_table.c - bytes read as .tsv and .csv, whole rows and one column, with buffers that end everywhere. */
#include "fuzz/io_fuzz.h"
#include "io/table.h"

static fuzz_result read_table(const char *name, const uint8_t *data, size_t size, size_t buffer_bytes) {
    fuzz_result result = {.hash = 0xcbf29ce484222325u};
    thr_table *table = NULL;
    thr_error err;
    thr_image image = {.data = data, .size = size, .sized = true, .buffer_bytes = buffer_bytes};
    result.status = thr_io_table_open_memory(fuzz_context(), name, &image, &table, &err);
    fuzz_check((result.status == THR_OK) == (table != NULL));
    while (result.status == THR_OK) {
        const thr_field *fields = NULL;
        size_t n = 0;
        result.status = thr_io_table_next(table, &fields, &n, &err);
        if (n == 0)
            break;
        for (size_t i = 0; i < n; i++) {
            fuzz_check(strlen(fields[i].text) == fields[i].length && fields[i].length <= THR_TABLE_ROW_MAX);
            result.hash = fuzz_hash(result.hash, fields[i].text, fields[i].length + 1);
        }
        result.n++;
    }
    if (result.status != THR_OK)
        fuzz_check_error(&err, result.status);
    else
        fuzz_check(thr_io_table_row(table) == result.n + thr_io_table_n_refused(table));
    thr_io_table_free(table);
    return result;
}

static void every_buffer(const char *name, const uint8_t *data, size_t size) {
    const fuzz_result first = read_table(name, data, size, 0);
    for (size_t buffer = 1; buffer < 60; buffer += 1 + buffer / 2) {
        const fuzz_result other = read_table(name, data, size, buffer);
        fuzz_check(other.status == first.status && other.n == first.n && other.hash == first.hash);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    every_buffer("a.tsv", data, size);
    every_buffer("a.csv", data, size);
    /* A field of .csv may hold newlines, so that only .tsv is lines as other texts are. */
    fuzz_every_way("a.tsv", data, size);
    fuzz_every_way("a.tsv:2", data, size);
    fuzz_every_way("a.tsv:title", data, size);
    fuzz_every_way("a.tsv:2,1", data, size);
    return 0;
}
