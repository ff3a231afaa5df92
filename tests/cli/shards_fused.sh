#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A collection of shards with features gives the answers of one index: sums, targets, bids, explanations, unknown
# features, and orders by a ranking model; and Roaring bitmaps of given ids. One of the collections has cells.
set -eu
. "$(dirname "$0")/lib.inc"

need_python

cat >make.py <<'END_OF_PYTHON'
import sys

import numpy as np
import thresher
from thresher import shards

kind = sys.argv[1]
n = 600
x = np.random.default_rng(1).standard_normal((n, 16), np.float32)
np.save("queries.npy", np.random.default_rng(2).standard_normal((20, 16), np.float32))
some = np.random.default_rng(4).permutation(3 * n)[:n]
ids = {"rows": None, "ids": some, "cells": some, "names": [f"item{i}" for i in range(n)]}[kind]
cells = 40 if kind == "cells" else None
# a feature of all items, some of some, one of the last shard only, one of one item, and items with none
words = [[f"category={i % 7}", f"brand={i % 11}"] + ["late"] * (i > 550) + ["only"] * (i == 301) for i in range(n)]
words[5] = words[6] = []
cuts = [0, 1, 200, 200, 450, n]
spans = list(zip(cuts, cuts[1:]))
parts = [x[a:b] if ids is None else (x[a:b], ids[a:b]) for a, b in spans]
bids = np.linspace(0.5, 2, n, dtype=np.float32)
thresher.Index.build("one", x, ids=ids, features=words, multipliers=bids, replace=True)
own_words, own_bids = [words[a:b] for a, b in spans], [bids[a:b] for a, b in spans]
shards.build("many", parts, features=own_words, multipliers=own_bids, cells=cells, replace=True)
named = [str(i if ids is None else ids[i]) for i in range(n)]
with open("bids.tsv", "w") as file:
    file.writelines(f"{name}\t{i % 5 + 0.5}\n" for i, name in enumerate(named) if i % 3)
np.save("offsets.npy", np.linspace(-1, 1, n, dtype=np.float32).reshape(-1, 1))
with open("columns.tsv", "w") as file:
    file.write("item\tprice\tage\n")
    file.writelines(f"{name}\t{i % 13}\t{i / 7:.5f}\n" for i, name in reversed(list(enumerate(named))))
np.save("columns.npy", np.random.default_rng(3).standard_normal((n, 3), np.float32))
with open("allowed.txt", "w") as file:
    file.writelines(f"{name}\n" for name in sorted(named[::4], key=lambda name: int(name) if name.isdigit() else 0))
open("like", "w").write(f"--like {named[301]} --like {named[0]} --like {named[599]}")
END_OF_PYTHON

awk 'BEGIN {
    for (q = 0; q < 20; q++)
        print "category=" q % 8 ":1.5 brand=" q % 4 ":-0.25 late:0.7 nobody" (q % 2 ? " only:3 nothing=1:2 late:0.1" : "")
}' >users.txt
printf 'solver_type L2R_L2LOSS_RANKSVM\nnr_class 2\nnr_feature 3\nbias -1\nw\n1\n-0.5\n0.25\n' >rank.model

# The same answers, and the same notes, but for the seconds and the word for what is searched.
notes() {
    sed 's/ in [0-9.]* [a-zµ]*s ([^)]*)//; s/^thresher: [0-9.]* [mµ]*s until.*//; s/the collection/the index/' "$1"
}
equal() {
    works "$THRESHER" index search one "$@"
    cp out expected
    notes err >expected_notes
    works "$THRESHER" index search many "$@"
    same out expected
    notes err >got_notes
    same got_notes expected_notes
}

for kind in rows ids cells names; do
    works python make.py $kind
    offsets=offsets.npy
    by_row="--rank-features columns.npy --rank-columns 3,score,1"
    if [ $kind = cells ]; then
        works "$THRESHER" index info many
        matches '^cells           [0-9]* in all shards' out
        fails 1 'cells reorder items, so numbers cannot be matched to them by row' \
            "$THRESHER" index search many queries.npy --features users.txt --offsets offsets.npy
        offsets=bids.tsv
        by_row="--rank-features columns.tsv --rank-items item --rank-columns price,score,age"
    fi
    for how in "--exact -k 10" "--exact -k 700 --value sigmoid" "--survivors 600 --candidates 600 -k 10" \
        "--exact -k 10 --target late" "--exact -k 10 --target nothing=1" \
        "--exact -k 30 --target category=1_OR_NOT_brand=3 --filter allowed.txt" \
        "--exact -k 10 --multipliers bids.tsv --offsets $offsets" "--exact -k 10 --offsets bids.tsv --explain"; do
        # shellcheck disable=SC2086 # words
        set -- $how
        n=$#
        for word in "$@"; do # a target is one word
            set -- "$@" "$(echo "$word" | tr _ ' ')"
        done
        shift "$n"
        equal queries.npy --features users.txt --json "$@"
        equal queries.npy --features users.txt "$@"
    done
    matches 'no item has 32 of their features' err
    equal queries.npy --exact -k 10 --target 'brand=2 AND NOT only'
    # shellcheck disable=SC2046 # words
    equal $(cat like) --exact -k 10 --target 'late OR category=3' --json

    # orders by a ranking model
    for columns in "$by_row" "--rank-features columns.tsv --rank-items item --rank-columns age,score,price"; do
        # shellcheck disable=SC2086 # words
        equal queries.npy --exact -k 10 --rank rank.model --rank-depth 40 $columns --json
        # shellcheck disable=SC2086
        equal queries.npy --exact -k 10 --features users.txt $columns -o -.svm
        # shellcheck disable=SC2086,SC2046
        equal $(cat like) --exact -k 10 --rank rank.model $columns
    done

    # a promised recall finds nearly the same
    works "$THRESHER" index search many queries.npy --features users.txt -k 5 -o found.ivecs --json
    matches '"collection":"many","output":"found.ivecs","n_queries":20,"k":5' out
    works "$THRESHER" index search one queries.npy --features users.txt -k 5 --exact -o truth.ivecs
    works "$THRESHER" eval recall truth.ivecs found.ivecs -k 5

    # given ids as a Roaring bitmap, narrow and wide
    [ $kind != names ] || continue
    for wide in "" wide; do
        to_roaring $wide <allowed.txt >allowed.roaring
        equal queries.npy --exact --filter allowed.roaring -k 200 -o -.trec
    done
    { cat allowed.txt && echo 1799; } | sort -nu >more.txt
    if ! grep -q '^1799$' allowed.txt; then
        to_roaring <more.txt >more.roaring
        fails 1 'more.roaring: ' "$THRESHER" index search many queries.npy --filter more.roaring
    fi
done

# what cannot be
head -5 users.txt >few.txt
cat users.txt few.txt >too_many.txt
search="$THRESHER index search many queries.npy -k 5"
while IFS='|' read -r code pattern words; do
    # shellcheck disable=SC2086 # words
    fails "$code" "$pattern" $search $words
done <<END
1|fewer lines than there are queries|--features few.txt
1|more lines than there are queries|--features too_many.txt
1|--features takes a file here|--features late:0.5
1|need --features: queries are vectors alone|--explain
2|--rank needs --rank-columns|--rank rank.model
1|queries.npy has 20 rows, the collection has 600 items|--rank rank.model --rank-columns 1,score,2 --rank-features queries.npy
1|--target|--target (late
END
fails 2 'not for --radius' "$THRESHER" index search many queries.npy --features users.txt --radius 1
cat >plain.py <<'END_OF_PYTHON'
import numpy as np
from thresher import shards

shards.build("plain", [np.load("queries.npy")] * 2)
END_OF_PYTHON
works python plain.py
fails 1 'plain was built without features: build it with features= of thresher.shards.build' \
    "$THRESHER" index search plain queries.npy --features users.txt

# users in words: a dual model makes their vectors, and weights of features
awk 'BEGIN {
    for (i = 0; i < 40; i++)
        print "ad" i "\tbrand=" i % 5 " category=" i % 7 " item=" i >"items.tsv"
    for (r = 0; r < 400; r++) {
        best = r % 7 + 7 * (int(r / 7) % 5)
        line = "age=" r % 3 " click.category=" r % 7 ":2 click.brand=" r % 5 "\tad" best ":" r % 50
        for (a = 1; a < 4; a++)
            line = line (a > 1 ? " ~" : " ") "ad" (best + a * 3) % 40 ":" (r + a) % 50
        print line >"train.tsv"
    }
}'
works "$THRESHER" tower train train.tsv --kind dual --items items.tsv --embedding 6 --hidden 10 --dims 8 --products 4 \
    --batch 32 --epochs 2 -o dual.safetensors -q
works "$THRESHER" tower encode dual.safetensors items.tsv:2 --side item -o ads.fvecs
cat >ads.py <<'END_OF_PYTHON'
import numpy as np
import thresher
from thresher import shards

rows = np.fromfile("ads.fvecs", np.int32).reshape(40, -1)[:, 1:].view(np.float32)
words = [line.split("\t")[1].split() for line in open("items.tsv")]
thresher.Index.build("one", rows, model="dual.safetensors", features=words, replace=True)
cuts = [slice(0, 15), slice(15, 40)]
shards.build("many", [rows[s] for s in cuts], model="dual.safetensors", features=[words[s] for s in cuts], replace=True)
END_OF_PYTHON
works python ads.py
cut -f1 train.tsv | head -20 >people.txt
equal people.txt --exact -k 5 --json --explain
equal --text 'age=1 click.category=3:2 click.brand=2' --text 'age=0' --exact -k 5 --explain
