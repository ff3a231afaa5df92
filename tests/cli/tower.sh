#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Models: trained, stopped and resumed, looked at, encoding to files and to an index, judged; and refusals.
set -eu
. "$(dirname "$0")/lib.inc"

# 600 items; of every one a pair: two words of it, and all; labelled pairs, of which every other is bad.
awk 'BEGIN {
    n = split("edit view play convert search send read write draw print backup monitor", verbs, " ")
    m = split("pdf photo music video mail chess network disk font text audio calendar", things, " ")
    for (i = 0; i < 600; i++) {
        query = verbs[i % n + 1] " " things[int(i / n) % m + 1]
        print query "\t" query " number " i >"pairs.tsv"
        print i "," query ",\"" query ", number " i "\"," 1 >"judged.csv"
        print i "," query ",\"" verbs[(i + 5) % n + 1] " " things[int(i / n + 7) % m + 1] "\"," 0 >"judged.csv"
        print query " number " i >"texts.txt"
        print "item" i >"names.txt"
    }
}'
small="--dims 20 --pooled 24 --batch 64 --negatives 10 --rate 0.01 --patience 0"
# shellcheck disable=SC2086 # words
train() {
    "$THRESHER" tower train pairs.tsv $small "$@"
}

# ---------------------------------------------------------------------------------------------------------- train

works train --epochs 3 -o m.safetensors --json
is_json out
for key in model n_pairs n_valid n_refused n_epochs best_epoch loss valid_loss valid_quality examples_per_s device epochs; do
    matches "\"$key\":" out
done
matches '"n_epochs":3,' out
[ "$(grep -c '^thresher: epoch [123]: loss .* AUC .* pairs/s' err)" -eq 3 ] || die "epochs are not told"
[ "$(grep -o '"epoch":[123],"seconds":[^,]*,"examples_per_s":[^,]*,"loss":[^,]*,"valid_loss":[^,]*,"valid_quality":[^,]*}' out |
    wc -l)" -eq 3 ] || die "not the figures of each epoch"
[ ! -e m.safetensors.checkpoint ] || die "a training that ended left a checkpoint"
works train --epochs 3 -o again.safetensors -q --threads 1
[ ! -s err ] && [ ! -s out ] || die "-q prints something"
same m.safetensors again.safetensors
works train --epochs 3 -o other.safetensors -q --seed 2
! cmp -s m.safetensors other.safetensors || die "another seed gives the same model"

# a training stopped after some epochs, and resumed
default=
if env --default-signal=INT true 2>/dev/null; then
    default="env --default-signal=INT,TERM"
fi
rm -f pid
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
$default sh -c 'echo $$ >pid; exec "$@"' sh "$THRESHER" tower train pairs.tsv $small --epochs 100 -o part.safetensors \
    >out 2>err || code=$?
wait "$killer" || true
[ "$code" -eq 130 ] || die "exit $code after SIGINT, expected 130"
matches '^thresher: stopped in epoch [0-9]*; a checkpoint was written' err
[ -e part.safetensors.checkpoint ] || die "no checkpoint"
cp part.safetensors.checkpoint kept
works train --epochs 100 -o part.safetensors --json --resume
[ "$(grep -o '"epoch":' out | wc -l)" -lt 96 ] || die "a resumed training begins again"
matches '"epoch":100,' out
works train --epochs 100 -o whole.safetensors -q
same whole.safetensors part.safetensors
cp kept part.safetensors.checkpoint
fails 1 'other pairs or options' train --epochs 100 -o part.safetensors --resume -q --seed 3
head -c 2000 kept >part.safetensors.checkpoint
fails 1 'part.safetensors.checkpoint: ' train --epochs 100 -o part.safetensors --resume -q
fails 1 'no checkpoint' train --epochs 9 -o m.safetensors --resume -q

# ---------------------------------------------------------------------------------------------------------- info

works "$THRESHER" info m.safetensors
matches '^model *queries of 3 bits, items of 2 bits, 20 dimensions, [0-9,]* letter trigrams$' out
matches '^parameters *[0-9,]*$' out
matches '^fingerprint *[0-9a-f]*$' out
works "$THRESHER" info m.safetensors --json
is_json out
matches '"kind":"model","query_bits":3,"item_bits":2,"n_dims":20,"n_grams":[0-9]*,"n_parameters":[0-9]*,"file_bytes":[0-9]*,"fingerprint":"' out
matches '"n_pooled":24,"max_words":128,"shared_words":false,"shared_steps":false,"plain_weights":false' out
works "$THRESHER" info
matches '^reads .*[.]tsv [.]csv [.]safetensors' out

# ---------------------------------------------------------------------------------------------------------- encode

for ending in npy fbin fvecs; do
    works "$THRESHER" tower encode m.safetensors texts.txt -o codes.$ending
    matches '^thresher: encoded 600 texts in ' err
    works "$THRESHER" info codes.$ending --json
    matches '"n_rows":600,"n_dims":20,"dtype":"f32"' out
done
for ending in npy u8bin bvecs; do
    works "$THRESHER" tower encode m.safetensors texts.txt -o packed.$ending --packed --side query -q
    works "$THRESHER" info packed.$ending --json
    matches '"n_rows":600,"n_dims":9,"dtype":"u8"' out # three planes of three bytes
done
"$THRESHER" tower encode m.safetensors pairs.tsv:2 -o -.fvecs -q >piped
same piped codes.fvecs

works "$THRESHER" tower encode m.safetensors texts.txt --ids names.txt -o made
matches '^thresher: built made: 600 items of 20 dimensions, cosine, 2 bits' err
works "$THRESHER" index build texts.txt --model m.safetensors --ids names.txt -o built
for index in made built; do
    works "$THRESHER" index verify $index
    works "$THRESHER" index search $index --text 'play chess' -k 5 -o $index.trec
done
same made.trec built.trec
fails 1 'add --force' "$THRESHER" tower encode m.safetensors texts.txt -o made
works "$THRESHER" tower encode m.safetensors texts.txt -o made --force --json
is_json out
matches '"index":"made","n_items":600,' out

printf 'before' >kept.fvecs
printf 'one\n' | gzip >cut.txt.gz
head -c 15 cut.txt.gz >bad.txt.gz
fails 1 'bad.txt.gz' "$THRESHER" tower encode m.safetensors bad.txt.gz -o kept.fvecs
[ "$(cat kept.fvecs)" = before ] || die "a failed encoding leaves something"
leaves_nothing
fails 1 'holds numbers' "$THRESHER" tower encode m.safetensors codes.fvecs -o new.fvecs
fails 1 'none.safetensors: ' "$THRESHER" tower encode none.safetensors texts.txt -o new.fvecs
fails 1 'names.txt: ' "$THRESHER" tower encode names.txt texts.txt -o new.fvecs
fails 1 'no/such.fvecs' "$THRESHER" tower encode m.safetensors texts.txt -o no/such.fvecs
works train --epochs 1 -o floats.safetensors -q --kind cdssm
fails 1 'leave out --packed' "$THRESHER" tower encode floats.safetensors texts.txt --packed -o new.npy
fails 2 'ending must be .npy, .fbin or .fvecs' "$THRESHER" tower encode m.safetensors texts.txt -o new.txt
fails 2 'ending must be .npy, .fbin or .fvecs' "$THRESHER" tower encode m.safetensors texts.txt -o new.u8bin
fails 2 '.u8bin or .bvecs for packed' "$THRESHER" tower encode m.safetensors texts.txt -o new.fbin --packed
fails 2 'use -.fvecs' "$THRESHER" tower encode m.safetensors texts.txt -o -.npy
fails 2 '--packed needs a file' "$THRESHER" tower encode m.safetensors texts.txt -o new --packed
fails 2 '--side query: -o new names an index' "$THRESHER" tower encode m.safetensors texts.txt -o new --side query
fails 2 '--ids needs an index' "$THRESHER" tower encode m.safetensors texts.txt -o new.npy --ids names.txt
fails 2 '--force needs an index' "$THRESHER" tower encode m.safetensors texts.txt -o new.npy --force
[ -z "$(ls -d new* 2>/dev/null)" ] || die "a refused command left something"

# ---------------------------------------------------------------------------------------------------------- eval

works "$THRESHER" tower eval m.safetensors pairs.tsv
matches '^AUC 0[.][0-9]* of 600 good pairs against 6,000 sampled ones$' out
matches '^log loss [0-9.]* against 10 other items$' out
works "$THRESHER" tower eval m.safetensors judged.csv --query-column 2 --item-column 3 --label-column 4
matches '^AUC 0[.][0-9]* of 600 good pairs against 600 bad ones$' out
works "$THRESHER" tower eval m.safetensors judged.csv --query-column 2 --item-column 3 --label-column 4 --json
is_json out
matches '^{"auc":[0-9.]*,"loss":null,"n_good":600,"n_bad":600,"n_refused":0}$' out
fails 1 'column 7' "$THRESHER" tower eval m.safetensors pairs.tsv --item-column 7
fails 1 'none.tsv' "$THRESHER" tower eval m.safetensors none.tsv
fails 2 'query-column' "$THRESHER" tower eval m.safetensors pairs.tsv --query-column 0

# ---------------------------------------------------------------------------------------------------------- refused

fails 1 'none.tsv' "$THRESHER" tower train none.tsv -o new.safetensors
: >pairs.npz
fails 1 'pairs.npz: .npz is not read here: convert the file to one of .tsv .csv (' \
    "$THRESHER" tower train pairs.npz -o new.safetensors
fails 1 'no/such.safetensors' train -o no/such.safetensors
fails 1 'two batches of 512' "$THRESHER" tower train pairs.tsv -o new.safetensors
fails 1 'right columns' train -o new.safetensors --item-column 3
fails 2 '--query-bits 9: 1 to 8, or 32' train -o new.safetensors --query-bits 9
fails 2 '--item-bits 31: 1 to 8, or 32' train -o new.safetensors --item-bits 31
fails 2 '--dims takes a whole number from 1 to 1024' train -o new.safetensors --dims 1025
fails 2 '--negatives 64 must be less than --batch 64' train -o new.safetensors --negatives 64
fails 2 '--word-dropout 1: ' train -o new.safetensors --word-dropout 1
fails 2 '--valid-share takes a number above 0 and up to 0.5' train -o new.safetensors --valid-share 0.6
fails 2 '--rate takes a number above 0' train -o new.safetensors --rate 0
fails 2 '--model' train -o new.safetensors --model cdsm
fails 2 'PAIRS' "$THRESHER" tower train -o new.safetensors
fails 2 '-o MODEL is missing' "$THRESHER" tower train pairs.tsv
[ -z "$(ls -d new* 2>/dev/null)" ] || die "a refused command left something"

# one training a model: a second one is refused while the first runs, and the first's lock goes with it
awk 'BEGIN { for (i = 0; i < 4000; i++) print "query " i " of " i % 71 "\tthing " i % 71 " numbered " i }' >many.tsv
"$THRESHER" tower train many.tsv -o shared.safetensors --epochs 10000 --patience 0 --batch 32 -q >/dev/null 2>&1 &
first=$!
while [ ! -e shared.safetensors.lock ] && kill -0 $first; do sleep 0.1; done
fails 1 'shared.safetensors: another training writes this model and its checkpoint' \
    "$THRESHER" tower train many.tsv -o shared.safetensors --epochs 1
kill -TERM $first
wait $first || true
[ ! -e shared.safetensors.lock ] || die "the lock of a training that ended is left"
: >shared.safetensors.lock # as a killed training leaves it
works "$THRESHER" tower train many.tsv -o shared.safetensors --epochs 1 -q
[ ! -e shared.safetensors.lock ] || die "the lock is left"

# a model that exists is named before it is replaced, but not where its training goes on
works "$THRESHER" tower train many.tsv -o shared.safetensors --epochs 1
matches '^thresher: shared.safetensors exists: the model of this training replaces it$' err
rm shared.safetensors
works "$THRESHER" tower train many.tsv -o shared.safetensors --epochs 1
! grep 'replaces it' err || die "a note on a model that does not exist"
