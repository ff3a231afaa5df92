/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Indexes with wrong bytes and right checksums, as a faulty writer or an attacker makes them: whatever opens can be
 * verified, searched and changed without harm. The sanitizers see every access. What thr_index_verify accepts answers
 * right: its own vectors and ids are the items, and everything that is derived of them goes with them.
 */
#include "index_hits_support.h"

static thr_error error;
static const char DIR_A[] = "index-mutants", DIR_B[] = "index-mutants-whole", TABLE[] = "index-mutants.tsv";
enum { N = 400, N_MORE = 90, DIMS = 8, K = 9, DAMAGE_ROOM = 1000 };

/* ------------------------------------------------------------------------------------------------ indexes */

typedef enum kind { FEATURES, WORDS, CELLS, JOURNAL, N_KINDS } kind;

static void write_table(uint64_t first, uint64_t n) {
    FILE *file = fopen(TABLE, "w");
    assert_non_null(file);
    for (uint64_t i = first; i < first + n; i++)
        (void)fprintf(file, "item%u\tall even=%u own%u\n", (unsigned)i, (unsigned)(i % 2), (unsigned)i);
    assert_int_equal(fclose(file), 0);
}

static void add_rows(thr_context *context, const thr_matrix *matrix, const thr_index_add_options *options) {
    thr_reader *reader = NULL;
    expect_ok(thr_reader_from_matrix(context, matrix, &reader, &error));
    expect_ok(thr_index_add(context, DIR_B, reader, options, NULL, &error));
    thr_reader_free(reader);
}

static void write_journal(thr_context *context, const float *rows) {
    thr_index_writer *writer = NULL;
    expect_ok(thr_index_writer_open(context, DIR_B, NULL, &writer, &error));
    for (uint64_t i = 0; i < 20; i++) {
        const thr_matrix one = thr_matrix_f32(rows + i * DIMS, 1, DIMS);
        expect_ok(thr_index_writer_add(writer, &one, NULL, NULL, NULL, &error));
    }
    thr_index_writer_free(writer);
}

static void build_whole(thr_context *context, kind k) {
    float *rows = random_rows(N + N_MORE, DIMS, 1);
    catalogue items = draw_items(N, 2), more = draw_items(N_MORE, 3);
    static const thr_metric metrics[N_KINDS] = {THR_METRIC_COSINE, THR_METRIC_IP, THR_METRIC_L2, THR_METRIC_COSINE};
    static const thr_dtype keeps[N_KINDS] = {THR_DTYPE_F32, THR_DTYPE_F16, THR_DTYPE_F32, THR_DTYPE_F32};
    thr_index_build_options options = build_options(metrics[k], keeps[k], 4);
    thr_index_add_options added;
    thr_index_add_options_init(&added);
    test_remove_directory(DIR_B);
    options.lead_bits = 2;
    options.segment_rows = 192;
    options.cells = k == CELLS ? 12 : 0;
    options.features = k == FEATURES ? &items.items : NULL;
    added.features = k == FEATURES ? &more.items : NULL;
    if (k == WORDS) {
        write_table(0, N);
        options.features_path = options.ids_path = TABLE;
    }
    expect_ok(build_rows(context, DIR_B, rows, N, DIMS, &options, &error));
    if (k == WORDS) {
        write_table(N, N_MORE);
        added.features_path = TABLE;
    }
    const thr_matrix matrix = thr_matrix_f32(rows + N * DIMS, N_MORE, DIMS);
    add_rows(context, &matrix, &added);
    expect_ok(thr_index_remove(context, DIR_B, (const uint64_t[]){3, 70, 200, 401}, 4, NULL, &error));
    if (k == JOURNAL || k == CELLS)
        write_journal(context, rows);
    free_items(&items);
    free_items(&more);
    free(rows);
}

/* ------------------------------------------------------------------------------------------------ damage */

/* A number that is likely to break a reader, in the place of another one. */
static uint64_t wrong_number(uint64_t was, uint64_t *rng) {
    static const uint64_t edges[] = {0,          1,          63,         64,         255,        256,
                                     UINT16_MAX, INT32_MAX,  UINT32_MAX, UINT64_MAX, 0x7f800000, 0x7fc00000,
                                     1u << 31,   1ull << 32, 1ull << 63, 1ull << 50};
    const uint64_t way = thr_rng_below(rng, 6);
    if (way == 0)
        return was + 1;
    if (way == 1)
        return was - 1;
    return way == 2 ? was ^ UINT64_C(1) << thr_rng_below(rng, 64) : edges[thr_rng_below(rng, sizeof edges / 8)];
}

static int put_wrong(uint8_t *bytes, size_t size, uint64_t *rng, char *what) {
    const size_t width = (size_t)1 << thr_rng_below(rng, 4);
    if (size < width)
        return 0;
    uint8_t *at = bytes + thr_rng_below(rng, size / width) * width;
    uint64_t was = 0;
    memcpy(&was, at, width);
    const uint64_t number = wrong_number(was, rng);
    memcpy(at, &number, width);
    return sprintf(what, " byte %u: %llx instead of %llx,", (unsigned)(at - bytes), (unsigned long long)number,
                   (unsigned long long)was);
}

/* Change numbers of one or a few sections, or of the header, and seal the file. */
static void damage_sections(const char *path, uint64_t *rng, uint64_t *checksum, char *what) {
    size_t size;
    uint8_t *bytes = test_read_file(path, &size);
    for (uint64_t n = 1 + thr_rng_below(rng, 3); n > 0; n--) {
        uint32_t n_sections;
        uint64_t table;
        thr_section section;
        memcpy(&n_sections, bytes + THR_SECTIONS_COUNT_AT, sizeof n_sections);
        memcpy(&table, bytes + THR_SECTIONS_TABLE_AT, sizeof table);
        memcpy(&section, bytes + table + thr_rng_below(rng, n_sections) * sizeof section, sizeof section);
        if (thr_rng_below(rng, 10) == 0)
            what +=
                put_wrong(bytes + THR_SECTIONS_VERSION_AT, THR_SECTIONS_COUNT_AT - THR_SECTIONS_VERSION_AT, rng, what);
        else {
            what += sprintf(what, " section %u", section.kind);
            what += put_wrong(bytes + section.offset, (size_t)section.size, rng, what);
        }
    }
    (void)test_seal(bytes, size);
    memcpy(checksum, bytes + THR_SECTIONS_CHECKSUM_AT, sizeof *checksum);
    test_write_file(path, bytes, size);
    free(bytes);
}

static void damage_live(const char *path, uint64_t *rng, thr_manifest *m, char *what) {
    size_t size;
    uint8_t *bytes = test_read_file(path, &size);
    (void)put_wrong(bytes, size, rng, what);
    m->live.checksum = thr_checksum_of(bytes, size);
    m->n_items = thr_bitmap_count((const uint64_t *)(const void *)bytes, m->n_rows);
    test_write_file(path, bytes, size);
    free(bytes);
}

/* Damage a file that the manifest names, and write the manifest so that it goes with it. */
static void damage_index(thr_context *context, uint64_t *rng, char *what) {
    char path[PATH_ROOM], name[THR_INDEX_FILE_NAME_SIZE + THR_SEGMENT_NAME_SIZE], *text;
    thr_manifest m;
    size_t size;
    join_path(path, DIR_A, "MANIFEST");
    expect_ok(thr_index_manifest_read(context, path, &m, NULL, NULL, &error));
    const uint64_t which = thr_rng_below(rng, m.n_segments + 3);
    if (which < m.n_segments) {
        thr_index_segment_name_print(m.segments[which].number, m.segments[which].build, name);
        join_path(path, DIR_A, name);
        what += sprintf(what, "%s", name);
        damage_sections(path, rng, &m.segments[which].header_checksum, what);
    } else if (which == m.n_segments && m.live.there) {
        thr_index_file_name_print(THR_INDEX_FILE_LIVE, m.live.build, name);
        join_path(path, DIR_A, name);
        what += sprintf(what, "%s", name);
        damage_live(path, rng, &m, what);
    } else if (m.hits.there) {
        const bool second = which == m.n_segments + 1 && m.added.there;
        thr_manifest_hits *hits = second ? &m.added : &m.hits;
        thr_index_file_name_print(second ? THR_INDEX_FILE_ADDED : THR_INDEX_FILE_HITS, hits->build, name);
        join_path(path, DIR_A, name);
        what += sprintf(what, "%s", name);
        damage_sections(path, rng, &hits->header_checksum, what);
    }
    join_path(path, DIR_A, "MANIFEST");
    if (thr_index_manifest_print(context, &m, &text, &size, &error) == THR_OK) {
        test_write_file(path, text, size);
        thr_release(context, text);
    }
    thr_index_manifest_free(context, &m);
}

/* ------------------------------------------------------------------------------------------------ use */

static void search(thr_index *index, const float *rows, uint64_t seed) {
    uint64_t ids[N_QUERIES * K];
    float scores[N_QUERIES * K];
    thr_search_options options;
    thr_hits_target *target = NULL;
    thr_radius_result *found = NULL;
    asked a;
    ask(&a, seed);
    const thr_matrix queries = thr_matrix_f32(rows, N_QUERIES, DIMS);
    for (int way = 0; way < 4; way++) {
        thr_search_options_init(&options);
        options.exact = way == 1;
        options.recall = way == 2 ? 1 : 0.95f;
        options.n_candidates = way == 3 ? 20 : 0;
        (void)thr_index_search(index, &queries, K, &options, ids, scores, &error);
        options.features = &a.queries;
        (void)thr_index_search(index, &queries, K, &options, ids, scores, &error);
    }
    if (thr_index_hits(index) != NULL &&
        thr_hits_target_create(thr_index_hits(index), "all OR NOT own7 AND even=1", &target, &error) == THR_OK) {
        options.target = target;
        (void)thr_index_search(index, &queries, K, &options, ids, scores, &error);
        thr_hits_target_free(target);
    }
    if (thr_index_search_radius(index, &queries, 0.3f, NULL, &found, &error) == THR_OK)
        thr_radius_result_free(found);
}

/* ------------------------------------------------------------------------------------------------ answers */

/* The live items of an index, as it gives them. */
typedef struct live_items {
    uint64_t n, *ids;
    float *vectors;
} live_items;

static live_items read_items(thr_index *index) {
    const uint64_t n_rows = thr_index_n_rows(index);
    uint64_t row;
    live_items items = {.ids = test_array(n_rows, sizeof *items.ids),
                        .vectors = test_array(n_rows * DIMS, sizeof(float))};
    uint64_t *all = test_array(n_rows, sizeof *all);
    expect_ok(thr_index_row_ids(index, 0, n_rows, all, &error));
    for (uint64_t i = 0; i < n_rows; i++)
        if (thr_index_row(index, all[i], &row) && row == i)
            items.ids[items.n++] = all[i];
    expect_ok(thr_index_vectors(index, items.ids, items.n, items.vectors, &error));
    free(all);
    return items;
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* One query's answer has the best scores of the items, each with an item that has it. */
static bool is_right(const live_items *items, thr_metric metric, const float *query, const uint64_t *ids,
                     const float *scores) {
    double *naive = test_array(items->n, sizeof *naive), *ordered = test_array(items->n, sizeof *ordered), largest = 1;
    bool right = true;
    for (uint64_t i = 0; i < items->n; i++) {
        naive[i] = ordered[i] = naive_score(metric, query, items->vectors + i * DIMS, DIMS);
        largest = fmax(largest, fabs(naive[i]));
    }
    qsort(ordered, (size_t)items->n, sizeof *ordered, by_size);
    for (uint64_t j = 0; j < K && right; j++) {
        uint64_t i = 0;
        while (i < items->n && items->ids[i] != ids[j])
            i++;
        right = j < items->n ? i < items->n && fabs(naive[i] - (double)scores[j]) <= 1e-4 * largest &&
                                   fabs(ordered[j] - (double)scores[j]) <= 1e-4 * largest
                             : ids[j] == THR_NO_ID;
    }
    free(naive);
    free(ordered);
    return right;
}

/*
 * Exact searches, and those with recall 1, of an index that was verified. Multipliers are data of the index, too, and
 * so large that a value is not finite they are refused: with features both searches are compared with each other.
 */
static void expect_right_answers(thr_index *index, const float *rows, const char *damage) {
    const live_items items = read_items(index);
    const thr_matrix queries = thr_matrix_f32(rows, N_QUERIES, DIMS);
    const thr_metric metric = thr_index_get_info(index).metric;
    uint64_t ids[2][N_QUERIES * K];
    float scores[2][N_QUERIES * K];
    thr_status statuses[2];
    for (int exact = 0; exact < 2; exact++) {
        thr_search_options options;
        thr_search_options_init(&options);
        options.exact = exact == 1;
        options.recall = 1;
        statuses[exact] = thr_index_search(index, &queries, K, &options, ids[exact], scores[exact], &error);
        assert_case(statuses[exact] == THR_OK || (statuses[exact] == THR_ERANGE && thr_index_hits(index) != NULL),
                    "%s: verified, and refused: %s", damage, error.text);
        for (uint64_t q = 0; q < N_QUERIES && thr_index_hits(index) == NULL; q++)
            assert_case(is_right(&items, metric, rows + q * DIMS, ids[exact] + q * K, scores[exact] + q * K),
                        "%s: verified, and a wrong answer (exact %d, query %d)", damage, exact, (int)q);
    }
    if (statuses[0] == THR_OK && statuses[1] == THR_OK)
        for (size_t i = 0; i < N_QUERIES * K; i++)
            assert_case(fabsf(scores[0][i] - scores[1][i]) <= 1e-4f * fmaxf(1, fabsf(scores[1][i])),
                        "%s: verified, and recall 1 gives %g where the exact score is %g", damage, (double)scores[0][i],
                        (double)scores[1][i]);
    free(items.ids);
    free(items.vectors);
}

static void look_up(thr_index *index) {
    const uint64_t n = thr_index_n_rows(index);
    uint64_t *ids = test_array(n + 1, sizeof *ids), id;
    const char **names = test_array(n + 1, sizeof *names);
    float vector[DIMS];
    (void)thr_index_row_ids(index, 0, n, ids, &error);
    (void)thr_index_row_names(index, 0, n, names, &error);
    for (uint64_t i = 0; i < n; i++) {
        (void)thr_index_vector(index, ids[i], vector, &error);
        if (names[i] != NULL)
            (void)thr_index_find(index, names[i], &id, &error);
    }
    (void)thr_index_get_cells(index);
    free(ids);
    free(names);
}

static void change(thr_context *context, const float *rows, uint64_t seed) {
    catalogue more = draw_items(10, seed);
    thr_index_add_options added;
    thr_reader *reader = NULL;
    const thr_matrix matrix = thr_matrix_f32(rows, 10, DIMS);
    thr_index_add_options_init(&added);
    added.features = &more.items;
    for (int with_features = 0; with_features < 2; with_features++) {
        expect_ok(thr_reader_from_matrix(context, &matrix, &reader, &error));
        (void)thr_index_add(context, DIR_A, reader, with_features == 1 ? &added : NULL, NULL, &error);
        thr_reader_free(reader);
    }
    (void)thr_index_remove(context, DIR_A, (const uint64_t[]){5, 6, 250, 410}, 4, NULL, &error);
    (void)(seed % 2 == 0 ? thr_index_compact : thr_index_recode)(context, DIR_A, NULL, &error);
    free_items(&more);
}

static void mutants_do_no_harm(void **state) {
    thr_context *context = *state;
    const char *rounds = getenv("THR_TEST_ROUNDS");
    const uint64_t n = rounds == NULL ? 60 : strtoull(rounds, NULL, 10);
    uint64_t rng = test_seed(), n_opened = 0, n_verified = 0;
    float *rows = random_rows(20, DIMS, 5);
    char damage[DAMAGE_ROOM];
    for (kind k = 0; k < N_KINDS; k++) {
        build_whole(context, k);
        for (uint64_t round = 0; round < n; round++) {
            thr_index *index = NULL;
            test_copy_directory(DIR_B, DIR_A);
            (void)snprintf(damage, sizeof damage, "kind %d, round %d: ", (int)k, (int)round);
            damage_index(context, &rng, damage + strlen(damage));
            if (thr_index_open(context, DIR_A, &index, &error) == THR_OK) {
                n_opened++;
                if (thr_index_verify(index, &error) == THR_OK) {
                    n_verified++;
                    expect_right_answers(index, rows, damage);
                }
                search(index, rows, round);
                look_up(index);
                thr_index_free(index);
            }
            change(context, rows, round);
        }
    }
    print_message("%d mutants, %d opened, %d verified\n", (int)(N_KINDS * n), (int)n_opened, (int)n_verified);
    assert_true(n_opened > n / 2 && n_verified > n / 20);
    free(rows);
    test_remove_directory(DIR_A);
    test_remove_directory(DIR_B);
    (void)unlink(TABLE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mutants_do_no_harm),
    };
    return test_run_with_context(tests);
}
