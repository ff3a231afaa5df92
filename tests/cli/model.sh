#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An index of texts: built with a model, searched by text, described; and messages where texts and models do not fit.
set -eu
. "$(dirname "$0")/lib.inc"

# 400 packages, a name and what it does; of every one a pair: two words of it, and all.
awk 'BEGIN {
    n = split("edit view play convert search send read write draw print backup monitor", verbs, " ")
    m = split("pdf photo music video mail chess network disk font text audio calendar", things, " ")
    l = split("files tool editor player server library viewer daemon game client", ends, " ")
    for (i = 0; i < 400; i++)
        print "package" i "\t" verbs[i % n + 1] " " things[int(i / n) % m + 1] " " ends[i % l + 1] " number " i
}' >packages.tsv
awk -F '\t' '{ split($2, w, " "); print w[1] " " w[2] "\t" $2 }' packages.tsv >pairs.tsv
cut -f1 packages.tsv >names.txt
cut -f2 packages.tsv >texts.txt
small="--dims 32 --pooled 24 --batch 64 --epochs 3 --rate 0.01"
# shellcheck disable=SC2086 # words
works "$THRESHER" tower train pairs.tsv $small -o codes.model.safetensors
# shellcheck disable=SC2086
works "$THRESHER" tower train pairs.tsv $small --kind cdssm -o floats.model.safetensors
# shellcheck disable=SC2086
works "$THRESHER" tower train pairs.tsv $small --query-bits 32 --item-bits 2 -o hybrid.model.safetensors

# ---------------------------------------------------------------------------------------------------------- build

works "$THRESHER" index build texts.txt --model codes.model.safetensors --ids names.txt -o codes.index
matches 'built codes.index: 400 items of 32 dimensions, cosine, 2 bits' err
works "$THRESHER" index build packages.tsv:2 --model codes.model.safetensors --ids packages.tsv:1 -o table.index -q
works "$THRESHER" index build texts.txt --model floats.model.safetensors --ids names.txt --keep f16 -o floats.index
works "$THRESHER" index build texts.txt --model hybrid.model.safetensors --ids names.txt -o hybrid.index
for index in codes table floats hybrid; do
    works "$THRESHER" index verify $index.index
    [ "$(find $index.index -name 'model-*.safetensors' | wc -l)" -eq 1 ] || die "$index.index does not hold one model"
done

# vectors that the model has made are as good as its texts
works "$THRESHER" tower encode codes.model.safetensors texts.txt -o items.fvecs
works "$THRESHER" index build items.fvecs --model codes.model.safetensors --ids names.txt -o encoded.index

# texts are added and replaced by the model of the index
head -300 packages.tsv >first.tsv
tail -150 packages.tsv >last.tsv
works "$THRESHER" index build first.tsv:2 --model codes.model.safetensors --ids first.tsv:1 -o grown.index
works "$THRESHER" index upsert grown.index last.tsv:2 --ids last.tsv:1
matches 'added 100 items to grown.index and replaced 50: 400 items now' err
works "$THRESHER" index verify grown.index
for index in codes grown; do
    works "$THRESHER" index search $index.index --text 'edit pdf' -k 10 -o $index.trec
    cut -d' ' -f3,5 $index.trec | sort >$index.best
done
same codes.best grown.best

works "$THRESHER" index info codes.index
matches '^codes *2 bits per dimension, ' out
matches '^kept vectors *none: codes are the model.s vectors$' out
matches '^model *queries of 3 bits, items of 2 bits, 32 dimensions, [0-9]* letter trigrams, [0-9.]* [kM]*B$' out
works "$THRESHER" index info hybrid.index
matches '^model *queries of float32, items of 2 bits, ' out
works "$THRESHER" index info codes.index --json
is_json out
matches '"model":{"query_bits":3,"item_bits":2,"n_dims":32,"n_grams":[0-9]*,' out
works "$THRESHER" index info floats.index --json
matches '"keep":"f16",.*"model":{"query_bits":32,"item_bits":32,' out

# ---------------------------------------------------------------------------------------------------------- answers

works "$THRESHER" index search codes.index --text 'edit pdf' --text 'Play, MUSIC!' -k 5
matches '^text edit pdf$' out
matches '^text Play, MUSIC!$' out
works "$THRESHER" index search codes.index --text 'edit pdf' --text 'play music' -k 5 --json -q
is_json out
[ "$(wc -l <out)" -eq 2 ] || die "not a line a --text"
matches '^{"query":0,"text":"edit pdf","ids":\[' out
matches '"names":\["package' out

# texts without a word of the model
works "$THRESHER" index search codes.index --text 'edit pdf' --text 'ωω' --text '' -k 5
matches '^thresher: query 1: no word of the text is in the model, so its answer is meaningless$' err
[ "$(grep -c 'no word of the text' err)" -eq 2 ] || die "not a note for each text of which nothing is known"
works "$THRESHER" index search codes.index --text 'ωω' -k 5 -q
[ ! -s err ] || die "-q prints something"

# by --text, of a text file, of a table's column, and as vectors: the same answers
printf 'edit pdf\nplay music\n' >queries.txt
printf 'a\tedit pdf\nb\tplay music\n' >queries.tsv
for index in codes table encoded floats hybrid; do
    works "$THRESHER" index search $index.index --text 'edit pdf' --text 'play music' -k 5 -o by_text.trec
    works "$THRESHER" index search $index.index queries.txt -k 5 -o by_file.trec
    same by_text.trec by_file.trec
    works "$THRESHER" index search $index.index queries.tsv:2 -k 5 -o by_column.trec
    same by_text.trec by_column.trec
    model=$index
    case $index in table | encoded) model=codes ;; esac
    works "$THRESHER" tower encode $model.model.safetensors queries.txt --side query -o queries.fvecs
    works "$THRESHER" index search $index.index queries.fvecs -k 5 -o by_vector.trec
    same by_text.trec by_vector.trec
    [ $model = $index ] || same by_text.trec codes.trec
    mv by_text.trec $index.trec
    works "$THRESHER" index search $index.index --text 'edit pdf' --radius 0.2 -o -.trec
done

# cells of a model's float vectors: the same answers, and the names of their items
works "$THRESHER" index build texts.txt --model floats.model.safetensors --ids names.txt --keep f16 --cells 9 -o cells.index
works "$THRESHER" index search cells.index --text 'edit pdf' --text 'play music' -k 5 --exact -o cells.trec
works "$THRESHER" index search floats.index --text 'edit pdf' --text 'play music' -k 5 --exact -o exact.trec
same cells.trec exact.trec
works "$THRESHER" index search cells.index --text 'edit pdf' -k 5 --recall 0.9
works "$THRESHER" index info cells.index
matches '^cells           [0-9]*, of [0-9]* to [0-9]* items' out
works "$THRESHER" index verify cells.index
fails 1 'cells need kept vectors, and an index of a model.s codes keeps none' \
    "$THRESHER" index build texts.txt --model codes.model.safetensors --cells 9 -o x.index
works "$THRESHER" index build texts.txt --model codes.model.safetensors --ids names.txt --cells auto -o codes.index --force
matches 'no cells: they need kept vectors' err

# an item's own code is a query, too
works "$THRESHER" index search codes.index --like package7 -k 3
matches '^like package7$' out

# ---------------------------------------------------------------------------------------------------------- refused

works "$THRESHER" index build items.fvecs --codes-only -o plain.index
fails 1 '^thresher: --text is text, and plain.index has no model' "$THRESHER" index search plain.index --text a -k 3
fails 1 '^thresher: queries.txt holds text, and plain.index has' "$THRESHER" index search plain.index queries.txt -k 3
fails 1 'texts.txt holds text; .*texts need --model' "$THRESHER" index build texts.txt -o new.index
fails 1 'none.model: ' "$THRESHER" index build texts.txt --model none.model -o new.index
fails 1 'names.txt' "$THRESHER" index build texts.txt --model names.txt -o new.index
random_rows 20 32 1 | to_fvecs >random.fvecs
fails 1 'random.fvecs: row 0, dimension 0 is ' "$THRESHER" index build random.fvecs --model codes.model.safetensors -o new.index
random_rows 20 8 1 | to_fvecs >narrow.fvecs
fails 1 'narrow.fvecs: vectors of 8 dimensions.* codes.model.safetensors have 32' \
    "$THRESHER" index build narrow.fvecs --model codes.model.safetensors -o new.index
fails 2 '^thresher: --metric l2: the vectors of --model' \
    "$THRESHER" index build texts.txt --model codes.model.safetensors --metric l2 -o new.index
for more in --bits=3 --lead=1 --rotate --keep=f32; do
    fails 2 "^thresher: ${more%%=*}: codes.model.safetensors makes codes of 2 bits" \
        "$THRESHER" index build texts.txt --model codes.model.safetensors $more -o new.index
done
[ ! -e new.index ] || die "a build that was refused left something"
fails 1 'nothing to calibrate' "$THRESHER" index tune codes.index
fails 2 'QUERIES and --text exclude each other' "$THRESHER" index search codes.index queries.txt --text a -k 3
fails 2 '--like and --text exclude each other' "$THRESHER" index search codes.index --like 1 --text a -k 3

# ---------------------------------------------------------------------------------------------------------- damage

# shellcheck disable=SC2086
works "$THRESHER" tower train pairs.tsv $small --seed 2 -o other.model.safetensors
model=$(find codes.index -name 'model-*')
cp "$model" kept
cp other.model.safetensors "$model"
fails 1 "$model: .*fingerprint" "$THRESHER" index info codes.index
head -c 1000 kept >"$model"
fails 1 "$model: " "$THRESHER" index search codes.index --text a -k 3
rm "$model"
fails 1 "$model: .*the MANIFEST names it" "$THRESHER" index search codes.index --text a -k 3
cp kept "$model"
works "$THRESHER" index verify codes.index
works "$THRESHER" index build texts.txt --model other.model.safetensors -o codes.index --force
[ ! -e "$model" ] || die "the old model is still there"
works "$THRESHER" index search codes.index --text 'edit pdf' -k 1
