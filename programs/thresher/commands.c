/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commands.c - the program thresher: its name and its commands. Each command's table is beside its function.
 */
#include "commands.h"

static const prog_noun elsewhere[] = {
    {"bench",
     "benchmarks are a program of their own, thresher-bench, which ./run bench builds and runs in the source tree"},
    {NULL, NULL},
};

const prog_identity prog_self = {
    .name = "thresher",
    .words = "NOUN VERB",
    .about =
        "Thresher finds nearest neighbours: it scores items by codes of a few bits per dimension, and the best few by "
        "their exact vectors.",
    .elsewhere = elsewhere,
    .generate = prog_generate,
};

const prog_noun prog_nouns[] = {
    {"info", "this build and machine, or a description of a file"},
    {"index", "build an index of vectors, search it and change it; search collections of indexes"},
    {"tower", "train models that encode texts, vectors or ads"},
    {"hits", "posting lists of items' features, every item scored"},
    {"head", "output layers over large vocabularies, the best words of states"},
    {"translate", "translate text by an LSTM model and beam search"},
    {"rank", "learn to rank rows of features"},
    {"eval", "quality of answers: recall, AUC, NDCG, BLEU"},
    {NULL, NULL},
};

const prog_command *const prog_commands[] = {
    &prog_info,         &prog_index_build,  &prog_index_create,  &prog_index_search,
    &prog_index_info,   &prog_index_verify, &prog_index_tune,    &prog_index_add,
    &prog_index_upsert, &prog_index_remove, &prog_index_compact, &prog_tower_train,
    &prog_tower_encode, &prog_tower_eval,   &prog_hits_build,    &prog_hits_search,
    &prog_hits_info,    &prog_hits_verify,  &prog_head_build,    &prog_head_align,
    &prog_head_query,   &prog_head_info,    &prog_head_verify,   &prog_translate,
    &prog_rank_train,   &prog_rank_predict, &prog_rank_eval,     &prog_eval_recall,
    &prog_eval_auc,     &prog_eval_ndcg,    &prog_eval_bleu,     NULL,
};
