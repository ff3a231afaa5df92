#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A collection of shards gives the answers of one index over all rows, with filters and --like, too; one that does not
# fit together is refused.
set -eu
. "$(dirname "$0")/lib.inc"

need_python

cat >make.py <<'END'
import sys

import numpy as np
import thresher
from thresher import shards

metric, kind = sys.argv[1:]
x = np.random.default_rng(1).standard_normal((900, 16), np.float32)
x[::90] = x[0]
np.save("queries.npy", np.concatenate([x[:7], np.random.default_rng(2).standard_normal((13, 16), np.float32)]))
ids = {"rows": None, "ids": np.arange(900) * 3 + 5, "names": [f"item{i}" for i in range(900)]}[kind]
cuts = [0, 1, 200, 200, 650, 900]
parts = [x[a:b] if ids is None else (x[a:b], ids[a:b]) for a, b in zip(cuts, cuts[1:])]
allowed = np.random.default_rng(3).permutation(900)[:300]
given = [str(i if ids is None else ids[i]) for i in allowed]
np.save("mask.npy", np.isin(np.arange(900), allowed))
open("allowed.txt", "w").write("\n".join(given) + "\n")
np.save("allowed.npy", allowed if kind != "ids" else np.array(ids)[allowed])
open("like", "w").write(" ".join(f"--like {word}" for word in given[:5]))
thresher.Index.build("one", x, ids=ids, metric=metric, replace=True)
shards.build("many", parts, metric=metric, replace=True)
END

for how in "cosine rows" "ip ids" "l2 names"; do
    # shellcheck disable=SC2086 # two words
    works python make.py $how
    for options in "-k 10 -o -.trec" "-k 1000 -o -.jsonl" "--radius 2 -o -.jsonl"; do
        # shellcheck disable=SC2086 # words
        works "$THRESHER" index search one queries.npy --exact $options -q
        mv out expected
        # shellcheck disable=SC2086
        works "$THRESHER" index search many queries.npy --exact $options -q
        same out expected
    done
    for filter in mask.npy allowed.txt allowed.npy; do
        for queries in queries.npy "$(cat like)"; do
            for options in "-k 10 -o -.trec" "-k 400 -o -.jsonl" "--radius 2 -o -.jsonl"; do
                # shellcheck disable=SC2086 # words
                works "$THRESHER" index search one $queries --exact --filter $filter $options -q
                mv out expected
                # shellcheck disable=SC2086
                works "$THRESHER" index search many $queries --exact --filter $filter $options -q
                same out expected
            done
        done
    done
    { cat allowed.txt && echo 99999; } >more.txt
    fails 1 'more.txt: line 301: the collection has no item "99999"; --skip-missing leaves out such items' \
        "$THRESHER" index search many queries.npy --filter more.txt
    works "$THRESHER" index search many queries.npy --exact --filter more.txt --skip-missing -o -.trec
    mv out expected
    matches 'skipped 1 item that the collection does not have' err
    works "$THRESHER" index search many queries.npy --exact --filter allowed.txt -o -.trec
    same out expected
    fails 1 'many: holds no item .*"99999"' "$THRESHER" index search many --like 99999
    works "$THRESHER" index search many queries.npy -k 5 -o found.ivecs
    matches '20 queries, 900 items' err
    works "$THRESHER" index search one queries.npy -k 5 --exact -o truth.ivecs
    works "$THRESHER" eval recall truth.ivecs found.ivecs -k 5
    works "$THRESHER" index verify many
    shard=$(find many -name "0*-*" | head -n 1)
    for change in "remove $shard --id 1" "compact $shard" "tune $shard" "add $shard queries.npy"; do
        # shellcheck disable=SC2086 # words
        fails 1 'is a shard of a collection, which would not open any more' "$THRESHER" index $change
    done
    works "$THRESHER" index verify many
done
works "$THRESHER" index info many
matches '^number          4, of 1 to 450 items$' out
matches '^metric          l2$' out
matches '^cells           none: searches read all items$' out
works "$THRESHER" index info many --json
matches '"n_shards":4,"n_items":900' out

# Cells: the answers of one index, and items by id and name
cat >cells.py <<'END'
import sys

import numpy as np
import thresher
from thresher import shards

x = np.random.default_rng(1).standard_normal((900, 16), np.float32)
ids = {"rows": None, "ids": np.arange(900) * 3 + 5, "names": [f"item{i}" for i in range(900)]}[sys.argv[1]]
parts = [x[a:b] if ids is None else (x[a:b], ids[a:b]) for a, b in ((0, 8), (8, 500), (500, 900))]
given = [str(i if ids is None else ids[i]) for i in range(0, 900, 4)]
open("allowed.txt", "w").write("\n".join(given) + "\n")
open("like", "w").write(" ".join(f"--like {word}" for word in given[::50]))
thresher.Index.build("one", x, ids=ids, replace=True)
shards.build("cells", parts, cells=40, replace=True)
END
for kind in rows ids names; do
    works python cells.py $kind
    works "$THRESHER" index verify cells
    for queries in queries.npy "$(cat like)"; do
        for options in "-k 10 -o -.trec" "--radius 0.4 -o -.jsonl" "-k 400 --filter allowed.txt -o -.jsonl"; do
            # shellcheck disable=SC2086 # words
            works "$THRESHER" index search one $queries --exact $options -q
            mv out expected
            # shellcheck disable=SC2086
            works "$THRESHER" index search cells $queries --exact $options -q
            same out expected
        done
    done
    works "$THRESHER" index search cells queries.npy -k 5 --recall .9 -o -.trec
    works "$THRESHER" index search cells queries.npy -k 5 --recall .9 --json
    ! grep -q certified out err || die "a search that skips cells certifies unasked"
    works "$THRESHER" index search cells queries.npy -k 5 --recall .9 --json --certify
    [ "$(grep -c '"certified":\(true\|false\)}$' out)" -eq 20 ] || die "not all answers have the flag \"certified\""
    fails 1 'mask.npy: a mask has one value per item in the order of the build, and this collection .* has cells' \
        "$THRESHER" index search cells queries.npy --filter mask.npy
    cp -r many moved
    works python -c '
from thresher.shards import _manifest, read
_manifest.write("moved", read("moved")._replace(has_removed=True))'
    fails 1 'mask.npy: a mask has one value per item in the order of the build, and this collection was changed' \
        "$THRESHER" index search moved queries.npy --filter mask.npy
    rm -r moved
done
works "$THRESHER" index info cells
matches '^cells           [34][0-9] in all shards, of [0-9]* to [0-9]* items, 2[0-9] on average$' out
matches '^without a cell  8 items: all searches read them$' out
matches '^with recall .95 a search ' out
works "$THRESHER" index info cells --json
matches '"n_cells":[34][0-9],"cells_read":[01]\(\.[0-9]*\)\?,"cells_speed":[0-9.]*,' out
# Roaring bitmaps of ids that are rows; texts without a model
seq 3 7 899 >sevenths.txt
to_roaring <sevenths.txt >sevenths.roaring
works "$THRESHER" index search many queries.npy --exact --filter sevenths.roaring -o -.trec
mv out expected
works "$THRESHER" index search many queries.npy --exact --filter sevenths.txt -o -.trec
same out expected
printf '5\n900\n' | to_roaring >beyond.roaring
fails 1 'beyond.roaring: .*900' "$THRESHER" index search many queries.npy --filter beyond.roaring
fails 1 'many has no model to encode it' "$THRESHER" index search many --text word
fails 2 'QUERIES and --like exclude each other' "$THRESHER" index search many queries.npy --like item5
fails 2 'skip-missing needs --filter' "$THRESHER" index search many queries.npy --skip-missing
printf 'item1\n' >mask.u8bin
fails 1 'mask.u8bin' "$THRESHER" index search many queries.npy --filter mask.u8bin

# Texts are encoded by the model that the shards hold
awk 'BEGIN {
    split("edit view play send print", verbs, " ")
    split("pdf photo music mail", things, " ")
    for (i = 0; i < 200; i++)
        print verbs[i % 5 + 1] " " things[i % 4 + 1] "\t" things[i % 4 + 1] " " verbs[i % 5 + 1] " tool number " i
}' >pairs.tsv
works "$THRESHER" tower train pairs.tsv --dims 16 --pooled 16 --batch 50 --epochs 2 -o m.safetensors
works "$THRESHER" tower encode m.safetensors pairs.tsv:2 --side item -o texts.fvecs
cat >texts.py <<'END'
import numpy as np
import thresher
from thresher import shards

rows = np.fromfile("texts.fvecs", np.int32).reshape(200, -1)[:, 1:].view(np.float32)
options = {"model": "m.safetensors", "keep": None, "replace": True}
thresher.Index.build("one-model", rows, **options)
shards.build("many-model", [rows[:70], rows[70:]], **options)
END
works python texts.py
cut -f1 pairs.tsv | head -20 >texts.txt
for queries in texts.txt "--text edit --text photo"; do
    # shellcheck disable=SC2086 # words
    works "$THRESHER" index search one-model $queries -k 5 --survivors 200 -o -.trec
    mv out expected
    # shellcheck disable=SC2086
    works "$THRESHER" index search many-model $queries -k 5 --survivors 200 -o -.trec
    same out expected
done

fails 1 "many: is a collection of shards, not one index: use thr_shards_open, or thresher.shards" "$THRESHER" index tune many
fails 2 'many is a collection, and --follow is for an index' "$THRESHER" index search many queries.npy --follow
works "$THRESHER" info many
matches '^number          4, ' out
fails 1 'nowhere: there is no such directory' "$THRESHER" index search nowhere queries.npy -k 1
random_rows 3 5 1 | to_fvecs >five.fvecs
fails 1 'queries and items must have the same' "$THRESHER" index search many five.fvecs -k 1
fails 2 'not for --radius' "$THRESHER" index search many queries.npy --radius 1 --candidates 5

# Damage
cp -r many good
again() {
    rm -rf many
    cp -r good many
}
shard=$(sed -n 's/.*"directory":"\(000003-[0-9a-f]*\)".*/\1/p' many/shards.json)
rm -rf "many/$shard"
fails 1 "$shard: shard 2 of the collection is missing" "$THRESHER" index search many queries.npy -k 1
again
rm -rf "many/$shard"
works "$THRESHER" index build queries.npy -o "many/$shard"
fails 1 "$shard: shard 2 has metric cosine, and the collection has l2" "$THRESHER" index info many
again
for command in info verify; do
    sed -i 's/"first_row":200/"first_row":199/' many/shards.json
    fails 1 'shards.json: the checksum at its end does not fit' "$THRESHER" index $command many
    again
done
size=$(wc -c <good/shards.json)
for length in 0 1 20 200 $((size / 2)) $((size - 3)); do
    head -c "$length" good/shards.json >many/shards.json
    fails 1 'shards.json' "$THRESHER" index info many
done
again
for file in many/"$shard"/*.seg; do
    printf 'x' | dd of="$file" bs=1 seek=9000 conv=notrunc 2>err
done
fails 1 "$shard" "$THRESHER" index verify many
