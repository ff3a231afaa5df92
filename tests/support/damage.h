/* SPDX-License-Identifier: Apache-2.0 */
/*
 * damage.h - a file of one of our kinds, every byte of it changed in turn, and cut at every length: opening or
 * verifying finds it, and what opens nonetheless can be used without harm.
 */
#pragma once

#include <thresher/context.h>

typedef struct test_damage {
    const char *path; /* the undamaged file */
    thr_context *context;
    /* Open and verify it; *opened: whether opening succeeded and only verifying failed. */
    thr_status (*open_and_verify)(thr_context *context, bool *opened, thr_error *err);
    void (*use)(thr_context *context); /* open it, where possible, and search it */
} test_damage;

/* A bit of each byte is changed: it is found, by some only when verified, and the message names the file. */
void test_every_changed_byte_is_found(const test_damage *damage);

/* The file is cut to every length below its own, and is not opened; then it is gone. */
void test_a_cut_file_is_not_opened(const test_damage *damage);
