#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Items come and go: index add, upsert, remove and compact, what they report, and what they refuse.
set -eu
. "$(dirname "$0")/lib.inc"

random_rows 300 16 1 | to_fvecs >base.fvecs
random_rows 100 16 2 | to_fvecs >more.fvecs
random_rows 40 16 3 | to_fvecs >other.fvecs
works "$THRESHER" index build base.fvecs -o a.index

# counts INDEX ITEMS
counts() {
    works "$THRESHER" index info "$1" --json
    matches "\"n_items\":$2,.*\"n_commits\":[0-9]*,\"n_removed\":" out
    works "$THRESHER" index verify "$1"
}

# The best item of every row of a file is an item with its own vector: those of ids FIRST, FIRST + 1, ...
finds_own() {
    works "$THRESHER" index search "$1" "$2" -k 1 --exact --json -q
    awk -v first="$3" '
        { match($0, /"ids":\[[0-9]+/); id = substr($0, RSTART + 7, RLENGTH - 7) }
        id != first + NR - 1 { print "row " NR - 1 " finds " id; exit 1 }' out >wrong || die "$(cat wrong)"
}

# ---------------------------------------------------------------------------------------------------------- add

works "$THRESHER" index add a.index more.fvecs --json
matches '^thresher: added 100 items to a.index: 400 items now, commit 1, in ' err
is_json out
matches '^{"index":"a.index","n_added":100,"n_replaced":0,"first_id":300,"n_items":400,"n_commits":1,"change_s":' out
finds_own a.index more.fvecs 300
finds_own a.index base.fvecs 0

# ids are given, in every form; those that the index chooses are above them
awk 'BEGIN { for (i = 0; i < 40; i++) print 5000 + i }' >ids.txt
works "$THRESHER" index add a.index other.fvecs --ids ids.txt -q
[ ! -s err ] || die "-q is not quiet"
finds_own a.index other.fvecs 5000
counts a.index 440
"$THRESHER" index add a.index -.fvecs <more.fvecs 2>err || die "add from a pipe"
matches 'commit 3' err
works "$THRESHER" index remove a.index --id 5040 --id 5139 --json
matches '^thresher: removed 2 items from a.index: 538 items now, commit 4, in ' err
matches '"n_removed":2,"n_missing":0,"n_items":538,"n_commits":4,' out

# ---------------------------------------------------------------------------------------------------------- upsert

awk 'BEGIN { for (i = 0; i < 40; i++) print 4990 + i }' | to_ivecs >shifted.ivecs
random_rows 40 16 7 | to_fvecs >new.fvecs
works "$THRESHER" index upsert a.index new.fvecs --ids shifted.ivecs --json
matches '^thresher: added 10 items to a.index and replaced 30: 548 items now, commit [0-9]*, in ' err
matches '"n_added":10,"n_replaced":30,"n_items":548,"n_commits":[0-9]*,' out
finds_own a.index new.fvecs 4990
counts a.index 548
fails 2 '--ids' "$THRESHER" index upsert a.index new.fvecs

# ---------------------------------------------------------------------------------------------------------- remove

awk 'BEGIN { for (i = 0; i < 300; i += 2) print i; print 123456 }' >gone.txt
works "$THRESHER" index remove a.index gone.txt
matches 'removed 150 items from a.index (1 were not there): 398 items now' err
works "$THRESHER" index remove a.index gone.txt --json
matches 'removed 0 items from a.index (151 were not there): 398 items now, commit ' err
matches '"n_removed":0,"n_missing":151,' out
fails 1 'gone.txt: line 1: the index has no item "0"; nothing was removed' "$THRESHER" index remove a.index gone.txt --strict
printf '1\n3\n999999\n' >some.txt
fails 1 'some.txt: line 3: the index has no item "999999"' "$THRESHER" index remove a.index some.txt --strict
counts a.index 398
fails 1 'the index has no item "2"' "$THRESHER" index remove a.index --id 2 --strict
printf '1\n3\n' | to_ivecs >two.ivecs
works "$THRESHER" index remove a.index two.ivecs --strict
"$THRESHER" index remove a.index -.txt <some.txt 2>err || die "remove from a pipe"
matches 'removed 0 items from a.index (3 were not there)' err
printf '5\n7\n' >seven.txt
works "$THRESHER" index remove a.index --where-filter seven.txt
matches 'removed 2 items' err
counts a.index 394
fails 1 'the index has no item "5"' "$THRESHER" index remove a.index --where-filter seven.txt --strict
works "$THRESHER" index remove a.index --where-filter seven.txt
matches 'removed 0 items from a.index (2 were not there)' err
printf '5\n5060\n' >some_there.txt
fails 1 'the index has no item "5"; --skip-missing leaves out such items' "$THRESHER" index search a.index base.fvecs -k 3 --filter some_there.txt
works "$THRESHER" index search a.index base.fvecs -k 3 --filter some_there.txt --skip-missing
matches 'skipped 1 item that the index does not have' err
fails 2 'skip-missing needs --filter' "$THRESHER" index search a.index base.fvecs -k 3 --skip-missing

works "$THRESHER" index info a.index
matches '^changes  *[0-9]* commits; [0-9]* removed items still in the files$' out
works "$THRESHER" index search a.index new.fvecs -k 7 --exact --json -q
cp out before
works "$THRESHER" index compact a.index --json
matches '^thresher: compacted a.index from [0-9.]* kB to [0-9.]* kB: 394 items now, commit [0-9]*, in ' err
matches '"file_bytes_before":[0-9]*,"file_bytes":[0-9]*,"n_items":394,' out
works "$THRESHER" index info a.index --json
matches '"n_segments":1,' out
matches '"n_removed":0,"code_error".*"n_journal_items":0,"journal_bytes":0,' out
commits=$(sed 's/.*"n_commits":\([0-9]*\),.*/\1/' out)
works "$THRESHER" index search a.index new.fvecs -k 7 --exact --json -q
same out before
works "$THRESHER" index compact a.index
matches "items now, commit $commits, in" err
works "$THRESHER" index compact a.index --recode --json
matches "\"n_commits\":$((commits + 1))," out
works "$THRESHER" index search a.index new.fvecs -k 7 --exact --json -q
same out before
works "$THRESHER" index info a.index
matches '^code error  *[0-9.]* of the items. spread, [0-9.]* when the codes were learned$' out
! grep -q '^journal' out || die "a journal is shown where there is none"
leaves_nothing a.index

# ---------------------------------------------------------------------------------------------------------- names

awk 'BEGIN { for (i = 0; i < 300; i++) print "word " i }' >names.txt
awk 'BEGIN { for (i = 0; i < 100; i++) print "word " 250 + i }' >more-names.txt
awk 'BEGIN { for (i = 0; i < 100; i++) print i % 10 "\t" "new " i }' >table.tsv
works "$THRESHER" index build base.fvecs --ids names.txt -o n.index
fails 1 "more-names.txt: row 0: n.index holds an item with the name 'word 250' already: use thresher index upsert to replace it, or" \
    "$THRESHER" index add n.index more.fvecs --ids more-names.txt
works "$THRESHER" index upsert n.index more.fvecs --ids more-names.txt
matches 'added 50 items to n.index and replaced 50: 350 items now' err
# a name that another command replaces while this one reads its input
mkfifo names.fifo
"$THRESHER" index remove n.index -.txt --strict <names.fifo 2>slow.err &
exec 3>names.fifo
sleep 1
works "$THRESHER" index upsert n.index more.fvecs --ids more-names.txt
echo 'word 260' >&3
exec 3>&-
wait $! || die "remove of a replaced name: $(cat slow.err)"
matches 'removed 1 item from n.index: 349 items now' slow.err
fails 1 'the index has no item "word 260"' "$THRESHER" index remove n.index --name 'word 260' --strict
head -c $((4 + 16 * 4)) more.fvecs >one.fvecs
echo 'word 260' >one.txt
works "$THRESHER" index add n.index one.fvecs --ids one.txt
works "$THRESHER" index add n.index more.fvecs --ids table.tsv:2
works "$THRESHER" index remove n.index --name 'word 3' --name 'new 7' --name 'word 3000'
matches 'removed 2 items from n.index (1 were not there)' err
fails 1 'the index has no item "word 3"' "$THRESHER" index remove n.index --name 'word 3' --strict
works "$THRESHER" index remove n.index names.txt
matches 'removed 299 items from n.index (1 were not there): 149 items now' err
works "$THRESHER" index search n.index --like 'new 8' -k 1
matches 'new 8' out
counts n.index 149
fails 1 'give a name for each new one' "$THRESHER" index add n.index more.fvecs
fails 1 'its items have no names' "$THRESHER" index add a.index more.fvecs --ids names.txt
fails 1 'the index has no names; its items have ids' "$THRESHER" index remove a.index --name word
fails 1 'line 1 is "word 0": the index has no names, give whole numbers' "$THRESHER" index remove a.index names.txt

# names that look like ids are names where items have names, and nothing else
awk 'BEGIN { for (i = 0; i < 100; i++) print 10 + i }' >digits.txt
works "$THRESHER" index add n.index more.fvecs --ids digits.txt
printf '10\n11\n' >few.txt
works "$THRESHER" index remove n.index few.txt
matches 'removed 2 items from n.index:' err
works "$THRESHER" index remove n.index few.txt
matches 'removed 0 items from n.index (2 were not there)' err
counts n.index 247

# filters of an index with removed items; masks have no order then
works "$THRESHER" index build base.fvecs -o g.index
works "$THRESHER" index remove g.index --id 7 --id 8 --id 9
works "$THRESHER" index add g.index more.fvecs
printf '399\n12\n' >allowed.txt
works "$THRESHER" index search g.index more.fvecs -k 1 --exact --filter allowed.txt --json -q
awk '{ match($0, /"ids":\[[0-9]+/); id = substr($0, RSTART + 7, RLENGTH - 7) }
    NR == 100 && id != 399 { exit 1 } id != 399 && id != 12 { exit 1 }' out || die "a filter after a removal"
works "$THRESHER" index remove g.index --where-filter allowed.txt
matches 'removed 2 items from g.index: 395 items now' err
to_mask 400 1 2 >mask.npy
fails 1 'a mask has one value per item' "$THRESHER" index search g.index more.fvecs --filter mask.npy

# ---------------------------------------------------------------------------------------------------------- refusals

works "$THRESHER" index build base.fvecs -o r.index
works "$THRESHER" index search r.index base.fvecs -k 5 --json -q
cp out before
random_rows 20 8 1 | to_fvecs >narrow.fvecs
fails 1 'rows of 8 dimensions for an index of 16' "$THRESHER" index add r.index narrow.fvecs
{ random_rows 30 16 5 && echo "nan 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"; } | to_fvecs >nan.fvecs
fails 1 'nan.fvecs: row 30' "$THRESHER" index add r.index nan.fvecs
printf '7\n8\n7\n' >twice.txt
random_rows 3 16 5 | to_fvecs >three.fvecs
fails 1 'twice.txt: the id 7 is repeated, in rows 0 and 2' "$THRESHER" index upsert r.index three.fvecs --ids twice.txt
printf '700\n8\n701\n' >there.txt
fails 1 'there.txt: row 1: r.index holds an item with the id 8 already' "$THRESHER" index add r.index three.fvecs --ids there.txt
printf '700\n8\n' >short.txt
fails 1 'give one for every row' "$THRESHER" index upsert r.index three.fvecs --ids short.txt
fails 1 'has no model to encode it' "$THRESHER" index add r.index names.txt
fails 1 'missing.index: .*[Nn]o such' "$THRESHER" index add missing.index base.fvecs
fails 1 'holds f32\|whole numbers' "$THRESHER" index remove r.index base.fvecs
fails 1 'no such file\|does not exist\|No such file' "$THRESHER" index remove r.index missing.txt
fails 2 '--id takes a whole number' "$THRESHER" index remove r.index --id x
fails 2 'nothing to remove' "$THRESHER" index remove r.index
fails 2 'did you mean thresher index upsert?' "$THRESHER" index upsrt
mkdir empty.index
fails 1 'is no index' "$THRESHER" index add empty.index base.fvecs
fails 1 'is no index' "$THRESHER" index compact empty.index
[ -z "$(ls -A empty.index)" ] || die "something is left in empty.index"
counts r.index 300
leaves_nothing r.index

# features come and go with their items
awk 'BEGIN { for (i = 0; i < 300; i++) print "item" i "\tf=" i % 5 " old" }' >features.tsv
awk 'BEGIN { for (i = 250; i < 350; i++) print "item" i "\tf=" i % 5 " new" }' >new-features.tsv
awk 'BEGIN { for (i = 250; i < 350; i++) print "item" i "\t" (i == 300 ? 5 : 1) }' >bids.tsv
printf 'new:3\n' >asks.txt
head -c $((4 + 16 * 4)) more.fvecs >one.fvecs
works "$THRESHER" index build base.fvecs --metric ip --features features.tsv -o f.index
cut -f 1 new-features.tsv >new-names.txt
fails 1 'its items have features' "$THRESHER" index upsert f.index more.fvecs --ids new-names.txt
fails 1 'already' "$THRESHER" index add f.index more.fvecs --features new-features.tsv
fails 1 '300 names for the 100 rows' "$THRESHER" index add f.index more.fvecs --features features.tsv
fails 1 'was built without features' "$THRESHER" index add r.index more.fvecs --features new-features.tsv
fails 2 '--multipliers needs --features' "$THRESHER" index add f.index more.fvecs --ids new-names.txt --multipliers bids.tsv
fails 2 '--ids is missing' "$THRESHER" index upsert f.index more.fvecs
works "$THRESHER" index upsert f.index more.fvecs --features new-features.tsv --multipliers bids.tsv --json
matches '"n_added":50,"n_replaced":50,"first_id":300,"n_items":350,' out
works "$THRESHER" index verify f.index
works "$THRESHER" index search f.index one.fvecs -k 350 --target new --json -q
[ "$(grep -o '"item[0-9]*"' out | wc -l)" -eq 100 ] || die "not 100 items are new"
works "$THRESHER" index search f.index one.fvecs -k 1 --features asks.txt --explain --json -q
matches '"names":\["item300"\]' out
matches '"new"' out
works "$THRESHER" index remove f.index --name item300 -q
works "$THRESHER" index compact f.index -q
works "$THRESHER" index verify f.index
random_rows 349 1 3 | to_fvecs >numbers.fvecs
fails 1 'items were removed, added or moved, so numbers cannot be matched to them by row: give .tsv' \
    "$THRESHER" index search f.index one.fvecs --features asks.txt --multipliers numbers.fvecs
works "$THRESHER" index search f.index one.fvecs -k 350 --target 'NOT old' --json -q
[ "$(grep -o '"item[0-9]*"' out | wc -l)" -eq 99 ] || die "not 99 items are new"
printf 'item349\t9\n' >bid.tsv
works "$THRESHER" index search f.index one.fvecs -k 1 --features asks.txt --multipliers bid.tsv --json -q
matches '"item349"' out

# another writer; one that reads a pipe holds the lock
mkfifo pipe
"$THRESHER" index add r.index -.fvecs <pipe >/dev/null 2>slow &
slow=$!
exec 3>pipe
i=0
while [ $i -lt 400 ]; do # more than a pipe holds: when all is written, the first writer reads rows, with the lock held
    cat more.fvecs
    i=$((i + 1))
done >&3
fails 1 'another writer is at work' "$THRESHER" index add r.index three.fvecs
exec 3>&-
wait $slow || die "the first writer failed: $(cat slow)"
works "$THRESHER" index verify r.index

# a directory that may not be written to
if [ "$(id -u)" -ne 0 ]; then
    chmod a-w r.index
    fails 1 'r.index' "$THRESHER" index add r.index three.fvecs
    fails 1 'r.index' "$THRESHER" index remove r.index --id 0
    chmod u+w r.index
fi

# a full disk
mkdir disk
if mount -t tmpfs -o size=96k none disk 2>/dev/null; then
    works "$THRESHER" -q index build base.fvecs -o disk/small.index
    random_rows 3000 16 1 | to_fvecs >large.fvecs
    code=0
    "$THRESHER" -q index add disk/small.index large.fvecs 2>err || code=$?
    "$THRESHER" -q index search disk/small.index base.fvecs -k 5 --json >out || die "the old index is lost"
    "$THRESHER" -q index verify disk/small.index || die "the old index is damaged"
    left=$(find disk -name '*.tmp')
    umount disk
    [ "$code" -eq 1 ] || die "exit $code on a full disk"
    [ -z "$left" ] || die "left on a full disk: $left"
    matches 'full\|No space' err
    same out before
fi

# ---------------------------------------------------------------------------------------------------------- create

works "$THRESHER" index create c.index --dims 16 --json
matches '^thresher: created c.index: no items yet, 16 dimensions, cosine$' err
matches '^{"index":"c.index","n_items":0,"n_dims":16,"metric":"cosine"}$' out
works "$THRESHER" index add c.index three.fvecs
works "$THRESHER" index info c.index
matches '^journal  *3 items, 344 bytes: scored exactly until they become a segment$' out
matches '^codes  *none yet, so scores are exact; later 3 bits per dimension' out
matches '^kept vectors  *f32$' out
works "$THRESHER" index create c.index --dims 16 --force -q
works "$THRESHER" index search c.index three.fvecs -k 3
works "$THRESHER" index add c.index three.fvecs
finds_own c.index three.fvecs 0
works "$THRESHER" index add c.index base.fvecs
finds_own c.index base.fvecs 3
works "$THRESHER" index remove c.index --id 1
works "$THRESHER" index compact c.index
works "$THRESHER" index verify c.index
finds_own c.index base.fvecs 3
fails 1 'add --force to replace it' "$THRESHER" index create c.index --dims 16
works "$THRESHER" index create c.index --dims 8 --metric l2 --names --force -q
fails 1 'rows of 16 dimensions for an index of 8' "$THRESHER" index add c.index base.fvecs --ids names.txt
fails 2 '--dims' "$THRESHER" index create d.index
fails 2 '--lead 4 exceeds --bits 3' "$THRESHER" index create d.index --dims 8 --lead 4
fails 1 'base.fvecs' "$THRESHER" index create base.fvecs --dims 8

# ---------------------------------------------------------------------------------------------------- zero vectors

{ random_rows 50 16 1 && awk 'BEGIN { for (i = 0; i < 7; i++) print "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0" }'; } | to_fvecs >zeros.fvecs
works "$THRESHER" index build zeros.fvecs -o z.index
matches '7 zero vectors: they score 0 for every query' err
works "$THRESHER" index add z.index zeros.fvecs
matches '7 of them are zero vectors' err
works "$THRESHER" index info z.index
matches '^zero vectors    14 of all that were given' out
works "$THRESHER" index build zeros.fvecs --metric l2 -o z.index --force
! grep -q 'zero vectors' err || die "a zero vector is a point like others by l2"

# ---------------------------------------------------------------------------------------------------- common offsets

random_rows 300 16 1 | awk '{ for (i = 1; i <= NF; i++) printf "%.6f ", 50 + 0.05 * $i; print "" }' | to_fvecs >offset.fvecs
works "$THRESHER" index build offset.fvecs -o o.index
matches 'the vectors are nearly equal.*subtract the mean' err
works "$THRESHER" index info o.index
matches '^spread .* the vectors are nearly equal' out
works "$THRESHER" index build offset.fvecs --metric l2 -o o.index --force
! grep -q 'nearly equal' err || die "by l2 differences are exact"
