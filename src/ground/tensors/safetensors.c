/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors.c - the reader: parse the header in one pass, then validate it as a whole. */
#include "tensors/safetensors.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/text/json.h"
#include "tensors/dtype_names.h"
#include "tensors/heapsort.h"

enum {
    LEAD_BYTES = 8,               /* the header's length */
    HEADER_MAX_BYTES = 100000000, /* the limit of the reference implementation */
    FIRST_CAPACITY = 64,          /* initial number of tensors, or of metadata pairs */
    SHAPE_TEXT_BYTES = 21 * THR_TENSOR_AXES + 32
};

static const char metadata_name[] = "__metadata__";

typedef struct tensor_pair {
    const char *key, *value;
} tensor_pair;

struct thr_tensors {
    thr_context *context;
    char *name;
    thr_map map;         /* fd -1: the bytes are in memory */
    const uint8_t *data; /* after the header */
    uint64_t n_data, n_file;
    char *strings; /* all names, keys and values, decoded */
    size_t n_strings;
    thr_tensor *tensors;
    size_t n_tensors, tensors_capacity;
    const void **by_name; /* n_tensors, sorted by name; during parsing sorted by offset */
    tensor_pair *pairs;
    size_t n_pairs, pairs_capacity;
    const void **by_key; /* n_pairs, sorted by key */
};

/* ------------------------------------------------------------------------------------------------ the header */

static thr_status parse_string(thr_tensors *t, thr_json *json, const char **string, thr_error *err) {
    size_t length = 0;
    THR_TRY(thr_json_take_string(json, t->strings + t->n_strings, &length, err));
    *string = t->strings + t->n_strings;
    t->n_strings += length + 1;
    return THR_OK;
}

static thr_status parse_metadata(thr_tensors *t, thr_json *json, thr_error *err) {
    THR_TRY(thr_json_expect(json, '{', "the metadata is not an object of strings", err));
    if (thr_json_take(json, '}'))
        return THR_OK;
    do {
        tensor_pair pair;
        THR_TRY(parse_string(t, json, &pair.key, err));
        THR_TRY(thr_json_expect(json, ':', "a colon was expected", err));
        THR_TRY(parse_string(t, json, &pair.value, err));
        THR_TRY(thr_grow(t->context, &t->pairs, &t->pairs_capacity, t->n_pairs + 1, sizeof *t->pairs,
                         "metadata of tensors", err));
        t->pairs[t->n_pairs++] = pair;
    } while (thr_json_take(json, ','));
    return thr_json_expect(json, '}', "the metadata has no end", err);
}

/* Parse [] or [2, 3]; *n_values is the product. */
static thr_status parse_shape(thr_json *json, thr_tensor *tensor, uint64_t *n_values, thr_error *err) {
    *n_values = 1;
    THR_TRY(thr_json_expect(json, '[', "the shape is not a list", err));
    if (thr_json_take(json, ']'))
        return THR_OK;
    do {
        uint64_t n = 0;
        THR_TRY(thr_json_take_count(json, &n, err));
        if (__builtin_mul_overflow(*n_values, n, n_values))
            return thr_json_fail(json, "a tensor has too many values", err);
        if (tensor->n_axes < THR_TENSOR_AXES)
            tensor->shape[tensor->n_axes] = n;
        tensor->n_axes++;
    } while (thr_json_take(json, ','));
    return thr_json_expect(json, ']', "the shape has no end", err);
}

static thr_status parse_offsets(thr_json *json, uint64_t offsets[2], thr_error *err) {
    static const char what[] = "the offsets are not two numbers";
    THR_TRY(thr_json_expect(json, '[', what, err));
    THR_TRY(thr_json_take_count(json, &offsets[0], err));
    THR_TRY(thr_json_expect(json, ',', what, err));
    THR_TRY(thr_json_take_count(json, &offsets[1], err));
    return thr_json_expect(json, ']', what, err);
}

static thr_status parse_kind(thr_tensors *t, thr_json *json, thr_tensor_kind *kind, thr_error *err) {
    const size_t before = t->n_strings;
    const char *word = NULL;
    THR_TRY(parse_string(t, json, &word, err));
    const thr_tensor_kind *found = thr_tensors_kind_find(word);
    t->n_strings = before;
    if (found == NULL)
        return thr_json_fail(json, "the dtype is unknown", err);
    *kind = *found;
    return THR_OK;
}

/* The fields of a tensor's header entry, which may come in any order. */
typedef struct tensor_entry {
    thr_tensor_kind kind;
    uint64_t n_values;
    uint64_t offsets[2];
} tensor_entry;

static thr_status parse_value(thr_tensors *t, thr_json *json, unsigned key, thr_tensor *tensor, tensor_entry *entry,
                              thr_error *err) {
    if (key == 0)
        return parse_kind(t, json, &entry->kind, err);
    return key == 1 ? parse_shape(json, tensor, &entry->n_values, err) : parse_offsets(json, entry->offsets, err);
}

static thr_status parse_entry(thr_tensors *t, thr_json *json, thr_tensor *tensor, tensor_entry *entry, thr_error *err) {
    static const char *const keys[] = {"dtype", "shape", "data_offsets"};
    unsigned seen = 0;
    THR_TRY(thr_json_expect(json, '{', "a tensor is not an object", err));
    do {
        const size_t before = t->n_strings;
        const char *word = NULL;
        unsigned key = 0;
        THR_TRY(parse_string(t, json, &word, err));
        while (key < 3 && strcmp(word, keys[key]) != 0)
            key++;
        t->n_strings = before;
        if (key == 3 || (seen & 1u << key) != 0)
            return thr_json_fail(json, "a key of a tensor is unknown or occurs twice", err);
        seen |= 1u << key;
        THR_TRY(thr_json_expect(json, ':', "a colon was expected", err));
        THR_TRY(parse_value(t, json, key, tensor, entry, err));
    } while (thr_json_take(json, ','));
    if (seen != 7)
        return thr_json_fail(json, "a tensor lacks dtype, shape or data_offsets", err);
    return thr_json_expect(json, '}', "a tensor has no end", err);
}

/* Set the address and size of a tensor after checking its offsets against its type and the data. */
static thr_status locate_tensor(const thr_tensors *t, const tensor_entry *entry, thr_tensor *tensor, thr_error *err) {
    const unsigned long long from = entry->offsets[0], to = entry->offsets[1];
    uint64_t n_bytes = 0;
    if (!thr_tensors_kind_size(&entry->kind, entry->n_values, &n_bytes) || to < from || to - from != n_bytes)
        return thr_fail(err, THR_EFORMAT,
                        "%s: tensor '%.200s' of %llu %s is in bytes %llu to %llu of the data, which do not match "
                        "its size: write the file again",
                        t->name, tensor->name, (unsigned long long)entry->n_values, entry->kind.name, from, to);
    if (to > t->n_data)
        return thr_fail(
            err, THR_ECORRUPT,
            "%s: tensor '%.200s' ends at byte %llu of the data, which are %llu: the file is cut short, fetch "
            "it again",
            t->name, tensor->name, to, (unsigned long long)t->n_data);
    tensor->dtype = tensor->n_axes <= THR_TENSOR_AXES ? entry->kind.dtype : THR_DTYPE_NONE;
    tensor->data = t->data + from;
    tensor->n_bytes = (size_t)n_bytes;
    return THR_OK;
}

static thr_status parse_tensor(thr_tensors *t, thr_json *json, const char *name, thr_error *err) {
    tensor_entry entry = {.n_values = 0};
    thr_tensor tensor = {.name = name};
    THR_TRY(parse_entry(t, json, &tensor, &entry, err));
    THR_TRY(locate_tensor(t, &entry, &tensor, err));
    THR_TRY(
        thr_grow(t->context, &t->tensors, &t->tensors_capacity, t->n_tensors + 1, sizeof *t->tensors, "tensors", err));
    t->tensors[t->n_tensors++] = tensor;
    return THR_OK;
}

static thr_status parse_header(thr_tensors *t, thr_json *json, thr_error *err) {
    bool has_metadata = false;
    THR_TRY(thr_json_expect(json, '{', "no object", err));
    if (!thr_json_take(json, '}')) {
        do {
            const char *name = NULL;
            THR_TRY(parse_string(t, json, &name, err));
            THR_TRY(thr_json_expect(json, ':', "a colon was expected", err));
            if (strcmp(name, metadata_name) != 0) {
                THR_TRY(parse_tensor(t, json, name, err));
            } else {
                if (has_metadata)
                    return thr_json_fail(json, "the metadata occurs twice", err);
                has_metadata = true;
                THR_TRY(parse_metadata(t, json, err));
            }
        } while (thr_json_take(json, ','));
        THR_TRY(thr_json_expect(json, '}', "the header has no end", err));
    }
    return thr_json_at_end(json) ? THR_OK : thr_json_fail(json, "something follows the header's object", err);
}

/* ------------------------------------------------------------------------------------------------ open */

/* Order by offset; at equal offsets empty tensors first, so that they do not count as overlaps. */
static int compare_places(const void *a, const void *b) {
    const thr_tensor *x = a, *y = b;
    const uintptr_t from_x = (uintptr_t)x->data, from_y = (uintptr_t)y->data;
    if (from_x != from_y)
        return from_x < from_y ? -1 : 1;
    return (x->n_bytes > y->n_bytes) - (x->n_bytes < y->n_bytes);
}

static int compare_names(const void *a, const void *b) {
    return strcmp(((const thr_tensor *)a)->name, ((const thr_tensor *)b)->name);
}

static int compare_keys(const void *a, const void *b) {
    return strcmp(((const tensor_pair *)a)->key, ((const tensor_pair *)b)->key);
}

/* Check that the tensors cover the data without holes and overlaps. */
static thr_status check_places(const thr_tensors *t, thr_error *err) {
    uint64_t at = 0;
    for (size_t i = 0; i < t->n_tensors; i++) {
        const thr_tensor *tensor = t->by_name[i];
        const uint64_t from = (uint64_t)((const uint8_t *)tensor->data - t->data);
        if (from != at)
            return thr_fail(err, THR_EFORMAT,
                            "%s: tensor '%.200s' begins at byte %llu of the data, where the one before ends at %llu: "
                            "%s: write the file again",
                            t->name, tensor->name, (unsigned long long)from, (unsigned long long)at,
                            from < at ? "they overlap" : "there is a gap between them");
        at += tensor->n_bytes;
    }
    if (at != t->n_data)
        return thr_fail(err, THR_ECORRUPT,
                        "%s: the data are %llu bytes, but the tensors end at byte %llu: fetch or write the file again",
                        t->name, (unsigned long long)t->n_data, (unsigned long long)at);
    return THR_OK;
}

static thr_status check_names(thr_tensors *t, thr_error *err) {
    thr_order(t->by_name, t->n_tensors, compare_names);
    for (size_t i = 1; i < t->n_tensors; i++)
        if (compare_names(t->by_name[i - 1], t->by_name[i]) == 0)
            return thr_fail(err, THR_EFORMAT, "%s: there are two tensors '%.200s': write the file again", t->name,
                            ((const thr_tensor *)t->by_name[i])->name);
    thr_order(t->by_key, t->n_pairs, compare_keys);
    for (size_t i = 1; i < t->n_pairs; i++)
        if (compare_keys(t->by_key[i - 1], t->by_key[i]) == 0)
            return thr_fail(err, THR_EFORMAT, "%s: the metadata has '%.200s' twice: write the file again", t->name,
                            ((const tensor_pair *)t->by_key[i])->key);
    return THR_OK;
}

static thr_status check_whole(thr_tensors *t, thr_error *err) {
    THR_TRY(thr_alloc(t->context, t->n_tensors, sizeof *t->by_name, &t->by_name, "an order of tensors", err));
    THR_TRY(thr_alloc(t->context, t->n_pairs, sizeof *t->by_key, &t->by_key, "an order of metadata", err));
    for (size_t i = 0; i < t->n_tensors; i++)
        t->by_name[i] = &t->tensors[i];
    for (size_t i = 0; i < t->n_pairs; i++)
        t->by_key[i] = &t->pairs[i];
    thr_order(t->by_name, t->n_tensors, compare_places);
    THR_TRY(check_places(t, err));
    return check_names(t, err);
}

static thr_status parse(thr_tensors *t, const uint8_t *bytes, uint64_t size, thr_error *err) {
    if (size < LEAD_BYTES)
        return thr_fail(err, THR_ECORRUPT, "%s: is %llu bytes, too few for the length of a header: fetch it again",
                        t->name, (unsigned long long)size);
    uint64_t length = 0;
    for (unsigned i = 0; i < LEAD_BYTES; i++)
        length |= (uint64_t)bytes[i] << 8 * i;
    if (length < 2 || length > HEADER_MAX_BYTES || (size > LEAD_BYTES && bytes[LEAD_BYTES] != '{'))
        return thr_fail(err, THR_EFORMAT, "%s: does not start as a safetensors file does: is it really one?", t->name);
    if (length > size - LEAD_BYTES)
        return thr_fail(err, THR_ECORRUPT,
                        "%s: is %llu bytes, fewer than its header of %llu: the file is cut short, fetch it again",
                        t->name, (unsigned long long)size, (unsigned long long)length);
    const char *text = (const char *)bytes + LEAD_BYTES;
    thr_json json = {.name = t->name, .start = text, .at = text, .end = text + length, .offset = LEAD_BYTES};
    t->data = bytes + LEAD_BYTES + length;
    t->n_data = size - LEAD_BYTES - length;
    t->n_file = size;
    THR_TRY(thr_alloc(t->context, (size_t)length, 1, &t->strings, "names of tensors", err));
    THR_TRY(parse_header(t, &json, err));
    return check_whole(t, err);
}

/* mapped: open the file of this name; else data are its bytes. */
static thr_status make(thr_context *context, const char *name, const void *data, size_t size, bool mapped,
                       thr_tensors **tensors, thr_error *err) {
    thr_tensors *made;
    *tensors = NULL;
    THR_TRY(thr_alloc_zero(context, 1, sizeof *made, &made, "tensors", err));
    made->context = context;
    thr_status status = thr_path_append(context, name, "", &made->name, err);
    if (status == THR_OK && mapped)
        status = thr_map_open(name, &made->map, err);
    if (status == THR_OK)
        status = parse(made, mapped ? made->map.data : data, mapped ? made->map.size : size, err);
    THR_RETURN_MADE(status, made, tensors, thr_tensors_free);
}

thr_status thr_tensors_open(thr_context *context, const char *path, thr_tensors **tensors, thr_error *err) {
    *tensors = NULL;
    THR_TRY(thr_check_path(path, "the model to open", err));
    return make(context, path, NULL, 0, true, tensors, err);
}

thr_status thr_tensors_open_memory(thr_context *context, const char *name, const void *data, size_t size,
                                   thr_tensors **tensors, thr_error *err) {
    return make(context, name, data, size, false, tensors, err);
}

void thr_tensors_free(thr_tensors *tensors) {
    if (tensors == NULL)
        return;
    thr_map_close(&tensors->map);
    THR_RELEASE(tensors->context, tensors->name, tensors->strings, tensors->tensors, tensors->by_name, tensors->pairs,
                tensors->by_key, tensors);
}

thr_status thr_tensors_check(const thr_tensors *tensors, thr_error *err) {
    return thr_map_check(&tensors->map, tensors->name, err);
}

/* ------------------------------------------------------------------------------------------------ access */

uint64_t thr_tensors_file_bytes(const thr_tensors *tensors) {
    return tensors->n_file;
}

size_t thr_tensors_count(const thr_tensors *tensors) {
    return tensors->n_tensors;
}

const thr_tensor *thr_tensors_at(const thr_tensors *tensors, size_t i) {
    return &tensors->tensors[i];
}

const thr_tensor *thr_tensors_find(const thr_tensors *tensors, const char *name) {
    const thr_tensor wanted = {.name = name};
    return thr_order_find(tensors->by_name, tensors->n_tensors, &wanted, compare_names);
}

const char *thr_tensors_metadata(const thr_tensors *tensors, const char *key) {
    const tensor_pair wanted = {.key = key};
    const tensor_pair *pair = thr_order_find(tensors->by_key, tensors->n_pairs, &wanted, compare_keys);
    return pair != NULL ? pair->value : NULL;
}

/* Format a type and shape: "f32 [2, 3]". */
static void format_shape(const char *kind, uint32_t n_axes, const uint64_t *shape, char out[SHAPE_TEXT_BYTES]) {
    size_t n = (size_t)snprintf(out, SHAPE_TEXT_BYTES, "%s [", kind);
    for (uint32_t i = 0; i < n_axes && i < THR_TENSOR_AXES; i++)
        n +=
            (size_t)snprintf(out + n, SHAPE_TEXT_BYTES - n, "%s%llu", i != 0 ? ", " : "", (unsigned long long)shape[i]);
    (void)snprintf(out + n, SHAPE_TEXT_BYTES - n, "%s]", n_axes > THR_TENSOR_AXES ? ", ..." : "");
}

thr_status thr_tensors_expect(const thr_tensors *tensors, const char *name, thr_dtype dtype, uint32_t n_axes,
                              const uint64_t *shape, const thr_tensor **tensor, thr_error *err) {
    char is[SHAPE_TEXT_BYTES], wanted[SHAPE_TEXT_BYTES];
    const thr_tensor *found = thr_tensors_find(tensors, name);
    *tensor = NULL;
    format_shape(thr_dtype_name(dtype), n_axes, shape, wanted);
    if (found == NULL)
        return thr_fail(err, THR_EFORMAT,
                        "%s: has no tensor '%.200s', %s, among its %zu: is it a file of another kind?", tensors->name,
                        name, wanted, tensors->n_tensors);
    bool same = found->dtype == dtype && found->n_axes == n_axes;
    for (uint32_t i = 0; same && i < n_axes; i++)
        same = found->shape[i] == shape[i];
    if (!same) {
        format_shape(found->dtype != THR_DTYPE_NONE ? thr_dtype_name(found->dtype) : "of another dtype", found->n_axes,
                     found->shape, is);
        return thr_fail(err, THR_EFORMAT,
                        "%s: tensor '%.200s' is %s, where %s is wanted: is it a file of another kind?", tensors->name,
                        name, is, wanted);
    }
    *tensor = found;
    return THR_OK;
}
