/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manifest.h - DIR/MANIFEST: the properties of an index and the files that it consists of (docs/format.md).
 *
 * Invariant: thr_index_manifest_print prints the same bytes that thr_index_manifest_parse has accepted.
 */
#pragma once

#include "base/memory.h"
#include "scan/scan.h"

#include "code/quantiser.h"
#include <thresher/index.h>

enum {
    THR_MAX_SEGMENTS = 1000000,   /* six digits */
    THR_SEGMENT_NAME_SIZE = 20,   /* "000000-5f3a91c2.seg" and a zero byte */
    THR_INDEX_FILE_NAME_SIZE = 27 /* the longest name of a thr_index_file, and a zero byte */
};

/* Files of an index besides segments. */
typedef enum thr_index_file {
    THR_INDEX_FILE_MODEL,   /* "model-5f3a91c2.safetensors" */
    THR_INDEX_FILE_HITS,    /* "features-5f3a91c2.hits": posting lists */
    THR_INDEX_FILE_ADDED,   /* "added-5f3a91c2.hits": those of rows after them */
    THR_INDEX_FILE_LIVE,    /* "live-5f3a91c2.bits": a bitmap of live rows */
    THR_INDEX_FILE_JOURNAL, /* "journal-5f3a91c2.log" */
    THR_INDEX_N_FILES
} thr_index_file;

/* At most 2^31 items, so that row numbers within a segment leave a bit unused. */
#define THR_MAX_SEGMENT_ITEMS ((uint32_t)1 << 31)

typedef struct thr_manifest_segment {
    uint32_t number, build; /* both are part of the file's name */
    uint32_t n_items;       /* including removed ones */
    bool has_ids;           /* the file has a section of ids; else item i has the id first_id + i */
    uint64_t first_id;
    uint64_t file_bytes;
    uint64_t header_checksum;
} thr_manifest_segment;

/* The model of an index. */
typedef struct thr_manifest_model {
    bool there;
    bool codes;     /* the segments hold the model's codes: the quantiser is fixed */
    bool dual;      /* it is a dual model */
    uint32_t build; /* part of the file's name */
    uint64_t file_bytes, checksum;
    uint64_t fingerprint; /* thr_tower_info, thr_dual_info */
    /*
     * A model of vectors whose codes the segments hold: the dimensions of the vectors that it encodes. Items and
     * queries are such vectors, the metric is theirs, and so are the kept ones. 0: items are the model's embeddings.
     */
    uint32_t n_inputs;
} thr_manifest_model;

/* The posting lists of the items' features. */
typedef struct thr_manifest_hits {
    bool there;
    uint32_t build; /* part of the file's name */
    uint64_t file_bytes, header_checksum;
} thr_manifest_hits;

/* The bitmap of rows with an item that was not removed. */
typedef struct thr_manifest_live {
    bool there;     /* else every row has one */
    uint32_t build; /* part of the file's name */
    uint64_t checksum;
} thr_manifest_live;

/* The file of changes since the newest segment (journal/journal.h). */
typedef struct thr_manifest_journal {
    bool there;
    uint32_t build; /* part of the file's name */
} thr_manifest_journal;

/* The recalls and numbers of results for which an index is calibrated. */
enum { THR_TUNED_RECALLS = 4, THR_TUNED_KS = 4 };
extern const uint32_t thr_tuned_recalls[THR_TUNED_RECALLS]; /* in thousandths, ascending */
extern const uint32_t thr_tuned_ks[THR_TUNED_KS];           /* ascending */

/* The result of a calibration. */
typedef struct thr_tuning {
    uint64_t n_queries; /* used for it; 0: not calibrated */
    struct {
        /* Survivors and candidates that reach the recall, for every k. */
        uint64_t survivors[THR_TUNED_KS], candidates[THR_TUNED_KS];
    } at[THR_TUNED_RECALLS];
} thr_tuning;

typedef struct thr_manifest {
    thr_metric metric;
    thr_dtype keep;
    thr_quantiser quantiser; /* dims, bits, ranges, the rotation's seed; centre and rotation are not owned */
    uint32_t lead;           /* planes in the segments' blocks */
    /* Of float16 and int8, not owned: what kept vectors are relative to, as the segments hold it; else NULL. */
    float *kept_centre;
    thr_code_errors errors; /* nested codes only */
    thr_tuning tuning;
    float cells_short;    /* thr_cells_choice.short_by when the cells were made; 0: no cells, or nowhere less */
    uint32_t kept_recall; /* in thousandths, when the index was built (calibration/kept_recall.h); 0: not measured */
    thr_manifest_model model;
    thr_manifest_hits hits, added; /* added: lists of the rows that follow those of `hits` */
    /* In the segments, as read; of an open index with a journal, in both. */
    uint64_t n_items;                 /* not removed */
    uint64_t n_rows;                  /* a segment's first row is a multiple of 64 */
    uint64_t n_zero;                  /* zero vectors that were ever given, removed ones included; l2: 0 */
    bool has_origins;                 /* codes are relative to the centroids of their cells (scan/origins.h) */
    bool centred, has_ids, has_names; /* centred: the segments hold the centre; has_ids: ids are not row numbers */
    uint64_t n_commits;               /* after the build */
    uint64_t next_id;                 /* the id of the next item that is added without one */
    float code_error;                 /* when the quantiser was learned (calibration/code_error.h); 0: not measured */
    thr_manifest_live live;
    thr_manifest_journal journal;
    uint32_t n_segments;            /* 0: the quantiser is not learned yet; its numbers have no meaning */
    thr_manifest_segment *segments; /* owned */
} thr_manifest;

/* Whether ids differ from row numbers, by the segments: what the line 'ids' has. */
bool thr_index_manifest_ids_differ(const thr_manifest *m);

/* Dimensions of items and queries as users see them, and of kept vectors. */
static inline uint32_t thr_manifest_vector_dims(const thr_manifest *m) {
    return m->model.n_inputs != 0 ? m->model.n_inputs : m->quantiser.n_dims;
}

/*
 * Whether an index can have a journal. Frames hold no features, so it has none. The items of a journal are scored by
 * their vectors and coded from them later, so it keeps vectors, and its codes are not a model's.
 */
static inline bool thr_manifest_takes_journal(const thr_manifest *m) {
    return m->keep != THR_DTYPE_NONE && !m->hits.there && !m->model.codes;
}

/*
 * The type of the vectors in memory: as long as there is no segment, those of the journal are float32, because there is
 * no centre yet to which float16 and int8 are relative.
 */
static inline thr_dtype thr_index_kept_type(const thr_manifest *m) {
    return m->n_segments == 0 && m->keep != THR_DTYPE_NONE ? THR_DTYPE_F32 : m->keep;
}

/* Whether an index can keep vectors of this type. */
static inline bool thr_keep_is_known(thr_dtype keep) {
    return keep == THR_DTYPE_NONE || keep == THR_DTYPE_F32 || keep == THR_DTYPE_F16 || keep == THR_DTYPE_I8;
}

/*
 * Print and parse "000000-5f3a91c2.seg". Parsing returns false for a name of another form; *end is the text after the
 * name.
 */
void thr_index_segment_name_print(uint32_t number, uint32_t build, char name[THR_SEGMENT_NAME_SIZE]);
bool thr_index_segment_name_parse(const char *name, uint32_t *number, uint32_t *build, const char **end);

/* The same for a file of which a commit has one at most. */
void thr_index_file_name_print(thr_index_file file, uint32_t build, char name[THR_INDEX_FILE_NAME_SIZE]);
bool thr_index_file_name_parse(const char *name, thr_index_file *file, uint32_t *build, const char **end);

/*
 * Parse a manifest of untrusted bytes; name is for messages. Free with thr_index_manifest_free.
 *
 * THR_EFORMAT if it is no manifest at all; THR_EVERSION; THR_ECORRUPT with the line number; THR_ENOMEM.
 */
thr_status thr_index_manifest_parse(thr_context *context, const char *name, const void *data, size_t size,
                                    thr_manifest *manifest, thr_error *err);

/*
 * Print a manifest to *text, which the caller releases to the context. What is printed can be parsed: THR_ERANGE or
 * THR_EINVAL for a manifest that no reader accepts; THR_ENOMEM.
 */
thr_status thr_index_manifest_print(thr_context *context, const thr_manifest *manifest, char **text, size_t *size,
                                    thr_error *err);

/*
 * Map and parse the file at path. *checksum, unless NULL, receives the checksum of all its bytes, and *file_bytes their
 * number.
 */
thr_status thr_index_manifest_read(thr_context *context, const char *path, thr_manifest *manifest, uint64_t *checksum,
                                   uint64_t *file_bytes, thr_error *err);

void thr_index_manifest_free(thr_context *context, thr_manifest *manifest);
