/* SPDX-License-Identifier: Apache-2.0 */
#include "tower_cache.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = BENCH_KEY + BENCH_FIELDS * (BENCH_FIELD_NAME + 32) };

double bench_record_get(const bench_record *record, const char *name) {
    for (int i = 0; i < record->n; i++)
        if (strcmp(record->fields[i].name, name) == 0)
            return record->fields[i].value;
    return NAN;
}

void bench_record_set(bench_record *record, const char *name, double value) {
    int i = 0;
    while (i < record->n && strcmp(record->fields[i].name, name) != 0)
        i++;
    if (i == BENCH_FIELDS)
        return;
    (void)snprintf(record->fields[i].name, sizeof record->fields[i].name, "%s", name);
    record->fields[i].value = value;
    record->n = i == record->n ? i + 1 : record->n;
}

/* Reads over line, which it takes apart. */
static void read_fields(char *line, bench_record *record) {
    char *next = NULL;
    (void)strtok_r(line, "\t", &next);
    for (char *field = strtok_r(NULL, "\t", &next); field != NULL; field = strtok_r(NULL, "\t", &next)) {
        char *equals = strchr(field, '=');
        if (equals == NULL)
            continue;
        *equals = '\0';
        bench_record_set(record, field, strtod(equals + 1, NULL));
    }
}

bool bench_cache_find(const char *path, const char *key, bench_record *record) {
    char line[LINE];
    FILE *file = fopen(path, "r");
    bool found = false;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const size_t length = strcspn(line, "\n"), key_length = strcspn(line, "\t");
        if (line[length] != '\n' || key_length != strlen(key) || strncmp(line, key, key_length) != 0)
            continue;
        line[length] = '\0';
        *record = (bench_record){.n = 0};
        (void)snprintf(record->key, sizeof record->key, "%s", key);
        read_fields(line, record);
        found = true;
    }
    if (file != NULL)
        (void)fclose(file);
    return found;
}

/* A line that was cut short is ended, so that the next one is whole. */
static bool ends_in_line(FILE *file) {
    if (fseek(file, 0, SEEK_END) != 0 || ftell(file) == 0)
        return true;
    return fseek(file, -1, SEEK_END) == 0 && fgetc(file) == '\n';
}

int bench_cache_add(const char *path, const bench_record *record) {
    FILE *file = fopen(path, "a+");
    if (file == NULL)
        return -1;
    const bool whole = ends_in_line(file);
    (void)fseek(file, 0, SEEK_END);
    (void)fprintf(file, "%s%s", whole ? "" : "\n", record->key);
    for (int i = 0; i < record->n; i++)
        (void)fprintf(file, "\t%s=%.17g", record->fields[i].name, record->fields[i].value);
    (void)fputc('\n', file);
    const bool bad = ferror(file) != 0;
    return fclose(file) != 0 || bad ? -1 : 0;
}
