/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a file of posting lists, its header's checksum mended; a search of what opens stays within it. */
#include "hits/hit_search.h"
#include "hits/hits_file.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_ITEMS = 1 << 18 }; /* whose bitmap is made */

static void mend(uint8_t *bytes, size_t size) {
    thr_hits_header header;
    thr_section sections[THR_SECTIONS_MAX];
    memcpy(&header, bytes, sizeof header);
    const uint64_t table = (uint64_t)header.n_sections * sizeof *sections;
    if (header.n_sections > THR_SECTIONS_MAX || header.table_offset > size || size - header.table_offset != table)
        return;
    memcpy(sections, bytes + header.table_offset, (size_t)table);
    header.checksum = thr_sections_checksum(&header, sections, header.n_sections);
    memcpy(bytes, &header, sizeof header);
}

static void search(thr_context *context, const thr_hits_view *view) {
    const thr_lists *lists = &view->contents.lists;
    const thr_hit_target target = {.lists = lists, .rows = view->contents.rows};
    thr_hit_search *room = NULL;
    uint64_t rows[10];
    float values[10];
    size_t n = 0;
    uint32_t n_unknown;
    if (thr_hit_search_create(context, &room, NULL) == THR_OK)
        (void)thr_hit_search_run(room, &target, lists->features, NULL,
                                 lists->n_features < 100 ? lists->n_features : 100, 10, rows, values, &n, &n_unknown,
                                 NULL);
    thr_hit_search_free(room);
}

static void mark(const thr_lists *lists) {
    static uint64_t words[MOST_ITEMS / 64];
    for (uint32_t f = 0; f < lists->n_features && lists->n_items <= MOST_ITEMS; f++) {
        thr_lists_mark(lists, f, words);
        (void)thr_lists_has(lists, thr_lists_feature(lists, f), lists->n_items - 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static thr_context *context; /* lives as long as the program */
    thr_hits_view view;
    void *memory = NULL;
    if (context == NULL && thr_context_create(NULL, &context, NULL) != THR_OK)
        return 0;
    if (posix_memalign(&memory, THR_SECTION_ALIGN, size > 0 ? size : 1) != 0)
        return 0;
    if (size > 0)
        memcpy(memory, data, size);
    if (size >= sizeof(thr_hits_header))
        mend(memory, size);
    if (thr_hits_parse("hits", memory, size, &view, NULL) == THR_OK) {
        (void)thr_hits_check_contents(context, &view, NULL);
        search(context, &view);
        mark(&view.contents.lists);
        for (uint64_t i = 0; i < view.contents.names.n; i++)
            (void)thr_strings_get(&view.contents.names, i);
    }
    free(memory);
    return 0;
}
