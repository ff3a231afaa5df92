#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Options that have no effect beside others are named in a note; the work is done.
set -eu
. "$(dirname "$0")/lib.inc"

# notes PATTERN COMMAND...: the command works with exactly one note of this kind, and does not print it without its
# first option's value.
notes() {
    pattern=$1
    shift
    works "$@"
    [ "$(grep -c 'has no effect' err)" -eq 1 ] || die "not one note: $*"
    grep -q "^thresher: $pattern\$" err || die "the note lacks '$pattern': $*"
}
silent() {
    works "$@"
    ! grep 'has no effect' err || die "a note on options that are used: $*"
}

random_rows 60 8 1 | to_fvecs >base.fvecs
random_rows 3 8 2 | to_fvecs >queries.fvecs
works "$THRESHER" index build base.fvecs -o base.index -q
for option in '--survivors 20' '--query-bits 3' '--recall 0.9'; do
    # shellcheck disable=SC2086 # an option and its value
    notes "${option% *} has no effect with --exact" "$THRESHER" index search base.index queries.fvecs -k 2 --exact $option
    # shellcheck disable=SC2086
    silent "$THRESHER" index search base.index queries.fvecs -k 2 $option
done

notes '--hashes has no effect with --bands 0' "$THRESHER" head build base.fvecs -o bare.head --bands 0 --hashes 3
notes '--places has no effect with --bands 0' "$THRESHER" head build base.fvecs -o bare.head --force --bands 0 --places 4
silent "$THRESHER" head build base.fvecs -o base.head --bands 4 --hashes 2 --places 4
query="$THRESHER head query base.head queries.fvecs -k 2"
# shellcheck disable=SC2086 # $query and $train are words

notes '--threshold has no effect without --screen wta' $query --screen planes --threshold 2
notes '--combine has no effect without --screen wta' $query --combine sum
notes '--shortlist has no effect without --screen planes' $query --screen wta --shortlist 9
notes '--group has no effect without --screen wta or planes' $query --screen frequent --group 3
silent $query --screen wta --threshold 1 --combine sum --group 3
silent $query --screen planes --shortlist 9 --group 3

awk 'BEGIN { for (i = 0; i < 100; i++) print "query " i " of " i % 7 "\tthing " i % 7 " numbered " i "\t" i % 3 }' >pairs.tsv
train="$THRESHER tower train pairs.tsv -o tower.safetensors --epochs 1 --batch 16 --pooled 16 --dims 8"
notes '--least-label has no effect without --label-column' $train --least-label 2
notes '--valid-share has no effect with --valid' $train --valid pairs.tsv --valid-share 0.5
for option in '--estimator tanh' '--float-share 0.2' --plain-weights; do
    notes "${option% *} has no effect without codes, and both sides are floats" $train --kind cdssm $option
done
silent $train --label-column 3 --least-label 1 --valid-share 0.1 --estimator tanh --float-share 0.2 --plain-weights
