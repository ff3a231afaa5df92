/* SPDX-License-Identifier: Apache-2.0 */
#include "base/files/sections.h"

#include <string.h>

#include "base/error.h"

/* Start writeback after this many bytes: the disk works while the caller encodes, and the last flush is short. */
enum { FLUSH_BYTES = 32 << 20 };

uint64_t thr_sections_checksum(const void *header, const thr_section *table, uint32_t n_sections) {
    thr_checksum_room room;
    thr_checksum *sum = thr_checksum_start(&room);
    thr_checksum_add(sum, header, THR_SECTIONS_CHECKSUM_AT);
    thr_checksum_add(sum, table, n_sections * sizeof *table);
    return thr_checksum_end(sum);
}

thr_status thr_sections_open(thr_context *context, const char *path, thr_section_writer *writer, thr_error *err) {
    static const uint8_t room[THR_SECTIONS_HEADER] = {0};
    memset(writer, 0, sizeof *writer);
    THR_TRY(thr_out_open(context, path, &writer->out, err));
    return thr_out_write(&writer->out, room, sizeof room, err);
}

thr_status thr_sections_begin(thr_section_writer *writer, uint32_t kind, thr_error *err) {
    THR_TRY(thr_out_align(&writer->out, err));
    writer->sections[writer->n_sections] = (thr_section){.kind = kind, .offset = writer->out.position};
    writer->sum = thr_checksum_start(&writer->room);
    return THR_OK;
}

thr_status thr_sections_write(thr_section_writer *writer, const void *data, size_t size, thr_error *err) {
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

void thr_sections_end(thr_section_writer *writer) {
    thr_section *section = &writer->sections[writer->n_sections++];
    section->size = writer->out.position - section->offset;
    section->checksum = thr_checksum_end(writer->sum);
}

thr_status thr_sections_put(thr_section_writer *writer, uint32_t kind, const void *data, size_t size, thr_error *err) {
    THR_TRY(thr_sections_begin(writer, kind, err));
    THR_TRY(thr_sections_write(writer, data, size, err));
    thr_sections_end(writer);
    return THR_OK;
}

thr_status thr_sections_finish(thr_section_writer *writer, void *header, thr_error *err) {
    const uint32_t version = THR_FORMAT_VERSION;
    uint8_t *bytes = header;
    THR_TRY(thr_out_align(&writer->out, err));
    memcpy(bytes + THR_SECTIONS_VERSION_AT, &version, sizeof version);
    memcpy(bytes + THR_SECTIONS_COUNT_AT, &writer->n_sections, sizeof writer->n_sections);
    memcpy(bytes + THR_SECTIONS_TABLE_AT, &writer->out.position, sizeof writer->out.position);
    const uint64_t checksum = thr_sections_checksum(header, writer->sections, writer->n_sections);
    memcpy(bytes + THR_SECTIONS_CHECKSUM_AT, &checksum, sizeof checksum);
    THR_TRY(thr_out_write(&writer->out, writer->sections, writer->n_sections * sizeof writer->sections[0], err));
    THR_TRY(thr_out_write_at(&writer->out, 0, header, THR_SECTIONS_HEADER, err));
    writer->size = writer->out.position;
    return thr_out_publish(&writer->out, err);
}

void thr_sections_drop(thr_section_writer *writer) {
    thr_out_drop(&writer->out);
}
