/* SPDX-License-Identifier: Apache-2.0 */
#include "base/files/section_file.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"

/* ------------------------------------------------------------------------------------------------ write */

static thr_status write_all(thr_section_writer *writer, const thr_section_contents *c, thr_error *err) {
    memcpy(c->header, c->kind->magic, sizeof c->kind->magic);
    for (uint32_t kind = 1; kind <= c->kind->last; kind++) {
        const thr_section_data *section = &c->sections[kind];
        uint64_t size;
        if (c->rule(c->shape, kind, &size) == THR_SECTION_ABSENT)
            continue;
        THR_TRY(thr_sections_begin(writer, kind, err));
        THR_TRY(thr_sections_write(writer, section->data, (size_t)size, err));
        THR_TRY(thr_sections_write(writer, section->text, section->n_text, err));
        thr_sections_end(writer);
    }
    return thr_sections_finish(writer, c->header, err);
}

thr_status thr_section_file_write(thr_context *context, const char *path, const thr_section_contents *contents,
                                  thr_error *err) {
    thr_section_writer writer;
    thr_status status = thr_sections_open(context, path, &writer, err);
    if (status == THR_OK)
        status = write_all(&writer, contents, err);
    thr_sections_drop(&writer);
    return status;
}

/* ------------------------------------------------------------------------------------------------ read */

thr_status thr_section_file_damaged(const thr_section_file *file, uint64_t offset, const char *what, thr_error *err) {
    return thr_fail(err, THR_ECORRUPT, "%s: offset %" PRIu64 ": %s: %s", file->path, offset, what, file->kind->remedy);
}

/* The table ends the file. The comparison adds nothing, because a sum might overflow. */
static thr_status check_bounds(const thr_section_file *file, thr_error *err) {
    const uint64_t size = file->n_sections * (uint64_t)sizeof(thr_section);
    if (file->n_sections <= THR_SECTIONS_MAX && file->table_offset % THR_SECTION_ALIGN == 0 &&
        file->table_offset >= THR_SECTIONS_HEADER && file->table_offset <= file->size &&
        file->size - file->table_offset == size)
        return THR_OK;
    return thr_fail(err, THR_ECORRUPT,
                    "%s: offset %d: a section table of %" PRIu32 " entries at %" PRIu64
                    " does not end a file of %" PRIu64 " bytes: %s",
                    file->path, THR_SECTIONS_TABLE_AT, file->n_sections, file->table_offset, file->size,
                    file->kind->remedy);
}

thr_status thr_section_file_read(const thr_file_kind *kind, const char *path, const void *data, uint64_t size,
                                 thr_section_file *file, thr_error *err) {
    uint32_t version;
    *file = (thr_section_file){.kind = kind, .path = path, .data = data, .size = size};
    if (size < THR_SECTIONS_VERSION_AT || memcmp(data, kind->magic, sizeof kind->magic) != 0)
        return thr_fail(err, kind->foreign_status, "%s: %s", path, kind->foreign_text);
    if (size >= THR_SECTIONS_VERSION_AT + sizeof version) {
        memcpy(&version, file->data + THR_SECTIONS_VERSION_AT, sizeof version);
        THR_TRY(thr_check_format_version(path, version, err));
    }
    if (size < THR_SECTIONS_HEADER)
        return thr_fail(err, THR_ECORRUPT, "%s: %" PRIu64 " bytes are less than a header: %s", path, size,
                        kind->remedy);
    memcpy(&file->n_sections, file->data + THR_SECTIONS_COUNT_AT, sizeof file->n_sections);
    memcpy(&file->table_offset, file->data + THR_SECTIONS_TABLE_AT, sizeof file->table_offset);
    memcpy(&file->checksum, file->data + THR_SECTIONS_CHECKSUM_AT, sizeof file->checksum);
    THR_TRY(check_bounds(file, err));
    memcpy(file->sections, file->data + file->table_offset, file->n_sections * sizeof file->sections[0]);
    if (thr_sections_checksum(data, file->sections, file->n_sections) != file->checksum)
        return thr_section_file_damaged(file, THR_SECTIONS_CHECKSUM_AT,
                                        "the checksum of the header and the section table is wrong", err);
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ expected sections */

static bool fits(const thr_section_file *file, thr_section_rule_fn *rule, const void *shape) {
    uint64_t position = THR_SECTIONS_HEADER;
    uint32_t n = 0;
    for (uint32_t kind = 1; kind <= file->kind->last; kind++) {
        uint64_t size;
        const thr_section_rule wanted = rule(shape, kind, &size);
        if (wanted == THR_SECTION_ABSENT)
            continue;
        const thr_section *s = &file->sections[n];
        const uint64_t offset = thr_align_up(position);
        /* position and size are below 2^55, so their sum is exact */
        if (n++ >= file->n_sections || s->kind != kind || s->reserved != 0 || s->offset != offset ||
            !(wanted == THR_SECTION_AT_LEAST ? s->size >= size && s->size <= file->table_offset : s->size == size) ||
            offset + s->size > file->table_offset)
            return false;
        position = offset + s->size;
    }
    return n == file->n_sections && thr_align_up(position) == file->table_offset;
}

thr_status thr_section_file_fit(const thr_section_file *file, thr_section_rule_fn *rule, const void *shape,
                                thr_error *err) {
    if (fits(file, rule, shape))
        return THR_OK;
    return thr_section_file_damaged(file, file->table_offset, "the section table is wrong", err);
}

const thr_section *thr_section_file_find(const thr_section_file *file, uint32_t kind) {
    for (uint32_t i = 0; i < file->n_sections; i++)
        if (file->sections[i].kind == kind)
            return &file->sections[i];
    return NULL;
}

const void *thr_section_file_at(const thr_section_file *file, uint32_t kind) {
    const thr_section *section = thr_section_file_find(file, kind);
    return section == NULL ? NULL : file->data + section->offset;
}

/* ------------------------------------------------------------------------------------------------ verify */

thr_status thr_section_file_check_zeros(const thr_section_file *file, uint64_t begin, uint64_t end, thr_error *err) {
    for (uint64_t i = begin; i < end; i++)
        if (file->data[i] != 0)
            return thr_fail(err, THR_ECORRUPT,
                            "%s: offset %" PRIu64 ": a byte of the padding at %" PRIu64 " to %" PRIu64
                            " is not zero: %s",
                            file->path, i, begin, end, file->kind->remedy);
    return THR_OK;
}

thr_status thr_section_file_check_gaps(const thr_section_file *file, thr_error *err) {
    uint64_t end = THR_SECTIONS_HEADER;
    for (uint32_t i = 0; i < file->n_sections; i++) {
        THR_TRY(thr_section_file_check_zeros(file, end, file->sections[i].offset, err));
        end = file->sections[i].offset + file->sections[i].size;
    }
    return thr_section_file_check_zeros(file, end, file->table_offset, err);
}

bool thr_section_file_is_whole(const thr_section_file *file) {
    for (uint32_t i = 0; i < file->n_sections; i++) {
        const thr_section *section = &file->sections[i];
        if (thr_checksum_of(file->data + section->offset, (size_t)section->size) != section->checksum)
            return false;
    }
    return thr_section_file_check_gaps(file, NULL) == THR_OK;
}

thr_status thr_section_file_verify(const thr_section_file *file, const thr_map *map, thr_file_sum *sum,
                                   thr_error *err) {
    thr_section_file now;
    THR_TRY(thr_map_check(map, file->path, err));
    /* Detects a change that kept the file's size and modification time. */
    THR_TRY(thr_section_file_read(file->kind, file->path, file->data, file->size, &now, err));
    if (now.checksum != file->checksum)
        return thr_fail(err, THR_ECHANGED, "%s: its header changed since it was opened: open it again", file->path);
    for (uint32_t i = 0; i < file->n_sections; i++) {
        const thr_section *section = &file->sections[i];
        uint64_t checksum = 0;
        THR_TRY(thr_file_sum_bytes(sum, file->path, map, section->offset, section->size, &checksum, err));
        if (checksum != section->checksum)
            return thr_fail(err, THR_ECORRUPT,
                            "%s: section %s, offset %" PRIu64 " to %" PRIu64 ": the checksum is wrong: %s", file->path,
                            file->kind->names[section->kind], section->offset, section->offset + section->size,
                            file->kind->remedy);
    }
    return thr_section_file_check_gaps(file, err);
}
