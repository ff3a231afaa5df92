/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cut_file.c - report a file that is cut short while it is mapped. Reading the lost bytes raises a signal; there is no
 * other notice.
 *
 * The handler uses system calls only. It finds the file's name by the address, in /proc/self/maps, and the outputs in
 * progress among the open descriptors, by their names (thresher/output.h), which it deletes.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "cli/program.h"
#include "cli/messages.h"

enum { LINE_SIZE = 4096 + 256, MOST_NAME = 32, MOST_DESCRIPTORS = 1024, NUMBER_DIGITS = 16 };

static const char hexadecimal[] = "0123456789abcdef";

static uintptr_t read_address(const char **at) {
    uintptr_t value = 0;

    for (const char *digit; **at != '\0' && (digit = strchr(hexadecimal, **at)) != NULL; ++*at)
        value = value * 16 + (uintptr_t)(digit - hexadecimal);
    return value;
}

/* "begin-end rights offset device inode    /path": the path, where the address is in between; else NULL. */
static const char *path_at(const char *line, uintptr_t address) {
    const uintptr_t begin = read_address(&line);

    if (*line++ != '-')
        return NULL;
    const uintptr_t end = read_address(&line);

    return address >= begin && address < end ? strchr(line, '/') : NULL;
}

/* The file that is mapped at an address, stored in line; NULL if it cannot be found. */
static const char *find_file(uintptr_t address, char line[LINE_SIZE]) {
    const int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    char piece[1024];
    size_t length = 0;

    for (ssize_t n; maps >= 0 && (n = read(maps, piece, sizeof piece)) > 0;) {
        for (ssize_t i = 0; i < n; i++) {
            if (piece[i] != '\n' && length + 1 < LINE_SIZE)
                line[length++] = piece[i];
            if (piece[i] != '\n')
                continue;
            line[length] = '\0';
            length = 0;
            const char *path = path_at(line, address);

            if (path != NULL)
                return path;
        }
    }
    return NULL;
}

/* "/proc/self/fd/N". */
static void name_descriptor(char name[32], unsigned number) {
    static const char lead[] = "/proc/self/fd/";
    char digits[8];
    size_t n = 0, length = sizeof lead - 1;

    memcpy(name, lead, length);
    do
        digits[n++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    while (n > 0)
        name[length++] = digits[--n];
    name[length] = '\0';
}

static bool is_output(const char *path) {
    const char *name = strrchr(path, '/'), *end = strrchr(path, '.');

    return name != NULL && name[1] == '.' && end != NULL && strcmp(end, ".tmp") == 0 &&
           end - name > NUMBER_DIGITS + 2 && end[-NUMBER_DIGITS - 1] == '.' &&
           strspn(end - NUMBER_DIGITS, hexadecimal) == NUMBER_DIGITS;
}

void prog_delete_outputs(void) {
    char name[32], path[LINE_SIZE];

    for (int i = 0; i < MOST_DESCRIPTORS; i++) {
        name_descriptor(name, (unsigned)i);
        const ssize_t n = readlink(name, path, sizeof path - 1);

        if (n <= 0 || (fcntl(i, F_GETFL) & O_ACCMODE) != O_RDWR)
            continue;
        path[n] = '\0';
        if (is_output(path))
            (void)unlink(path);
    }
}

static void end_cut(int number, siginfo_t *info, void *where) {
    static const char text[] = ": was cut short while it was being read: restore it or make it again\n";
    char line[LINE_SIZE], message[LINE_SIZE + MOST_NAME + sizeof text];
    const char *path = find_file((uintptr_t)info->si_addr, line);
    size_t used = 0;

    (void)number;
    (void)where;
    for (const char *c = prog_self.name; *c != '\0' && used < MOST_NAME - 2; c++)
        message[used++] = *c;
    message[used++] = ':';
    message[used++] = ' ';
    for (const char *c = path != NULL ? path : "a file"; *c != '\0'; c++)
        message[used++] = (unsigned char)*c < ' ' || *c == 0x7f ? '?' : *c;
    memcpy(message + used, text, sizeof text - 1);
    prog_delete_outputs();
    _exit(write(STDERR_FILENO, message, used + sizeof text - 1) < 0 ? PROG_FAILED + 1 : PROG_FAILED);
}

void prog_catch_cut_files(void) {
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_sigaction = end_cut;
    action.sa_flags = SA_SIGINFO;
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGBUS, &action, NULL);
}
