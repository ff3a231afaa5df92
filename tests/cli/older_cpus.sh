#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Processors without AVX-512, and without AVX2, run the program too, and answer alike: emulated ones. Skipped where
# there is no emulator, or the program is not one that it runs.
set -eu
. "$(dirname "$0")/lib.inc"

command -v qemu-x86_64 >/dev/null 2>&1 || exit 77
qemu-x86_64 -cpu Nehalem "$THRESHER" --version >/dev/null 2>&1 || exit 77

random_rows 300 24 1 | to_fvecs >items.fvecs
random_rows 5 24 2 | to_fvecs >queries.fvecs
works "$THRESHER" index build items.fvecs -o here --quiet
works "$THRESHER" index search here queries.fvecs -k 4 --quiet
mv out expected

# The last one has what the first level takes but F16C, which is hidden from the program.
for cpu in Nehalem Haswell Haswell,-f16c; do
    works qemu-x86_64 -cpu "$cpu" "$THRESHER" index build items.fvecs -o "there-$cpu" --quiet
    works qemu-x86_64 -cpu "$cpu" "$THRESHER" index search "there-$cpu" queries.fvecs -k 4 --quiet
    same out expected
done
