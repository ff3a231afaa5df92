/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a segment file. The manifest beside it is made from the file's own header, and checksums are recomputed,
 * so that the code after both checks is reached.
 */
#include "index/segment_file.h"

#include "fuzz/section_mutator.h"

#include <stdlib.h>
#include <string.h>

/* Everything that reads contents; sums, so that nothing is optimised away. */
static size_t use(const thr_segment_view *view) {
    size_t sum = 0;
    uint32_t item;
    (void)thr_index_segment_check_contents(view, NULL);
    for (uint32_t i = 0; i < view->shape.n_items; i++) {
        const char *name = thr_index_segment_item_name(view, i);
        if (name != NULL)
            sum +=
                thr_index_segment_find_name(view, name, thr_index_name_key(name, strlen(name) + 1), &item) ? item : 1;
        if (view->ids != NULL)
            sum += thr_index_segment_find_id(view, view->ids[i], &item) ? item : 1;
    }
    for (uint32_t c = 0; c < view->cells.n; c++)
        sum += thr_cell_end(&view->cells, c) - view->cells.cells[c].first;
    for (uint32_t s = 0; s < view->file.n_sections; s++)
        for (uint64_t i = 0; i < view->file.sections[s].size; i++)
            sum += view->file.data[view->file.sections[s].offset + i];
    return sum;
}

FUZZ_MUTATOR(fuzz_mutate_sections)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    thr_segment_header header = {.n_items = 1, .n_dims = 1, .bits = 1, .lead = 1};
    uint8_t *bytes = fuzz_sealed_copy(data, size);
    if (size >= sizeof header)
        memcpy(&header, bytes, sizeof header);
    /* A manifest's numbers are in range before a segment is looked at. */
    if (header.n_items >= 1 && header.n_items <= THR_MAX_SEGMENT_ITEMS && header.n_dims >= 1 &&
        header.n_dims <= THR_MAX_DIMS && header.bits >= 1 && header.bits <= THR_MAX_BITS && header.lead >= 1 &&
        header.lead <= header.bits && (header.metric & THR_METRIC_BITS) <= THR_METRIC_L2 &&
        thr_keep_is_known((thr_dtype)header.keep))
        for (int flags = 0; flags < 8; flags++) {
            thr_segment_shape shape = {.n_items = header.n_items,
                                       .n_dims = header.n_dims,
                                       .bits = header.bits,
                                       .lead = header.lead,
                                       .metric = (thr_metric)(header.metric & THR_METRIC_BITS),
                                       .has_origins = (header.metric & THR_RELATIVE_CODES) != 0,
                                       .keep = (thr_dtype)header.keep,
                                       .has_ids = (flags & 1) != 0,
                                       .has_names = (flags & 2) != 0,
                                       .centred = (flags & 4) != 0};
            thr_manifest_segment listed = {.build = header.build,
                                           .n_items = header.n_items,
                                           .file_bytes = size,
                                           .header_checksum = header.checksum};
            thr_segment_view view;
            if (thr_index_segment_parse("segment", bytes, size, &shape, &listed, &view, NULL) == THR_OK &&
                use(&view) == SIZE_MAX)
                abort(); /* never: but the compiler cannot prove it */
        }
    free(bytes);
    return 0;
}
