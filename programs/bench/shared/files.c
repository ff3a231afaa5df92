/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* nftw, mkdtemp */
#include "bench.h"

#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int bench_scratch_make(const char *dir, char *path, size_t size) {
    if (dir == NULL)
        dir = getenv("TMPDIR");
    (void)snprintf(path, size, "%s/thresher-bench-XXXXXX", dir == NULL ? "/tmp" : dir);
    return mkdtemp(path) == NULL ? -1 : 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *walk) {
    (void)st;
    (void)type;
    (void)walk;
    return remove(path);
}

void bench_scratch_remove(const char *path) {
    (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const void *bench_map_segment(const char *index_dir, size_t *size) {
    glob_t found;
    char pattern[4096];
    struct stat st;
    *size = 0;
    (void)snprintf(pattern, sizeof pattern, "%s/*.seg", index_dir);
    const int fd = glob(pattern, 0, NULL, &found) == 0 ? open(found.gl_pathv[0], O_RDONLY | O_CLOEXEC) : -1;
    globfree(&found);
    void *data = MAP_FAILED;
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0)
        data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (fd >= 0)
        (void)close(fd);
    if (data == MAP_FAILED)
        return NULL;
    *size = (size_t)st.st_size;
    return data;
}

void bench_unmap(const void *data, size_t size) {
    if (data != NULL)
        (void)munmap((void *)(uintptr_t)data, size);
}

const char *bench_data(void) {
    const char *named = bench.values->data != NULL ? bench.values->data : getenv("THRESHER_DATA");
    return named != NULL ? named : "";
}

char *bench_path(const char *format, ...) {
    const size_t size = sizeof bench.scratch + 256;
    char *path = bench_alloc(size);
    va_list args;
    const int used = snprintf(path, size, "%s/", bench.scratch);
    va_start(args, format);
    (void)vsnprintf(path + used, size - (size_t)used, format, args);
    va_end(args);
    return path;
}

void bench_save(const char *path, const char *mode, const void *data, size_t size) {
    FILE *file = fopen(path, mode);
    const bool written = file != NULL && fwrite(data, 1, size, file) == size;
    if (file == NULL || fclose(file) != 0 || !written)
        bench_fail("%s: cannot be written", path);
}
