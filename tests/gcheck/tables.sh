#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# tables.sh - tables.awk prints only what the figures support: targets met, missed, of another size, not compared,
# not measured; and tools/gpu-check, run on the emulator, writes such tables to a copy of docs/gpu.md.
#
# usage: tables.sh [BUILD_DIRECTORY BACKEND]     (in a directory of its own)
set -eu
source=${THR_SOURCE_DIR:?}

figure() { printf '{"figure": "%s", "value": %s}\n' "$1" "$2"; }
tables() { awk -f "$source/tests/gcheck/tables.awk" "$@"; }

# has FILE TEXT: a line of the file holds the text.
has() {
    grep -qF -e "$2" "$1" || {
        echo "$1 lacks: $2"
        cat "$1"
        exit 1
    }
}

# lacks FILE PATTERN: no line does.
lacks() {
    if grep -e "$2" "$1"; then
        echo "$1 should not have this"
        exit 1
    fi
}

# Nothing measured: every figure is marked so, as in docs/gpu.md without a GPU.
tables /dev/null >none
[ "$(grep -c 'not yet measured' none)" -ge 40 ]
lacks none 'yes\|\*\*no\*\*\|other size'

{
    figure scale.most.items 4000000000
    figure scale.most.code_bytes 64250000000
    figure scale.most.one_s 0.016
    figure scale.most.compared 5
    figure scale.most.wrong 0
    figure limit.read_bytes_per_s 4.2e+12
    figure scale.fewer.items 1200000000
    figure scale.fewer.code_bytes 19275000000
    figure scale.fewer.one_s 0.00612
    figure scale.fewer.batch.64_per_s 2900
    figure scale.fewer.batch.256_per_s 3210.7
    figure scale.fewer.compared 17
    figure scale.fewer.wrong 1
    figure scale.fewer.device_bytes 19500000000
    figure scale.fewer.workspace_bytes 100000000
    figure recall.nested3.items 8800000
    figure recall.nested3.one_s 0.00035
    figure recall.nested3.recall 0.9912
    figure recall.flat3.items 8800000
    figure recall.flat3.one_s 0.0002
    figure recall.flat3.recall 0.9899
    figure recall.flat4.items 1000000
    figure recall.flat4.batch.64_per_s 20000
    figure recall.flat4.compared 65
    figure learn.texts 1024
    figure learn.wrong 1
    figure learn.match_s 0.0000612
    echo '{"figure": "learn.product", "text": "needs cuBLAS"}'
    figure hits.items 5000000
    figure hits.list_bytes 3e8
    figure hits.wrong 0
    figure hits.200.postings 27100000
    figure hits.200.tiles_s 0.00005
    figure hits.200.batch_per_s 31000
    figure hits.200.auto_s 0.00004
    figure hits.compared 12
    figure sparse.spmv_s 0.0002
    figure cells.items 1000000
    figure cells.dims 96
    figure cells.cells 1024
    figure cells.screened_share 0.0412
    figure cells.compared 385
    figure cells.wrong 0
    figure cells.1.gpu_per_s 1234.5
    figure cells.256.gpu_per_s 54321
    figure cells.256.cpu_per_s 98.7
    figure cells.256.rounds 4.2
    figure cells.256.screen_s 0.00123
    figure cells.filter.host_s 0.002
    figure heads.words 40000
    figure heads.head_bytes 1.7e8
    figure heads.workspace_bytes 5e6
    figure heads.wrong 1
    figure heads.wta.candidates 6177
    figure heads.wta.beam_s 0.00012
    figure heads.wta.look_up_s 0.0000075
    figure translate.texts 16
    figure translate.words 42000
    figure translate.wta.gpu_s 0.25
    figure translate.wta.head_s 0.05
    figure dual.requests 20000
    figure dual.gpu_per_s 12345
    figure whole.wrong 0
    figure rank.rows 2300000
    figure rank.features 136
    figure rank.compared 2
    figure rank.wrong 0
    figure rank.cpu_s 2.1
    figure rank.trees_s 0.05
    figure rank.sweeps_product_s 0.0021
    figure both.items 5000000
    figure both.compared 16
    figure both.wrong 0
    figure both.one_s 0.00013
    figure both.codes_s 0.00006
    figure baseline.items 8800000
    figure baseline.f32.1_s 0.0021
    figure baseline.f16.64_s 0.02
    echo '{"figure": "step.test", "text": "ok"}'
    echo '{"figure": "limit.wgmma_b1_and_per_s", "text": "not there"}'
} >figures
tables figures >some
has some '(4.00 G): bytes/s of one query over the measured read bandwidth | >= 0.85 | 0.96 | yes |'
has some 'the same at 1.2 G items: one query, top 1000 | <= 5.5 ms | 6.12 ms, **answers differ** | **no** |'
has some 'batched queries/s | >= 3,000 | 3,211, **answers differ** | **no** |'
has some 'with refine | <= 0.4 ms | 0.350 ms, answers not compared | - |' # flat3 is faster, but misses the recall
has some 'cuBLAS float32 product + top-k, one query | >= 8 | 6.00, answers not compared | - |'
has some '4-bit codes, batch 64, 8.8 M x 200: speed over a cuBLAS half-precision product + top-k | >= 4 | not yet measured | - |'
has some 'the most of all searches here | <= 1 % | 0.65 % | yes |'
has some '| test | ok |'
has some 'A batch of 1,024 texts; **answers differ**.'
has some '| the loss and its gradients | 61.2 us |'
has some 'over a prepared product of cuSPARSE | >= 8 | 5.00 | **no** |'
has some 'one query in one pass, best 100 | <= 120 us | 130 us | **no** |'
has some '| 5,000,000 items, 200 features, best 100 | 130 us | not yet measured | 60.0 us | not yet measured |'
has some '| 200 features | 27,100,000 | not yet measured | 50.0 us | 40.0 us | 31,000 queries/s | not yet measured |'
has some 'in CSR with 200 weights, sums alone: 200 us.'
has some '1,000,000 items of 96 dimensions, 1,024 cells; a search screens 4.12 % of the items.'
has some '| one query | 1,234 queries/s | not yet measured | not yet measured |'
has some '| 256 queries at once | 54,321 queries/s | 98.7 queries/s | 4.20 | 1.23 ms | not yet measured |'
has some '| 64 at once, of one row in four | not yet measured | not yet measured | not yet measured | not yet measured | not yet measured | not yet measured | 2.00 ms |'
has some '| a layer'"'"'s product, by cuBLAS | needs cuBLAS |'
has some 'AND and count of bits | not there |'
has some '40,000 words, 170 MB on the device, workspace 5.00 MB; **answers differ**.'
has some '| head, `wta` | 6,177 | not yet measured | 120 us | not yet measured | not yet measured | 7.50 us |'
has some 'speed over our own CPU, solving only | >= 40 | 42.0 | yes |'
has some '2,300,000 rows of 136 features.'
has some '| sweeps, as published | not yet measured | 2100 us |'
has some '| trees over levels | 0.050 s | not yet measured |'
has some '16 texts at once, a beam of 12, 42,000 target words; 20,000 requests of dual towers.'
has some '| translation, `wta` | 250 ms | not yet measured | not yet measured | not yet measured | 50.0 ms | not yet measured | not yet measured |'
has some '| dual towers, requests/s | 12,345 | not yet measured |'

# Answers that differ, and those that were not compared, are marked.
{
    figure cells.items 1000000
    figure cells.compared 385
    figure cells.wrong 2
} >wrong_cells
tables wrong_cells >some
has some '0 cells; **answers differ**.'
figure cells.items 1000000 >unchecked_cells
tables unchecked_cells >some
has some '0 cells; answers not compared.'
[ $# -eq 2 ] || exit 0

# The whole script, on the emulator.
export GPU_CHECK_SECONDS=900 GPU_CHECK_BUILD="$1" GPU_CHECK_LIBRARY="$2"
export THR_CUBLAS_LIBRARY="${2%/*}/libthresher_cublas_emulated.so"
sh "$source/tools/gpu-check" --quick --out "$PWD/out" >said || {
    cat said out/*.log
    exit 1
}
has out/gpu.md 'The device is an emulator'
has out/gpu.md '| test | ok |'
has out/gpu.md '| bench-scale | ok |'
has out/gpu.md '| bench-recall | ok |'
has out/gpu.md '| bench-learn | ok |'
has out/gpu.md '| bench-hits | ok |'
has out/gpu.md '| bench-cells | ok |'
has out/gpu.md '| bench-heads | ok |'
has out/gpu.md '| bench-rank | ok |'
has out/gpu.md '| bench-whole | ok |'
has out/gpu.md 'one query, top 1000 | <= 5.5 ms |'
has out/gpu.md '<!-- end -->'
lacks out/gpu.md 'answers differ\|\*\*failed\|\*\*stopped'

# Rows that docs/reproduction.md names have figures, but for those beside cuSPARSE, which is not emulated.
sed -n 's/.*"gpu": "\(.*\)".*/\1/p' "$source/programs/bench/papers/published.json" | grep -v cuSPARSE | sort -u >named
sed 's/, here [0-9.]* [kMG]\{0,1\} *items//' out/gpu.md >rows
[ "$(wc -l <named)" -ge 6 ]
while read -r row; do
    grep -F "| $row | " rows >found && ! grep -q 'not yet measured' found || {
        echo "no figure in the row: $row"
        exit 1
    }
done <named
