/* SPDX-License-Identifier: Apache-2.0 */
/* lists.c - lookups in posting lists: finds a feature, marks or counts its items. */
#include "lists/lists.h"

#include <string.h>

#include "base/lower_bound.h"
#include "base/minmax.h"

uint32_t thr_lists_find(const thr_lists *lists, uint32_t feature) {
    const uint32_t n = lists->n_features;
    if (lists->features == NULL)
        return THR_MIN(feature, n);
    const uint32_t found = thr_lower_bound(lists->features, 0, n, feature);
    return found < n && lists->features[found] == feature ? found : n;
}

static void set_bit(uint64_t *words, uint32_t place) {
    words[place / 64] |= UINT64_C(1) << place % 64;
}

/* Set the bits of n elements from `at` on in the words of one window. */
void thr_lists_mark_stretch(const thr_lists *lists, uint32_t form, uint32_t at, uint32_t n, uint64_t *words) {
    for (uint32_t i = at; i < at + n; i++) {
        if (form == THR_LISTS_PLACES) {
            set_bit(words, lists->places[i]);
        } else if (form == THR_LISTS_RUNS) {
            for (uint32_t length = lists->runs[2 * (size_t)i + 1] + 1u, j = 0; j < length; j++)
                set_bit(words, lists->runs[2 * (size_t)i] + j);
        } else {
            uint64_t *container = words + (size_t)lists->bitmap_containers[i] * (THR_LISTS_CONTAINER_PLACES / 64);
            for (uint32_t word = 0; word < THR_LISTS_CONTAINER_PLACES / 64; word++) {
                uint64_t more;
                memcpy(&more, lists->bitmaps + (size_t)i * THR_LISTS_BITMAP_BYTES + word * sizeof more, sizeof more);
                container[word] |= more;
            }
        }
    }
}

void thr_lists_mark(const thr_lists *lists, uint32_t f, uint64_t *words) {
    uint32_t only;
    if (thr_lists_is_single(lists, f, &only)) {
        set_bit(words, only);
        return;
    }
    const uint32_t list = lists->refs[f];
    for (uint32_t e = lists->first_entries[list]; e < lists->first_entries[list + 1]; e++) {
        uint32_t at = lists->entry_begins[e];
        for (uint32_t p = thr_lists_first_stretch(lists, e); p < thr_lists_first_stretch(lists, e + 1); p++) {
            const uint32_t n = lists->stretch_sizes[p] + 1u;
            thr_lists_mark_stretch(lists, lists->entry_forms[e], at, n,
                                   words + (size_t)lists->stretch_windows[p] * (THR_LISTS_WINDOW / 64));
            at += n;
        }
    }
}

/* Append a place. Ignores excess or too large places, which a file that was changed on disk may have. */
static void take_place(const thr_lists *lists, uint32_t place, uint32_t *places, uint32_t *n) {
    if (place < lists->n_items && *n < lists->n_items)
        places[(*n)++] = place;
}

/* Append the places of one element of the window that begins at `first`. */
static void take_element(const thr_lists *lists, uint32_t form, uint32_t i, uint32_t first, uint32_t *places,
                         uint32_t *n) {
    if (form == THR_LISTS_PLACES) {
        take_place(lists, first + lists->places[i], places, n);
    } else if (form == THR_LISTS_RUNS) {
        for (uint32_t length = lists->runs[2 * (size_t)i + 1] + 1u, j = 0; j < length; j++)
            take_place(lists, first + lists->runs[2 * (size_t)i] + j, places, n);
    } else {
        const uint8_t *bits = lists->bitmaps + (size_t)i * THR_LISTS_BITMAP_BYTES;
        for (uint32_t bit = 0; bit < THR_LISTS_CONTAINER_PLACES; bit++)
            if ((bits[bit / 8] >> bit % 8 & 1) != 0)
                take_place(lists, first + lists->bitmap_containers[i] * (uint32_t)THR_LISTS_CONTAINER_PLACES + bit,
                           places, n);
    }
}

uint32_t thr_lists_places(const thr_lists *lists, uint32_t f, uint32_t *places) {
    uint32_t n = 0;
    if (thr_lists_is_single(lists, f, places))
        return 1;
    const uint32_t list = lists->refs[f];
    for (uint32_t e = lists->first_entries[list]; e < lists->first_entries[list + 1]; e++) {
        uint32_t at = lists->entry_begins[e];
        for (uint32_t p = thr_lists_first_stretch(lists, e); p < thr_lists_first_stretch(lists, e + 1); p++)
            for (uint32_t end = at + lists->stretch_sizes[p] + 1u; at < end; at++)
                take_element(lists, lists->entry_forms[e], at, lists->stretch_windows[p] * (uint32_t)THR_LISTS_WINDOW,
                             places, &n);
    }
    return n;
}

bool thr_lists_has(const thr_lists *lists, uint32_t feature, uint32_t place) {
    const uint32_t f = thr_lists_find(lists, feature), bit = place % THR_LISTS_WINDOW;
    uint32_t only;
    if (f == lists->n_features)
        return false;
    if (thr_lists_is_single(lists, f, &only))
        return only == place;
    const uint32_t list = lists->refs[f];
    for (uint32_t e = lists->first_entries[list]; e < lists->first_entries[list + 1]; e++) {
        uint32_t at = lists->entry_begins[e];
        for (uint32_t p = thr_lists_first_stretch(lists, e); p < thr_lists_first_stretch(lists, e + 1); p++) {
            const uint32_t n = lists->stretch_sizes[p] + 1u;
            if (lists->stretch_windows[p] == place / THR_LISTS_WINDOW) {
                uint64_t words[THR_LISTS_WINDOW / 64] = {0};
                thr_lists_mark_stretch(lists, lists->entry_forms[e], at, n, words);
                if ((words[bit / 64] >> bit % 64 & 1) != 0)
                    return true;
            }
            at += n;
        }
    }
    return false;
}

uint64_t thr_lists_count(const thr_lists *lists, uint32_t f, const uint64_t *filter, uint64_t enough) {
    uint64_t found = 0;
    uint32_t only;
    if (thr_lists_is_single(lists, f, &only))
        return filter[only / 64] >> only % 64 & 1;
    const uint32_t list = lists->refs[f];
    for (uint32_t e = lists->first_entries[list]; e < lists->first_entries[list + 1]; e++) {
        uint32_t at = lists->entry_begins[e];
        for (uint32_t p = thr_lists_first_stretch(lists, e);
             p < thr_lists_first_stretch(lists, e + 1) && found < enough; p++) {
            const uint64_t *allowed = filter + (size_t)lists->stretch_windows[p] * (THR_LISTS_WINDOW / 64);
            const uint32_t n = lists->stretch_sizes[p] + 1u;
            uint64_t words[THR_LISTS_WINDOW / 64] = {0};
            thr_lists_mark_stretch(lists, lists->entry_forms[e], at, n, words);
            for (uint32_t w = 0; w < THR_LISTS_WINDOW / 64; w++)
                found += (uint64_t)__builtin_popcountll(words[w] & allowed[w]);
            at += n;
        }
    }
    return found;
}

uint64_t thr_lists_bytes(const thr_lists *lists) {
    const uint64_t n_features = lists->n_features, n_entries = lists->n_entries;
    const uint64_t directory = n_features * (lists->features == NULL ? 1 : 2) + 2 * (uint64_t)lists->n_lists + 1 +
                               n_entries + (lists->entry_stretches == NULL ? 0 : n_entries + 1);
    return 4 * directory + n_entries + 3 * (uint64_t)lists->n_stretches +
           2 * (uint64_t)lists->n_elements[THR_LISTS_PLACES] + 4 * (uint64_t)lists->n_elements[THR_LISTS_RUNS] +
           (1 + THR_LISTS_BITMAP_BYTES) * (uint64_t)lists->n_elements[THR_LISTS_BITMAPS];
}
