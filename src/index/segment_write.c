/* SPDX-License-Identifier: Apache-2.0 */
#include "index/segment_write.h"

#include "base/error.h"

#include <string.h>

/* The disk is told to begin after so many bytes, so that it works while we encode and the last flush is short. */
enum { FLUSH_BYTES = 32 << 20 };

thr_status thr_segment_write_open(thr_context *context, const char *path, thr_segment_writer *writer, thr_error *err) {
    static const uint8_t room[sizeof(thr_segment_header)] = {0};
    memset(writer, 0, sizeof *writer);
    THR_TRY(thr_out_open(context, path, &writer->out, err));
    return thr_out_write(&writer->out, room, sizeof room, err);
}

thr_status thr_segment_write_begin(thr_segment_writer *writer, thr_section_kind kind, thr_error *err) {
    THR_TRY(thr_out_align(&writer->out, err));
    writer->sections[writer->n_sections] = (thr_section){.kind = (uint32_t)kind, .offset = writer->out.position};
    writer->sum = thr_checksum_start(&writer->room);
    return THR_OK;
}

thr_status thr_segment_write(thr_segment_writer *writer, const void *data, size_t size, thr_error *err) {
    if (size == 0)
        return THR_OK;
    thr_checksum_add(writer->sum, data, size);
    THR_TRY(thr_out_write(&writer->out, data, size, err));
    if (writer->out.position - writer->flushed >= FLUSH_BYTES) {
        thr_out_flush_hint(&writer->out);
        writer->flushed = writer->out.position;
    }
    return THR_OK;
}

void thr_segment_write_end(thr_segment_writer *writer) {
    thr_section *section = &writer->sections[writer->n_sections++];
    section->size = writer->out.position - section->offset;
    section->checksum = thr_checksum_end(writer->sum);
}

thr_status thr_segment_write_finish(thr_segment_writer *writer, const thr_segment_shape *shape,
                                    thr_manifest_segment *listed, thr_error *err) {
    size_t table_size = writer->n_sections * sizeof writer->sections[0];
    THR_TRY(thr_out_align(&writer->out, err));
    thr_segment_header header = {.version = shape->version,
                                 .lead = shape->version > 1 ? shape->lead : 0,
                                 .n_items = shape->n_items,
                                 .n_dims = shape->n_dims,
                                 .bits = shape->bits,
                                 .metric = (uint32_t)shape->metric,
                                 .keep = (uint32_t)shape->keep,
                                 .n_sections = writer->n_sections,
                                 .build = listed->build,
                                 .table_offset = writer->out.position};
    memcpy(header.magic, thr_segment_magic, sizeof header.magic);
    thr_checksum *sum = thr_checksum_start(&writer->room);
    thr_checksum_add(sum, &header, offsetof(thr_segment_header, checksum));
    thr_checksum_add(sum, writer->sections, table_size);
    header.checksum = thr_checksum_end(sum);
    THR_TRY(thr_out_write(&writer->out, writer->sections, table_size, err));
    THR_TRY(thr_out_write_at(&writer->out, 0, &header, sizeof header, err));
    listed->n_items = shape->n_items;
    listed->file_bytes = writer->out.position;
    listed->header_checksum = header.checksum;
    return thr_out_publish(&writer->out, err);
}

void thr_segment_write_drop(thr_segment_writer *writer) {
    thr_out_drop(&writer->out);
}
