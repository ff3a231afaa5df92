/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tower.c - `bench tower`: learned codes of texts. The tables of RBE section 8 and 9 on pairs of texts, and with
 * --speed how fast training, encoding and searching are.
 */
#include "tower.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "program.h"
#include "talk.h"

static const char *const trains[] = {"own", "together", NULL};
static const char *const words[] = {"shared", "apart", NULL};

#define COUNT(NAME, FIELD, LEAST, HELP)                                                                                \
    {                                                                                                                  \
        .name = (NAME), .kind = PROG_COUNT, .value = "N", .least = (LEAST), .most = UINT32_MAX, .help = (HELP),        \
        .offset = offsetof(bench_tower_values, FIELD)                                                                  \
    }
#define REAL(NAME, FIELD, HELP)                                                                                        \
    { .name = (NAME), .kind = PROG_REAL, .value = "X", .help = (HELP), .offset = offsetof(bench_tower_values, FIELD) }
#define FLAG(NAME, FIELD, HELP)                                                                                        \
    { .name = (NAME), .kind = PROG_FLAG, .help = (HELP), .offset = offsetof(bench_tower_values, FIELD) }

static const prog_option options[] = {
    {PROG_TEXT_OPTION("data", "DIR", offsetof(bench_tower_values, data),
                      "where the data sets are, in pairs/; one that is not there is left out, with a word"),
     .fallback = "../shared/data", .names = PROG_NAMES_DIR},
    {PROG_TEXT_OPTION("sets", "NAME,...", offsetof(bench_tower_values, sets), "which of them"),
     .fallback = "debian,tldr,homedepot"},
    {PROG_TEXT_OPTION("trends", "NAME,...", offsetof(bench_tower_values, trends),
                      "and which of those in tables 4, 5 and 6, whose models take most of the time (default: all)")},
    {PROG_CHOICE_OPTION("train", "own|together", trains, offsetof(bench_tower_values, train),
                        "on the pairs of the data set that is tested with, or on those of all"),
     .fallback = "own"},
    {PROG_TEXT_OPTION("tables", "N,...", offsetof(bench_tower_values, tables),
                      "which of the paper's tables; codes: learned codes against those made of vectors"),
     .fallback = "2,4,5,6,codes"},
    {PROG_COUNT_OPTION("seeds", "N", offsetof(bench_tower_values, seeds),
                       "trainings of each model: --seed and the numbers behind it"),
     .least = 1, .most = BENCH_MAX_SEEDS, .fallback = "3"},
    COUNT("epochs", epochs, 1, "at most; as tower train has it, and so are the next ones (default: what suits a set)"),
    COUNT("patience", patience, 1, "stop after so many epochs that made nothing better"),
    COUNT("batch", batch, 2, "pairs a step"),
    COUNT("negatives", negatives, 1, "items of other pairs that each pair is told from"),
    REAL("gamma", gamma, "what cosines are multiplied by before the soft-max"),
    REAL("rate", rate, "of learning"),
    REAL("word-dropout", word_dropout,
         "the share of the words of a text that is left out, below 1 (default: what is best for a set)"),
    REAL("float-share", float_share, "the share of the epochs that learn floats, before signs take their place"),
    {PROG_CHOICE_OPTION("words", "shared|apart", words, offsetof(bench_tower_values, words),
                        "one table of letter trigrams for queries and items, or two")},
    FLAG("speed", speed, "instead of the tables: how fast training, encoding and searching are"),
    {PROG_COUNT_OPTION(
         "codes", "N", offsetof(bench_tower_values, codes),
         "with --speed, codes of the long search (default: 1,000,000,000, or as many as there is room for)"),
     .least = 1000, .most = UINT32_MAX},
    FLAG("quick", quick, "one seed, two epochs and a quarter of the queries: to see that it works"),
    {PROG_TEXT_OPTION("keep", "DIR", offsetof(bench_tower_values, keep),
                      "where results are kept, so that a run can be cut and taken up again, and vectors for the peers"),
     .fallback = "build/bench/tower", .names = PROG_NAMES_DIR},
    FLAG("again", again, "train what is kept already once more"),
    {PROG_TEXT_OPTION("scratch", "DIR", offsetof(bench_tower_values, scratch),
                      "where pairs, models and indexes are written (default: $TMPDIR or /tmp)"),
     .names = PROG_NAMES_DIR},
    PROG_OPTIONS_END,
};

enum { QUICK_EPOCHS = 2 };

/* The library's own choices where nothing else was asked for. */
static void fill_train(bench_tower *bench, const bench_tower_values *values) {
    thr_tower_train_options *train = &bench->train;
    thr_tower_train_options_init(train);
    if (values->quick)
        train->n_epochs = QUICK_EPOCHS;
    if (values->epochs != 0)
        train->n_epochs = (uint32_t)values->epochs;
    if (values->patience != 0)
        train->patience = (uint32_t)values->patience;
    if (values->batch != 0)
        train->batch = (uint32_t)values->batch;
    train->n_negatives = values->negatives != 0 ? (uint32_t)values->negatives : train->batch - 1;
    if (!isnan(values->gamma))
        train->gamma = (float)values->gamma;
    if (!isnan(values->rate))
        train->rate = (float)values->rate;
    if (!isnan(values->word_dropout))
        train->word_dropout = (float)values->word_dropout;
    if (!isnan(values->float_share))
        train->float_share = (float)values->float_share;
    if (values->words != PROG_NO_CHOICE)
        train->config.shared_words = values->words == 0;
}

static void want(bench_tower *bench, const char *table, const bench_model_number *models, size_t n) {
    const bool trends = table[0] >= '4' && table[0] <= '6';
    for (size_t i = 0; i < n && bench_tower_has_table(bench, table); i++)
        for (int s = 0; s < BENCH_N_SETS; s++)
            bench->wanted[models[i]][s] |= bench->sets[s].there && (bench->sets[s].trends || !trends);
}

static void choose_models(bench_tower *bench) {
    static const bench_model_number two[] = {BENCH_M_1, BENCH_M_2, BENCH_M_3, BENCH_RBE, BENCH_M_5},
                                    four[] = {BENCH_M_1, BENCH_M_2, BENCH_M_3, BENCH_RBE_2, BENCH_RBE, BENCH_RBE_3},
                                    six[] = {BENCH_M_1,   BENCH_M_3,         BENCH_RBE_2,     BENCH_RBE,
                                             BENCH_RBE_3, BENCH_RBE_2_PLAIN, BENCH_RBE_PLAIN, BENCH_RBE_3_PLAIN},
                                    codes[] = {BENCH_M_1, BENCH_RBE, BENCH_M_5};
    static const bench_model_number five[] = {BENCH_M_2,          BENCH_RBE_2,          BENCH_RBE,
                                              BENCH_RBE_3,        BENCH_M_2_STRAIGHT,   BENCH_RBE_2_STRAIGHT,
                                              BENCH_RBE_STRAIGHT, BENCH_RBE_3_STRAIGHT, BENCH_M_2_TANH,
                                              BENCH_RBE_2_TANH,   BENCH_RBE_TANH,       BENCH_RBE_3_TANH};
    want(bench, "2", two, sizeof two / sizeof *two);
    want(bench, "4", four, sizeof four / sizeof *four);
    want(bench, "5", five, sizeof five / sizeof *five);
    want(bench, "6", six, sizeof six / sizeof *six);
    want(bench, "codes", codes, sizeof codes / sizeof *codes);
}

/* A directory and those above it, where they are not there yet. */
static int make_directories(const char *path) {
    char part[BENCH_PATH];
    (void)snprintf(part, sizeof part, "%s", path);
    for (char *slash = strchr(part + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(part, 0777);
        *slash = '/';
    }
    struct stat st;
    (void)mkdir(part, 0777);
    return stat(part, &st) == 0 && S_ISDIR(st.st_mode) ? 0 : -1;
}

static void say_what(bench_tower *bench) {
    char machine[256];
    const thr_tower_train_options *o = &bench->train;
    bench_machine(machine, sizeof machine);
    bench_say(&bench->run, "## thresher-bench tower\n\nthresher %s, %s, %s, %u %s.\n\n", thr_version(), machine,
              thr_isa_name(thr_context_isa(bench->run.context)), thr_context_threads(bench->run.context),
              thr_context_threads(bench->run.context) == 1 ? "thread" : "threads");
    bench_say(&bench->run,
              "Trained on %s: a share of %g of the epochs as floats, patience %u, batches of %u, %u negatives, "
              "gamma %g, rate %g, %s of letter trigrams; seeds from %llu, %llu of "
              "them. The best epoch by validation loss on %g of the queries that are learned from.\n\n",
              bench_tower_together(bench) ? "the pairs of all data sets together" : "the pairs of each data set alone",
              (double)o->float_share, o->patience, o->batch, o->n_negatives, (double)o->gamma, (double)o->rate,
              o->config.shared_words ? "one table" : "two tables", (unsigned long long)bench->run.program->globals.seed,
              (unsigned long long)bench->values->seeds, (double)o->valid_share);
}

static int work(bench_tower *bench) {
    if (bench->values->speed)
        return bench_tower_read(bench) != 0 ? -1 : bench_tower_speed(bench);
    say_what(bench);
    if (bench_tower_read(bench) != 0)
        return -1;
    choose_models(bench);
    if (bench_tower_train(bench) != 0)
        return -1;
    bench_tower_print(bench);
    return 0;
}

static int run_tower(program *run, const void *all_values) {
    bench_tower_values values = *(const bench_tower_values *)all_values;
    bench_tower *bench = calloc(1, sizeof *bench);
    thr_context_options o;
    int rc = -1;
    if (bench == NULL)
        return prog_no_memory();
    values.seeds = values.quick ? 1 : values.seeds;
    bench->values = &values;
    bench->run.program = run;
    thr_context_options_init(&o);
    o.n_threads = run->globals.threads != 0 ? (uint32_t)run->globals.threads : 1;
    o.progress = prog_progress;
    if (thr_context_create(&o, &bench->run.context, &bench->run.err) != THR_OK)
        goto out;
    fill_train(bench, &values);
    if (make_directories(values.keep) != 0)
        (void)bench_fail(&bench->run, "%s: this directory cannot be made: name another with --keep", values.keep);
    else if (bench_scratch_make(values.scratch, bench->run.scratch, sizeof bench->run.scratch) != 0)
        (void)bench_fail(&bench->run, "%s: no directory can be made there: name another with --scratch",
                         bench->run.scratch);
    else
        rc = work(bench);
    if (rc == 0)
        bench_print_figures(&bench->run);
    bench_scratch_remove(bench->run.scratch);
out:
    rc = rc == 0 ? PROG_DONE : prog_failed(&bench->run.err);
    for (int s = 0; s < BENCH_N_SETS; s++)
        bench_pairs_free(&bench->sets[s].pairs);
    thr_context_free(bench->run.context);
    free(bench);
    return rc;
}

static const prog_argument no_arguments[] = {{.name = NULL}};
static const char *const examples[] = {"thresher-bench tower --quick", "thresher-bench tower --train together",
                                       "thresher-bench tower --speed", NULL};

const prog_command bench_tower_command = {
    .noun = "tower",
    .summary = "measure learned codes of text on this machine",
    .text = "Trains the models of the RBE paper's tables 2, 4, 5 and 6 on pairs of texts and prints their AUC on pairs "
            "of queries that were not learned from, mean and standard deviation over seeds; and how learned codes do "
            "against codes of as many bytes that are made of a float model's vectors. One thread, unless --threads "
            "asks for more; results are the same. What was measured is kept, so that a run can be stopped and taken "
            "up again.\n\n"
            "In the source tree ./run bench tower runs it beside PyTorch and Faiss.",
    .arguments = no_arguments,
    .options = PROG_OPTIONS(options),
    .values_size = sizeof(bench_tower_values),
    .examples = examples,
    .run = run_tower,
};
