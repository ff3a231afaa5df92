/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build.c - `head build WEIGHTS -o FILE`.
 */
#include <inttypes.h>
#include <stdio.h>

#include "head/input.h"
#include "cli/json.h"
#include "output/plain.h"
#include "commands.h"
#include "cli/messages.h"

typedef struct build_values {
    const char *weights, *output, *tensor, *bias, *frequent;
    size_t keep;
    uint64_t bands, hashes, places, planes, words;
    bool force;
} build_values;

static const char *const keeps[] = {"as-is", "f32", "f16", "bf16", "i8", NULL};

static const prog_argument arguments[] = {
    {PROG_REQUIRED("WEIGHTS", PROG_NAMES_FILE, offsetof(build_values, weights),
                   "one row per word: .safetensors, .gguf, .npy or another file of rows; or the directory or the "
                   "*.safetensors.index.json of a sharded model")},
    {.name = NULL},
};

static const prog_option options[] = {
    {PROG_NEW_FILE_OPTION("FILE", offsetof(build_values, output), "the file to write")},
    {PROG_TEXT_OPTION("tensor", "NAME", offsetof(build_values, tensor),
                      "name of the tensor of .safetensors or .gguf (default: lm_head.weight, output.weight or "
                      "another usual name; the embeddings, if the model ties them). X.bias beside X.weight is the "
                      "bias")},
    {PROG_FILE_OPTION(
        "bias", offsetof(build_values, bias),
        "one number per word to add to its logit: .npy or another file of numbers; -inf: the word is never "
        "answered")},
    {PROG_CHOICE_OPTION(
         "keep", "as-is|f32|f16|bf16|i8", keeps, offsetof(build_values, keep),
         "type of the stored weights; as-is keeps f16 and bf16, and converts others to f32. i8 "
         "takes one byte per weight and one scale per word; head query --against measures what that loses"),
     .fallback = "as-is"},
    {PROG_COUNT_OPTION("words", "N", offsetof(build_values, words),
                       "words of the vocabulary: rows from N on are padding and are left out (default: all rows)"),
     .least = 1, .most = THR_HEAD_MAX_WORDS},
    {PROG_FILE_OPTION("frequent", offsetof(build_values, frequent),
                      "word numbers, most frequent first: a file of whole numbers, or .txt with one per line; "
                      "other words follow in order of their numbers (default: words are numbered by frequency)")},
    {PROG_COUNT_OPTION("bands", "N", offsetof(build_values, bands),
                       "bands of hashes for --screen wta; 0: none, and no such screen"),
     .most = 65536, .fallback = "128"},
    {PROG_COUNT_OPTION("hashes", "N", offsetof(build_values, hashes),
                       "hashes in a band, all of which a word and a state must share for a hit; 0: as many as "
                       "fit 32 bits"),
     .most = 32, .fallback = "8"},
    {PROG_COUNT_OPTION(
         "places", "N", offsetof(build_values, places),
         "components of a state or word that a hash compares, drawn at random; the hash is the place of the largest"),
     .least = 2, .most = 65536, .fallback = "2"},
    {PROG_COUNT_OPTION("planes", "N", offsetof(build_values, planes),
                       "planes of the words' codes for --screen planes; n dimensions take n / 8 bytes per plane; "
                       "0: none, and no such screen (default: as many as give a code 256 bits, so 1 from 256 "
                       "dimensions on)"),
     .most = THR_MAX_BITS},
    {PROG_FORCE_OPTION(offsetof(build_values, force))},
    PROG_OPTIONS_END,
};

static int print_report(const program *run, const build_values *values, const thr_head_info *info,
                        const thr_head_taken *taken, double start) {
    const double seconds = prog_seconds() - start;

    if (run->globals.json) {
        prog_json json = prog_json_object();

        prog_json_key_text(&json, "head", values->output);
        prog_json_key_count(&json, "n_words", info->n_words);
        prog_json_key_count(&json, "n_dims", info->n_dims);
        prog_json_key_text(&json, "keep", thr_dtype_name(info->dtype));
        prog_json_key_bool(&json, "has_bias", info->has_bias);
        PROG_JSON_COUNTS(&json, {"bands", info->n_bands}, {"weight_bytes", info->weight_bytes},
                         {"hash_bytes", info->hash_bytes}, {"planes", info->n_planes},
                         {"plane_bytes", info->plane_bytes});
        prog_json_key_text(&json, "weights", taken->path);
        if (taken->tensor[0] != '\0') {
            prog_json_key_text(&json, "tensor", taken->tensor);
            prog_json_key_bool(&json, "tied", taken->tied);
        }
        if (taken->bias[0] != '\0')
            prog_json_key_text(&json, "bias_tensor", taken->bias);
        prog_json_key_real(&json, "build_s", seconds);
        prog_json_end_object(&json);
        return PROG_DONE;
    }
    prog_line("%s: %s words of %" PRIu32 " dimensions, %s%s, weights of %s, hashes of %s, codes of %s, in %s",
              values->output, prog_exact(info->n_words).text, info->n_dims, thr_dtype_name(info->dtype),
              info->has_bias ? " with a bias" : "", prog_bytes((double)info->weight_bytes).text,
              prog_bytes((double)info->hash_bytes).text, prog_bytes((double)info->plane_bytes).text,
              prog_time(seconds).text);
    if (taken->tensor[0] != '\0')
        prog_line("from %s%s%s%s of %s", taken->tensor, taken->tied ? " (tied embeddings)" : "",
                  taken->bias[0] != '\0' ? " and " : "", taken->bias, taken->path);
    return PROG_DONE;
}

static int build(const program *run, const build_values *values, const thr_head_build_options *how) {
    const double start = prog_seconds();
    thr_error err = {.status = THR_OK};
    thr_head *head = NULL;
    int rc = PROG_DONE;

    if (thr_head_create_file(run->context, values->weights, values->tensor, how, &head, &err) != THR_OK)
        return prog_failed(&err);
    if (prog_stop_signal() != 0)
        rc = prog_stopped();
    else if (thr_head_save(head, values->output, values->force, &err) != THR_OK)
        rc = prog_failed_existing(&err, "add --force");
    const thr_head_info info = thr_head_get_info(head);
    thr_head_free(head);
    return rc == PROG_DONE ? print_report(run, values, &info, how->taken, start) : rc;
}

static int run_build(program *run, const void *all_values) {
    static const thr_dtype dtypes[] = {THR_DTYPE_NONE, THR_DTYPE_F32, THR_DTYPE_F16, THR_DTYPE_BF16, THR_DTYPE_I8};
    static const char *const of_hashes[] = {"hashes", "places", NULL};
    const build_values *values = all_values;
    prog_floats bias = {.items = NULL};
    prog_head_words frequent = {.items = NULL};
    thr_head_build_options how;
    thr_head_taken taken;
    thr_error err = {.status = THR_OK};
    int rc = PROG_DONE;

    thr_head_build_options_init(&how);
    how.taken = &taken;
    if (thr_head_check_path(run->context, values->output, values->force, &err) != THR_OK)
        return prog_failed_existing(&err, "add --force");
    if (values->bias != NULL)
        rc = prog_floats_read(&bias, run->context, values->bias, "biases", UINT64_MAX);
    if (rc == PROG_DONE && values->frequent != NULL)
        rc = prog_head_words_read(&frequent, run->context, values->frequent);
    how.dtype = dtypes[values->keep];
    how.bias = bias.items;
    how.n_bias = bias.n_rows * bias.n_dims;
    how.frequent = frequent.items;
    how.n_frequent = frequent.n;
    if (values->bands == 0)
        prog_note_unused(run, of_hashes, "with --bands 0");
    how.n_bands = (uint32_t)values->bands;
    how.n_hashes = (uint32_t)values->hashes;
    how.n_places = (uint32_t)values->places;
    how.n_words = values->words;
    if (prog_is_given(run, "planes"))
        how.n_planes = (uint32_t)values->planes;
    how.seed = run->globals.seed;
    if (rc == PROG_DONE)
        rc = build(run, values, &how);
    prog_floats_free(&bias);
    prog_head_words_free(&frequent);
    return rc;
}

const prog_command prog_head_build = {
    PROG_COMMAND("head", "build", build_values, arguments, options, run_build),
    .summary = "build a head from the output layer of a model",
    .text = "A head is an output layer that gives every word of a vocabulary its logit: weights, one "
            "row per word, and a bias or none. The file also stores the words' order by frequency, "
            "plane codes and winner-take-all hashes, so that a query finds the best words of a state "
            "without reading all weights.\n\nMore hashes a band make lists shorter and hits rarer; "
            "more bands find more words, in more time.",
    .examples = PROG_EXAMPLES(
        "thresher head build model.safetensors -o model.head",
        "thresher head build model.safetensors.index.json -o model.head",
        "thresher head build model.safetensors -o model.head --tensor decoder.out.weight --keep f16",
        "thresher head build model.gguf -o small.head --keep i8",
        "thresher head build weights.npy -o model.head --bias bias.npy --frequent by_count.txt --bands 200"),
};
