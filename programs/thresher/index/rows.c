/* SPDX-License-Identifier: Apache-2.0 */
#include "index/rows.h"

#include "input/input.h"
#include "cli/messages.h"

int prog_rows_open(prog_rows *rows, thr_context *context, const char *path) {
    *rows = (prog_rows){.file = NULL};
    return prog_input_open(context, path, &rows->file);
}

bool prog_rows_are_text(const prog_rows *rows) {
    return thr_reader_get_shape(rows->file).dtype == THR_DTYPE_NONE;
}

static bool reads_vectors(const thr_tower *tower) {
    return tower != NULL && thr_tower_get_info(tower).config.n_inputs != 0;
}

bool prog_takes_vectors(const thr_tower *tower) {
    return reads_vectors(tower) && thr_tower_packed_size(tower, THR_SIDE_ITEM) != 0;
}

bool prog_encodes_vectors(const thr_tower *tower) {
    return reads_vectors(tower) && thr_tower_packed_size(tower, THR_SIDE_ITEM) == 0;
}

int prog_rows_encode(prog_rows *rows, const thr_tower *tower, const thr_dual *dual) {
    thr_error err = {.status = THR_OK};
    const thr_status status = dual != NULL ? thr_dual_reader(dual, THR_SIDE_ITEM, rows->file, &rows->texts, &err)
                                           : thr_tower_reader(tower, THR_SIDE_ITEM, rows->file, &rows->texts, &err);

    return status == THR_OK ? PROG_DONE : prog_failed(&err);
}

thr_reader *prog_rows_reader(const prog_rows *rows) {
    return rows->texts != NULL ? rows->texts : rows->file;
}

void prog_rows_close(prog_rows *rows) {
    thr_reader_free(rows->texts);
    thr_reader_free(rows->file);
    *rows = (prog_rows){.file = NULL};
}
