/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_safetensors.c - bytes read as a file of tensors: as they are, and with the header's length corrected so that
 * the bytes after it are read, too. What is accepted lies in the data, once each. Bytes that begin with a brace are
 * read as an index of shards and as a config.json.
 */
#include "fuzz/io_fuzz.h"
#include "fuzz/model_mutator.h"
#include "tensors/checkpoint.h"

static void open_bytes(const uint8_t *data, size_t size) {
    thr_tensors *tensors = NULL;
    thr_error err;
    thr_status status = thr_tensors_open_memory(fuzz_context(), "a.safetensors", data, size, &tensors, &err);
    fuzz_check((status == THR_OK) == (tensors != NULL));
    if (status != THR_OK) {
        fuzz_check_error(&err, status);
        return;
    }
    size_t n_bytes = 0;
    for (size_t i = 0; i < thr_tensors_count(tensors); i++) {
        const thr_tensor *tensor = thr_tensors_at(tensors, i), *found = NULL;
        const uint8_t *from = tensor->data;
        fuzz_check(from >= data + 10 && tensor->n_bytes <= size - (size_t)(from - data));
        n_bytes += tensor->n_bytes;
        fuzz_check(thr_tensors_find(tensors, tensor->name) == tensor);
        status = thr_tensors_expect(tensors, tensor->name, THR_DTYPE_F32, tensor->n_axes, tensor->shape, &found, &err);
        fuzz_check((status == THR_OK) == (tensor->dtype == THR_DTYPE_F32) && (found == tensor) == (status == THR_OK));
    }
    fuzz_check(n_bytes <= size - 10);
    (void)thr_tensors_metadata(tensors, "format");
    thr_tensors_free(tensors);
}

static void read_json(const uint8_t *data, size_t size) {
    thr_shard_index index;
    thr_tying tying = THR_TYING_UNKNOWN;
    thr_error err;
    thr_status status = thr_tensors_index_read(fuzz_context(), "i.json", data, size, &index, &err);
    fuzz_check(status != THR_OK || index.n > 0);
    if (status != THR_OK)
        fuzz_check_error(&err, status);
    for (size_t i = 0; i < index.n; i++)
        fuzz_check(strchr(index.entries[i].file, '/') == NULL && strlen(index.entries[i].name) < size);
    thr_tensors_index_free(fuzz_context(), &index);
    status = thr_tensors_config_read("config.json", data, size, &tying, &err);
    if (status != THR_OK)
        fuzz_check_error(&err, status);
}

FUZZ_MUTATOR(fuzz_mutate_model)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    open_bytes(data, size);
    if (size > 0 && data[0] == '{')
        read_json(data, size);
    /* All of it is a header, or all up to the last brace. */
    if (size < 10)
        return 0;
    uint8_t *corrected = malloc(size);
    fuzz_check(corrected != NULL);
    memcpy(corrected, data, size);
    for (size_t end = size; end > 9; end--) {
        if (data[end - 1] != '}' && end != size)
            continue;
        const uint64_t length = end - 8;
        for (size_t i = 0; i < 8; i++)
            corrected[i] = (uint8_t)(length >> 8 * i);
        open_bytes(corrected, size);
        if (end != size)
            break;
    }
    free(corrected);
    return 0;
}
