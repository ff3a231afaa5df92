#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# thresher-bench tower on a few made-up pairs: tables are printed, what was trained is kept and not trained again.
set -eu
. "$(dirname "$0")/lib.inc"
: "${THRESHER_BENCH:?set THRESHER_BENCH to the path of thresher-bench}"

"$THRESHER" info | grep -q ' xz' && command -v xz >/dev/null 2>&1 || exit 77

mkdir -p data/pairs
awk 'BEGIN {
    split("red green blue white black grey pink brown", colours)
    split("lamp chair table shelf door bed sofa desk", things)
    for (i = 0; i < 900; i++)
        printf "p%d\t%s %s number %d\tsell --%s %s %d\n", i, colours[i % 8 + 1], things[i % 7 + 1], i,
            colours[i % 8 + 1], things[i % 7 + 1], i
}' | xz >data/pairs/tldr_pages.en.tsv.xz

tower() {
    works "$THRESHER_BENCH" tower --data data --scratch . --keep kept --epochs 2 --batch 64 --seeds 2 "$@"
}

tower --tables 2,codes
says '^### Table 2, tldr' out
says '^| rbe\*  *| 64  *| 3  *| 2 ' out
says ' ± ' out
says '^| tldr  *| m_1, XFBQ of 2 bits ' out
says '^| tldr  *| m_1, XFBQ of 2 bits, queries of 3 ' out
says '^| tldr  *| m_5, queries of floats ' out
says 'AUC lift of rbe\* from m_3 toward m_1, tldr' out
says 'homedepot is left out' err
[ "$(wc -l <kept/results.tsv)" -eq 10 ] || die "not a line for each of five models and two seeds"
[ "$(find kept/vectors -name 'own.tldr.m_1.*.fbin' | wc -l)" -eq 4 ] || die "not the vectors of two seeds"
mv out first

# A run that was cut is taken up again, and answers as if it had not been.
head -n 6 kept/results.tsv >part
mv part kept/results.tsv
tower --tables 2,codes
same first out
tower --tables 2,codes --quiet
[ ! -s err ] || die "something was trained again, or --quiet is not"
same first out
[ "$(wc -l <kept/results.tsv)" -eq 10 ] || die "something was trained again"

tower --tables 2,codes --json --quiet
is_json out
says '"data":"tldr","model":"rbe\*","n_seeds":2' out
says '"key":"rbe_recall_over_xfbq"' out

# Models of the trends are trained for the data sets that --trends names, here for none that is there.
tower --tables 2,6 --trends debian
[ "$(wc -l <kept/results.tsv)" -eq 10 ] || die "trained for trends that were not asked for"

tower --tables 4,5,6 --train together --seeds 1 --quiet
says '^### Table 4: ' out
says '^### Table 5: ' out
says '^### Table 6: ' out
says '^| 6  *| rbe_3 *| rbe_3 plain ' out

tower --speed --quick --codes 20000
says '^| tldr  *| [0-9]' out
says '^A search of 20,000 random codes of 16' out

[ -z "$(find . -name 'thresher-bench-*')" ] || die "a scratch directory is left"
fails 1 'none of the data sets' "$THRESHER_BENCH" tower --data nowhere --scratch . --keep kept --quiet
fails 1 'name another with --keep' "$THRESHER_BENCH" tower --data data --scratch . --keep first/kept --quiet
fails 1 'no directory can be made there' "$THRESHER_BENCH" tower --data data --scratch nowhere --keep kept
