#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All items within a radius: the first rows of a search for the best of all, in every form of answer.
set -eu
. "$(dirname "$0")/lib.inc"

random_rows 600 16 1 >base
random_rows 30 16 2 >queries
to_fvecs <base >base.fvecs
to_fvecs <queries >queries.fvecs
awk 'BEGIN { for (i = 0; i < 600; i++) print "item" i }' >names.txt
works "$THRESHER" index build base.fvecs --ids names.txt -o cosine.index -q
works "$THRESHER" index build base.fvecs --metric ip -o ip.index -q
works "$THRESHER" index build base.fvecs --metric l2 -o l2.index -q
works "$THRESHER" index build base.fvecs --codes-only -o codes.index -q

# expect LEAST INDEX ARGUMENTS...: the lines of .trec that an exact search for all items has from LEAST on
expect() {
    least=$1
    shift
    works "$THRESHER" index search "$@" -k 600 --exact -o -.trec -q
    awk -v least="$least" '$5 >= least' out >expected
    [ -s expected ] || die "nothing is within $least"
}

for index in cosine ip; do
    for radius in 0.45 0.1 -0.2; do
        expect $radius $index.index queries.fvecs
        for how in "--recall 1" --exact "--recall 1 --threads 3" "--recall 1 --query-bits 8"; do
            # shellcheck disable=SC2086 # words
            works "$THRESHER" index search $index.index queries.fvecs --radius $radius $how -o -.trec
            same out expected
        done
        works "$THRESHER" index search $index.index queries.fvecs --recall=1 --radius=$radius -o result.trec
        same result.trec expected
        matches " $(wc -l <expected | awk '{ n = $1; print n < 1000 ? n : int(n / 1000) "," sprintf("%03d", n % 1000) }') items found\$" err
    done
done

# for l2 it is the distance
expect -4 l2.index queries.fvecs
works "$THRESHER" index search l2.index queries.fvecs --recall 1 --radius 2 -o -.trec
same out expected
works "$THRESHER" index search l2.index --like 3 --radius 0 -o -.trec
[ ! -s out ] || die "an item is within 0 of itself alone, and left out"
works "$THRESHER" index search l2.index base.fvecs --radius 0 --recall 1 -o -.trec
[ "$(awk '$1 == $3' out | wc -l)" -eq 600 ] || die "an item is not within 0 of itself"
fails 2 '--radius -1: l2.index is an index for l2, where it is a distance: give 0 or more' \
    "$THRESHER" index search l2.index queries.fvecs --radius -1

works "$THRESHER" index search cosine.index queries.fvecs --radius 1.2 -o -.trec
matches '--radius 1.2: a cosine is between -1 and 1, so nothing is found' err
[ ! -s out ] || die "a cosine exceeds 1"
works "$THRESHER" index search cosine.index queries.fvecs --radius -1.5 -o -.trec
matches 'so every item is found' err
[ "$(wc -l <out)" -eq 18000 ] || die "not every item is found"
works "$THRESHER" index search ip.index queries.fvecs --radius 1.2 -o -.trec
! grep -q 'a cosine is' err || die "an inner product is taken for a cosine"

# ---------------------------------------------------------------------------------------------------------- forms

works "$THRESHER" index search cosine.index queries.fvecs --radius 0.68 --recall 1 --json
is_json out
[ "$(wc -l <out)" -eq 30 ] || die "not one object per query"
matches '"names":\["item' out
matches '"ids":\[\],"scores":\[\],"names":\[\],"certified":true' out
expect 0.45 cosine.index queries.fvecs
works "$THRESHER" index search cosine.index queries.fvecs --radius 0.45 --recall 1 -o result.jsonl --json
is_json out
matches "\"radius\":0.45,\"n_found\":$(wc -l <expected | tr -d ' ')," out
matches '"n_certified":30}$' out
[ "$(tr ',' '\n' <result.jsonl | grep -c 'item')" -eq "$(wc -l <expected)" ] || die "not all names"
works "$THRESHER" index search cosine.index queries.fvecs --radius 0.68
matches 'nothing found' out
matches '^   1 .* item[0-9]*$' out
fails 2 'rows of .ivecs have one length, but answers by --radius have not; write .jsonl or .trec' \
    "$THRESHER" index search cosine.index queries.fvecs --radius 0.45 -o result.ivecs
[ ! -e result.ivecs ] || die "a refused result was written"
leaves_nothing

# ---------------------------------------------------------------------------------------------------------- like, filter

works "$THRESHER" index search cosine.index --like item7 --like item8 --radius 0.3 -o -.trec
! grep -q 'item7 Q0 item7 ' out || die "an item is in its own answer"
[ "$(awk '$5 < 0.3' out | wc -l)" -eq 0 ] || die "an item is too far away"
awk '{ print $1, NR }' out | grep -q 'item8' || die "the second item has no answer"
seq 0 2 599 >even.txt
expect 0.2 ip.index queries.fvecs --filter even.txt
works "$THRESHER" index search ip.index queries.fvecs --filter even.txt --radius 0.2 --recall 1 -o -.trec
same out expected

# with a lower recall nothing wrong is found; codes alone answer with estimates
expect 0.3 ip.index queries.fvecs
works "$THRESHER" index search ip.index queries.fvecs --radius 0.3 --recall 0.8 -o -.trec
cut -d ' ' -f 1,3,5 out | sort >found
cut -d ' ' -f 1,3,5 expected | sort | comm -23 found - >wrong
[ ! -s wrong ] || die "something wrong is found"
works "$THRESHER" index search codes.index queries.fvecs --radius 0.3 --json
! grep -q '"certified":true' out || die "estimates are certified"
fails 1 'codes only' "$THRESHER" index search codes.index queries.fvecs --radius 0.3 --exact
