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

enum { PIECE = 4096 };

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

/* The rows are counted first, as some readers know their number only at the end. */
thr_status bench_load(const char *path, float **rows, uint64_t *n_rows, uint32_t *n_dims) {
    thr_status status = THR_OK;
    for (int pass = 0; pass < 2 && status == THR_OK; pass++) {
        thr_reader *reader = NULL;
        thr_matrix piece = {.n_rows = 1};
        status = thr_reader_open(bench.context, path, &reader, &bench.err);
        for (uint64_t first = 0; status == THR_OK && piece.n_rows > 0; first = *n_rows) {
            status = thr_reader_next(reader, PIECE, &piece, &bench.err);
            *n_rows = status == THR_OK ? first + piece.n_rows : 0;
            if (pass == 1 && status == THR_OK && piece.n_rows > 0)
                bench_check(thr_matrix_to_f32(&piece, 0, piece.n_rows, *rows + first * *n_dims));
        }
        *n_dims = status == THR_OK ? thr_reader_get_shape(reader).n_dims : 0;
        thr_reader_free(reader);
        if (pass == 0 && status == THR_OK)
            *rows = bench_alloc(*n_rows * *n_dims * sizeof **rows);
    }
    return status;
}

void bench_save(const char *path, const char *mode, const void *data, size_t size) {
    FILE *file = fopen(path, mode);
    const bool written = file != NULL && fwrite(data, 1, size, file) == size;
    if (file == NULL || fclose(file) != 0 || !written)
        bench_fail("%s: cannot be written", path);
}

void bench_save_fbin(const char *path, const float *rows, uint64_t n_rows, uint32_t n_dims) {
    bench_save(path, "wb", (const uint32_t[]){(uint32_t)n_rows, n_dims}, 2 * sizeof(uint32_t));
    bench_save(path, "ab", rows, (size_t)n_rows * n_dims * sizeof *rows);
}
