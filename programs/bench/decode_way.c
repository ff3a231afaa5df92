/* SPDX-License-Identifier: Apache-2.0 */
#include "decode_way.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"
#include "talk.h"

enum { MOST_STATES = 2400 };

/* ------------------------------------------------------------------------------------------------ all ways */

static int read_set(bench_decoding *d) {
    const bench_decode_set *set = d->set;
    if (bench_texts_read(d->run, set->source, set->n_texts, &d->sources) != 0 ||
        bench_texts_read(d->run, set->target, set->n_texts, &d->references) != 0)
        return -1;
    if (d->sources.n == 0 || d->sources.n != d->references.n)
        return bench_fail(d->run, "%s has %" PRIu64 " lines and %s %" PRIu64 ": as many are wanted, and one at least",
                          set->source, d->sources.n, set->target, d->references.n);
    return 0;
}

static int make_head(bench_decoding *d) {
    thr_head_build_options build;
    thr_head *head = NULL;
    (void)snprintf(d->head, sizeof d->head, "%s/model.head", d->run->scratch);
    thr_head_build_options_init(&build);
    build.n_bands = BENCH_BANDS;
    build.n_hashes = BENCH_HASHES;
    build.n_places = BENCH_PLACES;
    thr_status status =
        thr_head_create_file(d->run->context, d->set->model, "output.weight", &build, &head, &d->run->err);
    if (status == THR_OK)
        status = thr_head_save(head, d->head, true, &d->run->err);
    if (status == THR_OK)
        d->states = malloc((size_t)MOST_STATES * thr_head_get_info(head).n_dims * sizeof *d->states);
    d->own = head;
    return status == THR_OK ? 0 : -1;
}

int bench_decoding_open(bench_decoding *d, bench_scan_run *run, const bench_decode_set *set) {
    *d = (bench_decoding){.run = run, .set = set};
    return read_set(d) == 0 ? make_head(d) : -1;
}

void bench_decoding_close(bench_decoding *d) {
    bench_texts_free(&d->sources);
    bench_texts_free(&d->references);
    bench_texts_free(&d->full);
    thr_head_free(d->own);
    free(d->states);
}

/* ------------------------------------------------------------------------------------------------ one way */

/* The first states of the full head's search. */
static void take_states(void *user, const float *states, uint64_t n, uint32_t n_dims) {
    bench_decoding *d = user;
    const uint64_t left = MOST_STATES - d->n_states;
    n = n < left ? n : left;
    if (d->states != NULL)
        memcpy(d->states + d->n_states * n_dims, states, n * n_dims * sizeof *states);
    d->n_states += d->states != NULL ? n : 0;
}

static thr_head_query_options query_of(const bench_way *how) {
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

static int measure_recall(bench_decoding *d, const bench_way *how, bench_outcome *result) {
    const thr_matrix states = thr_matrix_f32(d->states, d->n_states, d->info.n_dims);
    thr_head_query_options query = query_of(how);
    query.group = how->beam;
    thr_head_recall recall;
    if (thr_head_measure(d->own, &states, how->beam, &query, &recall, &d->run->err) != THR_OK)
        return -1;
    result->recall = recall.recall;
    return 0;
}

static int open_translator(bench_decoding *d, const bench_way *how, thr_translator **translator) {
    const thr_head_query_options query = query_of(how);
    thr_translator_options options;
    thr_translator_options_init(&options);
    options.head = d->head;
    options.query = &query;
    options.beam = how->beam;
    options.batch = 1; /* as a service has them */
    if (how->screen == THR_HEAD_SCREEN_FULL && how->beam == BENCH_BEAM) {
        options.on_states = take_states;
        options.on_states_user = d;
    }
    if (thr_translator_open(d->run->context, d->set->model, &options, translator, &d->run->err) != THR_OK)
        return -1;
    d->info = thr_translator_get_info(*translator);
    return 0;
}

static int keep(bench_decoding *d, const thr_translations *found, bench_texts *out) {
    for (uint64_t i = 0; i < found->n_texts; i++) {
        const char *text =
            found->first_of[i] < found->first_of[i + 1] ? found->translations[found->first_of[i]].text : "";
        if (bench_texts_add(out, text, strlen(text)) != 0)
            return bench_fail(d->run, "no memory for translations");
    }
    return 0;
}

static int translate_lines(bench_decoding *d, const bench_way *how, const char *const *lines, const size_t *lengths,
                           bench_outcome *result, bench_texts *out) {
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

static int translate(bench_decoding *d, const bench_way *how, bench_outcome *result, bench_texts *out) {
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

int bench_decode_way(bench_decoding *d, const bench_way *how, bench_outcome *outcome) {
    bench_texts out = {.n = 0};
    thr_bleu_options options;
    thr_bleu_score score;
    *outcome = (bench_outcome){.seconds = 0};
    thr_bleu_options_init(&options);
    options.lower_case = true; /* as the model's words are */
    int rc = translate(d, how, outcome, &out);
    if (rc == 0) {
        const thr_bleu_texts hypotheses = bench_texts_view(&out), references = bench_texts_view(&d->references);
        rc = thr_bleu(&hypotheses, &references, 1, &options, &score, NULL, &d->run->err) == THR_OK ? 0 : -1;
    }
    if (rc == 0 && how->screen == THR_HEAD_SCREEN_FULL) {
        bench_texts_free(&d->full);
        d->full = out;
        out = (bench_texts){.n = 0};
        outcome->same = 1;
    } else if (rc == 0) {
        outcome->same = bench_texts_same(&out, &d->full);
        rc = how->beam == BENCH_BEAM ? measure_recall(d, how, outcome) : 0;
    }
    bench_texts_free(&out);
    if (rc != 0)
        return -1;
    outcome->bleu = score.bleu;
    prog_detail("%s, beam %" PRIu32 ": %.1f s, BLEU %.2f", how->name, how->beam, outcome->seconds, outcome->bleu);
    return 0;
}
