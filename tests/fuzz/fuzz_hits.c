/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a file of posting lists, its checksums recomputed; searches of a file that opens read only its bytes. */
#include "lists/search_lists.h"
#include "hits/file.h"

#include "fuzz/io_fuzz.h"
#include "fuzz/section_mutator.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ITEMS = 1 << 18 /* whose bitmap is made */, MOST_FEATURES = 100 };

static void search(const thr_hits_view *view) {
    const thr_lists *lists = &view->contents.lists;
    const thr_lists_corpus target = {.lists = lists, .rows = view->contents.rows};
    thr_lists_search *room = NULL;
    const uint64_t offsets[] = {0, lists->n_features < MOST_FEATURES ? lists->n_features : MOST_FEATURES};
    uint32_t features[MOST_FEATURES];
    const thr_hits_queries queries = {1, offsets, features, NULL};
    thr_lists_found found;
    for (uint32_t f = 0; f < offsets[1]; f++)
        features[f] = thr_lists_feature(lists, f);
    if (thr_lists_search_create(fuzz_context(), &room, NULL) == THR_OK)
        (void)thr_lists_search_run(room, &target, &queries, 0, 10, &found, NULL);
    thr_lists_search_free(room);
}

static void mark(const thr_lists *lists) {
    static uint64_t words[MOST_ITEMS / 64];
    for (uint32_t f = 0; f < lists->n_features && lists->n_items <= MOST_ITEMS; f++) {
        thr_lists_mark(lists, f, words);
        (void)thr_lists_has(lists, thr_lists_feature(lists, f), lists->n_items - 1);
    }
}

FUZZ_MUTATOR(fuzz_mutate_sections)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    thr_hits_view view;
    uint8_t *memory = fuzz_sealed_copy(data, size);
    if (thr_hits_parse("hits", memory, size, &view, NULL) == THR_OK) {
        (void)thr_hits_check_contents(fuzz_context(), &view, NULL);
        search(&view);
        mark(&view.contents.lists);
        for (uint64_t i = 0; i < view.contents.names.n; i++)
            (void)thr_strings_get(&view.contents.names, i);
    }
    free(memory);
    return 0;
}
