#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Models of given vectors: trained, looked at, encoding, indexed and searched; and refusals.
set -eu
. "$(dirname "$0")/lib.inc"

# rows N DIMS SEED
rows() {
    awk -v n="$1" -v dims="$2" -v seed="$3" 'BEGIN {
        srand(seed)
        for (i = 0; i < n; i++) {
            for (d = 0; d < dims; d++)
                printf "%.4f ", rand() - 0.5
            print ""
        }
    }'
}
rows 500 24 1 | to_fvecs >items.fvecs
rows 50 24 2 | to_fvecs >queries.fvecs
rows 500 8 3 | to_fvecs >narrow.fvecs
printf 'edit\tedit pdf files\n' >pairs.tsv
epochs=4 many=5000
[ -z "${THR_SANITIZED:-}" ] || epochs=1 many=1000 # sanitizers are slow
small="--dims 16 --batch 128 --epochs $epochs"
# shellcheck disable=SC2086 # words
train() {
    "$THRESHER" tower train --vectors "$@" $small
}

works train items.fvecs -o m.safetensors --json
is_json out
works train items.fvecs -o again.safetensors --threads 1
cmp m.safetensors again.safetensors || die "another number of threads makes another model"
works "$THRESHER" info m.safetensors
matches 'queries of float32, items of 4 bits, 16 dimensions, of vectors of 24' out
works "$THRESHER" info m.safetensors --json
matches '"n_inputs":24' out
works train items.fvecs items.fvecs -o pairs.safetensors --query-bits 3 --item-bits 2 --teacher-share 0.5

# Pairs by id: two queries of an item, and items without a query.
awk 'BEGIN { for (i = 0; i < 500; i++) printf "q%d\t%d\n", i, i % 250 }' >ids.tsv
awk 'BEGIN { for (i = 0; i < 500; i++) print "q" i }' >q.txt
works train items.fvecs items.fvecs --pairs ids.tsv --query-ids q.txt -o by_id.safetensors
works train items.fvecs items.fvecs --pairs ids.tsv --query-ids ids.tsv:1 -o by_id2.safetensors --threads 1
cmp by_id.safetensors by_id2.safetensors || die "another number of threads makes another model"
by_id() {
    train items.fvecs items.fvecs -o x.safetensors "$@"
}
fails 1 "ids.tsv: row 1: the query 'q0' has no vector in items.fvecs" by_id --pairs ids.tsv
printf 'q3\t7\nq4\t500\n' >far.tsv
fails 1 "far.tsv: row 2: the item '500' has no vector in items.fvecs" by_id --pairs far.tsv --query-ids q.txt
printf 'q3\n' >narrow.tsv
fails 1 'narrow.tsv: row 1 has one column' by_id --pairs narrow.tsv --query-ids q.txt
head -n 499 q.txt >few.txt
fails 1 'few.txt has 499 ids, items.fvecs 500 vectors' by_id --pairs ids.tsv --query-ids few.txt
(cat few.txt && echo q7) >twice.txt
fails 1 "twice.txt: the id 'q7' is repeated, in lines 8 and 500" by_id --pairs ids.tsv --query-ids twice.txt
fails 1 'items.fvecs: holds numbers: give a text' by_id --pairs ids.tsv --query-ids items.fvecs
fails 1 'pairs by ids need vectors of queries' train items.fvecs -o x.safetensors --pairs ids.tsv
fails 1 'q.txt: ids are for a file of pairs' by_id --query-ids q.txt
fails 2 '--pairs is for --vectors' "$THRESHER" tower train pairs.tsv -o x.safetensors --pairs ids.tsv
rows 499 24 1 | to_fvecs >zero.fvecs
awk 'BEGIN { for (d = 0; d < 24; d++) printf "0 " ; print "" }' | to_fvecs >>zero.fvecs
fails 1 'zero.fvecs: row 499 is a zero vector' train zero.fvecs -o x.safetensors

works "$THRESHER" tower encode m.safetensors items.fvecs -o codes.npy --packed
works "$THRESHER" tower encode m.safetensors queries.fvecs --side query -o q.npy
works "$THRESHER" tower encode m.safetensors items.fvecs -o encoded.index
works "$THRESHER" index build items.fvecs --model m.safetensors -o items.index
works "$THRESHER" index search items.index queries.fvecs -k 5 -o found.ivecs
works "$THRESHER" index search encoded.index queries.fvecs -k 5 -o same.ivecs
cmp found.ivecs same.ivecs || die "tower encode and index build make other indexes"
works "$THRESHER" index verify items.index
works "$THRESHER" index add items.index queries.fvecs
works "$THRESHER" index search items.index queries.fvecs -k 1 -o added.ivecs
works "$THRESHER" index verify items.index

# The vectors beside their codes: refined by the metric asked for; all candidates give the exact answer.
rows $many 24 4 | to_fvecs >many.fvecs
for metric in cosine ip l2; do
    works "$THRESHER" index build many.fvecs -o plain.index --metric $metric --force
    works "$THRESHER" index search plain.index queries.fvecs -k 5 --exact -o truth.ivecs
    for keep in f32 f16 i8; do
        works "$THRESHER" index build many.fvecs --model m.safetensors --metric $metric --keep $keep -o kept.index --force
        works "$THRESHER" index verify kept.index
        works "$THRESHER" index search kept.index queries.fvecs -k 5 --candidates $many -o found.ivecs
        works "$THRESHER" index search kept.index queries.fvecs -k 5 --exact -o exact.ivecs
        cmp found.ivecs exact.ivecs || die "refining every item is not the exact search: $metric, $keep"
        [ $keep != f32 ] || cmp exact.ivecs truth.ivecs || die "exact scores are not those of the vectors: $metric"
        works "$THRESHER" index search kept.index queries.fvecs -k 5 -o counted.ivecs
        works "$THRESHER" eval recall exact.ivecs counted.ivecs -k 5
    done
done
works "$THRESHER" index info kept.index
matches '^dimensions  *24$' out
matches '4 bits per dimension' out
works "$THRESHER" index info kept.index --json
matches '"n_dims":24' out
works "$THRESHER" index tune kept.index
works "$THRESHER" index search kept.index --like 17 -k 1 --json
works "$THRESHER" index search kept.index queries.fvecs --radius 1.2 -o near.jsonl
works "$THRESHER" index add kept.index items.fvecs
works "$THRESHER" index compact kept.index
works "$THRESHER" index verify kept.index
works "$THRESHER" index search kept.index items.fvecs -k 1 --candidates 100 -o self.ivecs
for metric in l2 ip; do
    fails 1 "codes of a model estimate cosines only, not $metric: keep vectors" \
        "$THRESHER" index build many.fvecs --model m.safetensors --codes-only --metric $metric -o bare.index
done
works "$THRESHER" index build many.fvecs --model m.safetensors --codes-only -o bare.index
fails 1 'holds codes only' "$THRESHER" index search bare.index queries.fvecs -k 5 --exact
fails 1 'holds codes only' "$THRESHER" index search bare.index --like 17 -k 5
fails 1 'narrow.fvecs has 8 dimensions, kept.index has 24' "$THRESHER" index search kept.index narrow.fvecs -k 5
fails 1 'cells of a model' "$THRESHER" index build many.fvecs --model m.safetensors --cells 8 -o x.index
fails 2 'which are stored as they are' "$THRESHER" index build many.fvecs --model m.safetensors --bits 2 -o x.index
works "$THRESHER" tower encode m.safetensors many.fvecs -o many.npy
fails 1 'vectors of 16 dimensions, but the model .* encodes those of 24' \
    "$THRESHER" index build many.npy --model m.safetensors -o x.index
[ ! -e x.index ] || die "a refused build left an index"

fails 1 'narrow.fvecs has vectors of 8 dimensions, items.fvecs of 24' train narrow.fvecs items.fvecs -o x.safetensors
works train items.fvecs --valid queries.fvecs -o valid.safetensors
matches 'recall@10' err
cp err first
works train items.fvecs --valid queries.fvecs -o valid2.safetensors --threads 1
cmp valid.safetensors valid2.safetensors || die "another number of threads makes another model"
fails 1 'narrow.fvecs has vectors of 8 dimensions, items.fvecs of 24' \
    train items.fvecs --valid narrow.fvecs -o x.safetensors
fails 1 'validated with a share of themselves' train items.fvecs items.fvecs --valid queries.fvecs -o x.safetensors
fails 1 'no-such.fvecs' train items.fvecs --valid no-such.fvecs -o x.safetensors
fails 1 'queries.fvecs has 50 vectors, items.fvecs 500' train queries.fvecs items.fvecs -o x.safetensors
fails 1 'two batches' train queries.fvecs -o x.safetensors
fails 1 'a text holds no vectors' train pairs.tsv -o x.safetensors
fails 2 '--words is for texts' train items.fvecs -o x.safetensors --words 3
fails 2 '--noise is for --vectors' "$THRESHER" tower train pairs.tsv -o x.safetensors --noise 1
fails 2 'two files are for --vectors' "$THRESHER" tower train pairs.tsv items.fvecs -o x.safetensors
fails 1 'the model reads those of 24' "$THRESHER" tower encode m.safetensors narrow.fvecs -o x.npy
fails 1 'the model reads vectors of 24 dimensions' "$THRESHER" tower encode m.safetensors pairs.tsv -o x.npy
fails 1 'narrow.fvecs has 8 dimensions, items.index has 24' "$THRESHER" index search items.index narrow.fvecs -k 5
fails 1 'the model encodes vectors' "$THRESHER" tower eval m.safetensors pairs.tsv
[ ! -e x.safetensors ] || die "a refused training left a model"
