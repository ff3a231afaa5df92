#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Wrong words: exit code 2, one line, the nearest right word.
set -eu
. "$(dirname "$0")/lib.inc"

# nouns and verbs
fails 2 'a command is missing' "$THRESHER"
fails 2 'did you mean thresher index?' "$THRESHER" idnex build
fails 2 'did you mean thresher index?' "$THRESHER" ind
fails 2 'did you mean thresher eval?' "$THRESHER" evla
fails 2 'did you mean thresher info?' "$THRESHER" inof
fails 2 'did you mean thresher index search?' "$THRESHER" search
fails 2 'did you mean thresher eval recall?' "$THRESHER" recal
fails 2 'see thresher --help' "$THRESHER" zzzzzz
fails 2 'see thresher --help' "$THRESHER" ''
fails 2 'did you mean thresher index search?' "$THRESHER" index serach
fails 2 'did you mean thresher index build?' "$THRESHER" index buld
fails 2 'did you mean thresher index verify?' "$THRESHER" index verfiy
fails 2 'only build, create, search, info, verify' "$THRESHER" index zzzzzz
fails 2 'One of build, create, search, info, verify' "$THRESHER" index
fails 2 'did you mean thresher eval recall?' "$THRESHER" eval recal
fails 2 'One of recall' "$THRESHER" eval

# options
fails 2 'did you mean --metric?' "$THRESHER" index build x.npy -o y --metrc l2
fails 2 'did you mean --metric?' "$THRESHER" index build x.npy -o y --metrc=l2
fails 2 'did you mean --codes-only?' "$THRESHER" index build x.npy -o y --code-only
fails 2 'did you mean --query-bits?' "$THRESHER" index search d q.npy --quer-bits 3
fails 2 'did you mean --json?' "$THRESHER" info --jsno
fails 2 'did you mean --threads?' "$THRESHER" --thread 3 info
fails 2 'no option -z; see thresher info --help' "$THRESHER" info -z
fails 2 'no option -qz' "$THRESHER" info -qz
fails 2 'no option --zzzzzz' "$THRESHER" info --zzzzzz
fails 2 'no option --bits here' "$THRESHER" --bits 3 index build
fails 2 '--json takes no value' "$THRESHER" info --json=yes
fails 2 '--bits needs a value' "$THRESHER" index build x.npy -o y --bits
fails 2 '--output needs a value' "$THRESHER" index build x.npy -o --json
fails 2 '-k needs a value' "$THRESHER" index search d q.npy -k

# values
fails 2 'did you mean cosine?' "$THRESHER" index build x.npy -o y --metric cosin
fails 2 'none of cosine, ip, l2' "$THRESHER" index build x.npy -o y --metric zzzz
fails 2 'did you mean f16?' "$THRESHER" index build x.npy -o y --keep=f61
fails 2 'did you mean auto?' "$THRESHER" info --device aut
fails 2 'did you mean cuda?' "$THRESHER" info --device cudda
fails 2 'did you mean cuda?' "$THRESHER" info --device=gpu:0
fails 2 'none of auto, cpu, cuda' "$THRESHER" info --device zzzz
fails 2 '--device needs a value' "$THRESHER" info --device
for bad in cuda: cuda:x 'cuda:0,' cuda:,1 cuda:-1 cuda:0,0 cuda:1,01 'cuda: 0' cuda:10000 cuda:0:1; do
    fails 2 "--device takes cuda:N with the number of a GPU, .* not \"$bad\"" "$THRESHER" info --device "$bad"
done
for bad in 0 9 -1 3x '' ' 3' +3 0x3 3.0 99999999999999999999; do
    fails 2 '--bits takes a whole number from 1 to 8' "$THRESHER" index build x.npy -o y --bits "$bad"
done
for bad in 0 -5 ten 1k 18446744073709551616; do
    fails 2 '-k takes a whole number, 1 or more' "$THRESHER" index search d q.npy -k "$bad"
    fails 2 '-k takes a whole number, 1 or more' "$THRESHER" index search d q.npy "-k$bad"
done
for bad in 0.5 x nan inf 1e999 '' 0x1p3 1,5; do
    fails 2 '--scale takes a number, 1 or more' "$THRESHER" index build x.npy -o y --scale "$bad"
    fails 2 '--scale takes a number, 1 or more' "$THRESHER" index build x.npy -o y --scale="$bad"
done
for bad in 0 -0.5 1.0001 2 99 x nan inf '' 0.99x; do
    fails 2 "--recall takes a number above 0 and up to 1, not \"$bad\"" \
        "$THRESHER" index search d q.npy -k 5 --recall "$bad"
done
for bad in 0 -1 x; do
    fails 2 '--survivors takes a whole number, 1 or more' "$THRESHER" index search d q.npy -k 5 --survivors "$bad"
done
for bad in 0 9 -1 x; do
    fails 2 '--lead takes a whole number from 1 to 8' "$THRESHER" index build x.npy -o y --lead "$bad"
done
fails 2 '--threads takes a whole number from 1 to 1024' "$THRESHER" info --threads 0
fails 2 '--threads takes a whole number from 1 to 1024' "$THRESHER" info --threads 1025
fails 2 '--seed takes a whole number' "$THRESHER" info --seed -1

# missing, surplus and contradictory arguments
fails 2 'VECTORS is missing' "$THRESHER" index build
fails 2 '-o DIR is missing' "$THRESHER" index build x.npy
fails 2 'DIR is missing' "$THRESHER" index search -k 3
fails 2 '-k and --radius exclude each other' "$THRESHER" index search d q.npy -k 3 --radius 0.5
fails 2 '--radius needs a value' "$THRESHER" index search d q.npy --radius
for bad in x nan inf 1e999; do
    fails 2 '--radius takes a number, not' "$THRESHER" index search d q.npy --radius $bad
done
for more in --candidates=5 --survivors=5; do
    fails 2 'are for the best -k, not for --radius' "$THRESHER" index search d q.npy --radius 0.5 $more
done
fails 2 'QUERIES, --like NAME or --text TEXT is missing' "$THRESHER" index search d -k 3
fails 2 'QUERIES and --like exclude each other' "$THRESHER" index search d q.npy -k 3 --like king
fails 2 'RESULT is missing' "$THRESHER" eval recall t.ivecs -k 3
fails 2 'DIR is missing' "$THRESHER" index info
fails 2 '"c" is one argument too many' "$THRESHER" index search a b c -k 3
fails 2 '"b" is one argument too many' "$THRESHER" info a -- b
fails 2 'DIR is empty' "$THRESHER" index info ''
fails 2 '--candidates and --exact exclude each other' "$THRESHER" index search d q.npy -k 3 --candidates 5 --exact
fails 2 '--scale takes a number, 1 or more' "$THRESHER" index build x.npy -o y --scale 0.5
fails 2 '--keep and --codes-only exclude each other' "$THRESHER" index build x.npy -o y --keep f16 --codes-only
fails 2 '--rotate and --no-rotate exclude each other' "$THRESHER" index build x.npy -o y --rotate --no-rotate
fails 2 '--lead 4 exceeds --bits 3' "$THRESHER" index build x.npy -o y --lead 4
fails 2 '--lead 3 exceeds --bits 2' "$THRESHER" index build x.npy -o y --lead 3 --bits 2

# words that are hard to print stay on one line
fails 2 'no command "a?b"' "$THRESHER" "a
b"

# -- ends the options; a dash alone or before a dot or digit is no option
fails 1 'no-such-file\|--json' "$THRESHER" info -- --json
fails 1 '-5' "$THRESHER" info -5

# a table with more options than the parser can remember does not compile
if command -v "${CC:-cc}" >/dev/null; then
    options='#include "cli/program.h"
static const prog_option options[] = {[N] = PROG_OPTIONS_END};
const prog_command command = {.options = PROG_OPTIONS(options)};'
    compile() {
        # shellcheck disable=SC2154 # lib.inc sets source_dir
        printf '%s\n' "$options" | "${CC:-cc}" -std=c17 -fsyntax-only -DN="$1" -I "$source_dir/include" \
            -I "$source_dir/programs" -x c - 2>err
    }
    compile 64 || die "a table of 64 options does not compile"
    ! compile 65 || die "a table of 65 options compiles"
    matches 'too many options' err
fi
: >err

# --quiet wins over --verbose, in any order
random_rows 20 4 1 | to_fvecs >rows.fvecs
works "$THRESHER" index build rows.fvecs -o rows.index -q
works "$THRESHER" index search rows.index rows.fvecs -k 1 -v
matches 'certified' err
for words in '-q -v' '-vq' '--verbose --quiet'; do
    # shellcheck disable=SC2086 # words
    works "$THRESHER" index search rows.index rows.fvecs -k 1 $words
    [ ! -s err ] || die "$words is not quiet"
done

# -k is 10 unless it is given, and only a given one is reported as too large
for words in '' '-k 10'; do
    # shellcheck disable=SC2086 # words
    works "$THRESHER" index search rows.index rows.fvecs $words -o ten"$(printf '%s' "$words" | tr -d ' ')".ivecs
done
same ten.ivecs ten-k10.ivecs
works "$THRESHER" eval recall ten.ivecs ten.ivecs
matches 'recall@10' out
printf '1\n2\n3\n' >3.txt
works "$THRESHER" index search rows.index rows.fvecs --filter 3.txt
! grep 'k is 10' err || die "a note on a -k that nobody gave"
works "$THRESHER" index search rows.index rows.fvecs --filter 3.txt -k 10
matches '^thresher: k is 10, but the filter lets only 3 items through: rows are shorter$' err
