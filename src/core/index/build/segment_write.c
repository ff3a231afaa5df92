/* SPDX-License-Identifier: Apache-2.0 */
/* segment_write.c - writes the section table and the header of a segment. */
#include "index/build/segment_write.h"

#include <string.h>

#include "base/error.h"

thr_status thr_index_segment_write_finish(thr_section_writer *writer, const thr_segment_shape *shape,
                                          thr_manifest_segment *listed, thr_error *err) {
    thr_segment_header header = {.lead = shape->lead,
                                 .n_cells = shape->n_cells,
                                 .n_items = shape->n_items,
                                 .n_dims = shape->n_dims,
                                 .bits = shape->bits,
                                 .metric = thr_shape_metric_field(shape),
                                 .keep = (uint32_t)shape->keep,
                                 .build = listed->build};
    memcpy(header.magic, thr_segment_kind.magic, sizeof header.magic);
    THR_TRY(thr_sections_finish(writer, &header, err));
    listed->n_items = shape->n_items;
    listed->file_bytes = writer->size;
    listed->header_checksum = header.checksum;
    return THR_OK;
}
