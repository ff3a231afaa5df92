/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_codes.h - searches of an index whose codes a model has made of given vectors: the model encodes the queries,
 * codes screen, and the kept vectors refine (manifest.h, n_inputs).
 *
 * A code's score is the model's cosine, which has no bounded error against the score of the vectors. So there are no
 * margins: how many candidates are refined decides the recall.
 */
#pragma once

#include "index/search/plan.h"

/* As thr_index_search_segments, for a plan that encodes queries. Encoding allocates memory. */
thr_status thr_index_search_model_codes(thr_index *index, const thr_search_plan *plan, const thr_matrix *queries,
                                        const thr_answers *answers, thr_error *err);

/*
 * Encode queries; *embedded is valid until the next call for the plan. THR_ERANGE: an encoded query is not finite; what
 * the encoder returns; THR_ENOMEM.
 */
thr_status thr_index_embed_queries(thr_index *index, const thr_search_plan *plan, const thr_matrix *queries,
                                   thr_matrix *embedded, thr_error *err);
