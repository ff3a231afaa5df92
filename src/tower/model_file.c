/* SPDX-License-Identifier: Apache-2.0 */
#include "tower/model_file.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checksum.h"
#include "base/error.h"

static const char KIND[] = "thresher.tower";
enum { VERSION = 1 };
static const char *const sides[THR_N_SIDES] = {"query", "item"};

/* The configuration's numbers, by name, and where they stand. */
static const struct {
    const char *name;
    size_t offset;
    bool is_flag; /* a bool; the others are uint32_t */
} fields[] = {
    {"n_dims", offsetof(thr_tower_config, n_dims), false},
    {"n_pooled", offsetof(thr_tower_config, n_pooled), false},
    {"query_bits", offsetof(thr_tower_config, query_bits), false},
    {"item_bits", offsetof(thr_tower_config, item_bits), false},
    {"max_grams", offsetof(thr_tower_config, max_grams), false},
    {"max_words", offsetof(thr_tower_config, max_words), false},
    {"shared_words", offsetof(thr_tower_config, shared_words), true},
    {"shared_steps", offsetof(thr_tower_config, shared_steps), true},
    {"plain_weights", offsetof(thr_tower_config, plain_weights), true},
};
enum { N_FIELDS = sizeof fields / sizeof fields[0] };

static uint32_t get_field(const thr_tower_config *config, size_t f) {
    const char *place = (const char *)config + fields[f].offset;
    uint32_t value = 0;
    if (fields[f].is_flag)
        return *place != 0; /* any byte but 0 is true */
    memcpy(&value, place, sizeof value);
    return value;
}

static void set_field(thr_tower_config *config, size_t f, uint32_t value) {
    char *place = (char *)config + fields[f].offset;
    const bool flag = value != 0;
    if (!fields[f].is_flag)
        memcpy(place, &value, sizeof value);
    else
        memcpy(place, &flag, sizeof flag);
}

static void add_tensor(thr_model_image *image, const char *side, const char *name, thr_dtype dtype, const void *data,
                       uint64_t n_rows, uint64_t n_columns) {
    const size_t i = image->n_tensors++;
    (void)snprintf(image->names[i], sizeof image->names[i], "%s%s%s", side, *side != '\0' ? "." : "", name);
    thr_tensor *tensor = &image->tensors[i];
    *tensor = (thr_tensor){.name = image->names[i], .dtype = dtype, .data = data};
    if (n_rows > 1)
        tensor->shape[tensor->n_axes++] = n_rows;
    tensor->shape[tensor->n_axes++] = n_columns;
    tensor->n_bytes = (size_t)(n_rows * n_columns) * thr_dtype_size(dtype);
}

static void add_number(thr_model_image *image, const char *key, uint64_t value, bool hexadecimal) {
    const size_t i = image->n_metadata++;
    (void)snprintf(image->values[i], sizeof image->values[i], hexadecimal ? "%016" PRIx64 : "%" PRIu64, value);
    image->metadata[i][0] = key;
    image->metadata[i][1] = image->values[i];
}

/* Of all weights, the trigrams and the configuration, which the image holds and nothing more. */
static uint64_t fingerprint_of(const thr_model_image *image) {
    thr_checksum_room room;
    thr_checksum *sum = thr_checksum_start(&room);
    for (size_t i = 0; i < image->n_tensors; i++)
        thr_checksum_add(sum, image->tensors[i].data, image->tensors[i].n_bytes);
    for (size_t i = 0; i < image->n_metadata; i++)
        thr_checksum_add(sum, image->metadata[i][1], strlen(image->metadata[i][1]) + 1);
    return thr_checksum_end(sum);
}

/* Of the metadata before it: what the shapes of tensors do not give away is held fast by it. */
static uint64_t metadata_checksum(const thr_model_image *image) {
    thr_checksum_room room;
    thr_checksum *sum = thr_checksum_start(&room);
    for (size_t i = 0; i < image->n_metadata; i++)
        for (size_t j = 0; j < 2; j++)
            thr_checksum_add(sum, image->metadata[i][j], strlen(image->metadata[i][j]) + 1);
    return thr_checksum_end(sum);
}

static void add_config(const thr_tower_config *config, thr_model_image *image) {
    add_number(image, KIND, VERSION, false);
    for (size_t f = 0; f < N_FIELDS; f++)
        add_number(image, fields[f].name, get_field(config, f), false);
}

static void add_sums(uint64_t fingerprint, thr_model_image *image) {
    add_number(image, "fingerprint", fingerprint, true);
    add_number(image, "checksum", metadata_checksum(image), true);
}

/* All but the sums. */
static void begin_picture(const thr_model *model, thr_model_image *image) {
    const thr_tower_config *config = &model->config;
    const size_t n_columns = thr_model_n_columns(config);
    image->n_tensors = image->n_metadata = 0;
    for (size_t i = 0; i < thr_model_n_tables(config); i++)
        add_tensor(image, config->shared_words ? "" : sides[i], "words", THR_DTYPE_F32, model->tables[i],
                   model->grams.n, n_columns);
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++) {
        for (size_t p = 0; p < thr_model_n_parts(config, side); p++) {
            const thr_part_shape shape = thr_model_part_shape(config, p);
            add_tensor(image, sides[side], shape.name, THR_DTYPE_F32, model->parts[side][p], shape.n_rows,
                       shape.n_columns);
        }
    }
    add_tensor(image, "", "grams", THR_DTYPE_U64, model->grams.keys, 1, model->grams.n);
    add_config(config, image);
}

void thr_model_picture(const thr_model *model, thr_model_image *image) {
    begin_picture(model, image);
    add_sums(fingerprint_of(image), image);
}

bool thr_model_is_whole(const thr_model *model, uint64_t fingerprint, thr_model_image *image) {
    begin_picture(model, image);
    return fingerprint_of(image) == fingerprint;
}

thr_status thr_model_save(thr_context *context, const thr_model *model, const char *path, thr_error *err) {
    thr_model_image *image = NULL;
    THR_TRY(thr_alloc(context, 1, sizeof *image, &image, "a model's header", err));
    thr_model_picture(model, image);
    const thr_tensors_image all = {image->tensors, image->n_tensors, (const char *const(*)[2])image->metadata,
                                   image->n_metadata};
    const thr_status status = thr_tensors_write(context, path, &all, err);
    thr_release(context, image);
    return status;
}

/* A number of the metadata. */
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

static thr_status read_config(const thr_tensors *tensors, const char *name, thr_tower_config *config, thr_error *err) {
    uint64_t value = 0;
    *config = (thr_tower_config){.size = sizeof *config};
    for (size_t f = 0; f < N_FIELDS; f++) {
        THR_TRY(read_number(tensors, name, fields[f].name, 10, &value, err));
        if (value > UINT32_MAX)
            return thr_fail(err, THR_EFORMAT, "%s: \"%s\" of its metadata is out of range", name, fields[f].name);
        set_field(config, f, (uint32_t)value);
    }
    return THR_OK;
}

/* Is the metadata, to the letter, what a model of this configuration and fingerprint has? */
static thr_status check_metadata(thr_context *context, const thr_tensors *tensors, const char *name,
                                 const thr_tower_config *config, uint64_t fingerprint, thr_error *err) {
    thr_model_image *image = NULL;
    thr_status status = THR_OK;
    THR_TRY(thr_alloc_zero(context, 1, sizeof *image, &image, "a model's header", err));
    add_config(config, image);
    add_sums(fingerprint, image);
    for (size_t i = 0; status == THR_OK && i < image->n_metadata; i++) {
        const char *text = thr_tensors_metadata(tensors, image->metadata[i][0]);
        if (text == NULL || strcmp(text, image->metadata[i][1]) != 0)
            status = thr_fail(err, THR_ECORRUPT,
                              "%s: its metadata does not match its checksum: fetch or train it again", name);
    }
    thr_release(context, image);
    return status;
}

/* Files of others may have anything anywhere (safetensors.h). */
static thr_status check_place(const thr_tensor *tensor, const char *name, thr_error *err) {
    if ((uintptr_t)tensor->data % thr_dtype_size(tensor->dtype) == 0)
        return THR_OK;
    return thr_fail(err, THR_EFORMAT,
                    "%s: tensor '%s' does not begin at a multiple of its values' size: train it again", name,
                    tensor->name);
}

static thr_status read_tensor(const thr_tensors *tensors, const char *name, const char *side, const char *part,
                              uint64_t n_rows, uint64_t n_columns, const float **data, thr_error *err) {
    char full[64];
    (void)snprintf(full, sizeof full, "%s%s%s", side, *side != '\0' ? "." : "", part);
    const uint64_t shape[2] = {n_rows, n_columns};
    const uint32_t n_axes = n_rows > 1 ? 2 : 1;
    const thr_tensor *tensor = NULL;
    THR_TRY(thr_tensors_expect(tensors, full, THR_DTYPE_F32, n_axes, shape + 2 - n_axes, &tensor, err));
    THR_TRY(check_place(tensor, name, err));
    *data = tensor->data;
    return THR_OK;
}

static thr_status read_weights(const thr_tensors *tensors, const char *name, thr_model *model, thr_error *err) {
    const thr_tower_config *config = &model->config;
    for (size_t i = 0; i < THR_N_SIDES; i++) {
        const size_t table = config->shared_words ? 0 : i;
        THR_TRY(read_tensor(tensors, name, config->shared_words ? "" : sides[table], "words", model->grams.n,
                            thr_model_n_columns(config), &model->tables[i], err));
    }
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++) {
        for (size_t p = 0; p < thr_model_n_parts(config, side); p++) {
            const thr_part_shape shape = thr_model_part_shape(config, p);
            THR_TRY(read_tensor(tensors, name, sides[side], shape.name, shape.n_rows, shape.n_columns,
                                &model->parts[side][p], err));
        }
    }
    return THR_OK;
}

thr_status thr_model_read(thr_context *context, const thr_tensors *tensors, const char *name, thr_model *model,
                          uint64_t *fingerprint, thr_error *err) {
    *model = (thr_model){0};
    uint64_t version = 0;
    if (thr_tensors_metadata(tensors, KIND) == NULL)
        return thr_fail(err, THR_EFORMAT, "%s: has tensors, but is no model that thresher tower train wrote", name);
    THR_TRY(read_number(tensors, name, KIND, 10, &version, err));
    if (version > VERSION)
        return thr_fail(err, THR_EVERSION, "%s: a model of version %" PRIu64 ", this build knows %d: use a newer one",
                        name, version, VERSION);
    THR_TRY(read_config(tensors, name, &model->config, err));
    if (thr_model_check(&model->config, NULL) != THR_OK)
        return thr_fail(err, THR_EFORMAT, "%s: its configuration is out of range", name);
    THR_TRY(read_number(tensors, name, "fingerprint", 16, fingerprint, err));
    THR_TRY(check_metadata(context, tensors, name, &model->config, *fingerprint, err));
    const thr_tensor *grams = thr_tensors_find(tensors, "grams");
    if (grams == NULL || grams->dtype != THR_DTYPE_U64 || grams->n_axes != 1 || grams->shape[0] < 1 ||
        grams->shape[0] > model->config.max_grams)
        return thr_fail(err, THR_EFORMAT, "%s: has no list of letter trigrams", name);
    THR_TRY(check_place(grams, name, err));
    model->grams.n = (uint32_t)grams->shape[0];
    THR_TRY(read_weights(tensors, name, model, err));
    const thr_status status = thr_grams_make(context, grams->data, (uint32_t)grams->shape[0], &model->grams, err);
    if (status == THR_EDUPLICATE)
        return thr_fail(err, THR_ECORRUPT, "%s: a letter trigram stands twice: fetch or train it again", name);
    return status;
}
