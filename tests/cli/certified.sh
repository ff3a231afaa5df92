#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Which answers are certainly exact: shown with --json, in .jsonl and with -v, and never of a wrong answer.
set -eu
. "$(dirname "$0")/lib.inc"

random_rows 2000 24 1 >base
random_rows 40 24 2 >queries
to_fvecs <base >base.fvecs
to_fvecs <queries >queries.fvecs
works "$THRESHER" index build base.fvecs --bits 8 -o base.index -q
works "$THRESHER" index build base.fvecs --codes-only -o codes.index -q

# all rows go on: nothing is left out
works "$THRESHER" index search base.index queries.fvecs -k 3 --exact --json
is_json out
[ "$(grep -c '"certified":true}$' out)" -eq 40 ] || die "an exact search is not certified"
matches '40 of 40 answers certified exact$' err
sed 's/,"certified".*//' out >exact

works "$THRESHER" index search base.index queries.fvecs -k 3 --candidates 200 --query-bits 8 -o result.jsonl
is_json result.jsonl
[ "$(grep -c '"certified":\(true\|false\)}$' result.jsonl)" -eq 40 ] || die "not all answers have a flag of certification"
matches 'of 40 answers certified exact' err
sed 's/,"certified".*//' result.jsonl | paste -d '\n' - exact |
    awk 'NR % 2 { found = $0; next } found == $0 { n++ } END { exit n < 36 }' || die "most answers are not exact"
paste -d '|' result.jsonl exact | grep '"certified":true' |
    awk -F '|' '{ sub(/,"certified".*/, "", $1); if ($1 != $2) exit 1 }' || die "a wrong answer is certified"

works "$THRESHER" index search base.index queries.fvecs -k 3 --exact -v
[ "$(grep -c '^ *certified exact$' out)" -eq 40 ] || die "not a line a certified answer"
matches '40 of 40 answers certified exact$' err
works "$THRESHER" index search base.index queries.fvecs -k 3 --exact -o result.ivecs --json
matches '"queries_per_s":[0-9.e+]*}$' out
works "$THRESHER" index search base.index queries.fvecs -k 3 --exact -o result.jsonl --json
matches '"n_certified":40}$' out
works "$THRESHER" index search codes.index queries.fvecs -k 3 --json
matches '[^0-9]0 of 40 answers certified exact$' err
! grep -q '"certified":true' out || die "estimates are certified"
works "$THRESHER" index search base.index queries.fvecs -k 3 --exact
! grep -q certified out err || die "certificates are shown without --certify"
