#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What index build and index info report about cells, given or chosen, and which numbers are refused.
set -eu
. "$(dirname "$0")/lib.inc"

random_rows 3000 16 1 | to_fvecs >base.fvecs

works "$THRESHER" index build base.fvecs --cells 20 -o a.index
works "$THRESHER" index info a.index
matches '^cells           [12][0-9], of [0-9]* to [0-9]* items' out
matches '^a search reads  [0-9.]*% of the items, and is expected to be 0\.[0-9]* times as fast as without cells$' out
works "$THRESHER" index info a.index --json
matches '"n_cells":[12][0-9],"cells_read":0\.[0-9]*,"cells_speed":0\.[0-9]*,"format_version"' out

matches '"n_without_cell":0,' out
random_rows 7 16 2 | to_fvecs >more.fvecs
works "$THRESHER" index info a.index
matches '^ids  *stored: given ids, or the row numbers of the input, because cells reorder items$' out
! grep -q '^without a cell' out || die "all items of a build have cells"
works "$THRESHER" index add a.index more.fvecs
works "$THRESHER" index info a.index
matches "^without a cell  7 items: all searches read them, until 'thresher index compact'$" out
works "$THRESHER" index compact a.index
works "$THRESHER" index info a.index
! grep -q '^without a cell' out || die "compact left items without cells"

works "$THRESHER" index build base.fvecs --cells auto -o b.index
matches 'no cells: a search of 3,000 items is short without them' err
works "$THRESHER" index info b.index
matches '^cells           none' out
works "$THRESHER" index build base.fvecs --cells auto --codes-only --json -o c.index
matches 'no cells: they need kept vectors' err
matches '"n_cells":0,"build_s"' out

fails 2 '--cells takes auto or a whole number from 1 to 65536, not "many"' \
    "$THRESHER" index build base.fvecs --cells many -o d.index
