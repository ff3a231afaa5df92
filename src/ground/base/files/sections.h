/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sections.h - the layout that all our file formats share, and its writer: a header of 64 bytes, sections that begin
 * at multiples of 64, and at the end a table of sections with their checksums (docs/format.md). section_file.h reads
 * it.
 *
 * The header begins with a magic of 8 bytes and the version; at 32 it has the number of sections, at 40 the offset of
 * the table, at 56 the checksum of the table and the header before it. Other fields depend on the kind of file.
 */
#pragma once

#include "base/files/checksum.h"
#include "base/files/file.h"
#include "base/files/out.h"
#include "base/minmax.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "files are mapped as they are: little-endian");

enum { THR_SECTION_ALIGN = 64, THR_SECTIONS_HEADER = 64, THR_SECTIONS_MAX = 24 };

/* Offsets of the header fields that all files share. */
enum {
    THR_SECTIONS_VERSION_AT = 8,
    THR_SECTIONS_COUNT_AT = 32,
    THR_SECTIONS_TABLE_AT = 40,
    THR_SECTIONS_CHECKSUM_AT = 56
};

typedef struct thr_section {
    uint32_t kind, reserved;
    uint64_t offset, size, checksum;
} thr_section;

_Static_assert(sizeof(thr_section) == 32, "no padding");

static inline uint64_t thr_align_up(uint64_t n) {
    return THR_ROUND_UP(n, THR_SECTION_ALIGN);
}

/* What a file must have of a section kind: none, one of exactly this size, or one of at least this size. */
typedef enum thr_section_rule { THR_SECTION_ABSENT, THR_SECTION_EXACT, THR_SECTION_AT_LEAST } thr_section_rule;
typedef thr_section_rule thr_section_rule_fn(const void *shape, uint32_t kind, uint64_t *size);

/* Return the checksum of the table and of the header up to its own checksum. */
uint64_t thr_sections_checksum(const void *header, const thr_section *table, uint32_t n_sections);

/*
 * A file under construction. Call open; begin, write ..., end for every section; then finish. Checksums are computed
 * while writing. The target name appears at finish; drop deletes an unfinished file.
 */
typedef struct thr_section_writer {
    thr_out out;
    uint64_t flushed; /* bytes whose writeback was started */
    uint64_t size;    /* of the finished file */
    uint32_t n_sections;
    thr_section sections[THR_SECTIONS_MAX];
    thr_checksum *sum;
    thr_checksum_room room;
} thr_section_writer;

thr_status thr_sections_open(thr_context *context, const char *path, thr_section_writer *writer, thr_error *err);
thr_status thr_sections_begin(thr_section_writer *writer, uint32_t kind, thr_error *err);
thr_status thr_sections_write(thr_section_writer *writer, const void *data, size_t size, thr_error *err);
void thr_sections_end(thr_section_writer *writer);

/* Write a section in one piece. */
thr_status thr_sections_put(thr_section_writer *writer, uint32_t kind, const void *data, size_t size, thr_error *err);

/* Write the table and the header, with the shared fields filled in, and publish. */
thr_status thr_sections_finish(thr_section_writer *writer, void *header, thr_error *err);

/* May be called twice, and after finish. */
void thr_sections_drop(thr_section_writer *writer);
