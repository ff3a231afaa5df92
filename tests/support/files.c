/* SPDX-License-Identifier: Apache-2.0 */
#define _DEFAULT_SOURCE /* mkdtemp */
#include "files.h"

#include "support.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_ROOM = 4096, PATHS = 32, DIRECTORY_ROOM = 64 };

static char directory[DIRECTORY_ROOM];

uint8_t *test_read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        fail_msg("%s is missing", path);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    const long end = ftell(file);
    assert_true(end >= 0);
    *size = (size_t)end;
    rewind(file);
    uint8_t *bytes = test_array(*size + 1, 1);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    (void)fclose(file);
    return bytes;
}

void test_write_file(const char *path, const void *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        fail_msg("%s cannot be written", path);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

void test_write_text(const char *path, const char *text) {
    test_write_file(path, text, strlen(text));
}

bool test_exists(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0;
}

int test_directory_make(const char *name) {
    const int length = snprintf(directory, sizeof directory, "%s.XXXXXX", name);
    return length > 0 && length < DIRECTORY_ROOM && mkdtemp(directory) != NULL ? 0 : -1;
}

int test_directory_remove(void **state) {
    (void)state;
    return rmdir(directory);
}

const char *test_directory(void) {
    return directory;
}

const char *test_path_of(const char *name) {
    static char paths[PATHS][PATH_ROOM];
    static size_t next;
    char *path = paths[next++ % PATHS];
    (void)snprintf(path, PATH_ROOM, "%s/%s", directory, name);
    return path;
}

void test_remove_directory(const char *path) {
    DIR *names = opendir(path);
    if (names == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(names)) != NULL;) {
        char file[PATH_ROOM];
        (void)snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            (void)unlink(file);
    }
    (void)closedir(names);
    (void)rmdir(path);
}

void test_copy_directory(const char *from, const char *to) {
    DIR *names = opendir(from);
    assert_non_null(names);
    test_remove_directory(to);
    assert_int_equal(mkdir(to, 0777), 0);
    for (struct dirent *entry; (entry = readdir(names)) != NULL;) {
        char source[PATH_ROOM], copy[PATH_ROOM];
        size_t size;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        (void)snprintf(source, sizeof source, "%s/%s", from, entry->d_name);
        (void)snprintf(copy, sizeof copy, "%s/%s", to, entry->d_name);
        uint8_t *bytes = test_read_file(source, &size);
        test_write_file(copy, bytes, size);
        free(bytes);
    }
    (void)closedir(names);
}
