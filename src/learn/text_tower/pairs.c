/* SPDX-License-Identifier: Apache-2.0 */
/* pairs.c - reading the pairs to learn from. */
#include "text_tower/pairs.h"

#include "base/files/checksum.h"
#include "base/error.h"
#include "text_tower/read_pairs.h"

static thr_status append(thr_context *context, const thr_field *field, uint32_t max_words, size_t n,
                         thr_lexicon *lexicon, thr_text_list *list, thr_error *err) {
    if (list->offsets == NULL) {
        THR_TRY(thr_grow(context, &list->offsets, &list->offsets_capacity, 1024, sizeof *list->offsets, "pairs", err));
        list->offsets[0] = 0;
    }
    THR_TRY(thr_grow(context, &list->offsets, &list->offsets_capacity, n + 2, sizeof *list->offsets, "pairs", err));
    list->words.n = list->offsets[n]; /* overwrite the words of a rejected row */
    THR_TRY(thr_words_lexicon_read(context, lexicon, field->text, field->length, max_words, &list->words, err));
    list->offsets[n + 1] = list->words.n;
    return THR_OK;
}

static bool is_empty(const thr_text_list *list, size_t i) {
    return list->offsets[i] == list->offsets[i + 1];
}

/* Add one row; it is rejected if a text of it has no words. */
static thr_status take(thr_context *context, const thr_pair_row *row, uint32_t max_words, thr_lexicon *lexicon,
                       thr_pairs *pairs, thr_pair_rows *rows, thr_error *err) {
    const size_t n = pairs->n;
    if (n >= UINT32_MAX)
        return thr_fail(err, THR_ERANGE, "more than %u pairs: train on a part of them", UINT32_MAX);
    THR_TRY(append(context, &row->query, max_words, n, lexicon, &pairs->texts[THR_SIDE_QUERY], err));
    THR_TRY(append(context, &row->item, max_words, n, lexicon, &pairs->texts[THR_SIDE_ITEM], err));
    THR_TRY(thr_grow(context, &pairs->split, &pairs->split_capacity, n + 1, sizeof *pairs->split, "pairs", err));
    pairs->split[n] = thr_checksum_of(row->query.text, row->query.length);
    if (is_empty(&pairs->texts[THR_SIDE_QUERY], n) || is_empty(&pairs->texts[THR_SIDE_ITEM], n))
        thr_pair_rows_refuse(rows);
    else
        pairs->n++;
    return THR_OK;
}

thr_status thr_text_pairs_read(thr_context *context, const char *path, const thr_pairs_format *format,
                               uint32_t max_words, thr_lexicon *lexicon, thr_pairs *pairs, thr_error *err) {
    thr_pair_rows rows;
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_text_pair_rows_open(context, path, format, &rows, err));
    for (;;) {
        thr_pair_row row;
        bool got = false;
        THR_TRY_OUT(thr_text_pair_rows_next(&rows, &row, &got, err));
        if (!got)
            break;
        if (row.good)
            THR_TRY_OUT(take(context, &row, max_words, lexicon, pairs, &rows, err));
    }
out:
    thr_text_pair_rows_close(&rows);
    pairs->n_refused += rows.n_refused;
    return status;
}

void thr_text_pairs_free(thr_context *context, thr_pairs *pairs) {
    for (size_t side = 0; side < THR_N_SIDES; side++)
        THR_RELEASE(context, pairs->texts[side].words.items, pairs->texts[side].offsets);
    thr_release(context, pairs->split);
    *pairs = (thr_pairs){0};
}
