/* SPDX-License-Identifier: Apache-2.0 */
/* context_cpu_quota.c - quotas of cgroups of both versions, read from a directory of the test. */
#define _XOPEN_SOURCE 700 /* nftw */
#include "test.h"

#include "context/cpu_quota.h"

#include <ftw.h>
#include <sys/stat.h>

static int make_directory(void **state) {
    (void)state;
    return test_directory_make("cpu_quota");
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *place) {
    (void)st;
    (void)kind;
    (void)place;
    return remove(path);
}

static int remove_all(void **state) {
    (void)state;
    return nftw(test_directory(), remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Write a file at a path below the directory, and the directories above it. */
static void put(const char *path, const char *text) {
    char name[512];
    (void)snprintf(name, sizeof name, "%s", test_path_of(path));
    for (char *at = strchr(name + strlen(test_directory()) + 1, '/'); at != NULL; at = strchr(at + 1, '/')) {
        *at = '\0';
        (void)mkdir(name, 0777);
        *at = '/';
    }
    test_write_file(name, text, strlen(text));
}

static uint32_t quota(void) {
    return thr_context_cpu_quota(test_directory());
}

TEST(a_quota_of_version_2_is_rounded_up) {
    static const struct {
        const char *text;
        uint32_t cpus;
    } cases[] = {{"max 100000\n", UINT32_MAX}, {"50000 100000\n", 1},     {"100000 100000\n", 1},
                 {"100001 100000\n", 2},       {"250000 100000\n", 3},    {"20000 10000\n", 2},
                 {"400000 100000", 4},         {"", UINT32_MAX},          {"0 100000\n", UINT32_MAX},
                 {"1 0\n", UINT32_MAX},        {"-1 100000", UINT32_MAX}, {"rubbish", UINT32_MAX}};
    assert_int_equal(thr_context_cpu_quota("/nothing/there"), UINT32_MAX);
    put("proc/self/cgroup", "0::/a/b\n");
    assert_int_equal(quota(), UINT32_MAX);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        put("sys/fs/cgroup/a/b/cpu.max", cases[i].text);
        assert_case(quota() == cases[i].cpus, "%s: %u", cases[i].text, quota());
    }
}

TEST(the_least_quota_up_the_path_counts) {
    put("proc/self/cgroup", "0::/a/b\n");
    put("sys/fs/cgroup/a/b/cpu.max", "400000 100000\n");
    put("sys/fs/cgroup/a/cpu.max", "150000 100000\n");
    assert_int_equal(quota(), 2);
    put("sys/fs/cgroup/cpu.max", "30000 100000\n");
    assert_int_equal(quota(), 1);
    put("sys/fs/cgroup/cpu.max", "max 100000\n");
    put("sys/fs/cgroup/a/cpu.max", "max 100000\n");
    assert_int_equal(quota(), 4);
}

TEST(a_container_whose_path_is_outside_has_the_quota_of_its_mount) {
    put("sys/fs/cgroup/cpu.max", "300000 100000\n");
    for (const char *const *path = (const char *const[]){"0::/\n", "0::/../other\n", "0::/docker/123\n", NULL};
         *path != NULL; path++) {
        put("proc/self/cgroup", *path);
        assert_case(quota() == 3, "%s: %u", *path, quota());
    }
    put("sys/fs/cgroup/cpu.max", "max 100000\n");
    assert_int_equal(quota(), UINT32_MAX);
}

TEST(a_quota_of_version_1_is_that_of_the_controller_of_cpus) {
    put("proc/self/cgroup", "12:cpuset:/x\n5:cpu,cpuacct:/x\n1:name=systemd:/x\n0::/\n");
    put("sys/fs/cgroup/cpuset/x/cpu.cfs_quota_us", "1000\n");
    put("sys/fs/cgroup/cpuset/x/cpu.cfs_period_us", "100000\n");
    put("sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "-1\n");
    put("sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
    assert_int_equal(quota(), UINT32_MAX);
    put("sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "150000\n");
    assert_int_equal(quota(), 2);
    put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n");
    put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    assert_int_equal(quota(), 1);
}

TEST_GROUP(make_directory, remove_all)
