/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segment_write.h - a segment file under construction.
 *
 * open, then for every section of the shape in the order of their kinds begin, write ..., end; then finish. Checksums
 * are taken while writing. Nothing stands under the file's name before finish; drop removes what there is.
 */
#ifndef THR_INDEX_SEGMENT_WRITE_H
#define THR_INDEX_SEGMENT_WRITE_H

#include "base/checksum.h"
#include "base/file.h"
#include "index/segment_file.h"

typedef struct thr_segment_writer {
    thr_out out;
    uint64_t flushed; /* bytes that the disk was told to start on */
    uint32_t n_sections;
    thr_section sections[THR_SECTION_LAST];
    thr_checksum *sum;
    thr_checksum_room room;
} thr_segment_writer;

thr_status thr_segment_write_open(thr_context *context, const char *path, thr_segment_writer *writer, thr_error *err);
thr_status thr_segment_write_begin(thr_segment_writer *writer, thr_section_kind kind, thr_error *err);
thr_status thr_segment_write(thr_segment_writer *writer, const void *data, size_t size, thr_error *err);
void thr_segment_write_end(thr_segment_writer *writer);

/* Write the table and the header, and publish. listed has its name and n_items; gets file_bytes and header_checksum. */
thr_status thr_segment_write_finish(thr_segment_writer *writer, const thr_segment_shape *shape,
                                    thr_manifest_segment *listed, thr_error *err);

/* May be called twice, and after finish. */
void thr_segment_write_drop(thr_segment_writer *writer);

#endif
