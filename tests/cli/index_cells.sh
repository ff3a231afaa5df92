#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What index build and index info report about cells, given or chosen; which numbers are refused; cells with features.
set -eu
. "$(dirname "$0")/lib.inc"

random_rows 3000 16 1 | to_fvecs >base.fvecs

works "$THRESHER" index build base.fvecs --cells 20 -o a.index
works "$THRESHER" index info a.index
matches '^cells           [12][0-9], of [0-9]* to [0-9]* items' out
matches '^with recall .95 a search reads [0-9.]*% of the items, and is expected to be 0\.[0-9]* times as fast as without cells; with .99, the default, it reads more$' out
works "$THRESHER" index info a.index --json
matches '"n_cells":[12][0-9],"cells_read":0\.[0-9]*,"cells_speed":0\.[0-9]*,"cells_short_by":[0-9.]*}$' out

matches '"n_without_cell":0,' out
random_rows 7 16 2 | to_fvecs >more.fvecs
works "$THRESHER" index info a.index
matches '^ids  *stored: given ids, or the row numbers of the input, because cells reorder items$' out
! grep -q '^without a cell' out || die "all items of a build have cells"
works "$THRESHER" index add a.index more.fvecs
works "$THRESHER" index info a.index
matches "^without a cell  7 items: all searches read them, until 'thresher index compact'$" out
works "$THRESHER" index compact a.index
works "$THRESHER" index info a.index
! grep -q '^without a cell' out || die "compact left items without cells"

works "$THRESHER" index build base.fvecs --cells auto -o b.index
matches 'no cells: a search of 3,000 items is fast without them' err
works "$THRESHER" index info b.index
matches '^cells           none' out
works "$THRESHER" index build base.fvecs --cells auto --codes-only --json -o c.index
matches 'no cells: they need kept vectors' err
matches '"n_cells":0,"build_s"' out

# With features: the answers of an index without cells, sums and names by their items, and searches without words.
awk 'BEGIN { for (i = 0; i < 3000; i++) printf "ad%d\tcategory=%d brand=%d\n", i, i % 7, i % 11 }' >ads.tsv
awk 'BEGIN { for (i = 0; i < 3000; i += 3) printf "ad%d\t%s\n", i, 0.5 + i % 4 }' >bids.tsv
awk 'BEGIN { for (i = 0; i < 7; i++) printf "category=%d:1.5 brand=%d:-0.25\n", i, i }' >users.txt
works "$THRESHER" index build base.fvecs --features ads.tsv --multipliers bids.tsv -o without.index
works "$THRESHER" index build base.fvecs --features ads.tsv --multipliers bids.tsv --cells 20 -o ads.index
works "$THRESHER" index info ads.index
matches '^cells           [12][0-9], of [0-9]* to [0-9]* items' out
matches '^features *18, ' out
matches '^with recall .95 a search reads [0-9.]*% of the items' out
works "$THRESHER" index verify ads.index
for how in "" --exact "--value sigmoid" "--target adult" "--recall 0.9" "--target brand=3" "--multipliers bids.tsv"; do
    for index in ads without; do
        # shellcheck disable=SC2086 # the options are words
        works "$THRESHER" index search $index.index more.fvecs --features users.txt -k 5 --explain --json $how
        sed 's/"ids":\[[^]]*\],//' out >$index.found
    done
    same ads.found without.found
done
works "$THRESHER" index search ads.index more.fvecs -k 5 --recall 0.9 -o plain.trec
works "$THRESHER" index search ads.index more.fvecs -k 5 --target brand=3 --json
sed 's/.*"names":\[//; s/\].*//; s/"ad//g; s/"//g' out | tr ',' '\n' >rows
awk '$1 % 11 != 3 { exit 1 }' rows || die "an item that is no target"
works "$THRESHER" index remove ads.index --name ad7 --name ad8
works "$THRESHER" index compact ads.index
works "$THRESHER" index remove without.index --name ad7 --name ad8
works "$THRESHER" index verify ads.index
for index in ads without; do
    works "$THRESHER" index search $index.index more.fvecs --features users.txt -k 5 --exact --json
    sed 's/"ids":\[[^]]*\],//' out >$index.found
done
same ads.found without.found
works "$THRESHER" index build base.fvecs --features ads.tsv --cells auto -o auto.index
matches 'no cells: searches with features read all items' err
works "$THRESHER" index info auto.index
matches '^cells           none' out
head -2999 ads.tsv >short.tsv
fails 1 '2999 names for the 3000 rows' "$THRESHER" index build base.fvecs --features short.tsv --cells 20 -o x.index
random_rows 3000 1 3 | to_fvecs >numbers.fvecs
works "$THRESHER" index build base.fvecs --features ads.tsv --cells 20 -o ads.index --force
fails 1 'cells reorder items, so numbers cannot be matched to them by row' \
    "$THRESHER" index search ads.index more.fvecs --features users.txt --multipliers numbers.fvecs -k 5

fails 2 '--cells takes auto or a whole number from 1 to 65536, not "many"' \
    "$THRESHER" index build base.fvecs --cells many -o d.index
fails 1 '^thresher: cells 4000 exceeds the number of items, 3000$' \
    "$THRESHER" index build base.fvecs --cells 4000 -o d.index
fails 2 '--cells needs kept vectors: leave out --codes-only, or --cells; ' \
    "$THRESHER" index build base.fvecs --cells 20 --codes-only -o d.index
fails 1 'more.fvecs: expected one number per item: a column of numbers (.npy, .fvecs), or .tsv of items and numbers$' \
    "$THRESHER" index build base.fvecs --features ads.tsv --multipliers more.fvecs -o d.index
