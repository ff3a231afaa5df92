/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sections.h - what files of ours have in common: a header of 64 bytes, sections that each begin at a multiple of 64,
 * and a table of them, with a checksum each, that ends the file (docs/format.md). Writing them; section_file.h reads.
 *
 * The header begins with a magic of 8 bytes and the version; at 32 it has the number of sections, at 40 the offset of
 * the table, at 56 the checksum of all before it and the table. Its other numbers depend on the kind of file.
 */
#ifndef THR_BASE_SECTIONS_H
#define THR_BASE_SECTIONS_H

#include "base/checksum.h"
#include "base/file.h"
#include "base/out.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "files are mapped as they are: little-endian");

enum { THR_SECTION_ALIGN = 64, THR_SECTIONS_HEADER = 64, THR_SECTIONS_MAX = 24 };

/* Where numbers that all files share stand in the header. */
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
    return (n + THR_SECTION_ALIGN - 1) / THR_SECTION_ALIGN * THR_SECTION_ALIGN;
}

/* What a section of a kind is to be: not there, of just this size, or of this size at least. */
typedef enum thr_section_rule { THR_SECTION_ABSENT, THR_SECTION_EXACT, THR_SECTION_AT_LEAST } thr_section_rule;
typedef thr_section_rule thr_section_rule_fn(const void *shape, uint32_t kind, uint64_t *size);

/* Of the header up to its own checksum and the table. */
uint64_t thr_sections_checksum(const void *header, const thr_section *table, uint32_t n_sections);

/*
 * A file under construction: open, then for every section begin, write ..., end; then finish. Checksums are taken while
 * writing. Nothing stands under the file's name before finish; drop removes what there is.
 */
typedef struct thr_section_writer {
    thr_out out;
    uint64_t flushed; /* bytes that the disk was told to start on */
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

/* A section of one piece. */
thr_status thr_sections_put(thr_section_writer *writer, uint32_t kind, const void *data, size_t size, thr_error *err);

/* Write the table and the header, whose fields that all files share are filled in, and publish. */
thr_status thr_sections_finish(thr_section_writer *writer, void *header, thr_error *err);

/* May be called twice, and after finish. */
void thr_sections_drop(thr_section_writer *writer);

#endif
