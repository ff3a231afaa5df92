#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds and searches that are interrupted or killed while they read a slow pipe: earlier files stay.
set -eu
. "$(dirname "$0")/lib.inc"

# 250 kB: more than a pipe holds, so once all is written, the program is reading.
random_rows 500 128 1 | to_fvecs >base.fvecs
random_rows 100 128 4 | to_fvecs >small.fvecs
mkfifo pipe

# Whoever started this test may have had interrupts ignored; the program would rightly inherit that.
default=
if env --default-signal=INT true 2>/dev/null; then
    default="env --default-signal=INT,TERM"
fi

# stopped SIGNAL COMMAND...: runs the command with base.fvecs and then silence on standard input, and signals it there,
# several times.
stopped() {
    signal=$1
    shift
    rm -f pid
    (
        exec 3>pipe
        cat base.fvecs >&3
        kill -s "$signal" "$(cat pid)"
        for pause in 0 0.01 0.1; do # as from timeout, which signals the process and its group
            sleep $pause
            kill -s "$signal" "$(cat pid)" 2>/dev/null || true
        done
        waited=0
        while kill -0 "$(cat pid)" 2>/dev/null && [ $waited -lt 60 ]; do
            sleep 1
            waited=$((waited + 1))
        done
    ) >/dev/null 2>&1 3>&- &
    feeder=$!
    code=0
    # shellcheck disable=SC2016,SC2086 # the inner shell expands; $default is words
    $default sh -c 'echo $$ >pid; exec "$@"' sh "$@" <pipe >out 2>err || code=$?
    wait "$feeder" || true
}

for signal in INT TERM; do
    [ "$signal" = INT ] && want=130 || want=143

    stopped $signal "$THRESHER" index build -.fvecs -o new.index
    [ "$code" -eq $want ] || die "exit $code after SIG$signal, expected $want"
    [ "$(cat err)" = "thresher: stopped; nothing was changed" ] || die "another message"
    [ ! -e new.index ] || [ -z "$(ls -A new.index)" ] || die "a stopped build leaves something"
    rm -rf new.index
done

# posting lists; the pipe is of text
awk 'BEGIN { for (i = 0; i < 30000; i++) print i "\t" i % 7 " " i % 11 }' >base.tsv
cp base.fvecs kept.fvecs
cp base.tsv base.fvecs
stopped INT "$THRESHER" hits build -.tsv -o new.hits
cp kept.fvecs base.fvecs
[ "$code" -eq 130 ] || die "exit $code after SIGINT, expected 130"
[ "$(cat err)" = "thresher: stopped; nothing was changed" ] || die "another message"
[ ! -e new.hits ] || die "a stopped build of posting lists leaves something"
leaves_nothing

works "$THRESHER" index build small.fvecs -o old.index
works "$THRESHER" index search old.index small.fvecs -k 5 --json -q
cp out before
n_files=$(find old.index | wc -l)

stopped INT "$THRESHER" index build -.fvecs -o old.index --force
[ "$code" -eq 130 ] || die "exit $code after SIGINT, expected 130"
[ "$(find old.index | wc -l)" -eq "$n_files" ] || die "a stopped build leaves something"
works "$THRESHER" index search old.index small.fvecs -k 5 --json -q
same out before

stopped KILL "$THRESHER" index build -.fvecs -o old.index --force
[ "$code" -eq 137 ] || die "exit $code after SIGKILL, expected 137"
works "$THRESHER" index search old.index small.fvecs -k 5 --json -q
same out before
works "$THRESHER" index verify old.index

# Files that a killed build left do not disturb the next build, which deletes them.
works "$THRESHER" index build base.fvecs -o old.index --force
works "$THRESHER" index verify old.index
[ "$(find old.index | wc -l)" -eq "$n_files" ] || die "leftovers of a killed build: $(ls old.index)"
works "$THRESHER" index info old.index --json
matches '"n_items":500,' out

stopped KILL "$THRESHER" index build -.fvecs -o fresh.index
works "$THRESHER" index build base.fvecs -o fresh.index
works "$THRESHER" index verify fresh.index

# An addition that is stopped adds nothing.
works "$THRESHER" index search fresh.index small.fvecs -k 5 --json -q
cp out before
for signal in INT KILL; do
    stopped $signal "$THRESHER" index add fresh.index -.fvecs
    [ $signal = KILL ] || [ "$(cat err)" = "thresher: stopped; nothing was changed" ] || die "another message"
    works "$THRESHER" index search fresh.index small.fvecs -k 5 --json -q
    same out before
    works "$THRESHER" index verify fresh.index
done
works "$THRESHER" index add fresh.index small.fvecs
[ -z "$(find fresh.index -name '*.tmp')" ] || die "leftovers of a killed addition: $(ls -a fresh.index)"

# A search that is stopped leaves the answer of before.
printf 'before\n' >answer.jsonl
stopped INT "$THRESHER" index search old.index -.fvecs -k 5 -o answer.jsonl
[ "$code" -eq 130 ] || die "exit $code after SIGINT, expected 130"
[ "$(cat answer.jsonl)" = before ] || die "the old answer is lost"
leaves_nothing
