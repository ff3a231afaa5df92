/* SPDX-License-Identifier: Apache-2.0 */
/*
 * head.c - `thresher-bench head`: cost and gain of the screens of output layers, beside the full head: the parts of
 * Table 4 of the WTA-LSH paper, recall against speed, and a grid of larger vocabularies and batches. One thread.
 */
#include <inttypes.h>

#include "head.h"
#include "cli/messages.h"

enum { K = 12, BEAM = 12, BATCHES = 8, MOST_BATCH = 64, PAPER_WORDS = 40000, ROUNDS = 3, MOST_ROUNDS = 200 };

static const double ENOUGH = 0.4; /* seconds that a query is repeated for */
static const double PLANES_GAIN = 6, PLANES_RECALL = 0.999;

/* A screen and its options that are set. */
typedef struct screen_case {
    const char *name;
    thr_head_screen screen;
    uint32_t threshold, n_frequent, n_shortlist; /* 0: as by default */
    uint64_t group;
    double target; /* of the full head's time over it with the first head, or 0 */
} screen_case;

#define FULL   THR_HEAD_SCREEN_FULL
#define WTA    THR_HEAD_SCREEN_WTA
#define PLANES THR_HEAD_SCREEN_PLANES
#define AUTO   THR_HEAD_SCREEN_AUTO

/* What a query took, the best round of each; and what it answered. */
typedef struct timed {
    double total, bare;   /* with log-probabilities, and without */
    thr_head_times times; /* of the best without */
    double words, recall;
} timed;

typedef struct head_bench {
    bool figured; /* the first head has its figures */
    bench_table *parts, *speed, *grid;
} head_bench;

/* ------------------------------------------------------------------------------------------------ a screen */

static thr_head_query_options options_of(const screen_case *c) {
    BENCH_OPTIONS(thr_head_query, o);
    o.screen = c->screen;
    o.group = c->group;
    o.threshold = c->threshold > 0 ? c->threshold : o.threshold;
    o.n_frequent = c->n_frequent > 0 ? c->n_frequent : o.n_frequent;
    o.n_shortlist = c->n_shortlist > 0 ? c->n_shortlist : o.n_shortlist;
    return o;
}

/* n states from state `first` on. */
static thr_matrix states_of(const bench_head *head, uint32_t first, uint32_t n) {
    return thr_matrix_f32(head->states + (size_t)first * head->n_dims, n, head->n_dims);
}

/* Queries of n states each, one batch after the other of those there are. */
static timed time_screen(const bench_head *head, const screen_case *c, uint32_t n) {
    static uint32_t words[MOST_BATCH * K];
    static float log_probs[MOST_BATCH * K];
    thr_head_query_options o = options_of(c);
    thr_head_times times;
    timed t = {.total = INFINITY, .bare = INFINITY};
    o.times = &times;
    const double start = bench_clock(), enough = ENOUGH * (double)bench.values->items / 100;
    for (uint32_t round = 0; round < ROUNDS || (round < MOST_ROUNDS && bench_clock() - start < enough); round++) {
        const thr_matrix states = states_of(head, round % (head->n_states / n) * n, n);
        const double before = t.bare;
        for (BENCH_ALSO(t.total))
            bench_check(
                thr_head_query(head->head, &states, K, &o, &(thr_head_answers){words, NULL, log_probs}, &bench.err));
        for (BENCH_ALSO(t.bare))
            bench_check(thr_head_query(head->head, &states, K, &o, &(thr_head_answers){words, NULL, NULL}, &bench.err));
        t.times = t.bare < before ? times : t.times;
    }
    return t;
}

/* What the screen keeps of all states' words, a beam at a time, as it is timed. */
static void measure_recall(const bench_head *head, const screen_case *c, timed *t) {
    const thr_head_query_options o = options_of(c);
    const uint32_t n_beams = c->screen == FULL ? 0 : head->n_states / BEAM;
    t->words = n_beams == 0 ? head->n_words : 0;
    t->recall = n_beams == 0 ? 1 : 0;
    for (uint32_t i = 0; i < n_beams; i++) {
        const thr_matrix beam = states_of(head, i * BEAM, BEAM);
        thr_head_recall recall;
        bench_check(thr_head_measure(head->head, NULL, &beam, K, &o, &recall, &bench.err));
        t->words += recall.candidates / n_beams;
        t->recall += recall.recall / n_beams;
    }
}

/* ------------------------------------------------------------------------------------------------ tables */

/* Table 4. */
static void measure_parts(head_bench *b, const bench_head *head) {
    static const screen_case cases[] = {{.name = "full", .screen = FULL},
                                        {.name = "wta, shared", .screen = WTA},
                                        {"wta, a state's own", WTA, .group = 1},
                                        {.name = "planes, shared", .screen = PLANES},
                                        {"planes, a state's own", PLANES, .group = 1},
                                        {.name = "auto, shared", .screen = AUTO}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        timed t = time_screen(head, &cases[i], BEAM);
        measure_recall(head, &cases[i], &t);
        bench_row(b->parts, "%s x %" PRIu32 " | %s | %.2f | %.2f | %.2f | %.2f | %.2f | %.0f",
                  prog_exact(head->n_words).text, head->n_dims, cases[i].name, t.times.screen * 1e3,
                  t.times.choose * 1e3, t.times.score * 1e3, fmax(t.total - t.bare, 0) * 1e3, t.total * 1e3, t.words);
    }
}

static void measure_speed(head_bench *b, const bench_head *head) {
    static const screen_case full = {.name = "full", .screen = FULL};
    static const screen_case cases[] = {{"frequent, T = 1000", THR_HEAD_SCREEN_FREQUENT, .n_frequent = 1000},
                                        {"wta, t = 2, T = 1000", WTA, .threshold = 2, .n_frequent = 1000},
                                        {"wta, t = 3, T = 1000", WTA, .threshold = 3, .n_frequent = 1000},
                                        {"wta, t = 4, T = 1000", WTA, .threshold = 4, .n_frequent = 1000, .target = 1},
                                        {"wta, t = 6, T = 1000", WTA, .threshold = 6, .n_frequent = 1000},
                                        {"wta, t = 4, T = 4000", WTA, .threshold = 4, .n_frequent = 4000},
                                        {"planes, 50 words", PLANES, .n_shortlist = 50},
                                        {"planes, 292 words", PLANES, .n_shortlist = 292, .target = PLANES_GAIN},
                                        {"planes, 1000 words", PLANES, .n_shortlist = 1000}};
    const timed all = time_screen(head, &full, BEAM);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const screen_case *c = &cases[i];
        if (c->n_frequent > head->n_words || c->n_shortlist > head->n_words)
            continue;
        timed t = time_screen(head, c, BEAM);
        measure_recall(head, c, &t);
        bench_row(b->speed, "%s x %" PRIu32 " | %s | %.0f | %.2f | %.2f | %.4f", prog_exact(head->n_words).text,
                  head->n_dims, c->name, t.words, t.total * 1e3, all.total / t.total, t.recall);
        if (c->target == 0 || b->figured)
            continue;
        bench_at_least(all.total / t.total, c->target, "the full head's time over that of %s, recall %.4f", c->name,
                       t.recall);
        if (c->screen == PLANES)
            bench_at_least(t.recall, PLANES_RECALL, "recall@%d of %s", (int)K, c->name);
    }
}

/* ------------------------------------------------------------------------------------------------ the grid */

enum { N_SCREENS = 4 };

/* recalls: of each screen, which does not depend on the batch; found with the first. */
static void measure_batch(head_bench *b, const bench_head *head, uint32_t n, double recalls[N_SCREENS]) {
    static const screen_case cases[N_SCREENS] = {{"full", FULL, .group = 1},
                                                 {"wta", WTA, .threshold = 3, .group = 1},
                                                 {"planes", PLANES, .group = 1},
                                                 {"auto", AUTO, .group = 1}};
    for (size_t i = 0; i < N_SCREENS; i++) {
        timed t = time_screen(head, &cases[i], n);
        bench_row(b->grid, "%s x %" PRIu32 " | %" PRIu32 " | %s | %.2f", prog_exact(head->n_words).text, head->n_dims,
                  n, cases[i].name, t.total * 1e3);
        if (cases[i].screen != WTA && cases[i].screen != PLANES)
            continue; /* full finds all, auto is one of the others */
        if (recalls[i] < 0) {
            measure_recall(head, &cases[i], &t);
            recalls[i] = t.recall;
        }
        bench_cells(b->grid, "%.4f", recalls[i]);
    }
}

/* Measures a head that holds a share of the words. Its memory is released before it returns. */
static void measure_drawn(head_bench *b, uint32_t n_words, uint32_t n_dims, bool in_grid) {
    static const uint32_t batches[] = {1, 4, 16, MOST_BATCH};
    double recalls[N_SCREENS] = {-1, -1, -1, -1};
    bench_head head;
    const size_t mark = bench_mark();
    bench_head_draw((uint32_t)(n_words * bench.values->items / 100), n_dims, in_grid ? MOST_BATCH : BEAM * BATCHES,
                    &head);
    for (size_t i = 0; i < sizeof batches / sizeof *batches && in_grid; i++)
        measure_batch(b, &head, batches[i], recalls);
    if (!in_grid) {
        measure_parts(b, &head);
        measure_speed(b, &head);
        b->figured = true;
    }
    thr_head_free(head.head);
    bench_release(mark);
}

/* The file's first states. */
static void read_states(bench_head *head, const char *path) {
    thr_reader *reader = NULL;
    thr_matrix rows;
    bench_check(thr_reader_open(bench.context, path, &reader, &bench.err));
    bench_check(thr_reader_next(reader, BEAM * BATCHES, &rows, &bench.err));
    head->n_states = (uint32_t)rows.n_rows;
    head->n_dims = rows.n_dims;
    head->states = bench_alloc(rows.n_rows * rows.n_dims * sizeof *head->states);
    bench_check(thr_matrix_to_f32(&rows, 0, rows.n_rows, head->states));
    thr_reader_free(reader);
}

static void measure_given(head_bench *b) {
    bench_head head = {.head = NULL};
    const bench_values *v = bench.values;
    bench_check(thr_head_create_file(bench.context, v->weights, v->tensor, NULL, &head.head, &bench.err));
    read_states(&head, v->states);
    const thr_head_info info = thr_head_get_info(head.head);
    head.n_words = info.n_words;
    if (head.n_dims != info.n_dims)
        bench_fail("%s: states of %" PRIu32 " dimensions for a head of %" PRIu32, v->states, head.n_dims, info.n_dims);
    if (head.n_states < BEAM)
        bench_fail("%" PRIu32 " states: a beam has %d", head.n_states, (int)BEAM);
    measure_parts(b, &head);
    measure_speed(b, &head);
    thr_head_free(head.head);
}

static void sections(void) {
    const bench_values *v = bench.values;
    const bool given = v->weights != NULL;
    if (given != (v->states != NULL))
        bench_fail("--weights and --states go together");
    head_bench *b = bench_alloc(sizeof *b);
    b->parts = bench_table_begin(
        "where the time goes, a beam of 12", 2,
        "what | system | hash or scan, ms | look-up, list, ms | product, ms | normalise, ms | ms | words scored");
    b->speed = bench_table_begin("speed and recall, a beam of 12", 2,
                                 "what | system | words scored | ms | full over it | recall@12");
    b->grid = bench_table_begin("each state with its own words", 3, "what | states | system | ms | recall");
    bench_print_title("head");
    if (given) {
        bench_print_text("The head of %s, states of %s.\n\n", v->weights, v->states);
        measure_given(b);
    } else {
        bench_print_text(
            "Synthetic heads in half precision%s: words in topics, lengths and a bias that fall with the order "
            "of frequency, states near words drawn by Zipf's law. To learn what a screen finds of a trained "
            "model's words, measure with that model's states.\n\n",
            v->items == 100 ? "" : ", with fewer words");
        measure_drawn(b, PAPER_WORDS, 1000, false);
        measure_drawn(b, PAPER_WORDS, 500, false);
        for (uint32_t i = 0; i < 4; i++)
            measure_drawn(b, i < 2 ? 128000 : 256000, i % 2 == 0 ? 1024 : 4096, true);
    }
    bench_print(b->parts);
    bench_print(b->speed);
    if (!given)
        bench_print(b->grid);
}

static const prog_option options[] = {
    {PROG_FILE_OPTION("weights", offsetof(bench_values, weights),
                      "a head of a file instead, as head build takes them, with --states")},
    {PROG_TEXT_OPTION("tensor", "NAME", offsetof(bench_values, tensor),
                      "of --weights, where it is .safetensors: which matrix (default: as head build)")},
    {PROG_FILE_OPTION("states", offsetof(bench_values, states), "one row per state, 12 and more, of --weights")},
    {PROG_COUNT_OPTION("share", "PERCENT", offsetof(bench_values, items),
                       "of the words that synthetic heads have; all take 6 GB of memory"),
     .fallback = "100", .least = 1, .most = 100},
    BENCH_CSV_OPTION,
    PROG_OPTIONS_END,
};

BENCH_COMMAND(
    head, bench_no_arguments, options, sections,
    .summary = "measure output layers over large vocabularies on this machine",
    .text =
        "Asks heads for the best 12 words of states: all words, those that winner-take-all hashes choose, and those "
        "that plane codes choose. Prints where the time of a beam of 12 goes for 40,000 words (Table 4 of the "
        "WTA-LSH paper, on a CPU), speed-ups with recall, and which screen is the fastest for 128,000 and 256,000 "
        "words and 1 to 64 states, and which one auto takes: one thread. ./run bench head --model translates a test "
        "set with each screen instead.",
    .examples = PROG_EXAMPLES("thresher-bench head", "thresher-bench head --share 5",
                              "thresher-bench head --weights model.safetensors --states states.npy"));
