/* SPDX-License-Identifier: Apache-2.0 */
/* head_gguf.c - heads of models in GGUF: the output layer or the tied embeddings, as the same weights from memory. */

#include "gguf_support.h"
#include "head_support.h"
#include "tensors/gguf.h"

static const char PATH[] = "unit-head-gguf.gguf";
enum { WORDS = 5, DIMS = 32 };

static void write_file(const gguf_bytes *b) {
    test_write_file(PATH, b->at, b->n);
}

static thr_status make(thr_context *context, const char *tensor, thr_dtype dtype, thr_head **head, thr_error *error) {
    thr_head_build_options options = DEFAULTS(thr_head_build_options);
    options.dtype = dtype;
    *head = NULL;
    return thr_head_create_file(context, PATH, tensor, &options, head, error);
}

static void put_floats(gguf_bytes *b, const float *x, size_t n) {
    gguf_put_bytes(b, x, n * sizeof *x);
    gguf_align(b, 32);
}

/* A head has the weights and the bias that are given. */
static void assert_has(thr_head *head, const float *weights, const float *bias) {
    const thr_head_contents *c = thr_head_of(head);
    float row[DIMS];
    assert_true(c->n_words == WORDS && c->n_dims == DIMS && (c->bias != NULL) == (bias != NULL));
    for (uint32_t w = 0; w < WORDS; w++) {
        thr_head_row(c, head->context->kernels, w, row);
        assert_memory_equal(row, weights + w * DIMS, sizeof row);
    }
    if (bias != NULL)
        assert_memory_equal(c->bias, bias, WORDS * sizeof *bias);
}

TEST(the_output_layer_is_taken_with_its_bias) {
    gguf_bytes *b = test_new(1, sizeof *b);
    float weights[WORDS * DIMS], tied[WORDS * DIMS], bias[WORDS] = {1, 2, 3, 4, 5};
    thr_head *head = NULL;
    for (int i = 0; i < WORDS * DIMS; i++) {
        weights[i] = (float)(i % 17) - 8;
        tied[i] = (float)i / 4;
    }
    gguf_begin(b, 3, 4, 0);
    gguf_put_tensor(b, "token_embd.weight", THR_GGUF_F32, 2, DIMS, WORDS, 0);
    gguf_put_tensor(b, "output.bias", THR_GGUF_F32, 1, WORDS, 0, 640);
    gguf_put_tensor(b, "output.weight", THR_GGUF_F32, 2, DIMS, WORDS, 672);
    gguf_put_tensor(b, "blk.0.ffn_up.weight", 12, 2, 256, 4, 5);
    gguf_align(b, 32);
    put_floats(b, tied, WORDS * DIMS);
    put_floats(b, bias, WORDS);
    put_floats(b, weights, WORDS * DIMS);
    write_file(b);
    expect_ok(make(*state, NULL, THR_DTYPE_NONE, &head, &err));
    assert_has(head, weights, bias);
    thr_head_free(head);
    expect_ok(make(*state, "token_embd.weight", THR_DTYPE_BF16, &head, &err));
    assert_int_equal(thr_head_get_info(head).dtype, THR_DTYPE_BF16);
    assert_has(head, tied, NULL); /* quarters up to 40: 8 bits hold them */
    thr_head_free(head);
    expect_error(make(*state, "blk.0.ffn_up.weight", THR_DTYPE_NONE, &head, &err), THR_EUNSUPPORTED,
                 "the tensor blk.0.ffn_up.weight is of type Q4_K (12): weights must be F32, F16, BF16, Q8_0 or Q6_K: "
                 "convert the model with an output layer of one of these");
    expect_error(make(*state, "output.bias", THR_DTYPE_NONE, &head, &err), THR_EFORMAT,
                 "the tensor output.bias has 1 axes: a head is a matrix of words by dimensions");
    expect_error(make(*state, "none", THR_DTYPE_NONE, &head, &err), THR_ENOTFOUND,
                 "has no tensor none: of 4 it has, the first matrices are token_embd.weight [5, 32], output.weight [5, "
                 "32], blk.0.");
    assert_null(head);
}

/* Each as it is in the file; of Q8_0 the floats that it encodes. */
TEST(types_are_kept_or_widened) {
    static const struct {
        uint32_t type;
        size_t size;
        thr_dtype dtype;
    } KINDS[] = {
        {THR_GGUF_F16, 2, THR_DTYPE_F16}, {THR_GGUF_BF16, 2, THR_DTYPE_BF16}, {THR_GGUF_Q8_0, 1, THR_DTYPE_F32}};
    gguf_bytes *b = test_new(1, sizeof *b);
    for (size_t k = 0; k < 3; k++) {
        float weights[WORDS * DIMS];
        OWNED(thr_head, head) = NULL;
        gguf_begin(b, 2, 1, 0);
        gguf_put_tensor(b, "token_embd.weight", KINDS[k].type, 2, DIMS, WORDS, 0);
        gguf_align(b, 32);
        for (int i = 0; i < WORDS * DIMS; i++) {
            weights[i] = (float)(i % 13 - 6) * 0.5F;
            if (KINDS[k].type == THR_GGUF_Q8_0 && i % DIMS == 0)
                gguf_put(b, 0x3800, 2); /* a half */
            gguf_put(b,
                     k == 0   ? thr_half_from_f32(weights[i])
                     : k == 1 ? thr_bf16_from_f32(weights[i])
                              : (uint64_t)(i % 13 - 6),
                     KINDS[k].size);
        }
        write_file(b);
        expect_ok(make(*state, NULL, THR_DTYPE_NONE, &head, &err));
        assert_int_equal(thr_head_get_info(head).dtype, KINDS[k].dtype);
        assert_has(head, weights, NULL);
    }
}

TEST(wrong_inputs_are_refused) {
    gguf_bytes *b = test_new(1, sizeof *b);
    float numbers[64] = {0};
    thr_head *head = NULL;
    gguf_begin(b, 3, 2, 1);
    gguf_put_pair(b, "split.count", 2, 5, 2);
    gguf_put_tensor(b, "wide.weight", THR_GGUF_F32, 2, 40000, 0, 0);
    gguf_put_tensor(b, "many.weight", THR_GGUF_F32, 2, 8, 0, 0);
    gguf_align(b, 32);
    put_floats(b, numbers, 64);
    write_file(b);
    expect_error(
        make(*state, NULL, THR_DTYPE_NONE, &head, &err), THR_ENOTFOUND,
        "has no tensor with the usual name of an output layer: of 2 it has, the first matrices are wide.weight [0, "
        "40000], many.weight [0, 8]; there is no other part (name them NAME-00001-of-00002.gguf");
    expect_error(make(*state, "wide.weight", THR_DTYPE_NONE, &head, &err), THR_EDIM,
                 "the tensor wide.weight has 40000 dimensions: a head has 1 to 32768");
    expect_error(make(*state, "many.weight", THR_DTYPE_NONE, &head, &err), THR_EDIM, "weights of 0 words");
    gguf_begin(b, 3, 2, 0);
    gguf_put_tensor(b, "output.weight", THR_GGUF_F32, 2, 8, 4, 0);
    gguf_put_tensor(b, "output.bias", THR_GGUF_F32, 2, 2, 2, 128);
    gguf_align(b, 32);
    put_floats(b, numbers, 64);
    write_file(b);
    expect_error(make(*state, NULL, THR_DTYPE_NONE, &head, &err), THR_EFORMAT,
                 "the tensor output.bias is not a vector of biases");
    (void)unlink(PATH);
    expect_error(make(*state, NULL, THR_DTYPE_NONE, &head, &err), THR_ENOTFOUND, PATH);
}

static const char PARTS[2][48] = {"unit-head-part-00001-of-00002.gguf", "unit-head-part-00002-of-00002.gguf"};

/* Part i of two, with one matrix of WORDS x DIMS of this number. */
static void write_part(gguf_bytes *b, int i, const char *name, float number) {
    float weights[WORDS * DIMS];
    for (int j = 0; j < WORDS * DIMS; j++)
        weights[j] = number;
    gguf_begin(b, 3, 1, 1);
    gguf_put_pair(b, "split.count", 2, 2, 2);
    gguf_put_tensor(b, name, THR_GGUF_F32, 2, DIMS, WORDS, 0);
    gguf_align(b, 32);
    put_floats(b, weights, WORDS * DIMS);
    test_write_file(PARTS[i], b->at, b->n);
}

TEST(the_output_layer_is_taken_from_another_part) {
    gguf_bytes *b = test_new(1, sizeof *b);
    thr_head_build_options options = DEFAULTS(thr_head_build_options);
    thr_head_taken taken;
    thr_head *head = NULL;
    options.taken = &taken;
    (void)unlink(PARTS[1]);
    write_part(b, 0, "token_embd.weight", 1);
    expect_error(thr_head_create_file(*state, PARTS[0], NULL, &options, &head, &err), THR_ENOTFOUND,
                 "unit-head-part-00001-of-00002.gguf: has embeddings, token_embd.weight, but no output layer, which "
                 "unit-head-part-00002-of-00002.gguf may have");
    write_part(b, 1, "output.weight", 2);
    for (int i = 0; i < 2; i++) {
        expect_ok(thr_head_create_file(*state, PARTS[i], NULL, &options, &head, &err));
        assert_true(((const float *)thr_head_of(head)->weights)[0] == 2 && !taken.tied);
        assert_string_equal(taken.tensor, "output.weight");
        assert_string_equal(taken.path, PARTS[1]);
        thr_head_free(head);
    }
    write_part(b, 1, "blk.0.ffn_norm.weight", 2);
    expect_error(thr_head_create_file(*state, PARTS[0], NULL, &options, &head, &err), THR_EINVAL,
                 "the output layer may be any of token_embd.weight [5, 32], blk.0.ffn_norm.weight [5, 32]: name it");
    (void)unlink(PARTS[0]);
    (void)unlink(PARTS[1]);
}

static int set_up(void **state) {
    *state = test_context(1, THR_ISA_BEST, NULL);
    return 0;
}

static int tear_down(void **state) {
    (void)unlink(PATH);
    thr_context_free(*state);
    return 0;
}

TEST_GROUP(set_up, tear_down)
