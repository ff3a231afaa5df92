/* SPDX-License-Identifier: Apache-2.0 */
/* open.c - opens an index by mmap. Reads the manifest, and the first page and the section table of every segment. */
#include "index/impl.h"

#include "base/files/checksum.h"
#include "base/error.h"
#include "base/files/file.h"
#include "code/rotate.h"
#include "index/features.h"
#include "index/journal/snapshot.h"
#include "index/search/memory.h"
#include "kernel/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OPEN_TRIES = 10 };

static const double SHORTEST_CENTRE = 0x1p-51, LONGEST_CENTRE = 0x1p61; /* a build's limits, with a reserve */

static void unload(thr_index *index) {
    thr_index_snapshot_close(index);
    thr_index_model_close(&index->model);
    thr_hits_free(index->hits);
    index->hits = NULL;
    thr_map_close(&index->manifest_map);
    for (uint32_t i = 0; i < index->n_segments; i++) {
        thr_map_close(&index->mapped[i].map);
        thr_release(index->context, index->mapped[i].path);
    }
    THR_RELEASE(index->context, index->mapped, index->segments, index->cells);
    thr_index_origins_free(index->context, &index->origins);
    thr_index_manifest_free(index->context, &index->manifest);
    thr_index_live_close(index->context, &index->live);
    index->mapped = NULL;
    index->segments = NULL;
    index->cells = NULL;
    index->n_segments = 0;
}

static void free_root(thr_index *index) {
    thr_context *context = index->context;
    (void)pthread_mutex_destroy(&index->noise_mutex);
    thr_idle_end(&index->searches, thr_index_memory_free);
    thr_device_policy_end(&index->fused);
    thr_device_policy_end(&index->codes);
    thr_code_rotation_free(context, index->manifest.quantiser.rotation);
    unload(index);
    THR_RELEASE(context, index->dir, index->manifest_path, index);
    thr_context_free(context);
}

void thr_index_free(thr_index *index) {
    if (index == NULL)
        return;
    thr_index *root = index->root;
    if (index != root)
        THR_RELEASE(index->context, index->own_live, index);
    if (atomic_fetch_sub(&root->n_users, 1) == 1)
        free_root(root);
}

/* Map and check one segment. It counts as mapped, and will be freed, once its path is set. */
static thr_status map_segment(thr_index *index, const char *dir, const thr_manifest_segment *listed, thr_error *err) {
    const thr_manifest *m = &index->manifest;
    thr_mapped *mapped = &index->mapped[index->n_segments];
    thr_segment_shape shape = thr_shape_of_manifest(m);
    shape.n_items = listed->n_items;
    shape.has_ids = listed->has_ids;
    char name[THR_SEGMENT_NAME_SIZE];
    *mapped = (thr_mapped){.path = NULL};
    thr_index_segment_name_print(listed->number, listed->build, name);
    THR_TRY(thr_path_join(index->context, dir, name, &mapped->path, err));
    index->n_segments++;
    THR_TRY(thr_map_open(mapped->path, &mapped->map, err));
    thr_map_guard(&mapped->map);
    return thr_index_segment_parse(mapped->path, mapped->map.data, mapped->map.size, &shape, listed, &mapped->view,
                                   err);
}

/* Every segment holds the centre; the scan uses the first one's. Its length is a divisor, so it is checked. */
static thr_status take_centre(thr_index *index, const thr_segment_view *view, thr_error *err) {
    thr_quantiser *quantiser = &index->manifest.quantiser;
    if (view->centre == NULL)
        return THR_OK;
    const double length = sqrt(index->context->kernels->sum_squares(view->centre, quantiser->n_dims));
    if (!(length >= SHORTEST_CENTRE && length <= LONGEST_CENTRE))
        return thr_fail(err, THR_ECORRUPT,
                        "%s: its centre is no vector of a length from 2^-51 to 2^61: " THR_SEGMENT_REMEDY,
                        view->file.path);
    if (quantiser->centre == NULL)
        quantiser->centre = view->centre;
    if (memcmp(quantiser->centre, view->centre, quantiser->n_dims * sizeof(float)) != 0)
        return thr_fail(err, THR_ECORRUPT, "%s: its centre is not that of the first segment: build the index again",
                        view->file.path);
    return THR_OK;
}

/* The segments of float16 and int8 hold the kept vectors' centre, the same in all. */
static thr_status take_kept_centre(thr_index *index, const thr_segment_view *view, thr_error *err) {
    thr_manifest *m = &index->manifest;
    const uint32_t n_dims = thr_manifest_vector_dims(m);
    const thr_kept_errors *kept = &view->scan.kept;
    if (view->kept_centre == NULL)
        return THR_OK;
    const double longest = m->metric == THR_METRIC_COSINE ? 2 : LONGEST_CENTRE; /* it is a mean of scored vectors */
    if (!(sqrt(index->context->kernels->sum_squares(view->kept_centre, n_dims)) <= longest))
        return thr_fail(err, THR_ECORRUPT, "%s: section kept: its centre is longer than %g: " THR_SEGMENT_REMEDY,
                        view->file.path, longest);
    const bool finite = isfinite(kept->ratio + kept->error + kept->unit_error + kept->longest);
    if (!finite || !(kept->ratio >= 0 && kept->error >= 0 && kept->unit_error >= 0 && kept->longest >= 0))
        return thr_fail(err, THR_ECORRUPT, "%s: section kept: holds impossible numbers: " THR_SEGMENT_REMEDY,
                        view->file.path);
    if (m->kept_centre == NULL)
        m->kept_centre = view->kept_centre;
    if (memcmp(m->kept_centre, view->kept_centre, n_dims * sizeof *m->kept_centre) != 0)
        return thr_fail(err, THR_ECORRUPT,
                        "%s: its kept vectors have another centre than the first segment's: build the index again",
                        view->file.path);
    return THR_OK;
}

static thr_status map_segments(thr_index *index, const char *dir, thr_error *err) {
    const thr_manifest *m = &index->manifest;
    uint64_t first_row = 0, size;
    THR_TRY(thr_alloc_zero(index->context, m->n_segments, sizeof *index->mapped, &index->mapped, "segments", err));
    THR_TRY(thr_alloc_zero(index->context, m->n_segments, sizeof *index->segments, &index->segments, "segments", err));
    THR_TRY(thr_alloc_zero(index->context, m->n_segments, sizeof *index->cells, &index->cells, "segments", err));
    for (uint32_t i = 0; i < m->n_segments; i++) {
        THR_TRY(map_segment(index, dir, &m->segments[i], err));
        thr_segment_view *view = &index->mapped[i].view;
        THR_TRY(take_centre(index, view, err));
        THR_TRY(take_kept_centre(index, view, err));
        view->scan.first_row = first_row;
        index->segments[i] = view->scan;
        index->cells[i] = view->cells;
        first_row += thr_padded_items(view->shape.n_items);
        index->info.file_bytes += view->file.size;
        static const thr_section_kind code_sections[] = {THR_SECTION_CODES,   THR_SECTION_BLOCK_NORMS,
                                                         THR_SECTION_FACTORS, THR_SECTION_OFFSETS,
                                                         THR_SECTION_LEADS,   THR_SECTION_RECORDS};
        for (size_t k = 0; k < sizeof code_sections / sizeof code_sections[0]; k++)
            if (thr_index_section_size(&view->shape, (uint32_t)code_sections[k], &size))
                index->info.code_bytes += size;
        if (thr_index_section_size(&view->shape, THR_SECTION_VECTORS, &size))
            index->info.vector_bytes += size;
    }
    if (!m->has_origins)
        return THR_OK;
    return thr_index_origins_make(index->context, &m->quantiser, index->cells, index->segments, m->n_segments,
                                  &index->origins, err);
}

/* Open all files that the manifest names. */
static thr_status open_files(thr_index *index, const char *dir, thr_error *err) {
    THR_TRY(map_segments(index, dir, err));
    THR_TRY(thr_index_live_open(index->context, dir, &index->manifest, &index->live, err));
    index->info.file_bytes += index->live.map.size;
    THR_TRY(thr_index_snapshot_open(index, dir, err));
    if (index->manifest.hits.there) {
        index->info.file_bytes += index->manifest.hits.file_bytes + index->manifest.added.file_bytes;
        THR_TRY(thr_index_hits_open(index, dir, err));
    }
    if (!index->manifest.model.there)
        return THR_OK;
    index->info.file_bytes += index->manifest.model.file_bytes;
    return thr_index_model_open(index->context, dir, &index->manifest, &index->model, err);
}

static thr_status check_dir(const char *dir, thr_error *err) {
    struct stat st;
    THR_TRY(thr_check_path(dir, "the directory of the index", err));
    if (lstat(dir, &st) != 0)
        return thr_fail(err, THR_ENOTFOUND, "%s: there is no such directory", dir);
    if (stat(dir, &st) != 0)
        return thr_fail_errno(err, errno, "open", dir);
    if (!S_ISDIR(st.st_mode))
        return thr_fail(err, THR_EFORMAT, "%s: is a file, not the directory of an index", dir);
    return THR_OK;
}

/* Whether a directory has the list of a collection's shards, which other code reads. */
static bool is_collection(const char *dir) {
    const int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool listed = fd >= 0 && faccessat(fd, "shards.json", F_OK, 0) == 0;
    if (fd >= 0)
        (void)close(fd);
    return listed;
}

static thr_status read_manifest(thr_index *index, const char *dir, thr_error *err) {
    thr_map *map = &index->manifest_map;
    const thr_status status = thr_map_open(index->manifest_path, map, err);
    if (status == THR_ENOTFOUND && is_collection(dir))
        return thr_fail(
            err, THR_EFORMAT,
            "%s: is a collection of shards, not one index: use thr_shards_open, or thresher.shards in Python", dir);
    if (status == THR_ENOTFOUND)
        return thr_fail(err, THR_EFORMAT,
                        "%s: is no index, there is no MANIFEST in it (an interrupted build leaves none): build it with "
                        "'thresher index build'",
                        dir);
    THR_TRY(status);
    thr_map_guard(map);
    THR_TRY(thr_map_check_after(
        map, index->manifest_path,
        thr_index_manifest_parse(index->context, index->manifest_path, map->data, map->size, &index->manifest, err),
        err));
    index->manifest_checksum = thr_checksum_of(map->data, map->size);
    index->info = (thr_index_info){.file_bytes = map->size};
    return THR_OK;
}

/*
 * A build that replaces the index may delete files between our reading of the manifest and opening them. The manifest
 * then differs when read again, and opening restarts with it; if it is the same, a file is really missing.
 */
static thr_status load(thr_index *index, const char *dir, thr_error *err) {
    thr_error why = {0};
    for (int i = 0; i < OPEN_TRIES; i++) {
        uint64_t before = index->manifest_checksum;
        THR_TRY(read_manifest(index, dir, err));
        if (i > 0 && index->manifest_checksum == before)
            break;
        const thr_status status = thr_index_check_after(index, open_files(index, dir, &why), &why);
        if (status == THR_OK)
            return THR_OK;
        if (status != THR_ENOTFOUND)
            return thr_fail(err, status, "%s", why.text);
        unload(index);
    }
    return thr_fail(err, THR_ECORRUPT, "%s; the MANIFEST names it: restore it or build the index again", why.text);
}

static thr_status load_unpublished(thr_index *index, const char *dir, const thr_manifest *manifest, thr_error *err) {
    thr_manifest *m = &index->manifest;
    *m = *manifest;
    m->quantiser.centre = NULL; /* the segments' centres are used */
    m->kept_centre = NULL;
    m->quantiser.rotation = NULL;
    m->segments = NULL;
    THR_TRY(thr_alloc(index->context, m->n_segments, sizeof *m->segments, &m->segments, "segments", err));
    memcpy(m->segments, manifest->segments, m->n_segments * sizeof *m->segments);
    index->n_segment_rows = m->n_rows;
    THR_TRY(map_segments(index, dir, err));
    return m->model.n_inputs == 0 ? THR_OK : thr_index_model_open(index->context, dir, m, &index->model, err);
}

static void set_info(const thr_manifest *m, thr_index_info *info) {
    info->n_items = m->n_items;
    info->n_dims = thr_manifest_vector_dims(m);
    info->metric = m->metric;
    info->item_bits = m->quantiser.item_bits;
    info->keep = m->keep;
    info->n_segments = m->n_segments;
    info->lead_bits = m->lead;
    info->rotated = m->quantiser.rotation_seed != 0;
    info->centred = m->centred;
    info->relative_codes = m->has_origins;
    info->tuned_queries = m->tuning.n_queries;
    info->kept_recall = (float)m->kept_recall / 1000;
    info->has_features = m->hits.there;
    info->has_ids = m->has_ids;
    info->has_names = m->has_names;
}

static void set_corpora(thr_index *index) {
    const thr_manifest *m = &index->manifest;
    const thr_encoder *encoder = &index->model.encoder;
    index->corpus =
        (thr_scan_corpus){.segments = index->segments,
                          .n_segments = index->n_segments,
                          .n_rows = index->n_segment_rows,
                          .quantiser = &m->quantiser,
                          .metric = m->metric,
                          .keep = thr_index_kept_type(m),
                          .kept_centre = m->kept_centre,
                          .lead = m->lead,
                          .query_bits = m->model.codes ? encoder->kind->shape(encoder->model).query_bits : 0,
                          .errors = m->errors,
                          .noise = &index->root->noise,
                          .origins = m->has_origins ? &index->origins.of : NULL};
    index->vectors = index->corpus;
    if (m->model.n_inputs == 0)
        return;
    index->corpus.metric = THR_METRIC_COSINE;
    index->corpus.keep = THR_DTYPE_NONE;
    index->plain =
        (thr_quantiser){.n_dims = index->info.n_dims, .item_bits = 1, .unit = m->metric == THR_METRIC_COSINE};
    index->vectors.quantiser = &index->plain;
    index->vectors.lead = 1;
}

/*
 * unpublished NULL: read the manifest. Otherwise use the one given; except for its list of segments it stays the
 * builder's.
 */
static thr_status open_index(thr_context *context, const char *dir, const thr_manifest *unpublished,
                             thr_index **index_out, thr_error *err) {
    thr_index *index = NULL;
    thr_status status = THR_OK;
    THR_TRY(thr_alloc_zero(context, 1, sizeof *index, &index, "an index", err));
    index->context = thr_context_retain(context);
    index->root = index;
    index->n_users = 1;
    (void)pthread_mutex_init(&index->noise_mutex, NULL);
    thr_device_policy_start(&index->codes, context);
    thr_device_policy_start(&index->fused, context);
    THR_TRY_OUT(thr_idle_start(&index->searches, context, err));
    THR_TRY_OUT(thr_path_append(context, dir, "", &index->dir, err));
    THR_TRY_OUT(thr_path_join(context, dir, "MANIFEST", &index->manifest_path, err));
    if (unpublished == NULL)
        THR_TRY_OUT(load(index, dir, err));
    else
        THR_TRY_OUT(load_unpublished(index, dir, unpublished, err));
    thr_quantiser *quantiser = &index->manifest.quantiser;
    if (quantiser->rotation_seed != 0)
        THR_TRY_OUT(thr_code_quantiser_rotate(context, quantiser, quantiser->rotation_seed, err));
    set_info(&index->manifest, &index->info);
    index->info.n_zero = index->tail != NULL ? index->tail->n_zero : index->manifest.n_zero;
    set_corpora(index);
    *index_out = index;
    index = NULL;
out:
    thr_index_free(index);
    return status;
}

thr_status thr_index_open(thr_context *context, const char *dir, thr_index **index, thr_error *err) {
    if (context == NULL || index == NULL)
        return thr_fail(err, THR_EINVAL, "opening an index needs a context and a pointer for the result");
    *index = NULL;
    THR_TRY(check_dir(dir, err));
    return open_index(context, dir, NULL, index, err);
}

thr_status thr_index_open_unpublished(thr_context *context, const char *dir, const thr_manifest *manifest,
                                      thr_index **index, thr_error *err) {
    return open_index(context, dir, manifest, index, err);
}

thr_index_info thr_index_get_info(const thr_index *index) {
    return index->info;
}

uint64_t thr_index_n_rows(const thr_index *index) {
    return index->manifest.n_rows;
}

thr_index_cells thr_index_get_cells(const thr_index *index) {
    thr_index_cells all = {.smallest = UINT32_MAX};
    for (uint32_t s = 0; s < index->n_segments; s++) {
        const thr_cell_table *cells = &index->cells[s];
        all.n_cells += cells->n;
        all.n_items += cells->n > 0 ? cells->n_items : 0;
        for (uint32_t c = 0; c < cells->n; c++) {
            const uint32_t size = thr_cell_end(cells, c) - cells->cells[c].first;
            all.smallest = size < all.smallest ? size : all.smallest;
            all.largest = size > all.largest ? size : all.largest;
        }
    }
    return all.n_cells > 0 ? all : (thr_index_cells){.n_cells = 0};
}

uint64_t thr_index_n_commits(const thr_index *index) {
    return index->manifest.n_commits;
}

thr_hits *thr_index_hits(thr_index *index) {
    return index->hits;
}
