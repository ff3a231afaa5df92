/* SPDX-License-Identifier: Apache-2.0 */
/* info.c - `index info` and `index verify` of a collection. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/json.h"
#include "index/summary.h"
#include "output/plain.h"
#include "collection/manifest.h"
#include "info/verified.h"
#include "cli/messages.h"

/* Sums over all shards. */
typedef struct totals {
    uint64_t code_bytes, vector_bytes, file_bytes, least, most, n_zero;
    uint64_t n_cells, cell_items; /* cells, and the items in them */
    uint32_t smallest, largest;   /* items of a cell */
    bool skips;                   /* searches of some shard skip cells */
    bool any_ids, all_names;      /* some shard has given ids; all have names */
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
static thr_cells_choice measured(const prog_shards *s, const totals *all) {
    const double n = (double)s->n_items;

    return !all->skips ? (thr_cells_choice){.n_cells = 0}
                       : (thr_cells_choice){.read = (float)(all->n_read / n),
                                            .speed = (float)(n / all->cost),
                                            .short_by = all->short_by};
}

/* Compare the ids of a verified shard with the list. */
static thr_status check_ids(const prog_shards *s, uint64_t number, const thr_index *index, thr_error *err) {
    enum { AT_ONCE = 4096 };
    const prog_shard *shard = &s->shards[number];
    const thr_index_info info = thr_index_get_info(index);
    const uint64_t n_rows = thr_index_n_rows(index);
    const uint64_t first = s->has_ids || (info.has_ids && !info.has_names) ? 0 : shard->first_row;
    uint64_t ids[AT_ONCE], least = UINT64_MAX, greatest = 0;

    for (uint64_t row = 0; row < n_rows; row += AT_ONCE) {
        const size_t n = n_rows - row < AT_ONCE ? (size_t)(n_rows - row) : AT_ONCE;
        const thr_status status = thr_index_row_ids(index, row, n, ids, err);
        if (status != THR_OK)
            return status;
        for (size_t i = 0; i < n; i++) {
            if (ids[i] == THR_NO_ID)
                continue;
            least = ids[i] < least ? ids[i] : least;
            greatest = ids[i] > greatest ? ids[i] : greatest;
        }
    }
    if (least + first == shard->least_id && greatest + first == shard->greatest_id)
        return THR_OK;
    err->status = THR_ECORRUPT;
    (void)snprintf(err->text, sizeof err->text,
                   "%.300s/shards.json: has wrong ids of shard %" PRIu64 ": they are from %" PRIu64 " to %" PRIu64
                   ": restore it or build the collection again",
                   s->dir, number, least + first, greatest + first);
    return THR_ECORRUPT;
}

/* Compare what the list stores of all shards with them. */
static int check_totals(const prog_shards *s, const totals *all) {
    const char *wrong = all->any_ids && !s->has_ids ? "has_ids" : all->all_names != s->has_names ? "has_names" : NULL;

    if (wrong == NULL)
        return PROG_DONE;
    prog_error("%s/shards.json: has another %s than the shards: restore it or build the collection again", s->dir,
               wrong);
    return PROG_FAILED;
}

/* Open every shard in turn; verify: read every byte, too. */
static int add_up(program *run, const prog_shards *shards, bool verify, totals *all) {
    *all = (totals){.least = UINT64_MAX, .all_names = true};
    for (uint64_t i = 0; i < shards->n_shards; i++) {
        thr_error err = {.status = THR_OK};
        thr_index *index = NULL;
        thr_status status = prog_shards_open(shards, run->context, i, &index, &err);

        if (status == THR_OK)
            status = verify ? thr_index_verify(index, &err) : measure(index, all, &err);
        if (status == THR_OK && verify)
            status = check_ids(shards, i, index, &err);
        if (status != THR_OK) {
            thr_index_free(index);
            return prog_failed(&err);
        }
        const thr_index_info info = thr_index_get_info(index);
        all->n_zero += info.n_zero;
        all->any_ids = all->any_ids || (info.has_ids && !info.has_names);
        all->all_names = all->all_names && info.has_names;
        all->code_bytes += info.code_bytes;
        all->vector_bytes += info.vector_bytes;
        all->file_bytes += info.file_bytes;
        all->least = info.n_items < all->least ? info.n_items : all->least;
        all->most = info.n_items > all->most ? info.n_items : all->most;
        add_cells(all, thr_index_get_cells(index));
        thr_index_free(index);
    }
    if (!shards->counts_cells || all->n_cells == shards->n_cells)
        return verify ? check_totals(shards, all) : PROG_DONE;
    prog_error("%s/shards.json: has n_cells %" PRIu64 ", and the shards have %" PRIu64
               ": restore it or build the collection again",
               shards->dir, shards->n_cells, all->n_cells);
    return PROG_FAILED;
}

/* ------------------------------------------------------------------------------------------------ info */

static void print_json(const prog_shards *s, const totals *all) {
    const thr_cells_choice cells = measured(s, all);
    prog_json json = prog_json_object();

    prog_json_key_text(&json, "shards", s->dir);
    PROG_JSON_COUNTS(&json, {"n_shards", s->n_shards}, {"n_items", s->n_items}, {"least_items", all->least},
                     {"most_items", all->most}, {"n_dims", s->n_dims}, {"n_zero", all->n_zero});
    prog_json_key_text(&json, "metric", thr_metric_name(s->metric));
    prog_json_key_count(&json, "bits", s->bits);
    prog_json_key_count(&json, "lead_bits", s->lead_bits);
    prog_json_key_text(&json, "keep", s->keep);
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

static void print_text(const prog_shards *s, const totals *all) {
    const thr_cells_choice cells = measured(s, all);
    const char *ids = s->has_names ? "row numbers, with names" : s->has_ids ? "given ids" : "row numbers";

    prog_line("shards          %s", s->dir);
    (void)printf("number          %" PRIu64 ", of %s to %s\n", s->n_shards, prog_exact(all->least).text,
                 prog_counted(all->most, "item").text);
    (void)printf("items           %s\n", prog_exact(s->n_items).text);
    if (all->n_zero > 0)
        (void)printf("zero vectors    %s of all that were given: they score 0 for every query\n",
                     prog_exact(all->n_zero).text);
    (void)printf("dimensions      %" PRIu64 "\n", s->n_dims);
    (void)printf("metric          %s\n", thr_metric_name(s->metric));
    (void)printf("codes           %" PRIu64 " bits per dimension, %" PRIu64 " of them screened first, %s\n", s->bits,
                 s->lead_bits, prog_bytes((double)all->code_bytes).text);
    (void)printf("kept vectors    %s, %s\n", s->keep, prog_bytes((double)all->vector_bytes).text);
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
    prog_shards shards;
    totals all;
    int rc = prog_shards_read(&shards, dir);

    if (rc == PROG_DONE)
        rc = add_up(run, &shards, verify, &all);
    if (rc == PROG_DONE && verify)
        prog_print_verified(run, "shards", dir, all.file_bytes, start);
    else if (rc == PROG_DONE && run->globals.json)
        print_json(&shards, &all);
    else if (rc == PROG_DONE)
        print_text(&shards, &all);
    prog_shards_free(&shards);
    return rc;
}
