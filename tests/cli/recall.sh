#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# eval recall on answers that can be counted by hand.
set -eu
. "$(dirname "$0")/lib.inc"

printf '1 2 3 4\n5 6 7 8\n' >truth
printf '2 1 9 3\n5 9 10 11\n' >result
to_ivecs <truth >truth.ivecs
to_ivecs <result >result.ivecs

works "$THRESHER" eval recall truth.ivecs truth.ivecs -k 4
matches '^recall@4  1.0000  over 2 queries$' out
works "$THRESHER" eval recall truth.ivecs result.ivecs -k 4 --json
is_json out
matches '^{"recall_at_4":0.5,"k":4,"n_queries":2,"ties_counted":false}$' out
works "$THRESHER" eval recall truth.ivecs result.ivecs -k 1
matches 'recall@1  0.5000' out
works "$THRESHER" eval recall truth.ivecs result.ivecs -k 2
matches 'recall@2  0.7500' out

# -1 is no id and never found; missing ids are not found
printf '1 -1 -1 -1\n5 6 7 8\n' | to_ivecs >short.ivecs
works "$THRESHER" eval recall truth.ivecs short.ivecs -k 4
matches 'recall@4  0.6250' out
printf '1 2\n5 6\n' | to_ivecs >narrow.ivecs
works "$THRESHER" eval recall truth.ivecs narrow.ivecs -k 4
matches 'recall@4  0.5000' out
matches 'only 2 ids per row: the other 2 count as not found' err

# results as the program writes them
printf '{"query":0,"ids":[1,2,3],"scores":[3,2,1]}\n{"query":1,"ids":[],"scores":[]}\n' >result.jsonl
works "$THRESHER" eval recall truth.ivecs result.jsonl -k 4 --json -q
matches '"recall_at_4":0.375,' out
printf '{"query":0,"ids":[1,2,3],"scores":[3,2,1]}\nno result\n' >bad.jsonl
fails 1 'bad.jsonl: line 2 is not a result' "$THRESHER" eval recall truth.ivecs bad.jsonl -k 4
printf '{"query":0,"ids":[1,"2"]}\n' >bad.jsonl
fails 1 'bad.jsonl: line 1 is not a result' "$THRESHER" eval recall truth.ivecs bad.jsonl -k 4

# ties: row 0 has its second id as near as the third, so 3 counts at k = 2; negated, falling and from a file of its own
printf '0.5 1 1 2\n1 2 3 4\n' >distances
printf '1 3 9 9\n5 6 7 8\n' | to_ivecs >tied.ivecs
to_truth truth distances >truth.ibin
works "$THRESHER" info truth.ibin:distances
works "$THRESHER" eval recall truth.ibin tied.ivecs -k 2 --json
matches '"recall_at_2":1,"k":2,"n_queries":2,"ties_counted":true' out
works "$THRESHER" eval recall truth.ivecs tied.ivecs -k 2
matches 'recall@2  0.7500  over 2 queries$' out
to_fvecs <distances >distances.fvecs
works "$THRESHER" eval recall truth.ivecs tied.ivecs -k 2 --truth-distances distances.fvecs
matches 'recall@2  1.0000  over 2 queries, ties counted$' out
awk '{ print 5 - $1, 5 - $2, 5 - $3, 5 - $4 }' distances | to_fvecs >similarities.fvecs
works "$THRESHER" eval recall truth.ivecs tied.ivecs -k 2 --truth-distances=similarities.fvecs
matches 'recall@2  1.0000' out
# an .ibin without distances counts no ties
to_ibin <truth >plain.ibin
works "$THRESHER" eval recall plain.ibin tied.ivecs -k 2
matches 'recall@2  0.7500  over 2 queries$' out

# what does not fit
fails 1 'truth.ivecs has 4 ids per row, too few for -k 5; use -k 4' "$THRESHER" eval recall truth.ivecs result.ivecs -k 5
printf '1 2 3 4\n' | to_ivecs >one.ivecs
fails 1 'truth.ivecs has 2 rows, one.ivecs has 1' "$THRESHER" eval recall truth.ivecs one.ivecs -k 4
echo word >words.txt
fails 1 'words.txt holds text; expected rows of numbers' \
    "$THRESHER" eval recall truth.ivecs result.ivecs -k 2 --truth-distances words.txt
fails 1 'holds f32; ids are whole numbers' "$THRESHER" eval recall distances.fvecs result.ivecs -k 2
printf '1 2\n-7 3\n' | to_ivecs >negative.ivecs
fails 1 'negative.ivecs: row 1 holds a negative number' "$THRESHER" eval recall truth.ivecs negative.ivecs -k 2
printf '0.5 1\n1 2\n' | to_fvecs >narrow.fvecs
fails 1 'narrow.fvecs is 2 x 2, but truth.ivecs is 2 x 4' \
    "$THRESHER" eval recall truth.ivecs result.ivecs -k 2 --truth-distances narrow.fvecs
printf '1 2 3 4\n4 3 2 1\n' | to_fvecs >mixed.fvecs
fails 1 'nearest first' "$THRESHER" eval recall truth.ivecs result.ivecs -k 2 --truth-distances mixed.fvecs
fails 1 'missing.ivecs' "$THRESHER" eval recall missing.ivecs result.ivecs -k 2
fails 1 'missing.ivecs' "$THRESHER" eval recall truth.ivecs missing.ivecs -k 2
