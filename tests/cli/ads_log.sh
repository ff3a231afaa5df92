#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# programs/bench/ads/make_log.py on a shop of three brands: what it writes can be learned from, and no test item leaks.
set -eu
. "$(dirname "$0")/lib.inc"

command -v python3 >/dev/null && command -v xz >/dev/null || exit 77
"$THRESHER" info | grep -q 'and .xz' || exit 77

# 90 items, 60 users of 6 purchases each; the last two of a user are bought by nobody else.
mkdir -p data/amazon_s3rec data/ipinyou
awk 'BEGIN {
    for (u = 0; u < 60; u++) {
        line = u
        for (i = 0; i < 4; i++) line = line " " 1 + (u * 5 + i * 7) % 80
        print line, 100 + u, 200 + u
    }
}' | xz >data/amazon_s3rec/Beauty.txt.xz
awk 'BEGIN {
    printf "{"
    for (i = 1; i <= 300; i++) {
        printf "%s\"%d\": [", (i > 1 ? ", " : ""), i
        if (i % 4) printf "%d, ", 900 + i % 3
        printf "%d, %d]", 500 + i % 2, 510 + i % 5
    }
    print "}"
}' | xz >data/amazon_s3rec/Beauty_item2attributes.json.xz
for advertiser in 1458 2259 2261 2821 2997 3358 3386 3427 3476; do
    echo '{"price_counter_train": [0, 5, 0, 7]}' >data/ipinyou/rlb.$advertiser.info.json
done

make_log() {
    python3 "${source_dir:?}/programs/bench/ads/make_log.py" data Beauty "$@"
}
works make_log log
matches '^train: 180 requests$' out
matches '^valid: 60 requests$' out
matches '^test: 60 requests$' out
works make_log again
for file in items train valid test; do
    same log/$file.tsv again/$file.tsv
done
works make_log other --seed 2 --ads 5
! cmp -s log/test.tsv other/test.tsv || die "another seed gives the same log"

matches '^4	item=4 category=500 category=514$' log/items.tsv # without a brand
matches '^5	item=5 category=501 category=510 brand=902$' log/items.tsv
awk -F'\t' '{
    n = split($2, ads, " ")
    if (n != 30) { print "line " NR ": " n " ads"; exit 1 }
    for (i = 1; i <= n; i++) {
        if ((i > 2) != (ads[i] ~ /^~/) || ads[i] !~ /^~?[0-9]+:[13]$/) { print "line " NR ": " ads[i]; exit 1 }
        sub(/^~/, "", ads[i]); sub(/:.*/, "", ads[i])
        if (index($1, "click.item=" ads[i] ":")) { print "line " NR " offers what is there: " ads[i]; exit 1 }
    }
}' log/train.tsv log/valid.tsv log/test.tsv >bad || die "$(cat bad)"
# No test purchase is a best ad or in a history of the training; the validation has no last purchase.
awk -F'\t' '{ split($2, ads, ":"); if (ads[1] >= 100 || $1 ~ /item=[12][0-9][0-9]:/) exit 1 }' log/train.tsv ||
    die "the training has purchases of the test"
awk -F'\t' '{ split($2, ads, ":"); if (ads[1] >= 200 || $1 ~ /item=[12][0-9][0-9]:/) exit 1 }' log/valid.tsv ||
    die "the validation has purchases of the test"

works "$THRESHER" tower train log/train.tsv --kind dual --items log/items.tsv --valid log/valid.tsv --batch 16 \
    --epochs 1 -o m.safetensors -q
works "$THRESHER" tower eval m.safetensors log/test.tsv --items log/items.tsv
matches '^GAUC 0[.][0-9]* of 60 requests with 1,800 ads$' out
