/* SPDX-License-Identifier: Apache-2.0 */
/* commands.h - the commands of thresher, and the functions of some that others call. */
#pragma once

#include "cli/program.h"

extern const prog_command prog_info;
extern const prog_command prog_index_build;
extern const prog_command prog_index_search;
extern const prog_command prog_index_info;
extern const prog_command prog_index_verify;
extern const prog_command prog_index_tune;
extern const prog_command prog_index_add;
extern const prog_command prog_index_upsert;
extern const prog_command prog_index_remove;
extern const prog_command prog_index_compact;
extern const prog_command prog_index_create;
extern const prog_command prog_tower_train;
extern const prog_command prog_tower_encode;
extern const prog_command prog_tower_eval;
extern const prog_command prog_hits_build;
extern const prog_command prog_hits_search;
extern const prog_command prog_hits_info;
extern const prog_command prog_hits_verify;
extern const prog_command prog_head_build;
extern const prog_command prog_head_align;
extern const prog_command prog_head_query;
extern const prog_command prog_head_info;
extern const prog_command prog_head_verify;
extern const prog_command prog_translate;
extern const prog_command prog_rank_train;
extern const prog_command prog_rank_predict;
extern const prog_command prog_rank_eval;
extern const prog_command prog_eval_recall;
extern const prog_command prog_eval_auc;
extern const prog_command prog_eval_ndcg;
extern const prog_command prog_eval_bleu;

/* index/info.c: describe an index or a collection; for `info DIR` and `index info DIR`. */
int prog_print_index(program *run, const char *dir);

/* hits/info.c: detect posting lists by a file's first bytes; describe them. */
bool prog_is_hits(const char *path);
int prog_print_hits(program *run, const char *path);

/* head/info.c: the same for heads. */
bool prog_is_head(const char *path);
int prog_print_head(program *run, const char *path);

/* info/translator.c: detect a translation model in a file of tensors, and describe it. */
int prog_print_translator(program *run, const char *path, bool *is_one);

/* generate.c and complete.c: manual, docs/cli.md and completion on standard output. */
void prog_generate(size_t generator, const prog_command *command);
void prog_complete_bash(void);
void prog_complete_zsh(void);
void prog_complete_fish(void);
