/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_main.c - a fuzz target without a fuzzer: runs every file of a corpus directory, and damaged copies of each.
 *
 * The damage is the same in every run: cuts, single bits, bytes of the values parsers trip over, seeded mixtures of
 * these, and what the mutator of the target makes (mutator.h), if it has one. THR_FUZZ_SECONDS=N goes on for N seconds
 * with other seeds, by THR_TEST_SEED or the time. When the target crashes, the input in hand is written to crash-input
 * beside the test, so that "fuzz_NAME crash-input" repeats it.
 *
 * Usage: fuzz_NAME DIRECTORY|FILE...
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv);
__attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed);
__attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)(void));

enum {
    MAX_INPUT = 1 << 20, /* bytes; a corpus is made of small files */
    N_CUTS = 96,         /* damaged copies of each kind, for each file */
    N_BITS = 192,
    N_BYTES = 192,
    N_MIXED = 160,
    N_MUTANTS = 400,
    MAX_GROWTH = 64 /* bytes a mixture may append */
};

static uint8_t input[MAX_INPUT + MAX_GROWTH], original[MAX_INPUT];
static volatile size_t input_size;
static uint64_t n_runs;
static char **corpus; /* files of directories */
static size_t n_corpus;

static uint64_t next_random(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u); /* SplitMix64 */
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Keep what crashed; only async-signal-safe calls here. */
static void save_input(void) {
    int fd = open("crash-input", O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (fd < 0)
        return;
    if (write(fd, input, input_size) >= 0)
        (void)!write(2, "the input is in crash-input\n", 28);
    (void)close(fd);
}

static void on_signal(int number) {
    save_input();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

/* Sanitizers catch signals themselves and report more about them; they only need a function to call at the end. */
static void watch_crashes(void) {
    if (__sanitizer_set_death_callback != NULL) {
        __sanitizer_set_death_callback(save_input);
        return;
    }
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++)
        (void)signal(deadly[i], on_signal);
}

static void run(size_t size) {
    input_size = size;
    /* A copy of exactly this size, so that AddressSanitizer sees the first byte read past its end. */
    uint8_t *exact = malloc(size > 0 ? size : 1);
    if (exact == NULL)
        exit(1);
    memcpy(exact, input, size);
    (void)LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    n_runs++;
}

static void restore(size_t size) {
    memcpy(input, original, size);
}

/* The i-th of n places in [0, size): all of them when there are few; else the first half of them, where headers are,
 * and the rest spread out. */
static size_t place(size_t i, size_t n, size_t size) {
    if (size <= n || i < n / 2)
        return i;
    return n / 2 + (i - n / 2) * (size - n / 2) / (n - n / 2);
}

static void set_some_byte(uint64_t *state, size_t size) {
    static const uint8_t nasty[] = {0x00, 0x01, 0x7f, 0x80, 0xff, '\n', '(', '9'};
    /* Half of the time near the start: headers decide more than rows. */
    size_t range = (next_random(state) & 1) != 0 && size > 128 ? 128 : size;
    size_t at = (size_t)(next_random(state) % range);
    input[at] = nasty[next_random(state) % sizeof nasty];
}

/* Cuts, growth and bytes, all at once. */
static void run_mixed(size_t size, uint64_t *state) {
    restore(size);
    size_t now = size;
    for (uint64_t n = 1 + next_random(state) % 6; n > 0; n--) {
        switch (next_random(state) % 4) {
        case 0: /* cut */
            now = 1 + (size_t)(next_random(state) % now);
            break;
        case 1: { /* append the bytes of the start */
            size_t more = 1 + (size_t)(next_random(state) % MAX_GROWTH);
            if (more > now)
                more = now;
            if (now + more <= sizeof input) {
                memcpy(input + now, original, more);
                now += more;
            }
            break;
        }
        default:
            set_some_byte(state, now);
            break;
        }
    }
    run(now);
}

static void run_mutants(size_t size, uint64_t seed, uint64_t n) {
    for (uint64_t i = 0; i < n && LLVMFuzzerCustomMutator != NULL; i++) {
        restore(size);
        run(LLVMFuzzerCustomMutator(input, size, sizeof input, (unsigned)next_random(&seed)));
    }
}

static void run_damaged(size_t size, uint64_t seed) {
    for (size_t i = 0; i < N_CUTS && i < size; i++) {
        restore(size);
        run(place(i, N_CUTS, size));
    }
    for (size_t i = 0; i < N_BITS && i < size; i++) {
        restore(size);
        input[place(i, N_BITS, size)] ^= (uint8_t)(1u << (i * 5 % 8));
        run(size);
    }
    for (size_t i = 0; i < N_BYTES && i < size; i++) {
        restore(size);
        input[place(i, N_BYTES, size)] = (uint8_t)(i % 2 == 0 ? 0xff : 0x80);
        run(size);
    }
    for (uint64_t i = 0; i < N_MIXED && size > 0; i++)
        run_mixed(size, &seed);
    run_mutants(size, seed, N_MUTANTS);
}

static size_t load(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        (void)fprintf(stderr, "%s: %s\n", path, strerror(errno));
        exit(1);
    }
    const size_t size = fread(original, 1, MAX_INPUT, file);
    (void)fclose(file);
    return size;
}

/* Damage of one file after the other until the time is over. */
static void run_until(time_t end, uint64_t seed) {
    static const uint64_t AT_ONCE = 100;
    for (uint64_t round = 0; time(NULL) < end; round++)
        for (size_t f = 0; f < n_corpus && time(NULL) < end; f++) {
            uint64_t state = seed + round * n_corpus + f;
            const size_t size = load(corpus[f]);
            for (uint64_t i = 0; i < AT_ONCE && size > 0; i++)
                run_mixed(size, &state);
            run_mutants(size, state, AT_ONCE);
        }
}
static void run_file(const char *path, int damaged) {
    const size_t size = load(path);
    restore(size);
    run(size);
    if (damaged) {
        uint64_t seed = 1; /* by contents, so that it does not depend on the order of files */
        for (size_t i = 0; i < size; i++)
            seed = seed * 31 + original[i];
        run_damaged(size, seed);
    }
}

static void add_to_corpus(const char *path) {
    char **more = realloc(corpus, (n_corpus + 1) * sizeof *corpus), *copy = strdup(path);
    if (more == NULL || copy == NULL)
        exit(1);
    corpus = more;
    corpus[n_corpus++] = copy;
}

static int not_hidden(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

int main(int argc, char **argv) {
    if (argc < 2) {
        (void)fprintf(stderr, "usage: %s DIRECTORY|FILE...\n", argv[0]);
        return 2;
    }
    if (LLVMFuzzerInitialize != NULL && LLVMFuzzerInitialize(&argc, &argv) != 0)
        return 1;
    watch_crashes();

    size_t n_files = 0;
    run(0); /* nothing at all is an input too */
    for (int i = 1; i < argc; i++) {
        struct stat st;
        if (stat(argv[i], &st) != 0) {
            (void)fprintf(stderr, "%s: %s\n", argv[i], strerror(errno));
            return 1;
        }
        if (!S_ISDIR(st.st_mode)) {
            run_file(argv[i], 0);
            n_files++;
            continue;
        }
        struct dirent **entries = NULL;
        int n = scandir(argv[i], &entries, not_hidden, alphasort);
        for (int e = 0; e < n; e++) {
            char path[4096];
            (void)snprintf(path, sizeof path, "%s/%s", argv[i], entries[e]->d_name);
            run_file(path, 1);
            n_files++;
            add_to_corpus(path);
            free(entries[e]);
        }
        free(entries);
    }
    const char *seconds = getenv("THR_FUZZ_SECONDS"), *seed = getenv("THR_TEST_SEED");
    if (seconds != NULL && n_corpus > 0)
        run_until(time(NULL) + strtol(seconds, NULL, 10),
                  seed != NULL ? strtoull(seed, NULL, 10) : (uint64_t)time(NULL));
    (void)printf("%zu files, %llu inputs\n", n_files, (unsigned long long)n_runs);
    if (n_files == 0) {
        (void)fprintf(stderr, "no file in the corpus\n");
        return 1;
    }
    return 0;
}
