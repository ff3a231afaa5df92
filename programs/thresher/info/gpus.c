/* SPDX-License-Identifier: Apache-2.0 */
#include "info/gpus.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/messages.h"

/* ------------------------------------------------------------------------------------------------ after the work */

/* The reason at the end of thr_context_device's text, or NULL. */
static const char *reason_of(const char *device) {
    const char *why = strstr(device, "; ");

    return why == NULL ? NULL : why + strlen("; ");
}

/*
 * With --device auto the library uses GPUs where they save time and continues on the CPU if they fail. The device's
 * text then ends in "; " and the reason. On a machine without a GPU the reason is a detail; if a GPU exists and failed,
 * it is a note.
 *
 * Without a GPU, thr_device_count gives the same reason, word for word. The texts are compared rather than the
 * statuses, because a GPU that failed in a search can make counting fail too. Counting follows the search, because it
 * may start a driver, which takes longer than most searches.
 */
void prog_print_device(const char *what, const char *device) {
    const char *why = reason_of(device);
    thr_error none = {.status = THR_OK};
    uint32_t n;

    if (why == NULL)
        prog_detail("%s by %s", what, strcmp(device, "cpu") == 0 ? "the CPU" : device);
    else if (thr_device_count(&n, &none) != THR_OK && strcmp(none.text, why) == 0)
        prog_detail("%s by the CPU; %s", what, why);
    else
        prog_note("the CPU did the work instead of a GPU: %s", why);
}

prog_device prog_first_device(const program *run) {
    const char *all = thr_context_device(run->context), *why = reason_of(all), *second = strstr(all, ", cuda:");
    prog_device first;

    if (second == NULL || (why != NULL && second > why))
        (void)snprintf(first.text, sizeof first.text, "%s", all);
    else
        (void)snprintf(first.text, sizeof first.text, "%.*s%s%s", (int)(second - all), all, why == NULL ? "" : "; ",
                       why == NULL ? "" : why);
    return first;
}

/* ------------------------------------------------------------------------------------------------ info */

/* "9.0", "12.4" */
typedef struct version {
    char text[24];
} version;

static version version_of(uint32_t major, uint32_t minor) {
    version v;

    (void)snprintf(v.text, sizeof v.text, "%" PRIu32 ".%" PRIu32, major, minor);
    return v;
}

static version cuda_version(uint32_t number) {
    return version_of(number / 1000, number % 1000 / 10);
}

/* Count the GPUs; if there are none, get the reason. */
static uint32_t count_gpus(const program *run, thr_error *why) {
    uint32_t n = 0;

    if (strcmp(run->globals.device, "cpu") == 0)
        (void)snprintf(why->text, sizeof why->text, "GPUs are not looked for with --device cpu");
    else if (thr_device_count(&n, why) != THR_OK)
        n = 0;
    return n;
}

/* Describe a GPU and check that it works, by creating a context for it. err has the reason if it does not. */
static bool look_at(uint32_t number, thr_device_info *info, thr_error *err) {
    char words[24];
    thr_context_options options = {0};
    thr_context *context = NULL;
    bool usable;

    *info = (thr_device_info){.number = number};
    if (thr_device_describe(number, info, err) != THR_OK)
        return false;
    (void)snprintf(words, sizeof words, "cuda:%" PRIu32, number);
    options.n_threads = 1;
    options.device = words;
    usable = thr_context_create(&options, &context, err) == THR_OK;
    thr_context_free(context);
    return usable;
}

void prog_print_gpus(const program *run) {
    thr_error err = {.status = THR_OK};
    uint32_t n = count_gpus(run, &err);
    uint32_t driver = 0, runtime = 0;

    if (n == 0)
        (void)printf("device      cpu; %s\n", err.text);
    for (uint32_t i = 0; i < n; i++) {
        thr_device_info info;
        bool usable = look_at(i, &info, &err);

        (void)printf("%-11s cuda:%" PRIu32, i == 0 ? "device" : "", i);
        if (info.name[0] != '\0')
            (void)printf(" %s, compute capability %s, %" PRIu32 " multiprocessors, %s, %s of it free", info.name,
                         version_of(info.major, info.minor).text, info.n_multiprocessors,
                         prog_bytes((double)info.memory_bytes).text, prog_bytes((double)info.free_bytes).text);
        if (!usable)
            (void)printf("%s cannot be used: %s", info.name[0] != '\0' ? ";" : "", err.text);
        (void)printf("\n");
        driver = info.driver > driver ? info.driver : driver;
        runtime = info.runtime > runtime ? info.runtime : runtime;
    }
    if (driver > 0) /* all GPUs share one driver and one runtime */
        (void)printf("            CUDA %s; the driver is for %s\n", cuda_version(runtime).text,
                     cuda_version(driver).text);
}

static void json_gpu(uint32_t number, prog_json *json) {
    thr_error err = {.status = THR_OK};
    thr_device_info info;
    bool usable = look_at(number, &info, &err);

    thr_json_open(json, '{');
    prog_json_key_count(json, "number", number);
    if (info.name[0] != '\0') {
        prog_json_key_text(json, "name", info.name);
        prog_json_key_text(json, "compute_capability", version_of(info.major, info.minor).text);
        PROG_JSON_COUNTS(json, {"n_multiprocessors", info.n_multiprocessors}, {"memory_bytes", info.memory_bytes},
                         {"free_bytes", info.free_bytes});
        prog_json_key_text(json, "cuda_driver_version", cuda_version(info.driver).text);
        prog_json_key_text(json, "cuda_runtime_version", cuda_version(info.runtime).text);
    }
    prog_json_key_bool(json, "usable", usable);
    prog_json_key_text(json, "why_not", usable ? NULL : err.text);
    thr_json_close(json, '}');
}

void prog_json_gpus(const program *run, prog_json *json) {
    thr_error err = {.status = THR_OK};
    uint32_t n = count_gpus(run, &err);

    prog_json_key_text(json, "device", thr_context_device(run->context));
    thr_json_put_key(json, "gpus");
    thr_json_open(json, '[');
    for (uint32_t i = 0; i < n; i++)
        json_gpu(i, json);
    thr_json_close(json, ']');
    prog_json_key_text(json, "no_gpus_why", n == 0 ? err.text : NULL);
}
