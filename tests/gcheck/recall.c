/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real codes of clustered vectors: 200 dimensions, cosine, the best 10, refined from float32 vectors in the host's
 * memory. How many survivors and candidates recall 0.99 takes is found by trying, on half of the queries; the recall
 * that is reported is the other half's. Truth is the exact scan's.
 */
#include "gcheck.h"

#include "base/clock.h"
#include "run_scan.h"

enum { DIMS = 200, K = 10, LEARN_MOST = 128, N_COUNTS = 15 };

static const uint64_t ITEMS[] = {4096, 1000000, 8800000}, QUERIES[] = {16, 128, 512};
static const double WANTED = 0.99, RESERVE = 0.992; /* the recall required of the half that counts are learnt from */

/* Candidates, and survivors of nested codes, that are tried. */
static const uint64_t COUNTS[N_COUNTS] = {10,   15,   20,   30,   50,    100,   200,  500,
                                          1000, 2000, 4000, 8000, 16000, 32000, 64000};

static const struct {
    const char *name;
    uint32_t bits, lead;
} KINDS[] = {{"recall.nested3", 3, 1}, {"recall.flat3", 3, 0}, {"recall.flat4", 4, 0}, {"recall.flat1", 1, 0}};

/* Everything that one kind of codes is measured with. */
typedef struct trial {
    gcheck *g;
    gcheck_case c; /* all queries */
    const uint64_t *truth;
    uint64_t n_learn;
} trial;

/* The mean share of true rows among those found, of queries [first, end). */
static double recall_of(const trial *t, uint64_t first, uint64_t end, uint64_t survivors, uint64_t candidates) {
    thr_matrix some = t->c.queries;
    thr_search_options options = t->c.options;
    uint64_t *rows = test_array((end - first) * K, sizeof *rows), hits = 0;
    some.data = (const char *)some.data + first * some.stride;
    some.n_rows = end - first;
    options.n_survivors = survivors;
    options.n_candidates = candidates;
    gcheck_must(test_run_scan(t->g->scan, t->c.corpus, &some, &options,
                              &(thr_answers){.k = K, .ids = rows, .certified = options.certified}, &err),
                &err, t->c.name);
    for (uint64_t i = 0; i < (end - first) * K; i++) {
        const uint64_t *true_rows = t->truth + (first + i / K) * K;
        for (int j = 0; j < K; j++)
            hits += true_rows[j] == rows[i];
    }
    free(rows);
    return (double)hits / (double)((end - first) * K);
}

/* The fewest survivors with which so many candidates are enough; 0 where none are. */
static uint64_t fewest_survivors(const trial *t, uint64_t candidates) {
    const uint64_t n = t->c.corpus->n_rows;
    uint64_t fewest = 0;
    if (t->c.corpus->lead == t->c.corpus->quantiser->item_bits)
        return recall_of(t, 0, t->n_learn, candidates, candidates) >= RESERVE ? candidates : 0;
    for (int i = N_COUNTS - 1; i >= 0 && COUNTS[i] >= candidates; i--) {
        const uint64_t survivors = COUNTS[i] < n ? COUNTS[i] : n;
        if (recall_of(t, 0, t->n_learn, survivors, candidates) < RESERVE)
            break;
        fewest = survivors;
    }
    return fewest;
}

/* Of all counts that are enough those with which one query takes least time. */
static bool learn(trial *t) {
    thr_search_options best = t->c.options;
    double least = 0;
    int n_worse = 0;
    for (int i = 0; i < N_COUNTS && n_worse < 2; i++) {
        const uint64_t candidates = COUNTS[i], survivors = fewest_survivors(t, candidates);
        if (survivors == 0)
            continue;
        t->c.options.n_candidates = candidates;
        t->c.options.n_survivors = survivors;
        const double seconds = gcheck_time(t->g, &t->c, 1);
        n_worse += least > 0 && seconds >= least;
        if (least == 0 || seconds < least) {
            least = seconds;
            best = t->c.options;
        }
    }
    t->c.options = best;
    return least > 0;
}

static void measure_kind(gcheck *g, const gcheck_vectors *vectors, const uint64_t *truth, size_t kind) {
    gcheck_coded coded;
    const double start = thr_clock();
    gcheck_say("%s: encoding", KINDS[kind].name);
    gcheck_vectors_encode(g, vectors, KINDS[kind].bits, KINDS[kind].lead, &coded);
    gcheck_figure(g, thr_clock() - start, "%s.encode_s", KINDS[kind].name);
    const uint64_t free_before = gcheck_device_free(g), n = vectors->n_queries;
    trial t = {.g = g,
               .c = {.name = KINDS[kind].name,
                     .corpus = &coded.scan,
                     .queries = thr_matrix_f32(vectors->queries, n, DIMS),
                     .k = K},
               .truth = truth,
               .n_learn = n / 2 < LEARN_MOST ? n / 2 : LEARN_MOST};
    t.c.options = (thr_search_options){.recall = 0.99f};
    gcheck_say("%s: how many candidates recall %.2f takes", KINDS[kind].name, WANTED);
    gcheck_put(g, &g->one, &coded.scan);
    const bool learnt = learn(&t);
    gcheck_take(&coded.scan); /* with the memory that trials took */
    gcheck_put_measured(g, KINDS[kind].name, &coded.scan, coded.code_bytes);
    if (learnt) {
        const thr_search_options *o = &t.c.options;
        gcheck_figure(g, (double)o->n_survivors, "%s.survivors", t.c.name);
        gcheck_figure(g, (double)o->n_candidates, "%s.candidates", t.c.name);
        gcheck_figure(g, recall_of(&t, t.n_learn, n, o->n_survivors, o->n_candidates), "%s.recall", t.c.name);
        gcheck_say("%s: searching", KINDS[kind].name);
        gcheck_time_batches(g, &t.c);
        gcheck_time_ways(g, &t.c);
        gcheck_time_stages(g, &t.c);
        gcheck_check(g, &t.c, 64);
    } else {
        gcheck_say("%s: none of the counts reaches it", KINDS[kind].name);
    }
    gcheck_measure_memory(g, t.c.name, &coded.scan, free_before);
    gcheck_take(&coded.scan);
    gcheck_coded_free(g, &coded);
}

/* The exact scan needs no codes, but a quantiser: codes of one bit are quickly made. */
static uint64_t *find_truth(gcheck *g, const gcheck_vectors *vectors) {
    uint64_t *truth = test_array(vectors->n_queries * K, sizeof *truth);
    const thr_matrix queries = thr_matrix_f32(vectors->queries, vectors->n_queries, DIMS);
    gcheck_coded coded;
    thr_search_options options = {.recall = 0.99f};
    options.exact = true;
    gcheck_vectors_encode(g, vectors, 1, 0, &coded);
    const double start = thr_clock();
    gcheck_must(test_run_scan(g->scan, &coded.scan, &queries, &options,
                              &(thr_answers){.k = K, .ids = truth, .certified = options.certified}, &err),
                &err, "exact scan");
    gcheck_figure(g, (double)vectors->n_queries / (thr_clock() - start), "recall.exact_cpu_per_s");
    gcheck_coded_free(g, &coded);
    return truth;
}

void gcheck_bench_recall(gcheck *g) {
    gcheck_vectors vectors;
    uint64_t n = ITEMS[g->effort];
    const uint64_t fit = gcheck_host_free() / (DIMS * sizeof(float) * 3 / 2) / 64 * 64; /* codes, too */
    n = n < fit ? n : fit;
    gcheck_say("%.1f M vectors of 200 dimensions: making them", (double)n * 1e-6);
    gcheck_vectors_make(g, n, QUERIES[g->effort], DIMS, &vectors);
    gcheck_say("their true neighbours");
    uint64_t *truth = find_truth(g, &vectors);
    for (size_t kind = 0; kind < COUNT_OF(KINDS); kind++)
        measure_kind(g, &vectors, truth, kind);
    free(truth);
    gcheck_vectors_free(&vectors);
}
