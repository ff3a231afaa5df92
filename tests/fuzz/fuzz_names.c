/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_names.c - bytes taken as a file's name: taken apart, never opened. */
#include "fuzz/io_fuzz.h"
#include "io/endings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *name = malloc(size + 1), *path = malloc(size + 1);
    fuzz_check(name != NULL && path != NULL);
    if (size != 0)
        memcpy(name, data, size);
    name[size] = '\0';
    thr_source source;
    const thr_ending *ending = NULL;
    thr_error err;
    thr_status status = thr_io_ending_find(name, path, &source, &ending, &err);
    if (status != THR_OK) {
        fuzz_check_error(&err, status);
    } else {
        fuzz_check(ending != NULL && strlen(path) <= strlen(name) && strstr(name, ending->text) != NULL);
        fuzz_check(source.part == NULL || ending->has_parts);
    }
    free(name);
    free(path);
    return 0;
}
