/* SPDX-License-Identifier: Apache-2.0 */
#include "tower/epochs.h"

#include <inttypes.h>
#include <stdlib.h>

#include "cli/messages.h"

int prog_epochs_begin(prog_epochs *epochs, const program *run, uint32_t most) {
    if (!run->globals.json)
        return PROG_DONE;
    epochs->all = calloc((size_t)most + 1, sizeof *epochs->all);
    return epochs->all != NULL ? PROG_DONE : prog_no_memory();
}

void prog_epochs_free(prog_epochs *epochs) {
    free(epochs->all);
    epochs->all = NULL;
}

void prog_epochs_add(void *user, const thr_tower_epoch *epoch) {
    prog_epochs *epochs = user;

    prog_note("epoch %" PRIu32 ": loss %.4f, validation %.4f, %s %.4f, %s %ss/s%s", epoch->epoch, epoch->loss,
              epoch->valid_loss, epochs->quality, epoch->valid_quality, prog_short(epoch->examples_per_second).text,
              epochs->example,
              epoch->as_floats ? " (as floats)"
              : epoch->best    ? ""
                               : " (not better)");
    if (epochs->all != NULL)
        epochs->all[epochs->n++] = *epoch;
}

void prog_epochs_json(const prog_epochs *epochs, prog_json *json) {
    thr_json_put_key(json, "epochs");
    thr_json_open(json, '[');
    for (size_t i = 0; i < epochs->n; i++) {
        const thr_tower_epoch *epoch = &epochs->all[i];

        thr_json_open(json, '{');
        prog_json_key_count(json, "epoch", epoch->epoch);
        PROG_JSON_REALS(json, {"seconds", epoch->seconds}, {"examples_per_s", epoch->examples_per_second},
                        {"loss", epoch->loss}, {"valid_loss", epoch->valid_loss},
                        {"valid_quality", epoch->valid_quality});
        thr_json_close(json, '}');
    }
    thr_json_close(json, ']');
}

int prog_epochs_failed(const thr_error *err) {
    if (err->status != THR_ECANCELED || prog_stop_signal() == 0)
        return prog_failed(err);
    prog_error("%s", err->text); /* it names the checkpoint */
    return PROG_SIGNALLED + prog_stop_signal();
}
