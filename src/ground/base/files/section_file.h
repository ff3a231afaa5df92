/* SPDX-License-Identifier: Apache-2.0 */
/*
 * section_file.h - write a file of sections (sections.h) from memory, and read and validate it. Safe for any bytes.
 *
 * Reading takes three steps: thr_section_file_read checks the magic, the version and the table's bounds; the caller
 * checks its own header fields; thr_section_file_fit compares the table with the one that these fields imply. After
 * that, every section lies in the file and has the required size. The caller validates the contents.
 *
 * Another version is reported before any field is read whose place it may have changed.
 */
#pragma once

#include "base/files/file_sum.h"
#include "base/files/sections.h"

/* Properties that all files of a kind share. */
typedef struct thr_file_kind {
    uint8_t magic[8];
    uint32_t last;             /* section kinds are 1 to last */
    const char *const *names;  /* section names, last + 1 of them; the first is unused */
    thr_status foreign_status; /* status for a file without the magic, and a name for such a file */
    const char *foreign_text;
    const char *remedy; /* the end of messages about damaged files */
} thr_file_kind;

/* A section to write. Text follows the data if the rule is a least size. */
typedef struct thr_section_data {
    const void *data, *text;
    size_t n_text;
} thr_section_data;

typedef struct thr_section_contents {
    const thr_file_kind *kind;
    void *header;              /* THR_SECTIONS_HEADER bytes; magic and shared fields are filled in */
    thr_section_rule_fn *rule; /* which sections of which sizes: the rule that readers give thr_section_file_fit */
    const void *shape;
    const thr_section_data *sections; /* by section kind */
} thr_section_contents;

/* Write a file, which appears when it is complete. THR_OK; THR_ENOSPACE; THR_EIO; THR_ENOMEM. */
thr_status thr_section_file_write(thr_context *context, const char *path, const thr_section_contents *contents,
                                  thr_error *err);

/* A file in memory. */
typedef struct thr_section_file {
    const thr_file_kind *kind;
    const char *path; /* for messages */
    const uint8_t *data;
    uint64_t size, table_offset, checksum; /* checksum: of the header and the table */
    uint32_t n_sections;
    thr_section sections[THR_SECTIONS_MAX];
} thr_section_file;

/*
 * Check the magic, version, bounds, and checksum of header and table. data must be 64-byte aligned and outlive file.
 * Returns foreign_status for another magic; THR_EVERSION; THR_ECORRUPT.
 */
thr_status thr_section_file_read(const thr_file_kind *kind, const char *path, const void *data, uint64_t size,
                                 thr_section_file *file, thr_error *err);

/*
 * Check that the table contains exactly the sections that rule requires of shape, in order and with their sizes.
 * Sizes from rule are below 2^55. THR_ECORRUPT.
 */
thr_status thr_section_file_fit(const thr_section_file *file, thr_section_rule_fn *rule, const void *shape,
                                thr_error *err);

/* Return THR_ECORRUPT with the offset, what is wrong, and the kind's remedy. */
thr_status thr_section_file_damaged(const thr_section_file *file, uint64_t offset, const char *what, thr_error *err);

/* Return the section of a kind, or NULL if the file has none. */
const thr_section *thr_section_file_find(const thr_section_file *file, uint32_t kind);

/* Return the section's first byte, or NULL. */
const void *thr_section_file_at(const thr_section_file *file, uint32_t kind);

/* Return the file offset of an address in the file, for messages. */
static inline uint64_t thr_section_file_offset(const thr_section_file *file, const void *at) {
    return (uint64_t)((const uint8_t *)at - file->data);
}

/* Check that bytes begin to end are zero. THR_ECORRUPT names the first that is not. */
thr_status thr_section_file_check_zeros(const thr_section_file *file, uint64_t begin, uint64_t end, thr_error *err);

/* Check that the padding between sections is zero. */
thr_status thr_section_file_check_gaps(const thr_section_file *file, thr_error *err);

/* Return whether every section's checksum is correct and all padding is zero. Reads through memory. */
bool thr_section_file_is_whole(const thr_section_file *file);

/*
 * Check the same for a mapped file, read through its descriptor, and that its header has not changed since it was
 * opened. THR_ECORRUPT; THR_ECHANGED; THR_EIO; THR_ECANCELED.
 */
thr_status thr_section_file_verify(const thr_section_file *file, const thr_map *map, thr_file_sum *sum, thr_error *err);
