/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wta.c - hashes of 16 permutations at a time.
 *
 * The j-th components of 16 permutations are gathered together and compared with the largest so far without a branch:
 * 16 K gathers for each 16 permutations, P K in all, from a vector that is in cache.
 */
#include "lsh/wta.h"

#include <inttypes.h>

#include "base/error.h"
#include "base/minmax.h"
#include "base/rng.h"

enum { LANES = 16, CODE_BITS = 32 };

uint32_t thr_lsh_wta_bits(uint32_t n_places) {
    return n_places <= 2 ? 1 : 32 - (uint32_t)__builtin_clz(n_places - 1);
}

thr_status thr_lsh_wta_complete(thr_wta_shape *shape, thr_error *err) {
    if (shape->n_places < 2 || shape->n_places > shape->n_dims || shape->n_places > THR_WTA_MAX_PLACES)
        return thr_fail(err, THR_EINVAL, "hashes of %" PRIu32 " components: choose 2 to %" PRIu32, shape->n_places,
                        THR_MIN(shape->n_dims, THR_WTA_MAX_PLACES));
    if (shape->n_bands == 0 || shape->n_bands > THR_WTA_MAX_BANDS)
        return thr_fail(err, THR_EINVAL, "%" PRIu32 " bands of hashes: choose 1 to %d", shape->n_bands,
                        THR_WTA_MAX_BANDS);
    const uint32_t bits = thr_lsh_wta_bits(shape->n_places), most = CODE_BITS / bits;
    if (shape->n_hashes > most)
        return thr_fail(err, THR_EINVAL, "%" PRIu32 " hashes of %" PRIu32 " bits in a band: its 32 bits hold %" PRIu32,
                        shape->n_hashes, bits, most);
    if (shape->n_hashes == 0)
        shape->n_hashes = most;
    if ((uint64_t)shape->n_hashes * shape->n_bands > THR_WTA_MAX_PERMUTATIONS)
        return thr_fail(err, THR_EINVAL,
                        "%" PRIu32 " bands of %" PRIu32
                        " hashes are too many permutations: choose fewer, up to %d in all",
                        shape->n_bands, shape->n_hashes, THR_WTA_MAX_PERMUTATIONS);
    const uint64_t n_components = (uint64_t)shape->n_hashes * shape->n_bands * shape->n_places;
    if (n_components > THR_WTA_MAX_COMPONENTS)
        return thr_fail(err, THR_EINVAL,
                        "%" PRIu32 " bands of %" PRIu32 " hashes of %" PRIu32 " components are %" PRIu64
                        " components: %d are possible",
                        shape->n_bands, shape->n_hashes, shape->n_places, n_components, THR_WTA_MAX_COMPONENTS);
    return THR_OK;
}

static uint32_t n_permutations(const thr_wta *wta) {
    return wta->shape.n_bands * wta->shape.n_hashes;
}

static uint32_t *place_of(const thr_wta *wta, uint32_t permutation, uint32_t j) {
    return &wta->places[((size_t)(permutation / LANES) * wta->shape.n_places + j) * LANES + permutation % LANES];
}

/*
 * The first K dimensions of each permutation by Fisher and Yates. A permutation can be drawn from any previous order of
 * the dimensions, so the array is not reset in between.
 */
static thr_status draw(thr_context *context, const thr_wta *wta, thr_error *err) {
    uint32_t *dims = NULL;
    uint64_t rng = wta->shape.seed;
    THR_TRY(thr_alloc(context, wta->shape.n_dims, sizeof *dims, &dims, "a permutation", err));
    for (uint32_t d = 0; d < wta->shape.n_dims; d++)
        dims[d] = d;
    for (uint32_t p = 0; p < n_permutations(wta); p++)
        for (uint32_t j = 0; j < wta->shape.n_places; j++) {
            const uint32_t other = j + (uint32_t)thr_rng_below(&rng, wta->shape.n_dims - j), dim = dims[other];
            dims[other] = dims[j];
            dims[j] = dim;
            *place_of(wta, p, j) = dim;
        }
    thr_release(context, dims);
    return THR_OK;
}

thr_status thr_lsh_wta_make(thr_context *context, const thr_wta_shape *shape, const uint32_t *permutations,
                            thr_wta *wta, thr_error *err) {
    *wta = (thr_wta){.shape = *shape};
    THR_TRY(thr_lsh_wta_complete(&wta->shape, err));
    wta->bits = thr_lsh_wta_bits(wta->shape.n_places);
    const size_t n_blocks = THR_CEIL_DIV((size_t)n_permutations(wta), LANES);
    size_t n;
    if (!thr_mul_size(n_blocks * LANES, wta->shape.n_places, &n))
        return thr_fail(err, THR_ENOMEM, "no memory for %" PRIu32 " permutations", n_permutations(wta));
    THR_TRY(thr_alloc_zero(context, n, sizeof *wta->places, &wta->places, "permutations", err));
    if (permutations == NULL)
        return draw(context, wta, err);
    for (uint32_t p = 0; p < n_permutations(wta); p++)
        for (uint32_t j = 0; j < wta->shape.n_places; j++) {
            const uint32_t dim = permutations[(size_t)p * wta->shape.n_places + j];
            if (dim >= wta->shape.n_dims)
                return thr_fail(err, THR_EINVAL, "permutation %" PRIu32 " has dimension %" PRIu32 " of %" PRIu32, p,
                                dim, wta->shape.n_dims);
            *place_of(wta, p, j) = dim;
        }
    return THR_OK;
}

void thr_lsh_wta_free(thr_context *context, thr_wta *wta) {
    thr_release(context, wta->places);
    wta->places = NULL;
}

void thr_lsh_wta_hash(const thr_wta *wta, const float *vector, uint32_t *codes) {
    const uint32_t n_places = wta->shape.n_places, n_hashes = wta->shape.n_hashes, n = n_permutations(wta);
    const uint32_t *places = wta->places;
    uint32_t code = 0, n_packed = 0;
    for (uint32_t first = 0; first < n; first += LANES) {
        float best[LANES], now[LANES];
        uint32_t winners[LANES] = {0};
        for (uint32_t l = 0; l < LANES; l++)
            best[l] = vector[places[l]];
        places += LANES;
        for (uint32_t j = 1; j < n_places; j++, places += LANES) {
            for (uint32_t l = 0; l < LANES; l++)
                now[l] = vector[places[l]];
            for (uint32_t l = 0; l < LANES; l++) {
                winners[l] = now[l] > best[l] ? j : winners[l];
                best[l] = THR_MAX(now[l], best[l]);
            }
        }
        for (uint32_t l = 0; l < LANES && first + l < n; l++) {
            code = code << wta->bits | winners[l];
            if (++n_packed == n_hashes) {
                *codes++ = code;
                code = n_packed = 0;
            }
        }
    }
}
