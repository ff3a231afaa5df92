/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode.c - `bench head --model`: a test set translated with the full head and with screens before it, and what that
 * costs in BLEU (WTA-LSH 5: figures 6 and 7, tables 7 and 8). One thread, one head's file for all ways.
 */
#include "decode_way.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"
#include "talk.h"

enum { BEAM = BENCH_BEAM, MOST_WAYS = 48 };

typedef struct course {
    bench_decoding decoding;
    bench_outcome done[MOST_WAYS];
    int n_done;
    bench_table table;
} course;

/* ------------------------------------------------------------------------------------------------ one way */

/* What the full head did with this beam, which is the first way that was tried with it. */
static const bench_outcome *full_of(const course *c, uint32_t beam) {
    for (int i = 0; i < c->n_done; i++)
        if (c->done[i].how.screen == THR_HEAD_SCREEN_FULL && c->done[i].how.beam == beam)
            return &c->done[i];
    return NULL;
}

static void parameters(const bench_way *how, char text[BENCH_ROW]) {
    char *at = text;
    *at = '\0';
    if (how->n_frequent != THR_HEAD_AUTO)
        at += snprintf(at, 32, "T %" PRIu32, how->n_frequent);
    if (how->threshold != THR_HEAD_AUTO)
        at += snprintf(at, 32, ", t %" PRIu32, how->threshold);
    if (how->n_shortlist != THR_HEAD_AUTO)
        (void)snprintf(at, 32, "%" PRIu32 " words", how->n_shortlist);
}

static void report(course *c, const bench_outcome *o) {
    const bench_outcome *full = full_of(c, o->how.beam);
    char text[BENCH_ROW];
    parameters(&o->how, text);
    bench_row(&c->table, "%s | %s | %" PRIu32 " | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %.1f", o->how.name, text,
              o->how.beam, o->head_seconds, o->seconds, full->head_seconds / o->head_seconds,
              full->seconds / o->seconds, o->bleu, full->bleu - o->bleu, 100 * o->same);
    if (o->recall > 0)
        bench_cells(&c->table, "%.4f", o->recall);
    else
        bench_cells(&c->table, "%s", "");
}

static int run_way(course *c, const bench_way *how) {
    bench_outcome *o = &c->done[c->n_done];
    if (bench_decode_way(&c->decoding, how, o) != 0)
        return -1;
    c->n_done++;
    report(c, o);
    return 0;
}

/* ------------------------------------------------------------------------------------------------ all ways */

static bench_way full_way(uint32_t beam) {
    return (bench_way){"full", THR_HEAD_SCREEN_FULL, THR_HEAD_AUTO, THR_HEAD_AUTO, THR_HEAD_AUTO, beam};
}

static bench_way frequent_way(uint32_t n) {
    return (bench_way){"frequent", THR_HEAD_SCREEN_FREQUENT, n, THR_HEAD_AUTO, THR_HEAD_AUTO, BEAM};
}

static bench_way wta_way(uint32_t n_frequent, uint32_t threshold) {
    return (bench_way){"wta", THR_HEAD_SCREEN_WTA, n_frequent, threshold, THR_HEAD_AUTO, BEAM};
}

static bench_way planes_way(uint32_t n) {
    return (bench_way){"planes", THR_HEAD_SCREEN_PLANES, THR_HEAD_AUTO, THR_HEAD_AUTO, n, BEAM};
}

/* Ways with a beam of 12: speed against BLEU. */
static int run_screens(course *c) {
    static const uint32_t frequent[] = {500, 1000, 2000, 4000, 8000, 16000}, thresholds[] = {6, 4, 3, 2},
                          lists[] = {16, 32, 64, 128, 256, 512};
    const uint32_t n_words = c->decoding.info.n_target_words;
    for (size_t i = 0; i < sizeof frequent / sizeof *frequent; i++) {
        const bench_way how = frequent_way(frequent[i]);
        if (frequent[i] < n_words && run_way(c, &how) != 0)
            return -1;
    }
    for (uint32_t n_frequent = 500; n_frequent <= 2000; n_frequent *= 4)
        for (size_t i = 0; i < sizeof thresholds / sizeof *thresholds; i++) {
            const bench_way how = wta_way(n_frequent, thresholds[i]);
            if (n_frequent < n_words && run_way(c, &how) != 0)
                return -1;
        }
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const bench_way how = planes_way(lists[i]);
        if (lists[i] < n_words && run_way(c, &how) != 0)
            return -1;
    }
    return 0;
}

/* The way by this screen with a beam of 12 that is fastest where so much BLEU is lost at most; NULL: none is. */
static const bench_outcome *best_of(const course *c, thr_head_screen screen, double loss, double same, bool head) {
    const bench_outcome *full = full_of(c, BEAM), *best = NULL;
    for (int i = 0; i < c->n_done; i++) {
        const bench_outcome *o = &c->done[i];
        if (o->how.screen != screen || o->how.beam != BEAM || full->bleu - o->bleu > loss || o->same < same)
            continue;
        if (best == NULL || (head ? o->head_seconds < best->head_seconds : o->seconds < best->seconds))
            best = o;
    }
    return best;
}

static double gain(const course *c, const bench_outcome *o, bool head) {
    const bench_outcome *full = full_of(c, BEAM);
    if (o == NULL)
        return 0;
    return head ? full->head_seconds / o->head_seconds : full->seconds / o->seconds;
}

/* Other beams, by the full head and by the best way of each screen. */
static int run_beams(course *c) {
    static const uint32_t beams[] = {1, 3, 6, 24, 36, 48};
    static const thr_head_screen screens[] = {THR_HEAD_SCREEN_WTA, THR_HEAD_SCREEN_PLANES};
    for (size_t b = 0; b < sizeof beams / sizeof *beams; b++) {
        const bench_way full = full_way(beams[b]);
        if (run_way(c, &full) != 0)
            return -1;
        for (size_t s = 0; s < sizeof screens / sizeof *screens; s++) {
            const bench_outcome *best = best_of(c, screens[s], 0.3, 0, false);
            if (best == NULL)
                continue;
            bench_way how = best->how;
            how.beam = beams[b];
            if (run_way(c, &how) != 0)
                return -1;
        }
    }
    return 0;
}

/* The speed-up of a screen with a beam of 48 over that with 12. */
static double at_wide_beams(const course *c, thr_head_screen screen) {
    const bench_outcome *best = best_of(c, screen, 0.3, 0, false), *full = full_of(c, 48);
    for (int i = 0; best != NULL && i < c->n_done; i++)
        if (c->done[i].how.screen == screen && c->done[i].how.beam == 48)
            return full->seconds / c->done[i].seconds / gain(c, best, false);
    return 0;
}

static void report_figures(course *c) {
    const double any = fmax(gain(c, best_of(c, THR_HEAD_SCREEN_WTA, 0.3, 0, false), false),
                            gain(c, best_of(c, THR_HEAD_SCREEN_PLANES, 0.3, 0, false), false));
    bench_figure(c->decoding.run, "decode_head_wta", gain(c, best_of(c, THR_HEAD_SCREEN_WTA, 0.4, 0, true), true), 4,
                 true, "full head's time over wta's, .4 BLEU lost at most");
    bench_figure(c->decoding.run, "decode_head_planes", gain(c, best_of(c, THR_HEAD_SCREEN_PLANES, 0, 1, true), true),
                 6, true, "full head's time over planes', the same translations");
    bench_figure(c->decoding.run, "decode_all", any, 2, true,
                 "translation with the full head over that with a screen, .3 BLEU lost at most");
    bench_figure(c->decoding.run, "decode_beams_wta", at_wide_beams(c, THR_HEAD_SCREEN_WTA), 1, true,
                 "the speed-up of wta with a beam of 48 over that with 12");
    bench_figure(c->decoding.run, "decode_beams_planes", at_wide_beams(c, THR_HEAD_SCREEN_PLANES), 1, true,
                 "the speed-up of planes with a beam of 48 over that with 12");
    const bench_outcome *planes = best_of(c, THR_HEAD_SCREEN_PLANES, 0, 1, true);
    bench_figure(c->decoding.run, "decode_recall_planes", planes != NULL ? planes->recall : 0, 0.999, true,
                 "planes with the same translations: recall@12 on the full head's states");
}

/* ------------------------------------------------------------------------------------------------ the plot */

/* A curve: the ways of a screen with a beam of 12 and so many frequent words (0: any), or those with smaller beams. */
typedef struct curve {
    const char *name;
    thr_head_screen screen;
    uint32_t n_frequent;
    bool beams;
} curve;

static bool is_on(const curve *c, const bench_way *how) {
    return how->screen == c->screen && how->beam <= BEAM && (how->beam < BEAM) == c->beams &&
           (c->n_frequent == 0 || how->n_frequent == c->n_frequent);
}

static int plot(const course *c, const char *title, const curve *curves, size_t n, const char *path) {
    const bench_outcome *full = full_of(c, BEAM);
    prog_plot *p = calloc(1, sizeof *p);
    if (p == NULL)
        return bench_fail(c->decoding.run, "no memory for a plot");
    p->title = title;
    p->x_label = "times the full head with a beam of 12";
    p->y_label = "BLEU";
    p->y_least = floor(full->bleu);
    for (size_t i = 0; i < n; i++) {
        prog_series *s = prog_plot_series(p, curves[i].name);
        for (int j = 0; j < c->n_done; j++)
            if (is_on(&curves[i], &c->done[j].how)) {
                prog_plot_point(s, full->seconds / c->done[j].seconds, c->done[j].bleu);
                p->y_least = fmin(p->y_least, floor(c->done[j].bleu));
            }
    }
    const int rc = prog_plot_write(p, path);
    free(p);
    if (rc != 0)
        return bench_fail(c->decoding.run, "%s: could not be written", path);
    const char *slash = strrchr(path, '/');
    bench_say(c->decoding.run, "![%s](%s)\n\n", title, slash != NULL ? slash + 1 : path);
    return 0;
}

/* Figure 6 to FILE.svg, figure 7 to FILE-beams.svg. */
static int plot_both(const course *c) {
    static const curve screens[] = {{"frequent words", THR_HEAD_SCREEN_FREQUENT, 0, false},
                                    {"wta, T 500", THR_HEAD_SCREEN_WTA, 500, false},
                                    {"wta, T 2000", THR_HEAD_SCREEN_WTA, 2000, false},
                                    {"planes", THR_HEAD_SCREEN_PLANES, 0, false}},
                       beams[] = {{"full, smaller beams", THR_HEAD_SCREEN_FULL, 0, true},
                                  {"wta, smaller beams", THR_HEAD_SCREEN_WTA, 0, true},
                                  {"planes, smaller beams", THR_HEAD_SCREEN_PLANES, 0, true}};
    const char *path = c->decoding.set->plot;
    const size_t length = strlen(path),
                 stem = length > 4 && strcmp(path + length - 4, ".svg") == 0 ? length - 4 : length;
    char other[1100];
    if (snprintf(other, sizeof other, "%.*s-beams%s", (int)stem, path, path + stem) >= (int)sizeof other)
        return bench_fail(c->decoding.run, "%s: the name is too long", path);
    const int rc = plot(c, "BLEU against speed, a beam of 12", screens, sizeof screens / sizeof *screens, path);
    return rc != 0 ? rc
                   : plot(c, "BLEU against speed, beams of 1, 3 and 6", beams, sizeof beams / sizeof *beams, other);
}

/* ------------------------------------------------------------------------------------------------ all */

static int run_all(course *c, bench_scan_run *run, const bench_decode_set *set) {
    const bench_way full = full_way(BEAM);
    bench_decoding *d = &c->decoding;
    bench_table_begin(&c->table, "A test set translated",
                      "screen | parameters | beam | head, s | all, s | head's speed-up | speed-up | BLEU | less than "
                      "full | same as full, % | recall@12");
    if (bench_decoding_open(d, run, set) != 0 || run_way(c, &full) != 0 || run_screens(c) != 0 || run_beams(c) != 0)
        return -1;
    bench_say(run,
              "A model of %s target words, states of %" PRIu32 " dimensions, %" PRIu32 " LSTM units; %" PRIu64
              " sentences one by one; log-probabilities over the candidates, those of planes over all words by a "
              "sample; BLEU of small letters. Hashes: %d bands of %d, of %d places each. A sentence's beams share "
              "their candidates. Speed-ups are over the full head with the same beam.\n\n",
              prog_exact(d->info.n_target_words).text, d->info.n_dims, d->info.n_units, d->sources.n, (int)BENCH_BANDS,
              (int)BENCH_HASHES, (int)BENCH_PLACES);
    bench_print(run, &c->table);
    report_figures(c);
    return set->plot != NULL ? plot_both(c) : 0;
}

int bench_decode(bench_scan_run *run, const bench_decode_set *set) {
    course *c = calloc(1, sizeof *c);
    if (c == NULL)
        return bench_fail(run, "no memory");
    const int rc = run_all(c, run, set);
    bench_decoding_close(&c->decoding);
    free(c);
    return rc;
}
