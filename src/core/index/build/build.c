/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build.c - builds an index from a stream of rows.
 *
 * A sample of rows sets the quantiser's ranges, unless another index gives the quantiser. Then rows come in chunks of a
 * few MiB: they are encoded to memory, and their kept copy goes straight to the segment's file. When a segment is full,
 * its codes are written after its vectors and the file is published. The manifest comes last. Memory: a segment's codes
 * and a few chunks.
 */
#include <thresher/index.h>

#include "base/error.h"
#include "index/features.h"
#include "index/model/model.h"
#include "index/build/segment_stream.h"
#include "index/build/cells.h"
#include "index/calibration/calibrate.h"
#include "index/calibration/kept_recall.h"
#include "index/build/learn.h"
#include "index/build/order_by_cells.h"
#include "index/build/shared_quantiser.h"

#include <inttypes.h>
#include <string.h>

typedef struct builder {
    thr_context *context;
    const thr_index_build_options *options;
    thr_build_dir dir;
    thr_ids ids;
    thr_row_source source;
    thr_index_model_source model;
    thr_manifest manifest;
    thr_segment_stream stream;
    uint64_t n_listed;  /* items that have features */
    char *names_path;   /* the table of features, if items take their names from it */
    float *kept_centre; /* the manifest's */
} builder;

static bool demands_cells(const thr_index_build_options *o) {
    return o->cells > 1 && o->cells != THR_CELLS_AUTO;
}

static thr_status check_options(const thr_index_build_options *o, thr_error *err) {
    THR_TRY(thr_index_check_coding(o, err));
    if (!thr_keep_is_known(o->keep))
        return thr_fail(err, THR_EINVAL, "vectors cannot be kept as %s: use f32, f16, i8 or none",
                        thr_dtype_name(o->keep));
    if ((unsigned)o->rotate > THR_ROTATE_OFF)
        return thr_fail(err, THR_EINVAL, "the rotation %d is unknown: use THR_ROTATE_AUTO, _ON or _OFF",
                        (int)o->rotate);
    if (o->features_path != NULL && o->features != NULL)
        return thr_fail(err, THR_EINVAL, "features are given as a file and as numbers: give one of them");
    if (o->features_path == NULL && o->features == NULL && (o->multipliers != NULL || o->offsets != NULL))
        return thr_fail(err, THR_EINVAL, "multipliers and offsets need features: give those, too");
    if (o->cells > THR_MOST_CELLS && o->cells != THR_CELLS_AUTO)
        return thr_fail(err, THR_EINVAL, "%" PRIu32 " cells: at most %d are possible", o->cells, THR_MOST_CELLS);
    return thr_index_check_scale(o->scale, err);
}

static thr_matrix sample_of(const builder *b) {
    return (thr_matrix){b->source.sample, b->source.sample_rows, b->source.shape.n_dims, b->source.shape.dtype,
                        b->source.row_bytes};
}

static thr_status train(builder *b, thr_error *err) {
    const thr_learning learning = {b->options, b->model.shape.codes};
    THR_TRY(thr_index_learn(&b->source, &learning, &b->manifest.quantiser, err));
    if (b->model.shape.n_inputs != 0)
        b->manifest.quantiser.n_dims = b->model.shape.n_dims;
    if (b->kept_centre == NULL) {
        const thr_matrix sample = sample_of(b);
        THR_TRY(thr_index_keep_centre(b->context, &sample, b->options->metric, b->options->keep, &b->kept_centre, err));
    }
    b->manifest.kept_centre = b->kept_centre;
    return THR_OK;
}

/*
 * Set the options that the model's vectors imply. Codes become the segments' planes, and a search reads all of them: so
 * only an index that keeps the encoded vectors is calibrated, and refines.
 */
static thr_status take_model(builder *b, thr_index_build_options *o, thr_error *err) {
    if (o->model == NULL)
        return THR_OK;
    THR_TRY(thr_index_model_source_open(b->context, o->model, &b->source, o->metric, &b->model, err));
    if (b->model.shape.codes) {
        o->item_bits = o->lead_bits = b->model.shape.item_bits;
        o->keep = b->model.shape.n_inputs != 0 ? o->keep : THR_DTYPE_NONE;
        o->calibration_queries = o->keep != THR_DTYPE_NONE ? o->calibration_queries : 0;
    }
    if (b->model.shape.n_inputs == 0)
        return THR_OK;
    if (o->keep == THR_DTYPE_NONE && o->metric != THR_METRIC_COSINE)
        return thr_fail(err, THR_EUNSUPPORTED,
                        "%s: codes of a model estimate cosines only, not %s: keep vectors, or use the metric cosine",
                        o->model, thr_metric_name(o->metric));
    if (o->keep == THR_DTYPE_NONE)
        return THR_OK;
    if (o->features_path != NULL || o->features != NULL)
        return thr_fail(err, THR_EUNSUPPORTED,
                        "%s: features beside kept vectors that a model encodes are not supported: keep none (codes "
                        "only), or leave out the features or the model",
                        o->model);
    return THR_OK;
}

/* A search that skips cells needs kept vectors, and codes that estimate their scores: it measures the errors. */
static thr_status check_cells(const builder *b, thr_error *err) {
    const thr_index_build_options *o = b->options;
    if (!demands_cells(o))
        return THR_OK;
    if (b->model.shape.codes && b->model.shape.n_inputs == 0)
        return thr_fail(err, THR_EUNSUPPORTED,
                        "%s: cells need kept vectors, and an index of a model's codes keeps none: leave out the cells",
                        o->model);
    if (b->model.shape.codes)
        return thr_fail(err, THR_EUNSUPPORTED,
                        "%s: cells of a model's codes are not supported, because these do not estimate the scores of "
                        "the vectors: leave out the cells or the model",
                        o->model);
    if (o->keep == THR_DTYPE_NONE)
        return thr_fail(err, THR_EUNSUPPORTED, "cells need kept vectors: keep them as float32, float16 or int8");
    return b->source.shape.n_rows == THR_ROWS_UNKNOWN ? THR_OK
                                                      : thr_index_check_n_cells(o->cells, b->source.shape.n_rows, err);
}

/* Take the quantiser of another index, and set the options that it implies. */
static thr_status take_quantiser(builder *b, thr_index_build_options *o, thr_error *err) {
    const thr_quantiser_wanted wanted = {.dir = o->quantiser_from,
                                         .metric = o->metric,
                                         .n_dims = b->model.shape.n_inputs != 0 ? b->model.shape.n_dims
                                                                                : b->source.shape.n_dims,
                                         .codes = b->model.shape.codes,
                                         .fingerprint = b->model.shape.fingerprint,
                                         .keep = o->keep,
                                         .rows = b->source.name};
    if (o->quantiser_from == NULL)
        return THR_OK;
    thr_shared_codes shared = {0};
    THR_TRY(thr_index_quantiser_copy(b->context, &wanted, &shared, err));
    b->manifest.quantiser = shared.quantiser;
    b->kept_centre = shared.kept_centre;
    o->lead_bits = shared.lead;
    o->item_bits = b->manifest.quantiser.item_bits;
    return THR_OK;
}

/* Complete the manifest, except for the segments, and open their stream. */
static thr_status prepare(builder *b, thr_error *err) {
    const thr_index_build_options *o = b->options;
    thr_manifest *m = &b->manifest;
    m->lead = thr_index_choose_lead(o, m->quantiser.n_dims);
    m->metric = o->metric;
    m->model.n_inputs = b->model.shape.n_inputs; /* of the segments' shape; the rest when the model is copied */
    m->keep = o->keep;
    m->centred = m->quantiser.centre != NULL;
    m->has_ids = b->ids.n != 0 && b->ids.offsets == NULL;
    m->has_names = b->ids.offsets != NULL;
    b->stream.is_temporary = demands_cells(o); /* make_cells writes the segments that are published */
    b->stream.encoder = b->model.shape.n_inputs != 0 ? &b->model.encoder : NULL;
    b->stream.segment_items = thr_index_segment_items(m->quantiser.n_dims, o->item_bits, o->segment_rows);
    return thr_index_segment_stream_open(&b->stream, err);
}

/* If items have neither ids nor names of their own, take those of the table of features. */
static thr_status take_names(builder *b, thr_index_build_options *o, thr_error *err) {
    if (o->features_path == NULL || o->ids != NULL || o->ids_path != NULL)
        return THR_OK;
    THR_TRY(thr_index_names_path(b->context, o->features_path, &b->names_path, err));
    o->ids_path = b->names_path;
    return THR_OK;
}

static thr_status build_hits(builder *b, thr_error *err) {
    const thr_index_build_options *o = b->options;
    if (o->features_path == NULL && o->features == NULL)
        return THR_OK;
    const thr_index_hits_of of = {&b->ids, &b->source,
                                  b->model.encoder.kind == &thr_dual_tower_encoder ? b->model.shape.fingerprint : 0};
    return thr_index_hits_build(&b->dir, o, &of, &b->manifest.hits, &b->n_listed, err);
}

/* The rows of a calibration are those of the source, so this comes after it. */
static thr_status make_cells(builder *b, thr_error *err) {
    thr_cells_choice choice = {.n_cells = 0};
    if (b->options->cells == THR_CELLS_AUTO)
        THR_TRY(thr_index_build_best_cells(b->context, &b->dir, &b->manifest, &choice, err));
    else if (demands_cells(b->options))
        THR_TRY(thr_index_build_cells(b->context, &b->dir, b->options->cells, &b->manifest, &choice, err));
    if (b->options->cells_choice != NULL)
        *b->options->cells_choice = choice;
    return THR_OK;
}

/* Calibrate with the files that searches will read. */
static thr_status calibrate(builder *b, thr_error *err) {
    const uint64_t n = b->source.sample_rows;
    uint64_t *rows = NULL;
    thr_index *index = NULL;
    thr_status status = THR_OK;
    if (b->options->calibration_queries == 0)
        return THR_OK;
    const thr_matrix sample = sample_of(b);
    THR_TRY_OUT(thr_alloc(b->context, (size_t)n, sizeof *rows, &rows, "the sample", err));
    for (uint64_t i = 0; i < n; i++)
        rows[i] = thr_index_row_source_sampled_row(&b->source, i);
    THR_TRY_OUT(thr_index_open_unpublished(b->context, b->dir.path, &b->manifest, &index, err));
    THR_TRY_OUT(
        thr_index_tune_by_items(index, &sample, rows, b->options->calibration_queries, &b->manifest.tuning, err));
    status = thr_index_measure_kept(index, &b->source, &b->manifest.kept_recall, err);
out:
    thr_index_free(index);
    thr_release(b->context, rows);
    return status;
}

thr_status thr_index_build(thr_context *context, const char *dir, thr_reader *vectors,
                           const thr_index_build_options *options, thr_error *err) {
    thr_index_build_options complete = thr_index_complete_build(options);
    builder b = {.context = context, .options = &complete};
    b.dir.fd = -1;
    b.source.context = b.ids.context = context;
    b.stream = (thr_segment_stream){.context = context,
                                    .title = "build",
                                    .dir = &b.dir,
                                    .ids = &b.ids,
                                    .source = &b.source,
                                    .manifest = &b.manifest};
    thr_status status = THR_OK;
    if (context == NULL || vectors == NULL)
        return thr_fail(err, THR_EINVAL, "a build needs a context and a reader of vectors");
    THR_TRY(check_options(b.options, err));
    THR_TRY_OUT(thr_index_row_source_open(context, vectors, &b.source, err));
    if (b.source.shape.n_rows == 0) {
        status = thr_fail(err, THR_EDIM, "%s: holds no rows: an index needs at least one", b.source.name);
        goto out;
    }
    THR_TRY_OUT(take_model(&b, &complete, err));
    THR_TRY_OUT(check_cells(&b, err));
    THR_TRY_OUT(take_quantiser(&b, &complete, err));
    THR_TRY_OUT(take_names(&b, &complete, err));
    THR_TRY_OUT(thr_index_build_dir_open(context, dir, b.options->replace, &b.dir, err));
    THR_TRY_OUT(thr_index_ids_open(context, b.options, false, &b.ids, err));
    if (b.source.shape.n_rows != THR_ROWS_UNKNOWN)
        THR_TRY_OUT(thr_index_ids_check_count(&b.ids, b.source.shape.n_rows, b.source.name, err));
    THR_TRY_OUT(train(&b, err));
    THR_TRY_OUT(prepare(&b, err));
    if (complete.model != NULL)
        THR_TRY_OUT(thr_index_model_copy(&b.model, &b.dir, &b.manifest.model, err));
    THR_TRY_OUT(build_hits(&b, err));
    THR_TRY_OUT(thr_index_segment_stream_write(&b.stream, 0, err));
    if (b.manifest.hits.there)
        THR_TRY_OUT(thr_index_hits_check_count(b.n_listed, b.manifest.n_items, b.source.name, err));
    b.manifest.errors = b.stream.gather.errors;
    THR_TRY_OUT(calibrate(&b, err));
    THR_TRY_OUT(make_cells(&b, err));
    b.manifest.next_id = b.ids.offsets == NULL && b.ids.n > 0 ? 0 : b.manifest.n_rows;
    thr_index_ids_raise_next(&b.ids, &b.manifest.next_id);
    THR_TRY_OUT(thr_index_build_dir_publish(&b.dir, &b.manifest, err));
out:
    thr_index_segment_stream_close(&b.stream);
    if (b.dir.context != NULL)
        thr_index_build_dir_close(&b.dir);
    thr_index_row_source_close(&b.source);
    thr_index_model_source_close(&b.model);
    thr_index_ids_close(&b.ids);
    THR_RELEASE(context, b.names_path, b.kept_centre);
    thr_code_quantiser_free(context, &b.manifest.quantiser);
    thr_index_manifest_free(context, &b.manifest);
    return status;
}
