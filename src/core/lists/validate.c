/* SPDX-License-Identifier: Apache-2.0 */
/* validate.c - checks posting lists from untrusted files: first bounds, then contents. */
#include "lists/validate.h"

#include "base/minmax.h"

/* ------------------------------------------------------------------------------------------------ bounds */

/* A run must not leave its window. Ids and bitmaps cannot. */
static bool runs_stay(const uint16_t *runs, uint32_t n) {
    bool stay = true;
    for (uint32_t i = 0; i < n; i++)
        stay = stay && runs[2 * (size_t)i] + runs[2 * (size_t)i + 1] < THR_LISTS_WINDOW;
    return stay;
}

/* The containers of a stretch must ascend, since a pass reads them in order. */
static bool containers_ascend(const uint8_t *containers, uint32_t n) {
    bool ascend = true;
    for (uint32_t i = 1; i < n; i++)
        ascend = ascend && containers[i - 1] < containers[i];
    return ascend;
}

static const char *check_entry(const thr_lists *lists, uint32_t entry) {
    const uint32_t form = lists->entry_forms[entry];
    if (form >= THR_LISTS_N_FORMS)
        return "a list has an unknown form";
    if (thr_lists_first_stretch(lists, entry + 1) <= thr_lists_first_stretch(lists, entry) ||
        thr_lists_first_stretch(lists, entry + 1) > lists->n_stretches)
        return "a list's stretches do not ascend";
    uint64_t at = lists->entry_begins[entry];
    for (uint32_t p = thr_lists_first_stretch(lists, entry); p < thr_lists_first_stretch(lists, entry + 1); p++) {
        const uint32_t n = lists->stretch_sizes[p] + 1u;
        if (lists->stretch_windows[p] >= thr_lists_n_windows(lists) ||
            (p > thr_lists_first_stretch(lists, entry) && lists->stretch_windows[p] <= lists->stretch_windows[p - 1]))
            return "the windows of a list do not ascend, or exceed the last one";
        if (at + n > lists->n_elements[form])
            return "a list exceeds the elements of its form";
        if (form == THR_LISTS_RUNS && !runs_stay(lists->runs + 2 * at, n))
            return "a run leaves its window";
        if (form == THR_LISTS_BITMAPS && !containers_ascend(lists->bitmap_containers + at, n))
            return "the containers of a list do not ascend";
        at += n;
    }
    return NULL;
}

static const char *check_list(const thr_lists *lists, uint32_t list) {
    if (lists->first_entries[list + 1] <= lists->first_entries[list] ||
        lists->first_entries[list + 1] > lists->n_entries)
        return "a feature's lists do not ascend";
    for (uint32_t e = lists->first_entries[list]; e < lists->first_entries[list + 1]; e++) {
        const char *wrong = check_entry(lists, e);
        if (wrong != NULL)
            return wrong;
        if (e > lists->first_entries[list] && lists->entry_forms[e] <= lists->entry_forms[e - 1])
            return "a feature's forms do not ascend";
    }
    return NULL;
}

const char *thr_lists_check_bounds(const thr_lists *lists) {
    uint32_t n_lists = 0;
    const char *wrong = NULL;
    if (lists->first_entries[0] != 0 || lists->first_entries[lists->n_lists] != lists->n_entries ||
        thr_lists_first_stretch(lists, 0) != 0 ||
        thr_lists_first_stretch(lists, lists->n_entries) != lists->n_stretches)
        return "the lists do not cover all entries and stretches";
    for (uint32_t f = 0; f < lists->n_features && wrong == NULL; f++) {
        uint32_t ref;
        if (f > 0 && thr_lists_feature(lists, f) <= thr_lists_feature(lists, f - 1))
            return "the features do not ascend";
        if (thr_lists_feature(lists, f) > THR_HITS_MAX_FEATURE)
            return "a feature's number is too large";
        if (thr_lists_is_single(lists, f, &ref))
            wrong = ref < lists->n_items ? NULL : "a feature's item exceeds the number of items";
        else
            wrong = ref == n_lists && n_lists < lists->n_lists ? check_list(lists, n_lists++)
                                                               : "a feature's list is not the next one";
    }
    return wrong != NULL || n_lists == lists->n_lists ? wrong : "a list belongs to no feature";
}

/* ------------------------------------------------------------------------------------------------ contents */

/*
 * The number of items of one stretch; 0 if its places do not ascend or exceed the last item. room: items of its window.
 */
static uint32_t count_items(const thr_lists *lists, uint32_t form, uint64_t at, uint32_t n, uint32_t room) {
    uint32_t n_items = 0, next = 0; /* the least place that may follow */
    for (uint64_t i = at; i < at + n; i++) {
        if (form == THR_LISTS_PLACES) {
            if (lists->places[i] < next || lists->places[i] >= room)
                return 0;
            next = lists->places[i] + 1u;
            n_items++;
        } else if (form == THR_LISTS_RUNS) {
            const uint32_t start = lists->runs[2 * i], length = lists->runs[2 * i + 1] + 1u;
            if (start < next || start + length > room)
                return 0;
            next = start + length;
            n_items += length;
        } else {
            uint32_t in_container = 0;
            for (uint32_t j = 0; j < THR_LISTS_CONTAINER_PLACES; j++) {
                const bool has = (lists->bitmaps[i * THR_LISTS_BITMAP_BYTES + j / 8] >> j % 8 & 1) != 0;
                if (has && (uint32_t)lists->bitmap_containers[i] * THR_LISTS_CONTAINER_PLACES + j >= room)
                    return 0;
                in_container += has;
            }
            if (in_container == 0)
                return 0;
            n_items += in_container;
        }
    }
    return n_items;
}

/* Set the places of a list's stretches of a window in words, if there are several; returns the items they have. */
static uint64_t mark_window(const thr_lists *lists, uint32_t list, uint32_t window, uint64_t *words) {
    uint64_t n_items = 0;
    for (uint32_t e = lists->first_entries[list]; e < lists->first_entries[list + 1]; e++) {
        uint32_t at = lists->entry_begins[e];
        for (uint32_t p = thr_lists_first_stretch(lists, e); p < thr_lists_first_stretch(lists, e + 1); p++) {
            const uint32_t n = lists->stretch_sizes[p] + 1u;
            if (lists->stretch_windows[p] == window) {
                thr_lists_mark_stretch(lists, lists->entry_forms[e], at, n, words);
                n_items += count_items(lists, lists->entry_forms[e], at, n, THR_LISTS_WINDOW);
            }
            at += n;
        }
    }
    return n_items;
}

/* Whether no place is in two forms of a list: a search would add its weight twice. */
static bool has_places_once(const thr_lists *lists, uint32_t list) {
    const uint32_t first = lists->first_entries[list], end = lists->first_entries[list + 1];
    for (uint32_t p = thr_lists_first_stretch(lists, first); end - first > 1 && p < thr_lists_first_stretch(lists, end);
         p++) {
        uint64_t words[THR_LISTS_WINDOW / 64] = {0}, n_items = 0;
        const uint64_t marked = mark_window(lists, list, lists->stretch_windows[p], words);
        for (uint32_t w = 0; w < THR_LISTS_WINDOW / 64; w++)
            n_items += (uint64_t)__builtin_popcountll(words[w]);
        if (n_items != marked)
            return false;
    }
    return true;
}

/* taken: elements of each form in the lists before. */
static bool check_items(const thr_lists *lists, uint32_t list, uint64_t taken[THR_LISTS_N_FORMS]) {
    uint64_t n_items = 0;
    for (uint32_t e = lists->first_entries[list]; e < lists->first_entries[list + 1]; e++) {
        const uint32_t form = lists->entry_forms[e];
        if (lists->entry_begins[e] != taken[form])
            return false;
        for (uint32_t p = thr_lists_first_stretch(lists, e); p < thr_lists_first_stretch(lists, e + 1); p++) {
            const uint32_t n = lists->stretch_sizes[p] + 1u;
            const uint32_t left = lists->n_items - (uint32_t)lists->stretch_windows[p] * THR_LISTS_WINDOW;
            const uint32_t found = count_items(lists, form, taken[form], n, THR_MIN(left, THR_LISTS_WINDOW));
            if (found == 0)
                return false;
            n_items += found;
            taken[form] += n;
        }
    }
    return n_items == lists->sizes[list];
}

const char *thr_lists_check_contents(const thr_lists *lists) {
    uint64_t taken[THR_LISTS_N_FORMS] = {0}, n_postings = lists->n_features - lists->n_lists;
    for (uint32_t list = 0; list < lists->n_lists; list++) {
        if (!check_items(lists, list, taken))
            return "the items of a feature are out of order, or their number is wrong";
        if (!has_places_once(lists, list))
            return "an item has a feature in two forms";
        n_postings += lists->sizes[list];
    }
    for (uint32_t form = 0; form < THR_LISTS_N_FORMS; form++)
        if (taken[form] != lists->n_elements[form])
            return "elements belong to no feature";
    return n_postings == lists->n_postings ? NULL : "the number of postings is wrong";
}
