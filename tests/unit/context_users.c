/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context_users.c - objects outlive the context that they were made from, and what they were made of; the last one
 * frees all memory, whatever the order.
 */
#define TOWER_TEST "context-users"

#include "dual_tower_support.h"
#include "translate_support.h"

#include <thresher/thresher.h>

#include <pthread.h>

#define GOLDEN THR_SOURCE_DIR "/tests/golden/"

static void *open_index(thr_context *context) {
    thr_index *index = NULL;
    expect_ok(thr_index_open(context, GOLDEN "index/cosine-f32-centred-tuned", &index, &err));
    return index;
}

static void drop_index(void *thing) {
    thr_index_free(thing);
}

static void *find_radius(thr_context *context) {
    thr_radius_result *result = NULL;
    thr_index *index = open_index(context);
    const uint32_t n_dims = thr_index_get_info(index).n_dims;
    float *query = test_new(n_dims, sizeof *query);
    expect_ok(thr_index_search_radius(index, ROWS(query, 1, n_dims), 1e9F, NULL, &result, &err));
    thr_index_free(index);
    return result;
}

static void drop_radius(void *thing) {
    thr_radius_result_free(thing);
}

static thr_hits *open_words(thr_context *context) {
    thr_hits *hits = NULL;
    expect_ok(thr_hits_open(context, GOLDEN "hits/words.hits", &hits, &err));
    return hits;
}

static void *open_hits(thr_context *context) {
    return open_words(context);
}

static void *update_hits(thr_context *context) {
    static const char *const removed = "item 7";
    thr_hits *updated = NULL, *hits = open_words(context);
    thr_hits_changes changes = {0};
    changes.removed_names = &removed;
    changes.n_removed = 1;
    expect_ok(thr_hits_update(hits, &changes, &updated, &err));
    thr_hits_free(hits);
    return updated;
}

static void drop_hits(void *thing) {
    expect_ok(thr_hits_verify(thing, &err));
    thr_hits_free(thing);
}

static void *make_target(thr_context *context) {
    thr_hits_target *target = NULL;
    thr_hits *hits = open_words(context);
    expect_ok(thr_hits_target_create(hits, "kind=1 AND NOT kind=2", &target, &err));
    thr_hits_free(hits);
    return target;
}

static void drop_target(void *thing) {
    assert_true(thr_hits_target_count(thing) > 0);
    thr_hits_target_free(thing);
}

static void *make_live(thr_context *context) {
    thr_hits_live *live = NULL;
    expect_ok(thr_hits_live_create(context, open_words(context), &live, &err));
    return live;
}

static void drop_live(void *thing) {
    thr_hits_live_free(thing);
}

static void *open_head(thr_context *context) {
    thr_head *head = NULL;
    expect_ok(thr_head_open(context, GOLDEN "heads/f32.head", &head, &err));
    return head;
}

static void drop_head(void *thing) {
    thr_head_free(thing);
}

static void *make_beam(thr_context *context) {
    thr_beam *beam = NULL;
    thr_beam_options options;
    thr_head *head = open_head(context);
    options = (thr_beam_options){.start_word = 1, .end_word = 2, .penalty = THR_BEAM_PENALTY_NONE};
    expect_ok(thr_beam_create(head, &options, &beam, &err));
    thr_head_free(head);
    return beam;
}

static void drop_beam(void *thing) {
    thr_beam_free(thing);
}

static void *make_model(thr_context *context) {
    const double weights[] = {1, 2};
    thr_rank_model *made = NULL;
    expect_ok(thr_rank_model_from_weights(context, weights, 2, &made, &err));
    return made;
}

static void drop_model(void *thing) {
    thr_rank_model_free(thing);
}

static void *make_ranking(thr_context *context) {
    const float rows[] = {1, 2, 3, 4};
    const double labels[] = {0, 1};
    const uint64_t queries[] = {0, 0};
    thr_ranking *ranking = NULL;
    expect_ok(thr_ranking_from_matrix(context, ROWS(rows, 2, 2), labels, queries, &ranking, &err));
    return ranking;
}

static void drop_ranking(void *thing) {
    thr_ranking_free(thing);
}

static void *open_tower(thr_context *context) {
    return tower_open(context, NAME("model.safetensors"));
}

static void drop_tower(void *thing) {
    thr_tower_free(thing);
}

static void *open_dual(thr_context *context) {
    return dual_open(context, NAME("dual.safetensors"));
}

static void drop_dual(void *thing) {
    thr_dual_free(thing);
}

static void *open_translator(thr_context *context) {
    thr_translator *translator = NULL;
    expect_ok(thr_translator_open(context, NAME("words.safetensors"), NULL, &translator, &err));
    return translator;
}

static void drop_translator(void *thing) {
    static const char *const text = "le chat";
    thr_translations result;
    expect_ok(thr_translator_translate(thing, &text, NULL, 1, &result, &err));
    thr_translator_free(thing);
}

static void *open_reader(thr_context *context) {
    thr_reader *reader = NULL;
    expect_ok(thr_reader_open(context, NAME("pairs.tsv") ":1", &reader, &err));
    return reader;
}

static void drop_reader(void *thing) {
    const char *line;
    size_t length;
    expect_ok(thr_reader_next_line(thing, &line, &length, &err));
    thr_reader_free(thing);
}

typedef struct kind {
    const char *name;
    void *(*make)(thr_context *context);
    void (*drop)(void *thing); /* after the context is gone for its maker; uses it where that is simple */
} kind;

static const kind kinds[] = {
    {"index", open_index, drop_index},
    {"radius result", find_radius, drop_radius},
    {"posting lists", open_hits, drop_hits},
    {"updated posting lists", update_hits, drop_hits},
    {"target", make_target, drop_target},
    {"live posting lists", make_live, drop_live},
    {"head", open_head, drop_head},
    {"beam", make_beam, drop_beam},
    {"ranking model", make_model, drop_model},
    {"ranking", make_ranking, drop_ranking},
    {"tower", open_tower, drop_tower},
    {"dual tower", open_dual, drop_dual},
    {"translator", open_translator, drop_translator},
    {"reader", open_reader, drop_reader},
};

static int write_models(void **state) {
    thr_dual_train_options options;
    thr_context *context = test_new_context(1);
    tower_make(NAME("model.safetensors"), 2, 2);
    dual_write_items(NAME("items.tsv"));
    dual_write_requests(NAME("requests.tsv"), 0, DUAL_REQUESTS);
    dual_small(&options);
    options.run.n_epochs = 1;
    (void)dual_train(context, NAME("requests.tsv"), NAME("items.tsv"), NAME("dual.safetensors"), &options);
    model *words = model_dictionary();
    model_write(context, words, NAME("words.safetensors"), (size_t)-1);
    return tower_setup(state);
}

TEST(every_object_outlives_its_context) {
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        test_memory memory = {0};
        thr_context *context = test_context(3, THR_ISA_BEST, &memory);
        void *thing = kinds[i].make(context);
        const size_t live = memory.live;
        thr_context_free(context);
        assert_case(memory.live == live, "%s: the context is gone", kinds[i].name);
        kinds[i].drop(thing);
        assert_case(memory.live == 0, "%s: %zu pieces of memory are left", kinds[i].name, (size_t)memory.live);
    }
}

TEST(objects_and_their_context_go_in_any_order) {
    void *things[COUNT_OF(kinds)];
    for (size_t middle = 0; middle <= COUNT_OF(kinds); middle += 7) {
        test_memory memory = {0};
        thr_context *context = test_context(2, THR_ISA_BEST, &memory);
        for (size_t i = 0; i < COUNT_OF(kinds); i++)
            things[i] = kinds[i].make(context);
        for (size_t i = 0; i < COUNT_OF(kinds); i++) {
            if (i == middle)
                thr_context_free(context);
            kinds[i].drop(things[i]);
        }
        if (middle == COUNT_OF(kinds)) {
            assert_true(memory.live > 0);
            thr_context_free(context);
        }
        assert_int_equal(memory.live, 0);
    }
}

TEST(a_retained_context_is_there_until_it_is_freed_as_often) {
    test_memory memory = {0};
    thr_context *context = test_context(2, THR_ISA_BEST, &memory);
    assert_ptr_equal(thr_context_retain(context), context);
    thr_context_free(context);
    assert_int_equal(thr_context_threads(context), 2);
    thr_context_free(context);
    assert_int_equal(memory.live, 0);
}

static void *drop_in_a_thread(void *thing) {
    thr_index_free(thing);
    return NULL;
}

TEST(the_last_user_may_be_any_thread) {
    enum { N = 8 };
    pthread_t threads[N];
    for (int round = 0; round < 20; round++) {
        test_memory memory = {0};
        thr_context *context = test_context(2, THR_ISA_BEST, &memory);
        for (size_t i = 0; i < N; i++) {
            void *index = open_index(context);
            assert_int_equal(pthread_create(&threads[i], NULL, drop_in_a_thread, index), 0);
        }
        thr_context_free(context);
        for (size_t i = 0; i < N; i++)
            (void)pthread_join(threads[i], NULL);
        assert_int_equal(memory.live, 0);
    }
}

TEST_GROUP(write_models, tower_teardown)
