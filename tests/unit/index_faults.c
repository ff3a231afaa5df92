/* SPDX-License-Identifier: Apache-2.0 */
/* No memory, no disk, no process: every allocation failing in turn, a full disk, SIGKILL in the middle of a write. */
#define _DEFAULT_SOURCE /* mount */
#include "index_support.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#if defined(__linux__)
#include <sys/mount.h>
#endif

static const char DIR_A[] = "index-faults";
enum { N = 500, DIMS = 9, K = 7 };

/* ------------------------------------------------------------------------------------------------ memory */

typedef struct job {
    thr_context *context;
    const float *rows;
    thr_index_build_options options;
} job;

static thr_status do_build(job *j) {
    test_remove_directory(DIR_A);
    return build_rows(j->context, DIR_A, j->rows, N, DIMS, &j->options, &err);
}

static thr_status do_open(job *j) {
    OWNED(thr_index, index) = NULL;
    thr_status status = thr_index_open(j->context, DIR_A, &index, &err);
    assert_true((status == THR_OK) == (index != NULL));
    return status;
}

static thr_status do_search(job *j) {
    OWNED(thr_index, index) = NULL;
    uint64_t ids[2 * K];
    thr_matrix queries = thr_matrix_f32(j->rows, 2, DIMS);
    thr_status status = thr_index_open(j->context, DIR_A, &index, &err);
    if (status == THR_OK)
        status = thr_index_search(index, &queries, K, NULL, ids, NULL, &err);
    if (status == THR_OK)
        status = thr_index_verify(index, &err);
    return status;
}

static void fail_each_allocation(test_memory *memory, job *j, thr_status (*work)(job *)) {
    test_oom oom = test_oom_start(memory);
    oom.tolerant = true; /* the choice of a kernel does without memory */
    while (test_oom_next(&oom)) {
        test_oom_arm(&oom);
        const thr_status status = work(j);
        (void)test_oom_check(&oom, status, &err, NULL);
    }
    assert_true(oom.n_failed > 3);
}

TEST(every_allocation_may_fail) {
    float *rows = random_rows(N, DIMS, 1);
    uint64_t ids[N];
    FILE *file = fopen("faults-names.txt", "w"), *table = fopen("faults-features.tsv", "w");
    assert_true(file != NULL && table != NULL);
    for (uint64_t i = 0; i < N; i++) {
        ids[i] = 3 * i + 1;
        (void)fprintf(table, "name %d\tword%d other%d\n", (int)i, (int)i % 7, (int)i % 3);
        (void)fprintf(file, "name %d\n", (int)i);
    }
    (void)fclose(file);
    (void)fclose(table);
    for (int kind = 0; kind < 4; kind++) {
        test_memory memory = {0};
        job j = {.rows = rows, .context = test_context(2, THR_ISA_BEST, &memory)};
        j.options = build_options((thr_metric)(kind % 3), (thr_dtype)kind, 3);
        j.options.segment_rows = kind == 1 ? 128 : 0;
        j.options.cells = kind == 1 || kind == 2 ? 12 : 0;
        j.options.features_path = kind == 2 ? "faults-features.tsv" : NULL; /* whose names are not the ids */
        j.options.ids = kind % 2 == 0 ? ids : NULL;
        j.options.n_ids = kind % 2 == 0 ? N : 0;
        j.options.ids_path = kind % 2 == 1 ? "faults-names.txt" : NULL;
        fail_each_allocation(&memory, &j, do_build);
        fail_each_allocation(&memory, &j, do_open);
        fail_each_allocation(&memory, &j, do_search);
        thr_context_free(j.context);
        assert_int_equal(atomic_load(&memory.live), 0);
    }
    (void)unlink("faults-names.txt");
    (void)unlink("faults-features.tsv");
}

/* ------------------------------------------------------------------------------------------------ kill */

enum { SLOW_PIECE = 64 };

static uint64_t give_slowly(void *user, uint64_t first, uint64_t max_rows, float *out) {
    (void)user;
    uint64_t n = max_rows < SLOW_PIECE ? max_rows : SLOW_PIECE;
    for (uint64_t i = 0; i < n * DIMS; i++)
        out[i] = (float)((first + i) % 101) - 50;
    (void)nanosleep(&(struct timespec){.tv_nsec = 500 * 1000}, NULL);
    return n;
}

static _Noreturn void build_for_ever(bool replace) {
    thr_context *context = NULL;
    thr_reader *reader = NULL;
    thr_index_build_options options = build_options(THR_METRIC_IP, THR_DTYPE_F32, 3);
    options.replace = replace;
    options.segment_rows = 256;
    if (thr_context_create(NULL, &context, NULL) == THR_OK &&
        thr_reader_from_function(context, 1u << 27, DIMS, give_slowly, NULL, &reader, NULL) == THR_OK)
        (void)thr_index_build(context, DIR_A, reader, &options, NULL);
    _exit(1); /* only reached when the build could not go on */
}

/* Start a build in another process and kill it when it has published two segments. */
static void start_and_kill(bool replace, size_t files_before) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        build_for_ever(replace);
    for (int i = 0; count_files(DIR_A, ".seg", NULL) < files_before + 2; i++) {
        assert_true(i < 20000);
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000 * 1000}, NULL);
    }
    int how;
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFSIGNALED(how));
}

TEST(a_killed_build_leaves_the_old_index_and_room_for_the_next) {
    float *rows = random_rows(N, DIMS, 1), vector[DIMS];
    thr_context *context = *state;
    thr_index *index = NULL;
    thr_index_build_options options = build_options(THR_METRIC_IP, THR_DTYPE_F32, 3);
    test_remove_directory(DIR_A);
    start_and_kill(false, 0); /* into nothing */
    expect_error(thr_index_open(context, DIR_A, &index, &err), THR_EFORMAT, NULL);
    expect_ok(build_rows(context, DIR_A, rows, N, DIMS, &options, &err));
    assert_int_equal(count_files(DIR_A, "", NULL), 2);

    start_and_kill(true, 1); /* over an index */
    assert_true(count_files(DIR_A, "", NULL) > 2);
    expect_ok(thr_index_open(context, DIR_A, &index, &err));
    expect_ok(thr_index_verify(index, &err));
    expect_ok(thr_index_vector(index, 499, vector, &err));
    assert_memory_equal(vector, rows + 499 * DIMS, sizeof vector);
    thr_index_free(index);

    options.replace = true;
    expect_ok(build_rows(context, DIR_A, rows, N, DIMS, &options, &err));
    assert_int_equal(count_files(DIR_A, "", NULL), 2);
}

/* ------------------------------------------------------------------------------------------------ disk */

static bool mount_small(const char *dir) {
#if defined(__linux__)
    return mount("tmpfs", dir, "tmpfs", 0, "size=256k") == 0;
#else
    (void)dir;
    return false;
#endif
}

static void unmount(const char *dir) {
#if defined(__linux__)
    (void)umount(dir);
#endif
    (void)rmdir(dir);
}

TEST(a_full_disk_is_enospace_and_the_old_index_stays) {
    static const char disk[] = "faults-disk", dir[] = "faults-disk/index";
    enum { LARGE = 20000 };
    thr_context *context = *state;
    (void)mkdir(disk, 0777);
    if (!mount_small(disk)) {
        (void)rmdir(disk);
        print_message("a small disk cannot be mounted (%s): left out\n", strerror(errno));
        skip();
    }
    float *rows = random_rows(LARGE, DIMS, 1), vector[DIMS];
    thr_index *index = NULL;
    thr_index_build_options options = build_options(THR_METRIC_IP, THR_DTYPE_F32, 3);
    thr_status fresh = build_rows(context, dir, rows, LARGE, DIMS, &options, &err);
    bool gone = access(dir, F_OK) != 0;
    thr_status small = build_rows(context, dir, rows, N, DIMS, &options, &err);
    options.replace = true;
    options.segment_rows = 1024;
    thr_status large = build_rows(context, dir, rows, LARGE, DIMS, &options, &err);
    bool told = strstr(err.text, "faults-disk/index/0") != NULL;
    size_t files = count_files(dir, "", NULL);
    thr_status opened = thr_index_open(context, dir, &index, &err), verified = THR_EIO, read = THR_EIO;
    if (opened == THR_OK) {
        verified = thr_index_verify(index, &err);
        read = thr_index_vector(index, 77, vector, &err);
    }
    bool same = read == THR_OK && memcmp(vector, rows + 77 * DIMS, sizeof vector) == 0;
    thr_index_free(index);
    test_remove_directory(dir);
    unmount(disk); /* before anything is asserted */
    assert_string_equal(thr_status_name(fresh), "ENOSPACE");
    assert_true(gone);
    assert_int_equal(small, THR_OK);
    assert_string_equal(thr_status_name(large), "ENOSPACE");
    assert_true(told);
    assert_int_equal(files, 2);
    assert_int_equal(opened, THR_OK);
    assert_int_equal(verified, THR_OK);
    assert_true(same);
}

TEST_IN_CONTEXT(1, DIR_A)
