/* SPDX-License-Identifier: Apache-2.0 */
#include "index_support.h"

#include "base/files/checksum.h"
#include "index/manifest.h"

#include <locale.h>

/* A manifest of an index that was built, with everything that one without a model and features has. */
static thr_manifest example(thr_manifest_segment segments[2]) {
    thr_manifest m = {.metric = THR_METRIC_L2,
                      .keep = THR_DTYPE_F16,
                      .lead = 1,
                      .n_items = 100,
                      .n_rows = 100,
                      .next_id = 100,
                      .errors = {0.5f, 1.25f, 0.125f, 1.0f},
                      .tuning = {.n_queries = 1000},
                      .centred = true,
                      .has_names = true,
                      .n_segments = 2,
                      .segments = segments};
    m.quantiser = (thr_quantiser){.n_dims = 200, .item_bits = 3, .rotation_seed = 0x00c0ffee};
    float ranges[THR_MAX_BITS] = {1.0f, 0.1f, 1.17549435e-38f, 3.40282347e+38f, 0.3333333f, 2.0f, 1e-20f, 7.0f};
    memcpy(m.quantiser.ranges, ranges, sizeof ranges);
    for (uint64_t r = 0; r < THR_TUNED_RECALLS; r++)
        for (uint64_t k = 0; k < THR_TUNED_KS; k++) {
            m.tuning.at[r].candidates[k] = 1 + 10 * r + k;
            m.tuning.at[r].survivors[k] = 100 * (1 + 10 * r + k);
        }
    segments[0] = (thr_manifest_segment){0, 0xdeadbeef, 64, false, 0, 1234, 0x0123456789abcdefu};
    segments[1] = (thr_manifest_segment){7, 1, 36, false, 64, 56, 0};
    return m;
}

/* The same after changes: some rows have no item, and the second segment has ids. */
static thr_manifest changed_example(thr_manifest_segment segments[2]) {
    thr_manifest m = example(segments);
    m.n_items = 97;
    m.has_ids = true;
    m.n_commits = 12;
    m.next_id = 500;
    m.live = (thr_manifest_live){true, 0x0badcafe, 0x1122334455667788u};
    segments[1].has_ids = true;
    segments[1].first_id = 0;
    return m;
}

/* The same of an index that carries a model: its codes, or vectors that were coded as any. */
static thr_manifest example_of_model(thr_manifest_segment segments[2], bool codes) {
    thr_manifest m = example(segments);
    m.metric = THR_METRIC_COSINE;
    m.model = (thr_manifest_model){true, codes, false, 0x5f3a91c2, 123456, 0x0123456789abcdefu, 0xfedcba9876543210u, 0};
    if (!codes)
        return m;
    m.keep = THR_DTYPE_NONE;
    m.lead = m.quantiser.item_bits;
    m.centred = false;
    m.quantiser.rotation_seed = 0;
    m.quantiser.fixed = true;
    m.errors = (thr_code_errors){0};
    m.tuning = (thr_tuning){0};
    for (int b = 0; b < THR_MAX_BITS; b++)
        m.quantiser.ranges[b] = 2;
    return m;
}

/* Replace the first old by new and mend the checksum, so that the line itself is judged. */
static thr_status parse_changed(thr_context *context, const char *text, const char *old, const char *new) {
    char changed[4096];
    const char *at = strstr(text, old);
    assert_non_null(at);
    (void)snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
    char *last = strstr(changed, "checksum ");
    uint64_t sum = thr_checksum_of(changed, (size_t)(last - changed));
    (void)snprintf(last, 32, "checksum %016llx\n", (unsigned long long)sum);
    thr_manifest m;
    thr_status status = thr_index_manifest_parse(context, "MANIFEST", changed, strlen(changed), &m, &err);
    if (status == THR_OK)
        thr_index_manifest_free(context, &m);
    return status;
}

static void expect_same_manifest(const thr_manifest *m, const thr_manifest *back) {
    assert_int_equal(back->metric, m->metric);
    assert_int_equal(back->keep, m->keep);
    assert_int_equal(back->quantiser.n_dims, m->quantiser.n_dims);
    assert_int_equal(back->quantiser.item_bits, m->quantiser.item_bits);
    assert_int_equal(back->quantiser.unit, m->metric == THR_METRIC_COSINE || m->model.n_inputs != 0);
    assert_memory_equal(back->quantiser.ranges, m->quantiser.ranges, sizeof m->quantiser.ranges);
    assert_true(back->quantiser.fixed == m->model.codes);
    assert_true(back->model.there == m->model.there && back->model.codes == m->model.codes);
    assert_true(back->model.dual == m->model.dual && back->model.n_inputs == m->model.n_inputs);
    assert_true(back->model.build == m->model.build && back->model.file_bytes == m->model.file_bytes);
    assert_true(back->model.checksum == m->model.checksum && back->model.fingerprint == m->model.fingerprint);
    assert_true(back->hits.there == m->hits.there && back->hits.build == m->hits.build);
    assert_true(back->hits.file_bytes == m->hits.file_bytes && back->hits.header_checksum == m->hits.header_checksum);
    assert_true(back->added.there == m->added.there && back->added.build == m->added.build);
    assert_true(back->added.file_bytes == m->added.file_bytes &&
                back->added.header_checksum == m->added.header_checksum);
    assert_true(back->quantiser.rotation_seed == m->quantiser.rotation_seed);
    assert_int_equal(back->lead, m->lead);
    assert_memory_equal(&m->errors, &back->errors, sizeof m->errors);
    assert_memory_equal(&m->tuning, &back->tuning, sizeof m->tuning);
    assert_int_equal(back->n_items, m->n_items);
    assert_int_equal(back->n_zero, m->n_zero);
    assert_true(back->cells_short == m->cells_short);
    assert_true(back->centred == m->centred && back->has_ids == m->has_ids && back->has_names == m->has_names);
    assert_int_equal(back->n_segments, m->n_segments);
    for (uint32_t i = 0; i < m->n_segments; i++) {
        const thr_manifest_segment *wanted = &m->segments[i], *got = &back->segments[i];
        assert_true(got->number == wanted->number && got->build == wanted->build && got->n_items == wanted->n_items);
        assert_true(got->file_bytes == wanted->file_bytes && got->header_checksum == wanted->header_checksum);
    }
}

/* Each first of a pair replaced by its second is damage, which a line is named for. */
static void expect_damage(thr_context *context, const char *text, const char *const changes[][2], size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (parse_changed(context, text, changes[i][0], changes[i][1]) != THR_ECORRUPT)
            fail_msg("'%s' for '%s' was not refused as damage", changes[i][1], changes[i][0]);
        assert_non_null(strstr(err.text, "MANIFEST: "));
    }
}

/* Print, parse, compare, print again; the text. */
static char *round_trip(thr_context *context, const thr_manifest *m) {
    thr_manifest back;
    char *text, *again;
    size_t size, again_size;
    expect_ok(thr_index_manifest_print(context, m, &text, &size, &err));
    expect_ok(thr_index_manifest_parse(context, "MANIFEST", text, size, &back, &err));
    expect_same_manifest(m, &back);
    expect_ok(thr_index_manifest_print(context, &back, &again, &again_size, &err));
    assert_int_equal(size, again_size);
    assert_memory_equal(text, again, size);
    thr_index_manifest_free(context, &back);
    char *copy = test_copy(text, size + 1, 1);
    thr_release(context, again);
    thr_release(context, text);
    return copy;
}

TEST(what_is_printed_is_parsed_to_the_same) {
    static const char *const lines[] = {
        "thresher-index 1\nmetric l2\n",
        "\nlead 1\nkeep f16\n",
        "\nranges 0x1.000000p+0 0x1.99999ap-4 0x1.000000p-126 0x1.fffffep+127 ",
        "\nrotation 0000000000c0ffee\nerrors 0x1.000000p-1 0x1.400000p+0 0x1.000000p-3 0x1.000000p+0\ntuning 1000\n",
        "\nrecall 0.900 100 1 200 2 300 3 400 4\nrecall 0.950 1100 11 ",
        "\nrecall 0.999 3100 31 3200 32 3300 33 3400 34\nshort ",
        "\nids no\nnames yes\ncommits 0\nnext 100\nsegments 2\n",
        "\nzeros 3\n"};
    thr_manifest_segment segments[2];
    thr_manifest m = changed_example(segments);
    (void)round_trip(*state, &m);
    m = example(segments);
    (void)round_trip(*state, &m);
    m.n_zero = 3;
    m.cells_short = 0x1.8p-5F;
    const char *text = round_trip(*state, &m);
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        assert_non_null(strstr(text, lines[i]));
    expect_ok(parse_changed(*state, text, "dims 200", "dims 201"));
}

TEST(what_an_index_lacks_has_no_line) {
    thr_manifest_segment segments[2];
    thr_manifest m = example(segments);
    m.lead = 3;
    m.errors = (thr_code_errors){0};
    m.quantiser.rotation_seed = 0;
    m.tuning = (thr_tuning){0};
    const char *text = round_trip(*state, &m);
    assert_non_null(strstr(text, "\nlead 3\n"));
    assert_non_null(strstr(text, "\nrotation no\ntuning 0\nids no\n"));
}

TEST(wrong_lines_are_refused) {
    static const char *const changes[][2] = {
        {"metric l2", "metric l3"},
        {"metric l2", "metric l22"},
        {"dims 200", "dims 0"},
        {"dims 200", "dims 32769"},
        {"dims 200", "dims 0200"},
        {"dims 200", "dims +200"},
        {"dims 200", "dims 200 "},
        {"dims 200", "dims  200"},
        {"dims 200", "dims 99999999999999999999999"},
        {"dims 200\n", ""},
        {"dims 200\n", "dims 200\r\n"},
        {"bits 3", "bits 9"},
        {"bits 3", "bits 0"},
        {"keep f16", "keep u8"},
        {"keep f16", "keep f64"},
        {"items 100", "items 101"},
        {"items 100", "items 0"},
        {"items 100", "items 18446744073709551616"},
        {"0x1.000000p+0 ", "0x1.000000p-0 "},
        {"0x1.000000p+0 ", "0x1.000001p+0 "},
        {"0x1.000000p+0 ", "0x1.000000p+128 "},
        {"0x1.000000p+0 ", "0x1.000000p-127 "},
        {"0x1.000000p+0 ", "1.0 "},
        {"0x1.000000p+0 ", ""},
        {"0x1.000000p+0 ", "nan "},
        {"lead 1", "lead 0"},
        {"lead 1", "lead 4"},
        {"lead 1", "lead 3"}, /* then there are no errors */
        {"lead 1\n", ""},
        {"rotation 0000000000c0ffee", "rotation 0000000000000000"},
        {"rotation 0000000000c0ffee", "rotation 0000000000C0FFEE"},
        {"rotation 0000000000c0ffee", "rotation c0ffee"},
        {"rotation 0000000000c0ffee", "rotation yes"},
        {"rotation 0000000000c0ffee\n", ""},
        {"errors 0x1.000000p-1 ", "errors "},
        {"errors 0x1.000000p-1 ", "errors -0x1.000000p-1 "},
        {"errors 0x1.000000p-1 ", "errors 0x0.000000p+0 "},
        {"errors 0x1.000000p-1 ", "errors inf "},
        {"tuning 1000", "tuning 0"}, /* then there are no recalls */
        {"tuning 1000", "tuning 18446744073709551615"},
        {"tuning 1000\n", ""},
        {"recall 0.900 ", "recall 0.901 "},
        {"recall 0.900 ", "recall 0.9 "},
        {"recall 0.900 100 1 ", "recall 0.900 100 101 "},
        {"recall 0.900 100 1 ", "recall 0.900 100 0 "},
        {"recall 0.900 100 1 ", "recall 0.900 100 "},
        {"recall 0.950", "recall 0.990"},
        {" 3400 34\n", " 3400 34 1\n"},
        {" 3400 34\n", " 3400 34\nrecall 1.000 1 1 1 1 1 1 1 1\n"},
        {"ids no", "ids maybe"},
        {"names yes", "names yess"},
        {"segments 2", "segments 3"},
        {"segments 2", "segments 1"},
        {"segments 2", "segments 1000000"},
        {"segments 2", "segments 0"},
        {"segment 000000-deadbeef.seg 64 ", "segment 000000-deadbeef.seg 63 "},
        {"segment 000000-deadbeef.seg 64 ", "segment 000000-deadbeef.seg 0 "},
        {"segment 000000-deadbeef.seg 64 ", "segment 000000-deadbeef.seg 2147483712 "},
        {"segment 000000-deadbeef.seg 64 ", "segment 000000-DEADBEEF.seg 64 "},
        {"segment 000000-deadbeef.seg 64 ", "segment ../000-deadbeef.seg 64 "},
        {"segment 000000-deadbeef.seg 64 ", "segment 000007-deadbeef.seg 64 "},
        {"0123456789abcdef", "0123456789abcdeg"},
        {"0123456789abcdef", "0123456789abcde"},
    };
    thr_context *context = *state;
    thr_manifest_segment segments[2];
    thr_manifest m = example(segments);
    const char *text = round_trip(context, &m);
    expect_damage(context, text, changes, COUNT_OF(changes));
}

TEST(the_lines_of_changes_are_strict) {
    static const char *const changes[][2] = {
        {"commits 12\n", ""},
        {"next 500\n", "next 0\n"},
        {"next 500\n", "next 63\n"}, /* the first segment has ids up to 63 */
        {"items 97\n", "items 101\n"},
        {"live live-0badcafe.bits ", "live live-0badcafe.bit "},
        {"live live-0badcafe.bits 1122334455667788\n", ""},
        {" 1122334455667788", " 112233445566778"},
        {" ids\n", "\n"},
        {" from 0\n", " from\n"},
        {" from 0\n", " from 01\n"},
        {" from 0\n", " from 437\n"},
        {"\nids yes\n", "\nids no\n"}, /* the second segment has some */
    };
    thr_context *context = *state;
    thr_manifest_segment segments[2];
    thr_manifest m = changed_example(segments);
    const char *text = round_trip(context, &m);
    assert_non_null(strstr(text, "\ncommits 12\nnext 500\nlive live-0badcafe.bits 1122334455667788\nsegments 2\n"));
    expect_damage(context, text, changes, COUNT_OF(changes));
    expect_ok(parse_changed(context, text, " from 0\n", " from 436\n"));
    expect_ok(parse_changed(context, text, "items 97\n", "items 0\n"));
    m.has_ids = segments[1].has_ids = false;
    segments[1].first_id = 64;
    text = round_trip(context, &m);
    expect_error(parse_changed(context, text, "\nids no\n", "\nids yes\n"), THR_ECORRUPT, NULL);
    expect_error(parse_changed(context, text, " from 64\n", " from 65\n"), THR_ECORRUPT, NULL);
}

TEST(the_journals_line_is_strict) {
    static const char *const changes[][2] = {
        {"journal journal-0badcafe.log", "journal journal-0badcafe.lo"},
        {"journal journal-0badcafe.log", "journal journal-0badcaf.log"},
        {"journal journal-0badcafe.log", "journal ../urnal-0badcafe.log"},
        {"journal journal-0badcafe.log\n", "journal journal-0badcafe.log 1\n"},
        {"journal journal-0badcafe.log\n", "journal\n"},
        {"segments 2", "segments 0"},
    };
    thr_context *context = *state;
    thr_manifest_segment segments[2];
    thr_manifest m = example(segments);
    m.journal = (thr_manifest_journal){true, 0x0badcafe};
    const char *text = round_trip(context, &m);
    assert_non_null(strstr(text, "\njournal journal-0badcafe.log\nsegments 2\n"));
    expect_damage(context, text, changes, COUNT_OF(changes));
    expect_ok(parse_changed(context, text, "journal journal-0badcafe.log\n", ""));
}

TEST(the_models_line_is_strict) {
    static const char *const changes[][2] = {
        {"model-5f3a91c2.safetensors", "model-5f3a91c.safetensors"},
        {"model-5f3a91c2.safetensors", "model-5F3A91C2.safetensors"},
        {"model-5f3a91c2.safetensors", "model-5f3a91c2.safetensor"},
        {"model-5f3a91c2.safetensors", "/tmp-5f3a91c2.safetensors"},
        {" 123456 ", " 0123456 "},
        {" 123456 ", " -1 "},
        {" 123456 ", " "},
        {" 0123456789abcdef ", " 0123456789abcde "},
        {" fedcba9876543210", " Fedcba9876543210"},
        {"metric cosine", "metric ip"},
        {"segments 2", "model model-5f3a91c2.safetensors 1 0123456789abcdef fedcba9876543210 codes\nsegments 2"},
    };
    static const char *const of_codes[][2] = {
        {" codes\n", "\n"},
        {" codes\n", " planes\n"},
        {" codes\n", " codes \n"},
        {"keep none", "keep f32"},
        {"centre no", "centre yes"},
        {"rotation no", "rotation 0000000000000001"},
        {"lead 3", "lead 3\n"},
        {"0x1.000000p+1 0x1.000000p+1\n", "0x1.000000p+1 0x1.000000p+0\n"},
        {"tuning 0\n", "tuning 30\nrecall 0.900 1 1 1 1 1 1 1 1\nrecall 0.950 1 1 1 1 1 1 1 1\n"
                       "recall 0.990 1 1 1 1 1 1 1 1\nrecall 0.999 1 1 1 1 1 1 1 1\n"},
    };
    thr_manifest_segment segments[2];
    for (int codes = 0; codes < 2; codes++) {
        const thr_manifest m = example_of_model(segments, codes != 0);
        const char *text = round_trip(*state, &m);
        assert_non_null(strstr(text, codes ? "\nnames yes\nmodel model-5f3a91c2.safetensors 123456 0123456789abcdef "
                                             "fedcba9876543210 codes\ncommits 0\n"
                                           : "fedcba9876543210 vectors\ncommits 0\n"));
        expect_damage(*state, text, changes, COUNT_OF(changes));
        expect_damage(*state, text, of_codes, codes ? COUNT_OF(of_codes) : 0);
        if (!codes) {
            expect_error(parse_changed(*state, text, " vectors\n", " codes\n"), THR_ECORRUPT, NULL);
            expect_error(parse_changed(*state, text, " vectors\n", " dual\n"), THR_ECORRUPT, NULL); /* of cosine */
        }
    }
}

/* Codes of given vectors: the metric and the kept vectors are theirs, and candidates may be calibrated. */
TEST(a_model_of_vectors_keeps_its_inputs) {
    thr_manifest_segment segments[2];
    thr_manifest m = example_of_model(segments, true);
    m.metric = THR_METRIC_L2;
    m.keep = THR_DTYPE_F16;
    m.model.n_inputs = 300;
    const char *text = round_trip(*state, &m);
    assert_non_null(strstr(text, "fedcba9876543210 codes\ninputs 300\ncommits 0\n"));
    static const char *const changes[][2] = {
        {"inputs 300\n", ""}, {"inputs 300", "inputs 0"}, {"inputs 300", "inputs 40000"}, {"inputs 300", "inputs 0300"},
        {"lead 3", "lead 2"}, {" codes\n", " vectors\n"}, {"centre no", "centre yes"}};
    expect_damage(*state, text, changes, COUNT_OF(changes));
}

TEST(a_dual_model_is_of_inner_products) {
    thr_manifest_segment segments[2];
    thr_manifest m = example_of_model(segments, false);
    m.metric = THR_METRIC_IP;
    m.model.dual = true;
    const char *text = round_trip(*state, &m);
    assert_non_null(strstr(text, "fedcba9876543210 dual\ncommits 0\n"));
    expect_error(parse_changed(*state, text, "metric ip", "metric l2"), THR_ECORRUPT, NULL);
    expect_error(parse_changed(*state, text, " dual\n", " vectors\n"), THR_ECORRUPT, NULL);
}

TEST(the_features_line_is_strict) {
    static const char *const changes[][2] = {
        {"features-5f3a91c2.hits", "features-5f3a91c.hits"},
        {"features-5f3a91c2.hits", "features-5F3A91C2.hits"},
        {"features-5f3a91c2.hits", "features-5f3a91c2.hit"},
        {"features-5f3a91c2.hits", "../tures-5f3a91c2.hits"},
        {" 98765 ", " 098765 "},
        {" 98765 ", " "},
        {" 0123456789abcdef\ncommits", " 0123456789abcde\ncommits"},
        {" 0123456789abcdef\ncommits", " 0123456789abcdef \ncommits"},
        {"segments 2", "features features-5f3a91c2.hits 1 0123456789abcdef\nsegments 2"},
    };
    thr_manifest_segment segments[2];
    thr_manifest m = example_of_model(segments, false);
    m.hits = (thr_manifest_hits){true, 0x5f3a91c2, 98765, 0x0123456789abcdefu};
    const char *text = round_trip(*state, &m);
    assert_non_null(strstr(text, " vectors\nfeatures features-5f3a91c2.hits 98765 0123456789abcdef\ncommits 0\n"));
    expect_damage(*state, text, changes, COUNT_OF(changes));
}

/* A second file of lists, which only an index that was changed has. */
TEST(the_added_line_is_strict) {
    static const char *const changes[][2] = {
        {"added added-", "added features-"},
        {"added-5f3a91c3.hits", "added-5f3a91c3.hit"},
        {" 4321 ", " 04321 "},
        {" 00000000000000ab\n", " ab\n"},
        {"segments 2", "added added-5f3a91c3.hits 1 0123456789abcdef\nsegments 2"},
        {"features features-5f3a91c2.hits 98765 0123456789abcdef\n", ""},
    };
    thr_manifest_segment segments[2];
    thr_manifest m = changed_example(segments);
    m.hits = (thr_manifest_hits){true, 0x5f3a91c2, 98765, 0x0123456789abcdefu};
    m.added = (thr_manifest_hits){true, 0x5f3a91c3, 4321, 0xab};
    const char *text = round_trip(*state, &m);
    assert_non_null(strstr(text, "\nadded added-5f3a91c3.hits 4321 00000000000000ab\n"));
    expect_damage(*state, text, changes, COUNT_OF(changes));
}

TEST(every_changed_or_missing_byte_is_refused) {
    thr_context *context = *state;
    thr_manifest_segment segments[2];
    thr_manifest m = example(segments), back;
    char *text;
    size_t size;
    expect_ok(thr_index_manifest_print(context, &m, &text, &size, &err));
    for (size_t i = 0; i < size; i++) {
        for (int bit = 0; bit < 8; bit++) {
            text[i] = (char)(text[i] ^ 1 << bit);
            assert_int_not_equal(thr_index_manifest_parse(context, "MANIFEST", text, size, &back, &err), THR_OK);
            text[i] = (char)(text[i] ^ 1 << bit);
        }
        assert_int_not_equal(thr_index_manifest_parse(context, "MANIFEST", text, i, &back, &err), THR_OK);
    }
    expect_ok(thr_index_manifest_parse(context, "MANIFEST", text, size, &back, &err));
    thr_index_manifest_free(context, &back);
    thr_release(context, text);
}

TEST(other_versions_and_foreign_files_have_errors_of_their_own) {
    static const char newer[] = "thresher-index 2\nanything\n", foreign[] = "leveldb\n", zero[] = "thresher-index 0\n";
    thr_context *context = *state;
    thr_manifest m;
    expect_error(thr_index_manifest_parse(context, "M", newer, sizeof newer - 1, &m, &err), THR_EVERSION, NULL);
    assert_string_equal(err.text, "M: is of format version 2; this library reads version 1: build it again");
    expect_error(thr_index_manifest_parse(context, "M", zero, sizeof zero - 1, &m, &err), THR_EVERSION, NULL);
    expect_error(thr_index_manifest_parse(context, "M", foreign, sizeof foreign - 1, &m, &err), THR_EFORMAT, NULL);
    expect_error(thr_index_manifest_parse(context, "M", "", 0, &m, &err), THR_ECORRUPT, NULL);
}

TEST(a_line_that_is_unknown_is_damage) {
    static const char *const changes[][2] = {{"metric l2", "metrics l2"},      {"checksum ", "more 1\nchecksum "},
                                             {"bits 3\n", "bits 3\ngroups\n"}, {"segments 2", "parts 2\nsegments 2"},
                                             {"bits 3\n", "bits 3\n\n"},       {"bits 3\n", "bits 3\nBits 3\n"}};
    thr_manifest_segment segments[2];
    const thr_manifest m = example(segments);
    const char *text = round_trip(*state, &m);
    expect_damage(*state, text, changes, COUNT_OF(changes));
}

TEST(what_is_no_number_is_not_printed) {
    static const float bad[] = {0, -1, NAN, INFINITY, 1e-40f};
    thr_context *context = *state;
    thr_manifest_segment segments[2];
    char *text;
    size_t size;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        thr_manifest m = example(segments);
        m.quantiser.ranges[4] = bad[i];
        expect_error(thr_index_manifest_print(context, &m, &text, &size, &err), THR_ERANGE, NULL);
        m = example(segments);
        m.errors.full_error = bad[i];
        expect_error(thr_index_manifest_print(context, &m, &text, &size, &err), THR_ERANGE, NULL);
    }
}

/* Each is one that no reader accepts. */
TEST(what_could_not_be_opened_is_not_printed) {
    thr_manifest_segment segments[2];
    char *text;
    size_t size;
    for (int i = 0; i < 7; i++) {
        thr_manifest m = i < 2 ? example_of_model(segments, true) : example(segments);
        m.next_id = m.n_items;
        m.journal.there = i < 4;
        m.hits.there = i == 2;
        m.model.n_inputs = i < 2 ? 300 : 0;
        m.keep = i == 1 || i == 3 ? THR_DTYPE_NONE : THR_DTYPE_F32;
        if (i == 4)
            m.next_id = 63; /* the first segment has the ids 0 to 63 */
        if (i == 5)
            m.n_items = 101;
        if (i == 6)
            segments[1].number = 0;
        expect_error(thr_index_manifest_print(*state, &m, &text, &size, &err), THR_EINVAL, "nothing was changed");
    }
}

TEST(segment_names_are_strict) {
    static const char *const bad[] = {"",
                                      "000000-0000000.seg",
                                      "00000-00000000.seg",
                                      "000000_00000000.seg",
                                      "000000-0000000A.seg",
                                      "000000-00000000.se",
                                      "x00000-00000000.seg"};
    char name[THR_SEGMENT_NAME_SIZE];
    uint32_t number, build;
    const char *end;
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_false(thr_index_segment_name_parse(bad[i], &number, &build, &end));
    thr_index_segment_name_print(123456, 0x89abcdef, name);
    assert_string_equal(name, "123456-89abcdef.seg");
    assert_true(thr_index_segment_name_parse(name, &number, &build, &end));
    assert_int_equal(number, 123456);
    assert_int_equal(build, 0x89abcdef);
    assert_string_equal(end, "");
}

static int setup(void **state) {
    (void)setlocale(LC_ALL, "de_DE.UTF-8"); /* where there is one: a decimal comma must not matter */
    *state = test_context(1, THR_ISA_BEST, NULL);
    return 0;
}

static int teardown(void **state) {
    thr_context_free(*state);
    return 0;
}

TEST_GROUP(setup, teardown)
