#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Standard streams: read from and written to, closed, broken and full.
set -eu
. "$(dirname "$0")/lib.inc"

random_rows 300 16 1 | to_fvecs >base.fvecs
random_rows 300 16 1 | to_fbin >base.fbin
works "$THRESHER" index build base.fvecs -o base.index
works "$THRESHER" index search base.index base.fvecs -k 50 --json -q
cp out expected

# ---------------------------------------------------------------------------------------------------------- reading

for kind in fvecs fbin; do
    cat base.$kind | "$THRESHER" index build -.$kind -o piped.index -q --force || die "build from a pipe of .$kind"
    "$THRESHER" index search piped.index -.$kind -k 50 --json -q <base.$kind >out || die "search from a pipe"
    same out expected
done
features=$("$THRESHER" info | grep '^built with')
for packing in gz xz; do
    case $features in
    *" $packing"*) ;;
    *) continue ;;
    esac
    [ $packing = gz ] && pack=gzip || pack=xz
    command -v $pack >/dev/null 2>&1 || continue
    $pack -c base.fvecs >base.fvecs.$packing
    works "$THRESHER" index search base.index base.fvecs.$packing -k 50 --json -q
    same out expected
    "$THRESHER" index search base.index -.fvecs.$packing -k 50 --json -q <base.fvecs.$packing >out ||
        die "search from a pipe of .$packing"
    same out expected
done
code=0
"$THRESHER" index build -.fvecs -o closed.index <&- 2>err || code=$?
[ "$code" -eq 1 ] || die "exit $code with standard input closed"
[ ! -e closed.index/MANIFEST ] || die "an index of nothing"

# ---------------------------------------------------------------------------------------------------------- writing

# Whoever reads no further ends the program without a word; where that signal is ignored the write fails.
{ code=0; "$THRESHER" index search base.index base.fvecs -k 300 --json -q 2>err || code=$?; echo $code >code; } |
    head -1 >/dev/null
[ "$(cat code)" -eq 141 ] || [ "$(cat code)" -eq 1 ] || die "exit $(cat code) with a broken pipe"
{ trap '' PIPE; code=0; "$THRESHER" index search base.index base.fvecs -k 300 --json -q 2>err || code=$?; echo $code >code; } |
    head -1 >/dev/null
[ "$(cat code)" -eq 1 ] || die "exit $(cat code) with a broken pipe and SIGPIPE ignored"
matches 'standard output could not be written' err

for words in "info" "--help" "index --help" "info --json" "--version" "--generate man" "index info base.index" \
    "index search base.index base.fvecs -k 1" "index search base.index base.fvecs -k 300 --json" \
    "index search base.index base.fvecs -k 3 -o -.ivecs" "eval recall ids.ivecs ids.ivecs -k 1"; do
    printf '1 2\n' | to_ivecs >ids.ivecs
    code=0
    # shellcheck disable=SC2086 # the words are words
    "$THRESHER" $words >&- 2>err || code=$?
    [ "$code" -eq 1 ] || die "exit $code with standard output closed: $words"
    matches 'standard output could not be written' err
    [ -c /dev/full ] || continue
    code=0
    # shellcheck disable=SC2086 # the words are words
    "$THRESHER" -q $words >/dev/full 2>err || code=$?
    [ "$code" -eq 1 ] || die "exit $code with standard output full: $words"
    [ "$(wc -l <err)" -eq 1 ] || die "not one line on standard error: $words"
    matches 'standard output could not be written: No space left on device' err
done

if [ -c /dev/full ]; then
    ln -s /dev/full full.jsonl
    fails 1 'full.jsonl could not be written: No space left on device' \
        "$THRESHER" -q index search base.index base.fvecs -k 50 -o full.jsonl
    [ -L full.jsonl ] || die "a device was replaced"
    leaves_nothing
fi

# A file that may not grow: nothing of it is left, and an older one stays.
printf 'before\n' >answer.jsonl
code=0
(
    ulimit -f 8
    "$THRESHER" -q index search base.index base.fvecs -k 300 -o answer.jsonl 2>err
) || code=$?
[ "$code" -eq 1 ] || die "exit $code when the file may not grow"
matches 'answer.jsonl could not be written' err
[ "$(cat answer.jsonl)" = before ] || die "the old answer is lost"
leaves_nothing
code=0
(
    ulimit -f 8
    "$THRESHER" -q index build base.fvecs -o base.index --force 2>err
) || code=$?
[ "$code" -eq 1 ] || die "exit $code when the index may not grow"
[ "$(wc -l <err)" -eq 1 ] || die "not one line on standard error"
matches 'base.index' err
works "$THRESHER" index search base.index base.fvecs -k 50 --json -q
same out expected
works "$THRESHER" index verify base.index

# Long work shows one line of progress where there is no terminal.
for i in $(seq 12); do
    awk -v i="$i" 'BEGIN { for (n = 0; n < 3000; n++) printf "a%d\tcategory=%d\n", i * 3000 + n, n % 5 }'
    sleep 1
done | "$THRESHER" hits build -.tsv -o slow.hits >out 2>err
[ "$(grep -c '^thresher: reading items  [0-9.]* k items  [0-9.]* k/s$' err)" -eq 1 ] || die "not one line of progress"
[ "$(wc -l <err)" -eq 1 ] || die "more than one line of progress"

# A full disk, where one may be mounted.
mkdir disk
if mount -t tmpfs -o size=64k none disk 2>/dev/null; then
    code=0
    "$THRESHER" -q index build base.fvecs -o disk/small.index 2>err || code=$?
    [ "$code" -eq 0 ] || die "a small index does not fit"
    random_rows 3000 16 1 | to_fvecs >large.fvecs
    code=0
    "$THRESHER" -q index build large.fvecs -o disk/small.index --force 2>err || code=$?
    "$THRESHER" -q index search disk/small.index base.fvecs -k 50 --json >out || die "the old index is lost"
    umount disk
    [ "$code" -eq 1 ] || die "exit $code on a full disk"
    matches 'full\|No space' err
    same out expected
fi
