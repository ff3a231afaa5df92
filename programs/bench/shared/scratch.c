/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* nftw, mkdtemp */
#include "bench.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
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
    *size = 0;
    DIR *dir = opendir(index_dir);
    char path[4096] = "";
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        const size_t length = strlen(entry->d_name);
        if (length > 4 && strcmp(entry->d_name + length - 4, ".seg") == 0)
            (void)snprintf(path, sizeof path, "%s/%s", index_dir, entry->d_name);
    }
    if (dir != NULL)
        (void)closedir(dir);
    const int fd = path[0] == '\0' ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
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
