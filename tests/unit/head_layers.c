/* SPDX-License-Identifier: Apache-2.0 */
/* head_layers.c - which tensor is the output layer and which its bias, by names and shapes; indexes and config.json. */
#include "test.h"

#include "head/layers.h"

enum { MOST = 5 };
typedef struct layers_case {
    thr_head_layer layers[MOST];
    const char *name;   /* to choose, or NULL */
    const char *chosen; /* NULL: refused */
    const char *bias;
    bool tied;
    thr_status status;
    const char *part; /* of the message */
} layers_case;

#define MATRIX(name, rows, columns)                                                                                    \
    { name, 2, rows, columns }
#define VECTOR(name, n)                                                                                                \
    { name, 1, n, 1 }
#define EMBEDDINGS MATRIX("model.embed_tokens.weight", 50, 8)

static const layers_case cases[] = {
    {{EMBEDDINGS, MATRIX("lm_head.weight", 50, 8)}, .chosen = "lm_head.weight"},
    {{MATRIX("language_model.lm_head.weight", 50, 8), VECTOR("language_model.lm_head.bias", 50)},
     .chosen = "language_model.lm_head.weight",
     .bias = "language_model.lm_head.bias"},
    {{EMBEDDINGS}, .chosen = "model.embed_tokens.weight", .tied = true},
    {{EMBEDDINGS, VECTOR("lm_head.bias", 50)},
     .chosen = "model.embed_tokens.weight",
     .bias = "lm_head.bias",
     .tied = true},
    {{MATRIX("model.shared.weight", 50, 8), MATRIX("final_logits_bias", 1, 50)},
     .chosen = "model.shared.weight",
     .bias = "final_logits_bias",
     .tied = true},
    {{MATRIX("token_embd.weight", 50, 8), VECTOR("output.bias", 50)},
     .chosen = "token_embd.weight",
     .bias = "output.bias",
     .tied = true},
    {{MATRIX("lm_head.decoder.weight", 50, 8), VECTOR("lm_head.bias", 50), MATRIX("lm_head.dense.weight", 8, 8)},
     .chosen = "lm_head.decoder.weight",
     .bias = "lm_head.bias"},
    {{MATRIX("model.encoder.embed_tokens.weight", 40, 8), MATRIX("model.decoder.embed_tokens.weight", 50, 8)},
     .chosen = "model.decoder.embed_tokens.weight",
     .tied = true},
    /* named by the caller: the bias of another layer is not its own */
    {{EMBEDDINGS, MATRIX("lm_head.weight", 50, 8), VECTOR("lm_head.bias", 50)},
     .name = "model.embed_tokens.weight",
     .chosen = "model.embed_tokens.weight"},
    {{MATRIX("decoder.final_proj.weight", 50, 8), EMBEDDINGS},
     .name = "decoder.final_proj.weight",
     .chosen = "decoder.final_proj.weight"},
    /* several may be meant */
    {{MATRIX("decoder.final_proj.weight", 50, 8), EMBEDDINGS},
     .status = THR_EINVAL,
     .part = "may be any of decoder.final_proj.weight [50, 8], model.embed_tokens.weight [50, 8]: name it as tensor"},
    {{MATRIX("final_proj", 8, 50), EMBEDDINGS}, .status = THR_EINVAL, .part = "final_proj [8, 50], model.embed_tokens"},
    {{MATRIX("lm_head.weight", 50, 8), MATRIX("output.weight", 50, 8)},
     .status = THR_EINVAL,
     .part = "may be any of lm_head.weight [50, 8], output.weight [50, 8]"},
    {{MATRIX("shared.weight", 50, 8), MATRIX("decoder.embed_tokens.weight", 50, 8)},
     .status = THR_EINVAL,
     .part = "may be any of shared.weight [50, 8], decoder.embed_tokens.weight [50, 8]"},
    {{EMBEDDINGS, MATRIX("lm_head.qweight", 1, 50)}, .status = THR_EINVAL, .part = "lm_head.qweight [1, 50]"},
    {{MATRIX("lm_head.weight", 8, 50), EMBEDDINGS},
     .status = THR_EFORMAT,
     .part = "lm_head.weight [8, 50] is transposed, as the embeddings model.embed_tokens.weight [50, 8] show"},
    {{MATRIX("x.weight", 50, 8)}, .status = THR_ENOTFOUND, .part = "the first matrices are x.weight [50, 8]"},
    {{EMBEDDINGS}, .name = "y", .status = THR_ENOTFOUND, .part = "has no tensor y: of 1 it has"},
    {{VECTOR("layers.0.output.weight", 8)}, .status = THR_ENOTFOUND, .part = "the first matrices are none"},
};

TEST(one_tensor_is_chosen_or_all_that_may_be_meant_are_listed) {
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const layers_case *c = &cases[i];
        thr_head_layers layers = {.path = "m", .items = c->layers};
        ptrdiff_t bias = THR_HEAD_NO_LAYER;
        size_t chosen = 0;
        bool tied = false;
        while (layers.n < MOST && c->layers[layers.n].name != NULL)
            layers.n++;
        const thr_status status = thr_head_layers_choose(&layers, c->name, &chosen, &tied, &err);
        if (c->chosen == NULL) {
            expect_error(status, c->status, c->part);
            continue;
        }
        expect_ok(status);
        assert_string_equal(c->layers[chosen].name, c->chosen);
        assert_int_equal(tied, c->tied);
        expect_ok(thr_head_layers_bias(&layers, chosen, tied, &bias, &err));
        assert_string_equal(bias == THR_HEAD_NO_LAYER ? "none" : c->layers[bias].name,
                            c->bias != NULL ? c->bias : "none");
    }
}

TEST(two_biases_are_refused) {
    static const thr_head_layer items[] = {MATRIX("lm_head.weight", 50, 8), VECTOR("lm_head.bias", 50),
                                           MATRIX("final_logits_bias", 1, 50)};
    const thr_head_layers layers = {.path = "m", .items = items, .n = 3};
    ptrdiff_t bias = 0;
    (void)state;
    expect_error(thr_head_layers_bias(&layers, 0, false, &bias, &err), THR_EINVAL,
                 "has two biases, lm_head.bias and final_logits_bias");
}

TEST(embeddings_are_taken_only_if_something_states_that_they_are_tied) {
    static const thr_head_layer item = EMBEDDINGS;
    thr_head_layers layers = {.path = "m", .items = &item, .n = 1};
    (void)state;
    expect_ok(thr_head_layers_check_tied(&layers, 0, THR_TYING_TIED, &err));
    expect_ok(thr_head_layers_check_tied(&layers, 0, THR_TYING_WHOLE, &err));
    expect_error(thr_head_layers_check_tied(&layers, 0, THR_TYING_UNTIED, &err), THR_ENOTFOUND, "not tied");
    expect_error(thr_head_layers_check_tied(&layers, 0, THR_TYING_UNKNOWN, &err), THR_ENOTFOUND,
                 "no index or config.json beside it states that they are tied");
    layers.missing = "other.safetensors";
    expect_error(thr_head_layers_check_tied(&layers, 0, THR_TYING_WHOLE, &err), THR_ENOTFOUND,
                 "which other.safetensors may have");
}

TEST(config_states_whether_embeddings_are_tied) {
    static const struct {
        const char *text;
        thr_status status;
        thr_tying tying;
    } texts[] = {
        {"{}", THR_OK, THR_TYING_WHOLE},
        {"{\"tie_word_embeddings\": true}", THR_OK, THR_TYING_TIED},
        {" { \"a\" : [1, {\"tie_word_embeddings\": true}, -2.5e3, NaN, null, \"]\\\"\"], \"tie_word_embeddings\" : "
         "false } ",
         THR_OK, THR_TYING_UNTIED},
        {"{\"tie_word_embeddings\": true, \"text_config\": {\"tie_word_embeddings\": false}}", THR_OK,
         THR_TYING_UNTIED},
        {"{\"text_config\": null, \"tie_word_embeddings\": null}", THR_OK, THR_TYING_WHOLE},
        {"{\"text_config\": {\"x\": {}}, \"tie_word_embeddings\": true}", THR_OK, THR_TYING_TIED},
        {"", THR_EFORMAT, THR_TYING_WHOLE},
        {"{\"a\": }", THR_EFORMAT, THR_TYING_WHOLE},
        {"{\"a\": [1, 2}", THR_EFORMAT, THR_TYING_WHOLE},
        {"{\"a\": 1} x", THR_EFORMAT, THR_TYING_WHOLE},
        {"{\"tie_word_embeddings\": true", THR_EFORMAT, THR_TYING_WHOLE},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        thr_tying tying = THR_TYING_UNKNOWN;
        assert_int_equal(thr_tensors_config_read("c", texts[i].text, strlen(texts[i].text), &tying, &err),
                         texts[i].status);
        if (texts[i].status == THR_OK)
            assert_int_equal(tying, texts[i].tying);
    }
}

TEST(an_index_lists_tensors_and_their_files) {
    static const char good[] =
        "{\"metadata\": {\"total_size\": 1.5}, \"weight_map\": {\"a\": \"1.st\", \"b\": \"2.st\"}}";
    static const char *const bad[] = {
        "{}", "{\"weight_map\": {}}",           "{\"weight_map\": {\"a\": \"../x\"}}", "{\"weight_map\": {\"a\": 1}}",
        "[]", "{\"weight_map\": {\"a\": \"b\"}"};
    thr_shard_index index;
    expect_ok(thr_tensors_index_read(*state, "i", good, sizeof good - 1, &index, &err));
    assert_int_equal(index.n, 2);
    assert_string_equal(index.entries[1].name, "b");
    assert_string_equal(index.entries[1].file, "2.st");
    thr_tensors_index_free(*state, &index);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_int_equal(thr_tensors_index_read(*state, "i", bad[i], strlen(bad[i]), &index, &err), THR_EFORMAT);
        thr_tensors_index_free(*state, &index);
    }
}

static int set_up(void **state) {
    *state = test_context(1, THR_ISA_BEST, NULL);
    return 0;
}

static int tear_down(void **state) {
    thr_context_free(*state);
    return 0;
}

TEST_GROUP(set_up, tear_down)
