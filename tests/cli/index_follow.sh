#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# index search --follow: every query of a pipe is answered at once, in the newest commit.
set -eu
. "$(dirname "$0")/lib.inc"

random_rows 300 16 1 | to_fvecs >base.fvecs
random_rows 4 16 2 | to_fvecs >more.fvecs
row=$((4 + 16 * 4)) # bytes
works "$THRESHER" index build base.fvecs -o a.index

# ask ROW: write one query; wait for its answer.
n_asked=0
ask() {
    dd if=more.fvecs bs=$row skip="$1" count=1 2>dd.err >&3
    n_asked=$((n_asked + 1))
    tries=0
    while [ "$(wc -l <answers)" -lt $n_asked ]; do
        tries=$((tries + 1))
        [ $tries -lt 200 ] || die "no answer to query $n_asked"
        sleep 0.05
    done
}

# best ID: of the newest answer.
best() {
    tail -n 1 answers >out
    matches "\"ids\":\[$1[],]" out
}

mkfifo pipe
"$THRESHER" index search a.index -.fvecs -k 3 --exact --follow --json -q <pipe >answers 2>err &
follower=$!
exec 3>pipe
ask 0
works "$THRESHER" index add a.index more.fvecs -q
ask 0
best 300
works "$THRESHER" index remove a.index --id 300 -q
ask 0
! grep -q '\[300[],]' answers || [ "$(grep -c '\[300[],]' answers)" -eq 1 ] || die "a removed item is found"
works "$THRESHER" index compact a.index -q
ask 3
best 303
{
    printf '\020\000\000\000\000\000\300\177' # 16 dimensions, the first of them NaN
    dd if=/dev/zero bs=60 count=1 2>dd.err
} >nan.fvecs
mv more.fvecs good.fvecs
mv nan.fvecs more.fvecs
ask 0
best ''
matches '"certified":false' out
grep -q 'it gets an empty answer' err || die "no word of a query with NaN"
mv good.fvecs more.fvecs
ask 3
best 303
touch a.index/*.seg
ask 3
best 303
cp -R a.index copy.index
cp -R copy.index/. a.index
ask 3
best 303
mv a.index old.index # meanwhile there is none
dd if=more.fvecs bs=$row skip=3 count=1 2>dd.err >&3
sleep 0.3
mv copy.index a.index
n_asked=$((n_asked + 1))
ask 3
best 303
rm -r old.index
exec 3>&-
wait $follower || die "the follower failed"
[ "$(wc -l <answers)" -eq 10 ] || die "not one answer per query"

# more items than the index held when it was opened
works "$THRESHER" index create empty.index --dims 16
rm pipe answers
n_asked=0
mkfifo pipe
"$THRESHER" index search empty.index -.fvecs -k 3 --follow --json -q <pipe >answers 2>err &
follower=$!
exec 3>pipe
ask 1
best ''
works "$THRESHER" index add empty.index more.fvecs -q
ask 1
best 1
exec 3>&-
wait $follower || die "the follower of an empty index failed"

fails 2 '--follow needs QUERIES' "$THRESHER" index search a.index --like 3 -k 1 --follow
fails 2 'excludes --filter' "$THRESHER" index search a.index more.fvecs -k 1 --follow --filter ids.txt
