/* SPDX-License-Identifier: Apache-2.0 */
/* segment_write.h - finishes a segment file under construction: section table, header, publication. */
#pragma once

#include "index/segment_file.h"

/*
 * Write the table and the header, and publish the file. All sections of the shape must be written, in the order of
 * their kinds. *listed has the name and n_items; receives file_bytes and header_checksum. THR_ENOSPACE; THR_EIO;
 * THR_ENOMEM.
 */
thr_status thr_index_segment_write_finish(thr_section_writer *writer, const thr_segment_shape *shape,
                                          thr_manifest_segment *listed, thr_error *err);
