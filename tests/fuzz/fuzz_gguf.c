/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_gguf.c - bytes read as a model in GGUF; of every tensor that is accepted the first and the last row are read. */
#include "fuzz/io_fuzz.h"
#include "tensors/gguf.h"

enum { MOST_DIMS = 4096 };

static void read_rows(const thr_gguf_tensor *tensor) {
    static float row[MOST_DIMS];
    if (thr_tensors_gguf_dtype(tensor->type) == THR_DTYPE_NONE || tensor->n_rows == 0 || tensor->n_dims > MOST_DIMS)
        return;
    thr_tensors_gguf_row(tensor, 0, row);
    thr_tensors_gguf_row(tensor, tensor->n_rows - 1, row);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    thr_gguf *file = NULL;
    thr_error err;
    const thr_status status = thr_tensors_gguf_open_memory(fuzz_context(), "a.gguf", data, size, &file, &err);
    fuzz_check((status == THR_OK) == (file != NULL));
    if (status != THR_OK) {
        fuzz_check_error(&err, status);
        return 0;
    }
    for (size_t i = 0; i < thr_tensors_gguf_count(file); i++) {
        const thr_gguf_tensor *tensor = thr_tensors_gguf_at(file, i);
        fuzz_check((const uint8_t *)tensor->name >= data && tensor->n_name <= size);
        fuzz_check(tensor->data == NULL || (tensor->data > data && tensor->data <= data + size));
        fuzz_check(thr_tensors_gguf_type_name(tensor->type) != NULL);
        read_rows(tensor);
    }
    (void)thr_tensors_gguf_find(file, "output.weight");
    fuzz_check(thr_tensors_gguf_parts(file) <= UINT16_MAX);
    thr_tensors_gguf_free(file);
    return 0;
}
