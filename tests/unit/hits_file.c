/* SPDX-License-Identifier: Apache-2.0 */
/* Files of posting lists: opened lists equal the built ones; a damaged file is refused. */
#include "damage.h"
#include "hits_support.h"

#include "hits/file.h"
#include "seal.h"

static const char PATH[] = "unit-hits-file.hits";

/* Small, with all forms of containers, ids or names, and words. */
static void build_small(thr_context *context, bool names) {
    uint64_t rng = 9;
    hits_catalogue c = hits_draw(600, 8, &rng);
    uint64_t ids[600];
    for (uint64_t i = 0; i < 600; i++)
        ids[i] = 10000 - 7 * i;
    thr_hits_build_options options = {0};
    (void)unlink(PATH);
    if (names) {
        FILE *file = fopen("unit-hits-file.tsv", "w");
        assert_non_null(file);
        for (uint64_t i = 0; i < 600; i++) {
            (void)fprintf(file, "item%u\t", (unsigned)i);
            for (uint64_t e = c.offsets[i]; e < c.offsets[i + 1]; e++)
                (void)fprintf(file, "f%u ", c.features[e]);
            (void)fputc('\n', file);
        }
        (void)fclose(file);
        expect_ok(thr_hits_build_table(context, PATH, "unit-hits-file.tsv", &options, &err));
    } else {
        options.ids = ids;
        options.n_ids = 600;
        options.model = 0x123456789abcdef0;
        expect_ok(thr_hits_build(context, PATH, &c.items, &options, &err));
    }
}

static thr_status open_and_verify(thr_context *context, bool *opened, thr_error *error) {
    OWNED(thr_hits, hits) = NULL;
    thr_status status = thr_hits_open(context, PATH, &hits, error);
    *opened = status == THR_OK;
    if (*opened)
        status = thr_hits_verify(hits, error);
    return status;
}

/* Lists of an update of them; changes that do not go with what the bytes have become are refused. */
static void use_updated(thr_hits *hits, bool names) {
    static const uint64_t offsets[] = {0, 1, 2}, ids[] = {9993, 7}, gone[] = {5800, 10000};
    static const uint32_t features[] = {9, 1000};
    static const char *const words[] = {"f9", "f1000"}, *const added[] = {"item5", "other"},
                             *gone_names[] = {"item80", "x"};
    thr_hits_changes changes = {0};
    OWNED(thr_hits, updated) = NULL;
    OWNED(thr_hits_target, target) = NULL;
    uint64_t found[20], id;
    uint32_t n_unknown;
    float shares[2];
    changes.n_added = changes.n_removed = 2;
    changes.offsets = offsets;
    changes.ids = names ? NULL : ids;
    changes.removed_ids = names ? NULL : gone;
    changes.features = names ? NULL : features;
    changes.names = names ? added : NULL;
    changes.removed_names = names ? gone_names : NULL;
    changes.words = names ? words : NULL;
    if (thr_hits_update(hits, &changes, &updated, &err) != THR_OK)
        return;
    thr_hits_search_options options = {.n_unknown = &n_unknown};
    const thr_hits_queries queries = {.n_queries = 1, .offsets = (const uint64_t[]){0, 2}, .features = features};
    expect_ok(thr_hits_search(updated, &queries, 20, &options, found, NULL, &err));
    (void)thr_hits_explain(updated, found[0], &queries, 0, shares, NULL, &err);
    (void)thr_hits_name(updated, found[0]);
    (void)thr_hits_find(updated, "item77", &id);
    (void)thr_hits_feature_items(updated, 9);
    (void)thr_hits_target_create(updated, "NOT f3 OR 6 AND f1000", &target, &err);
}

/* Search for all there is: whatever an opened file holds, nothing outside of it is read (ASan sees it). */
static void use(thr_context *context) {
    static const uint64_t offsets[] = {0, 8};
    static const uint32_t features[] = {0, 3, 6, 9, 12, 15, 18, 21};
    const thr_hits_queries queries = {.n_queries = 1, .offsets = offsets, .features = features};
    OWNED(thr_hits, hits) = NULL;
    thr_hits_target *target = NULL;
    uint64_t ids[20], id;
    float values[20], shares[8];
    if (thr_hits_open(context, PATH, &hits, &err) != THR_OK)
        return;
    expect_ok(thr_hits_search(hits, &queries, 20, NULL, ids, values, &err));
    (void)thr_hits_explain(hits, ids[0], &queries, 0, shares, NULL, &err);
    (void)thr_hits_name(hits, ids[0]);
    (void)thr_hits_find(hits, "item77", &id);
    if (thr_hits_target_create(hits, "NOT f3 OR 6 AND f9", &target, &err) == THR_OK)
        assert_true(thr_hits_target_count(target) <= 600);
    thr_hits_target_free(target);
    use_updated(hits, thr_hits_get_info(hits).has_names);
}

static test_damage damage_of(thr_context *context) {
    return (test_damage){.path = PATH, .context = context, .open_and_verify = open_and_verify, .use = use};
}

TEST(every_changed_byte_is_found) {
    const test_damage damage = damage_of(*state);
    for (int names = 0; names < 2; names++) {
        build_small(*state, names != 0);
        test_every_changed_byte_is_found(&damage);
    }
}

TEST(a_cut_file_is_not_opened) {
    const test_damage damage = damage_of(*state);
    build_small(*state, true);
    test_a_cut_file_is_not_opened(&damage);
    thr_hits *hits = NULL;
    expect_error(thr_hits_open(*state, PATH, &hits, &err), THR_ENOTFOUND, PATH);
    assert_null(hits);
}

/* No writer sets the flag, and the checksum is right. */
TEST(a_flag_that_is_unknown_is_damage) {
    bool opened;
    size_t size;
    build_small(*state, true);
    uint8_t *bytes = test_bytes_of(PATH, &size);
    bytes[offsetof(thr_hits_header, has) + 1] |= 1 << 7;
    assert_true(test_seal(bytes, size));
    test_write_file(PATH, bytes, size);
    expect_error(open_and_verify(*state, &opened, &err), THR_ECORRUPT, "the header has invalid numbers");
}

/* Lists that name an item ten times: its sum leaves 32 bits, which must not be undefined (UBSan sees it). */
TEST(sums_of_a_damaged_list_wrap_around) {
    static const uint64_t query[] = {0, 1};
    static const uint32_t feature[] = {7};
    const thr_hits_queries queries = {.n_queries = 1, .offsets = query, .features = feature};
    uint64_t offsets[601], ids[5];
    uint32_t features[600];
    size_t size;
    thr_hits_header header;
    thr_section section = {0};
    for (uint32_t i = 0; i <= 600; i++)
        offsets[i] = i;
    for (uint32_t i = 0; i < 600; i++)
        features[i] = i % 60;
    const thr_item_features items = {.n_items = 600, .offsets = offsets, .features = features};
    thr_hits_build_options options = {.order = THR_HITS_ORDER_ROWS};
    (void)unlink(PATH);
    expect_ok(thr_hits_build(*state, PATH, &items, &options, &err));
    uint8_t *bytes = test_bytes_of(PATH, &size);
    memcpy(&header, bytes, sizeof header);
    for (uint32_t i = 0; i < header.n_sections && section.kind != THR_HITS_IDS; i++)
        memcpy(&section, bytes + header.table_offset + i * sizeof section, sizeof section);
    assert_int_equal(section.size, 600 * sizeof(uint16_t));
    memset(bytes + section.offset, 0, section.size);
    test_write_file(PATH, bytes, size);
    OWNED(thr_hits, hits) = test_hits_open(*state, PATH);
    expect_ok(thr_hits_search(hits, &queries, 5, NULL, ids, NULL, &err));
    expect_error(thr_hits_verify(hits, &err), THR_ECORRUPT, PATH);
}

TEST(a_file_that_changes_is_not_searched) {
    static const uint64_t offsets[] = {0, 1};
    static const uint32_t features[] = {0};
    const thr_hits_queries queries = {.n_queries = 1, .offsets = offsets, .features = features};
    uint64_t ids[1];
    build_small(*state, false);
    OWNED(thr_hits, hits) = test_hits_open(*state, PATH);
    expect_ok(thr_hits_search(hits, &queries, 1, NULL, ids, NULL, &err));
    assert_int_equal(truncate(PATH, 4096), 0);
    expect_error(thr_hits_search(hits, &queries, 1, NULL, ids, NULL, &err), THR_ECHANGED, PATH);
    expect_error(thr_hits_verify(hits, &err), THR_ECHANGED, PATH);
}

/* Reading beyond the end of a map would end the process. */
TEST(nothing_is_looked_up_in_a_cut_file) {
    for (int names = 0; names < 2; names++) {
        uint64_t row, id;
        uint32_t feature;
        build_small(*state, names != 0);
        const char *const word = names != 0 ? "f3" : "3", *const name = names != 0 ? "item9" : "9993";
        OWNED(thr_hits, hits) = test_hits_open(*state, PATH);
        assert_true(thr_hits_feature(hits, word, &feature) && thr_hits_feature_items(hits, feature) > 0);
        assert_true(thr_hits_find(hits, name, &id) && thr_hits_row(hits, id, &row));
        assert_true((thr_hits_word(hits, 0) != NULL) == (names != 0));
        assert_true((thr_hits_name(hits, id) != NULL) == (names != 0));
        assert_int_equal(truncate(PATH, 0), 0);
        assert_false(thr_hits_feature(hits, word, &feature));
        assert_int_equal(thr_hits_feature_items(hits, 3), 0);
        assert_false(thr_hits_find(hits, name, &id));
        assert_false(thr_hits_row(hits, id, &row));
        assert_null(thr_hits_word(hits, 0));
        assert_null(thr_hits_name(hits, id));
    }
}

TEST(what_is_there_is_not_written_over) {
    thr_hits_build_options options = {0};
    bool opened;
    uint64_t rng = 3;
    hits_catalogue c = hits_draw(100, 3, &rng);
    build_small(*state, false);
    expect_error(thr_hits_build(*state, PATH, &c.items, &options, &err), THR_EEXIST, PATH);
    options.replace = true;
    c.offsets[50] = 0; /* fails half-way: the old file stays */
    expect_error(thr_hits_build(*state, PATH, &c.items, &options, &err), THR_EINVAL, "end before they begin");
    expect_ok(open_and_verify(*state, &opened, &err));
    c = hits_draw(100, 3, &rng);
    expect_ok(thr_hits_build(*state, PATH, &c.items, &options, &err));
    expect_ok(open_and_verify(*state, &opened, &err));
}

TEST(a_file_does_not_depend_on_threads) {
    size_t size, again_size;
    build_small(*state, true);
    uint8_t *bytes = test_bytes_of(PATH, &size);
    OWNED(thr_context, one) = test_context(1, THR_ISA_SCALAR, NULL);
    build_small(one, true);
    uint8_t *again = test_bytes_of(PATH, &again_size);
    assert_int_equal(size, again_size);
    assert_memory_equal(bytes, again, size);
}

TEST_IN_CONTEXT(3, NULL)
