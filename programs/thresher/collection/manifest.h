/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manifest.h - DIR/shards.json, the list of a collection's shards (docs/many-machines.md), and its shards, opened
 * one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/program.h"

enum { PROG_SHARD_NAME = 64, PROG_SHARD_CHECKSUM = 17 };

/* A shard: rows first_row to first_row + n_items - 1 of the collection. */
typedef struct prog_shard {
    char directory[PROG_SHARD_NAME];
    uint64_t first_row, n_items, least_id, greatest_id;
    char checksum[PROG_SHARD_CHECKSUM]; /* the last word of its MANIFEST */
} prog_shard;

typedef struct prog_shards {
    const char *dir; /* borrowed */
    thr_metric metric;
    char keep[17];
    thr_dtype kept; /* of that name */
    uint64_t n_dims, bits, lead_bits, quantiser, model;
    bool has_ids, has_names;
    bool has_removed; /* items were removed, so rows are not the places of the build */
    uint64_t n_items;
    bool counts_cells; /* n_cells is there: format 2 */
    uint64_t n_cells;  /* of all shards */
    uint64_t n_shards;
    prog_shard *shards; /* in the order of rows */
} prog_shards;

/* Whether a directory has a list of shards. */
bool prog_is_collection(const char *dir);

/* Read and check DIR/shards.json. Returns PROG_DONE, or an exit code after printing an error. */
int prog_shards_read(prog_shards *shards, const char *dir);
void prog_shards_free(prog_shards *shards);

/*
 * Open shard number i, and check that it is the one that the list names. THR_ECHANGED if the collection has another one
 * now; THR_EMISMATCH for one of another collection; THR_ECORRUPT for one that is missing or was changed; what
 * thr_index_open returns; THR_ENOMEM.
 */
thr_status prog_shards_open(const prog_shards *shards, thr_context *context, uint64_t i, thr_index **index,
                            thr_error *err);

/*
 * Print an error if the index in directory dir is a shard of a collection, and return whether it is one: a collection
 * does not open after a shard was changed by itself.
 */
bool prog_refuse_shard(const char *dir);

/* info.c: describe a collection, or verify every byte of it. Returns PROG_DONE or an exit code. */
int prog_print_collection(program *run, const char *dir, bool verify);
