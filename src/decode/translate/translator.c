/* SPDX-License-Identifier: Apache-2.0 */
/* translator.c - opening a model, its head and the beam search over it; options, progress, closing. */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "head/head.h"
#include "translate/translator.h"

enum {
    USUAL_RATIO = 2,
    USUAL_EXTRA = 10,
    USUAL_LENGTH = 500,
    USUAL_SOURCE = 1000,
    USUAL_BATCH = 32,
    USUAL_ALIGNED = 50
};

/* given, or NULL, with defaults in place of zeros; those of the beam search are its own. */
static thr_translator_options complete_options(const thr_translator_options *given) {
    thr_translator_options o = given != NULL ? *given : (thr_translator_options){0};
    if (o.length_ratio == 0)
        o.length_ratio = USUAL_RATIO;
    if (o.length_extra == 0)
        o.length_extra = USUAL_EXTRA;
    if (o.max_length == 0)
        o.max_length = USUAL_LENGTH;
    if (o.max_source == 0)
        o.max_source = USUAL_SOURCE;
    if (o.batch == 0)
        o.batch = USUAL_BATCH;
    if (o.n_aligned == 0)
        o.n_aligned = USUAL_ALIGNED;
    return o;
}

/* Check the options that the beam search does not check. */
static thr_status check(const thr_translator_options *o, thr_error *err) {
    if (!(o->length_ratio > 0 && o->length_ratio <= 1000))
        return thr_fail(err, THR_EINVAL, "%g words for each word of the source: choose above 0, up to 1000",
                        o->length_ratio);
    if (o->max_length > THR_BEAM_MAX_LENGTH || o->length_extra > THR_BEAM_MAX_LENGTH)
        return thr_fail(err, THR_EINVAL,
                        "translations of up to %" PRIu32 " words, %" PRIu32
                        " more than their source: choose 1 to %" PRIu32,
                        o->max_length, o->length_extra, THR_BEAM_MAX_LENGTH);
    if (o->max_source > THR_BEAM_MAX_LENGTH)
        return thr_fail(err, THR_EINVAL, "texts of up to %" PRIu32 " words: choose 1 to %" PRIu32, o->max_source,
                        THR_BEAM_MAX_LENGTH);
    if (o->head != NULL && o->build != NULL)
        return thr_fail(err, THR_EINVAL, "a head is either opened or built: leave out one of head and build");
    const bool aligns = o->query != NULL && o->query->screen == THR_HEAD_SCREEN_ALIGN;
    if (aligns && o->alignment == NULL)
        return thr_fail(err, THR_EINVAL, "the screen align needs an alignment, a file by thresher head align");
    if (!aligns && o->alignment != NULL)
        return thr_fail(err, THR_EINVAL, "%s: an alignment is for the screen align only", o->alignment);
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ progress */

/* Report a batch's progress as part of all texts'; pass on other progress unchanged. */
static bool report_progress(void *user, const char *what, uint64_t done, uint64_t total) {
    const thr_translator *t = user;
    const thr_context *outer = t->outer;
    if (t->n_texts == 0)
        return outer->progress(outer->progress_user, what, done, total);
    return outer->progress(outer->progress_user, "translate", t->n_done + done, t->n_texts);
}

/* ------------------------------------------------------------------------------------------------ open */

static thr_status copy_name(thr_context *context, const char *name, char **copy, thr_error *err) {
    if (name == NULL)
        return THR_OK;
    THR_TRY(thr_alloc(context, strlen(name) + 1, 1, copy, "a language's name", err));
    memcpy(*copy, name, strlen(name) + 1);
    return THR_OK;
}

static thr_status make_beam(thr_translator *t, const thr_translator_options *o, thr_error *err) {
    const uint32_t never[] = {THR_WORD_START, THR_WORD_UNKNOWN};
    thr_head_query_options query;
    thr_head_query_options_init(&query);
    if (o->query != NULL)
        query = *o->query;
    query.lists = &t->lists;
    const thr_beam_options beam = {.start_word = THR_WORD_START,
                                   .end_word = THR_WORD_END,
                                   .beam = o->beam,
                                   .n_best = o->n_best,
                                   .penalty = o->penalty,
                                   .stop = o->stop,
                                   .alpha = o->alpha,
                                   .max_length = o->max_length,
                                   .query = &query,
                                   .never = never,
                                   .n_never = o->unknown || o->replace_unk ? 1 : 2};
    return thr_beam_create(t->head, &beam, &t->beam, err);
}

static thr_status load(thr_translator *t, const char *path, const thr_translator_options *o, thr_error *err) {
    thr_tensors *tensors = NULL;
    thr_matrix weights;
    float *bias = NULL;
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_tensors_open(&t->context, path, &tensors, err));
    THR_TRY_OUT(thr_translate_seq2seq_read(&t->context, tensors, path, &t->model, &weights, &bias, err));
    if (o->replace_unk && t->model.attention == NULL) {
        status = thr_fail(err, THR_EUNSUPPORTED,
                          "%s: a model without attention cannot replace <unk>: allow it or leave it out", path);
        goto out;
    }
    for (size_t i = 0; i < thr_tensors_count(tensors); i++) {
        const thr_tensor *tensor = thr_tensors_at(tensors, i);
        if (thr_seq2seq_may_be(tensor->dtype))
            t->n_parameters += tensor->n_bytes / thr_dtype_size(tensor->dtype);
    }
    THR_TRY_OUT(copy_name(&t->context, thr_tensors_metadata(tensors, "source"), &t->source_name, err));
    THR_TRY_OUT(copy_name(&t->context, thr_tensors_metadata(tensors, "target"), &t->target_name, err));
    THR_TRY_OUT(thr_translate_open_head(t, path, o, &weights, bias, err));
    if (o->alignment != NULL)
        THR_TRY_OUT(thr_align_table_read(
            &t->context, o->alignment, (const thr_dictionary *const[]){&t->model.source.words, &t->model.target.words},
            path, o->n_aligned, &t->table, err));
    THR_TRY_OUT(make_beam(t, o, err));
out:
    thr_release(&t->context, bias);
    thr_tensors_free(tensors);
    return status;
}

thr_status thr_translator_probe(thr_context *context, const char *path, bool *is_translator, thr_error *err) {
    thr_tensors *tensors = NULL;
    if (context == NULL || path == NULL || is_translator == NULL)
        return thr_fail(err, THR_EINVAL, "the context, the path or the pointer to the answer is NULL");
    *is_translator = false;
    THR_TRY(thr_tensors_open(context, path, &tensors, err));
    *is_translator = thr_translate_seq2seq_is_in(tensors);
    thr_tensors_free(tensors);
    return THR_OK;
}

thr_status thr_translator_open(thr_context *context, const char *path, const thr_translator_options *options,
                               thr_translator **out, thr_error *err) {
    const thr_translator_options complete = complete_options(options);
    thr_translator *t = NULL;
    if (out != NULL)
        *out = NULL;
    if (context == NULL || path == NULL || out == NULL)
        return thr_fail(err, THR_EINVAL, "the context, the path or the pointer to the translator is NULL");
    THR_TRY(check(&complete, err));
    THR_TRY(thr_alloc_zero(context, 1, sizeof *t, &t, "a translator", err));
    t->outer = thr_context_retain(context);
    t->context = *context;
    if (context->progress != NULL) {
        t->context.progress = report_progress;
        t->context.progress_user = t;
    }
    t->work.context = &t->context;
    t->work.model = &t->model;
    thr_device_policy_start(&t->on_device, context);
    const thr_status status = load(t, path, &complete, err);
    t->options = complete;
    t->options.head = NULL;
    t->options.build = NULL;
    t->options.query = NULL;
    t->options.alignment = NULL;
    THR_RETURN_MADE(status, t, out, thr_translator_free);
}

/* ------------------------------------------------------------------------------------------ information and closing */

void thr_translator_free(thr_translator *t) {
    if (t == NULL)
        return;
    void *const all[] = {t->source_name,  t->target_name,   t->texts,       t->split,       t->words,
                         t->order,        t->lengths,       t->batch_words, t->max_lengths, t->batch_starts,
                         t->rows,         t->row_sentences, t->row_words,   t->attended,    t->attended_words,
                         t->states.items, t->strings,       t->made,        t->first_of,    t->translations,
                         t->list_starts,  t->list_words};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        thr_release(&t->context, all[i]);
    thr_device_policy_end(&t->on_device);
    thr_beam_free(t->beam);
    thr_head_free(t->head);
    thr_align_table_free(&t->context, &t->table);
    thr_translate_seq2seq_work_free(&t->work);
    thr_translate_seq2seq_free(&t->context, &t->model);
    thr_context *outer = t->outer;
    thr_release(outer, t);
    thr_context_free(outer);
}

thr_translator_info thr_translator_get_info(const thr_translator *t) {
    return (thr_translator_info){.n_source_words = t->model.source.words.n,
                                 .n_target_words = t->model.target.words.n,
                                 .n_layers = (uint32_t)t->model.n_layers,
                                 .n_source_dims = (uint32_t)t->model.source.n_columns,
                                 .n_target_dims = (uint32_t)t->model.target.n_columns,
                                 .n_units = (uint32_t)t->model.n_units,
                                 .n_dims = (uint32_t)t->model.n_dims,
                                 .has_attention = t->model.attention != NULL,
                                 .n_parameters = t->n_parameters,
                                 .source = t->source_name,
                                 .target = t->target_name,
                                 .head = thr_head_get_info(t->head)};
}
