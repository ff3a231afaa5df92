/* SPDX-License-Identifier: Apache-2.0 */
/* collection.c - `index info` and `index verify` of a collection, and which directories are collections or shards. */
#define _DEFAULT_SOURCE /* realpath */

#include "index/collection.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/json.h"
#include "index/summary.h"
#include "output/plain.h"
#include "info/verified.h"
#include "cli/messages.h"

/* Sums over all shards. */
typedef struct totals {
    uint64_t code_bytes, vector_bytes, file_bytes, least, most, n_zero;
    uint64_t n_cells, cell_items; /* cells, and the items in them */
    uint32_t smallest, largest;   /* items of a cell */
    bool skips;                   /* searches of some shard skip cells */
    double n_read, cost;          /* items that a search reads, and its time, 1 for each item without cells */
    float short_by;               /* of the shard that finds least */
} totals;

static void add_cells(totals *all, thr_index_cells cells) {
    if (cells.n_cells == 0)
        return;
    all->smallest = all->n_cells == 0 || cells.smallest < all->smallest ? cells.smallest : all->smallest;
    all->largest = cells.largest > all->largest ? cells.largest : all->largest;
    all->n_cells += cells.n_cells;
    all->cell_items += cells.n_items;
}

/* Measure what searches read. A shard whose searches skip no cells is read whole. */
static thr_status measure(thr_index *index, totals *all, thr_error *err) {
    const double n = (double)thr_index_get_info(index).n_items;
    thr_cells_choice cells;
    const thr_status status = thr_index_measure_cells(index, &cells, err);

    if (status != THR_OK)
        return status;
    const bool skips = cells.speed > 0;
    all->skips = all->skips || skips;
    all->short_by = cells.short_by > all->short_by ? cells.short_by : all->short_by;
    all->n_read += skips ? n * (double)cells.read : n;
    all->cost += skips ? n / (double)cells.speed : n;
    return THR_OK;
}

/* What searches of the whole collection read. */
static thr_cells_choice measured(const thr_shards_info *s, const totals *all) {
    const double n = (double)s->n_items;

    return !all->skips ? (thr_cells_choice){.n_cells = 0}
                       : (thr_cells_choice){.read = (float)(all->n_read / n),
                                            .speed = (float)(n / all->cost),
                                            .short_by = all->short_by};
}

/* Add up all shards; measuring: what searches read, too. */
static thr_status add_up(thr_shards *shards, bool measuring, totals *all, thr_error *err) {
    *all = (totals){.least = UINT64_MAX};
    for (uint64_t i = 0; i < thr_shards_get_info(shards).n_shards; i++) {
        thr_index *index = NULL;
        thr_status status = thr_shards_index(shards, i, &index, err);

        if (status == THR_OK && measuring)
            status = measure(index, all, err);
        if (status != THR_OK)
            return status;
        const thr_index_info info = thr_index_get_info(index);
        all->n_zero += info.n_zero;
        all->code_bytes += info.code_bytes;
        all->vector_bytes += info.vector_bytes;
        all->file_bytes += info.file_bytes;
        all->least = info.n_items < all->least ? info.n_items : all->least;
        all->most = info.n_items > all->most ? info.n_items : all->most;
        add_cells(all, thr_index_get_cells(index));
    }
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ info */

static void print_json(const char *dir, const thr_shards_info *s, const totals *all) {
    const thr_cells_choice cells = measured(s, all);
    prog_json json = prog_json_object();

    prog_json_key_text(&json, "shards", dir);
    PROG_JSON_COUNTS(&json, {"n_shards", s->n_shards}, {"n_items", s->n_items}, {"least_items", all->least},
                     {"most_items", all->most}, {"n_dims", s->n_dims}, {"n_zero", all->n_zero});
    prog_json_key_text(&json, "metric", thr_metric_name(s->metric));
    prog_json_key_count(&json, "item_bits", s->item_bits);
    prog_json_key_count(&json, "lead_bits", s->lead_bits);
    prog_json_key_text(&json, "keep", thr_dtype_name(s->keep));
    prog_json_key_bool(&json, "has_ids", s->has_ids);
    prog_json_key_bool(&json, "has_names", s->has_names);
    prog_json_key_count(&json, "n_cells", all->n_cells);
    if (all->n_cells > 0)
        PROG_JSON_REALS(&json, {"cells_read", (double)cells.read}, {"cells_speed", (double)cells.speed},
                        {"cells_short_by", (double)cells.short_by});
    PROG_JSON_COUNTS(&json, {"code_bytes", all->code_bytes}, {"vector_bytes", all->vector_bytes},
                     {"file_bytes", all->file_bytes});
    prog_json_key_real(&json, "bytes_per_item", (double)all->file_bytes / (double)s->n_items);
    prog_json_end_object(&json);
}

static void print_text(const char *dir, const thr_shards_info *s, const totals *all) {
    const thr_cells_choice cells = measured(s, all);
    const char *ids = s->has_names ? "row numbers, with names" : s->has_ids ? "given ids" : "row numbers";

    prog_line("shards          %s", dir);
    (void)printf("number          %" PRIu64 ", of %s to %s\n", s->n_shards, prog_exact(all->least).text,
                 prog_counted(all->most, "item").text);
    (void)printf("items           %s\n", prog_exact(s->n_items).text);
    if (all->n_zero > 0)
        (void)printf("zero vectors    %s of all that were given: they score 0 for every query\n",
                     prog_exact(all->n_zero).text);
    (void)printf("dimensions      %" PRIu32 "\n", s->n_dims);
    (void)printf("metric          %s\n", thr_metric_name(s->metric));
    (void)printf("codes           %" PRIu32 " bits per dimension, %" PRIu32 " of them screened first, %s\n",
                 s->item_bits, s->lead_bits, prog_bytes((double)all->code_bytes).text);
    (void)printf("kept vectors    %s, %s\n", thr_dtype_name(s->keep), prog_bytes((double)all->vector_bytes).text);
    (void)printf("ids             %s\n", ids);
    if (all->n_cells == 0)
        (void)printf("cells           none: searches read all items\n");
    else
        (void)printf("cells           %" PRIu64 " in all shards, of %" PRIu32 " to %" PRIu32
                     " items, %.0f on average\n",
                     all->n_cells, all->smallest, all->largest, (double)all->cell_items / (double)all->n_cells);
    if (all->n_cells > 0 && all->cell_items < s->n_items)
        (void)printf("without a cell  %s: all searches read them\n",
                     prog_counted(s->n_items - all->cell_items, "item").text);
    if (all->n_cells > 0)
        prog_print_cells(&cells);
    (void)printf("files           %s, %.1f bytes per item\n", prog_bytes((double)all->file_bytes).text,
                 (double)all->file_bytes / (double)s->n_items);
}

int prog_print_collection(program *run, const char *dir, bool verify) {
    const double start = prog_seconds();
    thr_error err = {.status = THR_OK};
    thr_shards *shards = NULL;
    totals all = {.n_zero = 0};
    thr_status status = thr_shards_open(run->context, dir, &shards, &err);

    if (status == THR_OK)
        status = verify ? thr_shards_verify(shards, &err) : THR_OK;
    if (status == THR_OK)
        status = add_up(shards, !verify, &all, &err);
    if (status == THR_OK && verify) {
        prog_print_verified(run, "shards", dir, all.file_bytes, start);
    } else if (status == THR_OK) {
        const thr_shards_info info = thr_shards_get_info(shards);
        (run->globals.json ? print_json : print_text)(dir, &info, &all);
    }
    thr_shards_free(shards);
    return status == THR_OK ? PROG_DONE : prog_failed(&err);
}

/* ------------------------------------------------------------------------------------------------ directories */

static char *join(const char *dir, const char *name) {
    const size_t size = strlen(dir) + strlen(name) + 2;
    char *path = malloc(size);

    if (path != NULL)
        (void)snprintf(path, size, "%s/%s", dir, name);
    return path;
}

bool prog_is_collection(const char *dir) {
    char *path = join(dir, "shards.json");
    const bool is = path != NULL && access(path, F_OK) == 0;

    free(path);
    return is;
}

/* Whether a path's last component is a shard of the collection in its parent. An unreadable list is an error. */
static thr_status find_shard(const program *run, const char *path, bool *is_shard, thr_error *err) {
    const char *slash = strrchr(path, '/');
    char *parent = join(path, "..");
    thr_shards *shards = NULL;
    thr_status status = THR_OK;

    if (parent != NULL && slash != NULL && prog_is_collection(parent)) {
        status = thr_shards_open(run->context, parent, &shards, err);
        const uint64_t n = status == THR_OK ? thr_shards_get_info(shards).n_shards : 0;
        for (uint64_t i = 0; i < n && !*is_shard; i++)
            *is_shard = strcmp(thr_shards_list(shards)[i].directory, slash + 1) == 0;
    }
    thr_shards_free(shards);
    free(parent);
    return status;
}

bool prog_refuse_shard(const program *run, const char *dir) {
    char *path = realpath(dir, NULL);
    thr_error err;
    bool is_shard = false;
    const thr_status status = path != NULL ? find_shard(run, path, &is_shard, &err) : THR_OK;

    if (status != THR_OK)
        prog_error("%s: may be a shard of the collection that contains it, whose list cannot be read: %s", dir,
                   err.text);
    else if (is_shard)
        prog_error("%s: is a shard of a collection, which would not open any more: change the collection, by Python's "
                   "thresher.shards",
                   dir);
    free(path);
    return status != THR_OK || is_shard;
}
