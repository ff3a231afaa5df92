#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Heads: built of rows, asked for the best words with every screen, measured; and refusals.
set -eu
. "$(dirname "$0")/lib.inc"

# six words of two dimensions, a bias, two states
printf '1 0\n0 1\n1 1\n-1 0\n2 -1\n0 0\n' | to_fbin >weights.fbin
printf '0\n0.5\n0\n0\n0\n4\n' | to_fbin >bias.fbin
printf '1 2\n-1 0\n' | to_fbin >states.fbin

works "$THRESHER" head build weights.fbin -o small.head --bias bias.fbin --bands 8 --hashes 2 --places 2
matches '^small.head: 6 words of 2 dimensions, f32 with a bias, weights of ' out
fails 1 'small.head: exists already: add --force to replace it, or choose another name$' "$THRESHER" head build weights.fbin -o small.head --places 2
works "$THRESHER" head info small.head
matches '^hashes          8 bands of 2, of the largest of 2, ' out
matches '^words           6, numbered by frequency$' out
works "$THRESHER" info small.head --json
matches '"n_words":6,"n_dims":2,"keep":"f32","has_bias":true,"has_order":false,"bands":8,' out
is_json out
works "$THRESHER" head verify small.head
matches '^small.head is sound: all checksums of ' out

# logits 1, 2.5, 3, -1, 0, 4 and -1, 0.5, -1, 1, -2, 4
works "$THRESHER" head query small.head states.fbin -k 3
cat >expected <<'END'
query 0
   1      4.000000     -0.510336  5
   2      3.000000     -1.510336  2
   3      2.500000     -2.010336  1

query 1
   1      4.000000     -0.091612  5
   2      1.000000     -3.091612  3
   3      0.500000     -3.591612  1
END
same out expected
matches '2 states, 6.0 of 6 words each, log-probabilities over the candidates, in ' err

# of the words 0 and 4 alone; and with the whole vocabulary as what they are of
echo 4 >always.txt
works "$THRESHER" head query small.head states.fbin -k 2 --screen frequent --frequent 1 --always always.txt --json -q
matches '^{"query":0,"ids":\[0,4\],"scores":\[1,0\],"log_probs":\[-0.313[0-9]*,-1.313[0-9]*\],"normaliser":"candidates","candidates":2}$' out
is_json out
works "$THRESHER" head query small.head states.fbin -k 2 --screen frequent --frequent 1 --always always.txt --json -q \
    --normaliser exact
matches '"log_probs":\[-3.510[0-9]*,-4.510[0-9]*\],"normaliser":"exact"' out

# of a list a state, and of one for both
printf '4\n\n' >lists.txt
works "$THRESHER" head query small.head states.fbin -k 2 --screen align --frequent 1 --lists lists.txt --json -q
matches '^{"query":0,"ids":\[0,4\],"scores":\[1,0\],"log_probs":\[-0.313[0-9]*,-1.313[0-9]*\],"normaliser":"candidates","candidates":2}$' out
echo '4 0' >one.txt
works "$THRESHER" head query small.head states.fbin -k 2 --screen align --frequent 0 --lists one.txt --group 0 --json -q
matches '^{"query":0,"ids":\[0,4\],"scores":\[1,0\],.*"candidates":2}$' out
fails 1 'the screen align has 1 lists of words for 2 groups of states' \
    "$THRESHER" head query small.head states.fbin -k 2 --screen align --lists one.txt
fails 1 'the screen align has 0 lists' "$THRESHER" head query small.head states.fbin -k 2 --screen align
echo 9 >nine.txt
fails 1 'word 9 of list 0 does not exist: the head has 6' \
    "$THRESHER" head query small.head states.fbin -k 2 --screen align --lists nine.txt --group 0
echo '0 x' >bad.txt
fails 1 "bad.txt: line 1 has 'x', which is not the number of a word" \
    "$THRESHER" head query small.head states.fbin -k 2 --screen align --lists bad.txt

# an order of words, and files of answers
printf '5\n2\n' >frequent.txt
works "$THRESHER" head build weights.fbin -o ordered.head --bands 0 --planes 0 --frequent frequent.txt --keep f16 -q --json
matches '"n_words":6,"n_dims":2,"keep":"f16","has_bias":false,"bands":0,' out
works "$THRESHER" head query ordered.head states.fbin -k 2 --screen frequent --frequent 2 -q -o best.ivecs
printf '2 5\n5 2\n' | to_ivecs >expected
same best.ivecs expected
fails 1 'the head has no hashes: build it with bands' "$THRESHER" head query ordered.head states.fbin -k 2 --screen wta
fails 1 'the head has no codes: build it with planes' "$THRESHER" head query ordered.head states.fbin -k 2 --screen planes

# bfloat16 has 8 bits of a weight: these are all whole
works "$THRESHER" head build weights.fbin -o upper.head --planes 0 --places 2 --keep bf16 -q
works "$THRESHER" head info upper.head
matches '^weights         bf16, 24 bytes$' out
works "$THRESHER" head query upper.head states.fbin -k 2 -q -o best.ivecs
printf '2 1\n3 1\n' | to_ivecs >expected
same best.ivecs expected

# larger, at random: with many hits to be had the screen finds what all words give, to the bit, as --measure shows
random_rows 300 24 1 | to_fbin >weights.fbin
random_rows 20 24 2 | to_fbin >states.fbin
works "$THRESHER" head build weights.fbin -o head --places 8 --bands 100 --hashes 1 --seed 7 -q
works "$THRESHER" head query head states.fbin -k 5 --json -q
sed 's/,"normaliser".*//' out >full
works "$THRESHER" head query head states.fbin -k 5 --screen wta --threshold 1 --frequent 0 --normaliser exact --json -q
matches '"normaliser":"exact","candidates":2[0-9][0-9]}$' out
sed 's/,"normaliser".*//' out >wta
same wta full
works "$THRESHER" head query head states.fbin -k 5 --screen wta --threshold 1 --frequent 0 --measure
matches "^recall@5    1.0000, worst state 1.0000; the same best word for 1.0000 of" out
matches '^candidates  2[0-9.]* of 300 words per state$' out
works "$THRESHER" head query head states.fbin -k 5 --screen frequent --frequent 0 --measure --json
matches '"screen":"frequent","k":5,"n_states":20,"n_words":300,"recall":0[.,]' out
is_json out
works "$THRESHER" head info head
matches '^plane codes     8 planes, ' out
works "$THRESHER" head query head states.fbin -k 5 --screen planes --shortlist 300 --json -q
sed 's/,"normaliser".*//' out >planes
same planes full
works "$THRESHER" head query head states.fbin -k 5 --screen planes --shortlist 60 --json -q
matches '"candidates":6[0-4]}$' out
works "$THRESHER" head query head states.fbin -k 5 --screen planes --certify --shortlist 100 --json
matches '"certified":true}$' out
matches '^thresher: certified: [0-9]* of 20 states$' err
works "$THRESHER" head query head states.fbin -k 5 --screen frequent --frequent 200 --certify -q --json
matches '"certified":false}$' out
works "$THRESHER" head query head states.fbin -k 5 --screen auto --json
matches '^thresher: screen: [fp][ul][la]' err
works "$THRESHER" head query head states.fbin -k 5 --screen auto --measure --json
matches '"screen":"auto","used":"[a-z]*","k":5' out
is_json out
works "$THRESHER" head build weights.fbin -o one.head --planes 1 --bands 0 -q
works "$THRESHER" head info one.head
matches '^plane codes     1 plane' out
works "$THRESHER" head query head states.fbin -k 5 --screen wta --group 4 --combine sum --threshold 60 --threads 2 --json -q
mv out two
works "$THRESHER" head query head states.fbin -k 5 --screen wta --group 4 --combine sum --threshold 60 --threads 1 --json -q
same out two

# a byte per weight, and what that loses
works "$THRESHER" head build weights.fbin -o bytes.head --keep i8 -q
works "$THRESHER" head info bytes.head
matches '^weights         i8, 8.4 kB$' out
works "$THRESHER" head query bytes.head states.fbin -k 5 --against head
matches "^recall@5    0.9[0-9]*, worst state 0.[0-9]*; the same best word" out
matches '^error       0.0[0-9]* of log-probabilities on average$' out
works "$THRESHER" head query bytes.head states.fbin -k 5 --against head --json
matches '{"screen":"full","against":"head","k":5,"n_states":20,"n_words":300,"recall":0.9[0-9]*,"worst_recall":0' out
is_json out
works "$THRESHER" head query head states.fbin -k 5 --against head
matches "^recall@5    1.0000, worst state 1.0000; the same best word for 1.0000 of" out
matches '^error       0 of log-probabilities on average$' out
fails 1 'compare heads of the same words and dimensions' "$THRESHER" head query head states.fbin -k 5 --against small.head
fails 2 'against and -o exclude each other' "$THRESHER" head query head states.fbin --against head -o x.jsonl
fails 2 'measure and --against exclude each other' "$THRESHER" head query head states.fbin --against head --measure

# rows that pad a vocabulary
printf '%s\n' '-1 -2' '-2 -1' '-3 -3' '0 0' '0 0' | to_fbin >padded.fbin
printf '1 1\n' | to_fbin >ones.fbin
works "$THRESHER" head build padded.fbin -o padded.head --places 2
works "$THRESHER" head query padded.head ones.fbin -k 1 -q -o best.ivecs
printf '3\n' | to_ivecs >expected
same best.ivecs expected
printf '0 1 2\n' | to_ivecs >expected
printf '3\n4\n' >never.txt
for never in 3,4 3-4 never.txt; do
    works "$THRESHER" head query padded.head ones.fbin -k 3 -q -o best.ivecs --never $never
    same best.ivecs expected
done
fails 1 '3,x: cannot open' "$THRESHER" head query padded.head ones.fbin --never 3,x
fails 1 '4-3: is neither a file nor a list of words' "$THRESHER" head query padded.head ones.fbin --never 4-3
fails 1 'of which 2 are never answered' "$THRESHER" head query padded.head ones.fbin -k 4 --never 3,4
works "$THRESHER" head build padded.fbin -o padded.head --places 2 --words 3 --force
works "$THRESHER" head query padded.head ones.fbin -k 3 -q -o best.ivecs
same best.ivecs expected

# tensors by name
cp weights.fbin not.safetensors
fails 1 'not.safetensors' "$THRESHER" head build not.safetensors -o x.head

# a model in GGUF: two words of two dimensions, 1 0 and 0 2; and one of a type that is not read
zeros='\0\0\0\0\0\0\0'
gguf() {
    printf "GGUF\3\0\0\0\1${zeros}\0${zeros}\15${zeros}output.weight\2\0\0\0\2${zeros}\2${zeros}"
    printf "\\$1\0\0\0\0${zeros}${zeros}${zeros}\0\0\0\0\0" # the type, where the data begin, and up to there
    printf "\0\0\200\77\0${zeros}\0\0\0\100"
}
gguf 0 >model.gguf
works "$THRESHER" head build model.gguf -o model.head --places 2
matches '^model.head: 2 words of 2 dimensions, f32, ' out
matches '^from output.weight of model.gguf$' out
works "$THRESHER" head build model.gguf -o model.head --places 2 --force --json
matches '"weights":"model.gguf","tensor":"output.weight","tied":false' out
printf '1 3\n-1 -1\n' | to_fbin >two.fbin
works "$THRESHER" head query model.head two.fbin -k 2 -q -o best.ivecs
printf '1 0\n0 1\n' | to_ivecs >expected
same best.ivecs expected
fails 1 'has no tensor other: of 1 it has, the first matrices are output.weight \[2, 2\]' \
    "$THRESHER" head build model.gguf -o x.head --tensor other
gguf 14 >model.gguf
fails 1 'output.weight is of type Q4_K (12): weights must be' "$THRESHER" head build model.gguf -o x.head

# refusals
fails 1 'weights.fbin: cannot find tensor lm_head.weight' "$THRESHER" head build weights.fbin -o x.head --tensor lm_head.weight
fails 1 '6 biases for 300 words' "$THRESHER" head build weights.fbin -o x.head --bias bias.fbin
fails 1 'hashes of 99 components: choose 2 to 24' "$THRESHER" head build weights.fbin -o x.head --places 99
fails 1 'a shortlist of 301 words of a head that has 300' "$THRESHER" head query head states.fbin --screen planes --shortlist 301
[ ! -e x.head ] || die "a build that failed left a file"
printf '1 2\n' | to_fbin >narrow.fbin
fails 1 'narrow.fbin: states of 2 dimensions for a head of 24' "$THRESHER" head query head narrow.fbin
fails 1 'the best 301 words of a head that has 300' "$THRESHER" head query head states.fbin -k 301
fails 1 '301 frequent words of a head that has 300 words' "$THRESHER" head query head states.fbin --frequent 301
fails 1 'weights.fbin: is no head' "$THRESHER" head query weights.fbin states.fbin
echo word >always.txt
fails 1 'always.txt: line 1 is not the number of a word' "$THRESHER" head query head states.fbin --always always.txt
fails 1 'always.txt holds text; states are numbers' "$THRESHER" head query head always.txt
fails 2 'exclude each other' "$THRESHER" head query head states.fbin --measure -o x.jsonl
fails 2 'did you mean' "$THRESHER" head query head states.fbin --screen wtb
printf 'nan 1\n1 1\n' | to_fbin >bad.fbin
fails 1 'row 0 of the weights holds NaN or infinity' "$THRESHER" head build bad.fbin -o x.head --bands 0

: >weights.pt
fails 1 'weights.pt: .pt is not read here: convert the file to one of .safetensors .gguf .npy .fvecs' \
    "$THRESHER" head build weights.pt -o no.head
fails 1 'nosuch: cannot open: No such file' "$THRESHER" head build nosuch -o no.head
