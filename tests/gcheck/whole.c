/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole translations and whole trainings of dual towers, by the public functions, in a context with GPUs and in one
 * without: the same texts, log-probabilities and model files, to the bit. Weights and requests are drawn, so a
 * translation goes on to its greatest length.
 */
#define TOWER_TEST "gcheck"
#include "gcheck.h"

#include "base/clock.h"
#include "unit/dual_tower_support.h"
#include "unit/translate_support.h"

#include <thresher/translate.h>

enum { BEAM = 12, TEXT_WORDS = 12, TEXT_ROOM = 16 * TEXT_WORDS, N_SCREENS = 2 };

typedef struct sizes {
    model_shape shape;
    uint32_t n_texts, max_length;
    int n_requests;
    uint32_t n_embedding, n_hidden, n_dims;
} sizes;

/* By effort; the full one has the shape of data/translate. */
static const sizes SIZES[] = {
    [GCHECK_SMALL] = {{40, 60, 8, 6, 10, 12, 1, THR_DTYPE_F32, false}, 3, 4, 60, 5, 9, 7},
    [GCHECK_QUICK] = {{2000, 8000, 64, 64, 64, 128, 1, THR_DTYPE_F32, false}, 8, 10, 2000, 16, 64, 32},
    [GCHECK_FULL] = {{30000, 42000, 256, 256, 256, 512, 1, THR_DTYPE_F32, false}, 16, 20, 20000, 32, 128, 64}};

static const struct {
    thr_head_screen screen;
    const char *name;
} SCREENS[N_SCREENS] = {{THR_HEAD_SCREEN_FULL, "full"}, {THR_HEAD_SCREEN_WTA, "wta"}};

static const char MODEL[] = "gcheck-model.safetensors", REQUESTS[] = "gcheck-requests.tsv",
                  ITEMS[] = "gcheck-items.tsv", OF_CPU[] = "gcheck-cpu.safetensors",
                  OF_GPU[] = "gcheck-gpu.safetensors";

typedef struct job {
    gcheck *g;
    sizes n;
    thr_context *contexts[2]; /* the CPU's, the GPUs' */
    char (*texts)[TEXT_ROOM];
    const char **at;
    uint64_t n_compared, n_wrong;
} job;

static void count(job *j, bool same, const char *what) {
    j->n_compared++;
    j->n_wrong += !same;
    if (!same)
        (void)printf("FAIL %s: not the CPU's\n", what);
}

/* ------------------------------------------------------------------------------------------ translations */

static void draw_texts(job *j) {
    j->texts = test_array(j->n.n_texts, sizeof *j->texts);
    j->at = test_array(j->n.n_texts, sizeof *j->at);
    for (uint32_t i = 0; i < j->n.n_texts; i++) {
        size_t used = 0;
        for (int w = 0; w < TEXT_WORDS; w++)
            used += (size_t)snprintf(j->texts[i] + used, TEXT_ROOM - used, "w%u ",
                                     3 + (unsigned)thr_rng_below(&j->g->seed, j->n.shape.n_source - 3));
        j->at[i] = j->texts[i];
    }
}

static thr_translator *open_translator(const job *j, thr_context *context, thr_head_screen screen) {
    thr_translator_options o = {0};
    thr_head_query_options query;
    thr_translator *translator = NULL;
    thr_head_query_options_init(&query);
    query.screen = screen;
    query.group = 0;
    query.n_frequent = screen == THR_HEAD_SCREEN_WTA ? (uint32_t)j->n.shape.n_target / 40 : query.n_frequent;
    o.query = &query;
    o.beam = BEAM;
    o.max_length = j->n.max_length;
    gcheck_must(thr_translator_open(context, MODEL, &o, &translator, &err), &err, "opening a model");
    return translator;
}

/* The second of two calls is timed: the first copies model and head. */
static thr_translations translate(const job *j, thr_translator *translator, double *seconds) {
    thr_translations r;
    for (int i = 0; i < 2; i++) {
        const double start = thr_clock();
        gcheck_must(thr_translator_translate(translator, j->at, NULL, j->n.n_texts, &r, &err), &err, "translating");
        *seconds = thr_clock() - start;
    }
    return r;
}

static bool same_translations(const thr_translations *a, const thr_translations *b) {
    bool same = a->n_texts == b->n_texts && a->first_of[a->n_texts] == b->first_of[a->n_texts];
    for (uint64_t i = 0; same && i < a->first_of[a->n_texts]; i++)
        same = strcmp(a->translations[i].text, b->translations[i].text) == 0 &&
               a->translations[i].log_prob == b->translations[i].log_prob;
    return same;
}

static void check_translations(job *j, size_t screen, bool timed) {
    thr_translator *translators[2];
    thr_translations results[2];
    double seconds[2];
    const char *name = SCREENS[screen].name;
    for (int i = 0; i < 2; i++) {
        translators[i] = open_translator(j, j->contexts[i], SCREENS[screen].screen);
        results[i] = translate(j, translators[i], &seconds[i]);
    }
    count(j, same_translations(&results[0], &results[1]), name);
    for (int i = 0; i < 2; i++)
        thr_translator_free(translators[i]);
    if (!timed)
        return;
    const thr_translator_times *times = &results[1].times;
    gcheck_figure(j->g, seconds[1], "translate.%s.gpu_s", name);
    gcheck_figure(j->g, seconds[0], "translate.%s.cpu_s", name);
    gcheck_figure(j->g, times->encoder, "translate.%s.encoder_s", name);
    gcheck_figure(j->g, times->layers + times->attention, "translate.%s.layers_s", name);
    gcheck_figure(j->g, times->head, "translate.%s.head_s", name);
    gcheck_figure(j->g, times->expansion, "translate.%s.expansion_s", name);
    gcheck_figure(j->g, times->reorder, "translate.%s.reorder_s", name);
}

static void translate_all(job *j, bool timed) {
    model *m = model_make(&j->n.shape);
    model_write(j->contexts[0], m, MODEL, SIZE_MAX);
    draw_texts(j);
    for (size_t screen = 0; screen < N_SCREENS; screen++)
        check_translations(j, screen, timed);
    (void)unlink(MODEL);
    free(j->texts);
    free(j->at);
}

/* -------------------------------------------------------------------------------------- trainings of ads */

static void train_all(job *j, bool timed) {
    static const char *const models[] = {OF_CPU, OF_GPU}, *const names[] = {"cpu", "gpu"};
    thr_dual_train_options options;
    dual_small(&options);
    options.run.n_epochs = 2;
    options.run.batch = j->n.n_requests >= 2000 ? 512 : options.run.batch;
    options.config.n_embedding = j->n.n_embedding;
    options.config.n_hidden = j->n.n_hidden;
    options.config.n_dims = j->n.n_dims;
    dual_write_items(ITEMS);
    dual_write_requests(REQUESTS, 1, j->n.n_requests);
    for (int i = 0; i < 2; i++) {
        const thr_tower_report report = dual_train(j->contexts[i], REQUESTS, ITEMS, models[i], &options);
        if (timed)
            gcheck_figure(j->g, report.examples_per_second, "dual.%s_per_s", names[i]);
    }
    count(j, tower_same_files(OF_CPU, OF_GPU), "a model of ads");
    for (int i = 0; i < 2; i++)
        (void)unlink(models[i]);
    (void)unlink(ITEMS);
    (void)unlink(REQUESTS);
}

/* -------------------------------------------------------------------------------------------------- all */

void gcheck_whole(gcheck *g, bool timed) {
    job j = {.g = g,
             .n = SIZES[timed || g->effort == GCHECK_SMALL ? g->effort : GCHECK_QUICK],
             .contexts = {NULL, g->context}};
    gcheck_say("whole: %u texts, %u target words; %d requests", j.n.n_texts, (unsigned)j.n.shape.n_target,
               j.n.n_requests);
    gcheck_must(thr_context_create(NULL, &j.contexts[0], &err), &err, "starting");
    translate_all(&j, timed);
    train_all(&j, timed);
    gcheck_figure(g, j.n.n_texts, "translate.texts");
    gcheck_figure(g, (double)j.n.shape.n_target, "translate.words");
    gcheck_figure(g, j.n.n_requests, "dual.requests");
    gcheck_figure(g, (double)j.n_compared, "whole.compared");
    gcheck_figure(g, (double)j.n_wrong, "whole.wrong");
    g->n_failed += j.n_wrong;
    thr_context_free(j.contexts[0]);
}
