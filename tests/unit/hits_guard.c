/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Posting lists that another program cuts while they are used, in a process that has called thr_guard_files: each call
 * gives its answer, or THR_ECHANGED with the file's name. The fstat below replaces the C library's; it cuts the file
 * after a call of the library has found it unchanged. Not run under ThreadSanitizer, to which a page that the guard
 * replaces is a write beside reads.
 */
#define _GNU_SOURCE /* AT_EMPTY_PATH */
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <thresher/guard.h>

#include "hits/hits.h"
#include "index_hits_support.h"

static const char DIR_A[] = "hits-guard", LISTS[] = "hits-guard.hits", TABLE[] = "hits-guard.tsv";
enum { N = 3000, N_MORE = 800, DIMS = 4, K = 30, THREADS = 4, PAGE = 4096 };

/* In a child, where a failed assertion would go on with the tests of its parent. */
#define MUST(truth, ...)                                                                                               \
    do {                                                                                                               \
        if (!(truth)) {                                                                                                \
            (void)fprintf(stderr, __VA_ARGS__);                                                                        \
            (void)fprintf(stderr, "\n");                                                                               \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

/* ------------------------------------------------------------------------------------------------ cutting */

static struct {
    const char *path; /* NULL: cut nothing */
    off_t size;
    atomic_int after; /* calls of fstat on the file until it is cut, from any thread */
} knife;

int fstat(int fd, struct stat *st) {
    struct stat there;
    const int result = fstatat(fd, "", st, AT_EMPTY_PATH);
    if (result == 0 && knife.path != NULL && stat(knife.path, &there) == 0 && there.st_ino == st->st_ino &&
        atomic_fetch_sub(&knife.after, 1) == 1)
        (void)truncate(knife.path, knife.size);
    return result;
}

/* ------------------------------------------------------------------------------------------------ items */

/* Lines of an item's name and its features: every item has a word of its own, so there are single items and lists. */
static void write_table(uint64_t first, uint64_t n) {
    FILE *file = fopen(TABLE, "w");
    MUST(file != NULL, "a table can be written");
    for (uint64_t i = first; i < first + n; i++)
        (void)fprintf(file, "item%u\tall even=%u mod7=%u run=%u own%u\n", (unsigned)i, (unsigned)(i % 2),
                      (unsigned)(i % 7), (unsigned)(i / 300), (unsigned)i);
    MUST(fclose(file) == 0, "a table is written");
}

static const char *const WORDS[] = {"all", "even=1", "mod7=3", "run=2", "own17", "own2999"};
enum { N_ASKED = COUNT_OF(WORDS) };

static void build_lists(thr_context *context) {
    float multipliers[N];
    thr_hits_build_options options = {.replace = true};
    for (int i = 0; i < N; i++)
        multipliers[i] = 1 + (float)(i % 5);
    options.multipliers = multipliers;
    options.n_values = N;
    write_table(0, N);
    MUST(thr_hits_build_table(context, LISTS, TABLE, &options, &err) == THR_OK, "%s", err.text);
}

/* An index with a second file of posting lists. */
static void build_index(thr_context *context) {
    float *rows = random_rows(N + N_MORE, DIMS, 1);
    thr_index_build_options options = build_options(THR_METRIC_IP, THR_DTYPE_F32, 4);
    thr_index_add_options more = {0};
    OWNED(thr_index, index) = NULL;
    test_remove_directory(DIR_A);
    write_table(0, N);
    options.features_path = TABLE;
    MUST(build_rows(context, DIR_A, rows, N, DIMS, &options, &err) == THR_OK, "%s", err.text);
    write_table(N, N_MORE);
    more.features_path = TABLE;
    const thr_matrix added = thr_matrix_f32(rows + N * DIMS, N_MORE, DIMS);
    thr_reader *reader = NULL;
    MUST(thr_reader_from_matrix(context, &added, &reader, &err) == THR_OK, "%s", err.text);
    MUST(thr_index_add(context, DIR_A, reader, &more, NULL, &err) == THR_OK, "%s", err.text);
    thr_reader_free(reader);
    MUST(thr_index_open(context, DIR_A, &index, &err) == THR_OK, "%s", err.text);
    MUST(thr_index_hits(index)->delta != NULL, "there is a second file");
}

/* The path of the first file of posting lists, or of the second. */
static void find_file(thr_context *context, bool second, char path[PATH_ROOM]) {
    OWNED(thr_index, index) = NULL;
    MUST(thr_index_open(context, DIR_A, &index, &err) == THR_OK, "%s", err.text);
    const thr_hits *hits = thr_index_hits(index);
    (void)snprintf(path, PATH_ROOM, "%s", second ? hits->delta->from->path : hits->path);
}

/* ------------------------------------------------------------------------------------------------ calls */

/* What the calls of a round use, opened before the file is cut; and a checksum of their answers. */
typedef struct opened {
    thr_context *context;
    thr_index *index; /* NULL: lists alone */
    thr_hits *hits;
    thr_hits_target *target;
    uint32_t features[N_ASKED];
    uint64_t answer;
} opened;

static thr_hits_queries queries_of(const opened *o) {
    static const uint64_t offsets[] = {0, N_ASKED};
    return (thr_hits_queries){.n_queries = 1, .offsets = offsets, .features = o->features};
}

static void note(opened *o, const void *bytes, size_t size) {
    o->answer ^= thr_checksum_of(bytes, size);
}

static thr_status search_lists(opened *o, thr_error *error) {
    const thr_hits_queries queries = queries_of(o);
    uint64_t ids[K] = {0};
    float values[K] = {0};
    thr_hits_search_options options = {.target = o->target};
    const thr_status status = thr_hits_search(o->hits, &queries, K, &options, ids, values, error);
    note(o, ids, sizeof ids);
    note(o, values, sizeof values);
    return status;
}

static thr_status search_all_lists(opened *o, thr_error *error) {
    const thr_hits_queries queries = queries_of(o);
    uint64_t ids[K] = {0};
    const thr_status status = thr_hits_search(o->hits, &queries, K, NULL, ids, NULL, error);
    note(o, ids, sizeof ids);
    return status;
}

static thr_status make_target(opened *o, thr_error *error) {
    OWNED(thr_hits_target, target) = NULL;
    const thr_status status = thr_hits_target_create(o->hits, "all AND NOT (mod7=3 OR own18)", &target, error);
    if (status == THR_OK)
        note(o, &(uint64_t){thr_hits_target_count(target)}, sizeof(uint64_t));
    return status;
}

static thr_status explain(opened *o, thr_error *error) {
    const thr_hits_queries queries = queries_of(o);
    float shares[N_ASKED] = {0};
    const thr_status status = thr_hits_explain(o->hits, 17, &queries, 0, shares, NULL, error);
    note(o, shares, sizeof shares);
    return status;
}

static thr_status update(opened *o, thr_error *error) {
    static const char *const names[] = {"item5", "new"}, *const words[] = {"all", "unseen"}, *const gone[] = {"item9"};
    static const uint64_t offsets[] = {0, 1, 2};
    const thr_hits_queries queries = queries_of(o);
    uint64_t ids[K] = {0};
    OWNED(thr_hits, updated) = NULL;
    thr_hits_changes changes = {
        .n_added = 2, .names = names, .offsets = offsets, .words = words, .n_removed = 1, .removed_names = gone};
    thr_status status = thr_hits_update(o->hits, &changes, &updated, error);
    if (status == THR_OK)
        status = thr_hits_search(updated, &queries, K, NULL, ids, NULL, error);
    note(o, ids, sizeof ids);
    return status;
}

static thr_status set_values(opened *o, thr_error *error) {
    float values[N] = {1};
    return thr_hits_set_values(o->hits, values, NULL, N, error);
}

static thr_status verify(opened *o, thr_error *error) {
    return o->index == NULL ? thr_hits_verify(o->hits, error) : thr_index_verify(o->index, error);
}

/* Look-ups return no status. If they find nothing, this returns THR_ECHANGED. */
static thr_status look_up(opened *o, thr_error *error) {
    uint32_t feature;
    uint64_t id, row;
    const bool found = thr_hits_feature(o->hits, "own2999", &feature) && thr_hits_feature_items(o->hits, feature) > 0 &&
                       thr_hits_find(o->hits, "item2500", &id) && thr_hits_row(o->hits, id, &row) &&
                       thr_hits_word(o->hits, 5) != NULL && thr_hits_name(o->hits, id) != NULL;
    if (found)
        return THR_OK;
    return thr_fail(error, THR_ECHANGED, "%s", knife.path);
}

static thr_status open_again(opened *o, thr_error *error) {
    OWNED(thr_index, index) = NULL;
    OWNED(thr_hits, hits) = NULL;
    return o->index != NULL ? thr_index_open(o->context, DIR_A, &index, error)
                            : thr_hits_open(o->context, LISTS, &hits, error);
}

static thr_status search_index(opened *o, thr_error *error) {
    static const float query[DIMS] = {0.5f, -0.25f, 0.125f, 1};
    const thr_matrix queries = thr_matrix_f32(query, 1, DIMS);
    const thr_hits_queries features = queries_of(o);
    uint64_t ids[K] = {0};
    float scores[K] = {0};
    thr_search_options options = {.features = &features, .target = o->target};
    const thr_status status = thr_index_search(o->index, &queries, K, &options, ids, scores, error);
    note(o, ids, sizeof ids);
    note(o, scores, sizeof scores);
    return status;
}

/* ------------------------------------------------------------------------------------------------ rounds */

typedef thr_status call_fn(opened *o, thr_error *err);
typedef struct call {
    const char *name;
    call_fn *run;
    bool targeted;
} call;

static const call LIST_CALLS[] = {{"search", search_all_lists, false}, {"search with a target", search_lists, true},
                                  {"target", make_target, false},      {"explain", explain, false},
                                  {"update", update, false},           {"values", set_values, false},
                                  {"verify", verify, false},           {"look-ups", look_up, false},
                                  {"open", open_again, false}};
static const call INDEX_CALLS[] = {{"fused search", search_index, false},
                                   {"fused search with a target", search_index, true},
                                   {"search of the lists", search_all_lists, false},
                                   {"target", make_target, false},
                                   {"verify", verify, false},
                                   {"open", open_again, false}};
enum { N_LIST_CALLS = COUNT_OF(LIST_CALLS), N_INDEX_CALLS = COUNT_OF(INDEX_CALLS) };

static opened open_all(thr_context *context, bool index, bool targeted) {
    opened o = {.context = context};
    if (index) {
        MUST(thr_index_open(context, DIR_A, &o.index, &err) == THR_OK, "%s", err.text);
        o.hits = thr_index_hits(o.index);
    } else {
        MUST(thr_hits_open(context, LISTS, &o.hits, &err) == THR_OK, "%s", err.text);
    }
    for (int i = 0; i < N_ASKED; i++)
        MUST(thr_hits_feature(o.hits, WORDS[i], &o.features[i]), "%s is there", WORDS[i]);
    if (targeted)
        MUST(thr_hits_target_create(o.hits, "all AND NOT mod7=3", &o.target, &err) == THR_OK, "%s", err.text);
    return o;
}

static void close_all(opened *o) {
    thr_hits_target_free(o->target);
    if (o->index == NULL)
        thr_hits_free(o->hits);
    thr_index_free(o->index);
}

static thr_status run(opened *o, const call *c) {
    o->answer = 0;
    err.text[0] = '\0';
    return c->run(o, &err);
}

/* Cut the file to `size` during a call. It and a later call give the answer, or THR_ECHANGED with the file's name. */
static void cut_during(thr_context *context, const call *c, bool index, const char *path, off_t size, int after) {
    opened o = open_all(context, index, c->targeted);
    MUST(run(&o, c) == THR_OK, "%s: %s", c->name, err.text);
    const uint64_t answer = o.answer;
    knife.size = size;
    knife.after = after;
    knife.path = path;
    for (int again = 0; again < 2; again++) {
        const thr_status status = run(&o, c);
        const bool answered = status == THR_OK && o.answer == answer && (again == 0 || knife.after > 0);
        const bool refused = status == THR_ECHANGED || (again == 1 && c->run == open_again); /* it is not open */
        MUST(answered || (refused && strstr(err.text, path) != NULL), "%s, %s cut to %ld bytes, call %d: %s: %s",
             c->name, path, (long)size, again + 1, thr_status_name(status), err.text);
    }
    knife.path = NULL;
    close_all(&o);
}

static void cut_everywhere(thr_context *context, const call *calls, size_t n, bool index, const char *path) {
    size_t size;
    uint8_t *bytes = test_bytes_of(path, &size);
    MUST(size > 4 * PAGE, "%s has %zu bytes", path, size);
    for (size_t c = 0; c < n; c++)
        for (size_t at = 0; at < size; at += index ? 3 * PAGE : 2 * PAGE)
            for (int after = 1; after <= 3; after++) {
                cut_during(context, &calls[c], index, path, (off_t)at, after);
                test_write_file(path, bytes, size);
            }
}

/* Run work in a child that is guarded. */
static void in_guarded_child(void (*work)(thr_context *context)) {
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)signal(SIGBUS, SIG_DFL); /* the test framework has a handler of its own */
        thr_context *context = test_context(2, THR_ISA_BEST, NULL);
        MUST(thr_guard_files(&err) == THR_OK, "%s", err.text);
        work(context);
        thr_context_free(context);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void cut_lists(thr_context *context) {
    build_lists(context);
    cut_everywhere(context, LIST_CALLS, N_LIST_CALLS, false, LISTS);
}

static void cut_lists_of_an_index(thr_context *context) {
    char path[PATH_ROOM];
    build_index(context);
    find_file(context, false, path);
    cut_everywhere(context, INDEX_CALLS, N_INDEX_CALLS, true, path);
    find_file(context, true, path);
    cut_everywhere(context, INDEX_CALLS, N_INDEX_CALLS, true, path);
}

/* Compact an index while a file is cut: the features of its items are copied, or it stays as it was. */
static void cut_during_compaction(thr_context *context) {
    for (int e = 0; e < 2; e++)
        for (int after = 1; after <= 8; after++) {
            char path[PATH_ROOM];
            size_t size;
            build_index(context);
            find_file(context, e == 1, path);
            uint8_t *bytes = test_bytes_of(path, &size);
            knife.size = after % 2 == 0 ? 0 : 3 * PAGE;
            knife.after = after;
            knife.path = path;
            const thr_status status = thr_index_compact(context, DIR_A, NULL, &err);
            /* THR_ECORRUPT: it was opened again after it was cut */
            const bool refused = status == THR_ECHANGED || status == THR_ECORRUPT;
            MUST(status == THR_OK || (refused && strstr(err.text, path) != NULL), "compact, %s cut at check %d: %s: %s",
                 path, after, thr_status_name(status), err.text);
            knife.path = NULL;
            if (status != THR_OK)
                test_write_file(path, bytes, size);
            opened o = open_all(context, true, false);
            MUST(verify(&o, &err) == THR_OK, "%s", err.text);
            close_all(&o);
        }
}

/* ------------------------------------------------------------------------------------------------ threads */

typedef struct caller {
    opened *o;
    const call *calls;
    size_t n, number;
    bool wrong;
} caller;

/* Call in turn until every call has failed as it should. */
static void *call_until_cut(void *arg) {
    caller *a = arg;
    opened o = *a->o;
    for (size_t i = a->number, failed = 0; failed < 2 * a->n && !a->wrong; i++) {
        const thr_status status = a->calls[i % a->n].run(&o, &err);
        failed = status == THR_OK ? 0 : failed + 1;
        a->wrong = status != THR_OK && status != THR_ECHANGED;
    }
    return NULL;
}

static void *cut_soon(void *arg) {
    const caller *a = arg;
    (void)usleep((useconds_t)(500 * a->number));
    (void)truncate(knife.path, knife.size);
    return NULL;
}

static void *run_thread(void *arg) {
    caller *a = arg;
    return a->calls == NULL ? cut_soon(a) : call_until_cut(a);
}

static void cut_beside_threads(thr_context *context, bool index, const char *path) {
    size_t size;
    uint8_t *bytes = test_bytes_of(path, &size);
    for (size_t round = 0; round < 12; round++) {
        caller callers[THREADS + 1] = {{.calls = NULL}};
        opened o = open_all(context, index, true);
        for (size_t i = 0; i <= THREADS; i++)
            callers[i] = (caller){&o, index ? INDEX_CALLS : LIST_CALLS, index ? 1 : N_LIST_CALLS - 1, i, false};
        callers[THREADS] = (caller){.number = round};
        knife.path = path;
        knife.after = 0;
        knife.size = (off_t)(size * round / 12);
        test_at_once(THREADS + 1, run_thread, callers, sizeof *callers);
        knife.path = NULL;
        for (size_t i = 0; i < THREADS; i++)
            MUST(!callers[i].wrong, "%s: a thread got another err", path);
        close_all(&o);
        test_write_file(path, bytes, size);
    }
}

static void cut_beside_all_threads(thr_context *context) {
    char path[PATH_ROOM];
    build_lists(context);
    cut_beside_threads(context, false, LISTS);
    build_index(context);
    find_file(context, false, path);
    cut_beside_threads(context, true, path);
    find_file(context, true, path);
    cut_beside_threads(context, true, path);
}

/* ------------------------------------------------------------------------------------------------ tests */

TEST(lists_that_are_cut_during_a_call_are_reported) {
    in_guarded_child(cut_lists);
}

TEST(lists_of_an_index_that_are_cut_during_a_call_are_reported) {
    in_guarded_child(cut_lists_of_an_index);
}

TEST(a_compaction_of_lists_that_are_cut_fails_and_loses_nothing) {
    in_guarded_child(cut_during_compaction);
}

TEST(lists_that_are_cut_beside_threads_are_reported) {
    in_guarded_child(cut_beside_all_threads);
}

static int teardown(void **state) {
    (void)state;
    (void)unlink(LISTS);
    (void)unlink(TABLE);
    test_remove_directory(DIR_A);
    return 0;
}

TEST_GROUP(test_say_seed, teardown)
