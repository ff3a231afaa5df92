/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a MANIFEST: as they are, and with the checksum recomputed so that the lines after it are read, too. */
#include "fuzz/io_fuzz.h"
#include "fuzz/text_mutator.h"
#include "index/manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An accepted manifest is printed to the same bytes. */
static void parse(const char *text, size_t size) {
    thr_manifest manifest;
    thr_error err;
    char *again = NULL;
    size_t again_size = 0;
    if (thr_index_manifest_parse(fuzz_context(), "MANIFEST", text, size, &manifest, &err) != THR_OK)
        return;
    if (thr_index_manifest_print(fuzz_context(), &manifest, &again, &again_size, &err) != THR_OK ||
        again_size != size || memcmp(again, text, size) != 0)
        abort();
    thr_release(fuzz_context(), again);
    thr_index_manifest_free(fuzz_context(), &manifest);
}

/* The target recomputes the checksum. */
FUZZ_MUTATOR(fuzz_mutate_text)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum { LINE = 26 }; /* "checksum ", 16 digits, newline */
    parse((const char *)data, size);
    size_t body = size < LINE ? size : size - LINE;
    char *recomputed = malloc(body + LINE + 1);
    if (recomputed == NULL)
        return 0;
    if (body > 0)
        memcpy(recomputed, data, body);
    (void)snprintf(recomputed + body, LINE + 1, "checksum %016llx\n",
                   (unsigned long long)thr_checksum_of(recomputed, body));
    parse(recomputed, body + LINE);
    free(recomputed);
    return 0;
}
