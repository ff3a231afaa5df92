/* SPDX-License-Identifier: Apache-2.0 */
/* base_progress.c - progress is reported seldom, always at the end, and can cancel the work. */
#include "test.h"

#include "base/clock.h"
#include "base/progress.h"

#include <time.h>

typedef struct listener {
    size_t calls;
    uint64_t done, total;
    char what[16];
    bool go_on;
} listener;

static bool listen(void *user, const char *what, uint64_t done, uint64_t total) {
    listener *l = user;
    l->calls++;
    l->done = done;
    l->total = total;
    strncpy(l->what, what, sizeof l->what - 1);
    return l->go_on;
}

TEST(without_a_listener_nothing_happens) {
    thr_context context = {.progress = NULL};
    thr_progress progress = thr_progress_start(&context, "test", 10);
    expect_ok(thr_progress_step(&progress, 5, &err));
    expect_ok(thr_progress_end(&progress, 10, &err));
}

TEST(progress_is_reported_a_few_times_a_second) {
    listener l = {.go_on = true};
    thr_context context = {.progress = listen, .progress_user = &l};
    const double start = thr_clock();
    thr_progress progress = thr_progress_start(&context, "test", 1000);
    expect_ok(thr_progress_step(&progress, 1, &err));
    assert_int_equal(l.calls, 1);
    assert_int_equal(l.done, 1);
    assert_int_equal(l.total, 1000);
    assert_string_equal(l.what, "test");
    for (uint64_t i = 2; i < 1000; i++)
        expect_ok(thr_progress_step(&progress, i, &err));
    const double seconds = thr_clock() - start;
    assert_case((double)l.calls <= 2 + seconds * 5, "%zu reports in %g s", l.calls, seconds);
    const struct timespec pause = {.tv_nsec = 250000000};
    (void)nanosleep(&pause, NULL);
    const size_t before = l.calls;
    expect_ok(thr_progress_step(&progress, 1000, &err));
    assert_int_equal(l.calls, before + 1);
}

TEST(the_end_is_always_reported_with_done_equal_to_total) {
    listener l = {.go_on = true};
    thr_context context = {.progress = listen, .progress_user = &l};
    thr_progress progress = thr_progress_start(&context, "test", 0);
    expect_ok(thr_progress_step(&progress, 1, &err));
    assert_int_equal(l.total, 0);
    expect_ok(thr_progress_end(&progress, 77, &err));
    assert_int_equal(l.calls, 2);
    assert_int_equal(l.done, 77);
    assert_int_equal(l.total, 77);
}

TEST(progress_that_returns_false_cancels) {
    listener l = {.go_on = false};
    thr_context context = {.progress = listen, .progress_user = &l};
    thr_progress progress = thr_progress_start(&context, "encode", 100);
    expect_error(thr_progress_step(&progress, 42, &err), THR_ECANCELED, "42 items");
    expect_error(thr_progress_end(&progress, 100, &err), THR_ECANCELED, "encode");
}

TEST(the_clock_never_goes_back) {
    double last = thr_clock();
    for (int i = 0; i < 10000; i++) {
        const double now = thr_clock();
        assert_true(now >= last);
        last = now;
    }
}
