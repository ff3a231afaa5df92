/* SPDX-License-Identifier: Apache-2.0 */
/* create.c - thr_index_create: publishes a manifest without segments. */
#include <thresher/index_writer.h>

#include "base/error.h"
#include "index/build/directory.h"
#include "index/build/learn.h"
#include "index/impl.h"

#include <inttypes.h>

static const float LEAST_ERROR = 0x1p-126F; /* that a manifest can hold; raised to that of the first codes */

static thr_status check_options(const thr_index_create_options *o, thr_error *err) {
    if (o->n_dims < 1 || o->n_dims > THR_MAX_DIMS)
        return thr_fail(err, THR_EINVAL, "%" PRIu32 " dimensions: 1 to %d are possible", o->n_dims, THR_MAX_DIMS);
    if (!thr_keep_is_known(o->keep) || o->keep == THR_DTYPE_NONE)
        return thr_fail(err, THR_EINVAL,
                        "an index that begins empty cannot keep vectors as %s: use f32, f16 or i8 (its first items "
                        "have no codes)",
                        thr_dtype_name(o->keep));
    const thr_index_build_options coding = {.metric = o->metric, .item_bits = o->item_bits, .lead_bits = o->lead_bits};
    return thr_index_check_coding(&coding, err);
}

thr_status thr_index_create(thr_context *context, const char *dir, const thr_index_create_options *options,
                            thr_error *err) {
    thr_index_create_options o = options != NULL ? *options : (thr_index_create_options){0};
    thr_build_dir build_dir;
    if (context == NULL)
        return thr_fail(err, THR_EINVAL, "creating an index needs a context");
    const thr_index_build_options like = thr_index_complete_build(&(thr_index_build_options){
        .metric = o.metric, .item_bits = o.item_bits, .keep = o.keep, .lead_bits = o.lead_bits});
    o.item_bits = like.item_bits;
    o.keep = like.keep;
    THR_TRY(check_options(&o, err));
    thr_manifest m = {.metric = o.metric,
                      .keep = o.keep,
                      .lead = thr_index_choose_lead(&like, o.n_dims),
                      .errors = {LEAST_ERROR, LEAST_ERROR, LEAST_ERROR, LEAST_ERROR},
                      .has_names = o.names};
    m.quantiser.n_dims = o.n_dims;
    m.quantiser.item_bits = o.item_bits;
    for (int i = 0; i < THR_MAX_BITS; i++)
        m.quantiser.ranges[i] = 1;
    thr_status status = thr_index_build_dir_open(context, dir, o.replace, &build_dir, err);
    if (status == THR_OK)
        status = thr_index_build_dir_publish(&build_dir, &m, err);
    thr_index_build_dir_close(&build_dir);
    return status;
}
