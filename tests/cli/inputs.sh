#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Bad input: exit code 1, one line that names the file and what is wrong, and earlier files stay.
set -eu
. "$(dirname "$0")/lib.inc"

random_rows 200 16 1 >base
to_fvecs <base >base.fvecs
to_fbin <base >base.fbin
random_rows 5 16 2 | to_fvecs >queries.fvecs
works "$THRESHER" index build base.fvecs -o old.index
works "$THRESHER" index search old.index queries.fvecs -k 5 --json -q
cp out before

# bad PATTERN VECTORS [OPTIONS]: neither a new index nor the replacement of an old one can be built
bad() {
    pattern=$1
    shift
    fails 1 "$pattern" "$THRESHER" index build "$@" -o new.index
    [ ! -e new.index ] || [ -z "$(ls -A new.index)" ] || die "a failed build leaves something: $*"
    rm -rf new.index
    fails 1 "$pattern" "$THRESHER" index build "$@" -o old.index --force
    works "$THRESHER" index search old.index queries.fvecs -k 5 --json -q
    same out before
    works "$THRESHER" index verify old.index
}

# ---------------------------------------------------------------------------------------------------------- files

bad 'missing.fvecs' missing.fvecs
bad 'base.xyz' base.xyz
bad 'base' base
mkdir dir.fvecs
bad 'dir.fvecs' dir.fvecs
: >empty.fvecs
bad 'empty.fvecs' empty.fvecs
: >empty.npy
bad 'empty.npy' empty.npy
: >empty.fbin
bad 'empty.fbin' empty.fbin
head -c 1000 base.fvecs >cut.fvecs
bad 'cut.fvecs' cut.fvecs
head -c 1000 base.fbin >cut.fbin
bad 'cut.fbin' cut.fbin
head -c 6 base.fbin >header.fbin
bad 'header.fbin' header.fbin
{ cat base.fbin && printf 'more'; } >long.fbin
bad 'long.fbin' long.fbin
to_mask 16 1 2 >good.npy
head -c 100 good.npy >cut.npy
bad 'cut.npy' cut.npy
{ cat good.npy && printf 'more'; } >long.npy
bad 'long.npy' long.npy
sed 's/NUMPY/NUMPZ/' good.npy >foreign.npy
bad 'foreign.npy' foreign.npy
sed 's/|u1/|S1/' good.npy >strings.npy
bad 'strings.npy' strings.npy
cp base.fbin foreign.fvecs
bad 'foreign.fvecs' foreign.fvecs
printf '\377\377\377\177' >huge.fvecs
bad 'huge.fvecs' huge.fvecs
printf '\000\000\000\000' >zero_dims.fvecs
bad 'zero_dims.fvecs' zero_dims.fvecs
printf '\377\377\377\377\020\000\000\000' >huge.fbin
bad 'huge.fbin' huge.fbin
printf '\000\000\000\000\020\000\000\000' >no_rows.fbin
bad 'no_rows.fbin' no_rows.fbin
{ cat base.fvecs && printf '1 2 3\n' | to_fvecs; } >mixed.fvecs
bad 'mixed.fvecs' mixed.fvecs
printf 'one\ntwo\n' >words.txt
bad 'words.txt holds text' words.txt
if "$THRESHER" info | grep -q '^built with.* gz'; then
    printf 'no gzip' >bad.fvecs.gz
    bad 'bad.fvecs.gz' bad.fvecs.gz
    gzip -c base.fvecs | head -c 500 >cut.fvecs.gz
    bad 'cut.fvecs.gz' cut.fvecs.gz
fi

# ---------------------------------------------------------------------------------------------------------- values

for value in nan inf; do
    awk -v value="$value" 'NR == 124 { $7 = value } { print }' base | to_fvecs >"$value.fvecs"
    bad "$value.fvecs.*123" "$value.fvecs"
done

# zero vectors are items like others: cosine 0 with everything, found last but found
awk 'NR % 50 == 1 { for (i = 1; i <= NF; i++) $i = 0 } { print }' base | to_fvecs >zeros.fvecs
works "$THRESHER" index build zeros.fvecs -o zeros.index
works "$THRESHER" index search zeros.index queries.fvecs -k 200 --json -q
is_json out
[ "$(head -1 out | sed 's/"scores".*//' | tr ',' '\n' | grep -c .)" -eq 201 ] || die "not all items are found"
works "$THRESHER" index search zeros.index --like 50 -k 3 --json
is_json out
[ "$(sed 's/.*"scores":\[\([^]]*\)\].*/\1/; s/-0/0/g' out)" = "0,0,0" ] || die "a zero vector is near to something"

# ---------------------------------------------------------------------------------------------------------- ids

bad 'missing.txt' base.fvecs --ids missing.txt
awk 'BEGIN { for (i = 0; i < 200; i++) print i == 150 ? 7 : i }' >twice.txt
bad 'twice.txt.*7.*150' base.fvecs --ids twice.txt
awk 'BEGIN { for (i = 0; i < 200; i++) print "n" (i == 150 ? 7 : i) }' >twice_names.txt
bad 'twice_names.txt.*n7.*150' base.fvecs --ids twice_names.txt
awk 'BEGIN { for (i = 0; i < 199; i++) print i }' >few.txt
bad '199.*200\|200.*199' base.fvecs --ids few.txt
awk 'BEGIN { for (i = 0; i < 201; i++) print i }' >many.txt
bad '201.*200\|200.*201' base.fvecs --ids many.txt
awk 'BEGIN { for (i = 0; i < 200; i++) print i == 3 ? -5 : i }' | to_ivecs >negative.ivecs
bad 'negative.ivecs.*-5' base.fvecs --ids negative.ivecs
bad 'base.fvecs' base.fvecs --ids base.fvecs

# ---------------------------------------------------------------------------------------------------------- queries

# refuses PATTERN QUERIES: and an answer of before stays
refuses() {
    printf 'before\n' >answer.jsonl
    fails 1 "$1" "$THRESHER" -q index search old.index "$2" -k 5 -o answer.jsonl
    [ "$(cat answer.jsonl)" = before ] || die "the old answer is lost: $2"
    leaves_nothing
}
refuses 'missing.fvecs' missing.fvecs
refuses 'cut.fvecs' cut.fvecs
refuses 'empty.npy' empty.npy
refuses 'words.txt holds text' words.txt
random_rows 5 15 2 | to_fvecs >narrow.fvecs
refuses 'narrow.fvecs has 15 dimensions, old.index has 16' narrow.fvecs
for value in nan inf; do
    refuses "$value.fvecs" "$value.fvecs"
done
fails 1 'nowhere/answer.jsonl: cannot create' \
    "$THRESHER" -q index search old.index queries.fvecs -k 5 -o nowhere/answer.jsonl

# ---------------------------------------------------------------------------------------------------------- directories

fails 1 'new.index' "$THRESHER" index info new.index
mkdir other
echo precious >other/file
for command in "index info" "index verify" info "index search"; do
    more=
    [ "$command" != "index search" ] || more="queries.fvecs -k 5"
    # shellcheck disable=SC2086 # the words are words
    fails 1 'other' "$THRESHER" $command other $more
done
for force in "" --force; do
    # shellcheck disable=SC2086 # nothing or a word
    fails 1 'other' "$THRESHER" index build base.fvecs -o other $force
    [ "$(cat other/file)" = precious ] || die "a foreign directory was changed"
    # shellcheck disable=SC2086 # nothing or a word
    fails 1 'base.fvecs' "$THRESHER" index build base.fvecs -o base.fvecs $force
done
[ "$(ls other)" = file ] || die "something was left in a foreign directory"
fails 1 'old.index' "$THRESHER" index build base.fvecs -o old.index
works "$THRESHER" index search old.index queries.fvecs -k 5 --json -q
same out before
fails 1 'no-such-dir' "$THRESHER" index build base.fvecs -o no-such-dir/new.index
fails 1 'base.fvecs' "$THRESHER" index info base.fvecs

# --force replaces
random_rows 300 16 3 | to_fvecs >newer.fvecs
works "$THRESHER" index build newer.fvecs -o old.index --force
works "$THRESHER" index info old.index --json
matches '"n_items":300,' out
works "$THRESHER" index verify old.index

# ---------------------------------------------------------------------------------------------------------- damage

# A newer format, in the manifest and in a segment.
cp -R old.index newer.index
sed 's/^thresher-index 1$/thresher-index 1000/' old.index/MANIFEST >newer.index/MANIFEST
cp -R old.index newer_segment.index
segment=$(cd old.index && find . -name '*.seg' | head -1)
{ head -c 8 "old.index/$segment" && printf '\350\003' && tail -c +11 "old.index/$segment"; } >"newer_segment.index/$segment"
for index in newer.index newer_segment.index; do
    fails 1 "$index.*version 1000" "$THRESHER" index info $index
    fails 1 "$index.*version 1000" "$THRESHER" index search $index queries.fvecs -k 5
    fails 1 "$index.*version 1000" "$THRESHER" index verify $index
done

# Every file of an index cut short, missing, emptied or with a byte changed: a message, never a crash.
for file in $(cd old.index && find . -type f | sed 's,^\./,,'); do
    size=$(wc -c <"old.index/$file")
    for damage in cut missing empty flip; do
        rm -rf hurt.index
        cp -R old.index hurt.index
        case $damage in
        cut) head -c $((size / 2)) "old.index/$file" >"hurt.index/$file" ;;
        missing) rm "hurt.index/$file" ;;
        empty) : >"hurt.index/$file" ;;
        flip)
            {
                head -c $((size / 2)) "old.index/$file"
                head -c $((size / 2 + 1)) "old.index/$file" | tail -c 1 | tr '\000-\377' '\001-\377\000'
                tail -c +$((size / 2 + 2)) "old.index/$file"
            } >"hurt.index/$file"
            ;;
        esac
        fails 1 'hurt.index' "$THRESHER" index verify hurt.index
        run "$THRESHER" index search hurt.index queries.fvecs -k 5 --json -q
        [ "${code:?}" -le 1 ] || die "exit $code after $damage of $file"
    done
done
