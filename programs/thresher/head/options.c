/* SPDX-License-Identifier: Apache-2.0 */
#include "head/options.h"

const char *const prog_normalisers[] = {"candidates", "exact", "sampled", NULL};

/* Print notes on given options that the screen does not use. */
static void note_unused_options(const program *run, thr_head_screen screen) {
    static const char *const of_hashes[] = {"threshold", "combine", NULL}, *const of_codes[] = {"shortlist", NULL};
    static const char *const of_groups[] = {"group", NULL};
    const bool planes = screen == THR_HEAD_SCREEN_PLANES || screen == THR_HEAD_SCREEN_AUTO;

    if (screen != THR_HEAD_SCREEN_WTA)
        prog_note_unused(run, of_hashes, "without --screen wta");
    if (!planes)
        prog_note_unused(run, of_codes, "without --screen planes");
    if (!planes && screen != THR_HEAD_SCREEN_WTA && screen != THR_HEAD_SCREEN_ALIGN)
        prog_note_unused(run, of_groups, "without --screen wta or planes");
}

void prog_head_take_options(const program *run, const prog_head_values *values, thr_head_query_options *query) {
    note_unused_options(run, query->screen);
    query->normaliser = (thr_head_normaliser)values->normaliser;
    if (prog_is_given(run, "frequent"))
        query->n_frequent = (uint32_t)values->frequent;
    if (prog_is_given(run, "threshold"))
        query->threshold = (uint32_t)values->threshold;
    if (prog_is_given(run, "shortlist"))
        query->n_shortlist = (uint32_t)values->shortlist;
}
