/* SPDX-License-Identifier: Apache-2.0 */
/* encoder.c - models of texts and of vectors as encoders of an index. */
#include "index/model/encoder.h"

#include "text_tower/model.h"

#include "code/quantiser.h"

static thr_status open_model(thr_context *context, const char *path, bool whole, void **model, thr_error *err) {
    thr_tower *tower = NULL;
    const thr_status status = (whole ? thr_tower_open : thr_text_tower_map)(context, path, &tower, err);
    *model = tower;
    return status;
}

/* Whether a side's embeddings are codes: sums of planes with the weights 1, 1/2, 1/4, ... */
static bool gives_codes(const thr_tower_config *config, uint32_t bits) {
    return bits >= 1 && bits <= THR_MAX_BITS && (bits == 1 || !config->plain_weights);
}

static thr_encoder_shape get_shape(const void *model) {
    const thr_tower_info info = thr_tower_get_info(model);
    const thr_tower_config *config = &info.config;
    const bool codes = gives_codes(config, config->item_bits);
    return (thr_encoder_shape){.fingerprint = info.fingerprint,
                               .n_dims = config->n_dims,
                               .n_inputs = codes ? config->n_inputs : 0,
                               .codes = codes,
                               .item_bits = config->item_bits,
                               .query_bits =
                                   gives_codes(config, config->query_bits) ? config->query_bits : THR_MAX_BITS,
                               .metric = THR_METRIC_COSINE};
}

static thr_status encode(const void *model, thr_side side, const thr_matrix *rows, float *out, thr_error *err) {
    return thr_tower_encode_vectors(model, side, rows, out, err);
}

static void free_model(void *model) {
    thr_tower_free(model);
}

const thr_encoder_kind thr_text_tower_encoder = {
    .open = open_model, .shape = get_shape, .encode = encode, .free = free_model};

const thr_tower *thr_tower_of_index(const thr_index *index) {
    const thr_encoder *encoder = thr_index_encoder(index);
    return encoder->kind == &thr_text_tower_encoder ? encoder->model : NULL;
}
