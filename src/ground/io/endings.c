/* SPDX-License-Identifier: Apache-2.0 */
#include "io/endings.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/minmax.h"

/* All formats: a new format is one line here and one source file. */
static const thr_ending endings[] = {
    {".npy", thr_io_npy_open, THR_DTYPE_NONE, false, false},
    {".fvecs", thr_io_vecs_open, THR_DTYPE_F32, false, false},
    {".bvecs", thr_io_vecs_open, THR_DTYPE_U8, false, false},
    {".ivecs", thr_io_vecs_open, THR_DTYPE_I32, false, false},
    {".fbin", thr_io_bin_open, THR_DTYPE_F32, false, false},
    {".f16bin", thr_io_bin_open, THR_DTYPE_F16, false, false},
    {".u8bin", thr_io_bin_open, THR_DTYPE_U8, false, false},
    {".i8bin", thr_io_bin_open, THR_DTYPE_I8, false, false},
    {".ibin", thr_io_bin_open, THR_DTYPE_I32, true, false},
    {".hdf5", thr_io_hdf5_open, THR_DTYPE_NONE, true, true},
    {".h5", thr_io_hdf5_open, THR_DTYPE_NONE, true, true},
    {".txt", thr_io_text_open, THR_DTYPE_NONE, false, false},
    {".tsv", thr_io_column_open, THR_DTYPE_NONE, true, false},
    {".csv", thr_io_column_open, THR_DTYPE_NONE, true, false},
};
enum { N_ENDINGS = sizeof endings / sizeof endings[0], GUESS_MAX = 16 };

static const char *const packings[] = {[THR_PACKING_GZ] = ".gz", [THR_PACKING_XZ] = ".xz"};

static bool ends_with(const char *text, size_t length, const char *ending) {
    size_t n = strlen(ending);
    return length > n && memcmp(text + length - n, ending, n) == 0;
}

thr_packing thr_io_packing_cut(const char *path, size_t *length) {
    for (thr_packing packing = THR_PACKING_GZ; packing <= THR_PACKING_XZ; packing++) {
        if (ends_with(path, *length, packings[packing])) {
            *length -= strlen(packings[packing]);
            return packing;
        }
    }
    return THR_PACKING_NONE;
}

static const thr_ending *match(const char *path, size_t length, bool with_part, thr_packing *packing) {
    *packing = thr_io_packing_cut(path, &length);
    for (size_t i = 0; i < N_ENDINGS; i++)
        if ((!with_part || endings[i].has_parts) && ends_with(path, length, endings[i].text))
            return &endings[i];
    return NULL;
}

/* Levenshtein distance of a (n bytes, at most GUESS_MAX) and b (shorter than GUESS_MAX). */
static size_t distance(const char *a, size_t n, const char *b) {
    size_t m = strlen(b);
    size_t row[GUESS_MAX + 1];
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t best = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            best = THR_MIN(row[j] + 1, best);
            best = THR_MIN(row[j - 1] + 1, best);
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[m];
}

static bool serves(const thr_ending *ending, thr_ending_uses uses) {
    const thr_ending_uses use = ending->open == thr_io_text_open     ? THR_ENDINGS_LINES
                                : ending->open == thr_io_column_open ? THR_ENDINGS_TABLES
                                                                     : THR_ENDINGS_NUMBERS;
    return (uses & use) != 0;
}

/* Return the known ending with an edit distance of at most two from the name's ending, or NULL. */
static const char *guess(const char *path, thr_ending_uses uses) {
    size_t length = strcspn(path, ":");
    (void)thr_io_packing_cut(path, &length);
    size_t start = length;
    while (start > 0 && path[start - 1] != '.' && path[start - 1] != '/')
        start--;
    if (start == 0 || path[start - 1] != '.' || length - start + 1 > GUESS_MAX)
        return NULL;
    char own[GUESS_MAX];
    size_t n = length - start + 1;
    for (size_t i = 0; i < n; i++) {
        char c = path[start - 1 + i];
        own[i] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
    const char *nearest = NULL;
    size_t least = 2;
    for (size_t i = 0; i < N_ENDINGS; i++) {
        size_t d = distance(own, n, endings[i].text);
        if (d <= least && d + 1 < n && serves(&endings[i], uses)) {
            least = d;
            nearest = endings[i].text;
        }
    }
    return nearest;
}

/* Return the name's ending if it is that of a format that this library does not read, else NULL. */
static const char *find_foreign(const char *name) {
    static const char *const foreign[] = {".parquet", ".arrow",  ".feather",     ".json", ".jsonl",
                                          ".pkl",     ".pt",     ".mat",         ".xlsx", ".zip",
                                          ".npz",     ".duckdb", ".safetensors", ".gguf", ".svm"};
    size_t length = strlen(name);
    (void)thr_io_packing_cut(name, &length);
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
        if (ends_with(name, length, foreign[i]))
            return foreign[i];
    return NULL;
}

/* Return the name's ending or NULL, and set *length to that of the file name without its part. */
static const thr_ending *find(const char *name, size_t *length, thr_source *source) {
    *length = strlen(name);
    const thr_ending *ending = match(name, *length, false, &source->packing);
    /* Find the first colon after an ending that allows parts: data set names may contain colons. */
    for (const char *colon = strchr(name, ':'); ending == NULL && colon != NULL; colon = strchr(colon + 1, ':')) {
        ending = match(name, (size_t)(colon - name), true, &source->packing);
        if (ending != NULL) {
            *length = (size_t)(colon - name);
            source->part = colon + 1;
        }
    }
    return ending;
}

bool thr_io_ending_is_known(const char *name) {
    size_t length = 0;
    thr_source source;
    return find(name, &length, &source) != NULL;
}

thr_status thr_io_ending_check_file(const char *name, thr_error *err) {
    struct stat st;
    THR_TRY(thr_check_path(name, "the file to read", err));
    if (name[0] == '-' || thr_io_ending_is_known(name))
        return THR_OK;
    if (stat(name, &st) == 0)
        return S_ISDIR(st.st_mode)
                   ? thr_fail(err, THR_EFORMAT, "%s: is a directory (an index?), not a file: name a file", name)
                   : THR_OK;
    const bool missing = errno == ENOENT || errno == ENOTDIR;
    const size_t length = strcspn(name, ":"); /* the part after a colon may have another ending */
    char file[PATH_MAX];
    if (missing && name[length] != '\0') {
        (void)snprintf(file, sizeof file, "%.*s", (int)length, name);
        if (stat(file, &st) == 0)
            return THR_OK;
    }
    return missing ? thr_fail_errno(err, ENOENT, "open", name) : THR_OK;
}

thr_status thr_io_ending_refuse(const char *name, thr_ending_uses uses, const char *more, thr_error *err) {
    char known[192];
    size_t n = (size_t)snprintf(known, sizeof known, "%s", more);
    for (size_t i = 0; i < N_ENDINGS && n < sizeof known; i++)
        if (serves(&endings[i], uses))
            n += (size_t)snprintf(known + n, sizeof known - n, " %s", endings[i].text);
    const char *nearest = guess(name, uses), *foreign = find_foreign(name);
    if (foreign != NULL)
        return thr_fail(err, THR_EINVAL,
                        "%s: %s is not read here: convert the file to one of%s (.gz or .xz may follow)", name, foreign,
                        known);
    return thr_fail(err, THR_EINVAL,
                    "%s: the ending is unknown%s%s%s: rename the file to end in one of%s (.gz or .xz may follow)", name,
                    nearest != NULL ? " (did you mean " : "", nearest != NULL ? nearest : "",
                    nearest != NULL ? "?)" : "", known);
}

thr_status thr_io_ending_find(const char *name, char *path, thr_source *source, const thr_ending **ending,
                              thr_error *err) {
    size_t length = 0;
    *source = (thr_source){.path = path};
    *ending = find(name, &length, source);
    if (*ending == NULL)
        return thr_io_ending_refuse(name, THR_ENDINGS_ALL, "", err);
    memcpy(path, name, length);
    path[length] = '\0';
    source->dtype = (*ending)->dtype;
    source->ending = (*ending)->text;
    if (name[0] == '-' && strncmp(name + 1, source->ending, strlen(source->ending)) == 0)
        source->path = NULL;
    return THR_OK;
}
