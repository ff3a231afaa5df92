/* SPDX-License-Identifier: Apache-2.0 */
#include "context/cpu_quota.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/minmax.h"

enum { PATH_SIZE = 4096, TEXT_SIZE = 64, LINES_SIZE = 16384 };

/* Read a file of the kernel whole; false if it cannot be read or does not fit. */
static bool read_text(const char *path, char *text, size_t size) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    size_t n = 0;
    if (fd < 0)
        return false;
    for (ssize_t got = 1; got > 0 && n < size;) {
        got = read(fd, text + n, size - n);
        if (got > 0)
            n += (size_t)got;
    }
    (void)close(fd);
    if (n == size)
        return false;
    text[n] = '\0';
    return true;
}

static bool read_file_of(const char *directory, const char *name, char *text) {
    char path[PATH_SIZE];
    const int n = snprintf(path, sizeof path, "%s/%s", directory, name);
    return n > 0 && (size_t)n < sizeof path && read_text(path, text, TEXT_SIZE);
}

/* quota / period rounded up; no limit for "max", -1 and texts that are not numbers. */
static uint32_t cpus_of(const char *quota, const char *period) {
    const long long q = strtoll(quota, NULL, 10), p = strtoll(period, NULL, 10);
    if (q <= 0 || p <= 0)
        return UINT32_MAX;
    const long long cpus = q / p + (q % p != 0);
    return cpus < UINT32_MAX ? (uint32_t)cpus : UINT32_MAX;
}

/* The CPUs that one cgroup allows. */
static uint32_t quota_at(const char *directory, bool unified) {
    char quota[TEXT_SIZE], period[TEXT_SIZE];
    if (unified && read_file_of(directory, "cpu.max", quota)) {
        const char *space = strchr(quota, ' ');
        return space == NULL ? UINT32_MAX : cpus_of(quota, space + 1);
    }
    if (!unified && read_file_of(directory, "cpu.cfs_quota_us", quota) &&
        read_file_of(directory, "cpu.cfs_period_us", period))
        return cpus_of(quota, period);
    return UINT32_MAX;
}

/*
 * The least of a cgroup and those above it, up to the mount. In a container the path may begin outside of the mount;
 * then only the parts exist that are inside.
 */
static uint32_t quota_up(const char *mount, const char *cgroup, bool unified) {
    char directory[PATH_SIZE];
    const size_t top = strlen(mount);
    const int n = snprintf(directory, sizeof directory, "%s%s", mount, strstr(cgroup, "..") == NULL ? cgroup : "");
    uint32_t least = UINT32_MAX;
    if (n < 0 || (size_t)n >= sizeof directory)
        return least;
    for (size_t end = (size_t)n; end >= top; end--) {
        if (end != top && directory[end] != '/' && end != (size_t)n)
            continue;
        directory[end] = '\0';
        const uint32_t here = quota_at(directory, unified);
        least = THR_MIN(here, least);
    }
    return least;
}

/* A line of proc/self/cgroup: HIERARCHY:CONTROLLERS:PATH. Version 2 has hierarchy 0 and no controllers. */
static uint32_t quota_of_line(const char *root, char *line) {
    char mount[PATH_SIZE], *controllers = strchr(line, ':');
    char *path = controllers == NULL ? NULL : strchr(controllers + 1, ':');
    if (path == NULL)
        return UINT32_MAX;
    *controllers++ = *path++ = '\0';
    const bool unified = *controllers == '\0';
    bool has_cpu = unified;
    for (const char *at = controllers; !has_cpu && at != NULL; at = strchr(at, ','), at = at == NULL ? NULL : at + 1)
        has_cpu = strncmp(at, "cpu", 3) == 0 && (at[3] == ',' || at[3] == '\0');
    const int n = snprintf(mount, sizeof mount, "%s/sys/fs/cgroup%s%s", root, unified ? "" : "/", controllers);
    return has_cpu && n > 0 && (size_t)n < sizeof mount ? quota_up(mount, path, unified) : UINT32_MAX;
}

uint32_t thr_context_cpu_quota(const char *root) {
    char path[PATH_SIZE], lines[LINES_SIZE], *rest = NULL;
    uint32_t least = UINT32_MAX;
    const int n = snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    if (n < 0 || (size_t)n >= sizeof path || !read_text(path, lines, sizeof lines))
        return least;
    for (char *line = strtok_r(lines, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        const uint32_t here = quota_of_line(root, line);
        least = THR_MIN(here, least);
    }
    return least;
}
