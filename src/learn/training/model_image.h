/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_image.h - what the files of all kinds of models share.
 *
 * A model is a safetensors file whose metadata holds, in this order: the kind and its version, the configuration's
 * numbers in decimal, a fingerprint of all tensors and the configuration, and a checksum of the metadata before it.
 */
#pragma once

#include "tensors/safetensors.h"
#include "training/weights.h"

enum { THR_IMAGE_TENSORS_MAX = 72, THR_IMAGE_METADATA_MAX = 16 };

/* A file being assembled: it owns names and numbers; tensors are views. */
typedef struct thr_model_image {
    char names[THR_IMAGE_TENSORS_MAX][48];
    thr_tensor tensors[THR_IMAGE_TENSORS_MAX];
    size_t n_tensors;
    char values[THR_IMAGE_METADATA_MAX][32];
    const char *metadata[THR_IMAGE_METADATA_MAX][2];
    size_t n_metadata;
} thr_model_image;

/* A number of a configuration: its name in the metadata and its offset in the struct. */
typedef struct thr_config_field {
    const char *name;
    size_t offset;
    bool is_flag; /* a bool; otherwise a uint32_t */
} thr_config_field;

/* A kind of model, and the configuration its files hold. */
typedef struct thr_model_kind {
    const char *key;   /* metadata key whose value is the version, "thresher.tower" */
    const char *what;  /* for messages: "model of texts" */
    const char *input; /* what it encodes, the value of the metadata's "input"; NULL: there is none */
    uint64_t version;
    const thr_config_field *fields;
    size_t n_fields;
} thr_model_kind;

/*
 * A model to be written: fill adds its tensors, then its configuration, to an empty image. The model must outlive the
 * image, whose tensors are views of it.
 */
typedef struct thr_model_source {
    const void *model;
    void (*fill)(const void *model, thr_model_image *image);
} thr_model_source;

/* Add a tensor named "side.name", or "name" if side is "". With n_rows 1 it has one axis. */
void thr_training_image_add_tensor(thr_model_image *image, const char *side, const char *name, thr_dtype dtype,
                                   const void *data, uint64_t n_rows, uint64_t n_columns);

/* Add a side's dense tensors, or find them. THR_OK or THR_EFORMAT. */
void thr_training_image_add_side(thr_model_image *image, const char *side, const thr_tensor_list *list,
                                 const float *const *tensors);
thr_status thr_training_image_read_side(const thr_tensors *tensors, const char *name, const char *side,
                                        const thr_tensor_list *list, const float **found, thr_error *err);

/* Add the kind, its version and the configuration: the kind's fields of the struct at config. */
void thr_training_image_add_config(thr_model_image *image, const thr_model_kind *kind, const void *config);

/* Assemble all but fingerprint and checksum; or the whole file. The caller releases *image. THR_OK or THR_ENOMEM. */
thr_status thr_training_image_begin(thr_context *context, const thr_model_source *source, thr_model_image **image,
                                    thr_error *err);
thr_status thr_training_image_make(thr_context *context, const thr_model_source *source, thr_model_image **image,
                                   thr_error *err);

/* Write the model's file. THR_OK; THR_ENOSPACE; THR_EIO; THR_ENOMEM. */
thr_status thr_training_image_save(thr_context *context, const thr_model_source *source, const char *path,
                                   thr_error *err);

/* ------------------------------------------------------------------------------------------------ read */

/* Check the kind and its version. name is for messages. THR_OK; THR_EFORMAT; THR_EVERSION. */
thr_status thr_training_image_check_kind(const thr_tensors *tensors, const char *name, const thr_model_kind *kind,
                                         thr_error *err);

/* Read the configuration's numbers. THR_OK or THR_EFORMAT. */
thr_status thr_training_image_read_config(const thr_tensors *tensors, const char *name, const thr_model_kind *kind,
                                          void *config, thr_error *err);

/* Read the fingerprint, and check the metadata against its checksum. THR_OK; THR_EFORMAT; THR_ECORRUPT. */
thr_status thr_training_image_read_fingerprint(const thr_tensors *tensors, const char *name, const thr_model_kind *kind,
                                               uint64_t *fingerprint, thr_error *err);

/*
 * Check that the tensors and the configuration of a model that was read match its fingerprint, and that weights are
 * finite. Reads all of them; name is for messages. THR_OK; THR_ECORRUPT; THR_ENOMEM.
 */
thr_status thr_training_image_check_whole(thr_context *context, const thr_model_source *source, const char *name,
                                          uint64_t fingerprint, thr_error *err);

/*
 * Check a tensor's alignment: other writers' files may place tensors anywhere (safetensors.h). THR_OK or THR_EFORMAT.
 */
thr_status thr_training_image_check_place(const thr_tensor *tensor, const char *name, thr_error *err);

/* Find a float32 tensor of this shape, named as by thr_training_image_add_tensor. THR_OK or THR_EFORMAT. */
thr_status thr_training_image_read_floats(const thr_tensors *tensors, const char *name, const char *side,
                                          const thr_tensor_shape *wanted, const float **data, thr_error *err);
