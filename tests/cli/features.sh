#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Vectors and features in one search: index build --features --multipliers, index search --features, beside sums made by awk.
set -eu
. "$(dirname "$0")/lib.inc"

random_rows 300 8 1 >items.txt
random_rows 6 8 2 >queries.txt
to_fvecs <items.txt >items.fvecs
to_fvecs <queries.txt >queries.fvecs
awk '{ printf "ad%d\tcategory=%d brand=%d%s\n", NR, NR % 7, NR % 11, NR % 3 ? "" : " adult" }' items.txt >ads.tsv
awk '{ printf "ad%d\t%s\n", NR * 5, NR / 8 }' items.txt | head -50 >bids.tsv
awk '{ printf "category=%d:1.5 brand=%d:-0.25 nobody%s\n", NR % 7, NR % 4, NR % 2 ? " adult:0.5" : "" }' queries.txt >users.txt

works "$THRESHER" index build items.fvecs --metric ip --features ads.tsv --multipliers bids.tsv -o ads.index
works "$THRESHER" index info ads.index
matches '^features *19, ' out
works "$THRESHER" index info ads.index --json
matches '"features":true' out
works "$THRESHER" index verify ads.index

# The best of every query by awk: (product + weights) x bid; all numbers are sums of small fractions, so floats are exact.
awk 'FILENAME == "items.txt" { for (d = 1; d <= NF; d++) item[FNR, d] = $d; n = FNR; dims = NF; next }
    FILENAME == "bids.tsv" { bid[$1] = $2; next }
    FILENAME == "users.txt" { split($1, a, ":"); split($2, b, ":"); c[FNR] = a[1]; br[FNR] = b[1]; ad[FNR] = $4 != ""; next }
    { for (i = 1; i <= n; i++) {
        s = 0
        for (d = 1; d <= dims; d++) s += $d * item[i, d]
        if (c[FNR] == "category=" i % 7) s += 1.5
        if (br[FNR] == "brand=" i % 11) s -= 0.25
        if (ad[FNR] && i % 3 == 0) s += 0.5
        name = "ad" i
        printf "%d %.9f %s\n", FNR, s * (name in bid ? bid[name] : 1), name } }' \
    items.txt bids.tsv users.txt queries.txt | sort -k1,1n -k2,2gr | awk '$1 != q { q = $1; k = 0 } k++ < 5 { print $3 }' >expected
for how in "" --exact "--candidates 300 --survivors 300" "--threads 1"; do
    # shellcheck disable=SC2086 # the options are words
    works "$THRESHER" index search ads.index queries.fvecs --features users.txt -k 5 --json $how
    matches '^thresher: no item has 6 of their features$' err
    sed 's/.*"names":\[//; s/\].*//; s/"//g' out | tr ',' '\n' >names
    same names expected
done

# Bids and offsets of a search replace the ones that were built in; a target and an explanation.
awk '{ print "ad" NR "\t1" }' items.txt >ones.tsv
works "$THRESHER" index search ads.index queries.fvecs --features users.txt --multipliers ones.tsv -k 5 --value sigmoid \
    --target 'adult AND NOT category=2' --explain --json
matches '"matches":\[{' out
sed 's/.*"names":\[//; s/\].*//; s/"//g' out | tr ',' '\n' | sed 's/ad//' >rows
[ "$(wc -l <rows)" -eq 30 ] || die "not 6 x 5 items"
awk '$1 % 3 != 0 || $1 % 7 == 2 { exit 1 }' rows || die "an item that is no target"
works "$THRESHER" index search ads.index --like ad3 --target 'brand=3 OR brand=4' -k 3
works "$THRESHER" index search ads.index queries.fvecs --features users.txt -k 2 --explain
matches 'category=' out

# What cannot be.
head -5 users.txt >few.txt
cat users.txt few.txt >many.txt
fails 1 'fewer lines than there are queries' "$THRESHER" index search ads.index queries.fvecs --features few.txt -k 5
fails 1 'len=4:0.5: .*--features takes a file here' \
    "$THRESHER" index search ads.index queries.fvecs --features len=4:0.5 -k 5
fails 1 'nosuch: cannot open: .*--features takes a file here' \
    "$THRESHER" index search ads.index queries.fvecs --features nosuch -k 5
fails 1 'more lines than there are queries' "$THRESHER" index search ads.index queries.fvecs --features many.txt -k 5
fails 2 'not for --radius' "$THRESHER" index search ads.index queries.fvecs --features users.txt --radius 1
fails 2 'need --features' "$THRESHER" index search ads.index --like ad3 --explain -k 5
fails 1 'need --features' "$THRESHER" index search ads.index queries.fvecs --explain -k 5
fails 2 'need.* --features' "$THRESHER" index build items.fvecs --multipliers bids.tsv -o x.index
works "$THRESHER" index build items.fvecs -o plain.index --quiet
fails 1 'was built without features' "$THRESHER" index search plain.index queries.fvecs --features users.txt -k 5
head -299 ads.tsv >short.tsv
fails 1 '299 names for the 300 rows' "$THRESHER" index build items.fvecs --features short.tsv -o x.index
awk '{ print "item" NR }' items.txt >other.txt
fails 1 "row 0 is 'item1'" "$THRESHER" index build items.fvecs --features ads.tsv --ids other.txt -o x.index
[ ! -e x.index ] || die "a failed build left something"
echo "nobody	1" >stranger.tsv
fails 1 'there is no item nobody' "$THRESHER" index build items.fvecs --features ads.tsv --multipliers stranger.tsv -o x.index
