/* SPDX-License-Identifier: Apache-2.0 */
/* model_file.c - reading a model's tensors and checking each: name, shape, words, and finite numbers. */
#include "translate/model.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text/utf8.h"
#include "nn/products.h"

static const char FORMAT[] = "thresher.seq2seq", VERSION[] = "1";
enum { NAME_MOST = 64, LEAST_WORDS = THR_WORDS_SPECIAL + 1 };
enum { MOST_WORDS = 1 << 24 }; /* as in a head */

typedef struct source {
    thr_context *context;
    const thr_tensors *tensors;
    const char *name;
} source;

static thr_status fail_shape(const source *s, const thr_tensor *tensor, uint64_t n_rows, uint64_t n_columns,
                             thr_error *err) {
    char wanted[48] = "", is[48] = "";
    if (n_columns > 0)
        (void)snprintf(wanted, sizeof wanted, "%" PRIu64 " x %" PRIu64, n_rows, n_columns);
    else
        (void)snprintf(wanted, sizeof wanted, "%" PRIu64, n_rows);
    for (uint32_t i = 0; i < tensor->n_axes && i < 2; i++)
        (void)snprintf(is + strlen(is), sizeof is - strlen(is), "%s%" PRIu64, i > 0 ? " x " : "", tensor->shape[i]);
    return thr_fail(err, THR_EFORMAT, "%s: tensor '%s' has shape %s%s, expected %s: export the model again", s->name,
                    tensor->name, is, tensor->n_axes > 2 ? " x ..." : "", wanted);
}

/* Find a tensor with n_axes axes of F32, F16 or BF16 whose last axis has 1 to THR_MAX_DIMS numbers. */
static thr_status find(const source *s, const char *name, uint32_t n_axes, thr_tensor *out, thr_error *err) {
    const thr_tensor *tensor = thr_tensors_find(s->tensors, name);
    *out = (thr_tensor){.name = name};
    if (tensor == NULL)
        return thr_fail(err, THR_EFORMAT, "%s: has no tensor '%s', which a model of translations has", s->name, name);
    if (!thr_seq2seq_may_be(tensor->dtype))
        return thr_fail(err, THR_EFORMAT, "%s: tensor '%s' is not of F32, F16 or BF16: export the model again", s->name,
                        name);
    if (tensor->n_axes != n_axes)
        return thr_fail(err, THR_EFORMAT, "%s: tensor '%s' has %" PRIu32 " axes, expected %" PRIu32, s->name, name,
                        tensor->n_axes, n_axes);
    for (uint32_t i = 0; i < n_axes; i++)
        if (tensor->shape[i] == 0 || tensor->shape[i] > (uint64_t)MOST_WORDS)
            return thr_fail(err, THR_EDIM, "%s: tensor '%s' has an axis of %" PRIu64 ": the limits are 1 and %d",
                            s->name, name, tensor->shape[i], MOST_WORDS);
    if (n_axes == 2 && tensor->shape[1] > THR_MAX_DIMS)
        return thr_fail(err, THR_EDIM, "%s: tensor '%s' has rows of %" PRIu64 ": the limit is %d", s->name, name,
                        tensor->shape[1], THR_MAX_DIMS);
    *out = *tensor;
    return THR_OK;
}

/* A tensor as a matrix; a vector has one row. */
static thr_matrix rows_of(const thr_tensor *tensor) {
    const uint32_t n_columns = (uint32_t)tensor->shape[tensor->n_axes - 1];
    return (thr_matrix){tensor->data, tensor->n_axes == 2 ? tensor->shape[0] : 1, n_columns, tensor->dtype,
                        n_columns * thr_dtype_size(tensor->dtype)};
}

/* A row with NaN or infinity has a sum of squares that is not finite. */
static thr_status check_row(const source *s, const char *name, const float *row, uint32_t n, uint64_t number,
                            thr_error *err) {
    if (!isfinite(s->context->kernels->sum_squares(row, n)))
        return thr_fail(err, THR_ERANGE, "%s: row %" PRIu64 " of tensor '%s' holds NaN or infinity: train it again",
                        s->name, number, name);
    return THR_OK;
}

/* Copy a tensor widened to float32, and check that every number is finite. */
static thr_status copy(const source *s, const thr_tensor *tensor, float **out, thr_error *err) {
    const thr_matrix rows = rows_of(tensor);
    size_t n_values;
    if (!thr_mul_size((size_t)rows.n_rows, rows.n_dims, &n_values))
        return thr_fail(err, THR_ENOMEM, "%s: no memory for tensor '%s'", s->name, tensor->name);
    THR_TRY(thr_alloc(s->context, n_values, sizeof **out, out, "a model's weights", err));
    THR_TRY(thr_matrix_to_f32(&rows, 0, rows.n_rows, *out));
    for (uint64_t i = 0; i < rows.n_rows; i++)
        THR_TRY(check_row(s, tensor->name, *out + i * rows.n_dims, rows.n_dims, i, err));
    return THR_OK;
}

/* Read a tensor of exactly this shape; n_columns 0: a vector. */
static thr_status read_exactly(const source *s, const char *name, uint64_t n_rows, uint64_t n_columns, float **out,
                               thr_error *err) {
    thr_tensor tensor;
    THR_TRY(find(s, name, n_columns > 0 ? 2 : 1, &tensor, err));
    if (tensor.shape[0] != n_rows || (n_columns > 0 && tensor.shape[1] != n_columns))
        return fail_shape(s, &tensor, n_rows, n_columns, err);
    return copy(s, &tensor, out, err);
}

/* The same, transposed to n_columns x n_rows. */
static thr_status read_transposed(const source *s, const char *name, uint64_t n_rows, uint64_t n_columns, float **out,
                                  thr_error *err) {
    float *rows = NULL;
    thr_status status = THR_OK;
    THR_TRY_OUT(read_exactly(s, name, n_rows, n_columns, &rows, err));
    THR_TRY_OUT(thr_alloc(s->context, (size_t)(n_rows * n_columns), sizeof **out, out, "a model's weights", err));
    thr_nn_transpose(rows, (size_t)n_rows, (size_t)n_columns, *out);
out:
    thr_release(s->context, rows);
    return status;
}

/* ------------------------------------------------------------------------------------------------ words */

static thr_status add_word(const source *s, const char *tensor, const char *word, size_t length, uint32_t n,
                           thr_dictionary *words, thr_error *err) {
    static const char *const special[THR_WORDS_SPECIAL] = {"<unk>", "<s>", "</s>"};
    bool is_new = false;
    uint32_t number = 0;
    if (length == 0 || memchr(word, '\0', length) != NULL || memchr(word, ' ', length) != NULL ||
        thr_utf8_valid(word, length) < length)
        return thr_fail(err, THR_EFORMAT, "%s: word %" PRIu32 " of '%s' is empty, holds a space, or is no UTF-8",
                        s->name, n, tensor);
    if (n < THR_WORDS_SPECIAL && (length != strlen(special[n]) || memcmp(word, special[n], length) != 0))
        return thr_fail(err, THR_EFORMAT, "%s: word %" PRIu32 " of '%s' is '%.*s', expected %s", s->name, n, tensor,
                        length < NAME_MOST ? (int)length : NAME_MOST, word, special[n]);
    THR_TRY(thr_dictionary_add(s->context, words, word, length, &number, &is_new, err));
    if (!is_new)
        return thr_fail(err, THR_EFORMAT, "%s: words %" PRIu32 " and %" PRIu32 " of '%s' are the same, '%.64s'",
                        s->name, number, n, tensor, thr_dictionary_text(words, number));
    return THR_OK;
}

/* Read one word per line; the last line may lack its end. */
static thr_status read_words(const source *s, const char *name, uint64_t n_words, thr_dictionary *words,
                             thr_error *err) {
    const thr_tensor *tensor = thr_tensors_find(s->tensors, name);
    uint32_t n = 0;
    if (tensor == NULL || tensor->dtype != THR_DTYPE_U8)
        return thr_fail(err, THR_EFORMAT, "%s: has no tensor '%s' of U8, its words, one per line", s->name, name);
    const char *at = tensor->data, *const end = at + tensor->n_bytes;
    for (; at < end && n < n_words; n++) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        line_end = line_end != NULL ? line_end : end;
        THR_TRY(add_word(s, name, at, (size_t)(line_end - at), n, words, err));
        at = line_end + 1;
    }
    if (n != n_words || at < end)
        return thr_fail(err, THR_EFORMAT, "%s: '%s' has %s than the %" PRIu64 " words that have rows", s->name, name,
                        at < end ? "more" : "fewer", n_words);
    return THR_OK;
}

static thr_status read_vocabulary(const source *s, const char *words, const char *embedding, thr_vocabulary *out,
                                  thr_error *err) {
    thr_tensor tensor;
    THR_TRY(find(s, embedding, 2, &tensor, err));
    if (tensor.shape[0] < LEAST_WORDS)
        return thr_fail(err, THR_EDIM, "%s: tensor '%s' has %" PRIu64 " words: at least %d are needed", s->name,
                        embedding, tensor.shape[0], LEAST_WORDS);
    out->n_columns = (size_t)tensor.shape[1];
    THR_TRY(read_words(s, words, tensor.shape[0], &out->words, err));
    return copy(s, &tensor, &out->rows, err);
}

/* ------------------------------------------------------------------------------------------------ layers */

/* A layer's position in the model; direction is "" or "_reverse". */
typedef struct place {
    const char *side;
    size_t layer;
    const char *direction;
} place;

static void name_part(char name[NAME_MOST], const char *part, place at) {
    (void)snprintf(name, NAME_MOST, "%s.lstm.%s_l%zu%s", at.side, part, at.layer, at.direction);
}

static thr_status read_layer(const source *s, place at, size_t n_in, size_t n_units, thr_lstm_layer *out,
                             thr_error *err) {
    char name[NAME_MOST];
    float *other = NULL;
    thr_status status = THR_OK;
    const size_t n_gates = THR_LSTM_GATES * n_units;
    name_part(name, "weight_ih", at);
    THR_TRY_OUT(read_transposed(s, name, n_gates, n_in, &out->in, err));
    name_part(name, "weight_hh", at);
    THR_TRY_OUT(read_transposed(s, name, n_gates, n_units, &out->own, err));
    name_part(name, "bias_ih", at);
    THR_TRY_OUT(read_exactly(s, name, n_gates, 0, &out->bias, err));
    name_part(name, "bias_hh", at);
    THR_TRY_OUT(read_exactly(s, name, n_gates, 0, &other, err));
    for (size_t i = 0; other != NULL && i < n_gates; i++)
        out->bias[i] += other[i];
    out->lstm = (thr_lstm){n_in, n_units, out->in, out->own, out->bias};
out:
    thr_release(s->context, other);
    return status;
}

/* Count the decoder's layers. The encoder must have as many: its states initialise the decoder's. */
static thr_status count_layers(const source *s, size_t *n, thr_error *err) {
    char name[NAME_MOST];
    for (*n = 0;; ++*n) {
        name_part(name, "weight_ih", (place){"decoder", *n, ""});
        if (*n > 0 && thr_tensors_find(s->tensors, name) == NULL)
            break;
        if (*n == THR_SEQ2SEQ_LAYERS)
            return thr_fail(err, THR_EDIM, "%s: the decoder has more than %d layers", s->name, THR_SEQ2SEQ_LAYERS);
    }
    name_part(name, "weight_ih", (place){"encoder", *n, ""});
    if (thr_tensors_find(s->tensors, name) != NULL)
        return thr_fail(err, THR_EFORMAT, "%s: the encoder has more layers than the decoder, which has %zu", s->name,
                        *n);
    return THR_OK;
}

static thr_status read_layers(const source *s, thr_seq2seq *m, thr_error *err) {
    const size_t n_units = m->n_units;
    for (size_t l = 0; l < m->n_layers; l++) {
        const size_t n_in = l == 0 ? m->source.n_columns : n_units;
        THR_TRY(read_layer(s, (place){"encoder", l, ""}, n_in, n_units / 2, &m->forward[l], err));
        THR_TRY(read_layer(s, (place){"encoder", l, "_reverse"}, n_in, n_units / 2, &m->backward[l], err));
        THR_TRY(read_layer(s, (place){"decoder", l, ""}, l == 0 ? m->target.n_columns : n_units, n_units,
                           &m->decoder[l], err));
    }
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ model */

bool thr_translate_seq2seq_is_in(const thr_tensors *tensors) {
    const char *format = thr_tensors_metadata(tensors, "format");
    return format != NULL && strcmp(format, FORMAT) == 0;
}

static thr_status check_kind(const source *s, thr_error *err) {
    const char *version = thr_tensors_metadata(s->tensors, "version");
    if (!thr_translate_seq2seq_is_in(s->tensors))
        return thr_fail(err, THR_EFORMAT, "%s: is no model of translations: the format of its metadata is not %s",
                        s->name, FORMAT);
    if (version == NULL || strcmp(version, VERSION) != 0)
        return thr_fail(err, THR_EVERSION, "%s: a model of version %.20s, this build reads %s: use a newer one",
                        s->name, version == NULL ? "none" : version, VERSION);
    return THR_OK;
}

/* Whether the model has attention: both of its tensors, or none. */
static thr_status has_attention(const source *s, bool *has, thr_error *err) {
    thr_tensor tensor;
    *has = thr_tensors_find(s->tensors, "attention.weight") != NULL ||
           thr_tensors_find(s->tensors, "combine.weight") != NULL;
    if (*has) {
        THR_TRY(find(s, "attention.weight", 2, &tensor, err));
        THR_TRY(find(s, "combine.weight", 2, &tensor, err));
    }
    return THR_OK;
}

/* Take h and d from the shapes of attention, if there is one, and output; all other tensors must agree. */
static thr_status read_shape(const source *s, bool attention, thr_seq2seq *m, thr_matrix *weights, thr_error *err) {
    const char *of_units = attention ? "attention.weight" : "output.weight";
    thr_tensor units, output;
    THR_TRY(find(s, of_units, 2, &units, err));
    THR_TRY(find(s, "output.weight", 2, &output, err));
    m->n_units = (size_t)units.shape[1];
    m->n_dims = (size_t)output.shape[1];
    if (m->n_units % 2 != 0)
        return thr_fail(err, THR_EFORMAT, "%s: tensor '%s' has rows of %zu: the length must be even", s->name, of_units,
                        m->n_units);
    if (output.shape[0] != m->target.words.n)
        return fail_shape(s, &output, m->target.words.n, m->n_dims, err);
    *weights = rows_of(&output);
    return count_layers(s, &m->n_layers, err);
}

/* Check the output layer, which stays a view of the file. */
static thr_status check_weights(const source *s, const thr_matrix *weights, thr_error *err) {
    float *row = NULL;
    thr_status status = THR_OK;
    THR_TRY(thr_alloc(s->context, weights->n_dims, sizeof *row, &row, "a row of weights", err));
    for (uint64_t i = 0; i < weights->n_rows && status == THR_OK; i++) {
        status = thr_matrix_to_f32(weights, i, 1, row);
        if (status == THR_OK)
            status = check_row(s, "output.weight", row, weights->n_dims, i, err);
    }
    thr_release(s->context, row);
    return status;
}

thr_status thr_translate_seq2seq_read(thr_context *context, const thr_tensors *tensors, const char *name,
                                      thr_seq2seq *m, thr_matrix *weights, float **bias, thr_error *err) {
    const source s = {context, tensors, name};
    bool attention = false;
    THR_TRY(check_kind(&s, err));
    THR_TRY(has_attention(&s, &attention, err));
    THR_TRY(read_vocabulary(&s, "source.words", "encoder.embedding.weight", &m->source, err));
    THR_TRY(read_vocabulary(&s, "target.words", "decoder.embedding.weight", &m->target, err));
    THR_TRY(read_shape(&s, attention, m, weights, err));
    THR_TRY(check_weights(&s, weights, err));
    THR_TRY(read_layers(&s, m, err));
    if (attention) {
        THR_TRY(read_transposed(&s, "attention.weight", m->n_units, m->n_units, &m->attention, err));
        THR_TRY(read_transposed(&s, "combine.weight", m->n_dims, 2 * m->n_units, &m->combine, err));
    }
    return read_exactly(&s, "output.bias", m->target.words.n, 0, bias, err);
}

static void free_layers(thr_context *context, thr_lstm_layer *layers) {
    for (size_t l = 0; l < THR_SEQ2SEQ_LAYERS; l++)
        THR_RELEASE(context, layers[l].in, layers[l].own, layers[l].bias);
}

void thr_translate_seq2seq_free(thr_context *context, thr_seq2seq *model) {
    thr_dictionary_free(context, &model->source.words);
    thr_dictionary_free(context, &model->target.words);
    THR_RELEASE(context, model->source.rows, model->target.rows);
    free_layers(context, model->forward);
    free_layers(context, model->backward);
    free_layers(context, model->decoder);
    THR_RELEASE(context, model->attention, model->combine);
    *model = (thr_seq2seq){0};
}
