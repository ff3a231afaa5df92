#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# eval bleu: the line that sacreBLEU 2.6.0 prints for the same files, from every kind of text.
set -eu
. "$(dirname "$0")/lib.inc"

printf 'The cat sat, on the mat.\n\nHello "world" 1,000.5 end-to-end\n' >hyp.txt
printf 'The cat sat on the mat.\nx y\nHello "world" 1,000.5 end to end\n' >ref.txt
printf 'A cat SAT on a mat.\n\nHello &quot;World&quot; 1,000.5\n' >second.txt
works "$THRESHER" eval bleu hyp.txt ref.txt
matches '^BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:thresher-[0-9.]* = 49.77 85.7/75.0/60.0/37.5 (BP = 0.807 ratio = 0.824 hyp_len = 14 ref_len = 17)$' out
cp out expected
works "$THRESHER" eval bleu hyp.txt ref.txt --json
is_json out
matches '^{"bleu":49.7749[0-9]*,"precisions":\[85.714[0-9]*,75,60,37.5\],"brevity_penalty":0.80711[0-9]*,"length_ratio":0.8235[0-9]*,' out
matches '"hypothesis_length":14,"reference_length":17,"counts":\[12,9,6,3\],"totals":\[14,12,10,8\],"n_sentences":3,"n_references":1,' out

# the same by other ways
cp hyp.txt hyp.de
sed 's/$/\r/' hyp.txt >crlf.txt
sed 's/^/id\t/' ref.txt >ref.tsv
for words in 'hyp.de ref.txt' 'crlf.txt ref.txt' 'hyp.txt ref.tsv:2' 'hyp.txt ref.txt ref.txt'; do
    # shellcheck disable=SC2086
    works "$THRESHER" eval bleu $words
    sed 's/nrefs:2/nrefs:1/' out >one
    same one expected
done
"$THRESHER" eval bleu -.txt ref.txt <hyp.txt >out || die "translations from a pipe"
same out expected
if "$THRESHER" info | grep -q '^built with.* gz'; then
    gzip -c ref.txt >ref.txt.gz
    works "$THRESHER" eval bleu hyp.txt ref.txt.gz
    same out expected
fi

# a first line without words
printf '\na b\n' >bare.de
works "$THRESHER" eval bleu bare.de bare.de --sentences --effective-order
printf '0.00\n100.00\n' >wanted
same out wanted

# how it is done
works "$THRESHER" eval bleu hyp.txt ref.txt second.txt --lower-case
matches 'nrefs:2|case:lc|' out
works "$THRESHER" eval bleu hyp.txt ref.txt --smooth floor --smooth-value 0.25 --tokenise none
matches '|tok:none|smooth:floor\[0.25\]|' out
works "$THRESHER" eval bleu ref.txt ref.txt --sentences
printf '100.00\n0.00\n100.00\n' >wanted
same out wanted
works "$THRESHER" eval bleu ref.txt ref.txt --sentences --effective-order --json
is_json out
matches '"sentences":\[100,100,100\]}' out

# what does not fit
printf 'a\n' >one.txt
fails 1 'hyp.txt has 3 lines, one.txt has 1: every sentence needs its reference' "$THRESHER" eval bleu hyp.txt ref.txt one.txt
printf 'a\nb \377\n\n' >bad.txt
fails 1 'bad.txt: line 2 is not UTF-8 at byte 2' "$THRESHER" eval bleu hyp.txt ref.txt bad.txt
fails 1 'bad.txt: line 2 is not UTF-8 at byte 2' "$THRESHER" eval bleu bad.txt ref.txt
for name in nul.de nul.txt; do
    printf 'a\nb\0c\n' >"$name"
    fails 1 "$name: line 2 holds a NUL byte at byte 3" "$THRESHER" eval bleu "$name" "$name"
done
: >empty.de
fails 1 'empty.de has no lines' "$THRESHER" eval bleu empty.de ref.txt
fails 1 'missing.de: cannot open: ' "$THRESHER" eval bleu missing.de ref.txt
fails 1 'missing.txt' "$THRESHER" eval bleu hyp.txt missing.txt
printf '1 2\n' | to_fvecs >rows.fvecs
fails 1 'rows.fvecs: holds rows of numbers, not lines' "$THRESHER" eval bleu rows.fvecs ref.txt
fails 2 'REF... is missing' "$THRESHER" eval bleu hyp.txt
fails 2 'HYP is missing' "$THRESHER" eval bleu
fails 2 'smooth-value goes with --smooth floor and add-k, not with exp' "$THRESHER" eval bleu hyp.txt ref.txt --smooth-value 2
fails 2 'smooth-value 0: a number above 0' "$THRESHER" eval bleu hyp.txt ref.txt --smooth floor --smooth-value 0

# lines end at a line feed only: other separators are blanks, as in sacreBLEU
printf 'a b c d e f\nthe cat sat on a mat\n' >plain.txt
for mark in '\015' '\302\205' '\342\200\250' '\342\200\251' '\013' '\014' '\034' '\302\240'; do
    # shellcheck disable=SC2059 # the mark is an escape
    printf "a b${mark}c d e f\nthe cat sat on the mat\n" >marked.txt
    works "$THRESHER" eval bleu marked.txt plain.txt --json
    matches '"bleu":77.8158127' out
done
