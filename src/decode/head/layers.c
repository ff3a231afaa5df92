/* SPDX-License-Identifier: Apache-2.0 */
#include "head/layers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text/ends_with.h"
#include "base/error.h"

/* A name that ends in one of these after a point, or is one: parts of models may have prefixes. */
static const char *const OUTPUTS[] = {
    "lm_head.weight",
    "embed_out.weight",
    "output_projection.weight",
    "lm_head.decoder.weight",
    "cls.predictions.decoder.weight",
};
/* With a prefix these names may be of any layer, so they count without one only. */
static const char *const WHOLE_OUTPUTS[] = {"output.weight", "proj.weight", "proj_out.weight", "head.weight"};
static const char *const EMBEDDINGS[] = {
    "embed_tokens.weight",    "wte.weight",      "shared.weight",     "embeddings.weight",
    "word_embeddings.weight", "embed_in.weight", "token_embd.weight", "tok_embeddings.weight",
};
static const char WEIGHT[] = ".weight", BIAS[] = ".bias", DECODER[] = ".decoder", LOGITS_BIAS[] = "final_logits_bias";

enum { LISTED = 8, NAME_SHOWN = 80, LIST_BYTES = LISTED * (NAME_SHOWN + 48) };

/* ------------------------------------------------------------------------------------------------ names */

/* Whether a name is the wanted one, or ends in a point and the wanted one. */
static bool is_named(const char *name, const char *wanted) {
    const size_t length = strlen(name), n = strlen(wanted);
    return thr_ends_with(name, wanted) && (length == n || name[length - n - 1] == '.');
}

static bool is_any(const char *name, const char *const *names, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (is_named(name, names[i]))
            return true;
    return false;
}

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static bool is_output(const thr_head_layer *layer) {
    for (size_t i = 0; i < COUNT_OF(WHOLE_OUTPUTS); i++)
        if (strcmp(layer->name, WHOLE_OUTPUTS[i]) == 0)
            return true;
    return is_any(layer->name, OUTPUTS, COUNT_OF(OUTPUTS));
}

/* An encoder may have another vocabulary, so its embeddings are not taken. */
static bool is_of_encoder(const thr_head_layer *layer) {
    return strncmp(layer->name, "encoder.", 8) == 0 || strstr(layer->name, ".encoder.") != NULL;
}

static bool is_embedding(const thr_head_layer *layer) {
    return is_any(layer->name, EMBEDDINGS, COUNT_OF(EMBEDDINGS));
}

static bool is_decoder_embedding(const thr_head_layer *layer) {
    return is_embedding(layer) && !is_of_encoder(layer);
}

/* A part of an output layer in a form that is not read, such as "lm_head.qweight". */
static bool is_packed_output(const thr_head_layer *layer) {
    const char *last = strrchr(layer->name, '.');
    return last != NULL && strcmp(last, BIAS) != 0 && strcmp(last, WEIGHT) != 0 && last - layer->name >= 7 &&
           strncmp(last - 7, "lm_head", 7) == 0;
}

/* ------------------------------------------------------------------------------------------------ lists */

typedef bool layer_test(const thr_head_layers *layers, const thr_head_layer *layer);

/* List the layers that pass: "lm_head.weight [500, 32], ...". Returns their number; *first is the first one's. */
static size_t list_layers(const thr_head_layers *layers, layer_test *passes, char text[LIST_BYTES], size_t *first) {
    size_t n = 0, at = 0;
    text[0] = '\0';
    for (size_t i = 0; i < layers->n; i++) {
        const thr_head_layer *layer = &layers->items[i];
        if (!passes(layers, layer))
            continue;
        if (n++ == 0)
            *first = i;
        if (n > LISTED)
            continue;
        at += (size_t)snprintf(text + at, LIST_BYTES - at, "%s%.*s", n > 1 ? ", " : "", NAME_SHOWN, layer->name);
        if (layer->n_axes == 2)
            at += (size_t)snprintf(text + at, LIST_BYTES - at, " [%" PRIu64 ", %" PRIu64 "]", layer->n_rows,
                                   layer->n_dims);
    }
    return n;
}

static bool passes_output(const thr_head_layers *layers, const thr_head_layer *layer) {
    (void)layers;
    return is_output(layer);
}

static bool passes_embedding(const thr_head_layers *layers, const thr_head_layer *layer) {
    (void)layers;
    return is_decoder_embedding(layer);
}

static bool passes_any(const thr_head_layers *layers, const thr_head_layer *layer) {
    (void)layers;
    return layer->n_axes == 2;
}

/* Whether a matrix has as many rows, or columns, as the embeddings: it may be the output layer, or its transpose. */
static bool is_of_vocabulary(const thr_head_layers *layers, const thr_head_layer *layer) {
    for (size_t i = 0; layer->n_axes == 2 && i < layers->n; i++) {
        const thr_head_layer *e = &layers->items[i];
        if (is_decoder_embedding(e) && e->n_axes == 2 &&
            (layer->n_rows == e->n_rows || (layer->n_dims == e->n_rows && layer->n_rows == e->n_dims)))
            return true;
    }
    return false;
}

static bool passes_stranger(const thr_head_layers *layers, const thr_head_layer *layer) {
    return is_packed_output(layer) || (!is_embedding(layer) && is_of_vocabulary(layers, layer));
}

static bool passes_candidate(const thr_head_layers *layers, const thr_head_layer *layer) {
    return is_decoder_embedding(layer) || passes_stranger(layers, layer);
}

/* ------------------------------------------------------------------------------------------------ choose */

static thr_status fail_several(const thr_head_layers *layers, const char *list, thr_error *err) {
    return thr_fail(err, THR_EINVAL, "%s: the output layer may be any of %s: name it as tensor (--tensor)",
                    layers->path, list);
}

static thr_status fail_none(const thr_head_layers *layers, const char *name, thr_error *err) {
    char list[LIST_BYTES];
    size_t first = 0;
    const size_t n = list_layers(layers, passes_any, list, &first);
    return thr_fail(err, THR_ENOTFOUND, "%s: has no tensor %.200s: of %zu it has, the first matrices are %s%s%s",
                    layers->path, name == NULL ? "with the usual name of an output layer" : name, layers->n,
                    n > 0 ? list : "none", layers->missing != NULL ? "; there is no " : "",
                    layers->missing != NULL ? layers->missing : "");
}

static thr_status check_direction(const thr_head_layers *layers, size_t chosen, thr_error *err) {
    const thr_head_layer *layer = &layers->items[chosen];
    for (size_t i = 0; i < layers->n; i++) {
        const thr_head_layer *e = &layers->items[i];
        if (is_decoder_embedding(e) && e->n_axes == 2 && layer->n_axes == 2 && e->n_rows != e->n_dims &&
            layer->n_rows == e->n_dims && layer->n_dims == e->n_rows)
            return thr_fail(err, THR_EFORMAT,
                            "%s: the tensor %.200s [%" PRIu64 ", %" PRIu64 "] is transposed, as the embeddings %.200s "
                            "[%" PRIu64 ", %" PRIu64 "] show: write it with a row per word, such as in a .npy file",
                            layers->path, layer->name, layer->n_rows, layer->n_dims, e->name, e->n_rows, e->n_dims);
    }
    return THR_OK;
}

static thr_status choose_named(const thr_head_layers *layers, const char *name, size_t *chosen, thr_error *err) {
    for (*chosen = 0; *chosen < layers->n; ++*chosen)
        if (strcmp(layers->items[*chosen].name, name) == 0)
            return THR_OK;
    return fail_none(layers, name, err);
}

thr_status thr_head_layers_choose(const thr_head_layers *layers, const char *name, size_t *chosen, bool *tied,
                                  thr_error *err) {
    char list[LIST_BYTES];
    size_t unused = 0;
    const size_t n_outputs = list_layers(layers, passes_output, list, chosen);
    *tied = false;
    if (name != NULL) {
        THR_TRY(choose_named(layers, name, chosen, err));
        *tied = n_outputs == 0 && is_decoder_embedding(&layers->items[*chosen]);
        return check_direction(layers, *chosen, err);
    }
    if (n_outputs > 0)
        return n_outputs == 1 ? check_direction(layers, *chosen, err) : fail_several(layers, list, err);
    const size_t n_candidates = list_layers(layers, passes_candidate, list, &unused);
    if (n_candidates == 0)
        return fail_none(layers, NULL, err);
    if (n_candidates > 1 || list_layers(layers, passes_embedding, list, chosen) == 0)
        return fail_several(layers, list, err);
    *tied = true;
    return THR_OK;
}

/* A file may be a part of a model, so embeddings count only if the index or config.json shows that they are tied. */
thr_status thr_head_layers_check_tied(const thr_head_layers *layers, size_t embeddings, thr_tying tying,
                                      thr_error *err) {
    const char *name = layers->items[embeddings].name;
    if (tying == THR_TYING_TIED || (tying == THR_TYING_WHOLE && layers->missing == NULL))
        return THR_OK;
    if (tying == THR_TYING_UNTIED)
        return thr_fail(err, THR_ENOTFOUND,
                        "%s: has embeddings, %.200s, but no output layer, and config.json states that they are not "
                        "tied: name the file that has it, or the tensor (--tensor)",
                        layers->path, name);
    if (layers->missing != NULL)
        return thr_fail(err, THR_ENOTFOUND,
                        "%s: has embeddings, %.200s, but no output layer, which %s may have: fetch that file, or name "
                        "the tensor (--tensor)",
                        layers->path, name, layers->missing);
    return thr_fail(err, THR_ENOTFOUND,
                    "%s: has embeddings, %.200s, but no output layer, and no index or config.json beside it states "
                    "that they are tied: name the file that has it, or the tensor (--tensor)",
                    layers->path, name);
}

/* ------------------------------------------------------------------------------------------------ bias */

/* Whether bias is "X.bias" for "X.weight", or for "X.decoder.weight", as masked models have it. */
static bool is_bias_of(const char *bias, const char *weight) {
    if (!thr_ends_with(weight, WEIGHT) || !thr_ends_with(bias, BIAS))
        return false;
    size_t length = strlen(weight) - strlen(WEIGHT);
    const size_t n = strlen(bias) - strlen(BIAS);
    if (n == length && strncmp(bias, weight, n) == 0)
        return true;
    length -= length > strlen(DECODER) && strncmp(weight + length - strlen(DECODER), DECODER, strlen(DECODER)) == 0
                  ? strlen(DECODER)
                  : 0;
    return n == length && strncmp(bias, weight, n) == 0;
}

/* Whether it is the bias of a usual output layer, whose weights are the embeddings. */
static bool is_bias_of_output(const char *bias) {
    static const char *const names[] = {"lm_head.bias", "embed_out.bias", "output_projection.bias",
                                        "cls.predictions.bias"};
    return is_any(bias, names, COUNT_OF(names)) || strcmp(bias, "output.bias") == 0 || strcmp(bias, "proj.bias") == 0;
}

thr_status thr_head_layers_bias(const thr_head_layers *layers, size_t layer, bool tied, ptrdiff_t *bias,
                                thr_error *err) {
    const char *weight = layers->items[layer].name;
    ptrdiff_t own = THR_HEAD_NO_LAYER, of_logits = THR_HEAD_NO_LAYER;
    for (size_t i = 0; i < layers->n; i++) {
        const char *name = layers->items[i].name;
        if (is_named(name, LOGITS_BIAS))
            of_logits = (ptrdiff_t)i;
        else if (own == THR_HEAD_NO_LAYER && (is_bias_of(name, weight) || (tied && is_bias_of_output(name))))
            own = (ptrdiff_t)i;
    }
    if (own != THR_HEAD_NO_LAYER && of_logits != THR_HEAD_NO_LAYER)
        return thr_fail(err, THR_EINVAL, "%s: has two biases, %.200s and %.200s: add them, and name the sum (--bias)",
                        layers->path, layers->items[own].name, layers->items[of_logits].name);
    *bias = own != THR_HEAD_NO_LAYER ? own : of_logits;
    return THR_OK;
}

void thr_head_note_taken(const thr_head_build_options *options, const char *path, const char *tensor, const char *bias,
                         bool tied) {
    if (options->taken == NULL)
        return;
    *options->taken = (thr_head_taken){.tied = tied};
    (void)snprintf(options->taken->path, sizeof options->taken->path, "%s", path);
    (void)snprintf(options->taken->tensor, sizeof options->taken->tensor, "%s", tensor);
    (void)snprintf(options->taken->bias, sizeof options->taken->bias, "%s", bias != NULL ? bias : "");
}
