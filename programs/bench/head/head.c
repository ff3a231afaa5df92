/* SPDX-License-Identifier: Apache-2.0 */
/*
 * head.c - `thresher-bench head`: cost and gain of the screens of output layers, beside the full head: the parts of
 * Table 4 of the WTA-LSH paper, recall against speed, and a grid of larger vocabularies and batches. One thread.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "head.h"
#include "cli/program.h"
#include "cli/messages.h"

enum { K = 12, BEAM = 12, BATCHES = 8, PAPER_WORDS = 40000, ROUNDS = 3, MOST_ROUNDS = 200 };

static const double ENOUGH = 0.4; /* seconds that a query is repeated for */
static const double PLANES_GAIN = 6, PLANES_RECALL = 0.999;

typedef struct head_values {
    bench_scan_values common;
    const char *weights, *tensor, *states;
} head_values;

/* A screen with what is set of its options. */
typedef struct screen_case {
    const char *name;
    thr_head_screen screen;
    uint32_t threshold, n_frequent, n_shortlist; /* 0: as by default */
    uint64_t group;
    const char *key; /* of its figure, of the first head; or NULL */
} screen_case;

/* What a query took, the best round of each; and what it answered. */
typedef struct timed {
    double total, bare;   /* with log-probabilities, and without */
    thr_head_times times; /* of the best without */
    double words, recall;
    thr_head_screen used; /* which AUTO has chosen */
} timed;

typedef struct head_bench {
    bench_scan_run *run;
    const head_values *values;
    uint32_t words[64 * K];
    float log_probs[64 * K];
    bool figured; /* the first head has its figures */
    bench_table parts, speed, grid;
} head_bench;

/* ------------------------------------------------------------------------------------------------ a screen */

static thr_head_query_options options_of(const screen_case *c) {
    thr_head_query_options o;
    thr_head_query_options_init(&o);
    o.screen = c->screen;
    o.group = c->group;
    if (c->threshold > 0)
        o.threshold = c->threshold;
    if (c->n_frequent > 0)
        o.n_frequent = c->n_frequent;
    if (c->n_shortlist > 0)
        o.n_shortlist = c->n_shortlist;
    return o;
}

/* Queries of n states each, one batch after the other of those there are. */
static void time_screen(head_bench *b, const bench_head *head, const screen_case *c, uint32_t n, timed *t) {
    thr_head_query_options o = options_of(c);
    thr_head_times times;
    thr_error *err = &b->run->err;
    const uint32_t n_batches = head->n_states / n;
    *t = (timed){.total = INFINITY, .bare = INFINITY};
    o.times = &times;
    o.used = &t->used;
    const double start = bench_clock(), enough = ENOUGH * (double)b->values->common.items / 100;
    for (int round = 0; round < ROUNDS || (round < MOST_ROUNDS && bench_clock() - start < enough); round++) {
        const uint32_t batch = (uint32_t)round % n_batches;
        const thr_matrix states = thr_matrix_f32(head->states + (size_t)batch * n * head->n_dims, n, head->n_dims);
        const double begin = bench_clock();
        bench_must(b->run,
                   thr_head_query(head->head, &states, K, &o, &(thr_head_answers){b->words, NULL, b->log_probs}, err));
        const double between = bench_clock();
        bench_must(b->run, thr_head_query(head->head, &states, K, &o, &(thr_head_answers){b->words, NULL, NULL}, err));
        const double bare = bench_clock() - between;
        t->total = fmin(t->total, between - begin);
        t->times = bare < t->bare ? times : t->times;
        t->bare = fmin(t->bare, bare);
    }
}

/* What the screen keeps of all states' words, a beam at a time, as it is timed. */
static void measure_recall(head_bench *b, const bench_head *head, const screen_case *c, timed *t) {
    const thr_head_query_options o = options_of(c);
    const uint32_t n_beams = c->screen == THR_HEAD_SCREEN_FULL ? 0 : head->n_states / BEAM;
    t->words = n_beams == 0 ? head->n_words : 0;
    t->recall = n_beams == 0 ? 1 : 0;
    for (uint32_t i = 0; i < n_beams; i++) {
        const thr_matrix beam = thr_matrix_f32(head->states + (size_t)i * BEAM * head->n_dims, BEAM, head->n_dims);
        thr_head_recall recall;
        bench_must(b->run, thr_head_measure(head->head, &beam, K, &o, &recall, &b->run->err));
        t->words += recall.candidates / n_beams;
        t->recall += recall.recall / n_beams;
    }
}

/* ------------------------------------------------------------------------------------------------ Table 4 */

static void measure_parts(head_bench *b, const bench_head *head) {
    static const screen_case cases[] = {{"full", THR_HEAD_SCREEN_FULL, 0, 0, 0, 0, NULL},
                                        {"wta, shared", THR_HEAD_SCREEN_WTA, 0, 0, 0, 0, NULL},
                                        {"wta, a state's own", THR_HEAD_SCREEN_WTA, 0, 0, 0, 1, NULL},
                                        {"planes, shared", THR_HEAD_SCREEN_PLANES, 0, 0, 0, 0, NULL},
                                        {"planes, a state's own", THR_HEAD_SCREEN_PLANES, 0, 0, 0, 1, NULL},
                                        {"auto, shared", THR_HEAD_SCREEN_AUTO, 0, 0, 0, 0, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        timed t;
        time_screen(b, head, &cases[i], BEAM, &t);
        measure_recall(b, head, &cases[i], &t);
        bench_row(&b->parts, "%s x %" PRIu32 " | %s | %.2f | %.2f | %.2f | %.2f | %.2f | %.0f",
                  prog_exact(head->n_words).text, head->n_dims, cases[i].name, t.times.screen * 1e3,
                  t.times.choose * 1e3, t.times.score * 1e3, fmax(t.total - t.bare, 0) * 1e3, t.total * 1e3, t.words);
    }
}

/* ------------------------------------------------------------------------------------------------ speed and recall */

static void measure_speed(head_bench *b, const bench_head *head) {
    static const screen_case full = {"full", THR_HEAD_SCREEN_FULL, 0, 0, 0, 0, NULL};
    static const screen_case cases[] = {{"frequent, T = 1000", THR_HEAD_SCREEN_FREQUENT, 0, 1000, 0, 0, NULL},
                                        {"wta, t = 2, T = 1000", THR_HEAD_SCREEN_WTA, 2, 1000, 0, 0, NULL},
                                        {"wta, t = 3, T = 1000", THR_HEAD_SCREEN_WTA, 3, 1000, 0, 0, NULL},
                                        {"wta, t = 4, T = 1000", THR_HEAD_SCREEN_WTA, 4, 1000, 0, 0, "head_wta"},
                                        {"wta, t = 6, T = 1000", THR_HEAD_SCREEN_WTA, 6, 1000, 0, 0, NULL},
                                        {"wta, t = 4, T = 4000", THR_HEAD_SCREEN_WTA, 4, 4000, 0, 0, NULL},
                                        {"planes, 50 words", THR_HEAD_SCREEN_PLANES, 0, 0, 50, 0, NULL},
                                        {"planes, 292 words", THR_HEAD_SCREEN_PLANES, 0, 0, 292, 0, "head_planes"},
                                        {"planes, 1000 words", THR_HEAD_SCREEN_PLANES, 0, 0, 1000, 0, NULL}};
    timed all;
    time_screen(b, head, &full, BEAM, &all);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        screen_case c = cases[i];
        timed t;
        if (c.n_frequent > head->n_words || c.n_shortlist > head->n_words)
            continue;
        time_screen(b, head, &c, BEAM, &t);
        measure_recall(b, head, &c, &t);
        bench_row(&b->speed, "%s x %" PRIu32 " | %s | %.0f | %.2f | %.2f | %.4f", prog_exact(head->n_words).text,
                  head->n_dims, c.name, t.words, t.total * 1e3, all.total / t.total, t.recall);
        if (c.key != NULL && !b->figured)
            bench_figure(b->run, c.key, all.total / t.total, c.screen == THR_HEAD_SCREEN_PLANES ? PLANES_GAIN : 1, true,
                         "the full head's time over that of %s, recall %.4f", c.name, t.recall);
        if (c.key != NULL && !b->figured && c.screen == THR_HEAD_SCREEN_PLANES)
            bench_figure(b->run, "head_planes_recall", t.recall, PLANES_RECALL, true, "recall@%d of %s", (int)K,
                         c.name);
    }
}

/* ------------------------------------------------------------------------------------------------ the grid */

enum { N_SCREENS = 4 };

/* recalls: of each screen, which does not depend on the batch; found with the first. */
static void measure_batch(head_bench *b, const bench_head *head, uint32_t n, double recalls[N_SCREENS]) {
    static const screen_case cases[N_SCREENS] = {{"full", THR_HEAD_SCREEN_FULL, 0, 0, 0, 1, NULL},
                                                 {"wta", THR_HEAD_SCREEN_WTA, 3, 0, 0, 1, NULL},
                                                 {"planes", THR_HEAD_SCREEN_PLANES, 0, 0, 0, 1, NULL},
                                                 {"auto", THR_HEAD_SCREEN_AUTO, 0, 0, 0, 1, NULL}};
    timed t[N_SCREENS];
    size_t best = 0;
    for (size_t i = 0; i < N_SCREENS; i++) {
        time_screen(b, head, &cases[i], n, &t[i]);
        if (i == N_SCREENS - 1)
            break; /* auto is one of the others */
        if (recalls[i] < 0)
            measure_recall(b, head, &cases[i], &t[i]);
        recalls[i] = recalls[i] < 0 ? t[i].recall : recalls[i];
        best = t[i].total < t[best].total ? i : best;
    }
    bench_row(&b->grid, "%s x %" PRIu32 " | %" PRIu32, prog_exact(head->n_words).text, head->n_dims, n);
    for (size_t i = 0; i < N_SCREENS; i++)
        bench_cells(&b->grid, "%.2f", t[i].total * 1e3);
    for (size_t i = 1; i < N_SCREENS - 1; i++)
        bench_cells(&b->grid, "%.4f", recalls[i]);
    bench_cells(&b->grid, "%s | %s | %.2f", cases[best].name,
                t[N_SCREENS - 1].used == THR_HEAD_SCREEN_FULL ? "full" : "planes", t[0].total / t[2].total);
}

static void measure_grid(head_bench *b) {
    static const uint32_t words[] = {128000, 256000}, dims[] = {1024, 4096}, batches[] = {1, 4, 16, 64};
    for (size_t i = 0; i < 4; i++) {
        const bench_head_shape shape = {(uint32_t)(words[i / 2] * b->values->common.items / 100), dims[i % 2], 64,
                                        b->run->program->globals.seed};
        double recalls[N_SCREENS] = {-1, -1, -1, -1};
        bench_head head;
        bench_head_draw(b->run, &shape, &head);
        for (size_t j = 0; j < sizeof batches / sizeof *batches; j++)
            measure_batch(b, &head, batches[j], recalls);
        bench_head_free(&head);
    }
}

/* ------------------------------------------------------------------------------------------------ all */

static void measure_head(head_bench *b, const bench_head *head) {
    if (head->n_states < BEAM)
        bench_fail(b->run, "%" PRIu32 " states: a beam has %d", head->n_states, (int)BEAM);
    measure_parts(b, head);
    measure_speed(b, head);
    b->figured = true;
}

static void measure_drawn(head_bench *b) {
    static const uint32_t dims[] = {1000, 500};
    for (size_t i = 0; i < 2; i++) {
        const bench_head_shape shape = {(uint32_t)(PAPER_WORDS * b->values->common.items / 100), dims[i],
                                        BEAM * BATCHES, b->run->program->globals.seed};
        bench_head head;
        bench_head_draw(b->run, &shape, &head);
        measure_head(b, &head);
        bench_head_free(&head);
    }
    measure_grid(b);
}

static void measure_given(head_bench *b) {
    bench_head head = {.head = NULL};
    uint64_t n_states = 0;
    const head_values *v = b->values;
    bench_scan_run *run = b->run;
    bench_must(run, thr_head_create_file(run->context, v->weights, v->tensor, NULL, &head.head, &run->err));
    bench_must(run, bench_load(run->context, v->states, &head.states, &n_states, &head.n_dims, &run->err));
    const thr_head_info info = thr_head_get_info(head.head);
    head.n_words = info.n_words;
    head.n_states = (uint32_t)(n_states < BEAM * BATCHES ? n_states : BEAM * BATCHES);
    if (head.n_dims != info.n_dims)
        bench_fail(run, "%s: states of %" PRIu32 " dimensions for a head of %" PRIu32, v->states, head.n_dims,
                   info.n_dims);
    measure_head(b, &head);
    bench_head_free(&head);
}

static void run_all(head_bench *b) {
    const bool given = b->values->weights != NULL;
    bench_table_begin(&b->parts, "Where the time goes, a beam of 12",
                      "words x dimensions | screen | hash or scan, ms | look-up, list, ms | product, ms | normalise, "
                      "ms | whole, ms | words scored");
    bench_table_begin(&b->speed, "Speed and recall, a beam of 12 that shares its words",
                      "words x dimensions | screen | words scored | ms | full over it | recall@12");
    bench_table_begin(&b->grid, "Which screen is the fastest, each state with its own words",
                      "words x dimensions | states | full, ms | wta, ms | planes, ms | auto, ms | wta recall | planes "
                      "recall | fastest | auto takes | full / planes");
    bench_say_machine(b->run, "head");
    if (given)
        bench_say(b->run, "The head of %s, states of %s.\n\n", b->values->weights, b->values->states);
    else
        bench_say(
            b->run,
            "Synthetic heads in half precision%s: words in topics, lengths and a bias that fall with the order of "
            "frequency, states near words drawn by Zipf's law. What a screen finds of a trained model's words "
            "is for its own states to say.\n\n",
            b->values->common.items == 100 ? "" : ", with fewer words");
    if (given)
        measure_given(b);
    else
        measure_drawn(b);
    bench_print(b->run, &b->parts);
    bench_print(b->run, &b->speed);
    if (!given)
        bench_print(b->run, &b->grid);
}

static void sections(bench_scan_run *run) {
    const head_values *values = (const head_values *)(const void *)run->values;
    if ((values->weights == NULL) != (values->states == NULL))
        bench_fail(run, "--weights and --states go together");
    head_bench *b = bench_room(run, sizeof *b);
    b->run = run;
    b->values = values;
    run_all(b);
    free(b);
}

static int run_head(program *run, const void *values) {
    return bench_run(run, &((const head_values *)values)->common, sections);
}

static const prog_option options[] = {
    {PROG_FILE_OPTION("weights", offsetof(head_values, weights),
                      "a head of a file instead, as head build takes them, with --states")},
    {PROG_TEXT_OPTION("tensor", "NAME", offsetof(head_values, tensor),
                      "of --weights, where it is .safetensors: which matrix (default: as head build)")},
    {PROG_FILE_OPTION("states", offsetof(head_values, states), "a row a state, 12 and more, of --weights")},
    {PROG_COUNT_OPTION("share", "PERCENT", offsetof(head_values, common.items),
                       "of the words that synthetic heads have; all take 6 GB of memory"),
     .fallback = "100", .least = 1, .most = 100},
    PROG_OPTIONS_END,
};

const prog_command bench_head_command = {
    PROG_COMMAND("head", NULL, head_values, bench_no_arguments, options, run_head),
    .summary = "measure output layers over large vocabularies on this machine",
    .text =
        "Asks heads for the best 12 words of states: all words, those that winner-take-all hashes choose, and those "
        "that plane codes choose. Prints where the time of a beam of 12 goes for 40,000 words (Table 4 of the "
        "WTA-LSH paper, on a CPU), speed-ups with recall, and which screen is the fastest for 128,000 and 256,000 "
        "words and 1 to 64 states, and which one auto takes: one thread. ./run bench head --model translates a test "
        "set with each screen instead.",
    .examples = PROG_EXAMPLES("thresher-bench head", "thresher-bench head --share 5",
                              "thresher-bench head --weights model.safetensors --states states.npy"),
};
