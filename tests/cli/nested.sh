#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Nested codes, rotation and recall: options, descriptions and answers.
set -eu
. "$(dirname "$0")/lib.inc"

random_rows 2000 20 1 >base
awk '{ for (i = 1; i <= NF; i++) $i += 1; print }' base | to_fvecs >shifted.fvecs
to_fvecs <base >base.fvecs
random_rows 40 20 2 | to_fvecs >queries.fvecs

# ---------------------------------------------------------------------------------------------------------- build, info

works "$THRESHER" index build base.fvecs -o nested.index --bits 4 --lead 1 --rotate --json -q
is_json out
matches '"item_bits":4,.*"lead_bits":1,"centred":false,"relative_codes":false,"rotated":true,"tuned_queries":[1-9]' out
works "$THRESHER" index info nested.index
matches '^codes *4 bits per dimension, 1 of them screened first, .* bytes per item$' out
matches '^centre *no$' out
matches '^rotation *yes$' out
matches '^calibration *[0-9,]* queries$' out
works "$THRESHER" index info nested.index --json
is_json out
matches '"lead_bits":1,"centred":false,"relative_codes":false,"rotated":true,"tuned_queries":[1-9]' out

works "$THRESHER" index build base.fvecs -o flat.index --bits 4 --lead 4 --no-rotate -q
works "$THRESHER" index info flat.index
matches '^recall  *kept for queries like those of the calibration: flat, uncentred codes$' out
works "$THRESHER" index info flat.index --json
matches '"flat_uncentred":true' out
works "$THRESHER" index info nested.index --json
matches '"flat_uncentred":false' out
works "$THRESHER" index info flat.index
matches '^codes *4 bits per dimension, [0-9.]* [kM]*B, .* bytes per item$' out
matches '^rotation *no$' out
works "$THRESHER" index build shifted.fvecs -o shifted.index --metric l2 --bits 6 --lead=2 --keep f16 -q
works "$THRESHER" index info shifted.index
matches '^codes *6 bits per dimension, 2 of them screened first' out
matches '^centre *yes' out
works "$THRESHER" index build base.fvecs -o codes.index --metric ip --bits 5 --lead 1 --codes-only -q
works "$THRESHER" index build base.fvecs -o one.index --bits 1 -q
works "$THRESHER" index info one.index
matches '^codes *1 bit per dimension, [0-9.]* [kM]*B' out
for index in nested flat shifted codes one; do
    works "$THRESHER" index verify $index.index
done

# ---------------------------------------------------------------------------------------------------------- answers

# Options decide which rows are refined; with all rows refined every index answers as the exact scan.
for index in nested flat shifted; do
    works "$THRESHER" index search $index.index queries.fvecs -k 10 --exact -o truth.ivecs -q
    works "$THRESHER" index search $index.index queries.fvecs -k 10 --survivors 2000 --candidates 2000 -o all.ivecs -q
    same all.ivecs truth.ivecs
    works "$THRESHER" index search $index.index queries.fvecs -k 10 --recall 1 -o all.ivecs -q
    same all.ivecs truth.ivecs
    for recall in 0.5 0.9 0.99 0.999; do
        works "$THRESHER" index search $index.index queries.fvecs -k 10 --recall $recall -o result.ivecs -q
        works "$THRESHER" eval recall truth.ivecs result.ivecs -k 10
        awk -v wanted=$recall '{ exit !($2 >= wanted - 0.02) }' out ||
            die "$index: --recall $recall: $(cat out)"
    done
    works "$THRESHER" index search $index.index queries.fvecs -k 10 -o default.ivecs -q
    works "$THRESHER" index search $index.index queries.fvecs -k 10 --recall 0.99 -o result.ivecs -q
    same default.ivecs result.ivecs
done

# More survivors find more, though no more of them are refined.
works "$THRESHER" index search nested.index queries.fvecs -k 10 --exact -o truth.ivecs -q
before=0
for survivors in 12 100 1000; do
    works "$THRESHER" index search nested.index queries.fvecs -k 10 --survivors $survivors --candidates 12 -o result.ivecs -q
    works "$THRESHER" eval recall truth.ivecs result.ivecs -k 10
    recall=$(awk '{ print $2 }' out)
    awk -v now="$recall" -v before="$before" 'BEGIN { exit !(now > before) }' ||
        die "$survivors survivors: recall $recall, fewer of them had $before"
    before=$recall
done

# ask QUERIES [WORD...]: what $index answers
ask() {
    queries=$1
    shift
    works "$THRESHER" index search "$index.index" "$queries" -k 7 --survivors 60 --candidates 20 -q --json "$@"
}

# One thread and many, every level of the CPU, queries alone and together: the same bytes.
for index in nested shifted codes; do
    ask queries.fvecs
    mv out together
    ask queries.fvecs --threads 1
    same out together
    for level in scalar avx2; do
        THR_ISA=$level
        export THR_ISA
        run "$THRESHER" info
        [ "${code:?}" -eq 0 ] || continue # a CPU without it
        ask queries.fvecs --threads 3
        same out together
    done
    unset THR_ISA
    : >alone
    for query in 0 1 17 39; do
        dd if=queries.fvecs bs=84 skip=$query count=1 of=query.fvecs 2>dd_err
        ask query.fvecs
        sed "s/\"query\":0,/\"query\":$query,/" out >>alone
    done
    grep -e '"query":0,' -e '"query":1,' -e '"query":17,' -e '"query":39,' together >some
    same alone some
done

