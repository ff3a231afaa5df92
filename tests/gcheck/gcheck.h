/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gcheck.h - what the checks and the measurements of searches on GPUs, and of the operations of training, share.
 *
 * Every search that is compared runs twice, by the same call: with the codes on the devices and without. Rows and
 * scores must be the same in every bit. Nothing is timed whose answers are not compared as well.
 *
 * Figures are in units of seconds, bytes, and so many a second. With --json each is a line of its own on standard
 * output, {"figure": "NAME", "value": NUMBER} or {"figure": "NAME", "text": "WORDS"}, which tables.awk reads.
 */
#pragma once

#include "test.h"

#include "device/choice.h"
#include "scan/scan.h"
#include "store/store.h"

#include <thresher/hits.h>
#include <thresher/index.h>

/* How much is done: what the emulator of tests/simt takes seconds for, or a GPU under a sanitizer; or a GPU. */
typedef enum gcheck_effort { GCHECK_SMALL, GCHECK_QUICK, GCHECK_FULL } gcheck_effort;

typedef struct gcheck {
    thr_context *context; /* all CPUs */
    thr_devices all, one; /* all devices; the first alone, whose operations can be timed */
    thr_devices *opened_all, *opened_one;
    thr_device_info info; /* of the first */
    thr_scan *scan;
    gcheck_effort effort;
    bool json;
    uint64_t seed, rounds; /* 0: as many as the effort takes */
    double seconds;        /* 0: no end */
    uint64_t n_compared;   /* queries */
    uint64_t n_failed;
} gcheck;

/* ---------------------------------------------------------------------------------------------- talking */

void gcheck_figure(const gcheck *g, double value, const char *name, ...) __attribute__((format(printf, 3, 4)));
void gcheck_words(const gcheck *g, const char *words, const char *name, ...) __attribute__((format(printf, 3, 4)));

/* Progress, to standard error. */
void gcheck_say(const char *sentence, ...) __attribute__((format(printf, 1, 2)));

/* Ends the program where a status is not THR_OK; what names the attempt. */
void gcheck_must(thr_status status, const thr_error *err, const char *what);

/* ------------------------------------------------------------------------------------- memory and devices */

/* Zeros in pages as large as the system gives, or the end of the program. */
void *gcheck_map(size_t size);
void gcheck_unmap(void *memory, size_t size);

/* Bytes of the host's memory that may still be used, by the system and its limits for this process. */
uint64_t gcheck_host_free(void);

/* Bytes that are free on the first device. */
uint64_t gcheck_device_free(const gcheck *g);

/* Copy a corpus's codes to devices, and give them back. */
void gcheck_put(gcheck *g, const thr_devices *devices, thr_scan_corpus *corpus);
void gcheck_take(thr_scan_corpus *corpus);

/* --------------------------------------------------------------------------------------------- comparing */

/*
 * Search a corpus that is on devices, there and on the CPU. A difference is printed with what, the words of the case,
 * and counted in n_failed; false.
 */
bool gcheck_compare(gcheck *g, const thr_scan_corpus *corpus, const thr_matrix *queries, uint64_t k,
                    const thr_search_options *options, const char *what);

/* gcheck --test: random corpora of all kinds, searched in all ways. */
void gcheck_test(gcheck *g);

/* ------------------------------------------------------------------------------- corpora of random codes */

typedef struct gcheck_shape {
    uint64_t n_items;
    uint32_t n_dims, bits;
    uint32_t lead; /* planes in the blocks; 0: all, the codes are flat */
    thr_metric metric;
    bool centre;
    uint32_t n_patterns;    /* different codes there are; 0: every item has its own */
    uint64_t segment_items; /* a multiple of 64; 0: 2^28 */
} gcheck_shape;

/* Codes without vectors, made of random bits rather than of floats: these would take many times their memory. */
typedef struct gcheck_planes {
    gcheck_shape shape;
    thr_scan_corpus scan;
    thr_quantiser quantiser;
    thr_segment *segments;
    struct {
        void *memory;
        size_t size;
    } arrays[6];
} gcheck_planes;

void gcheck_planes_make(gcheck *g, const gcheck_shape *shape, uint64_t seed, gcheck_planes *planes);
void gcheck_planes_free(gcheck *g, gcheck_planes *planes);

/* Leave only the first items, a multiple of 64; the corpus must not be on devices. */
void gcheck_planes_cut(gcheck_planes *planes, uint64_t n_items);

/* ---------------------------------------------------------------------------------- corpora of vectors */

/*
 * Clustered vectors: 1,000 normal centres; a row is one of them, drawn at random, plus normal noise of the centres' own
 * variance. Queries are made in the same way.
 */
typedef struct gcheck_vectors {
    uint64_t n_items, n_queries;
    uint32_t n_dims;
    float *items, *queries;
} gcheck_vectors;

void gcheck_vectors_make(gcheck *g, uint64_t n_items, uint64_t n_queries, uint32_t n_dims, gcheck_vectors *vectors);
void gcheck_vectors_free(gcheck_vectors *vectors);

/* Their codes as an index has them, for cosine; they keep the vectors, which must live as long. */
typedef struct gcheck_coded {
    thr_scan_corpus scan;
    thr_quantiser quantiser;
    thr_segment segment;
    uint64_t code_bytes; /* that the screen reads, on disk */
    struct {
        void *memory;
        size_t size;
    } arrays[7];
} gcheck_coded;

/* lead 0: flat. */
void gcheck_vectors_encode(gcheck *g, const gcheck_vectors *vectors, uint32_t bits, uint32_t lead, gcheck_coded *coded);
void gcheck_coded_free(gcheck *g, gcheck_coded *coded);

/* ------------------------------------------------------------------------------------- indexes in files */

enum { GCHECK_PLACE_SIZE = 512 };

/* Make a folder in TMPDIR, or in /tmp, or end the program. test_remove_directory removes it. */
void gcheck_make_place(char dir[GCHECK_PLACE_SIZE]);

/* Build an index of the items in a folder, which options.replace allows to exist. */
void gcheck_build_index(gcheck *g, const char *dir, const gcheck_vectors *vectors,
                        const thr_index_build_options *options);

/* Open an index in a context of its own, which uses this device. Both are to be freed. */
void gcheck_open_index(const char *dir, const char *device, thr_context **context, thr_index **index);

/* --------------------------------------------------------------------------------------------- measuring */

/* One kind of search over one corpus. Figures are called NAME.what. */
typedef struct gcheck_case {
    const char *name;
    const thr_scan_corpus *corpus;
    thr_matrix queries; /* taken in turn */
    uint64_t k;
    thr_search_options options;
} gcheck_case;

/* The median time of searches of so many queries at once, after warming up. */
double gcheck_time(gcheck *g, const gcheck_case *c, uint64_t batch);

/* The median of n > 0 numbers, which it sorts; the larger one of the two in the middle. */
double gcheck_median(double *numbers, size_t n);

/* NAME.one_s; NAME.batch.N_per_s for N of 1, 4, 16, 64 and 256, where there are so many queries. */
void gcheck_time_batches(gcheck *g, const gcheck_case *c);

/*
 * NAME.xor.N_per_s and NAME.tile.N_per_s: by XOR and popcount alone, and by products alone, for N of 1, 2, 4, 8 and 16.
 */
void gcheck_time_ways(gcheck *g, const gcheck_case *c);

/*
 * NAME.stage.STAGE_s: one query's time in each operation, each waited for, so that together they take longer than a
 * search does; and NAME.stage.batch_STAGE_s the same of 64 queries.
 */
void gcheck_time_stages(gcheck *g, const gcheck_case *c);

/* So many of the queries against the CPU; NAME.compared and NAME.wrong. */
void gcheck_check(gcheck *g, const gcheck_case *c, uint64_t n);

/*
 * Copy to the first device and measure that: NAME.items, NAME.code_bytes (as on disk) and NAME.upload_s.
 */
void gcheck_put_measured(gcheck *g, const char *name, thr_scan_corpus *corpus, uint64_t code_bytes);

/*
 * After the searches: NAME.row_bytes (records and vectors) and NAME.workspace_bytes, as the store reports them, and
 * NAME.device_bytes, as the device does.
 */
void gcheck_measure_memory(gcheck *g, const char *name, const thr_scan_corpus *corpus, uint64_t free_before);

/* --------------------------------------------------------------------------------- measurements */

/* Figures scale.*: 64 dimensions, 2-bit items, 3-bit queries, as many as fit. */
void gcheck_bench_scale(gcheck *g);

/* Figures recall.*: 200 dimensions, real codes of clustered vectors, refined. */
void gcheck_bench_recall(gcheck *g);

/*
 * Every operation of training beside the CPU's layers: learn.texts (of the batch), learn.compared and learn.wrong; and,
 * where they are timed, learn.OPERATION_s of each. Where there is no cuBLAS, the text learn.product records it.
 */
void gcheck_learn(gcheck *g, bool timed);

/* Items of so many features each, of n_kinds; feature i is about as frequent as 1 / (i + 1). */
typedef struct gcheck_items {
    uint64_t *offsets;
    uint32_t *features;
    thr_item_features view;
} gcheck_items;

void gcheck_items_make(uint64_t n_items, uint32_t n_kinds, uint32_t an_item, uint64_t *rng, gcheck_items *items);
void gcheck_items_free(gcheck_items *items);
uint32_t gcheck_draw_feature(uint32_t n_kinds, uint64_t *rng);

/*
 * Searches of posting lists, each way, beside the CPU's: hits.items, hits.list_bytes, hits.workspace_bytes,
 * hits.compared and hits.wrong; and, where they are timed, of queries of F = 20, 200 and 1,000 features
 * hits.F.postings (that the first has), hits.F.WAY_s of one query by WAY lists, tiles, auto and cpu, and
 * hits.F.batch_per_s of 64 at once.
 */
void gcheck_features(gcheck *g, bool timed);

/*
 * Vectors of 64 dimensions as codes of 2 bits, and 200 features per query, in one pass, beside the CPU's: both.items,
 * both.compared and both.wrong; and, where they are timed, both.one_s of one query's best 100, both.codes_s of vectors
 * alone, both.cpu_s, and both.batch_per_s of 16 queries at once.
 */
void gcheck_fused(gcheck *g, bool timed);

/*
 * Searches that skip cells beside the CPU's, for the best 10 with recall .95: cells.items, cells.dims, cells.cells,
 * cells.compared and cells.wrong; and, where they are timed, cells.screened_share of the rows, on average; and of CASE
 * 1, 64 and 256 queries at once, and filter, 64 at once of which one row in four passes: cells.CASE.gpu_per_s and
 * .cpu_per_s, queries; the GPU's .rounds, and the time of a search in each operation, which is waited for: .screen_s,
 * .select_s, .copies_s and .host_s.
 */
void gcheck_cells(gcheck *g, bool timed);

/*
 * Queries of a head by every screen, full, frequent, wta and planes, beside the CPU's: heads.words, heads.head_bytes,
 * heads.workspace_bytes, heads.compared and heads.wrong; and, where they are timed, heads.SCREEN.one_s of one state,
 * .beam_s of twelve that share their .candidates, .cpu_s of these on the CPU, and of these the time in each operation,
 * which is waited for: .hash_s, .look_up_s, .list_s, .product_s, .normalise_s, .best_s and .copies_s.
 */
void gcheck_heads(gcheck *g, bool timed);

/*
 * RankSVM solved by trees and by sweeps beside the CPU's, and of sparse rows: rank.rows, rank.features, rank.compared
 * and rank.wrong; and, where they are timed, rank.WAY_s of a whole solution by WAY cpu, trees, sweeps, sparse and
 * sparse_cpu, rank.WAY_product_s of a product with the Hessian, and rank.copied_s and rank.sparse_copied_s of the copy
 * to the device.
 */
void gcheck_rank(gcheck *g, bool timed);

/*
 * Translations and a training of dual towers beside the CPU's: translate.texts, translate.words, dual.requests,
 * whole.compared and whole.wrong; and, where they are timed, of the screens full and wta translate.SCREEN.gpu_s and
 * .cpu_s of all texts, of the former .encoder_s, .layers_s (with attention), .head_s, .expansion_s and .reorder_s; and
 * dual.gpu_per_s and dual.cpu_per_s, requests.
 */
void gcheck_whole(gcheck *g, bool timed);

/* ------------------------------------------------------------------------------------------------ timing */

typedef struct gcheck_stages {
    double sample, threshold, screen, select, rescore, refine, count, copies; /* seconds */
    double hash, hits, list, product, sums, best;                             /* of heads */
} gcheck_stages;

/* Operations so far, of timed devices: those that not every search takes. */
typedef struct gcheck_calls {
    uint64_t sample, screen, listed, batch, count, rescore, refine;
} gcheck_calls;

gcheck_calls gcheck_count_calls(void);

/* Make a copy of devices whose operations can be timed. */
thr_devices gcheck_timed_devices(const thr_devices *devices);

/* The same for the devices of a context that uses GPUs, before objects are copied to them. */
void gcheck_time_context(thr_context *context);

/* From start to stop every operation is waited for. */
void gcheck_stages_start(void);
gcheck_stages gcheck_stages_stop(void);
