/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queries of heads on a GPU against the same on the CPU, by every screen, of one state and of a beam of twelve that
 * share their candidates. Weights are about normal; a state is a row of them with as much noise again, so that hashes
 * and codes find something. The full size is that of WTA-LSH table 4.
 */
#include "gcheck.h"

#include "base/clock.h"
#include "head/device/copy.h"

typedef struct sizes {
    uint32_t n_words, n_dims;
    int repeats; /* timed runs; the median counts */
} sizes;

static const sizes SIZES[] = {
    [GCHECK_SMALL] = {700, 24, 1}, [GCHECK_QUICK] = {8000, 256, 9}, [GCHECK_FULL] = {40000, 1000, 15}};

enum { MOST_REPEATS = 15, BEAM = 12, K = 12, N_SCREENS = 4 };

static const char *const SCREENS[N_SCREENS] = {[THR_HEAD_SCREEN_FULL] = "full",
                                               [THR_HEAD_SCREEN_FREQUENT] = "frequent",
                                               [THR_HEAD_SCREEN_WTA] = "wta",
                                               [THR_HEAD_SCREEN_PLANES] = "planes"};

typedef struct answer {
    uint32_t words[BEAM * K], n_candidates[BEAM];
    float logits[BEAM * K], log_probs[BEAM * K];
} answer;

typedef struct job {
    gcheck *g;
    sizes n;
    thr_context *cpu;
    thr_head *heads[2]; /* the CPU's, the GPU's */
    float *states;
    uint64_t n_compared, n_wrong;
} job;

/* Replaces the device copy of a first query: its operations can be timed. */
static thr_status copy_timed(void *object, const thr_devices *devices, void **copy, thr_error *error) {
    const job *j = object;
    (void)devices;
    return thr_head_device_create(j->heads[1], &j->g->one, copy, error);
}

static const thr_device_copier TIMED = {.copy = copy_timed, .free = thr_head_device_free};

static void build(job *j) {
    thr_context_options options = {0};
    void *copy;
    uint64_t rng = j->g->seed;
    const size_t n_dims = j->n.n_dims;
    float *weights = test_array(j->n.n_words * n_dims, sizeof *weights);
    j->states = test_array(BEAM * n_dims, sizeof *j->states);
    test_gaussian(&rng, weights, j->n.n_words * n_dims);
    test_gaussian(&rng, j->states, BEAM * n_dims);
    for (size_t i = 0; i < BEAM * n_dims; i++)
        j->states[i] += weights[i / n_dims * 7 * n_dims + i % n_dims];
    gcheck_must(thr_context_create(&options, &j->cpu, &err), &err, "starting");
    const thr_matrix rows = thr_matrix_f32(weights, j->n.n_words, j->n.n_dims);
    gcheck_must(thr_head_create(j->cpu, &rows, NULL, &j->heads[0], &err), &err, "building a head");
    gcheck_must(thr_head_create(j->g->context, &rows, NULL, &j->heads[1], &err), &err, "building a head");
    const thr_device_use use = {.copier = &TIMED, .object = j, .name = "a head"};
    gcheck_must(thr_device_enter(&j->heads[1]->on_device, &use, &copy, &err), &err, "copying a head");
    free(weights);
}

static thr_head_query_options options_of(const job *j, int screen) {
    thr_head_query_options o;
    thr_head_query_options_init(&o);
    o.screen = (thr_head_screen)screen;
    o.n_frequent = screen == THR_HEAD_SCREEN_PLANES ? 0 : j->n.n_words / 40;
    o.group = 0;
    return o;
}

static void ask(const job *j, int which, int screen, uint64_t n_states, answer *a) {
    thr_head_query_options o = options_of(j, screen);
    const thr_matrix states = thr_matrix_f32(j->states, n_states, j->n.n_dims);
    o.n_candidates = a->n_candidates;
    gcheck_must(
        thr_head_query(j->heads[which], &states, K, &o, &(thr_head_answers){a->words, a->logits, a->log_probs}, &err),
        &err, "asking a head");
}

static void check(job *j, int screen, uint64_t n_states) {
    answer answers[2];
    memset(answers, 0, sizeof answers);
    for (int which = 0; which < 2; which++)
        ask(j, which, screen, n_states, &answers[which]);
    const bool same = memcmp(&answers[0], &answers[1], sizeof *answers) == 0;
    j->n_compared += n_states;
    j->n_wrong += same ? 0 : 1;
    if (!same)
        (void)printf("FAIL heads: %u states, %s: not the CPU's answer\n", (unsigned)n_states, SCREENS[screen]);
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median time of a query, after one that counts for nothing. */
static double time_query(const job *j, int which, int screen, uint64_t n_states) {
    double seconds[MOST_REPEATS];
    answer a;
    for (int i = -1; i < j->n.repeats; i++) {
        const double start = thr_clock();
        ask(j, which, screen, n_states, &a);
        if (i >= 0)
            seconds[i] = thr_clock() - start;
    }
    qsort(seconds, (size_t)j->n.repeats, sizeof *seconds, by_size);
    return seconds[j->n.repeats / 2];
}

static void measure(const job *j, int screen) {
    const char *name = SCREENS[screen];
    answer a;
    gcheck_figure(j->g, time_query(j, 1, screen, 1), "heads.%s.one_s", name);
    gcheck_figure(j->g, time_query(j, 1, screen, BEAM), "heads.%s.beam_s", name);
    gcheck_figure(j->g, time_query(j, 0, screen, BEAM), "heads.%s.cpu_s", name);
    gcheck_stages_start();
    ask(j, 1, screen, BEAM, &a);
    const gcheck_stages stages = gcheck_stages_stop();
    gcheck_figure(j->g, a.n_candidates[0], "heads.%s.candidates", name);
    gcheck_figure(j->g, stages.hash, "heads.%s.hash_s", name);
    gcheck_figure(j->g, stages.hits, "heads.%s.look_up_s", name);
    gcheck_figure(j->g, stages.list, "heads.%s.list_s", name);
    gcheck_figure(j->g, stages.product, "heads.%s.product_s", name);
    gcheck_figure(j->g, stages.sums, "heads.%s.normalise_s", name);
    gcheck_figure(j->g, stages.best, "heads.%s.best_s", name);
    gcheck_figure(j->g, stages.copies, "heads.%s.copies_s", name);
}

void gcheck_heads(gcheck *g, bool timed) {
    job j = {.g = g, .n = SIZES[timed || g->effort == GCHECK_SMALL ? g->effort : GCHECK_QUICK]};
    gcheck_say("heads: %u words of %u dimensions", j.n.n_words, j.n.n_dims);
    build(&j);
    for (int screen = 0; screen < N_SCREENS; screen++) {
        check(&j, screen, 1);
        check(&j, screen, BEAM);
        if (timed)
            measure(&j, screen);
    }
    const thr_head_device_size size = thr_head_device_get_size(j.heads[1]->on_device.copy);
    gcheck_figure(g, j.n.n_words, "heads.words");
    gcheck_figure(g, (double)size.head_bytes, "heads.head_bytes");
    gcheck_figure(g, (double)size.workspace_bytes, "heads.workspace_bytes");
    gcheck_figure(g, (double)j.n_compared, "heads.compared");
    gcheck_figure(g, (double)j.n_wrong, "heads.wrong");
    g->n_failed += j.n_wrong;
    thr_head_free(j.heads[0]);
    thr_head_free(j.heads[1]);
    thr_context_free(j.cpu);
    free(j.states);
}
