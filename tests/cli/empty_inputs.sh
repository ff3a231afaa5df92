#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Adding, removing or searching for nothing is no error: files without rows, of every format. Building of nothing is.
set -eu
. "$(dirname "$0")/lib.inc"

random_rows 300 8 1 >rows.txt
to_fvecs <rows.txt >rows.fvecs
awk 'BEGIN { for (i = 0; i < 300; i++) print "n" i }' >names.txt
works "$THRESHER" index build rows.fvecs -o by_id
works "$THRESHER" index build rows.fvecs --ids names.txt -o by_name

: >none.fvecs
: >none.bvecs
: >none.ivecs
: >none.txt
: >none.tsv
: >none.csv
printf 'id\tname\n' >header.tsv
# An .npy of 0 rows: npy NAME DTYPE SHAPE
npy() {
    header="{'descr': '$2', 'fortran_order': False, 'shape': $3, }"
    printf '\223NUMPY\001\000\166\000%-117s\n' "$header" >"$1"
}
npy none.npy '<f4' '(0, 8)'
npy flat.npy '<f8' '(0,)'
npy square.npy '<f8' '(0, 0)'
npy ids.npy '<i8' '(0,)'
printf '\0\0\0\0\010\0\0\0' >none.fbin
for file in none.fvecs none.txt none.npy; do
    ! "$THRESHER" info | grep -q '^built with.* gz' || gzip -c $file >$file.gz
    ! "$THRESHER" info | grep -q '^built with.* xz' || ! command -v xz >/dev/null || xz -c $file >$file.xz
done

vectors=$(ls none.fvecs* none.bvecs none.npy* flat.npy square.npy none.fbin)
ids="$(ls none.ivecs none.txt* ids.npy flat.npy) none.tsv:1 none.csv:name header.tsv:name"

# unchanged DIR: the index has its 300 items, of its first commit
unchanged() {
    works "$THRESHER" index info "$1" --json
    matches '"n_items":300' out
    matches '"n_commits":0' out
}

for file in $vectors; do
    works "$THRESHER" index add by_id "$file"
    matches 'added 0 items to by_id: 300 items now' err
    works "$THRESHER" index add by_name "$file" --ids none.txt
    matches 'added 0 items' err
    works "$THRESHER" index upsert by_id "$file" --ids ids.npy
    matches 'added 0 items to by_id and replaced 0' err
    works "$THRESHER" index search by_id "$file" -k 3 -o found.trec
    [ ! -s found.trec ] || die "answers to no queries: $file"
    fails 1 'holds no rows: an index needs at least one' "$THRESHER" index build "$file" -o nothing
    [ ! -e nothing ] || die "a build of nothing left something: $file"
done
for file in $ids; do
    for index in by_id by_name; do
        works "$THRESHER" index remove $index "$file"
        matches "removed 0 items from $index: 300 items now" err
        works "$THRESHER" index search $index rows.fvecs -k 3 --filter "$file" -o found.trec
        [ ! -s found.trec ] || die "found what the filter leaves out: $file"
        fails 1 'give ' "$THRESHER" index add $index rows.fvecs --ids "$file"
        works "$THRESHER" index add $index none.fvecs --ids "$file"
    done
done
unchanged by_id
unchanged by_name
for words in "add by_id -.fvecs" "remove by_id -.txt" "search by_id -.fvecs -k 3 -o -.trec"; do
    # shellcheck disable=SC2086 # words
    "$THRESHER" index $words </dev/null >out 2>err || die "exit $?: $words"
done
unchanged by_id
# Rows to rank: none get no scores; nothing can be learned or measured from them.
printf '1 qid:1 1:1 2:2\n0 qid:1 1:0 2:1\n' >two.svm
works "$THRESHER" rank train two.svm -o rank.model
: >none.svm
printf '# nothing today\n\n' >comments.svm
for file in none.svm comments.svm; do
    for output in scores.txt run.trec; do
        works "$THRESHER" rank predict rank.model $file -o $output
        [ -e $output ] && [ ! -s $output ] || die "scores of no rows: $file"
    done
    fails 1 'no pairs to learn from' "$THRESHER" rank train $file -o other.model
    fails 1 'holds no rows: there is nothing to measure' "$THRESHER" rank eval rank.model $file
done

fails 1 '300 names for the 0 rows of none.fvecs' "$THRESHER" index add by_id none.fvecs --ids names.txt
