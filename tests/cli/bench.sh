#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The benches that are quick enough to run here: every answer is checked, figures are printed, scratch is removed.
set -eu
. "$(dirname "$0")/lib.inc"

for items in 1000 20000; do
    works "$THRESHER" bench filter --items $items --scratch .
    says '^| none  *| '$items' ' out
    says '^| 1 %, in runs  *| '$((items / 100))' ' out
    [ "$(grep -c '^| .*|$' out)" -eq 10 ] || die "not one line a filter, with the titles and the figure"
done
works "$THRESHER" bench filter --items 1000 --scratch . --json
is_json out
says '"key":"filter_1_percent_over_none"' out
works "$THRESHER" bench rank --share 1 --scratch . # the objective must be the classic way's
says '^| MQ2007-list  *| 7,415 x 46  *| 1268 ' out
says '^| MSLR-WEB30K  *| 2,[0-9]*  *| classic ' out
[ -z "$(find . -name 'thresher-bench-*')" ] || die "a scratch directory is left"
fails 1 'nowhere.*no directory can be made there' "$THRESHER" bench filter --items 1000 --scratch nowhere
