/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files.h - whole files read and written by a test, and one directory that a group of tests makes for itself.
 *
 * A file that cannot be read or written ends the test.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All bytes of a file, followed by a NUL that *size does not count; the caller frees them. */
uint8_t *test_read_file(const char *path, size_t *size);

/* Creates the file, or replaces its contents. */
void test_write_file(const char *path, const void *bytes, size_t size);
void test_write_text(const char *path, const char *text);

/* Whether there is anything of this name, be it a link to nothing. */
bool test_exists(const char *path);

/* Creates the directory NAME.XXXXXX within the working directory; -1 where that fails, as a group setup returns it. */
int test_directory_make(const char *name);

/* A group teardown: removes the directory. Fails when a test left anything there. */
int test_directory_remove(void **state);

/* The directory's name; "directory/name", which is valid until 32 more calls. */
const char *test_directory(void);
const char *test_path_of(const char *name);

/* Deletes a directory and the plain files within it, where it exists. */
void test_remove_directory(const char *path);

/* Makes a directory that has copies of another one's plain files, and no others. */
void test_copy_directory(const char *from, const char *to);
