#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Translations by a small dictionary as a model: lines in, lines out, n best, JSON, files, and refusals.
set -eu
. "$(dirname "$0")/lib.inc"
# shellcheck disable=SC2154 # cli_dir is lib.inc's
. "$cli_dir/dictionary.inc"

dictionary le chat chien . >small.safetensors

# lines in order; text without words, an empty line, a last line without a line end
printf 'Chat\n\nle\n   \nchien\n.\nchat' >text.fr
cat >expected <<'END'
cat

the

dog
.
cat
END
works "$THRESHER" translate small.safetensors text.fr
same out expected
matches '^thresher: translated 7 lines, 5 words to 5, in ' err
# on a GPU, emulated where that was built: the same
if [ -n "${EMULATED_GPUS:-}" ]; then
    works env THR_CUDA_LIBRARY="$EMULATED_GPUS" "$THRESHER" translate small.safetensors text.fr --device cuda -v
    matches 'states and words were computed by cuda:0 (' err
    same out expected
fi
works "$THRESHER" translate small.safetensors text.fr -q --batch 1 --threads 2
same out expected
[ ! -s err ] || die "-q prints something"
works "$THRESHER" translate small.safetensors text.fr -q -o text.en
same text.en expected
[ ! -s out ] || die "-o leaves something else"
leaves_nothing
mkfifo pipe
cat pipe >piped &
works "$THRESHER" translate small.safetensors text.fr -q -o pipe
[ -p pipe ] || { kill $! && die "-o replaces a pipe"; }
wait
cmp piped text.en || die "-o does not write to a pipe as it is"
"$THRESHER" translate small.safetensors -q <text.fr >out 2>err || die "standard input"
same out expected
"$THRESHER" translate small.safetensors - -q -o - <text.fr >out 2>err || die "-"
same out expected
printf 'x\tle\r\ny\tchien\r\n' >table.tsv
works "$THRESHER" translate small.safetensors table.tsv:2 -q
printf 'the\ndog\n' >expected
same out expected
cp table.tsv plain
works "$THRESHER" translate small.safetensors plain -q --words --unk
printf '<unk>\n<unk>\n' >expected
same out expected

# every screen that passes all words gives the same text, and a head that was made before
printf 'chat\n.\n' >text.fr
works "$THRESHER" translate small.safetensors text.fr -q --words
printf 'cat\n\357\277\255.\n' >expected
same out expected
for screen in frequent wta planes; do
    works "$THRESHER" translate small.safetensors text.fr -q --words --screen $screen --beam 2
    same out expected
done
works "$THRESHER" head build small.safetensors -o small.head --bands 0 -q
works "$THRESHER" translate small.safetensors text.fr -q --words --head small.head --screen planes --shortlist 7 --group 0
same out expected

# words by alignment: learned from a text of the model's words, and read from a table
printf 'le chat\nle chien\nchat .\nchien .\nle\n' >pairs.fr
printf 'the cat\nthe dog\ncat.\ndog.\nthe\n' >pairs.en
works "$THRESHER" head align pairs.fr pairs.en -o fr-en.lex
matches '^fr-en.lex: [0-9]* lines for 4 source words and 4 target words, learned from 5 pairs in ' out
matches '^le the 0[.][0-9]*$' fr-en.lex
! grep 'replaces it' err || die "a note on a table that does not exist"
works "$THRESHER" head align pairs.fr pairs.en -o none.lex --min-probability 1 --iterations 1
matches '^thresher: none.lex is empty: no translation is as probable as --min-probability 1; choose a lower one$' err
works "$THRESHER" head align pairs.fr pairs.en -o none.lex -q
works "$THRESHER" head align pairs.fr pairs.en -o none.lex
matches '^thresher: none.lex exists: the table of this training replaces it$' err
works "$THRESHER" head align pairs.fr pairs.en -o best.lex --best 1 --iterations 9 --json
matches '"n_pairs":5,"n_skipped":0,"n_source_words":4,"n_target_words":4,' out
is_json out
[ "$(wc -l <best.lex)" -eq 4 ] || die "not one translation per word"
works "$THRESHER" translate small.safetensors text.fr -q --words --screen align --alignment best.lex --aligned 1 \
    --frequent 0 --beam 1
same out expected
fails 1 'the screen align needs an alignment' "$THRESHER" translate small.safetensors text.fr --screen align
fails 1 'fr-en.lex: an alignment is for the screen align only' \
    "$THRESHER" translate small.safetensors text.fr --alignment fr-en.lex
works "$THRESHER" head align pairs.en pairs.fr -o en-fr.lex -q
fails 1 "en-fr.lex: small.safetensors has the words of [0-9]* of its [0-9]* lines: learn it of the model's words" \
    "$THRESHER" translate small.safetensors text.fr --screen align --alignment en-fr.lex
cat pairs.en pairs.en >ten.en
fails 1 'pairs.fr ends after 5 lines and ten.en does not' "$THRESHER" head align pairs.fr ten.en -o x.lex
fails 1 'pairs.en: line 1 is not a source word, a target word and a probability' \
    "$THRESHER" translate small.safetensors text.fr --screen align --alignment pairs.en
fails 2 '' "$THRESHER" head align pairs.fr pairs.en

# unknown words
printf 'Zebra\nle zebra\n' >text.fr
works "$THRESHER" translate small.safetensors text.fr -v --replace-unk
matches '^zebra$' out
matches 'the model lacks [0-9]* words\{0,1\} of the texts' err
works "$THRESHER" translate small.safetensors text.fr -q
[ "$(grep -c unk out)" -eq 0 ] || die "<unk> is produced"

# n best, JSON
printf 'chat\n\nchien chat\n' >text.fr
works "$THRESHER" translate small.safetensors text.fr --n-best 2 -q
matches '^0 ||| cat ||| log_prob= -0.[0-9]* ||| -0.[0-9]*$' out
matches '^1 |||  ||| log_prob= 0.000000 ||| 0.000000$' out
matches '^2 ||| cat ||| ' out
matches '^2 ||| dog ||| ' out
[ "$(wc -l <out)" -eq 5 ] || die "not five translations"
works "$THRESHER" translate small.safetensors text.fr --n-best 2 --json -q
matches '^{"query":0,"translations":\[{"text":"cat","score":-0[.][0-9e-]*,"log_prob":-0[.][0-9e-]*,"n_words":1,"ended":true}' out
matches '^{"query":1,"translations":\[{"text":"","score":0,"log_prob":0,"n_words":0,"ended":true}\]}$' out
is_json out
works "$THRESHER" translate small.safetensors text.fr --max-length 1
matches 'cut [0-9]* translations\{0,1\} at the maximum length' err

# a model described
works "$THRESHER" info small.safetensors
matches '^target      7 words of 7 dimensions$' out
matches '^model       translations from ? to ?, attention over 1 layer of 14 LSTM units$' out
works "$THRESHER" info small.safetensors --json
matches '"kind":"translations","source":null,"target":null,"n_source_words":7,' out
is_json out

# refusals
printf 'chat\nle chat le chat\n' >text.fr
fails 1 'text.fr: line 2 has 4 words, more than 3: split it, or raise --max-source' \
    "$THRESHER" translate small.safetensors text.fr --max-source 3 -o cut.en
[ ! -e cut.en ] || die "a translation that failed left a file"
leaves_nothing
fails 1 'none.safetensors' "$THRESHER" translate none.safetensors text.fr
fails 1 'none.fr: cannot open: ' "$THRESHER" translate small.safetensors none.fr
fails 1 'none.txt' "$THRESHER" translate small.safetensors none.txt
for name in nul.fr nul.txt; do
    printf 'chat\na\0b\n' >"$name"
    fails 1 "$name: line 2 holds a NUL byte at byte 6" "$THRESHER" translate small.safetensors "$name"
done
code=0
"$THRESHER" translate small.safetensors <nul.fr >out 2>err || code=$?
[ "$code" -eq 1 ] || die "exit $code for a NUL on standard input"
matches 'standard input: line 2 holds a NUL byte at byte 6' err
code=0
head -c 100000000 /dev/zero | tr '\0' x | "$THRESHER" translate small.safetensors >out 2>err || code=$?
[ "$code" -eq 1 ] || die "exit $code for a line without an end"
matches 'standard input: line 1, at byte 0, is longer than 1048576 bytes' err
: >empty.fr
works "$THRESHER" translate small.safetensors empty.fr -q
[ ! -s out ] || die "lines from nothing"
printf '1 2\n' | to_fbin >numbers.fbin
fails 1 'numbers.fbin: holds rows of numbers, not lines' "$THRESHER" translate small.safetensors numbers.fbin
dictionary le chat chat . >twice.safetensors
fails 1 "words 4 and 5 of 'source.words' are the same, 'chat'" "$THRESHER" translate twice.safetensors text.fr
head -c 3000 small.safetensors >cut.safetensors
fails 1 'cut.safetensors' "$THRESHER" translate cut.safetensors text.fr
sed 's/thresher.seq2seq/thresher.seq2sex/' small.safetensors >other.safetensors
fails 1 'other.safetensors: is no model of translations' "$THRESHER" translate other.safetensors text.fr
sed 's/combine.weight/combine.height/' small.safetensors >other.safetensors
fails 1 "has no tensor 'combine.weight', which a model of translations has" \
    "$THRESHER" translate other.safetensors text.fr
printf '1 0\n0 1\n' | to_fbin >weights.fbin
works "$THRESHER" head build weights.fbin -o other.head --bands 0 -q
fails 1 'other.head: a head of 2 words of 2 dimensions, but small.safetensors has 7 of 14' \
    "$THRESHER" translate small.safetensors text.fr --head other.head
fails 2 'did you mean wta?' "$THRESHER" translate small.safetensors text.fr --screen wtb
fails 2 '--group takes a whole number from 0 to 1' "$THRESHER" translate small.safetensors text.fr --group 2
fails 2 'MODEL' "$THRESHER" translate
