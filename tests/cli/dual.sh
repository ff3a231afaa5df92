#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Dual towers: learned from requests, stopped and resumed, looked at, encoding, judged; and refusals.
set -eu
. "$(dirname "$0")/lib.inc"

# 40 items, 900 requests; a user's best ad is of the category that was clicked on.
awk 'BEGIN {
    for (i = 0; i < 40; i++)
        print "ad" i "\tbrand=" i % 5 " category=" i % 7 " item=" i >"items.tsv"
    x = 7
    for (r = 0; r < 900; r++) {
        x = (x * 16807) % 2147483647
        taste = int(x / 1000) % 7
        best = taste + 7 * (int(x / 10000) % 5)
        file = r < 700 ? "train.tsv" : r < 800 ? "valid.tsv" : "test.tsv"
        line = "age=" r % 3 " click.category=" taste ":2 click.brand=" r % 5 "\tad" best ":" r % 50
        for (a = 1; a < 6; a++)
            line = line (a > 1 ? " ~" : " ") "ad" (best + a * 3 + r % 3) % 40 ":" (r + a) % 50
        print line >file
    }
}'
small="--kind dual --items items.tsv --embedding 6 --hidden 10 --dims 8 --products 4 --batch 32 --rate 0.01
    --embedding-rate 0.01 --patience 0"
# shellcheck disable=SC2086 # words
train() {
    "$THRESHER" tower train train.tsv $small "$@"
}

# ---------------------------------------------------------------------------------------------------------- train

works train --epochs 4 -o m.safetensors --valid valid.tsv --json
is_json out
for key in model n_pairs n_valid n_epochs best_epoch loss valid_loss valid_quality examples_per_s epochs; do
    matches "\"$key\":" out
done
matches '"n_pairs":700,"n_valid":100,' out
[ "$(grep -c '^thresher: epoch [1-4]: loss .* GAUC .* requests/s' err)" -eq 4 ] || die "epochs are not told"
[ "$(grep -o '"epoch":[1-4],' out | wc -l)" -eq 4 ] || die "not the figures of each epoch"
[ ! -e m.safetensors.checkpoint ] || die "a training that ended left a checkpoint"
# on a GPU, emulated where that was built: the same model
if [ -n "${EMULATED_GPUS:-}" ]; then
    train --epochs 1 -o cpu.safetensors --valid valid.tsv -q >out 2>err || die "training on the CPU"
    (
        export THR_CUDA_LIBRARY="$EMULATED_GPUS"
        train --epochs 1 -o gpu.safetensors --valid valid.tsv -v --device cuda >out 2>err || die "training on a GPU"
    )
    matches 'steps were made by cuda:0 (' err
    same cpu.safetensors gpu.safetensors
fi

works train --epochs 4 -o again.safetensors --valid valid.tsv -q --threads 1
[ ! -s err ] && [ ! -s out ] || die "-q prints something"
same m.safetensors again.safetensors
for flags in --no-ipnn --no-hits '--no-ipnn --no-hits' '--loss product' '--loss sum --value difference' \
    '--embedding-optimiser ftrl --l1 0.01 --l2 0.1' '--min-count 30' '--seed 2'; do
    # shellcheck disable=SC2086 # words
    works train --epochs 1 -o "other.safetensors" --valid-share 0.1 -q $flags
    works "$THRESHER" info other.safetensors
    matches '^model *dual tower' out
done

# a training stopped after some epochs, and resumed
default=
if env --default-signal=INT true 2>/dev/null; then
    default="env --default-signal=INT,TERM"
fi
(
    waited=0
    while [ ! -s pid ] || ! grep -q 'epoch 5:' err 2>/dev/null; do
        sleep 0.05
        waited=$((waited + 1))
        [ $waited -lt 1000 ] || break
    done
    kill -s INT "$(cat pid)"
) >/dev/null 2>&1 &
killer=$!
code=0
# shellcheck disable=SC2016,SC2086 # the inner shell expands; words
$default sh -c 'echo $$ >pid; exec "$@"' sh "$THRESHER" tower train train.tsv $small --epochs 300 -o part.safetensors \
    >out 2>err || code=$?
wait "$killer" || true
[ "$code" -eq 130 ] || die "exit $code after SIGINT, expected 130"
matches '^thresher: stopped in epoch [0-9]*; a checkpoint was written' err
cp part.safetensors.checkpoint kept
works train --epochs 300 -o part.safetensors --json --resume -q
[ "$(grep -o '"epoch":' out | wc -l)" -lt 296 ] || die "a resumed training begins again"
matches '"epoch":300,' out
works train --epochs 300 -o whole.safetensors -q
same whole.safetensors part.safetensors
cp kept part.safetensors.checkpoint
fails 1 'other requests, items or options' train --epochs 300 -o part.safetensors --resume -q --seed 3

# ---------------------------------------------------------------------------------------------------------- use

works "$THRESHER" info m.safetensors
matches '^model *dual tower, IPNN, HitMatch, vectors of 12 numbers$' out
matches '^items *[0-9]* words of 3 fields$' out
works "$THRESHER" info m.safetensors --json
is_json out
matches '"kind":"dual","n_dims":8,"n_products":4,"hits":true,' out

works "$THRESHER" tower eval m.safetensors test.tsv --items items.tsv
matches '^GAUC 0[.][0-9]* of 100 requests with 600 ads$' out
matches '^recall@5 [01][.][0-9]*, recall@10 1[.]0000 of the best ad$' out
matches "of the best ads' value$" out
works "$THRESHER" tower eval m.safetensors test.tsv --items items.tsv --json
is_json out
awk -F'[:,]' '{ if ($2 < 0.85) exit 1 }' out || die "GAUC is below 0.85"

works "$THRESHER" tower encode m.safetensors test.tsv --side query -o users.fvecs --hits hits.txt
matches '^thresher: encoded 100 users in ' err
[ "$(wc -l <hits.txt)" -eq 100 ] || die "not a line of hits per user"
model=$("$THRESHER" info m.safetensors | sed -n 's/^fingerprint //p')
[ "${#model}" -eq 16 ] || die "no fingerprint: $model"
grep -v "^#model=$model category=[0-6]:-*[0-9.e-]* brand=[0-4]:-*[0-9.e-]*\$" hits.txt && die "a line of hits is none"
works "$THRESHER" hits build items.tsv -o items.hits
works "$THRESHER" hits search items.hits hits.txt -k 3
[ "$(grep -c '^query ' out)" -eq 100 ] || die "not one answer per user"
works "$THRESHER" hits search items.hits hits.txt -k 3 -o any.jsonl
grep 'of their features' err && die "the fingerprint is taken for a feature"

# lists of a model refuse the queries of another one
works "$THRESHER" hits build items.tsv -o items.hits --force --model m.safetensors
works "$THRESHER" hits info items.hits
matches "^queries         of the model $model\$" out
works "$THRESHER" hits info items.hits --json
matches "\"model\":\"$model\"" out
works "$THRESHER" hits verify items.hits
works "$THRESHER" hits search items.hits hits.txt -k 3 -o stamped.jsonl
same any.jsonl stamped.jsonl
sed 's/^#model=[0-9a-f]*/#model=00000000000000ab/' hits.txt >other.txt
fails 1 "other.txt: line 1: .*of the model $model, and these are of the model 00000000000000ab: make" \
    "$THRESHER" hits search items.hits other.txt
sed 's/^#model=[0-9a-f]* //' hits.txt >plain.txt
works "$THRESHER" hits search items.hits plain.txt -k 3 -o plain.jsonl
same any.jsonl plain.jsonl
fails 1 'items.tsv' "$THRESHER" hits build items.tsv -o x.hits --model items.tsv
works "$THRESHER" info users.fvecs --json
matches '"n_rows":100,"n_dims":12,"dtype":"f32"' out
works "$THRESHER" tower encode m.safetensors items.tsv --side item -o items.npy
matches '^thresher: encoded 40 items in ' err
works "$THRESHER" info items.npy --json
matches '"n_rows":40,"n_dims":12,"dtype":"f32"' out

# The model is served by an index: its order of all items has the same share of best ads before others as the judge's.
works "$THRESHER" tower eval m.safetensors test.tsv --items items.tsv
gauc=$(sed -n 's/^GAUC \([0-9.]*\) of.*/\1/p' out)
works "$THRESHER" index build items.npy --metric ip --features items.tsv -o ads.index
works "$THRESHER" index search ads.index users.fvecs --features hits.txt -k 40 --exact --json
sed 's/.*"names":\["//; s/"\].*//; s/","/ /g' out >order.txt
served=$(awk 'NR == FNR { for (i = 1; i <= NF; i++) place[FNR, $i] = i; next }
    { split($0, half, "\t"); m = split(half[2], ads, " ")
      for (a = 1; a <= m; a++) { sub("~", "", ads[a]); sub(":.*", "", ads[a]) }
      for (a = 2; a <= m; a++) { n++; right += place[FNR, ads[1]] < place[FNR, ads[a]] } }
    END { printf "%.4f", right / n }' order.txt test.tsv)
[ "$served" = "$gauc" ] || die "an index has $served of the pairs right, the judge $gauc"
awk 'NR == FNR { split($1, ad, "ad"); first[FNR] = ad[2]; next }
    { match($0, /click.category=[0-9]/); right += substr($0, RSTART + 15, 1) == first[FNR] % 7 }
    END { exit !(right > 70) }' order.txt test.tsv || die "the best ads are of other categories than the users like"
cut -f1 test.tsv >users.txt

random_rows 3 4 1 | to_fvecs >narrow.fvecs

# An index that carries the model reads users in words: vectors and hits are those that were encoded apart.
works "$THRESHER" index build items.tsv:2 --model m.safetensors --features items.tsv -o model.index
matches ' and a model of ' err
works "$THRESHER" index info model.index
matches '^metric *ip$' out
matches '^model *dual tower, ' out
works "$THRESHER" index verify model.index
works "$THRESHER" index search model.index users.txt -k 40 --exact --json
sed 's/.*"names":\["//; s/"\].*//; s/","/ /g' out >same.txt
same order.txt same.txt
works "$THRESHER" index search model.index --text "$(head -1 users.txt)" -k 40 --exact --json --explain
matches '"matches":\[{"category=' out
sed 's/.*"names":\["//; s/"\].*//; s/","/ /g' out >same.txt
head -1 order.txt >first.txt
same first.txt same.txt
works "$THRESHER" index search model.index users.fvecs --features hits.txt -k 5
works "$THRESHER" tower encode other.safetensors test.tsv --side query -o others.fvecs --hits others.txt
fails 1 'built for queries of the model' "$THRESHER" index search model.index users.fvecs --features others.txt -k 5
(head -99 hits.txt && tail -1 others.txt) >mixed.txt
fails 1 'mixed.txt: its lines come from the models' \
    "$THRESHER" index search ads.index users.fvecs --features mixed.txt -k 5
fails 2 'the vectors of --model m.safetensors need ip' \
    "$THRESHER" index build items.npy --model m.safetensors --metric l2 -o l2.index
fails 1 'those of the model m.safetensors have 12' "$THRESHER" index build narrow.fvecs --model m.safetensors -o n.index
works "$THRESHER" index search model.index --text 'nobodyknows' -k 5
matches 'query 0: no word of the text is in the model' err
fails 1 "has no name before '='" "$THRESHER" index search model.index --text "=x" -k 5
works "$THRESHER" tower encode m.safetensors users.txt --side query -o same.fvecs -q
same users.fvecs same.fvecs
if xz --version >/dev/null 2>&1 && "$THRESHER" info | grep -q 'and .xz'; then
    xz -k items.tsv test.tsv
    works "$THRESHER" tower eval m.safetensors test.tsv.xz --items items.tsv.xz
fi

# ---------------------------------------------------------------------------------------------------------- refused

works "$THRESHER" tower train --help
matches '^       thresher tower train --kind dual REQUESTS --items FILE -o MODEL \[options\]$' out
matches '^Options with --kind dual:$' out
fails 2 '--items FILE is missing' "$THRESHER" tower train train.tsv --kind dual -o new.safetensors
fails 2 '--items is for --kind dual' "$THRESHER" tower train train.tsv --items items.tsv -o new.safetensors
fails 2 '--query-bits is for --kind rbe and cdssm' train -o new.safetensors --query-bits 2
fails 2 '--loss' train -o new.safetensors --loss eq2
fails 2 '--hits-rate takes a number above 0' train -o new.safetensors --hits-rate 0
fails 1 'none.tsv' train -o new.safetensors --valid none.tsv
printf 'u\tad1\nu\tad1 ad99\n' >bad.tsv
fails 1 "bad.tsv: line 2: no item has the ID 'ad99'" "$THRESHER" tower eval m.safetensors bad.tsv --items items.tsv
fails 1 "bad.tsv: line 2: no item has the ID 'ad99'" train -o new.safetensors --valid bad.tsv
(cat items.tsv && sed -n 3p items.tsv) >twice.tsv
fails 1 "twice.tsv: line 41: the item 'ad2'" "$THRESHER" tower eval m.safetensors test.tsv --items twice.tsv
fails 2 'a dual tower needs --items' "$THRESHER" tower eval m.safetensors test.tsv
fails 2 'whose vectors are floats' "$THRESHER" tower encode m.safetensors test.tsv -o index
fails 2 'whose vectors are floats' "$THRESHER" tower encode m.safetensors test.tsv --packed -o x.npy
fails 2 '--hits needs users' "$THRESHER" tower encode m.safetensors items.tsv -o x.npy --hits h.txt
fails 1 'no/h.txt: cannot create' "$THRESHER" tower encode m.safetensors test.tsv --side query -o x.npy --hits no/h.txt
head -c 3000 m.safetensors >cut.safetensors
fails 1 'cut.safetensors' "$THRESHER" info cut.safetensors
[ -z "$(ls -d new* x.npy 2>/dev/null)" ] || die "a refused command left something"
