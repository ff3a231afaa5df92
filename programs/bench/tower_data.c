/* SPDX-License-Identifier: Apache-2.0 */
/* The data sets of `bench tower`: read where they are there, split by query, and written as files to train from. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "talk.h"
#include "tower.h"

static const struct {
    const char *name, *file;
    bool labelled;
    /* What suits the training of it, as the validation loss of rbe* says: epochs, and the share of words left out. */
    uint32_t n_epochs;
    float word_dropout;
} SETS[BENCH_N_SETS] = {
    {"debian", "pairs/debian_descriptions.tsv.xz:short,long", false, 40, 0.25f},
    {"tldr", "pairs/tldr_pages.en.tsv.xz:2,3", false, 40, 0.25f},
    {"homedepot", "pairs/homedepot.train.csv.xz:search_term,product_title,relevance", true, 20, 0.4f},
};
static const double QUICK_SHARE = 0.25;

void bench_tower_file(const bench_tower *bench, const char *set, const char *part, char path[BENCH_PATH]) {
    (void)snprintf(path, BENCH_PATH, "%s/%s.%s.tsv", bench->run.scratch, set, part);
}

bool bench_names(const char *names, const char *name) {
    const size_t length = strlen(name);
    for (const char *at = names; at != NULL && *at != '\0';) {
        const size_t n = strcspn(at, ",");
        if (n == length && strncmp(at, name, n) == 0)
            return true;
        at += n + (at[n] == ',');
    }
    return false;
}

static int write_part(bench_tower *bench, const bench_set *set, const char *name, const char *part, bench_rows rows) {
    char path[BENCH_PATH];
    bench_tower_file(bench, name, part, path);
    return bench_pairs_write(&set->pairs, rows, path) == 0 ? 0 : bench_fail(&bench->run, "%s: not written", path);
}

static int write_parts(bench_tower *bench, const bench_set *set) {
    if (write_part(bench, set, set->name, "train", BENCH_ROWS_TRAIN) != 0 ||
        write_part(bench, set, "all", "train", BENCH_ROWS_TRAIN) != 0 ||
        write_part(bench, set, set->name, "test", BENCH_ROWS_TEST) != 0)
        return -1;
    return write_part(bench, set, set->name, "good", BENCH_ROWS_TEST_GOOD);
}

static size_t count(const bench_pairs *pairs, bool test, bool bad) {
    size_t n = 0;
    for (size_t i = 0; i < pairs->n; i++)
        n += pairs->rows[i].test == test && (pairs->rows[i].label < BENCH_LEAST_LABEL) == bad;
    return n;
}

static void print(bench_tower *bench) {
    static const char *const columns[] = {"data",         "pairs to learn from", "epochs", "of words left out",
                                          "to test with", "of them bad",         NULL};
    static bench_table table;
    table = (bench_table){.title = "Pairs, split by query", .columns = columns};
    for (int s = 0; s < BENCH_N_SETS; s++) {
        const bench_set *set = &bench->sets[s];
        if (!set->there)
            continue;
        bench_table_row(&table);
        bench_table_cell(&table, "%s", set->name);
        bench_table_cell(&table, "%zu", count(&set->pairs, false, false));
        bench_table_cell(&table, "%" PRIu32, set->n_epochs);
        bench_table_cell(&table, "%g", (double)set->word_dropout);
        bench_table_cell(&table, "%zu", count(&set->pairs, true, false) + count(&set->pairs, true, true));
        if (set->labelled)
            bench_table_cell(&table, "%zu, by people", count(&set->pairs, true, true));
        else
            bench_table_cell(&table, "10 sampled for each");
    }
    bench_print(&bench->run, &table);
}

/* The set's own, unless the user asked for others. */
static void choose_options(bench_tower *bench, int s) {
    const bench_tower_values *values = bench->values;
    const bool together = bench_tower_together(bench);
    bench_set *set = &bench->sets[s];
    const bool given_epochs = together || values->quick || values->epochs != 0;
    set->n_epochs = given_epochs ? bench->train.n_epochs : SETS[s].n_epochs;
    set->word_dropout = together || !isnan(values->word_dropout) ? bench->train.word_dropout : SETS[s].word_dropout;
}

int bench_tower_read(bench_tower *bench) {
    int n_there = 0;
    for (int s = 0; s < BENCH_N_SETS; s++) {
        bench_set *set = &bench->sets[s];
        char path[BENCH_PATH];
        *set = (bench_set){.name = SETS[s].name, .file = SETS[s].file, .labelled = SETS[s].labelled};
        choose_options(bench, s);
        if (!bench_names(bench->values->sets, set->name))
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", bench->values->data, set->file);
        const thr_status status =
            bench_pairs_read(bench->run.context, path, set->labelled, bench->values->quick ? QUICK_SHARE : 1.0,
                             &set->pairs, &bench->run.err);
        if (status == THR_ENOTFOUND) {
            prog_note("%s is left out: %s", set->name, bench->run.err.text);
            bench_say(&bench->run, "Left out: %s, which is not there.\n\n", set->name);
            bench->run.err = (thr_error){.status = THR_OK};
            continue;
        }
        if (status != THR_OK || write_parts(bench, set) != 0)
            return -1;
        set->there = true;
        set->trends = bench->values->trends == NULL || bench_names(bench->values->trends, set->name);
        n_there++;
    }
    if (n_there == 0)
        return bench_fail(&bench->run, "%s: none of the data sets %s are there: name their directory with --data",
                          bench->values->data, bench->values->sets);
    print(bench);
    return 0;
}
