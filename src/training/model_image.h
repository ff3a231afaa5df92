/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_image.h - what models of every kind share on disk: a safetensors file whose metadata is the kind and its
 * version, the configuration's numbers in decimal, a fingerprint of all tensors and of the configuration and, last, a
 * checksum of the metadata before it.
 */
#ifndef THR_TRAINING_MODEL_IMAGE_H
#define THR_TRAINING_MODEL_IMAGE_H

#include "io/safetensors.h"
#include "training/weights.h"

enum { THR_IMAGE_TENSORS_MAX = 72, THR_IMAGE_METADATA_MAX = 16 };

/* A file as it is put together; names and numbers live in it, tensors are views. Starts zeroed. */
typedef struct thr_model_image {
    char names[THR_IMAGE_TENSORS_MAX][48];
    thr_tensor tensors[THR_IMAGE_TENSORS_MAX];
    size_t n_tensors;
    char values[THR_IMAGE_METADATA_MAX][32];
    const char *metadata[THR_IMAGE_METADATA_MAX][2];
    size_t n_metadata;
} thr_model_image;

/* A number of a configuration, by its name in the metadata, and where it stands in the struct. */
typedef struct thr_config_field {
    const char *name;
    size_t offset;
    bool is_flag; /* a bool; the others are uint32_t */
} thr_config_field;

/* What tells models of a kind from others. */
typedef struct thr_model_kind {
    const char *key;  /* "thresher.tower", with the version in the metadata */
    const char *what; /* "model of texts", for messages */
    uint64_t version;
    const thr_config_field *fields;
    size_t n_fields;
} thr_model_kind;

/* "side.name", or name where side is ""; a vector where there is one row. */
void thr_training_image_add_tensor(thr_model_image *image, const char *side, const char *name, thr_dtype dtype,
                                   const void *data, uint64_t n_rows, uint64_t n_columns);

/* The kind and its version, and a configuration: the kind's fields of the struct at config. */
void thr_training_image_add_config(thr_model_image *image, const thr_model_kind *kind, const void *config);

/* Of all the image holds: before the sums are added. */
uint64_t thr_training_image_fingerprint(const thr_model_image *image);
void thr_training_image_add_sums(thr_model_image *image, uint64_t fingerprint);

/* THR_OK; THR_ENOSPACE; THR_EIO; THR_ENOMEM. */
thr_status thr_training_image_save(thr_context *context, const thr_model_image *image, const char *path,
                                   thr_error *err);

/* ------------------------------------------------------------------------------------------------ back */

/* Is it a model of the kind, and of no later version? THR_OK; THR_EFORMAT; THR_EVERSION. name is for messages. */
thr_status thr_training_image_check_kind(const thr_tensors *tensors, const char *name, const thr_model_kind *kind,
                                         thr_error *err);

/* The configuration's numbers, and the fingerprint. THR_OK or THR_EFORMAT. */
thr_status thr_training_image_read_config(const thr_tensors *tensors, const char *name, const thr_model_kind *kind,
                                          void *config, uint64_t *fingerprint, thr_error *err);

/*
 * Is the metadata, to the letter, what a model of this configuration and fingerprint has? THR_OK; THR_ECORRUPT;
 * THR_ENOMEM.
 */
thr_status thr_training_image_check_metadata(thr_context *context, const thr_tensors *tensors, const char *name,
                                             const thr_model_kind *kind, const void *config, uint64_t fingerprint,
                                             thr_error *err);

/* Files of others may have anything anywhere (safetensors.h). THR_OK or THR_EFORMAT. */
thr_status thr_training_image_check_place(const thr_tensor *tensor, const char *name, thr_error *err);

/* A tensor of floats of this shape, named as thr_training_image_add_tensor does. THR_OK or THR_EFORMAT. */
thr_status thr_training_image_read_floats(const thr_tensors *tensors, const char *name, const char *side,
                                          const thr_part_shape *part, const float **data, thr_error *err);

#endif
