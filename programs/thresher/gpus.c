/* SPDX-License-Identifier: Apache-2.0 */
#include "gpus.h"

#include <string.h>

#include "talk.h"

/*
 * With --device auto the library tries GPUs where they are worth it and goes on without them where that fails; then a
 * reason stands behind "cpu". Two kinds of reason are told apart, since most machines simply have no GPU, and nobody
 * wants to read that in every search; but a GPU that is there and was not used is news.
 *
 * The first kind is what thr_device_count answers as well, word for word. It is asked now and not before the search,
 * because counting wakes a driver up, which takes longer than most searches; now it has been done. And the sentences
 * are compared, not only the statuses, because a GPU that failed in a search can make counting fail too.
 */
void prog_tell_device(const program *run) {
    static const char given_up[] = "cpu; ";
    const char *device = thr_context_device(run->context);
    const char *why = device + sizeof given_up - 1;
    thr_error none = {.status = THR_OK};
    uint32_t n;

    if (strncmp(device, given_up, sizeof given_up - 1) != 0)
        prog_detail("codes are screened by %s", strcmp(device, "cpu") == 0 ? "the CPU" : device);
    else if (thr_device_count(&n, &none) != THR_OK && strcmp(none.text, why) == 0)
        prog_detail("codes are screened by the CPU; %s", why);
    else
        prog_note("the CPU did the work instead of a GPU: %s", why);
}
