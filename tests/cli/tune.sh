#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# index tune: with queries of a file, with the index's own items, and what it refuses.
set -eu
. "$(dirname "$0")/lib.inc"

random_rows 3000 16 1 | to_fvecs >items.fvecs
random_rows 200 16 2 | to_fvecs >queries.fvecs
random_rows 20 16 3 | to_fvecs >few.fvecs
random_rows 40 8 4 | to_fvecs >narrow.fvecs
works "$THRESHER" index build items.fvecs -o items.index
works "$THRESHER" index info items.index
matches 'calibration  ' out
works "$THRESHER" index tune items.index queries.fvecs
matches '^items.index is calibrated with 200 queries' out
works "$THRESHER" index tune items.index queries.fvecs --most 50 --json
matches '"n_queries":50,' out
works "$THRESHER" index tune items.index
matches 'of its items' out
works "$THRESHER" index verify items.index
works "$THRESHER" index search items.index queries.fvecs -k 5 --recall 0.9
works "$THRESHER" index search items.index queries.fvecs -k 5 --recall 1 -o exact.ivecs
works "$THRESHER" index search items.index queries.fvecs -k 5 --exact -o truth.ivecs
works cmp exact.ivecs truth.ivecs

fails 1 '20 queries are too few' "$THRESHER" index tune items.index few.fvecs
fails 1 'queries of 8 dimensions' "$THRESHER" index tune items.index narrow.fvecs
fails 1 'missing.fvecs' "$THRESHER" index tune items.index missing.fvecs
fails 1 'nowhere' "$THRESHER" index tune nowhere queries.fvecs
fails 2 'most' "$THRESHER" index tune items.index queries.fvecs --most 29
works "$THRESHER" index build few.fvecs -o few.index
fails 1 'searched exactly' "$THRESHER" index tune few.index queries.fvecs
works "$THRESHER" index build items.fvecs -o codes.index --codes-only
fails 1 'holds codes only' "$THRESHER" index tune codes.index
works "$THRESHER" index tune codes.index queries.fvecs
