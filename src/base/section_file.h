/* SPDX-License-Identifier: Apache-2.0 */
/*
 * section_file.h - reading a file of sections (sections.h), whatever its bytes are.
 *
 * Three steps: thr_section_file_read checks the magic, the version and the table's bounds; the caller checks its own
 * header fields; thr_section_file_fit compares the table with the one these fields imply. After that every section lies
 * in the file and has the required size. The caller checks the contents.
 *
 * A newer version is reported before any field is read that it may have moved. Unknown sections and flags under a right
 * checksum are reported as a newer version, too (docs/format.md, Compatibility).
 */
#ifndef THR_BASE_SECTION_FILE_H
#define THR_BASE_SECTION_FILE_H

#include "base/file_sum.h"
#include "base/sections.h"

/* What all files of a kind have in common. */
typedef struct thr_file_kind {
    uint8_t magic[8];
    uint32_t oldest, newest;   /* versions that are read */
    uint32_t last;             /* kinds of sections are 1 to last */
    const char *const *names;  /* of sections, last + 1; the first is not used */
    thr_status foreign_status; /* of a file without the magic, and what such a file is called */
    const char *foreign_text;
    const char *remedy; /* the end of messages about a damaged file */
} thr_file_kind;

/* A file as it lies in memory. */
typedef struct thr_section_file {
    const thr_file_kind *kind;
    const char *path; /* for messages */
    const uint8_t *data;
    uint64_t size, table_offset, checksum; /* checksum: of the header and the table */
    uint32_t version, n_sections;
    thr_section sections[THR_SECTIONS_MAX];
} thr_section_file;

/*
 * Magic, version, bounds and checksum of header and table. data is 64-byte aligned and as long-lived as file.
 * The kind's status for another magic; THR_EVERSION; THR_ECORRUPT.
 */
thr_status thr_section_file_read(const thr_file_kind *kind, const char *path, const void *data, uint64_t size,
                                 thr_section_file *file, thr_error *err);

/* THR_EVERSION unless unknown, the bits of a header field that this version does not know, is 0. what: the field. */
thr_status thr_section_file_check_known(const thr_section_file *file, const char *what, uint64_t unknown,
                                        thr_error *err);

/*
 * Whether the table has every section that the shape wants, behind the one before it, with its size, and no other one.
 * Sizes that rule gives are below 2^55. THR_EVERSION for a kind of section beyond the last; THR_ECORRUPT.
 */
thr_status thr_section_file_fit(const thr_section_file *file, thr_section_rule_fn *rule, const void *shape,
                                thr_error *err);

/* THR_ECORRUPT: what is wrong at an offset, and the kind's remedy. */
thr_status thr_section_file_damaged(const thr_section_file *file, uint64_t offset, const char *what, thr_error *err);

/* A section; NULL where there is none of the kind. */
const thr_section *thr_section_file_find(const thr_section_file *file, uint32_t kind);

/* Its first byte, or NULL. */
const void *thr_section_file_at(const thr_section_file *file, uint32_t kind);

/* Where an address in the file stands in it, for messages. */
static inline uint64_t thr_section_file_offset(const thr_section_file *file, const void *at) {
    return (uint64_t)((const uint8_t *)at - file->data);
}

/* The bytes from begin to end are zero: THR_ECORRUPT names the first that is not. */
thr_status thr_section_file_check_zeros(const thr_section_file *file, uint64_t begin, uint64_t end, thr_error *err);

/* The bytes between sections are zero. */
thr_status thr_section_file_check_gaps(const thr_section_file *file, thr_error *err);

/* Whether all sections have their checksums and the gaps are zero, read through memory. */
bool thr_section_file_is_whole(const thr_section_file *file);

/*
 * The same of a mapped file, read through its descriptor; and that the file is what it was when it was read.
 * THR_ECORRUPT; THR_ECHANGED; THR_EIO; THR_ECANCELED.
 */
thr_status thr_section_file_verify(const thr_section_file *file, const thr_map *map, thr_file_sum *sum, thr_error *err);

#endif
