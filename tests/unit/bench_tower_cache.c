/* SPDX-License-Identifier: Apache-2.0 */
/* bench_tower_cache.c - what the bench of towers keeps comes back as it was, also behind a line that was cut short. */
#include "../programs/bench/tower_cache.h"

#include "support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char path[] = "results.tsv";

static void add(const char *key, const char *name, double value) {
    bench_record record = {.n = 0};
    (void)snprintf(record.key, sizeof record.key, "%s", key);
    bench_record_set(&record, name, value);
    bench_record_set(&record, "second", -1.0 / 3);
    assert_int_equal(bench_cache_add(path, &record), 0);
}

static void numbers_come_back_to_the_bit(void **state) {
    (void)state;
    bench_record record = {.n = 0};
    (void)remove(path);
    assert_false(bench_cache_find(path, "a", &record));
    add("a", "auc", 0.1);
    add("a longer; key", "auc", 1e-300);
    assert_true(bench_cache_find(path, "a", &record));
    assert_string_equal(record.key, "a");
    assert_int_equal(record.n, 2);
    assert_true(bench_record_get(&record, "auc") == 0.1);
    assert_true(bench_record_get(&record, "second") == -1.0 / 3);
    assert_true(isnan(bench_record_get(&record, "third")));
    assert_true(bench_cache_find(path, "a longer; key", &record));
    assert_true(bench_record_get(&record, "auc") == 1e-300);
    assert_false(bench_cache_find(path, "a longer", &record));
}

static void the_last_line_of_a_key_counts(void **state) {
    (void)state;
    bench_record record = {.n = 0};
    (void)remove(path);
    add("a", "auc", 1);
    add("b", "auc", 2);
    add("a", "auc", 3);
    assert_true(bench_cache_find(path, "a", &record));
    assert_true(bench_record_get(&record, "auc") == 3);
    assert_int_equal(record.n, 2);
}

static void a_line_that_was_cut_is_none_and_the_next_one_is_whole(void **state) {
    (void)state;
    bench_record record = {.n = 0};
    (void)remove(path);
    add("a", "auc", 0.5);
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    (void)fputs("b\tauc=0.12", file);
    assert_int_equal(fclose(file), 0);
    assert_false(bench_cache_find(path, "b", &record));
    add("c", "auc", 0.75);
    assert_true(bench_cache_find(path, "a", &record));
    assert_true(bench_cache_find(path, "c", &record));
    assert_true(bench_record_get(&record, "auc") == 0.75);
}

static void fields_beyond_the_last_are_left_out(void **state) {
    (void)state;
    bench_record record = {.n = 0};
    char name[16];
    for (int i = 0; i < BENCH_FIELDS + 5; i++) {
        (void)snprintf(name, sizeof name, "f%d", i);
        bench_record_set(&record, name, i);
    }
    assert_int_equal(record.n, BENCH_FIELDS);
    bench_record_set(&record, "f3", 30);
    assert_true(bench_record_get(&record, "f3") == 30);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_come_back_to_the_bit),
        cmocka_unit_test(the_last_line_of_a_key_counts),
        cmocka_unit_test(a_line_that_was_cut_is_none_and_the_next_one_is_whole),
        cmocka_unit_test(fields_beyond_the_last_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
