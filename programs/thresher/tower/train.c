/* SPDX-License-Identifier: Apache-2.0 */
/*
 * train.c - `tower train PAIRS -o MODEL`; `tower train --vectors [QUERIES] ITEMS -o MODEL`.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tower/dual.h"
#include "tower/epochs.h"
#include "info/gpus.h"
#include "cli/json.h"
#include "cli/output.h"
#include "tower/pairs.h"
#include "commands.h"
#include "cli/messages.h"

static const float ADAM_RATE = 0.002f; /* default --embedding-rate of adam */

typedef struct train_values {
    const char *pairs, *second, *items, *output;
    prog_pairs_values columns;
    size_t kind;
    bool vectors, no_ipnn, no_hits;
    thr_training_options run; /* of all kinds */
    thr_tower_train_options tower;
    thr_dual_train_options dual;
} train_values;

static const char *const kinds[] = {"rbe", "cdssm", "dual", NULL};
enum { KIND_RBE = 0, KIND_DUAL = 2 };
static const char *const losses[] = {"ndcg", "product", "sum", NULL};
static const char *const differences[] = {"difference", "swap", NULL};
static const char *const optimisers[] = {"adam", "ftrl", NULL};
static const char *const estimators[] = {"variant", "straight", "tanh", NULL};

static const prog_argument arguments[] = {
    {PROG_REQUIRED("PAIRS", PROG_NAMES_FILE, offsetof(train_values, pairs),
                   "one query and a matching item per row: .tsv .csv, also .gz and .xz; with --kind dual REQUESTS, "
                   "see above; with --vectors vectors of QUERIES, or of items if ITEMS is left out: .npy .fvecs .fbin "
                   "..., as in thresher index build")},
    {PROG_ARGUMENT("ITEMS", PROG_NAMES_FILE, offsetof(train_values, second),
                   "with --vectors: vectors of items; row i belongs to row i of QUERIES, unless --pairs is given")},
    {.name = NULL},
};

#define COUNT(NAME, FIELD, LEAST, MOST, FALLBACK, HELP) COUNT_UNLESS(NAME, FIELD, LEAST, MOST, FALLBACK, NULL, HELP)
#define COUNT_UNLESS(NAME, FIELD, LEAST, MOST, FALLBACK, SPECIAL, HELP)                                                \
    {                                                                                                                  \
        .name = (NAME), .kind = PROG_COUNT, .value = "N", .least = (LEAST), .most = (MOST), .fallback = (FALLBACK),    \
        .special = (SPECIAL), .help = (HELP), .offset = offsetof(train_values, FIELD),                                 \
        .size = sizeof(((train_values *)NULL)->FIELD)                                                                  \
    }
/* Above 0. */
#define REAL(NAME, FIELD, MOST, FALLBACK, HELP) REAL_UNLESS(NAME, FIELD, MOST, FALLBACK, NULL, HELP)
#define REAL_UNLESS(NAME, FIELD, MOST, FALLBACK, SPECIAL, HELP)                                                        \
    {                                                                                                                  \
        .name = (NAME), .kind = PROG_REAL, .value = "X", .most_real = (MOST), .fallback = (FALLBACK),                  \
        .special = (SPECIAL), .help = (HELP), .offset = offsetof(train_values, FIELD),                                 \
        .size = sizeof(((train_values *)NULL)->FIELD)                                                                  \
    }
#define FLAG(NAME, FIELD, HELP)                                                                                        \
    { .name = (NAME), .kind = PROG_FLAG, .help = (HELP), .offset = offsetof(train_values, FIELD) }

static const prog_option options[] = {
    {PROG_NEW_FILE_OPTION("MODEL", offsetof(train_values, output),
                          "the model, a .safetensors file, written after each epoch that improves validation")},
    {PROG_CHOICE_OPTION("kind", "rbe|cdssm|dual", kinds, offsetof(train_values, kind),
                        "kind of model: rbe, codes, by default of 3 bits for queries and 2 for items; cdssm, float "
                        "vectors; dual, float vectors of features and hits of histories, trained on requests"),
     .fallback = "rbe"},
    FLAG("vectors", vectors, "learn codes of given vectors instead of texts, see above"),
    COUNT_UNLESS("dims", tower.config.n_dims, 1, 1024, "64", "32 with --vectors", "dimensions of the embedding"),
    {PROG_FILE_OPTION("valid", offsetof(train_values, run.valid_path),
                      "pairs to validate with, in the columns of PAIRS, or vectors of other items (default: a share "
                      "of the queries in PAIRS)")},
    REAL_UNLESS("valid-share", run.valid_share, 0.5, "0.02", "0.05 with --kind dual",
                "share of the queries in PAIRS to validate with"),
    COUNT_UNLESS("epochs", run.n_epochs, 1, UINT32_MAX, "40", "20 with --kind dual and with --vectors", "most epochs"),
    COUNT_UNLESS("patience", run.patience, 0, UINT32_MAX, "10", "3 with --kind dual",
                 "stop after N epochs without a better validation; 0: never"),
    COUNT_UNLESS("batch", run.batch, 2, 65536, "512", "256 with --vectors", "pairs, or requests, per step"),
    REAL_UNLESS("rate", run.rate, 1e6, "0.002", "0.03 with --vectors",
                "learning rate, which decays linearly to 0 over all epochs"),
    FLAG("resume", run.resume, "continue from MODEL.checkpoint of a stopped training"),
    PROG_PAIRS_OPTIONS(train_values, columns, "Options for texts"),
    COUNT("pooled", tower.config.n_pooled, 1, 4096, "288", "dimensions of the pooled layer"),
    COUNT("grams", tower.config.max_grams, 1, 1 << 24, "49292", "letter trigrams to learn, by frequency"),
    COUNT("words", tower.config.max_words, 1, 65535, "128", "read at most N words of a text"),
    FLAG("shared-words", tower.config.shared_words,
         "one table of letter trigrams for queries and items; better for few pairs"),
    {PROG_REAL_OPTION("word-dropout", "X", offsetof(train_values, tower.word_dropout),
                      "share of words dropped from a text, drawn anew each time; below 1"),
     .size = 4, .least_real = 0, .fallback = "0.25"},
    {PROG_COUNT_OPTION("query-bits", "N", offsetof(train_values, tower.config.query_bits),
                       "bits per dimension of queries, 1 to 8; 32 for floats (default: 3; 32 with --vectors)"),
     .size = 4, .least = 1, .most = 32, .heading = "Options for texts and vectors"},
    COUNT("item-bits", tower.config.item_bits, 1, 32, NULL,
          "bits per dimension of items, 1 to 8; 32 for floats (default: 2; 4 with --vectors)"),
    FLAG("shared-steps", tower.config.shared_steps, "use the same matrices in every recurrent step"),
    FLAG("plain-weights", tower.config.plain_weights,
         "planes weigh 1 instead of 1, 1/2, 1/4, ...: for comparison only"),
    {PROG_CHOICE_OPTION("estimator", "variant|straight|tanh", estimators, offsetof(train_values, tower.estimator),
                        "gradient of the sign function: variant, straight-through where |x| <= 1; straight, "
                        "straight-through everywhere; tanh, that of a tanh that gets steeper"),
     .size = 4, .fallback = "variant"},
    COUNT("negatives", tower.n_negatives, 0, 65535, "0",
          "negatives per pair, items of other pairs of its batch; 0: all of them"),
    REAL_UNLESS("gamma", tower.gamma, 1e6, "10", "20 with --vectors", "scale of cosines in the softmax"),
    {PROG_REAL_OPTION("float-share", "X", offsetof(train_values, tower.float_share),
                      "share of the epochs that train floats before signs replace them; below 1; 0: none, as "
                      "in the paper"),
     .size = 4, .least_real = 0, .fallback = "0.5", .special = "0 with --vectors"},
    {PROG_REAL_OPTION("teacher-share", "X", offsetof(train_values, tower.teacher_share),
                      "weight of the vectors' own cosines as targets, against that of the pairs; 0 to 1 (default: 0 "
                      "with QUERIES, else 1)"),
     .size = 4, .least_real = 0, .most_real = 1, .heading = "Options with --vectors"},
    {PROG_REAL_OPTION("noise", "X", offsetof(train_values, tower.noise),
                      "length of the random vector added to a query of length 1"),
     .size = 4, .least_real = 0, .fallback = "0.5"},
    {PROG_FILE_OPTION(
        "pairs", offsetof(train_values, tower.pairs_path),
        "pairs by id, one per row: the id of a query and that of an item: .tsv .csv (default: row i of QUERIES "
        "and row i of ITEMS)")},
    {PROG_FILE_OPTION(
        "query-ids", offsetof(train_values, tower.query_ids_path),
        "with --pairs: one id per line for each vector of QUERIES: .txt, .tsv:COLUMN (default: row numbers "
        "from 0)")},
    {PROG_FILE_OPTION("item-ids", offsetof(train_values, tower.item_ids_path), "the same for ITEMS")},
    {PROG_FILE_OPTION("items", offsetof(train_values, items), "table of items, see above; required"),
     .heading = "Options with --kind dual"},
    FLAG("no-ipnn", no_ipnn, "no products of pairs of fields (IPNN)"),
    FLAG("no-hits", no_hits, "no hits of users' histories (HitMatch)"),
    {PROG_CHOICE_OPTION("loss", "ndcg|product|sum", losses, offsetof(train_values, dual.loss),
                        "weight of a pair of ads: ndcg, the change of NDCG if they are swapped; product, "
                        "that times the change of value; sum, that plus the change of value"),
     .size = 4, .fallback = "ndcg"},
    {PROG_CHOICE_OPTION("value", "difference|swap", differences, offsetof(train_values, dual.value),
                        "how much value a swap changes: difference, the difference of the two values; swap, "
                        "that times the difference of their positions' discounts"),
     .size = 4, .fallback = "swap"},
    COUNT("embedding", dual.config.n_embedding, 1, 256, "32", "dimensions of a feature's embedding"),
    COUNT("hidden", dual.config.n_hidden, 1, 4096, "128", "units of a tower's first layer"),
    COUNT("products", dual.config.n_products, 1, 1024, "32",
          "dimensions of the products of fields, in addition to --dims"),
    COUNT("min-count", dual.min_count, 1, UINT32_MAX, "2", "learn features that occur in at least N requests"),
    {PROG_CHOICE_OPTION("embedding-optimiser", "adam|ftrl", optimisers, offsetof(train_values, dual.optimiser),
                        "optimiser of feature embeddings; hits always use FTRL-Proximal"),
     .size = 4, .fallback = "ftrl"},
    REAL("embedding-rate", dual.embedding_rate, 1e6, NULL,
         "learning rate of feature embeddings, decaying as --rate does, or FTRL's alpha "
         "(default: 0.1; 0.002 with adam)"),
    REAL("hits-rate", dual.hits_rate, 1e6, "0.05", "FTRL's alpha for hits"),
    {PROG_REAL_OPTION("l1", "X", offsetof(train_values, dual.l1), "FTRL's L1 regularisation"), .size = 4,
     .least_real = 0, .fallback = "0"},
    {PROG_REAL_OPTION("l2", "X", offsetof(train_values, dual.l2), "FTRL's L2 regularisation"), .size = 4,
     .least_real = 0, .fallback = "0"},
    PROG_OPTIONS_END,
};

/* Check options that are valid alone but not together. */
static int check_words(const program *run, const train_values *values) {
    const uint32_t bits[] = {values->tower.config.query_bits, values->tower.config.item_bits};

    for (size_t side = 0; side < 2; side++)
        if (bits[side] > 8 && bits[side] != THR_FLOAT_BITS) {
            prog_error("--%s-bits %" PRIu32 ": 1 to 8, or %d for floats; %s", side == 0 ? "query" : "item", bits[side],
                       (int)THR_FLOAT_BITS, prog_see_help(run));
            return PROG_WRONG_WORDS;
        }
    if (values->tower.n_negatives >= values->run.batch) {
        prog_error("--negatives %" PRIu32 " must be less than --batch %" PRIu32 "; %s", values->tower.n_negatives,
                   values->run.batch, prog_see_help(run));
        return PROG_WRONG_WORDS;
    }
    if (values->tower.word_dropout >= 1) {
        prog_error("--word-dropout %g: 0 or more, below 1; %s", (double)values->tower.word_dropout, prog_see_help(run));
        return PROG_WRONG_WORDS;
    }
    return PROG_DONE;
}

/* Print notes on given options that other options make useless. */
static void note_unused_options(const program *run, const train_values *values, const thr_tower_config *config) {
    static const char *const of_codes[] = {"plain-weights", "estimator", "float-share", NULL};
    static const char *const of_labels[] = {"least-label", NULL};
    static const char *const of_split[] = {"valid-share", NULL};

    if (config->query_bits == THR_FLOAT_BITS && config->item_bits == THR_FLOAT_BITS)
        prog_note_unused(run, of_codes, "without codes, and both sides are floats");
    if (!prog_is_given(run, "label-column"))
        prog_note_unused(run, of_labels, "without --label-column");
    if (values->run.valid_path != NULL)
        prog_note_unused(run, of_split, "with --valid");
}

static const char *const of_texts[] = {"query-column", "item-column",  "label-column",  "least-label", "header",
                                       "query-bits",   "item-bits",    "pooled",        "grams",       "words",
                                       "shared-words", "shared-steps", "plain-weights", "estimator",   "negatives",
                                       "gamma",        "float-share",  "word-dropout",  NULL};
static const char *const of_dual[] = {"items",          "no-ipnn",   "no-hits",  "loss",      "value",
                                      "embedding",      "hidden",    "products", "min-count", "embedding-optimiser",
                                      "embedding-rate", "hits-rate", "l1",       "l2",        NULL};

static const char *const of_texts_alone[] = {"query-column", "item-column",  "label-column", "least-label",
                                             "header",       "kind",         "pooled",       "grams",
                                             "words",        "shared-words", "word-dropout", NULL};
static const char *const of_vectors[] = {"vectors", "teacher-share", "noise", "pairs", "query-ids", "item-ids", NULL};

/* Refuse the first of these options that is given; kind is that of the models it is for. */
static int refuse(const program *run, const char *const *options_of, const char *kind) {
    for (size_t i = 0; options_of[i] != NULL; i++)
        if (prog_is_given(run, options_of[i])) {
            prog_error("--%s is for %s; %s", options_of[i], kind, prog_see_help(run));
            return PROG_WRONG_WORDS;
        }
    return PROG_DONE;
}

/* Refuse options of other kinds of model. */
static int check_model_words(const program *run, const train_values *values) {
    const bool dual = values->kind == KIND_DUAL;
    int rc = dual ? refuse(run, of_texts, "--kind rbe and cdssm") : refuse(run, of_dual, "--kind dual");

    if (rc == PROG_DONE && values->vectors)
        rc = refuse(run, of_texts_alone, "texts, not --vectors");
    if (rc == PROG_DONE && (dual || !values->vectors))
        rc = refuse(run, of_vectors, dual ? "--kind rbe and cdssm" : "--vectors");
    if (rc == PROG_DONE && !values->vectors && values->second != NULL) {
        prog_error("%s: two files are for --vectors, a file of pairs has both columns; %s", values->second,
                   prog_see_help(run));
        rc = PROG_WRONG_WORDS;
    }
    if (rc != PROG_DONE)
        return rc;
    if (dual && values->items == NULL) {
        prog_error("--kind dual: --items FILE is missing, the table of items; %s", prog_see_help(run));
        return PROG_WRONG_WORDS;
    }
    return PROG_DONE;
}

/* Options that all kinds of models have keep the default of this kind unless they are given. */
static thr_training_options run_options(const program *run, const train_values *values,
                                        const thr_training_options *defaults) {
    thr_training_options train = values->run;

    if (!prog_is_given(run, "valid-share"))
        train.valid_share = defaults->valid_share;
    if (!prog_is_given(run, "epochs"))
        train.n_epochs = defaults->n_epochs;
    if (!prog_is_given(run, "patience"))
        train.patience = defaults->patience;
    if (!prog_is_given(run, "batch"))
        train.batch = defaults->batch;
    if (!prog_is_given(run, "rate"))
        train.rate = defaults->rate;
    train.seed = run->globals.seed;
    return train;
}

static thr_tower_train_options tower_options(const program *run, const train_values *values) {
    thr_tower_train_options train = values->tower, defaults;
    thr_tower_config *config = &train.config;

    thr_tower_train_options_init(&defaults);
    if (values->vectors)
        thr_tower_train_options_init_vectors(&defaults, values->second == NULL);
    else if (values->kind != KIND_RBE)
        defaults.config.query_bits = defaults.config.item_bits = THR_FLOAT_BITS;
    train.run = run_options(run, values, &defaults.run);
    train.format = prog_pairs_format(&values->columns);
    if (!prog_is_given(run, "dims"))
        config->n_dims = defaults.config.n_dims;
    config->query_bits = config->query_bits != 0 ? config->query_bits : defaults.config.query_bits;
    config->item_bits = config->item_bits != 0 ? config->item_bits : defaults.config.item_bits;
    if (!prog_is_given(run, "gamma"))
        train.gamma = defaults.gamma;
    train.teacher_gamma = values->vectors ? train.gamma : defaults.teacher_gamma;
    if (!prog_is_given(run, "float-share"))
        train.float_share = defaults.float_share;
    if (!prog_is_given(run, "teacher-share"))
        train.teacher_share = defaults.teacher_share;
    return train;
}

static thr_dual_train_options dual_options(const program *run, const train_values *values) {
    thr_dual_train_options train = values->dual, defaults;

    thr_dual_train_options_init(&defaults);
    train.run = run_options(run, values, &defaults.run);
    train.config.n_dims = values->tower.config.n_dims;
    train.config.hits = !values->no_hits;
    if (values->no_ipnn)
        train.config.n_products = 0;
    if (!prog_is_given(run, "embedding-rate"))
        train.embedding_rate = train.optimiser == THR_DUAL_ADAM ? ADAM_RATE : defaults.embedding_rate;
    return train;
}

/* Train on files of vectors. */
static thr_status train_vectors(const program *run, const train_values *values, const thr_tower_train_options *train,
                                thr_tower_report *report, thr_error *err) {
    thr_reader *first = NULL, *second = NULL;
    thr_status status = thr_reader_open(run->context, values->pairs, &first, err);

    if (status == THR_OK && values->second != NULL)
        status = thr_reader_open(run->context, values->second, &second, err);
    if (status == THR_OK)
        status = thr_tower_train_vectors(run->context, second != NULL ? first : NULL, second != NULL ? second : first,
                                         values->output, train, report, err);
    thr_reader_free(first);
    thr_reader_free(second);
    return status;
}

static thr_status train_tower(const program *run, const train_values *values, prog_epochs *epochs,
                              thr_tower_report *report, thr_error *err) {
    thr_tower_train_options train = tower_options(run, values);

    note_unused_options(run, values, &train.config);
    train.run.on_epoch_user = epochs;
    return values->vectors ? train_vectors(run, values, &train, report, err)
                           : thr_tower_train(run->context, values->pairs, values->output, &train, report, err);
}

static thr_status train_dual(const program *run, const train_values *values, prog_epochs *epochs,
                             thr_tower_report *report, thr_error *err) {
    static const char *const of_products[] = {"products", NULL}, *const of_hits[] = {"hits-rate", NULL};
    thr_dual_train_options train = dual_options(run, values);

    if (values->no_ipnn)
        prog_note_unused(run, of_products, "with --no-ipnn");
    if (values->no_hits)
        prog_note_unused(run, of_hits, "with --no-hits");
    train.run.on_epoch_user = epochs;
    return thr_dual_train(run->context, values->pairs, values->items, values->output, &train, report, err);
}

static void print_json(const train_values *values, const thr_tower_report *report, const prog_epochs *epochs,
                       const char *device) {
    prog_json json = prog_json_object();

    prog_json_key_text(&json, "model", values->output);
    PROG_JSON_COUNTS(&json, {"n_pairs", report->n_pairs}, {"n_valid", report->n_valid},
                     {"n_refused", report->n_refused}, {"n_epochs", report->n_epochs},
                     {"best_epoch", report->best_epoch});
    PROG_JSON_REALS(&json, {"loss", report->loss}, {"valid_loss", report->valid_loss},
                    {"valid_quality", report->valid_quality}, {"examples_per_s", report->examples_per_second});
    prog_json_key_text(&json, "device", device);
    prog_epochs_json(epochs, &json);
    prog_json_end_object(&json);
}

static void print_report(program *run, const train_values *values, const thr_tower_report *report,
                         const prog_epochs *epochs) {
    const prog_device device = prog_first_device(run);

    prog_progress_end();
    if (report->n_refused != 0)
        prog_note("skipped %s without a column, or without words in it", prog_counted(report->n_refused, "row").text);
    prog_note("%s: trained on %s, best of %s: %" PRIu32 ", validation loss %.4f, %s %.4f; %s %ss/s", values->output,
              prog_counted(report->n_pairs, epochs->example).text, prog_counted(report->n_epochs, "epoch").text,
              report->best_epoch, report->valid_loss, epochs->quality, report->valid_quality,
              prog_short(report->examples_per_second).text, epochs->example);
    prog_print_device("steps were made", device.text);
    if (run->globals.json)
        print_json(values, report, epochs, device.text);
}

static int run_train(program *run, const void *all_values) {
    train_values values = *(const train_values *)all_values;
    const bool dual = values.kind == KIND_DUAL;
    prog_epochs epochs = {.quality = dual             ? "GAUC"
                                     : values.vectors ? "recall@10"
                                                      : "AUC",
                          .example = dual ? "request" : "pair"};
    thr_tower_report report;
    thr_error err = {.status = THR_OK};
    int rc = check_model_words(run, &values);

    if (rc == PROG_DONE && !dual)
        rc = check_words(run, &values);
    if (rc == PROG_DONE && !values.run.resume)
        prog_note_replaced(values.output, "model");
    values.run.on_epoch = prog_epochs_add;
    if (rc == PROG_DONE)
        rc = prog_epochs_begin(&epochs, run, values.run.n_epochs);
    if (rc == PROG_DONE) {
        if ((dual ? train_dual : train_tower)(run, &values, &epochs, &report, &err) == THR_OK)
            print_report(run, &values, &report, &epochs);
        else
            rc = prog_epochs_failed(&err);
    }
    prog_epochs_free(&epochs);
    return rc;
}

const prog_command prog_tower_train = {
    PROG_COMMAND("tower", "train", train_values, arguments, options, run_train),
    .usages = PROG_EXAMPLES("PAIRS -o MODEL [options]", "--vectors [QUERIES] ITEMS -o MODEL [options]",
                            "--kind dual REQUESTS --items FILE -o MODEL [options]"),
    .summary = "train a model that encodes texts or vectors, on pairs of a query and an item",
    .text =
        "Trains a model of two towers, which encode queries and items so that the codes of matching pairs have a large "
        "cosine (CDSSM with Recurrent Binary Embedding). Texts are UTF-8; letters and digits count, case does not.\n\n"
        "Each epoch ends with a validation on a share of the queries; the best model so far is written. The same "
        "pairs, options and --seed give the same model, to the bit, with any number of threads. Long trainings of "
        "texts "
        "run on a GPU if there is one (--device), and their models differ from the CPU's by rounding. A training that "
        "is stopped leaves MODEL.checkpoint; "
        "--resume continues it, on the CPU or a GPU.\n\n--vectors learns codes of vectors that any other model made. "
        "It learns from pairs of QUERIES and ITEMS, row by row or by id (--pairs), or from ITEMS alone: then the "
        "codes' cosines learn to rank as the vectors' own do, and each epoch prints recall@10 among items that are "
        "not trained on. It runs on the CPU, and ignores the lengths of vectors. thresher index build ITEMS --model "
        "MODEL makes an index of their codes.\n\n--kind dual trains a dual tower on requests instead; a GPU gives the "
        "CPU's model, to the bit. An example line of REQUESTS and of --items, where <TAB> is a tab:\n\n"
        "    age=3 income=2:0.5 click.category=12:3<TAB>a7:0.9 ~a2:1.5 a9\n    a7<TAB>category=12 brand=7\n\n"
        "A line of REQUESTS has the features of a user, a tab, and ads, the best first. age=3 is a feature, "
        "field=value; :0.5 is its value, 1 if absent. click.category=12:3 is history: 3 clicks on items with the "
        "feature category=12. a7:0.9 is an ad's ID and its value, a bid for example, 0 if absent. ~ marks an ad as "
        "good as the one before it. A line of --items has an ID, a tab and the features of the item.",
    .examples = PROG_EXAMPLES("thresher tower train clicks.tsv -o clicks.safetensors",
                              ("thresher tower train packages.tsv.xz --header --query-column 2 --item-column 3 "
                               "--shared-words -o p.safetensors"),
                              "thresher tower train clicks.tsv --kind cdssm -o full.safetensors",
                              "thresher tower train requests.tsv.xz --kind dual --items items.tsv -o ads.safetensors",
                              "thresher tower train --vectors items.npy --dims 64 -o codes.safetensors"),
};
