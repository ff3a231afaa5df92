#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What others wrote cannot drive a terminal: names of files and items lose controls, C1 controls and marks of direction
# in messages and tables, and keep them in JSON. And info: files of any name that rank train reads, pipes, formats that
# are not read.
set -eu
. "$(dirname "$0")/lib.inc"

# plain FILE: no ESC, no C1 control, no U+202E
plain() {
    if LC_ALL=C grep -q "$(printf '\033\\|\302\233\\|\342\200\256')" "$1"; then
        die "$1 can drive a terminal"
    fi
}

wild=$(printf 'a\033]0;x\302\2332J\342\200\256b')
random_rows 20 4 1 | to_fvecs >"$wild.fvecs"
works "$THRESHER" info "$wild.fvecs"
matches '^file        a?]0;x?2J?b.fvecs$' out
plain out
works "$THRESHER" info "$wild.fvecs" --json
matches "$(printf '"a\\\\u001b]0;x\302\2332J\342\200\256b.fvecs"')" out
fails 1 'a?]0;x?2J?b.npy' "$THRESHER" info "$wild.npy"
plain err
fails 2 'there is no command .*a?]0;x?2J?b' "$THRESHER" "$wild"
plain err

# names of items
for i in $(seq 20); do printf '%s%s\n' "$wild" "$i"; done >names.txt
works "$THRESHER" index build "$wild.fvecs" -o wild.index --ids names.txt -q
plain out
works "$THRESHER" index search wild.index "$wild.fvecs" -k 1
matches 'a?]0;x?2J?b20$' out
plain out
works "$THRESHER" index search wild.index "$wild.fvecs" -k 1 --json
matches "$(printf '"names":\\["a\\\\u001b]0;x\302\2332J\342\200\256b1"')" out
works "$THRESHER" info wild.index
mv wild.index "$wild.index"
works "$THRESHER" info "$wild.index"
matches '^index           a?]0;x?2J?b.index$' out
plain out

# info of files whose names have no known ending
printf '1 qid:1 1:0.5\n0 qid:1 2:0.25\n' >rows.data
works "$THRESHER" info rows.data
matches '^rows        2$' out
matches '^queries     1, of 2 to 2 rows$' out
works "$THRESHER" info rows.data --json
matches '"kind":"ranking"' out
printf '\001\002 nothing known\n' >some.data
fails 1 'some.data: the ending is unknown: rename the file to end in one of .npy' "$THRESHER" info some.data
fails 1 'nosuch.data: cannot open: No such file' "$THRESHER" info nosuch.data
for ending in parquet json npz safetensors svm; do
    : >"rows.$ending"
    fails 1 "rows.$ending: .$ending is not read here: convert the file to one of .npy .fvecs " \
        "$THRESHER" index build "rows.$ending" -o new.index
done
mkfifo pipe.fvecs
for file in pipe.fvecs /dev/null; do
    fails 1 "$file is a pipe or a device" timeout 5 "$THRESHER" info "$file"
done
fails 2 'euclidean" is none of cosine, ip, l2; did you mean l2?' \
    "$THRESHER" index build "$wild.fvecs" -o new.index --metric euclidean
