/* SPDX-License-Identifier: Apache-2.0 */
/* device_policy.c - the rule of device/policy.h, row by row, with fake copies and devices. */
#include "test.h"

#include "device/policy.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static const thr_status TAKEN_OVER[] = {THR_EDEVICE, THR_ENOMEM, THR_EUNSUPPORTED};
static const thr_status TOLD[] = {THR_EINVAL, THR_ERANGE, THR_ECANCELED};
enum { N_TAKEN_OVER = 3, N_TOLD = 3 };

/* A context with devices that are there, but of which none is opened. */
static thr_context *make_context(thr_device_kind kind) {
    thr_context_options options = {0};
    thr_context *context = NULL;
    options.n_threads = 1;
    options.device = "auto";
    expect_ok(thr_context_create(&options, &context, &err));
    context->gpus->choice.kind = kind;
    expect_ok(thr_alloc_zero(context, 1, sizeof *context->gpus->devices, &context->gpus->devices, "devices", &err));
    (void)snprintf(context->gpus->devices->text, sizeof context->gpus->devices->text, "cuda:0 (none)");
    return context;
}

/* What is copied; the copy is the object. */
typedef struct object {
    thr_device_policy policy;
    thr_status status; /* of copies */
    atomic_int n_tries, n_copies, n_freed;
    pthread_mutex_t *hold; /* NULL, or locked by a test while it acts during a copy */
} object;

static thr_status copy_object(void *arg, const thr_devices *devices, void **copy, thr_error *error) {
    object *o = arg;
    assert_non_null(devices);
    o->n_tries++;
    if (o->hold != NULL) {
        (void)pthread_mutex_lock(o->hold);
        (void)pthread_mutex_unlock(o->hold);
    }
    if (o->status != THR_OK)
        return thr_fail(error, o->status, "no copy");
    o->n_copies++;
    *copy = o;
    return THR_OK;
}

static void free_object(void *copy) {
    ((object *)copy)->n_freed++;
}

static const thr_device_copier COPIER = {.copy = copy_object, .free = free_object, .wake_ups = 1};

static void start(object *o, thr_context *context) {
    memset(o, 0, sizeof *o);
    thr_device_policy_start(&o->policy, context);
}

static thr_device_use use_of(object *o, double seconds) {
    return (thr_device_use){.copier = &COPIER, .object = o, .name = "it", .seconds = seconds};
}

/* Begin a use that goes well; whether it is the GPU's. */
static bool enter(object *o, double seconds) {
    const thr_device_use use = use_of(o, seconds);
    object *copy = NULL;
    expect_ok(thr_device_enter(&o->policy, &use, &copy, &err));
    assert_true(copy == NULL || copy == o);
    return copy != NULL;
}

static thr_status leave(object *o, thr_status status, bool *done, thr_error *error) {
    thr_error why = {.status = THR_OK};
    if (status != THR_OK)
        (void)thr_fail(&why, status, "no answer");
    return thr_device_leave(&o->policy, status, &why, done, error);
}

static void leave_well(object *o) {
    bool done = false;
    assert_int_equal(leave(o, THR_OK, &done, NULL), THR_OK);
    assert_true(done);
}

static void end(object *o) {
    thr_device_policy_end(&o->policy);
    assert_int_equal(o->n_copies, o->n_freed);
}

TEST(the_cpu_can_be_required) {
    thr_context *context = test_new_context(1);
    object o;
    start(&o, context);
    assert_false(thr_device_needs_seconds(&o.policy));
    assert_false(enter(&o, 1e9));
    assert_int_equal(o.n_tries, 0);
    end(&o);
}

TEST(a_named_gpu_is_used_at_once) {
    OWNED(thr_context, context) = make_context(THR_DEVICE_CUDA);
    object o;
    start(&o, context);
    assert_false(thr_device_needs_seconds(&o.policy));
    for (int i = 0; i < 3; i++) {
        assert_true(enter(&o, 0));
        leave_well(&o);
    }
    assert_int_equal(o.n_copies, 1);
    assert_int_equal(o.n_freed, 0);
    end(&o);
}

/* Uses of a second each, and four that waking up and copying take. */
TEST(auto_adds_up_uses_until_a_copy_is_worth_it) {
    OWNED(thr_context, context) = make_context(THR_DEVICE_AUTO);
    object o;
    start(&o, context);
    context->gpus->wake_up = 3;
    for (int i = 1; i <= 8; i++) {
        thr_device_use use = use_of(&o, 1);
        object *copy = NULL;
        use.bytes = 5e9;
        assert_int_equal(thr_device_needs_seconds(&o.policy), i <= 5);
        expect_ok(thr_device_enter(&o.policy, &use, &copy, &err));
        assert_case((copy != NULL) == (i > 4), "use %d", i);
        if (copy != NULL)
            leave_well(&o);
    }
    assert_int_equal(o.n_tries, 1);
    end(&o);
}

TEST(some_objects_have_more_to_gain_before) {
    static const thr_device_copier patient = {.copy = copy_object, .free = free_object, .wake_ups = 60};
    OWNED(thr_context, context) = make_context(THR_DEVICE_AUTO);
    context->gpus->wake_up = 0.5;
    for (int i = 0; i < 2; i++) {
        object o, *copy = NULL;
        start(&o, context);
        thr_device_use use = use_of(&o, i == 0 ? 29.5 : 30.5);
        use.copier = &patient;
        expect_ok(thr_device_enter(&o.policy, &use, &copy, &err));
        assert_int_equal(copy != NULL, i);
        end(&o);
    }
}

/* Whether the copy fails or a use of it does. */
TEST(auto_leaves_what_a_gpu_cannot_to_the_cpu_for_good) {
    for (int at_use = 0; at_use < 2; at_use++)
        for (int i = 0; i < N_TAKEN_OVER; i++) {
            OWNED(thr_context, context) = make_context(THR_DEVICE_AUTO);
            object o;
            start(&o, context);
            o.status = at_use ? THR_OK : TAKEN_OVER[i];
            assert_int_equal(enter(&o, 10), at_use);
            if (at_use) {
                bool done = true;
                assert_int_equal(leave(&o, TAKEN_OVER[i], &done, NULL), THR_OK);
                assert_false(done);
                assert_int_equal(o.n_freed, 1); /* others may have the memory */
            }
            o.status = THR_OK;
            assert_false(thr_device_needs_seconds(&o.policy));
            assert_false(enter(&o, 1e9));
            assert_int_equal(o.n_tries, 1);
            assert_string_equal(thr_context_device(context), at_use ? "cpu; it: no answer" : "cpu; it: no copy");
            end(&o);
        }
}

TEST(other_failures_are_reported_and_change_nothing) {
    for (int at_use = 0; at_use < 2; at_use++)
        for (int i = 0; i < N_TOLD; i++) {
            OWNED(thr_context, context) = make_context(THR_DEVICE_AUTO);
            object o, *copy;
            start(&o, context);
            o.status = TOLD[i];
            const thr_device_use use = use_of(&o, 10);
            if (at_use) {
                bool done = true;
                o.status = THR_OK;
                assert_true(enter(&o, 10));
                expect_error(leave(&o, TOLD[i], &done, &err), TOLD[i], "no answer");
                assert_false(done);
            } else
                expect_error(thr_device_enter(&o.policy, &use, &copy, &err), TOLD[i], "no copy");
            o.status = THR_OK;
            assert_true(enter(&o, 0));
            leave_well(&o);
            assert_string_equal(thr_context_device(context), "cuda:0 (none)");
            end(&o);
        }
}

TEST(a_named_gpu_fails_and_is_tried_again) {
    for (int i = 0; i < N_TAKEN_OVER + N_TOLD; i++) {
        const thr_status status = i < N_TAKEN_OVER ? TAKEN_OVER[i] : TOLD[i - N_TAKEN_OVER];
        OWNED(thr_context, context) = make_context(THR_DEVICE_CUDA);
        object o, *copy;
        bool done = true;
        start(&o, context);
        o.status = status;
        const thr_device_use use = use_of(&o, 0);
        expect_error(thr_device_enter(&o.policy, &use, &copy, &err), status, "no copy");
        assert_null(copy);
        o.status = THR_OK;
        assert_true(enter(&o, 0));
        expect_error(leave(&o, status, &done, &err), status, "no answer");
        assert_false(done);
        assert_true(enter(&o, 0));
        leave_well(&o);
        assert_int_equal(o.n_copies, 1);
        assert_string_equal(thr_context_device(context), "cuda:0 (none)");
        end(&o);
    }
}

TEST(an_object_gives_up_for_itself_alone) {
    OWNED(thr_context, context) = make_context(THR_DEVICE_AUTO);
    object large, small;
    start(&large, context);
    start(&small, context);
    large.status = THR_ENOMEM;
    assert_true(enter(&small, 10));
    assert_false(enter(&large, 10));
    leave_well(&small);
    assert_string_equal(thr_context_device(context), "cuda:0 (none); it: no copy");
    assert_true(enter(&small, 10));
    leave_well(&small);
    end(&small);
    assert_string_equal(thr_context_device(context), "cpu; it: no copy");
    end(&large);
}

TEST(a_copy_that_others_use_is_freed_after_them) {
    OWNED(thr_context, context) = make_context(THR_DEVICE_AUTO);
    object o;
    bool done;
    start(&o, context);
    assert_true(enter(&o, 10));
    assert_true(enter(&o, 10));
    assert_int_equal(leave(&o, THR_EDEVICE, &done, NULL), THR_OK);
    assert_int_equal(o.n_freed, 0);
    assert_false(enter(&o, 10));
    leave_well(&o);
    assert_int_equal(o.n_freed, 1);
    end(&o);
}

TEST(without_a_gpu_auto_takes_the_cpu_and_tells_why) {
    thr_context_options options = {0};
    OWNED(thr_context, context) = NULL;
    object o;
    (void)setenv("THR_CUDA_LIBRARY", "/nowhere/backend.so", 1);
    options.device = "auto";
    expect_ok(thr_context_create(&options, &context, &err));
    start(&o, context);
    assert_false(enter(&o, 0.1));
    assert_string_equal(thr_context_device(context), "cpu"); /* nothing was wanted yet */
    assert_true(thr_device_needs_seconds(&o.policy));
    assert_false(enter(&o, 10));
    assert_int_equal(strncmp(thr_context_device(context), "cpu; ", 5), 0);
    assert_false(thr_device_needs_seconds(&o.policy));
    assert_int_equal(o.n_tries, 0);
    end(&o);
}

TEST(what_no_gpu_does_is_refused_where_one_is_named) {
    static const thr_device_kind kinds[] = {THR_DEVICE_AUTO, THR_DEVICE_CUDA};
    for (int i = 0; i < 2; i++) {
        OWNED(thr_context, context) = make_context(kinds[i]);
        const thr_status status = thr_device_refuse(context, "no GPU does", &err);
        if (i == 0)
            assert_int_equal(status, THR_OK);
        else
            expect_error(status, THR_EUNSUPPORTED, "no GPU does");
    }
}

/* ------------------------------------------------------------------------------------------------ threads */

typedef struct user {
    object *o;
    thr_status status;
    bool forced, on_gpu;
} user;

static void *use_once(void *arg) {
    user *u = arg;
    thr_device_use use = use_of(u->o, 10);
    object *copy = NULL;
    use.forced = u->forced;
    u->status = thr_device_enter(&u->o->policy, &use, &copy, NULL);
    u->on_gpu = copy != NULL;
    if (u->on_gpu)
        (void)thr_device_leave(&u->o->policy, THR_OK, NULL, NULL, NULL);
    return NULL;
}

/* One copies, and others come while it does: with a named GPU, or whatever it is worth, they wait. */
TEST(others_wait_for_a_copy_only_where_they_must_have_it) {
    enum { USERS = 3 };
    for (int how = 0; how < 3; how++) {
        const bool must = how > 0;
        OWNED(thr_context, context) = make_context(how == 1 ? THR_DEVICE_CUDA : THR_DEVICE_AUTO);
        pthread_mutex_t hold;
        pthread_t first, threads[USERS];
        user copying = {0}, users[USERS] = {{0}};
        object o;
        start(&o, context);
        (void)pthread_mutex_init(&hold, NULL);
        (void)pthread_mutex_lock(&hold);
        o.hold = &hold;
        copying = (user){.o = &o};
        assert_int_equal(pthread_create(&first, NULL, use_once, &copying), 0);
        while (o.n_tries == 0)
            (void)sched_yield();
        for (int i = 0; i < USERS; i++) {
            users[i] = (user){.o = &o, .forced = how == 2};
            assert_int_equal(pthread_create(&threads[i], NULL, use_once, &users[i]), 0);
        }
        if (must)
            (void)pthread_mutex_unlock(&hold);
        for (int i = 0; i < USERS; i++) {
            assert_int_equal(pthread_join(threads[i], NULL), 0);
            assert_int_equal(users[i].status, THR_OK);
            assert_int_equal(users[i].on_gpu, must);
        }
        if (!must)
            (void)pthread_mutex_unlock(&hold);
        assert_int_equal(pthread_join(first, NULL), 0);
        assert_true(copying.on_gpu);
        assert_int_equal(o.n_copies, 1);
        end(&o);
        (void)pthread_mutex_destroy(&hold);
    }
}
