/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode.c - `bench head --model`: a test set translated with the full head and with screens before it, and what that
 * costs in BLEU (WTA-LSH 5: figures 6 and 7, tables 7 and 8). One thread, one head's file for all ways.
 */
#include "decode.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"
#include "talk.h"
#include "text_lines.h"

/* Of the hashes: the fastest of some settings that lost little BLEU, on the model in data/translate and its test. */
enum { N_BANDS = 256, N_HASHES = 5, N_PLACES = 4 };
enum { BEAM = 12, MOST_WAYS = 48, MOST_STATES = 2400 };

/* Texts one behind the other. */
typedef struct texts {
    uint64_t n, room, bytes_room;
    uint64_t *offsets; /* n + 1 */
    char *bytes;
} texts;

/* How a test set is translated. */
typedef struct way {
    const char *name; /* of the screen */
    thr_head_screen screen;
    uint32_t n_frequent, threshold, n_shortlist; /* THR_HEAD_AUTO where there is no such thing */
    uint32_t beam;
} way;

typedef struct outcome {
    way how;
    double seconds, head_seconds, bleu;
    double same;   /* share of the texts whose translation is the full head's with that beam */
    double recall; /* of the full head's best words, as many as the beam has, on the states of its search */
} outcome;

typedef struct decoding {
    bench_scan_run *run;
    const bench_decode_set *set;
    char head[1100];
    texts sources, references, full; /* full: translations of all words with this beam */
    thr_translator_info info;
    thr_head *own; /* of the model, for recall */
    float *states; /* the first that the full head was asked with, n_states of them */
    uint64_t n_states;
    outcome done[MOST_WAYS];
    int n_done;
    bench_table table;
} decoding;

/* ------------------------------------------------------------------------------------------------ texts */

static void free_texts(texts *t) {
    free(t->offsets);
    free(t->bytes);
    *t = (texts){.n = 0};
}

static int add_text(texts *t, const char *text, size_t length) {
    if (t->n + 2 > t->room) {
        const uint64_t room = 2 * t->room + 64;
        uint64_t *offsets = realloc(t->offsets, room * sizeof *offsets);
        if (offsets == NULL)
            return -1;
        t->offsets = offsets;
        t->room = room;
        t->offsets[0] = 0;
    }
    const uint64_t begin = t->offsets[t->n];
    if (begin + length > t->bytes_room) {
        const uint64_t room = 2 * t->bytes_room + length + 4096;
        char *bytes = realloc(t->bytes, room);
        if (bytes == NULL)
            return -1;
        t->bytes = bytes;
        t->bytes_room = room;
    }
    memcpy(t->bytes + begin, text, length);
    t->offsets[++t->n] = begin + length;
    return 0;
}

static thr_bleu_texts view(const texts *t) {
    return (thr_bleu_texts){.n = t->n, .offsets = t->offsets, .bytes = t->bytes};
}

/* The first `most` lines of a file. */
static int read_texts(decoding *d, const char *path, uint64_t most, texts *t) {
    prog_lines_in in;
    const char *line = NULL;
    size_t length;
    int rc = prog_lines_open(&in, d->run->context, path) == PROG_DONE ? 0 : -1;
    while (rc == 0 && t->n < most) {
        if (prog_lines_next(&in, &line, &length) != PROG_DONE)
            rc = -1;
        else if (line == NULL)
            break;
        else if (add_text(t, line, length) != 0)
            rc = bench_fail(d->run, "%s: no memory for its lines", path);
    }
    prog_lines_close(&in);
    return rc;
}

static int read_set(decoding *d) {
    const bench_decode_set *set = d->set;
    if (read_texts(d, set->source, set->n_texts, &d->sources) != 0 ||
        read_texts(d, set->target, set->n_texts, &d->references) != 0)
        return -1;
    if (d->sources.n == 0 || d->sources.n != d->references.n)
        return bench_fail(d->run, "%s has %" PRIu64 " lines and %s %" PRIu64 ": as many are wanted, and one at least",
                          set->source, d->sources.n, set->target, d->references.n);
    return 0;
}

/* ------------------------------------------------------------------------------------------------ one way */

/* The first states of the full head's search. */
static void take_states(void *user, const float *states, uint64_t n, uint32_t n_dims) {
    decoding *d = user;
    const uint64_t left = MOST_STATES - d->n_states;
    n = n < left ? n : left;
    if (d->states != NULL)
        memcpy(d->states + d->n_states * n_dims, states, n * n_dims * sizeof *states);
    d->n_states += d->states != NULL ? n : 0;
}

/* All screens ask one file, so that none is built in a time that is measured. */
static int make_head(decoding *d) {
    thr_head_build_options build;
    thr_head *head = NULL;
    (void)snprintf(d->head, sizeof d->head, "%s/model.head", d->run->scratch);
    thr_head_build_options_init(&build);
    build.n_bands = N_BANDS;
    build.n_hashes = N_HASHES;
    build.n_places = N_PLACES;
    thr_status status =
        thr_head_create_file(d->run->context, d->set->model, "output.weight", &build, &head, &d->run->err);
    if (status == THR_OK)
        status = thr_head_save(head, d->head, true, &d->run->err);
    if (status == THR_OK)
        d->states = malloc((size_t)MOST_STATES * thr_head_get_info(head).n_dims * sizeof *d->states);
    d->own = head;
    return status == THR_OK ? 0 : -1;
}

static thr_head_query_options query_of(const way *how) {
    thr_head_query_options query;
    thr_head_query_options_init(&query);
    query.screen = how->screen;
    query.n_frequent = how->n_frequent;
    query.threshold = how->threshold;
    query.n_shortlist = how->n_shortlist;
    if (how->screen == THR_HEAD_SCREEN_PLANES)
        query.normaliser = THR_HEAD_NORMALISER_SAMPLED;
    query.group = 0; /* candidates are shared by the beams, as the paper has them */
    return query;
}

static int measure_recall(decoding *d, const way *how, outcome *result) {
    const thr_matrix states = thr_matrix_f32(d->states, d->n_states, d->info.n_dims);
    thr_head_query_options query = query_of(how);
    query.group = how->beam;
    thr_head_recall recall;
    if (thr_head_measure(d->own, &states, how->beam, &query, &recall, &d->run->err) != THR_OK)
        return -1;
    result->recall = recall.recall;
    return 0;
}

static int open_translator(decoding *d, const way *how, thr_translator **translator) {
    const thr_head_query_options query = query_of(how);
    thr_translator_options options;
    thr_translator_options_init(&options);
    options.head = d->head;
    options.query = &query;
    options.beam = how->beam;
    options.batch = 1; /* as a service has them */
    if (how->screen == THR_HEAD_SCREEN_FULL && how->beam == BEAM) {
        options.on_states = take_states;
        options.on_states_user = d;
    }
    if (thr_translator_open(d->run->context, d->set->model, &options, translator, &d->run->err) != THR_OK)
        return -1;
    d->info = thr_translator_get_info(*translator);
    return 0;
}

static int keep(decoding *d, const thr_translations *found, texts *out) {
    for (uint64_t i = 0; i < found->n_texts; i++) {
        const char *text =
            found->first_of[i] < found->first_of[i + 1] ? found->translations[found->first_of[i]].text : "";
        if (add_text(out, text, strlen(text)) != 0)
            return bench_fail(d->run, "no memory for translations");
    }
    return 0;
}

static int translate_lines(decoding *d, const way *how, const char *const *lines, const size_t *lengths,
                           outcome *result, texts *out) {
    thr_translator *translator = NULL;
    thr_translations found;
    if (open_translator(d, how, &translator) != 0)
        return -1;
    const double start = bench_clock();
    int rc =
        thr_translator_translate(translator, lines, lengths, d->sources.n, &found, &d->run->err) == THR_OK ? 0 : -1;
    result->seconds = bench_clock() - start;
    if (rc == 0) {
        result->how = *how;
        result->head_seconds = found.head_seconds;
        rc = keep(d, &found, out);
    }
    thr_translator_free(translator);
    return rc;
}

static int translate(decoding *d, const way *how, outcome *result, texts *out) {
    const char **lines = malloc(d->sources.n * sizeof *lines);
    size_t *lengths = malloc(d->sources.n * sizeof *lengths);
    int rc = -1;
    if (lines == NULL || lengths == NULL) {
        rc = bench_fail(d->run, "no memory for lines");
    } else {
        for (uint64_t i = 0; i < d->sources.n; i++) {
            lines[i] = d->sources.bytes + d->sources.offsets[i];
            lengths[i] = (size_t)(d->sources.offsets[i + 1] - d->sources.offsets[i]);
        }
        rc = translate_lines(d, how, lines, lengths, result, out);
    }
    free(lengths);
    free(lines);
    return rc;
}

static double same_texts(const texts *a, const texts *b) {
    uint64_t n = 0;
    for (uint64_t i = 0; i < a->n; i++) {
        const uint64_t length = a->offsets[i + 1] - a->offsets[i];
        n += length == b->offsets[i + 1] - b->offsets[i] &&
             memcmp(a->bytes + a->offsets[i], b->bytes + b->offsets[i], length) == 0;
    }
    return (double)n / (double)a->n;
}

/* What the full head did with this beam, which is the first way that was tried with it. */
static const outcome *full_of(const decoding *d, uint32_t beam) {
    for (int i = 0; i < d->n_done; i++)
        if (d->done[i].how.screen == THR_HEAD_SCREEN_FULL && d->done[i].how.beam == beam)
            return &d->done[i];
    return NULL;
}

static void parameters(const way *how, char text[BENCH_CELL]) {
    char *at = text;
    *at = '\0';
    if (how->n_frequent != THR_HEAD_AUTO)
        at += snprintf(at, 32, "T %" PRIu32, how->n_frequent);
    if (how->threshold != THR_HEAD_AUTO)
        at += snprintf(at, 32, ", t %" PRIu32, how->threshold);
    if (how->n_shortlist != THR_HEAD_AUTO)
        (void)snprintf(at, 32, "%" PRIu32 " words", how->n_shortlist);
}

static void report(decoding *d, const outcome *o) {
    const outcome *full = full_of(d, o->how.beam);
    char text[BENCH_CELL];
    parameters(&o->how, text);
    bench_table_row(&d->table);
    bench_table_cell(&d->table, "%s", o->how.name);
    bench_table_cell(&d->table, "%s", text);
    bench_table_cell(&d->table, "%" PRIu32, o->how.beam);
    bench_table_cell(&d->table, "%.2f", o->head_seconds);
    bench_table_cell(&d->table, "%.2f", o->seconds);
    bench_table_cell(&d->table, "%.2f", full->head_seconds / o->head_seconds);
    bench_table_cell(&d->table, "%.2f", full->seconds / o->seconds);
    bench_table_cell(&d->table, "%.2f", o->bleu);
    bench_table_cell(&d->table, "%.2f", full->bleu - o->bleu);
    bench_table_cell(&d->table, "%.1f", 100 * o->same);
    if (o->recall > 0)
        bench_table_cell(&d->table, "%.4f", o->recall);
    else
        bench_table_cell(&d->table, "%s", "");
}

static int run_way(decoding *d, const way *how, const outcome **result) {
    outcome o = {.seconds = 0};
    texts out = {.n = 0};
    thr_bleu_options options;
    thr_bleu_score score;
    thr_bleu_options_init(&options);
    options.lower_case = true; /* as the model's words are */
    int rc = translate(d, how, &o, &out);
    if (rc == 0) {
        const thr_bleu_texts hypotheses = view(&out), references = view(&d->references);
        rc = thr_bleu(&hypotheses, &references, 1, &options, &score, NULL, &d->run->err) == THR_OK ? 0 : -1;
    }
    if (rc == 0 && how->screen == THR_HEAD_SCREEN_FULL) {
        free_texts(&d->full);
        d->full = out;
        out = (texts){.n = 0};
        o.same = 1;
    } else if (rc == 0) {
        o.same = same_texts(&out, &d->full);
        rc = how->beam == BEAM ? measure_recall(d, how, &o) : 0;
    }
    free_texts(&out);
    if (rc != 0)
        return -1;
    o.bleu = score.bleu;
    d->done[d->n_done++] = o;
    report(d, &d->done[d->n_done - 1]);
    if (result != NULL)
        *result = &d->done[d->n_done - 1];
    prog_detail("%s, beam %" PRIu32 ": %.1f s, BLEU %.2f", how->name, how->beam, o.seconds, o.bleu);
    return 0;
}

/* ------------------------------------------------------------------------------------------------ all ways */

static way full_way(uint32_t beam) {
    return (way){"full", THR_HEAD_SCREEN_FULL, THR_HEAD_AUTO, THR_HEAD_AUTO, THR_HEAD_AUTO, beam};
}

static way frequent_way(uint32_t n) {
    return (way){"frequent", THR_HEAD_SCREEN_FREQUENT, n, THR_HEAD_AUTO, THR_HEAD_AUTO, BEAM};
}

static way wta_way(uint32_t n_frequent, uint32_t threshold) {
    return (way){"wta", THR_HEAD_SCREEN_WTA, n_frequent, threshold, THR_HEAD_AUTO, BEAM};
}

static way planes_way(uint32_t n) {
    return (way){"planes", THR_HEAD_SCREEN_PLANES, THR_HEAD_AUTO, THR_HEAD_AUTO, n, BEAM};
}

/* Ways with a beam of 12: speed against BLEU. */
static int run_screens(decoding *d) {
    static const uint32_t frequent[] = {500, 1000, 2000, 4000, 8000, 16000}, thresholds[] = {6, 4, 3, 2},
                          lists[] = {16, 32, 64, 128, 256, 512};
    const uint32_t n_words = d->info.n_target_words;
    for (size_t i = 0; i < sizeof frequent / sizeof *frequent; i++) {
        const way how = frequent_way(frequent[i]);
        if (frequent[i] < n_words && run_way(d, &how, NULL) != 0)
            return -1;
    }
    for (uint32_t n_frequent = 500; n_frequent <= 2000; n_frequent *= 4)
        for (size_t i = 0; i < sizeof thresholds / sizeof *thresholds; i++) {
            const way how = wta_way(n_frequent, thresholds[i]);
            if (n_frequent < n_words && run_way(d, &how, NULL) != 0)
                return -1;
        }
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const way how = planes_way(lists[i]);
        if (lists[i] < n_words && run_way(d, &how, NULL) != 0)
            return -1;
    }
    return 0;
}

/* The way by this screen with a beam of 12 that is fastest where so much BLEU is lost at most; NULL: none is. */
static const outcome *best_of(const decoding *d, thr_head_screen screen, double loss, double same, bool head) {
    const outcome *full = full_of(d, BEAM), *best = NULL;
    for (int i = 0; i < d->n_done; i++) {
        const outcome *o = &d->done[i];
        if (o->how.screen != screen || o->how.beam != BEAM || full->bleu - o->bleu > loss || o->same < same)
            continue;
        if (best == NULL || (head ? o->head_seconds < best->head_seconds : o->seconds < best->seconds))
            best = o;
    }
    return best;
}

static double gain(const decoding *d, const outcome *o, bool head) {
    const outcome *full = full_of(d, BEAM);
    if (o == NULL)
        return 0;
    return head ? full->head_seconds / o->head_seconds : full->seconds / o->seconds;
}

/* Other beams, by the full head and by the best way of each screen. */
static int run_beams(decoding *d) {
    static const uint32_t beams[] = {1, 3, 6, 24, 36, 48};
    static const thr_head_screen screens[] = {THR_HEAD_SCREEN_WTA, THR_HEAD_SCREEN_PLANES};
    for (size_t b = 0; b < sizeof beams / sizeof *beams; b++) {
        const way full = full_way(beams[b]);
        if (run_way(d, &full, NULL) != 0)
            return -1;
        for (size_t s = 0; s < sizeof screens / sizeof *screens; s++) {
            const outcome *best = best_of(d, screens[s], 0.3, 0, false);
            if (best == NULL)
                continue;
            way how = best->how;
            how.beam = beams[b];
            if (run_way(d, &how, NULL) != 0)
                return -1;
        }
    }
    return 0;
}

/* The speed-up of a screen with a beam of 48 over that with 12. */
static double at_wide_beams(const decoding *d, thr_head_screen screen) {
    const outcome *best = best_of(d, screen, 0.3, 0, false), *full = full_of(d, 48);
    for (int i = 0; best != NULL && i < d->n_done; i++)
        if (d->done[i].how.screen == screen && d->done[i].how.beam == 48)
            return full->seconds / d->done[i].seconds / gain(d, best, false);
    return 0;
}

static void report_figures(decoding *d) {
    const double any = fmax(gain(d, best_of(d, THR_HEAD_SCREEN_WTA, 0.3, 0, false), false),
                            gain(d, best_of(d, THR_HEAD_SCREEN_PLANES, 0.3, 0, false), false));
    bench_figure(d->run, "decode_head_wta", gain(d, best_of(d, THR_HEAD_SCREEN_WTA, 0.4, 0, true), true), 4, true,
                 "full head's time over wta's, .4 BLEU lost at most");
    bench_figure(d->run, "decode_head_planes", gain(d, best_of(d, THR_HEAD_SCREEN_PLANES, 0, 1, true), true), 6, true,
                 "full head's time over planes', the same translations");
    bench_figure(d->run, "decode_all", any, 2, true,
                 "translation with the full head over that with a screen, .3 BLEU lost at most");
    bench_figure(d->run, "decode_beams_wta", at_wide_beams(d, THR_HEAD_SCREEN_WTA), 1, true,
                 "the speed-up of wta with a beam of 48 over that with 12");
    bench_figure(d->run, "decode_beams_planes", at_wide_beams(d, THR_HEAD_SCREEN_PLANES), 1, true,
                 "the speed-up of planes with a beam of 48 over that with 12");
    const outcome *planes = best_of(d, THR_HEAD_SCREEN_PLANES, 0, 1, true);
    bench_figure(d->run, "decode_recall_planes", planes != NULL ? planes->recall : 0, 0.999, true,
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

static bool is_on(const curve *c, const way *how) {
    return how->screen == c->screen && how->beam <= BEAM && (how->beam < BEAM) == c->beams &&
           (c->n_frequent == 0 || how->n_frequent == c->n_frequent);
}

static int plot(const decoding *d, const char *title, const curve *curves, size_t n, const char *path) {
    const outcome *full = full_of(d, BEAM);
    bench_plot *p = calloc(1, sizeof *p);
    if (p == NULL)
        return bench_fail(d->run, "no memory for a plot");
    p->title = title;
    p->x_label = "times the full head with a beam of 12";
    p->y_label = "BLEU";
    p->y_least = floor(full->bleu);
    for (size_t i = 0; i < n; i++) {
        bench_series *s = bench_plot_series(p, curves[i].name);
        for (int j = 0; j < d->n_done; j++)
            if (is_on(&curves[i], &d->done[j].how)) {
                bench_plot_point(s, full->seconds / d->done[j].seconds, d->done[j].bleu);
                p->y_least = fmin(p->y_least, floor(d->done[j].bleu));
            }
    }
    const int rc = bench_plot_write(p, path);
    free(p);
    if (rc != 0)
        return bench_fail(d->run, "%s: could not be written", path);
    const char *slash = strrchr(path, '/');
    bench_say(d->run, "![%s](%s)\n\n", title, slash != NULL ? slash + 1 : path);
    return 0;
}

/* Figure 6 to FILE.svg, figure 7 to FILE-beams.svg. */
static int plot_both(const decoding *d) {
    static const curve screens[] = {{"frequent words", THR_HEAD_SCREEN_FREQUENT, 0, false},
                                    {"wta, T 500", THR_HEAD_SCREEN_WTA, 500, false},
                                    {"wta, T 2000", THR_HEAD_SCREEN_WTA, 2000, false},
                                    {"planes", THR_HEAD_SCREEN_PLANES, 0, false}},
                       beams[] = {{"full, smaller beams", THR_HEAD_SCREEN_FULL, 0, true},
                                  {"wta, smaller beams", THR_HEAD_SCREEN_WTA, 0, true},
                                  {"planes, smaller beams", THR_HEAD_SCREEN_PLANES, 0, true}};
    const char *path = d->set->plot;
    const size_t length = strlen(path),
                 stem = length > 4 && strcmp(path + length - 4, ".svg") == 0 ? length - 4 : length;
    char other[1100];
    if (snprintf(other, sizeof other, "%.*s-beams%s", (int)stem, path, path + stem) >= (int)sizeof other)
        return bench_fail(d->run, "%s: the name is too long", path);
    const int rc = plot(d, "BLEU against speed, a beam of 12", screens, sizeof screens / sizeof *screens, path);
    return rc != 0 ? rc
                   : plot(d, "BLEU against speed, beams of 1, 3 and 6", beams, sizeof beams / sizeof *beams, other);
}

/* ------------------------------------------------------------------------------------------------ all */

static int run_all(decoding *d) {
    static const char *const columns[] = {"screen",         "parameters",      "beam",      "head, s",
                                          "all, s",         "head's speed-up", "speed-up",  "BLEU",
                                          "less than full", "same as full, %", "recall@12", NULL};
    const way full = full_way(BEAM);
    d->table = (bench_table){.title = "A test set translated", .columns = columns};
    if (read_set(d) != 0 || make_head(d) != 0 || run_way(d, &full, NULL) != 0 || run_screens(d) != 0 ||
        run_beams(d) != 0)
        return -1;
    bench_say(d->run,
              "A model of %s target words, %s of %" PRIu32 " dimensions, %" PRIu32 " LSTM units; %" PRIu64
              " sentences one by one; log-probabilities over the candidates, those of planes over all words by a "
              "sample; BLEU of small letters. Hashes: %d bands of %d, of %d "
              "places each. A sentence's beams share their candidates. Speed-ups are over the full head with the same "
              "beam.\n\n",
              prog_exact(d->info.n_target_words).text, "states", d->info.n_dims, d->info.n_units, d->sources.n,
              (int)N_BANDS, (int)N_HASHES, (int)N_PLACES);
    bench_print(d->run, &d->table);
    report_figures(d);
    return d->set->plot != NULL ? plot_both(d) : 0;
}

int bench_decode(bench_scan_run *run, const bench_decode_set *set) {
    decoding *d = calloc(1, sizeof *d);
    if (d == NULL)
        return bench_fail(run, "no memory");
    d->run = run;
    d->set = set;
    const int rc = run_all(d);
    free_texts(&d->sources);
    free_texts(&d->references);
    free_texts(&d->full);
    thr_head_free(d->own);
    free(d->states);
    free(d);
    return rc;
}
