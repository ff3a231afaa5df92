/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a MANIFEST: as they are, and with the checksum mended so that the lines behind it are read, too. */
#include "base/checksum.h"
#include "index/manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static thr_context *context;

/* What is accepted is printed to the same bytes. */
static void parse(const char *text, size_t size) {
    thr_manifest manifest;
    thr_error err;
    char *again = NULL;
    size_t again_size = 0;
    if (thr_manifest_parse(context, "MANIFEST", text, size, &manifest, &err) != THR_OK)
        return;
    if (thr_manifest_print(context, &manifest, &again, &again_size, &err) != THR_OK || again_size != size ||
        memcmp(again, text, size) != 0)
        abort();
    thr_release(context, again);
    thr_manifest_free(context, &manifest);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum { LINE = 26 }; /* "checksum ", 16 digits, newline */
    if (context == NULL && thr_context_create(NULL, &context, NULL) != THR_OK)
        abort();
    parse((const char *)data, size);
    size_t body = size < LINE ? size : size - LINE;
    char *mended = malloc(body + LINE + 1);
    if (mended == NULL)
        return 0;
    if (body > 0)
        memcpy(mended, data, body);
    (void)snprintf(mended + body, LINE + 1, "checksum %016llx\n", (unsigned long long)thr_checksum_of(mended, body));
    parse(mended, body + LINE);
    free(mended);
    return 0;
}
