/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy.h - a translation model in the memory of a GPU, and sentences that are encoded and decoded there.
 *
 * Weights are uploaded once. Encoder, decoder layers and attention run on the device, with the bits of the CPU's
 * (workspace.h): products, cells and softmax add in its order. States come back to the host in every step, for the
 * head. Of several devices the first is used.
 *
 * Threads: one at a time.
 * Errors:  THR_ENOMEM for memory of the host or the device; THR_EDEVICE for every other failure of the device.
 */
#pragma once

#include "device/choice.h"
#include "translate/model.h"

typedef struct thr_seq2seq_device thr_seq2seq_device;

/* Upload the model of a thr_translator, to a thr_seq2seq_device; translator and devices must outlive it. */
thr_status thr_translate_device_create(void *translator, const thr_devices *devices, void **device, thr_error *err);
void thr_translate_device_free(void *device); /* NULL is allowed */

/* The number of a model's weights, without its head's. */
size_t thr_translate_device_n_weights(const thr_seq2seq *model);

/* What thr_translate_seq2seq_encode, _begin, _step and _reorder do, on the device. */
thr_status thr_translate_device_encode(thr_seq2seq_device *device, const uint32_t *words, const size_t *starts,
                                       size_t n_sentences, thr_error *err);
thr_status thr_translate_device_begin(thr_seq2seq_device *device, const uint32_t *sentences, size_t n, thr_error *err);
thr_status thr_translate_device_step(thr_seq2seq_device *device, const uint32_t *words, float *states,
                                     uint32_t *attended, thr_error *err);
thr_status thr_translate_device_reorder(thr_seq2seq_device *device, const uint32_t *from, size_t n, thr_error *err);
