/* SPDX-License-Identifier: Apache-2.0 */
/* dictionary.h - distinct strings, numbered in the order of insertion. */
#pragma once

#include "base/slots.h"

/* Initialise with zeros. String i is the bytes from starts[i] to starts[i + 1], including its terminating zero byte. */
typedef struct thr_dictionary {
    uint32_t n;
    uint64_t *starts; /* n + 1; NULL before the first string */
    char *bytes;
    thr_slots slots;
    size_t starts_capacity, bytes_capacity;
} thr_dictionary;

/*
 * Return the number of a string without zero bytes, adding it if it is new. number, is_new: or NULL. THR_OK; THR_ERANGE
 * for too many; THR_ENOMEM.
 */
thr_status thr_dictionary_add(thr_context *context, thr_dictionary *dictionary, const char *text, size_t length,
                              uint32_t *number, bool *is_new, thr_error *err);

/* Look a string up and return its number. Returns false if it is absent. */
bool thr_dictionary_find(const thr_dictionary *dictionary, const char *text, size_t length, uint32_t *number);

static inline const char *thr_dictionary_text(const thr_dictionary *dictionary, uint32_t number) {
    return dictionary->bytes + dictionary->starts[number];
}

/* Add all strings of another dictionary, in order. */
thr_status thr_dictionary_add_all(thr_context *context, thr_dictionary *dictionary, const thr_dictionary *from,
                                  thr_error *err);

void thr_dictionary_free(thr_context *context, thr_dictionary *dictionary);
