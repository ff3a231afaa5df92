#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Help is there for the program, every noun and every command, and fits 80 columns.
set -eu
. "$(dirname "$0")/lib.inc"

for words in "" index eval info "index build" "index search" "index info" "index verify" "index add" "index upsert" "index remove" "index compact" "eval recall"; do
    for help in --help -h; do
        # shellcheck disable=SC2086 # the words are words
        works "$THRESHER" $words $help
        [ ! -s err ] || die "help of '$words' writes to standard error"
        matches "^Usage: thresher" out
        [ -z "$(awk 'length($0) > 80' out)" ] || die "help of '$words' is wider than 80 columns"
        [ -z "$(grep ' $' out)" ] || die "help of '$words' has blanks at the end of a line"
    done
done

# --help wins over missing arguments, at any position, and lists the choices.
works "$THRESHER" index search --help -k 3
matches '-k N' out
matches '--like NAME|ID' out
works "$THRESHER" --help index build
matches '-o, --output DIR' out
matches 'default: cosine' out
works "$THRESHER" --help
for command in info "index build" "index search" "index info" "index verify" "index add" "index upsert" "index remove" "index compact" "eval recall"; do
    matches "^  $command " out
done
! grep -q generate out || die "help shows --generate"

works "$THRESHER" --version
grep -q '^thresher [0-9]*\.[0-9]*\.[0-9]*$' out || die "no version"

works "$THRESHER" info
matches '^CPU level' out
works "$THRESHER" info --json
is_json out
for key in version cpu_level cpu_levels_available n_threads features kernels; do
    matches "\"$key\":" out
done
works "$THRESHER" info --threads 3 --json
matches '"n_threads":3' out
works "$THRESHER" --threads=2 --json info
matches '"n_threads":2' out
works env THR_ISA=scalar "$THRESHER" info --json
matches '"cpu_level":"scalar"' out
fails 1 'sse9' env THR_ISA=sse9 "$THRESHER" info
works env THR_KERNEL=tile "$THRESHER" info
matches 'tile (THR_KERNEL)' out
works env THR_KERNEL=xor "$THRESHER" info --json
matches '"taken":"xor","forced":true' out
fails 1 'THR_KERNEL=fast' env THR_KERNEL=fast "$THRESHER" info

# Benchmarks are another program, with the same options and help of its own.
fails 2 'there is no command "bench": benchmarks are a program of their own, thresher-bench' "$THRESHER" bench scan
for words in "" scan writer tower hits rank head; do
    # shellcheck disable=SC2086 # the words are words
    works "$THRESHER_BENCH" $words --help
    matches "^Usage: thresher-bench" out
done
works "$THRESHER_BENCH" --version
grep -q '^thresher-bench [0-9]*\.[0-9]*\.[0-9]*$' out || die "no version"
fails 2 'did you mean thresher-bench writer' "$THRESHER_BENCH" wirter
fails 2 'has no manual' "$THRESHER_BENCH" --generate man

# help as a word
for words in "" index "index search"; do
    # shellcheck disable=SC2086 # the words are words
    works "$THRESHER" $words --help
    mv out by_option
    # shellcheck disable=SC2086
    works "$THRESHER" help $words
    same by_option out
done
works "$THRESHER" index help
matches '^Usage: thresher index' out
