/* SPDX-License-Identifier: Apache-2.0 */
#include "info/kernels.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/messages.h"

typedef struct shape {
    uint32_t n_dims, item_bits, query_bits, n_queries;
} shape;

/* Shapes: one query and many, of 4 bits as usual; then 1 bit and 8 bits, at which other methods become faster. */
static const shape shapes[] = {
    {64, 2, 4, 1}, {64, 2, 4, 16}, {200, 3, 4, 1}, {200, 3, 4, 16}, {200, 1, 1, 1}, {200, 3, 8, 1}, {200, 8, 8, 16},
};

enum { N_SHAPES = sizeof shapes / sizeof shapes[0] };

static int choose_way(const program *run, size_t i, thr_way_choice *choice) {
    thr_error err = {.status = THR_OK};
    const shape *s = &shapes[i];

    if (thr_way_choose(run->context, s->n_dims, s->item_bits, s->query_bits, s->n_queries, choice, &err) != THR_OK)
        return prog_failed(&err);
    return PROG_DONE;
}

int prog_print_kernels(const program *run) {
    thr_way_choice choice;

    (void)printf("kernels     distances per second, in billions, of codes that the caches hold\n");
    (void)printf("            %4s %7s %11s %8s", "dims", "planes", "query bits", "queries");
    for (int way = 0; way < THR_N_WAYS; way++)
        (void)printf(" %7s", thr_way_name((thr_way)way));
    (void)printf("  taken\n");
    for (size_t i = 0; i < N_SHAPES; i++) {
        int rc = choose_way(run, i, &choice);

        if (rc != PROG_DONE)
            return rc;
        (void)printf("            %4" PRIu32 " %7" PRIu32 " %11" PRIu32 " %8" PRIu32, choice.n_dims, choice.item_bits,
                     choice.query_bits, choice.n_queries);
        for (int way = 0; way < THR_N_WAYS; way++)
            (void)printf(" %7.3g", choice.rates[way] * 1e-9);
        (void)printf("  %s%s\n", thr_way_name(choice.way), choice.forced ? " (THR_KERNEL)" : "");
    }
    return PROG_DONE;
}

int prog_json_kernels(const program *run, prog_json *json) {
    thr_way_choice choice;

    thr_json_open(json, '[');
    for (size_t i = 0; i < N_SHAPES; i++) {
        int rc = choose_way(run, i, &choice);

        if (rc != PROG_DONE)
            return rc;
        thr_json_open(json, '{');
        PROG_JSON_COUNTS(json, {"n_dims", choice.n_dims}, {"item_bits", choice.item_bits},
                         {"query_bits", choice.query_bits}, {"n_queries", choice.n_queries});
        thr_json_put_key(json, "distances_a_second");
        thr_json_open(json, '{');
        for (int way = 0; way < THR_N_WAYS; way++)
            prog_json_key_real(json, thr_way_name((thr_way)way), choice.rates[way]);
        thr_json_close(json, '}');
        prog_json_key_text(json, "taken", thr_way_name(choice.way));
        prog_json_key_bool(json, "forced", choice.forced);
        thr_json_close(json, '}');
    }
    thr_json_close(json, ']');
    return PROG_DONE;
}
