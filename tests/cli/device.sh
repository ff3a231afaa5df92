#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --device: results and messages without a GPU, with broken GPUs, and with those of this machine.
set -eu
. "$(dirname "$0")/lib.inc"
: "${source_dir:?}" "${cli_dir:?}"

# The library for GPUs is a file that is not there, so that every machine has none.
given=${THR_CUDA_LIBRARY:-}
THR_CUDA_LIBRARY=$PWD/no-such-library.so
export THR_CUDA_LIBRARY
why='no GPU can be used: .*/no-such-library.so could not be loaded'

# A device that is named but missing is a failure; which words are wrong is tested in words.sh.
for words in cuda cuda:0 cuda:1,0; do
    fails 1 "$why" "$THRESHER" info --device $words
    fails 1 "$why" "$THRESHER" index info nothing --device=$words
done

# ---------------------------------------------------------------------------------------------------------- info

works "$THRESHER" info
matches "^device *cpu; $why" out
[ ! -s err ] || die "the missing GPU is noted"
works "$THRESHER" info --device cpu
matches '^device *cpu; GPUs are not looked for' out
works "$THRESHER" info --json
is_json out
matches "\"device\":\"cpu\",\"gpus\":\[\],\"no_gpus_why\":\"$why" out

# whatever GPUs this machine has, or none
random_rows 1000 24 1 | to_fvecs >small.fvecs
works "$THRESHER" index build small.fvecs -o small.index
works "$THRESHER" index search small.index small.fvecs -k 5 --recall 0.9 -o cpu.ivecs
works env THR_CUDA_LIBRARY="$given" "$THRESHER" info
matches '^device *c' out
works env THR_CUDA_LIBRARY="$given" "$THRESHER" info --json
is_json out
matches '"device":"cpu","gpus":\[.*\],"no_gpus_why":' out
if grep -q '"number":0,[^{]*"usable":true' out; then
    works env THR_CUDA_LIBRARY="$given" "$THRESHER" index search small.index small.fvecs -k 5 --recall 0.9 \
        -o cuda.ivecs --device cuda:0 -v
    same cuda.ivecs cpu.ivecs
    matches 'codes are screened by cuda:0 (' err
fi

# ---------------------------------------------------------------------------------------------------------- posting lists

awk 'BEGIN { for (i = 0; i < 900; i++) printf "ad%d\tkind=%d brand=%d\n", i, i % 7, i % 11 }' >ads.tsv
works "$THRESHER" hits build ads.tsv -o ads.hits -q
hits="hits search ads.hits --features kind=3:2 -k 20 -v"
# shellcheck disable=SC2086 # words
works "$THRESHER" $hits --device cpu
matches 'posting lists are added up by the CPU$' err
mv out cpu.found
# shellcheck disable=SC2086
works "$THRESHER" $hits # too little to look for a GPU
matches 'posting lists are added up by the CPU$' err
same out cpu.found
# shellcheck disable=SC2086
fails 1 "$why" "$THRESHER" $hits --device cuda
works env THR_CUDA_LIBRARY="$given" "$THRESHER" info --json
if grep -q '"number":0,[^{]*"usable":true' out; then
    # shellcheck disable=SC2086
    works env THR_CUDA_LIBRARY="$given" "$THRESHER" $hits --device cuda
    matches 'posting lists are added up by cuda:0 (' err
    same out cpu.found
fi

# ---------------------------------------------------------------------------------------------------------- heads

random_rows 300 24 2 | to_fbin >weights.fbin
random_rows 9 24 3 | to_fbin >states.fbin
works "$THRESHER" head build weights.fbin -o small.head -q
head="head query small.head states.fbin -k 4 --screen wta --frequent 20 -v"
# shellcheck disable=SC2086 # words
works "$THRESHER" $head --device cpu
matches 'words are scored by the CPU$' err
mv out cpu.words
# shellcheck disable=SC2086
works "$THRESHER" $head # too little to look for a GPU
matches 'words are scored by the CPU$' err
same out cpu.words
# shellcheck disable=SC2086
fails 1 "$why" "$THRESHER" $head --device cuda
works env THR_CUDA_LIBRARY="$given" "$THRESHER" info --json
if grep -q '"number":0,[^{]*"usable":true' out; then
    # shellcheck disable=SC2086
    works env THR_CUDA_LIBRARY="$given" "$THRESHER" $head --device cuda
    matches 'words are scored by cuda:0 (' err
    same out cpu.words
fi

# ---------------------------------------------------------------------------------------------------------- searches

# 16,384 and 1,536 rows of 1,024 numbers: so much that a batch of queries is worth a GPU, and two batches of queries.
digits() {
    awk 'BEGIN { for (i = 1; i < 3000000; i++) print i }' 2>/dev/null | head -c "$1"
}
{
    printf '\000\100\000\000\000\004\000\000'
    digits 16777216
} >base.i8bin
{
    printf '\000\006\000\000\000\004\000\000'
    digits 1572864
} >queries.i8bin
{
    printf '\001\000\000\000\000\004\000\000'
    digits 1024
} >one.i8bin
works "$THRESHER" index build base.i8bin --bits 8 --codes-only -o big.index

works "$THRESHER" index search big.index queries.i8bin -k 5 -o cpu.ivecs --device cpu -v
matches 'codes are screened by the CPU$' err

# auto without a GPU: ordinary commands do not mention it
works "$THRESHER" index search big.index queries.i8bin -k 5 -o auto.ivecs
same auto.ivecs cpu.ivecs
[ "$(wc -l <err)" -eq 1 ] || die "the missing GPU is noted"
works "$THRESHER" index search big.index queries.i8bin -k 5 -o auto.ivecs --device auto -v
matches "codes are screened by the CPU; $why" err
works "$THRESHER" index search big.index queries.i8bin -k 5 -o auto.ivecs -q --json
[ ! -s err ] || die "-q is not quiet"
is_json out
matches "\"device\":\"cpu; $why" out

# without --device no message mentions GPUs
works "$THRESHER" index search big.index one.i8bin -k 5 -v
matches 'codes are screened by the CPU$' err
works "$THRESHER" index search big.index one.i8bin --radius 0.99 -v
matches 'codes are screened by the CPU, as in every search by --radius' err
works "$THRESHER" index build small.fvecs --cells 8 -o cells.index
works "$THRESHER" index search cells.index small.fvecs -k 5 -o cells.ivecs -v
matches 'codes are screened by the CPU$' err
works "$THRESHER" index search cells.index small.fvecs -k 5 -o cells.ivecs --certify -v
matches 'codes are screened by the CPU, as in every search that reads all cells' err

# ---------------------------------------------------------------------------------------------------------- trainings

awk 'BEGIN { for (i = 0; i < 300; i++) print "edit " i % 20 " files\tedit number " i % 20 " of " i }' >pairs.tsv
train="tower train pairs.tsv --dims 8 --pooled 8 --batch 32 --negatives 5 --epochs 2 --valid-share 0.2"
# shellcheck disable=SC2086 # words
works "$THRESHER" $train -o cpu.model --device cpu -v
matches 'steps were made by the CPU$' err
# shellcheck disable=SC2086
works "$THRESHER" $train -o auto.model -v --json
matches 'steps were made by the CPU$' err
matches '"device":"cpu"[,}]' out
same auto.model cpu.model
# shellcheck disable=SC2086
fails 1 "$why" "$THRESHER" $train -o cuda.model --device cuda
[ ! -e cuda.model ] || die "a model without a GPU"

# ---------------------------------------------------------------------------------------------------------- rankings

awk 'BEGIN { for (i = 0; i < 60; i++) printf "%d qid:%d 1:%d 2:%d\n", i * 7 % 5, i / 12, i * 11 % 17, i * 5 % 13 }' >rows.svm
# so few of 60 features that rows are sparse
awk 'BEGIN { for (i = 0; i < 120; i++) printf "%d qid:%d %d:%d 60:1\n", i * 7 % 3, i / 10, 1 + i % 20, i * 7 % 3 + i % 5 }' \
    >sparse.svm
works "$THRESHER" info sparse.svm
matches '^features  *60, sparse$' out
for rows in rows sparse; do
    rank="rank train $rows.svm -c 0.01"
    rm -f cpu.ranker auto.ranker cuda.ranker
    # shellcheck disable=SC2086 # words
    works "$THRESHER" $rank -o cpu.ranker --device cpu -v
    matches 'the model was trained by the CPU$' err
    # shellcheck disable=SC2086
    works "$THRESHER" $rank -o auto.ranker -v --json # too few to look for a GPU
    matches 'the model was trained by the CPU$' err
    matches '"device":"cpu"[,}]' out
    same auto.ranker cpu.ranker
    # shellcheck disable=SC2086
    fails 1 "$why" "$THRESHER" $rank -o cuda.ranker --device cuda
    [ ! -e cuda.ranker ] || die "a ranker without a GPU"
    works env THR_CUDA_LIBRARY="$given" "$THRESHER" info --json
    if grep -q '"number":0,[^{]*"usable":true' out; then
        # shellcheck disable=SC2086
        works env THR_CUDA_LIBRARY="$given" "$THRESHER" $rank -o cuda.ranker -v --device cuda
        matches 'the model was trained by cuda:0 (' err
        same cuda.ranker cpu.ranker
    fi
done

# ---------------------------------------------------------------------------------------------------------- broken GPUs

# A library that shows two GPUs, neither of which can be used.
cc=${CC:-cc}
command -v "$cc" >/dev/null 2>&1 || exit 0
"$cc" -std=c17 -shared -fPIC -I "$source_dir/include" -I "$source_dir/src/ground" "$cli_dir/broken_gpus.c" -o broken.so
THR_CUDA_LIBRARY=$PWD/broken.so

fails 1 'cuda:0: this GPU is broken' "$THRESHER" info --device cuda
fails 1 'cuda:1: this GPU is broken' "$THRESHER" info --device cuda:1
fails 1 'there is no cuda:2: this machine has 2 GPUs' "$THRESHER" info --device cuda:2

works "$THRESHER" info
matches '^device *cuda:0 Broken 3000, compute capability 9.0, 7 multiprocessors, 2.0 GB, 1.5 GB of it free; cannot' out
matches '^ *cuda:1 cannot be used: cuda:1: this GPU is broken$' out
matches '^ *CUDA 12.4; the driver is for 13.0$' out
works "$THRESHER" info --json
is_json out
matches '"gpus":\[{"number":0,"name":"Broken 3000","compute_capability":"9.0","n_multiprocessors":7' out
matches '"memory_bytes":2000000000,"free_bytes":1500000000,"cuda_driver_version":"13.0","cuda_runtime_version":"12.4"' out
matches '"usable":false,"why_not":"cuda:0: this GPU is broken"},{"number":1,"usable":false' out
matches '"no_gpus_why":null' out
works "$THRESHER" info --device cpu --json
matches '"gpus":\[\],"no_gpus_why":"GPUs are not' out

# a GPU that could not be used is noted once, in two batches of queries
works "$THRESHER" index search big.index queries.i8bin -k 5 -o auto.ivecs --device auto
same auto.ivecs cpu.ivecs
[ "$(grep -c 'the CPU did the work instead of a GPU: cuda:0: this GPU is broken' err)" -eq 1 ] || die "not told once"
works "$THRESHER" index search big.index queries.i8bin -k 5 -o auto.ivecs -q
[ ! -s err ] || die "-q is not quiet"
works "$THRESHER" index search big.index one.i8bin -k 5
[ "$(wc -l <err)" -eq 1 ] || die "GPUs are opened for one query"
