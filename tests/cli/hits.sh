#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Posting lists: built from a table, searched by features with bids and targets, explained; and refusals.
set -eu
. "$(dirname "$0")/lib.inc"

{
    printf 'chair\tkind=chair colour=red brand=7\n'
    printf 'stool\tkind=chair colour=blue brand=7 brand=7\n'
    printf 'table\tkind=table colour=red brand=9\n'
    printf 'lamp\tkind=lamp brand=9\n'
    printf 'rug\tcolour=blue\n'
    printf 'nothing\t\n'
} >ads.tsv

works "$THRESHER" hits build ads.tsv -o ads.hits
matches '^ads.hits: 6 items, 7 features, 12 postings of' out
matches '^thresher: 1 feature repeated within an item, counted once$' err
fails 1 'ads.hits: exists already: add --force to replace it, or choose another name$' "$THRESHER" hits build ads.tsv -o ads.hits
works "$THRESHER" hits build ads.tsv -o ads.hits --force --order rows -q
works "$THRESHER" hits info ads.hits
matches '^order           as items were given$' out
works "$THRESHER" hits build ads.tsv -o ads.hits --force -q --json
matches '"n_items":6,"n_features":7,"n_postings":12,"n_repeated":1,' out
works "$THRESHER" info ads.hits
matches '^features        7, with words$' out
works "$THRESHER" hits info ads.hits --json
matches '"has_names":true,"has_words":true' out
works "$THRESHER" hits verify ads.hits
matches '^ads.hits is sound' out

# a query on the command line, explained; equal values in order of rows
works "$THRESHER" hits search ads.hits --features 'kind=chair:1.5 colour=red brand=9:0.25 size=3' -k 6 --explain
cat >expected <<'END'
text kind=chair:1.5 colour=red brand=9:0.25 size=3
   1      2.500000  chair
                    kind=chair 1.5, colour=red 1
   2      1.500000  stool
                    kind=chair 1.5
   3      1.250000  table
                    colour=red 1, brand=9 0.25
   4      0.250000  lamp
                    brand=9 0.25
   5      0.000000  rug
   6      0.000000  nothing
END
same out expected
matches '^thresher: no item has 1 of their features$' err

# a repeated feature is explained once, by the sum of its weights
works "$THRESHER" hits search ads.hits --features 'brand=7:2 kind=chair brand=7:0.5' -k 1 --explain
matches '^                    brand=7 2.5, kind=chair 1$' out
works "$THRESHER" hits search ads.hits --features 'brand=7:2 kind=chair brand=7:0.5' -k 1 --explain --json
matches '"matches":\[{"brand=7":2.5,"kind=chair":1}\]}$' out

# a weight after an item's feature is none: it is a word, which is noted; time=12:30 may be meant
printf 'a\tw=x\nb\tw=x w=y:3\nc\ttime=12:30 w=y:3 z:x\n' >weighed.tsv
works "$THRESHER" hits build weighed.tsv -o weighed.hits
matches '^thresher: weighed.tsv: line 3: item features have no weights, so time=12:30 is one feature, number included; to match it, write time=12:30:1 in a query (2 such features)$' err
works "$THRESHER" hits search weighed.hits --features 'time=12:30:2 w=y:3:1' -k 1 --json
matches '"scores":\[3\],"names":\["c"\]}$' out
"$THRESHER" hits build -.tsv -o piped.hits <weighed.tsv >out 2>err || die "no build from a pipe"
matches '^thresher: -.tsv: item features have no weights, so time=12:30 is one feature' err
works "$THRESHER" hits search ads.hits --features brand=7 --with weighed.tsv -k 1
matches '^thresher: weighed.tsv: line 2: item features have no weights, so w=y:3 is one feature' err
works "$THRESHER" hits search weighed.hits --features brand=7 --with ads.tsv -k 1
! grep 'item features have no weights' err || die "a note on features that nobody added"
works "$THRESHER" hits build weighed.tsv -o weighed.hits --force -q
[ ! -s err ] || die "-q is not quiet"
random_rows 3 4 1 | to_fvecs >three.fvecs
works "$THRESHER" index build three.fvecs --features weighed.tsv -o weighed.index
matches '^thresher: weighed.tsv: line 3: item features have no weights, so time=12:30 is one feature' err

# what no item has: words of a query, all words of one, words of a target
works "$THRESHER" hits search ads.hits --features 'brand=7 kind=chiar' --features 'kind=chiar a' --features '' -k 2 --json
matches '"names":\["chair","stool"\],"unknown":\["kind=chiar"\]}$' out
matches '^{"query":1,.*"unknown":\["kind=chiar","a"\]}$' out
matches '^{"query":2,"text":"","ids":\[0,1\],"scores":\[0,0\],"names":\["chair","stool"\]}$' out
matches '^thresher: query 1: no item has any of its features, so nothing matches: check the spelling$' err
works "$THRESHER" hits search ads.hits --features a --features b -k 2 -q
[ ! -s err ] || die "-q is not quiet"
works "$THRESHER" hits search ads.hits --features brand=7 --features a --features b -k 2
matches '^thresher: 2 queries have only features that no item has, so their answers match nothing (the first is query 1): check the spelling$' err
works "$THRESHER" hits search ads.hits --features brand=7 --target 'kind=chiar OR "a b" OR brand=7' -k 2
matches '^thresher: --target: no item has the feature kind=chiar$' err
matches '^thresher: --target: no item has the feature a b$' err
works "$THRESHER" hits search ads.hits --features brand=7 --target 'price<10' -k 2
matches '^thresher: --target: no item has the feature price<10; a target does not compare values' err
matches 'nothing found' out
works "$THRESHER" hits search ads.hits --features brand=7 --target 'price<10' -k 2 -q
[ ! -s err ] || die "-q is not quiet"
works "$THRESHER" hits search ads.hits --features brand=7 --target 'a AND b AND c AND d AND e' -k 2
matches '^thresher: --target: more of its words match no item; only the first 3 are shown$' err
[ "$(grep -c -- --target err)" -eq 4 ] || die "not three words of the target and that there are more"
fails 1 "character 7: a target does not compare values: name features that items have" \
    "$THRESHER" hits search ads.hits --features brand=7 --target 'price < 10'

# queries are answered in batches as they are one by one
awk 'BEGIN { for (i = 0; i < 1100; i++) printf "brand=%d:%d kind=%s%s\n", 7 + i % 3, i % 5, i % 2 ? "chair" : "lamp", i % 7 ? "" : " x" }' >many.txt
works "$THRESHER" hits search ads.hits many.txt -k 3 -o many.jsonl --explain
matches '^thresher: 1,100 queries, 6 items, in ' err
matches '^thresher: no item has [0-9,]* of their features$' err
for i in 1 1023 1024 1025 1100; do
    works "$THRESHER" hits search ads.hits --features "$(sed -n ${i}p many.txt)" -k 3 --json --explain
    sed -n ${i}p many.jsonl | sed 's/.*"ids"//' >expected
    sed 's/.*"ids"//' out >one
    same one expected
done
echo 'brand=7:inf' >>many.txt
fails 1 'many.txt: line 1101: the weight of brand=7 is not a finite number' "$THRESHER" hits search ads.hits many.txt -o x.jsonl
[ ! -e x.jsonl ] || die "an answer of a search that failed"

# someone who types queries gets each answer before the next one
if command -v script >/dev/null && script -qec true /dev/null >out 2>&1; then
    mkfifo typed
    script -qefc "'$THRESHER' hits search ads.hits -.txt -k 1 <typed" /dev/null >shown 2>&1 </dev/null &
    exec 3>typed
    echo 'kind=lamp' >&3
    tries=0
    until grep -q lamp shown || [ $tries -eq 100 ]; do
        tries=$((tries + 1))
        sleep 0.05
    done
    matches lamp shown
    exec 3>&-
    wait $!
fi

# bids, offsets, targets, and the order of items, which changes nothing
printf 'lamp\t40\nrug\t0.5\n' >bids.tsv
printf 'nothing\t7\n' >offsets.tsv
{
    echo 'kind=chair:2 brand=9:0.25'
    echo
    echo 'colour=blue:-1 kind=lamp:3'
} >queries.txt
for order in features rows; do
    works "$THRESHER" hits build ads.tsv -o $order.hits --order $order -q
    works "$THRESHER" hits search $order.hits queries.txt -k 3 --multipliers bids.tsv --offsets offsets.tsv \
        --target 'NOT (colour=red OR kind=chair)' -o $order.jsonl -q --explain
done
same features.jsonl rows.jsonl
cat >expected <<'END'
{"query":0,"ids":[3,5,4],"scores":[10,7,0],"names":["lamp","nothing","rug"],"matches":[{"brand=9":0.25},{},{}]}
{"query":1,"ids":[5,3,4],"scores":[7,0,0],"names":["nothing","lamp","rug"],"matches":[{},{},{}]}
{"query":2,"ids":[3,5,4],"scores":[120,7,-0.5],"names":["lamp","nothing","rug"],"matches":[{"kind=lamp":3},{},{"colour=blue":-1}]}
END
same rows.jsonl expected
works "$THRESHER" hits search ads.hits --features 'kind=lamp:2' -k 1 --value sigmoid --json -q
matches '"scores":\[0.88079' out
works "$THRESHER" hits search ads.hits queries.txt -k 2 -o -.trec
[ "$(wc -l <out)" -eq 6 ] || die "not two lines per query"

# items added, replaced and left out: what lists built anew answer, names for names
{
    printf 'sofa\tkind=sofa colour=red brand=9\n'
    printf 'stool\tkind=chair size=3\n'
} >new.tsv
printf 'lamp\nrug\nnobody\n' >gone.txt
{
    sed -e '/^stool/d' -e '/^lamp/d' -e '/^rug/d' ads.tsv
    cat new.tsv
} >anew.tsv
works "$THRESHER" hits build anew.tsv -o anew.hits -q
for order in features rows; do
    works "$THRESHER" hits search $order.hits queries.txt -k 9 --with new.tsv --without gone.txt -o changed.trec
    matches '^thresher: 1 item to remove did not exist$' err
    works "$THRESHER" hits search anew.hits queries.txt -k 9 -o anew.trec
    same changed.trec anew.trec
done
printf 'sofa\t3\nchair\t2\n' >bids.tsv
for lists in 'ads.hits --with new.tsv --without gone.txt' anew.hits; do
    # shellcheck disable=SC2086 # words
    works "$THRESHER" hits search $lists --features 'kind=sofa:2 size=3:0.5 colour=red' -k 6 --multipliers bids.tsv \
        --target 'NOT brand=7' --explain
    [ ! -e expected.table ] || same out expected.table
    mv out expected.table
done
matches '^   1      9.000000  sofa$' expected.table
grep 'no item has' err && die "a word of an added item is unknown"
works "$THRESHER" hits search ads.hits --features 'size=3' -k 9 --without gone.txt
matches '^thresher: no item has 1 of their features$' err
cut -f 1 ads.tsv >all.txt
works "$THRESHER" hits search ads.hits --features 'brand=7' -k 3 --without all.txt --json
matches '"ids":\[\]' out
works "$THRESHER" hits search ads.hits --features 'kind=chair' -k 9 --without ads.tsv:1 --with new.tsv --json
matches '"names":\["stool","sofa"\]' out
fails 1 'gone.txt' "$THRESHER" hits search ads.hits --features a --with gone.txt
printf 'a\tx\na\ty\n' >twice.tsv
fails 1 'line 2: item a is repeated' "$THRESHER" hits search ads.hits --features a --with twice.tsv

# numbers as ids and features
printf '90\t5 3\n7\t3\n' | "$THRESHER" hits build -.tsv -o numbers.hits -q >out 2>err || die "no build from a pipe"
works "$THRESHER" hits search numbers.hits --features '5:2 3' -k 2 --json -q
matches '"ids":\[90,7\],"scores":\[3,1\]' out
printf '7\t5\n8\t6 3\n' >new-numbers.tsv
works "$THRESHER" hits search numbers.hits --features '5:2 3 6' -k 9 --json -q --with new-numbers.tsv
matches '"ids":\[90,7,8\],"scores":\[3,2,2\]' out
fails 1 'new.tsv: item sofa: the items of these posting lists have ids' \
    "$THRESHER" hits search numbers.hits --features 5 --with new.tsv
printf '7\tx\n' >words.tsv
fails 1 'words.tsv: feature x: those of these posting lists are numbers' \
    "$THRESHER" hits search numbers.hits --features 5 --with words.tsv

# wrong arguments
fails 2 'QUERIES or --features WORDS is missing' "$THRESHER" hits search ads.hits
fails 2 'exclude each other' "$THRESHER" hits search ads.hits queries.txt --features a
fails 1 'weight of kind=chair is not a finite number' "$THRESHER" hits search ads.hits --features kind=chair:inf
fails 1 'weight of kind=chair is not a finite number' "$THRESHER" hits search ads.hits --features kind=chair:nan
fails 1 "target 'colour=red AND', character 15: a feature, NOT or ( is expected" \
    "$THRESHER" hits search ads.hits queries.txt --target 'colour=red AND'
printf 'lampe\t4\n' >bad.tsv
fails 1 'bad.tsv: line 1: there is no item lampe' "$THRESHER" hits search ads.hits queries.txt --multipliers bad.tsv
printf 'lamp\t4\nlamp\t4\n' >bad.tsv
fails 1 'bad.tsv: line 2: item lamp occurs twice' "$THRESHER" hits search ads.hits queries.txt --multipliers bad.tsv
printf 'lamp\tmuch\n' >bad.tsv
fails 1 'bad.tsv: line 1: expected an item, a tab and a number' "$THRESHER" hits search ads.hits queries.txt --offsets bad.tsv
random_rows 5 1 1 >column
to_fvecs <column >column.fvecs
fails 1 '5 numbers for 6 items' "$THRESHER" hits search ads.hits queries.txt --multipliers column.fvecs
printf 'a\tx\na\ty\n' >twice.tsv
fails 1 'line 2: item a is repeated' "$THRESHER" hits build twice.tsv -o twice.hits
[ ! -e twice.hits ] || die "a build that failed left a file"
head -c 700 ads.hits >cut.hits
fails 1 'cut.hits: ' "$THRESHER" hits search cut.hits queries.txt
fails 1 'ads.tsv: is no file of posting lists' "$THRESHER" hits info ads.tsv

# ---------------------------------------------------------------------------------------------------------- names

: >ads.npz
fails 1 'ads.npz: .npz is not read here: convert the file to one of .tsv .csv (' "$THRESHER" hits build ads.npz -o no.hits
: >ads.tvs
fails 1 'did you mean .tsv?): rename the file to end in one of .tsv .csv (' "$THRESHER" hits build ads.tvs -o no.hits
fails 1 'nosuch: cannot open: No such file' "$THRESHER" hits build nosuch -o no.hits
mkdir a.index
fails 1 'a.index: is a directory (an index?)' "$THRESHER" hits build a.index -o no.hits
fails 1 'a.index: is a directory (an index?), not a plain file' "$THRESHER" hits search a.index --features a
printf 'a\tb\nc\td\000\ne\tf\n' >nul.tsv
fails 1 'nul.tsv: line 2 holds a NUL byte' "$THRESHER" hits build nul.tsv -o no.hits
awk 'BEGIN { printf "a\t"; for (i = 0; i < 200000; i++) printf "word%d ", i; print ""; print "c\td" }' >long.tsv
fails 1 'long.tsv: line 1 is longer than 1048576 bytes: ' "$THRESHER" hits build long.tsv -o no.hits

# words for joints
for target in 'brand=7 and kind=chair' '(brand=7 and kind=chair)'; do
    fails 1 'write AND in capitals' "$THRESHER" hits search ads.hits --features colour=red --target "$target"
done
fails 1 'character 9: write AND$' "$THRESHER" hits search ads.hits --features colour=red --target 'brand=7 && kind=chair'

# a query of nothing
works "$THRESHER" hits search ads.hits --features '' -k 1
matches '^thresher: query 0: it has no features, so nothing matches$' err
works "$THRESHER" hits search ads.hits --features '' -k 1 -q
[ ! -s err ] || die "-q prints something"

# text after a feature's colon that is no number was meant as a weight; other words with colons are features
printf 'a\tcategory=1 time=12:x\nb\tcategory=2\n' >colons.tsv
works "$THRESHER" hits build colons.tsv -o colons.hits
for word in category=1:abc category=1: category=2:1.5.2; do
    fails 1 "the weight of $word is not a number: write a number after the last colon" \
        "$THRESHER" hits search colons.hits --features "$word" -k 1
done
works "$THRESHER" hits search colons.hits --features 'time=12:x other:y' -k 1
matches '^ *1 *1.000000 *a$' out
