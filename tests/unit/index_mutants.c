/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Indexes with wrong bytes and right checksums, as a faulty writer or an attacker makes them: whatever opens can be
 * verified, searched and changed without harm. The sanitizers see every access. What thr_index_verify accepts answers
 * right: its own vectors and ids are the items, and everything that is derived of them goes with them.
 *
 * THR_TEST_ROUNDS=N makes N mutants of each kind of index.
 */
#include "index_hits_support.h"

#include "fuzz/journal_seal.h"
#include "fuzz/section_mutator.h"
#include "fuzz/text_mutator.h"

static const char DIR_A[] = "index-mutants", DIR_B[] = "index-mutants-whole", TABLE[] = "index-mutants.tsv";
enum { N = 400, N_MORE = 90, N_JOURNAL = 20, DIMS = 8, K = 9, MUTANT_ROOM = 64, CHANGE_EACH = 8 };

/* ------------------------------------------------------------------------------------------------ indexes */

typedef struct kind {
    const char *name;
    thr_metric metric;
    thr_dtype keep;
    uint32_t bits, lead, cells;
    bool features, words, journal;
    float common; /* added to every value: worth a centre */
} kind;

static const kind kinds[] = {
    {"features", THR_METRIC_COSINE, THR_DTYPE_F32, 4, 2, 0, true, false, false, 0},
    {"words", THR_METRIC_IP, THR_DTYPE_F16, 4, 2, 0, false, true, false, 0},
    {"cells and a journal", THR_METRIC_L2, THR_DTYPE_F32, 4, 2, 12, false, false, true, 0},
    {"a journal", THR_METRIC_COSINE, THR_DTYPE_F32, 4, 2, 0, false, false, true, 0},
    {"int8 with cells", THR_METRIC_L2, THR_DTYPE_I8, 5, 1, 12, false, false, true, 0},
    {"float16 with a centre", THR_METRIC_COSINE, THR_DTYPE_F16, 3, 1, 0, false, false, false, 2},
    {"int8 and flat codes", THR_METRIC_COSINE, THR_DTYPE_I8, 2, 2, 0, false, false, false, 0},
    {"flat codes with a centre", THR_METRIC_IP, THR_DTYPE_F32, 3, 3, 0, false, false, true, 2},
};
enum { N_KINDS = COUNT_OF(kinds) };

static void write_table(uint64_t first, uint64_t n) {
    FILE *file = fopen(TABLE, "w");
    assert_non_null(file);
    for (uint64_t i = first; i < first + n; i++)
        (void)fprintf(file, "item%u\tall even=%u own%u\n", (unsigned)i, (unsigned)(i % 2), (unsigned)i);
    assert_int_equal(fclose(file), 0);
}

static void add_rows(thr_context *context, const thr_matrix *matrix, const thr_index_add_options *options) {
    expect_ok(add_matrix(context, DIR_B, matrix, options, NULL, &err));
}

static void write_journal(thr_context *context, const float *rows) {
    OWNED(thr_index_writer, writer) = NULL;
    expect_ok(thr_index_writer_open(context, DIR_B, NULL, &writer, &err));
    for (uint64_t i = 0; i < 20; i++) {
        const thr_matrix one = thr_matrix_f32(rows + i * DIMS, 1, DIMS);
        expect_ok(thr_index_writer_add(writer, &one, NULL, NULL, NULL, &err));
    }
}

static float *draw_rows(const kind *k) {
    float *rows = random_rows(N + N_MORE, DIMS, 1);
    for (size_t i = 0; i < (size_t)(N + N_MORE) * DIMS; i++)
        rows[i] += k->common;
    return rows;
}

static void build_whole(thr_context *context, const kind *k) {
    float *rows = draw_rows(k);
    catalogue items = draw_items(N, 2), more = draw_items(N_MORE, 3);
    thr_index_build_options options = build_options(k->metric, k->keep, k->bits);
    thr_index_add_options added = {0};
    test_remove_directory(DIR_B);
    options.lead_bits = k->lead;
    options.segment_rows = 192;
    options.cells = k->cells;
    options.features = k->features ? &items.items : NULL;
    added.features = k->features ? &more.items : NULL;
    if (k->words) {
        write_table(0, N);
        options.features_path = options.ids_path = TABLE;
    }
    expect_ok(build_rows(context, DIR_B, rows, N, DIMS, &options, &err));
    if (k->words) {
        write_table(N, N_MORE);
        added.features_path = TABLE;
    }
    const thr_matrix matrix = thr_matrix_f32(rows + N * DIMS, N_MORE, DIMS);
    add_rows(context, &matrix, &added);
    expect_ok(thr_index_remove(context, DIR_B, (const uint64_t[]){3, 70, 200, 401}, 4, NULL, &err));
    if (k->journal)
        write_journal(context, rows);
}

/* ------------------------------------------------------------------------------------------------ damage */

/* A file of the mutant, with room to grow. */
typedef struct bytes {
    char path[PATH_ROOM];
    uint8_t *data;
    size_t size;
} bytes;

/* What differs from the whole index besides the MANIFEST; empty: nothing. */
static char damaged[THR_INDEX_FILE_NAME_SIZE + THR_SEGMENT_NAME_SIZE];

static bytes take_file(const char *name) {
    bytes b;
    join_path(b.path, DIR_A, name);
    (void)snprintf(damaged, sizeof damaged, "%s", name);
    uint8_t *data = test_bytes_of(b.path, &b.size);
    b.data = test_new(b.size + MUTANT_ROOM, 1);
    memcpy(b.data, data, b.size);
    return b;
}

static void put_file(bytes *b) {
    test_write_file(b->path, b->data, b->size);
}

static void copy_back(const char *name) {
    char from[PATH_ROOM], to[PATH_ROOM];
    size_t size;
    join_path(from, DIR_B, name);
    join_path(to, DIR_A, name);
    uint8_t *data = test_bytes_of(from, &size);
    test_write_file(to, data, size);
}

/* Make the mutant whole again: all of it if the index in its directory was changed. */
static void restore(bool changed) {
    if (changed)
        test_copy_directory(DIR_B, DIR_A);
    else
        copy_back("MANIFEST");
    if (!changed && damaged[0] != '\0')
        copy_back(damaged);
    damaged[0] = '\0';
}

static void damage_sections(const char *name, uint64_t *rng, uint64_t *file_bytes, uint64_t *checksum) {
    bytes b = take_file(name);
    b.size = fuzz_mutate_sections(b.data, b.size, b.size + MUTANT_ROOM, (unsigned)thr_rng_next(rng));
    *file_bytes = b.size;
    memcpy(checksum, b.data + THR_SECTIONS_CHECKSUM_AT, sizeof *checksum);
    put_file(&b);
}

static void damage_live(const char *name, uint64_t *rng, thr_manifest *m) {
    bytes b = take_file(name);
    fuzz_put(rng, b.data + 8 * thr_rng_below(rng, b.size / 8), 8, b.size);
    m->live.checksum = thr_checksum_of(b.data, b.size);
    m->n_items = thr_bitmap_count((const uint64_t *)(const void *)b.data, m->n_rows);
    put_file(&b);
}

static void damage_journal(const char *name, uint64_t *rng) {
    bytes b = take_file(name);
    for (uint64_t n = 1 + thr_rng_below(rng, 3); n > 0; n--) {
        const size_t width = (size_t)4 << thr_rng_below(rng, 2);
        fuzz_put(rng, b.data + width * thr_rng_below(rng, b.size / width), width, b.size);
    }
    fuzz_seal_journal(b.data, b.size);
    put_file(&b);
}

static void damage_float(uint64_t *rng, float *x) {
    static const float times[] = {0.5F, 0.99F, 0.9999F, 1.0001F, 1.01F, 2, 1e-3F, 1e6F};
    *x *= times[thr_rng_below(rng, COUNT_OF(times))];
}

static void damage_uint64(uint64_t *rng, uint64_t *x) {
    *x = fuzz_number(rng, *x, 64);
}

static void damage_uint32(uint64_t *rng, uint32_t *x) {
    *x = (uint32_t)fuzz_number(rng, *x, 64);
}

/* One of the manifest's numbers; most lead to a manifest that is refused. */
static void damage_fields(uint64_t *rng, thr_manifest *m) {
    thr_manifest_segment *segment = &m->segments[thr_rng_below(rng, m->n_segments)];
    float *floats[] = {&m->quantiser.ranges[m->quantiser.item_bits - 1],
                       &m->quantiser.ranges[m->lead - 1],
                       &m->errors.lead_error,
                       &m->errors.lead_length,
                       &m->errors.full_error,
                       &m->errors.full_length,
                       &m->cells_short,
                       &m->code_error};
    uint64_t *longs[] = {&m->n_items,
                         &m->n_zero,
                         &m->n_commits,
                         &m->next_id,
                         &m->quantiser.rotation_seed,
                         &m->tuning.n_queries,
                         &m->tuning.at[1].survivors[1],
                         &m->tuning.at[1].candidates[1],
                         &segment->first_id};
    uint32_t *numbers[] = {&m->quantiser.item_bits, &m->lead,          &m->kept_recall,
                           &m->quantiser.n_dims,    &segment->n_items, (uint32_t *)&m->metric,
                           (uint32_t *)&m->keep};
    bool *flags[] = {&m->centred, &m->has_ids, &m->has_names, &m->has_origins, &segment->has_ids, &m->live.there};
    switch (thr_rng_below(rng, 4)) {
    case 0:
        damage_uint64(rng, longs[thr_rng_below(rng, COUNT_OF(longs))]);
        break;
    case 1:
        damage_uint32(rng, numbers[thr_rng_below(rng, COUNT_OF(numbers))]);
        break;
    case 2: {
        bool *flag = flags[thr_rng_below(rng, COUNT_OF(flags))];
        *flag = !*flag;
        break;
    }
    default:
        damage_float(rng, floats[thr_rng_below(rng, COUNT_OF(floats))]);
    }
}

/* The lines of the MANIFEST, as a text. */
static void damage_lines(uint64_t *rng) {
    enum { LINE = 26 }; /* "checksum ", 16 digits, newline */
    bytes b = take_file("MANIFEST");
    b.size = fuzz_change_text(b.data, b.size - LINE, b.size, rng);
    (void)snprintf((char *)b.data + b.size, LINE + 1, "checksum %016llx\n",
                   (unsigned long long)thr_checksum_of(b.data, b.size));
    b.size += LINE;
    put_file(&b);
}

/* A file that the manifest names, or its numbers; false: the mutated manifest is to be written. */
static void damage_file(uint64_t *rng, thr_manifest *m) {
    char name[THR_INDEX_FILE_NAME_SIZE + THR_SEGMENT_NAME_SIZE];
    const uint64_t which = thr_rng_below(rng, m->n_segments + 5);
    if (which < m->n_segments) {
        thr_manifest_segment *segment = &m->segments[which];
        thr_index_segment_name_print(segment->number, segment->build, name);
        damage_sections(name, rng, &segment->file_bytes, &segment->header_checksum);
    } else if (which == m->n_segments && m->live.there) {
        thr_index_file_name_print(THR_INDEX_FILE_LIVE, m->live.build, name);
        damage_live(name, rng, m);
    } else if (which <= m->n_segments + 2 && m->hits.there) {
        const bool second = which == m->n_segments + 1 && m->added.there;
        thr_manifest_hits *hits = second ? &m->added : &m->hits;
        thr_index_file_name_print(second ? THR_INDEX_FILE_ADDED : THR_INDEX_FILE_HITS, hits->build, name);
        damage_sections(name, rng, &hits->file_bytes, &hits->header_checksum);
    } else if (which <= m->n_segments + 3 && m->journal.there) {
        thr_index_file_name_print(THR_INDEX_FILE_JOURNAL, m->journal.build, name);
        damage_journal(name, rng);
    } else {
        damage_fields(rng, m);
    }
}

static void damage_index(thr_context *context, uint64_t *rng) {
    char path[PATH_ROOM], *text;
    thr_manifest m;
    size_t size;
    if (thr_rng_below(rng, 10) == 0) {
        damage_lines(rng);
        return;
    }
    join_path(path, DIR_A, "MANIFEST");
    expect_ok(thr_index_manifest_read(context, path, &m, NULL, NULL, &err));
    damage_file(rng, &m);
    if (thr_index_manifest_print(context, &m, &text, &size, &err) == THR_OK) {
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
        options = (thr_search_options){0};
        options.exact = way == 1;
        options.recall = way == 2 ? 1 : 0.95f;
        options.n_candidates = way == 3 ? 20 : 0;
        (void)thr_index_search(index, &queries, K, &options, ids, scores, &err);
        options.features = &a.queries;
        (void)thr_index_search(index, &queries, K, &options, ids, scores, &err);
    }
    if (thr_index_hits(index) != NULL &&
        thr_hits_target_create(thr_index_hits(index), "all OR NOT own7 AND even=1", &target, &err) == THR_OK) {
        options.target = target;
        (void)thr_index_search(index, &queries, K, &options, ids, scores, &err);
        thr_hits_target_free(target);
    }
    if (thr_index_search_radius(index, &queries, 0.3f, NULL, &found, &err) == THR_OK)
        thr_radius_result_free(found);
}

/* ------------------------------------------------------------------------------------------------ answers */

/* The live items of an index, as it gives them. */
typedef struct live_items {
    uint64_t n, *ids;
    float *vectors;
    thr_metric metric;
    double tolerance; /* of scores, relative to the larger of 1 and the largest */
} live_items;

/* How far a score may be from the naive one: kept residuals of cosines do not have the length 1 exactly. */
static double tolerance_of(thr_index *index) {
    const thr_index_info info = thr_index_get_info(index);
    return info.metric == THR_METRIC_COSINE && info.keep == THR_DTYPE_I8 ? 1e-2 : 1e-4;
}

static live_items read_items(thr_index *index) {
    const uint64_t n_rows = thr_index_n_rows(index);
    uint64_t row;
    live_items items = {.ids = test_new(n_rows, sizeof *items.ids),
                        .vectors = test_new(n_rows * DIMS, sizeof(float)),
                        .metric = thr_index_get_info(index).metric,
                        .tolerance = tolerance_of(index)};
    uint64_t *all = test_new(n_rows, sizeof *all);
    expect_ok(thr_index_row_ids(index, 0, n_rows, all, &err));
    for (uint64_t i = 0; i < n_rows; i++)
        if (thr_index_row(index, all[i], &row) && row == i)
            items.ids[items.n++] = all[i];
    expect_ok(thr_index_vectors(index, items.ids, items.n, items.vectors, &err));
    return items;
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* One query's answer has the best scores of the items, each with an item that has it. */
static bool is_right(const live_items *items, const float *query, const uint64_t *ids, const float *scores) {
    double *naive = test_new(items->n, sizeof *naive), *ordered = test_new(items->n, sizeof *ordered), largest = 1;
    bool right = true;
    for (uint64_t i = 0; i < items->n; i++) {
        naive[i] = ordered[i] = naive_score(items->metric, query, items->vectors + i * DIMS, DIMS);
        largest = fmax(largest, fabs(naive[i]));
    }
    qsort(ordered, (size_t)items->n, sizeof *ordered, by_size);
    for (uint64_t j = 0; j < K && right; j++) {
        uint64_t i = 0;
        while (i < items->n && items->ids[i] != ids[j])
            i++;
        right = j < items->n ? i < items->n && fabs(naive[i] - (double)scores[j]) <= items->tolerance * largest &&
                                   fabs(ordered[j] - (double)scores[j]) <= items->tolerance * largest
                             : ids[j] == THR_NO_ID;
    }
    return right;
}

/* All items from a least score on are found, and the others that are found have their scores. */
static bool is_right_radius(const live_items *items, const float *query, float least, const thr_radius_result *found,
                            uint64_t q) {
    const uint64_t first = found->offsets[q], end = found->offsets[q + 1];
    for (uint64_t i = 0; i < items->n; i++) {
        const double score = naive_score(items->metric, query, items->vectors + i * DIMS, DIMS);
        const double slack = items->tolerance * fmax(1, fabs(score));
        uint64_t at = first;
        while (at < end && found->ids[at] != items->ids[i])
            at++;
        if (at < end ? fabs(score - (double)found->scores[at]) > slack : score > (double)least + slack)
            return false;
    }
    return true;
}

static void expect_right_radius(thr_index *index, const live_items *items, const float *rows, const char *mutant) {
    const thr_matrix queries = thr_matrix_f32(rows, N_QUERIES, DIMS);
    const float least = items->metric == THR_METRIC_L2 ? -2 : 0.5F;
    OWNED(thr_radius_result, found) = NULL;
    thr_search_options options = {.recall = 1};
    const thr_status status = thr_index_search_radius(index, &queries, least, &options, &found, &err);
    assert_case(status == THR_OK, "%s: verified, and a radius is refused: %s", mutant, err.text);
    for (uint64_t q = 0; q < N_QUERIES; q++)
        assert_case(is_right_radius(items, rows + q * DIMS, least, found, q),
                    "%s: verified, and a wrong radius search (query %d)", mutant, (int)q);
}

/*
 * Of an index that was verified: exact searches, those with recall 1, and certified answers of others. Multipliers are
 * data of the index, too, and so large that a value is not finite they are refused: with features exact searches and
 * those with recall 1 are compared with each other.
 */
static void expect_right_answers(thr_index *index, const float *rows, const char *mutant) {
    enum { EXACT, ALL, MOST, WAYS };
    const live_items items = read_items(index);
    const thr_matrix queries = thr_matrix_f32(rows, N_QUERIES, DIMS);
    const bool has_values = thr_index_hits(index) != NULL;
    uint64_t ids[WAYS][N_QUERIES * K];
    float scores[WAYS][N_QUERIES * K];
    thr_status statuses[WAYS];
    for (int way = EXACT; way < WAYS; way++) {
        uint8_t certified[N_QUERIES] = {0};
        thr_search_options options = {.exact = way == EXACT, .recall = way == ALL ? 1 : 0.9F, .certified = certified};
        statuses[way] = thr_index_search(index, &queries, K, &options, ids[way], scores[way], &err);
        assert_case(statuses[way] == THR_OK || (statuses[way] == THR_ERANGE && has_values),
                    "%s: verified, and refused: %s", mutant, err.text);
        for (uint64_t q = 0; q < N_QUERIES && !has_values; q++)
            assert_case((way == MOST && certified[q] == 0) ||
                            is_right(&items, rows + q * DIMS, ids[way] + q * K, scores[way] + q * K),
                        "%s: verified, and a wrong answer (way %d, query %d)", mutant, way, (int)q);
    }
    if (!has_values)
        expect_right_radius(index, &items, rows, mutant);
    if (statuses[EXACT] == THR_OK && statuses[ALL] == THR_OK)
        for (size_t i = 0; i < N_QUERIES * K; i++)
            assert_case(fabsf(scores[0][i] - scores[1][i]) <= 1e-4f * fmaxf(1, fabsf(scores[1][i])),
                        "%s: verified, and recall 1 gives %g where the exact score is %g", mutant,
                        (double)scores[ALL][i], (double)scores[EXACT][i]);
}

static void look_up(thr_index *index) {
    const uint64_t n = thr_index_n_rows(index);
    uint64_t *ids = test_new(n + 1, sizeof *ids), id;
    const char **names = test_new(n + 1, sizeof *names);
    float vector[DIMS];
    (void)thr_index_row_ids(index, 0, n, ids, &err);
    (void)thr_index_row_names(index, 0, n, names, &err);
    for (uint64_t i = 0; i < n; i++) {
        (void)thr_index_vector(index, ids[i], vector, &err);
        if (names[i] != NULL)
            (void)thr_index_find(index, names[i], &id, &err);
    }
    (void)thr_index_get_cells(index);
}

static void change(thr_context *context, const float *rows, uint64_t seed) {
    catalogue more = draw_items(10, seed);
    thr_index_add_options added = {0};
    thr_reader *reader = NULL;
    const thr_matrix matrix = thr_matrix_f32(rows, 10, DIMS);
    added.features = &more.items;
    for (int with_features = 0; with_features < 2; with_features++) {
        expect_ok(thr_reader_from_matrix(context, &matrix, &reader, &err));
        (void)thr_index_add(context, DIR_A, reader, with_features == 1 ? &added : NULL, NULL, &err);
        thr_reader_free(reader);
    }
    (void)thr_index_remove(context, DIR_A, (const uint64_t[]){5, 6, 250, 410}, 4, NULL, &err);
    (void)(seed % 2 == 0 ? thr_index_compact : thr_index_recode)(context, DIR_A, NULL, &err);
}

typedef struct counts {
    uint64_t opened, verified;
} counts;

/* The mutant of a seed: whatever it is, it does no harm, and it answers right if it is verified. */
static void check_mutant(thr_context *context, const kind *k, uint64_t seed, const float *rows, counts *n) {
    uint64_t rng = seed;
    thr_index *index = NULL;
    char mutant[100];
    (void)snprintf(mutant, sizeof mutant, "%s, mutant %llu", k->name, (unsigned long long)seed);
    restore(seed % CHANGE_EACH == 0);
    damage_index(context, &rng);
    if (thr_index_open(context, DIR_A, &index, &err) == THR_OK) {
        n->opened++;
        if (thr_index_verify(index, &err) == THR_OK) {
            n->verified++;
            expect_right_answers(index, rows, mutant);
        }
        search(index, rows, seed);
        look_up(index);
        thr_index_free(index);
    }
    if ((seed + 1) % CHANGE_EACH == 0)
        change(context, rows, seed);
}

TEST(mutants_do_no_harm) {
    const char *rounds = getenv("THR_TEST_ROUNDS");
    const uint64_t n = rounds == NULL ? 40 : strtoull(rounds, NULL, 10);
    for (size_t k = 0; k < N_KINDS; k++) {
        float *rows = draw_rows(&kinds[k]);
        counts so_far = {0, 0};
        build_whole(*state, &kinds[k]);
        for (uint64_t round = 0; round < n; round++)
            check_mutant(*state, &kinds[k], (test_seed() << 32) + round, rows, &so_far);
        print_message("%s: %d mutants, %d opened, %d verified\n", kinds[k].name, (int)n, (int)so_far.opened,
                      (int)so_far.verified);
        assert_true(so_far.opened > n / 8 && so_far.verified > n / 50);
    }
    test_remove_directory(DIR_A);
    test_remove_directory(DIR_B);
    (void)unlink(TABLE);
}

TEST_IN_CONTEXT(1, NULL)
