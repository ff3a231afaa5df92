#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The benches that are quick enough to run here: every answer is checked, figures are printed, scratch is removed.
set -eu
. "$(dirname "$0")/lib.inc"
: "${THRESHER_BENCH:?set THRESHER_BENCH to the path of thresher-bench}"

works "$THRESHER_BENCH" hits --items 20000 --scratch . # every answer is checked
matches '^| published blocks of 8-bit ids  *| 1000 ' out
matches '^| a query of 200 features, 10,000 added and 10,000 removed ' out
matches '^| failed or mixed answers of .* | <= 0  *| 0  *| yes ' out
fails 2 'leave --json out' "$THRESHER_BENCH" hits --json
works "$THRESHER_BENCH" rank --share 1 --scratch . # the objective must be the classic way's
matches '^| MQ2007-list  *| 7,415 x 46  *| 1268 ' out
matches '^| MSLR-WEB30K  *| 2,[0-9]*  *| classic ' out
works "$THRESHER_BENCH" rank --convergence curves --share 1 --scratch . --data nowhere
matches 'nowhere/letor/mq2007.partial.svm.xz does not exist: MQ2007 is left out' err
matches '^| MSLR-WEB30K  *| trust region  *| ' out
awk -F, '$1 == "\"classic\"" && last == $1 && $4 > before { exit 1 } { last = $1; before = $4; lines++ }
    END { exit lines < 8 }' curves/convergence-MQ2007-list.csv || die "objectives do not fall"
[ "$(cut -d'"' -f2 curves/convergence-MSLR-WEB30K.csv | sort -u | wc -l)" -eq 4 ] || die "not a curve a solver"
works "$THRESHER_BENCH" head --share 1
matches '^| 400 x 1000  *| planes, shared ' out
matches '^| 2,560 x 4096  *| 64 ' out
fails 1 'weights and --states go together' "$THRESHER_BENCH" head --weights nowhere.npy
[ -z "$(find . -name 'thresher-bench-*')" ] || die "a scratch directory is left"
fails 1 'nowhere.*no directory can be made there' "$THRESHER_BENCH" hits --items 1000 --scratch nowhere
