/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checkpoint.h - the tensors of a model: one safetensors file, or the shards that an index (*.safetensors.index.json)
 * lists. config.json beside them states whether the output layer is tied to the embeddings.
 *
 * The index maps names to files of its own directory. All shards are opened. A shard that is missing or damaged is an
 * error only for a caller that needs one of its tensors.
 */
#pragma once

#include "tensors/safetensors.h"

typedef struct thr_checkpoint thr_checkpoint;

/* What is known about the output layer of a model without a tensor of that name. */
typedef enum thr_tying {
    THR_TYING_UNKNOWN, /* one file, which may be a part of a model */
    THR_TYING_WHOLE,   /* nothing is stated, and these are all tensors of the model */
    THR_TYING_TIED,    /* config.json: it is the embeddings */
    THR_TYING_UNTIED   /* config.json: it is a tensor of its own */
} thr_tying;

typedef struct thr_checkpoint_entry {
    const char *name;
    const char *path;         /* of the file */
    const thr_tensor *tensor; /* NULL: the file cannot be opened, or lacks the tensor */
} thr_checkpoint_entry;

/* Whether a path is that of a safetensors file, an index, or a directory that holds one. */
bool thr_tensors_checkpoint_is(const char *path);

/*
 * Open a safetensors file, alone or with the other shards of the index beside it that lists it; an index; or a
 * directory with one index, or else one safetensors file. Returns what thr_tensors_open returns for a file without
 * index; THR_EFORMAT for an index that is not JSON or lists no tensors; THR_EINVAL if a directory has several, or a
 * shard is listed by several.
 */
thr_status thr_tensors_checkpoint_open(thr_context *context, const char *path, thr_checkpoint **checkpoint,
                                       thr_error *err);
void thr_tensors_checkpoint_free(thr_checkpoint *checkpoint);

size_t thr_tensors_checkpoint_count(const thr_checkpoint *checkpoint);
const thr_checkpoint_entry *thr_tensors_checkpoint_at(const thr_checkpoint *checkpoint, size_t i);

/* Return why an entry has no tensor: the file's own error, or THR_EFORMAT if the file lacks it. */
thr_status thr_tensors_checkpoint_fail(const thr_checkpoint *checkpoint, size_t i, thr_error *err);

/* Read config.json, if there is one. THR_EFORMAT if it is not JSON. */
thr_status thr_tensors_checkpoint_tying(const thr_checkpoint *checkpoint, thr_tying *tying, thr_error *err);

/* ------------------------------------------------------------------------------------------------ JSON files */

/* An entry of an index: a tensor and the file that has it. */
typedef struct thr_shard_entry {
    const char *name, *file;
} thr_shard_entry;

typedef struct thr_shard_index {
    char *strings;
    thr_shard_entry *entries;
    size_t n;
} thr_shard_index;

/* Read the text of an index; name is for messages. THR_EFORMAT, THR_ENOMEM. Free it also after an error. */
thr_status thr_tensors_index_read(thr_context *context, const char *name, const void *text, size_t size,
                                  thr_shard_index *index, thr_error *err);
void thr_tensors_index_free(thr_context *context, thr_shard_index *index);

/* Read tie_word_embeddings of a config.json, or of its text_config: TIED, UNTIED, or WHOLE if it has none. */
thr_status thr_tensors_config_read(const char *name, const void *text, size_t size, thr_tying *tying, thr_error *err);
