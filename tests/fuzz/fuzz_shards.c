/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a shards.json: as they are, and with the checksum recomputed so that what it covers is read, too. */
#include "fuzz/io_fuzz.h"
#include "fuzz/text_mutator.h"
#include "shards/impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files/checksum.h"

/* An accepted list is printed to the same bytes. */
static void parse(const char *text, size_t size) {
    thr_shards *shards = NULL;
    thr_error err;
    char *again = NULL;
    size_t again_size = 0;
    if (thr_shards_parse(fuzz_context(), "collection", text, size, &shards, &err) != THR_OK)
        return;
    if (thr_shards_list_print(shards, &again, &again_size, &err) != THR_OK || again_size != size ||
        memcmp(again, text, size) != 0)
        abort();
    thr_release(fuzz_context(), again);
    thr_shards_free(shards);
}

/* The target recomputes the checksum. */
FUZZ_MUTATOR(fuzz_mutate_text)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum { DIGITS = 16, TAIL = 4 }; /* "\n}\n after the digits */
    parse((const char *)data, size);
    const size_t body = size < DIGITS + TAIL ? size : size - DIGITS - TAIL;
    char *sealed = malloc(body + DIGITS + TAIL + 1);
    if (sealed == NULL)
        return 0;
    if (body > 0)
        memcpy(sealed, data, body);
    (void)snprintf(sealed + body, DIGITS + TAIL + 1, "%016llx\"\n}\n",
                   (unsigned long long)thr_checksum_of(sealed, body));
    parse(sealed, body + DIGITS + TAIL);
    free(sealed);
    return 0;
}
