#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# eval auc on scores that can be counted by hand, from every kind of text.
set -eu
. "$(dirname "$0")/lib.inc"

# 6 pairs of a good one and a bad one: 3 in order, 1 equal, 2 not
printf '2\t0\n2\t1\n1\t0\n3\t1\n0\t1\n' >scores.tsv
works "$THRESHER" eval auc scores.tsv
matches '^AUC  0.583333  over 5 scores, 3 of them of label 1$' out
works "$THRESHER" eval auc scores.tsv --json
is_json out
matches '^{"auc":0.58333[0-9]*,"n_scores":5,"n_positives":3,"n_negatives":2}$' out
cp out expected

# the same by other ways
tr '\t' ' ' <scores.tsv >scores.txt
tr '\t' ',' <scores.tsv >scores.csv
awk 'BEGIN { print "clicked,id,score" } { print $2 ",\"x,\n" NR "\"," $1 "e0" }' scores.tsv >named.csv
awk '{ print "query " NR "\t" $2 "\t" $1 }' scores.tsv | sed 's/$/\r/' >wide.tsv
for file in scores.txt scores.csv scores.tsv:1,2 named.csv:score,clicked wide.tsv:3,2; do
    works "$THRESHER" eval auc $file --json
    same out expected
done
"$THRESHER" eval auc -.tsv --json <scores.tsv >out || die "scores from a pipe"
same out expected
if "$THRESHER" info | grep -q '^built with.* gz'; then
    gzip -c scores.csv >scores.csv.gz
    works "$THRESHER" eval auc scores.csv.gz --json
    same out expected
fi

# what does not fit
fails 1 'named.csv: line 1 is not a score and a label.*FILE.csv:score,label' "$THRESHER" eval auc named.csv
fails 1 "the first row names no column 'label', but clicked id score" "$THRESHER" eval auc named.csv:score,label
printf '1\t1\n2\t2\n' >labels.tsv
fails 1 'labels.tsv: line 2 is not a score and a label: "2' "$THRESHER" eval auc labels.tsv
printf '1\t1\n2\n' >short.tsv
fails 1 'row 2, at byte 4, has 1 columns' "$THRESHER" eval auc short.tsv
printf '1 1\n2\n' >short.txt
fails 1 'short.txt: line 2 is not a score and a label' "$THRESHER" eval auc short.txt
printf '1\t1\nnan\t0\n' >nan.tsv
fails 1 'nan.tsv: .*score 1 is not a number' "$THRESHER" eval auc nan.tsv
printf '1\t1\n2\t1\n' >good.tsv
fails 1 'good.tsv: .*2 positives and 0 negatives' "$THRESHER" eval auc good.tsv
printf '1 2\n' | to_fvecs >rows.fvecs
fails 1 'rows.fvecs: holds rows of numbers, not lines' "$THRESHER" eval auc rows.fvecs
fails 1 'missing.tsv' "$THRESHER" eval auc missing.tsv
fails 2 'SCORES' "$THRESHER" eval auc
