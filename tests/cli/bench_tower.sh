#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# thresher-bench tower on a few made-up pairs: speeds of training, encoding and searching.
set -eu
. "$(dirname "$0")/lib.inc"
: "${THRESHER_BENCH:?set THRESHER_BENCH to the path of thresher-bench}"

mkdir pairs
awk 'BEGIN {
    split("red green blue white black grey pink brown", colours)
    split("lamp chair table shelf door bed sofa desk", things)
    for (i = 0; i < 1500; i++)
        printf "%s %s number %d\tsell --%s %s %d\t3\n", colours[i % 8 + 1], things[i % 7 + 1], i,
            colours[i % 8 + 1], things[i % 7 + 1], i
}' >pairs/tldr.pairs.tsv
head -n 1400 pairs/tldr.pairs.tsv >pairs/tldr.train.tsv

works "$THRESHER_BENCH" tower pairs --sets tldr --quick --codes 20000 --scratch .
matches '^| tldr  *| [0-9]' out
matches '^| 20,000  *| 16.* | [0-9]' out
[ -z "$(find . -name 'thresher-bench-*')" ] || die "a scratch directory is left"
fails 1 'nowhere/tldr.train.tsv' "$THRESHER_BENCH" tower nowhere --sets tldr --scratch .
fails 1 'no directory can be made there' "$THRESHER_BENCH" tower pairs --sets tldr --scratch nowhere
