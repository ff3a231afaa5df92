#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Build, look at, verify and search an index; all options of queries and of answers; recall against the exact scan.
set -eu
. "$(dirname "$0")/lib.inc"

random_rows 1000 24 1 >base
random_rows 50 24 2 >queries
to_fvecs <base >base.fvecs
to_fbin <base >base.fbin
to_fvecs <queries >queries.fvecs
awk 'BEGIN { for (i = 0; i < 1000; i++) print "item" i }' >names.txt
awk 'BEGIN { for (i = 0; i < 1000; i++) print 5000 + 3 * i }' >ids.txt

works "$THRESHER" info base.fvecs
matches '^rows *1,000$' out
matches '^dimensions *24$' out
works "$THRESHER" info base.fbin --json
is_json out
matches '"n_rows":1000,"n_dims":24,"dtype":"f32"' out
works "$THRESHER" info names.txt --json
is_json out
matches '"kind":"text","n_lines":1000' out

# ---------------------------------------------------------------------------------------------------------- build

works "$THRESHER" index build base.fvecs -o plain.index
[ ! -s out ] || die "a build without --json prints something"
matches 'built plain.index: 1,000 items of 24 dimensions, cosine, 3 bits, .* bytes per item, in .* items/s' err
works "$THRESHER" index build base.fbin -o quiet.index -q
[ ! -s err ] || die "-q is not quiet"
works "$THRESHER" index build base.fvecs --ids names.txt --keep f16 --bits=4 -o named.index --json
is_json out
matches '"n_items":1000,"n_dims":24,"metric":"cosine","item_bits":4,"keep":"f16"' out
for key in bytes_per_item code_bytes_per_item file_bytes build_s items_per_s; do
    matches "\"$key\":[0-9]" out
done
works "$THRESHER" index build base.fvecs --ids ids.txt --metric l2 --segment-items 128 -o given.index

# a column of a table is as good as a text
awk '{ printf "%d\t%s\tx\n", NR, $0 }' names.txt >names.tsv
awk 'BEGIN { print "id,name" } { printf "%d,\"%s\"\n", 4997 + 3 * NR, $0 }' names.txt >names.csv
works "$THRESHER" info names.tsv:2 --json
is_json out
matches '"kind":"text","n_lines":1000' out
works "$THRESHER" index search named.index queries.fvecs -k 5 --json -q
cp out named
works "$THRESHER" index search given.index queries.fvecs -k 5 --json -q
cp out given
for column in names.tsv:2 names.csv:name; do
    works "$THRESHER" index build base.fvecs --ids $column --keep f16 --bits=4 -o column.index --force -q
    works "$THRESHER" index search column.index queries.fvecs -k 5 --json -q
    same out named
done
works "$THRESHER" index build base.fvecs --ids names.csv:id --metric l2 --segment-items 128 -o column.index --force -q
works "$THRESHER" index search column.index queries.fvecs -k 5 --json -q
same out given
fails 1 "names.csv:title: the first row names no column 'title', but id name" \
    "$THRESHER" -q index build base.fvecs --ids names.csv:title -o none.index
fails 1 'names.tsv:4: row 1, at byte 0, has 3 columns, where column 4 is wanted' \
    "$THRESHER" -q index build base.fvecs --ids names.tsv:4 -o none.index
works "$THRESHER" index build base.fvecs --metric ip --codes-only -o codes.index
works "$THRESHER" index search codes.index queries.fvecs --recall 1 -o codes.ivecs
matches '^thresher: codes.index: has no vectors, so scores are estimates: --recall is the share of the best by these' err
works "$THRESHER" index search codes.index queries.fvecs --recall 1 -o codes.ivecs -q
[ ! -s err ] || die "-q printed a note"
works "$THRESHER" index search codes.index queries.fvecs -o codes.ivecs
! grep -q 'has no vectors' err || die "the note was printed without --recall"
works "$THRESHER" index search plain.index queries.fvecs --recall 1 -o codes.ivecs
! grep -q 'has no vectors' err || die "the note was printed of an index with vectors"
works "$THRESHER" index build -o piped.index -- base.fvecs

works "$THRESHER" index info plain.index
matches '^items *1,000$' out
works "$THRESHER" info plain.index --json
is_json out
matches '"has_ids":false,"has_names":false' out
works "$THRESHER" index info given.index --json
matches '"metric":"l2".*"n_segments":8,.*"has_ids":true' out
works "$THRESHER" index info codes.index
matches 'none: scores are estimates' out
for index in plain named given codes; do
    works "$THRESHER" index verify $index.index
    matches 'is sound' out
    works "$THRESHER" index verify $index.index --json
    is_json out
done

# ---------------------------------------------------------------------------------------------------------- answers

works "$THRESHER" index search plain.index queries.fvecs -k 10 --exact -o truth.ivecs
matches '50 queries, 1,000 items, in .* queries/s' err
[ ! -s out ] || die "a search with -o prints something"
leaves_nothing
works "$THRESHER" info truth.ivecs --json
matches '"n_rows":50,"n_dims":10,"dtype":"i32"' out

works "$THRESHER" index search plain.index queries.fvecs -k10 -o result.ivecs -q
[ ! -s err ] || die "-q is not quiet"
works "$THRESHER" eval recall truth.ivecs result.ivecs -k 10
awk '{ exit !($2 >= 0.99) }' out || die "recall@10 is below 0.99: $(cat out)"
works "$THRESHER" eval recall truth.ivecs truth.ivecs -k 10 --json
is_json out
matches '"recall_at_10":1,"k":10,"n_queries":50,"ties_counted":false' out

# one thread and many, every CPU level, any batch of queries, every kernel: the same bytes
works "$THRESHER" index search plain.index queries.fvecs -k 10 -o one.ivecs --threads 1
same one.ivecs result.ivecs
works env THR_ISA=scalar "$THRESHER" index search plain.index queries.fvecs -k 10 -o scalar.ivecs --threads 3
same scalar.ivecs result.ivecs
for way in xor table tile; do
    works env THR_KERNEL=$way "$THRESHER" index search plain.index queries.fvecs -k 10 -o way.ivecs
    same way.ivecs result.ivecs
done
works "$THRESHER" index search quiet.index queries.fvecs -k 10 -o fbin.ivecs
same fbin.ivecs result.ivecs

# more candidates find at least as much; all of them find everything
works "$THRESHER" index search plain.index queries.fvecs -k 10 --candidates 1000 -o all.ivecs
same all.ivecs truth.ivecs
works "$THRESHER" index search plain.index queries.fvecs -k 10 --query-bits 8 --candidates 1000 -o bits.ivecs
same bits.ivecs truth.ivecs

# ---------------------------------------------------------------------------------------------------------- formats

works "$THRESHER" index search named.index queries.fvecs -k 3 -o result.jsonl --json
is_json result.jsonl
[ "$(wc -l <result.jsonl)" -eq 50 ] || die "not a line a query"
matches '^{"query":0,"ids":\[[0-9]*,[0-9]*,[0-9]*\],"scores":\[[-0-9.e]*,[-0-9.e]*,[-0-9.e]*\],"names":\["item' result.jsonl
is_json out
matches '"n_queries":50,"k":3' out
works "$THRESHER" index search named.index queries.fvecs -k 3 --json
same out result.jsonl
works "$THRESHER" index search named.index queries.fvecs -k 3 -o -.jsonl
same out result.jsonl
works "$THRESHER" index search named.index queries.fvecs -k 3 -o named.ivecs
works "$THRESHER" eval recall named.ivecs result.jsonl -k 3 --json
matches '"recall_at_3":1,' out

works "$THRESHER" index search named.index queries.fvecs -k 3 -o result.trec
[ "$(wc -l <result.trec)" -eq 150 ] || die "not one line per result"
[ -z "$(grep -v '^[0-9]* Q0 item[0-9]* [123] [-0-9.e]* thresher$' result.trec)" ] || die "not the format of TREC"
works "$THRESHER" index search given.index queries.fvecs -k 3 -o result.trec
[ -z "$(awk '$3 < 5000 || $3 % 3 != 5000 % 3' result.trec)" ] || die "ids are not the given ones"
works "$THRESHER" index search named.index queries.fvecs -k 3 -v
matches '^query 49$' out
matches '^   1  *[-0-9.]*  item[0-9]*$' out
matches 'until the first query' err
fails 2 'must be .ivecs, .jsonl or .trec; did you mean .jsonl?' \
    "$THRESHER" index search named.index queries.fvecs -k 3 -o result.json
fails 2 'leave out the =, as in -o found.ivecs' "$THRESHER" index search named.index queries.fvecs -k 3 -o=found.ivecs
fails 2 'must be .ivecs, .jsonl or .trec' "$THRESHER" index search named.index queries.fvecs -k 3 -o result

printf 'a b\n' >blank.txt
tail -n +2 names.txt >>blank.txt
works "$THRESHER" index build base.fvecs --ids blank.txt -o blank.index
fails 1 'write .jsonl' "$THRESHER" -q index search blank.index queries.fvecs -k 1000 -o blank.trec
[ ! -e blank.trec ] || die "a failed search leaves a file"
leaves_nothing

awk 'BEGIN { for (i = 0; i < 1000; i++) printf "%.0f\n", 3000000000 + i }' >large.txt
works "$THRESHER" index build base.fvecs --ids large.txt -o large.index
fails 1 'does not fit the 32 bits of .ivecs; write .jsonl' \
    "$THRESHER" -q index search large.index queries.fvecs -k 3 -o large.ivecs
[ ! -e large.ivecs ] || die "a failed search leaves a file"
works "$THRESHER" index search large.index queries.fvecs -k 3 -o large.jsonl

# ---------------------------------------------------------------------------------------------------------- like

works "$THRESHER" index search named.index --like item7 --like item8 -k 5 --json -q
is_json out
[ "$(wc -l <out)" -eq 2 ] || die "not a line a --like"
matches '^{"query":0,"like":"item7",' out
! grep '"like":"item7"' out | grep -q '"names":\[.*"item7"' || die "an item is in its own answer"
cp out by_name
works "$THRESHER" index search named.index --like 7 --like=8 -k 5 --json -q
sed 's/"like":"item/"like":"/' by_name >expected
same out expected
works "$THRESHER" index search named.index --like item7 -k 3
matches '^like item7$' out
[ "$(grep -c '^  ' out)" -eq 3 ] || die "not three lines of results"
works "$THRESHER" index search given.index --like 5003 -k 3 --json
! grep -q '\[5003' out || die "an item is in its own answer"
fails 1 "no item\|no such\|holds no" "$THRESHER" index search named.index --like item1000 -k 3
fails 1 'has no names; give an id' "$THRESHER" index search plain.index --like king -k 3
fails 1 '1000' "$THRESHER" index search plain.index --like 1000 -k 3
fails 1 'codes only' "$THRESHER" index search codes.index --like 7 -k 3
fails 1 'codes only' "$THRESHER" index search codes.index queries.fvecs --exact -k 3

# ---------------------------------------------------------------------------------------------------------- k

works "$THRESHER" index search plain.index queries.fvecs -k 1001 --json
matches 'k is 1001, but only 1,000 items can be found: rows are shorter' err
is_json out
[ "$(head -1 out | tr ',' '\n' | grep -c .)" -eq 2002 ] || die "not 1,000 ids and 1,000 scores"
works "$THRESHER" index search plain.index queries.fvecs -k 18446744073709551615 -o most.ivecs -q
works "$THRESHER" info most.ivecs --json
matches '"n_rows":50,"n_dims":1000' out
works "$THRESHER" index search plain.index --like 3 -k 5000 -o most.jsonl
matches 'only 999 other items can be found' err

# ---------------------------------------------------------------------------------------------------------- filter

printf '3\n14\n159\n' >filter.txt
printf 'item3\n14\n\nitem159\nitem3\n' >names_filter.txt
printf '3 14 159\n' | to_ivecs >filter.ivecs
to_mask 1000 3 14 159 >filter.npy
to_roaring <filter.txt >filter.roaring
to_roaring wide <filter.txt >wide.roaring
for index in plain named; do
    for filter in filter.txt filter.ivecs filter.npy filter.roaring wide.roaring; do
        works "$THRESHER" index search $index.index queries.fvecs -k 3 --filter $filter --json -q
        [ -z "$(sed 's/.*"ids":\[\([0-9,]*\)\].*/,\1,/' out | sed 's/,3,/,/; s/,14,/,/; s/,159,/,/' | grep '[0-9]')" ] ||
            die "$index $filter: other items than allowed"
        [ "$(grep -c '"ids":\[[0-9]*,[0-9]*,[0-9]*\]' out)" -eq 50 ] || die "$index $filter: not all that are allowed"
        mv out "filtered.$index.$filter"
    done
    for filter in filter.npy filter.ivecs filter.roaring wide.roaring; do
        same "filtered.$index.filter.txt" "filtered.$index.$filter"
    done
done
works "$THRESHER" index search named.index queries.fvecs -k 3 --filter names_filter.txt --json -q
same out filtered.named.filter.txt
works "$THRESHER" index search given.index queries.fvecs -k 3 --filter filter.npy -o -.trec
[ -z "$(awk '$3 != 5009 && $3 != 5042 && $3 != 5477' out)" ] || die "the mask is not by row"
printf '5009\n5042\n5477\n' >given.txt
mv out by_mask
works "$THRESHER" index search given.index queries.fvecs -k 3 --filter given.txt -o -.trec
same by_mask out
to_roaring <given.txt >given.roaring
works "$THRESHER" index search given.index queries.fvecs -k 3 --filter given.roaring -o -.trec
same by_mask out
"$THRESHER" -q index search given.index queries.fvecs -k 3 --filter -.roaring -o -.trec <given.roaring >out
same by_mask out
works "$THRESHER" index search plain.index queries.fvecs -k 4 --filter filter.txt -o short.ivecs
matches 'the filter lets only 3 items through: rows are shorter' err
works "$THRESHER" info short.ivecs --json
matches '"n_rows":50,"n_dims":3' out
works "$THRESHER" index search plain.index --like 3 --like 4 -k 3 --filter filter.txt -o like.ivecs
[ "$(od -An -v -td4 like.ivecs | tr -s ' \n' '  ' | awk '{ print $1, NF, $4 }')" = "3 8 -1" ] ||
    die "a row that lacks an item is not filled up with -1"
to_mask 1000 >none.npy
works "$THRESHER" index search plain.index queries.fvecs -k 4 --filter none.npy
matches 'nothing found' out

printf '\072\060\000\000\000\000\000\000' >none.roaring
works "$THRESHER" index search plain.index queries.fvecs -k 4 --filter none.roaring
matches 'nothing found' out

echo 1000 >beyond.txt
fails 1 'beyond.txt: line 1: the index has no item "1000"' \
    "$THRESHER" index search plain.index queries.fvecs -k 3 --filter beyond.txt
echo item1000 >beyond.txt
fails 1 'no item "item1000": its items have no names' \
    "$THRESHER" index search plain.index queries.fvecs -k 3 --filter beyond.txt
fails 1 'no item "item1000"; --skip-missing leaves out' "$THRESHER" index search named.index queries.fvecs -k 3 --filter beyond.txt
echo 1000 | to_ivecs >beyond.ivecs
fails 1 'no item with the id 1000' "$THRESHER" index search plain.index queries.fvecs -k 3 --filter beyond.ivecs
echo -1 | to_ivecs >negative.ivecs
fails 1 'negative' "$THRESHER" index search plain.index queries.fvecs -k 3 --filter negative.ivecs
to_mask 1000 3 14 159 | sed 's/|u1/|b1/' >bool.npy
works "$THRESHER" index search plain.index queries.fvecs -k 3 --filter bool.npy --json -q
same out filtered.plain.filter.npy
to_mask 1000 3 14 159 | sed 's/|u1/|i1/' >signed.npy
awk 'BEGIN { for (i = 0; i < 1000; i++) print i % 7 == 0 }' | to_ivecs >whole.ivecs
for mask in signed.npy whole.ivecs; do
    fails 1 "$mask: holds only zeros and ones, as a mask would: save it as u1, mask.astype('u1')" \
        "$THRESHER" index search plain.index queries.fvecs -k 3 --filter $mask
done
to_mask 999 3 >short.npy
fails 1 'short.npy holds 999 x 1 values; a mask for this index is one row of 1000 values' \
    "$THRESHER" index search plain.index queries.fvecs -k 3 --filter short.npy
fails 1 'holds f32' "$THRESHER" index search plain.index queries.fvecs -k 3 --filter base.fvecs
printf '3\n1000\n' | to_roaring >beyond.roaring
fails 1 'beyond.roaring: plain.index.*no item with the id 1000' \
    "$THRESHER" index search plain.index queries.fvecs -k 3 --filter beyond.roaring
fails 1 'filter.roaring: given.index.*no item with the id 3$' \
    "$THRESHER" index search given.index queries.fvecs -k 3 --filter filter.roaring
head -c 19 filter.roaring >cut.roaring
fails 1 'cut.roaring: .*damaged or cut short' \
    "$THRESHER" index search plain.index queries.fvecs -k 3 --filter cut.roaring
{ cat filter.roaring && echo; } >long.roaring
fails 1 'long.roaring: .*ends at byte 22 of 23' \
    "$THRESHER" index search plain.index queries.fvecs -k 3 --filter long.roaring
: >empty.roaring
fails 1 'empty.roaring: .*cut short' "$THRESHER" index search plain.index queries.fvecs -k 3 --filter empty.roaring
cp filter.npy mask.roaring
fails 1 'mask.roaring: .*not a Roaring bitmap' \
    "$THRESHER" index search plain.index queries.fvecs -k 3 --filter mask.roaring
fails 1 'missing.roaring could not be opened: No such file' \
    "$THRESHER" index search plain.index queries.fvecs -k 3 --filter missing.roaring
mkdir dir.roaring
fails 1 'dir.roaring could not be read: Is a directory' \
    "$THRESHER" index search plain.index queries.fvecs -k 3 --filter dir.roaring
cp filter.roaring filter.roar
fails 1 'filter.roar: the ending is unknown.* \.npy .*ends in \.roaring' \
    "$THRESHER" index search plain.index queries.fvecs -k 3 --filter filter.roar

# ---------------------------------------------------------------------------------------------------------- names

fails 1 'plain.index: is a directory (an index?)' "$THRESHER" index search plain.index plain.index -k 3
fails 1 'nosuch: cannot open: No such file or directory$' "$THRESHER" index search plain.index nosuch -k 3
