/* SPDX-License-Identifier: Apache-2.0 */
/* output.c - the public interface to output files. */
#include <thresher/output.h>

#include "base/error.h"
#include "base/files/out.h"
#include "base/files/target.h"

struct thr_output {
    thr_out out;
};

thr_status thr_output_create(thr_context *context, const char *path, thr_output **output, thr_error *err) {
    thr_output *made = NULL;
    *output = NULL;
    if (context == NULL)
        return thr_fail(err, THR_EINVAL, "an output needs a context");
    THR_TRY(thr_alloc(context, 1, sizeof *made, &made, "an output", err));
    const thr_status status = thr_out_open(context, path, &made->out, err);
    if (status != THR_OK) {
        thr_release(context, made);
        return status;
    }
    *output = made;
    return THR_OK;
}

int thr_output_descriptor(const thr_output *output) {
    return output->out.fd;
}

thr_status thr_output_publish(thr_output *output, thr_error *err) {
    if (output->out.fd < 0)
        return thr_fail(err, THR_EINVAL, "an output was published before: create another");
    return thr_out_publish(&output->out, err);
}

void thr_output_free(thr_output *output) {
    if (output == NULL)
        return;
    thr_out_drop(&output->out);
    thr_release(output->out.context, output);
}

bool thr_output_is_stream(const char *path) {
    return path != NULL && thr_target_is_stream(path);
}

thr_status thr_output_open_stream(const char *path, int *descriptor, thr_error *err) {
    *descriptor = -1;
    return thr_target_open_stream(path, descriptor, err);
}

thr_status thr_output_check_input(const char *path, const char *input, thr_error *err) {
    return path == NULL ? THR_OK : thr_out_check_input(path, input, err);
}
