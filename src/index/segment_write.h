/* SPDX-License-Identifier: Apache-2.0 */
/* segment_write.h - the end of a segment file under construction: its header. */
#ifndef THR_INDEX_SEGMENT_WRITE_H
#define THR_INDEX_SEGMENT_WRITE_H

#include "index/segment_file.h"

/*
 * Write the table and the header, and publish: all sections of the shape are written, in the order of their kinds.
 * listed has its name and n_items; gets file_bytes and header_checksum.
 */
thr_status thr_index_segment_write_finish(thr_section_writer *writer, const thr_segment_shape *shape,
                                          thr_manifest_segment *listed, thr_error *err);

#endif
