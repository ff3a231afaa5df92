/* SPDX-License-Identifier: Apache-2.0 */
/* fused.c - queries that have features beside their vectors, from a file or from a model of users. */
#include "search/options.h"

#include "cli/messages.h"

int prog_search_values_features(const prog_search_values *values, prog_search *s, const prog_hits_parts *parts,
                                const char *how) {
    if (parts->n == 0 && (values->features != NULL || values->with.target != NULL)) {
        prog_error("%s was built without features: build it with %s", values->dir, how);
        return PROG_FAILED;
    }
    const int rc = prog_features_open(&s->features, s->run, &values->with, parts);
    return rc == PROG_DONE && values->features != NULL
               ? prog_features_from(&s->features, s->run, values->features, NULL, NULL, NULL)
               : rc;
}

int prog_search_values_users(const prog_search_values *values, prog_search *s, const thr_dual *dual, const char *file,
                             const prog_list *texts) {
    const prog_features_values *v = &values->with;
    prog_features *f = &s->features;

    if (dual != NULL && f->parts.n > 0 && f->name == NULL)
        return prog_features_from(f, s->run, file, "--text", texts, dual);
    if (f->name != NULL || (v->multipliers == NULL && v->offsets == NULL && !v->explain && v->value == 0))
        return PROG_DONE;
    prog_error("--value, --multipliers, --offsets and --explain need --features: queries are vectors alone");
    return PROG_FAILED;
}
