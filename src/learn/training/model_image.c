/* SPDX-License-Identifier: Apache-2.0 */
/* model_image.c - building and checking the metadata that all models' files share. */
#include "training/model_image.h"

#include <math.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files/checksum.h"
#include "base/error.h"

static uint32_t get_field(const void *config, const thr_config_field *field) {
    const char *place = (const char *)config + field->offset;
    uint32_t value = 0;
    if (field->is_flag)
        return *place != 0; /* a bool may be any byte in a damaged file; all but 0 are true */
    memcpy(&value, place, sizeof value);
    return value;
}

static void set_field(void *config, const thr_config_field *field, uint32_t value) {
    char *place = (char *)config + field->offset;
    const bool flag = value != 0;
    if (!field->is_flag)
        memcpy(place, &value, sizeof value);
    else
        memcpy(place, &flag, sizeof flag);
}

void thr_training_image_add_tensor(thr_model_image *image, const char *side, const char *name, thr_dtype dtype,
                                   const void *data, uint64_t n_rows, uint64_t n_columns) {
    const size_t i = image->n_tensors++;
    (void)snprintf(image->names[i], sizeof image->names[i], "%s%s%s", side, *side != '\0' ? "." : "", name);
    thr_tensor *tensor = &image->tensors[i];
    *tensor = (thr_tensor){.name = image->names[i], .dtype = dtype, .data = data};
    if (n_rows > 1)
        tensor->shape[tensor->n_axes++] = n_rows;
    tensor->shape[tensor->n_axes++] = n_columns;
    tensor->n_bytes = (size_t)(n_rows * n_columns) * thr_dtype_size(dtype);
}

void thr_training_image_add_side(thr_model_image *image, const char *side, const thr_tensor_list *list,
                                 const float *const *tensors) {
    for (size_t p = 0; p < list->n; p++)
        thr_training_image_add_tensor(image, side, list->shapes[p].name, THR_DTYPE_F32, tensors[p],
                                      list->shapes[p].n_rows, list->shapes[p].n_columns);
}

static void add_number(thr_model_image *image, const char *key, uint64_t value, bool hexadecimal) {
    const size_t i = image->n_metadata++;
    (void)snprintf(image->values[i], sizeof image->values[i], hexadecimal ? "%016" PRIx64 : "%" PRIu64, value);
    image->metadata[i][0] = key;
    image->metadata[i][1] = image->values[i];
}

void thr_training_image_add_config(thr_model_image *image, const thr_model_kind *kind, const void *config) {
    add_number(image, kind->key, kind->version, false);
    if (kind->input != NULL) {
        image->metadata[image->n_metadata][0] = "input";
        image->metadata[image->n_metadata++][1] = kind->input;
    }
    for (size_t f = 0; f < kind->n_fields; f++)
        add_number(image, kind->fields[f].name, get_field(config, &kind->fields[f]), false);
}

/* The fingerprint of all tensors and metadata so far. */
static uint64_t fingerprint_of(const thr_model_image *image) {
    thr_checksum_room sum_memory;
    thr_checksum *sum = thr_checksum_start(&sum_memory);
    for (size_t i = 0; i < image->n_tensors; i++)
        thr_checksum_add(sum, image->tensors[i].data, image->tensors[i].n_bytes);
    for (size_t i = 0; i < image->n_metadata; i++)
        thr_checksum_add(sum, image->metadata[i][1], strlen(image->metadata[i][1]) + 1);
    return thr_checksum_end(sum);
}

static void add_to_sum(thr_checksum *sum, const char *text) {
    thr_checksum_add(sum, text, strlen(text) + 1);
}

/* Checksum of the metadata before it: it protects numbers that the shapes of tensors do not determine. */
static uint64_t metadata_checksum(const thr_model_image *image) {
    thr_checksum_room sum_memory;
    thr_checksum *sum = thr_checksum_start(&sum_memory);
    for (size_t i = 0; i < image->n_metadata; i++) {
        add_to_sum(sum, image->metadata[i][0]);
        add_to_sum(sum, image->metadata[i][1]);
    }
    return thr_checksum_end(sum);
}

thr_status thr_training_image_begin(thr_context *context, const thr_model_source *source, thr_model_image **image,
                                    thr_error *err) {
    THR_TRY(thr_alloc(context, 1, sizeof **image, image, "a model's header", err));
    (*image)->n_tensors = (*image)->n_metadata = 0;
    source->fill(source->model, *image);
    return THR_OK;
}

thr_status thr_training_image_make(thr_context *context, const thr_model_source *source, thr_model_image **image,
                                   thr_error *err) {
    THR_TRY(thr_training_image_begin(context, source, image, err));
    add_number(*image, "fingerprint", fingerprint_of(*image), true);
    add_number(*image, "checksum", metadata_checksum(*image), true);
    return THR_OK;
}

thr_status thr_training_image_save(thr_context *context, const thr_model_source *source, const char *path,
                                   thr_error *err) {
    thr_model_image *image = NULL;
    THR_TRY(thr_training_image_make(context, source, &image, err));
    const thr_tensors_image all = {image->tensors, image->n_tensors, (const char *const(*)[2])image->metadata,
                                   image->n_metadata};
    const thr_status status = thr_tensors_write(context, path, &all, err);
    thr_release(context, image);
    return status;
}

/* ------------------------------------------------------------------------------------------------ read */

/* Parse a number of the metadata. */
static thr_status read_number(const thr_tensors *tensors, const char *name, const char *key, int base, uint64_t *value,
                              thr_error *err) {
    const char *text = thr_tensors_metadata(tensors, key);
    char *end = NULL;
    if (text != NULL)
        *value = strtoull(text, &end, base);
    if (text == NULL || end == text || *end != '\0')
        return thr_fail(err, THR_EFORMAT, "%s: \"%s\" of its metadata is %s, not a number: train the model again", name,
                        key, text != NULL ? text : "missing");
    return THR_OK;
}

thr_status thr_training_image_check_kind(const thr_tensors *tensors, const char *name, const thr_model_kind *kind,
                                         thr_error *err) {
    const char *input = thr_tensors_metadata(tensors, "input");
    uint64_t found = 0;
    if (thr_tensors_metadata(tensors, kind->key) == NULL ||
        strcmp(input != NULL ? input : "", kind->input != NULL ? kind->input : "") != 0)
        return thr_fail(err, THR_EFORMAT, "%s: has tensors, but is not a %s that thresher tower train wrote", name,
                        kind->what);
    THR_TRY(read_number(tensors, name, kind->key, 10, &found, err));
    if (found != kind->version)
        return thr_fail(err, THR_EVERSION,
                        "%s: a model of version %" PRIu64 ", this build reads version %" PRIu64 ": train it again",
                        name, found, kind->version);
    return THR_OK;
}

thr_status thr_training_image_read_config(const thr_tensors *tensors, const char *name, const thr_model_kind *kind,
                                          void *config, thr_error *err) {
    const thr_config_field *fields = kind->fields;
    uint64_t value = 0;
    for (size_t f = 0; f < kind->n_fields; f++) {
        THR_TRY(read_number(tensors, name, fields[f].name, 10, &value, err));
        if (value > UINT32_MAX)
            return thr_fail(err, THR_EFORMAT, "%s: \"%s\" of its metadata is out of range", name, fields[f].name);
        set_field(config, &fields[f], (uint32_t)value);
    }
    return THR_OK;
}

thr_status thr_training_image_read_fingerprint(const thr_tensors *tensors, const char *name, const thr_model_kind *kind,
                                               uint64_t *fingerprint, thr_error *err) {
    const char *keys[THR_IMAGE_METADATA_MAX] = {kind->key}, *checksum = thr_tensors_metadata(tensors, "checksum");
    char expected[17];
    size_t n = 1;
    if (kind->input != NULL)
        keys[n++] = "input";
    for (size_t f = 0; f < kind->n_fields; f++)
        keys[n++] = kind->fields[f].name;
    keys[n++] = "fingerprint";
    THR_TRY(read_number(tensors, name, "fingerprint", 16, fingerprint, err));
    thr_checksum_room sum_memory;
    thr_checksum *sum = thr_checksum_start(&sum_memory);
    for (size_t i = 0; i < n; i++) {
        const char *text = thr_tensors_metadata(tensors, keys[i]);
        if (text == NULL)
            return thr_fail(err, THR_EFORMAT, "%s: its metadata has no \"%s\": train the model again", name, keys[i]);
        add_to_sum(sum, keys[i]);
        add_to_sum(sum, text);
    }
    (void)snprintf(expected, sizeof expected, "%016" PRIx64, thr_checksum_end(sum));
    if (checksum != NULL && strcmp(checksum, expected) == 0)
        return THR_OK;
    return thr_fail(err, THR_ECORRUPT, "%s: its metadata does not match its checksum: fetch or train it again", name);
}

static bool are_finite(const thr_model_image *image) {
    for (size_t i = 0; i < image->n_tensors; i++) {
        const thr_tensor *tensor = &image->tensors[i];
        const float *values = tensor->data;
        for (size_t v = 0; tensor->dtype == THR_DTYPE_F32 && v < tensor->n_bytes / sizeof *values; v++)
            if (!isfinite(values[v]))
                return false;
    }
    return true;
}

thr_status thr_training_image_check_whole(thr_context *context, const thr_model_source *source, const char *name,
                                          uint64_t fingerprint, thr_error *err) {
    thr_model_image *image = NULL;
    THR_TRY(thr_training_image_begin(context, source, &image, err));
    const bool whole = fingerprint_of(image) == fingerprint, finite = are_finite(image);
    thr_release(context, image);
    if (!whole)
        return thr_fail(err, THR_ECORRUPT, "%s: its weights do not match its fingerprint: fetch or train it again",
                        name);
    return finite ? THR_OK
                  : thr_fail(err, THR_ECORRUPT, "%s: its weights hold NaN or infinity: fetch or train it again", name);
}

thr_status thr_training_image_check_place(const thr_tensor *tensor, const char *name, thr_error *err) {
    if ((uintptr_t)tensor->data % thr_dtype_size(tensor->dtype) == 0)
        return THR_OK;
    return thr_fail(err, THR_EFORMAT, "%s: tensor '%s' is not aligned to its values' size: train it again", name,
                    tensor->name);
}

thr_status thr_training_image_read_floats(const thr_tensors *tensors, const char *name, const char *side,
                                          const thr_tensor_shape *wanted, const float **data, thr_error *err) {
    char full[64];
    (void)snprintf(full, sizeof full, "%s%s%s", side, *side != '\0' ? "." : "", wanted->name);
    const uint64_t shape[2] = {wanted->n_rows, wanted->n_columns};
    const uint32_t n_axes = wanted->n_rows > 1 ? 2 : 1;
    const thr_tensor *tensor = NULL;
    THR_TRY(thr_tensors_expect(tensors, full, THR_DTYPE_F32, n_axes, shape + 2 - n_axes, &tensor, err));
    THR_TRY(thr_training_image_check_place(tensor, name, err));
    *data = tensor->data;
    return THR_OK;
}

thr_status thr_training_image_read_side(const thr_tensors *tensors, const char *name, const char *side,
                                        const thr_tensor_list *list, const float **found, thr_error *err) {
    for (size_t p = 0; p < list->n; p++)
        THR_TRY(thr_training_image_read_floats(tensors, name, side, &list->shapes[p], &found[p], err));
    return THR_OK;
}
