/* SPDX-License-Identifier: Apache-2.0 */
/* shared_quantiser.c - opens another index, compares it with the build, and copies its quantiser. */
#include "index/build/shared_quantiser.h"

#include "base/files/checksum.h"
#include "base/error.h"

#include <inttypes.h>
#include <string.h>

uint64_t thr_index_quantiser_fingerprint(const thr_index *index) {
    const thr_manifest *m = &index->manifest;
    const thr_quantiser *q = &m->quantiser;
    const uint64_t numbers[] = {q->n_dims, q->item_bits,     m->lead,    (uint64_t)m->metric,
                                q->fixed,  q->rotation_seed, m->centred, m->model.codes ? m->model.fingerprint : 0};
    thr_checksum_room room;
    thr_checksum *sum = thr_checksum_start(&room);
    thr_checksum_add(sum, numbers, sizeof numbers);
    thr_checksum_add(sum, q->ranges, sizeof q->ranges);
    if (q->centre != NULL)
        thr_checksum_add(sum, q->centre, q->n_dims * sizeof *q->centre);
    return thr_checksum_end(sum);
}

static thr_status check(const thr_index *index, const thr_quantiser_wanted *wanted, thr_error *err) {
    const thr_manifest *m = &index->manifest;
    if (m->n_segments == 0)
        return thr_fail(err, THR_EUNSUPPORTED, "%s: has no quantiser yet, for it has too few items: add some",
                        index->manifest_path);
    if (m->metric != wanted->metric)
        return thr_fail(err, THR_EMISMATCH,
                        "%s: its quantiser is for %s, and the new index for %s: use the same metric",
                        index->manifest_path, thr_metric_name(m->metric), thr_metric_name(wanted->metric));
    if (m->quantiser.n_dims != wanted->n_dims)
        return thr_fail(err, THR_EDIM, "%s: rows of %" PRIu32 " dimensions, and the quantiser of %s codes %" PRIu32,
                        wanted->rows, wanted->n_dims, index->dir, m->quantiser.n_dims);
    if (m->model.codes != wanted->codes ||
        (m->model.there && wanted->fingerprint != 0 && m->model.fingerprint != wanted->fingerprint))
        return thr_fail(err, THR_EMISMATCH, "%s: its items come from another model than those of the new index",
                        index->manifest_path);
    return THR_OK;
}

/* The centre belongs to the index, and so does the rotation: make others. */
static thr_status copy(const thr_index *index, thr_quantiser *quantiser, thr_error *err) {
    const thr_quantiser *from = &index->manifest.quantiser;
    const uint64_t seed = from->rotation_seed;
    thr_status status = THR_OK;
    *quantiser = *from;
    quantiser->centre = NULL;
    quantiser->rotation = NULL;
    if (from->centre != NULL) {
        THR_TRY_OUT(thr_alloc(index->context, from->n_dims, sizeof *from->centre, &quantiser->centre, "a centre", err));
        memcpy(quantiser->centre, from->centre, from->n_dims * sizeof *from->centre);
    }
    THR_TRY_OUT(thr_code_quantiser_rotate(index->context, quantiser, seed, err));
out:
    if (status != THR_OK)
        thr_code_quantiser_free(index->context, quantiser);
    return status;
}

static thr_status copy_kept_centre(const thr_index *index, thr_dtype keep, float **centre, thr_error *err) {
    const thr_manifest *m = &index->manifest;
    const uint32_t n_dims = thr_manifest_vector_dims(m);
    if (m->kept_centre == NULL || m->keep != keep)
        return THR_OK;
    THR_TRY(thr_alloc(index->context, n_dims, sizeof **centre, centre, "a centre", err));
    memcpy(*centre, m->kept_centre, n_dims * sizeof **centre);
    return THR_OK;
}

thr_status thr_index_quantiser_copy(thr_context *context, const thr_quantiser_wanted *wanted, thr_shared_codes *shared,
                                    thr_error *err) {
    thr_index *index = NULL;
    THR_TRY(thr_index_open(context, wanted->dir, &index, err));
    thr_status status = check(index, wanted, err);
    *shared = (thr_shared_codes){.lead = index->manifest.lead};
    if (status == THR_OK)
        status = copy_kept_centre(index, wanted->keep, &shared->kept_centre, err);
    if (status == THR_OK)
        status = copy(index, &shared->quantiser, err);
    if (status != THR_OK)
        thr_release(context, shared->kept_centre);
    thr_index_free(index);
    return status;
}
