#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `info` of files that are empty, damaged, results, or models of any name; names that lead nowhere.
set -eu
. "$(dirname "$0")/lib.inc"

: >empty
fails 1 'empty: the file is empty, and no format has its ending: write or fetch it again$' "$THRESHER" info empty
printf 'THRHIS' >damaged.hits
fails 1 'damaged.hits: the ending is unknown.*by their first bytes, so restore a damaged one$' "$THRESHER" info damaged.hits

# results of a search, none and some
: >none.jsonl
works "$THRESHER" info none.jsonl
matches '^lines *0$' out
printf '{"query":0,"ids":[1]}\n{"query":1,"ids":[2]}\n' >answer.jsonl
works "$THRESHER" info answer.jsonl
matches '^lines *2$' out
printf '0 Q0 3 1 0.5 thresher\n' >run.trec
works "$THRESHER" info run.trec --json
matches '"kind":"text","n_lines":1,' out

# a model whose name does not end in .safetensors
awk 'BEGIN { for (i = 0; i < 100; i++) print "query " i " of " i % 7 "\tthing " i % 7 " numbered " i }' >pairs.tsv
works "$THRESHER" tower train pairs.tsv -o tower.model --epochs 1 --batch 16 --pooled 16 --dims 8 -q
works "$THRESHER" info tower.model
matches '^model *queries of 3 bits, items of 2 bits, 8 dimensions' out

# links to nothing, read and written
ln -s nowhere link
ln -s nowhere.fvecs link.fvecs
fails 1 'link: cannot open: it is a symbolic link to nowhere, which does not exist$' "$THRESHER" info link
fails 1 'link: .*symbolic link to nowhere' "$THRESHER" index info link
random_rows 20 4 1 | to_fvecs >base.fvecs
fails 1 'link.fvecs: .*symbolic link to nowhere.fvecs' "$THRESHER" index build link.fvecs -o new.index
works "$THRESHER" index build base.fvecs -o link # an output is made where the link points
[ "$(readlink link)" = nowhere ] || die "the link was replaced"
works "$THRESHER" index info nowhere

# what a killed build leaves
mkdir unfinished.index
fails 1 'unfinished.index: .*no MANIFEST in it (an interrupted build leaves none): build it' \
    "$THRESHER" index info unfinished.index

# one of a thing is singular
random_rows 1 4 2 | to_fvecs >one.fvecs
works "$THRESHER" index build one.fvecs -o one.index
matches ': 1 item of 4 dimensions, ' err
works "$THRESHER" index search one.index one.fvecs -k 3
matches 'k is 3, but only 1 item can be found: rows are shorter$' err
matches '^thresher: 1 query, 1 item, in ' err

# an ending of vectors with a letter wrong is not the name of an index
for name in x.fvec:.fvecs x.nyp:.npy x.bvec:.bvecs x.u8bn:.u8bin; do
    fails 2 "${name%:*}: the ending must be .npy, .*; did you mean ${name#*:}?$" \
        "$THRESHER" tower encode tower.model pairs.tsv -o "${name%:*}"
    [ ! -e "${name%:*}" ] || die "${name%:*} was made"
done
works "$THRESHER" tower encode tower.model pairs.tsv -o x.index -q
works "$THRESHER" index info x.index
