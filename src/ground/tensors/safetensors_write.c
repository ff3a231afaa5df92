/* SPDX-License-Identifier: Apache-2.0 */
/*
 * safetensors_write.c - the writer. Builds the header in memory and pads it with spaces so that the data begins at a
 * multiple of 64. Tensors follow in descending order of value size, which aligns each for its type.
 */
#include <string.h>

#include "base/error.h"
#include "base/files/out.h"
#include "base/minmax.h"
#include "base/text/utf8.h"
#include "base/text/json.h"
#include "tensors/safetensors.h"
#include "tensors/dtype_names.h"
#include "tensors/heapsort.h"

enum {
    LEAD_BYTES = 8,
    ALIGN = 64,
    QUOTED_FACTOR = 6, /* a byte of a name becomes at most this many bytes */
    ENTRY_BYTES = 256  /* the rest of an entry: dtype, 4 numbers of a shape and 2 offsets, of 20 digits each */
};

static const char metadata_name[] = "__metadata__";

static thr_status check_tensor(const char *path, const thr_tensor *tensor, thr_error *err) {
    const thr_tensor_kind *kind = thr_tensors_kind_of(tensor->dtype);
    uint64_t n_values = 1, n_bytes = 0;
    bool fits = kind != NULL && tensor->n_axes <= THR_TENSOR_AXES;
    for (uint32_t i = 0; fits && i < tensor->n_axes; i++)
        fits = !__builtin_mul_overflow(n_values, tensor->shape[i], &n_values);
    if (!fits || !thr_tensors_kind_size(kind, n_values, &n_bytes) || n_bytes != tensor->n_bytes)
        return thr_fail(err, THR_EINVAL,
                        "%s: tensor '%.200s' of %s with %u axes cannot be written as %zu bytes: shape and size must "
                        "agree",
                        path, tensor->name, thr_dtype_name(tensor->dtype), tensor->n_axes, tensor->n_bytes);
    return THR_OK;
}

static thr_status check_text(const char *path, const char *what, const char *text, thr_error *err) {
    if (thr_utf8_valid(text, strlen(text)) == strlen(text))
        return THR_OK;
    return thr_fail(err, THR_EINVAL, "%s: %s '%.200s' is not UTF-8: choose another", path, what, text);
}

static int compare_texts(const void *a, const void *b) {
    return strcmp(a, b);
}

/* Check for duplicates. texts is scratch memory for n pointers. */
static thr_status check_twice(const char *path, const char *what, const void **texts, size_t n, thr_error *err) {
    thr_order(texts, n, compare_texts);
    for (size_t i = 0; i < n; i++) {
        if (i != 0 && compare_texts(texts[i - 1], texts[i]) == 0)
            return thr_fail(err, THR_EINVAL, "%s: %s '%.200s' occurs twice: choose another", path, what,
                            (const char *)texts[i]);
        THR_TRY(check_text(path, what, texts[i], err));
    }
    return THR_OK;
}

static thr_status check_image(thr_context *context, const char *path, const thr_tensors_image *image, thr_error *err) {
    const void **texts = NULL;
    const size_t most = THR_MAX(image->n_tensors, image->n_metadata);
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_alloc(context, most, sizeof *texts, &texts, "names of tensors", err));
    for (size_t i = 0; i < image->n_tensors; i++) {
        THR_TRY_OUT(check_tensor(path, &image->tensors[i], err));
        texts[i] = image->tensors[i].name;
        if (strcmp(texts[i], metadata_name) == 0) {
            status =
                thr_fail(err, THR_EINVAL, "%s: no tensor can be called '%s': choose another name", path, metadata_name);
            goto out;
        }
    }
    THR_TRY_OUT(check_twice(path, "the tensor", texts, image->n_tensors, err));
    for (size_t i = 0; i < image->n_metadata; i++) {
        texts[i] = image->metadata[i][0];
        THR_TRY_OUT(check_text(path, "the metadata", image->metadata[i][1], err));
    }
    THR_TRY_OUT(check_twice(path, "the metadata", texts, image->n_metadata, err));
out:
    thr_release(context, texts);
    return status;
}

/* ------------------------------------------------------------------------------------------------ the header */

/*
 * Compute the offset of each tensor: after all tensors with larger values, and after those of the same size listed
 * before it.
 */
static size_t find_places(const thr_tensors_image *image, uint64_t *places, const thr_tensor **in_order) {
    uint64_t at = 0;
    size_t n = 0;
    for (size_t value = 8; value > 0; value /= 2) {
        for (size_t i = 0; i < image->n_tensors; i++) {
            if (thr_dtype_size(image->tensors[i].dtype) != value)
                continue;
            places[i] = at;
            at += image->tensors[i].n_bytes;
            in_order[n++] = &image->tensors[i];
        }
    }
    return n;
}

static size_t most_header_bytes(const thr_tensors_image *image) {
    size_t n = ENTRY_BYTES + ALIGN;
    for (size_t i = 0; i < image->n_tensors; i++)
        n += ENTRY_BYTES + QUOTED_FACTOR * strlen(image->tensors[i].name);
    for (size_t i = 0; i < image->n_metadata; i++)
        n += ENTRY_BYTES + QUOTED_FACTOR * (strlen(image->metadata[i][0]) + strlen(image->metadata[i][1]));
    return n;
}

static void append(void *to, const char *bytes, size_t n) {
    char **const at = to;
    memcpy(*at, bytes, n);
    *at += n;
}

static void write_metadata(const thr_tensors_image *image, thr_json_out *out) {
    thr_json_put_key(out, metadata_name);
    thr_json_open(out, '{');
    for (size_t i = 0; i < image->n_metadata; i++) {
        thr_json_put_key(out, image->metadata[i][0]);
        thr_json_put_text(out, image->metadata[i][1]);
    }
    thr_json_close(out, '}');
}

static void write_tensor(const thr_tensor *tensor, uint64_t place, thr_json_out *out) {
    thr_json_put_key(out, tensor->name);
    thr_json_open(out, '{');
    thr_json_put_key(out, "dtype");
    thr_json_put_text(out, thr_tensors_kind_of(tensor->dtype)->name);
    thr_json_put_key(out, "shape");
    thr_json_open(out, '[');
    for (uint32_t i = 0; i < tensor->n_axes; i++)
        thr_json_put_count(out, tensor->shape[i]);
    thr_json_close(out, ']');
    thr_json_put_key(out, "data_offsets");
    thr_json_open(out, '[');
    thr_json_put_count(out, place);
    thr_json_put_count(out, place + tensor->n_bytes);
    thr_json_close(out, ']');
    thr_json_close(out, '}');
}

/* Write the length and the JSON, padded to a multiple of 64 bytes. */
static size_t make_header(const thr_tensors_image *image, const uint64_t *places, char *header) {
    char *to = header + LEAD_BYTES;
    thr_json_out out = {.put = append, .to = &to};
    thr_json_open(&out, '{');
    if (image->n_metadata != 0)
        write_metadata(image, &out);
    for (size_t i = 0; i < image->n_tensors; i++)
        write_tensor(&image->tensors[i], places[i], &out);
    thr_json_close(&out, '}');
    while ((to - header) % ALIGN != 0)
        *to++ = ' ';
    const uint64_t length = (uint64_t)(to - header) - LEAD_BYTES;
    for (unsigned i = 0; i < LEAD_BYTES; i++)
        header[i] = (char)(length >> 8 * i);
    return (size_t)(to - header);
}

thr_status thr_tensors_check_place(thr_context *context, const char *path, const char *key, const char *what,
                                   thr_error *err) {
    thr_tensors *tensors = NULL;
    if (thr_out_is_vacant(path))
        return THR_OK;
    const thr_status status = thr_tensors_open(context, path, &tensors, err);
    const bool is_one = status == THR_OK && thr_tensors_metadata(tensors, key) != NULL;
    thr_tensors_free(tensors);
    return is_one || status == THR_ENOMEM ? status : thr_out_fail_other_kind(path, what, err);
}

thr_status thr_tensors_write(thr_context *context, const char *path, const thr_tensors_image *image, thr_error *err) {
    thr_out file = {.context = NULL};
    uint64_t *places = NULL;
    const thr_tensor **in_order = NULL;
    char *header = NULL;
    thr_status status = THR_OK;
    THR_TRY_OUT(check_image(context, path, image, err));
    THR_TRY_OUT(thr_alloc(context, image->n_tensors, sizeof *places, &places, "places of tensors", err));
    THR_TRY_OUT(thr_alloc(context, image->n_tensors, sizeof(thr_tensor *), &in_order, "an order of tensors", err));
    THR_TRY_OUT(thr_alloc(context, most_header_bytes(image), 1, &header, "a header of tensors", err));
    const size_t n = find_places(image, places, in_order);
    THR_TRY_OUT(thr_out_open(context, path, &file, err));
    THR_TRY_OUT(thr_out_write(&file, header, make_header(image, places, header), err));
    for (size_t i = 0; i < n; i++)
        THR_TRY_OUT(thr_out_write(&file, in_order[i]->data, in_order[i]->n_bytes, err));
    status = thr_out_publish(&file, err);
out:
    thr_out_drop(&file);
    THR_RELEASE(context, places, in_order, header);
    return status;
}
