#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Certified answers: the flag is shown with --json, in .jsonl and with -v, and never set for a wrong answer. With cells
# it is shown only if that makes the search read no more cells, or with --certify.
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

# Certifying makes most searches read all cells, so these certify answers only with --certify.
random_rows 6000 24 3 | to_fvecs >more.fvecs
works "$THRESHER" index build more.fvecs --cells 32 -o cells.index -q
works "$THRESHER" index search cells.index queries.fvecs -k 3 --recall 0.5 -o plain.trec
works "$THRESHER" index search cells.index queries.fvecs -k 3 --recall 0.5 -o verbose.trec -v
same plain.trec verbose.trec
matches 'answers are not certified, because that would read every cell: use --certify$' err
matches 'source: the codes of the likeliest of [0-9]* cells, and of more until the recall is reached$' err
[ "$(grep -c 'source: ' err)" -eq 1 ] || die "the plan is printed for every batch"
! grep -q 'certified exact' err || die "answers are certified unasked"
works "$THRESHER" index search cells.index queries.fvecs --radius 0.9 --recall 1 -o verbose.jsonl -v
matches 'promise: no item is missed$' err
works "$THRESHER" index search cells.index queries.fvecs -k 3 --recall 0.5 --json
is_json out
! grep -q certified out err || die "answers are certified unasked"
sed 's/.*"ids":\[//; s/\].*//' out | tr ',' '\n' >ids
cut -d ' ' -f 3 plain.trec >plain.ids
same ids plain.ids
works "$THRESHER" index search cells.index queries.fvecs -k 3 --recall 0.5 -o result.jsonl --json
! grep -q certified out err result.jsonl || die "answers are certified unasked"
for how in "-k 3 --recall 0.5 --certify" "-k 3 --exact" "-k 3 --recall 1" "-k 3 --candidates 50" "--radius 0.8"; do
    # shellcheck disable=SC2086 # words
    works "$THRESHER" index search cells.index queries.fvecs $how --json
    [ "$(grep -c '"certified":\(true\|false\)}$' out)" -eq 40 ] || die "not all answers have a flag: $how"
    matches 'of 40 answers certified exact$' err
done
works "$THRESHER" index search cells.index queries.fvecs -k 3 --certify -o result.ivecs
matches 'of 40 answers certified exact$' err
works "$THRESHER" index search base.index queries.fvecs -k 3 --exact --certify
[ "$(grep -c '^ *certified exact$' out)" -eq 40 ] || die "--certify shows no certificates in a table"

# While the journal has changes, searches read all cells anyway.
need_python
cat >write.py <<'END'
import numpy as np
import thresher

with thresher.Index("cells.index") as index, index.writer() as writer:
    writer.add(np.ones((3, 24), np.float32))
END
works python write.py
works "$THRESHER" index info cells.index
matches 'the journal has changes$' out
works "$THRESHER" index search cells.index queries.fvecs -k 3 --recall 0.5 -o plain.trec -q
works "$THRESHER" index search cells.index queries.fvecs -k 3 --recall 0.5 -o verbose.trec -v
same plain.trec verbose.trec
matches 'answers are not certified, because that would read more items: use --certify$' err
works "$THRESHER" index compact cells.index
works "$THRESHER" index search cells.index queries.fvecs -k 3 --recall 0.5 -o verbose.trec -v
matches 'answers are not certified, because that would read every cell: use --certify$' err
