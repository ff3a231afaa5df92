/* SPDX-License-Identifier: Apache-2.0 */
/* eval.c - evaluating a model on a file of pairs: embed both sides, then AUC and log loss. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "words/letters.h"
#include "text_tower/read_pairs.h"
#include "text_tower/pair_quality.h"

/* Pairs encoded at once; pairs of a block of the loss. */
enum { PAIRS_AT_ONCE = 2048, LOSS_BLOCK = 1024 };
static const thr_match_loss eval_loss = {.gamma = 10, .shift = 1, .n_negatives = 10};

/* Texts to be encoded, concatenated. */
typedef struct text_queue {
    char *text;
    size_t used, capacity;
    size_t lengths[PAIRS_AT_ONCE];
    const char *starts[PAIRS_AT_ONCE];
} text_queue;

typedef struct evaluation {
    thr_context *context;
    const thr_tower *tower;
    text_queue queues[THR_N_SIDES];
    size_t n_waiting;
    thr_scored_pairs pairs;
    size_t capacities[THR_N_SIDES], good_capacity;
    uint8_t *good;
} evaluation;

static bool has_words(const thr_field *field) {
    uint32_t word[THR_WORD_LETTERS];
    thr_letters letters = {(const unsigned char *)field->text, (const unsigned char *)field->text + field->length};
    return thr_words_letters_next_word(&letters, word) != 0;
}

static thr_status wait_in(thr_context *context, text_queue *queue, size_t place, const thr_field *field,
                          thr_error *err) {
    THR_TRY(thr_grow(context, &queue->text, &queue->capacity, queue->used + field->length, 1, "texts", err));
    memcpy(queue->text + queue->used, field->text, field->length);
    queue->used += field->length;
    queue->lengths[place] = field->length;
    return THR_OK;
}

/* Encode the queued texts. */
static thr_status encode(evaluation *e, thr_error *err) {
    thr_scored_pairs *pairs = &e->pairs;
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++) {
        text_queue *queue = &e->queues[side];
        const char *next = queue->text;
        for (size_t i = 0; i < e->n_waiting; i++) {
            queue->starts[i] = next;
            next += queue->lengths[i];
        }
        THR_TRY(thr_grow(e->context, &pairs->embeddings[side], &e->capacities[side],
                         (pairs->n + e->n_waiting) * pairs->n_dims, sizeof(float), "embeddings of pairs", err));
        THR_TRY(thr_tower_encode(e->tower, side, queue->starts, queue->lengths, e->n_waiting,
                                 pairs->embeddings[side] + pairs->n * pairs->n_dims, err));
        queue->used = 0;
    }
    pairs->n += e->n_waiting;
    e->n_waiting = 0;
    return THR_OK;
}

static thr_status take_row(evaluation *e, const thr_pair_row *row, thr_error *err) {
    const size_t n = e->pairs.n + e->n_waiting;
    THR_TRY(thr_grow(e->context, &e->good, &e->good_capacity, n + 1, 1, "labels of pairs", err));
    e->good[n] = row->good;
    THR_TRY(wait_in(e->context, &e->queues[THR_SIDE_QUERY], e->n_waiting, &row->query, err));
    THR_TRY(wait_in(e->context, &e->queues[THR_SIDE_ITEM], e->n_waiting, &row->item, err));
    return ++e->n_waiting == PAIRS_AT_ONCE ? encode(e, err) : THR_OK;
}

static thr_status read_all(evaluation *e, thr_pair_rows *rows, thr_error *err) {
    for (;;) {
        thr_pair_row row;
        bool got = false;
        THR_TRY(thr_text_pair_rows_next(rows, &row, &got, err));
        if (!got)
            return encode(e, err);
        if (has_words(&row.query) && has_words(&row.item))
            THR_TRY(take_row(e, &row, err));
        else
            thr_pair_rows_refuse(rows);
    }
}

static thr_status measure_pairs(evaluation *e, bool labelled, thr_tower_quality *quality, thr_error *err) {
    quality->loss = NAN;
    if (labelled)
        e->pairs.good = e->good;
    THR_TRY(thr_text_scored_pairs_auc(e->context, &e->pairs, &quality->auc, err));
    quality->n_good = e->pairs.n_good;
    quality->n_bad = e->pairs.n_bad;
    return labelled ? THR_OK
                    : thr_text_scored_pairs_loss(e->context, &e->pairs, &eval_loss, LOSS_BLOCK, &quality->loss, err);
}

thr_status thr_tower_eval(const thr_tower *tower, const char *pairs_path, const thr_pairs_format *given,
                          thr_tower_quality *quality, thr_error *err) {
    thr_context *context = thr_text_tower_context(tower);
    if (thr_tower_get_info(tower).config.n_inputs != 0)
        return thr_fail(err, THR_EUNSUPPORTED,
                        "%s: holds pairs of texts, but the model encodes vectors: measure its recall with index search",
                        pairs_path);
    const thr_pairs_format format = given != NULL ? *given : (thr_pairs_format){.query_column = 1, .item_column = 2};
    thr_pair_rows rows = {0};
    evaluation *e = NULL;
    THR_TRY(thr_alloc_zero(context, 1, sizeof *e, &e, "an evaluation", err));
    *e = (evaluation){.context = context, .tower = tower, .pairs.n_dims = thr_tower_get_info(tower).config.n_dims};
    *quality = (thr_tower_quality){0};
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_text_pair_rows_open(context, pairs_path, &format, &rows, err));
    THR_TRY_OUT(read_all(e, &rows, err));
    THR_TRY_OUT(measure_pairs(e, format.label_column != 0, quality, err));
out:
    thr_text_pair_rows_close(&rows);
    quality->n_refused = rows.n_refused;
    for (size_t side = 0; side < THR_N_SIDES; side++)
        THR_RELEASE(context, e->queues[side].text, e->pairs.embeddings[side]);
    THR_RELEASE(context, e->good, e);
    return status;
}
