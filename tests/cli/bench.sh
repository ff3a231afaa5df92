#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The benches that are quick enough to run here: every answer is checked, figures are printed, scratch is removed.
set -eu
. "$(dirname "$0")/lib.inc"
: "${THRESHER_BENCH:?set THRESHER_BENCH to the path of thresher-bench}"

works "$THRESHER_BENCH" hits --items 20000 --scratch . # every answer is checked
matches '^| published blocks of 8-bit ids  *| 1000 ' out
fails 2 'leave --json out' "$THRESHER_BENCH" hits --json
works "$THRESHER_BENCH" rank --share 1 --scratch . --csv rows.csv # the objective must be the classic way's
matches '^| MQ2007-list  *| 7,415  *| 46 ' out
matches '^| MSLR-WEB30K  *| classic  *| 2,[0-9]* ' out
grep -q "^[a-z0-9-]*	rank	training	1	data | rows | .*	MQ2007-list | 7,415 | 46 | .*	$" rows.csv || die "no row of the training"
grep -q "	rank	targets	0	text read, MB/s, MQ2007-list	[0-9.e+-]*	>= 400$" rows.csv || die "no row of a target"
works "$THRESHER_BENCH" rank --convergence --share 1 --scratch . --data nowhere
matches 'nowhere/letor/mq2007.partial.svm.xz does not exist: MQ2007 is left out' err
matches '^| MSLR-WEB30K  *| trust region  *| ' out
awk -F '|' '$3 ~ /classic/ { n++; if ($5 + 0 > $7 + 0) exit 1 } END { exit n < 5 }' out || die "objectives do not fall"
works "$THRESHER_BENCH" head --share 1
matches '^| 400 x 1000  *| planes, shared ' out
matches '^| 2,560 x 4096  *| 64  *| auto ' out
fails 1 'nowhere/rows.csv: could not be written' "$THRESHER_BENCH" head --share 1 --csv nowhere/rows.csv
fails 1 'weights and --states go together' "$THRESHER_BENCH" head --weights nowhere.npy
[ -z "$(find . -name 'thresher-bench-*')" ] || die "a scratch directory is left"
fails 1 'nowhere.*no directory can be made there' "$THRESHER_BENCH" hits --items 1000 --scratch nowhere
