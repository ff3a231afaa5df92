/* SPDX-License-Identifier: Apache-2.0 */
/* consumer.c - a user's program: is the installed library there, and the one its headers describe? */
#include <thresher/thresher.h>

#include <stdio.h>
#include <string.h>

int main(void) {
    if (strcmp(thr_version(), THR_VERSION_STRING) != 0) {
        (void)fprintf(stderr, "header %s, library %s\n", THR_VERSION_STRING, thr_version());
        return 1;
    }
    if (strcmp(thr_status_name(THR_ECORRUPT), "ECORRUPT") != 0)
        return 1;
    return printf("thresher %s, with: %s\n", thr_version(), thr_build_features()) < 0;
}
