/* SPDX-License-Identifier: Apache-2.0 */
#include "device/choice.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

static thr_status refuse(const char *words, thr_error *err) {
    return thr_fail(err, THR_EINVAL, "there is no device %s: use auto, cpu, cuda, or cuda:N with a GPU's number",
                    words);
}

/* Parse a number below 10,000 and return the text after it. */
static const char *read_number(const char *text, uint32_t *number) {
    const char *p = text;
    for (*number = 0; *p >= '0' && *p <= '9' && p - text < 4; p++)
        *number = *number * 10 + (uint32_t)(*p - '0');
    return p == text ? NULL : p;
}

thr_status thr_device_choice_read(const char *words, thr_device_choice *choice, thr_error *err) {
    *choice = (thr_device_choice){.kind = THR_DEVICE_CPU};
    if (words == NULL || strcmp(words, "cpu") == 0)
        return THR_OK;
    choice->kind = strcmp(words, "auto") == 0 ? THR_DEVICE_AUTO : THR_DEVICE_CUDA;
    if (choice->kind == THR_DEVICE_AUTO || strcmp(words, "cuda") == 0)
        return THR_OK;
    if (strncmp(words, "cuda:", 5) != 0)
        return refuse(words, err);
    for (const char *p = words + 5;; p++) {
        uint32_t number;
        p = read_number(p, &number);
        if (p == NULL || (*p != ',' && *p != '\0') || choice->n == THR_MAX_DEVICES)
            return refuse(words, err);
        for (uint32_t i = 0; i < choice->n; i++)
            if (choice->numbers[i] == number)
                return thr_fail(err, THR_EINVAL, "%s names a GPU twice", words);
        choice->numbers[choice->n++] = number;
        if (*p == '\0')
            return THR_OK;
    }
}

static void describe(thr_devices *devices, const thr_device_info *info) {
    const size_t used = strlen(devices->text);
    (void)snprintf(devices->text + used, sizeof devices->text - used, "%scuda:%u (%s)", used > 0 ? ", " : "",
                   info->number, info->name);
}

thr_status thr_devices_open(thr_context *context, const thr_device_choice *choice, thr_devices **devices_out,
                            thr_error *err) {
    thr_status status = THR_OK;
    const thr_backend *backend;
    thr_devices *devices = NULL;
    uint32_t there;
    *devices_out = NULL;
    THR_TRY(thr_device_backend_load(&backend, err));
    THR_TRY(backend->count(&there, err));
    THR_TRY(thr_alloc_zero(context, 1, sizeof *devices, &devices, "devices", err));
    devices->backend = backend;
    const uint32_t n = choice->n > 0 ? choice->n : there < THR_MAX_DEVICES ? there : THR_MAX_DEVICES;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t number = choice->n > 0 ? choice->numbers[i] : i;
        thr_device_info info;
        THR_TRY_OUT(thr_device_describe(number, &info, err));
        THR_TRY_OUT(backend->open(number, &devices->devices[i], err));
        devices->n++;
        describe(devices, &info);
    }
    *devices_out = devices;
    devices = NULL;
out:
    thr_devices_close(context, devices);
    return status;
}

void thr_devices_close(thr_context *context, thr_devices *devices) {
    if (devices == NULL)
        return;
    for (uint32_t i = 0; i < devices->n; i++)
        devices->backend->close(devices->devices[i]);
    thr_release(context, devices);
}
