/* SPDX-License-Identifier: Apache-2.0 */
/* journal.c - reads a journal once more, and compares the ids and names of its items with those of all others. */
#include "index/verify/verify.h"

#include "base/error.h"
#include "index/names.h"

#include <inttypes.h>
#include <string.h>

static thr_status count(void *arg, const thr_journal_change *change, thr_error *err) {
    (void)change;
    (void)err;
    ++*(uint64_t *)arg;
    return THR_OK;
}

/* An open index may have read less than there is now, never more. */
static thr_status read_again(const thr_index *index, thr_error *err) {
    const thr_manifest *m = &index->manifest;
    uint64_t n_changes = 0;
    thr_journal journal;
    const thr_journal *read = &index->tail->journal;
    thr_status status = thr_index_journal_open(index->context, read->path, &read->kind, false, &journal, err);
    if (status == THR_OK && journal.header_damaged)
        status = thr_fail(err, THR_ECORRUPT,
                          "%s: its header is damaged, in bytes 0 to 63, but no item is lost: 'thresher index compact' "
                          "rewrites it",
                          journal.path);
    if (status == THR_OK)
        status = thr_index_journal_read(&journal, count, &n_changes, err);
    thr_index_journal_close(&journal);
    /* A newer commit has turned it into a segment. What was read from it was right. */
    bool same = true;
    if (status == THR_ENOTFOUND && thr_index_is_newest_manifest(index->root, &same, NULL) == THR_OK && !same)
        return THR_OK;
    if (status == THR_ENOTFOUND || (status == THR_OK && n_changes < m->n_commits - index->root->n_base_commits))
        return thr_fail(err, THR_ECHANGED, "%s: was changed since it was opened: open the index again",
                        index->tail->journal.path);
    return status;
}

/* Whether an earlier item of the tail, or one of a segment, has the same id. */
static bool has_id_before(const thr_index *index, uint32_t i) {
    const uint64_t id = index->tail->ids[i];
    uint64_t row;
    return thr_index_tail_find(index->tail, index->live.words, i, id, &row) ||
           thr_index_segment_row(index, index->live.words, id, &row);
}

static bool has_name_before(const thr_index *index, uint32_t i) {
    const char *name = index->tail->names[i];
    const uint64_t key = thr_index_name_key(name, strlen(name) + 1);
    uint64_t row;
    return thr_index_tail_find_name(index->tail, index->live.words, i, name, key, &row) ||
           thr_index_segment_name_row(index, name, key, &row);
}

thr_status thr_index_verify_journal(const thr_index *index, thr_error *err) {
    const thr_tail *tail = index->tail;
    THR_TRY(read_again(index, err));
    for (uint32_t i = 0; i < index->n_tail; i++) {
        if (!thr_live_has(&index->live, tail->first_row + i))
            continue;
        if (has_id_before(index, i))
            return thr_fail(err, THR_ECORRUPT, "%s: holds a second item with the id %" PRIu64, tail->journal.path,
                            tail->ids[i]);
        if (tail->names != NULL && has_name_before(index, i))
            return thr_fail(err, THR_ECORRUPT, "%s: holds a second item with the name '%.200s'", tail->journal.path,
                            tail->names[i]);
    }
    return THR_OK;
}
