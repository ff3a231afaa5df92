/* SPDX-License-Identifier: Apache-2.0 */
#include "index/changes.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/json.h"
#include "index/summary.h"
#include "cli/messages.h"

/* "added 700 items to words.index and replaced 300" */
typedef struct sentence {
    char text[1200];
} sentence;

/* Why a compacted index is larger than before, or nothing. */
static const char *growth_of(const prog_change *c) {
    return c->after.file_bytes <= c->before.file_bytes  ? ""
           : c->after.code_bytes > c->before.code_bytes ? ", because items of the journal have codes now"
           : c->after.has_ids && !c->before.has_ids     ? ", because ids are stored now, 12 bytes per item"
                                                        : "";
}

static sentence sentence_of(const prog_change *c) {
    const uint64_t n_new = c->done.n_added - c->done.n_removed;
    sentence s;

    switch (c->kind) {
    case PROG_ADDED:
        (void)snprintf(s.text, sizeof s.text, "added %s to %.1000s", prog_counted(c->done.n_added, "item").text,
                       c->dir);
        break;
    case PROG_UPSERTED:
        (void)snprintf(s.text, sizeof s.text, "added %s to %.1000s and replaced %s", prog_counted(n_new, "item").text,
                       c->dir, prog_exact(c->done.n_removed).text);
        break;
    case PROG_REMOVED:
        (void)snprintf(s.text, sizeof s.text, "removed %s from %.1000s%s%s%s",
                       prog_counted(c->done.n_removed, "item").text, c->dir, c->done.n_missing > 0 ? " (" : "",
                       c->done.n_missing > 0 ? prog_exact(c->done.n_missing).text : "",
                       c->done.n_missing > 0 ? " were not there)" : "");
        break;
    case PROG_COMPACTED:
        if (c->recoded)
            (void)snprintf(s.text, sizeof s.text, "compacted %.1000s and learned its codes anew, %s before and %s now",
                           c->dir, prog_bytes((double)c->before.file_bytes).text,
                           prog_bytes((double)c->after.file_bytes).text);
        else if (c->before.file_bytes == c->after.file_bytes)
            (void)snprintf(s.text, sizeof s.text, "compacted %.1000s: no space to free", c->dir);
        else
            (void)snprintf(s.text, sizeof s.text, "compacted %.1000s from %s to %s%s", c->dir,
                           prog_bytes((double)c->before.file_bytes).text, prog_bytes((double)c->after.file_bytes).text,
                           growth_of(c));
        break;
    }
    return s;
}

static void print_json(const prog_change *c) {
    prog_json json = prog_json_object();

    prog_json_key_text(&json, "index", c->dir);
    if (c->kind == PROG_ADDED || c->kind == PROG_UPSERTED) {
        prog_json_key_count(&json, "n_added", c->done.n_added - c->done.n_removed);
        prog_json_key_count(&json, "n_replaced", c->done.n_removed);
    }
    if (c->done.n_zero > 0)
        prog_json_key_count(&json, "n_zero", c->done.n_zero);
    if ((c->kind == PROG_ADDED || c->kind == PROG_UPSERTED) && c->done.first_id != THR_NO_ID)
        prog_json_key_count(&json, "first_id", c->done.first_id);
    if (c->kind == PROG_REMOVED) {
        prog_json_key_count(&json, "n_removed", c->done.n_removed);
        prog_json_key_count(&json, "n_missing", c->done.n_missing);
    }
    if (c->kind == PROG_COMPACTED) {
        prog_json_key_count(&json, "file_bytes_before", c->before.file_bytes);
        prog_json_key_count(&json, "file_bytes", c->after.file_bytes);
    }
    prog_json_key_count(&json, "n_items", c->done.n_items);
    prog_json_key_count(&json, "n_commits", c->done.n_commits);
    prog_json_key_real(&json, "change_s", c->seconds);
    prog_json_end_object(&json);
}

void prog_report_change(const program *run, const prog_change *change) {
    prog_progress_end();
    prog_note("%s: %s now, commit %" PRIu64 ", in %s", sentence_of(change).text,
              prog_counted(change->done.n_items, "item").text, change->done.n_commits, prog_time(change->seconds).text);
    if (change->done.n_zero > 0)
        prog_note("%s of them are " PROG_ZERO_VECTORS, prog_exact(change->done.n_zero).text);
    if (change->done.unmerged != THR_OK)
        prog_note("the change is made, but merging segments failed: %s; the next change merges them",
                  thr_status_text(change->done.unmerged));
    if (run->globals.json)
        print_json(change);
}
