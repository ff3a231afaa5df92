#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Translations by the model in data/translate: the BLEU that they have, and that screens find the same.
set -eu
. "$(dirname "$0")/lib.inc"

# shellcheck disable=SC2154 # source_dir is lib.inc's
data=$source_dir/data/translate
sentences=${THR_SANITIZED:+10} # sanitizers are slow
sentences=${sentences:-40}
head -"$sentences" "$data/test.en" >test.en
head -"$sentences" "$data/test.de" >test.de

# bleu FILE: what it has over the translations that people wrote
bleu() {
    works "$THRESHER" eval bleu "$1" test.de --lower-case --json
    sed 's/.*"bleu":\([0-9]*\)\.\([0-9]\).*/\1.\2/' out
}

works "$THRESHER" translate "$data/en-de.safetensors" test.en -o full.de
[ "$(wc -l <full.de)" -eq "$sentences" ] || die "one line per sentence"
full=$(bleu full.de)

# normalised alike, a screen that misses nothing finds the same
works "$THRESHER" translate "$data/en-de.safetensors" test.en -o planes.de --screen planes --normaliser exact
same full.de planes.de

# or nearly so by a sample of words
works "$THRESHER" translate "$data/en-de.safetensors" test.en -o sampled.de --screen planes --normaliser sampled
differ=$(diff full.de sampled.de | grep -c '^<' || true)
[ "$differ" -le 2 ] || die "$differ of $sentences translations differ with a sampled normaliser"

# the states that the head was asked with: a screen can be measured on them
works "$THRESHER" translate "$data/en-de.safetensors" test.en -o again.de --states states.npy
same full.de again.de
works "$THRESHER" head build "$data/en-de.safetensors" -o model.head --tensor output.weight
works "$THRESHER" head query model.head states.npy -k 5 --screen planes --measure --json
matches '"recall":\(1\|0.99[0-9]*\)[,}]' out
fails 2 'standard output has the translations' "$THRESHER" translate "$data/en-de.safetensors" test.en --states -.fvecs
fails 2 'states.txt: the ending must be' "$THRESHER" translate "$data/en-de.safetensors" test.en --states states.txt
[ ! -e states.txt ] || die "a file that was refused"

# where the time goes: six parts and the rest, as shares of the whole
works "$THRESHER" translate "$data/en-de.safetensors" test.en -o again.de --times
same full.de again.de
matches '^thresher: head  *[0-9.]* %' err
grep ' % ' err | awk '{ sum += $3; n++ } END { exit !(n == 7 && sum > 99.5 && sum < 100.5) }' || die "$(cat err)"

# few words cost
works "$THRESHER" translate "$data/en-de.safetensors" test.en -o frequent.de --screen frequent --frequent 500
frequent=$(bleu frequent.de)
[ "$sentences" -lt 40 ] || awk -v full="$full" -v few="$frequent" 'BEGIN { exit !(full > 30 && few > 5 && few < full - 5) }' ||
    die "BLEU $full of all words, $frequent of 500"

# the same bits everywhere: other batches, threads and kernels
head -8 test.en >some.en
head -8 full.de >some.de
works env THR_ISA=scalar "$THRESHER" translate "$data/en-de.safetensors" some.en -o other.de --batch 3 --threads 2
same some.de other.de
printf 'Where is the station?\n' >one.en
works "$THRESHER" translate "$data/en-de.safetensors" one.en
matches '^wo ist der bahnhof?$' out
