/* SPDX-License-Identifier: Apache-2.0 */
/* paths.c - every public function that takes a path refuses NULL and an empty one, and says which it was. */
#include "test.h"

#include <thresher/thresher.h>

typedef struct given {
    thr_context *context;
    thr_head *head;
    thr_rank_model *model;
    thr_reader *reader;
    const char *path;
    thr_error err;
} given;

typedef thr_status (*call)(given *g);

/* A call of a function of g->path, whose other arguments are right. */
#define CALL(name, expression)                                                                                         \
    static thr_status name(given *g) {                                                                                 \
        return (expression);                                                                                           \
    }

static const thr_item_features no_items = {.n_items = 0};
static const thr_hits_pairs no_pairs = {.n_items = 0};
static const thr_index_create_options two_dims = {.n_dims = 2, .item_bits = 3, .keep = THR_DTYPE_F32};
static thr_index *an_index;
static thr_hits *some_hits;
static thr_head *a_head;
static thr_dual *a_dual;
static thr_tower *a_tower;
static thr_translator *a_translator;
static thr_rank_model *a_model;
static thr_ranking *a_ranking;
static thr_reader *a_reader;
static thr_output *an_output;
static thr_index_writer *a_writer;
static thr_index_follower *a_follower;
static bool answer;
static int descriptor;

CALL(index_open, thr_index_open(g->context, g->path, &an_index, &g->err))
CALL(index_build, thr_index_build(g->context, g->path, g->reader, NULL, &g->err))
CALL(index_create, thr_index_create(g->context, g->path, &two_dims, &g->err))
CALL(index_writer_open, thr_index_writer_open(g->context, g->path, NULL, &a_writer, &g->err))
CALL(index_add, thr_index_add(g->context, g->path, g->reader, NULL, NULL, &g->err))
CALL(index_remove, thr_index_remove(g->context, g->path, NULL, 0, NULL, &g->err))
CALL(index_compact, thr_index_compact(g->context, g->path, NULL, &g->err))
CALL(index_recode, thr_index_recode(g->context, g->path, NULL, &g->err))
CALL(index_follower_open, thr_index_follower_open(g->context, g->path, &a_follower, &g->err))
CALL(reader_open, thr_reader_open(g->context, g->path, &a_reader, &g->err))
CALL(reader_open_lines, g->path == NULL ? thr_reader_open(g->context, NULL, &a_reader, &g->err) /* standard input */
                                        : thr_reader_open_lines(g->context, g->path, 100, &a_reader, &g->err))
CALL(hits_build, thr_hits_build(g->context, g->path, &no_items, NULL, &g->err))
CALL(hits_build_pairs, thr_hits_build_pairs(g->context, g->path, &no_pairs, NULL, &g->err))
CALL(hits_build_table, thr_hits_build_table(g->context, g->path, "a.tsv", NULL, &g->err))
CALL(hits_build_of_table, thr_hits_build_table(g->context, "a.hits", g->path, NULL, &g->err))
CALL(hits_open, thr_hits_open(g->context, g->path, &some_hits, &g->err))
CALL(head_create_file, thr_head_create_file(g->context, g->path, NULL, NULL, &a_head, &g->err))
CALL(head_open, thr_head_open(g->context, g->path, &a_head, &g->err))
CALL(head_save, thr_head_save(g->head, g->path, false, &g->err))
CALL(head_check_path, thr_head_check_path(g->context, g->path, false, &g->err))
CALL(dual_open, thr_dual_open(g->context, g->path, &a_dual, &g->err))
CALL(dual_probe, thr_dual_probe(g->context, g->path, &answer, &g->err))
CALL(dual_train_requests, thr_dual_train(g->context, g->path, "requests.tsv", "d", NULL, NULL, &g->err))
CALL(dual_train_items, thr_dual_train(g->context, "requests.tsv", g->path, "d", NULL, NULL, &g->err))
CALL(dual_train_path, thr_dual_train(g->context, "r", "i", g->path, NULL, NULL, &g->err))
CALL(tower_open, thr_tower_open(g->context, g->path, &a_tower, &g->err))
CALL(tower_train_pairs, thr_tower_train(g->context, g->path, "t", NULL, NULL, &g->err))
CALL(tower_train_path, thr_tower_train(g->context, "p", g->path, NULL, NULL, &g->err))
CALL(tower_train_vectors, thr_tower_train_vectors(g->context, NULL, g->reader, g->path, NULL, NULL, &g->err))
CALL(translator_open, thr_translator_open(g->context, g->path, NULL, &a_translator, &g->err))
CALL(translator_probe, thr_translator_probe(g->context, g->path, &answer, &g->err))
CALL(align_source, thr_align_train(g->context, g->path, "b", "c", NULL, NULL, &g->err))
CALL(align_target, thr_align_train(g->context, "a", g->path, "c", NULL, NULL, &g->err))
CALL(align_path, thr_align_train(g->context, "a", "b", g->path, NULL, NULL, &g->err))
CALL(rank_model_open, thr_rank_model_open(g->context, g->path, &a_model, &g->err))
CALL(rank_model_save, thr_rank_model_save(g->model, g->path, &g->err))
CALL(rank_model_check_path, thr_rank_model_check_path(g->context, g->path, &g->err))
CALL(ranking_open, thr_ranking_open(g->context, g->path, NULL, &a_ranking, &g->err))
CALL(output_create, thr_output_create(g->context, g->path, &an_output, &g->err))
CALL(output_open_stream, thr_output_open_stream(g->path, &descriptor, &g->err))

#define NAMED(name)                                                                                                    \
    { #name, name }
static const struct {
    const char *name;
    call call;
} calls[] = {NAMED(index_open),
             NAMED(index_build),
             NAMED(index_create),
             NAMED(index_writer_open),
             NAMED(index_add),
             NAMED(index_remove),
             NAMED(index_compact),
             NAMED(index_recode),
             NAMED(index_follower_open),
             NAMED(reader_open),
             NAMED(reader_open_lines),
             NAMED(hits_build),
             NAMED(hits_build_pairs),
             NAMED(hits_build_table),
             NAMED(hits_build_of_table),
             NAMED(hits_open),
             NAMED(head_create_file),
             NAMED(head_open),
             NAMED(head_save),
             NAMED(head_check_path),
             NAMED(dual_open),
             NAMED(dual_probe),
             NAMED(dual_train_requests),
             NAMED(dual_train_items),
             NAMED(dual_train_path),
             NAMED(tower_open),
             NAMED(tower_train_pairs),
             NAMED(tower_train_path),
             NAMED(tower_train_vectors),
             NAMED(translator_open),
             NAMED(translator_probe),
             NAMED(align_source),
             NAMED(align_target),
             NAMED(align_path),
             NAMED(rank_model_open),
             NAMED(rank_model_save),
             NAMED(rank_model_check_path),
             NAMED(ranking_open),
             NAMED(output_create),
             NAMED(output_open_stream)};

static void refused(const char *path, const char *part) {
    static const float rows[6] = {1, 2, 3, 4, 5, 6};
    static const double weights[2] = {1, 2};
    const thr_matrix matrix = thr_matrix_f32(rows, 3, 2);
    given g = {.path = path};
    expect_ok(thr_context_create(NULL, &g.context, &err));
    expect_ok(thr_head_create(g.context, &matrix, NULL, &g.head, &err));
    expect_ok(thr_rank_model_from_weights(g.context, weights, 2, &g.model, &err));
    expect_ok(thr_reader_from_matrix(g.context, &matrix, &g.reader, &err));
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        const thr_status status = calls[i].call(&g);
        if (status != THR_EINVAL || strstr(g.err.text, part) == NULL)
            fail_msg("%s: %s: %s", calls[i].name, thr_status_name(status), status == THR_OK ? "" : g.err.text);
    }
    thr_reader_free(g.reader);
    thr_rank_model_free(g.model);
    thr_head_free(g.head);
    thr_context_free(g.context);
}

TEST(null_is_refused_as_null) {
    refused(NULL, "NULL");
}

TEST(an_empty_path_is_refused_as_empty) {
    refused("", "empty");
}
